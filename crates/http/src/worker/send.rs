//! Sending: what a connection has for the wire, as far as the kernel takes it.

use clock::Clock;
use rustix::io::Errno;
use units::{Instant, Record};

use crate::connection::Stage;
use crate::io::Driver;
use crate::worker::Worker;
use crate::worker::slots::Unsent;
use crate::worker::timers::Later;

/// The most that is written to one socket in a turn of the loop, within one piece.
const WRITE: usize = 256 * 1024;

impl<D: Driver, R: Record> Worker<D, R> {
    /// Sends what the connection has to send, as far as the kernel takes it, and notes what the rest has to
    /// wait for: the target or this thread.
    pub(super) fn flush(&mut self, slot: u32) {
        let left = self.send_what_fits(slot);
        if let Err(errno) = self.sockets.driver.release(slot) {
            let now = self.now();
            self.not_sent(slot, errno, now);
        }
        let Some(place) = self.slots.get(slot) else { return };
        match (left, place.unsent) {
            // What the handshake takes is known by itself (`note_connected`).
            (true, None) if place.connection.stage() == Stage::Connecting => {}
            (true, None) => {
                let busy = self.sockets.driver.busy(slot);
                place.unsent = Some(Unsent { since: self.clock.now(), busy });
            }
            (false, Some(unsent)) => {
                place.unsent = None;
                self.charge_unsent(slot, unsent);
            }
            _ => {}
        }
    }

    /// A request that did not leave at once has left. While nothing of it was on its way, the target waited for
    /// the generator: for no longer, as it may have had something left to read.
    fn charge_unsent(&mut self, slot: u32, unsent: Unsent) {
        let took = self.clock.now().since(unsent.since);
        let busy = self.sockets.driver.busy(slot);
        let late = match (unsent.busy, busy) {
            (Some(before), Some(now)) => took - (now - before) - self.sockets.jiffy,
            _ => took,
        };
        self.accounts.counters.unsent += late;
        let Some(place) = self.slots.get(slot) else { return };
        place.connection.waiting().for_each(|exchange| exchange.unread_bound += late);
    }

    /// Whether something is left that did not fit.
    fn send_what_fits(&mut self, slot: u32) -> bool {
        let mut written = 0;
        loop {
            let Some(place) = self.slots.get(slot) else { return false };
            // A target that takes whatever it is given does not hold the loop: the rest leaves in the next
            // turn.
            if written >= WRITE {
                let generation = place.generation;
                self.timers.set(self.now(), (slot, generation), Later::Write);
                return true;
            }
            if place.connection.wants_body() && !self.fill(slot) {
                return false;
            }
            let place = self.slots.get(slot).expect("filling a body keeps its connection");
            // If it can send while it connects, it was connected before.
            let connected = (place.connection.stage() == Stage::Connecting).then(|| self.clock.now());
            let output = place.connection.output(self.composer.plan_body());
            if output.is_empty() {
                return false;
            }
            let length = output.len();
            match self.sockets.driver.send(slot, output) {
                Ok(count) => {
                    self.accounts.counters.wire_out += count as u64;
                    written += count;
                    place.connection.wrote(count);
                    if let Some(at) = connected {
                        // It was up as soon as it was asked for: what came before and after took this machine's
                        // time.
                        if let Some((before, returned)) = place.opening.take() {
                            let own = before + at.since(returned);
                            place.connection.waiting().for_each(|exchange| exchange.unread += own);
                        }
                        let took = place.connection.connected(at);
                        self.is_up(slot, took, at);
                    }
                    if count < length {
                        return true;
                    }
                }
                Err(Errno::AGAIN) => return true,
                Err(errno) => {
                    let now = self.now();
                    self.not_sent(slot, errno, now);
                    return false;
                }
            }
        }
    }

    /// Sending failed. What the target said before it went is read first: a refusal of a body may be there.
    pub(super) fn not_sent(&mut self, slot: u32, errno: Errno, now: Instant) {
        match self.slots.get(slot) {
            Some(place)
                if place.connection.stage() == Stage::Open
                    && matches!(errno, Errno::PIPE | Errno::CONNRESET | Errno::CONNABORTED) =>
            {
                place.connection.mute(errno != Errno::PIPE);
            }
            _ => self.failed(slot, errno, now),
        }
    }

    /// Reads the next piece of a streamed body; false if the file can not be read.
    fn fill(&mut self, slot: u32) -> bool {
        let Some(place) = self.slots.get(slot) else { return false };
        match self.upload.piece(place.streamed) {
            Ok(piece) => {
                // The next request's body begins at its beginning.
                place.streamed = if piece.is_empty() { 0 } else { place.streamed + piece.len() as u64 };
                place.connection.stream(piece);
                true
            }
            Err(error) => {
                self.control.fail(format!("reading the streamed body failed: {error}"));
                false
            }
        }
    }
}
