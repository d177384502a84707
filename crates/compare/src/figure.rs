//! The figures that are compared, in one table: how a run's result gives one number, and which way is better.

use serde::Serialize;
use store::{Distribution, RunResult};

/// How a figure's trials are tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// A mean or a total of a trial: Welch's t of the trials.
    Means,
    /// A percentile of a trial: ranks of the trials. Percentiles are never averaged.
    Percentiles,
}

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    Lower,
    Higher,
}

/// One kind of number that every trial has.
#[derive(Debug)]
pub struct Figure {
    /// `latency.p99`, as thresholds call it.
    pub name: &'static str,
    /// `ns`, `/s`, `share`, `s`.
    pub unit: &'static str,
    pub family: Family,
    pub better: Better,
    /// `None` where the run did not measure it.
    pub of: fn(&RunResult) -> Option<f64>,
    /// Whether that is only a lower bound: requests that never ended could reach it.
    pub is_bound: fn(&RunResult) -> bool,
}

impl PartialEq for Figure {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

fn latency(run: &RunResult, pick: fn(&Distribution) -> f64) -> Option<f64> {
    (!run.latency_ns.is_empty()).then(|| pick(&run.latency_ns))
}

fn net(run: &RunResult, pick: fn(&Distribution) -> f64) -> Option<f64> {
    (!run.net_ns.is_empty()).then(|| pick(&run.net_ns))
}

fn service(run: &RunResult) -> Option<f64> {
    (!run.service_ns.is_empty()).then_some(run.service_ns.p99 as f64)
}

fn errors(run: &RunResult) -> Option<f64> {
    let all = run.totals.offered;
    let errors: u64 = run.outcomes.iter().filter(|row| row.is_error()).map(|row| row.count).sum();
    (all > 0).then(|| errors as f64 / all as f64)
}

const fn mean(
    name: &'static str,
    unit: &'static str,
    better: Better,
    of: fn(&RunResult) -> Option<f64>,
) -> Figure {
    Figure { name, unit, family: Family::Means, better, of, is_bound: |_| false }
}

/// Of complete responses: where one in a hundred never came to an end, that of all is larger.
const fn mean_time(
    name: &'static str,
    of: fn(&RunResult) -> Option<f64>,
    is_bound: fn(&RunResult) -> bool,
) -> Figure {
    Figure { name, unit: "ns", family: Family::Means, better: Better::Lower, of, is_bound }
}

const fn percentile(
    name: &'static str,
    of: fn(&RunResult) -> Option<f64>,
    is_bound: fn(&RunResult) -> bool,
) -> Figure {
    Figure { name, unit: "ns", family: Family::Percentiles, better: Better::Lower, of, is_bound }
}

/// All of them, in the order in which they are shown.
pub const FIGURES: [Figure; 11] = [
    mean("rate.achieved", "/s", Better::Higher, |run| Some(run.rate.achieved_per_s)),
    mean("errors", "share", Better::Lower, errors),
    mean_time("net.mean", |run| net(run, |net| net.mean), |run| run.net_ns.is_bound(0.99)),
    percentile("net.p99", |run| net(run, |net| net.p99 as f64), |run| run.net_ns.is_bound(0.99)),
    mean_time("latency.mean", |run| latency(run, |all| all.mean), |run| run.latency_ns.is_bound(0.99)),
    percentile("latency.p50", |run| latency(run, |all| all.p50 as f64), |run| run.latency_ns.is_bound(0.5)),
    percentile("latency.p90", |run| latency(run, |all| all.p90 as f64), |run| run.latency_ns.is_bound(0.9)),
    percentile("latency.p99", |run| latency(run, |all| all.p99 as f64), |run| run.latency_ns.is_bound(0.99)),
    percentile(
        "latency.p99_9",
        |run| latency(run, |all| all.p99_9 as f64),
        |run| run.latency_ns.is_bound(0.999),
    ),
    percentile("service.p99", service, |run| run.service_ns.is_bound(0.99)),
    mean("cpu_per_million", "s", Better::Lower, |run| run.generator.cpu_s_per_million),
];

/// The figure of this name. `latency.p99.9`, as people write it, is `latency.p99_9`.
pub fn figure(name: &str) -> Option<&'static Figure> {
    let plain = |name: &str| name.trim().replace("p99.9", "p99_9").to_ascii_lowercase();
    FIGURES.iter().find(|figure| figure.name == plain(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::schema::{OutcomeCount, Totals};

    #[test]
    fn what_was_not_measured_is_no_figure() {
        let nothing = RunResult::default();
        let found: Vec<&str> = FIGURES
            .iter()
            .filter(|figure| (figure.of)(&nothing).is_some())
            .map(|figure| figure.name)
            .collect();
        assert_eq!(found, ["rate.achieved"]);
    }

    #[test]
    fn errors_are_what_failed_or_was_answered_with_400_or_more_of_all_offered() {
        let totals = Totals { offered: 200, done: 190, failed: 6, missed: 4, ..Totals::default() };
        let row = |(class, key, count): (&str, &str, u64)| OutcomeCount {
            class: class.into(),
            key: key.into(),
            count,
        };
        let outcomes = [
            ("status", "200", 180),
            ("status", "399", 2),
            ("status", "400", 3),
            ("status", "503", 5),
            ("error", "connect.refused", 6),
            ("missed", "missed.no_port", 4),
        ];
        let run = RunResult { totals, outcomes: outcomes.map(row).to_vec(), ..RunResult::default() };
        // 3 + 5 + 6 of 200.
        assert_eq!((figure("errors").unwrap().of)(&run), Some(0.07));
        assert_eq!(figure("Latency.p99.9").unwrap().name, "latency.p99_9");
        assert!(figure("latency").is_none());
    }
}
