//! `result.json`, schema "tare.result/1": what a run leaves behind, the same for every engine.
//!
//! Keys may be added; the ones that are here keep their names and units. Times are nanoseconds and end in
//! `_ns`, lengths of a run are seconds and end in `_s`, shares are 0 to 1 and end in `_share`. A figure that
//! was not measured is absent: a distribution of nothing is `{"count": 0}`, never a row of zeros.
//! Missing keys (from an older version) read as their defaults; unknown keys (from a newer one) are ignored.
//!
//! Conservation: `offered = done + failed + missed + cut_off`, in the totals and in each interval's sum.

mod generator;
mod interval;
mod tcp;

pub use crate::criterion_name::CriterionName;
use crate::distribution::{Curve, Distribution};
use crate::number::{self, is_false, is_zero};
pub use crate::outcome::{OutcomeCount, StoredClass};
pub use generator::{Arrivals, CostEach, Generator, Pause, ThreadHealth};
pub use interval::{Interval, IntervalThread};
pub use measure::{CriterionId, Label};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
pub use tcp::{Deviation, Tcp, Via};

/// The value of `schema`.
pub const SCHEMA: &str = "tare.result/1";

/// One run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunResult {
    pub schema: String,
    /// `http`, `packet`…
    pub engine: String,
    /// Name of the run and of its folder: `2026-11-20T12-00-00Z-http-7f3a`.
    pub run: String,
    pub plan_hash: String,
    /// Version of the program that wrote this.
    pub version: String,
    /// The command as it was typed, without what is secret.
    pub command: String,
    /// What was loaded, for people: a URL, or a file and how many lines it has.
    pub target: String,
    /// What was asked for, for people: "20 000/s, even, for 10 s over at most 64 connections".
    pub load: String,
    /// Files that the load was made of.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<InputFile>,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// The run ended before its stop rule held.
    pub partial: bool,
    /// What sets this run apart: "interrupted", "target unreachable", "source file truncated at line 7".
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<Label>,
    pub verdict: Verdict,
    pub totals: Totals,
    pub rate: Rates,
    pub warmup: Warmup,
    /// net = gross − tare, of requests that were answered: what the target and the network took. Percentiles
    /// count what never came to an end with at least the time that it had.
    pub net_ns: Distribution,
    /// What the generator itself took of it: own lateness and time unread.
    pub tare_ns: Distribution,
    /// How long answers lay unread in this machine, by the kernel's receive stamps.
    pub unread_ns: Distribution,
    /// How much longer they may have lain unread at worst, where nothing tells; of those alone for which that
    /// is not zero.
    pub unread_bound_ns: Distribution,
    /// The time that those had which timed out, were cut off or missed.
    pub unfinished_ns: Distribution,
    /// Gross: done − due, of requests that were answered. Percentiles as for `net_ns`.
    pub latency_ns: Distribution,
    /// done − sent, of the same.
    pub service_ns: Distribution,
    /// sent − due, of all that left.
    pub lateness_ns: Distribution,
    /// The part of the lateness that is the generator's own.
    pub own_lateness_ns: Distribution,
    pub lookup_ns: Distribution,
    /// `connect()` to established, without TLS.
    pub connect_ns: Distribution,
    pub tls_ns: Distribution,
    /// Connect, proxy and handshake together: how long until a new connection could carry a request.
    pub ready_ns: Distribution,
    /// first byte − sent.
    pub first_byte_ns: Distribution,
    /// done − first byte, of complete answers.
    pub body_ns: Distribution,
    /// From a new connection being ready until the first byte of its first answer.
    pub first_response_ns: Distribution,
    /// done − due, of requests that left and failed. Not in `latency_ns`.
    pub failed_ns: Distribution,
    /// |measured − requested gap|; packet engines.
    pub gap_error_ns: Distribution,
    /// Whether departures left as the arrival process that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fidelity: Option<Fidelity>,
    /// Points of the cumulative distributions, for drawing.
    pub curves: Curves,
    pub outcomes: Vec<OutcomeCount>,
    /// What only frames have: ports, gaps, signatures, flows, tables.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets: Option<measure::packets::PacketReport>,
    /// Past the kernel (`--via`): the port, and what the connections' own TCP did there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via: Option<Via>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp: Option<Tcp>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupResult>,
    /// The plan has more names than figures are kept for, and requests with the further ones are in the group
    /// *other*.
    #[serde(skip_serializing_if = "is_false")]
    pub names_folded: bool,
    pub connections: Connections,
    pub generator: Generator,
    pub thresholds: Vec<Threshold>,
    /// Where else the figures went (`--to`), and what did not get there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sinks: Vec<SinkStatus>,
    /// Sentences for people.
    pub notes: Vec<String>,
    /// What was kept on disk, and what could not be.
    pub store: StoreStatus,
    /// File in the run folder that describes host, kernel, CPU, clock and versions.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub environment: String,
    /// At most 120 points of the whole run, for a sparkline.
    pub series: Series,
    /// How many of the rows of `intervals.jsonl` each row of `intervals` adds up; 1 unless the run has more
    /// than [`crate::MAX_INTERVALS`].
    pub interval_rows_merged: u64,
    /// Where every row is, unmerged.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub intervals_in: String,
    /// One row each interval. Stays the last key.
    pub intervals: Vec<Interval>,
}

