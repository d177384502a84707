//! Who else ran on a CPU: found by the CPU time of all threads before and after.

use std::collections::HashMap;
use std::fs;

/// Threads that are looked at, at most.
const MOST: usize = 65_536;
/// Threads of the kernel that do the work of the frames themselves.
const KERNELS: [&str; 2] = ["ksoftirqd/", "napi/"];

/// CPU time of every thread, in ticks, and where it ran last; by its number.
#[derive(Debug, Default)]
pub struct Everyone(HashMap<u32, Thread>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Thread {
    /// The process.
    pid: u32,
    name: String,
    ticks: u64,
    cpu: u32,
}

/// A process that ran beside us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    pub pid: u32,
    pub name: String,
    pub ticks: u64,
}

impl Everyone {
    pub fn now() -> Self {
        let of = |pid: u32| numbers(&format!("/proc/{pid}/task")).map(move |thread| (pid, thread));
        let all = numbers("/proc").flat_map(of).take(MOST);
        Self(all.filter_map(|(pid, thread)| Some((thread, read(pid, thread)?))).collect())
    }

    /// The other process whose threads ran most on these CPUs since then. A thread that was seen on another one
    /// before or after is none of them: nobody tells how much of its time was where.
    pub fn busiest_since(&self, earlier: &Self, cpus: &[u32]) -> Option<Neighbour> {
        let own = std::process::id();
        let mut ticks: HashMap<u32, u64> = HashMap::new();
        for (number, thread) in &self.0 {
            let before = earlier.0.get(number).filter(|before| before.pid == thread.pid);
            let was_there = before.is_none_or(|before| cpus.contains(&before.cpu));
            if thread.pid != own && was_there && cpus.contains(&thread.cpu) {
                *ticks.entry(thread.pid).or_default() +=
                    thread.ticks.saturating_sub(before.map_or(0, |before| before.ticks));
            }
        }
        let name = |pid| self.0.get(&pid).map_or(String::new(), |leader| leader.name.clone());
        let used = ticks.into_iter().map(|(pid, ticks)| Neighbour { pid, name: name(pid), ticks });
        let used = used.filter(|one| !KERNELS.iter().any(|kernel| one.name.starts_with(kernel)));
        used.filter(|neighbour| neighbour.ticks > 0).max_by_key(|neighbour| neighbour.ticks)
    }
}

/// Names in a folder that are numbers.
fn numbers(folder: &str) -> impl Iterator<Item = u32> + use<> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn read(pid: u32, thread: u32) -> Option<Thread> {
    parse(pid, &fs::read_to_string(format!("/proc/{pid}/task/{thread}/stat")).ok()?)
}

/// Of `/proc/PID/task/THREAD/stat` (proc_pid_stat(5)): the name in brackets, utime and stime (14, 15),
/// processor (39).
fn parse(pid: u32, stat: &str) -> Option<Thread> {
    let (head, rest) = stat.rsplit_once(')')?;
    let (_, name) = head.split_once('(')?;
    let words: Vec<&str> = rest.split_ascii_whitespace().collect();
    // The first word here is field 3.
    let number = |field: usize| words.get(field - 3)?.parse::<u64>().ok();
    Some(Thread { pid, name: name.to_owned(), ticks: number(14)? + number(15)?, cpu: number(39)? as u32 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_hold_anything() {
        let fields: Vec<String> = (4..=52).map(|field| field.to_string()).collect();
        let stat = format!("77 (a) b (c) S {}", fields.join(" "));
        assert_eq!(parse(7, &stat), Some(Thread { pid: 7, name: "a) b (c".into(), ticks: 14 + 15, cpu: 39 }));
        assert_eq!(parse(7, "no stat"), None);
    }

    fn one(pid: u32, name: &str, ticks: u64, cpu: u32) -> Thread {
        Thread { pid, name: name.into(), ticks, cpu }
    }

    #[test]
    fn the_busiest_on_a_cpu_is_named() {
        let before = Everyone([(1, one(1, "a", 5, 0)), (2, one(2, "b", 100, 0))].into());
        let all = [
            (1, one(1, "a", 50, 0)),
            (2, one(2, "b", 110, 0)),
            (3, one(3, "c", 40, 0)),
            (4, one(4, "d", 99, 1)),
        ];
        let after = Everyone(all.into());
        let found = after.busiest_since(&before, &[0]).unwrap();
        assert_eq!((found.pid, found.name.as_str(), found.ticks), (1, "a", 45));
        assert_eq!(after.busiest_since(&before, &[7]), None);
    }

    /// 20: its leader sleeps on CPU 0, its threads work on CPU 1. 30: the other way round.
    #[test]
    fn threads_are_told_apart() {
        let at = |busy: u64| {
            let all = [
                (20, one(20, "innocent", 3, 0)),
                (21, one(20, "worker", 9 * busy, 1)),
                (30, one(30, "noisy", 3, 1)),
                (31, one(30, "worker", busy, 0)),
                (32, one(30, "worker", busy, 0)),
            ];
            Everyone(all.into())
        };
        let found = at(100).busiest_since(&at(0), &[0]).unwrap();
        assert_eq!((found.pid, found.name.as_str(), found.ticks), (30, "noisy", 200));
        // One that came from elsewhere did most of its work there.
        let (before, after) = ([(40, one(40, "mover", 0, 1))], [(40, one(40, "mover", 500, 0))]);
        assert_eq!(Everyone(after.into()).busiest_since(&Everyone(before.into()), &[0]), None);
    }
}
