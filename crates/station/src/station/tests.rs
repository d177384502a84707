//! A station on raw frames: who is where, and whose addresses they are; and any bytes.

mod arrivals;

use super::*;
use crate::{Bad, Probing, Quoted, Segment, Station, StationError, Taken, What};
use port::{CardWork, Frame, Stamp};
use proptest::prelude::*;
use std::net::{Ipv4Addr, Ipv6Addr};
use units::Picos;
use wire::checksum::Pseudo;
use wire::parse::{ETHERTYPE_ARP, ETHERTYPE_IPV4, ETHERTYPE_IPV6, ETHERTYPE_VLAN};
use wire::{arp, icmp, icmpv6, ipv4, ipv6, tcp};

const FAR: Mac = Mac([2, 0, 0, 0, 0, 2]);
const FAR_V4: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);
const OWN_V4: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 11);
const FAR_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2);
const OWN_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 0x11);
const START: Instant = Instant::from_picos(5_000_000_000_000);

fn at(ms: u64) -> Instant {
    START + Picos::from_millis(ms)
}

struct Bench {
    station: Station,
    out: Outbox,
}

impl Bench {
    fn new(more: &str) -> Self {
        let via: Via = format!("mem:a,ip=198.18.0.10-12/24,ip=fd00::10-fd00::12/64{more}").parse().unwrap();
        let link = Link { mac: via.derived_mac(), why_mac: "", mtu: 1_500 };
        Self { station: Station::new(&via, &link), out: Outbox::new() }
    }

    fn own(&self) -> Mac {
        self.station.mac()
    }

    fn takes(&mut self, data: &[u8]) -> Taken {
        self.takes_at(data, START)
    }

    fn takes_at(&mut self, data: &[u8], now: Instant) -> Taken {
        self.station.take(&frame(data), now, &mut self.out)
    }

    /// What left, oldest first.
    fn sent(&mut self) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        while let Some(frame) = self.out.first() {
            all.push(frame.to_vec());
            self.out.pop();
        }
        all
    }

    fn route(&mut self, to: &str, ms: u64) -> Route {
        self.station.route(to.parse().unwrap(), at(ms), &mut self.out)
    }
}

fn frame(data: &[u8]) -> Frame<'_> {
    Frame { data, length: data.len(), stamp: Stamp::NONE, lost_before: 0, card_work: CardWork::NONE }
}

fn link(to: Mac, from: Mac, ethertype: u16, payload: &[u8]) -> Vec<u8> {
    [&to.0[..], &from.0, &ethertype.to_be_bytes(), payload].concat()
}

fn arp(to: Mac, operation: arp::Operation, sender: (Mac, Ipv4Addr), target: (Mac, Ipv4Addr)) -> Vec<u8> {
    let mut bytes = [0; arp::LENGTH];
    let (sender_mac, sender) = sender;
    let (target_mac, target) = target;
    arp::Repr { operation, sender_mac, sender, target_mac, target }.emit(&mut bytes).unwrap();
    link(to, sender_mac, ETHERTYPE_ARP, &bytes)
}

fn who_has(target: Ipv4Addr) -> Vec<u8> {
    arp(Mac::BROADCAST, arp::Operation::Request, (FAR, FAR_V4), (Mac([0; 6]), target))
}

fn ip_v4(protocol: u8, source: Ipv4Addr, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0; 20 + payload.len()];
    packet[20..].copy_from_slice(payload);
    let head = ipv4::Repr {
        source,
        destination: OWN_V4,
        dscp: 0,
        ecn: 0,
        identification: 1,
        dont_fragment: false,
        more_fragments: false,
        fragment_offset: 0,
        ttl: 64,
        protocol,
        options: Vec::new(),
    };
    head.emit(&mut packet).unwrap();
    packet
}

fn ip_v6(next_header: u8, hop_limit: u8, pair: (Ipv6Addr, Ipv6Addr), payload: &[u8]) -> Vec<u8> {
    let (source, destination) = pair;
    let mut packet = vec![0; 40 + payload.len()];
    packet[40..].copy_from_slice(payload);
    let head = ipv6::Repr { source, destination, traffic_class: 0, flow_label: 0, hop_limit, next_header };
    head.emit(&mut packet).unwrap();
    packet
}

