//! Frames of templates, judged by the headers' own views.

use super::*;
use crate::checksum::Pseudo;
use crate::parse::{self, summary};
use crate::{Signature, icmp, icmpv6, ipv4, ipv6, tcp, udp};
use alloc::collections::BTreeSet;
use alloc::string::ToString;
use alloc::vec;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use proptest::prelude::*;

const A: Mac = Mac([2, 0, 0, 0, 0, 1]);
const B: Mac = Mac([2, 0, 0, 0, 0, 2]);

fn ethernet() -> Layer {
    Layer::ethernet(A, B)
}

fn tag(identifier: u16) -> Layer {
    Layer::Vlan { protocol: None, identifier, priority: 3, drop_eligible: false, ethertype: None }
}

fn ipv4(options: usize) -> Layer {
    Layer::Ipv4 {
        source: Ipv4Addr::new(198, 18, 0, 1),
        destination: Ipv4Addr::new(198, 18, 0, 2),
        dscp: 10,
        ecn: 1,
        identification: 7,
        dont_fragment: true,
        ttl: 64,
        protocol: None,
        options: vec![1; options],
    }
}

fn ipv6() -> Layer {
    Layer::Ipv6 {
        source: Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1),
        destination: Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2),
        traffic_class: 0x28,
        flow_label: 0x12345,
        hop_limit: 64,
        next_header: None,
    }
}

fn udp() -> Layer {
    Layer::Udp { source: 1024, destination: 9, checksum: true }
}

fn tcp() -> Layer {
    let options = vec![2, 4, 5, 0xb4, 3, 3, 7, 1];
    Layer::Tcp {
        source: 1024,
        destination: 80,
        sequence: 1,
        acknowledgment: 2,
        flags: 0x18,
        window: 1000,
        options,
    }
}

fn echo() -> Layer {
    Layer::Echo(Echo { request: true, identifier: 5, sequence: 6 })
}

fn stream(layers: Vec<Layer>) -> StreamSpec {
    StreamSpec { weight: 1, layers, ..StreamSpec::default() }
}

fn build(stream: StreamSpec) -> Template {
    Template::build(&Spec { streams: vec![stream], seed: 42 }).unwrap()
}

fn frame(template: &Template, seq: u64) -> Vec<u8> {
    let mut room = vec![0xee; 65_536];
    let times = Times { due_unix_ns: 1_700_000_000_000_000_000, sent_unix_ns: 1_700_000_000_000_000_900 };
    let length = template.write(seq, times, &mut room, &mut 0);
    room.truncate(length);
    room
}

#[test]
fn a_packet_below_the_least_of_ethernet_is_filled_up_behind_it() {
    let short = StreamSpec { sizes: Sizes::List(vec![50, 100]), ..stream(vec![ethernet(), ipv4(0), udp()]) };
    let refused = Template::build(&Spec { streams: vec![short.clone()], seed: 42 });
    assert!(matches!(refused, Err(WireError::Small { size: 50, least: 64, .. })), "{refused:?}");
    let template = build(StreamSpec { pads: true, ..short });
    let bytes = frame(&template, 0);
    // Size 50 is 14 + 20 + 8 bytes of headers, 4 of payload and 4 of FCS: IPv4 has 32 bytes, UDP 12.
    assert_eq!((bytes.len(), &bytes[16..18], &bytes[38..40]), (60, &[0, 32][..], &[0, 12][..]));
    assert!(bytes[46..].iter().all(|byte| *byte == 0));
    let (source, destination) = (Ipv4Addr::new(198, 18, 0, 1), Ipv4Addr::new(198, 18, 0, 2));
    let view = udp::View::new(&bytes[34..46]).unwrap();
    assert_eq!(view.verify(&Pseudo::V4 { source, destination }), Ok(()));
    assert_eq!((frame(&template, 1).len(), template.length(2)), (96, 60));
}

fn increment(field: Field, start: u128, step: i64, count: u64) -> Vary {
    Vary { field, values: Values::Increment { start, step, count }, by: By::Frame }
}

