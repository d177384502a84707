//! What rules look at, read from a frame's headers.
//!
//! ```text
//! Ethernet ─ up to 2 VLAN tags ─┬─ IPv4 ──────────────────────────────┬─ TCP, UDP, SCTP, DCCP, UDP-Lite: ports
//!                               ├─ IPv6 ─ up to 4 extension headers ──┘  (not in fragments but the first)
//!                               └─ anything else: Other
//! ```
//!
//! The XDP program reads the same bytes in the same order; `xdp/program` follows this file line by line.

use crate::rule::Protocol;

/// What a rule can look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fields {
    V4(V4),
    V6(V6),
    /// Neither IPv4 nor IPv6.
    Other,
    /// Cut off, or contradicting itself.
    Malformed,
}

/// An IPv4 packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct V4 {
    pub source: u32,
    pub destination: u32,
    pub tail: Tail,
}

/// An IPv6 packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct V6 {
    pub source: u128,
    pub destination: u128,
    pub tail: Tail,
}

/// Protocol and ports in one word: `protocol << 32 | destination port << 16 | source port`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tail {
    pub word: u64,
    /// Whether there are ports at all; if not, theirs are 0 in the word.
    pub has_ports: bool,
}

impl Tail {
    pub const fn new(protocol: u8, ports: Option<(u16, u16)>) -> Self {
        let word = (protocol as u64) << 32;
        match ports {
            None => Self { word, has_ports: false },
            Some((source, destination)) => {
                Self { word: word | (destination as u64) << 16 | source as u64, has_ports: true }
            }
        }
    }

    pub const fn protocol(self) -> u8 {
        (self.word >> 32) as u8
    }

    pub const fn destination_port(self) -> u16 {
        (self.word >> 16) as u16
    }

    pub const fn source_port(self) -> u16 {
        self.word as u16
    }
}

pub(crate) const ETHERNET: usize = 14;
pub(crate) const MOST_TAGS: usize = 2;
pub(crate) const MOST_EXTENSIONS: usize = 4;

impl Fields {
    /// Reads a frame from its Ethernet header on.
    #[inline]
    pub fn of(frame: &[u8]) -> Self {
        let Some(mut kind) = be16(frame, 12) else { return Self::Malformed };
        let mut at = ETHERNET;
        for _ in 0..MOST_TAGS {
            if !matches!(kind, 0x8100 | 0x88a8) {
                break;
            }
            let Some(inner) = be16(frame, at + 2) else { return Self::Malformed };
            kind = inner;
            at += 4;
        }
        match kind {
            0x0800 => ipv4(frame, at).map_or(Self::Malformed, Self::V4),
            0x86dd => ipv6(frame, at).map_or(Self::Malformed, Self::V6),
            _ => Self::Other,
        }
    }
}

#[inline]
fn ipv4(frame: &[u8], at: usize) -> Option<V4> {
    let head: &[u8; 20] = frame.get(at..at + 20)?.try_into().ok()?;
    let length = usize::from(head[0] & 15) * 4;
    if head[0] >> 4 != 4 || length < 20 || frame.len() < at + length {
        return None;
    }
    let is_first = u16::from_be_bytes([head[6], head[7]]) & 0x1fff == 0;
    Some(V4 {
        source: u32::from_be_bytes([head[12], head[13], head[14], head[15]]),
        destination: u32::from_be_bytes([head[16], head[17], head[18], head[19]]),
        tail: tail(frame, at + length, head[9], is_first),
    })
}

#[inline]
fn ipv6(frame: &[u8], at: usize) -> Option<V6> {
    let head: &[u8; 40] = frame.get(at..at + 40)?.try_into().ok()?;
    if head[0] >> 4 != 6 {
        return None;
    }
    let address = |from: usize| {
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&head[from..from + 16]);
        u128::from_be_bytes(bytes)
    };
    let (protocol, at, is_first) = extensions(frame, at + 40, head[6])?;
    Some(V6 { source: address(8), destination: address(24), tail: tail(frame, at, protocol, is_first) })
}

/// Goes past extension headers: the protocol behind them, where it begins, and whether it is there at all (RFC 8200 §4).
#[inline]
fn extensions(frame: &[u8], mut at: usize, mut next: u8) -> Option<(u8, usize, bool)> {
    for _ in 0..MOST_EXTENSIONS {
        let length = |by: &[u8]| match next {
            // Hop-by-hop, routing, destination options: units of 8, the first not counted.
            0 | 43 | 60 => Some((usize::from(by[1]) + 1) * 8),
            44 => Some(8),
            // Authentication: units of 4, the first two not counted.
            51 => Some((usize::from(by[1]) + 2) * 4),
            _ => None,
        };
        if !matches!(next, 0 | 43 | 44 | 51 | 60) {
            break;
        }
        let head = frame.get(at..at + 8)?;
        let Some(skip) = length(head) else { break };
        let is_later = next == 44 && u16::from_be_bytes([head[2], head[3]]) & 0xfff8 != 0;
        next = head[0];
        at += skip;
        if is_later {
            return Some((next, at, false));
        }
    }
    Some((next, at, true))
}