fn neighbour(message: icmpv6::Repr, from: Ipv6Addr, to: (Ipv6Addr, Mac), hop_limit: u8) -> Vec<u8> {
    let mut bytes = vec![0; message.length()];
    message.emit(&mut bytes, &Pseudo::V6 { source: from, destination: to.0 }).unwrap();
    link(to.1, FAR, ETHERTYPE_IPV6, &ip_v6(icmpv6::PROTOCOL, hop_limit, (from, to.0), &bytes))
}

fn segment(pseudo: &Pseudo, payload: &[u8]) -> Vec<u8> {
    let mut bytes = [&[0; 20][..], payload].concat();
    let head = tcp::Repr {
        source: 80,
        destination: 1_024,
        sequence: 7,
        acknowledgment: 9,
        flags: tcp::flag::ACK,
        window: 1_000,
        urgent: 0,
        options: Vec::new(),
    };
    head.emit(&mut bytes, pseudo).unwrap();
    bytes
}

fn tcp_v4(to: Mac) -> Vec<u8> {
    let pseudo = Pseudo::V4 { source: FAR_V4, destination: OWN_V4 };
    link(to, FAR, ETHERTYPE_IPV4, &ip_v4(tcp::PROTOCOL, FAR_V4, &segment(&pseudo, b"hello")))
}

fn tcp_v6(to: Mac) -> Vec<u8> {
    let pseudo = Pseudo::V6 { source: FAR_V6, destination: OWN_V6 };
    let packet = ip_v6(tcp::PROTOCOL, 64, (FAR_V6, OWN_V6), &segment(&pseudo, b"hello"));
    link(to, FAR, ETHERTYPE_IPV6, &packet)
}

/// With a tag behind the MAC addresses.
fn tagged(frame: &[u8], vlan: u16) -> Vec<u8> {
    [&frame[..12], &ETHERTYPE_VLAN.to_be_bytes(), &vlan.to_be_bytes(), &frame[12..]].concat()
}

/// An error about a segment from our port 1024 to port 80 of the far end, with the bytes that routers quote.
fn error_v4(own: Mac, kind: u8, code: u8, mtu: u16) -> Vec<u8> {
    let mut quote = ip_v4(tcp::PROTOCOL, OWN_V4, &[4, 0, 0, 80, 1, 2, 3, 4]);
    quote[2..4].copy_from_slice(&1_500u16.to_be_bytes());
    quote[16..20].copy_from_slice(&FAR_V4.octets());
    let mut message = [&[kind, code, 0, 0, 0, 0][..], &mtu.to_be_bytes(), &quote].concat();
    let check = wire::checksum::finish(wire::checksum::sum(&message));
    message[2..4].copy_from_slice(&check.to_be_bytes());
    let router = Ipv4Addr::new(192, 0, 2, 1);
    link(own, FAR, ETHERTYPE_IPV4, &ip_v4(icmp::PROTOCOL, router, &message))
}

fn reply_of(bench: &Bench, mac: Mac, address: Ipv4Addr) -> Vec<u8> {
    arp(bench.own(), arp::Operation::Reply, (mac, address), (bench.own(), Ipv4Addr::new(198, 18, 0, 10)))
}

#[test]
fn a_neighbour_is_asked_for_three_times_and_then_left_in_peace() {
    let mut bench = Bench::new("");
    assert_eq!(bench.route("198.18.0.2", 0), Route::Asking);
    let first = bench.sent();
    let mut question = arp(
        Mac::BROADCAST,
        arp::Operation::Request,
        (bench.own(), Ipv4Addr::new(198, 18, 0, 10)),
        (Mac([0; 6]), FAR_V4),
    );
    question.resize(60, 0);
    assert_eq!(first, [question]);
    let mut asked = Vec::new();
    for ms in 1..10_000 {
        bench.station.tick(at(ms), &mut bench.out);
        if !bench.sent().is_empty() {
            asked.push(ms);
        }
        let expected = if ms < 3_000 { Route::Asking } else { Route::Unreachable(Unreachable::NoReply) };
        if ms < 5_000 {
            assert_eq!(bench.route("198.18.0.2", ms), expected, "{ms} ms");
        }
    }
    assert_eq!(asked, [1_000, 2_000]);
    assert_eq!((bench.station.counters().questions, bench.station.counters().unanswered), (3, 1));
    assert_eq!(bench.route("198.18.0.2", 10_000), Route::Asking);
}

