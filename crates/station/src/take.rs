//! What a received frame is to a station.

use crate::answer::NEVER_FORWARDED;
use crate::bytes::half;
use crate::counters::Bad;
use crate::extension;
use crate::outbox::Outbox;
use crate::quote::{self, Quoted};
use crate::range::is_unicast;
use crate::station::Station;
use port::Frame;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Range;
use units::Instant;
use wire::checksum::{self, Pseudo};
use wire::ethernet::{self, Mac};
use wire::parse::{ETHERTYPE_ARP, ETHERTYPE_IPV4, ETHERTYPE_IPV6, ETHERTYPE_VLAN};
use wire::{arp, icmp, icmpv6, ipv4, ipv6, tcp, vlan};

/// What became of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    /// A TCP segment to an address of ours; its checksum is right, or its sender left it to a card.
    Tcp(Segment),
    /// An error about a segment of ours.
    Icmp(Quoted),
    /// It was for the station itself: ARP, neighbour discovery, echo.
    Handled,
    /// It is for somebody else, or nothing that a station takes.
    NotOurs,
    /// It is for us, and wrong.
    Bad(Bad),
}

/// Where a TCP segment is in its frame. Its header is whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    pub source: IpAddr,
    pub destination: IpAddr,
    /// Of the frame's bytes: TCP's header and payload.
    pub range: Range<usize>,
    /// Its sender left the checksum to a card, so that nobody knows whether it is right.
    pub is_unfinished: bool,
}

/// A frame on its way through.
struct Arrival<'f> {
    frame: &'f Frame<'f>,
    from: Mac,
    /// From our own MAC address: a frame of ours that came back, or somebody who runs the same.
    is_self: bool,
    /// Where the packet begins.
    at: usize,
    now: Instant,
}

impl<'f> Arrival<'f> {
    fn packet(&self) -> &'f [u8] {
        &self.frame.data[self.at..]
    }

    const fn is_cut_off(&self) -> bool {
        self.frame.length > self.frame.data.len()
    }
}

impl Station {
    /// Takes one frame. Replies, if any, are in the outbox afterwards.
    pub fn take(&mut self, frame: &Frame<'_>, now: Instant, out: &mut Outbox) -> Taken {
        let taken = self.link(frame, now, out).unwrap_or_else(Taken::Bad);
        match &taken {
            Taken::Tcp(segment) => {
                self.counters.segments += 1;
                self.counters.unfinished += u64::from(segment.is_unfinished);
                let ip = if segment.source.is_ipv4() { ipv4::LENGTH } else { ipv6::LENGTH };
                self.counters.merged += u64::from(segment.range.len() + ip > self.mtu);
            }
            Taken::Icmp(_) => self.counters.errors += 1,
            Taken::Handled => {}
            Taken::NotOurs => self.counters.others += 1,
            Taken::Bad(cause) => self.counters.count_bad(*cause),
        }
        taken
    }

    fn link(&mut self, frame: &Frame<'_>, now: Instant, out: &mut Outbox) -> Result<Taken, Bad> {
        let data = frame.data;
        let Some(head) = data.first_chunk::<{ ethernet::LENGTH }>() else { return Ok(Taken::NotOurs) };
        let [a, b, c, d, e, f, g, h, i, j, k, l, ..] = *head;
        let (to, from) = (Mac([a, b, c, d, e, f]), Mac([g, h, i, j, k, l]));
        let outer = half(head, ethernet::field::ETHERTYPE);
        let (ethertype, at) = match self.vlan {
            None => (outer, ethernet::LENGTH),
            Some(own) if outer == ETHERTYPE_VLAN => match data[ethernet::LENGTH..].first_chunk::<4>() {
                Some(tag) if half(tag, 0) & 0x0fff == own => (half(tag, 2), ethernet::LENGTH + vlan::LENGTH),
                _ => return Ok(Taken::NotOurs),
            },
            Some(_) => return Ok(Taken::NotOurs),
        };
        // A group is no sender.
        if from.is_multicast() {
            return Ok(Taken::NotOurs);
        }
        let is_self = from == self.mac;
        let arrival = Arrival { frame, from, is_self, at, now };
        match ethertype {
            ETHERTYPE_IPV4 if to == self.mac && !is_self => self.ipv4(&arrival, out),
            ETHERTYPE_IPV6 if to == self.mac || to.0[..2] == [0x33, 0x33] => self.ipv6(&arrival, out),
            ETHERTYPE_ARP if to == self.mac || to == Mac::BROADCAST => self.arp(&arrival, out),
            _ => Ok(Taken::NotOurs),
        }
    }

