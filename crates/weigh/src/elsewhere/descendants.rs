//! All that a command started, whatever group or session it is in: known by its parents, and where these have
//! ended, by a mark in its environment.

use rustix::process::{Pid, Signal, kill_process};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// In the environment of all that a command starts.
pub const MARK: &str = "TARE_SOURCE";
/// Looks at what is left, and how long it has between them.
const LOOKS: usize = 50;
const BETWEEN: Duration = Duration::from_millis(10);

/// The processes below one, as they are found.
pub struct Descendants {
    /// With the time that each started at: its number may be given to another.
    found: BTreeMap<u32, u64>,
    root: (u32, Option<u64>),
    mark: String,
}

impl Descendants {
    /// A mark that no other command has.
    pub fn new_mark() -> String {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        format!("{}-{number}-{}", std::process::id(), clock::monotonic_ns())
    }

    /// Of a child that has just begun.
    pub fn of(child: u32, mark: String) -> Self {
        let started = read(child).map(|child| child.started);
        Self { found: BTreeMap::new(), root: (child, started), mark }
    }

    /// Looks for them, and gives a signal to all that are known and alive. Returns how many there were.
    pub fn signal(&mut self, signal: Signal) -> usize {
        let all = processes();
        let is_same = |process: &u32, started| all.get(process).is_some_and(|one| one.started == started);
        self.found.retain(|process, started| is_same(process, *started));
        let (root, started) = self.root;
        let root_is_there = started.is_some_and(|started| is_same(&root, started));
        let known = self.found.keys().copied();
        let mut above: BTreeSet<u32> = known.chain(root_is_there.then_some(root)).collect();
        let variable = format!("{MARK}={}", self.mark);
        above.extend(all.keys().filter(|process| has_variable(**process, &variable)));
        // Until nobody is added: parents may have larger numbers than their children.
        loop {
            let before = above.len();
            let below =
                all.iter().filter(|(_, one)| above.contains(&one.parent)).map(|(process, _)| *process);
            let below: Vec<u32> = below.collect();
            above.extend(below);
            if above.len() == before {
                break;
            }
        }
        above.remove(&root);
        self.found = above.iter().filter_map(|process| Some((*process, all.get(process)?.started))).collect();
        let pids = self.found.keys().filter_map(|process| Pid::from_raw(i32::try_from(*process).ok()?));
        for pid in pids {
            // It may have ended since.
            let _ = kill_process(pid, signal);
        }
        self.found.len()
    }

    /// Ends all of them; those that start others meanwhile as well.
    pub fn end(&mut self) {
        for _ in 0..LOOKS {
            if self.signal(Signal::KILL) == 0 {
                return;
            }
            std::thread::sleep(BETWEEN);
        }
    }
}

struct Process {
    parent: u32,
    started: u64,
}

/// Those that have not ended.
fn processes() -> BTreeMap<u32, Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter_map(|number: u32| Some((number, read(number)?))).collect()
}

fn read(number: u32) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
    // A name may have spaces and brackets.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let started = fields.nth(17)?.parse().ok()?;
    (!matches!(state, "Z" | "X")).then_some(Process { parent, started })
}

fn has_variable(process: u32, variable: &str) -> bool {
    let all = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
    all.split(|byte| *byte == 0).any(|one| one == variable.as_bytes())
}
