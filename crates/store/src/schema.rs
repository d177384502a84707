//! `result.json`, schema "tare.result/1": what a run leaves behind, the same for every engine.
//!
//! Keys may be added; the ones that are here keep their names and units. Times are nanoseconds and end in
//! `_ns`, lengths of a run are seconds and end in `_s`, shares are 0 to 1 and end in `_share`. A figure that
//! was not measured is absent: a distribution of nothing is `{"count": 0}`, never a row of zeros.
//! Missing keys (from an older version) read as their defaults; unknown keys (from a newer one) are ignored.
//!
//! Conservation: `offered = done + failed + missed + cut_off`, in the totals and in each interval's sum.

pub use crate::criterion_name::CriterionName;
use crate::distribution::{Curve, Distribution};
use crate::number::{self, is_false, is_zero};
pub use crate::outcome::{OutcomeCount, StoredClass};
pub use measure::{CriterionId, Label};
use serde::{Deserialize, Serialize};

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
    /// Whether the user ended it.
    pub fn is_interrupted(&self) -> bool {
        self.labels.contains(&Label::Interrupted)
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
    /// Bytes of HTTP, heads included, before TLS.
    pub bytes_out: u64,
    pub bytes_in: u64,
    /// Bytes on the wire side, TLS and warm-up included.
    pub wire_out: u64,
    pub wire_in: u64,
    /// Bytes of bodies received, of what was answered or failed; warm-up included.
    pub body_in: u64,
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
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Connections {
    pub opened: u64,
    /// The most that were open at once: the sum of what each thread had open at most, so an upper bound.
    pub open_peak: u64,
}

/// What the run cost the generator, and what it had left.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Generator {
    pub threads: Vec<ThreadHealth>,
    /// CPU time of all engine threads over the whole run.
    #[serde(with = "number")]
    pub cpu_s: f64,
    /// The part of it spent waiting for a due time to come: not work.
    #[serde(with = "number")]
    pub spun_s: f64,
    /// CPU time without the spinning, for a million departures that left (warm-up included).
    #[serde(with = "number::option", skip_serializing_if = "Option::is_none")]
    pub cpu_s_per_million: Option<f64>,
    /// Where it went, for each of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_each: Option<CostEach>,
    /// Share of the CPUs' time that the hypervisor gave to others.
    #[serde(with = "number::option", skip_serializing_if = "Option::is_none")]
    pub steal_share: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rss_peak_bytes: Option<u64>,
    /// The anonymous part of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub anon_peak_bytes: Option<u64>,
    /// Least that were left during the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub descriptors_left: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ports_left: Option<u64>,
    /// The most sockets in TIME_WAIT.
    pub time_wait_peak: u64,
    /// The kernel's counters, of all sockets of this network namespace, during the run.
    pub retransmits: u64,
    pub tcp_timeouts: u64,
    pub listen_overflows: u64,
    pub listen_drops: u64,
    /// Packets and segments that this host dropped after they had arrived.
    pub dropped: u64,
    /// Times that an interface which the run used lost its link.
    pub links_lost: u64,
    /// Times and time for which the cgroup's CPU quota stopped the generator.
    pub throttled: u64,
    pub throttled_ns: u64,
    /// Departures whose own lateness was over the tolerance.
    pub late: u64,
    /// Hand-overs of figures that were late, and threads that never handed their last over.
    pub starved: u64,
    pub lost_threads: u64,
    /// Times that a loop stood still for a millisecond or more beyond its work and its waits, and their sum
    /// over all threads.
    pub pauses: u64,
    pub paused_ns: u64,
    /// The longest of them, the longest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub longest_pauses: Vec<Pause>,
    /// How it is known when answers could be read, and of how many by a stamp.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<Arrivals>,
    /// Clock source and, if a better one was refused, why.
    pub clock: String,
    /// How sockets were driven, and why.
    pub io: String,
}

/// A time in which an engine's loop stood still.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pause {
    /// Its start, from the origin of the run.
    #[serde(with = "number")]
    pub t_s: f64,
    pub length_ns: u64,
}

/// How it is known when answers could be read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Arrivals {
    /// `kernel stamps`, or `bound` where there are none.
    pub by: String,
    /// Why.
    pub why: String,
    pub stamped: u64,
    pub unstamped: u64,
    /// Reads whose stamp says that the bytes were in this machine when the loop had looked and found nothing.
    #[serde(skip_serializing_if = "is_zero")]
    pub contradicted: u64,
}

