//! What /proc tells: a process's CPU and memory, and how busy the cores were with anything else.

use std::fs;

/// CPU nanoseconds of all threads of a process that lives, from schedstat. `None` when it is gone.
pub fn cpu_ns(pid: u32) -> Option<u64> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    // A thread that has just ended is not in the sum.
    Some(
        tasks
            .flatten()
            .filter_map(|t| first_number(&fs::read_to_string(t.path().join("schedstat")).ok()?))
            .sum(),
    )
}

/// A "key: n kB" line of /proc/PID/status, in KiB.
pub fn status_kib(pid: u32, key: &str) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    first_number(text.lines().find_map(|l| l.strip_prefix(key))?)
}

/// The direct children of a process's main thread.
pub fn children(pid: u32) -> Vec<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_whitespace().filter_map(|p| p.parse().ok()).collect()
}

/// Seconds that all cores together have spent so far, in steps of 10 ms.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cores {
    /// Doing anything but idling or waiting for a disk, steal left out.
    pub busy_s: f64,
    /// Taken by the hypervisor for others.
    pub steal_s: f64,
}

impl Cores {
    pub fn now() -> Self {
        fs::read_to_string("/proc/stat").map(|t| Self::parse(&t)).unwrap_or_default()
    }

    /// What was spent since `earlier`.
    pub fn since(self, earlier: Self) -> Self {
        Self { busy_s: self.busy_s - earlier.busy_s, steal_s: self.steal_s - earlier.steal_s }
    }

    /// proc(5): `cpu user nice system idle iowait irq softirq steal …` in ticks of 1/100 s (USER_HZ).
    fn parse(text: &str) -> Self {
        let Some(line) = text.lines().find(|l| l.starts_with("cpu ")) else { return Self::default() };
        let ticks: Vec<u64> = line.split_whitespace().skip(1).filter_map(|t| t.parse().ok()).collect();
        let at = |i: usize| ticks.get(i).copied().unwrap_or(0) as f64 / 100.0;
        Self { busy_s: at(0) + at(1) + at(2) + at(5) + at(6), steal_s: at(7) }
    }
}

fn first_number(text: &str) -> Option<u64> {
    text.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_leave_idle_iowait_and_steal_out_of_busy() {
        // user 100 + nice 20 + system 30 + irq 4 + softirq 6 = 160 ticks = 1.6 s; steal 50 ticks = 0.5 s
        let text = "cpu  100 20 30 9999 777 4 6 50 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n";
        assert_eq!(Cores::parse(text), Cores { busy_s: 1.6, steal_s: 0.5 });
    }

    #[test]
    fn own_process_has_cpu_and_memory() {
        let pid = std::process::id();
        assert!(cpu_ns(pid).expect("schedstat is there") > 0);
        assert!(status_kib(pid, "VmHWM:").expect("VmHWM is there") > 100);
        assert_eq!(status_kib(pid, "NoSuchKey:"), None);
    }
}
