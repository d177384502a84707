//! What the machine grants a sending thread: a CPU of its own, memory that stays, a priority. What was refused
//! is told.

use clock::priority::Grant;

/// Threads of a run, and the CPUs that there are for them.
#[derive(Clone, Copy, Debug)]
pub struct Crew {
    /// Threads that would spin.
    pub spinning: u32,
    /// Threads beside them that must not wait: those that receive.
    pub beside: u32,
    /// CPUs that were named for the threads that spin; 0 leaves it to the kernel.
    pub named: usize,
    /// CPUs that this process may use, and those of the machine.
    pub usable: usize,
    pub online: u32,
}

impl Crew {
    pub fn here(spinning: u32, beside: u32, named: usize) -> Self {
        let usable = os::cpus::usable().len();
        Self { spinning, beside, named, usable, online: os::cpus::online().max(usable as u32) }
    }

    /// Spinning takes a CPU that others can do without: why there is none, in words, and what would mend it.
    /// That this process may use one CPU only is no reason: whoever binds it there gives it that CPU, as is
    /// advised.
    pub fn crowded(self) -> Option<Crowded> {
        let counted =
            |number: usize, what: &str| format!("{number} {what}{}", if number == 1 { "" } else { "s" });
        let Self { spinning, beside, named, usable, online } = self;
        if online < 2 {
            return Some(Crowded {
                why: "this machine has only one CPU, and a spinning thread would keep all others from it"
                    .to_owned(),
                mend: "use a machine with two CPUs, or longer gaps".to_owned(),
            });
        }
        let cpus = if named == 0 { usable } else { named.min(usable) };
        if cpus < spinning as usize {
            let threads = counted(spinning as usize, "thread");
            let why =
                format!("{threads} have {}: spinning threads would block each other", counted(cpus, "CPU"));
            let mend = if named > 0 && named < usable {
                "give as many --cpus as --queues"
            } else {
                "use fewer --queues, or give it more CPUs"
            };
            return Some(Crowded { why, mend: mend.to_owned() });
        }
        (usable < (spinning + beside) as usize).then(|| Crowded {
            why: format!(
                "this process may use {}, and spinning would keep the thread that receives from it",
                counted(usable, "CPU")
            ),
            mend:
                "let this process use one more CPU (taskset), and bind the thread that sends to one (--cpus)"
                    .to_owned(),
        })
    }
}

/// Why threads had better not spin, and what lets them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crowded {
    pub why: String,
    pub mend: String,
}

/// Readies the thread that calls; what was refused, in words. One thread of a run does it for all where it is
/// for the process.
pub fn settle(cpu: Option<u32>, is_first: bool, priority: &Grant) -> Vec<String> {
    settled(cpu, is_first, priority.take())
}

/// The same for a thread that waits for no due time.
pub fn settle_beside(cpu: Option<u32>, priority: &Grant) -> Vec<String> {
    settled(cpu, false, priority.take_beside())
}

fn settled(cpu: Option<u32>, is_first: bool, priority: Result<(), String>) -> Vec<String> {
    let mut refused = Vec::new();
    let mut note = |what: &str, result: Result<(), String>| {
        if let Err(why) = result {
            refused.push(format!("{what}: {why}"));
        }
    };
    if let Some(cpu) = cpu {
        note(
            "a thread is not bound to its CPU",
            os::cpus::pin(cpu).map_err(|error| format!("CPU {cpu}: {error}")),
        );
    }
    if is_first {
        // A page that must be fetched costs more than any gap.
        note("memory may be swapped out", os::memory::keep().map_err(|error| error.to_string()));
    }
    note("a thread has another priority than was granted", priority);
    note("the timer slack stays", clock::set_timer_slack_ns(1).map(drop).map_err(|error| error.to_string()));
    if is_first { refused } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crowded(spinning: u32, beside: u32, named: usize, usable: usize, online: u32) -> Option<String> {
        Crew { spinning, beside, named, usable, online }.crowded().map(|crowded| crowded.why)
    }

    #[test]
    fn an_affinity_to_one_cpu_is_no_reason_not_to_spin() {
        assert_eq!(crowded(1, 0, 0, 1, 2), None);
        assert_eq!(crowded(1, 0, 1, 1, 64), None);
    }

    #[test]
    fn threads_spin_where_each_has_a_cpu_that_others_can_do_without() {
        assert_eq!(crowded(1, 0, 0, 2, 2), None);
        assert_eq!(crowded(2, 0, 0, 2, 2), None);
        assert_eq!(crowded(1, 1, 1, 2, 2), None, "the one that receives has the other");
        assert!(crowded(1, 0, 0, 1, 1).unwrap().contains("only one CPU"));
        assert!(crowded(3, 0, 0, 2, 2).unwrap().starts_with("3 threads have 2 CPUs:"));
        assert!(
            crowded(2, 0, 1, 8, 8).unwrap().starts_with("2 threads have 1 CPU:"),
            "both on the CPU that was named"
        );
        assert!(crowded(1, 1, 0, 1, 2).unwrap().contains("keep the thread that receives from it"));
    }

    #[test]
    fn what_is_advised_lets_threads_spin() {
        // One more CPU for the process, the sending thread bound to one of them.
        assert!(crowded(1, 1, 0, 1, 2).is_some());
        assert_eq!(crowded(1, 1, 1, 2, 2), None);
        // As many CPUs named as there are threads.
        assert!(crowded(2, 0, 1, 8, 8).is_some());
        assert_eq!(crowded(2, 0, 2, 8, 8), None);
    }
}
