//! One frame of a specification, at one length: headers are written from the inside out, so that each finds its
//! payload.

use super::spec::{Layer, Payload, StreamSpec};
use super::tunnels;
use crate::checksum::Pseudo;
use crate::parse::{ETHERTYPE_ARP, ETHERTYPE_IPV4, ETHERTYPE_IPV6, ETHERTYPE_QINQ, ETHERTYPE_VLAN};
use crate::template::modulus::spread;
use crate::{
    WireError, arp, ethernet, extension, gre, gtpu, icmp, icmpv6, ipv4, ipv6, mpls, pppoe, tcp, udp, vlan,
    vxlan,
};
use alloc::string::String;
use alloc::vec::Vec;

/// Local experiments (IEEE 802): the type of frames whose payload has none.
const EXPERIMENTAL_ETHERTYPE: u16 = 0x88b5;
/// Experiments (RFC 3692): the protocol of packets whose payload has none.
const EXPERIMENTAL_PROTOCOL: u8 = 253;

impl Layer {
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Ethernet { .. } => "Ethernet",
            Self::Vlan { .. } => "VLAN",
            Self::Arp { .. } => "ARP",
            Self::Ipv4 { .. } => "IPv4",
            Self::Ipv6 { .. } => "IPv6",
            Self::Udp { .. } => "UDP",
            Self::Tcp { .. } => "TCP",
            Self::Echo(_) => "ICMP",
            Self::Extension(extension) => extension.name(),
            Self::Mpls { .. } => "MPLS",
            Self::Pppoe { .. } => "PPPoE",
            Self::Gre { .. } => "GRE",
            Self::Vxlan { .. } => "VXLAN",
            Self::Gtpu { .. } => "GTP-U",
        }
    }

    pub(super) fn length(&self) -> usize {
        match self {
            Self::Ethernet { .. } => ethernet::LENGTH,
            Self::Vlan { .. } => vlan::LENGTH,
            Self::Arp { .. } => arp::LENGTH,
            Self::Ipv4 { options, .. } => ipv4::LENGTH + options.len(),
            Self::Ipv6 { .. } => ipv6::LENGTH,
            Self::Udp { .. } => udp::LENGTH,
            Self::Tcp { options, .. } => tcp::LENGTH + options.len(),
            Self::Echo(_) => icmp::LENGTH,
            Self::Extension(_) => extension::LENGTH,
            Self::Mpls { .. } => mpls::LENGTH,
            Self::Pppoe { .. } => pppoe::LENGTH,
            Self::Gre { key } => gre::Repr { protocol: 0, key: *key }.length(),
            Self::Vxlan { .. } => vxlan::LENGTH,
            Self::Gtpu { .. } => gtpu::LENGTH,
        }
    }

    const fn can_follow(&self, outer: &Self) -> bool {
        let over_link = matches!(outer, Self::Ethernet { .. } | Self::Vlan { .. });
        match self {
            Self::Ethernet { .. } => matches!(outer, Self::Vxlan { .. }),
            Self::Vlan { .. } | Self::Arp { .. } | Self::Pppoe { .. } => over_link,
            Self::Mpls { .. } => over_link || matches!(outer, Self::Mpls { .. }),
            Self::Ipv4 { .. } | Self::Ipv6 { .. } => {
                over_link
                    || matches!(
                        outer,
                        Self::Mpls { .. } | Self::Pppoe { .. } | Self::Gre { .. } | Self::Gtpu { .. }
                    )
            }
            Self::Extension(_) => matches!(outer, Self::Ipv6 { .. } | Self::Extension(_)),
            Self::Udp { .. } | Self::Tcp { .. } | Self::Echo(_) | Self::Gre { .. } => {
                matches!(outer, Self::Ipv4 { .. } | Self::Ipv6 { .. } | Self::Extension(_))
            }
            Self::Vxlan { .. } | Self::Gtpu { .. } => matches!(outer, Self::Udp { .. }),
        }
    }

    /// Whether it is there only for a packet that it carries.
    const fn is_around(&self) -> bool {
        matches!(
            self,
            Self::Mpls { .. }
                | Self::Pppoe { .. }
                | Self::Gre { .. }
                | Self::Vxlan { .. }
                | Self::Gtpu { .. }
        )
    }
}

