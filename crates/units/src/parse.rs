//! Splitting "number then unit", shared by every type that is typed by a user.

use std::fmt;

/// Why a quantity could not be read: what was typed, what was wrong, what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// What was typed.
    pub input: String,
    /// What is wrong with it, e.g. "is negative".
    pub problem: &'static str,
    /// What would be right, e.g. "400/s, 20k, 1/7s".
    pub expected: &'static str,
}

impl ParseError {
    pub(crate) fn new(input: &str, problem: &'static str, expected: &'static str) -> Self {
        Self { input: input.to_owned(), problem, expected }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' {}; expected something like {}", self.input, self.problem, self.expected)
    }
}

impl std::error::Error for ParseError {}

/// An exact decimal: `value / 10^scale`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    pub value: u128,
    pub scale: u32,
}

impl Decimal {
    /// `self · factor`, rounded down; `None` on overflow.
    pub fn times(self, factor: u128) -> Option<u128> {
        Some(self.value.checked_mul(factor)? / 10u128.pow(self.scale))
    }
}

/// Splits `12.5ms` into an exact decimal and `ms`. Underscores between digits are allowed.
pub(crate) fn decimal_and_unit<'a>(
    input: &'a str,
    expected: &'static str,
) -> Result<(Decimal, &'a str), ParseError> {
    let fail = |problem| ParseError::new(input, problem, expected);
    let text = input.trim();
    if text.is_empty() {
        return Err(fail("is empty"));
    }
    if text.starts_with('-') {
        return Err(fail("is negative"));
    }
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    if !number.contains(|c: char| c.is_ascii_digit()) {
        return Err(fail("is not a number"));
    }
    let mut value = 0u128;
    let mut scale = 0u32;
    let mut after_point = false;
    for c in number.chars() {
        match c {
            '_' => continue,
            '.' if after_point => return Err(fail("has two decimal points")),
            '.' => after_point = true,
            digit => {
                value = value
                    .checked_mul(10)
                    .and_then(|v| v.checked_add(u128::from(digit as u8 - b'0')))
                    .filter(|v| *v < 1 << 96)
                    .ok_or_else(|| fail("is too large"))?;
                scale += u32::from(after_point);
            }
        }
    }
    if scale > 18 {
        return Err(fail("has more than 18 decimals"));
    }
    Ok((Decimal { value, scale }, unit.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(input: &str) -> Result<(u128, u32, &str), &'static str> {
        let read = decimal_and_unit(input, "");
        read.map(|(number, unit)| (number.value, number.scale, unit)).map_err(|error| error.problem)
    }

    #[test]
    fn digits_and_places_are_counted() {
        assert_eq!(read(" 12.50 ms "), Ok((1_250, 2, "ms")));
        assert_eq!(read("1_000.5_0k"), Ok((100_050, 2, "k")));
        assert_eq!(read(".5"), Ok((5, 1, "")));
        assert_eq!(read("0.000000000000000001"), Ok((1, 18, "")));
        // 2⁹⁶ − 1 and 2⁹⁶.
        assert_eq!(read("79228162514264337593543950335"), Ok(((1 << 96) - 1, 0, "")));
        assert_eq!(read("79228162514264337593543950336"), Err("is too large"));
        assert_eq!(read(&"9".repeat(60)), Err("is too large"));
    }

    #[test]
    fn what_is_no_number_is_told_by_what_is_wrong() {
        for (text, problem) in [
            ("", "is empty"),
            ("  ", "is empty"),
            ("-1", "is negative"),
            ("ms", "is not a number"),
            ("._s", "is not a number"),
            ("1.2.3", "has two decimal points"),
            ("0.0000000000000000001", "has more than 18 decimals"),
        ] {
            assert_eq!(read(text), Err(problem), "{text}");
        }
        let error = ParseError::new("5x", "is wrong", "5k");
        assert_eq!(error.to_string(), "'5x' is wrong; expected something like 5k");
    }

    #[test]
    fn products_are_rounded_down_and_never_wrap() {
        let number = Decimal { value: 1_999, scale: 3 };
        assert_eq!((number.times(1), number.times(1_000)), (Some(1), Some(1_999)));
        assert_eq!(Decimal { value: 1 << 95, scale: 0 }.times(1 << 40), None);
    }
}
