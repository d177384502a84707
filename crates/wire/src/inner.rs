//! Packets within packets: what is inside MPLS, PPPoE, GRE, VXLAN, GTP-U, and IP within IP.
//!
//! ```text
//! │ Ethernet │ IPv4 │ UDP │ VXLAN │ Ethernet │ IPv4 │ UDP │ payload
//! └───────── summary ─────┘       └────────── inner ──────┘
//! ```
//!
//! As [`crate::summary`], it trusts nothing. Offsets of what it finds count from the first byte of the frame.

use crate::parse::{self, ETHERTYPE_IPV4, ETHERTYPE_IPV6, Tuple};
use crate::{gre, gtpu, mpls, pppoe, vxlan};

/// Levels that are followed.
const LEVELS: usize = 4;
/// Labels of one stack that are followed.
const LABELS: usize = 16;
/// IP within IP (RFC 2003, RFC 2473).
const IPV4: u8 = 4;
const IPV6: u8 = 41;

/// What the packet of `outer` carries, if that is a packet.
pub fn inner(frame: &[u8], outer: &Tuple) -> Option<Tuple> {
    let (network, transport) = (usize::from(outer.network), usize::from(outer.transport));
    let payload = usize::from(outer.payload);
    match outer.ethertype {
        mpls::ETHERTYPE => labels(frame, network),
        pppoe::ETHERTYPE => {
            let header = pppoe::Repr::parse(frame.get(network..)?).ok()?;
            let ethertype = match header.protocol {
                pppoe::IPV4 => ETHERTYPE_IPV4,
                pppoe::IPV6 => ETHERTYPE_IPV6,
                _ => return None,
            };
            parse::packet(frame, network + pppoe::LENGTH, ethertype)
        }
        _ if !outer.is_ip() || outer.is_later_fragment => None,
        _ => match (outer.protocol, outer.destination_port) {
            (gre::PROTOCOL, _) => {
                let (header, length) = gre::Repr::parse(frame.get(transport..)?).ok()?;
                match header.protocol {
                    gre::ETHERNET => parse::frame(frame, transport + length),
                    ethertype => parse::packet(frame, transport + length, ethertype),
                }
            }
            (IPV4, _) => parse::packet(frame, transport, ETHERTYPE_IPV4),
            (IPV6, _) => parse::packet(frame, transport, ETHERTYPE_IPV6),
            (parse::UDP, vxlan::PORT) => {
                vxlan::Repr::parse(frame.get(payload..)?).ok()?;
                parse::frame(frame, payload + vxlan::LENGTH)
            }
            (parse::UDP, gtpu::PORT) => {
                let (_, length) = gtpu::Repr::parse(frame.get(payload..)?).ok()?;
                of_version(frame, payload + length)
            }
            _ => None,
        },
    }
}

/// What is inside of so many levels; `None` where there are fewer.
pub fn within(frame: &[u8], levels: usize) -> Option<Tuple> {
    (0..levels.min(LEVELS)).try_fold(parse::summary(frame)?, |outer, _| inner(frame, &outer))
}

/// The first that `found` says something of: what the packet of `outer` carries, what that carries, and so on.
pub fn first<T>(frame: &[u8], outer: &Tuple, found: impl Fn(&Tuple) -> Option<T>) -> Option<T> {
    let mut tuple = *outer;
    for _ in 0..LEVELS {
        tuple = inner(frame, &tuple)?;
        if let Some(found) = found(&tuple) {
            return Some(found);
        }
    }
    None
}

/// Behind the last label the version tells which IP it is.
fn labels(frame: &[u8], mut at: usize) -> Option<Tuple> {
    for _ in 0..LABELS {
        let label = mpls::Repr::parse(frame.get(at..)?).ok()?;
        at += mpls::LENGTH;
        if label.is_last {
            return of_version(frame, at);
        }
    }
    None
}

