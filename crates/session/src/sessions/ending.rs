//! How the sessions of a run end with it: those that are being closed in order, all others by a reset, so that
//! nothing of them stays at their peers.

use port::For;
use tcp::{Event, State};
use units::{Instant, Picos};

use super::{BATCH, Inward, Owner, Sessions};
use crate::table::Stage;

/// For how long the last frames may wait for room.
const LAST_ROOM: Picos = Picos::from_millis(200);
/// For how long sessions that are being closed are waited for at the end, and how often they are looked at.
const PARTING: Picos = Picos::from_millis(20);
const PARTING_STEP: Picos = Picos::from_millis(1);

impl Sessions {
    /// Lets sessions that are being closed end in order, for a moment: the peer's part of it is on its way.
    pub fn let_close(&mut self, now: &dyn Fn() -> Instant, owner: &mut impl Owner) {
        let mut closing = self.core.table.used();
        let until = now() + PARTING;
        loop {
            closing.retain(|id| {
                let state = self.core.table.get(*id).map(|(record, side)| (record.state, side.stage));
                state.is_some_and(|(state, stage)| stage == Stage::Live && is_closing(state))
            });
            let at = now();
            if closing.is_empty() || at >= until {
                return;
            }
            self.settle(at, owner);
            self.expire(at, owner);
            let waited = self.transmit(now, owner).and_then(|()| self.port.wait(For::Receive, PARTING_STEP));
            if waited.and_then(|_| self.receive(BATCH, now(), owner)).is_err() {
                return;
            }
        }
    }

    /// Resets every session, so that nothing of them stays at their peers.
    pub fn reset_all(&mut self, now: Instant, owner: &mut impl Owner) {
        // Who waits out TIME_WAIT sends no reset: without the acknowledgment that it owes, its peer would go on
        // sending its FIN.
        self.settle(now, owner);
        let mut is_gone = false;
        // In batches: the resets of a million sessions would be more than may wait.
        for some in self.core.table.used().chunks(BATCH) {
            for id in some {
                if !self.forget(*id) {
                    self.core.act(*id, Event::Abort, &Inward::default(), now, owner);
                }
            }
            // A link that is down or gone takes nothing any more, and then there is nothing to be done.
            is_gone = is_gone || !self.transmit_all(now, owner);
            if is_gone {
                self.core.outgoing.drop_all(&mut self.core.figures);
            }
        }
        // What others left that have ended, too.
        if !is_gone {
            self.transmit_all(now, owner);
        }
        // What is in the port may still leave; of a port that is gone, nothing will.
        let _ = self.port.flush(LAST_ROOM);
    }

    /// Hands over all frames that wait. Whether the port took them.
    fn transmit_all(&mut self, now: Instant, owner: &mut impl Owner) -> bool {
        let left = self.transmit(&|| now, owner).and_then(|()| match self.waits_for_room() {
            true => self.port.flush(LAST_ROOM).and_then(|_| self.transmit(&|| now, owner)),
            false => Ok(()),
        });
        left.is_ok() && !self.waits_for_room()
    }
}

/// The session was closed, and the peer's part is missing.
const fn is_closing(state: State) -> bool {
    matches!(state, State::FinWait1 | State::FinWait2 | State::Closing | State::LastAck)
}
