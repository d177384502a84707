//! What the whole run came to.

use crate::arrivals::AskedArrivals;
use crate::doubted::Doubted;
use crate::interval::{GROUP_DIGITS, IntervalData};
use crate::series::{Histogram, Series, SeriesSet, Summary, empty_histogram, merge_histogram};
use crate::tally::{FewOutcomes, Outcomes, Tally};
use stats::fidelity::Fit;
use units::{EngineCounters, Group, Instant, Picos};

/// Pauses of a run that are told one by one.
pub const MOST_PAUSES: usize = 256;

/// One name or URL group: how its departures ended, and the latency of its complete answers (within 1 %).
#[derive(Clone, Debug)]
pub struct GroupTally {
    pub tally: Tally,
    pub outcomes: FewOutcomes,
    pub latency: Histogram<u64>,
    /// The time that its requests had which never came to an answer.
    pub unfinished: Histogram<u64>,
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
    /// Last counters of each thread, summed (warm-up included).
    pub counters: EngineCounters,
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
    /// The same, until the last departure left, or would have left if connections had not been busy.
    pub until_last_left: Picos,
    /// The arrival process that was asked for.
    pub asked: AskedArrivals,
    /// F(gap) of a Poisson process.
    pub(crate) gaps: Fit,
    /// Times in which a loop stood still, the longest among them.
    pauses: Vec<(Picos, Picos)>,
    groups: Vec<GroupTally>,
    /// How long after the end of the measured part late answers came.
    after: Histogram<u64>,
    /// Net of answers with a bound.
    pub(crate) doubted: Doubted<u64>,
}

impl RunTotals {
    /// Room for `groups` groups, the last of which is "other".
    pub fn new(groups: u16) -> Self {
        let kept = if groups > 1 { usize::from(groups) } else { 0 };
        let group = || GroupTally {
            tally: Tally::default(),
            outcomes: FewOutcomes::new(),
            latency: empty_histogram(Picos::ZERO, GROUP_DIGITS),
            unfinished: empty_histogram(Picos::ZERO, GROUP_DIGITS),
        };
        Self {
            series: SeriesSet::new(),
            outcomes: Outcomes::new(),
            tally: Tally::default(),
            warmup: Tally::default(),
            bulk_missed: 0,
            counters: EngineCounters::default(),
            intervals: 0,
            starved: 0,
            lost_threads: 0,
            measured: Picos::ZERO,
            until_last_due: Picos::ZERO,
            until_last_done: Picos::ZERO,
            until_last_left: Picos::ZERO,
            asked: AskedArrivals::Other,
            gaps: Fit::default(),
            pauses: Vec::new(),
            groups: std::iter::repeat_with(group).take(kept).collect(),
            after: empty_histogram(Picos::ZERO, GROUP_DIGITS),
            doubted: Doubted::new(),
        }
    }

    /// Holds the gaps against this arrival process.
    pub fn asked_for(self, asked: AskedArrivals) -> Self {
        Self { asked, ..self }
    }

    /// Adds the data of an interval. The measured part began at `measured_from`.
    pub fn merge(&mut self, data: &IntervalData, measured_from: Instant) {
        self.until_last_due = self.until_last_due.max(data.last_due.since(measured_from));
        self.until_last_done = self.until_last_done.max(data.last_done.since(measured_from));
        self.until_last_left = self.until_last_left.max(data.last_left.since(measured_from));
        self.series.merge(&data.series);
        merge_histogram(&mut self.after, &data.after);
        self.doubted.merge(&data.doubted);
        self.gaps.merge(&data.gaps);
        self.outcomes.merge(&data.outcomes);
        self.tally += data.tally;
        self.warmup += data.warmup;
        self.bulk_missed += data.bulk_missed;
        data.pauses.iter().for_each(|(at, length)| self.pause(*at, *length));
        for (into, from) in self.groups.iter_mut().zip(&data.groups) {
            into.tally += from.tally;
            into.outcomes.merge(&from.outcomes);
            merge_histogram(&mut into.latency, &from.latency);
            merge_histogram(&mut into.unfinished, &from.unfinished);
        }
    }

    /// Keeps the longest pauses.
    fn pause(&mut self, at: Picos, length: Picos) {
        self.pauses.push((at, length));
        if self.pauses.len() > 2 * MOST_PAUSES {
            self.pauses.sort_unstable_by_key(|(_, length)| std::cmp::Reverse(*length));
            self.pauses.truncate(MOST_PAUSES);
        }
    }

    /// The longest times in which a loop stood still: when, from the run's origin, and for how long; the
    /// longest first, at most [`MOST_PAUSES`].
    pub fn longest_pauses(&self) -> Vec<(Picos, Picos)> {
        let mut pauses = self.pauses.clone();
        pauses.sort_unstable_by_key(|(at, length)| (std::cmp::Reverse(*length), *at));
        pauses.truncate(MOST_PAUSES);
        pauses
    }

    /// Complete answers that came before the end of the measured part.
    pub fn done_by_the_end(&self) -> u64 {
        self.tally.done - self.after.len()
    }

    /// Complete answers that came before the end of the measured part, or no later after it than the quickest
    /// answer took: of a target that keeps up all, of one that falls behind what it could do in the time.
    pub fn done_in_time(&self) -> u64 {
        let latency = self.series.of(Series::Latency);
        // Within a bucket the two histograms cannot be told apart.
        let quickest = latency.highest_equivalent(latency.min());
        let in_time: u64 = self
            .after
            .iter_recorded()
            .filter(|bucket| self.after.lowest_equivalent(bucket.value_iterated_to()) <= quickest)
            .map(|bucket| bucket.count_at_value())
            .sum();
        self.tally.done - (self.after.len() - in_time)
    }

    /// The usual figures of one series.
    pub fn summary(&self, series: Series) -> Summary {
        self.series.summary(series)
    }

    /// One name or URL group; `None` when only one group was declared (then it is the whole).
    pub fn group(&self, group: Group) -> Option<&GroupTally> {
        self.groups.get(usize::from(group.0))
    }

    /// All groups that are kept apart, in the order of their indices; the last is "other".
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
        self.counters.offered + self.bulk_missed
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
