//! What threads waited since they were last read: all of them at a look, the target's in between.

use super::targets::{Role, Targets};
use super::unseen::Unseen;
use super::waits::Waits;
use super::{LookFindings, Sight, Waited, at};
use crate::procfs;
use clock::Stopwatch;
use os::peers::Peers;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A thread that waited for less than this share of the time between two looks is not asked for more.
const LEAST_SHARE: f64 = 0.002;
/// Of threads that hardly wait, those are asked for their CPU that ran for longer.
const LEAST_RAN_NS: u64 = 1_000_000;
/// After a look, none is begun for so many times as long as it took: thousands of threads take many
/// milliseconds.
const REST: u32 = 20;
/// The second look finds the target's threads, which are followed from then on.
const EARLY: Duration = Duration::from_millis(100);
/// How often those are read; more seldom where that would take more than 1 % of a CPU.
const FOLLOW: Duration = Duration::from_millis(5);
const FOLLOW_REST: u32 = 100;
/// More threads than this are not followed: each costs a descriptor.
const MOST_FOLLOWED: usize = 64;
/// A thread that was read so long ago, or longer, waited for who knows how long at a time.
const COARSE: Duration = Duration::from_millis(200);
/// Waits that are no longer than this in the mean are brief. To be woken on another CPU takes about as long.
const BRIEF_NS: u64 = 50_000;
/// `SCHED_IDLE`: a thread that asked to wait for everybody.
const IDLE: u64 = 5;
/// Threads of this process that are a target's.
const OWN_TARGET: &str = "target-";
/// What this program, and threads that it starts, are called. All others are of a program that runs a load by a
/// binding (`libtare`, Python, Java).
const PROGRAM: &str = "tare";
const OWN_WORK: [&str; 7] = [PROGRAM, "capture ", "disk", "fault", "forward-", "module", "rules"];
/// Threads of the kernel's that responses depend on. Its other work for a CPU may wait long, and to no harm.
const OF_NETWORK: [&str; 4] = ["ksoftirqd/", "napi/", "irq/", "vhost-"];

/// The running totals of all threads when they were last read.
#[derive(Debug)]
pub(super) struct Look {
    proc: PathBuf,
    targets: Targets,
    unseen: Unseen,
    own: u32,
    /// This process is another program, which runs a load by a binding: a target may be within it.
    is_embedded: bool,
    sees_all: bool,
    seen: HashMap<u32, Seen>,
    followed: Vec<Followed>,
    /// What was found and has not been taken.
    found: Vec<Waited>,
    alone: Alone,
    /// Processes that are not asked: the kernel's threads, but for its network.
    aside: HashSet<u32>,
    looked: Stopwatch,
    pub(super) took: Duration,
    /// What reading the threads that are followed took.
    follow_took: Duration,
    looks: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    times: Times,
    /// The look that saw them.
    look: u64,
    /// What it has waited since the last look, if it is followed.
    followed_ns: Option<u64>,
    /// It wanted a CPU at the last look and has not had one since.
    wants: bool,
    /// The part of a wait that goes on which has been counted: the kernel adds a wait when it ends.
    pending_ns: u64,
}

/// As `schedstat` gives them.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    ran_ns: u64,
    waited_ns: u64,
    /// How often the thread was given a CPU.
    runs: u64,
}

impl Times {
    fn since(&self, before: &Self) -> Self {
        Self {
            ran_ns: self.ran_ns.saturating_sub(before.ran_ns),
            waited_ns: self.waited_ns.saturating_sub(before.waited_ns),
            runs: self.runs.saturating_sub(before.runs),
        }
    }

    /// It did not get a CPU.
    fn is_nothing(&self) -> bool {
        self.ran_ns == 0 && self.waited_ns == 0 && self.runs == 0
    }

    fn is_brief(&self) -> bool {
        self.waited_ns <= BRIEF_NS * self.runs
    }

    /// As a target's, on the CPU `core`.
    fn of_target(&self, core: u32, is_brief: bool) -> Waited {
        let (target_ns, target_brief_ns) = if is_brief { (0, self.waited_ns) } else { (self.waited_ns, 0) };
        let mut waits = Waits::default();
        if !is_brief {
            waits.record(self.waited_ns, self.runs);
        }
        Waited { target_ns, target_brief_ns, waits, target_ran_ns: self.ran_ns, ..Waited::on(core) }
    }
}

