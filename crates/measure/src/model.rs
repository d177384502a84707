//! The data that leaves this crate: what one interval held, and what the whole run came to.
//!
//! A departure's outcome counts either in the warm-up or in the measured part, by its due time. The figures
//! (histograms, outcomes, groups) are of the measured part; the warm-up is a tally beside it.

use crate::health::HealthSample;
use crate::series::{
    DIGITS, Histogram, Series, SeriesSet, Summary, empty_histogram, merge_histogram, record_ns,
};
use serde::Serialize;
use std::ops::AddAssign;
use units::{Bytes, Cause, Event, Gauges, Group, Instant, Miss, Outcome, Phase, Picos};

/// Significant digits of the series' histograms, for those who write them out.
pub const HISTOGRAM_DIGITS: u8 = DIGITS;

/// Digits of a group's histogram: within 1 %.
const GROUP_DIGITS: u8 = 2;

/// How departures ended, in four sums, and their bytes of HTTP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub done: u64,
    pub failed: u64,
    pub missed: u64,
    pub cut_off: u64,
    pub bytes_out: Bytes,
    pub bytes_in: Bytes,
}

impl Tally {
    /// done + failed + missed + cut_off.
    pub fn ended(&self) -> u64 {
        self.done + self.failed + self.missed + self.cut_off
    }
    /// Those that left: done + failed + cut_off.
    pub fn sent(&self) -> u64 {
        self.done + self.failed + self.cut_off
    }

    #[inline]
    fn record(&mut self, event: &Event) {
        match event.outcome {
            Outcome::Status(_) => self.done += 1,
            Outcome::Failed(_) => self.failed += 1,
            Outcome::Missed(_) => self.missed += 1,
            Outcome::CutOff => self.cut_off += 1,
        }
        self.bytes_out += event.bytes_out;
        self.bytes_in += event.bytes_in;
    }
}

impl AddAssign for Tally {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.done += other.done;
        self.failed += other.failed;
        self.missed += other.missed;
        self.cut_off += other.cut_off;
        self.bytes_out += other.bytes_out;
        self.bytes_in += other.bytes_in;
    }
}

/// Counts of every single outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcomes {
    status: Box<[u64; 1000]>,
    failed: [u64; Cause::ALL.len()],
    missed: [u64; Miss::ALL.len()],
    cut_off: u64,
}

/// One line of `outcomes` in `result.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OutcomeCount {
    /// `status`, `error`, `missed` or `cut_off`.
    pub class: &'static str,
    /// `200`, `connect.refused`, `missed.no_port`, `cut_off`.
    pub key: String,
    pub count: u64,
}

impl Outcomes {
    pub fn new() -> Self {
        Self {
            status: Box::new([0; 1000]),
            failed: [0; Cause::ALL.len()],
            missed: [0; Miss::ALL.len()],
            cut_off: 0,
        }
    }

    /// `count` departures ended like this. A status over 999 counts as 0.
    #[inline]
    pub fn add(&mut self, outcome: Outcome, count: u64) {
        *match outcome {
            Outcome::Status(code) => &mut self.status[usize::from(if code < 1000 { code } else { 0 })],
            Outcome::Failed(cause) => &mut self.failed[cause.index()],
            Outcome::Missed(why) => &mut self.missed[why.index()],
            Outcome::CutOff => &mut self.cut_off,
        } += count;
    }

    pub fn of(&self, outcome: Outcome) -> u64 {
        match outcome {
            Outcome::Status(code) => self.status.get(usize::from(code)).copied().unwrap_or(0),
            Outcome::Failed(cause) => self.failed[cause.index()],
            Outcome::Missed(why) => self.missed[why.index()],
            Outcome::CutOff => self.cut_off,
        }
    }

    /// Answers whose status is `class`00 to `class`99.
    pub fn status_class(&self, class: u16) -> u64 {
        let from = usize::from(class) * 100;
        self.status.get(from..from + 100).map_or(0, |codes| codes.iter().sum())
    }

    /// Departures that the generator's own limits kept from leaving.
    pub fn missed_by_generator(&self) -> u64 {
        Miss::ALL.iter().filter(|why| why.is_generators()).map(|why| self.missed[why.index()]).sum()
    }