#[inline]
fn tail(frame: &[u8], at: usize, protocol: u8, is_first: bool) -> Tail {
    let ports = match (is_first && Protocol(protocol).has_ports(), frame.get(at..at + 4)) {
        (true, Some(head)) => {
            Some((u16::from_be_bytes([head[0], head[1]]), u16::from_be_bytes([head[2], head[3]])))
        }
        _ => None,
    };
    Tail::new(protocol, ports)
}

#[inline]
fn be16(frame: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(frame.get(at..at + 2)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 198.18.0.1:4660 > 198.18.0.2:22136 UDP, 60 bytes.
    fn udp() -> Vec<u8> {
        let mut frame = vec![0; 60];
        frame[12..14].copy_from_slice(&[8, 0]);
        frame[14] = 0x45;
        frame[23] = 17;
        frame[26..30].copy_from_slice(&[198, 18, 0, 1]);
        frame[30..34].copy_from_slice(&[198, 18, 0, 2]);
        frame[34..38].copy_from_slice(&[0x12, 0x34, 0x56, 0x78]);
        frame
    }

    fn expected(ports: Option<(u16, u16)>) -> Fields {
        Fields::V4(V4 { source: 0xc612_0001, destination: 0xc612_0002, tail: Tail::new(17, ports) })
    }

    #[test]
    fn addresses_protocol_and_ports_are_where_the_rfcs_put_them() {
        assert_eq!(Fields::of(&udp()), expected(Some((0x1234, 0x5678))));
        for tag in [[0x81, 0, 0, 5], [0x88, 0xa8, 0, 5]] {
            let mut tagged = udp();
            tagged.splice(12..12, tag);
            assert_eq!(Fields::of(&tagged), expected(Some((0x1234, 0x5678))));
            tagged.splice(12..12, tag);
            assert_eq!(Fields::of(&tagged), expected(Some((0x1234, 0x5678))));
            tagged.splice(12..12, tag);
            assert_eq!(Fields::of(&tagged), Fields::Other, "a third tag is not looked behind");
        }
    }

    #[test]
    fn later_fragments_and_short_ones_have_no_ports() {
        let mut later = udp();
        later[21] = 1;
        assert_eq!(Fields::of(&later), expected(None));
        let mut first = udp();
        first[20] = 0x20;
        assert_eq!(Fields::of(&first), expected(Some((0x1234, 0x5678))));
        assert_eq!(Fields::of(&udp()[..37]), expected(None));
    }

    #[test]
    fn options_move_the_ports() {
        let mut frame = udp();
        frame[14] = 0x46;
        frame.splice(34..34, [1, 1, 1, 1]);
        assert_eq!(Fields::of(&frame), expected(Some((0x1234, 0x5678))));
    }

    #[test]
    fn what_is_cut_or_contradicts_itself_is_malformed() {
        for length in [0, 13] {
            assert_eq!(Fields::of(&udp()[..length]), Fields::Malformed);
        }
        assert_eq!(Fields::of(&udp()[..33]), Fields::Malformed);
        for first in [0x44, 0x55, 0x4f] {
            let mut frame = udp();
            frame[14] = first;
            assert_eq!(Fields::of(&frame), Fields::Malformed);
        }
        let mut arp = udp();
        arp[13] = 6;
        assert_eq!(Fields::of(&arp), Fields::Other);
    }

    fn ipv6(next: u8, behind: &[u8]) -> Vec<u8> {
        let mut frame = vec![0; 54];
        frame[12..14].copy_from_slice(&[0x86, 0xdd]);
        frame[14] = 0x60;
        frame[20] = next;
        frame[22] = 0xfd;
        frame[37] = 1;
        frame[38] = 0xfd;
        frame[53] = 2;
        frame.extend_from_slice(behind);
        frame
    }

    fn tail_of(frame: &[u8]) -> Tail {
        match Fields::of(frame) {
            Fields::V6(packet) => {
                assert_eq!(packet.source, 0xfd << 120 | 1);
                assert_eq!(packet.destination, 0xfd << 120 | 2);
                packet.tail
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn extension_headers_are_gone_past() {
        let ports = [0, 7, 0, 9];
        assert_eq!(tail_of(&ipv6(6, &ports)), Tail::new(6, Some((7, 9))));
        // Hop-by-hop of 16 bytes, then a first fragment, then authentication of 16 bytes, then UDP.
        let mut chain = vec![44, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        chain.extend([51, 0, 0, 1, 0, 0, 0, 0]);
        chain.extend([17, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        chain.extend(ports);
        assert_eq!(tail_of(&ipv6(0, &chain)), Tail::new(17, Some((7, 9))));
        // Offset 8 bytes: not the first.
        let later = [17, 0, 0, 8, 0, 0, 0, 0, 0, 7, 0, 9];
        assert_eq!(tail_of(&ipv6(44, &later)), Tail::new(17, None));
        assert_eq!(Fields::of(&ipv6(44, &later[..7])), Fields::Malformed);
        // The fifth extension header is taken for the protocol.
        let five: Vec<u8> = [60, 0, 0, 0, 0, 0, 0, 0].repeat(5);
        assert_eq!(tail_of(&ipv6(60, &five)), Tail::new(60, None));
    }
}
