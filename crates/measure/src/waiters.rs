//! Others' threads that wait for a CPU while the generator's thread has it.
//!
//! A thread that spins, at a high priority above all, may never wait for its CPU, and yet keep a target on the
//! same machine from it: the answers are late, and nothing of the generator's own shows it. So every look reads
//! how long each thread of the machine was ready but did not run (`/proc/PID/task/TID/schedstat`), and adds it to
//! the CPU that it ran on last. Threads of another process namespace cannot be seen.

use crate::procfs;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// A thread that waited for less than this share of the time between two looks is not asked for more.
const LEAST_SHARE: f64 = 0.002;
/// A look may take this share of the time since the one before; where it takes longer, there is none any more.
const DEAREST: f64 = 0.05;
/// `SCHED_IDLE`: a thread that asked to wait for everybody.
const IDLE: u64 = 5;
/// Threads of this process that are a target's.
const OWN_TARGET: &str = "target-";
/// Threads of the kernel's that responses depend on. Its other work for a CPU may wait long, and to no harm.
const OF_NETWORK: [&str; 4] = ["ksoftirqd/", "napi/", "irq/", "vhost-"];

/// What others' threads did on one CPU between two looks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Waited {
    pub core: u32,
    /// Time that they waited, of all together: it may be longer than the time between the looks.
    pub waited_ns: u64,
    /// Time that the same threads ran.
    pub ran_ns: u64,
    /// The name of the thread that waited the longest, and how long.
    pub longest: (u64, String),
}

/// The running totals of all others' threads at the last look.
#[derive(Debug)]
pub(crate) struct Waiters {
    proc: PathBuf,
    own: u32,
    seen: HashMap<u32, Times>,
    /// Processes that are not asked: the kernel's threads, but for its network.
    aside: HashSet<u32>,
    given_up: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Times {
    ran_ns: u64,
    waited_ns: u64,
    /// The look that saw them.
    look: u64,
}

impl Waiters {
    /// With `root` in the place of `/`; `own` is the process of the generator.
    pub fn new(root: &Path, own: u32) -> Self {
        let (seen, aside) = (HashMap::new(), HashSet::new());
        let mut waiters = Self { proc: root.join("proc"), own, seen, aside, given_up: false };
        let is_aside = |pid: &u32| {
            let stat = text(&waiters.proc.join(pid.to_string()), "stat");
            stat.is_some_and(|stat| is_kernels_own(&stat) == Some(true))
        };
        waiters.aside = numbers(&waiters.proc).filter(is_aside).collect();
        waiters.look(u64::MAX);
        waiters
    }

    /// What was gained in the `span_ns` since the last look, by CPU. `None` where a look takes too long.
    pub fn look(&mut self, span_ns: u64) -> Option<Vec<Waited>> {
        if self.given_up {
            return None;
        }
        let begun = clock::Stopwatch::start();
        let least_ns = (span_ns as f64 * LEAST_SHARE) as u64;
        let look = self.seen.values().map(|times| times.look).max().unwrap_or(0) + 1;
        let mut found: Vec<Waited> = Vec::new();
        for pid in numbers(&self.proc).filter(|pid| !self.aside.contains(pid)) {
            let tasks = self.proc.join(pid.to_string()).join("task");
            for tid in numbers(&tasks) {
                let task = tasks.join(tid.to_string());
                let Some((ran_ns, waited_ns)) = text(&task, "schedstat").and_then(|t| procfs::schedstat(&t))
                else {
                    continue;
                };
                let before = self.seen.insert(tid, Times { ran_ns, waited_ns, look }).unwrap_or_default();
                let waited_ns = waited_ns.saturating_sub(before.waited_ns);
                if waited_ns <= least_ns {
                    continue;
                }
                let Some((core, name)) = self.others_core(pid, &task) else { continue };
                let index = found.iter().position(|waited| waited.core == core).unwrap_or_else(|| {
                    found.push(Waited { core, ..Waited::default() });
                    found.len() - 1
                });
                let waited = &mut found[index];
                waited.waited_ns += waited_ns.min(span_ns);
                waited.ran_ns += ran_ns.saturating_sub(before.ran_ns).min(span_ns);
                waited.longest = std::mem::take(&mut waited.longest).max((waited_ns, name));
            }
        }
        self.seen.retain(|_, times| times.look == look);
        self.given_up = begun.elapsed().as_nanos() as f64 > span_ns as f64 * DEAREST;
        Some(found)
    }