    /// Those that are not zero, statuses first.
    pub fn rows(&self) -> Vec<OutcomeCount> {
        let row = |class, key: String, count| OutcomeCount { class, key, count };
        let statuses = self.status.iter().enumerate().map(|(code, n)| row("status", code.to_string(), *n));
        let errors = Cause::ALL.iter().map(|c| row("error", c.key().to_owned(), self.failed[c.index()]));
        let missed = Miss::ALL.iter().map(|m| row("missed", m.key().to_owned(), self.missed[m.index()]));
        let cut_off = std::iter::once(row("cut_off", "cut_off".to_owned(), self.cut_off));
        statuses.chain(errors).chain(missed).chain(cut_off).filter(|row| row.count > 0).collect()
    }

    fn merge(&mut self, other: &Self) {
        let add = |into: &mut [u64], from: &[u64]| into.iter_mut().zip(from).for_each(|(a, b)| *a += b);
        add(&mut self.status[..], &other.status[..]);
        add(&mut self.failed, &other.failed);
        add(&mut self.missed, &other.missed);
        self.cut_off += other.cut_off;
    }

    fn clear(&mut self) {
        self.status.fill(0);
        self.failed.fill(0);
        self.missed.fill(0);
        self.cut_off = 0;
    }
}

impl Default for Outcomes {
    fn default() -> Self {
        Self::new()
    }
}

/// One name or URL group: how its departures ended, and the latency of its complete answers (within 1 %).
#[derive(Clone, Debug)]
pub struct GroupTally {
    pub tally: Tally,
    pub latency: Histogram<u64>,
}

/// What one thread learned within one interval, or several threads once merged.
#[derive(Clone, Debug)]
pub struct IntervalData {
    /// Histograms of the measured part.
    pub series: SeriesSet<u32>,
    /// Outcomes of the measured part, one by one and in sums.
    pub outcomes: Outcomes,
    pub tally: Tally,
    /// Sums of the warm-up.
    pub warmup: Tally,
    /// Departures that were given up together ([`units::Record::missed`]); also in `outcomes` and `tally`.
    pub bulk_missed: u64,
    /// The latest due time and the latest complete answer of the measured part; the epoch if there was none.
    pub last_due: Instant,
    pub last_done: Instant,
    /// Empty when there is only one group: then it is the whole.
    groups: Vec<(Tally, Histogram<u32>)>,
}

impl IntervalData {
    /// Room for `groups` groups, the last of which is «other»; with 0 or 1 none is kept apart.
    pub fn new(groups: u16) -> Self {
        let kept = if groups > 1 { usize::from(groups) } else { 0 };
        let group = || (Tally::default(), empty_histogram(Picos::from_millis(16), GROUP_DIGITS));
        Self {
            series: SeriesSet::new(),
            outcomes: Outcomes::new(),
            tally: Tally::default(),
            warmup: Tally::default(),
            bulk_missed: 0,
            last_due: Instant::EPOCH,
            last_done: Instant::EPOCH,
            groups: std::iter::repeat_with(group).take(kept).collect(),
        }
    }

    /// A departure of the measured part ended.
    #[inline]
    pub fn event(&mut self, event: &Event) {
        self.last_due = self.last_due.max(event.due);
        self.outcomes.add(event.outcome, 1);
        self.tally.record(event);
        if let (Some(lateness), Some(own)) = (event.lateness(), event.own_lateness()) {
            self.series.record(Series::Lateness, lateness);
            self.series.record(Series::OwnLateness, own);
        }
        match event.outcome {
            Outcome::Status(_) => {
                self.last_done = self.last_done.max(event.done);
                self.series.record(Series::Latency, event.latency());
                self.series.record(Series::Service, event.service());
                if event.first_byte != Instant::FAR {
                    self.series.record(Series::FirstByte, event.first_byte.since(event.sent));
                }
            }
            Outcome::Failed(_) => self.series.record(Series::Failed, event.latency()),
            Outcome::Missed(_) | Outcome::CutOff => {}
        }
        self.group(event);
    }

    #[inline]
    fn group(&mut self, event: &Event) {
        let Some(last) = self.groups.len().checked_sub(1) else { return };
        let (tally, latency) = &mut self.groups[usize::from(event.group.0).min(last)];
        tally.record(event);
        if matches!(event.outcome, Outcome::Status(_)) {
            record_ns(latency, event.latency().min(crate::series::LONGEST));
        }
    }

    /// A departure of the warm-up ended.
    pub fn warmup_event(&mut self, event: &Event) {
        self.warmup.record(event);
    }

    /// `count` departures were given up together.
    pub fn missed(&mut self, why: Miss, count: u64) {
        self.outcomes.add(Outcome::Missed(why), count);
        self.tally.missed += count;
        self.bulk_missed += count;
    }

