//! What rules look at, read from a frame's headers.
//!
//! ```text
//! Ethernet ─ up to 2 VLAN tags ─┬─ IPv4 ──────────────────────────────┬─ TCP, UDP, SCTP, DCCP, UDP-Lite: ports
//!                               ├─ IPv6 ─ up to 8 extension headers ──┘  (not in fragments but the first)
//!                               ├─ a third tag, MPLS, PPPoE…: Hidden
//!                               └─ anything else: Other
//! ```
//!
//! Nothing gets past a rule by what is put in front of it: a chain of more extension headers, and ports that
//! are missing where they must be, are malformed; what may hold an IP packet that is not looked for is hidden.
//! What lies behind the length that an IP header tells is padding, and no header is read there.
//!
//! The XDP program reads the same bytes in the same order; `xdp/program` follows this file line by line.

use crate::rule::Protocol;

/// What a rule can look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fields {
    V4(V4),
    V6(V6),
    /// Something around it that is not looked into, and in which an IP packet may be: decided like one that no
    /// rule matches.
    Hidden,
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
/// RFC 8200 §4.1 has seven at most in one packet.
pub(crate) const MOST_EXTENSIONS: usize = 8;
/// Tags that are looked past.
pub(crate) const TAGS: [u16; 2] = [0x8100, 0x88a8];
/// Behind these there may be an IP packet: tags (another one of the two above, or of a switch that makes its
/// own), MPLS, PPPoE, PPP, MACsec, backbone bridging, NSH, TRILL.
pub(crate) const CARRIERS: [u16; 13] =
    [0x8100, 0x88a8, 0x9100, 0x9200, 0x9300, 0x8847, 0x8848, 0x8864, 0x880b, 0x88e5, 0x88e7, 0x894f, 0x22f3];
/// Below this it is no kind but a length (IEEE 802.3), and these two bytes behind it begin SNAP, which may
/// carry IP (RFC 1042).
pub(crate) const LEAST_KIND: u16 = 0x0600;
pub(crate) const SNAP: u16 = 0xaaaa;
/// IPv6's extension headers whose second byte is their length in units of 8, the first not counted: hop-by-hop,
/// routing, destination options, mobility, host identity, shim6.
pub(crate) const EXTENSIONS: [u8; 6] = [0, 43, 60, 135, 139, 140];
pub(crate) const FRAGMENT: u8 = 44;
/// Its length is in units of 4, the first two not counted.
pub(crate) const AUTHENTICATION: u8 = 51;

impl Fields {
    /// Reads a frame from its Ethernet header on.
    #[inline]
    pub fn of(frame: &[u8]) -> Self {
        let Some(mut kind) = be16(frame, 12) else { return Self::Malformed };
        let mut at = ETHERNET;
        for _ in 0..MOST_TAGS {
            if !TAGS.contains(&kind) {
                break;
            }
            let Some(inner) = be16(frame, at + 2) else { return Self::Malformed };
            kind = inner;
            at += 4;
        }
        match kind {
            0x0800 => ipv4(frame, at).map_or(Self::Malformed, Self::V4),
            0x86dd => ipv6(frame, at).map_or(Self::Malformed, Self::V6),
            kind if CARRIERS.contains(&kind) => Self::Hidden,
            kind if kind < LEAST_KIND && be16(frame, at) == Some(SNAP) => Self::Hidden,
            _ => Self::Other,
        }
    }
}

