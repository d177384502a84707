//! What the sessions of the fast path tell: responses are read, and requests settled.

use clock::{Clock, HostClock};
use session::{Ahead, Id, Inward, Owner};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::num::NonZeroU64;
use tcp::{Notice, Payload};
use units::{Cause, Instant, Outcome, Phase, Picos, Record};

use super::choose::Fixture;
use super::lanes::{Lanes, short};
use crate::exchange::Exchange;
use crate::io::{Chunk, InSocket};
use crate::protocol::{End, Finished, Flow, Protocol, Unserved};
use crate::rules::RuleBook;
use crate::worker::accounts::Accounts;
use crate::worker::backoff::Backoff;
use crate::worker::books;
use crate::worker::limit::Limit;
use crate::worker::pacer::Pacer;
use crate::worker::turns::Turns;

/// A request that goes to another connection.
pub(super) struct Again {
    pub exchange: Exchange,
    pub request: u16,
}

/// What a lane wants of its session once the batch is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    /// Its connection is up: the request may go.
    Send(u32),
    /// It carries nothing more; it could have been closed at this instant, or so much earlier.
    Close(u32, Instant, Picos),
}

/// What becomes of a lane whose request has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    /// It takes the next.
    Goes,
    Closes,
    /// The target is to close it.
    Spent,
}

/// What a session is called whose lane is gone.
pub(super) const ORPHAN: u32 = u32::MAX;

/// See the module.
pub(super) struct Desk<R> {
    pub clock: HostClock,
    pub lanes: Lanes,
    pub fixture: Fixture,
    pub rules: RuleBook,
    pub accounts: Accounts<R>,
    pub turns: Turns,
    pub limit: Limit,
    pub pacer: Pacer,
    pub backoff: Backoff,
    pub wishes: Vec<Wish>,
    /// Lanes whose response has come to its end; those that are idle still have not said so to the target.
    pub answered: Vec<u32>,
    pub again: Vec<Again>,
    finished: Vec<Finished>,
    /// Bytes that came ahead of holes, by lane.
    early: HashMap<u32, Ahead>,
    /// Flights whose data is not acknowledged.
    owed: Vec<u32>,
    /// Requests that have ended.
    pub ended: usize,
    /// When sessions were looked at before.
    pub not_before: Instant,
    pub keeping: Keeping,
}

/// What the plan says of the end of connections.
pub(super) struct Keeping {
    /// No further request on a connection after so many.
    pub most_served: Option<u32>,
    /// How long the target has to close a connection, if it is to.
    pub patience: Option<Picos>,
}

impl<R: Record> Desk<R> {
    #[expect(clippy::too_many_arguments, reason = "each is a part with a name")]
    pub fn new(
        clock: HostClock,
        fixture: Fixture,
        rules: RuleBook,
        accounts: Accounts<R>,
        turns: Turns,
        limit: Limit,
        pacer: Pacer,
        keeping: Keeping,
    ) -> Self {
        Self {
            clock,
            lanes: Lanes::new(fixture.addresses.len()),
            fixture,
            rules,
            accounts,
            turns,
            limit,
            pacer,
            backoff: Backoff::default(),
            wishes: Vec::new(),
            answered: Vec::new(),
            again: Vec::new(),
            finished: Vec::new(),
            early: HashMap::new(),
            owed: Vec::new(),
            ended: 0,
            not_before: Instant::EPOCH,
            keeping,
        }
    }

    /// Puts a request on a lane that has none.
    pub fn board(&mut self, lane: u32, exchange: Exchange, request: u16, asked: Instant) -> u32 {
        let flight = self.lanes.depart(lane, asked, clock::unix_ns());
        let made = self.lanes.get(lane);
        made.request = request;
        made.served = made.served.saturating_add(1);
        let served = u32::from(made.served);
        let fixed = &self.fixture.requests[usize::from(request)];
        let http1 = &mut self.lanes.flight(flight).http1;
        http1.begin(exchange, &fixed.bytes, crate::outgoing::Body::Inside);
        if self.keeping.most_served.is_some_and(|most| served >= most) {
            http1.retire();
        }
        flight
    }

