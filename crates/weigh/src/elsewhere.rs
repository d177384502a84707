//! Incoming traffic from another machine: a command that has it sent (ssh to that machine, or in a namespace)
//! is started for each rate; the interface counts what arrives.
//!
//! ```text
//!   own traffic   ██████████████████████████████████████████
//!   incoming              ..▂▂▂▂..▄▄▄▄..▆▆▆▆..                 .. the command starts: in no figure
//!                 before    rising steps        after
//! ```

mod arrived;
mod command;
mod descendants;
mod said;

pub use arrived::{Arrived, judge};
pub use command::Elsewhere;

use crate::WeighError;
use crate::run::Traffic;
use crate::sender::{Pace, Schedule, Step};
use crate::stage::Stage;
use clock::Stopwatch;
use descendants::{Descendants, MARK};
use os::child::Guard;
use rustix::process::{Pid, Signal, kill_process_group};
use said::Said;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long a command has until what it sends arrives, at least: ssh needs most of it.
pub const SETTLING_NS: u64 = 1_500_000_000;
/// How long the first frames of all are waited for, and how much longer than they took the next commands have.
const FIRST_WITHIN_NS: u64 = 10_000_000_000;
const SPARE_NS: u64 = 500_000_000;
/// How often is looked whether it still runs.
const LOOK_NS: u64 = 20_000_000;

/// Steps with time for the command to start before each rising one, and to end before the last; and which of
/// them are measured.
pub fn with_settling(
    paces: &[Pace],
    (step_ns, settling_ns): (u64, u64),
) -> (Vec<Pace>, Vec<u64>, Vec<usize>) {
    let (mut all, mut lengths, mut measured) = (Vec::new(), Vec::new(), Vec::new());
    for (at, pace) in paces.iter().enumerate() {
        if at > 0 {
            all.push(*pace);
            lengths.push(settling_ns);
        }
        measured.push(all.len());
        all.push(*pace);
        lengths.push(step_ns);
    }
    (all, lengths, measured)
}

/// Runs the command for each pair of settling and step; returns what the first one that failed said.
pub fn run(
    command: &Elsewhere,
    stage: &Stage,
    (schedule, what): (&Schedule, (usize, Traffic)),
    stop: &AtomicBool,
) -> Option<String> {
    let ends = Schedule::ends(&schedule.steps);
    let mut failure = None;
    // The first step is silence; after it, each even one lets the command start, and the one after is measured.
    for (at, pair) in schedule.steps[1..].chunks_exact(2).enumerate() {
        let begins = schedule.origin_monotonic_ns + ends[2 * at];
        let length: u64 = pair.iter().map(|step: &Step| step.length_ns).sum();
        if pair[0].pace == Pace::Silence || !wait_until(begins, stop) {
            continue;
        }
        let words = command.filled(stage, pair[0].pace, length, what);
        let said = Running::start(&words).and_then(|mut started| {
            started.wait_until(begins + length, stop);
            // One that ends a little early misses little of what is measured.
            let least = Duration::from_nanos(length - pair[1].length_ns / 10);
            started.end((least, Duration::from_nanos(length)))
        });
        if failure.is_none() && !stop.load(Ordering::Relaxed) {
            failure = said.err();
        }
    }
    failure
}

