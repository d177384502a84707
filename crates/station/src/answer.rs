//! Frames that a station writes by itself: replies to who asked, and its own questions.

use crate::head::{link_length, put_link};
use crate::outbox::Outbox;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::checksum::Pseudo;
use wire::ethernet::Mac;
use wire::parse::{ETHERTYPE_ARP, ETHERTYPE_IPV4, ETHERTYPE_IPV6};
use wire::{arp, icmp, icmpv6, ipv4, ipv6};

/// All nodes of the link (RFC 4291 §2.7.1, RFC 2464 §7).
const ALL_NODES: (Ipv6Addr, Mac) =
    (Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1), Mac([0x33, 0x33, 0, 0, 0, 1]));
/// Neighbour discovery is believed only if no router passed it on (RFC 4861 §7.1).
pub(crate) const NEVER_FORWARDED: u8 = 255;

/// What is in all frames that a station writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Writer {
    pub mac: Mac,
    pub vlan: Option<u16>,
    /// The first own address of each family.
    pub v4: Option<IpAddr>,
    pub v6: Option<IpAddr>,
}

impl Writer {
    /// Who has `address`? Asked of all, or of who had it before.
    pub fn ask(&self, address: IpAddr, before: Option<Mac>, out: &mut Outbox) {
        match (address, self.v4, self.v6) {
            (IpAddr::V4(target), Some(IpAddr::V4(sender)), _) => {
                let message = arp::Repr {
                    operation: arp::Operation::Request,
                    sender_mac: self.mac,
                    sender,
                    target_mac: Mac([0; 6]),
                    target,
                };
                self.arp(&message, before.unwrap_or(Mac::BROADCAST), out);
            }
            (IpAddr::V6(target), _, Some(IpAddr::V6(source))) => {
                let message = icmpv6::Repr::Solicitation { target, source: Some(self.mac) };
                let to = before.map_or_else(|| ipv6::solicited_node(target), |mac| (target, mac));
                self.icmpv6(&message, source, to, out);
            }
            _ => {}
        }
    }

    /// Does anybody have this address of ours (RFC 5227 §2.1.1, RFC 4862 §5.4.2)?
    pub fn probe(&self, address: IpAddr, out: &mut Outbox) {
        match address {
            IpAddr::V4(target) => self.claim(Ipv4Addr::UNSPECIFIED, target, out),
            IpAddr::V6(target) => {
                let message = icmpv6::Repr::Solicitation { target, source: None };
                self.icmpv6(&message, Ipv6Addr::UNSPECIFIED, ipv6::solicited_node(target), out);
            }
        }
    }

    /// This address is ours (RFC 5227 §2.3, RFC 4861 §7.2.6).
    pub fn announce(&self, address: IpAddr, out: &mut Outbox) {
        match address {
            IpAddr::V4(own) => self.claim(own, own, out),
            IpAddr::V6(target) => self.advertise(target, ALL_NODES, false, out),
        }
    }

    fn claim(&self, sender: Ipv4Addr, target: Ipv4Addr, out: &mut Outbox) {
        let (operation, target_mac) = (arp::Operation::Request, Mac([0; 6]));
        let message = arp::Repr { operation, sender_mac: self.mac, sender, target_mac, target };
        self.arp(&message, Mac::BROADCAST, out);
    }

    /// To who asked for `target`; one that has no address yet hears it with all others.
    pub fn tell(&self, target: Ipv6Addr, who: (Ipv6Addr, Mac), out: &mut Outbox) {
        let is_nobody = who.0.is_unspecified();
        self.advertise(target, if is_nobody { ALL_NODES } else { who }, !is_nobody, out);
    }

    fn advertise(&self, target: Ipv6Addr, to: (Ipv6Addr, Mac), solicited: bool, out: &mut Outbox) {
        let link = Some(self.mac);
        let message = icmpv6::Repr::Advertisement { target, link, router: false, solicited, override_: true };
        self.icmpv6(&message, target, to, out);
    }

    pub fn arp(&self, message: &arp::Repr, to: Mac, out: &mut Outbox) {
        let at = link_length(self.vlan);
        let Some(frame) = out.push((at + arp::LENGTH).max(wire::ethernet::LEAST)) else { return };
        put_link(frame, self.mac, to, self.vlan, ETHERTYPE_ARP);
        if message.emit(&mut frame[at..]).is_err() {
            out.undo();
        }
    }

    fn icmpv6(&self, message: &icmpv6::Repr, source: Ipv6Addr, to: (Ipv6Addr, Mac), out: &mut Outbox) {
        let pseudo = Pseudo::V6 { source, destination: to.0 };
        let room = self.ipv6(source, to, message.length(), NEVER_FORWARDED, out);
        if room.is_some_and(|room| message.emit(room, &pseudo).is_err()) {
            out.undo();
        }
    }

    /// Room for an ICMPv6 message behind its headers.
    fn ipv6<'o>(
        &self,
        source: Ipv6Addr,
        to: (Ipv6Addr, Mac),
        length: usize,
        hop_limit: u8,
        out: &'o mut Outbox,
    ) -> Option<&'o mut [u8]> {
        let at = link_length(self.vlan);
        let frame = out.push(at + ipv6::LENGTH + length)?;
        put_link(frame, self.mac, to.1, self.vlan, ETHERTYPE_IPV6);
        let ip = ipv6::Repr {
            source,
            destination: to.0,
            traffic_class: 0,
            flow_label: 0,
            hop_limit,
            next_header: icmpv6::PROTOCOL,
        };
        // The room is as long as it must be.
        let _ = ip.emit(&mut frame[at..]);
        Some(&mut frame[at + ipv6::LENGTH..])
    }

    /// The reply to an echo request, with its bytes.
    pub fn echo_v4(&self, own: Ipv4Addr, to: (Ipv4Addr, Mac), request: &[u8], out: &mut Outbox) {
        let at = link_length(self.vlan);
        let Some(frame) = out.push(at + ipv4::LENGTH + request.len()) else { return };
        put_link(frame, self.mac, to.1, self.vlan, ETHERTYPE_IPV4);
        let ip = ipv4::Repr {
            source: own,
            destination: to.0,
            dscp: 0,
            ecn: 0,
            identification: 0,
            dont_fragment: true,
            more_fragments: false,
            fragment_offset: 0,
            ttl: 64,
            protocol: icmp::PROTOCOL,
            options: Vec::new(),
        };
        let _ = ip.emit(&mut frame[at..]);
        let message = &mut frame[at + ipv4::LENGTH..];
        message.copy_from_slice(request);
        let reply = icmp::View::new(request)
            .and_then(|view| icmp::Repr::parse(&view))
            .map(|repr| icmp::Repr(wire::echo::Echo { request: false, ..repr.0 }));
        if reply.and_then(|reply| reply.emit(message)).is_err() {
            out.undo();
        }
    }

    /// The same for IPv6.
    pub fn echo_v6(&self, own: Ipv6Addr, to: (Ipv6Addr, Mac), request: &[u8], out: &mut Outbox) {
        let pseudo = Pseudo::V6 { source: own, destination: to.0 };
        let Some(message) = self.ipv6(own, to, request.len(), 64, out) else { return };
        message.copy_from_slice(request);
        let reply = match icmpv6::View::new(request).and_then(|view| icmpv6::Repr::parse(&view)) {
            Ok(icmpv6::Repr::Echo(echo)) => {
                icmpv6::Repr::Echo(wire::echo::Echo { request: false, ..echo }).emit(message, &pseudo).is_ok()
            }
            _ => false,
        };
        if !reply {
            out.undo();
        }
    }
}
