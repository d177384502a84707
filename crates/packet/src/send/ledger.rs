//! Outcomes of frames on their way into the recorder, and the totals.

use crate::job::PAUSE;
use measure::gap_meter::{GapMeter, Requested};
use port::PortError;
use units::{
    Bytes, Cause, Departure, EngineCounters, Event, Fate, Instant, Miss, Outcome, Picos, Rate, Record,
};

/// An interrupted CPU costs this much; below it nothing is late.
const LATE: Picos = Picos::from_micros(10);

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
    /// Departures that were given up and have no number.
    pub unnumbered: u64,
    /// How much later than the schedule knows frames are due: what relative departures have lost so far.
    pub slip: Picos,
    /// What leaves later than this is late: one gap, where there is one, for then it takes another's place.
    late: Picos,
    pub gaps: Option<GapMeter>,
    /// One for each stream, where there are several.
    pub streams: Vec<StreamLedger>,
}

/// What became of the frames of one stream.
#[derive(Clone, Debug)]
pub struct StreamLedger {
    pub sent: u64,
    pub sent_bytes: u64,
    pub failed: u64,
    pub missed: u64,
    /// Gaps between its frames as they were handed over.
    pub gaps: GapMeter,
}

impl Default for StreamLedger {
    fn default() -> Self {
        Self { sent: 0, sent_bytes: 0, failed: 0, missed: 0, gaps: GapMeter::new(Requested::Due) }
    }
}

impl StreamLedger {
    pub fn merge(&mut self, other: &Self) {
        self.sent += other.sent;
        self.sent_bytes += other.sent_bytes;
        self.failed += other.failed;
        self.missed += other.missed;
        self.gaps.merge(&other.gaps);
    }
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
            unnumbered: 0,
            slip: Picos::ZERO,
            late: LATE,
            gaps: None,
            streams: Vec::new(),
        }
    }

    /// Figures of each stream, too, where there are several.
    pub fn of_streams(mut self, count: usize) -> Self {
        self.streams = if count > 1 { vec![StreamLedger::default(); count] } else { Vec::new() };
        self
    }

    /// From now on frames are due at this rate.
    pub fn at_rate(&mut self, rate: Rate) {
        self.at_gap(rate.gap());
    }

    /// From now on frames are due so far apart.
    pub fn at_gap(&mut self, gap: Picos) {
        self.late = gap.max(LATE);
    }

    /// From now on what leaves later than this is late.
    pub const fn late_beyond(&mut self, tolerance: Picos) {
        self.late = tolerance;
    }

    /// The thread had work, and did none for so long: where no due time tells of it.
    #[inline]
    pub fn stood_still(&mut self, time: Picos) {
        if time >= PAUSE {
            self.counters.pauses += 1;
            self.counters.paused += time;
        }
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

    /// The same frame in the figures of its stream.
    #[inline]
    pub fn sent_of(&mut self, stream: usize, due: Instant, sent: Instant, bytes: usize) {
        let due = due.since_epoch() - self.slip;
        if let Some(stream) = self.streams.get_mut(stream) {
            stream.sent += 1;
            stream.sent_bytes += bytes as u64;
            stream.gaps.arrived_due(sent.since_epoch().as_nanos(), due.as_nanos());
        }
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
        self.numbered = self.numbered.max(departure.seq + 1 - self.unnumbered);
        let bytes_out = Bytes::new(bytes as u64);
        self.recorder.event(&Event { sent, bytes_out, ..Event::unsent(departure, outcome, done) });
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