/// Every length and checksum of a frame, by the views.
fn verify(frame: &[u8]) {
    let tuple = summary(frame).unwrap();
    let (network, transport) = (&frame[usize::from(tuple.network)..], usize::from(tuple.transport));
    let (pseudo, payload): (Pseudo, &[u8]) = match tuple.ethertype {
        parse::ETHERTYPE_IPV4 => {
            let view = ipv4::View::new(network).unwrap();
            view.verify().unwrap();
            assert_eq!(usize::from(view.total_length()), network.len());
            (view.pseudo(), view.payload())
        }
        parse::ETHERTYPE_IPV6 => {
            let view = ipv6::View::new(network).unwrap();
            assert_eq!(usize::from(view.payload_length()) + 40, network.len());
            (view.pseudo(), view.payload())
        }
        _ => return,
    };
    assert_eq!(payload.len(), frame.len() - transport);
    match tuple.protocol {
        parse::UDP => {
            let view = udp::View::new(payload).unwrap();
            assert_eq!(usize::from(view.length()), payload.len());
            view.verify(&pseudo).unwrap();
        }
        parse::TCP => tcp::View::new(payload).unwrap().verify(&pseudo).unwrap(),
        parse::ICMP => icmp::View::new(payload).unwrap().verify().unwrap(),
        parse::ICMPV6 => icmpv6::View::new(payload).unwrap().verify(&pseudo).unwrap(),
        _ => {}
    }
}

#[test]
fn a_plain_frame_is_the_bytes_that_one_writes_by_hand() {
    let template =
        build(stream(vec![ethernet(), ipv4(0), Layer::Udp { source: 1024, destination: 9, checksum: true }]));
    let mut by_hand = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
    // DSCP 10, ECN 1: 0x29; length 46. Sum: 4529 + 002e + 0007 + 4000 + 4011 + c612 + 0001 + c612 + 0002 =
    // 25196 → 5198; ~ = ae67.
    by_hand.extend([0x45, 0x29, 0, 46, 0, 7, 0x40, 0, 64, 17, 0xae, 0x67, 198, 18, 0, 1, 198, 18, 0, 2]);
    // c612 + 1 + c612 + 2 + 11 + 1a (pseudo) + 400 + 9 + 1a = 19075 → 9076; ~ = 6f89.
    by_hand.extend([4, 0, 0, 9, 0, 26, 0x6f, 0x89]);
    by_hand.extend([0; 18]);
    assert_eq!(frame(&template, 0), by_hand);
    assert_eq!(frame(&template, 1 << 39), by_hand, "nothing varies");
}

#[test]
fn fields_have_the_values_that_were_asked_for() {
    let mut spec = stream(vec![ethernet(), tag(1), ipv4(0), udp()]);
    spec.vary = vec![
        increment(Field::PortSource, 1000, 3, 5),
        increment(Field::Ttl, 10, -1, 10),
        Vary {
            field: Field::Ipv4Destination,
            values: Values::List(vec![0xc612_0009, 0xc612_0005]),
            by: By::Frame,
        },
        increment(Field::VlanIdentifier, 4090, 1, 6),
        Vary { field: Field::Dscp, values: Values::Random { first: 8, last: 11 }, by: By::Frame },
    ];
    let template = build(spec);
    let mut dscps = BTreeSet::new();
    for n in 0..100_u64 {
        let frame = frame(&template, n);
        verify(&frame);
        let tuple = summary(&frame).unwrap();
        let view = ipv4::View::new(&frame[18..]).unwrap();
        assert_eq!(u64::from(tuple.source_port), 1000 + 3 * (n % 5));
        assert_eq!(u64::from(view.ttl()), 10 - n % 10);
        assert_eq!(tuple.destination, IpAddr::from([198, 18, 0, if n % 2 == 0 { 9 } else { 5 }]));
        assert_eq!(u64::from(tuple.vlan.unwrap()), 4090 + n % 6);
        assert_eq!(view.ecn(), 1, "what stands beside a field that varies stays");
        assert_eq!(frame[14] >> 5, 3, "and so does the tag's priority");
        dscps.insert(view.dscp());
    }
    assert_eq!(dscps.into_iter().collect::<Vec<_>>(), [8, 9, 10, 11]);
}

