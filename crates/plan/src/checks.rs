//! What HTTP allows in methods, field names and field values (RFC 9110 §5.1, §5.5, §5.6.2, §9.1).

use crate::model::Digest;
use crate::typed::{HeaderTyped, Typed};

/// A value that is not allowed: what is wrong and what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub problem: String,
    pub expected: String,
}

impl Problem {
    pub fn new(problem: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { problem: problem.into(), expected: expected.into() }
    }
}

const TOKEN: &str = "letters, digits and !#$%&'*+-.^_`|~";
const HEADER: &str = "'Name: value'";
const STATUS: &str = "a code such as 200, a class such as 2xx, or a range such as 200-204";

/// `tchar` of RFC 9110 §5.6.2.
fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

pub(crate) fn method(text: &str) -> Result<String, Problem> {
    if text.is_empty() {
        return Err(Problem::new("is empty", "a method such as GET"));
    }
    match text.chars().find(|c| !c.is_ascii() || !is_token_byte(*c as u8)) {
        Some(bad) => Err(Problem::new(format!("has {bad:?}, which a method cannot contain"), TOKEN)),
        None => Ok(text.to_owned()),
    }
}

/// Splits and checks one header. White space around the value is not part of it.
pub(crate) fn header(typed: &HeaderTyped) -> Result<(String, String), Problem> {
    let (name, value) = match typed {
        HeaderTyped::Pair(name, value) => (name.as_str(), value.as_str()),
        HeaderTyped::Line(line) => {
            line.split_once(':').ok_or_else(|| Problem::new("has no ':' after the name", HEADER))?
        }
    };
    if name.is_empty() {
        return Err(Problem::new("has no name before the ':'", HEADER));
    }
    if let Some(bad) = name.chars().find(|c| !c.is_ascii() || !is_token_byte(*c as u8)) {
        return Err(Problem::new(format!("has {bad:?} in its name"), TOKEN));
    }
    let value = value.trim_matches([' ', '\t']);
    if let Some(bad) = value.chars().find(|c| c.is_ascii_control() && *c != '\t') {
        return Err(Problem::new(
            format!("has a control character ({bad:?}) in its value"),
            "text on one line",
        ));
    }
    Ok((name.to_owned(), value.to_owned()))
}

/// Headers that follow from other parts of the plan, and what to say instead.
pub(crate) fn owned_by_plan(name: &str) -> Option<&'static str> {
    const OWNED: [(&str, &str); 4] = [
        ("content-length", "no Content-Length: it follows from the body"),
        ("transfer-encoding", "no Transfer-Encoding: --body-stream sends a body in chunks"),
        (
            "connection",
            "no Connection: --no-keep-alive (connection.keep_alive = false) closes after each request",
        ),
        ("expect", "no Expect: --expect-continue (request.expect_continue = true) sends it"),
    ];
    OWNED.iter().find(|(owned, _)| name.eq_ignore_ascii_case(owned)).map(|(_, instead)| *instead)
}

/// Status codes as sorted, separate, inclusive ranges.
pub(crate) fn statuses(list: &[Typed]) -> Result<Vec<(u16, u16)>, (String, Problem)> {
    let mut ranges = Vec::with_capacity(list.len());
    for typed in list {
        let range = status(typed.as_str()).map_err(|problem| (typed.as_str().to_owned(), problem))?;
        ranges.push(range);
    }
    ranges.sort_unstable();
    let mut merged: Vec<(u16, u16)> = Vec::with_capacity(ranges.len());
    for (low, high) in ranges {
        match merged.last_mut() {
            Some(last) if low <= last.1 + 1 => last.1 = last.1.max(high),
            _ => merged.push((low, high)),
        }
    }
    Ok(merged)
}

pub(crate) fn status(text: &str) -> Result<(u16, u16), Problem> {
    let wrong = || Problem::new("is not a status", STATUS);
    let code = |text: &str| text.trim().parse::<u16>().ok().filter(|code| (100..=999).contains(code));
    if let Some(class) = text.to_ascii_lowercase().strip_suffix("xx") {
        let class = class.parse::<u16>().ok().filter(|class| (1..=9).contains(class)).ok_or_else(wrong)?;
        return Ok((class * 100, class * 100 + 99));
    }
    let (low, high) = text.split_once('-').unwrap_or((text, text));
    let (low, high) = (code(low).ok_or_else(wrong)?, code(high).ok_or_else(wrong)?);
    if low > high {
        return Err(Problem::new("is a range that ends before it starts", STATUS));
    }
    Ok((low, high))
}

pub(crate) fn md5(text: &str) -> Result<Digest, Problem> {
    hex(text).map(Digest::Md5).ok_or_else(|| Problem::new("is not an MD5 digest", "32 hexadecimal digits"))
}

pub(crate) fn sha256(text: &str) -> Result<Digest, Problem> {
    hex(text)
        .map(Digest::Sha256)
        .ok_or_else(|| Problem::new("is not a SHA-256 digest", "64 hexadecimal digits"))
}

fn hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let text = text.trim().as_bytes();
    let mut bytes = [0; N];
    if text.len() != 2 * N {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        let digit = |c: u8| char::from(c).to_digit(16);
        *byte =
            u8::try_from(digit(pair[0])? * 16 + digit(pair[1])?).expect("two hexadecimal digits fit a byte");
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_split_and_trimmed() {
        let line = |text: &str| header(&HeaderTyped::Line(text.to_owned()));
        assert_eq!(line("Accept:  text/html "), Ok(("Accept".to_owned(), "text/html".to_owned())));
        assert_eq!(line("X-Empty:"), Ok(("X-Empty".to_owned(), String::new())));
        assert_eq!(line("NoColon").unwrap_err().problem, "has no ':' after the name");
        assert_eq!(line("Bad name: x").unwrap_err().problem, "has ' ' in its name");
        let newline = line("X: a\r\nY: b").unwrap_err().problem;
        assert_eq!(newline, "has a control character ('\\r') in its value");
    }

    #[test]
    fn statuses_merge_into_ranges() {
        let list: Vec<Typed> = ["2xx", "300", "204-299", "404"].map(Typed::from).to_vec();
        assert_eq!(statuses(&list), Ok(vec![(200, 300), (404, 404)]));
        for bad in ["20", "1000", "0xx", "300-200", "ok", ""] {
            assert!(statuses(&[bad.into()]).is_err(), "{bad}");
        }
    }

    #[test]
    fn digests_have_an_exact_length() {
        // MD5 of the empty string (RFC 1321 A.5).
        let Ok(Digest::Md5(bytes)) = md5("d41d8cd98f00b204e9800998ecf8427e") else { panic!() };
        assert_eq!((bytes[0], bytes[15]), (0xd4, 0x7e));
        assert!(md5("d41d").is_err());
        assert!(sha256("d41d8cd98f00b204e9800998ecf8427e").is_err());
    }

    #[test]
    fn methods_are_tokens() {
        assert_eq!(method("PROPFIND").unwrap(), "PROPFIND");
        assert!(method("GE T").is_err());
        assert!(method("").is_err());
    }
}
