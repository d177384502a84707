//! What is measured here rather than read: about a second in all, at the caller's own priority.
//!
//! ```text
//!   clock   ── 20 ms calibration ─────────────── what a reading costs, and at the end, how far it is from the
//!              kernel's clock
//!   sleeps  ── 100 × 200 µs, slack 50 µs ── 100 × 200 µs, slack 1 ns: how late a sleeper wakes
//!   pauses  ── 300 ms of spinning: how long and how often this thread was not running
//!   calls   ── 20 000 system calls
//! ```

use clock::{Clock, HostClock};
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;
use std::time::Duration;
use units::{Instant, Picos};

const SLEEPS: usize = 100;
const NAP: Picos = Picos::from_micros(200);
const SPIN: Picos = Picos::from_millis(300);
/// A hole in the readings of a spinning thread that is a pause: readings are 20 ns apart.
const PAUSE: Picos = Picos::from_micros(5);
const CALLS: u64 = 20_000;
/// The kernel's default (prctl(2), PR_SET_TIMERSLACK).
const DEFAULT_SLACK_NS: u64 = 50_000;

/// What was measured; `None` where it could not be, or was not tried.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Measured {
    pub clock: Option<ClockFacts>,
    pub sleeps: Option<Sleeps>,
    pub pauses: Option<Pauses>,
    pub shares: Option<Shares>,
    pub system_call_ns: Option<f64>,
}

/// The clock that Tare would use.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ClockFacts {
    /// `tsc` or `clock_monotonic`.
    pub source: String,
    /// Why the better one is not used.
    pub refused: Option<String>,
    pub precision_ns: f64,
    pub overhead_ns: f64,
    /// Against CLOCK_MONOTONIC, over the time that the other measurements took.
    pub error_ppm: f64,
    /// A reading of CLOCK_MONOTONIC, which the kernel's own clock source answers.
    pub kernel_overhead_ns: f64,
}

/// How late a thread wakes that slept for 200 µs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Sleeps {
    /// With the slack that processes are given.
    pub default_p50_ns: u64,
    pub default_p99_ns: u64,
    /// With a slack of 1 ns, which Tare gives its engine threads.
    pub tight_p50_ns: u64,
    pub tight_p99_ns: u64,
}

/// Times at which a spinning thread was not running.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Pauses {
    pub span_ns: u64,
    pub lost_ns: u64,
    pub count: u64,
    pub longest_ns: u64,
}

/// What all CPUs did meanwhile, as shares of their time (in ticks of 10 ms).
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Shares {
    pub span_ns: u64,
    /// Given to others by the hypervisor.
    pub steal: f64,
    /// Busy with what is not this process.
    pub others: f64,
    /// Interrupts of the local timer, a second and CPU.
    pub timer_interrupts_per_s: Option<f64>,
}

impl Measured {
    /// Measures, in about a second.
    pub fn take() -> Self {
        let clock = HostClock::calibrate();
        let before = Ticks::read(&clock);
        let sleeps = sleeps(&clock);
        let pauses = Some(pauses(&clock));
        let system_call_ns = Some(system_call(&clock));
        let shares = before.and_then(|before| Ticks::read(&clock)?.since(&before));
        Self { clock: Some(facts(&clock)), sleeps, pauses, shares, system_call_ns }
    }
}

fn facts(clock: &HostClock) -> ClockFacts {
    ClockFacts {
        source: clock.source().name().to_owned(),
        refused: clock.refused().map(|why| why.to_string()),
        precision_ns: clock.precision().as_picos() as f64 / 1e3,
        overhead_ns: clock.overhead().as_picos() as f64 / 1e3,
        error_ppm: clock.check().ppm(),
        kernel_overhead_ns: HostClock::monotonic().overhead().as_picos() as f64 / 1e3,
    }
}

/// In a thread of its own, whose slack ends with it.
fn sleeps(clock: &HostClock) -> Option<Sleeps> {
    let clock = *clock;
    let measure = move || {
        clock::set_timer_slack_ns(DEFAULT_SLACK_NS).ok()?;
        let default = lateness(&clock);
        clock::set_timer_slack_ns(1).ok()?;
        let tight = lateness(&clock);
        Some(Sleeps {
            default_p50_ns: default.0,
            default_p99_ns: default.1,
            tight_p50_ns: tight.0,
            tight_p99_ns: tight.1,
        })
    };
    std::thread::spawn(measure).join().ok().flatten()
}

/// p50 and p99 of how late a sleeper wakes, in nanoseconds.
fn lateness(clock: &HostClock) -> (u64, u64) {
    let mut late: Vec<u64> = (0..SLEEPS)
        .map(|_| {
            let due = clock.now() + NAP;
            clock.sleep_until(due);
            clock.now().since(due).as_nanos()
        })
        .collect();
    late.sort_unstable();
    // Nearest rank: the value at position ⌈q · n⌉, counted from 1.
    (late[SLEEPS.div_ceil(2) - 1], late[(SLEEPS * 99).div_ceil(100) - 1])
}

fn pauses(clock: &HostClock) -> Pauses {
    let begin = clock.now();
    let mut found = Pauses::default();
    let mut last = begin;
    while last.since(begin) < SPIN {
        let now = clock.now();
        found.add(now.since(last));
        last = now;
    }
    found.span_ns = last.since(begin).as_nanos();
    found
}

