//! The generator itself: what one interval showed, and what the run came to.

use crate::waiters::waits::Waits;
use serde::Serialize;

/// One engine thread within an interval or, in a [`HealthSummary`], over the intervals that had departures.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ThreadHealth {
    pub tid: u32,
    /// The time that the other figures cover; 0 when the thread had ended before.
    pub span_ns: u64,
    /// Time on a CPU, and the part of it spent spinning towards a due time.
    pub cpu_ns: u64,
    pub spun_ns: u64,
    /// Time ready to run but waiting for a CPU.
    pub runqueue_ns: u64,
    /// Time that its CPU spent on others' work, and time that the hypervisor took from its CPU.
    pub others_ns: u64,
    pub stolen_ns: u64,
    /// Time that the target's threads waited for its CPU, of all together but no longer than tare had that CPU,
    /// and time that the same threads ran.
    pub target_waited_ns: u64,
    pub target_ran_ns: u64,
    /// Each of those waits that was not brief, also of the part that was not for tare.
    #[serde(skip)]
    pub target_waits: Waits,
    /// Time that other threads waited for its CPU, no longer than tare had that CPU.
    pub others_waited_ns: u64,
    /// The same of threads whose sockets cannot be read, which may work for the target, and time that they ran.
    #[serde(skip)]
    pub unknown_waited_ns: u64,
    #[serde(skip)]
    pub unknown_ran_ns: u64,
    /// Time that threads of the target's may have run on its CPU whose waiting could not be seen, no longer
    /// than tare had that CPU.
    pub target_unseen_ns: u64,
    /// The name of the thread of each that waited the longest within an interval, and how long.
    pub target_waiter: (u64, String),
    pub others_waiter: (u64, String),
    /// Context switches: gave way, and was made to.
    pub voluntary: u64,
    pub involuntary: u64,
    /// Time in the program and in the kernel, in ticks of 10 ms; the kernel samples the shares of both.
    pub user_ns: u64,
    pub system_ns: u64,
    /// The CPU it ran on last.
    pub core: u32,
    /// CPU quotas do not hold it back.
    #[serde(skip)]
    pub is_real_time: bool,
}

impl ThreadHealth {
    /// Share of the time at work: on a CPU and not spinning.
    pub fn work_share(&self) -> f64 {
        self.share(self.cpu_ns.saturating_sub(self.spun_ns))
    }
    /// Share of the time on a CPU, spinning included.
    pub fn cpu_share(&self) -> f64 {
        self.share(self.cpu_ns)
    }
    /// Share of the time ready to run but waiting for a CPU.
    pub fn runqueue_share(&self) -> f64 {
        self.share(self.runqueue_ns)
    }
    /// Share of the time that its CPU spent on others' work.
    pub fn others_share(&self) -> f64 {
        self.share(self.others_ns)
    }
    /// Time that the target's threads waited for its CPU, as a share of the time; 1 where it is always one or
    /// more.
    pub fn target_waited_share(&self) -> f64 {
        self.share(self.target_waited_ns)
    }
    /// Time that the target's threads ran on its CPU or waited for it, as a share of the time.
    pub fn target_share(&self) -> f64 {
        self.share(self.target_ran_ns + self.target_waited_ns)
    }
    /// Time that others' threads waited for its CPU, likewise.
    pub fn others_waited_share(&self) -> f64 {
        self.share(self.others_waited_ns)
    }
    /// The same of those that may work for the target.
    pub fn unknown_waited_share(&self) -> f64 {
        self.share(self.unknown_waited_ns)
    }
    /// Time of the target's on its CPU that nobody saw wait, as a share of the time.
    pub fn target_unseen_share(&self) -> f64 {
        self.share(self.target_unseen_ns)
    }
    /// Share of the time that the hypervisor took from its CPU.
    pub fn stolen_share(&self) -> f64 {
        self.share(self.stolen_ns)
    }

    /// At most 1: the parts and the span are read at times a little apart, and some parts in ticks of 10 ms.
    fn share(&self, part_ns: u64) -> f64 {
        if self.span_ns == 0 { 0.0 } else { (part_ns as f64 / self.span_ns as f64).min(1.0) }
    }

    fn add(&mut self, other: &Self) {
        self.tid = other.tid;
        self.is_real_time = other.is_real_time;
        self.span_ns += other.span_ns;
        self.cpu_ns += other.cpu_ns;
        self.spun_ns += other.spun_ns;
        self.runqueue_ns += other.runqueue_ns;
        self.others_ns += other.others_ns;
        self.stolen_ns += other.stolen_ns;
        self.target_waited_ns += other.target_waited_ns;
        self.target_ran_ns += other.target_ran_ns;
        self.target_waits.add(&other.target_waits);
        self.others_waited_ns += other.others_waited_ns;
        self.unknown_waited_ns += other.unknown_waited_ns;
        self.unknown_ran_ns += other.unknown_ran_ns;
        self.target_unseen_ns += other.target_unseen_ns;
        for (longest, other) in
            [(&mut self.target_waiter, &other.target_waiter), (&mut self.others_waiter, &other.others_waiter)]
        {
            if other > longest {
                longest.clone_from(other);
            }
        }
        self.voluntary += other.voluntary;
        self.involuntary += other.involuntary;
        self.user_ns += other.user_ns;
        self.system_ns += other.system_ns;
        if other.span_ns > 0 {
            self.core = other.core;
        }
    }
}

