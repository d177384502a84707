//! What frames are to a station, and what it answers.

use super::*;
use wire::checksum;

#[test]
fn segments_to_own_addresses_are_found_in_their_frames() {
    let mut bench = Bench::new("");
    let own = bench.own();
    let padded = [&tcp_v4(own)[..], &[0xee; 6]].concat();
    let v4 =
        Segment { source: FAR_V4.into(), destination: OWN_V4.into(), range: 34..59, is_unfinished: false };
    assert_eq!(bench.takes(&padded), Taken::Tcp(v4));
    let v6 =
        Segment { source: FAR_V6.into(), destination: OWN_V6.into(), range: 54..79, is_unfinished: false };
    assert_eq!(bench.takes(&tcp_v6(own)), Taken::Tcp(v6));
    assert_eq!(bench.station.counters().segments, 2);
    assert!(bench.sent().is_empty());
}

#[test]
fn frames_to_others_are_not_ours() {
    let mut bench = Bench::new("");
    let own = bench.own();
    let mut other_ip = tcp_v4(own);
    other_ip[33] = 13;
    let udp = link(own, FAR, ETHERTYPE_IPV4, &ip_v4(17, FAR_V4, &[0; 8]));
    for data in [
        &tcp_v4(FAR)[..],
        &tcp_v4(Mac::BROADCAST),
        &other_ip,
        &udp,
        &who_has(Ipv4Addr::new(198, 18, 0, 13)),
        &tagged(&tcp_v4(own), 7),
        &tcp_v4(own)[..13],
        &link(own, own, ETHERTYPE_IPV4, &tcp_v4(own)[14..]),
    ] {
        assert_eq!(bench.takes(data), Taken::NotOurs);
    }
    assert_eq!(bench.station.counters().others, 8);
    assert!(bench.sent().is_empty());
}

#[test]
fn segments_to_many_are_nobodys() {
    let mut bench = Bench::new("");
    let own = bench.own();
    // To an address of ours by the link, to one of many by IP; and the other way round.
    for to in [[198, 18, 0, 255], [255; 4], [224, 0, 0, 1]] {
        let pseudo = Pseudo::V4 { source: FAR_V4, destination: to.into() };
        let mut packet = ip_v4(tcp::PROTOCOL, FAR_V4, &segment(&pseudo, b"hello"));
        packet[16..20].copy_from_slice(&to);
        packet[10..12].fill(0);
        let check = checksum::finish(checksum::sum(&packet[..20]));
        packet[10..12].copy_from_slice(&check.to_be_bytes());
        for mac in [own, Mac::BROADCAST, Mac([1, 0, 0x5e, 0, 0, 1])] {
            assert_eq!(bench.takes(&link(mac, FAR, ETHERTYPE_IPV4, &packet)), Taken::NotOurs, "{to:?}");
        }
    }
    for mac in [Mac::BROADCAST, Mac([1, 0, 0x5e, 0, 0, 1])] {
        assert_eq!(bench.takes(&tcp_v4(mac)), Taken::NotOurs);
    }
    let group = "ff02::1".parse().unwrap();
    let pseudo = Pseudo::V6 { source: FAR_V6, destination: group };
    let packet = ip_v6(tcp::PROTOCOL, 64, (FAR_V6, group), &segment(&pseudo, b"hello"));
    for mac in [own, Mac([0x33, 0x33, 0, 0, 0, 1])] {
        assert_eq!(bench.takes(&link(mac, FAR, ETHERTYPE_IPV6, &packet)), Taken::NotOurs);
    }
    assert!(bench.station.counters().segments == 0 && bench.sent().is_empty());
}

#[test]
fn ip_options_of_any_kind_are_skipped() {
    let pseudo = Pseudo::V4 { source: FAR_V4, destination: OWN_V4 };
    let bytes = segment(&pseudo, b"hello");
    // Padding; a source route; a timestamp; a kind that nobody knows; with no length, and with too long a one.
    for options in [
        &[1, 1, 1, 0][..],
        &[131, 7, 4, 192, 0, 2, 9, 0],
        &[68, 12, 5, 0, 1, 2, 3, 4, 5, 6, 7, 8],
        &[0x5e, 4, 9, 9],
        &[0x5e, 0, 0, 0],
        &[0x5e, 200, 0, 0],
    ] {
        let mut bench = Bench::new("");
        let mut packet = [&ip_v4(tcp::PROTOCOL, FAR_V4, &[])[..], options, &bytes].concat();
        let (head, total) = (20 + options.len(), packet.len() as u16);
        packet[0] = 0x40 | (head / 4) as u8;
        packet[2..4].copy_from_slice(&total.to_be_bytes());
        packet[10..12].fill(0);
        let check = checksum::finish(checksum::sum(&packet[..head]));
        packet[10..12].copy_from_slice(&check.to_be_bytes());
        let taken = bench.takes(&link(bench.own(), FAR, ETHERTYPE_IPV4, &packet));
        let range = 14 + head..14 + usize::from(total);
        assert!(matches!(&taken, Taken::Tcp(segment) if segment.range == range), "{options:?}: {taken:?}");
        assert!(bench.sent().is_empty(), "no route is followed, and no stamp written");
    }
}