    /// A phase of a connection's life took this long; phases of a single request are known from its event.
    pub fn phase(&mut self, phase: Phase, took: Picos) {
        let series = match phase {
            Phase::Lookup => Series::Lookup,
            Phase::Connect => Series::Connect,
            Phase::Tls => Series::Tls,
            Phase::Send | Phase::FirstByte | Phase::Body => return,
        };
        self.series.record(series, took);
    }

    /// Adds what another thread learned.
    pub fn merge(&mut self, other: &Self) {
        self.series.merge(&other.series);
        self.outcomes.merge(&other.outcomes);
        self.tally += other.tally;
        self.warmup += other.warmup;
        self.bulk_missed += other.bulk_missed;
        self.last_due = self.last_due.max(other.last_due);
        self.last_done = self.last_done.max(other.last_done);
        for (into, from) in self.groups.iter_mut().zip(&other.groups) {
            into.0 += from.0;
            merge_histogram(&mut into.1, &from.1);
        }
    }

    /// Forgets everything; keeps the memory.
    pub fn clear(&mut self) {
        self.series.clear();
        self.outcomes.clear();
        self.tally = Tally::default();
        self.warmup = Tally::default();
        self.bulk_missed = 0;
        (self.last_due, self.last_done) = (Instant::EPOCH, Instant::EPOCH);
        for (tally, latency) in &mut self.groups {
            *tally = Tally::default();
            latency.reset();
        }
    }
}

/// One interval of the whole run, all threads together. Handed to a sink, then its memory is used again.
#[derive(Clone, Debug)]
pub struct IntervalRow {
    /// Number of the interval, from 0 at the run's origin.
    pub index: u64,
    /// Its start after the origin, and its length (longer than usual when a thread handed over late).
    pub start: Picos,
    pub length: Picos,
    pub data: Box<IntervalData>,
    /// Running totals as gains within the interval, levels (`open`, `open_peak`, `connection_bytes`) as they
    /// are at its end, summed over threads.
    pub gauges: Gauges,
    /// Hand-overs that were late because no empty interval was at hand.
    pub starved: u64,
    /// The generator itself, where /proc could be read.
    pub health: Option<HealthSample>,
}

impl IntervalRow {
    /// Departures that fell into it: taken from the schedule, or given up together.
    pub fn offered(&self) -> u64 {
        self.gauges.offered + self.data.bulk_missed
    }
    /// The usual figures of one series.
    pub fn summary(&self, series: Series) -> Summary {
        self.data.series.summary(series)
    }
}

/// One column of the sparkline: counts, and the largest latency (percentiles cannot be merged, a maximum can).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SparkPoint {
    pub start: Picos,
    pub length: Picos,
    pub offered: u64,
    pub tally: Tally,
    pub latency_max: Picos,
    pub own_lateness_max: Picos,
}

/// The run over time in at most [`Spark::MOST`] points of equal weight: when it is full, neighbours merge.
#[derive(Clone, Debug, Default)]
pub struct Spark {
    points: Vec<SparkPoint>,
    /// Rows in each point, a power of two; 0 before the first.
    rows_per_point: u32,
    /// Rows in the last point.
    rows_in_last: u32,
}

impl Spark {
    /// The most points there ever are.
    pub const MOST: usize = 128;

    pub fn points(&self) -> &[SparkPoint] {
        &self.points
    }

    /// Adds one interval.
    pub fn push(&mut self, row: &IntervalRow) {
        let max = |series| {
            let histogram = row.data.series.of(series);
            Picos::from_nanos(if histogram.is_empty() { 0 } else { histogram.max() })
        };
        let mut tally = row.data.tally;
        tally += row.data.warmup;
        self.push_point(SparkPoint {
            start: row.start,
            length: row.length,
            offered: row.offered(),
            tally,
            latency_max: max(Series::Latency),
            own_lateness_max: max(Series::OwnLateness),
        });
    }

    fn push_point(&mut self, point: SparkPoint) {
        self.rows_per_point = self.rows_per_point.max(1);
        match self.points.last_mut() {
            Some(last) if self.rows_in_last < self.rows_per_point => {
                last.absorb(&point);
                self.rows_in_last += 1;
            }
            _ => {
                if self.points.len() == Self::MOST {
                    self.halve();
                    return self.push_point(point);
                }
                self.points.push(point);
                self.rows_in_last = 1;
            }
        }
    }

    fn halve(&mut self) {
        for i in 0..self.points.len() / 2 {
            let mut pair = self.points[2 * i];
            pair.absorb(&self.points[2 * i + 1]);
            self.points[i] = pair;
        }
        self.points.truncate(Self::MOST / 2);
        self.rows_in_last = self.rows_per_point * 2;
        self.rows_per_point *= 2;
    }
}

