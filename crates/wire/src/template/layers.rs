//! One frame of a specification, at one length: headers are written from the inside out, so that each finds its
//! payload.

use super::spec::{Layer, Payload, StreamSpec};
use crate::checksum::Pseudo;
use crate::parse::{ETHERTYPE_ARP, ETHERTYPE_IPV4, ETHERTYPE_IPV6, ETHERTYPE_QINQ, ETHERTYPE_VLAN};
use crate::template::modulus::spread;
use crate::{WireError, arp, ethernet, icmp, icmpv6, ipv4, ipv6, tcp, udp, vlan};
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
        }
    }

    fn length(&self) -> usize {
        match self {
            Self::Ethernet { .. } => ethernet::LENGTH,
            Self::Vlan { .. } => vlan::LENGTH,
            Self::Arp { .. } => arp::LENGTH,
            Self::Ipv4 { options, .. } => ipv4::LENGTH + options.len(),
            Self::Ipv6 { .. } => ipv6::LENGTH,
            Self::Udp { .. } => udp::LENGTH,
            Self::Tcp { options, .. } => tcp::LENGTH + options.len(),
            Self::Echo(_) => icmp::LENGTH,
        }
    }

    const fn can_follow(&self, outer: &Self) -> bool {
        match self {
            Self::Ethernet { .. } => false,
            Self::Vlan { .. } | Self::Arp { .. } | Self::Ipv4 { .. } | Self::Ipv6 { .. } => {
                matches!(outer, Self::Ethernet { .. } | Self::Vlan { .. })
            }
            Self::Udp { .. } | Self::Tcp { .. } | Self::Echo(_) => {
                matches!(outer, Self::Ipv4 { .. } | Self::Ipv6 { .. })
            }
        }
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
    if layers.iter().filter(|layer| matches!(layer, Layer::Vlan { .. })).count() > 2 {
        return Err(WireError::Stack("two VLAN tags at most"));
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
        Layer::Udp { source, destination, checksum } => {
            udp::Repr { source: *source, destination: *destination, checksum: *checksum }
                .emit(room, &pseudo(&layers[index - 1])?)
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
        .emit(room, &pseudo(&layers[index - 1])?),
        Layer::Echo(echo) => match pseudo(&layers[index - 1])? {
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
        _ => EXPERIMENTAL_ETHERTYPE,
    }
}

const fn protocol_of(layer: Option<&Layer>, given: Option<u8>, echo: u8) -> u8 {
    match (layer, given) {
        (Some(Layer::Udp { .. }), _) => udp::PROTOCOL,
        (Some(Layer::Tcp { .. }), _) => tcp::PROTOCOL,
        (Some(Layer::Echo(_)), _) => echo,
        (_, Some(given)) => given,
        _ => EXPERIMENTAL_PROTOCOL,
    }
}

const fn pseudo(network: &Layer) -> Result<Pseudo, WireError> {
    match network {
        Layer::Ipv4 { source, destination, .. } => {
            Ok(Pseudo::V4 { source: *source, destination: *destination })
        }
        Layer::Ipv6 { source, destination, .. } => {
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
