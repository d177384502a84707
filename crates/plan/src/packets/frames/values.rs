//! How values of a field are written, and written back.
//!
//! ```text
//! 9                one            9,10,53          one after the other
//! 1024..2047       up, and again  2047..1024       down
//! 0..100/4         in steps       198.18.0.0/24    all of a prefix
//! random(A..B)     any            random           any at all
//! …@flow           each flow the next, instead of each frame
//! ```

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::template::{By, Mac, Values};

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueKind {
    Number { bits: u32 },
    Ipv4,
    Ipv6,
    Mac,
}

/// The values of one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Chosen {
    pub kind: ValueKind,
    /// Of frame 0, and of all where nothing varies.
    pub first: u128,
    /// `None`: one value.
    pub values: Option<Values>,
    pub by: By,
}

/// What is wrong, and what would be right.
pub(super) type Problem = (String, String);

impl ValueKind {
    const fn bits(self) -> u32 {
        match self {
            Self::Number { bits } => bits,
            Self::Ipv4 => 32,
            Self::Ipv6 => 128,
            Self::Mac => 48,
        }
    }

    fn most(self) -> u128 {
        u128::MAX >> (128 - self.bits())
    }

    pub fn expected(self) -> String {
        match self {
            Self::Number { bits } => {
                format!(
                    "0 to {}, a list (1,5), a range (1..9 or 1..9/2) or random(1..9)",
                    (1_u64 << bits) - 1
                )
            }
            Self::Ipv4 => "an IPv4 address, a list, a range (198.18.0.2-198.18.0.9) or a prefix".to_owned(),
            Self::Ipv6 => "an IPv6 address, a list, a range (fd00::2-fd00::9) or a prefix".to_owned(),
            Self::Mac => "a MAC address (02:00:00:00:00:01), a list or a range".to_owned(),
        }
    }

    /// One value.
    fn read(self, text: &str) -> Result<u128, Problem> {
        let wrong = |problem: &str| (format!("has a part '{text}' that {problem}"), self.expected());
        match self {
            Self::Number { .. } => {
                let value = match text.strip_prefix("0x") {
                    Some(digits) => u128::from_str_radix(digits, 16),
                    None => text.parse(),
                };
                let value = value.map_err(|_| wrong("is not a number"))?;
                if value > self.most() { Err(wrong("does not fit")) } else { Ok(value) }
            }
            Self::Ipv4 => text
                .parse::<Ipv4Addr>()
                .map(|a| a.to_bits().into())
                .map_err(|_| wrong("is not an IPv4 address")),
            Self::Ipv6 => {
                text.parse::<Ipv6Addr>().map(Ipv6Addr::to_bits).map_err(|_| wrong("is not an IPv6 address"))
            }
            Self::Mac => {
                let mac = text.parse::<Mac>().map_err(|_| wrong("is not a MAC address"))?;
                Ok(mac.0.iter().fold(0, |value, byte| value << 8 | u128::from(*byte)))
            }
        }
    }

    fn show(self, value: u128) -> Shown {
        Shown(self, value)
    }
}

/// A value as its kind is written.
struct Shown(ValueKind, u128);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ValueKind::Number { .. } => write!(f, "{}", self.1),
            ValueKind::Ipv4 => write!(f, "{}", Ipv4Addr::from_bits(self.1 as u32)),
            ValueKind::Ipv6 => write!(f, "{}", Ipv6Addr::from_bits(self.1)),
            ValueKind::Mac => write!(f, "{}", mac(self.1)),
        }
    }
}

pub(super) fn mac(value: u128) -> Mac {
    let [.., a, b, c, d, e, g] = value.to_be_bytes();
    Mac([a, b, c, d, e, g])
}

/// IPv4 or IPv6, by how the first address of `text` is written.
pub(super) fn family(text: &str) -> ValueKind {
    if text.contains(':') { ValueKind::Ipv6 } else { ValueKind::Ipv4 }
}

impl Chosen {
    pub fn one(kind: ValueKind, first: u128) -> Self {
        Self { kind, first, values: None, by: By::Frame }
    }

    pub fn read(text: &str, kind: ValueKind) -> Result<Self, Problem> {
        let text = text.trim();
        let (text, by) = match text.rsplit_once('@') {
            None => (text, By::Frame),
            Some((text, "flow")) => (text, By::Flow),
            Some((text, "frame")) => (text, By::Frame),
            Some((_, other)) => return Err((format!("follows '{other}'"), "@flow or @frame".to_owned())),
        };
        let (first, values) = values(text.trim(), kind)?;
        Ok(Self { kind, first, values, by })
    }