/// One CPU within an interval.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CoreHealth {
    pub core: u32,
    /// Time not idle, steal excluded (in ticks of 10 ms).
    pub busy_ns: u64,
    /// The part of it spent on softirqs: the network stack's work on what arrives, whoever caused it.
    pub softirq_ns: u64,
    /// Time that the hypervisor gave to others.
    pub steal_ns: u64,
}

/// The generator and the machine under it within one interval.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HealthSample {
    /// Time since the sample before.
    pub span_ns: u64,
    /// Threads of this machine may have waited that cannot be seen.
    pub is_blind: bool,
    /// The target is on this host, and cannot be seen.
    pub hides_target: bool,
    /// It is one of several programs that may not be looked into: all count as the target.
    pub guesses_target: bool,
    /// Nobody got a CPU to look at who waits.
    pub is_unwatched: bool,
    /// Processes of the target's came and went of which no total has anything: it ignores SIGCHLD.
    pub loses_children: bool,
    /// Time that the target's threads waited while programs that are neither tare nor the target had their CPU,
    /// and each wait of theirs on any CPU that was not brief.
    pub target_crowded_ns: u64,
    #[serde(skip)]
    pub target_waits: Waits,
    /// Time that they ran, on all CPUs.
    pub target_ran_ns: u64,
    /// One for each engine thread, in their order.
    pub threads: Vec<ThreadHealth>,
    pub cores: Vec<CoreHealth>,
    /// The kernel's counters (gains), of the network namespace: others' traffic is in them too.
    pub retransmits: u64,
    pub tcp_timeouts: u64,
    pub listen_overflows: u64,
    pub listen_drops: u64,
    /// Segments and packets of this host's that it dropped on their way up to a socket; packets of all
    /// namespaces.
    pub dropped: u64,
    /// Times that an interface which the run used lost its link.
    pub links_lost: u64,
    /// Sockets in TIME_WAIT now.
    pub time_wait: u64,
    /// Ephemeral ports over all source addresses less our open connections; `None` if unknown. Connections to
    /// different targets may share a port, so it is the least that there are.
    pub ports_left: Option<u64>,
    /// Descriptors that may still be opened; `None` if unknown or unlimited.
    pub descriptors_left: Option<u64>,
    /// Own memory: resident, and the anonymous part of it.
    pub rss_bytes: u64,
    pub anon_bytes: u64,
    /// No control group of this process could be seen.
    pub hides_quota: bool,
    /// Times and time for which CPU quotas stopped our control groups, all their CPUs together (gains).
    pub throttled: u64,
    pub throttled_ns: u64,
}

/// The generator over the whole run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HealthSummary {
    /// Intervals sampled, and the time they cover.
    pub samples: u64,
    pub span_ns: u64,
    /// CPU time of all engine threads over the whole run, and the part of it spent spinning.
    pub cpu_ns: u64,
    pub spun_ns: u64,
    /// The parts of it in the program (spinning included) and in the kernel.
    pub user_ns: u64,
    pub system_ns: u64,
    /// Threads of this machine may have waited that could not be seen.
    pub is_blind: bool,
    /// The target was on this host, and could not be seen.
    pub hides_target: bool,
    /// It was one of several programs that might not be looked into.
    pub guesses_target: bool,
    /// Nobody got a CPU to look at who waits.
    pub is_unwatched: bool,
    /// Processes of the target's came and went of which no total has anything.
    pub loses_children: bool,
    /// Sums over the intervals that had departures: what the target's threads waited for other programs, their
    /// waits and what they ran, and one for each engine thread in their order.
    pub target_crowded_ns: u64,
    #[serde(skip)]
    pub target_waits: Waits,
    pub target_ran_ns: u64,
    pub threads: Vec<ThreadHealth>,
    /// Sums over the run.
    pub cores: Vec<CoreHealth>,
    pub retransmits: u64,
    pub tcp_timeouts: u64,
    pub listen_overflows: u64,
    pub listen_drops: u64,
    pub dropped: u64,
    pub links_lost: u64,
    /// The most sockets in TIME_WAIT, the fewest ports and descriptors left, the most memory.
    pub time_wait_peak: u64,
    pub ports_left_least: Option<u64>,
    pub descriptors_left_least: Option<u64>,
    pub rss_peak_bytes: u64,
    pub anon_peak_bytes: u64,
    #[serde(skip)]
    pub hides_quota: bool,
    pub throttled: u64,
    pub throttled_ns: u64,
}

