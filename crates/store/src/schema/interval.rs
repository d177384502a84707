//! A row of `intervals.jsonl`, and of `intervals` in the result.

use crate::number::{self, is_zero};
use crate::outcome::OutcomeCount;
use serde::{Deserialize, Serialize};

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