impl Pauses {
    fn add(&mut self, gap: Picos) {
        if gap >= PAUSE {
            self.count += 1;
            self.lost_ns += gap.as_nanos();
            self.longest_ns = self.longest_ns.max(gap.as_nanos());
        }
    }

    /// Share of the time that was lost.
    pub fn share(&self) -> f64 {
        if self.span_ns == 0 { 0.0 } else { self.lost_ns as f64 / self.span_ns as f64 }
    }
}

/// Nanoseconds for the cheapest system call (getppid, which no library caches): the least mean of ten.
fn system_call(clock: &HostClock) -> f64 {
    let mean = |_| {
        let begin = clock.now();
        for _ in 0..CALLS / 10 {
            std::hint::black_box(rustix::process::getppid());
        }
        clock.now().since(begin).as_picos() as f64 / 1e3 / (CALLS / 10) as f64
    };
    (0..10).map(mean).fold(f64::INFINITY, f64::min)
}

/// Counters of the machine at one time.
struct Ticks {
    at: Instant,
    busy: u64,
    steal: u64,
    cpus: u64,
    own: Duration,
    timers: Option<u64>,
}

const TICK_NS: u64 = 10_000_000;

impl Ticks {
    fn read(clock: &HostClock) -> Option<Self> {
        let text = std::fs::read_to_string("/proc/stat").ok()?;
        let (busy, steal) = ticks(text.lines().next()?)?;
        let cpus =
            text.lines().filter(|line| line.starts_with("cpu")).count().saturating_sub(1).max(1) as u64;
        let own = clock_gettime(ClockId::ProcessCPUTime);
        let own = Duration::new(own.tv_sec.unsigned_abs(), own.tv_nsec as u32);
        let timers =
            std::fs::read_to_string("/proc/interrupts").ok().and_then(|text| timer_interrupts(&text));
        Some(Self { at: clock.now(), busy, steal, cpus, own, timers })
    }

    fn since(&self, before: &Self) -> Option<Shares> {
        let span_ns = self.at.since(before.at).as_nanos();
        let all = (span_ns * self.cpus) as f64;
        let gained = |now: u64, then: u64| now.saturating_sub(then) as f64;
        let own = self.own.saturating_sub(before.own).as_nanos() as f64;
        let others = (gained(self.busy, before.busy) * TICK_NS as f64 - own).max(0.0);
        let timers = self.timers.zip(before.timers);
        (span_ns > 0).then(|| Shares {
            span_ns,
            steal: (gained(self.steal, before.steal) * TICK_NS as f64 / all).min(1.0),
            others: (others / all).min(1.0),
            timer_interrupts_per_s: timers.map(|(now, then)| gained(now, then) * 1e9 / all),
        })
    }
}

/// Busy (user, nice, system, irq, softirq) and stolen ticks of a line `cpu …` of `/proc/stat`.
pub(super) fn ticks(line: &str) -> Option<(u64, u64)> {
    let numbers: Vec<u64> =
        line.split_ascii_whitespace().skip(1).map_while(|word| word.parse().ok()).collect();
    let [user, nice, system, _idle, _iowait, irq, softirq, steal, ..] = numbers[..] else { return None };
    Some((user + nice + system + irq + softirq, steal))
}

/// All CPUs' `LOC` (local timer, x86) or `arch_timer` (ARM) of `/proc/interrupts`.
fn timer_interrupts(text: &str) -> Option<u64> {
    let line =
        text.lines().find(|line| line.trim_start().starts_with("LOC:") || line.ends_with("arch_timer"))?;
    let numbers = line.split_ascii_whitespace().skip(1).map_while(|word| word.parse::<u64>().ok());
    Some(numbers.sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_all_cpus() {
        let at = |ns| Instant::EPOCH + Picos::from_nanos(ns);
        let ticks = |at, busy, steal, own_ms, timers| Ticks {
            at,
            busy,
            steal,
            cpus: 2,
            own: Duration::from_millis(own_ms),
            timers: Some(timers),
        };
        // Two CPUs for one second: 100 ticks busy are 1 s, of which 400 ms were ours: 0.6 s of 2 s are others'.
        let shares =
            ticks(at(1_000_000_000), 150, 7, 500, 700).since(&ticks(at(0), 50, 3, 100, 200)).unwrap();
        assert!((shares.others - 0.3).abs() < 1e-9 && (shares.steal - 0.02).abs() < 1e-9, "{shares:?}");
        assert_eq!(shares.timer_interrupts_per_s, Some(250.0));
    }

    #[test]
    fn lines_of_the_kernel() {
        assert_eq!(super::ticks("cpu  10 20 30 4 5 6 7 8 0 0"), Some((73, 8)));
        assert_eq!(super::ticks("cpu  10 20"), None);
        assert_eq!(timer_interrupts("   0:  3 4 IO-APIC\n LOC:  700 41 Local timer interrupts\n"), Some(741));
        assert_eq!(timer_interrupts(""), None);
    }

    #[test]
    fn only_holes_are_pauses() {
        let mut pauses = Pauses { span_ns: 1_000_000, ..Pauses::default() };
        for micros in [1, 5, 95, 4] {
            pauses.add(Picos::from_micros(micros));
        }
        assert_eq!((pauses.count, pauses.longest_ns, pauses.share()), (2, 95_000, 0.1));
    }
}