    /// The address that frame 0 has.
    pub fn address(&self) -> IpAddr {
        match self.kind {
            ValueKind::Ipv6 => Ipv6Addr::from_bits(self.first).into(),
            _ => Ipv4Addr::from_bits(self.first as u32).into(),
        }
    }
}

fn values(text: &str, kind: ValueKind) -> Result<(u128, Option<Values>), Problem> {
    if text.is_empty() {
        return Err(("is empty".to_owned(), kind.expected()));
    }
    if let Some(inside) = text.strip_prefix("random") {
        let (first, last) = match inside.strip_prefix('(').and_then(|inside| inside.strip_suffix(')')) {
            Some(inside) => range(inside.trim(), kind)?.ok_or_else(|| no_range(text))?,
            None if inside.is_empty() && kind.bits() <= 64 => (0, kind.most()),
            None => return Err(no_range(text)),
        };
        return if first <= last {
            Ok((first, Some(Values::Random { first, last })))
        } else {
            Err(("has a range that goes down".to_owned(), "random(A..B) with A below B".to_owned()))
        };
    }
    if text.contains(',') {
        let list = text.split(',').map(|part| kind.read(part.trim())).collect::<Result<Vec<_>, _>>()?;
        return Ok((list[0], Some(Values::List(list))));
    }
    if let Some((network, length)) = text.split_once('/').filter(|(network, _)| !network.contains("..")) {
        return prefix(text, network, length, kind);
    }
    let (ends, step) = match text.rsplit_once('/') {
        Some((ends, step)) => (ends, ValueKind::Number { bits: 32 }.read(step.trim())?),
        None => (text, 1),
    };
    match range(ends, kind)? {
        None => Ok((kind.read(text)?, None)),
        Some((first, last)) => increment(first, last, step),
    }
}

fn no_range(text: &str) -> Problem {
    (format!("has no range in '{text}'"), "random(A..B)".to_owned())
}

/// `A..B` or `A-B`.
fn range(text: &str, kind: ValueKind) -> Result<Option<(u128, u128)>, Problem> {
    if let Some((first, last)) = text.split_once("..") {
        return Ok(Some((kind.read(first.trim())?, kind.read(last.trim())?)));
    }
    let dashed = text.split_once('-').filter(|_| !matches!(kind, ValueKind::Mac));
    dashed.map(|(first, last)| Ok((kind.read(first.trim())?, kind.read(last.trim())?))).transpose()
}

fn increment(first: u128, last: u128, step: u128) -> Result<(u128, Option<Values>), Problem> {
    if step == 0 {
        return Err(("has a step of 0".to_owned(), "a step of 1 or more".to_owned()));
    }
    let steps = first.abs_diff(last) / step;
    let Some(count) = u64::try_from(steps).ok().and_then(|steps| steps.checked_add(1)) else {
        return Err((
            "is a range of more than 2^64 values".to_owned(),
            "a smaller range, or random(A..B)".to_owned(),
        ));
    };
    let step = if last < first { -(step as i64) } else { step as i64 };
    Ok((first, Some(Values::Increment { start: first, step, count })))
}

/// All addresses of a prefix.
fn prefix(
    text: &str,
    network: &str,
    length: &str,
    kind: ValueKind,
) -> Result<(u128, Option<Values>), Problem> {
    if !matches!(kind, ValueKind::Ipv4 | ValueKind::Ipv6) {
        return Err((format!("has a step but no range in '{text}'"), kind.expected()));
    }
    let first = kind.read(network.trim())?;
    let length = length.trim().parse().ok().filter(|length| *length <= kind.bits());
    let Some(length) = length else {
        return Err(("has a prefix that is too long".to_owned(), format!("/0 to /{}", kind.bits())));
    };
    let hosts = kind.most().checked_shr(length).unwrap_or(0);
    if first & hosts != 0 {
        let right = kind.show(first & !hosts);
        return Err((format!("has bits set after its first {length}"), format!("{right}/{length}")));
    }
    increment(first, first + hosts, 1)
}

