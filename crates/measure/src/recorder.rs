//! What an engine thread writes into: its own interval, handed over whole when it is over.
//!
//! ```text
//!               full (one channel for all threads)
//!   Recorder ───────────────────────────────────────► Collector
//!   (thread)  ◄───────────────────────────────────────
//!               empty (one channel for each thread)
//! ```
//!
//! Nothing here locks, waits or allocates for a request. An interval ends at a whole multiple of its length
//! after the run's origin. When the collector has not given an empty interval back by then, the thread goes on
//! recording into the one it has (nothing is lost, two intervals become one) and counts it as *starved*.

use crate::arrivals::{AskedArrivals, Expected};
use crate::gaps::Gaps;
use crate::interval::IntervalData;
use crate::procfs::ThreadTimes;
use crate::series::Series;
use std::sync::mpsc::{Receiver, SyncSender};
use units::{Bytes, EngineCounters, Event, Fate, Instant, Miss, Outcome, Phase, Picos, Record};

/// How a run is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Start of the run: intervals are counted from here.
    pub origin: Instant,
    /// End of the warm-up: what is due earlier is not in the figures.
    pub measured_from: Instant,
    /// End of the measured part, if the plan says when that is; `FAR` otherwise. Answers that come later are
    /// kept apart.
    pub measured_until: Instant,
    /// Length of an interval; greater than zero.
    pub interval: Picos,
    /// Name or URL groups, the last of which is "other"; 0 or 1 keeps none apart.
    pub groups: u16,
    /// Engine threads, which are also the shares of the schedule.
    pub threads: u16,
    /// Whether gap errors are kept: for open loops.
    pub gaps: bool,
    /// The arrival process that gaps are held against.
    pub asked: AskedArrivals,
    /// Departures are requests, which are answered: what has no answer counts in latencies with the time that
    /// it had.
    pub answered: bool,
    /// Instants are a simulation's: what threads use of this machine is not set against them.
    pub simulated: bool,
}

impl Settings {
    /// One thread, intervals of a second, no warm-up, no groups, no gaps.
    pub fn from_origin(origin: Instant) -> Self {
        let interval = Picos::from_secs(1);
        Self {
            origin,
            measured_from: origin,
            measured_until: Instant::FAR,
            interval,
            groups: 1,
            threads: 1,
            gaps: false,
            asked: AskedArrivals::Other,
            answered: false,
            simulated: false,
        }
    }

    /// End of the interval with this number.
    pub(crate) fn end_of(&self, index: u64) -> Instant {
        self.origin + self.interval.saturating_mul(index.saturating_add(1))
    }
}

/// An interval on its way to the collector.
#[derive(Debug)]
pub(crate) struct Handover {
    pub thread: usize,
    pub tid: u32,
    /// Numbers of the first and the last interval that it covers.
    pub first: u64,
    pub through: u64,
    /// Time of the last `tick`.
    pub at: Instant,
    pub data: Box<IntervalData>,
    pub counters: EngineCounters,
    pub starved: u64,
    /// When the thread began, and its times then.
    pub born: Option<(Instant, ThreadTimes)>,
    /// The thread's last words.
    pub end: Option<End>,
}

/// How a thread ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    pub panicked: bool,
    /// Its times over its whole life, where they could be read.
    pub times: Option<ThreadTimes>,
}

/// One engine thread's recorder. Dropping it hands the last interval over; call `tick` once more before, so
/// that the last counters are in it.
#[derive(Debug)]
pub struct Recorder {
    active: Option<Box<IntervalData>>,
    settings: Settings,
    thread: usize,
    tid: u32,
    born: Option<(Instant, ThreadTimes)>,
    first: u64,
    /// When the interval is over; the epoch before the first tick, which looks around first.
    ends: Instant,
    now: Instant,
    counters: EngineCounters,
    starved: u64,
    gaps: Option<Gaps>,
    /// Of a Poisson process.
    expected: Option<Expected>,
    full: SyncSender<Handover>,
    empty: Receiver<Box<IntervalData>>,
}

impl Recorder {
    pub(crate) fn new(
        settings: Settings,
        thread: usize,
        full: SyncSender<Handover>,
        empty: Receiver<Box<IntervalData>>,
    ) -> Self {
        Self {
            active: Some(Box::new(IntervalData::new(settings.groups))),
            settings,
            thread,
            tid: 0,
            born: None,
            first: 0,
            ends: Instant::EPOCH,
            now: settings.origin,
            counters: EngineCounters::default(),
            starved: 0,
            gaps: settings.gaps.then(|| Gaps::new(u64::from(settings.threads))),
            expected: settings.asked.expected(u64::from(settings.threads)),
            full,
            empty,
        }
    }

