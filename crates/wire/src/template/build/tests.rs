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
