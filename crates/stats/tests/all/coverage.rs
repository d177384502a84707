//! How often intervals of 95 % hold the truth: of processes whose truth is known, 2 000 experiments each.
//!
//! `cargo test --release -p tare-stats --test all coverage -- --nocapture` prints a row for each method and
//! process; docs/statistics.md sums them up.

use stats::{Claim, batch, bootstrap, order, sequential, students, warmup};

/// Of each method and process.
const EXPERIMENTS: u64 = 2_000;

/// A process with a known truth: its values in the order of time.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Process {
    /// Exponential, mean 1.
    Independent,
    /// Normal around 10 with deviation 1; each value has 0.8 of the one before.
    Ar1,
    /// Four of five around 1 (deviation 0.1), one around 5 (0.5).
    Bimodal,
    /// Pareto's with exponent 2.5 from 1: finite variance, no third moment.
    HeavyTail,
    /// Normal around a line that rises by so many deviations over the whole experiment.
    Drifting,
}

use Process::*;
const ALL: [Process; 5] = [Independent, Ar1, Bimodal, HeavyTail, Drifting];

const CORRELATION: f64 = 0.8;

struct Source {
    process: Process,
    random: fastrand::Rng,
    last: f64,
    /// Values so far, and in the whole experiment.
    at: usize,
    of: usize,
    rise: f64,
}

impl Source {
    fn new(process: Process, seed: u64, of: usize) -> Self {
        let mut source =
            Self { process, random: fastrand::Rng::with_seed(seed), last: 0.0, at: 0, of, rise: 1.5 };
        source.last = source.normal();
        source
    }

    /// Box and Muller.
    fn normal(&mut self) -> f64 {
        let (u, v) = (1.0 - self.random.f64(), self.random.f64());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    fn next(&mut self) -> f64 {
        self.at += 1;
        match self.process {
            Independent => -(1.0 - self.random.f64()).ln(),
            Ar1 => {
                self.last =
                    CORRELATION * self.last + (1.0 - CORRELATION * CORRELATION).sqrt() * self.normal();
                10.0 + self.last
            }
            Bimodal if self.random.f64() < 0.8 => 1.0 + 0.1 * self.normal(),
            Bimodal => 5.0 + 0.5 * self.normal(),
            HeavyTail => (1.0 - self.random.f64()).powf(-0.4),
            Drifting => 10.0 + self.rise * self.at as f64 / self.of as f64 + self.normal(),
        }
    }

    fn take(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.next()).collect()
    }

    /// A new trial does not remember the last one.
    fn forget(&mut self) {
        self.last = self.normal();
    }
}

/// The true mean; NaN where there is none.
fn true_mean(process: Process) -> f64 {
    match process {
        Independent => 1.0,
        Ar1 => 10.0,
        // 0.8 · 1 + 0.2 · 5
        Bimodal => 1.8,
        // 2.5 / 1.5
        HeavyTail => 2.5 / 1.5,
        Drifting => f64::NAN,
    }
}

/// Only 0.5 and 0.99. The normal quantiles are those of any table.
fn true_quantile(process: Process, q: f64) -> f64 {
    let z = |q: f64| {
        if q == 0.5 {
            0.0
        } else if q == 0.625 {
            0.318_639
        } else {
            2.326_348
        }
    };
    match process {
        Independent => -(1.0 - q).ln(),
        Ar1 => 10.0 + z(q),
        // The median has 0.5/0.8 of the lower part below it; above the 99th percentile is 0.01/0.2 = 5 % of the
        // upper.
        Bimodal if q == 0.5 => 1.0 + 0.1 * z(0.625),
        Bimodal => 5.0 + 0.5 * 1.644_854,
        HeavyTail => (1.0 - q).powf(-0.4),
        Drifting => f64::NAN,
    }
}

#[derive(Default)]
struct Outcome {
    stated: u64,
    held: u64,
    refused: u64,
    /// Sum of the halves, relative to the estimate.
    width: f64,
    why: std::collections::BTreeMap<String, u64>,
}