    /// Index of this thread, from 0.
    pub fn thread(&self) -> usize {
        self.thread
    }

    #[inline]
    fn active(&mut self) -> &mut IntervalData {
        self.active.as_mut().expect("only dropping takes the active interval away")
    }

    /// Number of the interval in which `at` falls.
    fn index_of(&self, at: Instant) -> u64 {
        at.since(self.settings.origin).as_picos() / self.settings.interval.as_picos().max(1)
    }

    /// What this thread has used so far.
    fn own_times(&self) -> Option<ThreadTimes> {
        if self.settings.simulated { None } else { ThreadTimes::of_this_thread() }
    }

    /// The first tick: which thread this is, and what it has used so far.
    fn begin(&mut self, now: Instant) {
        self.tid = rustix::thread::gettid().as_raw_pid().unsigned_abs();
        self.born = self.own_times().map(|times| (now, times));
        self.ends = self.settings.end_of(0);
    }

    /// Swaps the full interval for an empty one, if the interval is over and there is one.
    #[cold]
    fn hand_over(&mut self, now: Instant) {
        if self.tid == 0 {
            self.begin(now);
        }
        if now < self.ends {
            return;
        }
        let current = self.index_of(now);
        self.ends = self.settings.end_of(current);
        let Ok(next) = self.empty.try_recv() else {
            // Goes on into the same one, up to the end of the interval that has begun.
            self.starved += 1;
            return;
        };
        let data = self.active.replace(next).expect("only dropping takes the active interval away");
        let message = self.message(data, current.saturating_sub(1), None);
        // There is room for every interval of every thread, so only a collector that is gone refuses.
        let _ = self.full.try_send(message);
        self.starved = 0;
        self.first = current;
    }

    fn message(&self, data: Box<IntervalData>, through: u64, end: Option<End>) -> Handover {
        Handover {
            thread: self.thread,
            tid: self.tid,
            first: self.first,
            through,
            at: self.now,
            data,
            counters: self.counters,
            starved: self.starved,
            born: self.born,
            end,
        }
    }
}

/// Whether an answer, had there been one, would have come later than the end that was recorded.
fn is_unfinished(outcome: Outcome) -> bool {
    match outcome {
        Outcome::Failed(cause) => cause.is_time_out(),
        Outcome::Missed(why) => !why.is_no_request(),
        Outcome::CutOff => true,
        Outcome::Status(_) | Outcome::Frame(_) => false,
    }
}

impl Record for Recorder {
    #[inline]
    fn event(&mut self, event: &Event) {
        if event.due < self.settings.measured_from {
            self.active().warmup_event(event);
            return;
        }
        let until = self.settings.measured_until;
        self.active().event(event);
        if self.settings.answered && is_unfinished(event.outcome) {
            self.active().unfinished(event);
        }
        if event.done > until && matches!(event.outcome, Outcome::Status(_) | Outcome::Frame(_)) {
            self.active().answered_after(event.done.since(until));
        }
        if let Some(gaps) = &mut self.gaps {
            let data = self.active.as_mut().expect("only dropping takes the active interval away");
            for pair in gaps.push(event).into_iter().flatten() {
                data.series.record(Series::GapError, pair.error);
                if let Some(expected) = &self.expected {
                    data.gaps.add(expected.share(pair.gap));
                }
            }
        }
    }

    fn missed(&mut self, why: Miss, count: u64) {
        self.active().missed(why, count);
    }

    fn given_up(&mut self, why: Miss, count: u64, had: Picos) {
        // What was due while the run lasted was due in its warm-up.
        if self.now < self.settings.measured_from {
            return self.active().warmup_missed(count);
        }
        self.active().given_up(why, count, had);
    }

    fn pause(&mut self, at: Instant, length: Picos) {
        if at + length >= self.settings.measured_from {
            let at = at.since(self.settings.origin);
            self.active().pause(at, length);
        }
    }

    #[inline]
    fn frames(&mut self, fate: Fate, count: u64, bytes: Bytes) {
        let now = self.now;
        self.active().frames(fate, count, bytes, now);
    }

    fn gap_error(&mut self, error: Picos) {
        self.active().series.record(Series::GapError, error);
    }

    fn phase(&mut self, phase: Phase, took: Picos) {
        self.active().phase(phase, took);
    }

    #[inline]
    fn tick(&mut self, now: Instant, counters: &EngineCounters) {
        self.now = now;
        self.counters = *counters;
        if now >= self.ends {
            self.hand_over(now);
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let Some(data) = self.active.take() else { return };
        let times = self.own_times();
        let end = End { panicked: std::thread::panicking(), times };
        let through = self.index_of(self.now).max(self.first);
        let message = self.message(data, through, Some(end));
        let _ = self.full.try_send(message);
    }
}
