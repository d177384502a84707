//! The generator itself, read from /proc each interval.

use serde::Serialize;

/// One engine thread within an interval (or, in a [`HealthSummary`], over the run).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ThreadHealth {
    pub tid: u32,
    /// Time on a CPU, and the part of it spent spinning towards a due time.
    pub cpu_ns: u64,
    pub spun_ns: u64,
    /// Time ready to run but waiting for a CPU.
    pub runqueue_ns: u64,
    /// Context switches: gave way, and was made to.
    pub voluntary: u64,
    pub involuntary: u64,
    /// The CPU it ran on last.
    pub core: u32,
}

/// One CPU within an interval.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CoreHealth {
    pub core: u32,
    /// Time not idle, steal excluded (ticks of 10 ms).
    pub busy_ns: u64,
    /// Time that the hypervisor gave to others.
    pub steal_ns: u64,
}

/// The generator and the machine under it within one interval.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HealthSample {
    /// Length of the interval as it was measured.
    pub span_ns: u64,
    pub threads: Vec<ThreadHealth>,
    pub cores: Vec<CoreHealth>,
    /// Kernel's counters (gains), of the network namespace.
    pub retransmits: u64,
    pub tcp_timeouts: u64,
    pub listen_overflows: u64,
    pub listen_drops: u64,
    /// Sockets in TIME_WAIT now.
    pub time_wait: u64,
    /// Ephemeral ports that no socket of ours holds, over all source addresses; `None` if unknown.
    pub ports_left: Option<u64>,
    /// Descriptors that may still be opened; `None` if unknown.
    pub descriptors_left: Option<u64>,
    /// Own memory: resident, and the anonymous part of it.
    pub rss_bytes: u64,
    pub anon_bytes: u64,
    /// Times and time for which the cgroup's CPU quota stopped us (gains).
    pub throttled: u64,
    pub throttled_ns: u64,
}

/// The generator over the whole run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HealthSummary {
    /// Intervals sampled, and the time they cover.
    pub samples: u64,
    pub span_ns: u64,
    /// Sums over the run, one for each engine thread.
    pub threads: Vec<ThreadHealth>,
    pub cores: Vec<CoreHealth>,
    pub retransmits: u64,
    pub tcp_timeouts: u64,
    pub listen_overflows: u64,
    pub listen_drops: u64,
    /// The most sockets in TIME_WAIT, the fewest ports and descriptors left, the most memory.
    pub time_wait_peak: u64,
    pub ports_left_least: Option<u64>,
    pub descriptors_left_least: Option<u64>,
    pub rss_peak_bytes: u64,
    pub anon_peak_bytes: u64,
    pub throttled: u64,
    pub throttled_ns: u64,
}
