//! Who else ran on a CPU: found by the CPU time of all processes before and after.

use std::collections::HashMap;
use std::fs;

/// Processes that are looked at, at most.
const MOST: usize = 65_536;
/// Threads of the kernel that do the work of the frames themselves.
const KERNELS: [&str; 2] = ["ksoftirqd/", "napi/"];

/// CPU time of every process, in ticks, and where it ran last.
#[derive(Debug, Default)]
pub struct Everyone(HashMap<u32, Process>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Process {
    name: String,
    ticks: u64,
    cpu: u32,
}

/// One that ran beside us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    pub pid: u32,
    pub name: String,
    pub ticks: u64,
}

impl Everyone {
    pub fn now() -> Self {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten().take(MOST);
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        Self(pids.filter_map(|pid| Some((pid, process(pid)?))).collect())
    }

    /// The busiest other process since then that was last seen on one of these CPUs.
    pub fn busiest_since(&self, earlier: &Self, cpus: &[u32]) -> Option<Neighbour> {
        let own = std::process::id();
        let used = self.0.iter().filter(|(pid, process)| {
            **pid != own
                && cpus.contains(&process.cpu)
                && !KERNELS.iter().any(|name| process.name.starts_with(name))
        });
        let used = used.map(|(pid, process)| Neighbour {
            pid: *pid,
            name: process.name.clone(),
            ticks: process.ticks.saturating_sub(earlier.0.get(pid).map_or(0, |before| before.ticks)),
        });
        used.filter(|neighbour| neighbour.ticks > 0).max_by_key(|neighbour| neighbour.ticks)
    }
}

fn process(pid: u32) -> Option<Process> {
    parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Of `/proc/PID/stat` (proc_pid_stat(5)): the name in brackets, utime and stime (14, 15), processor (39).
fn parse(stat: &str) -> Option<Process> {
    let (head, rest) = stat.rsplit_once(')')?;
    let (_, name) = head.split_once('(')?;
    let words: Vec<&str> = rest.split_ascii_whitespace().collect();
    // The first word here is field 3.
    let number = |field: usize| words.get(field - 3)?.parse::<u64>().ok();
    Some(Process { name: name.to_owned(), ticks: number(14)? + number(15)?, cpu: number(39)? as u32 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_hold_anything() {
        let fields: Vec<String> = (4..=52).map(|field| field.to_string()).collect();
        let stat = format!("77 (a) b (c) S {}", fields.join(" "));
        assert_eq!(parse(&stat), Some(Process { name: "a) b (c".into(), ticks: 14 + 15, cpu: 39 }));
        assert_eq!(parse("no stat"), None);
    }

    #[test]
    fn the_busiest_on_a_cpu_is_named() {
        let one = |name: &str, ticks, cpu| Process { name: name.into(), ticks, cpu };
        let before = Everyone([(1, one("a", 5, 0)), (2, one("b", 100, 0))].into());
        let after = Everyone(
            [(1, one("a", 50, 0)), (2, one("b", 110, 0)), (3, one("c", 40, 0)), (4, one("d", 99, 1))].into(),
        );
        let found = after.busiest_since(&before, &[0]).unwrap();
        assert_eq!((found.pid, found.name.as_str(), found.ticks), (1, "a", 45));
        assert_eq!(after.busiest_since(&before, &[7]), None);
    }
}
