//! What is built at the limits, and what it says of itself.

use super::*;
use crate::samples;
use crate::template::{Field, Layer, Mac, Sizes, Times, Values};
use alloc::vec;

const UDP: Layer = Layer::Udp { source: 1024, destination: 9, checksum: true };
const ARP: Layer = Layer::Arp {
    request: true,
    sender_mac: Mac([2; 6]),
    sender: core::net::Ipv4Addr::new(198, 18, 0, 1),
    target_mac: Mac([0; 6]),
    target: core::net::Ipv4Addr::new(198, 18, 0, 2),
};

fn stream(above: &[Layer], size: usize, sign: bool) -> StreamSpec {
    let layers = [&[Layer::ethernet(Mac([2; 6]), Mac([4; 6]))], above].concat();
    StreamSpec { weight: 1, layers, sizes: Sizes::Fixed(size), sign, ..StreamSpec::default() }
}

fn datagrams(size: usize, sign: bool) -> StreamSpec {
    stream(&[samples::networks()[0].clone(), UDP], size, sign)
}

fn built(streams: Vec<StreamSpec>) -> Result<Template, WireError> {
    Template::build(&Spec { streams, seed: 1 })
}

fn frame(spec: StreamSpec) -> Vec<u8> {
    let template = built(vec![spec]).unwrap();
    let mut room = vec![0; template.longest()];
    template.write(0, Times::default(), &mut room, &mut 0);
    room
}

#[test]
fn a_template_says_what_it_has() {
    let plain = built(vec![datagrams(64, false), datagrams(128, false)]).unwrap();
    assert_eq!((plain.streams().len(), plain.longest(), plain.is_signed()), (2, 124, false));
    let signed = built(vec![datagrams(64, false), datagrams(128, true)]).unwrap();
    assert!(signed.is_signed());
    assert_eq!(signed.numbered_from(7).numbers(), 7..9);
    assert!((1..1 << 24).contains(&identity()));
}

#[test]
fn there_are_as_many_streams_and_frames_as_can_be_told_apart() {
    let of = |count| built(vec![datagrams(64, false); count]).map(|template| template.streams().len());
    assert_eq!((of(1), of(256)), (Ok(1), Ok(256)));
    assert_eq!(of(257).unwrap_err().to_string(), "257 streams; there can be 1 to 256");
    assert_eq!(of(0).unwrap_err().to_string(), "0 streams; there can be 1 to 256");
    assert!(counted(1 << 24, "frames", MOST_STREAMS).is_ok());
    assert!(counted((1 << 24) + 1, "frames", MOST_STREAMS).is_err());
    assert!(Template::from_frames(Vec::new()).is_err());
}

#[test]
fn a_taken_frame_is_as_long_as_any() {
    assert_eq!(Template::from_frames(vec![vec![0; 65_531]]).unwrap().longest(), 65_531);
    let error = Template::from_frames(vec![vec![0; 65_532]]).unwrap_err().to_string();
    assert!(error.contains("size 65536 is too large: at most 65535"), "{error}");
}

#[test]
fn a_taken_frame_is_signed_if_there_is_room() {
    let signed = Changes { sign: true, ..Changes::default() };
    let of = |frame: Vec<u8>| Template::from_frames_with(vec![frame], &signed).is_ok();
    // 14 + 20 + 8 bytes of headers and 18 of signature, and four of FCS.
    assert!(of(frame(datagrams(64, false))));
    let mut short = frame(datagrams(64, false));
    (short[17], short[39]) = (20 + 8 + 17, 8 + 17);
    assert!(!of(short));
    assert!(!of(frame(stream(&[ARP], 128, false))));
}

#[test]
fn a_field_that_a_taken_frame_lacks_is_left_or_refused() {
    let values = Values::Increment { start: 0x0a00_0001, step: 1, count: 9 };
    let vary = vec![Vary { field: Field::Ipv4Source, values, by: Default::default() }];
    let frames = || vec![frame(datagrams(64, false)), frame(stream(&[ARP], 64, false))];
    let changes = Changes { vary, may_lack: true, ..Changes::default() };
    let template = Template::from_frames_with(frames(), &changes).unwrap();
    let written = [0, 1].map(|seq| {
        let mut room = vec![0; 60];
        template.write(seq, Times::default(), &mut room, &mut 0);
        room
    });
    assert_eq!(written[0][26..30], [10, 0, 0, 1]);
    assert_eq!(written[1], frames()[1]);
    assert!(Template::from_frames_with(frames(), &Changes { may_lack: false, ..changes }).is_err());
}

/// The frame with one field set to a value, if it has that field.
fn with(frame: &[u8], field: Field, value: u128) -> Option<Vec<u8>> {
    let vary = vec![Vary { field, values: Values::List(vec![value]), by: Default::default() }];
    let changes = Changes { vary, ..Changes::default() };
    let template = Template::from_frames_with(vec![frame.to_vec()], &changes).ok()?;
    let mut room = vec![0; frame.len()];
    template.write(0, Times::default(), &mut room, &mut 0);
    Some(room)
}

