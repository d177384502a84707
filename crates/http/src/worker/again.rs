//! Requests that go out once more, under the same departure and the same clock: along redirects, and on another
//! connection where their own was none that the target would have answered on.
//!
//! ```text
//! settle ─► Again (in line, before new departures) ─► a free or a new connection
//! ```
//!
//! They keep to the plan's limits on connections as all requests do.

use units::{Cause, Instant, Outcome, Record};

use crate::endpoint::EndpointId;
use crate::exchange::Exchange;
use crate::io::Driver;
use crate::protocol::{Finished, Unserved};
use crate::worker::Worker;
use crate::worker::composer::Written;
use crate::worker::launch::Acquired;

/// More often than that no request is sent again: with pipelining, those that stand before it go first.
const MOST: u8 = 100;

/// A request that waits for a connection.
#[derive(Debug)]
pub(crate) struct Again {
    pub exchange: Exchange,
    pub endpoint: EndpointId,
}

impl<D: Driver, R: Record> Worker<D, R> {
    /// Whether a request without an answer goes to another connection. The target's failures stay failures:
    /// only what it cannot have looked at, or what the standard has a client send again, does.
    pub(super) fn is_sent_again(&self, slot: u32, ended: &Finished) -> bool {
        let Some(unserved) = ended.unserved.filter(|_| ended.exchange.again < MOST) else { return false };
        match unserved {
            Unserved::BehindLast => true,
            Unserved::BehindBroken => ended.exchange.asked.idempotent,
            Unserved::Reused => ended.exchange.asked.idempotent && self.never_arrived(slot, &ended.exchange),
        }
    }

    /// Whether the other side's kernel has acknowledged nothing of the request: the target had closed before it
    /// came.
    pub(super) fn never_arrived(&self, slot: u32, exchange: &Exchange) -> bool {
        const SYN: u64 = 1;
        let Some(before) = exchange.written_before else { return true };
        self.sockets.driver.acknowledged(slot).is_some_and(|count| count <= before + SYN)
    }

    /// Puts a request in line, the oldest first.
    pub(super) fn send_again(&mut self, exchange: Exchange, endpoint: EndpointId) {
        let is_older = |other: &Again| other.exchange.departure.due <= exchange.departure.due;
        let at = self.again.partition_point(is_older);
        self.again.insert(at, Again { exchange, endpoint });
    }

    /// Sends those in line for which there is a connection.
    pub(super) fn launch_again(&mut self, now: Instant) {
        // Each is looked at once: one that fails at once may be back in line.
        for _ in 0..self.again.len() {
            let Some(first) = self.again.front() else { return };
            let endpoint = first.endpoint;
            let place = match self.acquire(endpoint, now) {
                Acquired::Blocked => return,
                Acquired::Idle(slot, _) => Some(slot),
                Acquired::MayOpen(_) => None,
            };
            let Some(Again { exchange, .. }) = self.again.pop_front() else { return };
            self.carry_again(place, endpoint, exchange, now);
        }
    }

    /// On this connection, or on a new one.
    pub(super) fn carry_again(
        &mut self,
        place: Option<u32>,
        endpoint: EndpointId,
        exchange: Exchange,
        now: Instant,
    ) {
        match self.composer.write_again(&exchange, &self.plan, &mut self.targets.endpoints) {
            Ok(body) => {
                let deadline = self.deadline_of(&exchange, now);
                match place {
                    Some(slot) => {
                        self.put(slot, exchange, Written::Again, body);
                        self.arm_until(slot, deadline);
                        self.flush(slot);
                        self.list_if_free(slot);
                    }
                    None => self.open_with(endpoint, exchange, (Written::Again, body), deadline, now),
                }
            }
            // It was written once, so this is a file that went away since.
            Err(why) => {
                if let Some(lost) = self.composer.chooser.lost.take() {
                    self.control.lose_source(lost);
                }
                self.accounts.event(&exchange.missed(why, now));
                self.pacer.freed(now, units::Picos::ZERO);
            }
        }
    }

    /// Until when the request may take: what it was sent for the first time counts.
    pub(super) fn deadline_of(&self, exchange: &Exchange, now: Instant) -> Instant {
        let request = &self.plan.request;
        if request.idle_timeout { now + request.timeout } else { exchange.sent + request.timeout }
    }

    /// Ends those in line whose time is over.
    pub(super) fn expire_again(&mut self, now: Instant) {
        let mut at = 0;
        while let Some(waiting) = self.again.get(at) {
            if self.deadline_of(&waiting.exchange, now) > now {
                at += 1;
                continue;
            }
            let Some(Again { exchange, .. }) = self.again.remove(at) else { return };
            self.conclude(exchange, Outcome::Failed(Cause::FirstByteTimeout), now);
        }
    }
}
