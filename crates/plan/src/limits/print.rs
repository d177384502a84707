//! The canonical form of a limit, which parses back to the same one.

use super::*;
use std::fmt;

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.figure)?;
        if let Some(name) = &self.name {
            write!(f, " for \"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))?;
        }
        write!(f, " {} {}", self.comparison.symbol(), self.bound)?;
        if let (Figure::Achieved, Bound::Share(_)) = (self.figure, self.bound) {
            f.write_str(" of offered")?;
        }
        self.window.iter().try_for_each(|window| write!(f, " in any {window}"))
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time(time, statistic) => write!(f, "{}.{statistic}", time.key()),
            Self::Requests(requests) => requests.fmt(f),
            Self::Offered => f.write_str("offered"),
            Self::Achieved => f.write_str("achieved"),
            Self::Bytes(Way::In) => f.write_str("bytes_in"),
            Self::Bytes(Way::Out) => f.write_str("bytes_out"),
        }
    }
}

impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mean => f.write_str("mean"),
            Self::Stdev => f.write_str("stdev"),
            Self::Min => f.write_str("min"),
            Self::Max => f.write_str("max"),
            Self::Percentile(percentile) => percentile.fmt(f),
        }
    }
}

/// `p99.9`: no more decimals than it has.
impl fmt::Display for Percentile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, part) = (self.billionths / 10_000_000, self.billionths % 10_000_000);
        let decimals = format!("{part:07}");
        match decimals.trim_end_matches('0') {
            "" => write!(f, "p{whole}"),
            decimals => write!(f, "p{whole}.{decimals}"),
        }
    }
}

impl fmt::Display for Requests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Errors => f.write_str("errors"),
            Self::Done => f.write_str("done"),
            Self::Failed => f.write_str("failed"),
            Self::Missed => f.write_str("missed"),
            Self::CutOff => f.write_str("cut_off"),
            Self::Status(low, high) if low == high => write!(f, "status({low})"),
            Self::Status(low, high) if low % 100 == 0 && high == low + 99 => {
                write!(f, "status({}xx)", low / 100)
            }
            Self::Status(low, high) => write!(f, "status({low}-{high})"),
            Self::Error(cause) => write!(f, "error({})", cause.key()),
            Self::ErrorsIn(part) => write!(f, "error({})", part.key()),
            Self::MissedFor(why) => write!(f, "missed({})", super::words::reason(why)),
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time(time) => time.fmt(f),
            Self::Count(count) => count.fmt(f),
            Self::Share(share) => share.fmt(f),
            Self::Rate(rate) => rate.fmt(f),
            Self::Bytes(bytes) => with_unit(*bytes, f),
            Self::BytesPerSecond(bytes) => {
                with_unit(*bytes, f)?;
                f.write_str("/s")
            }
        }
    }
}

/// A size always with its unit: `600B`, `64KiB`.
fn with_unit(bytes: Bytes, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let text = bytes.to_string();
    let unit = if text.ends_with(|c: char| c.is_ascii_digit()) { "B" } else { "" };
    write!(f, "{text}{unit}")
}
