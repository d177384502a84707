//! What every sending thread has: its port, the frames it writes, its recorder, and what others may see of it.
//!
//! ```text
//!   number of a frame ─► Looks ─► template ─► slot of the port ─► outcome ─► recorder
//!                          └ set size: another template from a number on
//! ```

use clock::{Clock, HostClock};
use measure::gap_meter::{GapMeter, Requested};
use measure::packets::{PortReport, Table};
use port::{Port, PortError};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use units::{
    Bytes, Cause, Departure, EngineCounters, Event, Fate, Group, Instant, Miss, Outcome, Picos, Rate, Record,
};
use wire::{Template, Times};

/// An interrupted CPU costs this much; below it nothing is late.
const LATE: Picos = Picos::from_micros(10);

/// A clock that one can sleep by.
pub trait Timer: Clock {
    fn sleep_until(&self, due: Instant);
}

impl Timer for HostClock {
    fn sleep_until(&self, due: Instant) {
        Self::sleep_until(self, due);
    }
}

/// The wall clock's time of instants. Steps of the wall clock are followed when it is set again.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wall {
    /// Nanoseconds since 1970 at the epoch of the clock.
    epoch_unix_ns: u64,
}

impl Wall {
    pub fn read(clock: &impl Clock) -> Self {
        let before = clock.now();
        let unix_ns = clock::unix_ns();
        let middle = Picos::from_picos(clock.now().since(before).as_picos() / 2);
        Self { epoch_unix_ns: unix_ns.saturating_sub((before + middle).since_epoch().as_nanos()) }
    }

    #[inline]
    pub fn times(&self, due: Instant, sent: Instant) -> Times {
        let unix = |at: Instant| self.epoch_unix_ns + at.since_epoch().as_nanos();
        Times { due_unix_ns: unix(due), sent_unix_ns: unix(sent) }
    }
}

/// Templates by frame size, for sizes that were asked for while the run goes on.
#[derive(Default)]
pub struct Sizes(Mutex<HashMap<usize, Arc<Template>>>);

impl Sizes {
    pub fn keep(&self, size: usize, template: Arc<Template>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(size, template);
    }

    pub fn find(&self, size: usize) -> Option<Arc<Template>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&size).cloned()
    }
}

/// Which template has which frames.
pub struct Looks {
    /// From which frame on; the first is from 0.
    all: Vec<(u64, Arc<Template>)>,
    is_signed: bool,
}

impl Looks {
    pub fn new(template: Arc<Template>) -> Self {
        Self { is_signed: template.is_signed(), all: vec![(0, template)] }
    }

    /// From frame `first` on there is another.
    pub fn change(&mut self, first: u64, template: Arc<Template>) {
        self.is_signed |= template.is_signed();
        self.all.push((first, template));
    }

    pub const fn is_signed(&self) -> bool {
        self.is_signed
    }

    #[inline]
    pub fn of(&self, seq: u64) -> &Template {
        let (first, last) = &self.all[self.all.len() - 1];
        if seq >= *first {
            return last;
        }
        let found = self.all.iter().rev().find(|(first, _)| *first <= seq);
        &found.unwrap_or(&self.all[0]).1
    }
}

/// Numbers that no frame has: their departures were given up, and others left after them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GivenUp {
    pub first: u64,
    pub count: u64,
    pub stride: u64,
}

impl GivenUp {
    /// How many of them are below `end`.
    pub fn below(&self, end: u64) -> u64 {
        self.count.min(end.saturating_sub(self.first).div_ceil(self.stride))
    }
}

/// What a thread shows of itself while it runs.
#[derive(Debug, Default)]
pub struct Progress {
    pub sent: AtomicU64,
    /// Everything of this thread that was due before this has left, or will not leave any more.
    pub through_picos: AtomicU64,
    /// One behind the highest number that a frame of this thread had, at the end.
    pub numbered: AtomicU64,
    /// Departures of this thread that failed, at the end: they had numbers and never left.
    pub failed: AtomicU64,
    /// Departures that were given up at a change.
    pub given_up: Mutex<Vec<GivenUp>>,
    /// The port at the end.
    pub port: Mutex<Option<PortReport>>,
    /// Gaps between frames as this thread handed them over, at the end.
    pub gaps: Mutex<Option<GapMeter>>,
    pub tables: Mutex<Vec<Table>>,
    /// Sentences for people.
    pub notes: Mutex<Vec<String>>,
}

impl Progress {
    #[inline]
    pub fn show(&self, sent: u64, through: Instant) {
        self.sent.store(sent, Ordering::Relaxed);
        self.through_picos.store(through.since_epoch().as_picos(), Ordering::Release);
    }

    /// Keeps what is known at the end.
    pub fn end(&self, port: PortReport, ledger: &mut Ledger) {
        self.show(ledger.sent, Instant::FAR);
        self.numbered.store(ledger.numbered, Ordering::Relaxed);
        self.failed.store(ledger.failed, Ordering::Relaxed);
        if let Ok(mut kept) = self.port.lock() {
            *kept = Some(port);
        }
        if let Ok(mut kept) = self.gaps.lock() {
            *kept = ledger.gaps.take();
        }
    }
}

/// Outcomes of frames on their way into the recorder, and the totals.
pub struct Ledger {
    recorder: Box<dyn Record + Send>,
    pub counters: EngineCounters,
    pub sent: u64,
    pub sent_bytes: u64,
    /// Departures that never left.
    pub missed: u64,
    /// Departures that failed: they had numbers, but never left.
    pub failed: u64,
    /// One behind the highest number that a frame had.
    pub numbered: u64,
    /// How much later than the schedule knows frames are due: what relative departures have lost so far.
    pub slip: Picos,
    /// What leaves later than this is late: one gap, where there is one, for then it takes another's place.
    late: Picos,
    gaps: Option<GapMeter>,
}