    fn ipv4(&mut self, arrival: &Arrival<'_>, out: &mut Outbox) -> Result<Taken, Bad> {
        let packet = arrival.packet();
        let head = packet.first_chunk::<{ ipv4::LENGTH }>().ok_or(Bad::Header)?;
        let address = |at: usize| Ipv4Addr::new(head[at], head[at + 1], head[at + 2], head[at + 3]);
        let (source, destination) = (address(12), address(16));
        if !self.v4.is_some_and(|range| range.has_v4(destination)) || self.probe.is_running() {
            return Ok(Taken::NotOurs);
        }
        let (length, total) = (usize::from(head[0] & 0x0f) * 4, usize::from(half(head, ipv4::field::LENGTH)));
        if head[0] >> 4 != 4 || length < ipv4::LENGTH || (total != 0 && total < length) {
            return Err(Bad::Header);
        }
        check(!arrival.is_cut_off(), Bad::CutOff)?;
        check(total != 0 && total <= packet.len(), Bad::Length)?;
        // More fragments, or an offset.
        check(half(head, ipv4::field::FRAGMENT) & 0x3fff == 0, Bad::Fragment)?;
        check(checksum::fold(checksum::sum(&packet[..length])) == 0xffff, Bad::IpChecksum)?;
        check(is_unicast(source.into()) && !self.has(source.into()), Bad::Header)?;
        match head[ipv4::field::PROTOCOL] {
            tcp::PROTOCOL => {
                let pseudo = Pseudo::V4 { source, destination };
                segment(arrival, source.into(), destination.into(), length..total, &pseudo)
            }
            icmp::PROTOCOL => self.icmp(arrival, (source, destination), &packet[length..total], out),
            _ => Ok(Taken::NotOurs),
        }
    }

    fn ipv6(&mut self, arrival: &Arrival<'_>, out: &mut Outbox) -> Result<Taken, Bad> {
        let Some(range) = self.v6 else { return Ok(Taken::NotOurs) };
        let packet = arrival.packet();
        let head = packet.first_chunk::<{ ipv6::LENGTH }>().ok_or(Bad::Header)?;
        let address = |at: usize| {
            let octets = head[at..].first_chunk::<16>().copied();
            Ipv6Addr::from(octets.expect("both addresses are within the header"))
        };
        let (source, destination) = (address(8), address(24));
        let is_own = range.has_v6(destination) && !self.probe.is_running() && !arrival.is_self;
        // Groups are joined for neighbour discovery alone.
        let is_group = destination.is_multicast() && head[ipv6::field::NEXT] == icmpv6::PROTOCOL;
        if !is_own && !is_group {
            return Ok(Taken::NotOurs);
        }
        let end = ipv6::LENGTH + usize::from(half(head, ipv6::field::LENGTH));
        check(head[0] >> 4 == 6, Bad::Header)?;
        check(!arrival.is_cut_off(), Bad::CutOff)?;
        // A length of 0 is what merging leaves in packets beyond 64 KiB (RFC 2675).
        check(end > ipv6::LENGTH && end <= packet.len(), Bad::Length)?;
        check(!source.is_multicast(), Bad::Header)?;
        // Who has an address of ours says so with it as its source.
        let is_host = is_unicast(source.into()) && !range.has_v6(source);
        let (protocol, at) = extension::skip(&packet[..end])?;
        match protocol {
            tcp::PROTOCOL => {
                check(is_host, Bad::Header)?;
                let pseudo = Pseudo::V6 { source, destination };
                segment(arrival, source.into(), destination.into(), at..end, &pseudo)
            }
            icmpv6::PROTOCOL => {
                let pair = (source, destination);
                self.icmpv6(arrival, pair, head[ipv6::field::HOPS], &packet[at..end], out)
            }
            44 => Err(Bad::Fragment),
            _ => Ok(Taken::NotOurs),
        }
    }