impl Outcome {
    fn add(&mut self, claim: Claim, truth: f64) {
        match claim {
            Ok(interval) => {
                self.stated += 1;
                self.held += u64::from((interval.low()..=interval.high()).contains(&truth));
                self.width += interval.half() / interval.estimate();
            }
            Err(refusal) => {
                self.refused += 1;
                let why = format!("{refusal:?}");
                let name = why.split([' ', '{']).next().unwrap_or_default().to_owned();
                *self.why.entry(name).or_default() += 1;
            }
        }
    }

    fn coverage(&self) -> f64 {
        self.held as f64 / self.stated as f64
    }

    fn refused_share(&self) -> f64 {
        self.refused as f64 / (self.refused + self.stated) as f64
    }
}

/// Runs the experiments, prints a row of the table and gives what came of it.
fn row(method: &str, process: Process, truth: f64, experiment: impl Fn(u64) -> Claim) -> Outcome {
    let mut outcome = Outcome::default();
    (0..EXPERIMENTS).for_each(|seed| outcome.add(experiment(seed), truth));
    let share = |part: f64| format!("{:.1} %", 100.0 * part);
    let coverage = if outcome.stated == 0 { "–".to_owned() } else { share(outcome.coverage()) };
    let width = if outcome.stated == 0 {
        "–".to_owned()
    } else {
        format!("±{}", share(outcome.width / outcome.stated as f64))
    };
    let why: Vec<String> = outcome.why.iter().map(|(why, count)| format!("{why} {count}")).collect();
    println!(
        "| {method} | {process:?} | {coverage} | {width} | {} | {} |",
        share(outcome.refused_share()),
        why.join(", ")
    );
    outcome
}

/// What is stated holds in 93 to 97 of a hundred; or nearly nothing is stated.
fn check(method: &str, process: Process, outcome: &Outcome) {
    if process == Drifting {
        assert!(
            outcome.refused_share() > 0.95,
            "{method}, {process:?}: only {} refused",
            outcome.refused_share()
        );
        return;
    }
    if outcome.refused_share() < 0.98 {
        let coverage = outcome.coverage();
        assert!((0.93..=0.97).contains(&coverage), "{method}, {process:?}: {coverage}");
    }
}

fn seed(experiment: u64, process: Process, method: u64) -> u64 {
    (method * 1_000 + process as u64) * 1_000_000 + experiment
}

/// Means of trials, one after another.
fn means_of_trials(process: Process, seed: u64, trials: usize, values: usize) -> impl Iterator<Item = f64> {
    let mut source = Source::new(process, seed, trials * values);
    std::iter::repeat_with(move || {
        source.forget();
        stats::mean(&source.take(values))
    })
    .take(trials)
}

#[test]
fn students_t_of_trial_means() {
    for trials in [5, 10, 30] {
        for process in ALL {
            let method = format!("Student's t, {trials} trials");
            let outcome = row(&method, process, true_mean(process), |experiment| {
                let means: Vec<f64> =
                    means_of_trials(process, seed(experiment, process, 1), trials, 500).collect();
                students::interval(&means)
            });
            check(&method, process, &outcome);
        }
    }
}

#[test]
fn order_statistics_of_one_trial() {
    for q in [0.5, 0.99] {
        for process in ALL {
            let method = format!("order statistics, p{}, 2 000 values", 100.0 * q);
            let outcome = row(&method, process, true_quantile(process, q), |experiment| {
                order::quantile(&Source::new(process, seed(experiment, process, 2), 2_000).take(2_000), q)
            });
            check(&method, process, &outcome);
        }
    }
}

#[test]
fn stretches_of_one_trial() {
    for q in [0.5, 0.99] {
        for process in ALL {
            let method = format!("stretches, p{}, 60 of 200 values", 100.0 * q);
            let outcome = row(&method, process, true_quantile(process, q), |experiment| {
                let values = Source::new(process, seed(experiment, process, 3), 12_000).take(12_000);
                let mut sorted = values.clone();
                sorted.sort_by(f64::total_cmp);
                let value_at = |share: f64| sorted[((share * 12_000.0).ceil() as usize).clamp(1, 12_000) - 1];
                let estimate = value_at(q);
                let stretch = |values: &[f64]| order::Stretch {
                    all: values.len() as u64,
                    above: values.iter().filter(|value| **value > estimate).count() as u64,
                };
                let stretches: Vec<order::Stretch> = values.chunks(200).map(stretch).collect();
                order::within(&stretches, q, value_at)
            });
            check(&method, process, &outcome);
        }
    }
}