    /// The request left at `at`, as far as the generator is concerned.
    pub fn has_left(&mut self, flight: u32, at: Instant) {
        let mut late = None;
        for exchange in self.lanes.flight(flight).http1.waiting() {
            exchange.sent = at;
            late = Some(at.since(exchange.departure.due) - exchange.blocked);
        }
        if let Some(late) = late {
            self.accounts.left(late);
        }
    }

    /// The session has been given the request: that it left is not known before it is acknowledged.
    pub fn is_given(&mut self, lane: u32) {
        let Some(flight) = self.lanes.peek(lane).flight() else { return };
        let length = self.fixture.requests[usize::from(self.lanes.peek(lane).request)].bytes.len();
        let made = self.lanes.flight(flight);
        made.given = true;
        let taken = made.http1.output(&[]).len().min(length);
        made.http1.wrote(taken);
        made.http1.left(taken, 0);
        self.accounts.counters.wire_out += taken as u64;
    }

    /// Bytes of a response, as they lie in their frame.
    fn data(&mut self, lane: u32, bytes: &[u8], stamp_ns: Option<NonZeroU64>) {
        let now = self.clock.now();
        self.accounts.counters.wire_in += bytes.len() as u64;
        let Some(flight) = self.lanes.peek(lane).flight() else {
            // Bytes that nobody asked for: the connection can not be trusted any more.
            self.accounts.notes.surplus += 1;
            return self.hang_up(lane, now, now, Picos::ZERO);
        };
        let chunk = Chunk {
            length: bytes.len(),
            stamp_ns,
            not_before: self.not_before,
            more: false,
            crowded: false,
            in_socket: InSocket::UntilRead,
        };
        let delay = self.turns.delay(&chunk, None, now);
        self.accounts.counters.contradicted += u64::from(delay.contradicts);
        let made = self.lanes.flight(flight);
        let ready_since = made.ready_since;
        let flow = made.http1.received(bytes, now, ready_since, &self.rules, &mut self.finished);
        books::charge(&mut self.finished, delay, &mut self.turns, &mut self.accounts);
        if self.lanes.flight(flight).http1.has_surplus() {
            self.accounts.notes.surplus += 1;
        }
        if flow == Flow::Over || !self.finished.is_empty() {
            let is_whole = self.finished.last().is_some_and(|ended| ended.result.is_ok());
            let then = match flow {
                Flow::Open => Then::Goes,
                Flow::Over if is_whole && self.keeping.patience.is_some() => Then::Spent,
                Flow::Over => Then::Closes,
            };
            self.settle(lane, then, now, delay.since(now));
        }
    }

    /// Data of a response arrived: its target may have waited for acknowledgments of ours.
    fn found(&mut self, lane: u32, stamp_ns: Option<NonZeroU64>) {
        let Some(flight) = self.lanes.peek(lane).flight() else { return };
        let made = self.lanes.flight(flight);
        if !made.unacked.is_owed() {
            self.owed.push(flight);
        }
        let waited = made.unacked.found(stamp_ns);
        if !waited.is_zero() {
            made.http1.waiting().for_each(|exchange| exchange.unread_bound += waited);
        }
    }

    /// Acknowledgments have left.
    pub fn have_left(&mut self) {
        let now_ns = if self.owed.is_empty() { 0 } else { clock::unix_ns() };
        self.owed.drain(..).for_each(|flight| self.lanes.flight(flight).unacked.left(now_ns));
    }

    /// What ended becomes an outcome, and the lane is used again or closed. It could have been seen since
    /// `since`.
    fn settle(&mut self, lane: u32, then: Then, now: Instant, since: Instant) {
        let Some(flight) = self.lanes.peek(lane).flight() else { return };
        let acknowledged = self.lanes.flight(flight).acknowledged;
        let mut finished = std::mem::take(&mut self.finished);
        let (since, doubt) = books::free_since(&finished, now, since);
        if !finished.is_empty() || then != Then::Goes {
            self.lanes.land(flight);
        }
        let request = self.lanes.peek(lane).request;
        for ended in finished.drain(..) {
            self.end(ended, request, acknowledged, now);
        }
        self.finished = finished;
        match then {
            Then::Closes => self.hang_up(lane, now, since, doubt),
            Then::Spent => self.lanes.spend(lane, now + self.keeping.patience.unwrap_or_default()),
            Then::Goes => {
                let made = self.lanes.get(lane);
                (made.idle_since, made.doubt_ns) = (since, short(doubt));
                self.lanes.list(lane);
                self.answered.push(lane);
                self.limit.idle(since);
            }
        }
    }

