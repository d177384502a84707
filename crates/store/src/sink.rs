//! Where rows go. One trait, one file for each kind of place.

use crate::error::StoreError;
use crate::schema::{Lost, RunResult, Series, StoreStatus};
use crate::series::BoundedIntervals;
use measure::IntervalRow;
use std::path::PathBuf;

/// Keeps what a run produces. Called in this order: `begin` once, `attach` (plan, environment), `row` each
/// interval, `end_rows` once, `attach` (report), `save` at least once. No call fails: what could not be kept is
/// in `result.store`.
pub trait Sink {
    /// The run is about to start. `result` says all that is known of it by then: what a run that is killed is
    /// told apart by (`begun.json`). Its groups are all there will be, in the order of their indices.
    fn begin(&mut self, result: &RunResult);

    /// One interval is over.
    fn row(&mut self, row: &IntervalRow);

    /// There are no more rows: puts intervals, sparkline and the state of the store into `result`.
    fn end_rows(&mut self, result: &mut RunResult);

    /// Keeps a whole document (`plan.toml`, `environment.json`, `report.html`).
    fn attach(&mut self, name: &'static str, contents: &[u8]);

    /// Keeps the result itself, and brings `result.store` up to date. Again: the later one counts.
    fn save(&mut self, result: &mut RunResult);

    /// Where people find it; `None` if it keeps nothing.
    fn place(&self) -> Option<String>;

    /// A path that leads to the folder while this is kept, also if the folder is moved.
    fn anchor(&self) -> Option<PathBuf> {
        None
    }

    /// The run's name; `None` if nothing gave it one.
    fn name(&self) -> Option<&str> {
        None
    }

    /// The run does not come about: nothing was sent, and nothing shall be left of it.
    fn discard(&mut self) {}
}

/// Keeps nothing on disk; the result in memory is as complete as with a folder.
#[derive(Debug, Default)]
pub struct NoFolder {
    intervals: BoundedIntervals,
    lost: Vec<Lost>,
}

impl NoFolder {
    /// `--no-save`.
    pub fn new() -> Self {
        Self::default()
    }

    /// A folder was wanted but could not be had; the result says why.
    pub fn instead_of(why: &StoreError) -> Self {
        let lost = Lost { what: "run folder".to_owned(), why: why.to_string() };
        Self { lost: vec![lost], ..Self::default() }
    }
}

impl Sink for NoFolder {
    fn begin(&mut self, _result: &RunResult) {}

    fn row(&mut self, row: &IntervalRow) {
        self.intervals.push(row.into());
    }

    fn end_rows(&mut self, result: &mut RunResult) {
        take_intervals(&mut self.intervals, result);
        self.save(result);
    }

    fn attach(&mut self, _name: &'static str, _contents: &[u8]) {}

    fn save(&mut self, result: &mut RunResult) {
        result.store = StoreStatus { lost: self.lost.clone(), ..StoreStatus::default() };
    }

    fn place(&self) -> Option<String> {
        None
    }
}

/// Moves the collected rows into the result, with the sparkline made of them.
pub(crate) fn take_intervals(from: &mut BoundedIntervals, result: &mut RunResult) {
    let (rows, merged) = std::mem::take(from).finish();
    result.series = Series::of(&rows);
    result.interval_rows_merged = merged;
    result.intervals = rows;
}
