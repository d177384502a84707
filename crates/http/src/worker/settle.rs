//! Settling: what ended on a connection becomes outcomes, and the connection is used again or closed.

use clock::Clock;
use plan::TargetUrl;
use units::{Cause, Instant, Outcome, Record};

use crate::connection::Stage;
use crate::exchange::Exchange;
use crate::io::Driver;
use crate::protocol::{Finished, Unserved};
use crate::worker::slots::Slot;
use crate::worker::{Worker, books};

impl<D: Driver, R: Record> Worker<D, R> {
    /// After anything happened on a connection.
    pub(super) fn settle(&mut self, slot: u32, now: Instant) {
        self.settle_since(slot, now, now);
    }

    /// The same; what ended could have been seen since `since`.
    pub(super) fn settle_since(&mut self, slot: u32, now: Instant, since: Instant) {
        let mut finished = std::mem::take(&mut self.finished);
        let (since, doubt) = books::free_since(&finished, now, since);
        let is_whole = finished.last().is_some_and(|ended| ended.result.is_ok());
        for ended in finished.drain(..) {
            self.end(slot, ended, now);
        }
        self.finished = finished;
        let Some(place) = self.slots.get(slot) else { return };
        let in_flight = place.connection.in_flight();
        match place.connection.stage() {
            Stage::Closed => {
                let detail = place.connection.take_problem();
                if let Some(detail) = detail {
                    self.accounts.notes.detail(&detail);
                }
                if is_whole && self.awaits_close(slot, now) {
                    return;
                }
                self.count_surplus(slot);
                self.close(slot, self.resets());
                self.limit.could_close(since, doubt);
                return;
            }
            _ if in_flight == 0 => {
                (place.idle_since, place.doubt) = (since, doubt);
                self.slots.clear_deadline(slot);
                self.sockets.driver.answered(slot);
            }
            _ => {}
        }
        self.flush(slot);
        self.list_if_free(slot);
    }

    /// Lists a connection that can take another request.
    pub(super) fn list_if_free(&mut self, slot: u32) {
        let depth = self.plan.connection.pipeline as usize;
        let Some(place) = self.slots.get(slot) else { return };
        if place.listed || !place.connection.may_begin(depth) {
            return;
        }
        place.listed = true;
        let (endpoint, generation) = (place.endpoint, place.generation);
        let (slots, list) = (&self.slots, &mut self.targets.endpoints.get(endpoint).idle);
        list.push_back((slot, generation));
        if list.len() > 2 * slots.open() + 64 {
            let is_listed = |place: &Slot, generation| place.generation == generation && place.listed;
            list.retain(|(slot, generation)| {
                slots.peek(*slot).is_some_and(|place| is_listed(place, *generation))
            });
        }
        self.free_place(slot);
    }

    fn free_place(&mut self, slot: u32) {
        if let Some(place) = self.slots.peek(slot) {
            self.limit.idle(place.idle_since);
        }
    }

    fn count_surplus(&mut self, slot: u32) {
        let has_surplus = self.slots.peek(slot).is_some_and(|place| place.connection.has_surplus());
        self.accounts.notes.surplus += u64::from(has_surplus);
    }

    fn end(&mut self, slot: u32, mut ended: Finished, now: Instant) {
        if self.is_sent_again(slot, &ended) {
            self.accounts.sent_again(ended.unserved);
            return self.again(slot, ended.exchange);
        }
        if ended.unserved == Some(Unserved::Reused) && self.never_arrived(slot, &ended.exchange) {
            ended.result = Err(Cause::ReuseClosed);
        }
        let Finished { mut exchange, result, location, .. } = ended;
        let follow = self.plan.request.follow;
        if let (Ok(()), Some(location)) = (result, location)
            && follow > 0
            && matches!(exchange.status, 301 | 302 | 303 | 307 | 308)
        {
            return self.follow(slot, exchange, &location, now);
        }
        let outcome = match result {
            Ok(()) => self.checker.judge(self.composer.rules(), &mut exchange),
            Err(cause) => Outcome::Failed(cause),
        };
        self.conclude(exchange, outcome, now);
        if self.slots.peek(slot).is_some_and(|place| place.connection.in_flight() > 0) {
            self.arm(slot, now);
        }
    }

    /// The same request on another connection.
    fn again(&mut self, slot: u32, mut exchange: Exchange) {
        let Some(place) = self.slots.peek(slot) else { return };
        let endpoint = place.endpoint;
        exchange.again += 1;
        self.checker.begin_again(self.composer.rules(), &mut exchange);
        self.send_again(exchange, endpoint);
    }

    pub(super) fn conclude(&mut self, mut exchange: Exchange, outcome: Outcome, now: Instant) {
        let places = (&mut self.backoff, &mut self.pacer);
        books::conclude(&exchange, outcome, now, &mut self.accounts, places);
        self.checker.done(&mut exchange);
    }

    /// The next request of a chain of redirects: same departure, same clock.
    fn follow(&mut self, slot: u32, mut exchange: Exchange, location: &str, now: Instant) {
        let chain = exchange
            .chain
            .take()
            .or_else(|| self.composer.begin_chain(&exchange, &self.plan, &mut self.targets.endpoints));
        let Some(mut chain) = chain else {
            return self.conclude(exchange, Outcome::Failed(Cause::RedirectBad), now);
        };
        if chain.hops >= self.plan.request.follow {
            return self.conclude(exchange, Outcome::Failed(Cause::RedirectLimit), now);
        }
        let followed = chain.follow(exchange.status, location);
        let url = TargetUrl::parse(chain.url()).ok().filter(|_| followed);
        let Some(endpoint) = url.and_then(|url| self.targets.endpoints.of(&url, now, &self.plan.resolve))
        else {
            return self.conclude(exchange, Outcome::Failed(Cause::RedirectBad), now);
        };
        exchange.chain = Some(chain);
        self.checker.begin_again(self.composer.rules(), &mut exchange);
        let is_free = self.slots.peek(slot).is_some_and(|place| {
            place.endpoint == endpoint && place.connection.may_begin(1) && !place.listed
        });
        match is_free {
            true => self.carry_again(Some(slot), endpoint, exchange, now),
            false => self.send_again(exchange, endpoint),
        }
    }

    /// Closes a connection; its place under the limit is free from now on.
    pub(super) fn close(&mut self, slot: u32, abort: bool) {
        let Some(place) = self.slots.remove(slot) else { return };
        self.sockets.driver.close(slot, abort);
        self.accounts.closed(place.is_up);
        self.limit.closed(self.clock.now());
    }
}
