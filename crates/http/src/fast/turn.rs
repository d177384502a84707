//! The loop of the fast path.

mod waiting;

use clock::{Clock, HostClock};
use plan::{Close, Load, Plan};
use rustix::fd::OwnedFd;
use schedule::{Control, Halt};
use session::{Began, OpenError, Sessions};
use std::sync::Arc;
use tcp::{Event, Flags};
use units::{Departure, Instant, Miss, Outcome, Picos, Record};

use super::choose::Fixture;
use super::desk::{Again, Desk, Keeping, ORPHAN, Wish};
use crate::endpoint::EndpointId;
use crate::exchange::Exchange;
use crate::notes::Notes;
use crate::outgoing::Body;
use crate::protocol::Protocol;
use crate::rules::{RuleBook, Wanted};
use crate::source::{Chooser, Staged};
use crate::worker::accounts::Accounts;
use crate::worker::closes;
use crate::worker::limit::Limit;
use crate::worker::pacer::{Pacer, Pending};
use crate::worker::turns::Turns;

/// Departures that leave in one call.
const LAUNCHES: usize = 64;
/// Departures that are handed over at once. The first of them has left when the last one begins to: on a veth
/// pair the target's kernel takes some microseconds for each, in this thread, and those are not the target's.
///
/// A closed loop takes as many frames and lets go what became free by them, before it takes more: what is
/// launched only when a whole batch has been read leaves late, and in clumps.
const GROUP: usize = 4;
/// Frames that are taken before the loop has other duties: in an open loop fewer.
const FRAMES: usize = 256;
const FRAMES_BY_TIME: usize = 48;
/// Departures given up before the port is looked at again.
const GIVEN_UP: usize = 1024;

/// What the thread is made with.
pub(crate) struct FastParts {
    pub plan: Arc<Plan>,
    pub clock: HostClock,
    pub control: Arc<Control>,
    pub pacer: Pacer,
    pub chooser: Chooser,
    pub fixture: Fixture,
    pub limit: Limit,
    pub gather: bool,
    pub sessions: Sessions,
    pub waker: OwnedFd,
}

/// A lane for a request.
enum Acquired {
    Idle(u32),
    MayOpen(Instant),
    Blocked,
}

/// See the module.
pub(crate) struct Fast<R> {
    plan: Arc<Plan>,
    clock: HostClock,
    control: Arc<Control>,
    chooser: Chooser,
    sessions: Sessions,
    waker: OwnedFd,
    desk: Desk<R>,
    /// Flights that leave with the next transmit.
    leaving: Vec<u32>,
    frames: usize,
    full: bool,
    /// When departures were last made, the plan's limits held the next one back.
    held: bool,
}

impl<R: Record> Fast<R> {
    pub fn new(parts: FastParts, recorder: R) -> Self {
        let FastParts { plan, clock, control, pacer, mut chooser, fixture, limit, gather, sessions, waker } =
            parts;
        let rules = std::mem::replace(&mut chooser.rules, RuleBook::of_nobody());
        let connection = &plan.connection;
        let most_served = if connection.keep_alive { connection.requests_per_connection } else { Some(1) };
        let patience = (connection.close == Close::Server).then(|| closes::patience(&plan));
        let keeping = Keeping { most_served, patience };
        let frames = if pacer.is_closed_loop() { FRAMES } else { FRAMES_BY_TIME };
        let (accounts, turns) = (Accounts::new(recorder), Turns::new(&clock, gather));
        let desk = Desk::new(clock, fixture, rules, accounts, turns, limit, pacer, keeping);
        Self {
            plan,
            clock,
            control,
            chooser,
            sessions,
            waker,
            desk,
            leaving: Vec::new(),
            frames,
            full: false,
            held: false,
        }
    }

    /// Runs to the end.
    pub fn run(mut self) -> Notes {
        loop {
            let now = self.clock.now();
            self.expire(now);
            if let Some(lost) = self.desk.pacer.lost() {
                self.control.lose_source(lost);
            }
            if self.control.halt() != Halt::No || self.is_over(now) {
                break;
            }
            self.desk.pacer.follow(&self.control);
            self.launch_again(now);
            self.launch_due(now);
            self.held = self.desk.limit.holds();
            self.report(now);
            if let Err(errno) = self.wait(now) {
                self.control.fail(format!("waiting for frames failed: {errno}"));
            }
        }
        self.wind_up();
        self.desk.accounts.notes
    }

