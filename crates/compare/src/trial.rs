//! One trial: a stored run, boiled down to what a comparison needs of it.

use crate::figure::{FIGURES, Figure};
use hdrhistogram::Histogram;
use std::path::PathBuf;
use store::schema::{InputFile, Interval, Word};
use store::{Distribution, RunResult, StoredRun};

/// Blocks into which one trial is cut to learn how much its figures move.
const BLOCKS: usize = 10;
const LOG: &str = "latency.hlog";

/// A stored run among others.
#[derive(Clone, Debug, Default)]
pub struct Trial {
    pub name: String,
    pub folder: PathBuf,
    /// RFC 3339, UTC.
    pub started_at: String,
    pub engine: String,
    pub plan_hash: String,
    pub plan: String,
    /// Files that the load was made of.
    pub inputs: Vec<InputFile>,
    pub environment: String,
    pub verdict: Word,
    pub partial: bool,
    /// Its load was changed by hand while it ran.
    pub steered: bool,
    /// Its times are those of a simulation.
    pub simulated: bool,
    /// One for each of [`FIGURES`].
    pub values: Vec<Option<f64>>,
    /// Whether each of those is only a lower bound.
    pub bounds: Vec<bool>,
    /// How much each would move from one such trial to the next, relative to its size, as far as this trial
    /// alone can tell; empty unless it was asked for.
    pub spreads: Vec<Option<f64>>,
}

impl Trial {
    pub fn of(run: &StoredRun) -> Self {
        let result = &run.result;
        Self {
            name: result.run.clone(),
            folder: run.folder.clone(),
            started_at: result.started_at.clone(),
            engine: result.engine.clone(),
            plan_hash: result.plan_hash.clone(),
            plan: run.plan.clone(),
            inputs: result.inputs.clone(),
            environment: run.environment.clone(),
            verdict: result.verdict.word,
            partial: result.partial,
            steered: result.is_steered(),
            simulated: result.is_simulated(),
            values: FIGURES.iter().map(|figure| figure.value(result)).collect(),
            bounds: FIGURES.iter().map(|figure| (figure.is_bound)(result)).collect(),
            spreads: Vec::new(),
        }
    }

    /// The same, with the spreads that its intervals tell of.
    pub fn with_spreads(run: &StoredRun) -> Self {
        Self { spreads: spreads(run), ..Self::of(run) }
    }

    pub fn value(&self, figure: &Figure) -> Option<f64> {
        let at = FIGURES.iter().position(|other| other == figure)?;
        self.values.get(at).copied().flatten()
    }

    pub fn is_bound(&self, figure: &Figure) -> bool {
        let at = FIGURES.iter().position(|other| other == figure);
        at.and_then(|at| self.bounds.get(at)).copied().unwrap_or(false)
    }

    pub fn spread(&self, figure: &Figure) -> Option<f64> {
        let at = FIGURES.iter().position(|other| other == figure)?;
        self.spreads.get(at).copied().flatten()
    }
}

/// A figure of the whole run is about as exact as the mean of its blocks: their standard deviation over the
/// root of their number (the method of batch means). What moves only between runs (the machine's state, memory
/// layout, other work) is not in it, so it is a lower bound.
fn spreads(run: &StoredRun) -> Vec<Option<f64>> {
    let blocks = blocks(run);
    let spread = |figure: &Figure| {
        let values: Vec<f64> = blocks.iter().filter_map(|block| figure.value(block)).collect();
        let mean = stats::mean(&values);
        (values.len() >= 3 && mean > 0.0)
            .then(|| (stats::variance(&values) / values.len() as f64).sqrt() / mean)
    };
    FIGURES.iter().map(spread).collect()
}

