//! What the generator did, and what it had: `generator` in the result.

use crate::number::{self, is_zero};
use serde::{Deserialize, Serialize};

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