#[inline]
fn ipv4(frame: &[u8], at: usize) -> Option<V4> {
    let head: &[u8; 20] = frame.get(at..at + 20)?.try_into().ok()?;
    let length = usize::from(head[0] & 15) * 4;
    if head[0] >> 4 != 4 || length < 20 {
        return None;
    }
    let packet = packet(frame, at, u16::from_be_bytes([head[2], head[3]]).into())?;
    packet.get(length..)?;
    let is_first = u16::from_be_bytes([head[6], head[7]]) & 0x1fff == 0;
    Some(V4 {
        source: u32::from_be_bytes([head[12], head[13], head[14], head[15]]),
        destination: u32::from_be_bytes([head[16], head[17], head[18], head[19]]),
        tail: tail(packet, length, head[9], is_first)?,
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
    let payload = usize::from(u16::from_be_bytes([head[4], head[5]]));
    let packet = packet(frame, at, if payload == 0 { 0 } else { payload + 40 })?;
    let (protocol, at, is_first) = extensions(packet, head[6])?;
    Some(V6 { source: address(8), destination: address(24), tail: tail(packet, at, protocol, is_first)? })
}

/// The packet at `at` as long as it says that it is; what follows is padding. 0 says nothing: large packets
/// that were not segmented yet have it, and jumbograms. Of a frame that is shorter, as a program sees it whose
/// frame lies in several pieces, there is what there is.
#[inline]
fn packet(frame: &[u8], at: usize, told: usize) -> Option<&[u8]> {
    let rest = frame.get(at..)?;
    Some(if told == 0 { rest } else { &rest[..told.min(rest.len())] })
}

/// Goes past extension headers: the protocol behind them, where it begins, and whether it is there at all (RFC
/// 8200 §4). `None` if they are cut off, or more than [`MOST_EXTENSIONS`].
#[inline]
fn extensions(packet: &[u8], mut next: u8) -> Option<(u8, usize, bool)> {
    let mut at = 40;
    for count in 0.. {
        let is_later = |head: &[u8]| u16::from_be_bytes([head[2], head[3]]) & 0xfff8 != 0;
        let is_extension = EXTENSIONS.contains(&next) || matches!(next, FRAGMENT | AUTHENTICATION);
        if !is_extension {
            break;
        }
        if count == MOST_EXTENSIONS {
            return None;
        }
        let head = packet.get(at..at + 8)?;
        let units = usize::from(head[1]);
        at += match next {
            FRAGMENT if is_later(head) => return Some((head[0], at + 8, false)),
            FRAGMENT => 8,
            AUTHENTICATION => (units + 2) * 4,
            _ => (units + 1) * 8,
        };
        next = head[0];
    }
    Some((next, at, true))
}

/// Protocol and ports. `None` if the ports are cut off: no host takes such a packet, and rules that name ports
/// could not judge it.
#[inline]
fn tail(packet: &[u8], at: usize, protocol: u8, is_first: bool) -> Option<Tail> {
    if !is_first || !Protocol(protocol).has_ports() {
        return Some(Tail::new(protocol, None));
    }
    let head = packet.get(at..at + 4)?;
    let ports = (u16::from_be_bytes([head[0], head[1]]), u16::from_be_bytes([head[2], head[3]]));
    Some(Tail::new(protocol, Some(ports)))
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
        }
    }

    #[test]
    fn what_may_carry_an_ip_packet_is_not_taken_for_a_frame_without_one() {
        let with = |tags: &[u16]| {
            let mut frame = udp();
            for tag in tags {
                frame.splice(12..12, [(tag >> 8) as u8, *tag as u8, 0, 5]);
            }
            Fields::of(&frame)
        };
        assert_eq!(with(&[0x8100; 3]), Fields::Hidden, "a third tag is not looked behind");
        assert_eq!(with(&[0x88a8, 0x8100, 0x8100]), Fields::Hidden);
        for carrier in [0x9100, 0x9200, 0x8847, 0x8848, 0x8864, 0x88e5, 0x88e7] {
            assert_eq!(with(&[carrier]), Fields::Hidden, "{carrier:#x}");
            assert_eq!(with(&[carrier, 0x8100]), Fields::Hidden, "{carrier:#x} behind a tag");
        }
        // SNAP in a frame that has its length for a kind; and a spanning tree's, which begins otherwise.
        let (snap, tree) = ([0, 46, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0], [0, 38, 0x42, 0x42, 3, 0, 0, 0, 0, 0]);
        for (kind, expected) in [(snap, Fields::Hidden), (tree, Fields::Other)] {
            let mut frame = vec![0; 60];
            frame[12..22].copy_from_slice(&kind);
            assert_eq!(Fields::of(&frame), expected);
        }
        for kind in [0x0806_u16, 0x88cc, 0x888e, 0x8863] {
            let mut frame = vec![0; 60];
            frame[12..14].copy_from_slice(&kind.to_be_bytes());
            assert_eq!(Fields::of(&frame), Fields::Other, "{kind:#x}");
        }
    }

    #[test]
    fn later_fragments_have_no_ports() {
        // Every bit of the 13 of the offset makes it a later one; the three flags before them do not.
        for bit in 0..16 {
            let mut frame = udp();
            frame[20..22].copy_from_slice(&(1_u16 << bit).to_be_bytes());
            let ports = (bit >= 13).then_some((0x1234, 0x5678));
            assert_eq!(Fields::of(&frame), expected(ports), "bit {bit}");
        }
    }

    #[test]
    fn ports_that_are_missing_where_they_must_be_are_malformed() {
        assert_eq!(Fields::of(&udp()[..38]), expected(Some((0x1234, 0x5678))));
        assert_eq!(Fields::of(&udp()[..37]), Fields::Malformed);
        // A later fragment may be as short as it likes, and a protocol without ports, too.
        let mut later = udp();
        later[21] = 1;
        assert_eq!(Fields::of(&later[..34]), expected(None));
        let mut icmp = udp();
        icmp[23] = 1;
        assert!(matches!(Fields::of(&icmp[..34]), Fields::V4(_)));
    }

    #[test]
    fn padding_behind_the_packet_is_not_read() {
        let of_length = |length: u16| {
            let mut frame = udp();
            frame[16..18].copy_from_slice(&length.to_be_bytes());
            Fields::of(&frame)
        };
        // 24 bytes are header and ports; 0 is the length of what was not segmented yet; more than there is
        // tells nothing.
        for length in [24, 46, 0, 1_500] {
            assert_eq!(of_length(length), expected(Some((0x1234, 0x5678))), "{length}");
        }
        for length in [19, 20, 23] {
            assert_eq!(of_length(length), Fields::Malformed, "{length}");
        }
        let six = |payload: u8| {
            let mut frame = ipv6(60, &[17, 0, 0, 0, 0, 0, 0, 0, 0, 7, 0, 9]);
            frame[19] = payload;
            Fields::of(&frame)
        };
        assert!(matches!(six(12), Fields::V6(packet) if packet.tail == Tail::new(17, Some((7, 9)))));
        assert_eq!((six(11), six(7)), (Fields::Malformed, Fields::Malformed));
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
    }

    #[test]
    fn no_chain_of_extension_headers_hides_what_is_behind_it() {
        let chain = |kind: u8, count: usize| {
            let mut chain: Vec<u8> = [kind, 0, 0, 0, 0, 0, 0, 0].repeat(count);
            chain[(count - 1) * 8] = 17;
            chain.extend([0, 7, 0, 53]);
            ipv6(kind, &chain)
        };
        for kind in EXTENSIONS {
            for count in [1, 5, MOST_EXTENSIONS] {
                assert_eq!(tail_of(&chain(kind, count)), Tail::new(17, Some((7, 53))), "{count} of {kind}");
            }
            assert_eq!(Fields::of(&chain(kind, MOST_EXTENSIONS + 1)), Fields::Malformed, "{kind}");
        }
        // A later fragment is the end of the chain, whatever it says comes next.
        let later = [60, 0, 0, 8, 0, 0, 0, 0];
        assert_eq!(tail_of(&ipv6(FRAGMENT, &later)), Tail::new(60, None));
        // Three bits below the offset are none of it.
        let first = [17, 0, 0, 7, 0, 0, 0, 0, 0, 7, 0, 9];
        assert_eq!(tail_of(&ipv6(FRAGMENT, &first)), Tail::new(17, Some((7, 9))));
    }
}