impl RunResult {
    /// Whether its times are a simulation's.
    pub fn is_simulated(&self) -> bool {
        self.labels.contains(&Label::SimulatedTime)
    }

    /// Whether the user ended it.
    pub fn is_interrupted(&self) -> bool {
        self.labels.contains(&Label::Interrupted)
    }

    /// Whether its load was changed while it ran.
    pub fn is_steered(&self) -> bool {
        self.labels.iter().any(|label| matches!(label, Label::Steered(_)))
    }

    /// Whether the target never answered.
    pub fn is_unreachable(&self) -> bool {
        self.labels.contains(&Label::Unreachable)
    }

    /// Whether this limit ended it. One that came true with the last departures ended nothing.
    pub fn was_ended_by(&self, threshold: &Threshold) -> bool {
        threshold.aborts && self.labels.iter().any(|label| label.is_abort_by(&threshold.expression))
    }
}

/// The generator's judgement of itself.
/// A file that the load was made of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct InputFile {
    /// Its absolute path.
    pub file: String,
    pub bytes: u64,
    /// Of all of it, in hexadecimal; absent if it changed during the run, has more than 1 GiB, or is a pipe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

impl InputFile {
    /// Whether both held the same, as far as that is known.
    pub fn is_same(&self, other: &Self) -> Option<bool> {
        if self.has_size() && other.has_size() && self.bytes != other.bytes {
            return Some(false);
        }
        Some(self.sha256.as_ref()? == other.sha256.as_ref()?)
    }

    /// A pipe has none.
    fn has_size(&self) -> bool {
        self.bytes > 0 || self.sha256.is_some()
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Verdict {
    pub word: Word,
    pub criteria: Vec<Criterion>,
}

/// VALID, DEGRADED or INVALID. A result that carries none counts as INVALID.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Word {
    Valid,
    Degraded,
    #[default]
    Invalid,
}

impl Word {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Valid => "VALID",
            Self::Degraded => "DEGRADED",
            Self::Invalid => "INVALID",
        }
    }
}

/// One input of the verdict.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Criterion {
    /// `lateness.p99`, `rate.kept`…
    pub name: CriterionName,
    #[serde(with = "number")]
    pub value: f64,
    /// Within this it holds.
    #[serde(with = "number")]
    pub limit: f64,
    /// Beyond this the run is INVALID; `None` if this criterion alone never makes it so.
    #[serde(with = "number::option")]
    pub invalid_limit: Option<f64>,
    /// Which side of its limit the value should be on.
    pub sense: Sense,
    /// `ns`, `share`, `count`, `/s`.
    pub unit: String,
    /// Whether the value is within `limit`.
    pub holds: bool,
    /// What this criterion alone makes of the run; VALID also for one that only warns.
    pub severity: Word,
    /// One sentence: what to do. Empty when it holds.
    pub advice: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sense {
    #[default]
    AtMost,
    AtLeast,
}

/// How many departures ended how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Totals {
    pub offered: u64,
    /// Those that left: done, failed, or cut off on their way.
    pub sent: u64,
    pub done: u64,
    pub failed: u64,
    pub missed: u64,
    pub cut_off: u64,
    /// Bytes of HTTP that were written and read, heads included, before TLS.
    pub bytes_out: u64,
    pub bytes_in: u64,
    /// Bytes on the wire side, TLS and warm-up included.
    pub wire_out: u64,
    pub wire_in: u64,
    /// Bytes of bodies received, of what was answered or failed; warm-up included.
    pub body_in: u64,
    /// Requests that were sent again on another connection, each time; warm-up included.
    pub sent_again: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Rates {
    #[serde(with = "number")]
    pub offered_per_s: f64,
    #[serde(with = "number")]
    pub achieved_per_s: f64,
    /// Length of the measured part, warm-up excluded.
    #[serde(with = "number")]
    pub duration_s: f64,
    /// Until the last answer, where that came after the end: all bytes came in this time.
    #[serde(with = "number")]
    pub bytes_over_s: f64,
    /// Of those done, the ones answered after the end of the measured part: not in `achieved_per_s`.
    pub done_after_end: u64,
}

