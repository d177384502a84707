//! Deadlines: of requests on their way, of what is to be looked at again, and of departures that wait.

use units::{Departure, Instant, Picos, Record};

use crate::io::Driver;
use crate::worker::Worker;
use crate::worker::timers::Later;

/// Departures given up before the sockets are looked at again.
const GIVEN_UP: usize = 1024;

impl<D: Driver, R: Record> Worker<D, R> {
    /// A connection's deadline is that of its oldest request, which counts from when that was sent; or, if the
    /// plan wants it so, from the last byte that came.
    pub(super) fn arm(&mut self, slot: u32, now: Instant) {
        let request = &self.plan.request;
        let oldest = self.slots.peek(slot).and_then(|place| place.connection.oldest());
        match oldest.map(|oldest| if request.idle_timeout { now } else { oldest.sent }) {
            Some(from) => self.slots.set_deadline(slot, from + request.timeout),
            None => self.slots.clear_deadline(slot),
        }
    }

    pub(super) fn arm_until(&mut self, slot: u32, deadline: Instant) {
        // Behind others, their deadline is the next.
        if self.slots.peek(slot).is_some_and(|place| place.connection.in_flight() == 1) {
            self.slots.set_deadline(slot, deadline);
        }
    }

    pub(super) fn expire(&mut self, now: Instant) {
        let read = self.turns.read_until();
        while let Some((slot, deadline)) = self.slots.next_deadline() {
            if deadline > read {
                break;
            }
            match self.slots.get(slot) {
                Some(place) if place.awaits_close => {
                    self.never_closed(slot);
                    continue;
                }
                Some(place) => {
                    self.accounts.notes.never_continued += u64::from(place.connection.is_holding());
                    place.connection.time_out(&mut self.finished);
                }
                None => {}
            }
            self.settle(slot, now);
        }
        let mut unread = Vec::new();
        while let Some((at, slot, generation, what)) = self.timers.take_due(now) {
            if self.slots.peek(slot).is_none_or(|place| place.generation != generation) {
                continue;
            }
            match what {
                // What came in time is read first.
                Later::Continue(_) if at > read => unread.push((at, (slot, generation), what)),
                Later::Continue(number) => self.go_without(slot, number, at),
                Later::Read => self.read_on(slot),
                Later::Write => self.flush(slot),
                Later::Address(dials) => self.tires(slot, dials, now),
            }
        }
        unread.into_iter().for_each(|(at, place, what)| self.timers.set(at, place, what));
        for _ in 0..GIVEN_UP {
            match self.pacer.next() {
                Some(waiting) if self.limit.holds() && self.is_given_up(waiting, now) => {
                    self.give_up_next(now);
                }
                _ => break,
            }
        }
    }

    /// Whether a departure that the limits hold back has waited for as long as an answer may take.
    pub(super) fn is_given_up(&self, waiting: Departure, now: Instant) -> bool {
        waiting.due + self.plan.request.timeout <= now
    }

    /// The departure whose turn is next never leaves: the limits of the plan held it back for too long.
    pub(super) fn give_up_next(&mut self, now: Instant) {
        let Some(departure) = self.pacer.next() else { return };
        if self.pacer.take_pending().is_none() {
            self.pacer.take();
            self.accounts.counters.offered += 1;
        }
        self.accounts.miss(departure, self.limit.miss(), now);
        self.pacer.freed(now, Picos::ZERO);
    }
}