/// How many frames a second arrive if the command sends as fast as it can, and how long commands need to start.
///
/// # Errors
/// It did not start, or nothing arrived.
pub fn most(
    command: &Elsewhere,
    stage: &Stage,
    what: (usize, Traffic),
    stop: &AtomicBool,
) -> Result<(f64, u64), WeighError> {
    const WINDOW_NS: u64 = 500_000_000;
    const POLL_NS: u64 = 100_000_000;
    /// In a poll: fewer are of neighbours that ask for addresses.
    const FEW: u64 = 10;
    let words = command.filled(stage, Pace::Flood, SETTLING_NS + WINDOW_NS, what);
    let (begun, mut last) = (clock::monotonic_ns(), stage.received()?.frames);
    let mut started = Running::start(&words).map_err(WeighError::Wrong)?;
    let after = || clock::monotonic_ns() - begun;
    let first_ns = loop {
        let is_over = !started.wait_until(clock::monotonic_ns() + POLL_NS, stop);
        let arrived = stage.received()?.frames;
        let new = arrived.saturating_sub(std::mem::replace(&mut last, arrived));
        if new >= FEW || is_over || after() > FIRST_WITHIN_NS {
            break after();
        }
    };
    // Once it sends, as much as it will.
    started.wait_until(begun + SETTLING_NS.max(first_ns + POLL_NS), stop);
    let (first, from) = (stage.received()?.frames, clock::monotonic_ns());
    started.wait_until(from + WINDOW_NS, stop);
    let (last, to) = (stage.received()?.frames, clock::monotonic_ns());
    let said =
        started.end((Duration::from_nanos(SETTLING_NS), Duration::from_nanos(SETTLING_NS + WINDOW_NS)));
    let rate = last.saturating_sub(first) as f64 * 1e9 / to.saturating_sub(from).max(1) as f64;
    match said {
        Err(said) => Err(WeighError::Wrong(said)),
        Ok(()) if rate < 1.0 => Err(WeighError::Wrong(format!(
            "nothing arrived at {} within {:.1} s of the start of the command: {words}",
            stage.interface,
            after() as f64 / 1e9
        ))),
        Ok(()) => Ok((rate, SETTLING_NS.max(first_ns + SPARE_NS))),
    }
}

/// False if it was stopped.
fn wait_until(at: u64, stop: &AtomicBool) -> bool {
    while !stop.load(Ordering::Relaxed) {
        let left = at.saturating_sub(clock::monotonic_ns());
        if left == 0 {
            return true;
        }
        std::thread::sleep(Duration::from_nanos(left.min(20_000_000)));
    }
    false
}

/// A command and all that it started; they end with it.
struct Running {
    child: Child,
    guard: Guard,
    descendants: Descendants,
    begun: Stopwatch,
    /// When it ended by itself.
    ended: Option<(Duration, ExitStatus)>,
    said: Said,
}

