//! Whatever a module of hardware says, the host's picture of it holds: no frame is told of twice or out of
//! order, and nothing that is kept of it grows without bound.
//!
//! ```text
//! input: steps of   which (1 byte) │ what belongs to it
//!   0–63    a frame is sent: one of two ports, its length (1 byte)
//!   64–127  the module reports: length of the body (1 byte), number, detail (3 bytes), value (8 bytes), body
//!   128–255 bytes arrive that may be no frame of the link: length (1 byte), bytes
//! ```

#![no_main]

use libfuzzer_sys::fuzz_target;
use port::fpga::fuzzed::Conversation;
use port::fpga::link::{Head, MODULE, kind};

/// All kinds of what a module says, and one that is none.
const KINDS: [u8; 9] =
    [0x81, 0x82, 0x83, 0x85, kind::CREDIT, kind::ERROR, kind::RECEIVED, kind::DEPARTED, 0xff];

fuzz_target!(|input: &[u8]| {
    let mut conversation = Conversation::default();
    let mut input = input;
    while let Some((which, rest)) = input.split_first() {
        input = rest;
        match which {
            0..64 => conversation.send(usize::from(which % 2), usize::from(byte(&mut input)).max(14)),
            64..128 => {
                let length = usize::from(byte(&mut input));
                let number = u16::from_le_bytes([byte(&mut input), 0]);
                let detail = u32::from_le_bytes([byte(&mut input), byte(&mut input), byte(&mut input), 0]);
                let value = u64::from_le_bytes(std::array::from_fn(|_| byte(&mut input)));
                let kind = KINDS[usize::from(*which) % KINDS.len()];
                let head = Head { to: [2; 6], from: MODULE, kind, number, detail, value };
                let body = part(&mut input, length);
                let frame = head.frame(body);
                assert_eq!(Head::read(&frame), Ok((head, body)), "what was written is read");
                conversation.hear(&frame);
            }
            128.. => {
                let length = usize::from(byte(&mut input));
                conversation.hear(part(&mut input, length));
            }
        }
        conversation.check();
    }
});

fn byte(input: &mut &[u8]) -> u8 {
    let Some((first, rest)) = input.split_first() else { return 0 };
    *input = rest;
    *first
}

fn part<'a>(input: &mut &'a [u8], length: usize) -> &'a [u8] {
    let (part, rest) = input.split_at(length.min(input.len()));
    *input = rest;
    part
}
