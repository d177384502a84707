//! What left in a trial, counted while it does, and whether the generator kept up.

use super::trial::TOLERANCE;
use std::sync::{Arc, Mutex, PoisonError};
use units::{Bytes, EngineCounters, Event, Fate, Instant, Miss, Outcome, Phase, Picos, Record};

/// A frame that left within this of its due time was on time.
const ON_TIME: Picos = Picos::from_micros(200);
/// What leaves this much after the end of a trial still counts as within it.
const GRACE: Picos = Picos::from_millis(1);

/// What left, counted while it does.
#[derive(Clone, Default)]
pub struct Departed(Arc<Mutex<Left>>);

#[derive(Clone, Copy, Debug, Default)]
pub struct Left {
    pub sent: u64,
    first: Option<Instant>,
    pub last: Option<Instant>,
    pub latest: Picos,
    /// Where the last quarter begins, and how many frames of it were on time.
    quarter: Option<Instant>,
    on_time_at_last: u64,
    /// Frames that were on time, and those that left before the trial's end and a little grace.
    on_time: u64,
    end: Option<Instant>,
    over: Option<Instant>,
    within: u64,
    /// Frames that the last round knew of.
    told: u64,
    /// From one frame to the next: as long the last one takes.
    pub gap: Picos,
    /// The last of those that are due before the trial's end.
    last_judged: Option<Instant>,
}

impl Left {
    /// From the first departure to the last, and one gap more: what the frames that left really took.
    pub fn took(&self, origin: Instant) -> Picos {
        match (self.first, self.last_judged.or(self.last)) {
            (Some(first), Some(last)) => last.since(first).max(last.since(origin)) + self.gap,
            _ => Picos::ZERO,
        }
    }

    /// Whether the generator is able to make this load, of so many frames: one that is not gets later and later
    /// from the beginning on, so that next to none is on time, nor before the end all have left. One that was
    /// held up was on time before, or catches up.
    pub fn kept_up(&self, offered: u64) -> bool {
        self.on_time_at_last > 0
            || self.on_time * 2 >= offered.max(1)
            || self.within as f64 >= offered as f64 * (1.0 - TOLERANCE)
    }

    fn leaves(&mut self, due: Instant, sent: Instant) {
        self.sent += 1;
        self.first.get_or_insert(sent);
        self.last = Some(sent);
        let late = sent.since(due);
        self.latest = self.latest.max(late);
        // Where another load follows, it says nothing of this one.
        if self.over.is_some_and(|over| due >= over) {
            return;
        }
        self.last_judged = Some(sent);
        let is_on_time = late < ON_TIME;
        self.on_time += u64::from(is_on_time);
        self.on_time_at_last += u64::from(is_on_time && self.quarter.is_some_and(|quarter| due >= quarter));
        self.within += u64::from(self.end.is_some_and(|end| sent <= end));
    }
}

impl Departed {
    /// The trial begins and lasts so long, with a frame every so often.
    pub fn watch(&self, origin: Instant, length: Picos, gap: Picos) {
        let mut left = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        left.quarter = Some(origin + Picos::from_picos(length.as_picos() / 4 * 3));
        left.over = Some(origin + length);
        left.end = Some(origin + length + GRACE);
        left.gap = gap;
    }

    pub fn left(&self) -> Left {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The recorder of a trial: it counts, and keeps the first and the last time. Its lock is never waited for.
impl Record for Departed {
    fn event(&mut self, event: &Event) {
        if event.outcome != Outcome::Frame(Fate::Sent) {
            return;
        }
        self.0.lock().unwrap_or_else(PoisonError::into_inner).leaves(event.due, event.sent);
    }
    fn missed(&mut self, _: Miss, _: u64) {}
    fn frames(&mut self, _: Fate, count: u64, _: Bytes) {
        let mut left = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        left.sent += count;
    }
    fn phase(&mut self, _: Phase, _: Picos) {}
    fn tick(&mut self, now: Instant, _: &EngineCounters) {
        let mut left = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Frames that left in bulk have no times of their own: the round in which they did is theirs.
        if left.first.is_none() && left.sent > left.told {
            left.told = left.sent;
            left.last = Some(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames due each 100 µs for 100 ms, each leaving so many microseconds late.
    fn left(late_us: impl Fn(u64) -> u64) -> Left {
        let (origin, length) = (Instant::EPOCH + Picos::from_secs(1), Picos::from_millis(100));
        let departed = Departed::default();
        departed.watch(origin, length, Picos::from_micros(100));
        let mut left = departed.left();
        for n in 0..1_000 {
            let due = origin + Picos::from_micros(n * 100);
            left.leaves(due, due + Picos::from_micros(late_us(n)));
        }
        left
    }

    #[test]
    fn a_generator_that_was_held_up_kept_up_and_one_that_is_too_slow_did_not() {
        // 30 ms at the very end, from 70 ms on: the last quarter is late as a whole, and left after the end.
        assert!(left(|n| if n < 700 { 5 } else { 30_000 }).kept_up(1_000));
        assert!(left(|n| if n < 900 { 8_000 } else { 5 }).kept_up(1_000), "late, but it caught up");
        // 5 % too slow: each frame 5 µs later than the one before, the last 5 ms.
        assert!(!left(|n| n * 5).kept_up(1_000));
    }
}