    /// The CPU that a thread ran on last, and its name, unless it is the generator's own or wants to wait.
    fn others_core(&self, pid: u32, task: &Path) -> Option<(u32, String)> {
        let stat = text(task, "stat")?;
        let name = procfs::name(&stat)?;
        let is_own = pid == self.own && !name.starts_with(OWN_TARGET);
        if is_own || is_kernels_own(&stat)? || procfs::policy(&stat)? == IDLE {
            return None;
        }
        Some((procfs::last_core(&stat)?, name.to_owned()))
    }
}

/// Whether it is a thread of the kernel's that no response depends on, by its `stat`.
fn is_kernels_own(stat: &str) -> Option<bool> {
    let name = procfs::name(stat)?;
    Some(procfs::is_of_kernel(stat)? && !OF_NETWORK.iter().any(|start| name.starts_with(start)))
}

fn text(folder: &Path, name: &str) -> Option<String> {
    std::fs::read_to_string(folder.join(name)).ok()
}

/// The entries of a folder that are numbers.
fn numbers(folder: &Path) -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Threads of the machine: (pid, tid, name, CPU, policy, ran, waited), times in milliseconds.
    type Thread = (u32, u32, &'static str, u32, u32, u64, u64);

    fn put(root: &Path, threads: &[Thread]) {
        for (pid, tid, name, core, policy, ran, waited) in threads {
            let folder = root.join(format!("proc/{pid}/task/{tid}"));
            std::fs::create_dir_all(&folder).unwrap();
            // Fields 3 to 8, the flags (2 097 152 for a thread of the kernel's), fields 10 to 38, the CPU, its
            // real-time priority, the policy.
            let flags = if name.contains('/') { "2097152 " } else { "4194304 " };
            let (before, after) = ("0 ".repeat(5), "0 ".repeat(29));
            let stat = format!("{tid} ({name}) R {before}{flags}{after}{core} 0 {policy} 0 0");
            std::fs::write(folder.join("stat"), stat).unwrap();
            std::fs::write(folder.join("schedstat"), format!("{} {} 1\n", ran * MS, waited * MS)).unwrap();
        }
    }

    #[test]
    fn who_waits_for_which_cpu_is_found() {
        let root = tempfile::tempdir().unwrap();
        put(root.path(), &[(7, 7, "server", 1, 0, 100, 50), (9, 9, "tare", 1, 0, 0, 0)]);
        let mut waiters = Waiters::new(root.path(), 9);
        put(
            root.path(),
            &[
                (7, 7, "server", 1, 0, 300, 450),
                // A new thread counts from its birth, and one that hardly waited not at all.
                (7, 8, "ser) ver", 1, 0, 20, 100),
                (6, 6, "other", 0, 0, 900, 1),
                (9, 9, "tare", 1, 0, 500, 500),
                (9, 10, "target-0", 0, 0, 10, 30),
                (5, 5, "make", 1, 5, 0, 900),
                (3, 3, "kworker/1:2", 1, 0, 0, 900),
                (2, 2, "ksoftirqd/0", 0, 0, 5, 20),
            ],
        );
        let mut found = waiters.look(1_000 * MS).unwrap();
        found.sort_by_key(|waited| waited.core);
        let expected = [
            Waited { core: 0, waited_ns: 50 * MS, ran_ns: 15 * MS, longest: (30 * MS, "target-0".into()) },
            Waited { core: 1, waited_ns: 500 * MS, ran_ns: 220 * MS, longest: (400 * MS, "server".into()) },
        ];
        assert_eq!(found, expected);
        assert_eq!(waiters.look(1_000 * MS), Some(Vec::new()));
    }

    #[test]
    fn a_look_that_takes_too_long_is_the_last() {
        let root = tempfile::tempdir().unwrap();
        put(root.path(), &[(7, 7, "server", 1, 0, 100, 50)]);
        let mut waiters = Waiters::new(root.path(), 9);
        assert!(waiters.look(1).is_some());
        assert_eq!(waiters.look(1_000 * MS), None);
    }
}
