//! Threads of this machine that wait for a CPU while the generator's thread has it.
//!
//! ```text
//!   sample ── "look" ──► tare-look (niceness 19) ── /proc/PID/task/TID/schedstat ─┐
//!      ▲                                                                          │
//!      └───────────────────── by CPU: target's, others' ◄─────────────────────────┘
//! ```
//!
//! A thread that spins, at a high priority above all, may never wait for its CPU, and yet keep a target on the
//! same machine from it: the responses are late, and nothing of the generator's own shows it. So every look
//! reads how long each thread of the machine was ready but did not run, and adds it to the CPU that it ran on
//! last. It belongs to the target if its process has a socket on one of the target's ports, or if it is the
//! kernel's for the network. In a container, and where others' processes are hidden, not all can be seen, which
//! is told.

use crate::procfs;
use clock::Stopwatch;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// A thread that waited for less than this share of the time between two looks is not asked for more.
const LEAST_SHARE: f64 = 0.002;
/// After a look, none is begun for so many times as long as it took: thousands of threads take many
/// milliseconds.
const REST: u32 = 20;
/// How long a sample waits for a look. What comes later is in the next.
const PATIENCE: Duration = Duration::from_millis(250);
/// The niceness of the thread that looks: it must not take what it measures.
const NICE: i8 = 19;
/// `SCHED_IDLE`: a thread that asked to wait for everybody.
const IDLE: u64 = 5;
/// Threads of this process that are a target's.
const OWN_TARGET: &str = "target-";
/// Threads of the kernel's that responses depend on. Its other work for a CPU may wait long, and to no harm.
const OF_NETWORK: [&str; 4] = ["ksoftirqd/", "napi/", "irq/", "vhost-"];

/// What threads that are not the generator's did on one CPU between two looks, each sum over all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Waited {
    pub core: u32,
    /// Time that the target's threads waited, and time that the same threads ran.
    pub target_ns: u64,
    pub target_ran_ns: u64,
    /// Time that others waited.
    pub others_ns: u64,
    /// The name of the thread that waited the longest, and how long.
    pub longest: (u64, String),
}

impl Waited {
    fn add(&mut self, more: Self) {
        self.target_ns += more.target_ns;
        self.target_ran_ns += more.target_ran_ns;
        self.others_ns += more.others_ns;
        self.longest = std::mem::take(&mut self.longest).max(more.longest);
    }
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Waiters {
    /// Asks for a look; for one that is the last, whatever it costs.
    asks: Option<Sender<bool>>,
    answers: Receiver<Vec<Waited>>,
    /// Looks that were asked for and have not come.
    awaited: usize,
    is_blind: bool,
}

impl Waiters {
    /// Starts the thread that looks, with `root` in the place of `/`. `ports` are those that the target listens
    /// on.
    pub fn new(root: &Path, ports: &[u16]) -> Self {
        let (asks, asked) = channel();
        let (answer, answers) = channel();
        let mut look = Look::new(root, ports);
        let looks = move || {
            let _ = os::scheduling::ordinary(0);
            let _ = os::scheduling::set_nice(NICE);
            look.look();
            // Until nobody asks any more.
            while let Ok(is_last) = asked.recv() {
                let found = if is_last || look.is_rested() { look.look() } else { Vec::new() };
                if answer.send(found).is_err() {
                    return;
                }
            }
        };
        // Without the thread nothing is seen, as where there is no /proc.
        let started = std::thread::Builder::new().name("tare-look".to_owned()).spawn(looks);
        let is_blind = !sees_all(&root.join("proc"));
        Self { asks: started.ok().map(|_| asks), answers, awaited: 0, is_blind }
    }

    /// Whether there may be threads that cannot be seen: this is a container, or others' processes are hidden.
    pub fn is_blind(&self) -> bool {
        self.is_blind
    }

