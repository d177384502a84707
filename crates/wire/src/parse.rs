//! What flows and filters ask of a frame, read in one pass of a few nanoseconds.
//!
//! ```text
//! ┌──────────┬────────┬──────────────────┬─────────────────┬───────────┬─────────┐
//! │ Ethernet │ tags…  │ IPv4 / IPv6 (+…) │ UDP, TCP, ICMP… │  payload  │ padding │
//! └──────────┴────────┴──────────────────┴─────────────────┴───────────┴─────────┘
//!                     ▲ network          ▲ transport       ▲ payload   ▲ end
//! ```
//!
//! It trusts nothing: no length in the frame leads outside of it. What is cut off (by a snap length) is simply
//! not there.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

pub const ETHERTYPE_IPV4: u16 = 0x0800;
pub const ETHERTYPE_ARP: u16 = 0x0806;
pub const ETHERTYPE_VLAN: u16 = 0x8100;
pub const ETHERTYPE_IPV6: u16 = 0x86dd;
pub const ETHERTYPE_QINQ: u16 = 0x88a8;

pub const ICMP: u8 = 1;
pub const TCP: u8 = 6;
pub const UDP: u8 = 17;
pub const ICMPV6: u8 = 58;

/// Tags that are followed; a third is left as the ethertype.
const TAGS: usize = 2;
/// IPv6 extension headers that are followed.
const EXTENSIONS: usize = 8;

/// Who speaks to whom in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tuple {
    /// The one behind all tags; below 0x600 it is a length (802.3).
    pub ethertype: u16,
    /// Identifier of the outer tag.
    pub vlan: Option<u16>,
    /// Identifier of the inner tag, where there are two.
    pub inner_vlan: Option<u16>,
    /// 0.0.0.0 where the frame is not IP. ARP: the sender's and the target's protocol address.
    pub source: IpAddr,
    pub destination: IpAddr,
    /// IPv4's protocol, or IPv6's last next header; 0 where the frame is not IP.
    pub protocol: u8,
    /// Ports of UDP, TCP and SCTP; type and code of ICMP(v6) as `type << 8 | code` in `destination_port`;
    /// otherwise 0.
    pub source_port: u16,
    pub destination_port: u16,
    /// Not the first fragment: it has no ports.
    pub is_later_fragment: bool,
    /// Offset of what is behind the ethertype.
    pub network: u16,
    /// Offset of what is behind the IP headers, if the frame is IP; otherwise `network`.
    pub transport: u16,
    /// Offset of the payload of UDP, TCP, ICMP; otherwise `transport`.
    pub payload: u16,
    /// End of the payload by the lengths in the headers, at most the frame's end.
    pub end: u16,
}

impl Tuple {
    pub const fn is_ip(&self) -> bool {
        matches!(self.ethertype, ETHERTYPE_IPV4 | ETHERTYPE_IPV6)
    }

    pub const fn has_ports(&self) -> bool {
        !self.is_later_fragment && self.is_ip() && matches!(self.protocol, UDP | TCP | SCTP)
    }

    /// The payload as a range of the frame's bytes.
    pub const fn payload_range(&self) -> core::ops::Range<usize> {
        self.payload as usize..self.end as usize
    }
}

pub const SCTP: u8 = 132;

const NOBODY: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

/// Reads the headers of a frame; `None` if it is shorter than an Ethernet header or its IP header is broken (a
/// wrong version, shorter than itself, cut off before the addresses).
#[inline]
pub fn summary(frame: &[u8]) -> Option<Tuple> {
    match plain(frame) {
        None => self::frame(frame, 0),
        plain => plain,
    }
}

/// The most common frame at a third of the cost: IPv4 without tags, options and fragments, and UDP, all there.
#[inline]
fn plain(frame: &[u8]) -> Option<Tuple> {
    let head: &[u8; 42] = frame.first_chunk()?;
    let half = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
    let (total, datagram) = (half(16), half(38));
    let is_plain = half(12) == ETHERTYPE_IPV4
        && head[14] == 0x45
        && head[23] == UDP
        && half(20) & 0x3fff == 0
        && datagram >= 8
        && u32::from(total) == u32::from(datagram) + 20
        && usize::from(total) + 14 <= frame.len().min(usize::from(u16::MAX));
    is_plain.then(|| Tuple {
        ethertype: ETHERTYPE_IPV4,
        vlan: None,
        inner_vlan: None,
        source: IpAddr::V4(Ipv4Addr::new(head[26], head[27], head[28], head[29])),
        destination: IpAddr::V4(Ipv4Addr::new(head[30], head[31], head[32], head[33])),
        protocol: UDP,
        source_port: half(34),
        destination_port: half(36),
        is_later_fragment: false,
        network: 14,
        transport: 34,
        payload: 42,
        end: 14 + total,
    })
}