impl SparkPoint {
    fn absorb(&mut self, later: &Self) {
        self.length += later.length;
        self.offered += later.offered;
        self.tally += later.tally;
        self.latency_max = self.latency_max.max(later.latency_max);
        self.own_lateness_max = self.own_lateness_max.max(later.own_lateness_max);
    }
}

/// What the whole run came to, all threads together.
#[derive(Clone, Debug)]
pub struct RunTotals {
    /// Histograms of the measured part.
    pub series: SeriesSet<u64>,
    /// Outcomes of the measured part, one by one and in sums.
    pub outcomes: Outcomes,
    pub tally: Tally,
    /// Sums of the warm-up, excluded from every other figure.
    pub warmup: Tally,
    /// Departures given up together; also in `outcomes` and `tally`.
    pub bulk_missed: u64,
    /// Last gauges of each thread, summed (warm-up included).
    pub gauges: Gauges,
    /// Intervals merged, and hand-overs that were late.
    pub intervals: u64,
    pub starved: u64,
    /// Threads that ended without handing their last interval over.
    pub lost_threads: u64,
    /// From the start of the measured part to the last hand-over, the grace after the last departure included.
    pub measured: Picos,
    /// From the start of the measured part to the latest due time and to the latest complete answer: what
    /// offered and achieved rates are over. Zero if there was none.
    pub until_last_due: Picos,
    pub until_last_done: Picos,
    pub spark: Spark,
    groups: Vec<GroupTally>,
}

impl RunTotals {
    /// Room for `groups` groups, the last of which is «other».
    pub fn new(groups: u16) -> Self {
        let kept = if groups > 1 { usize::from(groups) } else { 0 };
        let group =
            || GroupTally { tally: Tally::default(), latency: empty_histogram(Picos::ZERO, GROUP_DIGITS) };
        Self {
            series: SeriesSet::new(),
            outcomes: Outcomes::new(),
            tally: Tally::default(),
            warmup: Tally::default(),
            bulk_missed: 0,
            gauges: Gauges::default(),
            intervals: 0,
            starved: 0,
            lost_threads: 0,
            measured: Picos::ZERO,
            until_last_due: Picos::ZERO,
            until_last_done: Picos::ZERO,
            spark: Spark::default(),
            groups: std::iter::repeat_with(group).take(kept).collect(),
        }
    }

    /// Adds the data of an interval. The measured part began at `measured_from`.
    pub fn merge(&mut self, data: &IntervalData, measured_from: Instant) {
        self.until_last_due = self.until_last_due.max(data.last_due.since(measured_from));
        self.until_last_done = self.until_last_done.max(data.last_done.since(measured_from));
        self.series.merge(&data.series);
        self.outcomes.merge(&data.outcomes);
        self.tally += data.tally;
        self.warmup += data.warmup;
        self.bulk_missed += data.bulk_missed;
        for (into, (tally, latency)) in self.groups.iter_mut().zip(&data.groups) {
            into.tally += *tally;
            merge_histogram(&mut into.latency, latency);
        }
    }

    /// The usual figures of one series.
    pub fn summary(&self, series: Series) -> Summary {
        self.series.summary(series)
    }

    /// One name or URL group; `None` when only one group was declared (then it is the whole).
    pub fn group(&self, group: Group) -> Option<&GroupTally> {
        self.groups.get(usize::from(group.0))
    }

    /// All groups that are kept apart, in the order of their indices; the last is «other».
    pub fn groups(&self) -> &[GroupTally] {
        &self.groups
    }

    /// Departures of the measured part: those counted by the engines and those given up together, less the
    /// warm-up's.
    pub fn offered(&self) -> u64 {
        self.offered_with_warmup().saturating_sub(self.warmup.ended())
    }

    /// Departures of the whole run, counted apart from their outcomes.
    pub fn offered_with_warmup(&self) -> u64 {
        self.gauges.offered + self.bulk_missed
    }

    /// Offered = done + failed + missed + cut_off over the whole run; `Err` with both sides otherwise.
    pub fn conservation(&self) -> Result<(), Imbalance> {
        let (offered, ended) = (self.offered_with_warmup(), self.tally.ended() + self.warmup.ended());
        if offered == ended { Ok(()) } else { Err(Imbalance { offered, ended }) }
    }
}

/// Departures and outcomes do not add up: a fault of the generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{offered} departures were offered but {ended} outcomes were recorded")]
pub struct Imbalance {
    pub offered: u64,
    pub ended: u64,
}
