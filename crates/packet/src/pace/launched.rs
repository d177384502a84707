//! A port that keeps its own time: frames are handed over as they come, each with the time at which it may
//! leave; the port keeps them until then, and tells when each has left.
//!
//! ```text
//!   take from IN ─► due by the timetable ─► OUT, with its launch time ─► … ─► departed: recorded
//! ```
//!
//! All times are the port's, those of arrival too: what the host sends has arrived at the port's time of then,
//! and a little, for it is still to be handed over. So gaps are exact as long as the host is in time, and the
//! port says when it was not.

use super::outward::{MOST_TAKEN, Passage, Release, Round};
use crate::own_clock::OwnClock;
use clock::Clock;
use port::{Counters, Departed, For, PortError};
use std::collections::VecDeque;
use units::{Bytes, Cause, Fate, Instant, Picos};

/// A frame that comes while nothing waits leaves this much after it was taken: so long may handing over take.
const MARGIN: Picos = Picos::from_micros(50);
/// Reports of one call.
const REPORTS: usize = 64;
/// Sleep while nothing moves.
const IDLE: Picos = Picos::from_micros(500);
/// What was handed over has so long to leave at the end.
const LAST: Picos = Picos::from_millis(500);

/// See the module. This host's clock times nothing that is told: it says when to look and when to end.
pub struct Launched {
    own: OwnClock,
    /// Handed over, and not told of yet: when each is due, and how long it is.
    under_way: VecDeque<(Instant, usize)>,
    /// The number that the port has for the first of these.
    told: u64,
    /// The latest departure, by the port's time.
    last: Instant,
}

impl Launched {
    /// The recorder is told when the port's time began.
    pub fn by(own: OwnClock, passage: &mut Passage) -> Self {
        let last = own.begin();
        passage.record.tick(last, &passage.counters);
        let told = passage.to.counters().map_or(0, Counters::taken);
        Self { own, under_way: VecDeque::new(), told, last }
    }

    /// Takes frames from IN; how many.
    fn take(&mut self, passage: &mut Passage) -> Result<usize, PortError> {
        let own = self.own;
        let Some(taken) = passage.take(MOST_TAKEN, |to| Ok(own.now(to)? + MARGIN))? else { return Ok(0) };
        for _ in 0..taken.too_long {
            passage.is_lost(taken.arrived, taken.arrived.max(self.last), Cause::FrameTooLong);
        }
        passage.saw_waiting(passage.queue.len() + self.under_way.len());
        Ok(taken.frames)
    }

    /// Hands over what the port has room for.
    fn hand_over(&mut self, passage: &mut Passage) -> Result<usize, PortError> {
        let mut handed = 0;
        while !passage.is_paused && handed < MOST_TAKEN {
            let Some(front) = passage.queue.front() else { break };
            let due = passage.timetable.due(front.arrived);
            let (bytes, launch) = (front.data.len(), self.own.stamp(due));
            let left = passage.to.transmit(1, &mut |slot| {
                slot.data[..bytes].copy_from_slice(front.data);
                (slot.length, slot.launch) = (bytes, launch);
            });
            match left {
                Ok(0) => break,
                Ok(_) => {
                    passage.timetable.left(due, due, bytes);
                    self.under_way.push_back((due, bytes));
                }
                Err(PortError::TooLong { .. }) => {
                    passage.outcomes.too_long += 1;
                    passage.is_lost(due, due.max(self.last), Cause::FrameTooLong);
                }
                Err(PortError::Down { .. }) => {
                    passage.went_down();
                    self.forget(passage, self.last);
                    break;
                }
                Err(error) => return Err(error),
            }
            passage.queue.pop();
            handed += 1;
        }
        Ok(handed)
    }

    /// Records what has left.
    fn collect(&mut self, passage: &mut Passage) -> Result<usize, PortError> {
        let mut reports = [Departed::default(); REPORTS];
        let mut count = 0;
        passage.to.departed(REPORTS, &mut |report| {
            reports[count] = *report;
            count += 1;
        })?;
        for report in &reports[..count] {
            // Those before it left, too: in order. When, nobody told, so there is no gap to them.
            while self.told < report.number && self.under_way.len() > 1 {
                self.told += 1;
                if let Some((_, bytes)) = self.under_way.pop_front() {
                    passage.outcomes.sent += 1;
                    passage.outcomes.gaps.pause();
                    passage.record.frames(Fate::Sent, 1, Bytes::new(bytes as u64));
                }
            }
            self.departed(passage, report);
        }
        Ok(count)
    }

    fn departed(&mut self, passage: &mut Passage, report: &Departed) {
        let Some((due, bytes)) = self.under_way.pop_front() else { return };
        self.told += 1;
        if report.missed {
            // The port has counted it where it was lost.
            passage.outcomes.gaps.pause();
            self.last = self.last.max(due);
            let cause = if report.into_nothing { Cause::LinkDown } else { Cause::PortLate };
            return passage.is_lost(due, self.last, cause);
        }
        let sent = self.own.instant(report.start) + report.rest;
        self.last = self.last.max(sent);
        if report.into_nothing {
            passage.outcomes.gaps.pause();
            passage.outcomes.forgotten += 1;
            return passage.is_lost(due, due.max(self.last), Cause::LinkDown);
        }
        passage.has_left(passage.outcomes.sent, due, sent, bytes);
    }
}

impl Release for Launched {
    fn round(&mut self, passage: &mut Passage, _: Instant) -> Result<Round, PortError> {
        let moved = self.take(passage)? + self.hand_over(passage)? + self.collect(passage)?;
        Ok(Round { now: passage.clock.now(), rests: moved == 0 })
    }

    fn rest(&mut self, passage: &mut Passage) -> Result<(), PortError> {
        let what = if passage.queue.is_empty() { For::Receive } else { For::Transmit };
        passage.wait(what, IDLE)
    }

    fn under_way(&self) -> usize {
        self.under_way.len()
    }

    fn told(&self, _: Instant) -> Instant {
        self.last
    }

    /// The port keeps the times.
    fn is_near(&self, _: &mut Passage, _: Instant) -> bool {
        false
    }

    fn goes_on(&mut self, passage: &mut Passage, _: Instant) {
        // A port that does not tell the time fails at the next frame.
        if let Ok(now) = self.own.now(&mut *passage.to) {
            passage.timetable.begins(now + MARGIN);
        }
    }

    fn tick(&mut self, passage: &mut Passage, _: Instant) {
        passage.record.tick(self.last, &passage.counters);
    }

    fn forget(&mut self, passage: &mut Passage, _: Instant) {
        let (first, last) = (passage.first_waiting(), self.last);
        passage.forget_queue(|due| due.max(last));
        passage.begin_anew(first);
    }

    fn end(&mut self, passage: &mut Passage) {
        let _ = passage.to.flush(LAST);
        while self.collect(passage).is_ok_and(|told| told > 0) {}
        let last = self.last;
        for (due, _) in self.under_way.drain(..) {
            passage.is_cut_off(due.min(last), last);
        }
        while let Some(front) = passage.queue.front() {
            let arrived = front.arrived;
            passage.queue.pop();
            passage.is_cut_off(arrived.min(last), last);
        }
        passage.record.tick(last, &passage.counters);
    }
}