/// Threads that belong together: those that are known to be the target's (0), and of those that may be, the
/// ones of a program (a hash of its session and its name). What they waited for each other, nobody took from
/// the target.
type Kin = u64;

/// What each of the target's threads waited and ran on each CPU, brief waits left out.
#[derive(Debug, Default)]
struct Alone(HashMap<(u32, Kin, u32), (u64, u64)>);

impl Alone {
    fn add(&mut self, kin: Kin, tid: u32, waited: &Waited) {
        let (waited_ns, ran_ns) = self.0.entry((waited.core, kin, tid)).or_default();
        *waited_ns += waited.target_ns;
        *ran_ns += waited.target_ran_ns;
    }

    /// The most that they may have waited for each other there: each, for as long as others of its kin ran.
    fn waited_for_each_other(&self, core: u32) -> u64 {
        let there = || self.0.iter().filter(|((its, ..), _)| *its == core);
        let mut ran_ns = HashMap::<Kin, u64>::new();
        there().for_each(|((_, kin, _), (_, its_ns))| *ran_ns.entry(*kin).or_default() += its_ns);
        there().map(|((_, kin, _), (waited_ns, its_ns))| (*waited_ns).min(ran_ns[kin] - its_ns)).sum()
    }
}

/// A thread of the target's.
#[derive(Debug)]
struct Followed {
    pid: u32,
    tid: u32,
    task: PathBuf,
    schedstat: File,
    /// The CPU that it last ran on, when that was read.
    core: u32,
    kin: Kin,
}

/// What a thread is that waited.
struct Waiter {
    name: String,
    core: u32,
    whose: Whose,
    kin: Kin,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whose {
    Ours,
    Target,
    Unknown,
    Others,
}

impl Look {
    pub fn new(root: &Path, peers: &Peers) -> Self {
        let proc = root.join("proc");
        let own = std::process::id();
        let is_aside = |pid: &u32| {
            let stat = text(&proc.join(pid.to_string()), "stat");
            stat.is_some_and(|stat| procfs::is_of_kernel(&stat) == Some(true) && !is_of_network(&stat))
        };
        Self {
            aside: numbers(&proc).filter(is_aside).collect(),
            is_embedded: text(&proc.join(own.to_string()), "stat")
                .and_then(|stat| procfs::name(&stat).map(|name| !name.starts_with(PROGRAM)))
                .unwrap_or(false),
            targets: Targets::new(&proc, peers),
            unseen: Unseen::new(),
            sees_all: sees_all(&proc),
            own,
            seen: HashMap::new(),
            followed: Vec::new(),
            found: Vec::new(),
            alone: Alone::default(),
            looked: Stopwatch::start(),
            took: Duration::ZERO,
            follow_took: Duration::ZERO,
            looks: 0,
            proc,
        }
    }

    pub fn is_rested(&self) -> bool {
        self.looked.elapsed() > self.took * REST
    }

    /// How long to wait before [`Look::follow`].
    pub fn rest(&self) -> Duration {
        match (self.looks, self.followed.is_empty()) {
            (1, _) => EARLY.saturating_sub(self.looked.elapsed()),
            (_, true) => Duration::MAX,
            (_, false) => FOLLOW.max(self.follow_took * FOLLOW_REST),
        }
    }

    /// What was found since this was last called.
    pub fn take(&mut self) -> LookFindings {
        let sight = match (self.sees_all, self.targets.is_here(), self.targets.is_hidden()) {
            (false, true, true) => Sight::NotTheTarget,
            _ if self.unseen.is_lost() => Sight::NotItsChildren,
            (true, ..) | (_, true, false) => Sight::All,
            (false, false, _) => Sight::Part,
        };
        let cpus = if sight == Sight::NotTheTarget { None } else { self.unseen.cpus() };
        let mut waited = std::mem::take(&mut self.found);
        let alone = std::mem::take(&mut self.alone);
        waited.iter_mut().for_each(|one| one.target_self_ns = alone.waited_for_each_other(one.core));
        let is_guess = self.targets.is_hidden();
        LookFindings { waited, sight, is_guess, unseen_ns: self.unseen.take(), unseen_cpus: cpus }
    }

