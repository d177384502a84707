//! Launching: from a departure to bytes on a connection.

use rustix::io::Errno;
use std::cmp::Reverse;
use std::net::SocketAddr;
use std::os::unix::fs::FileExt;
use units::{Cause, Departure, Instant, Miss, Outcome, Picos, Record};

use crate::connection::{Connection, PhaseTook, Route, Stage};
use crate::control::Halt;
use crate::dial;
use crate::endpoint::{EndpointId, Known, Name, PATIENCE, of_family};
use crate::exchange::Exchange;
use crate::io::{Driver, Opening};
use crate::outgoing::Body;
use crate::request::connect_request;
use crate::slots::Slot;
use crate::source::Staged;
use crate::tls::Layer;
use crate::worker::{Later, Pending, Worker};

/// How long a 100 (Continue) is waited for.
const CONTINUE: Picos = Picos::from_secs(1);
/// Openings that the plan's ramp allowed and the generator was too busy for are made up for this long.
const CATCH_UP: Picos = Picos::from_millis(10);
/// The most that is written to one socket in a turn of the loop, within one piece.
const WRITE: usize = 256 * 1024;
/// A streamed body is read in pieces of this size.
const STREAM: usize = 32 * 1024;
/// Addresses that are tried for one connection.
const MOST_DIALS: usize = 16;

