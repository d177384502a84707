//! What frames shall look like, as plain data: headers from the outside in, sizes, and which fields change how.

use alloc::vec::Vec;
use core::mem::swap;
use core::net::{Ipv4Addr, Ipv6Addr};

pub use crate::echo::Echo;
pub use crate::extension::Extension;

/// A MAC address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Mac(pub [u8; 6]);

/// Frames of all streams.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spec {
    pub streams: Vec<StreamSpec>,
    /// What random values and payloads grow from.
    pub seed: u64,
}

/// Frames of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamSpec {
    /// Its share: of `Σ weights` frames in a row this stream has `weight`, spread evenly.
    pub weight: u32,
    /// Headers from the outside in; the first is Ethernet. Lengths, checksums and the numbers of protocols that
    /// follow are filled in.
    pub layers: Vec<Layer>,
    /// Frame sizes, counting the FCS.
    pub sizes: Sizes,
    /// Whether a size below the least of Ethernet stands for a packet that is so short: the frame has 64 bytes,
    /// the rest of it behind the packet. Otherwise such a size is refused.
    pub pads: bool,
    pub payload: Payload,
    pub vary: Vec<Vary>,
    /// Different 5-tuples (addresses, protocol, ports) that follow each other in turn; `None`: whatever `vary`
    /// gives.
    pub flows: Option<u64>,
    /// Whether each frame carries a [`crate::Signature`] at the start of its payload.
    pub sign: bool,
    /// Checksums that are wrong on purpose.
    pub spoiled: Spoiled,
}

/// Which checksums are wrong; in a tunnel, those of the packet within.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spoiled {
    /// IPv4's header checksum.
    pub network: bool,
    /// That of UDP, TCP or ICMP.
    pub transport: bool,
}

impl StreamSpec {
    /// Bytes of all headers, Ethernet's included.
    pub fn header_length(&self) -> usize {
        super::layers::length(&self.layers)
    }

    /// The least frame size (counting the FCS) that holds headers and signature.
    pub fn least_size(&self) -> usize {
        let signature = if self.sign { crate::signature::LENGTH } else { 0 };
        (self.header_length() + signature + crate::FCS).max(crate::LEAST_SIZE)
    }

    /// What the other end sends back: sources and destinations are exchanged, in fields that vary, too.
    #[must_use]
    pub fn reversed(&self) -> Self {
        let vary = self.vary.iter().map(|vary| Vary { field: vary.field.reversed(), ..vary.clone() });
        Self {
            layers: self.layers.iter().map(Layer::reversed).collect(),
            vary: vary.collect(),
            ..self.clone()
        }
    }
}

/// One header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Layer {
    Ethernet {
        destination: Mac,
        source: Mac,
        ethertype: Option<u16>,
    },
    /// `protocol` is the tag's own ethertype: 0x8100 (802.1Q) or 0x88a8 (802.1ad); `None`: 0x88a8 for a tag
    /// before another, else 0x8100.
    Vlan {
        protocol: Option<u16>,
        identifier: u16,
        priority: u8,
        drop_eligible: bool,
        ethertype: Option<u16>,
    },
    Arp {
        request: bool,
        sender_mac: Mac,
        sender: Ipv4Addr,
        target_mac: Mac,
        target: Ipv4Addr,
    },
    Ipv4 {
        source: Ipv4Addr,
        destination: Ipv4Addr,
        dscp: u8,
        ecn: u8,
        identification: u16,
        dont_fragment: bool,
        ttl: u8,
        /// Of what follows, where that is not one of these layers.
        protocol: Option<u8>,
        /// As on the wire; a multiple of four bytes, at most 40.
        options: Vec<u8>,
    },
    Ipv6 {
        source: Ipv6Addr,
        destination: Ipv6Addr,
        traffic_class: u8,
        flow_label: u32,
        hop_limit: u8,
        next_header: Option<u8>,
    },
    /// `checksum: false` leaves it 0, which says over IPv4 that there is none.
    Udp {
        source: u16,
        destination: u16,
        checksum: bool,
    },
    Tcp {
        source: u16,
        destination: u16,
        sequence: u32,
        acknowledgment: u32,
        flags: u8,
        window: u16,
        /// As on the wire; a multiple of four bytes, at most 40.
        options: Vec<u8>,
    },
    /// Echo, over IPv4 (ICMP) or IPv6 (ICMPv6).
    Echo(Echo),
    Extension(Extension),
    /// A label; the stack ends where something else follows.
    Mpls {
        label: u32,
        class: u8,
        ttl: u8,
    },
    Pppoe {
        session: u16,
    },
    Gre {
        key: Option<u32>,
    },
    Vxlan {
        network: u32,
    },
    Gtpu {
        tunnel: u32,
    },
}

