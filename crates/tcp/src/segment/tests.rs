use super::*;
use crate::Arrived;
use core::net::Ipv4Addr;
use wire::checksum::{self, Pseudo};
use wire::tcp::{PROTOCOL, View, flag};

#[test]
fn what_is_written_is_read_back() {
    let options = Options { stamps: Some((7, 9)), sack: Some((20, 30)), ..Options::default() };
    let payload = Payload { before_end: 4, len: 3 };
    let segment = Segment {
        seq: 0xffff_fffe,
        ack: 2,
        flags: flag::ACK | flag::PSH,
        window: 65_535,
        options,
        payload: Some(payload),
    };
    let mut room = [0xff; 64];
    let bytes = payload.of(b"request").unwrap();
    assert_eq!(bytes, b"ues");
    // 20 of the header, 12 of timestamps, 12 of one block, 3 of payload.
    assert_eq!(segment.write(1024, 80, bytes, &mut room), Ok(47));
    let view = View::new(&room[..47]).unwrap();
    assert_eq!((view.source(), view.destination(), view.checksum(), view.urgent()), (1024, 80, 0, 0));
    assert_eq!((view.header_length(), view.payload()), (44, &b"ues"[..]));
    let read = Arrived::read(&view).unwrap();
    let expected =
        Arrived { seq: 0xffff_fffe, ack: 2, flags: segment.flags, window: 65_535, len: 3, options };
    assert_eq!(read, expected);
}

#[test]
fn too_little_room_is_told_and_left_alone() {
    let segment =
        Segment { seq: 1, ack: 0, flags: flag::SYN, window: 1, options: Options::default(), payload: None };
    let mut room = [7; 19];
    assert_eq!(segment.write(1, 2, b"", &mut room), Err(WriteError { needs: 20, has: 19 }));
    assert_eq!(room, [7; 19]);
}

#[test]
fn a_range_beyond_the_request_is_none() {
    assert_eq!(Payload { before_end: 8, len: 1 }.of(b"request"), None);
    assert_eq!(Payload { before_end: 2, len: 3 }.of(b"request"), None);
    assert_eq!(Payload { before_end: 7, len: 7 }.of(b"request"), Some(&b"request"[..]));
}

#[test]
fn the_caller_puts_the_checksum_in_and_a_wrong_one_is_found() {
    let pseudo =
        Pseudo::V4 { source: Ipv4Addr::new(198, 18, 0, 1), destination: Ipv4Addr::new(198, 18, 0, 2) };
    let options = Options { mss: Some(1460), ..Options::default() };
    let segment = Segment { seq: 1, ack: 0, flags: flag::SYN, window: 65_535, options, payload: None };
    let mut room = [0; 24];
    segment.write(1024, 80, b"", &mut room).unwrap();
    let sum = checksum::finish(checksum::sum(&room) + pseudo.sum(PROTOCOL, room.len()));
    // By hand in crates/wire/src/tcp.rs, for these bytes.
    assert_eq!(sum, 0x07ae);
    room[field::CHECKSUM..][..2].copy_from_slice(&sum.to_be_bytes());
    assert!(View::new(&room).unwrap().verify(&pseudo).is_ok());
    room[7] ^= 1;
    assert!(View::new(&room).unwrap().verify(&pseudo).is_err());
}
