//! Opening: from a request without a connection to a connection that is up.

use rustix::io::Errno;
use std::net::SocketAddr;
use units::{Cause, Instant, Miss, Outcome, Record};

use crate::connection::{Connection, PhaseTook, Stage};
use crate::endpoint::{EndpointId, Name, PATIENCE, of_family};
use crate::exchange::Exchange;
use crate::io::{Destination, Driver, Opening};
use crate::outgoing::Body;
use crate::worker::Worker;
use crate::worker::composer::Written;
use crate::worker::slots::Slot;
use crate::worker::timers::Later;

/// Addresses that are tried for one connection.
const MOST_DIALS: usize = 16;

impl<D: Driver, R: Record> Worker<D, R> {
    pub(super) fn open_with(
        &mut self,
        endpoint: EndpointId,
        mut exchange: Exchange,
        (written, body): (Written, Body),
        deadline: Instant,
        now: Instant,
    ) {
        let route = self.targets.route(endpoint, &self.plan);
        // The keys of a TLS session take this machine's time, not the target's, as all of a handshake's
        // arithmetic here.
        let ready = self.now();
        exchange.unread += ready.since(now);
        let route = match route {
            Ok(route) => route,
            Err((cause, detail)) => {
                self.accounts.notes.detail(&detail);
                return self.conclude(exchange, Outcome::Failed(cause), now);
            }
        };
        let slot = self.slots.insert(Connection::new(route, Stage::Lookup, ready), endpoint, now);
        self.accounts.counters.connecting += 1;
        self.put(slot, exchange, written, body);
        self.arm_until(slot, deadline);
        self.connect(slot, ready);
    }

    /// Connects a place, asking for the address first if it is not known.
    pub(super) fn connect(&mut self, slot: u32, now: Instant) {
        let destination = match self.plan.connection.unix.as_deref() {
            Some(path) => Destination::unix(path),
            None => match self.next_address(slot, now) {
                Some(address) => self.targets.dialer.tcp(address),
                None => return,
            },
        };
        // Before the connect, so that it is not charged to the look-up.
        if let Some(place) = self.slots.get(slot)
            && let Some(PhaseTook(phase, took)) = place.connection.connecting(now)
            && !took.is_zero()
        {
            self.accounts.phase(phase, took);
        }
        self.accounts.counters.attempts += 1;
        match self.sockets.driver.open(slot, &destination, &self.clock) {
            Ok((Opening::Done, _)) => self.connected(slot, now),
            Ok((Opening::Started, asked)) => {
                let returned = self.now();
                if let Some(place) = self.slots.get(slot) {
                    place.opening = Some((asked.since(now), returned));
                }
                self.flush(slot);
                if self.slots.peek(slot).is_some()
                    && let Err(errno) = self.sockets.driver.watch(slot)
                {
                    self.failed(slot, errno, now);
                }
            }
            Err(errno) => self.not_opened(slot, errno, now),
        }
    }

    /// The address that a place is to be connected to; `None` if it must be asked for first.
    fn next_address(&mut self, slot: u32, now: Instant) -> Option<SocketAddr> {
        let place = self.slots.get(slot)?;
        let name = self.targets.endpoints.get(place.endpoint).name;
        let entry = self.targets.endpoints.name(name);
        let Some(address) = entry.address() else {
            self.targets.ask(place.endpoint, slot);
            return None;
        };
        (place.address, place.dials) = (Some(address), place.dials + 1);
        if entry.has_better_than_slow(address) {
            let again = Later::Address(place.dials);
            self.timers.set(now + PATIENCE, (slot, place.generation), again);
        }
        Some(address)
    }

    /// Connecting failed. True if the name has another address, which is being tried for the same requests.
    pub(super) fn goes_elsewhere(&mut self, slot: u32, errno: Errno, now: Instant) -> bool {
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
        self.accounts.notes.detail(&detail);
        self.dial_again(slot, now)
    }

    /// Connecting takes long: another address is tried, if there is one that may be faster.
    pub(super) fn tires(&mut self, slot: u32, dials: usize, now: Instant) {
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
        let name = self.targets.endpoints.get(place.endpoint).name;
        Some((self.targets.endpoints.name(name), address))
    }

    fn dial_again(&mut self, slot: u32, now: Instant) -> bool {
        // Others may set addresses aside meanwhile; no request goes round for ever.
        if self.slots.peek(slot).is_none_or(|place| place.dials >= MOST_DIALS) {
            return false;
        }
        self.sockets.driver.close(slot, false);
        self.connect(slot, now);
        true
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
        // This machine had nothing to try it with.
        self.accounts.counters.attempts -= 1;
        self.accounts.closed(place.is_up);
        self.limit.refused(now);
        self.backoff.failed();
        let pause = self.backoff.pause();
        for exchange in place.connection.abandon() {
            self.accounts.event(&exchange.missed(miss, now));
            self.pacer.freed(now, pause);
        }
    }

    pub(super) fn connected(&mut self, slot: u32, now: Instant) {
        if let Some(place) = self.slots.get(slot) {
            place.opening = None;
        }
        self.note_connected(slot, now);
        let took = self.slots.get(slot).and_then(|place| place.connection.connected(now));
        self.is_up(slot, took, now);
        self.flush(slot);
    }

    /// If a connection was made just now, it counts as opened, and its address is one that works.
    pub(super) fn is_up(&mut self, slot: u32, took: Option<PhaseTook>, now: Instant) {
        if took.is_some() {
            if let Some(place) = self.slots.get(slot) {
                place.is_up = true;
                self.accounts.opened();
            }
            if let Some((entry, address)) = self.dialled(slot) {
                entry.works(address);
            }
        }
        self.record_phase(slot, took, now);
    }

    /// Answers of the resolver.
    pub(super) fn take_answers(&mut self, now: Instant) {
        while let Some(answer) = self.targets.asker.answer() {
            let Some(id) = self.targets.endpoints.find_name(&answer.host, answer.port) else { continue };
            let family = self.plan.resolve.family;
            let entry = self.targets.endpoints.name(id);
            entry.asked = false;
            let waiting = std::mem::take(&mut entry.waiting);
            let found: Result<Vec<SocketAddr>, String> =
                answer.result.map(|all| of_family(all, family)).and_then(|all| match all.is_empty() {
                    true => Err("has no address of the requested family".to_owned()),
                    false => Ok(all),
                });
            match found {
                Ok(all) => {
                    entry.learned(all, now);
                    waiting.into_iter().for_each(|slot| self.connect_if_waiting(slot, now));
                }
                Err(problem) => {
                    let detail = format!("{}: {problem}", answer.host);
                    self.accounts.notes.detail(&detail);
                    for slot in waiting {
                        self.fail(slot, Cause::Lookup, now);
                    }
                }
            }
        }
        self.targets.refresh(&self.plan, now);
    }

    fn connect_if_waiting(&mut self, slot: u32, now: Instant) {
        if self.slots.peek(slot).is_some_and(|place| place.connection.stage() == Stage::Lookup) {
            self.connect(slot, now);
        }
    }
}
