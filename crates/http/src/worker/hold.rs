//! Bodies that wait for a 100 (Continue), and what of that wait is the generator's.
//!
//! ```text
//! head leaves ───► 100 comes ── unread ──► read ── own time ──► body leaves     tare from when the 100 came
//! head leaves ────────────── CONTINUE, no 100 ────────────────► body leaves     nobody knows: net is a bound
//! ```

use units::{Instant, Picos, Record};

use crate::io::Driver;
use crate::worker::Worker;
use crate::worker::reading::Delay;
use crate::worker::timers::Later;

/// How long a 100 (Continue) is waited for.
const CONTINUE: Picos = Picos::from_secs(1);

impl<D: Driver, R: Record> Worker<D, R> {
    /// The body of the request that was put on the connection last waits from now on.
    pub(super) fn hold(&mut self, slot: u32) {
        let at = self.now() + CONTINUE;
        let Some(place) = self.slots.peek(slot) else { return };
        let number = place.connection.served();
        self.timers.set(at, (slot, place.generation), Later::Continue(number));
    }

    /// No 100 has come by `at` for the connection's request of this number: its body goes without. The target
    /// may have waited for the body all that time, or have been busy with the head.
    pub(super) fn go_without(&mut self, slot: u32, number: u32, at: Instant) {
        let Some(place) = self.slots.get(slot) else { return };
        if place.connection.served() != number || !place.connection.is_holding() {
            return;
        }
        // Until then there was nobody to wait for.
        let ready_since = place.connection.ready_since();
        place.connection.release_body();
        self.flush(slot);
        let Some(ready_since) = ready_since else { return };
        self.accounts.notes.without_continue += 1;
        let waited = self.now().since(ready_since.max(at.saturating_sub(CONTINUE)));
        let Some(place) = self.slots.get(slot) else { return };
        for exchange in place.connection.waiting() {
            exchange.unread_bound += waited;
            self.accounts.counters.expecting += waited;
        }
    }

    /// What was read at `now` let this end go on, and what that sent has left: until then the target waited for
    /// it, so that its arithmetic counts, too.
    pub(super) fn charge_step(&mut self, slot: u32, delay: Delay, now: Instant) {
        let took = self.now().since(now);
        let Some(place) = self.slots.get(slot) else { return };
        for exchange in place.connection.waiting() {
            exchange.unread += delay.measured + took;
            exchange.unread_bound += delay.bound;
        }
    }
}
