//! The end of a run: everything that has not ended gets an end, so that the totals add up.

use units::{Instant, Miss, Outcome, Picos, Record};

use crate::io::Driver;
use crate::worker::Worker;
use schedule::Halt;

impl<D: Driver, R: Record> Worker<D, R> {
    /// Gives everything that has not ended an end, so that the totals add up.
    pub(super) fn wind_up(&mut self) {
        let now = self.now();
        let halt = self.control.halt();
        let late = if self.limit.holds() { self.limit.miss() } else { Miss::NotReached };
        let why = if halt == Halt::SourceLost { Miss::SourceLost } else { late };
        if let Some(pending) = self.pacer.take_pending() {
            self.accounts.miss(pending.departure, why, now);
        }
        // After a halt, what was not due yet was never offered.
        let until = if halt == Halt::No { Instant::FAR } else { now };
        self.accounts.counters.due = self.accounts.counters.offered;
        self.accounts.counters.ramped = self.limit.ramped();
        let accounts = &mut self.accounts;
        self.pacer.give_up(now, until, |count, waited| accounts.given_up(why, count, waited));
        if halt == Halt::SourceLost {
            accounts.given_up(why, self.pacer.never_came(), Picos::ZERO);
        }
        let open: Vec<u32> = self.slots.iter().map(|(slot, _)| slot).collect();
        for slot in open {
            let Some(mut place) = self.slots.remove(slot) else { continue };
            for exchange in place.connection.abandon() {
                self.accounts.event(&exchange.event(Outcome::CutOff, now));
            }
            self.sockets.driver.close(slot, true);
        }
        for waiting in std::mem::take(&mut self.again) {
            self.accounts.event(&waiting.exchange.event(Outcome::CutOff, now));
        }
        if let Some(account) = self.sockets.driver.finish() {
            self.accounts.own_tcp(account);
        }
        (self.accounts.counters.open, self.accounts.counters.connecting) = (0, 0);
        self.accounts.notes.bad_lines = std::mem::take(&mut self.composer.chooser.bad_lines);
        self.accounts.tick(now);
    }
}
