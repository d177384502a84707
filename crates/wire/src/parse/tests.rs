//! Frames as bytes, and what is read in them.

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
fn the_short_way_is_taken_for_plain_datagrams_alone() {
    // In a frame of 200 bytes, or as long as told, what is not as in a plain datagram: places and bytes.
    let base = [(16, 0), (17, 30), (38, 0), (39, 10)];
    for (length, changes) in [
        (200, &[][..]),
        (200, &[(14, 0x46)]),
        (200, &[(14, 0x55)]),
        (200, &[(14, 0x44)]),
        (200, &[(23, TCP)]),
        (200, &[(20, 0x3f), (21, 0xff)]),
        (200, &[(17, 27), (39, 7)]),
        (200, &[(17, 160), (39, 8)]),
        (46, &[(17, 33), (39, 13)]),
        (46, &[(17, 100), (39, 80)]),
        // The bytes before those that count would be right.
        (200, &[(11, 0), (13, 6), (15, 28), (17, 99), (37, 8), (39, 99)]),
    ] {
        let mut bytes = udp();
        bytes.resize(length, 0);
        for (at, byte) in base.iter().chain(changes) {
            bytes[*at] = *byte;
        }
        assert_eq!(summary(&bytes), frame(&bytes, 0), "{changes:?}");
        assert_eq!(plain(&bytes).is_some(), changes.is_empty(), "{changes:?}");
    }
}

#[test]
fn tags_are_followed_outer_first() {
    let one = with(&udp(), 12, &[0x81, 0, 0xe0, 100]);
    let two = with(&one, 12, &[0x88, 0xa8, 0, 200]);
    let three = with(&two, 12, &[0x88, 0xa8, 0, 201]);
    let read =
        |frame: &[u8]| summary(frame).map(|tuple| (tuple.vlan, tuple.inner_vlan, tuple.ethertype)).unwrap();
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
    // The first fragment, with the three bits below the offset set; 24 bytes of authentication; UDP.
    let mut chain = Vec::from([51, 0, 0, 7, 0, 0, 0, 0]);
    chain.extend([17, 4]);
    chain.extend([0; 22]);
    chain.extend(ports);
    let tuple = summary(&six(44, &chain)).unwrap();
    assert_eq!((tuple.protocol, tuple.destination_port, tuple.transport), (17, 54, 54 + 8 + 24));
    assert!(tuple.has_ports() && summary(&six(44, &chain[..31])).is_some_and(|cut| cut.protocol == 51));
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
    for wrong in [0x44, 0x55, 0x65] {
        let mut frame = udp();
        frame[14] = wrong;
        assert_eq!(summary(&frame), None);
    }
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
    assert!(tuple.is_ip());
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
    assert_eq!((tuple.is_ip(), tuple.transport, tuple.payload_range()), (false, 42, 42..42));
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
