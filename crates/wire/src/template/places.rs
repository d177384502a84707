//! Where a frame's headers are: read from its bytes, so that frames that were made and frames that were taken
//! are treated alike.

use super::spec::Field;
use crate::inner;
use crate::parse::{self, ETHERTYPE_ARP, ETHERTYPE_IPV4, ETHERTYPE_IPV6, Tuple};

/// Offsets of headers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places {
    /// Of the tags' control fields.
    tags: [Option<usize>; 2],
    pub network: Network,
    pub network_at: usize,
    pub transport: Transport,
    pub transport_at: usize,
    pub payload: usize,
    pub end: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Network {
    Ipv4,
    Ipv6,
    Arp,
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transport {
    Udp,
    Tcp,
    Icmp,
    Icmpv6,
    None,
}

impl Transport {
    /// Bytes of the least header, and where the checksum is in it.
    const fn header(self) -> (usize, usize) {
        match self {
            Self::Udp => (8, 6),
            Self::Tcp => (20, 16),
            Self::Icmp | Self::Icmpv6 => (8, 2),
            Self::None => (0, 0),
        }
    }
}

/// A run of bits in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bits {
    /// From the frame's first bit.
    pub first: usize,
    pub count: u32,
}

impl Places {
    /// Of a frame of at least 14 bytes.
    pub fn of(frame: &[u8]) -> Self {
        Self::within(frame, 0)
    }

    /// Of the packet that is within so many others.
    pub fn within(frame: &[u8], levels: usize) -> Self {
        let (Some(outer), Some(tuple)) = (parse::summary(frame), inner::within(frame, levels)) else {
            return Self::bare(frame);
        };
        let network = match tuple.ethertype {
            ETHERTYPE_IPV4 => Network::Ipv4,
            ETHERTYPE_IPV6 => Network::Ipv6,
            ETHERTYPE_ARP if usize::from(tuple.payload) > usize::from(tuple.network) => Network::Arp,
            _ => Network::None,
        };
        let tags = [outer.vlan.map(|_| 14), outer.inner_vlan.map(|_| 18)];
        Self {
            tags,
            network,
            network_at: usize::from(tuple.network),
            transport: transport(&tuple),
            transport_at: usize::from(tuple.transport),
            payload: usize::from(tuple.payload),
            end: usize::from(tuple.end),
        }
    }

    /// A frame whose payload is not understood.
    const fn bare(frame: &[u8]) -> Self {
        Self {
            tags: [None; 2],
            network: Network::None,
            network_at: 14,
            transport: Transport::None,
            transport_at: 14,
            payload: 14,
            end: frame.len(),
        }
    }

    /// Offset of IPv4's header checksum.
    pub fn network_checksum(&self) -> Option<usize> {
        (self.network == Network::Ipv4).then_some(self.network_at + 10)
    }

    /// Offset of the checksum of the transport, if the frame has one.
    pub fn transport_checksum(&self, frame: &[u8]) -> Option<usize> {
        let at = self.transport_at + self.transport.header().1;
        let is_none = self.transport == Transport::None
            || (self.transport == Transport::Udp && frame.get(at..at + 2) == Some(&[0, 0]));
        (!is_none).then_some(at)
    }

    /// Offset of IPv4's total length or IPv6's payload length.
    pub fn network_length(&self) -> Option<usize> {
        match self.network {
            Network::Ipv4 => Some(self.network_at + 2),
            Network::Ipv6 => Some(self.network_at + 4),
            Network::Arp | Network::None => None,
        }
    }

    /// Offset of UDP's length.
    pub fn transport_length(&self) -> Option<usize> {
        (self.transport == Transport::Udp).then_some(self.transport_at + 4)
    }

    /// Whether the pseudo-header counts for the transport's checksum.
    pub fn has_pseudo(&self) -> bool {
        matches!(self.transport, Transport::Udp | Transport::Tcp | Transport::Icmpv6)
    }

    /// Where a field is, if the frame has it.
    pub fn field(&self, field: Field) -> Option<Bits> {
        let at = |base: usize, bit: usize| Some(Bits { first: base * 8 + bit, count: field.bits() });
        let tag = |n: usize, bit| self.tags[n].and_then(|base| at(base, bit));
        let over =
            |network: Network, bit| if self.network == network { at(self.network_at, bit) } else { None };
        let behind = |known: bool, bit| if known { at(self.transport_at, bit) } else { None };
        let (tcp, echo) =
            (self.transport == Transport::Tcp, matches!(self.transport, Transport::Icmp | Transport::Icmpv6));
        let ports = tcp || self.transport == Transport::Udp;
        match field {
            Field::MacDestination => at(0, 0),
            Field::MacSource => at(6, 0),
            Field::VlanIdentifier => tag(0, 4),
            Field::VlanPriority => tag(0, 0),
            Field::InnerVlanIdentifier => tag(1, 4),
            Field::InnerVlanPriority => tag(1, 0),
            Field::ArpSenderMac => over(Network::Arp, 8 * 8),
            Field::ArpSender => over(Network::Arp, 14 * 8),
            Field::ArpTarget => over(Network::Arp, 24 * 8),
            Field::Ipv4Source => over(Network::Ipv4, 12 * 8),
            Field::Ipv4Destination => over(Network::Ipv4, 16 * 8),
            Field::Identification => over(Network::Ipv4, 4 * 8),
            Field::Dscp => over(Network::Ipv4, 8).or(over(Network::Ipv6, 4)),
            Field::Ecn => over(Network::Ipv4, 14).or(over(Network::Ipv6, 10)),
            Field::Ttl => over(Network::Ipv4, 8 * 8).or(over(Network::Ipv6, 7 * 8)),
            Field::Ipv6Source => over(Network::Ipv6, 8 * 8),
            Field::Ipv6Destination => over(Network::Ipv6, 24 * 8),
            Field::FlowLabel => over(Network::Ipv6, 12),
            Field::PortSource => behind(ports, 0),
            Field::PortDestination => behind(ports, 16),
            Field::TcpSequence => behind(tcp, 4 * 8),
            Field::TcpAcknowledgment => behind(tcp, 8 * 8),
            Field::TcpFlags => behind(tcp, 13 * 8),
            Field::TcpWindow => behind(tcp, 14 * 8),
            Field::EchoIdentifier => behind(echo, 4 * 8),
            Field::EchoSequence => behind(echo, 6 * 8),
        }
    }
}

/// The transport, if its header is whole.
fn transport(tuple: &Tuple) -> Transport {
    if !tuple.is_ip() || tuple.is_later_fragment {
        return Transport::None;
    }
    let known = match tuple.protocol {
        parse::UDP => Transport::Udp,
        parse::TCP => Transport::Tcp,
        parse::ICMP if tuple.ethertype == ETHERTYPE_IPV4 => Transport::Icmp,
        parse::ICMPV6 if tuple.ethertype == ETHERTYPE_IPV6 => Transport::Icmpv6,
        _ => Transport::None,
    };
    let whole = usize::from(tuple.end) >= usize::from(tuple.transport) + known.header().0;
    if whole { known } else { Transport::None }
}