    /// Reads all threads.
    pub fn look(&mut self) {
        let span_ns = self.looked.elapsed().as_nanos() as u64;
        self.looked = Stopwatch::start();
        self.looks += 1;
        self.targets.refresh();
        self.unseen.begin_look(text(&self.proc, "stat").and_then(|stat| procfs::started(&stat)));
        for pid in numbers(&self.proc) {
            if self.aside.contains(&pid) {
                continue;
            }
            let is_target = self.targets.processes().contains(&pid) && (pid != self.own || self.is_embedded);
            if is_target {
                let process = self.proc.join(pid.to_string());
                self.unseen.see(pid, text(&process, "stat"), text(&process, "status"));
            }
            let tasks = self.proc.join(pid.to_string()).join("task");
            for tid in numbers(&tasks) {
                let task = tasks.join(tid.to_string());
                if is_target && !(pid == self.own && is_own_work(&task)) {
                    self.unseen.may_use(text(&task, "status"));
                }
                if let Some(times) = text(&task, "schedstat").and_then(|text| times(&text)) {
                    self.add(pid, tid, task, times, span_ns);
                }
            }
        }
        let looks = self.looks;
        self.seen.retain(|_, seen| seen.look == looks);
        self.unseen.end_look();
        self.targets.end_look();
        self.took = self.looked.elapsed();
    }

    /// Adds what a thread has gained, and follows it if it is the target's.
    fn add(&mut self, pid: u32, tid: u32, task: PathBuf, times: Times, span_ns: u64) {
        let before = self.seen.get(&tid).copied().unwrap_or_default();
        let followed_ns = before.followed_ns.map(|_| 0);
        let mut gained = times.since(&before.times);
        // Who wanted a CPU at the last look, wants one now and had none meanwhile has waited all the time.
        let wants = (pid != self.own || self.is_embedded) && is_runnable(&task);
        let goes_on = wants && before.wants && gained.is_nothing();
        let pending_ns = if goes_on { before.pending_ns + span_ns } else { 0 };
        self.seen.insert(tid, Seen { times, look: self.looks, followed_ns, wants, pending_ns });
        gained.waited_ns = (gained.waited_ns + pending_ns).saturating_sub(before.pending_ns);
        // Of what a thread did before the first look, nothing is the run's.
        if self.looks == 1 {
            return;
        }
        self.unseen.ran(pid, gained.ran_ns);
        let waited_ns = gained.waited_ns + before.followed_ns.unwrap_or_default();
        let least_ns = if followed_ns.is_some() { 0 } else { (span_ns as f64 * LEAST_SHARE) as u64 };
        let is_ours = pid == self.own || self.targets.processes().contains(&pid);
        if waited_ns <= least_ns && !(is_ours && gained.ran_ns > LEAST_RAN_NS) {
            return;
        }
        let Some(waiter) = self.waiter(pid, &task) else { return };
        let longest = (waited_ns, waiter.name);
        if waiter.whose == Whose::Ours {
            at(&mut self.found, waiter.core).own_ran_ns += gained.ran_ns;
        } else if waiter.whose == Whose::Target {
            let is_fine = followed_ns.is_some() || u128::from(span_ns) < COARSE.as_nanos();
            let waited = gained.of_target(waiter.core, is_fine && gained.is_brief());
            let waited = Waited { target_longest: longest, ..waited };
            self.alone.add(waiter.kin, tid, &waited);
            at(&mut self.found, waiter.core).add(waited);
            let begins = || Followed::begin(pid, tid, task, waiter.core, waiter.kin);
            if followed_ns.is_none()
                && self.followed.len() < MOST_FOLLOWED
                && let Some(thread) = begins()
            {
                self.followed.push(thread);
                self.seen.entry(tid).and_modify(|seen| seen.followed_ns = Some(0));
            }
        } else {
            let is_unknown = waiter.whose == Whose::Unknown;
            let of_unknown = |ns| if is_unknown { ns } else { 0 };
            let waited = Waited {
                others_ns: gained.waited_ns,
                unknown_ns: of_unknown(gained.waited_ns),
                unknown_ran_ns: of_unknown(gained.ran_ns),
                others_longest: longest,
                ..Waited::on(waiter.core)
            };
            at(&mut self.found, waiter.core).add(waited);
        }
    }

