//! Threads of this machine that wait for a CPU while the generator's thread has it.
//!
//! ```text
//!   sample ── "look" ──► tare-look (niceness 10) ── /proc/PID/task/TID/schedstat ─┐
//!      ▲                     each second: all threads; every 5 ms: the target's   │
//!      └───────────────────── by CPU: target's, others' ◄─────────────────────────┘
//! ```
//!
//! A thread that spins, at a high priority above all, may never wait for its CPU, and yet keep a target on the
//! same machine from it: the responses are late, and nothing of the generator's own shows it. So every look
//! reads how long each thread of the machine was ready but did not run, and adds it to the CPU that it ran on
//! last. It belongs to the target if its process has a socket that connections end at, if the target is
//! connected to it or has started it, or if it is the kernel's for the network. In a container, and where
//! others' processes are hidden, not all can be seen, which is told.
//!
//! Sums over a second do not tell two thousand waits of 25 us, which do no harm (to be woken on another CPU
//! takes longer), from a dozen of 4 ms, which are the slowest responses of the run. So a target's threads are
//! read every few milliseconds, and what they waited is brief or it is not.

mod helpers;
mod look;
mod tables;
mod targets;
#[cfg(test)]
mod tests;
mod unseen;
pub(crate) mod waits;

use look::Look;
use os::peers::Peers;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;
use waits::Waits;

use clock::Stopwatch;

/// How long a sample waits for a look. What comes later is in the next.
const PATIENCE: Duration = Duration::from_millis(250);
/// There is none after the last. On a crowded machine, where it matters most, the thread that looks waits
/// itself.
const LAST_PATIENCE: Duration = Duration::from_secs(5);
/// The niceness of the thread that looks: it must not take what it measures, and at 19 it would itself not get
/// a CPU that a compiler fills.
const NICE: i8 = 10;

/// What threads that are not the generator's did on one CPU between two looks, each sum over all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Waited {
    pub core: u32,
    /// Time that the target's threads waited, but for brief waits, which are apart.
    pub target_ns: u64,
    pub target_brief_ns: u64,
    /// The part of it for which other threads of the target's may have had the CPU.
    pub target_self_ns: u64,
    /// Each wait of theirs that was not brief.
    pub waits: Waits,
    /// Time that the same threads ran.
    pub target_ran_ns: u64,
    /// Time that this program ran, engine threads included.
    pub own_ran_ns: u64,
    /// Time that others waited.
    pub others_ns: u64,
    /// The part of it of those that may work for the target, and time that they ran.
    pub unknown_ns: u64,
    pub unknown_ran_ns: u64,
    /// The name of the thread of each that waited the longest, and how long.
    pub target_longest: (u64, String),
    pub others_longest: (u64, String),
}

impl Waited {
    fn on(core: u32) -> Self {
        Self { core, ..Self::default() }
    }

    pub fn add(&mut self, more: Self) {
        self.target_ns += more.target_ns;
        self.target_brief_ns += more.target_brief_ns;
        self.target_self_ns += more.target_self_ns;
        self.waits.add(&more.waits);
        self.target_ran_ns += more.target_ran_ns;
        self.own_ran_ns += more.own_ran_ns;
        self.others_ns += more.others_ns;
        self.unknown_ns += more.unknown_ns;
        self.unknown_ran_ns += more.unknown_ran_ns;
        self.target_longest = std::mem::take(&mut self.target_longest).max(more.target_longest);
        self.others_longest = std::mem::take(&mut self.others_longest).max(more.others_longest);
    }
}

/// What looks found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LookFindings {
    /// By CPU.
    pub waited: Vec<Waited>,
    pub sight: Sight,
    /// The target is on this host, and no process that may be looked into: all others count as it.
    pub is_guess: bool,
    /// Time that the target's threads ran which came and went between two looks; how long they waited, nobody
    /// knows.
    pub unseen_ns: u64,
    /// The CPUs that they could use; `None` for all.
    pub unseen_cpus: Option<BTreeSet<u32>>,
}

/// Whether all can be seen that may wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Sight {
    /// All of the machine, or the target is on this host and its processes are seen.
    #[default]
    All,
    /// This is a container, or others' processes are hidden. Connections go to other hosts, as it seems from
    /// here.
    Part,
    /// The target is on this host, but not among the processes that can be seen.
    NotTheTarget,
    /// The thread that looks did not get a CPU.
    Nothing,
    /// The target is seen, but its children come and go, and what they ran is in no total: it ignores SIGCHLD.
    NotItsChildren,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Waiters {
    /// Asks for a look; for one that is the last, whatever it costs.
    asks: Option<Sender<bool>>,
    answers: Receiver<LookFindings>,
    /// Looks that were asked for and have not come.
    awaited: usize,
    sight: Sight,
}

impl Waiters {
    /// Starts the thread that looks, with `root` in the place of `/`. `peers` is where connections go.
    pub fn new(root: &Path, peers: &Peers) -> Self {
        let (asks, asked) = channel();
        let (answer, answers) = channel();
        let mut look = Look::new(root, peers);
        let looks = move || {
            let _ = os::scheduling::ordinary(0);
            // What waits before the first look is not found. It is there before the load is.
            look.look();
            let _ = os::scheduling::set_nice(NICE);
            loop {
                match asked.recv_timeout(look.rest()) {
                    Ok(is_last) => {
                        if is_last || look.is_rested() {
                            look.look();
                        }
                        if answer.send(look.take()).is_err() {
                            return;
                        }
                    }
                    Err(RecvTimeoutError::Timeout) => look.follow(),
                    // Nobody asks any more.
                    Err(RecvTimeoutError::Disconnected) => return,
                }
            }
        };
        // Without the thread nothing is seen, as where there is no /proc.
        let started = std::thread::Builder::new().name("tare-look".to_owned()).spawn(looks);
        Self { asks: started.ok().map(|_| asks), answers, awaited: 0, sight: Sight::default() }
    }

    /// What was gained since the last sample.
    pub fn sample(&mut self, is_last: bool) -> LookFindings {
        let mut found = LookFindings { sight: self.sight, ..LookFindings::default() };
        let Some(asks) = &self.asks else { return found };
        self.awaited += usize::from(asks.send(is_last).is_ok());
        let begun = Stopwatch::start();
        while self.awaited > 0 {
            let patience = if is_last { LAST_PATIENCE } else { PATIENCE };
            let Some(left) = patience.checked_sub(begun.elapsed()) else { break };
            let Ok(more) = self.answers.recv_timeout(left) else { break };
            self.awaited -= 1;
            more.waited.into_iter().for_each(|waited| at(&mut found.waited, waited.core).add(waited));
            found.sight = more.sight;
            found.is_guess = more.is_guess;
            found.unseen_ns += more.unseen_ns;
            found.unseen_cpus = more.unseen_cpus;
        }
        // Nothing was found because nobody looked.
        if is_last && self.awaited > 0 {
            found.sight = Sight::Nothing;
        }
        self.sight = found.sight;
        found
    }

    /// Whether a look was asked for that has not come: what it finds is of the time before.
    pub fn is_awaited(&self) -> bool {
        self.awaited > 0
    }
}

fn at(found: &mut Vec<Waited>, core: u32) -> &mut Waited {
    let index = found.iter().position(|waited| waited.core == core).unwrap_or_else(|| {
        found.push(Waited::on(core));
        found.len() - 1
    });
    &mut found[index]
}