#[test]
fn addresses_of_ipv6_and_ethernet_vary_in_all_their_bits() {
    let mut spec = stream(vec![ethernet(), ipv6(), tcp()]);
    spec.sizes = Sizes::Fixed(128);
    let carry = (0xfd00_u128 << 112) + u128::from(u64::MAX);
    spec.vary = vec![
        increment(Field::Ipv6Source, carry, 1, 3),
        increment(Field::Ipv6Destination, (0xfd01_u128 << 112) + 7, 1, 1000),
        increment(Field::MacSource, 0x0200_ffff_ffff, 1, 4),
        increment(Field::MacDestination, 0x0200_0000_ffff, 1, 4),
        increment(Field::FlowLabel, 0xffff0, 1, 16),
    ];
    let template = build(spec);
    for n in 0..50_u64 {
        let frame = frame(&template, n);
        verify(&frame);
        let tuple = summary(&frame).unwrap();
        assert_eq!(tuple.source, IpAddr::V6(Ipv6Addr::from_bits(carry + u128::from(n % 3))));
        assert_eq!(
            tuple.destination,
            IpAddr::V6(Ipv6Addr::from_bits((0xfd01_u128 << 112) + 7 + u128::from(n)))
        );
        let mac = |at: usize| frame[at..at + 6].iter().fold(0, |mac, byte| mac << 8 | u64::from(*byte));
        assert_eq!(mac(6), 0x0200_ffff_ffff + n % 4);
        assert_eq!(mac(0), 0x0200_0000_ffff + n % 4);
        assert_eq!(u64::from(ipv6::View::new(&frame[14..]).unwrap().flow_label()), 0xffff0 + n % 16);
    }
}

#[test]
fn sizes_follow_each_other_as_asked() {
    let lengths = |sizes| {
        let mut spec = stream(vec![ethernet(), ipv4(0), udp()]);
        spec.sizes = sizes;
        let template = build(spec);
        (0..24).map(|n| frame(&template, n).len() + 4).collect::<Vec<_>>()
    };
    assert_eq!(lengths(Sizes::List(vec![594, 64]))[..3], [594, 64, 594]);
    assert_eq!(lengths(Sizes::Range { first: 64, last: 70, step: 3 })[..4], [64, 67, 70, 64]);
    let imix = lengths(Sizes::imix());
    let count = |size| imix.iter().filter(|has| **has == size).count();
    assert_eq!((count(64), count(594), count(1518)), (14, 8, 2));
    assert!(lengths(Sizes::Random { first: 100, last: 103 }).iter().all(|size| (100..=103).contains(size)));
}

#[test]
fn flows_are_different_tuples_and_come_in_turn() {
    for (flows, vary) in [
        (7, vec![]),
        (70_000, vec![]),
        (12, vec![increment(Field::PortSource, 10, 1, 4), increment(Field::Ipv4Source, 5, 2, 3)]),
        (10, vec![increment(Field::PortSource, 10, 1, 4), increment(Field::Ipv4Source, 5, 2, 3)]),
        (100, vec![increment(Field::Ipv4Destination, 5, 1, 3)]),
        (100, vec![increment(Field::PortSource, 10, 1, 7)]),
    ] {
        let mut spec = stream(vec![ethernet(), ipv4(0), udp()]);
        (spec.flows, spec.vary) = (Some(flows), vary);
        let template = build(spec);
        let tuple = |n| {
            let tuple = summary(&frame(&template, n)).unwrap();
            (tuple.source, tuple.destination, tuple.source_port, tuple.destination_port)
        };
        let all: BTreeSet<_> = (0..flows).map(tuple).collect();
        assert_eq!(all.len() as u64, flows);
        for n in [0, 1, flows - 1] {
            assert_eq!(tuple(n), tuple(n + flows), "flow {n} comes again");
        }
    }
}

#[test]
fn a_value_by_flow_stays_with_its_flow() {
    let mut spec = stream(vec![ethernet(), ipv4(0), udp()]);
    spec.flows = Some(5);
    spec.vary = vec![Vary { field: Field::Dscp, values: Values::List(vec![1, 2]), by: By::Flow }];
    let template = build(spec);
    for n in 0..40 {
        let frame = frame(&template, n);
        assert_eq!(u64::from(frame[15] >> 2), [1, 2][(n % 5 % 2) as usize]);
    }
}

