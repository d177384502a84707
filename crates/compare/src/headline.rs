//! The figures of a group of trials, and what can be said of each: an interval, or why there is none.
//!
//! ```text
//! trial 1  warm-up cut │ rest ─► figures ─┐
//! trial 2  warm-up cut │ rest ─► figures ─┼─► a mean or a share: Student's t of the trials' values
//!   …                                     ├─► a percentile of a histogram: whole trials drawn again, their
//! INVALID ones are left out, and counted ─┘   histograms added
//!                                             a percentile that a trial gives as one number: the middle
//!                                             trial, by ranks
//! ```
//!
//! How each interval is made, and how often it holds: docs/statistics.md.

use crate::figure::{FIGURES, Figure, LOSS};
use crate::trial::Block;
use hdrhistogram::Histogram;
use serde::Serialize;
use stats::sequential::{Look, Until};
use stats::{Claim, bootstrap, claim, order, students, warmup};
use std::collections::BTreeMap;
use store::schema::{Interval, Word};
use store::{Distribution, RunResult, StoredRun};

/// A kind of figure.
#[derive(Clone, Copy, Debug)]
enum Of {
    /// One of [`FIGURES`], which is a mean or a total.
    Mean(&'static str),
    /// A percentile of which every trial has a histogram: its series in `latency.hlog`, and which.
    Percentile(&'static str, f64),
    /// A percentile that a trial has as one number only.
    Middle(fn(&RunResult) -> Option<f64>),
}

/// A figure that a group of trials is told by.
#[derive(Clone, Copy, Debug)]
pub struct Headline {
    /// `latency.p99`.
    pub name: &'static str,
    pub unit: &'static str,
    of: Of,
}

const fn headline(name: &'static str, unit: &'static str, of: Of) -> Headline {
    Headline { name, unit, of }
}

/// All of them, in the order in which they are shown.
pub const HEADLINES: [Headline; 25] = [
    headline("rate.achieved", "/s", Of::Mean("rate.achieved")),
    headline("errors", "share", Of::Mean("errors")),
    headline("net.mean", "ns", Of::Mean("net.mean")),
    headline("net.p50", "ns", Of::Percentile("net", 0.5)),
    headline("net.p90", "ns", Of::Percentile("net", 0.9)),
    headline("net.p99", "ns", Of::Percentile("net", 0.99)),
    headline("net.p99_9", "ns", Of::Percentile("net", 0.999)),
    headline("tare.p50", "ns", Of::Percentile("tare", 0.5)),
    headline("tare.p99", "ns", Of::Percentile("tare", 0.99)),
    headline("latency.mean", "ns", Of::Mean("latency.mean")),
    headline("latency.p50", "ns", Of::Percentile("latency", 0.5)),
    headline("latency.p90", "ns", Of::Percentile("latency", 0.9)),
    headline("latency.p99", "ns", Of::Percentile("latency", 0.99)),
    headline("latency.p99_9", "ns", Of::Percentile("latency", 0.999)),
    headline("service.p99", "ns", Of::Percentile("service", 0.99)),
    headline("lateness.p50", "ns", Of::Percentile("lateness", 0.5)),
    headline("lateness.p99", "ns", Of::Percentile("lateness", 0.99)),
    headline("gap_error.p50", "ns", Of::Percentile("gap_error", 0.5)),
    headline("gap_error.p99", "ns", Of::Percentile("gap_error", 0.99)),
    headline("arrived.gap_error.p50", "ns", Of::Middle(|run| gaps(run).map(|error| error.0))),
    headline("arrived.gap_error.p99", "ns", Of::Middle(|run| gaps(run).map(|error| error.1))),
    headline("arrived.one_way.p50", "ns", Of::Middle(|run| one_way(run).map(|spread| spread.0))),
    headline("arrived.one_way.p99", "ns", Of::Middle(|run| one_way(run).map(|spread| spread.1))),
    headline(LOSS, "share", Of::Mean(LOSS)),
    headline("cpu_per_million", "s", Of::Mean("cpu_per_million")),
];

fn gaps(run: &RunResult) -> Option<(f64, f64)> {
    let error = run.packets.as_ref()?.gaps.as_ref()?.error?;
    Some((error.p50_ns, error.p99_ns))
}

fn one_way(run: &RunResult) -> Option<(f64, f64)> {
    let spread = &run.packets.as_ref()?.received.as_ref()?.one_way_ns;
    (spread.count > 0).then_some((spread.p50, spread.p99))
}

/// The figure of this name. `latency.p99.9`, as people write it, is `latency.p99_9`.
pub fn named(name: &str) -> Option<&'static Headline> {
    let plain = name.trim().replace("p99.9", "p99_9").to_ascii_lowercase();
    HEADLINES.iter().find(|headline| headline.name == plain)
}

/// One trial of a group, and what it gives to the figures.
#[derive(Clone, Debug)]
pub struct Weighed {
    pub verdict: Word,
    pub partial: bool,
    /// Seconds after the plan's own warm-up that belong to one as well, or why nobody can say.
    pub warm_up: Result<f64, stats::Refusal>,
    result: RunResult,
    histograms: BTreeMap<String, Histogram<u64>>,
}

/// Every series that a headline needs.
fn is_wanted(series: &str) -> bool {
    let is_from = |of: &str| of == series || unfinished(of) == Some(series);
    HEADLINES.iter().any(|headline| matches!(headline.of, Of::Percentile(of, _) if is_from(of)))
}

/// The series of what would be in this one, had it come to an end: percentiles count that with the time that it
/// had.
fn unfinished(series: &str) -> Option<&'static str> {
    match series {
        "latency" => Some("unfinished"),
        "net" => Some("unfinished_net"),
        _ => None,
    }
}

