//! Connections that have carried their request and that the target is to close (`--close server`), so that it
//! has their TIME_WAIT.
//!
//! ```text
//! response read ──── the target's FIN ─► closed          the place was taken, so what waits for it is blocked
//! response read ──────── patience ─────► reset, counted
//! ```

use plan::{Close, Plan};
use units::{Instant, Picos, Record};

use crate::io::Driver;
use crate::worker::Worker;

/// How long a target is waited for that was asked to close.
const PATIENCE: Picos = Picos::from_secs(1);

/// The same, for so short a time that what waits for the place is not given up at once.
pub(crate) fn patience(plan: &Plan) -> Picos {
    PATIENCE.min(Picos::from_picos(plan.request.timeout.as_picos() / 2))
}

impl<D: Driver, R: Record> Worker<D, R> {
    /// Whether the plan's connections are reset rather than shut down.
    pub(super) fn resets(&self) -> bool {
        self.plan.connection.close == Close::Rst
    }

    /// A response ended in order, and its connection carries no other. Whether the target is to close it.
    pub(super) fn awaits_close(&mut self, slot: u32, now: Instant) -> bool {
        let deadline = now + patience(&self.plan);
        let Some(place) = self.slots.get(slot) else { return false };
        if self.plan.connection.close != Close::Server || place.has_ended {
            return false;
        }
        place.awaits_close = true;
        self.slots.set_deadline(slot, deadline);
        true
    }

    /// The target has closed the connection, or reset it. When it did so is known as far as the loop looked.
    pub(super) fn target_closed(&mut self, slot: u32, now: Instant) {
        let looked_before = self.turns.looked_before();
        let Some(place) = self.slots.get(slot) else { return };
        let doubt = now.since(place.arrived.max(looked_before));
        self.close(slot, false);
        self.limit.could_close(now, doubt);
    }

    /// It has not closed the connection in time.
    pub(super) fn never_closed(&mut self, slot: u32) {
        self.accounts.notes.unclosed += 1;
        self.close(slot, true);
    }
}