impl Layer {
    /// A header whose EtherType is that of what follows.
    pub const fn ethernet(source: Mac, destination: Mac) -> Self {
        Self::Ethernet { destination, source, ethertype: None }
    }

    fn reversed(&self) -> Self {
        let mut layer = self.clone();
        match &mut layer {
            Self::Ethernet { source, destination, .. } => swap(source, destination),
            Self::Arp { sender_mac, sender, target_mac, target, .. } => {
                swap(sender_mac, target_mac);
                swap(sender, target);
            }
            Self::Ipv4 { source, destination, .. } => swap(source, destination),
            Self::Ipv6 { source, destination, .. } => swap(source, destination),
            Self::Udp { source, destination, .. } | Self::Tcp { source, destination, .. } => {
                swap(source, destination);
            }
            _ => {}
        }
        layer
    }

    /// A header without options that may not be fragmented, with 64 hops to live.
    pub const fn ipv4(source: Ipv4Addr, destination: Ipv4Addr) -> Self {
        Self::Ipv4 {
            source,
            destination,
            dscp: 0,
            ecn: 0,
            identification: 0,
            dont_fragment: true,
            ttl: 64,
            protocol: None,
            options: Vec::new(),
        }
    }
}

/// Frame sizes, counting the FCS. Frame n of a stream has the size that its number n gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sizes {
    Fixed(usize),
    /// One after the other.
    List(Vec<usize>),
    /// Up from `first` to `last` in steps, and again.
    Range {
        first: usize,
        last: usize,
        step: usize,
    },
    /// Sizes with their shares, spread evenly.
    Weighted(Vec<(usize, u32)>),
    /// Any between both, evenly (by the seed).
    Random {
        first: usize,
        last: usize,
    },
}

/// Of each twelve frames seven of 64 bytes, four of 594 and one of 1518.
pub const IMIX: [(usize, u32); 3] = [(64, 7), (594, 4), (1518, 1)];

impl Sizes {
    pub fn imix() -> Self {
        Self::Weighted(IMIX.to_vec())
    }
}

impl Default for Sizes {
    fn default() -> Self {
        Self::Fixed(crate::LEAST_SIZE)
    }
}

/// What is behind the headers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Payload {
    #[default]
    Zeros,
    /// 0, 1, 2, … 255, 0, …
    Increment,
    /// Bytes by the seed: the same in each frame.
    Random,
    /// These, repeated.
    Bytes(Vec<u8>),
}

/// One field that changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vary {
    pub field: Field,
    pub values: Values,
    pub by: By,
}

/// What a value's number i counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum By {
    /// The stream's frames.
    #[default]
    Frame,
    /// Its flows: the value stays with the flow (frame n is of flow n mod `flows`).
    Flow,
}

/// Value number i, as a number: addresses are big-endian.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Values {
    /// `start + step · (i mod count)`; the step may go down.
    Increment { start: u128, step: i64, count: u64 },
    /// Entry i mod length.
    List(Vec<u128>),
    /// Any of `first..=last`, evenly, by the seed.
    Random { first: u128, last: u128 },
}

impl Values {
    /// All of `first..=last` in turn.
    pub const fn range(first: u128, last: u128) -> Option<Self> {
        if last < first || last - first >= u64::MAX as u128 {
            return None;
        }
        Some(Self::Increment { start: first, step: 1, count: (last - first) as u64 + 1 })
    }
}

