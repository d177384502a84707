//! What one interval held.
//!
//! A departure's outcome counts either in the warm-up or in the measured part, by its due time. The figures
//! (histograms, outcomes, groups) are of the measured part; the warm-up is a tally beside it. Connections live
//! on, so their look-up, connect and handshake times are kept from the warm-up too.

use crate::doubted::Doubted;
use crate::health::HealthSample;
use crate::series::{
    Histogram, LONGEST, Series, SeriesSet, Summary, empty_histogram, merge_histogram, record_ns,
};
use crate::tally::{FewOutcomes, Outcomes, Tally};
use stats::fidelity::Fit;
use units::{Bytes, EngineCounters, Event, Fate, Instant, Miss, Outcome, Phase, Picos};

/// Significant digits of a group's histogram: within 1 %.
pub(crate) const GROUP_DIGITS: u8 = 2;

/// Pauses of one interval that are told apart.
pub const MOST_PAUSES: usize = 16;

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
    /// When the last one left, or would have left if connections had not been busy.
    pub last_left: Instant,
    /// F(gap) of a Poisson process that was asked for.
    pub(crate) gaps: Fit,
    /// How long after the end of the measured part late answers came.
    pub(crate) after: Histogram<u32>,
    /// Net of answers with a bound.
    pub(crate) doubted: Doubted<u32>,
    /// Times in which the engine's loop stood still: when, from the run's origin, and for how long. The longest
    /// [`MOST_PAUSES`] are told apart.
    pub pauses: Vec<(Picos, Picos)>,
    /// Empty when there is only one group: then it is the whole.
    pub(crate) groups: Vec<GroupData>,
}

/// One name or URL group within an interval.
#[derive(Clone, Debug)]
pub struct GroupData {
    pub tally: Tally,
    pub outcomes: FewOutcomes,
    /// Of its complete answers, within 1 %.
    pub latency: Histogram<u32>,
    /// The time that its requests had which never came to an answer.
    pub unfinished: Histogram<u32>,
}

impl IntervalData {
    /// Room for `groups` groups, the last of which is "other"; with 0 or 1 none is kept apart.
    pub fn new(groups: u16) -> Self {
        let kept = if groups > 1 { usize::from(groups) } else { 0 };
        let group = || GroupData {
            tally: Tally::default(),
            outcomes: FewOutcomes::new(),
            latency: empty_histogram(Picos::from_millis(16), GROUP_DIGITS),
            unfinished: empty_histogram(Picos::ZERO, GROUP_DIGITS),
        };
        Self {
            series: SeriesSet::new(),
            outcomes: Outcomes::new(),
            tally: Tally::default(),
            warmup: Tally::default(),
            bulk_missed: 0,
            last_due: Instant::EPOCH,
            last_done: Instant::EPOCH,
            last_left: Instant::EPOCH,
            gaps: Fit::default(),
            after: empty_histogram(Picos::ZERO, GROUP_DIGITS),
            doubted: Doubted::new(),
            pauses: Vec::with_capacity(MOST_PAUSES),
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
            self.last_left = self.last_left.max(event.due + own);
        }
        match event.outcome {
            Outcome::Status(_) => {
                self.last_done = self.last_done.max(event.done);
                self.series.record(Series::Latency, event.latency());
                self.series.record(Series::Service, event.service());
                self.series.record(Series::Net, event.net());
                self.series.record(Series::Tare, event.tare());
                self.series.record(Series::Unread, event.unread);
                // Nearly always zero, and then not kept: what is absent counts as zero.
                if !event.unread_bound.is_zero() {
                    self.series.record(Series::UnreadBound, event.unread_bound);
                    self.doubted.record(event.net(), event.unread_bound);
                }
                if event.first_byte != Instant::FAR {
                    self.series.record(Series::FirstByte, event.first_byte.since(event.sent));
                    self.series.record(Series::Body, event.done.since(event.first_byte));
                }
            }
            Outcome::Failed(_) => self.series.record(Series::Failed, event.latency()),
            // Of a frame that left, nothing comes back: there is no latency.
            Outcome::Frame(_) => self.last_done = self.last_done.max(event.done),
            Outcome::Missed(_) | Outcome::CutOff => {}
        }
        self.group(event);
    }

    /// A request that would have been answered later than it ended, if at all; it is counted by
    /// [`Self::event`].
    #[cold]
    pub fn unfinished(&mut self, event: &Event) {
        if let Some(last) = self.groups.len().checked_sub(1) {
            let group = &mut self.groups[usize::from(event.group.0).min(last)];
            record_ns(&mut group.unfinished, event.latency().min(LONGEST));
        }
        self.series.record(Series::Unfinished, event.latency());
        let own = match event.outcome {
            // What the generator could not send at all says nothing of the target.
            Outcome::Missed(why) if why.is_generators() => event.latency(),
            _ => event.own_lateness().unwrap_or(Picos::ZERO),
        };
        self.series.record(Series::UnfinishedNet, event.latency() - own);
    }

    #[inline]
    fn group(&mut self, event: &Event) {
        let Some(last) = self.groups.len().checked_sub(1) else { return };
        let group = &mut self.groups[usize::from(event.group.0).min(last)];
        group.tally.record(event);
        group.outcomes.add(event.outcome, 1);
        if matches!(event.outcome, Outcome::Status(_)) {
            record_ns(&mut group.latency, event.latency().min(LONGEST));
        }
    }

    /// Groups that are kept apart, in the order of their indices; the last is "other".
    pub fn groups(&self) -> &[GroupData] {
        &self.groups
    }

    /// A complete answer came this long after the end of the measured part.
    pub fn answered_after(&mut self, by: Picos) {
        record_ns(&mut self.after, by.min(LONGEST));
    }