impl Weighed {
    /// Of a stored run, less what MSER-5 finds to be its warm-up.
    pub fn of(run: &StoredRun) -> Self {
        let from = run.result.warmup.duration_s;
        let rows: Vec<Interval> =
            run.intervals().filter(|row| row.t_s + 1e-6 >= from && row.offered > 0).collect();
        let cut = warmup::mser5(&course(&rows));
        let mut weighed = Self {
            verdict: run.result.verdict.word,
            partial: run.result.partial,
            warm_up: Ok(0.0),
            result: run.result.clone(),
            histograms: BTreeMap::new(),
        };
        let kept = &rows[cut.as_ref().copied().unwrap_or(0)..];
        match kept.first().filter(|_| kept.len() < rows.len()) {
            Some(first) => {
                weighed.warm_up = Ok(first.t_s - from);
                weighed.read_histograms(run, first.t_s);
                weighed.keep_only(kept);
            }
            None => {
                weighed.warm_up = cut.map(|_| 0.0);
                weighed.read_histograms(run, 0.0);
            }
        }
        weighed
    }

    fn read_histograms(&mut self, run: &StoredRun, begins: f64) {
        const HALF: f64 = 1e-3;
        for entry in store::read_hlog(&run.folder.join("latency.hlog")).into_iter().flatten() {
            if entry.group.is_some() || entry.start.as_secs_f64() < begins - HALF || !is_wanted(&entry.series)
            {
                continue;
            }
            match self.histograms.get_mut(&entry.series) {
                // It grows as it must; what it cannot take is beyond any latency.
                Some(all) => _ = all.add(&entry.histogram),
                None => _ = self.histograms.insert(entry.series, entry.histogram),
            }
        }
        self.histograms.values_mut().for_each(|histogram| histogram.auto(true));
    }

    /// Totals, rate and mean latency of the rows that are left; what has no rows stays that of the whole trial.
    fn keep_only(&mut self, rows: &[Interval]) {
        let mut block = Block::of(rows);
        self.histograms.iter().for_each(|(series, histogram)| block.add(series, histogram));
        let left = block.into_result();
        self.result.totals = left.totals;
        self.result.outcomes = left.outcomes;
        self.result.rate = left.rate;
        self.result.latency_ns = left.latency_ns;
        self.result.net_ns = left.net_ns;
    }

