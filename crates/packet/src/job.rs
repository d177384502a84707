//! What every packet command is to the program around it: something that can be started, watched, changed and
//! joined.
//!
//! ```text
//! Plan ─► Job ─ start(control, recorders) ─► Running ─ join ─► Findings
//! ```

use crate::PacketError;
use crate::control::JobControl;
use measure::packets::{PacketReport, PortTime};
use std::sync::Arc;
use units::{Instant, Picos, Rate, Record};

/// Whether so much time has gone since the ports were open (a sink was waited for) that a run begins anew: what
/// came meanwhile is no part of it. Otherwise it has begun then.
pub fn is_late(opened: Instant, now: Instant, length: Option<Picos>) -> bool {
    const SETTING_UP: Picos = Picos::from_millis(500);
    let most = length.map_or(SETTING_UP, |length| Picos::from_picos(length.as_picos() / 2).min(SETTING_UP));
    now.since(opened) > most
}

/// A thread that does nothing for so long does not run.
pub const PAUSE: Picos = Picos::from_millis(5);

/// A recorder for each thread.
pub type Recorders = Vec<Box<dyn Record + Send>>;

/// Makes the recorders when the origin of the run is known (the moment from which due times count).
pub type MakeRecorders<'a> = &'a mut dyn FnMut(Instant) -> Recorders;

/// What is known of a run before it starts.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Recorders that `start` will ask for: one for each thread that sends, receives or forwards.
    pub threads: usize,
    /// Whether threads spin towards due times.
    pub spins: bool,
    /// The even gap between departures over all threads, if there is one.
    pub gap: Option<Picos>,
    /// The rate, where departures are one Poisson process.
    pub poisson: Option<Rate>,
    /// Whether departures have due times at all (false: as fast as it goes, or whatever arrives).
    pub is_open_loop: bool,
    /// Length of the run, if it is known beforehand.
    pub length: Option<Picos>,
    /// What the run does, for people: "64-byte frames, 1 000 000/s for 10 s", and to what: "packet:veth0".
    pub load: String,
    pub target: String,
    /// Decisions and their reasons, as (what, chosen, why).
    pub choices: Vec<(String, String, String)>,
    /// Sentences for people that are known beforehand.
    pub notes: Vec<String>,
    /// Whose time all times of the run are, where it is not this host's.
    pub time: Option<PortTime>,
    /// What lets threads spin that have too few CPUs for it.
    pub no_spin: Option<String>,
}

/// A run that can be started.
pub trait Job {
    fn facts(&self) -> Facts;

    /// Starts the threads. `recorders` is called once, with the run's origin, and makes `facts().threads` of
    /// them.
    ///
    /// # Errors
    /// Whatever keeps the run from starting: nothing was sent.
    fn start(
        self: Box<Self>,
        control: Arc<JobControl>,
        recorders: MakeRecorders<'_>,
    ) -> Result<Running, PacketError>;
}

/// Threads at work.
pub struct Running {
    threads: Vec<std::thread::JoinHandle<()>>,
    /// Called when all threads have ended.
    finish: Box<dyn FnOnce() -> Findings + Send>,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    pub report: PacketReport,
    /// Sentences for people.
    pub notes: Vec<String>,
    /// What sets the run apart ("interface veth0 was removed").
    pub labels: Vec<String>,
    /// How long what was received took by its stamps: from the first to the last, and that one too.
    pub span: Option<Picos>,
    /// Trials in which the generator was the limit, and all trials, where there were trials.
    pub invalid_trials: Option<(u64, u64)>,
    /// Resets whose command failed, so that there is no reset time; they are among all trials.
    pub failed_resets: u64,
}

impl Running {
    /// `finish` makes the findings; it is called after all threads have ended.
    pub fn new(
        threads: Vec<std::thread::JoinHandle<()>>,
        finish: impl FnOnce() -> Findings + Send + 'static,
    ) -> Self {
        Self { threads, finish: Box::new(finish) }
    }

    pub fn is_over(&self) -> bool {
        self.threads.iter().all(std::thread::JoinHandle::is_finished)
    }

    /// Waits for the threads. One that panicked is told in a label; the others' findings are kept.
    pub fn join(self) -> Findings {
        let mut panicked = 0;
        for thread in self.threads {
            panicked += usize::from(thread.join().is_err());
        }
        let mut findings = (self.finish)();
        if panicked > 0 {
            findings.labels.push(format!("{panicked} engine thread(s) failed because of a bug in Tare"));
        }
        findings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_has_begun_when_its_ports_were_open_unless_that_was_long_ago() {
        let late = |gone, length: Option<u64>| {
            let opened = Instant::EPOCH + Picos::from_secs(5);
            is_late(opened, opened + Picos::from_millis(gone), length.map(Picos::from_millis))
        };
        assert!(!late(45, None) && !late(45, Some(100)) && !late(500, Some(60_000)));
        assert!(late(501, None) && late(51, Some(100)) && late(501, Some(60_000)));
    }
}
