//! How many requests this machine can send, and what each costs it.
//!
//! ```text
//!   saturate ─► closed loop, as fast as it goes ─► where to begin; memory
//!   search   ─► open loops ─► the highest rate at which verdicts stay VALID (`peak`), a few times
//!   curve    ─► open loops at parts of it ─► CPU time and lateness at each rate
//!                                                                            └─► Capability, for the profile
//! ```
//!
//! Each trial is a run of `tare http` in a process of its own, with a verdict of its own: what is weighed is
//! what users run.

mod all_kinds;
mod kind;
mod trial;

pub use all_kinds::{ANSWER, AllKinds, generator_cpus, quick, weigh_all};
pub use kind::Kind;
pub use trial::Trial;

use crate::WeighError;
use crate::peak::{self, Effort, Found, Held};
use profile::{Capability, Point};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use store::schema::Word;

/// How it is weighed.
#[derive(Clone, Debug)]
pub struct Setup {
    pub connections: u32,
    pub threads: u32,
    /// CPUs of the engine threads; empty leaves it to the kernel.
    pub cpus: Vec<u32>,
    /// Of each trial, after its warm-up.
    pub length: Duration,
    pub warmup: Duration,
    pub effort: Effort,
    /// Times that the peak is looked for.
    pub searches: u32,
    /// Rates of the curve beside those that the search tries, as shares of the peak.
    pub curve: Vec<f64>,
    /// Flags for every trial beside these, e.g. `--ca`.
    pub flags: Vec<String>,
}

impl Setup {
    /// Well under ten seconds for each kind.
    pub fn quick() -> Self {
        Self {
            connections: 64,
            threads: 1,
            cpus: Vec::new(),
            length: Duration::from_millis(500),
            warmup: Duration::from_millis(150),
            effort: Effort { confirmations: 1, repeats: 1, width: 0.1, most_trials: 10 },
            searches: 1,
            curve: vec![0.4],
            flags: Vec::new(),
        }
    }

    /// About a minute for each kind.
    pub fn thorough() -> Self {
        Self {
            length: Duration::from_secs(2),
            warmup: Duration::from_millis(300),
            effort: Effort { confirmations: 2, repeats: 2, width: 0.05, most_trials: 24 },
            searches: 3,
            curve: vec![0.1, 0.25, 0.5, 0.75],
            ..Self::quick()
        }
    }
}

/// What came of one kind.
#[derive(Clone, Debug)]
pub struct Weighed {
    pub kind: Kind,
    pub capability: Capability,
    /// Between trials; or why there is no interval.
    pub interval: stats::Claim,
    pub found: Vec<Found>,
    /// Trials in all, and those that were made again because something else disturbed them.
    pub trials: u32,
    pub disturbed: u32,
    /// Why the rates above the peak did not hold.
    pub limit: Held,
    /// It was stopped before its end.
    pub is_partial: bool,
}

/// What is told while it goes on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Progress {
    /// As fast as it went.
    Saturated { kind: Kind, per_s: f64 },
    /// A rate that was tried, and the verdict's word.
    Tried { kind: Kind, per_s: f64, word: Word },
}

/// Weighs one kind against `url`. `None` if it was stopped before anything was known.
///
/// # Errors
/// The target cannot be reached, or a trial could not be made.
pub fn weigh(
    kind: Kind,
    url: &str,
    against: &str,
    setup: &Setup,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(Progress),
) -> Result<Option<Weighed>, WeighError> {
    let mut book = Book { kind, url, setup, stop, progress, points: Vec::new(), trials: 0, failure: None };
    let Some(saturated) = book.closed(setup.connections)? else { return Ok(None) };
    let one = if kind.keeps_alive() { book.closed(1)? } else { None };
    let memory = saturated.memory_bytes;
    let each = one.and_then(|one| each_connection(one.memory_bytes?, memory?, setup.connections));
    let mut found: Vec<Found> = Vec::new();
    let mut start = saturated.achieved_per_s * 0.9;
    // Where nothing was answered there is nothing to begin from.
    let searches = if saturated.achieved_per_s > 0.0 { setup.searches } else { 0 };
    for _ in 0..searches {
        let one = peak::search(start, setup.effort, |rate| book.open(rate));
        start = one.peak_per_s.unwrap_or(start);
        found.push(one);
        if stop.load(Ordering::Relaxed) || book.failure.is_some() || one.peak_per_s.is_none() {
            break;
        }
    }
    let peaks: Vec<f64> = found.iter().filter_map(|found| found.peak_per_s).collect();
    let mean = if peaks.is_empty() { 0.0 } else { peaks.iter().sum::<f64>() / peaks.len() as f64 };
    for share in setup.curve.iter().filter(|_| mean > 0.0) {
        if book.open(mean * share).is_none() {
            break;
        }
    }
    if let Some(failure) = book.failure.take() {
        return Err(failure);
    }
    let interval = stats::students::interval(&peaks).map(|interval| interval.not_below(0.0));
    let is_targets = found.iter().any(|found| found.is_targets);
    let capability = Capability {
        key: kind.key().to_owned(),
        against: against.to_owned(),
        threads: setup.threads as u16,
        peak_per_s: mean,
        low_per_s: interval.as_ref().ok().map(stats::Interval::low),
        high_per_s: interval.as_ref().ok().map(stats::Interval::high),
        is_lower_bound: is_targets
            || !found.is_empty() && found.iter().all(|found| found.failed_per_s.is_none()),
        saturated_per_s: Some(saturated.achieved_per_s),
        memory_bytes: memory.zip(each).map(|(all, each)| base(all, each, setup.connections)).or(memory),
        memory_per_connection_bytes: each,
        points: points(&book.points),
    };
    Ok(Some(Weighed {
        kind,
        capability,
        interval,
        trials: book.trials,
        disturbed: found.iter().map(|found| found.disturbed).sum(),
        limit: if is_targets { Held::Target } else { Held::Generator },
        is_partial: stop.load(Ordering::Relaxed),
        found,
    }))
}

