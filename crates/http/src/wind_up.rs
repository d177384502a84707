//! The end of a run: everything that has not ended gets an end, so that the totals add up.

use units::{Instant, Miss, Outcome, Picos, Record};

use crate::control::Halt;
use crate::io::Driver;
use crate::worker::Worker;

/// What is given up at the end is told apart by how long it had waited, in so many steps.
const SLICES: u64 = 32;

impl<D: Driver, R: Record> Worker<D, R> {
    /// Gives everything that has not ended an end, so that the totals add up.
    pub(crate) fn wind_up(&mut self) {
        let now = self.now();
        let halt = self.setup.control.halt();
        let late = if self.blocked { Miss::NoConnection } else { Miss::NotReached };
        let why = if halt == Halt::SourceLost { Miss::SourceLost } else { late };
        if let Some(pending) = self.pending.take() {
            self.miss(pending.departure, why, now);
        }
        // After a halt, what was not due yet was never offered.
        let until = if halt == Halt::No { Instant::FAR } else { now };
        self.give_up(why, now, until);
        let open: Vec<u32> = self.slots.iter().map(|(slot, _)| slot).collect();
        for slot in open {
            let Some(mut place) = self.slots.remove(slot) else { continue };
            for exchange in place.connection.abandon() {
                self.recorder.event(&exchange.event(Outcome::CutOff, now));
            }
            self.driver.close(slot, true);
        }
        for waiting in std::mem::take(&mut self.again) {
            self.recorder.event(&waiting.exchange.event(Outcome::CutOff, now));
        }
        self.counters.open = 0;
        self.notes.bad_lines = std::mem::take(&mut self.setup.chooser.bad_lines);
        self.recorder.tick(now, &self.counters);
    }

    /// Gives up what was due before `until` and was not taken, a slice of time after the other, so that how
    /// long each had waited is known.
    pub(crate) fn give_up(&mut self, why: Miss, now: Instant, until: Instant) {
        self.counters.due = self.counters.offered;
        let Some(first) = self.setup.feed.head().map(|head| head.due) else { return };
        let slice = Picos::from_picos(now.since(first).as_picos() / SLICES);
        for index in 1..=SLICES {
            let end = (first + slice.saturating_mul(index)).min(until);
            let count = self.setup.feed.skip_before(end);
            self.counters.due += count;
            self.recorder.given_up(why, count, now.since(end));
        }
        let rest = self.setup.feed.skip_before(until);
        self.counters.due += rest;
        self.recorder.given_up(why, rest, Picos::ZERO);
    }
}