/// Extension headers: the number of each, and what follows the next one's number in it.
pub(super) type Chain<'a> = &'a [(u8, &'a [u8])];

/// A segment behind them.
pub(super) fn extended(own: Mac, chain: Chain<'_>) -> Vec<u8> {
    let mut body = Vec::new();
    for (at, (_, rest)) in chain.iter().enumerate() {
        body.push(chain.get(at + 1).map_or(tcp::PROTOCOL, |(number, _)| *number));
        body.extend(*rest);
    }
    body.extend(segment(&Pseudo::V6 { source: FAR_V6, destination: OWN_V6 }, b"hello"));
    let first = chain.first().map_or(tcp::PROTOCOL, |(number, _)| *number);
    link(own, FAR, ETHERTYPE_IPV6, &ip_v6(first, 64, (FAR_V6, OWN_V6), &body))
}

/// Padding, in the numbers of options and bytes that there may be.
pub(super) const PADDING: &[u8] = &[0, 1, 4, 0, 0, 0, 0];

#[test]
fn extension_headers_of_ipv6_are_skipped_as_by_a_kernel() {
    let (alert, unknown) = ([0, 5, 2, 0, 0, 1, 0], [0, 0x1e, 2, 9, 9, 0, 0]);
    let (arrived, long) = ([0, 4, 0, 0, 0, 0, 0], [&[31, 1, 252][..], &[0; 252]].concat());
    let eight = [(60, PADDING); 8];
    let skipped: [Chain<'_>; 7] = [
        &[(0, PADDING)],
        &[(0, &alert)],
        &[(60, &unknown)],
        &[(43, &arrived)],
        &[(60, &long)],
        &[(0, PADDING), (60, PADDING), (43, &arrived), (60, PADDING)],
        &eight,
    ];
    for chain in skipped {
        let mut bench = Bench::new("");
        let length: usize = chain.iter().map(|(_, rest)| 1 + rest.len()).sum();
        let taken = bench.takes(&extended(bench.own(), chain));
        let range = 54 + length..54 + length + 25;
        assert!(matches!(&taken, Taken::Tcp(segment) if segment.range == range), "{chain:?}: {taken:?}");
    }
    let (discard, answer, cut) = ([0, 0x5e, 0, 0, 0, 0, 0], [0, 0xc2, 4, 0, 0, 0, 9], [0, 1, 5, 0, 0, 0, 0]);
    let (goes_on, far) = ([0, 4, 1, 0, 0, 0, 0], [&[255, 1, 255][..], &[0; 255], &[0; 1_789]].concat());
    let nine = [(60, PADDING); 9];
    let refused: [(Chain<'_>, Bad); 10] = [
        (&[(60, &discard)], Bad::Extension),
        (&[(0, &answer)], Bad::Extension),
        (&[(60, &cut)], Bad::Header),
        (&[(60, &[9, 1, 4, 0, 0, 0, 0])], Bad::Header),
        (&[(43, &goes_on)], Bad::Extension),
        (&[(60, PADDING), (0, PADDING)], Bad::Extension),
        (&[(0, PADDING), (51, PADDING)], Bad::Extension),
        (&[(60, PADDING), (44, PADDING)], Bad::Fragment),
        (&[(60, &far), (60, PADDING)], Bad::Extension),
        (&nine, Bad::Extension),
    ];
    for (chain, why) in refused {
        let mut bench = Bench::new("");
        assert_eq!(bench.takes(&extended(bench.own(), chain)), Taken::Bad(why), "{chain:?}");
        assert_eq!(bench.station.counters().bad(why), 1);
    }
}

#[test]
fn source_quench_is_not_heard() {
    let mut bench = Bench::new("");
    let own = bench.own();
    assert!(matches!(bench.takes(&error_v4(own, 3, 1, 0)), Taken::Icmp(_)));
    assert_eq!(bench.takes(&error_v4(own, 4, 0, 0)), Taken::NotOurs);
    assert_eq!(bench.station.counters().errors, 1);
}

#[test]
fn only_the_own_vlan_is_read_and_written() {
    let mut bench = Bench::new(",vlan=7");
    let own = bench.own();
    assert_eq!(bench.takes(&tcp_v4(own)), Taken::NotOurs);
    assert_eq!(bench.takes(&tagged(&tcp_v4(own), 8)), Taken::NotOurs);
    // Priority 5 with it changes nothing.
    assert!(
        matches!(bench.takes(&tagged(&tcp_v4(own), 0xa007)), Taken::Tcp(segment) if segment.range == (38..63))
    );
    assert_eq!(bench.takes(&tagged(&who_has(OWN_V4), 7)), Taken::Handled);
    let sent = bench.sent();
    assert_eq!(wire::summary(&sent[0]).unwrap().vlan, Some(7));
    assert_eq!(wire::summary(&sent[0]).unwrap().ethertype, ETHERTYPE_ARP);
}

#[test]
fn damage_is_counted_by_its_cause() {
    let changed = |at: usize, value: u8| {
        move |own: Mac| {
            let mut data = tcp_v4(own);
            data[at] = value;
            data
        }
    };
    let repaired = |at: usize, value: u8| {
        move |own: Mac| {
            let mut data = tcp_v4(own);
            data[at] = value;
            let sum = wire::checksum::sum(&data[14..24]) + wire::checksum::sum(&data[26..34]);
            data[24..26].copy_from_slice(&wire::checksum::finish(sum).to_be_bytes());
            data
        }
    };
    let v6 = |at: usize, value: u8| {
        move |own: Mac| {
            let mut data = tcp_v6(own);
            data[at] = value;
            data
        }
    };
    type Make = Box<dyn Fn(Mac) -> Vec<u8>>;
    let cases: Vec<(Make, Bad)> = vec![
        (Box::new(changed(14, 0x55)), Bad::Header),
        (Box::new(changed(14, 0x44)), Bad::Header),
        (Box::new(changed(17, 19)), Bad::Header),
        (Box::new(changed(17, 200)), Bad::Length),
        (Box::new(changed(17, 0)), Bad::Length),
        (Box::new(changed(20, 0x20)), Bad::Fragment),
        (Box::new(changed(21, 0x01)), Bad::Fragment),
        (Box::new(changed(22, 63)), Bad::IpChecksum),
        (Box::new(changed(58, b'0')), Bad::TcpChecksum),
        (Box::new(changed(46, 0x40)), Bad::Header),
        (Box::new(repaired(26, 224)), Bad::Header),
        (Box::new(v6(14, 0x40)), Bad::Header),
        (Box::new(v6(19, 26)), Bad::Length),
        (Box::new(v6(19, 0)), Bad::Length),
        (Box::new(v6(20, 44)), Bad::Fragment),
        (Box::new(v6(20, 0)), Bad::Header),
        (Box::new(|own| extended(own, &[(51, &[0; 7])])), Bad::Extension),
        (Box::new(v6(78, b'0')), Bad::TcpChecksum),
        (Box::new(|own| tcp_v4(own)[..30].to_vec()), Bad::Header),
    ];
    for (make, cause) in cases {
        let mut bench = Bench::new("");
        let data = make(bench.own());
        assert_eq!(bench.takes(&data), Taken::Bad(cause), "{data:02x?}");
        assert_eq!(bench.station.counters().all_bad().collect::<Vec<_>>(), [(cause, 1)]);
    }
    let mut bench = Bench::new("");
    let data = tcp_v4(bench.own());
    let cut = Frame { length: data.len() + 1, ..frame(&data) };
    assert_eq!(bench.station.take(&cut, START, &mut bench.out), Taken::Bad(Bad::CutOff));
}

#[test]
fn unfinished_checksums_and_merged_segments_are_taken_and_counted() {
    let mut bench = Bench::new("");
    let mut data = tcp_v4(bench.own());
    data[50] ^= 1;
    let unfinished = Frame { card_work: CardWork::CHECKSUM, ..frame(&data) };
    assert!(matches!(bench.station.take(&unfinished, START, &mut bench.out), Taken::Tcp(_)));
    let pseudo = Pseudo::V4 { source: FAR_V4, destination: OWN_V4 };
    // On a port that does not tell: what stands there is the sum that the card begins with.
    let mut untold = tcp_v4(bench.own());
    let length = untold.len() - 34;
    let begun = checksum::fold(pseudo.sum(tcp::PROTOCOL, length));
    untold[50..52].copy_from_slice(&begun.to_be_bytes());
    assert!(matches!(bench.takes(&untold), Taken::Tcp(segment) if segment.is_unfinished));
    let packet = ip_v4(tcp::PROTOCOL, FAR_V4, &segment(&pseudo, &[7; 30_000]));
    let merged = link(bench.own(), FAR, ETHERTYPE_IPV4, &packet);
    assert!(matches!(bench.takes(&merged), Taken::Tcp(segment) if segment.range == (34..30_054)));
    let counters = bench.station.counters();
    assert_eq!((counters.segments, counters.unfinished, counters.merged), (3, 2, 1));
}

#[test]
fn who_asks_for_an_own_address_is_told_and_known() {
    let mut bench = Bench::new("");
    assert_eq!(bench.takes(&who_has(OWN_V4)), Taken::Handled);
    let own = bench.own();
    let mut reply = arp(FAR, arp::Operation::Reply, (own, OWN_V4), (FAR, FAR_V4));
    reply.resize(60, 0);
    assert_eq!(bench.sent(), [reply]);
    assert_eq!(bench.route("198.18.0.2", 0), Route::Ready(FAR), "a request says where its sender is");
    // The same for IPv6.
    let solicit = icmpv6::Repr::Solicitation { target: OWN_V6, source: Some(FAR) };
    let data = neighbour(solicit, FAR_V6, ipv6::solicited_node(OWN_V6), 255);
    assert_eq!(bench.takes(&data), Taken::Handled);
    let sent = bench.sent();
    let ip = ipv6::View::new(&sent[0][14..]).unwrap();
    assert_eq!((&sent[0][..6], ip.destination(), ip.hop_limit()), (&FAR.0[..], FAR_V6, 255));
    let view = icmpv6::View::new(ip.payload()).unwrap();
    view.verify(&ip.pseudo()).unwrap();
    let link = Some(own);
    let advert =
        icmpv6::Repr::Advertisement { target: OWN_V6, link, router: false, solicited: true, override_: true };
    assert_eq!(icmpv6::Repr::parse(&view), Ok(advert));
    assert_eq!(bench.route("fd00::2", 0), Route::Ready(FAR));
    assert_eq!(bench.station.counters().asked, 2);
    assert!(bench.sent().is_empty());
}

#[test]
fn neighbour_discovery_is_not_believed_from_elsewhere() {
    let solicit = icmpv6::Repr::Solicitation { target: OWN_V6, source: Some(FAR) };
    let group = ipv6::solicited_node(OWN_V6);
    let mut bench = Bench::new("");
    for data in
        [neighbour(solicit, FAR_V6, group, 254), neighbour(solicit, Ipv6Addr::UNSPECIFIED, group, 255)]
    {
        assert_eq!(bench.takes(&data), Taken::Bad(Bad::Neighbour));
    }
    let spoofed = arp(Mac::BROADCAST, arp::Operation::Request, (Mac([2; 6]), FAR_V4), (Mac([0; 6]), OWN_V4));
    let spoofed = [&spoofed[..6], &FAR.0, &spoofed[12..]].concat();
    assert_eq!(bench.takes(&spoofed), Taken::Bad(Bad::Neighbour));
    assert!(bench.sent().is_empty());
}

#[test]
fn echo_is_answered_with_its_bytes_and_not_without_end() {
    let mut bench = Bench::new("");
    let own = bench.own();
    let echo = wire::echo::Echo { request: true, identifier: 3, sequence: 4 };
    let mut message = *b"........payload";
    icmp::Repr(echo).emit(&mut message).unwrap();
    let request = link(own, FAR, ETHERTYPE_IPV4, &ip_v4(icmp::PROTOCOL, FAR_V4, &message));
    assert_eq!(bench.takes(&request), Taken::Handled);
    let sent = bench.sent();
    let ip = ipv4::View::new(&sent[0][14..]).unwrap();
    ip.verify().unwrap();
    assert_eq!((&sent[0][..6], ip.source(), ip.destination()), (&FAR.0[..], OWN_V4, FAR_V4));
    let view = icmp::View::new(ip.payload()).unwrap();
    view.verify().unwrap();
    let expected = wire::echo::Echo { request: false, ..echo };
    assert_eq!((icmp::Repr::parse(&view).unwrap().0, view.payload()), (expected, &b"payload"[..]));
    // IPv6.
    let pseudo = Pseudo::V6 { source: FAR_V6, destination: OWN_V6 };
    icmpv6::Repr::Echo(echo).emit(&mut message, &pseudo).unwrap();
    let packet = ip_v6(icmpv6::PROTOCOL, 64, (FAR_V6, OWN_V6), &message);
    assert_eq!(bench.takes(&link(own, FAR, ETHERTYPE_IPV6, &packet)), Taken::Handled);
    let sent = bench.sent();
    let ip = ipv6::View::new(&sent[0][14..]).unwrap();
    let view = icmpv6::View::new(ip.payload()).unwrap();
    view.verify(&ip.pseudo()).unwrap();
    assert_eq!(icmpv6::Repr::parse(&view), Ok(icmpv6::Repr::Echo(expected)));
    // A flood.
    let answered = (0..5_000).filter(|_| {
        bench.takes(&request);
        !bench.sent().is_empty()
    });
    assert_eq!(answered.count(), 998, "of 1000 in a second two were answered before");
    let counters = bench.station.counters();
    assert_eq!((counters.echoes, counters.limited), (1_000, 4_002));
}

#[test]
fn icmp_errors_say_which_segment_they_mean() {
    let mut bench = Bench::new("");
    let own = bench.own();
    let quoted = |what| {
        let (local, remote) = ((OWN_V4.into(), 1_024), (FAR_V4.into(), 80));
        Taken::Icmp(Quoted { local, remote, seq: 0x0102_0304, what })
    };
    for (kind, code, mtu, what) in [
        (3, 0, 0, What::Unreachable { hard: false }),
        (3, 1, 0, What::Unreachable { hard: false }),
        (3, 2, 0, What::Unreachable { hard: true }),
        (3, 3, 0, What::Unreachable { hard: true }),
        (3, 13, 0, What::Unreachable { hard: false }),
        (3, 4, 1_400, What::Mtu { mtu: 1_400 }),
        // The plateau below 1500 of RFC 1191 §7.1, and the least MTU of all.
        (3, 4, 0, What::Mtu { mtu: 1_492 }),
        (3, 4, 5, What::Mtu { mtu: 68 }),
        (11, 0, 0, What::Unreachable { hard: false }),
        (12, 0, 0, What::Unreachable { hard: false }),
    ] {
        assert_eq!(bench.takes(&error_v4(own, kind, code, mtu)), quoted(what), "{kind} {code}");
    }
    let mut damaged = error_v4(own, 3, 3, 0);
    damaged[40] ^= 1;
    assert_eq!(bench.takes(&damaged), Taken::Bad(Bad::IcmpChecksum));
    // About somebody else's segment.
    let mut foreign = error_v4(own, 3, 3, 0);
    foreign[57] = 99;
    foreign[36..38].fill(0);
    let check = wire::checksum::finish(wire::checksum::sum(&foreign[34..]));
    foreign[36..38].copy_from_slice(&check.to_be_bytes());
    assert_eq!(bench.takes(&foreign), Taken::Bad(Bad::Quote));
}

#[test]
fn icmpv6_errors_say_which_segment_they_mean() {
    let mut bench = Bench::new("");
    let own = bench.own();
    let quote = ip_v6(tcp::PROTOCOL, 64, (OWN_V6, FAR_V6), &[4, 0, 0, 80, 1, 2, 3, 4]);
    let router = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1);
    let pseudo = Pseudo::V6 { source: router, destination: OWN_V6 };
    for (kind, code, word, what) in [
        (1, 0, 0, What::Unreachable { hard: false }),
        (1, 4, 0, What::Unreachable { hard: true }),
        (2, 0, 1_400u32, What::Mtu { mtu: 1_400 }),
        (2, 0, 500, What::Mtu { mtu: 1_280 }),
        (2, 0, 1 << 20, What::Mtu { mtu: 65_535 }),
        (3, 0, 0, What::Unreachable { hard: false }),
        (4, 1, 6, What::Unreachable { hard: true }),
    ] {
        let mut message = [&[kind, code, 0, 0][..], &word.to_be_bytes(), &quote].concat();
        let sum = wire::checksum::sum(&message) + pseudo.sum(icmpv6::PROTOCOL, message.len());
        message[2..4].copy_from_slice(&wire::checksum::finish(sum).to_be_bytes());
        let packet = ip_v6(icmpv6::PROTOCOL, 64, (router, OWN_V6), &message);
        let (local, remote) = ((OWN_V6.into(), 1_024), (FAR_V6.into(), 80));
        let expected = Taken::Icmp(Quoted { local, remote, seq: 0x0102_0304, what });
        assert_eq!(bench.takes(&link(own, FAR, ETHERTYPE_IPV6, &packet)), expected, "{kind} {code}");
    }
}
