//! What a thread and a CPU did: time in user and kernel mode, time spent waiting for the CPU, and where a CPU's
//! time went.

/// What a thread has used since it began. Nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub user_ns: u64,
    pub system_ns: u64,
    /// Ready to run, but another ran (`/proc/thread-self/schedstat`); 0 where the kernel does not tell.
    pub waited_ns: u64,
    /// Times that another took its place.
    pub involuntary: u64,
}

impl Usage {
    /// Of the thread that calls.
    pub fn now() -> Self {
        // SAFETY: `rusage` is plain integers; all zeroes is a value of it.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: the structure is this thread's own and outlives the call.
        unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
        let nanos = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
        Self {
            user_ns: nanos(usage.ru_utime),
            system_ns: nanos(usage.ru_stime),
            waited_ns: waited(&std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default()),
            involuntary: usage.ru_nivcsw as u64,
        }
    }

    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            user_ns: self.user_ns.saturating_sub(earlier.user_ns),
            system_ns: self.system_ns.saturating_sub(earlier.system_ns),
            waited_ns: self.waited_ns.saturating_sub(earlier.waited_ns),
            involuntary: self.involuntary.saturating_sub(earlier.involuntary),
        }
    }
}

/// The second figure: nanoseconds in the run queue.
fn waited(schedstat: &str) -> u64 {
    schedstat.split_ascii_whitespace().nth(1).and_then(|word| word.parse().ok()).unwrap_or(0)
}

/// Where one CPU's time went since boot, in ticks (`/proc/stat`), and frames that its backlog had no room for
/// (`/proc/net/softnet_stat`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cpu {
    user: u64,
    system: u64,
    idle: u64,
    irq: u64,
    softirq: u64,
    steal: u64,
    backlog_drops: u64,
}

/// Shares of a CPU's time over a stretch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shares {
    pub user: f64,
    pub system: f64,
    pub softirq: f64,
    pub idle: f64,
    pub backlog_drops: u64,
}

impl Cpu {
    pub fn now(cpu: u32) -> Self {
        let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
        let softnet = std::fs::read_to_string("/proc/net/softnet_stat").unwrap_or_default();
        Self { backlog_drops: backlog_drops(&softnet, cpu), ..Self::read(&stat, cpu) }
    }

    fn read(stat: &str, cpu: u32) -> Self {
        let name = format!("cpu{cpu}");
        let line = stat.lines().find(|line| line.split_ascii_whitespace().next() == Some(&name));
        let words: Vec<u64> = line
            .map(|line| line.split_ascii_whitespace().skip(1).map(|word| word.parse().unwrap_or(0)).collect())
            .unwrap_or_default();
        let at = |index: usize| words.get(index).copied().unwrap_or(0);
        Self {
            user: at(0) + at(1),
            system: at(2),
            idle: at(3) + at(4),
            irq: at(5),
            softirq: at(6),
            steal: at(7),
            backlog_drops: 0,
        }
    }

    pub fn shares_since(&self, earlier: &Self) -> Shares {
        let of = |now: u64, then: u64| now.saturating_sub(then) as f64;
        let parts = [
            of(self.user, earlier.user),
            of(self.system, earlier.system),
            of(self.idle, earlier.idle),
            of(self.irq, earlier.irq),
            of(self.softirq, earlier.softirq),
            of(self.steal, earlier.steal),
        ];
        let whole: f64 = parts.iter().sum::<f64>().max(1.0);
        Shares {
            user: parts[0] / whole,
            system: parts[1] / whole,
            idle: parts[2] / whole,
            softirq: (parts[3] + parts[4]) / whole,
            backlog_drops: self.backlog_drops.saturating_sub(earlier.backlog_drops),
        }
    }
}

/// The second column of the CPU's line; its number is the 13th, in newer kernels.
fn backlog_drops(softnet: &str, cpu: u32) -> u64 {
    let hex = |word: Option<&&str>| word.and_then(|word| u64::from_str_radix(word, 16).ok());
    let lines = softnet.lines().map(|line| line.split_ascii_whitespace().collect::<Vec<_>>());
    let mut found = lines
        .enumerate()
        .filter(|(index, words)| hex(words.get(12)).unwrap_or(*index as u64) == u64::from(cpu));
    found.next().and_then(|(_, words)| hex(words.get(1))).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_a_cpu_are_of_that_cpu() {
        let before = Cpu::read("cpu  9 9 9 9 9 9 9 9\ncpu0 0 0 0 0 0 0 0 0\ncpu1 10 0 10 100 0 0 10 0\n", 1);
        let after = Cpu::read("cpu0 7 7 7 7 7 7 7 7\ncpu1 35 5 30 110 10 0 40 0\n", 1);
        // 30 user, 20 system, 20 idle, 30 softirq of 100 ticks.
        let shares = after.shares_since(&before);
        assert_eq!((shares.user, shares.system, shares.idle, shares.softirq), (0.3, 0.2, 0.2, 0.3));
    }

    #[test]
    fn what_a_backlog_dropped_is_of_that_cpu() {
        let line = |dropped: &str, cpu: &str| format!("0000000a {dropped} 0 0 0 0 0 0 0 0 0 0 {cpu} 0 0\n");
        let text = line("00000001", "00000000") + &line("0000001f", "00000002");
        assert_eq!((backlog_drops(&text, 0), backlog_drops(&text, 2), backlog_drops(&text, 1)), (1, 31, 0));
    }

    #[test]
    fn a_thread_that_works_uses_time() {
        let before = Usage::now();
        let begun = std::time::Instant::now();
        let mut sum = 0u64;
        while begun.elapsed().as_millis() < 60 {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        let used = Usage::now().since(&before);
        assert!(used.user_ns + used.system_ns > 0, "{used:?}");
        assert_eq!(waited("155862 73700 2"), 73_700);
    }
}
