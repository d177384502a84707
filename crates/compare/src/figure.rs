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
    /// `None` where the run did not measure it. It may be no number where a stored result lacks it:
    /// [`Self::value`].
    pub of: fn(&RunResult) -> Option<f64>,
    /// Whether that is only a lower bound: requests that never ended could reach it.
    pub is_bound: fn(&RunResult) -> bool,
}

impl Figure {
    /// What the run has of it; a figure that a stored result lacks is none.
    pub fn value(&self, run: &RunResult) -> Option<f64> {
        (self.of)(run).filter(|value| value.is_finite())
    }
}

impl PartialEq for Figure {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

fn mean_of(times: &Distribution) -> Option<f64> {
    (!times.is_empty()).then_some(times.mean)
}

/// Only of runs with responses: without one there are but bounds.
fn at(times: &Distribution, share: f64) -> Option<f64> {
    (!times.is_empty()).then(|| times.percentile(share))?.map(|value| value as f64)
}

fn errors(run: &RunResult) -> Option<f64> {
    let all = run.totals.offered;
    let errors: u64 = run.outcomes.iter().filter(|row| row.is_error()).map(|row| row.count).sum();
    (all > 0).then(|| errors as f64 / all as f64)
}

/// Of the frames that were expected, those that were lost on the way.
fn loss(run: &RunResult) -> Option<f64> {
    let received = run.packets.as_ref()?.received.as_ref()?;
    let all = received.signed + received.lost;
    (all > 0).then(|| received.lost as f64 / all as f64)
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

/// The share of frames that were lost on the way.
pub const LOSS: &str = "arrived.loss";

/// All of them, in the order in which they are shown.
pub const FIGURES: [Figure; 12] = [
    mean("rate.achieved", "/s", Better::Higher, |run| Some(run.rate.achieved_per_s)),
    mean("errors", "share", Better::Lower, errors),
    mean(LOSS, "share", Better::Lower, loss),
    mean_time("net.mean", |run| mean_of(&run.net_ns), |run| run.net_ns.is_bound(0.99)),
    percentile("net.p99", |run| at(&run.net_ns, 0.99), |run| run.net_ns.is_bound(0.99)),
    mean_time("latency.mean", |run| mean_of(&run.latency_ns), |run| run.latency_ns.is_bound(0.99)),
    percentile("latency.p50", |run| at(&run.latency_ns, 0.5), |run| run.latency_ns.is_bound(0.5)),
    percentile("latency.p90", |run| at(&run.latency_ns, 0.9), |run| run.latency_ns.is_bound(0.9)),
    percentile("latency.p99", |run| at(&run.latency_ns, 0.99), |run| run.latency_ns.is_bound(0.99)),
    percentile("latency.p99_9", |run| at(&run.latency_ns, 0.999), |run| run.latency_ns.is_bound(0.999)),
    percentile("service.p99", |run| at(&run.service_ns, 0.99), |run| run.service_ns.is_bound(0.99)),
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
    fn what_a_stored_result_lacks_is_no_figure() {
        let text = r#"{"latency_ns":{"count":9,"mean":null,"p50":7,"max":8},"rate":{"achieved_per_s":null}}"#;
        let run: RunResult = serde_json::from_str(text).unwrap();
        let value = |name| figure(name).unwrap().value(&run);
        assert_eq!(value("latency.p50"), Some(7.0));
        for name in ["latency.mean", "latency.p99", "rate.achieved"] {
            assert_eq!(value(name), None, "{name}");
        }
    }

    #[test]
    fn loss_is_the_share_of_the_frames_expected_that_were_lost_on_the_way() {
        let received = |signed: u64, lost: u64| {
            let text = format!(r#"{{"packets":{{"received":{{"signed":{signed},"lost":{lost}}}}}}}"#);
            figure(LOSS).unwrap().value(&serde_json::from_str(&text).unwrap())
        };
        assert_eq!([received(75, 25), received(0, 9), received(0, 0)], [Some(0.25), Some(1.0), None]);
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
