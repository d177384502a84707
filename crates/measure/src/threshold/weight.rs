//! What one limit needs of a stretch of time, and the value that it makes of it.

use super::WholeRun;
use crate::interval::{GROUP_DIGITS, IntervalRow};
use crate::series::{
    HISTOGRAM_DIGITS, Histogram, Series, empty_histogram, is_known, merge_histogram, quantile_between,
};
use crate::tally::{Outcomes, Tally};
use crate::totals::RunTotals;
use hdrhistogram::Counter;
use plan::{Bound, Figure, Limit, Requests, Statistic, Time, Way};
use units::{Cause, Outcome, Picos};

/// What a figure comes to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// In the unit of the limit's bound.
    pub value: f64,
    /// What never came to an answer could make it as large as this, which may be infinite.
    pub most: f64,
    /// It could make it larger by so much that the value is a lower bound.
    pub is_bound: bool,
}

impl Reading {
    pub const fn exact(value: f64) -> Self {
        Self { value, most: value, is_bound: false }
    }

    /// Nobody knows how much more.
    pub const fn at_least(value: f64) -> Self {
        Self { value, most: f64::INFINITY, is_bound: true }
    }

    /// A quantile of times (1 is the largest), with what is unfinished among them; `None` if there is neither.
    pub fn of<C: Counter, D: Counter>(
        times: &Histogram<C>,
        unfinished: Option<&Histogram<D>>,
        quantile: f64,
    ) -> Option<Self> {
        match unfinished.filter(|unfinished| !unfinished.is_empty()) {
            None => (!times.is_empty())
                .then(|| Self::exact(times.value_at_quantile(quantile).min(times.max()) as f64)),
            Some(unfinished) => {
                let between = quantile_between(times, unfinished, quantile);
                let most = between.1.map_or(f64::INFINITY, |most| most as f64);
                Some(Self { value: between.0 as f64, most, is_bound: !is_known(between) })
            }
        }
    }

    /// How sure it is that the condition is true.
    pub fn meets(self, limit: &Limit) -> Met {
        let is_met = |value| limit.comparison.is_met(value, limit.bound.as_f64());
        match (is_met(self.value), is_met(self.most)) {
            (true, true) => Met::Surely,
            (false, false) => Met::No,
            _ => Met::Perhaps,
        }
    }
}

/// Whether a condition is true; a limit holds only where it is certain that it is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Met {
    No,
    /// What never came to an answer decides, and nobody knows how long it would have taken.
    Perhaps,
    Surely,
}

/// Times, or a part and its whole, over some length of time. Adds up.
#[derive(Clone, Debug)]
pub(super) struct Weight<C: Counter> {
    times: Option<Histogram<C>>,
    /// The time that those had which never came to an answer; of times that they would be among.
    unfinished: Option<Histogram<C>>,
    /// Requests or bytes of the figure.
    part: u64,
    /// What a share is of: departures that ended; for the achieved rate, those offered.
    whole: u64,
    pub length: Picos,
}

impl<C: Counter> Weight<C> {
    /// Of nothing.
    pub fn new(limit: &Limit, group: Option<usize>) -> Self {
        let digits = if group.is_some() { GROUP_DIGITS } else { HISTOGRAM_DIGITS };
        let is_time = matches!(limit.figure, Figure::Time(..));
        let empty = || empty_histogram(Picos::ZERO, digits);
        let has_unfinished =
            matches!(limit.figure, Figure::Time(time, _) if series(time).unfinished().is_some());
        let (times, unfinished) = (is_time.then(empty), has_unfinished.then(empty));
        Self { times, unfinished, part: 0, whole: 0, length: Picos::ZERO }
    }

    pub fn of_row(limit: &Limit, group: Option<usize>, row: &IntervalRow) -> Self {
        let mut weight = Self::new(limit, group);
        weight.length = row.length;
        let data = &row.data;
        let tally = group.and_then(|group| data.groups.get(group)).map_or(&data.tally, |group| &group.tally);
        match limit.figure {
            Figure::Time(time, _) => match group.and_then(|group| data.groups.get(group)) {
                Some(group) => weight.add_times(&group.latency, Some(&group.unfinished)),
                None => {
                    let series = series(time);
                    weight.add_times(data.series.of(series), data.series.unfinished(series));
                }
            },
            Figure::Requests(requests) => {
                weight.part = counted(requests, tally, &data.outcomes);
                weight.whole = tally.ended();
            }
            Figure::Offered => weight.part = row.offered(),
            Figure::Achieved => (weight.part, weight.whole) = (tally.done, row.offered()),
            Figure::Bytes(way) => weight.part = bytes(way, tally),
        }
        weight
    }

    fn add_times<D: Counter>(&mut self, times: &Histogram<D>, unfinished: Option<&Histogram<D>>) {
        if let Some(into) = &mut self.times {
            merge_histogram(into, times);
        }
        if let (Some(into), Some(from)) = (&mut self.unfinished, unfinished) {
            merge_histogram(into, from);
        }
    }

    pub fn merge<D: Counter>(&mut self, other: &Weight<D>) {
        if let Some(times) = &other.times {
            self.add_times(times, other.unfinished.as_ref());
        }
        self.part += other.part;
        self.whole += other.whole;
        self.length += other.length;
    }

    /// How many values it is made of.
    pub fn samples(&self) -> u64 {
        let unfinished = self.unfinished.as_ref().map_or(0, Histogram::len);
        self.times.as_ref().map_or(self.whole, |times| times.len() + unfinished).max(u64::from(self.part > 0))
    }

