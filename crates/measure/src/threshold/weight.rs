//! What one limit needs of a stretch of time, and the value that it makes of it.

use super::WholeRun;
use crate::interval::{GROUP_DIGITS, IntervalRow};
use crate::series::{HISTOGRAM_DIGITS, Histogram, Series, empty_histogram, merge_histogram};
use crate::tally::{Outcomes, Tally};
use crate::totals::RunTotals;
use hdrhistogram::Counter;
use plan::{Bound, Figure, Limit, Requests, Statistic, Time, Way};
use units::{Cause, Outcome, Picos};

/// Times, or a part and its whole, over some length of time. Adds up.
#[derive(Clone, Debug)]
pub(super) struct Weight<C: Counter> {
    times: Option<Histogram<C>>,
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
        let times = is_time.then(|| empty_histogram(Picos::ZERO, digits));
        Self { times, part: 0, whole: 0, length: Picos::ZERO }
    }

    pub fn of_row(limit: &Limit, group: Option<usize>, row: &IntervalRow) -> Self {
        let mut weight = Self::new(limit, group);
        weight.length = row.length;
        let data = &row.data;
        let tally = group.and_then(|group| data.groups.get(group)).map_or(&data.tally, |group| &group.tally);
        match limit.figure {
            Figure::Time(time, _) => {
                let into = weight.times.get_or_insert_with(|| empty_histogram(Picos::ZERO, HISTOGRAM_DIGITS));
                match group.and_then(|group| data.groups.get(group)) {
                    Some(group) => merge_histogram(into, &group.latency),
                    None => merge_histogram(into, data.series.of(series(time))),
                }
            }
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

    pub fn merge<D: Counter>(&mut self, other: &Weight<D>) {
        if let (Some(into), Some(from)) = (&mut self.times, &other.times) {
            merge_histogram(into, from);
        }
        self.part += other.part;
        self.whole += other.whole;
        self.length += other.length;
    }

    /// How many values it is made of.
    pub fn samples(&self) -> u64 {
        self.times.as_ref().map_or(self.whole, Histogram::len).max(u64::from(self.part > 0))
    }

    /// In the unit of the limit's bound; `None` of nothing.
    pub fn value(&self, limit: &Limit) -> Option<f64> {
        let ratio = |part: f64, whole: f64| (whole > 0.0).then(|| part / whole);
        match (limit.figure, limit.bound) {
            (Figure::Time(_, statistic), _) => self.times.as_ref().and_then(|times| read(times, statistic)),
            (_, Bound::Share(_)) => ratio(self.part as f64, self.whole as f64),
            (_, Bound::Rate(_) | Bound::BytesPerSecond(_)) => {
                ratio(self.part as f64, self.length.as_secs_f64())
            }
            (_, Bound::Time(_) | Bound::Count(_) | Bound::Bytes(_)) => Some(self.part as f64),
        }
    }
}

/// The value of the whole run: the figure that `result.json` shows.
pub(super) fn of_whole_run(
    limit: &Limit,
    group: Option<usize>,
    totals: &RunTotals,
    whole: WholeRun,
) -> Option<f64> {
    let named = group.and_then(|group| totals.groups().get(group));
    let tally = named.map_or(&totals.tally, |group| &group.tally);
    let per_second = |count: u64, over: Picos| (!over.is_zero()).then(|| count as f64 / over.as_secs_f64());
    let of = |count: u64, over| match limit.bound {
        Bound::Rate(_) | Bound::BytesPerSecond(_) => per_second(count, over),
        Bound::Share(_) => (tally.ended() > 0).then(|| count as f64 / tally.ended() as f64),
        Bound::Time(_) | Bound::Count(_) | Bound::Bytes(_) => Some(count as f64),
    };
    match limit.figure {
        Figure::Time(time, statistic) => match named {
            Some(group) => read(&group.latency, statistic),
            None => read(totals.series.of(series(time)), statistic),
        },
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
    }
}

/// A statistic as `result.json` has it: whole nanoseconds, mean and deviation to a tenth.
fn read<C: Counter>(times: &Histogram<C>, statistic: Statistic) -> Option<f64> {
    let tenth = |nanos: f64| (nanos * 10.0).round() / 10.0;
    let value = || match statistic {
        Statistic::Mean => tenth(times.mean()),
        Statistic::Stdev => tenth(times.stdev()),
        Statistic::Min => times.min() as f64,
        Statistic::Max => times.max() as f64,
        Statistic::Percentile(percentile) => {
            times.value_at_quantile(percentile.quantile()).min(times.max()) as f64
        }
    };
    (!times.is_empty()).then(value)
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
            let is_in = |cause: &&Cause| cause.key().split('.').next() == Some(part);
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