#[test]
fn streams_have_their_shares_and_count_their_own_frames() {
    let counted = |port, weight| {
        let mut stream = stream(vec![ethernet(), ipv4(0), udp()]);
        (stream.weight, stream.sign) = (weight, true);
        stream.vary = vec![
            increment(Field::PortDestination, port, 1, 1),
            increment(Field::Identification, 0, 1, 65_536),
        ];
        stream
    };
    let template =
        Template::build(&Spec { streams: vec![counted(1, 6), counted(2, 2), counted(3, 2)], seed: 0 })
            .unwrap();
    let mut next = [0_u16; 3];
    for n in 0..1000 {
        let frame = frame(&template, n);
        let (stream, i) = template.locate(n);
        assert_eq!(summary(&frame).unwrap().destination_port, stream as u16 + 1);
        assert_eq!(ipv4::View::new(&frame[14..]).unwrap().identification(), next[stream]);
        assert_eq!(i, u64::from(next[stream]));
        assert_eq!(Signature::find(&frame).map(|found| (found.stream, found.seq)), Some((stream as u16, n)));
        next[stream] += 1;
    }
    assert_eq!(next, [600, 200, 200]);
}

#[test]
fn frames_taken_from_elsewhere_are_the_same_bytes() {
    let taken: Vec<Vec<u8>> =
        vec![frame(&build(stream(vec![ethernet(), ipv4(0), udp()])), 0), vec![0xab; 14], vec![0x08; 1514]];
    let template = Template::from_frames(taken.clone()).unwrap();
    for n in 0..9_u64 {
        assert_eq!(frame(&template, n), taken[n as usize % 3]);
    }
    assert_eq!(
        Template::from_frames(vec![vec![0; 60], vec![]]).unwrap_err().to_string(),
        "frame 2: Ethernet header cut off: 0 bytes, 14 needed"
    );
    assert!(Template::from_frames(vec![]).is_err());
}

#[test]
fn frames_taken_from_elsewhere_can_vary_and_be_signed() {
    for network in [ipv4(0), ipv4(8), ipv6()] {
        for transport in [udp(), tcp(), echo()] {
            let mut spec = stream(vec![ethernet(), tag(5), network.clone(), transport]);
            (spec.sizes, spec.payload) = (Sizes::Fixed(301), Payload::Random);
            let taken = frame(&build(spec), 0);
            let source =
                if matches!(network, Layer::Ipv6 { .. }) { Field::Ipv6Source } else { Field::Ipv4Source };
            let vary = vec![increment(source, 77, 1, 9), increment(Field::VlanIdentifier, 1, 1, 3)];
            let changes = Changes { vary, sign: true, ..Changes::default() };
            let template = Template::from_frames_with(vec![taken], &changes).unwrap();
            for n in 0..20 {
                let frame = frame(&template, n);
                verify(&frame);
                assert_eq!(Signature::find(&frame).unwrap().seq, n);
                assert_eq!(summary(&frame).unwrap().vlan, Some((n % 3) as u16 + 1));
            }
        }
    }
}

#[test]
fn a_wrong_checksum_of_a_taken_frame_stays_as_wrong() {
    let mut taken = frame(&build(stream(vec![ethernet(), ipv4(0), udp()])), 0);
    taken[40] += 0x10;
    let vary = vec![increment(Field::PortSource, 5, 1, 2)];
    let template = Template::from_frames_with(vec![taken], &Changes { vary, ..Changes::default() }).unwrap();
    let frame = frame(&template, 1);
    let view = ipv4::View::new(&frame[14..]).unwrap();
    assert!(udp::View::new(view.payload()).unwrap().verify(&view.pseudo()).is_err());
    let mut mended = frame.clone();
    mended[40] -= 0x10;
    verify(&mended);
}

#[test]
fn a_room_that_is_too_short_is_left_alone() {
    let template = build(stream(vec![ethernet(), ipv4(0), udp()]));
    let (mut room, mut mark) = ([0xee; 59], 0);
    assert_eq!(template.write(0, Times::default(), &mut room, &mut mark), 0);
    assert_eq!((room, mark), ([0xee; 59], 0));
}