#[test]
fn a_reply_makes_a_way_and_a_later_one_may_move_it() {
    let mut bench = Bench::new("");
    let reply = reply_of(&bench, FAR, FAR_V4);
    assert_eq!(bench.takes(&reply), Taken::Handled);
    assert_eq!(bench.route("198.18.0.2", 0), Route::Asking, "a reply that nobody asked for teaches nothing");
    bench.takes(&reply);
    assert_eq!(bench.route("198.18.0.2", 1), Route::Ready(FAR));
    bench.sent();
    // 30 s later it is asked again, and there as before until it has replied.
    let changes = bench.station.changes();
    assert_eq!(bench.station.tick(at(29_999), &mut bench.out), at(30_000));
    assert!(bench.sent().is_empty());
    bench.station.tick(at(30_000), &mut bench.out);
    let sent = bench.sent();
    assert_eq!((sent.len(), &sent[0][..6]), (1, &FAR.0[..]), "by unicast");
    assert_eq!(bench.route("198.18.0.2", 30_500), Route::Ready(FAR));
    let moved = Mac([2, 0, 0, 0, 0, 3]);
    let reply = reply_of(&bench, moved, FAR_V4);
    bench.takes_at(&reply, at(30_600));
    assert_eq!(bench.route("198.18.0.2", 30_700), Route::Ready(moved));
    assert_eq!((bench.station.counters().moved, bench.station.changes()), (1, changes + 1));
    // Somebody who asks us from elsewhere has moved, too.
    bench.takes_at(&who_has(OWN_V4), at(30_800));
    assert_eq!(bench.route("198.18.0.2", 30_900), Route::Ready(FAR));
    assert_eq!(bench.station.counters().moved, 2);
    bench.sent();
    // Nobody there any more: asked by unicast once, then of all, then given up.
    for ms in 60_000..64_100 {
        bench.station.tick(at(ms), &mut bench.out);
    }
    let to: Vec<Mac> = bench.sent().iter().map(|frame| Mac(*frame.first_chunk().unwrap())).collect();
    assert_eq!(to, [FAR, Mac::BROADCAST, Mac::BROADCAST]);
    assert_eq!(bench.route("198.18.0.2", 64_100), Route::Unreachable(Unreachable::NoReply));
}

#[test]
fn other_subnets_are_reached_by_the_gateway_or_not_at_all() {
    let mut bench = Bench::new("");
    for (to, why) in [
        ("192.0.2.1", Unreachable::Outside),
        ("fd01::1", Unreachable::Outside),
        ("198.18.0.11", Unreachable::NoHost),
        ("198.18.0.255", Unreachable::NoHost),
        ("224.0.0.1", Unreachable::NoHost),
        ("ff02::1", Unreachable::NoHost),
        ("127.0.0.1", Unreachable::NoHost),
    ] {
        assert_eq!(bench.route(to, 0), Route::Unreachable(why), "{to}");
    }
    assert!(bench.sent().is_empty());
    let mut bench = Bench::new(",gw=198.18.0.2,gw=fe80::1");
    assert_eq!(bench.route("192.0.2.1", 0), Route::Asking);
    let reply = reply_of(&bench, FAR, FAR_V4);
    bench.takes(&reply);
    assert_eq!(bench.route("192.0.2.99", 1), Route::Ready(FAR));
    bench.sent();
    assert_eq!(bench.route("fd01::1", 0), Route::Asking);
    let sent = bench.sent();
    assert_eq!(sent[0][..6], [0x33, 0x33, 0xff, 0, 0, 1]);
    let via: Via = "mem:a,ip=198.18.0.10/24".parse().unwrap();
    let mut only_v4 = Station::new(&via, &Link { mac: via.derived_mac(), why_mac: "", mtu: 1_500 });
    let route = only_v4.route("fd00::1".parse().unwrap(), START, &mut bench.out);
    assert_eq!(route, Route::Unreachable(Unreachable::Family));
}