    fn icmp(
        &mut self,
        arrival: &Arrival<'_>,
        (source, own): (Ipv4Addr, Ipv4Addr),
        message: &[u8],
        out: &mut Outbox,
    ) -> Result<Taken, Bad> {
        let view = icmp::View::new(message).map_err(|_| Bad::Header)?;
        view.verify().map_err(|_| Bad::IcmpChecksum)?;
        match (view.kind(), quote::v4(message)) {
            (_, Some(quoted)) => self.quoted(quoted),
            (icmp::ECHO_REQUEST, None) if view.code() == 0 && !self.is_silent => {
                if self.may_echo(message.len() + ipv4::LENGTH, arrival.now)? {
                    self.writer().echo_v4(own, (source, arrival.from), message, out);
                }
                Ok(Taken::Handled)
            }
            _ => Ok(Taken::NotOurs),
        }
    }

    fn icmpv6(
        &mut self,
        arrival: &Arrival<'_>,
        (source, own): (Ipv6Addr, Ipv6Addr),
        hops: u8,
        message: &[u8],
        out: &mut Outbox,
    ) -> Result<Taken, Bad> {
        let view = icmpv6::View::new(message).map_err(|_| Bad::Header)?;
        let is_discovery = matches!(view.kind(), icmpv6::SOLICITATION | icmpv6::ADVERTISEMENT);
        if own.is_multicast() && !is_discovery {
            return Ok(Taken::NotOurs);
        }
        let pseudo = Pseudo::V6 { source, destination: own };
        view.verify(&pseudo).map_err(|_| Bad::IcmpChecksum)?;
        match (view.kind(), quote::v6(message)) {
            (_, Some(quoted)) => self.quoted(quoted),
            (icmpv6::SOLICITATION | icmpv6::ADVERTISEMENT, None) => {
                check(hops == NEVER_FORWARDED, Bad::Neighbour)?;
                let message = icmpv6::Repr::parse(&view).map_err(|_| Bad::Neighbour)?;
                self.discovery(arrival, (source, own), message, out)
            }
            (icmpv6::ECHO_REQUEST, None) if view.code() == 0 && !self.is_silent => {
                check(is_unicast(source.into()) && !self.has(source.into()), Bad::Header)?;
                if self.may_echo(message.len() + ipv6::LENGTH, arrival.now)? {
                    self.writer().echo_v6(own, (source, arrival.from), message, out);
                }
                Ok(Taken::Handled)
            }
            _ => Ok(Taken::NotOurs),
        }
    }

    fn quoted(&self, quoted: Option<Quoted>) -> Result<Taken, Bad> {
        let ours = quoted.filter(|quoted| self.has(quoted.local.0));
        ours.map(Taken::Icmp).ok_or(Bad::Quote)
    }

    fn may_echo(&mut self, packet: usize, now: Instant) -> Result<bool, Bad> {
        check(packet <= self.mtu, Bad::Length)?;
        let may = self.echoes.allows(now);
        self.counters.echoes += u64::from(may);
        self.counters.limited += u64::from(!may);
        Ok(may)
    }

    fn may_reply(&mut self, now: Instant) -> bool {
        let may = self.replies.allows(now);
        self.counters.asked += 1;
        self.counters.limited += u64::from(!may);
        may
    }

    fn arp(&mut self, arrival: &Arrival<'_>, out: &mut Outbox) -> Result<Taken, Bad> {
        let view = arp::View::new(arrival.packet()).map_err(|_| Bad::Neighbour)?;
        let sender = IpAddr::V4(view.sender());
        if self.has(sender) {
            return Ok(self.conflict(arrival, sender, view.sender_mac()));
        }
        if !self.has(view.target().into()) {
            return Ok(Taken::NotOurs);
        }
        // What the message says and the frame says must be of one host.
        let message = arp::Repr::parse(&view).map_err(|_| Bad::Neighbour)?;
        check(message.sender_mac == arrival.from, Bad::Neighbour)?;
        let is_reply = message.operation == arp::Operation::Reply;
        let is_probe = message.sender.is_unspecified() && !is_reply;
        if self.probe.is_running() {
            // Somebody else is about to take the address, too.
            if is_probe && !arrival.is_self {
                self.probe.found(message.target.into(), message.sender_mac);
            }
            return Ok(Taken::Handled);
        }
        self.hear(sender, message.sender_mac, is_reply, arrival.now);
        if !is_reply && !self.is_silent && self.may_reply(arrival.now) {
            // No switch brings a reply to who probes with the same MAC address, but for one to all.
            let to = if is_probe { Mac::BROADCAST } else { message.sender_mac };
            self.writer().arp(&message.reply(self.mac), to, out);
        }
        Ok(Taken::Handled)
    }