#[test]
fn fields_of_arp_and_echo_are_where_the_rfcs_put_them() {
    let arp = frame(stream(&[ARP], 64, false));
    for (field, value, at) in [
        (Field::ArpSenderMac, &[2, 0, 0, 0, 0, 9][..], 22),
        (Field::ArpSender, &[198, 18, 0, 9], 28),
        (Field::ArpTarget, &[198, 18, 0, 9], 38),
    ] {
        let number = value.iter().fold(0, |number, byte| number << 8 | u128::from(*byte));
        let mut expected = arp.clone();
        expected[at..at + value.len()].copy_from_slice(value);
        assert_eq!(with(&arp, field, number), Some(expected), "{field:?}");
        assert_eq!(with(&arp[..41], field, number), None, "{field:?} in a message that is cut off");
    }
    let echo = Layer::Echo(crate::template::Echo { request: true, identifier: 0, sequence: 0 });
    let echo = frame(stream(&[samples::networks()[0].clone(), echo], 64, false));
    assert_eq!(with(&echo, Field::EchoIdentifier, 0x1234).unwrap()[38..42], [0x12, 0x34, 0, 0]);
    assert_eq!(with(&echo, Field::EchoSequence, 0x1234).unwrap()[38..42], [0, 0, 0x12, 0x34]);
    // ICMPv6 is over IPv6 alone.
    let mut other = echo;
    other[23] = crate::icmpv6::PROTOCOL;
    assert_eq!(with(&other, Field::EchoSequence, 1), None);
}

#[test]
fn a_header_that_is_not_there_or_not_whole_has_no_fields() {
    let whole = frame(datagrams(64, false));
    assert_eq!(with(&whole, Field::PortDestination, 0x1234).unwrap()[36..38], [0x12, 0x34]);
    assert!(with(&whole[..42], Field::PortDestination, 1).is_some());
    assert_eq!(with(&whole[..41], Field::PortDestination, 1), None);
    let mut later = whole;
    later[21] = 1;
    assert_eq!(with(&later, Field::PortDestination, 1), None);
}

#[test]
fn a_stream_says_what_changes_in_it_and_where() {
    let places = |sizes: Sizes, sign: bool| {
        let template = built(vec![StreamSpec { sizes, ..datagrams(64, sign) }]).unwrap();
        let stream = &template.streams()[0];
        assert!(stream.is_udp() && stream.is_plain() && stream.variations().is_empty());
        let lengths = (stream.base().len(), stream.shapes().len(), stream.is_constant());
        let at = [stream.network_length_at(), stream.transport_length_at()];
        let sums = [stream.network_checksum_at(), stream.transport_checksum_at(), stream.signature_at()];
        (lengths, at, sums)
    };
    let none = [None; 2];
    assert_eq!(places(Sizes::Fixed(64), false), ((60, 1, true), none, [None; 3]));
    assert_eq!(places(Sizes::Fixed(64), true), ((60, 1, false), none, [None, Some(40), Some(42)]));
    let both = Sizes::List(vec![64, 128]);
    assert_eq!(places(both, false), ((124, 2, false), [Some(16), Some(38)], [Some(24), Some(40), None]));
    let echo = Layer::Echo(crate::template::Echo { request: true, identifier: 0, sequence: 0 });
    let echoes = built(vec![stream(&[samples::networks()[0].clone(), echo], 64, false)]).unwrap();
    assert!(!echoes.streams()[0].is_udp());
}

#[test]
fn a_stream_that_spoils_what_changes_is_not_plain() {
    let both = Sizes::List(vec![64, 128]);
    for (network, transport, sizes, is_plain) in [
        (true, true, Sizes::Fixed(64), true),
        (true, false, both.clone(), false),
        (false, true, both.clone(), false),
        (false, false, both, true),
    ] {
        let spoiled = Spoiled { network, transport };
        let spec = StreamSpec { sizes, spoiled, ..datagrams(64, false) };
        assert_eq!(built(vec![spec.clone()]).unwrap().streams()[0].is_plain(), is_plain);
        let made = frame(spec);
        let header = crate::ipv4::View::new(&made[14..60]).unwrap();
        let datagram = crate::udp::View::new(header.payload()).unwrap();
        assert_eq!(
            (header.verify().is_err(), datagram.verify(&header.pseudo()).is_err()),
            (network, transport)
        );
    }
}

#[test]
fn headers_and_a_signature_need_so_many_bytes() {
    let [_, six] = samples::networks();
    let six = |sign| stream(&[six.clone(), UDP], 128, sign);
    assert_eq!((datagrams(64, true).header_length(), six(true).header_length()), (42, 62));
    let least =
        [datagrams(64, false), datagrams(64, true), six(false), six(true)].map(|spec| spec.least_size());
    assert_eq!(least, [64, 42 + 18 + 4, 62 + 4, 62 + 18 + 4]);
}

#[test]
fn a_stream_that_is_reversed_twice_is_what_it_was() {
    for above in [vec![samples::networks()[1].clone(), UDP], vec![ARP]] {
        let spec = stream(&above, 128, false);
        assert_eq!(spec.reversed().reversed(), spec);
        let there = (frame(spec.clone()), frame(spec.reversed()));
        // ARP has six bytes between its addresses, which are those of its hosts; IPv6 has none.
        let (at, size, apart) = if above.len() == 1 { (28, 4, 10) } else { (22, 16, 16) };
        assert_eq!(there.0[at..at + size], there.1[at + apart..at + apart + size], "{above:?}");
        assert_eq!(there.0[at + apart..at + apart + size], there.1[at..at + size], "{above:?}");
    }
}

#[test]
fn a_range_has_both_of_its_ends() {
    let range = |first, last| match Values::range(first, last) {
        Some(Values::Increment { start, step: 1, count }) => Some((start, count)),
        _ => None,
    };
    assert_eq!([range(1, 5), range(3, 3), range(5, 1)], [Some((1, 5)), Some((3, 1)), None]);
    let most = u128::from(u64::MAX);
    assert_eq!([range(7, most + 6), range(7, most + 7)], [Some((7, u64::MAX)), None]);
}