/// Values within 0.1 %, as a histogram of three digits keeps them.
fn counted(values: Vec<f64>) -> Vec<(f64, u64)> {
    let mut counts = std::collections::BTreeMap::new();
    values.iter().for_each(|value| *counts.entry((value.ln() * 1_000.0).round() as i64).or_insert(0) += 1);
    counts.into_iter().map(|(at, count)| ((at as f64 / 1_000.0).exp(), count)).collect()
}

#[test]
fn bootstrap_of_trials() {
    for q in [0.5, 0.99] {
        for process in ALL {
            let method = format!("bootstrap, p{}, 10 trials of 1 000", 100.0 * q);
            let outcome = row(&method, process, true_quantile(process, q), |experiment| {
                let mut source = Source::new(process, seed(experiment, process, 4), 10_000);
                let mut trial = |_| {
                    source.forget();
                    counted(source.take(1_000))
                };
                let trials: Vec<_> = (0..10).map(&mut trial).collect();
                bootstrap::pooled_quantile(&trials, q)
            });
            check(&method, process, &outcome);
        }
    }
}

/// What happens in a second has many parts; only that of `Ar1` remembers the one before.
fn seconds(process: Process, seed: u64, count: usize) -> Vec<f64> {
    let parts = if process == Ar1 { 1 } else { 50 };
    let mut source = Source::new(process, seed, count * parts);
    (0..count).map(|_| stats::mean(&source.take(parts))).collect()
}

#[test]
fn batch_means_of_one_trial() {
    for count in [60, 300, 1_000] {
        for process in ALL {
            let method = format!("batch means, {count} seconds");
            let outcome = row(&method, process, true_mean(process), |experiment| {
                batch::interval(&seconds(process, seed(experiment, process, 5), count))
            });
            check(&method, process, &outcome);
        }
    }
}

#[test]
fn batch_means_after_the_warm_up() {
    for process in [Independent, Ar1, Bimodal] {
        let method = "MSER-5, then batch means, 1 000 seconds";
        let outcome = row(method, process, true_mean(process), |experiment| {
            let mut values = seconds(process, seed(experiment, process, 6), 1_000);
            // Starts three times as high and decays within some 30 values.
            values
                .iter_mut()
                .enumerate()
                .for_each(|(at, value)| *value *= 1.0 + 2.0 * (-(at as f64) / 10.0).exp());
            let cut = warmup::mser5(&values)?;
            batch::interval(&values[cut..])
        });
        check(method, process, &outcome);
    }
}

/// What no check of so few values sees; shown, not held against a limit (docs/statistics.md, "How often
/// intervals hold").
#[test]
fn what_cannot_be_seen() {
    for trials in [10, 30, 100] {
        row(&format!("Student's t, {trials} trials that depend on each other"), Ar1, 10.0, |experiment| {
            students::interval(&Source::new(Ar1, seed(experiment, Ar1, 8), trials).take(trials))
        });
    }
    row("batch means, 300 single values", HeavyTail, true_mean(HeavyTail), |experiment| {
        batch::interval(&Source::new(HeavyTail, seed(experiment, HeavyTail, 9), 300).take(300))
    });
}

#[test]
fn trials_until_the_mean_is_narrow() {
    for (process, share) in [
        (Independent, 0.05),
        (Independent, 0.03),
        (Independent, 0.02),
        (Ar1, 0.01),
        (Ar1, 0.005),
        (Bimodal, 0.05),
        (Bimodal, 0.03),
    ] {
        let method = format!("until ±{} %", share * 100.0);
        let until = sequential::Until::new(share, 5, 60);
        let outcome = row(&method, process, true_mean(process), |experiment| {
            let mut means = means_of_trials(process, seed(experiment, process, 7), until.most(), 500);
            let mut values = Vec::new();
            for trials in until.looks() {
                values.extend(means.by_ref().take(trials - values.len()));
                match until.look(trials, |level| students::interval_at(&values, level)) {
                    sequential::Look::Enough(interval) => return Ok(interval),
                    sequential::Look::NotEnough(claim) => return claim,
                    _ => {}
                }
            }
            unreachable!("the last look decides")
        });
        check(&method, process, &outcome);
    }
}
