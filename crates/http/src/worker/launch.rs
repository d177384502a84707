//! Launching: from a departure to bytes on a connection.

use units::{Departure, Instant, Picos, Record};

use crate::endpoint::EndpointId;
use crate::exchange::Exchange;
use crate::io::Driver;
use crate::outgoing::Body;
use crate::source::Staged;
use crate::worker::Worker;
use crate::worker::composer::Written;
use crate::worker::pacer::Pending;
use schedule::Halt;

/// A connection for a request, or why there is none.
pub(crate) enum Acquired {
    /// It has been free since then.
    Idle(u32, Instant),
    /// It may be opened; the place for it has been free since then.
    MayOpen(Instant),
    /// The plan's limits hold it back.
    Blocked,
}

impl<D: Driver, R: Record> Worker<D, R> {
    /// Carries one departure out; false if it has to wait.
    pub(super) fn launch(&mut self, departure: Departure, now: Instant) -> bool {
        if self.limit.has_held(departure.due) && self.is_given_up(departure, now) {
            self.give_up_next(now);
            return true;
        }
        let Some(pending) = self.pacer.take_pending().or_else(|| self.stage(departure, now)) else {
            return self.control.halt() == Halt::No;
        };
        let available = match self.acquire(pending.staged.endpoint, now) {
            Acquired::Blocked => {
                self.limit.hold(self.limit.has_room(self.slots.open()));
                self.pacer.keep(pending);
                return false;
            }
            Acquired::Idle(slot, since) => (Some(slot), since),
            Acquired::MayOpen(since) => (None, since),
        };
        let blocked = self.limit.blocked(departure.due, available.1, now);
        match available.0 {
            Some(slot) => self.begin(slot, pending, blocked),
            None => self.open(pending, blocked),
        }
        true
    }

    /// Takes the departure from the feed and writes its request.
    fn stage(&mut self, departure: Departure, now: Instant) -> Option<Pending> {
        self.pacer.take();
        self.accounts.counters.offered += 1;
        match self.composer.write(departure.seq, now, &self.plan, &mut self.targets.endpoints) {
            Ok(staged) => Some(Pending { departure, staged, written_at: now }),
            Err(miss) => {
                if let Some(lost) = self.composer.chooser.lost.take() {
                    self.control.lose_source(lost);
                }
                self.accounts.miss(departure, miss, now);
                self.pacer.freed(now, Picos::from_micros(100));
                None
            }
        }
    }

    pub(super) fn acquire(&mut self, endpoint: EndpointId, now: Instant) -> Acquired {
        // A closed loop opens all its connections before it uses one again, as long as there are any to be had.
        let rather_new = (self.pacer.is_closed_loop() || self.plan.connection.open_all)
            && self.limit.may_have_more(self.slots.open(), now);
        if !rather_new && let Some((slot, since)) = self.idle(endpoint) {
            return Acquired::Idle(slot, since);
        }
        if !self.limit.has_room(self.slots.open()) && !self.evict(endpoint) {
            return Acquired::Blocked;
        }
        if !self.limit.is_paced(now) {
            return Acquired::Blocked;
        }
        Acquired::MayOpen(self.limit.take_place(now))
    }

    /// An idle connection to the endpoint. With a limit the longest idle, so that all are used; without, the
    /// last used, so that no more stay open than are needed.
    fn idle(&mut self, endpoint: EndpointId) -> Option<(u32, Instant)> {
        let spread = matches!(self.plan.load, plan::Load::Open { connections: Some(_), .. });
        let list = &mut self.targets.endpoints.get(endpoint).idle;
        while let Some((slot, generation)) = if spread { list.pop_front() } else { list.pop_back() } {
            let listed = self.slots.get(slot).filter(|place| place.generation == generation && place.listed);
            if let Some(place) = listed {
                place.listed = false;
                return Some((slot, place.idle_since));
            }
        }
        None
    }

    /// Closes an idle connection to another endpoint, to make room.
    fn evict(&mut self, wanted: EndpointId) -> bool {
        while let Some(other) = self.targets.endpoints.other_with_idle(wanted) {
            let Some((slot, _)) = self.idle(other) else { continue };
            let busy = self.slots.peek(slot).is_some_and(|place| place.connection.in_flight() > 0);
            if !busy {
                self.close(slot, self.resets());
                return true;
            }
        }
        false
    }

    /// Begins the request on an open connection.
    fn begin(&mut self, slot: u32, pending: Pending, blocked: Picos) {
        let now = self.now();
        let (mut exchange, body) = self.exchange(pending, now, blocked);
        let doubt = self.slots.peek(slot).map_or(Picos::ZERO, |place| place.doubt);
        exchange.unread_bound = doubt.min(blocked);
        self.put(slot, exchange, Written::First, body);
        // Behind others, it has its turn after them.
        if self.slots.peek(slot).is_some_and(|place| place.connection.in_flight() == 1) {
            self.arm(slot, now);
        }
        self.flush(slot);
        self.list_if_free(slot);
    }

    /// What is known of a request as it leaves, and what follows its bytes.
    fn exchange(&mut self, pending: Pending, now: Instant, blocked: Picos) -> (Exchange, Body) {
        let Pending { departure, staged, written_at } = pending;
        let Staged { meta, rules, body, url, .. } = staged;
        let check = self.checker.check_for(self.composer.rules().of(&rules));
        self.accounts.left(now.since(departure.due) - blocked);
        let exchange = Exchange::leaving(departure, &meta, rules, blocked, now);
        (Exchange { written_at, check, url, ..exchange }, body)
    }

    /// Queues a request that was written on the connection.
    pub(super) fn put(&mut self, slot: u32, exchange: Exchange, written: Written, body: Body) {
        let held = matches!(body, Body::Held(_) | Body::HeldStream);
        let Some(place) = self.slots.get(slot) else { return };
        place.connection.begin(exchange, self.composer.bytes(written), body);
        let served = place.connection.served();
        if self.plan.connection.requests_per_connection.is_some_and(|most| served >= most)
            || !self.plan.connection.keep_alive
        {
            place.connection.retire();
        }
        if held {
            self.hold(slot);
        }
    }

    /// Opens a connection for the request.
    fn open(&mut self, pending: Pending, blocked: Picos) {
        let now = self.now();
        let endpoint = pending.staged.endpoint;
        let (mut exchange, body) = self.exchange(pending, now, blocked);
        exchange.unread_bound = self.limit.doubt().min(blocked);
        let deadline = self.deadline_of(&exchange, now);
        self.open_with(endpoint, exchange, (Written::First, body), deadline, now);
    }
}
