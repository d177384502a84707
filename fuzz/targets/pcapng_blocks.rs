//! Blocks of pcapng that are whole, with whatever in them: the reader ends, and each frame that it shows is
//! part of the block that it came in.
//!
//! Mutations of a file rarely keep the lengths of its blocks, and a reader goes no further than a wrong one. So
//! the input is a list of blocks without their lengths:
//!
//! ```text
//! input: which (1 byte: 0–1 section, 2 interface, 3 enhanced, 4 simple, 5 statistics, 6 old packet, 7 other)
//!        │ length of the body (1 byte) │ the body …
//! ```

#![no_main]

use libfuzzer_sys::fuzz_target;
use port::Stamp;
use port::pcap::bytes::{self, Entry};
use port::pcap::{Described, Format, Reader, Statistics};

/// The order of a file's numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Little,
    Big,
}

/// A frame as it was read: stamp, length on the wire, and what was kept.
type Kept = (Stamp, usize, Vec<u8>);

fuzz_target!(|input: &[u8]| {
    let (file, packets) = file(input);
    let frames = read(&file);
    assert!(frames.len() <= packets.len(), "{} frames of {} blocks", frames.len(), packets.len());
    for ((_, length, kept), (place, body)) in frames.iter().zip(&packets) {
        assert!(kept.len() <= *length);
        assert_eq!(body.get(*place..).and_then(|from| from.get(..kept.len())), Some(&kept[..]));
    }
    assert_eq!(read(&written(&frames)), frames);
});

/// The blocks as a file, and of those with a frame where in their body it begins.
fn file(mut input: &[u8]) -> (Vec<u8>, Vec<(usize, Vec<u8>)>) {
    let first = input.first().copied().unwrap_or_default();
    let mut order = if first & 8 == 0 { Order::Little } else { Order::Big };
    let (mut file, mut packets) = (Vec::new(), Vec::new());
    section(&mut file, order);
    while let [which, length, rest @ ..] = input {
        let (body, behind) = rest.split_at(rest.len().min(usize::from(*length)));
        input = behind;
        // A block that says that the padding is part of its frame is believed.
        let padded = || [body, &[0; 3][..body.len().next_multiple_of(4) - body.len()]].concat();
        match which % 8 {
            0 | 1 => {
                order = if which % 8 == 0 { Order::Little } else { Order::Big };
                section(&mut file, order);
            }
            2 => block(&mut file, order, 1, body),
            3 => {
                packets.push((20, padded()));
                block(&mut file, order, 6, body);
            }
            4 => {
                packets.push((4, padded()));
                block(&mut file, order, 3, body);
            }
            5 => block(&mut file, order, 5, body),
            6 => {
                packets.push((20, padded()));
                block(&mut file, order, 2, body);
            }
            // Decryption secrets, name resolution, custom blocks …
            _ => block(&mut file, order, 0x0bad_0000 | u32::from(*which), body),
        }
    }
    (file, packets)
}

fn section(file: &mut Vec<u8>, order: Order) {
    let magic = number(order, 0x1a2b_3c4d);
    let version = if order == Order::Little { [1, 0, 0, 0] } else { [0, 1, 0, 0] };
    block(file, order, 0x0a0d_0d0a, &[&magic[..], &version, &[0xff; 8]].concat());
}

fn block(file: &mut Vec<u8>, order: Order, kind: u32, body: &[u8]) {
    let length = number(order, (12 + body.len().next_multiple_of(4)) as u32);
    file.extend_from_slice(&number(order, kind));
    file.extend_from_slice(&length);
    file.extend_from_slice(body);
    file.resize(file.len().next_multiple_of(4), 0);
    file.extend_from_slice(&length);
}

fn number(order: Order, value: u32) -> [u8; 4] {
    match order {
        Order::Little => value.to_le_bytes(),
        Order::Big => value.to_be_bytes(),
    }
}

fn read(bytes: &[u8]) -> Vec<Kept> {
    let file = Box::new(std::io::Cursor::new(bytes.to_vec()));
    let mut reader = Reader::new("fuzzed", file).expect("it begins with a section");
    let mut frames = Vec::new();
    while let Ok(Some(frame)) = reader.next() {
        frames.push((frame.stamp, frame.length, frame.data.to_vec()));
    }
    for interface in reader.interfaces() {
        assert!(interface.stamp_step_ns() > 0.0, "{interface:?}");
    }
    frames
}

fn written(frames: &[Kept]) -> Vec<u8> {
    let mut file = bytes::head(Format::PcapNg, &Described::default());
    for (stamp, length, kept) in frames {
        let entry = Entry { stamp: *stamp, length: *length, kept, queue: None };
        let at = file.len();
        file.resize(at + bytes::frame_size(Format::PcapNg, kept.len(), false), 0);
        bytes::frame(Format::PcapNg, &entry, &mut file[at..]);
    }
    file.extend(bytes::tail(Format::PcapNg, &Statistics::default(), Stamp::NONE, Stamp::NONE));
    file
}