macro_rules! fields {
    ($($name:ident, $text:literal, $header:literal, $bits:literal;)*) => {
        /// A field that can change from frame to frame.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Field { $($name,)* }

        impl Field {
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// As users write it.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// The header that has it.
            pub const fn header(self) -> &'static str {
                match self { $(Self::$name => $header,)* }
            }

            pub const fn bits(self) -> u32 {
                match self { $(Self::$name => $bits,)* }
            }
        }
    };
}

fields! {
    MacDestination, "dst-mac", "Ethernet", 48;
    MacSource, "src-mac", "Ethernet", 48;
    VlanIdentifier, "vlan", "VLAN", 12;
    VlanPriority, "pcp", "VLAN", 3;
    InnerVlanIdentifier, "inner-vlan", "second VLAN", 12;
    InnerVlanPriority, "inner-pcp", "second VLAN", 3;
    ArpSender, "arp-sender", "ARP", 32;
    ArpTarget, "arp-target", "ARP", 32;
    ArpSenderMac, "arp-sender-mac", "ARP", 48;
    Ipv4Source, "src", "IPv4", 32;
    Ipv4Destination, "dst", "IPv4", 32;
    Dscp, "dscp", "IP", 6;
    Ecn, "ecn", "IP", 2;
    Identification, "id", "IPv4", 16;
    Ttl, "ttl", "IP", 8;
    Ipv6Source, "src6", "IPv6", 128;
    Ipv6Destination, "dst6", "IPv6", 128;
    FlowLabel, "flow-label", "IPv6", 20;
    PortSource, "sport", "UDP or TCP", 16;
    PortDestination, "dport", "UDP or TCP", 16;
    TcpSequence, "seq", "TCP", 32;
    TcpAcknowledgment, "ack", "TCP", 32;
    TcpFlags, "flags", "TCP", 8;
    TcpWindow, "window", "TCP", 16;
    EchoIdentifier, "echo-id", "ICMP", 16;
    EchoSequence, "echo-seq", "ICMP", 16;
}

impl Field {
    /// The field of the other end; most are nobody's.
    const fn reversed(self) -> Self {
        match self {
            Self::MacDestination => Self::MacSource,
            Self::MacSource => Self::MacDestination,
            Self::ArpSender => Self::ArpTarget,
            Self::ArpTarget => Self::ArpSender,
            Self::Ipv4Source => Self::Ipv4Destination,
            Self::Ipv4Destination => Self::Ipv4Source,
            Self::Ipv6Source => Self::Ipv6Destination,
            Self::Ipv6Destination => Self::Ipv6Source,
            Self::PortSource => Self::PortDestination,
            Self::PortDestination => Self::PortSource,
            other => other,
        }
    }

    /// Whether two frames that differ in it are of two flows.
    pub const fn is_of_tuple(self) -> bool {
        matches!(
            self,
            Self::Ipv4Source
                | Self::Ipv4Destination
                | Self::Ipv6Source
                | Self::Ipv6Destination
                | Self::PortSource
                | Self::PortDestination
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn what_comes_back_has_both_ends_exchanged() {
        let (near, far) = (Mac([2, 0, 0, 0, 0, 1]), Mac([2, 0, 0, 0, 0, 2]));
        let (one, two) = (Ipv4Addr::new(198, 18, 0, 1), Ipv4Addr::new(198, 18, 0, 2));
        let udp = |source, destination| Layer::Udp { source, destination, checksum: true };
        let varies = |field| vec![Vary { field, values: Values::List(vec![7, 8]), by: By::Flow }];
        let there = StreamSpec {
            layers: vec![Layer::ethernet(near, far), Layer::ipv4(one, two), udp(1_024, 9)],
            vary: varies(Field::PortSource),
            ..StreamSpec::default()
        };
        let back = StreamSpec {
            layers: vec![Layer::ethernet(far, near), Layer::ipv4(two, one), udp(9, 1_024)],
            vary: varies(Field::PortDestination),
            ..StreamSpec::default()
        };
        assert_eq!((there.reversed(), back.reversed()), (back, there));
        assert!(Field::ALL.iter().all(|field| field.reversed().reversed() == *field));
    }
}