    /// What was gained since the last sample, by CPU.
    pub fn sample(&mut self, is_last: bool) -> Vec<Waited> {
        let Some(asks) = &self.asks else { return Vec::new() };
        self.awaited += usize::from(asks.send(is_last).is_ok());
        let begun = Stopwatch::start();
        let mut found = Vec::new();
        while self.awaited > 0 {
            let Some(left) = PATIENCE.checked_sub(begun.elapsed()) else { break };
            let Ok(more) = self.answers.recv_timeout(left) else { break };
            self.awaited -= 1;
            more.into_iter().for_each(|waited| at(&mut found, waited.core).add(waited));
        }
        found
    }
}

fn at(found: &mut Vec<Waited>, core: u32) -> &mut Waited {
    let index = found.iter().position(|waited| waited.core == core).unwrap_or_else(|| {
        found.push(Waited { core, ..Waited::default() });
        found.len() - 1
    });
    &mut found[index]
}

/// The running totals of all threads at the last look.
#[derive(Debug)]
struct Look {
    proc: PathBuf,
    ports: Vec<u16>,
    own: u32,
    seen: HashMap<u32, Times>,
    /// Processes that are not asked: the kernel's threads, but for its network.
    aside: HashSet<u32>,
    /// Whose threads wait: processes of the target's, and others.
    known: HashMap<u32, bool>,
    looked: Stopwatch,
    took: Duration,
    looks: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Times {
    ran_ns: u64,
    waited_ns: u64,
    /// The look that saw them.
    look: u64,
}

impl Look {
    fn new(root: &Path, ports: &[u16]) -> Self {
        let proc = root.join("proc");
        let is_aside = |pid: &u32| {
            let stat = text(&proc.join(pid.to_string()), "stat");
            stat.is_some_and(|stat| procfs::is_of_kernel(&stat) == Some(true) && !is_of_network(&stat))
        };
        Self {
            aside: numbers(&proc).filter(is_aside).collect(),
            ports: ports.to_vec(),
            own: std::process::id(),
            seen: HashMap::new(),
            known: HashMap::new(),
            looked: Stopwatch::start(),
            took: Duration::ZERO,
            looks: 0,
            proc,
        }
    }

    fn is_rested(&self) -> bool {
        self.looked.elapsed() > self.took * REST
    }

    /// What was gained since the last look, by CPU.
    fn look(&mut self) -> Vec<Waited> {
        let span_ns = self.looked.elapsed().as_nanos() as u64;
        self.looked = Stopwatch::start();
        let least_ns = (span_ns as f64 * LEAST_SHARE) as u64;
        self.looks += 1;
        let mut found = Vec::new();
        for pid in numbers(&self.proc) {
            if self.aside.contains(&pid) {
                continue;
            }
            let tasks = self.proc.join(pid.to_string()).join("task");
            for tid in numbers(&tasks) {
                let task = tasks.join(tid.to_string());
                let Some((ran_ns, waited_ns)) = text(&task, "schedstat").and_then(|t| procfs::schedstat(&t))
                else {
                    continue;
                };
                let times = Times { ran_ns, waited_ns, look: self.looks };
                let before = self.seen.insert(tid, times);
                // Of what a thread did before the first look, nothing is the run's.
                let before = if self.looks == 1 { times } else { before.unwrap_or_default() };
                let waited_ns = waited_ns.saturating_sub(before.waited_ns).min(span_ns);
                if waited_ns > least_ns
                    && let Some(waited) =
                        self.whose(pid, &task, waited_ns, ran_ns.saturating_sub(before.ran_ns).min(span_ns))
                {
                    at(&mut found, waited.core).add(waited);
                }
            }
        }
        let looks = self.looks;
        self.seen.retain(|_, times| times.look == looks);
        self.took = self.looked.elapsed();
        found
    }

    /// `None` for the generator's own threads, and those that want to wait.
    fn whose(&mut self, pid: u32, task: &Path, waited_ns: u64, ran_ns: u64) -> Option<Waited> {
        let stat = text(task, "stat")?;
        let name = procfs::name(&stat)?;
        let is_own_target = pid == self.own && name.starts_with(OWN_TARGET);
        if procfs::policy(&stat)? == IDLE || (pid == self.own && !is_own_target) {
            return None;
        }
        let core = procfs::last_core(&stat)?;
        let waited = Waited { core, longest: (waited_ns, name.to_owned()), ..Waited::default() };
        if is_own_target || is_of_network(&stat) || self.is_target(pid) {
            return Some(Waited { target_ns: waited_ns, target_ran_ns: ran_ns, ..waited });
        }
        // Who is nice wants to let others go first.
        (procfs::nice(&stat)? <= 0).then_some(Waited { others_ns: waited_ns, ..waited })
    }