fn of_version(frame: &[u8], at: usize) -> Option<Tuple> {
    match frame.get(at)? >> 4 {
        4 => parse::packet(frame, at, ETHERTYPE_IPV4),
        6 => parse::packet(frame, at, ETHERTYPE_IPV6),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    /// 198.18.0.1:1024 to 198.18.0.2:9 with two bytes, without Ethernet.
    const PACKET: [u8; 30] = [
        0x45, 0, 0, 30, 0, 0, 0, 0, 64, 17, 0, 0, 198, 18, 0, 1, 198, 18, 0, 2, 4, 0, 0, 9, 0, 10, 0, 0, 7, 7,
    ];

    fn framed(ethertype: u16, parts: &[&[u8]]) -> Vec<u8> {
        let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
        frame.extend(ethertype.to_be_bytes());
        parts.iter().for_each(|part| frame.extend(*part));
        frame
    }

    fn ports(frame: &[u8]) -> Option<(u16, core::ops::Range<usize>)> {
        let tuple = within(frame, 1)?;
        Some((tuple.destination_port, tuple.payload_range()))
    }

    #[test]
    fn labels_and_sessions_are_passed_over() {
        let two = framed(mpls::ETHERTYPE, &[&[0, 6, 0x40, 64], &[0, 6, 0x41, 64], &PACKET]);
        assert_eq!(ports(&two), Some((9, 50..52)));
        let session = framed(pppoe::ETHERTYPE, &[&[0x11, 0, 0, 1, 0, 32, 0, 0x21], &PACKET]);
        assert_eq!(ports(&session), Some((9, 50..52)));
        assert_eq!(ports(&two[..20]), None, "cut within the labels");
    }

    #[test]
    fn ip_within_ip_is_found() {
        // As long as the frame.
        let outer =
            |protocol: u8| [&[0x45, 0, 0, 0][..], &PACKET[4..9], &[protocol], &PACKET[10..20]].concat();
        let four = framed(ETHERTYPE_IPV4, &[&outer(4), &PACKET]);
        assert_eq!(ports(&four), Some((9, 62..64)));
        let six = [&[0x60, 0, 0, 0, 0, 10, 17, 64][..], &[0xfd; 32], &PACKET[20..]].concat();
        assert_eq!(ports(&framed(ETHERTYPE_IPV4, &[&outer(41), &six])), Some((9, 82..84)));
        assert_eq!(ports(&framed(ETHERTYPE_IPV4, &[&outer(5), &PACKET])), None);
        let mut later = four.clone();
        later[21] = 1;
        assert_eq!(ports(&later), None, "what begins there is the middle of a packet");
        // A frame of Ethernet in GRE.
        let within = framed(ETHERTYPE_IPV4, &[&PACKET]);
        let frame = framed(ETHERTYPE_IPV4, &[&outer(gre::PROTOCOL), &[0, 0, 0x65, 0x58], &within]);
        assert_eq!(ports(&frame), Some((9, 80..82)));
        // All that the frame is within is passed over, as far as four levels.
        let deep = framed(ETHERTYPE_IPV4, &[&outer(4), &outer(4), &outer(4), &outer(4), &outer(4), &PACKET]);
        let summary = parse::summary(&deep).unwrap();
        let at =
            |network: u16| first(&deep, &summary, |tuple| (tuple.network == network).then_some(tuple.end));
        assert_eq!([14, 34, 94, 114].map(at), [None, Some(144), Some(144), None]);
    }

    #[test]
    fn a_plain_packet_has_nothing_inside() {
        assert_eq!(ports(&framed(ETHERTYPE_IPV4, &[&PACKET])), None);
    }

    proptest! {
        #[test]
        fn nothing_leads_outside_of_the_frame(
            bytes in prop::collection::vec(any::<u8>(), 0..120),
            kind in 0usize..5,
        ) {
            let frame = match kind {
                0 => framed(mpls::ETHERTYPE, &[&bytes]),
                1 => framed(pppoe::ETHERTYPE, &[&bytes]),
                2 => framed(ETHERTYPE_IPV4, &[&PACKET[..9], &[gre::PROTOCOL], &PACKET[10..20], &bytes]),
                3 => framed(ETHERTYPE_IPV4, &[&PACKET[..22], &[0x12, 0xb5, 0, 30, 0, 0], &bytes]),
                _ => framed(ETHERTYPE_IPV4, &[&PACKET[..22], &[0x08, 0x68, 0, 30, 0, 0], &bytes]),
            };
            for levels in 0..LEVELS {
                if let Some(tuple) = within(&frame, levels) {
                    prop_assert!(usize::from(tuple.end) <= frame.len());
                    prop_assert!(usize::from(tuple.payload) <= frame.len());
                }
            }
        }
    }
}