impl HealthSummary {
    /// Adds an interval; `loaded` when departures fell into it. Threads idle in the grace period after the last
    /// departure would otherwise look less busy than they were.
    pub fn add(&mut self, sample: &HealthSample, loaded: bool) {
        self.samples += 1;
        self.is_blind |= sample.is_blind;
        self.hides_target |= sample.hides_target;
        // Once it was found, it is known which it is.
        self.guesses_target = sample.guesses_target && (self.samples == 1 || self.guesses_target);
        self.is_unwatched |= sample.is_unwatched;
        self.loses_children |= sample.loses_children;
        self.span_ns += sample.span_ns;
        self.cpu_ns += sample.threads.iter().map(|thread| thread.cpu_ns).sum::<u64>();
        self.spun_ns += sample.threads.iter().map(|thread| thread.spun_ns).sum::<u64>();
        self.user_ns += sample.threads.iter().map(|thread| thread.user_ns).sum::<u64>();
        self.system_ns += sample.threads.iter().map(|thread| thread.system_ns).sum::<u64>();
        if loaded {
            self.target_crowded_ns += sample.target_crowded_ns;
            self.target_waits.add(&sample.target_waits);
            self.target_ran_ns += sample.target_ran_ns;
            self.threads.resize(self.threads.len().max(sample.threads.len()), ThreadHealth::default());
            self.threads.iter_mut().zip(&sample.threads).for_each(|(into, from)| into.add(from));
        }
        sample.cores.iter().for_each(|core| self.add_core(core));
        self.retransmits += sample.retransmits;
        self.tcp_timeouts += sample.tcp_timeouts;
        self.listen_overflows += sample.listen_overflows;
        self.listen_drops += sample.listen_drops;
        self.dropped += sample.dropped;
        self.links_lost += sample.links_lost;
        self.time_wait_peak = self.time_wait_peak.max(sample.time_wait);
        self.ports_left_least = least(self.ports_left_least, sample.ports_left);
        self.descriptors_left_least = least(self.descriptors_left_least, sample.descriptors_left);
        self.rss_peak_bytes = self.rss_peak_bytes.max(sample.rss_bytes);
        self.anon_peak_bytes = self.anon_peak_bytes.max(sample.anon_bytes);
        self.hides_quota |= sample.hides_quota;
        self.throttled += sample.throttled;
        self.throttled_ns += sample.throttled_ns;
    }

    /// Adds waits of the target's that ended in the interval after the last departure, and were for the CPU
    /// before.
    pub fn add_late_waits(&mut self, sample: &HealthSample) {
        for (into, from) in self.threads.iter_mut().zip(&sample.threads) {
            into.target_waited_ns += from.target_waited_ns;
            into.target_waits.add(&from.target_waits);
            into.target_waiter = std::mem::take(&mut into.target_waiter).max(from.target_waiter.clone());
        }
    }

    fn add_core(&mut self, core: &CoreHealth) {
        match self.cores.iter_mut().find(|known| known.core == core.core) {
            Some(known) => {
                known.busy_ns += core.busy_ns;
                known.softirq_ns += core.softirq_ns;
                known.steal_ns += core.steal_ns;
            }
            None => self.cores.push(core.clone()),
        }
    }
}

fn least(known: Option<u64>, new: Option<u64>) -> Option<u64> {
    match (known, new) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_that_end_after_the_load_are_added_alone() {
        let second = |waited, ran| HealthSample {
            span_ns: 1_000,
            threads: vec![ThreadHealth {
                span_ns: 1_000,
                target_waited_ns: waited,
                target_ran_ns: ran,
                ..ThreadHealth::default()
            }],
            ..HealthSample::default()
        };
        let mut summary = HealthSummary::default();
        summary.add(&second(100, 10), true);
        summary.add(&second(700, 900), false);
        summary.add_late_waits(&second(700, 900));
        let thread = &summary.threads[0];
        assert_eq!((thread.target_waited_ns, thread.target_ran_ns, thread.span_ns), (800, 10, 1_000));
    }

    #[test]
    fn quiet_intervals_do_not_dilute_the_shares() {
        let second = |cpu_ns, ports| HealthSample {
            span_ns: 1_000,
            threads: vec![ThreadHealth { span_ns: 1_000, cpu_ns, ..ThreadHealth::default() }],
            cores: vec![CoreHealth { core: 1, busy_ns: cpu_ns, softirq_ns: 5, steal_ns: 3 }],
            ports_left: ports,
            rss_bytes: cpu_ns,
            ..HealthSample::default()
        };
        let mut summary = HealthSummary::default();
        summary.add(&second(900, None), true);
        summary.add(&second(800, Some(70)), true);
        summary.add(&second(10, Some(90)), false);
        assert_eq!(summary.threads[0].work_share(), 0.85);
        assert_eq!((summary.cpu_ns, summary.span_ns, summary.samples), (1_710, 3_000, 3));
        assert_eq!(summary.cores, [CoreHealth { core: 1, busy_ns: 1_710, softirq_ns: 15, steal_ns: 9 }]);
        assert_eq!((summary.ports_left_least, summary.rss_peak_bytes), (Some(70), 900));
    }
}