    fn end(&mut self, mut ended: Finished, request: u16, acknowledged: bool, now: Instant) {
        const MOST_AGAIN: u8 = 100;
        if ended.unserved == Some(Unserved::Reused) && !acknowledged {
            if ended.exchange.asked.idempotent && ended.exchange.again < MOST_AGAIN {
                self.accounts.sent_again(ended.unserved);
                ended.exchange.again += 1;
                (ended.exchange.first_byte, ended.exchange.status) = (Instant::FAR, 0);
                return self.again.push(Again { exchange: ended.exchange, request });
            }
            ended.result = Err(Cause::ReuseClosed);
        }
        let exchange = ended.exchange;
        let outcome = match ended.result {
            Ok(()) => self.rules.of(&exchange.rules).judge(exchange.status, None, &mut None),
            Err(cause) => Outcome::Failed(cause),
        };
        self.conclude(&exchange, outcome, now);
    }

    pub fn conclude(&mut self, exchange: &Exchange, outcome: Outcome, now: Instant) {
        self.ended += 1;
        let places = (&mut self.backoff, &mut self.pacer);
        books::conclude(exchange, outcome, now, &mut self.accounts, places);
    }

    /// The lane carries nothing more. Its session is closed when the batch is over.
    fn hang_up(&mut self, lane: u32, now: Instant, since: Instant, doubt: Picos) {
        if self.lanes.peek(lane).id.is_some() {
            self.lanes.close(lane);
            self.wishes.push(Wish::Close(lane, since, doubt));
        } else {
            self.remove(lane, now);
            self.limit.could_close(since, doubt);
        }
    }

    /// The target has closed the connection that it was to close, or reset it.
    fn target_closed(&mut self, lane: u32, stamp_ns: Option<NonZeroU64>) {
        let now = self.clock.now();
        let chunk = Chunk {
            length: 0,
            stamp_ns,
            not_before: self.not_before,
            more: false,
            crowded: false,
            in_socket: InSocket::UntilRead,
        };
        let delay = self.turns.delay(&chunk, None, now);
        self.hang_up(lane, now, delay.since(now), delay.bound);
    }

    /// The lane's session is gone or was never made.
    pub fn remove(&mut self, lane: u32, now: Instant) {
        self.accounts.closed(self.lanes.peek(lane).is_up());
        self.early.remove(&lane);
        self.lanes.remove(lane);
        self.limit.closed(now);
    }

    /// What is on its way there fails, and the lane with it.
    fn fail(&mut self, lane: u32, cause: Cause) {
        let now = self.clock.now();
        let Some(flight) = self.lanes.peek(lane).flight() else {
            return self.remove(lane, now);
        };
        self.lanes.flight(flight).http1.fail(cause, &mut self.finished);
        self.settle(lane, Then::Closes, now, now);
    }

    /// The peer ended the connection: in order, or by a reset.
    fn over(&mut self, lane: u32, end: End) {
        let now = self.clock.now();
        match self.lanes.peek(lane).flight() {
            Some(flight) => {
                self.lanes.flight(flight).http1.end(end, &mut self.finished);
                self.settle(lane, Then::Closes, now, now);
            }
            None => self.hang_up(lane, now, now, Picos::ZERO),
        }
    }

    /// Its time is over.
    pub fn time_out(&mut self, flight: u32, now: Instant) {
        let made = self.lanes.flight(flight);
        let lane = made.lane;
        let connecting = !self.lanes.peek(lane).is_up();
        let cause = connecting.then_some(Cause::ConnectTimeout);
        let _ = self.lanes.flight(flight).http1.time_out(cause, &mut self.finished);
        self.settle(lane, Then::Closes, now, now);
    }