impl Running {
    fn start(words: &str) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("cannot run '{words}': {error}");
        let (said, pipe) = Said::listen().map_err(failed)?;
        let mut command = Command::new("sh");
        command.args(["-c", words]).stdin(Stdio::null()).stdout(Stdio::null()).process_group(0);
        let mark = Descendants::new_mark();
        os::child::keep_descendants(command.stderr(pipe).env(MARK, &mark));
        let mut child = command.spawn().map_err(failed)?;
        let guard = Guard::of(&child, Some(&format!("{MARK}={mark}"))).inspect_err(|_| {
            let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
            let _ = child.wait();
        });
        Ok(Self {
            guard: guard.map_err(failed)?,
            descendants: Descendants::of(child.id(), mark),
            child,
            begun: Stopwatch::start(),
            ended: None,
            said,
        })
    }

    /// Waits, and looks whether it still runs; false if it does not, or if it was stopped.
    fn wait_until(&mut self, at: u64, stop: &AtomicBool) -> bool {
        loop {
            let now = clock::monotonic_ns();
            if self.ended.is_none() {
                let ended = self.child.try_wait().ok().flatten();
                self.ended = ended.map(|status| (self.begun.elapsed(), status));
            }
            if stop.load(Ordering::Relaxed) || self.ended.is_some() {
                return wait_until(at, stop) && self.ended.is_none();
            }
            if now >= at {
                return true;
            }
            wait_until(at.min(now + LOOK_NS), stop);
        }
    }

    /// Ends it. One of `length` that had failed or ended before `least` tells what it said.
    fn end(&mut self, (least, length): (Duration, Duration)) -> Result<(), String> {
        self.kill(Signal::INT);
        match self.ended {
            Some((_, status)) if !status.success() => Err(format!(
                "the command that sends ended with {}",
                match self.said.last_words() {
                    Some(said) => format!("{status}; it said: {said}"),
                    None => format!("{status} and said nothing"),
                }
            )),
            Some((after, _)) if after < least => Err(format!(
                "the command that sends ended after {:.1} s, not {:.1} s: it must send for {{time}}, in the \
                 foreground",
                after.as_secs_f64(),
                length.as_secs_f64()
            )),
            _ => Ok(()),
        }
    }

    fn kill(&mut self, signal: Signal) {
        // First those that are not in its group: without it, some are not known by their parents.
        self.descendants.signal(signal);
        // Its group may be gone.
        let _ = kill_process_group(Pid::from_child(&self.child), signal);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // One that was interrupted gets a moment; then it and all that it started end.
        for _ in 0..20 {
            if !matches!(self.child.try_wait(), Ok(None)) {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        self.descendants.end();
        self.kill(Signal::KILL);
        self.descendants.end();
        self.guard.end();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn each_change_of_the_rate_has_time_to_settle() {
        let paces = [Pace::Silence, Pace::Even(5.0), Pace::Flood, Pace::Silence];
        let (all, lengths, measured) = with_settling(&paces, (7, 9));
        assert_eq!(all.len(), 7);
        assert_eq!(measured, [0, 2, 4, 6]);
        assert_eq!(measured.iter().map(|at| all[*at]).collect::<Vec<_>>(), paces);
        assert_eq!(lengths, [7, 9, 7, 9, 7, 9, 7]);
        assert_eq!((all[1], all[3], all[5]), (Pace::Even(5.0), Pace::Flood, Pace::Silence));
    }

    /// What one that is given a minute at most says.
    fn ended(words: &str) -> Result<(), String> {
        let mut started = Running::start(words).unwrap();
        let minute = Duration::from_secs(60);
        // It returns at the time, so that the end is looked for in short steps.
        while started.ended.is_none() {
            started.wait_until(clock::monotonic_ns() + 1_000_000, &AtomicBool::new(false));
        }
        started.end((minute, minute))
    }

    #[test]
    fn a_command_that_fails_or_ends_early_says_so_and_one_that_goes_on_ends() {
        let said = ended("echo no such host >&2; exit 3").unwrap_err();
        assert!(said.contains("no such host") && said.contains('3'), "{said}");
        let said = ended("printf 'no route to \\377 peer' >&2; exit 1").unwrap_err();
        assert!(said.contains("no route to \u{fffd} peer"), "{said}");
        assert!(ended("exit 1").unwrap_err().ends_with("and said nothing"));
        // However much it says, the end of it is told, and nothing of it is on a disk.
        let said = ended("yes line | head -c 20000000 >&2; echo the end >&2; exit 4").unwrap_err();
        assert!(said.ends_with("line; line; the end"), "{said}");
        let said = ended("sleep 60 &").unwrap_err();
        assert!(said.contains("ended after 0.") && said.contains("{time}"), "{said}");
        let mut endless = Running::start("sleep 60 & sleep 60").unwrap();
        assert_eq!(endless.end((Duration::ZERO, Duration::ZERO)), Ok(()));
    }

    #[test]
    fn what_a_command_started_ends_also_if_this_process_is_killed() {
        let scratch = tempfile::tempdir().unwrap();
        let pipe = scratch.path().join("held");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let words = format!("exec 3>'{}'; sleep 60 & sleep 60; exit 7", pipe.display());
        let mut started = Running::start(&words).unwrap();
        let mut held = std::fs::File::open(&pipe).unwrap();
        // As the kernel does then.
        started.guard.trigger();
        let status = started.child.wait().unwrap();
        assert_ne!(status.code(), Some(7), "{status}");
        // It ends once nobody has it any more: a process that has ended may wait to be noticed for long.
        assert_eq!(held.read_to_end(&mut Vec::new()).unwrap(), 0);
        assert!(started.begun.elapsed() < Duration::from_secs(50), "nobody is left in it");
    }

    #[test]
    fn what_has_its_own_group_or_session_or_lost_its_parents_ends_as_well() {
        let scratch = tempfile::tempdir().unwrap();
        let pipe = scratch.path().join("held");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for words in [
            "timeout 60 sleep 60",
            "setsid sleep 60 & sleep 60",
            "timeout 60 sh -c 'setsid sleep 60 & setsid sleep 60 & exit 0'; sleep 60",
            "(setsid env -i sleep 60 & exit 0); sleep 60",
            // They are left when the command itself has ended.
            "setsid sleep 60 & exit 0",
        ] {
            let mut started = Running::start(&format!("exec 3>'{}'; {words}", pipe.display())).unwrap();
            let mut held = std::fs::File::open(&pipe).unwrap();
            started.wait_until(clock::monotonic_ns() + 300_000_000, &AtomicBool::new(false));
            let ending = Stopwatch::start();
            let _ = started.end((Duration::ZERO, Duration::ZERO));
            drop(started);
            // It ends once nobody has it any more.
            assert_eq!(held.read_to_end(&mut Vec::new()).unwrap(), 0);
            assert!(ending.elapsed() < Duration::from_secs(20), "{words}");
        }
    }
}
