//! Windows of a stored run: its intervals and their histograms are put together again and led past the
//! thresholds, as while it went on, so that a window has the value that it had then.

use crate::engine::INTERVAL;
use crate::http_engine::planned;
use measure::{IntervalData, IntervalRow, Judgement, Measuring, RunTotals, Series, Thresholds, WholeRun};
use plan::{Figure, Limit, Limits, PlanFile, Requests, Time};
use std::iter::Peekable;
use store::schema::Interval;
use store::{HlogEntry, Intervals, StoredRun};
use units::{Bytes, EngineCounters, Picos};

/// The log has whole milliseconds.
const MS: Picos = Picos::from_millis(1);
const ITSELF: &str = "give this limit when you run the load";

/// What became of a limit with a window. `times`: how many values the whole run has of the time that it limits.
pub fn judge(run: &StoredRun, limit: &Limit, times: Option<u64>) -> Result<Judgement, String> {
    let is_latency = matches!(limit.figure, Figure::Time(Time::Latency, _));
    if limit.name.is_some() && !is_latency {
        return Err(format!("in windows, a stored run has only the latency by name; {ITSELF}"));
    }
    if run.result.interval_rows_merged > 1 && matches!(run.intervals(), Intervals::Result(_)) {
        return Err("windows need the run's intervals.jsonl, which is missing".to_owned());
    }
    // The named group, and all others.
    let names: Vec<String> = limit.name.iter().flat_map(|name| [name.clone(), String::new()]).collect();
    let measuring = measured(run);
    let limits = Limits { fail_if: vec![limit.clone()], ..Limits::default() };
    let mut thresholds = Thresholds::new(&limits, &names, measuring).map_err(|error| error.to_string())?;
    let mut log = Log::of(run, limit);
    let (mut end, mut covered) = (None, Picos::ZERO);
    for (index, interval) in run.intervals().enumerate() {
        let mut row = row(index, &interval, names.len(), limit)?;
        if end.is_some_and(|end| row.start > end + MS) {
            return Err("windows need all intervals, but the run's intervals.jsonl lacks some".to_owned());
        }
        log.add_to(&mut row);
        let row_end = row.start + row.length;
        end = Some(row_end);
        covered += row_end.saturating_sub(row.start.max(measuring.from));
        thresholds.row(&row);
    }
    if times.is_some_and(|times| times != log.added) {
        return Err("windows need the run's latency.hlog, which is missing or incomplete".to_owned());
    }
    let whole = WholeRun::default();
    let judgement = thresholds.finish(&RunTotals::new(0), whole).pop().expect("there is one limit");
    match limit.window.filter(|window| judgement.value.is_none() && *window > covered) {
        Some(_) => Err(format!("the run has no window of this length: it was measured for {covered:#}")),
        None => Ok(judgement),
    }
}

/// When the measured part was: from the plan, or where that is not there, from what came of it. That also tells
/// whether recorded times went on until the plan's end: if not, the run is as long as its departures.
fn measured(run: &StoredRun) -> Measuring {
    let plan = PlanFile::from_toml(&run.plan, "plan.toml").and_then(PlanFile::resolve);
    let stored_from = nearest_nano(run.result.warmup.duration_s);
    let whole = !run.result.partial;
    let ended = whole.then(|| stored_from + nearest_nano(run.result.rate.duration_s));
    plan.map_or(Measuring { from: stored_from, until: ended, interval: INTERVAL }, |plan| {
        let from = plan.stop.warmup;
        Measuring { from, until: planned(&plan, ended).map(|planned| from + planned), interval: INTERVAL }
    })
}

/// Stored times have nine decimals.
fn nearest_nano(seconds: f64) -> Picos {
    Picos::from_nanos((seconds * 1e9).round() as u64)
}

/// One interval without its times.
fn row(index: usize, stored: &Interval, groups: usize, limit: &Limit) -> Result<IntervalRow, String> {
    let mut data = IntervalData::new(groups as u16);
    for outcome in &stored.outcomes {
        if let Some(ended) = outcome.outcome() {
            data.ended(ended, outcome.count);
        }
    }
    let told = data.tally.ended();
    let (done, failed, missed, cut_off) = (stored.done, stored.failed, stored.missed, stored.cut_off);
    let one_by_one = matches!(
        limit.figure,
        Figure::Requests(
            Requests::Errors
                | Requests::Status(..)
                | Requests::Error(_)
                | Requests::ErrorsIn(_)
                | Requests::MissedFor(_)
        )
    );
    if one_by_one && told != done + failed + missed + cut_off {
        return Err(format!("its intervals do not record how each request ended; {ITSELF}"));
    }
    let tally = &mut data.tally;
    (tally.done, tally.failed, tally.missed, tally.cut_off) = (done, failed, missed, cut_off);
    (tally.bytes_in, tally.bytes_out) = (Bytes::new(stored.bytes_in), Bytes::new(stored.bytes_out));
    Ok(IntervalRow {
        index: index as u64,
        start: nearest_nano(stored.t_s),
        length: nearest_nano(stored.length_s),
        data: Box::new(data),
        counters: EngineCounters { due: stored.offered, ..EngineCounters::default() },
        starved: 0,
        health: None,
    })
}

/// The lines of the log that a limit needs, in their order.
struct Log<'a> {
    lines: Peekable<Box<dyn Iterator<Item = HlogEntry> + 'a>>,
    series: Option<Series>,
    /// Values that were found; what never came to an answer is not among them.
    added: u64,
}

impl<'a> Log<'a> {
    fn of(run: &StoredRun, limit: &'a Limit) -> Self {
        let series = match limit.figure {
            Figure::Time(time, _) => Series::of_key(time.key()),
            _ => None,
        };
        let read = series.and_then(|_| store::read_hlog(&run.folder.join("latency.hlog")).ok());
        let unfinished = series.and_then(Series::unfinished);
        let wanted = move |line: &HlogEntry| {
            let of = Series::of_key(&line.series);
            (of == series || of.is_some() && of == unfinished)
                && line.group.as_deref() == limit.name.as_deref()
        };
        let lines: Box<dyn Iterator<Item = HlogEntry> + 'a> =
            Box::new(read.into_iter().flatten().filter(wanted));
        Self { lines: lines.peekable(), series, added: 0 }
    }

    /// The lines that begin with this row.
    fn add_to(&mut self, row: &mut IntervalRow) {
        let Some(series) = self.series else { return };
        while let Some(line) = self.lines.next_if(|line| line.start < row.start + MS) {
            if line.start + MS > row.start {
                let of = Series::of_key(&line.series).unwrap_or(series);
                self.added += if of == series { line.histogram.len() } else { 0 };
                row.data.stored_times(of, line.group.map(|_| 0), &line.histogram);
            }
        }
    }
}
