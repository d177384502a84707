//! Whatever stands in a capture file, its reader ends, no frame is longer than what stands there, and what was
//! read is written and read back as it was.

#![no_main]

use libfuzzer_sys::fuzz_target;
use port::Stamp;
use port::pcap::bytes::{self, Entry};
use port::pcap::{Described, Format, Reader, Statistics};

/// A frame as it was read: stamp, length on the wire, and what was kept.
type Kept = (Stamp, usize, Vec<u8>);

fuzz_target!(|input: &[u8]| {
    // As it is, and as the blocks of a pcapng file of either byte order (mutations rarely find its first twelve
    // bytes).
    check(input);
    for order in [[0x4d, 0x3c, 0x2b, 0x1a, 1, 0], [0x1a, 0x2b, 0x3c, 0x4d, 0, 1]] {
        let length = if order[0] == 0x4d { [28, 0, 0, 0] } else { [0, 0, 0, 28] };
        let section = [&[0x0a, 0x0d, 0x0d, 0x0a], &length[..], &order, &[0, 0], &[0xff; 8], &length].concat();
        check(&[&section, input].concat());
    }
});

fn check(input: &[u8]) {
    let frames = read(input);
    assert!(frames.iter().map(|frame| frame.2.len()).sum::<usize>() <= input.len());
    // The other format has 32 bits for seconds.
    let is_short = frames.iter().all(|frame| frame.0.as_unix_nanos() / 1_000_000_000 <= u64::from(u32::MAX));
    assert_eq!(read(&written(Format::PcapNg, &frames)), frames);
    if is_short {
        assert_eq!(read(&written(Format::PcapNanos, &frames)), frames);
    }
}

fn read(bytes: &[u8]) -> Vec<Kept> {
    let file = Box::new(std::io::Cursor::new(bytes.to_vec()));
    let Ok(mut reader) = Reader::new("fuzzed", file) else { return Vec::new() };
    let mut frames = Vec::new();
    while let Ok(Some(frame)) = reader.next() {
        assert!(frame.data.len() <= frame.length);
        frames.push((frame.stamp, frame.length, frame.data.to_vec()));
    }
    assert!(matches!(reader.next(), Ok(None)), "nothing comes after the end");
    frames
}

fn written(format: Format, frames: &[Kept]) -> Vec<u8> {
    let mut file = bytes::head(format, &Described::default());
    for (stamp, length, kept) in frames {
        let entry = Entry { stamp: *stamp, length: *length, kept, queue: None };
        let at = file.len();
        file.resize(at + bytes::frame_size(format, kept.len(), false), 0);
        bytes::frame(format, &entry, &mut file[at..]);
    }
    file.extend(bytes::tail(format, &Statistics::default(), Stamp::NONE, Stamp::NONE));
    file
}
