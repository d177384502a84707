//! What a run weighed: per-thread recorders, merged histograms, the generator's own health, and the verdict.
//!
//! ```text
//! engine thread ─ Event ─► Recorder ─ IntervalData (swap) ─► Collector ─ IntervalRow ─► sink (store, progress)
//!                              ▲                              │  │
//!                              └──── empty IntervalData ──────┘  └► RunTotals, HealthSummary ► judge ► Verdict
//! /proc ─► Probe ─ HealthSample ──────────────────────────────┘
//! ```
//!
//! Memory is flat: nothing is kept per request or per interval. Percentiles are never averaged: histograms
//! merge by adding buckets. Times in histograms are whole nanoseconds, 1 ns to 1 h, within 0.1 %.

#![forbid(unsafe_code)]

mod arrivals;
mod collector;
mod cost;
mod criterion;
mod doubted;
mod environment;
pub mod gap_meter;
mod gaps;
mod health;
mod interval;
mod judge;
mod label;
mod links;
mod moments;
pub mod packets;
mod probe;
mod procfs;
mod recorder;
mod series;
mod tally;
mod tap;
mod threshold;
mod totals;
mod verdict;
mod waiters;

#[cfg(test)]
mod testing;

pub use arrivals::{AskedArrivals, Fidelity, Process};
pub use collector::{Collector, recorders};
pub use cost::Cost;
pub use criterion::{About, CriterionId, Known, Of, Section, Unit};
pub use environment::{Choice, ClockReport, Environment, Limit, Stated};
pub use health::{CoreHealth, HealthSample, HealthSummary, ThreadHealth};
pub use interval::{GroupData, IntervalData, IntervalRow};
pub use judge::{
    Conditions, Flags, FrameConditions, Loop, SimulatedTime, SinkLoss, TransmitPlace, WeighedLoad, judge,
    judge_so_far, unreachable,
};
pub use label::Label;
pub use links::Losses;
/// From the thresholds' grammar, for all who count errors.
pub use plan::LOWEST_ERROR_STATUS;
pub use probe::Probe;
pub use recorder::{Recorder, Settings};
pub use series::{
    HISTOGRAM_DIGITS, Histogram, KEPT, Series, SeriesSet, Summary, bound_from, is_known, quantile_between,
    with_unfinished,
};
pub use tally::{FewOutcomes, OutcomeCount, Outcomes, Tally};
pub use tap::{BATCH, Batch, Batches, Tapped, taps};
pub use threshold::{Aborted, Judgement, Measuring, Met, Reading, Thresholds, UnknownName, WholeRun};
pub use totals::{GroupTally, Imbalance, MOST_PAUSES, RunTotals};
pub use verdict::{Criterion, Ending, ExitStatus, Sense, Verdict, Word};
