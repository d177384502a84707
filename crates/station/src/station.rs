//! A station: its addresses, its neighbours, and what it counted.

use crate::answer::Writer;
use crate::counters::Counters;
use crate::head::Head;
use crate::limiter::Limiter;
use crate::neighbours::{Neighbours, Route, Silent, Unreachable};
use crate::outbox::Outbox;
use crate::probe::Probe;
use crate::range::{self, Addresses};
use crate::{Link, Via};
use std::net::IpAddr;
use units::Instant;
use wire::ethernet::Mac;

/// Echo requests that are answered in a second, and requests for MAC addresses.
const ECHOES: u64 = 1_000;
const REPLIES: u64 = 10_000;

/// Version of IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    V4,
    V6,
}

impl Family {
    pub const fn of(address: IpAddr) -> Self {
        if address.is_ipv4() { Self::V4 } else { Self::V6 }
    }
}

/// Own addresses on one port, for one thread.
#[derive(Debug)]
pub struct Station {
    pub(crate) v4: Option<Addresses>,
    pub(crate) v6: Option<Addresses>,
    gateways: [Option<IpAddr>; 2],
    pub(crate) vlan: Option<u16>,
    pub(crate) mac: Mac,
    pub(crate) mtu: usize,
    pub(crate) neighbours: Neighbours,
    pub(crate) counters: Counters,
    pub(crate) echoes: Limiter,
    pub(crate) replies: Limiter,
    pub(crate) probe: Probe,
    /// Nobody is answered: the host's kernel does it.
    pub(crate) is_silent: bool,
}

impl Station {
    pub fn new(via: &Via, link: &Link) -> Self {
        Self {
            v4: via.v4,
            v6: via.v6,
            gateways: [via.gateway_v4, via.gateway_v6],
            vlan: via.vlan,
            mac: link.mac,
            mtu: link.mtu,
            neighbours: Neighbours::new(),
            counters: Counters::default(),
            echoes: Limiter::per_second(ECHOES),
            replies: Limiter::per_second(REPLIES),
            probe: Probe::default(),
            is_silent: via.shared,
        }
    }

    pub const fn mac(&self) -> Mac {
        self.mac
    }

    /// Whether the host has the addresses, too.
    pub const fn is_shared(&self) -> bool {
        self.is_silent
    }

    /// Bytes of the longest IP packet.
    pub const fn mtu(&self) -> usize {
        self.mtu
    }

    /// Bytes of the largest TCP payload without options (RFC 9293 §3.7.1): what is announced as MSS.
    pub const fn mss(&self, family: Family) -> usize {
        self.mtu - if matches!(family, Family::V4) { 40 } else { 60 }
    }

    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Own addresses of a family, in order; none if there are none.
    pub fn sources(&self, family: Family) -> Vec<IpAddr> {
        self.range(family).map_or_else(Vec::new, |range| range.iter().collect())
    }

    #[inline]
    pub fn has(&self, address: IpAddr) -> bool {
        self.range(Family::of(address)).is_some_and(|range| range.has(address))
    }

    pub(crate) const fn range(&self, family: Family) -> Option<&Addresses> {
        match family {
            Family::V4 => self.v4.as_ref(),
            Family::V6 => self.v6.as_ref(),
        }
    }

    /// The way to an address. A question may be in the outbox afterwards.
    pub fn route(&mut self, to: IpAddr, now: Instant, out: &mut Outbox) -> Route {
        let next = match self.next_hop(to) {
            Ok(next) => next,
            Err(why) => return Route::Unreachable(why),
        };
        let (writer, mut questions) = (self.writer(), 0);
        let route = self.neighbours.route(next, now, &mut |address, at| {
            questions += 1;
            writer.ask(address, at, out);
        });
        self.counters.questions += questions;
        route
    }

    /// The neighbour that takes packets to an address.
    fn next_hop(&self, to: IpAddr) -> Result<IpAddr, Unreachable> {
        let family = Family::of(to);
        let range = self.range(family).ok_or(Unreachable::Family)?;
        if range.has(to) || range.is_broadcast(to) || !range::is_unicast(to) {
            return Err(Unreachable::NoHost);
        }
        match self.gateways[family as usize] {
            _ if range.subnet_has(to) => Ok(to),
            Some(gateway) => Ok(gateway),
            None => Err(Unreachable::Outside),
        }
    }

    /// Why nothing of these addresses can go there, whatever the link is.
    pub fn no_way(via: &Via, to: IpAddr) -> Option<Unreachable> {
        let link = Link { mac: Mac::default(), why_mac: "", mtu: usize::from(u16::MAX) };
        Self::new(via, &link).next_hop(to).err()
    }

    /// Neighbours that frames should have gone to and that do not answer.
    pub fn silent(&self) -> Vec<Silent> {
        let all = self.neighbours.silent().into_iter();
        all.map(|one| Silent { is_gateway: self.gateways.contains(&Some(one.at)), ..one }).collect()
    }

    /// Whether somebody at this address would be a neighbour that we talk to directly.
    pub(crate) fn is_neighbour(&self, address: IpAddr) -> bool {
        self.next_hop(address) == Ok(address)
    }

    /// Asks what is to be asked again, and says when to call the next time; `Instant::FAR` is not before
    /// [`Self::route`] was called.
    pub fn tick(&mut self, now: Instant, out: &mut Outbox) -> Instant {
        let (writer, mut questions) = (self.writer(), 0);
        let mut ask = |address, at| {
            questions += 1;
            writer.ask(address, at, out);
        };
        let next = self.neighbours.tick(now, &mut ask, &mut self.counters);
        self.counters.questions += questions;
        next
    }

    /// A neighbour that another station on the same link found: where several queues share one interface, a
    /// reply comes to any of them.
    pub fn learn(&mut self, neighbour: IpAddr, mac: Mac, now: Instant) {
        if self.is_neighbour(neighbour) {
            self.neighbours.put(neighbour, mac, now);
        }
    }

    /// Grows whenever a neighbour is found or moves. Heads that were made before may be old then.
    pub const fn changes(&self) -> u64 {
        self.neighbours.changes
    }

    /// The headers of segments from an own address to another, by way of a neighbour's MAC address.
    ///
    /// # Panics
    /// If the addresses are of two families.
    pub fn head(&self, from: IpAddr, to: IpAddr, mac: Mac) -> Head {
        Head::new((self.mac, from), (mac, to), self.vlan).expect("two addresses of one family")
    }

    pub(crate) fn writer(&self) -> Writer {
        let first = |range: Option<Addresses>| range.map(|range| range.first());
        Writer { mac: self.mac, vlan: self.vlan, v4: first(self.v4), v6: first(self.v6) }
    }
}

#[cfg(test)]
mod tests;