/// The frame of Ethernet that begins at `base`.
pub(crate) fn frame(frame: &[u8], base: usize) -> Option<Tuple> {
    let mut at = base + 14;
    let mut ethertype = half(frame, base + 12)?;
    let (mut vlan, mut inner_vlan) = (None, None);
    for _ in 0..TAGS {
        if ethertype != ETHERTYPE_VLAN && ethertype != ETHERTYPE_QINQ {
            break;
        }
        let identifier = half(frame, at)? & 0x0fff;
        ethertype = half(frame, at + 2)?;
        if vlan.is_none() {
            vlan = Some(identifier)
        } else {
            inner_vlan = Some(identifier)
        }
        at += 4;
    }
    let tuple = packet(frame, at, ethertype)?;
    Some(Tuple { vlan, inner_vlan, ..tuple })
}

/// The packet of this ethertype that begins at `at`.
pub(crate) fn packet(frame: &[u8], at: usize, ethertype: u16) -> Option<Tuple> {
    let end = frame.len().min(usize::from(u16::MAX));
    let mut tuple = Tuple {
        ethertype,
        vlan: None,
        inner_vlan: None,
        source: NOBODY,
        destination: NOBODY,
        protocol: 0,
        source_port: 0,
        destination_port: 0,
        is_later_fragment: false,
        network: at as u16,
        transport: at as u16,
        payload: at as u16,
        end: end as u16,
    };
    match ethertype {
        ETHERTYPE_IPV4 => ipv4(frame, at, end, &mut tuple)?,
        ETHERTYPE_IPV6 => ipv6(frame, at, end, &mut tuple)?,
        ETHERTYPE_ARP => arp(frame, at, end, &mut tuple),
        _ => {}
    }
    Some(tuple)
}

#[inline]
fn ipv4(frame: &[u8], at: usize, end: usize, tuple: &mut Tuple) -> Option<()> {
    let header: &[u8; 20] = frame.get(at..end)?.first_chunk()?;
    let length = usize::from(header[0] & 0x0f) * 4;
    if header[0] >> 4 != 4 || length < 20 || at + length > end {
        return None;
    }
    let total = usize::from(u16::from_be_bytes([header[2], header[3]]));
    // A total length of 0 is what segmentation offload leaves in frames beyond 65 535 bytes.
    let stop = if total == 0 {
        end
    } else if total < length {
        return None;
    } else {
        end.min(at + total)
    };
    tuple.source = IpAddr::V4(Ipv4Addr::new(header[12], header[13], header[14], header[15]));
    tuple.destination = IpAddr::V4(Ipv4Addr::new(header[16], header[17], header[18], header[19]));
    tuple.is_later_fragment = u16::from_be_bytes([header[6], header[7]]) & 0x1fff != 0;
    transport(frame, at + length, stop, header[9], tuple);
    Some(())
}

#[inline]
fn ipv6(frame: &[u8], at: usize, end: usize, tuple: &mut Tuple) -> Option<()> {
    let header: &[u8; 40] = frame.get(at..end)?.first_chunk()?;
    if header[0] >> 4 != 6 {
        return None;
    }
    let length = usize::from(u16::from_be_bytes([header[4], header[5]]));
    let stop = if length == 0 { end } else { end.min(at + 40 + length) };
    tuple.source = IpAddr::V6(Ipv6Addr::from(*header[8..].first_chunk::<16>()?));
    tuple.destination = IpAddr::V6(Ipv6Addr::from(*header[24..].first_chunk::<16>()?));
    let (protocol, behind) = extensions(frame, at + 40, stop, header[6], tuple);
    transport(frame, behind, stop, protocol, tuple);
    Some(())
}

