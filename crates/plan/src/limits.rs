//! What makes a run fail (`--fail-if`) or end early (`--abort-if`): conditions on its figures.
//!
//! ```text
//! latency.p99 for "login" > 50ms in any 10s
//! └─ figure ─┘└── name ──┘ │ └─ bound ─┘└ window ┘
//!                      comparison
//! ```
//!
//! Limits judge the load and are not the load: a plan's hash leaves them out. What each figure means and which
//! bounds it takes is in docs/thresholds.md.

mod error;
mod parse;
mod print;
mod words;

#[cfg(test)]
mod tests;

pub use error::LimitError;

use crate::error::Place;
use units::{Bytes, Cause, CausePart, Count, Fraction, Miss, Picos, Rate};

/// What a plan says of limits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// The run has failed if one of these comes true.
    pub fail_if: Vec<Limit>,
    /// The run ends early, and has failed, as soon as one of these comes true.
    pub abort_if: Vec<Limit>,
    /// Where they were typed, where that is known.
    pub places: LimitPlaces,
}

/// Where limits were typed, in their order; for messages. All are equal: a plan is the same wherever it was
/// typed.
#[derive(Clone, Debug, Default)]
pub struct LimitPlaces {
    pub fail_if: Vec<Place>,
    pub abort_if: Vec<Place>,
}

impl PartialEq for LimitPlaces {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Limits {
    /// Where this limit was typed: file and line, or the flag.
    pub fn place_of(&self, limit: &str) -> String {
        let at = |all: &[Limit]| all.iter().position(|known| known.to_string() == limit);
        let (index, places, flag) = match at(&self.fail_if) {
            Some(index) => (Some(index), &self.places.fail_if, "--fail-if"),
            None => (at(&self.abort_if), &self.places.abort_if, "--abort-if"),
        };
        let place = index.and_then(|index| places.get(index));
        place.map_or_else(|| flag.to_owned(), ToString::to_string)
    }

    pub fn is_empty(&self) -> bool {
        self.fail_if.is_empty() && self.abort_if.is_empty()
    }
}

/// One condition. Its bound fits its figure, and a name or a window stands only where the figure is kept so.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    pub figure: Figure,
    pub comparison: Comparison,
    pub bound: Bound,
    /// Only requests with this name (a group of the result); `None`: all.
    pub name: Option<String>,
    /// Over any stretch of this length, which is whole seconds up to 60 s and whole minutes up to an hour;
    /// `None`: over the whole run.
    pub window: Option<Picos>,
}

/// What is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// One statistic of a kind of time, e.g. `latency.p99`.
    Time(Time, Statistic),
    /// How many requests ended so.
    Requests(Requests),
    /// Departures: how many, or how many a second.
    Offered,
    /// Complete answers a second.
    Achieved,
    /// Bytes of HTTP, heads included, before TLS: how many, or how many a second.
    Bytes(Way),
}

/// A kind of time; each is a distribution of `result.json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    Net,
    Tare,
    Unread,
    Latency,
    Service,
    Lateness,
    OwnLateness,
    Lookup,
    Connect,
    Tls,
    Ready,
    FirstByte,
    FirstResponse,
    Body,
    GapError,
}

impl Time {
    pub const ALL: &'static [Self] = &[
        Self::Net,
        Self::Tare,
        Self::Unread,
        Self::Latency,
        Self::Service,
        Self::Lateness,
        Self::OwnLateness,
        Self::Lookup,
        Self::Connect,
        Self::Tls,
        Self::Ready,
        Self::FirstByte,
        Self::FirstResponse,
        Self::Body,
        Self::GapError,
    ];

    /// The key in `result.json`, without its `_ns`.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Net => "net",
            Self::Tare => "tare",
            Self::Unread => "unread",
            Self::Latency => "latency",
            Self::Service => "service",
            Self::Lateness => "lateness",
            Self::OwnLateness => "own_lateness",
            Self::Lookup => "lookup",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Ready => "ready",
            Self::FirstByte => "first_byte",
            Self::FirstResponse => "first_response",
            Self::Body => "body",
            Self::GapError => "gap_error",
        }
    }
}

/// One number of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    Mean,
    /// Standard deviation.
    Stdev,
    Min,
    Max,
    Percentile(Percentile),
}

/// 0 to 100, exact to seven decimals: p50, p99.9, p99.9999999.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Percentile {
    /// Billionths of the whole.
    billionths: u32,
}

impl Percentile {
    /// `None` above one billion.
    pub const fn from_billionths(billionths: u32) -> Option<Self> {
        if billionths <= 1_000_000_000 { Some(Self { billionths }) } else { None }
    }

    /// The share of all values that this percentile is not below, 0 to 1.
    pub fn quantile(self) -> f64 {
        f64::from(self.billionths) / 1e9
    }
}

/// Requests that ended in some way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requests {
    /// Failed, or answered with a status of 400 or more.
    Errors,
    Done,
    Failed,
    Missed,
    CutOff,
    /// Answered with a status in this range, both ends included.
    Status(u16, u16),
    /// Failed for one cause.
    Error(Cause),
    /// Failed in one part of their life: all causes of it.
    ErrorsIn(CausePart),
    /// Missed for one reason.
    MissedFor(Miss),
}

/// The lowest status that counts as an error.
pub const LOWEST_ERROR_STATUS: u16 = 400;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    In,
    Out,
}

/// How value and bound are compared; the condition is true if `value <comparison> bound`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    Over,
    AtLeast,
    Under,
    AtMost,
}

impl Comparison {
    /// Whether the condition is true.
    pub fn is_met(self, value: f64, bound: f64) -> bool {
        match self {
            Self::Over => value > bound,
            Self::AtLeast => value >= bound,
            Self::Under => value < bound,
            Self::AtMost => value <= bound,
        }
    }

    /// Whether large values make it true.
    pub const fn is_upward(self) -> bool {
        matches!(self, Self::Over | Self::AtLeast)
    }

    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Over => ">",
            Self::AtLeast => ">=",
            Self::Under => "<",
            Self::AtMost => "<=",
        }
    }
}

/// What a figure is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    Time(Picos),
    Count(Count),
    /// Of all departures that ended; for the achieved rate, of the offered rate.
    Share(Fraction),
    Rate(Rate),
    Bytes(Bytes),
    BytesPerSecond(Bytes),
}

impl Bound {
    /// The unit of value and bound in `result.json`.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Time(_) => "ns",
            Self::Count(_) => "count",
            Self::Share(_) => "share",
            Self::Rate(_) => "/s",
            Self::Bytes(_) => "bytes",
            Self::BytesPerSecond(_) => "bytes/s",
        }
    }

    /// In that unit.
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Time(time) => time.as_picos() as f64 / 1e3,
            Self::Count(count) => count.get() as f64,
            Self::Share(share) => share.as_f64(),
            Self::Rate(rate) => rate.as_per_second_f64(),
            Self::Bytes(bytes) | Self::BytesPerSecond(bytes) => bytes.get() as f64,
        }
    }

    /// Whether the value only grows during a run, so that without a window it is small at the start of any.
    pub const fn is_of_a_sum(self) -> bool {
        matches!(self, Self::Count(_) | Self::Bytes(_))
    }
}