/// CPU time for each departure that left, without the spinning; the kernel samples the shares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CostEach {
    #[serde(with = "number")]
    pub user_ns: f64,
    #[serde(with = "number")]
    pub system_ns: f64,
    /// Of the engine threads' CPUs, and in none of the above; absent where it cannot be told apart.
    #[serde(with = "number::option", skip_serializing_if = "Option::is_none")]
    pub softirq_ns: Option<f64>,
}

/// One engine thread over the intervals that had departures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ThreadHealth {
    pub tid: u32,
    /// The CPU it ran on last.
    pub core: u32,
    /// CPU time ÷ time, spinning included.
    #[serde(with = "number")]
    pub cpu_share: f64,
    /// The part of `cpu_share` that was spinning.
    #[serde(with = "number")]
    pub spun_share: f64,
    /// Time ready to run but waiting for a CPU.
    pub run_queue_wait_ns: u64,
    /// Share of the time that its CPU spent on others' work, and that the hypervisor took from its CPU.
    #[serde(with = "number")]
    pub others_share: f64,
    #[serde(with = "number")]
    pub stolen_share: f64,
    /// Time that threads of the target, and of others, waited for its CPU, of all together.
    pub target_waited_ns: u64,
    pub others_waited_ns: u64,
    /// Context switches: gave way, and was made to.
    pub switches_voluntary: u64,
    pub switches_involuntary: u64,
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

/// One interval of a run. Counts add up over intervals; percentiles do not, and are absent where rows were
/// merged or nothing was done. Outcomes and times are of the measured part; what ended in the warm-up is the
/// one count `warmup`, so `offered` sums to `done + failed + missed + cut_off + warmup`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Interval {
    /// Start, from the origin of the run, warm-up included.
    #[serde(with = "number")]
    pub t_s: f64,
    #[serde(with = "number")]
    pub length_s: f64,
    pub offered: u64,
    pub sent: u64,
    pub done: u64,
    pub failed: u64,
    pub missed: u64,
    pub cut_off: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub warmup: u64,
    pub bytes_out: u64,
    pub bytes_in: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub net_p50_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub net_p90_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub net_p99_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub net_p99_9_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub net_max_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tare_p50_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tare_p99_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tare_max_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unread_p99_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_p50_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_p90_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_p99_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_p99_9_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_max_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_p50_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_p99_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lateness_p50_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lateness_p99_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lateness_max_ns: Option<u64>,
    /// The 99th percentile of the generator's own part of the lateness.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own_lateness_p99_ns: Option<u64>,
    /// Medians of the phases: look-up, connect and handshake of the connections that were opened, first byte
    /// (first byte − sent) and body (done − first byte) of the complete answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lookup_p50_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connect_p50_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_p50_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_byte_p50_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body_p50_ns: Option<u64>,
    /// How its departures ended, one by one; those that are not zero.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outcomes: Vec<OutcomeCount>,
    /// Times that the engine's loops stood still, their sum, and the longest.
    #[serde(skip_serializing_if = "is_zero")]
    pub pauses: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub paused_ns: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub longest_pause_ns: u64,
    /// Connections open at the end; the most of the rows that were merged.
    pub open: u64,
    /// CPU share of the busiest thread, spinning included, and the part that was spinning.
    #[serde(with = "number")]
    pub cpu_share: f64,
    #[serde(with = "number")]
    pub spun_share: f64,
    #[serde(with = "number::option", skip_serializing_if = "Option::is_none")]
    pub steal_share: Option<f64>,
    /// Of the thread that waited longest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_queue_wait_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rss_bytes: Option<u64>,
    /// Gain of the kernel's counter, of all sockets of this network namespace.
    #[serde(skip_serializing_if = "is_zero")]
    pub retransmits: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ports_left: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub descriptors_left: Option<u64>,
    /// Sockets in TIME_WAIT at the end.
    #[serde(skip_serializing_if = "is_zero")]
    pub time_wait: u64,
    /// One for each engine thread, in their order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<IntervalThread>,
}

/// One engine thread within an interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct IntervalThread {
    /// CPU time ÷ time, spinning included, and the part that was spinning.
    #[serde(with = "number")]
    pub cpu_share: f64,
    #[serde(with = "number")]
    pub spun_share: f64,
    /// Time ready to run but waiting for a CPU.
    pub run_queue_wait_ns: u64,
    /// Share of the time that the hypervisor took from its CPU.
    #[serde(with = "number")]
    pub stolen_share: f64,
}