/// Probes until it is done or fails; what it sends is handed to `hear`, and what that returns is taken.
fn probe(bench: &mut Bench, hear: &mut dyn FnMut(&[u8]) -> Option<Vec<u8>>) -> Result<Picos, StationError> {
    let mut now = START;
    loop {
        let done = bench.station.probe(now, &mut bench.out)?;
        for frame in bench.sent() {
            if let Some(back) = hear(&frame) {
                bench.takes_at(&back, now);
            }
        }
        match done {
            Probing::Done => return Ok(now.since(START)),
            Probing::Until(next) => now = next,
        }
    }
}

#[test]
fn addresses_are_probed_three_times_and_then_announced() {
    let mut bench = Bench::new("");
    let (mut frames, mut announced) = (0, 0);
    let took = probe(&mut bench, &mut |frame| {
        frames += 1;
        let tuple = wire::summary(frame).unwrap();
        let is_claim = tuple.ethertype == ETHERTYPE_ARP && !tuple.source.is_unspecified();
        announced += usize::from(is_claim || tuple.destination_port >> 8 == 136);
        // Own frames that come back are nobody else's.
        Some(frame.to_vec())
    });
    assert_eq!(took.unwrap(), Picos::from_millis(300));
    assert_eq!((frames, announced), (6 * 3 + 6, 6));
    assert_eq!(bench.station.counters().conflicts, 0);
    assert_eq!(bench.takes(&who_has(OWN_V4)), Taken::Handled);
    assert_eq!(bench.sent().len(), 1);
}

#[test]
fn many_addresses_are_probed_as_the_outbox_has_room() {
    let via: Via = "mem:a,ip=198.18.0.1-250/16".parse().unwrap();
    let link = Link { mac: via.derived_mac(), why_mac: "", mtu: 1_500 };
    let mut bench = Bench { station: Station::new(&via, &link), out: Outbox::new() };
    let mut frames = 0;
    probe(&mut bench, &mut |_| {
        frames += 1;
        None
    })
    .unwrap();
    assert_eq!((frames, bench.out.lost()), (250 * 4, 0));
}

#[test]
fn a_duplicate_is_named_with_who_has_it() {
    let reply = |bench: &Bench| reply_of(bench, FAR, OWN_V4);
    let probes = |_: &Bench| {
        arp(Mac::BROADCAST, arp::Operation::Request, (FAR, Ipv4Addr::UNSPECIFIED), (Mac([0; 6]), OWN_V4))
    };
    let advert = |_: &Bench| {
        let (target, link) = (OWN_V6, Some(FAR));
        let message =
            icmpv6::Repr::Advertisement { target, link, router: false, solicited: false, override_: true };
        let all = (Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1), Mac([0x33, 0x33, 0, 0, 0, 1]));
        neighbour(message, OWN_V6, all, 255)
    };
    let solicit = |_: &Bench| {
        let message = icmpv6::Repr::Solicitation { target: OWN_V6, source: None };
        neighbour(message, Ipv6Addr::UNSPECIFIED, ipv6::solicited_node(OWN_V6), 255)
    };
    type Make = fn(&Bench) -> Vec<u8>;
    let cases: [(Make, &str); 4] =
        [(reply, "198.18.0.11"), (probes, "198.18.0.11"), (advert, "fd00::11"), (solicit, "fd00::11")];
    for (make, address) in cases {
        let mut bench = Bench::new("");
        let foreign = make(&bench);
        let error = probe(&mut bench, &mut |_| Some(foreign.clone())).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("{address} is in use: 02:00:00:00:00:02 answers for it")),
            "{error}"
        );
        assert!(bench.sent().is_empty(), "an address that is not ours is not answered for");
    }
}

/// Two of the same configuration, and so of the same MAC address.
#[test]
fn a_second_station_with_the_same_addresses_is_found() {
    for alone in ["mem:a,ip=198.18.0.10/24", "mem:a,ip=fd00::10/64"] {
        let via: Via = alone.parse().unwrap();
        let link = Link { mac: via.derived_mac(), why_mac: "", mtu: 1_500 };
        let new = || Bench { station: Station::new(&via, &link), out: Outbox::new() };
        let (mut first, mut second) = (new(), new());
        probe(&mut first, &mut |_| None).unwrap();
        let error = probe(&mut second, &mut |frame| {
            first.takes(frame);
            let back = first.sent().pop()?;
            // No switch brings a frame back to where it believes its sender to be.
            assert!(Mac(*back.first_chunk().unwrap()).is_multicast());
            Some(back)
        });
        assert!(matches!(error, Err(StationError::Duplicate { mac, .. }) if mac == link.mac), "{error:?}");
    }
}