#[test]
fn what_cannot_be_is_told_with_what_would_be_right() {
    let told = |stream: StreamSpec| {
        Template::build(&Spec { streams: vec![stream], seed: 0 }).unwrap_err().to_string()
    };
    let with = |layers: Vec<Layer>, change: fn(&mut StreamSpec)| {
        let mut stream = stream(layers);
        change(&mut stream);
        told(stream)
    };
    let plain = || vec![ethernet(), ipv4(0), udp()];
    assert_eq!(
        with(vec![ethernet(), ipv6(), udp()], |stream| stream.sign = true),
        "frame size 64 is too small: Ethernet, IPv6, UDP and a signature need at least 84 (with FCS)"
    );
    assert_eq!(
        with(vec![ethernet(), ipv4(0), tcp()], |stream| stream.sign = true),
        "frame size 64 is too small: Ethernet, IPv4, TCP and a signature need at least 84 (with FCS)"
    );
    assert_eq!(
        with(vec![ethernet(), tag(1), ipv4(0), udp()], |stream| stream.sign = true),
        "frame size 64 is too small: Ethernet, VLAN, IPv4, UDP and a signature need at least 68 (with FCS)"
    );
    assert_eq!(
        with(plain(), |stream| stream.sizes = Sizes::Fixed(60)),
        "frame size 60 is too small: frames of Ethernet need at least 64 (with FCS)"
    );
    assert_eq!(
        with(plain(), |stream| stream.vary = vec![increment(Field::TcpFlags, 0, 1, 2)]),
        "flags cannot vary: these frames have no TCP header"
    );
    assert_eq!(
        with(plain(), |stream| stream.vary = vec![increment(Field::PortSource, 65_000, 1, 1000)]),
        "sport: has 16 bits: 65999 does not fit"
    );
    assert_eq!(
        with(vec![ethernet(), ipv4(0), echo()], |stream| {
            stream.vary = vec![increment(Field::Ipv4Source, 0, 1, 100)];
            stream.flows = Some(1000);
        }),
        "these fields make 100 different flows, not 1000: vary more of the addresses and ports, or request fewer"
    );
    assert_eq!(told(stream(vec![ethernet(), udp()])), "UDP cannot follow Ethernet");
    assert_eq!(told(stream(vec![ipv4(0)])), "a frame needs an Ethernet header first");
    assert!(told(stream(vec![])).contains("Ethernet header first"));
}

fn a_stack() -> impl Strategy<Value = Vec<Layer>> {
    let tags = prop_oneof![Just(vec![]), Just(vec![tag(9)]), Just(vec![tag(9), tag(10)])];
    let network = prop_oneof![Just(ipv4(0)), Just(ipv4(4)), Just(ipv4(40)), Just(ipv6())];
    let transport = prop_oneof![Just(vec![]), Just(vec![udp()]), Just(vec![tcp()]), Just(vec![echo()])];
    (tags, network, transport)
        .prop_map(|(tags, network, transport)| [vec![ethernet()], tags, vec![network], transport].concat())
}

fn some_sizes() -> impl Strategy<Value = Sizes> {
    let size = 150_usize..700;
    prop_oneof![
        size.clone().prop_map(Sizes::Fixed),
        prop::collection::vec(size.clone(), 1..5).prop_map(Sizes::List),
        (size.clone(), 0_usize..40, 1_usize..5).prop_map(|(first, more, step)| Sizes::Range {
            first,
            last: first + more,
            step
        }),
        size.prop_map(|first| Sizes::Random { first, last: first + 9 }),
    ]
}

fn some_values(field: Field) -> impl Strategy<Value = Values> {
    let most = if field.bits() == 128 { u128::MAX } else { (1 << field.bits()) - 1 };
    let value = any::<u128>().prop_map(move |value| value & most);
    prop_oneof![
        (value.clone(), 1_u64..200, -3_i64..4).prop_filter_map("fits", move |(start, count, step)| {
            let way = i128::from(step) * i128::from(count);
            let fits = if way < 0 { start >= way.unsigned_abs() } else { most - start >= way.unsigned_abs() };
            fits.then_some(Values::Increment { start, step, count })
        }),
        prop::collection::vec(value.clone(), 1..9).prop_map(Values::List),
        (value, 0_u128..1 << 40).prop_map(move |(first, more)| {
            let last = if first >> 64 == first.saturating_add(more) >> 64 {
                first.saturating_add(more)
            } else {
                first
            };
            Values::Random { first, last: last.min(most) }
        }),
    ]
}

