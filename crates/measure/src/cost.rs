//! What one departure costs the generator: its CPU time in the program, in the kernel, and in softirqs.
//!
//! ```text
//!   thread   ├ user ┤├ system ┤├ spun ┤          the kernel's clock says their sum, and samples the parts
//!   its CPU  ├──────── busy ──────────┤├ idle ┤  softirq is in `system` or beside the thread: the kernel's
//!                                                configuration decides
//! ```
//!
//! Where a kernel accounts interrupts apart (`CONFIG_IRQ_TIME_ACCOUNTING`), a thread's time has no softirqs in
//! it, though they ran within its system calls; elsewhere they are in it. Which it is shows: the CPU was busy
//! for as long as the thread ran, or longer by the softirqs. If it was busy for longer than that, others worked
//! there too, and whose softirqs they were is not known.

use crate::health::HealthSummary;
use serde::Serialize;

/// CPU time for each departure that left, without the spinning, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Cost {
    pub user_ns: f64,
    /// Without the softirqs, where these are known.
    pub system_ns: f64,
    pub softirq_ns: Option<f64>,
}

/// Others may have this share of the CPU before the softirqs on it are nobody's.
const OTHERS: f64 = 0.1;

impl HealthSummary {
    /// For each of `left` departures; `None` if none left, or nothing was sampled.
    pub fn cost(&self, left: u64) -> Option<Cost> {
        let worked = self.cpu_ns.saturating_sub(self.spun_ns) as f64;
        if left == 0 || worked <= 0.0 {
            return None;
        }
        let system = (self.system_ns as f64).min(worked);
        let user = worked - system;
        let each = |ns: f64| ns / left as f64;
        Some(match self.softirq() {
            None => Cost { user_ns: each(user), system_ns: each(system), softirq_ns: None },
            Some(Softirq::Inside(ns)) => {
                let ns = ns.min(system);
                Cost { user_ns: each(user), system_ns: each(system - ns), softirq_ns: Some(each(ns)) }
            }
            Some(Softirq::Beside(ns)) => {
                Cost { user_ns: each(user), system_ns: each(system), softirq_ns: Some(each(ns)) }
            }
        })
    }

    /// Of the CPUs that the engine threads ran on.
    fn softirq(&self) -> Option<Softirq> {
        let is_ours = |core: u32| self.threads.iter().any(|thread| thread.core == core);
        let ours: Vec<_> = self.cores.iter().filter(|core| is_ours(core.core)).collect();
        let sum =
            |part: fn(&crate::CoreHealth) -> u64| ours.iter().map(|core| part(core)).sum::<u64>() as f64;
        let (busy, softirq) = (sum(|core| core.busy_ns), sum(|core| core.softirq_ns));
        let ran = self.cpu_ns as f64;
        if ours.is_empty() || (busy - ran - softirq).max(ran - busy) > OTHERS * busy {
            return None;
        }
        Some(match (busy - ran).abs() <= (busy - ran - softirq).abs() {
            true => Softirq::Inside(softirq),
            false => Softirq::Beside(softirq),
        })
    }
}

enum Softirq {
    /// In the threads' system time.
    Inside(f64),
    Beside(f64),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::health::{CoreHealth, ThreadHealth};

    /// A thread that ran for 800 ms, 300 of them spinning and 400 in the kernel.
    fn summary(busy_ms: u64, softirq_ms: u64) -> HealthSummary {
        let ms = 1_000_000;
        HealthSummary {
            cpu_ns: 800 * ms,
            spun_ns: 300 * ms,
            user_ns: 400 * ms,
            system_ns: 400 * ms,
            threads: vec![ThreadHealth { core: 1, ..ThreadHealth::default() }],
            cores: vec![
                CoreHealth { core: 0, busy_ns: 900 * ms, softirq_ns: 500 * ms, steal_ns: 0 },
                CoreHealth { core: 1, busy_ns: busy_ms * ms, softirq_ns: softirq_ms * ms, steal_ns: 0 },
            ],
            ..HealthSummary::default()
        }
    }

    #[test]
    fn softirqs_are_taken_out_of_a_threads_time_if_they_are_in_it() {
        // 800 ms ran, 800 ms busy: 120 of them were softirqs. 500 ms of work: 100 user, 280 system, 120
        // softirq.
        let cost = summary(800, 120).cost(1_000).unwrap();
        assert_eq!(cost, Cost { user_ns: 100_000.0, system_ns: 280_000.0, softirq_ns: Some(120_000.0) });
    }

    #[test]
    fn softirqs_beside_the_thread_are_added() {
        // 800 ms ran, 920 ms busy.
        let cost = summary(920, 120).cost(1_000).unwrap();
        assert_eq!(cost, Cost { user_ns: 100_000.0, system_ns: 400_000.0, softirq_ns: Some(120_000.0) });
    }

    #[test]
    fn softirqs_of_a_cpu_that_others_share_are_not_told_apart() {
        // 1 100 ms busy are 180 ms more than both.
        let cost = summary(1_100, 120).cost(1_000).unwrap();
        assert_eq!(cost, Cost { user_ns: 100_000.0, system_ns: 400_000.0, softirq_ns: None });
        assert_eq!(summary(800, 0).cost(0), None);
    }
}