impl Ledger {
    pub fn new(recorder: Box<dyn Record + Send>) -> Self {
        let counters = EngineCounters::default();
        Self {
            recorder,
            counters,
            sent: 0,
            sent_bytes: 0,
            missed: 0,
            failed: 0,
            numbered: 0,
            slip: Picos::ZERO,
            late: LATE,
            gaps: None,
        }
    }

    /// From now on frames are due at this rate.
    pub fn at_rate(&mut self, rate: Rate) {
        self.late = rate.gap().max(LATE);
    }

    /// From now on what leaves later than this is late.
    pub const fn late_beyond(&mut self, tolerance: Picos) {
        self.late = tolerance;
    }

    /// What leaves later than this is late.
    pub const fn tolerance(&self) -> Picos {
        self.late
    }

    /// One that measures the gaps between frames, too, against those between their due times.
    pub fn with_gaps(recorder: Box<dyn Record + Send>) -> Self {
        Self { gaps: Some(GapMeter::new(Requested::Due)), ..Self::new(recorder) }
    }

    /// A frame was handed over at `sent`.
    #[inline]
    pub fn sent(&mut self, departure: Departure, sent: Instant, bytes: usize) {
        self.sent += 1;
        self.sent_bytes += bytes as u64;
        self.counters.wire_out += bytes as u64;
        self.counters.late += u64::from(sent.since(departure.due) > self.late);
        if let Some(gaps) = &mut self.gaps {
            let due = departure.due.since_epoch() - self.slip;
            gaps.arrived_due(sent.since_epoch().as_nanos(), due.as_nanos());
        }
        self.event(departure, sent, bytes, Outcome::Frame(Fate::Sent), sent);
    }

    /// A frame was not taken, and will not be.
    pub fn failed(&mut self, departure: Departure, at: Instant, cause: Cause) {
        self.failed += 1;
        self.event(departure, at, 0, Outcome::Failed(cause), at);
    }

    /// A frame that has no due time was refused behind the port.
    pub fn refused(&mut self, at: Instant, count: u64, cause: Cause) {
        for _ in 0..count {
            self.event(Departure { seq: 0, due: at }, Instant::FAR, 0, Outcome::Failed(cause), at);
        }
        self.counters.due = self.counters.offered;
    }

    fn event(&mut self, departure: Departure, sent: Instant, bytes: usize, outcome: Outcome, done: Instant) {
        self.counters.offered += 1;
        self.numbered = self.numbered.max(departure.seq + 1);
        self.recorder.event(&Event {
            seq: departure.seq,
            due: departure.due,
            sent,
            first_byte: Instant::FAR,
            done,
            bytes_out: Bytes::new(bytes as u64),
            bytes_in: Bytes::ZERO,
            outcome,
            blocked: Picos::ZERO,
            unread: Picos::ZERO,
            unread_bound: Picos::ZERO,
            group: Group(0),
        });
    }

    /// Frames without due times.
    #[inline]
    pub fn bulk(&mut self, frames: u64, bytes: u64) {
        self.sent += frames;
        self.sent_bytes += bytes;
        self.counters.offered += frames;
        self.counters.due = self.counters.offered;
        self.counters.wire_out += bytes;
        self.recorder.frames(Fate::Sent, frames, Bytes::new(bytes));
    }

    /// A frame left that was due at no time, or of which nobody told when it left.
    pub fn sent_at_once(&mut self, seq: u64, bytes: u32) {
        self.numbered = self.numbered.max(seq + 1);
        self.bulk(1, u64::from(bytes));
    }

    /// Departures that never left.
    pub fn missed(&mut self, why: Miss, count: u64) {
        if count > 0 {
            self.missed += count;
            self.recorder.missed(why, count);
        }
    }

    #[inline]
    pub fn tick(&mut self, now: Instant) {
        self.recorder.tick(now, &self.counters);
    }
}

/// The cause of a failure for one frame.
pub const fn cause_of(error: &PortError) -> Cause {
    match error {
        PortError::Gone { .. } | PortError::Down { .. } => Cause::LinkDown,
        PortError::TooLong { .. } => Cause::FrameTooLong,
        _ => Cause::PortRefused,
    }
}

/// A port as the result shows it. Where it can no longer be asked, what the thread itself counted is all there
/// is.
pub fn report(role: &str, port: &mut dyn Port, sent: u64, sent_bytes: u64) -> PortReport {
    let about = port.about().clone();
    let mut report = PortReport {
        role: role.to_owned(),
        name: about.name,
        queue: about.queue,
        speed_bps: about.speed_bps,
        sent,
        sent_bytes,
        stamps: about.can.stamps.map_or_else(String::new, |stamps| stamps.to_string()),
        choices: about
            .choices
            .iter()
            .map(|choice| format!("{}: {} ({})", choice.what, choice.chosen, choice.why))
            .collect(),
        ..PortReport::default()
    };
    if let Ok(counters) = port.counters() {
        report.sent = counters.sent;
        report.sent_bytes = counters.sent_bytes;
        report.received = counters.received;
        report.received_bytes = counters.received_bytes;
        report.full = counters.full;
        let place = |drop: &port::Drop| measure::packets::PlaceCount {
            place: drop.place.key().to_owned(),
            frames: drop.frames,
        };
        report.drops = counters.drops.iter().map(place).collect();
    }
    report
}