    fn discovery(
        &mut self,
        arrival: &Arrival<'_>,
        (source, to): (Ipv6Addr, Ipv6Addr),
        message: icmpv6::Repr,
        out: &mut Outbox,
    ) -> Result<Taken, Bad> {
        match message {
            icmpv6::Repr::Solicitation { target, source: link } if self.has(target.into()) => {
                // RFC 4861 §7.1.1.
                let is_nobody = source.is_unspecified();
                check(!is_nobody || (link.is_none() && to.is_multicast()), Bad::Neighbour)?;
                check(link.is_none_or(|link| !link.is_multicast()), Bad::Neighbour)?;
                if self.probe.is_running() {
                    if is_nobody && !arrival.is_self {
                        self.probe.found(target.into(), arrival.from);
                    }
                    return Ok(Taken::Handled);
                }
                if let Some(link) = link {
                    self.hear(source.into(), link, false, arrival.now);
                }
                if !self.is_silent && self.may_reply(arrival.now) {
                    self.writer().tell(target, (source, arrival.from), out);
                }
                Ok(Taken::Handled)
            }
            icmpv6::Repr::Advertisement { target, link, .. } => {
                let mac = link.unwrap_or(arrival.from);
                check(!target.is_multicast() && !mac.is_multicast(), Bad::Neighbour)?;
                if self.has(target.into()) {
                    return Ok(self.conflict(arrival, target.into(), mac));
                }
                self.hear(target.into(), mac, true, arrival.now);
                Ok(Taken::Handled)
            }
            _ => Ok(Taken::NotOurs),
        }
    }

    /// Somebody else says to have an address of ours.
    fn conflict(&mut self, arrival: &Arrival<'_>, address: IpAddr, mac: Mac) -> Taken {
        if self.probe.is_running() {
            self.probe.found(address, mac);
        } else if arrival.is_self {
            // Our announcement came back.
            return Taken::NotOurs;
        }
        self.counters.conflicts += 1;
        Taken::Handled
    }

    fn hear(&mut self, from: IpAddr, mac: Mac, is_answer: bool, now: Instant) {
        if !self.is_neighbour(from) || mac.is_multicast() || mac == self.mac {
            return;
        }
        self.counters.told += u64::from(is_answer);
        self.neighbours.heard(from, mac, is_answer, now, &mut self.counters);
    }
}

/// The segment at `within` of the packet.
#[inline]
fn segment(
    arrival: &Arrival<'_>,
    source: IpAddr,
    destination: IpAddr,
    within: Range<usize>,
    pseudo: &Pseudo,
) -> Result<Taken, Bad> {
    let range = arrival.at + within.start..arrival.at + within.end;
    let bytes = &arrival.frame.data[range.clone()];
    tcp::View::new(bytes).map_err(|_| Bad::Header)?;
    let is_unfinished = arrival.frame.card_work.checksum || {
        let pseudo = pseudo.sum(tcp::PROTOCOL, bytes.len());
        let is_right = checksum::fold(checksum::sum(bytes) + pseudo) == 0xffff;
        // A port may not tell: the kernel leaves the pseudo-header's sum in the place of a checksum that a card
        // shall finish.
        check(is_right || half(bytes, tcp::field::CHECKSUM) == checksum::fold(pseudo), Bad::TcpChecksum)?;
        !is_right
    };
    Ok(Taken::Tcp(Segment { source, destination, range, is_unfinished }))
}

fn check(holds: bool, cause: Bad) -> Result<(), Bad> {
    if holds { Ok(()) } else { Err(cause) }
}
