//! What a sink is.

use hdrhistogram::Histogram;
use measure::Series;
use store::RunResult;
use store::schema::Interval;
use units::{Event, Picos};

/// What is known of a run when it starts; a sink labels all that it sends with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunInfo {
    /// Name of the run: `2026-11-20T12-00-00Z-http-7f3a`.
    pub run: String,
    /// `http`, `packet`…
    pub engine: String,
    pub plan_hash: String,
    /// What is loaded, for people.
    pub target: String,
    /// Version of this program.
    pub version: String,
    /// Wall-clock time of the run's origin, nanoseconds since 1970.
    pub origin_unix_ns: u64,
    /// Length of the warm-up: an event that is due earlier than this after the origin is not in the figures.
    pub warmup: Picos,
    /// Names of the groups, in the order of `Event::group`; the last stands for «other». Empty or one: no groups.
    pub groups: Vec<String>,
    /// Text of `plan.toml` and of `environment.json`.
    pub plan: String,
    pub environment: String,
}

/// One interval, with the histograms that its percentiles came from.
#[derive(Clone, Debug)]
pub struct SinkRow {
    /// Number of the interval, from 0.
    pub index: u64,
    pub row: Interval,
    pub histograms: IntervalHistograms,
}

/// Nanoseconds; only series that have values. Three significant digits.
pub type IntervalHistograms = Vec<(Series, Histogram<u32>)>;

/// One kind of place. All calls come from one thread that belongs to this sink alone, in this order: `begin`, then
/// `interval` and `events` as they come, `end` once. A call may block up to the sink's own time-outs (at most some
/// seconds); meanwhile its queue fills, and what does not fit is lost and counted by the hub.
pub trait Exporter: Send {
    /// Connects or opens. A failure here is told at once, before any load is sent.
    fn begin(&mut self, run: &RunInfo) -> Result<(), SinkError>;

    /// An interval is over. `Err`: this row did not arrive; the hub counts it and goes on with the next.
    fn interval(&mut self, row: &SinkRow) -> Result<(), SinkError>;

    /// Whether it takes single events; those that do not are never given any.
    fn wants_events(&self) -> bool {
        false
    }

    /// Some events, of one engine thread (its index) and in its order; times are since the run's origin. `Err`:
    /// none of them arrived.
    fn events(&mut self, _thread: u16, _events: &[Event]) -> Result<(), SinkError> {
        Ok(())
    }

    /// Everything given before is to be on its way; the result is complete but for `sinks` and `verdict`'s word on them.
    fn end(&mut self, result: &RunResult) -> Result<(), SinkError>;
}

/// Why something did not arrive. The text names the sink's host or file, says what was wrong and what to do.
#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    /// The URL itself is wrong: nothing is sent, status 2.
    #[error("--to {url}: {problem}")]
    Url { url: String, problem: String },
    /// It can not be reached or opened, or refuses.
    #[error("{sink}: {problem}")]
    Refused { sink: String, problem: String },
}
