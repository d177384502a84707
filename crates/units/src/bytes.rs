//! Sizes in bytes. `B` is not `b`, `Ki` is not `k`.

use crate::parse::{ParseError, decimal_and_unit};
use std::fmt;
use std::ops::{Add, AddAssign};
use std::str::FromStr;

/// A size in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(u64);

const EXPECTED: &str = "600, 64KiB, 1.5MB";

impl Bytes {
    pub const ZERO: Self = Self(0);

    #[inline]
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl Add for Bytes {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}
impl AddAssign for Bytes {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl FromStr for Bytes {
    type Err = ParseError;

    fn from_str(input: &str) -> Result<Self, ParseError> {
        let (number, unit) = decimal_and_unit(input, EXPECTED)?;
        let factor: u128 = match unit {
            "" | "B" => 1,
            "k" | "kB" | "KB" => 1_000,
            "M" | "MB" => 1_000_000,
            "G" | "GB" => 1_000_000_000,
            "Ki" | "KiB" => 1 << 10,
            "Mi" | "MiB" => 1 << 20,
            "Gi" | "GiB" => 1 << 30,
            "b" | "kb" | "Mb" | "Gb" => {
                return Err(ParseError::new(input, "is in bits, not bytes", EXPECTED));
            }
            _ => return Err(ParseError::new(input, "has an unknown unit of size", EXPECTED)),
        };
        if factor == 1
            && number.times(1_000_000) != number.times(1).and_then(|whole| whole.checked_mul(1_000_000))
        {
            return Err(ParseError::new(input, "is a fraction of a byte", EXPECTED));
        }
        let bytes = number.times(factor).and_then(|b| u64::try_from(b).ok());
        bytes.map(Self).ok_or_else(|| ParseError::new(input, "is too large", EXPECTED))
    }
}

/// The exact count with the largest binary unit that divides it; `{:#}` rounds for people (`1.21 GB`).
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            let value = self.0 as f64;
            let (value, unit) = match value {
                v if v < 1e3 => return f.pad(&format!("{v} B")),
                v if v < 999.5e3 => (v / 1e3, "kB"),
                v if v < 999.5e6 => (v / 1e6, "MB"),
                v => (v / 1e9, "GB"),
            };
            let decimals = if value >= 99.95 { 0 } else { usize::from(value < 9.995) + 1 };
            return f.pad(&format!("{value:.decimals$} {unit}"));
        }
        let exact = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")]
            .into_iter()
            .find(|(size, _)| self.0 != 0 && self.0.is_multiple_of(*size));
        match exact {
            Some((size, unit)) => f.pad(&format!("{}{unit}", self.0 / size)),
            None => f.pad(&self.0.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binary_is_not_decimal_and_bits_are_refused() {
        assert_eq!("64KiB".parse::<Bytes>().unwrap().get(), 65_536);
        assert_eq!("64kB".parse::<Bytes>().unwrap().get(), 64_000);
        assert_eq!("1.5MB".parse::<Bytes>().unwrap().get(), 1_500_000);
        assert_eq!("1.9".parse::<Bytes>().unwrap_err().problem, "is a fraction of a byte");
        assert_eq!("2.0".parse::<Bytes>().unwrap().get(), 2);
        assert_eq!("42b".parse::<Bytes>().unwrap_err().problem, "is in bits, not bytes");
    }

    #[test]
    fn exact_form_round_trips() {
        for bytes in [0, 1, 600, 1 << 10, 3 << 20, 5 << 30, u64::MAX] {
            assert_eq!(Bytes(bytes).to_string().parse::<Bytes>().unwrap().get(), bytes);
        }
        assert_eq!(format!("{:#}", Bytes(1_214_000_000)), "1.21 GB");
        assert_eq!(format!("{:#}", Bytes(599)), "599 B");
    }

    #[test]
    fn every_unit_is_what_its_name_says() {
        for (texts, bytes) in [
            (&["7", "7B"][..], 7),
            (&["2k", "2kB", "2KB"], 2_000),
            (&["2M", "2MB"], 2_000_000),
            (&["2G", "2GB"], 2_000_000_000),
            (&["2Ki", "2KiB"], 2_048),
            (&["2Mi", "2MiB"], 2_097_152),
            (&["2Gi", "2GiB"], 2_147_483_648),
        ] {
            for text in texts {
                assert_eq!(text.parse::<Bytes>().unwrap().get(), bytes, "{text}");
            }
        }
        for (text, problem) in [
            ("1kb", "is in bits, not bytes"),
            ("1Mb", "is in bits, not bytes"),
            ("1Gb", "is in bits, not bytes"),
            ("1x", "has an unknown unit of size"),
            ("99999999999GiB", "is too large"),
        ] {
            assert_eq!(text.parse::<Bytes>().unwrap_err().problem, problem, "{text}");
        }
    }

    #[test]
    fn sums_saturate() {
        let mut sum = Bytes(3) + Bytes(4);
        assert_eq!(sum, Bytes(7));
        sum += Bytes(5);
        assert_eq!(sum, Bytes(12));
        assert_eq!(sum + Bytes(u64::MAX), Bytes(u64::MAX));
    }

    #[test]
    fn rounded_form_keeps_three_digits() {
        for (bytes, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1_000, "1.00 kB"),
            (9_994, "9.99 kB"),
            (9_996, "10.0 kB"),
            (99_940, "99.9 kB"),
            (99_960, "100 kB"),
            (999_499, "999 kB"),
            (999_500, "1.00 MB"),
            (999_499_999, "999 MB"),
            (999_500_000, "1.00 GB"),
            (12_345_000_000, "12.3 GB"),
        ] {
            assert_eq!(format!("{:#}", Bytes(bytes)), text);
        }
        assert_eq!(format!("{:>6}|{:#>9}", Bytes(3 << 10), Bytes(7)), "  3KiB|########7");
    }
}