/// The measured part in about [`BLOCKS`] pieces of the same length, each with its rate, errors, latency and
/// net.
fn blocks(run: &StoredRun) -> Vec<RunResult> {
    let from = run.result.warmup.duration_s;
    let rows: Vec<Interval> =
        run.intervals().filter(|row| row.t_s + 1e-6 >= from && row.offered > 0).collect();
    let size = rows.len().div_ceil(BLOCKS).max(1);
    let mut blocks: Vec<Block> = rows.chunks_exact(size).map(Block::of).collect();
    // Without its log a run has no latency by block: what is left is its rate.
    for entry in store::read_hlog(&run.folder.join(LOG)).into_iter().flatten() {
        let at = entry.start.as_secs_f64();
        let block = blocks.iter_mut().find(|block| (block.from..block.to).contains(&at));
        if let Some(block) = block.filter(|_| entry.group.is_none()) {
            block.add(&entry.series, &entry.histogram);
        }
    }
    blocks.into_iter().map(Block::into_result).collect()
}

pub(crate) struct Block {
    /// Starts of the intervals that are in it: from, and up to.
    from: f64,
    to: f64,
    result: RunResult,
    latency: Histogram<u64>,
    net: Histogram<u64>,
}

impl Block {
    pub(crate) fn of(rows: &[Interval]) -> Self {
        const HALF: f64 = 1e-3;
        let mut result = RunResult::default();
        for row in rows {
            result.totals.offered += row.offered;
            result.totals.sent += row.sent;
            result.totals.done += row.done;
            result.totals.failed += row.failed;
            result.totals.missed += row.missed;
            result.outcomes.extend(row.outcomes.iter().cloned());
            result.rate.duration_s += row.length_s;
        }
        if result.rate.duration_s > 0.0 {
            result.rate.achieved_per_s = result.totals.done as f64 / result.rate.duration_s;
        }
        let from = rows.first().map_or(0.0, |row| row.t_s) - HALF;
        let to = rows.last().map_or(0.0, |row| row.t_s + row.length_s) - HALF;
        let empty = || Histogram::new(3).expect("three digits are few enough");
        Self { from, to, result, latency: empty(), net: empty() }
    }

    /// The values of a series of `latency.hlog`, if the blocks are made of it.
    pub(crate) fn add(&mut self, series: &str, histogram: &Histogram<u64>) {
        // It grows as it must; what it cannot take is beyond any latency.
        let _ = match series {
            "latency" => self.latency.add(histogram),
            "net" => self.net.add(histogram),
            _ => Ok(()),
        };
    }

    pub(crate) fn into_result(mut self) -> RunResult {
        self.result.latency_ns = Distribution::of(&self.latency);
        self.result.net_ns = Distribution::of(&self.net);
        self.result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::figure;

    fn stored(rows: impl Iterator<Item = u64>) -> StoredRun {
        let intervals = rows.enumerate().map(|(second, done)| Interval {
            t_s: second as f64,
            length_s: 1.0,
            offered: done,
            done,
            ..Interval::default()
        });
        let result = RunResult { intervals: intervals.collect(), ..RunResult::default() };
        let folder = PathBuf::from("/nonexistent");
        StoredRun { folder, result, plan: String::new(), environment: String::new() }
    }

    #[test]
    fn spread_of_the_rate_by_hand() {
        // Twelve rows make six blocks of two: rates 95, 105, 95, 105, 95, 105; mean 100, s² = 30, √(s²/6)/100 =
        // 0.022361.
        let run = stored([90, 100, 100, 110, 90, 100, 100, 110, 90, 100, 100, 110].into_iter());
        let rate = figure("rate.achieved").unwrap();
        let trial = Trial::with_spreads(&run);
        assert!((trial.spread(rate).unwrap() - 0.022_360_7).abs() < 1e-6, "{:?}", trial.spread(rate));
        assert_eq!(trial.spread(figure("latency.p99").unwrap()), None);
    }

    #[test]
    fn a_short_run_tells_nothing_of_its_spread() {
        assert!(Trial::with_spreads(&stored([90, 100].into_iter())).spreads.iter().all(Option::is_none));
        assert!(Trial::of(&stored([90; 20].into_iter())).spreads.is_empty());
    }
}
