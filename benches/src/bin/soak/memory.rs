//! What the process has resident of its own, over time, and whether that grows.

use std::time::{Duration, Instant};

const EACH: Duration = Duration::from_secs(1);
/// By then histograms have come to their size. Charts and rows of the result still grow to theirs within the
/// run: 784 KiB of 802 s, with the live page.
const SETTLED_S: f64 = 400.0;
/// The shortest run of which growth can be told.
pub const SHORTEST_S: f64 = 2.0 * SETTLED_S;

/// One look: seconds since the beginning, and KiB resident.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    pub at_s: f64,
    pub kib: f64,
}

#[derive(Clone, Debug)]
pub struct Memory {
    pid: u32,
    begun: Instant,
    next: Duration,
    looks: Vec<Look>,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// Medians of a tenth of the looks after the warm-up, and at the end.
    pub before_kib: f64,
    pub after_kib: f64,
    /// Of a straight line through all looks after the warm-up.
    pub slope_kib_per_hour: f64,
}

impl Growth {
    pub fn kib(&self) -> f64 {
        self.after_kib - self.before_kib
    }
}

impl Memory {
    pub fn of(pid: u32) -> Self {
        Self { pid, begun: Instant::now(), next: Duration::ZERO, looks: Vec::new() }
    }

    /// Looks, each second.
    pub fn look(&mut self) {
        let now = self.begun.elapsed();
        if now < self.next {
            return;
        }
        self.next = now + EACH;
        if let Some(kib) = resident_kib(self.pid) {
            self.looks.push(Look { at_s: now.as_secs_f64(), kib });
        }
    }

    /// What was seen while the load went on, which took so long; `None` if that is too short to tell.
    pub fn growth(&self, seconds: f64) -> Option<Growth> {
        let warm_up = SETTLED_S.max(seconds / 10.0);
        let is_in = |look: &&Look| look.at_s >= warm_up && look.at_s < seconds;
        let warm: Vec<Look> = self.looks.iter().filter(is_in).copied().collect();
        growth(&warm).filter(|_| seconds >= SHORTEST_S)
    }
}

fn growth(warm: &[Look]) -> Option<Growth> {
    let tenth = warm.len() / 10;
    if tenth == 0 {
        return None;
    }
    let median = |looks: &[Look]| {
        let mut all: Vec<f64> = looks.iter().map(|look| look.kib).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    Some(Growth {
        before_kib: median(&warm[..tenth]),
        after_kib: median(&warm[warm.len() - tenth..]),
        slope_kib_per_hour: slope(warm) * 3_600.0,
    })
}

/// Least squares: Σ(t − t̄)(m − m̄) / Σ(t − t̄)².
fn slope(looks: &[Look]) -> f64 {
    let count = looks.len() as f64;
    let mean = |of: fn(&Look) -> f64| looks.iter().map(of).sum::<f64>() / count;
    let (at, kib) = (mean(|look| look.at_s), mean(|look| look.kib));
    let both = looks.iter().map(|look| (look.at_s - at) * (look.kib - kib)).sum::<f64>();
    let own = looks.iter().map(|look| (look.at_s - at).powi(2)).sum::<f64>();
    if own > 0.0 { both / own } else { 0.0 }
}

/// Pages of files are not counted: those of the program itself come when they are first needed, as when a sink
/// goes away, and are the kernel's to take back.
fn resident_kib(pid: u32) -> Option<f64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let kib = |name: &str| -> Option<f64> {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse().ok()
    };
    Some(kib("RssAnon:")? + kib("RssShmem:")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(seconds: u32, kib: impl Fn(f64) -> f64) -> Memory {
        let looks = (0..seconds).map(|n| Look { at_s: f64::from(n), kib: kib(f64::from(n)) }).collect();
        Memory { looks, ..Memory::of(0) }
    }

    #[test]
    fn growth_after_the_warm_up_is_seen_and_that_before_is_not() {
        // 8 MiB more while it warms up, then nothing.
        let flat = memory(1_000, |at| if at < 400.0 { at * 20.0 } else { 9_000.0 });
        let flat = flat.growth(1_000.0).expect("long enough");
        assert_eq!((flat.kib(), flat.slope_kib_per_hour), (0.0, 0.0));
        // 10 KiB/s: medians of 400 to 459 s and of 940 to 999 s are 540 s apart.
        let leak = memory(1_000, |at| 5_000.0 + 10.0 * at).growth(1_000.0).expect("long enough");
        assert_eq!(leak.kib(), 5_400.0);
        assert!((leak.slope_kib_per_hour - 36_000.0).abs() < 1e-6, "{leak:?}");
        // One step half-way; what comes behind the load is not of it.
        let step = memory(2_000, |at| if at < 500.0 { 5_000.0 } else { 7_000.0 });
        assert_eq!(step.growth(1_000.0).expect("long enough").kib(), 2_000.0);
        assert_eq!(
            memory(2_000, |at| if at < 1_000.0 { 5.0 } else { 7.0 })
                .growth(1_000.0)
                .expect("long enough")
                .kib(),
            0.0
        );
        // A tenth of a long run is its warm-up: 600 s.
        let late = memory(6_000, |at| if at < 590.0 { 5_000.0 } else { 7_000.0 });
        assert_eq!(late.growth(6_000.0).expect("long enough").kib(), 0.0);
        assert_eq!(flat_for(799), None);
    }

    #[test]
    fn memory_of_a_file_is_nobodys_own() {
        let before = resident_kib(std::process::id()).expect("this process");
        let own = vec![1_u8; 8 << 20];
        let after = resident_kib(std::process::id()).expect("this process");
        let all = std::fs::read_to_string("/proc/self/status").expect("a process has one");
        let all = all.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its size");
        let all: f64 = all.trim().trim_end_matches(" kB").parse().expect("a number");
        assert!((7_000.0..12_000.0).contains(&(after - before)) && after < all, "{before} {after} {all}");
        drop(std::hint::black_box(own));
    }

    fn flat_for(seconds: u32) -> Option<Growth> {
        memory(seconds, |_| 1.0).growth(f64::from(seconds))
    }
}
