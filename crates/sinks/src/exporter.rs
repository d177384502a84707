//! What a sink is.

use hdrhistogram::Histogram;
use measure::Series;
use std::time::Duration;
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
    /// RFC 3339, UTC.
    pub started_at: String,
    /// What is due earlier than this after the run's origin is warm-up: not in the figures, but among the
    /// events.
    pub warmup: Picos,
    /// Names of the groups, in the order of `Event::group`; the last stands for "other". Empty or one: no
    /// groups.
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
    /// Empty for a sink that does not want them.
    pub histograms: IntervalHistograms,
}

/// Nanoseconds; only series that have values. Three significant digits.
pub type IntervalHistograms = Vec<(Series, Histogram<u32>)>;

/// How long a sink may take for the result, unless it says otherwise.
const END_TAKES: Duration = Duration::from_secs(5);

/// One kind of place. All calls come from one thread that belongs to this sink alone, in this order: `begin`
/// until it succeeds, `start` once, then `interval` and `events` as they come, `flush` once, `end` once. A call
/// may block up to the sink's own time-outs (at most some seconds); meanwhile its queue fills, and what does
/// not fit is lost and counted by the hub.
pub trait Exporter: Send {
    /// Connects or opens. A failure here is told at once, before any load is sent; `Unreachable`: it is tried
    /// again while the run goes on.
    fn begin(&mut self, run: &RunInfo) -> Result<(), SinkError>;

    /// The load begins. `origin_unix_ns` is what all times of the run count from (`Interval::t_s`, and in
    /// events `Instant::EPOCH`), in nanoseconds since 1970.
    fn start(&mut self, _origin_unix_ns: u64) {}

    /// An interval is over. `Refused`: this row did not arrive, the hub counts it and goes on with the next;
    /// `Unreachable`: the hub gives the same row again a little later, as long as there is time.
    fn interval(&mut self, row: &SinkRow) -> Result<(), SinkError>;

    /// Whether it takes rows; those that do not are never given any.
    fn wants_rows(&self) -> bool {
        true
    }

    /// Whether its rows need histograms.
    fn wants_histograms(&self) -> bool {
        true
    }

    /// Whether it takes single events; those that do not are never given any.
    fn wants_events(&self) -> bool {
        false
    }

    /// Some events of one engine thread (from 0), in its order. Errors as with `interval`, of all of them
    /// together.
    fn events(&mut self, _thread: u16, _events: &[Event]) -> Result<(), SinkError> {
        Ok(())
    }

    /// There are no more rows and events: all that was given is to be there now. It decides the verdict. `Err`:
    /// nothing of it can be relied on, and the hub counts it all as lost.
    fn flush(&mut self) -> Result<(), SinkError> {
        Ok(())
    }

    /// Rows and events that were said to have arrived, but had not or are gone again, since the last time this
    /// was asked: a part of a batch that was refused, or a store that was started again without its last
    /// writes.
    fn gone(&mut self) -> Gone {
        Gone::default()
    }

    /// How long `end` may take before the sink is left to itself.
    fn end_takes(&self) -> Duration {
        END_TAKES
    }

    /// The result is complete but for `sinks`.
    fn end(&mut self, result: &RunResult) -> Result<(), SinkError>;
}

/// What a place does not have after all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gone {
    pub rows: u64,
    pub events: u64,
    /// Empty if an error said it already.
    pub why: String,
}

/// Why something did not arrive. The text names the sink's host or file, says what was wrong and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SinkError {
    /// The URL itself is wrong: nothing is sent, status 2. `url` is without its password.
    #[error("--to {url}: {problem}")]
    Url { url: String, problem: String },
    /// It can not be opened, or answers that it does not take this: to try the same again is of no use.
    #[error("{sink}: {problem}")]
    Refused { sink: String, problem: String },
    /// Nobody answers now, or says that it is busy: the same may be tried again, and is.
    #[error("{sink}: {problem}")]
    Unreachable { sink: String, problem: String },
}

impl SinkError {
    /// Whether to try the same again may help.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::Unreachable { .. })
    }

    /// What was wrong, without the name of the sink.
    pub fn problem(&self) -> String {
        let (Self::Url { problem, .. } | Self::Refused { problem, .. } | Self::Unreachable { problem, .. }) =
            self;
        problem.clone()
    }
}