    fn is_over(&mut self, now: Instant) -> bool {
        let waits = self.desk.lanes.any_in_flight() || self.desk.lanes.next_spent().is_some();
        let read = if waits { self.desk.turns.read_until() } else { now };
        self.desk.pacer.is_over(now, read, waits || !self.desk.again.is_empty())
    }

    fn report(&mut self, now: Instant) {
        let offered = self.desk.accounts.counters.offered;
        self.desk.accounts.counters.due = self.desk.pacer.due_before(now, offered);
        self.desk.accounts.counters.ramped = self.desk.limit.ramped();
        self.desk.accounts.tick(now);
    }

    fn expire(&mut self, now: Instant) {
        let read = self.desk.turns.read_until();
        while let Some((flight, deadline)) = self.desk.lanes.next_deadline() {
            if deadline > read {
                break;
            }
            self.desk.time_out(flight, now);
        }
        while let Some((lane, until)) = self.desk.lanes.next_spent() {
            if until > read {
                break;
            }
            self.desk.accounts.notes.unclosed += 1;
            self.end(lane, true, now);
        }
        self.grant(now);
        let timeout = self.plan.request.timeout;
        for _ in 0..GIVEN_UP {
            match self.desk.pacer.next() {
                Some(waiting) if self.desk.limit.holds() && waiting.due + timeout <= now => {
                    self.give_up_next(waiting, now);
                }
                _ => break,
            }
        }
    }

    /// The plan's limits held a departure back for as long as an answer may take.
    fn give_up_next(&mut self, departure: Departure, now: Instant) {
        if self.desk.pacer.take_pending().is_none() {
            self.desk.pacer.take();
            self.desk.accounts.counters.offered += 1;
        }
        let why = self.desk.limit.miss();
        self.desk.accounts.miss(departure, why, now);
        self.desk.pacer.freed(now, Picos::ZERO);
    }

    fn launch_due(&mut self, now: Instant) {
        if self.desk.limit.still_holds(self.desk.lanes.open(), now) {
            return;
        }
        // While more frames wait than were taken at once, fewer must come by departures than are taken: a new
        // connection brings two. Else the port's ring runs over, and what it loses is sent again and makes it
        // worse.
        let most = if self.full { LAUNCHES.min(self.frames / 3) } else { LAUNCHES };
        self.launch_some(most, now);
    }

    fn launch_some(&mut self, most: usize, mut now: Instant) {
        for _ in 0..most {
            let Some(departure) = self.desk.pacer.next_due(now) else { break };
            if !self.launch(departure, now) {
                break;
            }
            self.depart_in_groups();
            now = self.clock.now();
        }
        self.depart();
    }

    fn launch(&mut self, departure: Departure, now: Instant) -> bool {
        let request = match self.desk.pacer.take_pending() {
            Some(_) => self.chooser.number(departure.seq) as u16,
            None => {
                self.desk.pacer.take();
                self.desk.accounts.counters.offered += 1;
                self.chooser.number(departure.seq) as u16
            }
        };
        let fixed = &self.desk.fixture.requests[usize::from(request)];
        let endpoint = fixed.endpoint.index() as u16;
        let (lane, since, doubt) = match self.acquire(endpoint, now) {
            Acquired::Blocked => {
                let has_room = self.desk.limit.has_room(self.desk.lanes.open());
                self.desk.limit.hold(has_room);
                let staged = Staged {
                    endpoint: EndpointId::of_index(usize::from(endpoint)),
                    meta: self.desk.fixture.requests[usize::from(request)].meta,
                    rules: Wanted::BY_PLAN,
                    body: Body::Inside,
                    url: None,
                };
                self.desk.pacer.keep(Pending { departure, staged, written_at: now });
                return false;
            }
            Acquired::Idle(lane) => {
                let idle = self.desk.lanes.peek(lane);
                (Some(lane), idle.idle_since, Picos::from_nanos(u64::from(idle.doubt_ns)))
            }
            Acquired::MayOpen(since) => (None, since, self.desk.limit.doubt()),
        };
        let blocked = self.desk.limit.blocked(departure.due, since, now);
        let fixed = &self.desk.fixture.requests[usize::from(request)];
        let mut exchange = Exchange::leaving(departure, &fixed.meta, Wanted::Kept(fixed.rules), blocked, now);
        exchange.unread_bound = doubt.min(blocked);
        match lane {
            Some(lane) => self.begin(lane, exchange, request, now),
            None => self.open(endpoint, exchange, request, now),
        }
        true
    }