/// A stack, and variations of fields that it has.
fn a_stream() -> impl Strategy<Value = StreamSpec> {
    let payload = prop_oneof![
        Just(Payload::Zeros),
        Just(Payload::Increment),
        Just(Payload::Random),
        Just(Payload::Bytes(vec![0xff; 3]))
    ];
    (a_stack(), some_sizes(), payload, any::<bool>()).prop_flat_map(|(layers, sizes, payload, sign)| {
        let probe = build(StreamSpec { sizes: Sizes::Fixed(200), ..stream(layers.clone()) });
        let places = places::Places::of(&frame(&probe, 0));
        let has: Vec<Field> =
            Field::ALL.iter().copied().filter(|field| places.field(*field).is_some()).collect();
        let vary = prop::sample::subsequence(has.clone(), 0..has.len().min(6)).prop_flat_map(|fields| {
            fields
                .into_iter()
                .map(|field| some_values(field).prop_map(move |values| Vary { field, values, by: By::Frame }))
                .collect::<Vec<_>>()
        });
        vary.prop_map(move |vary| StreamSpec {
            layers: layers.clone(),
            sizes: sizes.clone(),
            payload: payload.clone(),
            vary,
            sign,
            ..stream(vec![])
        })
    })
}

proptest! {
    #[test]
    fn every_frame_has_right_lengths_and_checksums(stream in a_stream(), seq in 0_u64..1 << 40) {
        let template = build(stream.clone());
        for n in [0, 1, 2, seq, seq + 1] {
            let frame = frame(&template, n);
            prop_assert_eq!(frame.len(), template.length(n));
            verify(&frame);
            if stream.sign {
                let found = Signature::find(&frame).unwrap();
                prop_assert_eq!((found.seq, found.sent_unix_ns - found.due_unix_ns), (n % (1 << 40), 900));
            }
        }
    }

    #[test]
    fn a_room_that_is_used_again_gets_the_same_bytes_as_a_fresh_one(
        streams in prop::collection::vec(a_stream(), 1..4), order in prop::collection::vec(0_u64..500, 1..60)
    ) {
        let template = Template::build(&Spec { streams, seed: 1 }).unwrap();
        let other = build(stream(vec![ethernet(), ipv4(0), udp()]));
        let times = Times { due_unix_ns: 1_700_000_000_000_000_000, sent_unix_ns: 1_700_000_000_000_000_900 };
        let (mut room, mut mark) = (vec![0x55; 2000], 0);
        for (turn, n) in order.iter().enumerate() {
            if turn % 7 == 6 {
                other.write(*n, times, &mut room, &mut mark);
            }
            let length = template.write(*n, times, &mut room, &mut mark);
            prop_assert_eq!(&room[..length], &frame(&template, *n)[..]);
        }
    }

    #[test]
    fn what_a_variation_says_is_what_the_frame_has(stream in a_stream(), n in 0_u64..1 << 33) {
        let template = build(stream.clone());
        let frame = frame(&template, n);
        let places = places::Places::of(&frame);
        for vary in &stream.vary {
            let bits = places.field(vary.field).unwrap();
            let has = (bits.first..bits.first + bits.count as usize)
                .fold(0_u128, |value, bit| value << 1 | u128::from(frame[bit / 8] >> (7 - bit % 8) & 1));
            match &vary.values {
                Values::Increment { start, step, count } => {
                    let way = i128::from(*step) * i128::from(n % count);
                    prop_assert_eq!(has, start.wrapping_add_signed(way));
                }
                Values::List(list) => prop_assert_eq!(has, list[(n % list.len() as u64) as usize]),
                Values::Random { first, last } => prop_assert!((*first..=*last).contains(&has)),
            }
        }
    }
}
