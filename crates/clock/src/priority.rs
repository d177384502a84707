//! The priority of threads that wait for due times: which one is safe here, and taking it.
//!
//! ```text
//!   asked ─┐
//!   threads ├─ decide ─► Grant { level, why } ─ take (in each thread) ─► real-time │ nice −20 │ as it was
//!   machine ┘                                 a real-time thread that never sleeps is watched, and loses it ┘
//! ```
//!
//! A thread that spins in real time keeps everybody else from its CPU. The kernel guards against that: of each
//! `sched_rt_period_us` such a thread runs for `sched_rt_runtime_us` at most (950 of 1 000 ms as a rule), and
//! is stopped for the rest, all departures of that time with it. So real time is taken only by threads whose
//! due times leave them time to sleep, and only where another CPU is left to everybody else. A thread that does
//! not sleep after all is given its niceness back.

use crate::thread_cpu::ThreadCpu;
use os::{cpus, scheduling};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use units::{Picos, Priority};

/// Threads wake so long before a due time and spin from then on (see the engines' own figures).
const AHEAD: Picos = Picos::from_micros(250);
/// Due times that are closer than this are not slept between.
const NEAR: Picos = Picos::from_micros(500);
/// Of what the kernel allows a real-time thread, the share that one may be expected to need.
const SHARE: f64 = 0.8;
/// The lowest real-time priority: whatever else runs in real time comes first.
const LEVEL: i32 = 1;
/// Whoever watches comes before the one that is watched.
const WATCHER: i32 = 2;
/// How often a real-time thread is looked at.
const WATCH: Duration = Duration::from_millis(100);
/// The shortest slice that the kernel gives: an ordinary thread that answers wake runs before others' slices
/// are over.
const SLICE_NS: u64 = 100_000;

/// What threads would do with a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Demand {
    /// Threads that wait for due times.
    pub threads: u32,
    /// They spin the last stretch.
    pub spins: bool,
    /// Between two departures of one thread; `None` if it may be anything.
    pub gap: Option<Picos>,
}

/// What this machine allows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machine {
    /// CPUs that are switched on, whoever may use them.
    pub online: u32,
    /// The kernel lets this process have real-time threads.
    pub may_real_time: bool,
    /// Share of the time that they may run; 1 where they are never stopped.
    pub runtime: f64,
    /// The lowest niceness that a thread may take; 0 if none below the usual one.
    pub nice: i8,
}

/// What a thread's priority is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Normal,
    Nice(i8),
    RealTime,
}

/// A level and why it is this one.
#[derive(Clone, Debug)]
pub struct Grant {
    pub level: Level,
    pub why: String,
    asked: Priority,
    nice: i8,
    /// Threads that lost real time again since they did not sleep.
    lost: Arc<AtomicU32>,
}

impl Level {
    /// `real-time`, `nice -20`, `normal`.
    pub fn words(self) -> String {
        match self {
            Self::Normal => "normal".to_owned(),
            Self::Nice(nice) => format!("nice {nice}"),
            Self::RealTime => "real-time".to_owned(),
        }
    }
}

impl Machine {
    /// Tries what is allowed in a thread that ends again, and reads what the kernel says.
    pub fn look() -> Self {
        let tried =
            std::thread::spawn(|| (scheduling::real_time(LEVEL).is_ok(), scheduling::take_lowest_nice()))
                .join();
        let (may_real_time, nice) = tried.unwrap_or((false, 0));
        let number = |name: &str| -> Option<f64> {
            std::fs::read_to_string(format!("/proc/sys/kernel/{name}")).ok()?.trim().parse().ok()
        };
        let (runtime, period) = (number("sched_rt_runtime_us"), number("sched_rt_period_us"));
        let runtime = match (runtime, period) {
            (Some(runtime), Some(period)) if runtime >= 0.0 && period > 0.0 => (runtime / period).min(1.0),
            _ => 1.0,
        };
        Self { online: cpus::online(), may_real_time, runtime, nice }
    }
}

/// What these threads get on this machine.
pub fn grant(asked: Priority, demand: &Demand) -> Grant {
    if asked == Priority::Normal {
        return Grant::new(asked, Level::Normal, "it was asked for".to_owned(), 0);
    }
    decide(asked, demand, &Machine::look())
}