    fn acquire(&mut self, endpoint: u16, now: Instant) -> Acquired {
        let desk = &mut self.desk;
        let rather_new = (desk.pacer.is_closed_loop() || self.plan.connection.open_all)
            && desk.limit.may_have_more(desk.lanes.open(), now);
        let spread = matches!(self.plan.load, Load::Open { connections: Some(_), .. });
        if !rather_new && let Some(lane) = desk.lanes.take_idle(endpoint, spread) {
            return Acquired::Idle(lane);
        }
        if !desk.limit.has_room(desk.lanes.open()) {
            let Some(other) = desk.lanes.take_other(endpoint) else { return Acquired::Blocked };
            self.close(other, now);
        }
        if !self.desk.limit.is_paced(now) {
            return Acquired::Blocked;
        }
        Acquired::MayOpen(self.desk.limit.take_place(now))
    }

    /// Begins a request on a connection that is up.
    fn begin(&mut self, lane: u32, exchange: Exchange, request: u16, now: Instant) {
        let flight = self.desk.board(lane, exchange, request, now);
        self.leaving.push(flight);
        self.send(lane, now);
    }

    /// Gives the session its request.
    fn send(&mut self, lane: u32, now: Instant) {
        let Some(id) = self.desk.lanes.peek(lane).id else { return };
        let length = self.desk.fixture.requests[usize::from(self.desk.lanes.peek(lane).request)].bytes.len();
        if self.sessions.record(id).is_some_and(|record| record.has(Flags::ASKED)) {
            self.sessions.act(id, Event::Answered, now, &mut self.desk);
        }
        let event = Event::Send { len: length as u16, close: false, patience_ms: 0 };
        self.sessions.act(id, event, now, &mut self.desk);
        self.sessions.flush(id, now, &mut self.desk);
        self.desk.is_given(lane);
    }

    /// Opens a connection for a request.
    fn open(&mut self, endpoint: u16, exchange: Exchange, request: u16, now: Instant) {
        let lane = self.desk.lanes.add(endpoint);
        let to = self.desk.fixture.addresses[usize::from(endpoint)];
        let flight = self.desk.board(lane, exchange, request, now);
        self.desk.accounts.counters.connecting += 1;
        self.desk.accounts.counters.attempts += 1;
        match self.sessions.open(to, None, lane, now, &mut self.desk) {
            Ok(Began::Asked(id) | Began::Seeks(id)) => {
                self.desk.lanes.get(lane).id = Some(id);
                self.leaving.push(flight);
            }
            Err(error) => self.not_opened(lane, flight, error, now),
        }
    }

    fn not_opened(&mut self, lane: u32, flight: u32, error: OpenError, now: Instant) {
        let exchange = self.desk.lanes.flight(flight).http1.abandon().next();
        self.desk.lanes.land(flight);
        self.desk.remove(lane, now);
        let Some(exchange) = exchange else { return };
        if error == OpenError::NoPort {
            // This machine had nothing to try it with.
            self.desk.accounts.counters.attempts -= 1;
            self.desk.limit.refused(now);
            self.desk.backoff.failed();
            self.desk.accounts.event(&exchange.missed(Miss::NoPort, now));
            let pause = self.desk.backoff.pause();
            return self.desk.pacer.freed(now, pause);
        }
        self.desk.conclude(&exchange, Outcome::Failed(units::Cause::ConnectUnreachable), now);
    }

    /// Requests that go out once more.
    fn launch_again(&mut self, now: Instant) {
        for _ in 0..self.desk.again.len() {
            let request = self.desk.again[0].request;
            let endpoint = self.desk.fixture.requests[usize::from(request)].endpoint.index() as u16;
            let lane = match self.acquire(endpoint, now) {
                Acquired::Blocked => return,
                Acquired::Idle(lane) => Some(lane),
                Acquired::MayOpen(_) => None,
            };
            let Again { exchange, request } = self.desk.again.remove(0);
            match lane {
                Some(lane) => self.begin(lane, exchange, request, now),
                None => self.open(endpoint, exchange, request, now),
            }
            self.depart_in_groups();
        }
        self.depart();
    }

