//! What the target's threads did that came and went between two looks, by what the kernel counts of their
//! processes.
//!
//! A server with a thread, or a process, for each connection may starve behind the generator, and not one of
//! its threads is there long enough to be read. What they waited dies with them. What they ran does not: the
//! totals of their process, and of the parent that waited for it, have it. Only where a parent ignores its
//! children (SIGCHLD) is it lost: then all that others ran may have been theirs.

use crate::procfs;
use std::collections::{BTreeSet, HashMap};

/// Ticks of `stat`, of 10 ms each.
const TICK_NS: u64 = 10_000_000;
/// So many are started beside any run.
const COME_AND_GO: u64 = 10;
/// Four rounded figures before and after.
const SLACK_NS: u64 = 2 * TICK_NS;

/// CPU time of the target's processes less that of the threads that were read.
#[derive(Debug)]
pub(super) struct Unseen {
    processes: HashMap<u32, Process>,
    /// Those that are there since the look that has not ended.
    new: Vec<u32>,
    /// Time of processes that ended, and are in no other's total.
    gone_ns: u64,
    /// Time of threads that were read.
    read_ns: u64,
    told_ns: u64,
    /// A process ignores what becomes of its children: what had been started on this machine when that was
    /// seen.
    ignored_at: Option<u64>,
    started: u64,
    /// CPUs that a thread of the target's could ever use; `None` when that could not be read of one.
    cpus: Option<BTreeSet<u32>>,
    look: u64,
}

#[derive(Clone, Copy, Debug)]
struct Process {
    parent: u32,
    /// Totals when it was first seen, and when it was last.
    first_ns: u64,
    last_ns: u64,
    look: u64,
}

impl Unseen {
    pub fn new() -> Self {
        Self {
            processes: HashMap::new(),
            new: Vec::new(),
            gone_ns: 0,
            read_ns: 0,
            told_ns: 0,
            ignored_at: None,
            started: 0,
            cpus: Some(BTreeSet::new()),
            look: 0,
        }
    }

    /// A process of the target's is there, with its `stat` and `status`.
    pub fn see(&mut self, pid: u32, stat: Option<String>, status: Option<String>) {
        if status.is_some_and(|status| procfs::ignores_children(&status)) {
            self.ignored_at.get_or_insert(self.started);
        }
        let Some((parent, ticks)) = stat.and_then(|stat| procfs::parent_and_ticks(&stat)) else { return };
        let total_ns = ticks * TICK_NS;
        let look = self.look;
        match self.processes.get_mut(&pid) {
            Some(process) => (process.parent, process.last_ns, process.look) = (parent, total_ns, look),
            None => {
                let process = Process { parent, first_ns: total_ns, last_ns: total_ns, look };
                self.processes.insert(pid, process);
                self.new.push(pid);
            }
        }
    }

    /// A thread of the target's is there, with its `status`.
    pub fn may_use(&mut self, status: Option<String>) {
        // It has just ended.
        let Some(status) = status else { return };
        match (procfs::cpus_allowed(&status), &mut self.cpus) {
            (Some(allowed), Some(cpus)) => cpus.extend(allowed),
            _ => self.cpus = None,
        }
    }

    /// What threads that come and go can use: they have that of the thread that starts them.
    pub fn cpus(&self) -> Option<BTreeSet<u32>> {
        self.cpus.clone().filter(|cpus| !cpus.is_empty())
    }

    /// A thread was read, and has run for so long since it last was.
    pub fn ran(&mut self, pid: u32, ran_ns: u64) {
        // What a process did before it was known is not in its total.
        if self.processes.contains_key(&pid) && !self.new.contains(&pid) {
            self.read_ns += ran_ns;
        }
    }

    /// Begins a look, with how many processes and threads have ever been started on this machine.
    pub fn begin_look(&mut self, started: Option<u64>) {
        self.started = started.unwrap_or(self.started);
    }

    /// Whether processes of the target's may have come and gone of which nothing is left.
    pub fn is_lost(&self) -> bool {
        self.ignored_at.is_some_and(|at| self.started >= at + COME_AND_GO)
    }

    /// All have been seen that there are.
    pub fn end_look(&mut self) {
        let look = self.look;
        let ended: Vec<Process> = self.processes.values().filter(|one| one.look != look).copied().collect();
        self.processes.retain(|_, one| one.look == look);
        // A parent that waited for its child has its total.
        let left = ended.iter().filter(|one| !self.processes.contains_key(&one.parent));
        self.gone_ns += left.map(|one| one.last_ns - one.first_ns).sum::<u64>();
        self.new.clear();
        self.look += 1;
    }

    /// What was found since this was last called.
    pub fn take(&mut self) -> u64 {
        let ran_ns: u64 = self.processes.values().map(|one| one.last_ns.saturating_sub(one.first_ns)).sum();
        let slack_ns = SLACK_NS * self.processes.len() as u64;
        let unseen_ns = (ran_ns + self.gone_ns).saturating_sub(self.read_ns + slack_ns);
        let gained = unseen_ns.saturating_sub(self.told_ns);
        self.told_ns = self.told_ns.max(unseen_ns);
        gained
    }
}