    /// Whether a process has a socket on one of the target's ports.
    fn is_target(&mut self, pid: u32) -> bool {
        if let Some(known) = self.known.get(&pid) {
            return *known;
        }
        let process = self.proc.join(pid.to_string());
        let tables = ["net/tcp", "net/tcp6"].map(|name| text(&process, name).unwrap_or_default());
        let sockets: HashSet<u64> =
            tables.iter().flat_map(|table| procfs::sockets_on(table, &self.ports)).collect();
        let is_target = !sockets.is_empty()
            && std::fs::read_dir(process.join("fd")).into_iter().flatten().flatten().any(|entry| {
                let link = std::fs::read_link(entry.path()).unwrap_or_default();
                let inode = link.to_str().and_then(|link| link.strip_prefix("socket:[")?.strip_suffix(']'));
                inode.and_then(|inode| inode.parse().ok()).is_some_and(|inode: u64| sockets.contains(&inode))
            });
        self.known.insert(pid, is_target);
        is_target
    }
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
fn numbers(folder: &Path) -> impl Iterator<Item = u32> + use<> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Threads of the machine: (pid, tid, name, CPU, niceness, policy, ran, waited), times in milliseconds.
    type Thread = (u32, u32, &'static str, u32, i32, u32, u64, u64);

    fn put(root: &Path, threads: &[Thread]) {
        for (pid, tid, name, core, nice, policy, ran, waited) in threads {
            let folder = root.join(format!("proc/{pid}/task/{tid}"));
            std::fs::create_dir_all(&folder).unwrap();
            // Field 9, the flags (2 097 152 for a thread of the kernel's), field 19, the niceness, field 39,
            // the CPU, field 41, the policy.
            let flags = if name.contains('/') { 2_097_152 } else { 4_194_304 };
            let fields = |count: usize| "0 ".repeat(count);
            let stat = format!(
                "{tid} ({name}) R {}{flags} {}{nice} {}{core} 0 {policy} 0 0",
                fields(5),
                fields(9),
                fields(19)
            );
            std::fs::write(folder.join("stat"), &stat).unwrap();
            std::fs::write(root.join(format!("proc/{pid}/stat")), stat).unwrap();
            std::fs::write(folder.join("schedstat"), format!("{} {} 1\n", ran * MS, waited * MS)).unwrap();
        }
    }

    /// A process with a socket that listens on port 8 080 (1F90), inode 77.
    fn listen(root: &Path, pid: u32) {
        let process = root.join(format!("proc/{pid}"));
        std::fs::create_dir_all(process.join("net")).unwrap();
        std::fs::create_dir_all(process.join("fd")).unwrap();
        let line = "0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 77 1 0";
        std::fs::write(process.join("net/tcp"), format!("sl local_address\n   {line}\n")).unwrap();
        std::os::unix::fs::symlink("socket:[77]", process.join("fd/3")).unwrap();
    }

    #[test]
    fn who_waits_for_which_cpu_is_found() {
        let root = tempfile::tempdir().unwrap();
        let own = std::process::id();
        let before = [(7, 7, "server", 1, 0, 0, 100, 50), (own, own, "tare", 1, 0, 0, 0, 0)];
        put(root.path(), &before);
        listen(root.path(), 7);
        put(root.path(), &[(3, 3, "kworker/1:2", 1, 0, 0, 0, 0), (2, 2, "ksoftirqd/0", 0, 0, 0, 0, 0)]);
        let mut look = Look::new(root.path(), &[80, 8_080]);
        assert_eq!(look.look(), []);
        std::thread::sleep(Duration::from_millis(500));
        put(
            root.path(),
            &[
                (7, 7, "server", 1, 0, 0, 300, 450),
                // A new thread counts from its birth, and one that hardly waited not at all.
                (7, 8, "ser) ver", 1, 19, 0, 20, 100),
                (6, 6, "other", 0, 0, 0, 900, 0),
                (8, 9, "other", 0, 0, 0, 1, 40),
                (4, 4, "nice", 0, 5, 0, 1, 40),
                (own, own, "tare", 1, 0, 0, 500, 500),
                (own, own + 1, "target-0", 0, 0, 0, 10, 30),
                (5, 5, "make", 1, 0, 5, 0, 400),
                (3, 3, "kworker/1:2", 1, 0, 0, 0, 400),
                (2, 2, "ksoftirqd/0", 0, 0, 0, 5, 20),
            ],
        );
        let mut found = look.look();
        found.sort_by_key(|waited| waited.core);
        let [first, second] = [
            Waited {
                core: 0,
                target_ns: 50 * MS,
                target_ran_ns: 15 * MS,
                others_ns: 40 * MS,
                longest: (40 * MS, "other".into()),
            },
            Waited {
                core: 1,
                target_ns: 500 * MS,
                target_ran_ns: 220 * MS,
                others_ns: 0,
                longest: (400 * MS, "server".into()),
            },
        ];
        assert_eq!(found, [first, second]);
        assert_eq!(look.look(), []);
    }

    #[test]
    fn a_look_that_took_long_is_not_soon_repeated_but_for_the_last() {
        let root = tempfile::tempdir().unwrap();
        put(root.path(), &[(7, 7, "server", 1, 0, 0, 100, 50)]);
        let mut look = Look::new(root.path(), &[]);
        look.look();
        look.took = Duration::from_secs(60);
        assert!(!look.is_rested());
        look.took = Duration::ZERO;
        assert!(look.is_rested());
        let mut waiters = Waiters::new(root.path(), &[]);
        assert!(waiters.is_blind());
        put(root.path(), &[(2, 2, "kthreadd/", 0, 0, 0, 0, 0)]);
        assert!(sees_all(&root.path().join("proc")));
        waiters.sample(true);
        std::thread::sleep(Duration::from_millis(100));
        put(root.path(), &[(7, 7, "server", 1, 0, 0, 100, 90)]);
        assert_eq!(waiters.sample(true)[0].others_ns, 40 * MS);
    }
}
