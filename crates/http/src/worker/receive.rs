//! Receiving: what the sockets report, and how long it had waited to be read.

use rustix::io::Errno;
use units::{Cause, Instant, Phase, Picos, Record};

use crate::connection::{PhaseTook, Stage};
use crate::io::{Chunk, Driver, Ready};
use crate::worker::reading::{DELIVERY, Delay};
use crate::worker::timers::Later;
use crate::worker::{Worker, books};

impl<D: Driver, R: Record> Worker<D, R> {
    pub(super) fn handle_ready(&mut self) {
        let until = self.turns.begin_reading(&self.clock);
        // What is left after a while waits for the next turn.
        while let Some((slot, ready)) = self.sockets.next(&self.slots) {
            self.handle(slot, ready);
            self.keep_time();
            if self.now() >= until {
                break;
            }
        }
        self.turns.end_reading();
        if let Some((slot, ready)) = self.sockets.next_in_handshake() {
            self.handle(slot, ready);
            self.keep_time();
        }
    }

    pub(super) fn handle(&mut self, slot: u32, ready: Ready) {
        let now = self.now();
        match ready {
            Ready::Connected => self.connected(slot, now),
            Ready::Writable => self.flush(slot),
            Ready::Data(chunk) => self.data(slot, chunk, now),
            Ready::Eof => self.eof(slot, now),
            Ready::Failed(errno) => self.failed(slot, errno, now),
        }
        self.launch_again(now);
    }

    pub(super) fn data(&mut self, slot: u32, chunk: Chunk, now: Instant) {
        self.accounts.counters.wire_in += chunk.length as u64;
        // What a target adds to its last response is nobody's.
        let Some(place) = self.slots.get(slot).filter(|place| !place.awaits_close) else { return };
        let mut delay = self.turns.delay(&chunk, place.behind_since, now);
        // Asked only where it makes a difference.
        if delay.measured > DELIVERY
            && let Some(filled) = self.sockets.driver.behind_hole(slot)
        {
            delay = delay.behind_a_hole(filled);
        }
        place.behind_since = chunk.more.then_some(now);
        // What was not read on purpose says nothing of the stamps.
        let contradicts = delay.contradicts && place.unread_since.is_none();
        self.accounts.counters.contradicted += u64::from(contradicts);
        if delay.is_measured {
            place.arrived = delay.since(now);
        }
        let held = self.sockets.driver.held(slot);
        if !held.is_zero() {
            for exchange in place.connection.waiting() {
                exchange.unread_bound += held;
                self.accounts.counters.held += held;
            }
        }
        let unacked = self.sockets.driver.unacked(slot);
        if !unacked.is_zero() {
            place.connection.waiting().for_each(|exchange| exchange.unread_bound += unacked);
        }
        // How long bytes lay there meanwhile, and how long the target could not send, is not known.
        let throttled = place.unread_since.take();
        if let Some(since) = throttled {
            for exchange in place.connection.waiting() {
                let unread = now.since(since.max(exchange.sent));
                exchange.unread_bound += unread;
                self.accounts.counters.throttled += unread;
            }
        }
        let prepares = matches!(place.connection.stage(), Stage::Proxy | Stage::Handshake);
        let holds = place.connection.is_holding();
        let bytes = self.sockets.bytes(chunk.length);
        let took = place.connection.received(bytes, now, self.composer.rules(), &mut self.finished);
        let steps = prepares || (holds && place.connection.has_released());
        if throttled.is_none() {
            if chunk.crowded
                && let Some(reading) = place.connection.waiting().next()
            {
                reading.unread_bound += delay.crowded;
            }
            self.charge(delay);
        }
        self.record_phase(slot, took, now);
        self.throttle(slot, chunk.length, now);
        if self.plan.request.idle_timeout {
            self.arm(slot, now);
        }
        self.settle_since(slot, now, delay.since(now));
        if steps {
            self.charge_step(slot, delay, now);
        }
    }

    /// Charges those that this chunk ended with the time that it lay unread.
    pub(super) fn charge(&mut self, delay: Delay) {
        books::charge(&mut self.finished, delay, &mut self.turns, &mut self.accounts);
    }

    pub(super) fn eof(&mut self, slot: u32, now: Instant) {
        if self.is_awaited(slot) {
            return self.target_closed(slot, now);
        }
        self.charge_end(slot, now);
        if let Some(place) = self.slots.get(slot) {
            place.connection.eof(&mut self.finished);
            self.settle(slot, now);
        }
    }

    /// Nothing more comes on a connection. Whether that was waited for.
    fn is_awaited(&mut self, slot: u32) -> bool {
        let Some(place) = self.slots.get(slot) else { return false };
        // One that was not made yet may still be, at another address.
        place.has_ended |= place.connection.stage() == Stage::Open;
        place.awaits_close
    }