/// Follows hop-by-hop, routing, fragment, authentication and destination options (RFC 8200 §4) as far as the
/// bytes go.
#[inline]
fn extensions(frame: &[u8], mut at: usize, stop: usize, mut next: u8, tuple: &mut Tuple) -> (u8, usize) {
    for _ in 0..EXTENSIONS {
        if !matches!(next, 0 | 43 | 44 | 51 | 60) {
            break;
        }
        let Some(head) = frame.get(at..stop).and_then(<[u8]>::first_chunk::<8>) else { break };
        let length = match next {
            44 => {
                tuple.is_later_fragment |= u16::from_be_bytes([head[2], head[3]]) & 0xfff8 != 0;
                8
            }
            51 => (usize::from(head[1]) + 2) * 4,
            _ => (usize::from(head[1]) + 1) * 8,
        };
        if at + length > stop {
            break;
        }
        next = head[0];
        at += length;
        if tuple.is_later_fragment {
            break;
        }
    }
    (next, at)
}

#[inline]
fn transport(frame: &[u8], at: usize, stop: usize, protocol: u8, tuple: &mut Tuple) {
    tuple.protocol = protocol;
    (tuple.transport, tuple.payload, tuple.end) = (at as u16, at as u16, stop as u16);
    if tuple.is_later_fragment {
        return;
    }
    let bytes = frame.get(at..stop).unwrap_or(&[]);
    match protocol {
        UDP | TCP | SCTP => {
            let Some(ports) = bytes.first_chunk::<4>() else { return };
            tuple.source_port = u16::from_be_bytes([ports[0], ports[1]]);
            tuple.destination_port = u16::from_be_bytes([ports[2], ports[3]]);
            let length = match (protocol, bytes.get(12)) {
                (UDP, _) => 8,
                (SCTP, _) => 12,
                (_, Some(offset)) => usize::from(offset >> 4).max(5) * 4,
                (_, None) => bytes.len(),
            };
            tuple.payload = (at + length).min(stop) as u16;
            if protocol == UDP && bytes.len() >= 8 {
                let said = usize::from(u16::from_be_bytes([bytes[4], bytes[5]]));
                if said >= 8 {
                    tuple.end = stop.min(at + said) as u16;
                }
            }
        }
        ICMP | ICMPV6 => {
            let Some(kind) = bytes.first_chunk::<2>() else { return };
            tuple.destination_port = u16::from_be_bytes(*kind);
            tuple.payload = (at + 8).min(stop) as u16;
        }
        _ => {}
    }
}

fn arp(frame: &[u8], at: usize, end: usize, tuple: &mut Tuple) {
    let Some(body) = frame.get(at..end).and_then(<[u8]>::first_chunk::<28>) else { return };
    if body[..6] == [0, 1, 8, 0, 6, 4] {
        tuple.source = IpAddr::V4(Ipv4Addr::new(body[14], body[15], body[16], body[17]));
        tuple.destination = IpAddr::V4(Ipv4Addr::new(body[24], body[25], body[26], body[27]));
        tuple.payload = (at + 28) as u16;
        tuple.transport = tuple.payload;
        tuple.end = tuple.payload;
    }
}