/// What a connection takes at least, in bytes: the difference of a few of them can be below what memory is
/// counted in.
const LEAST_CONNECTION: f64 = 1_100.0;

/// From the memory with one connection and with all: what each adds.
fn each_connection(one: u64, all: u64, connections: u32) -> Option<f64> {
    (connections > 1)
        .then(|| (all.saturating_sub(one) as f64 / f64::from(connections - 1)).max(LEAST_CONNECTION))
}

/// The memory without any.
fn base(all: u64, each: f64, connections: u32) -> u64 {
    (all as f64 - each * f64::from(connections)).max(0.0) as u64
}

/// One point for each rate: means of costs, the worst lateness.
fn points(trials: &[Trial]) -> Vec<Point> {
    let mut rates: Vec<u64> = trials.iter().map(|trial| trial.asked_per_s).collect();
    rates.sort_unstable();
    rates.dedup();
    let of = |rate: u64| {
        let all = || trials.iter().filter(|trial| trial.asked_per_s == rate);
        let calm: Vec<&Trial> = all().filter(|trial| trial.held != Held::Disturbed).collect();
        let same = if calm.is_empty() { all().collect() } else { calm };
        let count = same.len() as f64;
        let mean = |figure: fn(&Trial) -> f64| same.iter().map(|trial| figure(trial)).sum::<f64>() / count;
        let softirq: Option<Vec<f64>> = same.iter().map(|trial| trial.softirq_ns).collect();
        Point {
            offered_per_s: rate as f64,
            achieved_per_s: mean(|trial| trial.achieved_per_s),
            user_ns: mean(|trial| trial.user_ns),
            system_ns: mean(|trial| trial.system_ns),
            softirq_ns: softirq.map(|all| all.iter().sum::<f64>() / count),
            lateness_p50_ns: same.iter().map(|trial| trial.lateness_p50_ns).max().unwrap_or(0),
            lateness_p99_ns: same.iter().map(|trial| trial.lateness_p99_ns).max().unwrap_or(0),
            is_valid: same.iter().all(|trial| matches!(trial.held, Held::Yes | Held::Disturbed)),
        }
    };
    rates.into_iter().map(of).collect()
}

/// Keeps what the trials showed.
struct Book<'a> {
    kind: Kind,
    url: &'a str,
    setup: &'a Setup,
    stop: &'a AtomicBool,
    progress: &'a mut dyn FnMut(Progress),
    /// Open loops.
    points: Vec<Trial>,
    trials: u32,
    failure: Option<WeighError>,
}

impl Book<'_> {
    /// As fast as it goes. `None` if it was stopped.
    fn closed(&mut self, connections: u32) -> Result<Option<Trial>, WeighError> {
        self.trials += 1;
        let trial = trial::run(self.kind, self.url, self.setup, None, connections, self.stop)?;
        if let Some(trial) = trial.as_ref().filter(|_| connections > 1) {
            (self.progress)(Progress::Saturated { kind: self.kind, per_s: trial.achieved_per_s });
        }
        Ok(trial)
    }

    /// At that rate. `None` if it was stopped, or failed.
    fn open(&mut self, per_second: f64) -> Option<Held> {
        self.trials += 1;
        let rate = per_second.round().max(1.0) as u64;
        let connections = self.setup.connections;
        match trial::run(self.kind, self.url, self.setup, Some(rate), connections, self.stop) {
            Ok(trial) => {
                let trial = trial?;
                let held = trial.held;
                let per_s = rate as f64;
                (self.progress)(Progress::Tried { kind: self.kind, per_s, word: trial.word });
                self.points.push(trial);
                Some(held)
            }
            Err(failure) => {
                self.failure = Some(failure);
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(asked_per_s: u64, user_ns: f64, softirq_ns: Option<f64>, lateness_p99_ns: u64) -> Trial {
        Trial { asked_per_s, user_ns, softirq_ns, lateness_p99_ns, held: Held::Yes, ..Trial::default() }
    }

    #[test]
    fn trials_of_one_rate_are_one_point() {
        let trials = [
            trial(2_000, 900.0, Some(100.0), 30),
            trial(1_000, 1_000.0, Some(200.0), 10),
            trial(1_000, 1_400.0, Some(100.0), 20),
        ];
        let points = points(&trials);
        assert_eq!(points.len(), 2);
        assert_eq!((points[0].offered_per_s, points[0].user_ns), (1_000.0, 1_200.0));
        assert_eq!((points[0].softirq_ns, points[0].lateness_p99_ns), (Some(150.0), 20));
        assert!(points[0].is_valid);
    }

    #[test]
    fn what_one_trial_could_not_tell_apart_is_not_told() {
        let points = points(&[trial(1_000, 1.0, Some(200.0), 1), trial(1_000, 1.0, None, 1)]);
        assert_eq!(points[0].softirq_ns, None);
    }

    #[test]
    fn memory_is_split_into_what_is_there_and_what_each_connection_adds() {
        // 8.0 MB with one, 8.63 MB with 64: 10 kB each, 7.99 MB without any.
        let each = each_connection(8_000_000, 8_630_000, 64).unwrap();
        assert_eq!((each, base(8_630_000, each, 64)), (10_000.0, 7_990_000));
        assert_eq!(each_connection(1, 1, 1), None);
    }
}