/// Checks that headers follow upon each other as they can.
pub(super) fn check(layers: &[Layer]) -> Result<(), WireError> {
    if !matches!(layers.first(), Some(Layer::Ethernet { .. })) {
        return Err(WireError::Stack("an Ethernet header first"));
    }
    for pair in layers.windows(2) {
        if !pair[1].can_follow(&pair[0]) {
            return Err(WireError::Order { outer: pair[0].name(), inner: pair[1].name() });
        }
    }
    let tagged = layers[1..].iter().take_while(|layer| !layer.is_around());
    if tagged.filter(|layer| matches!(layer, Layer::Vlan { .. })).count() > 2 {
        return Err(WireError::Stack("two VLAN tags at most"));
    }
    if layers.last().is_some_and(Layer::is_around) {
        return Err(WireError::Stack("a packet in its tunnel"));
    }
    if tunnels::covers_what_varies(layers) {
        return Err(WireError::Stack("no checksum in the UDP header of a tunnel"));
    }
    let bare = match layers.last() {
        Some(Layer::Ipv4 { protocol, .. }) => *protocol,
        Some(Layer::Ipv6 { next_header, .. }) => *next_header,
        _ => None,
    };
    if matches!(bare, Some(icmp::PROTOCOL | tcp::PROTOCOL | udp::PROTOCOL | icmpv6::PROTOCOL)) {
        return Err(WireError::Stack("the header of the protocol that IP announces"));
    }
    Ok(())
}

/// Bytes of all headers.
pub(super) fn length(layers: &[Layer]) -> usize {
    layers.iter().map(Layer::length).sum()
}

/// "Ethernet, IPv4, UDP and a signature"
pub(super) fn names(stream: &StreamSpec) -> String {
    let mut names: Vec<&str> = stream.layers.iter().map(Layer::name).collect();
    if stream.sign {
        names.push("a signature");
    }
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => alloc::format!("{} and {last}", rest.join(", ")),
        _ => names.concat(),
    }
}

/// The stream's frame of `length` bytes, with first values for all that varies; filled up with zeros to the
/// least that Ethernet has.
pub(super) fn frame(stream: &StreamSpec, length: usize, seed: u64) -> Result<Vec<u8>, WireError> {
    let mut bytes = alloc::vec![0; length];
    let layers = &stream.layers;
    let payload = self::length(layers);
    if !matches!(layers.last(), Some(Layer::Arp { .. })) {
        fill(&mut bytes[payload..], &stream.payload, seed);
    }
    let mut at = payload;
    for index in (0..layers.len()).rev() {
        at -= layers[index].length();
        emit(layers, index, &mut bytes[at..])?;
    }
    bytes.resize(length.max(crate::LEAST_SIZE - crate::FCS), 0);
    Ok(bytes)
}

fn emit(layers: &[Layer], index: usize, room: &mut [u8]) -> Result<(), WireError> {
    let next = layers.get(index + 1);
    match &layers[index] {
        Layer::Ethernet { destination, source, ethertype } => {
            let ethertype = ethertype.unwrap_or_else(|| ethertype_of(next, layers.get(index + 2)));
            ethernet::Repr { destination: *destination, source: *source, ethertype }.emit(room)
        }
        Layer::Vlan { identifier, priority, drop_eligible, ethertype, .. } => {
            let ethertype = ethertype.unwrap_or_else(|| ethertype_of(next, layers.get(index + 2)));
            let (identifier, priority, drop_eligible) = (*identifier, *priority, *drop_eligible);
            vlan::Repr { identifier, priority, drop_eligible, ethertype }.emit(room)
        }
        Layer::Arp { request, sender_mac, sender, target_mac, target } => arp::Repr {
            operation: if *request { arp::Operation::Request } else { arp::Operation::Reply },
            sender_mac: *sender_mac,
            sender: *sender,
            target_mac: *target_mac,
            target: *target,
        }
        .emit(room),
        Layer::Ipv4 {
            source,
            destination,
            dscp,
            ecn,
            identification,
            dont_fragment,
            ttl,
            protocol,
            options,
        } => ipv4::Repr {
            source: *source,
            destination: *destination,
            dscp: *dscp,
            ecn: *ecn,
            identification: *identification,
            dont_fragment: *dont_fragment,
            more_fragments: false,
            fragment_offset: 0,
            ttl: *ttl,
            protocol: protocol_of(next, *protocol, icmp::PROTOCOL),
            options: options.clone(),
        }
        .emit(room),
        Layer::Ipv6 { source, destination, traffic_class, flow_label, hop_limit, next_header } => {
            ipv6::Repr {
                source: *source,
                destination: *destination,
                traffic_class: *traffic_class,
                flow_label: *flow_label,
                hop_limit: *hop_limit,
                next_header: protocol_of(next, *next_header, icmpv6::PROTOCOL),
            }
            .emit(room)
        }
        Layer::Extension(extension) => extension.emit(protocol_of(next, None, icmpv6::PROTOCOL), room),
        Layer::Mpls { label, class, ttl } => {
            let is_last = !matches!(next, Some(Layer::Mpls { .. }));
            mpls::Repr { label: *label, class: *class, is_last, ttl: *ttl }.emit(room)
        }
        Layer::Pppoe { session } => {
            let is_ipv6 = matches!(next, Some(Layer::Ipv6 { .. }));
            let protocol = if is_ipv6 { pppoe::IPV6 } else { pppoe::IPV4 };
            pppoe::Repr { session: *session, protocol }.emit(room)
        }
        Layer::Gre { key } => {
            let protocol = ethertype_of(next, layers.get(index + 2));
            gre::Repr { protocol, key: *key }.emit(room)
        }
        Layer::Vxlan { network } => vxlan::Repr { network: *network }.emit(room),
        Layer::Gtpu { tunnel } => gtpu::Repr { tunnel: *tunnel }.emit(room),
        Layer::Udp { source, destination, checksum } => {
            udp::Repr { source: *source, destination: *destination, checksum: *checksum }
                .emit(room, &pseudo(&layers[..index])?)
        }
        Layer::Tcp { source, destination, sequence, acknowledgment, flags, window, options } => tcp::Repr {
            source: *source,
            destination: *destination,
            sequence: *sequence,
            acknowledgment: *acknowledgment,
            flags: *flags,
            window: *window,
            urgent: 0,
            options: options.clone(),
        }
        .emit(room, &pseudo(&layers[..index])?),
        Layer::Echo(echo) => match pseudo(&layers[..index])? {
            Pseudo::V4 { .. } => icmp::Repr(*echo).emit(room),
            over @ Pseudo::V6 { .. } => icmpv6::Repr::Echo(*echo).emit(room, &over),
        },
    }
}

