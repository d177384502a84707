//! Settling: what ended on a connection becomes outcomes, and the connection is used again or closed.

use plan::TargetUrl;
use rustix::io::Errno;
use std::cmp::Reverse;
use units::{Cause, Instant, Outcome, Phase, Picos, Record};

use crate::connection::{Finished, Stage};
use crate::endpoint::EndpointId;
use crate::exchange::Exchange;
use crate::io::Driver;
use crate::outgoing::Body;
use crate::slots::Slot;
use crate::worker::{Later, Worker};

/// The shortest and the longest pause of a closed loop's place after failures in a row.
const PAUSE: Picos = Picos::from_millis(1);
const DOUBLINGS: u32 = 6;

impl<D: Driver, R: Record> Worker<D, R> {
    /// After anything happened on a connection.
    pub(crate) fn settle(&mut self, slot: u32, now: Instant) {
        self.settle_since(slot, now, now);
    }

    /// The same; what ended could have been seen since `since`. A connection is free for the next request from then on:
    /// what the generator took longer is its own lateness.
    pub(crate) fn settle_since(&mut self, slot: u32, now: Instant, since: Instant) {
        let mut finished = std::mem::take(&mut self.finished);
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
                    self.notes.detail(&detail);
                }
                self.close(slot, false);
                self.freed_at = self.freed_at.min(since);
                return;
            }
            _ if in_flight == 0 => {
                place.idle_since = since;
                self.slots.clear_deadline(slot);
            }
            _ => {}
        }
        self.flush(slot);
        self.list_if_free(slot);
    }

    /// Lists a connection that can take another request.
    pub(crate) fn list_if_free(&mut self, slot: u32) {
        let depth = self.setup.plan.connection.pipeline as usize;
        let Some(place) = self.slots.get(slot) else { return };
        if place.listed || !place.connection.may_begin(depth) {
            return;
        }
        place.listed = true;
        let (endpoint, generation) = (place.endpoint, place.generation);
        let (slots, list) = (&self.slots, &mut self.setup.endpoints.get(endpoint).idle);
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
            self.freed_at = self.freed_at.max(place.idle_since);
        }
        if std::mem::take(&mut self.blocked) {
            self.blocked_until = self.freed_at;
        }
    }

    fn end(&mut self, slot: u32, ended: Finished, now: Instant) {
        let Finished { mut exchange, result, location } = ended;
        let follow = self.setup.plan.request.follow;
        if let (Ok(()), Some(location)) = (result, location)
            && follow > 0
            && matches!(exchange.status, 301 | 302 | 303 | 307 | 308)
        {
            if u32::from(exchange.redirects) >= follow {
                return self.conclude(exchange, Outcome::Failed(Cause::RedirectLimit), now);
            }
            exchange.redirects += 1;
            return self.follow(slot, exchange, &location, now);
        }
        let outcome = match result {
            Ok(()) => self.judge(&mut exchange),
            Err(cause) => Outcome::Failed(cause),
        };
        self.conclude(exchange, outcome, now);
        if self.slots.peek(slot).is_some_and(|place| place.connection.in_flight() > 0) {
            self.arm(slot, now);
        }
    }

    fn judge(&mut self, exchange: &mut Exchange) -> Outcome {
        let mut digest = None;
        let outcome = exchange.rules.judge(exchange.status, exchange.check.as_deref_mut(), &mut digest);
        match (digest, &self.setup.same, &exchange.url) {
            (Some(digest), Some(same), Some(url)) if !same.agrees(url, digest) => {
                Outcome::Failed(Cause::ExpectChecksum)
            }
            _ => outcome,
        }
    }

    fn conclude(&mut self, mut exchange: Exchange, outcome: Outcome, now: Instant) {
        self.recorder.event(&exchange.event(outcome, now));
        self.gauges.body_in += exchange.body_in;
        if !exchange.waited.is_zero() {
            self.recorder.phase(Phase::FirstByte, exchange.waited);
        }
        self.checks.extend(exchange.check.take());
        let pause = match outcome {
            Outcome::Failed(cause) => {
                self.failures = self.failures.saturating_add(1);
                if cause.key().starts_with("connect") || cause.key().starts_with("lookup") {
                    self.pause()
                } else {
                    Picos::ZERO
                }
            }
            _ => {
                self.failures = 0;
                Picos::ZERO
            }
        };
        self.setup.feed.freed(now, pause);
    }

    /// A closed loop does not hammer a target that refuses it: 1 ms, doubling to 64 ms.
    pub(crate) fn pause(&self) -> Picos {
        PAUSE.saturating_mul(1 << self.failures.saturating_sub(1).min(DOUBLINGS))
    }

    /// The next request of a chain of redirects: same departure, same clock.
    fn follow(&mut self, slot: u32, mut exchange: Exchange, location: &str, now: Instant) {
        let base = exchange.url.as_deref().and_then(|url| url::Url::parse(url).ok());
        let joined = base.and_then(|base| base.join(location).ok());
        let Some(next) = joined.filter(|url| matches!(url.scheme(), "http" | "https")) else {
            return self.conclude(exchange, Outcome::Failed(Cause::RedirectBad), now);
        };
        let text: Box<str> = next.as_str().into();
        let parsed = TargetUrl::parse(&text);
        let setup = &mut self.setup;
        let endpoint = parsed.ok().and_then(|url| setup.endpoints.of(&url, now, &setup.plan.resolve));
        let (Ok(url), Some(endpoint)) = (parsed, endpoint) else {
            return self.conclude(exchange, Outcome::Failed(Cause::RedirectBad), now);
        };
        let method = if exchange.asked.no_body { "HEAD" } else { "GET" };
        self.staged_aside(|worker| {
            worker.staged.clear();
            let requests = worker.setup.chooser.requests().clone();
            requests.writer.redirect(method, &url, &mut worker.staged);
            exchange.bytes_out += worker.staged.len() as u64;
            exchange.status = 0;
            exchange.url = Some(text.clone());
            worker.send_on(slot, endpoint, exchange, now);
        });
    }

    /// Runs `action` with the staged bytes of a waiting departure kept safe.
    fn staged_aside(&mut self, action: impl FnOnce(&mut Self)) {
        let kept = std::mem::take(&mut self.staged);
        action(self);
        self.staged = kept;
    }

    fn send_on(&mut self, slot: u32, endpoint: EndpointId, exchange: Exchange, now: Instant) {
        let same = self.slots.peek(slot).is_some_and(|place| {
            place.endpoint == endpoint && place.connection.may_begin(1) && !place.listed
        });
        if same {
            self.put(slot, exchange, Body::Inside);
            self.arm(slot, now);
        } else {
            self.open_with(endpoint, exchange, Body::Inside, now);
        }
    }

    pub(crate) fn eof(&mut self, slot: u32, now: Instant) {
        self.charge_end(slot, now);
        if let Some(place) = self.slots.get(slot) {
            place.connection.eof(now, &mut self.finished);
            self.settle(slot, now);
        }
    }

    /// The socket failed: by the stage it was in.
    pub(crate) fn failed(&mut self, slot: u32, errno: Errno, now: Instant) {
        let Some(place) = self.slots.get(slot) else { return };
        let connecting = matches!(place.connection.stage(), Stage::Lookup | Stage::Connecting);
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
            Errno::CONNRESET | Errno::PIPE | Errno::CONNABORTED => place.connection.reset(finished),
            _ if connecting => place.connection.fail(Cause::ConnectOther, finished),
            _ => place.connection.fail(Cause::SocketOther, finished),
        }
        if !matches!(errno, Errno::CONNRESET | Errno::PIPE | Errno::CONNREFUSED) {
            self.notes.detail(&errno.to_string());
        }
        self.settle(slot, now);
    }

    pub(crate) fn fail(&mut self, slot: u32, cause: Cause, now: Instant) {
        if let Some(place) = self.slots.get(slot) {
            place.connection.fail(cause, &mut self.finished);
            self.settle(slot, now);
        }
    }

    /// Closes a connection; its place under the limit is free from now on.
    pub(crate) fn close(&mut self, slot: u32, abort: bool) {
        if self.slots.remove(slot).is_none() {
            return;
        }
        self.driver.close(slot, abort);
        self.gauges.open -= 1;
        self.freed_at = self.now();
        if std::mem::take(&mut self.blocked) {
            self.blocked_until = self.freed_at;
        }
    }

    /// Reads from this connection no faster than the plan says.
    pub(crate) fn throttle(&mut self, slot: u32, count: usize, now: Instant) {
        let Some(limit) = self.setup.plan.connection.throttle else { return };
        let Some(place) = self.slots.get(slot) else { return };
        let took = u128::from(count as u64) * 1_000_000_000_000 / u128::from(limit.get().max(1));
        place.read_at = place.read_at.max(now) + Picos::from_picos_u128(took);
        let (read_at, generation) = (place.read_at, place.generation);
        if read_at > now {
            self.driver.pause(slot, true);
            self.later.push(Reverse((read_at, slot, generation, Later::Read)));
        }
    }
}
