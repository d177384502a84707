//! Options of a TCP header, as they are written and as they stand on the wire.
//!
//! ```text
//! mss=1460,sackok,ts=1:0,nop,wscale=7  ──►  02 04 05b4 │ 04 02 │ 08 0a 00000001 00000000 │ 01 │ 03 03 07
//! ```
//!
//! Names are tcpdump's. At the end they are filled up with no-operations to whole words (RFC 9293 §3.1, §3.2).

use super::values::Problem;

const EXPECTED: &str = "options such as mss=1460,sackok,ts=1:0,nop,wscale=7, of at most 40 bytes together";
/// Room for options in a header.
const MOST: usize = 40;
const NOP: u8 = 1;
/// The most that a window can be scaled (RFC 7323 §2.3).
const MOST_SCALE: u8 = 14;

/// The options as they are written back, and their bytes.
///
/// # Errors
/// What is wrong with which of them.
pub(super) fn read(text: &str) -> Result<(String, Vec<u8>), Problem> {
    let mut bytes = Vec::new();
    let mut shown = Vec::new();
    for part in text.split(',') {
        let part = part.trim().to_ascii_lowercase();
        bytes.extend(option(&part)?);
        shown.push(part);
    }
    bytes.resize(bytes.len().next_multiple_of(4), NOP);
    match bytes.len() {
        0..=MOST => Ok((shown.join(","), bytes)),
        length => Err((format!("takes {length} bytes"), EXPECTED.to_owned())),
    }
}

/// One option: kind, length, value (RFC 9293 §3.2; RFC 7323 §2.2 and §3.2; RFC 2018 §2).
fn option(part: &str) -> Result<Vec<u8>, Problem> {
    let wrong = |problem: String| (problem, EXPECTED.to_owned());
    let (name, value) = part.split_once('=').unwrap_or((part, ""));
    let number = |text: &str, most: u32| {
        let number = text.parse().ok().filter(|number: &u32| *number <= most);
        number
            .ok_or_else(|| wrong(format!("has {name} with '{text}', which is not a number from 0 to {most}")))
    };
    let alone = |bytes: &[u8]| match part.contains('=') {
        false => Ok(bytes.to_vec()),
        true => Err(wrong(format!("gives a value to {name}, which has none"))),
    };
    match name {
        "nop" => alone(&[NOP]),
        "sackok" => alone(&[4, 2]),
        "mss" => {
            let [.., high, low] = number(value, u16::MAX.into())?.to_be_bytes();
            Ok(vec![2, 4, high, low])
        }
        "wscale" => Ok(vec![3, 3, number(value, MOST_SCALE.into())? as u8]),
        "ts" => {
            let (own, echo) = value.split_once(':').unwrap_or((value, "0"));
            let (own, echo) = (number(own, u32::MAX)?, number(echo, u32::MAX)?);
            Ok([&[8, 10], &own.to_be_bytes()[..], &echo.to_be_bytes()].concat())
        }
        _ => Err(wrong(format!("has '{name}', which is none of mss, wscale, sackok, ts and nop"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_stand_as_the_standards_have_them() {
        let (shown, bytes) = read("mss=1460, sackOK,ts=1:2,nop,wscale=7").unwrap();
        assert_eq!(shown, "mss=1460,sackok,ts=1:2,nop,wscale=7");
        // As of a SYN of Linux: 02 04 05b4 04 02 08 0a … 01 03 03 07, twenty bytes.
        let wanted = [2, 4, 5, 0xb4, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 1, 3, 3, 7];
        assert_eq!(bytes, wanted);
        assert_eq!(read("wscale=0").unwrap().1, [3, 3, 0, 1], "filled up to a word");
        assert_eq!(read(&shown).unwrap(), (shown.clone(), bytes), "reads back");
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, said) in [
            ("mms=1", "'mms', which is none of"),
            ("mss=70000", "mss with '70000'"),
            ("mss", "mss with ''"),
            ("wscale=15", "0 to 14"),
            ("sackok=1", "gives a value to sackok"),
            ("ts=1:x", "ts with 'x'"),
            ("", "'', which is none of"),
            ("ts=1,ts=1,ts=1,ts=1,mss=1", "takes 44 bytes"),
        ] {
            let (problem, _) = read(text).unwrap_err();
            assert!(problem.contains(said), "{text}: {problem}");
        }
    }
}