    /// An answer that ends with its connection: the end has no stamp, but it came after the bytes before it.
    pub(super) fn charge_end(&mut self, slot: u32, now: Instant) {
        let Some(place) = self.slots.get(slot) else { return };
        let late = now.since(place.arrived.max(self.turns.looked_before()));
        if let Some(exchange) = place.connection.waiting().next() {
            exchange.unread_bound += late;
        }
    }

    /// The socket failed: by the stage it was in.
    pub(super) fn failed(&mut self, slot: u32, errno: Errno, now: Instant) {
        if self.is_awaited(slot) {
            return self.target_closed(slot, now);
        }
        let Some(place) = self.slots.get(slot) else { return };
        let connecting = matches!(place.connection.stage(), Stage::Lookup | Stage::Connecting);
        if connecting && self.goes_elsewhere(slot, errno, now) {
            return;
        }
        let Some(place) = self.slots.get(slot) else { return };
        let finished = &mut self.finished;
        match errno {
            Errno::CONNREFUSED if connecting => place.connection.fail(Cause::ConnectRefused, finished),
            // A Unix socket whose backlog is full, or whose path is gone.
            Errno::AGAIN | Errno::NOENT if connecting => {
                place.connection.fail(Cause::ConnectRefused, finished)
            }
            Errno::HOSTUNREACH | Errno::NETUNREACH if connecting => {
                place.connection.fail(Cause::ConnectUnreachable, finished);
            }
            Errno::TIMEDOUT => place.connection.time_out(finished),
            // The kernel's word for a reset that came after the target had shut down in order.
            Errno::PIPE if place.connection.stage() == Stage::Open => {
                place.connection.mute(false);
                place.connection.eof(finished);
            }
            Errno::CONNRESET | Errno::PIPE | Errno::CONNABORTED => place.connection.reset(finished),
            _ if connecting => place.connection.fail(Cause::ConnectOther, finished),
            _ => place.connection.fail(Cause::SocketOther, finished),
        }
        if !matches!(errno, Errno::CONNRESET | Errno::PIPE | Errno::CONNREFUSED) {
            self.accounts.notes.detail(&errno.to_string());
        }
        self.settle(slot, now);
    }

    pub(super) fn fail(&mut self, slot: u32, cause: Cause, now: Instant) {
        if let Some(place) = self.slots.get(slot) {
            place.connection.fail(cause, &mut self.finished);
            self.settle(slot, now);
        }
    }

    /// A connection is up that the loop had to wait for. When the target's answer came is known by the kernel's
    /// own measurement of the round trip.
    pub(super) fn note_connected(&mut self, slot: u32, now: Instant) {
        let Some(place) = self.slots.get(slot) else { return };
        if place.connection.stage() != Stage::Connecting {
            return;
        }
        let took = (now.since(place.connection.opened_at()), self.sockets.driver.round_trip(slot));
        books::charge_connection(place.connection.waiting(), took, self.turns.looked_before(), now);
    }

    /// A phase that ended; with the last of them the connection is ready.
    pub(super) fn record_phase(&mut self, slot: u32, took: Option<PhaseTook>, now: Instant) {
        let Some(PhaseTook(phase, time)) = took else { return };
        self.accounts.phase(phase, time);
        let Some(place) = self.slots.get(slot) else { return };
        if place.connection.stage() == Stage::Open {
            self.accounts.phase(Phase::Ready, now.since(place.connection.opened_at()));
            place.idle_since = now;
            // With pipelining it carries more than the request that it was opened for.
            self.list_if_free(slot);
        }
    }

    /// The plan lets this connection be read again.
    pub(super) fn read_on(&mut self, slot: u32) {
        self.sockets.driver.pause(slot, false);
        // Without a request on its way, nothing can have lain there.
        if let Some(place) = self.slots.get(slot).filter(|place| place.connection.in_flight() == 0) {
            place.unread_since = None;
        }
    }

    /// Reads from this connection no faster than the plan says.
    pub(super) fn throttle(&mut self, slot: u32, count: usize, now: Instant) {
        let Some(limit) = self.plan.connection.throttle else { return };
        let Some(place) = self.slots.get(slot) else { return };
        let took = u128::from(count as u64) * 1_000_000_000_000 / u128::from(limit.get().max(1));
        place.read_at = place.read_at.max(now) + Picos::from_picos_u128(took);
        let (read_at, generation) = (place.read_at, place.generation);
        if read_at > now {
            place.unread_since = Some(now);
            self.sockets.driver.pause(slot, true);
            self.timers.set(read_at, (slot, generation), Later::Read);
        }
    }
}