    fn depart_in_groups(&mut self) {
        if self.leaving.len() >= GROUP {
            self.depart();
        }
    }

    /// Hands over what was launched: that is when it is sent.
    fn depart(&mut self) {
        let Self { leaving, desk, sessions, clock, .. } = self;
        if leaving.is_empty() {
            return;
        }
        let (sent, timeout) = (clock.now(), self.plan.request.timeout);
        for flight in leaving.drain(..) {
            // One that was sent again keeps the time at which it left first, and its deadline.
            let again = desk.lanes.flight(flight).http1.oldest().filter(|exchange| exchange.again > 0);
            let left = again.map_or(sent, |exchange| exchange.sent);
            if left == sent {
                desk.has_left(flight, sent);
            }
            desk.lanes.set_deadline(flight, left + timeout);
        }
        // A link that is down takes nothing: then requests time out.
        let _ = sessions.transmit(&|| clock.now(), desk);
    }

    /// What lanes want of their sessions.
    fn grant(&mut self, now: Instant) {
        while let Some(wish) = self.desk.wishes.pop() {
            match wish {
                Wish::Send(lane) => self.send(lane, now),
                Wish::Close(lane, since, doubt) => {
                    self.close(lane, now);
                    self.desk.limit.could_close(since, doubt);
                }
            }
        }
    }

    /// Closes a lane as the plan says.
    fn close(&mut self, lane: u32, now: Instant) {
        self.end(lane, self.plan.connection.close == Close::Rst, now);
    }

    /// Closes a lane: in order, or by a reset if that is wanted or its request is not acknowledged.
    fn end(&mut self, lane: u32, reset: bool, now: Instant) {
        if let Some(id) = self.desk.lanes.peek(lane).id {
            let left = self.sessions.record(id).is_some_and(|record| record.left > 0);
            self.sessions.rename(id, ORPHAN);
            if !self.sessions.forget(id) {
                let event = if reset || left { Event::Abort } else { Event::Close };
                self.sessions.act(id, event, now, &mut self.desk);
            }
        }
        self.desk.remove(lane, now);
    }

    /// Gives everything that has not ended an end, so that the totals add up.
    fn wind_up(&mut self) {
        let now = self.clock.now();
        let halt = self.control.halt();
        let desk = &mut self.desk;
        // What has become free since then would have taken a few of many.
        let late = if desk.limit.holds() || self.held { desk.limit.miss() } else { Miss::NotReached };
        let why = if halt == Halt::SourceLost { Miss::SourceLost } else { late };
        if let Some(pending) = desk.pacer.take_pending() {
            desk.accounts.miss(pending.departure, why, now);
        }
        let until = if halt == Halt::No { Instant::FAR } else { now };
        desk.accounts.counters.due = desk.accounts.counters.offered;
        desk.accounts.counters.ramped = desk.limit.ramped();
        let accounts = &mut desk.accounts;
        desk.pacer.give_up(now, until, |count, waited| accounts.given_up(why, count, waited));
        if halt == Halt::SourceLost {
            accounts.given_up(why, desk.pacer.never_came(), Picos::ZERO);
        }
        for flight in desk.lanes.in_flight() {
            let left: Vec<Exchange> = desk.lanes.flight(flight).http1.abandon().collect();
            left.iter().for_each(|exchange| desk.accounts.event(&exchange.event(Outcome::CutOff, now)));
            desk.lanes.land(flight);
        }
        for waiting in std::mem::take(&mut desk.again) {
            desk.accounts.event(&waiting.exchange.event(Outcome::CutOff, now));
        }
        let ids: Vec<session::Id> = desk.lanes.sessions().collect();
        ids.iter().for_each(|id| self.sessions.rename(*id, ORPHAN));
        let clock = self.clock;
        self.sessions.let_close(&|| clock.now(), &mut self.desk);
        self.sessions.reset_all(clock.now(), &mut self.desk);
        let account = self.sessions.account();
        let accounts = &mut self.desk.accounts;
        accounts.own_tcp(account);
        (accounts.counters.open, accounts.counters.connecting) = (0, 0);
        accounts.tick(now);
    }
}
