//! How frame sizes and payloads are written, and written back.

use super::values::Problem;
use wire::template::{IMIX, Payload, Sizes};

const SIZES: &str = "a size with FCS (64), a list (64,594,1518), a range (64..1518 or 64..1518/2), random(64..1518), shares (64x7,594x4,1518x1) or imix";
const PAYLOADS: &str = "zeros, increment, random, bytes (0xdeadbeef) or a text (text:hello)";
/// Bytes of a payload's pattern at most.
const PATTERN: usize = 65_535;

fn wrong(problem: impl Into<String>) -> Problem {
    (problem.into(), SIZES.to_owned())
}

pub(super) fn read(text: &str) -> Result<Sizes, Problem> {
    let text = text.trim();
    let number = |part: &str| {
        let part = part.trim();
        part.parse::<usize>().map_err(|_| wrong(format!("has a part '{part}' that is not a number")))
    };
    let range = |text: &str| -> Result<Option<(usize, usize)>, Problem> {
        let Some((first, last)) = text.split_once("..").or_else(|| text.split_once('-')) else {
            return Ok(None);
        };
        let (first, last) = (number(first)?, number(last)?);
        if first > last { Err(wrong("has a range that goes down")) } else { Ok(Some((first, last))) }
    };
    if text.eq_ignore_ascii_case("imix") {
        return Ok(Sizes::imix());
    }
    if let Some(inside) = text.strip_prefix("random(").and_then(|inside| inside.strip_suffix(')')) {
        let (first, last) = range(inside)?.ok_or_else(|| wrong("has no range"))?;
        return Ok(Sizes::Random { first, last });
    }
    if text.contains('x') {
        return shares(text).map(Sizes::Weighted);
    }
    if text.contains(',') {
        return text.split(',').map(number).collect::<Result<_, _>>().map(Sizes::List);
    }
    let (ends, step) = match text.split_once('/') {
        Some((ends, step)) => (ends, Some(number(step)?)),
        None => (text, None),
    };
    match (range(ends)?, step) {
        (_, Some(0)) => Err(wrong("has a step of 0")),
        (Some((first, last)), step) => Ok(Sizes::Range { first, last, step: step.unwrap_or(1) }),
        (None, None) => Ok(Sizes::Fixed(number(text)?)),
        (None, Some(_)) => Err(wrong("has a step but no range")),
    }
}

/// `64x7,594x4,1518`
fn shares(text: &str) -> Result<Vec<(usize, u32)>, Problem> {
    let part = |part: &str| {
        let (size, share) = part.split_once('x').unwrap_or((part, "1"));
        match (size.trim().parse(), share.trim().parse()) {
            (Ok(size), Ok(share)) if share > 0 => Ok((size, share)),
            _ => Err(wrong(format!("has a part '{}' that is not a size with its share", part.trim()))),
        }
    };
    text.split(',').map(part).collect()
}

pub(super) fn show(sizes: &Sizes) -> String {
    match sizes {
        Sizes::Fixed(size) => size.to_string(),
        Sizes::List(list) => list.iter().map(usize::to_string).collect::<Vec<_>>().join(","),
        Sizes::Range { first, last, step: 1 } => format!("{first}..{last}"),
        Sizes::Range { first, last, step } => format!("{first}..{last}/{step}"),
        Sizes::Weighted(parts) if parts[..] == IMIX => "imix".to_owned(),
        Sizes::Weighted(parts) => {
            parts.iter().map(|(size, share)| format!("{size}x{share}")).collect::<Vec<_>>().join(",")
        }
        Sizes::Random { first, last } => format!("random({first}..{last})"),
    }
}

pub(super) fn payload(text: &str) -> Result<Payload, Problem> {
    let wrong = |problem: &str| Err((problem.to_owned(), PAYLOADS.to_owned()));
    let bytes = match text {
        "zeros" => return Ok(Payload::Zeros),
        "increment" => return Ok(Payload::Increment),
        "random" => return Ok(Payload::Random),
        _ => match (text.strip_prefix("0x"), text_of(text)) {
            (Some(digits), _) => match unhex(digits) {
                Some(bytes) => bytes,
                None => return wrong("has no pairs of hexadecimal digits after 0x"),
            },
            (None, Some(text)) => text.as_bytes().to_vec(),
            (None, None) => return wrong("is not a payload"),
        },
    };
    match bytes.len() {
        0 => wrong("is empty"),
        1..=PATTERN => Ok(Payload::Bytes(bytes)),
        _ => wrong("is longer than 65535 bytes"),
    }
}

/// `text:hello` or `"hello"`
fn text_of(text: &str) -> Option<&str> {
    let quoted = || text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    text.strip_prefix("text:").or_else(quoted)
}

fn unhex(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2);
    pairs
        .map(|pair| match pair {
            [high, low] => {
                let digit = |byte: &u8| char::from(*byte).to_digit(16);
                Some((digit(high)? << 4 | digit(low)?) as u8)
            }
            _ => None,
        })
        .collect()
}

pub(super) fn show_payload(payload: &Payload) -> String {
    match payload {
        Payload::Zeros => "zeros".to_owned(),
        Payload::Increment => "increment".to_owned(),
        Payload::Random => "random".to_owned(),
        Payload::Bytes(bytes) => {
            format!("0x{}", bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_to_write_sizes_reads_back() {
        for (text, sizes) in [
            ("64", Sizes::Fixed(64)),
            ("64,594,1518", Sizes::List(vec![64, 594, 1518])),
            ("64..1518", Sizes::Range { first: 64, last: 1518, step: 1 }),
            ("64..1518/2", Sizes::Range { first: 64, last: 1518, step: 2 }),
            ("random(64..128)", Sizes::Random { first: 64, last: 128 }),
            ("64x7,594x4,1518x1", Sizes::imix()),
            ("imix", Sizes::imix()),
            ("64x3,128", Sizes::Weighted(vec![(64, 3), (128, 1)])),
        ] {
            assert_eq!(read(text), Ok(sizes.clone()), "{text}");
            assert_eq!(read(&show(&sizes)), Ok(sizes));
        }
        for text in ["", "x", "64..", "9..1", "64/2", "64..70/0", "64x0", "random(64)", "-5"] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn each_way_to_write_a_payload_reads_back() {
        for text in ["zeros", "increment", "random", "0xdeadbeef"] {
            assert_eq!(show_payload(&payload(text).unwrap()), text);
        }
        assert_eq!(payload("text:hi"), Ok(Payload::Bytes(b"hi".to_vec())));
        assert_eq!(payload("\"hi\""), Ok(Payload::Bytes(b"hi".to_vec())));
        for text in ["", "ones", "0x", "0xabc", "0xzz", "text:", "\"", "\"\"", "\"hi"] {
            assert!(payload(text).is_err(), "{text}");
        }
    }
}
