//! A run over time, in as many steps as a picture has room for.
//!
//! ```text
//! Interval + histograms, one a second ──► TimelineBuilder ──► at most `most` bins
//! ```
//!
//! Counts of merged intervals add up; percentiles of a bin are those of its merged histograms, never an average. The
//! same builder serves a run that goes on (`IntervalRow`) and one that was stored (`intervals.jsonl`, `latency.hlog`).

use crate::schema::Interval;

/// Steps of a picture at most: what a screen can show.
pub const MAX_BINS: usize = 400;

/// What a report draws over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// In the order of time, without gaps between neighbours.
    pub bins: Vec<Bin>,
    /// The most intervals that one bin adds up; 1 when bins are intervals.
    pub merged: u64,
}

/// One step of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bin {
    /// Counts, percentiles, gauges; `t_s` and `length_s` are the bin's own.
    pub row: Interval,
    /// How many latencies fell where; only cells that are not empty, ascending.
    pub heat: Vec<HeatCell>,
    /// Whether the percentiles in `row` are of all intervals of the bin (histograms were at hand).
    pub exact: bool,
}

/// A cell of the heat map. Edges are the same in all bins: powers of two, each octave in four equal steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeatCell {
    /// Latencies from `from_ns` (included) to `to_ns` (excluded).
    pub from_ns: u64,
    pub to_ns: u64,
    pub count: u64,
}