/// How far the gaps between departures are from those that were asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Fidelity {
    /// `even` or `poisson`.
    pub process: String,
    /// Gaps that it is of.
    pub gaps: u64,
    /// From 0, which is exact, to 1. `even`: the share of gaps that are off by more than a quarter (or 50 µs);
    /// `poisson`: Kolmogorov and Smirnov's distance.
    #[serde(with = "number")]
    pub distance: f64,
    /// Within this it is what was asked for.
    #[serde(with = "number")]
    pub limit: f64,
}

/// What was sent before the figures begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Warmup {
    pub count: u64,
    #[serde(with = "number")]
    pub duration_s: f64,
}

/// Points `[share, value]` of cumulative distributions: that share of all values is at most `value` ns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Curves {
    #[serde(skip_serializing_if = "Curve::is_empty")]
    pub net_ns: Curve,
    pub latency_ns: Curve,
    pub service_ns: Curve,
    pub lateness_ns: Curve,
}

/// Requests of one name or URL group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GroupResult {
    pub name: String,
    /// All that ended, however.
    pub count: u64,
    pub latency_ns: Distribution,
    /// At most twelve different ones; what came beyond them is one row of its class with an empty key.
    pub outcomes: Vec<OutcomeCount>,
    /// Where that leaves some statuses untold: all of them, by their hundreds (200 to 299 are the third).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub statuses: Option<[u64; 10]>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Connections {
    /// Those that were made; of TLS, before the handshake.
    pub opened: u64,
    /// Attempts to make one, failed or not; another address is another attempt. 0 in results of older versions.
    pub attempts: u64,
    /// The most that were open at once: the sum of what each thread had open at most, so an upper bound.
    pub open_peak: u64,
    /// How the plan ends them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub close: Option<Closing>,
    /// Those that were reset because the target was to close them and had not.
    #[serde(skip_serializing_if = "is_zero")]
    pub unclosed: u64,
}

/// Who ends connections that carry nothing more, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Closing {
    /// Tare, in order.
    Fin,
    /// Tare, by a reset.
    Rst,
    /// The target.
    Server,
}

/// A limit that the user set: what makes the run fail (`--fail-if`) or end early (`--abort-if`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Threshold {
    /// As written: `latency.p99 > 50ms`.
    pub expression: String,
    /// The value that decided: of the whole run, or of the window that was worst. `None`: there was nothing to
    /// measure.
    #[serde(with = "number::option")]
    pub value: Option<f64>,
    /// The value is a lower bound: what timed out, was cut off or missed could have made it larger.
    #[serde(skip_serializing_if = "is_false")]
    pub is_bound: bool,
    /// In the unit of `value`.
    #[serde(with = "number")]
    pub limit: f64,
    /// `ns`, `share`, `count`, `/s`, `bytes/s`.
    pub unit: String,
    /// The condition did not come true.
    pub holds: bool,
    /// It ends the run early.
    #[serde(skip_serializing_if = "is_false")]
    pub aborts: bool,
    /// Which requests: the name of a group; empty for all.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Length of the window over which the value is taken; `None`: the whole run.
    #[serde(with = "number::option", skip_serializing_if = "Option::is_none")]
    pub window_s: Option<f64>,
    /// End of the window that decided, from the origin of the run.
    #[serde(with = "number::option", skip_serializing_if = "Option::is_none")]
    pub at_s: Option<f64>,
}

/// One place that `--to` named.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SinkStatus {
    /// The URL as it was given, without its password.
    pub url: String,
    /// Interval rows and single events that arrived, and those that did not.
    pub rows: u64,
    pub rows_lost: u64,
    pub events: u64,
    pub events_lost: u64,
    /// Those lost by cause, where the FPGA module wrote them: `no_room`, `refused`, `no_reply`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub events_lost_by: BTreeMap<String, u64>,
    /// The first failure in words, with what to do; empty if there was none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub trouble: String,
}

/// What the store kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StoreStatus {
    /// The run folder; empty if nothing was kept.
    pub folder: String,
    /// Files that are complete.
    pub kept: Vec<String>,
    /// What could not be written, and why.
    pub lost: Vec<Lost>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Lost {
    pub what: String,
    pub why: String,
}

/// Figures over time, in equal steps, for a sparkline.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Series {
    /// Length of one step.
    #[serde(with = "number")]
    pub step_s: f64,
    /// Requests done, each step.
    pub done: Vec<u64>,
    /// The largest latency of each step; 0 where nothing was done.
    pub latency_max_ns: Vec<u64>,
    /// Failed and missed.
    pub failed: Vec<u64>,
}