/// The ethertype that announces `layer`; a tag before another tag is a service tag (802.1ad).
const fn ethertype_of(layer: Option<&Layer>, behind: Option<&Layer>) -> u16 {
    match (layer, behind) {
        (Some(Layer::Vlan { protocol: Some(protocol), .. }), _) => *protocol,
        (Some(Layer::Vlan { .. }), Some(Layer::Vlan { .. })) => ETHERTYPE_QINQ,
        (Some(Layer::Vlan { .. }), _) => ETHERTYPE_VLAN,
        (Some(Layer::Arp { .. }), _) => ETHERTYPE_ARP,
        (Some(Layer::Ipv4 { .. }), _) => ETHERTYPE_IPV4,
        (Some(Layer::Ipv6 { .. }), _) => ETHERTYPE_IPV6,
        (Some(Layer::Mpls { .. }), _) => mpls::ETHERTYPE,
        (Some(Layer::Pppoe { .. }), _) => pppoe::ETHERTYPE,
        _ => EXPERIMENTAL_ETHERTYPE,
    }
}

const fn protocol_of(layer: Option<&Layer>, given: Option<u8>, echo: u8) -> u8 {
    match (layer, given) {
        (Some(Layer::Udp { .. }), _) => udp::PROTOCOL,
        (Some(Layer::Tcp { .. }), _) => tcp::PROTOCOL,
        (Some(Layer::Echo(_)), _) => echo,
        (Some(Layer::Gre { .. }), _) => gre::PROTOCOL,
        (Some(Layer::Extension(extension)), _) => extension.protocol(),
        (_, Some(given)) => given,
        _ => EXPERIMENTAL_PROTOCOL,
    }
}

/// Of the last of these that is no extension.
fn pseudo(outer: &[Layer]) -> Result<Pseudo, WireError> {
    match outer.iter().rev().find(|layer| !matches!(layer, Layer::Extension(_))) {
        Some(Layer::Ipv4 { source, destination, .. }) => {
            Ok(Pseudo::V4 { source: *source, destination: *destination })
        }
        Some(Layer::Ipv6 { source, destination, .. }) => {
            Ok(Pseudo::V6 { source: *source, destination: *destination })
        }
        _ => Err(WireError::Stack("IP under its transport")),
    }
}

fn fill(room: &mut [u8], payload: &Payload, seed: u64) {
    match payload {
        Payload::Zeros => {}
        Payload::Increment => room.iter_mut().enumerate().for_each(|(i, byte)| *byte = i as u8),
        Payload::Random => {
            for (number, chunk) in room.chunks_mut(8).enumerate() {
                chunk.copy_from_slice(&spread(seed, number as u64).to_be_bytes()[..chunk.len()]);
            }
        }
        Payload::Bytes(pattern) => {
            room.iter_mut().zip(pattern.iter().cycle()).for_each(|(byte, from)| *byte = *from);
        }
    }
}

#[cfg(test)]
mod tests;
