//! Sending: what a connection has for the wire, as far as the kernel takes it.

use clock::Clock;
use rustix::io::Errno;
use units::{Instant, Record};

use crate::connection::Stage;
use crate::io::Driver;
use crate::worker::Worker;
use crate::worker::timers::Later;

/// The most that is written to one socket in a turn of the loop, within one piece.
const WRITE: usize = 256 * 1024;

impl<D: Driver, R: Record> Worker<D, R> {
    /// Sends what the connection has to send, as far as the kernel takes it.
    pub(super) fn flush(&mut self, slot: u32) {
        let mut written = 0;
        loop {
            let Some(place) = self.slots.get(slot) else { return };
            // A target that takes whatever it is given does not hold the loop: the rest leaves in the next
            // turn.
            if written >= WRITE {
                let generation = place.generation;
                return self.timers.set(self.now(), (slot, generation), Later::Write);
            }
            if place.connection.wants_body() && !self.fill(slot) {
                return;
            }
            let place = self.slots.get(slot).expect("filling a body keeps its connection");
            // If it can send while it connects, it was connected before.
            let connected = (place.connection.stage() == Stage::Connecting).then(|| self.clock.now());
            let output = place.connection.output(self.composer.plan_body());
            if output.is_empty() {
                return;
            }
            let length = output.len();
            match self.sockets.driver.send(slot, output) {
                Ok(count) => {
                    self.accounts.counters.wire_out += count as u64;
                    written += count;
                    place.connection.wrote(count);
                    if let Some(at) = connected {
                        let took = place.connection.connected(at);
                        self.is_up(slot, took, at);
                    }
                    if count < length {
                        return;
                    }
                }
                Err(Errno::AGAIN) => return,
                Err(errno) => {
                    let now = self.now();
                    return self.not_sent(slot, errno, now);
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