    /// Reads the target's threads; or all, early in the run, to find out which are the target's.
    pub fn follow(&mut self) {
        if self.looks == 1 {
            return self.look();
        }
        let begun = Stopwatch::start();
        let Self { followed, seen, found, unseen, alone, .. } = self;
        followed.retain_mut(|thread| {
            // A thread that has ended is gone from both.
            let (Some(times), Some(seen)) = (thread.read(), seen.get_mut(&thread.tid)) else { return false };
            let mut gained = times.since(&seen.times);
            if gained.is_nothing() {
                return true;
            }
            seen.wants = false;
            gained.waited_ns = gained.waited_ns.saturating_sub(std::mem::take(&mut seen.pending_ns));
            let is_brief = gained.is_brief();
            if !is_brief {
                thread.look_where();
            }
            seen.times = times;
            unseen.ran(thread.pid, gained.ran_ns);
            seen.followed_ns = seen.followed_ns.map(|ns| ns + gained.waited_ns);
            let waited = gained.of_target(thread.core, is_brief);
            alone.add(thread.kin, thread.tid, &waited);
            at(found, thread.core).add(waited);
            true
        });
        self.follow_took = begun.elapsed();
    }

    /// `None` for threads that want to wait, and for the kernel's that nothing waits for.
    fn waiter(&mut self, pid: u32, task: &Path) -> Option<Waiter> {
        let stat = text(task, "stat")?;
        let (name, core) = (procfs::name(&stat)?, procfs::last_core(&stat)?);
        let is_of_kernel = procfs::is_of_kernel(&stat) == Some(true);
        let mut kin = 0;
        let whose = if pid == self.own {
            // Another program's threads are what they would be in a process of their own.
            let is_strange = self.is_embedded && !is_work(name);
            match self.targets.processes().contains(&pid) {
                _ if name.starts_with(OWN_TARGET) => Whose::Target,
                true if is_strange => Whose::Target,
                false if is_strange => Whose::Others,
                _ => Whose::Ours,
            }
        } else if is_of_network(&stat) {
            Whose::Target
        } else if is_of_kernel || procfs::policy(&stat)? == IDLE {
            return None;
        } else {
            match self.targets.role(pid) {
                Role::Target => Whose::Target,
                Role::PerhapsTarget => {
                    kin = self.kin(pid);
                    Whose::Target
                }
                Role::Unknown => Whose::Unknown,
                Role::Other => Whose::Others,
            }
        };
        Some(Waiter { name: name.to_owned(), core, whose, kin })
    }

    /// Of a process that may be the target.
    fn kin(&self, pid: u32) -> Kin {
        let stat = text(&self.proc.join(pid.to_string()), "stat").unwrap_or_default();
        let mut hasher = DefaultHasher::new();
        (procfs::session(&stat), procfs::name(&stat)).hash(&mut hasher);
        hasher.finish().max(1)
    }
}

impl Followed {
    fn begin(pid: u32, tid: u32, task: PathBuf, core: u32, kin: Kin) -> Option<Self> {
        let schedstat = File::open(task.join("schedstat")).ok()?;
        Some(Self { pid, tid, task, schedstat, core, kin })
    }

    fn read(&self) -> Option<Times> {
        let mut bytes = [0; 80];
        let length = self.schedstat.read_at(&mut bytes, 0).ok()?;
        times(std::str::from_utf8(&bytes[..length]).ok()?)
    }

    fn look_where(&mut self) {
        if let Some(core) = text(&self.task, "stat").and_then(|stat| procfs::last_core(&stat)) {
            self.core = core;
        }
    }
}

/// Whether a thread of this process has a name that Tare gave it.
fn is_work(name: &str) -> bool {
    OWN_WORK.iter().any(|begins| name.starts_with(begins))
}

fn is_own_work(task: &Path) -> bool {
    text(task, "stat").is_some_and(|stat| procfs::name(&stat).is_some_and(is_work))
}

/// Whether a thread wants a CPU.
fn is_runnable(task: &Path) -> bool {
    text(task, "stat").is_some_and(|stat| procfs::is_runnable(&stat))
}

fn times(text: &str) -> Option<Times> {
    let (ran_ns, waited_ns, runs) = procfs::schedstat(text)?;
    Some(Times { ran_ns, waited_ns, runs })
}

/// The kernel's first thread, process 2, is seen by whoever sees all.
fn sees_all(proc: &Path) -> bool {
    text(&proc.join("2"), "stat").and_then(|stat| procfs::is_of_kernel(&stat)) == Some(true)
}

fn is_of_network(stat: &str) -> bool {
    procfs::is_of_kernel(stat) == Some(true)
        && procfs::name(stat).is_some_and(|name| OF_NETWORK.iter().any(|start| name.starts_with(start)))
}

fn text(folder: &Path, name: &str) -> Option<String> {
    std::fs::read_to_string(folder.join(name)).ok()
}

/// The entries of a folder that are numbers.
pub(super) fn numbers(folder: &Path) -> impl Iterator<Item = u32> + use<> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}