    /// The loop stood still from `at` on, counted from the run's origin. The longest are kept.
    #[cold]
    pub fn pause(&mut self, at: Picos, length: Picos) {
        if self.pauses.len() < MOST_PAUSES {
            return self.pauses.push((at, length));
        }
        let shortest = self.pauses.iter_mut().min_by_key(|(_, length)| *length);
        if let Some(shortest) = shortest.filter(|(_, shortest)| *shortest < length) {
            *shortest = (at, length);
        }
    }

    /// A departure of the warm-up ended.
    pub fn warmup_event(&mut self, event: &Event) {
        self.warmup.record(event);
    }

    /// `count` frames ended like this together. `now` is when the interval was last looked at.
    pub fn frames(&mut self, fate: Fate, count: u64, bytes: Bytes, now: Instant) {
        let outcome = Outcome::Frame(fate);
        self.outcomes.add(outcome, count);
        self.tally.add(outcome, count);
        // What is forwarded came in and went out.
        if matches!(fate, Fate::Received | Fate::Filtered | Fate::Forwarded) {
            self.tally.bytes_in += bytes;
        }
        if matches!(fate, Fate::Sent | Fate::Forwarded) {
            self.tally.bytes_out += bytes;
        }
        self.last_due = self.last_due.max(now);
        self.last_done = self.last_done.max(now);
    }

    /// `count` requests were given up together, each of which had been due for `had` at least.
    pub fn given_up(&mut self, why: Miss, count: u64, had: Picos) {
        let net = if why.is_generators() { Picos::ZERO } else { had };
        if !why.is_no_request() && count > 0 {
            self.series.record_many(Series::Unfinished, had, count);
            self.series.record_many(Series::UnfinishedNet, net, count);
        }
        self.missed(why, count);
    }

    /// The same of a run that ended in its warm-up.
    pub fn warmup_missed(&mut self, count: u64) {
        self.warmup.missed += count;
        self.bulk_missed += count;
    }

    /// `count` departures were given up together.
    pub fn missed(&mut self, why: Miss, count: u64) {
        self.outcomes.add(Outcome::Missed(why), count);
        self.tally.missed += count;
        self.bulk_missed += count;
    }

    /// `count` departures ended like this; of a run that was stored.
    pub fn ended(&mut self, outcome: Outcome, count: u64) {
        self.outcomes.add(outcome, count);
        self.tally.add(outcome, count);
    }

    /// Times that were stored: of all requests, or of one group, from 0, its latencies or the time of what was
    /// unfinished.
    pub fn stored_times(&mut self, series: Series, group: Option<usize>, times: &Histogram<u64>) {
        match group {
            None => self.series.add(series, times),
            Some(group) => {
                if let Some(group) = self.groups.get_mut(group) {
                    let is_unfinished = series == Series::Unfinished;
                    let into = if is_unfinished { &mut group.unfinished } else { &mut group.latency };
                    merge_histogram(into, times);
                }
            }
        }
    }

    /// A phase of a connection's life took this long; phases of a single request are known from its event.
    pub fn phase(&mut self, phase: Phase, took: Picos) {
        let series = match phase {
            Phase::Lookup => Series::Lookup,
            Phase::Connect => Series::Connect,
            Phase::Tls => Series::Tls,
            Phase::Ready => Series::Ready,
            Phase::FirstByte => Series::FirstResponse,
            Phase::Send | Phase::Body => return,
        };
        self.series.record(series, took);
    }

    /// Adds what another thread learned.
    pub fn merge(&mut self, other: &Self) {
        self.series.merge(&other.series);
        merge_histogram(&mut self.after, &other.after);
        self.doubted.merge(&other.doubted);
        self.gaps.merge(&other.gaps);
        self.outcomes.merge(&other.outcomes);
        self.tally += other.tally;
        self.warmup += other.warmup;
        self.bulk_missed += other.bulk_missed;
        self.last_due = self.last_due.max(other.last_due);
        self.last_done = self.last_done.max(other.last_done);
        self.last_left = self.last_left.max(other.last_left);
        other.pauses.iter().for_each(|(at, length)| self.pause(*at, *length));
        for (into, from) in self.groups.iter_mut().zip(&other.groups) {
            into.tally += from.tally;
            into.outcomes.merge(&from.outcomes);
            merge_histogram(&mut into.latency, &from.latency);
            merge_histogram(&mut into.unfinished, &from.unfinished);
        }
    }

    /// Forgets everything; keeps the memory.
    pub fn clear(&mut self) {
        self.series.clear();
        self.after.reset();
        self.doubted.clear();
        self.pauses.clear();
        self.gaps.clear();
        self.outcomes.clear();
        self.tally = Tally::default();
        self.warmup = Tally::default();
        self.bulk_missed = 0;
        (self.last_due, self.last_done, self.last_left) = (Instant::EPOCH, Instant::EPOCH, Instant::EPOCH);
        for group in &mut self.groups {
            group.tally = Tally::default();
            group.outcomes.clear();
            group.latency.reset();
            group.unfinished.reset();
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
    /// Running totals as gains within the interval, levels (`open`, `open_peak`) as they
    /// are at its end, summed over threads.
    pub counters: EngineCounters,
    /// Hand-overs that were late because no empty interval was at hand.
    pub starved: u64,
    /// The generator itself, where /proc could be read.
    pub health: Option<HealthSample>,
}

impl IntervalRow {
    /// Departures that were due in it, whether they could leave then or not.
    #[expect(clippy::misnamed_getters, reason = "what was due is what was offered, taken or not")]
    pub fn offered(&self) -> u64 {
        self.counters.due
    }
    /// The usual figures of one series.
    pub fn summary(&self, series: Series) -> Summary {
        self.data.series.summary(series)
    }
}
