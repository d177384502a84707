//! Threads of this machine that wait for a CPU while the generator's thread has it.
//!
//! ```text
//!   sample ── "look" ──► tare-look (niceness 19) ── /proc/PID/task/TID/schedstat ─┐
//!      ▲                     each second: all threads; every 5 ms: the target's   │
//!      └───────────────────── by CPU: target's, others' ◄─────────────────────────┘
//! ```
//!
//! A thread that spins, at a high priority above all, may never wait for its CPU, and yet keep a target on the
//! same machine from it: the responses are late, and nothing of the generator's own shows it. So every look
//! reads how long each thread of the machine was ready but did not run, and adds it to the CPU that it ran on
//! last. It belongs to the target if its process has a socket on one of the target's ports, or if it is the
//! kernel's for the network. In a container, and where others' processes are hidden, not all can be seen, which
//! is told.
//!
//! Sums over a second do not tell two thousand waits of 25 us, which do no harm (to be woken on another CPU
//! takes longer), from a dozen of 4 ms, which are the slowest responses of the run. So a target's threads are
//! read every few milliseconds, and what they waited is brief or it is not.

mod look;
#[cfg(test)]
mod tests;

use look::Look;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use clock::Stopwatch;

/// How long a sample waits for a look. What comes later is in the next.
const PATIENCE: Duration = Duration::from_millis(250);
/// The niceness of the thread that looks: it must not take what it measures.
const NICE: i8 = 19;

/// What threads that are not the generator's did on one CPU between two looks, each sum over all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Waited {
    pub core: u32,
    /// Time that the target's threads waited, but for brief waits, which are apart.
    pub target_ns: u64,
    pub target_brief_ns: u64,
    /// Time that the same threads ran.
    pub target_ran_ns: u64,
    /// Time that others waited.
    pub others_ns: u64,
    /// The name of the thread of each that waited the longest, and how long.
    pub target_longest: (u64, String),
    pub others_longest: (u64, String),
}

impl Waited {
    fn on(core: u32) -> Self {
        Self { core, ..Self::default() }
    }

    fn add(&mut self, more: Self) {
        self.target_ns += more.target_ns;
        self.target_brief_ns += more.target_brief_ns;
        self.target_ran_ns += more.target_ran_ns;
        self.others_ns += more.others_ns;
        self.target_longest = std::mem::take(&mut self.target_longest).max(more.target_longest);
        self.others_longest = std::mem::take(&mut self.others_longest).max(more.others_longest);
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
        let is_blind = !look::sees_all(&root.join("proc"));
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
        found.push(Waited::on(core));
        found.len() - 1
    });
    &mut found[index]
}