#[inline]
fn half(frame: &[u8], at: usize) -> Option<u16> {
    frame.get(at..).and_then(<[u8]>::first_chunk::<2>).map(|bytes| u16::from_be_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    /// 198.18.0.1:1024 to 198.18.0.2:9, two bytes of payload and two of padding.
    fn udp() -> Vec<u8> {
        let mut frame = Vec::from([2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0]);
        frame.extend([0x45, 0, 0, 30, 0, 0, 0, 0, 64, 17, 0, 0, 198, 18, 0, 1, 198, 18, 0, 2]);
        frame.extend([4, 0, 0, 9, 0, 10, 0, 0, b'h', b'i', 0, 0]);
        frame
    }

    /// With bytes put in at one place.
    fn with(frame: &[u8], at: usize, bytes: &[u8]) -> Vec<u8> {
        [&frame[..at], bytes, &frame[at..]].concat()
    }

    #[test]
    fn a_datagram_is_read_with_all_its_places() {
        let tuple = summary(&udp()).unwrap();
        assert_eq!((tuple.source, tuple.source_port), (IpAddr::from([198, 18, 0, 1]), 1024));
        assert_eq!((tuple.destination, tuple.destination_port), (IpAddr::from([198, 18, 0, 2]), 9));
        assert_eq!((tuple.network, tuple.transport, tuple.payload_range()), (14, 34, 42..44));
        assert_eq!(frame(&udp(), 0), Some(tuple), "the short way and the long way agree");
    }

    #[test]
    fn tags_are_followed_outer_first() {
        let one = with(&udp(), 12, &[0x81, 0, 0xe0, 100]);
        let two = with(&one, 12, &[0x88, 0xa8, 0, 200]);
        let three = with(&two, 12, &[0x88, 0xa8, 0, 201]);
        let read = |frame: &[u8]| {
            summary(frame).map(|tuple| (tuple.vlan, tuple.inner_vlan, tuple.ethertype)).unwrap()
        };
        assert_eq!(read(&one), (Some(100), None, 0x0800));
        assert_eq!(read(&two), (Some(200), Some(100), 0x0800));
        assert_eq!(read(&three), (Some(201), Some(200), 0x8100), "no further");
        assert_eq!(summary(&two).unwrap().payload_range(), 50..52);
    }

    #[test]
    fn a_later_fragment_has_no_ports() {
        let mut frame = udp();
        frame[21] = 1;
        let tuple = summary(&frame).unwrap();
        assert!(tuple.is_later_fragment && !tuple.has_ports());
        assert_eq!((tuple.source_port, tuple.payload_range()), (0, 34..44));
        frame[20..22].copy_from_slice(&[0x20, 0]);
        assert_eq!(summary(&frame).unwrap().destination_port, 9, "the first one has");
    }

    #[test]
    fn extension_headers_of_ipv6_are_followed() {
        let mut frame = Vec::from([0; 12]);
        frame.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 24, 0, 64]);
        frame.extend([0xfd; 16]);
        frame.extend([0xfe; 16]);
        frame.extend([60, 0, 0, 0, 0, 0, 0, 0]); // hop by hop, then destination options
        frame.extend([17, 0, 0, 0, 0, 0, 0, 0]); // then UDP
        frame.extend([0, 53, 0, 54, 0, 8, 0, 0]);
        let tuple = summary(&frame).unwrap();
        assert_eq!((tuple.protocol, tuple.source_port, tuple.destination_port), (17, 53, 54));
        assert_eq!((tuple.transport, tuple.payload_range()), (70, 78..78));
    }

    /// A packet of IPv6 whose length says nothing, with bytes behind its header.
    fn six(next: u8, bytes: &[u8]) -> Vec<u8> {
        let mut frame = Vec::from([0; 12]);
        frame.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 0, next, 64]);
        frame.extend([0xfd; 32]);
        frame.extend(bytes);
        frame
    }

    #[test]
    fn fragments_and_authentication_of_ipv6_are_followed() {
        let ports = [0, 53, 0, 54, 0, 8, 0, 0];
        // The first fragment, with the three bits below the offset set; 16 bytes of authentication; UDP.
        let mut chain = Vec::from([51, 0, 0, 7, 0, 0, 0, 0]);
        chain.extend([17, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        chain.extend(ports);
        let tuple = summary(&six(44, &chain)).unwrap();
        assert_eq!((tuple.protocol, tuple.destination_port, tuple.transport), (17, 54, 54 + 24));
        assert!(tuple.has_ports() && summary(&six(44, &chain[..23])).is_some_and(|cut| cut.protocol == 51));
        // A later one: what is behind it is no header.
        chain[3] = 8;
        let tuple = summary(&six(44, &chain)).unwrap();
        assert_eq!((tuple.protocol, tuple.transport, tuple.is_later_fragment), (51, 54 + 8, true));
        // Eight headers, and nine.
        for (count, protocol) in [(8, 17), (9, 60)] {
            let mut chain = [60, 0, 0, 0, 0, 0, 0, 0].repeat(count);
            chain[(count - 1) * 8] = 17;
            assert_eq!(summary(&six(60, &chain)).unwrap().protocol, protocol, "{count}");
        }
    }

    #[test]
    fn a_packet_ends_where_its_length_says_or_with_the_frame() {
        let four = |told: u16| {
            let mut frame = udp();
            frame[23] = 47;
            frame[16..18].copy_from_slice(&told.to_be_bytes());
            summary(&frame).map(|tuple| tuple.end)
        };
        let told = [0, 19, 20, 28, 32, 33, 1_500].map(four);
        assert_eq!(told, [Some(46), None, Some(34), Some(42), Some(46), Some(46), Some(46)]);
        let six = |told: u8| {
            let mut frame = six(47, &[0; 12]);
            frame[19] = told;
            summary(&frame).unwrap().end
        };
        assert_eq!([0, 1, 12, 13].map(six), [66, 55, 66, 66]);
        // A header of 24 bytes must be there.
        let mut options = udp();
        (options[14], options[23]) = (0x46, 47);
        assert_eq!(summary(&options[..37]), None);
        assert_eq!(summary(&options[..38]).map(|tuple| tuple.transport), Some(38));
    }

    #[test]
    fn payloads_begin_behind_headers_of_any_length() {
        let range = |protocol: u8, bytes: &[u8]| {
            let mut frame = Vec::from(&udp()[..34]);
            frame[16..18].copy_from_slice(&(20 + bytes.len() as u16).to_be_bytes());
            frame[23] = protocol;
            frame.extend(bytes);
            summary(&frame).unwrap().payload_range()
        };
        let with = |at: usize, byte: u8| {
            let mut bytes = [0; 30];
            bytes[at] = byte;
            bytes
        };
        for (offset, expected) in [(0x40, 54..64), (0x60, 58..64), (0xf0, 64..64)] {
            assert_eq!(range(TCP, &with(12, offset)), expected);
        }
        assert_eq!(range(TCP, &[0; 12]), 46..46, "cut before it says how long it is");
        assert_eq!((range(SCTP, &[0; 30]), range(SCTP, &[0; 8])), (46..64, 42..42));
        assert_eq!((range(ICMP, &[0; 30]), range(ICMP, &[0; 5])), (42..64, 39..39));
        assert_eq!(range(47, &[0; 30]), 34..64);
        for (told, expected) in [(7, 42..64), (8, 42..42), (20, 42..54), (31, 42..64)] {
            assert_eq!(range(UDP, &with(5, told)), expected, "{told}");
        }
        assert_eq!((range(UDP, &[0; 7]), range(UDP, &[0; 3])), (41..41, 34..37));
    }

    #[test]
    fn what_is_cut_off_is_not_there() {
        let whole = udp();
        for length in 0..whole.len() {
            let tuple = summary(&whole[..length]);
            assert_eq!(tuple.is_some(), length >= 34, "{length}");
            assert_eq!(tuple.is_some_and(|tuple| tuple.destination_port == 9), length >= 38, "{length}");
        }
    }

    #[test]
    fn icmp_and_arp_have_what_filters_ask_for() {
        let mut frame = udp();
        frame[23] = ICMP;
        frame[34..36].copy_from_slice(&[8, 0]);
        let tuple = summary(&frame).unwrap();
        assert_eq!((tuple.protocol, tuple.destination_port, tuple.has_ports()), (ICMP, 0x0800, false));
        let mut frame = Vec::from([0; 42]);
        frame[12..14].copy_from_slice(&[8, 6]);
        frame[14..20].copy_from_slice(&[0, 1, 8, 0, 6, 4]);
        frame[28..32].copy_from_slice(&[198, 18, 0, 1]);
        frame[38..42].copy_from_slice(&[198, 18, 0, 2]);
        let tuple = summary(&frame).unwrap();
        assert_eq!(
            (tuple.source, tuple.destination),
            (IpAddr::from([198, 18, 0, 1]), IpAddr::from([198, 18, 0, 2]))
        );
    }

    proptest! {
        #[test]
        fn no_bytes_lead_out_of_the_frame(
            frame in prop::collection::vec(any::<u8>(), 0..200),
            kind in 0_usize..5,
        ) {
            let mut frame = frame;
            if frame.len() > 34 {
                let start: &[&[u8]] = &[
                    &[8, 0, 0x45],
                    &[8, 0, 0x46],
                    &[0x86, 0xdd, 0x60],
                    &[0x81, 0, 0, 1, 8, 0, 0x45],
                    &[8, 6],
                ];
                frame[12..12 + start[kind].len()].copy_from_slice(start[kind]);
            }
            let short = summary(&frame);
            prop_assert_eq!(short, self::frame(&frame, 0));
            if let Some(tuple) = short {
                prop_assert!(tuple.network <= tuple.transport
                    && tuple.transport <= tuple.payload.max(tuple.end));
                prop_assert!(usize::from(tuple.end) <= frame.len());
                prop_assert!(usize::from(tuple.payload) <= frame.len());
            }
        }
    }
}