/// See the module. No I/O.
pub fn decide(asked: Priority, demand: &Demand, machine: &Machine) -> Grant {
    if asked == Priority::Normal {
        return Grant::new(asked, Level::Normal, "it was asked for".to_owned(), 0);
    }
    match unsafe_because(asked, demand, machine) {
        None => {
            let why = match asked {
                Priority::RealTime => told_of_stops("it was asked for", demand, machine),
                _ => "threads sleep between due times, and another CPU is left for other work".to_owned(),
            };
            Grant::new(asked, Level::RealTime, why, machine.nice)
        }
        Some(why) if machine.nice < 0 => {
            Grant::new(asked, Level::Nice(machine.nice), format!("not real-time: {why}"), machine.nice)
        }
        Some(why) => {
            let why =
                format!("not real-time: {why}; and the kernel allows no higher priority than the usual one");
            Grant::new(asked, Level::Normal, why, 0)
        }
    }
}

/// Why threads had better not be real-time ones.
fn unsafe_because(asked: Priority, demand: &Demand, machine: &Machine) -> Option<String> {
    if !machine.may_real_time {
        return Some("the kernel does not allow it (CAP_SYS_NICE or ulimit -r does)".to_owned());
    }
    if machine.online <= demand.threads {
        let threads = demand.threads;
        return Some(format!(
            "{threads} such threads would leave none of the machine's {} CPUs for other work",
            machine.online
        ));
    }
    // Who asks for it by name has it, and is told what the kernel makes of it.
    if asked == Priority::RealTime {
        return None;
    }
    if !demand.spins {
        return Some("threads do not spin".to_owned());
    }
    let Some(gap) = demand.gap else {
        return Some(
            "due times are not even, so it is not certain that threads sleep between them".to_owned(),
        );
    };
    let needed = duty(gap);
    (needed > machine.runtime * SHARE).then(|| match needed >= 1.0 {
        true => format!("a thread never sleeps with a gap of {gap:#}, and {}", stopped(machine)),
        false => format!("a thread spins for {:.0} % of the time, and {}", needed * 100.0, stopped(machine)),
    })
}

/// Share of the time for which a thread spins that has a departure every `gap`.
fn duty(gap: Picos) -> f64 {
    if gap <= NEAR { 1.0 } else { AHEAD.as_secs_f64() / gap.as_secs_f64() }
}

fn stopped(machine: &Machine) -> String {
    match machine.runtime < 1.0 {
        true => format!(
            "the kernel stops a real-time thread for {:.0} ms of each second then (sched_rt_runtime_us)",
            (1.0 - machine.runtime) * 1e3
        ),
        false => "would keep the kernel's own threads from its CPU".to_owned(),
    }
}

fn told_of_stops(why: &str, demand: &Demand, machine: &Machine) -> String {
    let never_sleeps = demand.spins && demand.gap.is_none_or(|gap| duty(gap) >= 1.0);
    match never_sleeps {
        true => format!("{why}; where a thread never sleeps, {}", stopped(machine)),
        false => why.to_owned(),
    }
}

impl Grant {
    /// The usual priority, and why.
    pub fn usual(why: &str) -> Self {
        Self::new(Priority::Normal, Level::Normal, why.to_owned(), 0)
    }

    fn new(asked: Priority, level: Level, why: String, nice: i8) -> Self {
        Self { level, why, asked, nice, lost: Arc::default() }
    }

    /// Gives this thread its priority.
    ///
    /// # Errors
    /// Why the kernel refuses, although it allowed as much before.
    pub fn take(&self) -> Result<(), String> {
        if self.level != Level::RealTime {
            // A kernel that refuses gives the usual slices.
            let _ = scheduling::set_slice(SLICE_NS);
        }
        match self.level {
            Level::Normal => Ok(()),
            Level::Nice(nice) => set_nice(nice),
            Level::RealTime => {
                // What is left if real time is lost again.
                if self.nice < 0 {
                    set_nice(self.nice)?;
                }
                scheduling::real_time(LEVEL).map_err(|error| error.to_string())?;
                // Who asked for it by name keeps it.
                if self.asked == Priority::Auto { self.watch() } else { Ok(()) }
            }
        }
    }

    /// The same for a thread that waits for no due time, and must never keep one that does from its CPU:
    /// niceness alone.
    ///
    /// # Errors
    /// Why the kernel refuses.
    pub fn take_beside(&self) -> Result<(), String> {
        if self.nice < 0 { set_nice(self.nice) } else { Ok(()) }
    }

    /// A sentence if threads lost real time again.
    pub fn lost(&self) -> Option<String> {
        let threads = self.lost.load(Ordering::Relaxed);
        (threads > 0).then(|| {
            format!(
                "{threads} thread(s) did not sleep for 100 ms or more, so they have run at {} since then, not \
                 in real time: other threads would not have got their CPU",
                if self.nice < 0 { Level::Nice(self.nice) } else { Level::Normal }.words()
            )
        })
    }