    fn connected(&mut self, lane: u32, stamp_ns: u64) {
        let now = self.clock.now();
        self.accounts.opened();
        self.lanes.is_made(lane);
        let Some(flight) = self.lanes.peek(lane).flight() else { return };
        let made = self.lanes.flight(flight);
        made.ready_since = Some(now);
        let took = now.since(made.asked);
        // A frame without a stamp came at 0, before anything was asked.
        let round_trip = stamp_ns.checked_sub(made.asked_ns).map(Picos::from_nanos);
        let waiting = made.http1.waiting();
        books::charge_connection(waiting, (took, round_trip), self.turns.looked_before(), now);
        self.accounts.phase(Phase::Connect, took);
        self.accounts.phase(Phase::Ready, took);
        self.wishes.push(Wish::Send(lane));
    }
}

impl<R: Record> Owner for Desk<R> {
    fn text(&self, tag: u32, payload: Payload) -> &[u8] {
        if tag == ORPHAN {
            return &[];
        }
        let request = self.lanes.peek(tag).request;
        payload.of(&self.fixture.requests[usize::from(request)].bytes).unwrap_or_default()
    }

    fn hear(&mut self, _: Id, tag: u32, notice: Notice, inward: &Inward<'_>) {
        if tag == ORPHAN {
            return;
        }
        if self.lanes.peek(tag).is_closing() {
            if let Notice::Closed(_) = notice {
                self.lanes.get(tag).id = None;
            }
            return;
        }
        let stamp_ns = NonZeroU64::new(inward.stamp.as_unix_nanos());
        if self.lanes.peek(tag).is_spent() {
            if let Notice::Closed(_) = notice {
                self.lanes.get(tag).id = None;
            }
            if let Notice::Ended | Notice::Closed(_) = notice {
                self.target_closed(tag, stamp_ns);
            }
            return;
        }
        let part = |skip: u32, len: u32| &inward.payload[skip as usize..][..len as usize];
        if let Notice::Data { .. } | Notice::Early { .. } = notice {
            self.found(tag, stamp_ns);
        }
        match notice {
            Notice::Data { skip, len } => self.data(tag, part(skip, len), stamp_ns),
            Notice::Acked => {
                if let Some(flight) = self.lanes.peek(tag).flight() {
                    self.lanes.flight(flight).acknowledged = true;
                }
            }
            Notice::Connected { .. } => self.connected(tag, inward.stamp.as_unix_nanos()),
            Notice::Early { skip, len } => {
                let from = inward.seq.wrapping_add(skip);
                self.early.entry(tag).or_default().keep(from, part(skip, len));
            }
            Notice::Filled { .. } => {
                if let Entry::Occupied(mut early) = self.early.entry(tag) {
                    let bytes = early.get_mut().fill().unwrap_or_default();
                    if early.get().is_empty() {
                        early.remove();
                    }
                    self.data(tag, &bytes, stamp_ns);
                }
            }
            Notice::Ended => self.over(tag, End::Shut),
            Notice::Closed(cause) => {
                self.lanes.get(tag).id = None;
                match cause {
                    tcp::Cause::Refused => self.fail(tag, Cause::ConnectRefused),
                    tcp::Cause::Unreachable => self.fail(tag, Cause::ConnectUnreachable),
                    tcp::Cause::Reset => self.over(tag, End::Reset),
                    tcp::Cause::TimedOut | tcp::Cause::Aborted | tcp::Cause::Finished => {}
                }
            }
            _ => {}
        }
    }

    fn waited(&mut self, tag: u32, since: Instant, left: Instant) {
        if tag == ORPHAN {
            return;
        }
        let Some(flight) = self.lanes.peek(tag).flight() else { return };
        let made = self.lanes.flight(flight);
        let since = made.room_wait.uncounted(since, left);
        for exchange in made.http1.waiting() {
            let waited = left.since(since.max(exchange.sent));
            exchange.unread_bound += waited;
            self.accounts.counters.held += waited;
        }
    }

    fn no_way(&mut self, _: Id, tag: u32) {
        if tag == ORPHAN {
            return;
        }
        self.lanes.get(tag).id = None;
        self.fail(tag, Cause::ConnectUnreachable);
    }
}
