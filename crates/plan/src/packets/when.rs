//! When frames leave, as typed: `max`, `2M`, `1gbit:l2`, `50%`, a gap, a file of gaps, or a recording.

use crate::model::Shape;
use std::path::PathBuf;
use units::{Picos, Rate};

/// Speeds of a replay lie between one millionth and a million.
const MOST_SPEED: u64 = 1_000_000;

/// When frames leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pace {
    /// As fast as the port takes them.
    Max,
    Frames(Rate),
    /// Bits a second; on the wire (with preamble, gap and FCS) or of frames alone (with FCS).
    Bits {
        per_second: u64,
        on_wire: bool,
    },
    /// Of the line rate, in millionths.
    Line {
        millionths: u64,
    },
    Gap(Picos),
    Gaps(PathBuf),
    Replay {
        file: PathBuf,
        speed: Speed,
    },
    /// A rate that changes by itself, in frames a second.
    Shape(Shape),
    /// Each stream of the frames has a pace of its own.
    Streams,
}

/// How much faster a replay is than its recording: `up / down`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speed {
    pub up: u64,
    pub down: u64,
}

impl Pace {
    /// `max`, `50%`, `1gbit`, `1gbit:l2`, `2M`, `30/min`; what is wrong with any other.
    pub fn read(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.eq_ignore_ascii_case("max") {
            return Ok(Self::Max);
        }
        if let Some(percent) = text.strip_suffix('%') {
            let (whole, part) = percent.trim().split_once('.').unwrap_or((percent.trim(), ""));
            let digits = format!("{whole}{part:0<4}");
            let is_number = !whole.is_empty() && part.len() <= 4;
            let millionths = digits
                .parse()
                .ok()
                .filter(|_| is_number)
                .ok_or("is not a share with at most four decimals")?;
            return match millionths {
                0 => Err("is zero".to_owned()),
                1..=1_000_000 => Ok(Self::Line { millionths }),
                _ => Err("is more than the line rate".to_owned()),
            };
        }
        let lower = text.to_ascii_lowercase();
        let (bits, on_wire) = match (lower.strip_suffix(":l2"), lower.strip_suffix(":l1")) {
            (Some(bits), _) => (bits, false),
            (None, Some(bits)) => (bits, true),
            (None, None) => (lower.as_str(), true),
        };
        let unit = ["bit/s", "bits/s", "bps", "bit"].iter().find_map(|unit| bits.strip_suffix(unit));
        match unit {
            Some(number) => match read_bits(number) {
                Some(0) => Err("is zero".to_owned()),
                Some(per_second) => Ok(Self::Bits { per_second, on_wire }),
                None => Err("is not a number of bits per second".to_owned()),
            },
            None if bits.len() < lower.len() => Err("has a layer but no unit of bits".to_owned()),
            None => {
                text.parse().map(Self::Frames).map_err(|error: units::ParseError| error.problem.to_string())
            }
        }
    }

    /// A rate as plans write it; of what is none, nothing.
    pub(super) fn rate_text(&self) -> Option<String> {
        match self {
            Self::Max => Some("max".to_owned()),
            Self::Frames(rate) => Some(rate.to_string()),
            Self::Bits { per_second, on_wire } => {
                Some(format!("{per_second}bit/s{}", if *on_wire { "" } else { ":l2" }))
            }
            Self::Line { millionths } => Some(format!("{}.{:04}%", millionths / 10_000, millionths % 10_000)),
            _ => None,
        }
    }
}

impl Speed {
    /// `2`, `0.5`, `2x`; what is wrong with any other.
    pub(super) fn read(text: &str) -> Result<Self, &'static str> {
        let number = text.strip_suffix(['x', '\u{d7}']).unwrap_or(text);
        let (whole, part) = number.split_once('.').unwrap_or((number, ""));
        if part.len() > 6 || (whole.is_empty() && part.is_empty()) {
            return Err("is not a number with at most six decimals");
        }
        let down = 10u64.pow(part.len() as u32);
        let up: u64 = format!("{whole}{part}").parse().map_err(|_| "is not a number")?;
        if up == 0 || up / down > MOST_SPEED {
            return Err("is not above 0 and at most 1 000 000");
        }
        Ok(Self { up, down })
    }
}

impl Speed {
    /// When a frame leaves that was captured so long after the first.
    pub fn faster(self, captured_ns: u64) -> Picos {
        let picos = u128::from(captured_ns) * 1_000 * u128::from(self.down) / u128::from(self.up);
        Picos::from_picos_u128(picos)
    }
}

impl std::fmt::Display for Speed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // `down` is a power of ten.
        let decimals = self.down.ilog10() as usize;
        match decimals {
            0 => write!(f, "{}", self.up),
            _ => write!(f, "{}.{:0decimals$}", self.up / self.down, self.up % self.down),
        }
    }
}

/// `10G`, `2.5g`, `100 m`, `800`: a number of bits.
pub(crate) fn read_bits(text: &str) -> Option<u64> {
    let text = text.trim();
    let (number, factor) = match text.to_ascii_lowercase().chars().last()? {
        'k' => (&text[..text.len() - 1], 1_000u64),
        'm' => (&text[..text.len() - 1], 1_000_000),
        'g' => (&text[..text.len() - 1], 1_000_000_000),
        't' => (&text[..text.len() - 1], 1_000_000_000_000),
        _ => (text, 1),
    };
    let (whole, part) = number.trim().split_once('.').unwrap_or((number.trim(), ""));
    let is_number = !whole.is_empty() && part.len() <= 9 && part.bytes().all(|byte| byte.is_ascii_digit());
    let scale = 10u64.checked_pow(part.len() as u32)?;
    let value: u64 = format!("{whole}{part}").parse().ok().filter(|_| is_number)?;
    let bits = u128::from(value) * u128::from(factor) / u128::from(scale);
    u64::try_from(bits).ok()
}