    /// The figure of this trial alone.
    pub fn value(&self, headline: &Headline) -> Option<f64> {
        match headline.of {
            Of::Mean(name) => figure(name).and_then(|figure| figure.value(&self.result)),
            Of::Middle(of) => of(&self.result).filter(|value| value.is_finite()),
            Of::Percentile(series, q) => {
                let histogram = self.histograms.get(series).filter(|histogram| !histogram.is_empty())?;
                let Some(unfinished) = unfinished(series).and_then(|other| self.histograms.get(other)) else {
                    return Some(histogram.value_at_quantile(q) as f64);
                };
                let mut all = histogram.clone();
                all.add(unfinished).ok()?;
                Some(all.value_at_quantile(q) as f64)
            }
        }
    }

    fn counted(&self, series: &str) -> Vec<(f64, u64)> {
        let all = [Some(series), unfinished(series)];
        let all = all.into_iter().flatten().filter_map(|series| self.histograms.get(series));
        let pair = |bucket: hdrhistogram::iterators::IterationValue<u64>| {
            (bucket.value_iterated_to() as f64, bucket.count_at_value())
        };
        let mut counted: Vec<(f64, u64)> =
            all.flat_map(|histogram| histogram.iter_recorded().map(pair).collect::<Vec<_>>()).collect();
        counted.sort_by(|a, b| a.0.total_cmp(&b.0));
        counted
    }

    /// Whether the figure of this trial alone is only a lower bound.
    pub fn is_bound(&self, headline: &Headline) -> bool {
        is_bound(headline, &[self])
    }

    /// INVALID trials say what the generator can do, and a trial that was cut short is another one.
    pub fn counts(&self) -> bool {
        self.verdict != Word::Invalid && !self.partial
    }
}

fn figure(name: &str) -> Option<&'static Figure> {
    FIGURES.iter().find(|figure| figure.name == name)
}

/// What the seconds of a trial are held against each other by: the median latency if each has one, otherwise
/// the rate.
fn course(rows: &[Interval]) -> Vec<f64> {
    let medians: Option<Vec<f64>> =
        rows.iter().map(|row| Some(row.net_p50_ns.or(row.latency_p50_ns)? as f64)).collect();
    let rate = |row: &Interval| (row.done.max(row.sent)) as f64 / row.length_s.max(1e-9);
    medians.filter(|medians| !medians.is_empty()).unwrap_or_else(|| rows.iter().map(rate).collect())
}

/// A figure of all trials.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stated {
    pub name: &'static str,
    pub unit: &'static str,
    /// Of each trial that counts, in the order in which they ran.
    pub trials: Vec<f64>,
    /// Of all trials together: requests that never ended could reach it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_bound: bool,
    #[serde(serialize_with = "claim::as_json")]
    pub claim: Claim,
}

/// Every figure that all trials have, of those that count.
pub fn stated(trials: &[Weighed]) -> Vec<Stated> {
    HEADLINES.iter().filter_map(|headline| state(headline, trials)).collect()
}

fn state(headline: &Headline, trials: &[Weighed]) -> Option<Stated> {
    let counted: Vec<&Weighed> = trials.iter().filter(|trial| trial.counts()).collect();
    let values: Option<Vec<f64>> = counted.iter().map(|trial| trial.value(headline)).collect();
    let values = values.filter(|values| !values.is_empty())?;
    let is_bound = is_bound(headline, &counted);
    let claim = claim_at(headline, &counted, &values, stats::LEVEL);
    Some(Stated { name: headline.name, unit: headline.unit, trials: values, is_bound, claim })
}

fn is_bound(headline: &Headline, trials: &[&Weighed]) -> bool {
    let Of::Percentile(series, q) = headline.of else { return false };
    let Some(other) = unfinished(series) else { return false };
    let sum = |series: &str| {
        let mut all = Histogram::<u64>::new(3).expect("three digits are few enough");
        // It grows as it must; what it cannot take is beyond any latency.
        let of_each = trials.iter().filter_map(|trial| trial.histograms.get(series));
        of_each.for_each(|histogram| _ = all.add(histogram));
        all
    };
    Distribution::with_unfinished(&sum(series), Some(&sum(other))).is_bound(q)
}

