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
mod tests;