    /// In the unit of the limit's bound; `None` of nothing.
    pub fn value(&self, limit: &Limit) -> Option<Reading> {
        let ratio = |part: f64, whole: f64| (whole > 0.0).then(|| Reading::exact(part / whole));
        match (limit.figure, limit.bound) {
            (Figure::Time(_, statistic), _) => {
                self.times.as_ref().and_then(|times| read(times, self.unfinished.as_ref(), statistic))
            }
            (_, Bound::Share(_)) => ratio(self.part as f64, self.whole as f64),
            (_, Bound::Rate(_) | Bound::BytesPerSecond(_)) => {
                ratio(self.part as f64, self.length.as_secs_f64())
            }
            (_, Bound::Time(_) | Bound::Count(_) | Bound::Bytes(_)) => Some(Reading::exact(self.part as f64)),
        }
    }
}

/// The value of the whole run: the figure that `result.json` shows.
pub(super) fn of_whole_run(
    limit: &Limit,
    group: Option<usize>,
    totals: &RunTotals,
    whole: WholeRun,
) -> Option<Reading> {
    let named = group.and_then(|group| totals.groups().get(group));
    let tally = named.map_or(&totals.tally, |group| &group.tally);
    let per_second = |count: u64, over: Picos| (!over.is_zero()).then(|| count as f64 / over.as_secs_f64());
    let of = |count: u64, over| match limit.bound {
        Bound::Rate(_) | Bound::BytesPerSecond(_) => per_second(count, over),
        Bound::Share(_) => (tally.ended() > 0).then(|| count as f64 / tally.ended() as f64),
        Bound::Time(_) | Bound::Count(_) | Bound::Bytes(_) => Some(count as f64),
    };
    let value = match limit.figure {
        Figure::Time(time, statistic) => {
            return match named {
                Some(group) => read(&group.latency, Some(&group.unfinished), statistic),
                None => {
                    let series = series(time);
                    read(totals.series.of(series), totals.series.unfinished(series), statistic)
                }
            };
        }
        Figure::Requests(requests) => of(counted(requests, tally, &totals.outcomes), whole.offering),
        Figure::Offered => of(totals.offered(), whole.offering),
        Figure::Bytes(way) => of(bytes(way, tally), whole.until_last),
        Figure::Achieved => {
            let achieved = per_second(whole.answered.get(), whole.answering)?;
            match limit.bound {
                Bound::Share(_) => {
                    let offered = per_second(totals.offered(), whole.offering)?;
                    (offered > 0.0).then(|| achieved / offered)
                }
                _ => Some(achieved),
            }
        }
    };
    value.map(Reading::exact)
}

/// A statistic as `result.json` has it: whole nanoseconds, mean and deviation to a tenth. What never came to an
/// answer counts in percentiles and in the maximum with the time that it had.
fn read<C: Counter, D: Counter>(
    times: &Histogram<C>,
    unfinished: Option<&Histogram<D>>,
    statistic: Statistic,
) -> Option<Reading> {
    let tenth = |nanos: f64| Reading::exact((nanos * 10.0).round() / 10.0);
    let of_answers = |value: Reading| (!times.is_empty()).then_some(value);
    match statistic {
        Statistic::Mean => of_answers(tenth(times.mean())),
        Statistic::Stdev => of_answers(tenth(times.stdev())),
        Statistic::Min => of_answers(Reading::exact(times.min() as f64)),
        Statistic::Max => Reading::of(times, unfinished, 1.0),
        Statistic::Percentile(percentile) => Reading::of(times, unfinished, percentile.quantile()),
    }
}

fn series(time: Time) -> Series {
    match time {
        Time::Net => Series::Net,
        Time::Tare => Series::Tare,
        Time::Unread => Series::Unread,
        Time::Latency => Series::Latency,
        Time::Service => Series::Service,
        Time::Lateness => Series::Lateness,
        Time::OwnLateness => Series::OwnLateness,
        Time::Lookup => Series::Lookup,
        Time::Connect => Series::Connect,
        Time::Tls => Series::Tls,
        Time::Ready => Series::Ready,
        Time::FirstByte => Series::FirstByte,
        Time::FirstResponse => Series::FirstResponse,
        Time::Body => Series::Body,
        Time::GapError => Series::GapError,
    }
}

fn counted(requests: Requests, tally: &Tally, outcomes: &Outcomes) -> u64 {
    match requests {
        Requests::Done => tally.done,
        Requests::Failed => tally.failed,
        Requests::Missed => tally.missed,
        Requests::CutOff => tally.cut_off,
        Requests::Errors => tally.errors(),
        Requests::Status(low, high) if low % 100 == 0 && high == low + 99 => {
            tally.by_class[usize::from(low / 100)]
        }
        Requests::Status(low, high) => (low..=high).map(|code| outcomes.of(Outcome::Status(code))).sum(),
        Requests::Error(cause) => outcomes.of(Outcome::Failed(cause)),
        Requests::ErrorsIn(part) => {
            let is_in = |cause: &&Cause| cause.part() == part;
            Cause::ALL.iter().filter(is_in).map(|cause| outcomes.of(Outcome::Failed(*cause))).sum()
        }
        Requests::MissedFor(why) => outcomes.of(Outcome::Missed(why)),
    }
}

fn bytes(way: Way, tally: &Tally) -> u64 {
    match way {
        Way::In => tally.bytes_in.get(),
        Way::Out => tally.bytes_out.get(),
    }
}