    /// A thread that wakes now and then and looks whether this one has slept.
    fn watch(&self) -> Result<(), String> {
        let (watched, lost) = (ThreadCpu::this(), self.lost.clone());
        let watcher = std::thread::Builder::new().name("tare-watch".to_owned()).spawn(move || {
            // Otherwise it might not run where it is needed most.
            let _ = scheduling::real_time(WATCHER);
            let mut before = watched.used_ns();
            loop {
                std::thread::sleep(WATCH);
                let now = watched.used_ns();
                // It has ended.
                let (Some(now), Some(earlier)) = (now, before) else { return };
                if now.saturating_sub(earlier) as f64 > WATCH.as_nanos() as f64 * SHARE {
                    ordinary(watched.tid());
                    lost.fetch_add(1, Ordering::Relaxed);
                    return;
                }
                before = Some(now);
            }
        });
        match watcher {
            Ok(_) => Ok(()),
            Err(error) => {
                ordinary(0);
                Err(format!("a real-time thread could not be watched: {error}"))
            }
        }
    }
}

/// An ordinary thread again; 0 is the one that calls. Its end is the only reason why that fails.
fn ordinary(tid: libc::pid_t) {
    let _ = scheduling::ordinary(tid);
}

/// Niceness of the thread that calls.
fn set_nice(nice: i8) -> Result<(), String> {
    scheduling::set_nice(nice).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    const FREE: Machine = Machine { online: 4, may_real_time: true, runtime: 0.95, nice: -20 };

    fn of(asked: Priority, threads: u32, gap_us: Option<u64>, machine: Machine) -> Grant {
        decide(asked, &Demand { threads, spins: true, gap: gap_us.map(Picos::from_micros) }, &machine)
    }

    #[test]
    fn real_time_only_where_threads_sleep_and_a_cpu_is_left() {
        let level = |threads, gap, machine| of(Priority::Auto, threads, gap, machine).level;
        // 250 µs of each millisecond are spun.
        assert_eq!(level(1, Some(1_000), FREE), Level::RealTime);
        assert_eq!(level(1, Some(14), FREE), Level::Nice(-20), "it never sleeps");
        assert_eq!(level(1, None, FREE), Level::Nice(-20), "nobody knows");
        assert_eq!(level(4, Some(1_000), FREE), Level::Nice(-20), "no CPU is left");
        assert_eq!(level(1, Some(1_000), Machine { online: 1, ..FREE }), Level::Nice(-20));
        assert_eq!(level(1, Some(1_000), Machine { may_real_time: false, ..FREE }), Level::Nice(-20));
        // A quarter of the time is more than 80 % of 30 %.
        assert_eq!(level(1, Some(1_000), Machine { runtime: 0.3, ..FREE }), Level::Nice(-20));
        let poor = Machine { may_real_time: false, nice: 0, ..FREE };
        assert_eq!(level(1, Some(1_000), poor), Level::Normal);
    }

    #[test]
    fn the_reason_says_what_stands_against_real_time() {
        let why = |asked, threads, gap| of(asked, threads, gap, FREE).why;
        assert!(
            why(Priority::Auto, 1, Some(14)).contains("stops a real-time thread for 50 ms of each second")
        );
        assert!(why(Priority::Auto, 4, Some(1_000)).contains("none of the machine's 4 CPUs"));
        assert!(
            why(Priority::RealTime, 1, Some(14)).starts_with("it was asked for; where a thread never sleeps")
        );
        assert_eq!(of(Priority::Normal, 1, Some(1_000), FREE).level, Level::Normal);
        assert_eq!(
            of(Priority::RealTime, 4, Some(1_000), FREE).level,
            Level::Nice(-20),
            "not even if asked for"
        );
    }

    #[test]
    fn a_real_time_thread_that_never_sleeps_loses_it_and_says_so() {
        if !Machine::look().may_real_time {
            eprintln!("SKIPPED: real-time threads are not allowed here");
            return;
        }
        let grant = Grant::new(Priority::Auto, Level::RealTime, String::new(), 0);
        let taken = grant.clone();
        let spinner = std::thread::spawn(move || {
            taken.take().unwrap();
            let first = scheduling::is_real_time();
            let begun = Instant::now();
            while scheduling::is_real_time() && begun.elapsed() < Duration::from_secs(5) {}
            (first, scheduling::is_real_time())
        });
        assert_eq!(spinner.join().unwrap(), (true, false));
        let patience = Instant::now();
        while grant.lost().is_none() && patience.elapsed() < Duration::from_secs(2) {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(grant.lost().unwrap().contains("did not sleep"));
    }
}