/// Why TLS was not made ready, although there was a need for it.
const NO_TLS: &str =
    "a redirect leads to https, and this host trusts no authority; give --ca FILE or --insecure";

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
    pub(crate) fn launch(&mut self, departure: Departure, now: Instant) -> bool {
        if (self.blocked || self.blocked_until >= departure.due) && self.is_given_up(departure, now) {
            self.give_up_next(now);
            return true;
        }
        let Some(pending) = self.pending.take().or_else(|| self.stage(departure, now)) else {
            return self.setup.control.halt() == Halt::No;
        };
        let available = match self.acquire(pending.staged.endpoint, now) {
            Acquired::Blocked => {
                self.blocked = true;
                self.pending = Some(pending);
                return false;
            }
            Acquired::Idle(slot, since) => (Some(slot), since),
            Acquired::MayOpen(since) => (None, since),
        };
        let held = self.blocked || self.blocked_until >= departure.due;
        if std::mem::take(&mut self.blocked) {
            self.blocked_until = now;
        }
        let blocked = if held { available.1.since(departure.due) } else { Picos::ZERO };
        match available.0 {
            Some(slot) => self.begin(slot, pending, blocked),
            None => self.open(pending, blocked),
        }
        true
    }

    /// Takes the departure from the feed and writes its request.
    fn stage(&mut self, departure: Departure, now: Instant) -> Option<Pending> {
        self.setup.feed.take();
        self.counters.offered += 1;
        let setup = &mut self.setup;
        let staged =
            setup.chooser.stage(departure.seq, now, &setup.plan, &mut setup.endpoints, &mut self.staged);
        match staged {
            Ok(staged) => Some(Pending { departure, staged, written_at: now }),
            Err(miss) => {
                if let Some(lost) = self.setup.chooser.lost.take() {
                    self.setup.control.lose_source(lost);
                }
                self.miss(departure, miss, now);
                self.setup.feed.freed(now, Picos::from_micros(100));
                None
            }
        }
    }

    pub(crate) fn acquire(&mut self, endpoint: EndpointId, now: Instant) -> Acquired {
        // A closed loop opens all its connections before it uses one again, as long as there are any to be had.
        let rather_new = self.setup.feed.is_closed()
            && self.slots.open() < self.setup.most_open
            && now >= self.next_open
            && self.setup.dialer.has_room(now);
        if !rather_new && let Some((slot, since)) = self.idle(endpoint) {
            return Acquired::Idle(slot, since);
        }
        if self.slots.open() >= self.setup.most_open && !self.evict(endpoint) {
            return Acquired::Blocked;
        }
        if now < self.next_open {
            return Acquired::Blocked;
        }
        let gap = self.setup.open_gap;
        let since = if gap.is_zero() { self.freed_at } else { self.freed_at.max(self.next_open) };
        if !gap.is_zero() {
            self.next_open = self.next_open.max(now.saturating_sub(CATCH_UP)) + gap;
        }
        Acquired::MayOpen(since)
    }

    /// An idle connection to the endpoint. With a limit the longest idle, so that all are used; without, the
    /// last used, so that no more stay open than are needed.
    fn idle(&mut self, endpoint: EndpointId) -> Option<(u32, Instant)> {
        let spread = matches!(self.setup.plan.load, plan::Load::Open { connections: Some(_), .. });
        let list = &mut self.setup.endpoints.get(endpoint).idle;
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
        while let Some(other) = self.setup.endpoints.other_with_idle(wanted) {
            let Some((slot, _)) = self.idle(other) else { continue };
            let busy = self.slots.peek(slot).is_some_and(|place| place.connection.in_flight() > 0);
            if !busy {
                self.close(slot, false);
                return true;
            }
        }
        false
    }

    /// Begins the request on an open connection.
    fn begin(&mut self, slot: u32, pending: Pending, blocked: Picos) {
        let now = self.now();
        let mut exchange = self.exchange(&pending, now, blocked);
        let doubt = self.slots.peek(slot).map_or(Picos::ZERO, |place| place.doubt);
        exchange.unread_bound = doubt.min(blocked);
        self.put(slot, exchange, pending.staged.body);
        // Behind others, it has its turn after them.
        if self.slots.peek(slot).is_some_and(|place| place.connection.in_flight() == 1) {
            self.arm(slot, now);
        }
        self.flush(slot);
        self.list_if_free(slot);
    }

    fn exchange(&mut self, pending: &Pending, now: Instant, blocked: Picos) -> Exchange {
        let Staged { meta, url, .. } = &pending.staged;
        let check = meta.rules.needs_body().then(|| {
            let mut check = self.checks.pop().unwrap_or_default();
            meta.rules.begin(&mut check);
            check
        });
        let late = now.since(pending.departure.due) - blocked;
        self.count_late(late);
        Exchange {
            departure: pending.departure,
            sent: now,
            first_byte: Instant::FAR,
            blocked,
            bytes_out: self.staged.len() as u64 + pending.staged.body_bytes,
            bytes_in: 0,
            body_in: 0,
            waited: Picos::ZERO,
            unread: Picos::ZERO,
            unread_bound: Picos::ZERO,
            group: meta.group,
            asked: meta.asked,
            status: 0,
            rules: meta.rules.clone(),
            written_at: pending.written_at,
            again: 0,
            behind: false,
            chain: None,
            check,
            url: url.clone(),
        }
    }

    /// Queues the staged bytes on the connection.
    pub(crate) fn put(&mut self, slot: u32, exchange: Exchange, body: Body) {
        let held = matches!(body, Body::Held(_) | Body::HeldStream);
        let Some(place) = self.slots.get(slot) else { return };
        place.connection.begin(exchange, &self.staged, body);
        let generation = place.generation;
        let served = place.connection.served();
        if self.setup.plan.connection.requests_per_connection.is_some_and(|most| served >= most)
            || !self.setup.plan.connection.keep_alive
        {
            place.connection.retire();
        }
        if held {
            let at = self.now() + CONTINUE;
            self.later.push(Reverse((at, slot, generation, Later::Continue)));
        }
    }

    /// Opens a connection for the request.
    fn open(&mut self, pending: Pending, blocked: Picos) {
        let now = self.now();
        let endpoint = pending.staged.endpoint;
        let mut exchange = self.exchange(&pending, now, blocked);
        exchange.unread_bound = self.freed_doubt.min(blocked);
        let deadline = self.deadline_of(&exchange, now);
        self.open_with(endpoint, exchange, pending.staged.body, deadline, now);
    }

    pub(crate) fn open_with(
        &mut self,
        endpoint: EndpointId,
        mut exchange: Exchange,
        body: Body,
        deadline: Instant,
        now: Instant,
    ) {
        let route = self.route(endpoint);
        // The keys of a TLS session take this machine's time, not the target's, as all of a handshake's
        // arithmetic here.
        exchange.unread += self.now().since(now);
        let route = match route {
            Ok(route) => route,
            Err((cause, detail)) => {
                self.notes.detail(&detail);
                return self.conclude(exchange, Outcome::Failed(cause), now);
            }
        };
        let slot = self.slots.insert(Connection::new(route, Stage::Lookup, now), endpoint, now);
        self.counters.open += 1;
        self.counters.opened += 1;
        self.put(slot, exchange, body);
        self.arm_until(slot, deadline);
        self.connect(slot, now);
        // Now, since one for which there was no port never was open.
        self.counters.open_peak = self.counters.open_peak.max(self.counters.open);
    }

    /// What lies between the socket and the target. A target that wants TLS never gets a connection without it.
    fn route(&mut self, endpoint: EndpointId) -> Result<Route, (Cause, String)> {
        let plan = &self.setup.plan;
        let endpoint = self.setup.endpoints.get(endpoint);
        if !endpoint.key.tls {
            return Ok(Route::default());
        }
        let connect = plan.connection.proxy.is_some().then(|| connect_request(plan, &endpoint.key));
        let (Some(name), Some(config)) = (&endpoint.server_name, &self.setup.tls) else {
            return Err((Cause::RedirectTls, NO_TLS.to_owned()));
        };
        let layer = Layer::new(config, name).map_err(|error| (Cause::TlsProtocol, error.to_string()))?;
        Ok(Route { connect, tls: Some(Box::new(layer)) })
    }

    /// Connects the socket of a place, asking for the address first if it is not known.
    pub(crate) fn connect(&mut self, slot: u32, now: Instant) {
        if let Some(path) = self.setup.plan.connection.unix.clone() {
            return self.dial(slot, dial::unix(&path), now);
        }
        let Some(place) = self.slots.peek(slot) else { return };
        let name = self.setup.endpoints.get(place.endpoint).name;
        let entry = self.setup.endpoints.name(name);
        match entry.address() {
            Some(address) => {
                let may_be_slow = entry.has_better_than_slow(address);
                let made = self.setup.dialer.tcp(address);
                if let Some(place) = self.slots.get(slot) {
                    (place.address, place.dials) = (Some(address), place.dials + 1);
                    if may_be_slow {
                        let again = Later::Address(place.dials);
                        self.later.push(Reverse((now + PATIENCE, slot, place.generation, again)));
                    }
                }
                self.dial(slot, made, now);
            }
            None => {
                entry.waiting.push(slot);
                if !std::mem::replace(&mut entry.asked, true) {
                    self.setup.asker.ask(&entry.host, entry.port);
                }
            }
        }
    }

    /// Connecting failed. True if the name has another address, which is being tried for the same requests.
    pub(crate) fn goes_elsewhere(&mut self, slot: u32, errno: Errno, now: Instant) -> bool {
        let of_the_address = matches!(
            errno,
            Errno::CONNREFUSED
                | Errno::CONNRESET
                | Errno::CONNABORTED
                | Errno::HOSTUNREACH
                | Errno::NETUNREACH
                | Errno::NETDOWN
                | Errno::HOSTDOWN
                | Errno::TIMEDOUT
                | Errno::ADDRNOTAVAIL
                | Errno::AFNOSUPPORT
                | Errno::ACCESS
                | Errno::PERM
        );
        let Some((entry, address)) = self.dialled(slot).filter(|_| of_the_address) else { return false };
        if !entry.fails(address) {
            return false;
        }
        let detail = format!(
            "{}: nothing could be reached at {} ({errno}); its other addresses are used",
            entry.host,
            address.ip()
        );
        self.notes.detail(&detail);
        self.dial_again(slot, now)
    }

    /// Connecting takes long: another address is tried, if there is one that may be faster.
    pub(crate) fn tires(&mut self, slot: u32, dials: usize, now: Instant) {
        let waits = |place: &Slot| place.connection.stage() == Stage::Connecting && place.dials == dials;
        if !self.slots.peek(slot).is_some_and(waits) {
            return;
        }
        if let Some((entry, address)) = self.dialled(slot)
            && entry.is_slow(address)
        {
            self.dial_again(slot, now);
        }
    }

    /// The name behind a connection that is being made, and the address that is tried.
    fn dialled(&mut self, slot: u32) -> Option<(&mut Name, SocketAddr)> {
        let place = self.slots.peek(slot)?;
        let address = place.address?;
        let name = self.setup.endpoints.get(place.endpoint).name;
        Some((self.setup.endpoints.name(name), address))
    }

    fn dial_again(&mut self, slot: u32, now: Instant) -> bool {
        // Others may set addresses aside meanwhile; no request goes round for ever.
        if self.slots.peek(slot).is_none_or(|place| place.dials >= MOST_DIALS) {
            return false;
        }
        self.driver.close(slot, false);
        self.connect(slot, now);
        true
    }

    fn dial(
        &mut self,
        slot: u32,
        made: Result<(rustix::fd::OwnedFd, rustix::net::SocketAddrAny), Errno>,
        now: Instant,
    ) {
        let opened = made.and_then(|(socket, to)| {
            // Before the connect, so that it is not charged to the look-up.
            if let Some(took) = self.slots.get(slot).and_then(|place| place.connection.connecting(now))
                && !took.1.is_zero()
            {
                self.recorder.phase(took.0, took.1);
            }
            self.driver.open(slot, socket, &to)
        });
        match opened {
            Ok(Opening::Done) => self.connected(slot, now),
            Ok(Opening::Started) => {
                self.flush(slot);
                if self.slots.peek(slot).is_some()
                    && let Err(errno) = self.driver.watch(slot)
                {
                    self.failed(slot, errno, now);
                }
            }
            Err(errno) => self.not_opened(slot, errno, now),
        }
    }

    /// The generator's own limits are misses; everything else is an outcome.
    fn not_opened(&mut self, slot: u32, errno: Errno, now: Instant) {
        if self.goes_elsewhere(slot, errno, now) {
            return;
        }
        let miss = match errno {
            Errno::MFILE | Errno::NFILE => Miss::NoDescriptor,
            Errno::ADDRNOTAVAIL | Errno::ADDRINUSE => Miss::NoPort,
            Errno::NOBUFS | Errno::NOMEM => Miss::NoMemory,
            _ => return self.failed(slot, errno, now),
        };
        let Some(mut place) = self.slots.remove(slot) else { return };
        self.counters.open -= 1;
        self.counters.opened -= 1;
        self.setup.dialer.refused(now);
        self.failures = self.failures.saturating_add(1);
        let pause = self.pause();
        for exchange in place.connection.abandon() {
            self.miss(exchange.departure, miss, now);
            self.setup.feed.freed(now, pause);
        }
    }

    pub(crate) fn connected(&mut self, slot: u32, now: Instant) {
        self.note_connected(slot, now);
        let took = self.slots.get(slot).and_then(|place| place.connection.connected(now));
        self.is_up(slot, took, now);
        self.flush(slot);
    }

    /// If a connection was made just now, its address is one that works.
    fn is_up(&mut self, slot: u32, took: Option<PhaseTook>, now: Instant) {
        if took.is_some()
            && let Some((entry, address)) = self.dialled(slot)
        {
            entry.works(address);
        }
        self.record_phase(slot, took, now);
    }

    /// Sends what the connection has to send, as far as the kernel takes it.
    pub(crate) fn flush(&mut self, slot: u32) {
        let mut written = 0;
        loop {
            let Some(place) = self.slots.get(slot) else { return };
            // A target that takes whatever it is given does not hold the loop: the rest leaves in the next
            // turn.
            if written >= WRITE {
                let generation = place.generation;
                return self.later.push(Reverse((self.now(), slot, generation, Later::Write)));
            }
            if place.connection.wants_body() && !self.fill(slot) {
                return;
            }
            let place = self.slots.get(slot).expect("filling a body keeps its connection");
            // If it can send while it connects, it was connected before.
            let connected = (place.connection.stage() == Stage::Connecting).then(|| self.setup.clock_now());
            let output = place.connection.output();
            if output.is_empty() {
                return;
            }
            let length = output.len();
            match self.driver.send(slot, output) {
                Ok(count) => {
                    self.counters.wire_out += count as u64;
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
    pub(crate) fn not_sent(&mut self, slot: u32, errno: Errno, now: Instant) {
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
        let mut piece = vec![0u8; STREAM];
        let Some(place) = self.slots.get(slot) else { return false };
        let read = match &self.setup.body_file {
            Some(file) => file.read_at(&mut piece, place.streamed),
            None => Ok(0),
        };
        match read {
            Ok(0) => {
                // The next request's body begins at its beginning.
                place.streamed = 0;
                place.connection.stream(b"0\r\n\r\n", true);
            }
            Ok(count) => {
                place.streamed += count as u64;
                let mut framed = format!("{count:x}\r\n").into_bytes();
                framed.extend_from_slice(&piece[..count]);
                framed.extend_from_slice(b"\r\n");
                place.connection.stream(&framed, false);
            }
            Err(error) => {
                self.setup.control.fail(format!("reading the streamed body failed: {error}"));
                return false;
            }
        }
        true
    }

    /// Answers of the resolver.
    pub(crate) fn take_answers(&mut self, now: Instant) {
        while let Some(answer) = self.setup.asker.answer() {
            let Some(id) = self.setup.endpoints.find_name(&answer.host, answer.port) else { continue };
            let family = self.setup.plan.resolve.family;
            let entry = self.setup.endpoints.name(id);
            entry.asked = false;
            let waiting = std::mem::take(&mut entry.waiting);
            let found: Result<Vec<SocketAddr>, String> =
                answer.result.map(|all| of_family(all, family)).and_then(|all| match all.is_empty() {
                    true => Err("has no address of the wanted family".to_owned()),
                    false => Ok(all),
                });
            match found {
                Ok(all) => {
                    entry.learned(all, now);
                    waiting.into_iter().for_each(|slot| self.connect_if_waiting(slot, now));
                }
                Err(problem) => {
                    let detail = format!("{}: {problem}", answer.host);
                    self.notes.detail(&detail);
                    for slot in waiting {
                        self.fail(slot, Cause::Lookup, now);
                    }
                }
            }
        }
        self.ask_again(now);
    }

    fn connect_if_waiting(&mut self, slot: u32, now: Instant) {
        if self.slots.peek(slot).is_some_and(|place| place.connection.stage() == Stage::Lookup) {
            self.connect(slot, now);
        }
    }

    /// Names whose answer is older than the plan allows are asked for again, beside the traffic.
    fn ask_again(&mut self, now: Instant) {
        let Some(every) = self.setup.plan.resolve.every else { return };
        let asker = &self.setup.asker;
        for name in self.setup.endpoints.names() {
            if let Known::Addresses(_, since) = &mut name.state {
                let literal = name.host.parse::<std::net::IpAddr>().is_ok();
                if !literal && !name.asked && now.since(*since) >= every {
                    name.asked = true;
                    *since = now;
                    asker.ask(&name.host, name.port);
                }
            }
        }
    }
}