/// The way that reads back.
impl fmt::Display for Chosen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |value| self.kind.show(value);
        match &self.values {
            None => write!(f, "{}", show(self.first))?,
            Some(Values::Increment { start, step, count }) => {
                let way = u128::from(step.unsigned_abs()) * u128::from(count - 1);
                let last = if *step < 0 { start - way } else { start + way };
                write!(f, "{}..{}", show(*start), show(last))?;
                if step.unsigned_abs() != 1 {
                    write!(f, "/{}", step.unsigned_abs())?;
                }
            }
            Some(Values::List(list)) => {
                for (place, value) in list.iter().enumerate() {
                    let comma = if place > 0 { "," } else { "" };
                    write!(f, "{comma}{}", show(*value))?;
                }
            }
            Some(Values::Random { first, last }) => write!(f, "random({}..{})", show(*first), show(*last))?,
        }
        f.write_str(if self.by == By::Flow { "@flow" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PORT: ValueKind = ValueKind::Number { bits: 16 };

    fn read(text: &str, kind: ValueKind) -> Chosen {
        Chosen::read(text, kind).unwrap_or_else(|problem| panic!("{text}: {problem:?}"))
    }

    #[test]
    fn each_way_to_write_values_is_read() {
        assert_eq!(read("9", PORT), Chosen::one(PORT, 9));
        assert_eq!(read("0x10", PORT).first, 16);
        assert_eq!(read("9, 10,53", PORT).values, Some(Values::List(vec![9, 10, 53])));
        let up = Values::Increment { start: 1024, step: 1, count: 1024 };
        assert_eq!(read("1024..2047", PORT).values, Some(up.clone()));
        assert_eq!(read("1024-2047", PORT).values, Some(up));
        let down = Values::Increment { start: 10, step: -3, count: 4 };
        assert_eq!(read("10..0/3", PORT).values, Some(down), "10, 7, 4, 1");
        assert_eq!(read("random(5..6)@flow", PORT).by, By::Flow);
        assert_eq!(read("random", PORT).values, Some(Values::Random { first: 0, last: 65_535 }));
        let hosts = Values::Increment { start: 0xc612_0000, step: 1, count: 256 };
        assert_eq!(read("198.18.0.0/24", ValueKind::Ipv4).values, Some(hosts));
        let eight = Values::Increment { start: 0xc612_0002, step: 1, count: 8 };
        assert_eq!(read("198.18.0.2-198.18.0.9", ValueKind::Ipv4).values, Some(eight));
        let two = Values::Increment { start: (0xfd00 << 112) + 2, step: 1, count: 2 };
        assert_eq!(read("fd00::2-fd00::3", ValueKind::Ipv6).values, Some(two));
        assert_eq!(read("02:00:00:00:00:0a..02:00:00:00:00:0c", ValueKind::Mac).first, 0x0200_0000_000a);
        assert_eq!(read("fd00::/128", ValueKind::Ipv6).to_string(), "fd00::..fd00::");
        assert_eq!(read("0.0.0.0/0", ValueKind::Ipv4).to_string(), "0.0.0.0..255.255.255.255");
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        for (text, kind, problem) in [
            ("", PORT, "is empty"),
            ("65536", PORT, "has a part '65536' that does not fit"),
            ("1..x", PORT, "has a part 'x' that is not a number"),
            ("1..9/0", PORT, "has a step of 0"),
            ("9@port", PORT, "follows 'port'"),
            ("random(9..1)", PORT, "has a range that goes down"),
            ("198.18.0.1/24", ValueKind::Ipv4, "has bits set after its first 24"),
            ("198.18.0.0/33", ValueKind::Ipv4, "has a prefix that is too long"),
            ("198.18.0", ValueKind::Ipv4, "has a part '198.18.0' that is not an IPv4 address"),
            ("::/0", ValueKind::Ipv6, "is a range of more than 2^64 values"),
        ] {
            assert_eq!(Chosen::read(text, kind).unwrap_err().0, problem, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_shown_reads_back(
            list in prop::collection::vec(0_u128..65_536, 1..5), step in 1_u128..9,
            form in 0_usize..4, kind in 0_usize..4,
        ) {
            let kind = [PORT, ValueKind::Ipv4, ValueKind::Ipv6, ValueKind::Mac][kind];
            let (first, last) = (list[0], list[list.len() - 1]);
            let text = match form {
                0 => kind.show(first).to_string(),
                1 => list.iter().map(|value| kind.show(*value).to_string()).collect::<Vec<_>>().join(","),
                2 => format!("{}..{}/{step}@flow", kind.show(first), kind.show(last)),
                _ => format!("random({}..{})", kind.show(first.min(last)), kind.show(first.max(last))),
            };
            let chosen = Chosen::read(&text, kind).unwrap();
            prop_assert_eq!(Chosen::read(&chosen.to_string(), kind), Ok(chosen));
        }
    }
}
