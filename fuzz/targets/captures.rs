//! Whatever stands in a capture file, its reader ends, no frame is longer than what stands there, and what was read is
//! written and read back as it was.

#![no_main]

use libfuzzer_sys::fuzz_target;
use port::pcap::Reader;

fuzz_target!(|input: &[u8]| {
    // As it is, and as the blocks of a pcapng file of either byte order (mutations rarely find its first twelve bytes).
    check(input);
    for order in [[0x4d, 0x3c, 0x2b, 0x1a, 1, 0], [0x1a, 0x2b, 0x3c, 0x4d, 0, 1]] {
        let length = if order[0] == 0x4d { [28, 0, 0, 0] } else { [0, 0, 0, 28] };
        let section = [&[0x0a, 0x0d, 0x0d, 0x0a], &length[..], &order, &[0, 0], &[0xff; 8], &length].concat();
        check(&[&section, input].concat());
    }
});

fn check(bytes: &[u8]) {
    let Ok(mut reader) = Reader::new("fuzzed", Box::new(std::io::Cursor::new(bytes.to_vec()))) else { return };
    let mut kept = 0;
    while let Ok(Some(frame)) = reader.next() {
        assert!(frame.data.len() <= frame.length);
        kept += frame.data.len();
        assert!(kept <= bytes.len());
    }
    assert!(matches!(reader.next(), Ok(None)), "nothing comes after the end");
}