/// Raw bytes, and frames that are right but for some bytes.
fn any_frame() -> impl Strategy<Value = Vec<u8>> {
    let own = Mac([2, 0x74, 198, 18, 0, 10]);
    let echo = {
        let mut message = [0; 12];
        icmp::Repr(wire::echo::Echo { request: true, identifier: 1, sequence: 1 })
            .emit(&mut message)
            .unwrap();
        link(own, FAR, ETHERTYPE_IPV4, &ip_v4(icmp::PROTOCOL, FAR_V4, &message))
    };
    let solicit = icmpv6::Repr::Solicitation { target: OWN_V6, source: Some(FAR) };
    let seeds = vec![
        tcp_v4(own),
        tcp_v6(own),
        arrivals::extended(own, &[(0, arrivals::PADDING), (60, arrivals::PADDING)]),
        who_has(OWN_V4),
        echo,
        error_v4(own, 3, 4, 1_400),
        neighbour(solicit, FAR_V6, ipv6::solicited_node(OWN_V6), 255),
        Vec::new(),
    ];
    let changes = proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4);
    let tail = proptest::collection::vec(any::<u8>(), 0..80);
    (prop::sample::select(seeds), changes, tail, any::<prop::sample::Index>(), any::<bool>()).prop_map(
        |(mut data, changes, tail, end, cut)| {
            data.extend(tail);
            let length = data.len();
            for (at, value) in changes.iter().filter(|_| length > 0) {
                data[at.index(length)] = *value;
            }
            if cut && !data.is_empty() {
                data.truncate(end.index(data.len()));
            }
            data
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_break_it_and_only_who_asked_is_answered(
        data in any_frame(), unfinished: bool, more in 0usize..3,
    ) {
        let mut bench = Bench::new("");
        let card_work = CardWork { checksum: unfinished, split: false };
        let frame = Frame { length: data.len() + more, card_work, ..frame(&data) };
        let taken = bench.station.take(&frame, START, &mut bench.out);
        if let Taken::Tcp(segment) = &taken {
            prop_assert!(segment.range.end <= data.len() && segment.range.len() >= 20);
            prop_assert!(bench.station.has(segment.destination));
        }
        let sent = bench.sent();
        prop_assert!(sent.len() <= 1);
        for reply in sent {
            prop_assert_eq!(&taken, &Taken::Handled);
            let to = Mac(*reply.first_chunk().unwrap());
            prop_assert!(to.0 == data[6..12] || to == Mac::BROADCAST || to == Mac([0x33, 0x33, 0, 0, 0, 1]));
            let (asked, told) = (wire::summary(&data).unwrap(), wire::summary(&reply).unwrap());
            prop_assert_eq!(asked.ethertype, told.ethertype);
            prop_assert!(asked.source.is_unspecified() || asked.source == told.destination);
            // What asks: ARP (which has no type here), echo requests, solicitations.
            prop_assert!([0, 8 << 8, 128 << 8, 135 << 8].contains(&asked.destination_port));
        }
    }
}

#[test]
fn a_station_with_the_hosts_addresses_asks_nobody_for_them_and_answers_nobody() {
    let mut via: Via = "mem:a,ip=198.18.0.10-12/24,ip=fd00::10-fd00::12/64".parse().unwrap();
    via.shared = true;
    let link = Link { mac: via.derived_mac(), why_mac: "", mtu: 1_500 };
    let mut bench = Bench { station: Station::new(&via, &link), out: Outbox::new() };
    assert_eq!(bench.station.probe(START, &mut bench.out).unwrap(), Probing::Done);
    let solicit = icmpv6::Repr::Solicitation { target: OWN_V6, source: Some(FAR) };
    bench.takes(&who_has(OWN_V4));
    bench.takes(&neighbour(solicit, FAR_V6, ipv6::solicited_node(OWN_V6), 255));
    assert_eq!(bench.sent(), Vec::<Vec<u8>>::new());
    // It asks for others, and hears the answer.
    assert_eq!(bench.route("198.18.0.3", 0), Route::Asking);
    assert_eq!(bench.sent().len(), 1);
}