fn claim_at(headline: &Headline, trials: &[&Weighed], values: &[f64], level: f64) -> Claim {
    match headline.of {
        // No headline is ever negative.
        Of::Mean(_) => students::interval_at(values, level).map(|interval| interval.not_below(0.0)),
        Of::Middle(_) => order::quantile_at(values, 0.5, level),
        Of::Percentile(..) if is_bound(headline, trials) => Err(stats::Refusal::LowerBound),
        Of::Percentile(series, q) => {
            let counted: Vec<Vec<(f64, u64)>> = trials.iter().map(|trial| trial.counted(series)).collect();
            bootstrap::pooled_quantile_at(&bootstrap::Pool::of(&counted), q, level)
        }
    }
}

impl Headline {
    /// Fewer trials give it no interval.
    pub fn least_trials(&self) -> usize {
        match self.of {
            Of::Mean(_) => 5,
            Of::Percentile(..) | Of::Middle(_) => bootstrap::LEAST,
        }
    }

    /// Whether the trials so far are enough for `until`.
    pub fn look(&self, until: &Until, trials: &[Weighed]) -> Look {
        let counted: Vec<&Weighed> = trials.iter().filter(|trial| trial.counts()).collect();
        let values: Option<Vec<f64>> = counted.iter().map(|trial| trial.value(self)).collect();
        until.look(counted.len(), |level| {
            let values = values.ok_or(stats::Refusal::NotMeasured)?;
            claim_at(self, &counted, &values, level)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    /// A run of one-second rows with these medians (ms) and counts.
    fn stored(rows: &[(u64, u64)]) -> StoredRun {
        let row = |(second, (median_ms, done)): (usize, &(u64, u64))| Interval {
            t_s: second as f64,
            length_s: 1.0,
            offered: *done,
            done: *done,
            latency_p50_ns: Some(median_ms * 1_000_000),
            ..Interval::default()
        };
        let intervals: Vec<Interval> = rows.iter().enumerate().map(row).collect();
        let mut result = RunResult { intervals, ..RunResult::default() };
        result.rate.achieved_per_s = 1.0;
        result.verdict.word = Word::Valid;
        StoredRun {
            folder: PathBuf::from("/nonexistent"),
            result,
            plan: String::new(),
            environment: String::new(),
        }
    }

    #[test]
    fn a_warm_up_is_cut_off_and_the_rest_is_the_figure() {
        // Ten slow seconds with few answers, then fifty with 100 each, by turns 10 and 11 ms.
        let rows: Vec<(u64, u64)> =
            (0..60).map(|second| if second < 10 { (50, 20) } else { (10 + second % 2, 100) }).collect();
        let weighed = Weighed::of(&stored(&rows));
        assert_eq!(weighed.warm_up, Ok(10.0));
        assert_eq!(weighed.value(named("rate.achieved").unwrap()), Some(100.0));
        let short = Weighed::of(&stored(&rows[..20]));
        assert!(matches!(short.warm_up, Err(stats::Refusal::TooFew { have: 20, need: 50, .. })));
        assert_eq!(short.value(named("rate.achieved").unwrap()), Some(1.0));
    }

    #[test]
    fn invalid_trials_are_left_out() {
        let trials: Vec<Weighed> = [100.0, 104.0, 98.0, 102.0, 500.0]
            .iter()
            .map(|rate| {
                let mut run = stored(&[]);
                run.result.rate.achieved_per_s = *rate;
                if *rate == 500.0 {
                    run.result.verdict.word = Word::Invalid;
                }
                Weighed::of(&run)
            })
            .collect();
        let stated = stated(&trials);
        assert_eq!(stated[0].name, "rate.achieved");
        assert_eq!(stated[0].trials, [100.0, 104.0, 98.0, 102.0]);
        // s = √(20/3) = 2.582, t(0.975; 3) = 3.182: 101 ± 4.108.
        let interval = stated[0].claim.as_ref().unwrap();
        assert!(interval.estimate() == 101.0 && (interval.half() - 4.108).abs() < 1e-3, "{interval}");
        assert!(named("Latency.p99.9").is_some() && named("latency").is_none());
    }
}
