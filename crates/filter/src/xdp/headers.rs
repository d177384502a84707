//! The part of the program that reads headers: `fields.rs`, line by line, in the kernel's instructions.
//!
//! ```text
//! R6 header now read   R7 end of the frame   R8 where ports begin
//! R9 bytes of the IP packet by its own header, 0 if it does not say; afterwards IPv4's source
//! stack: see `Stack`
//! ```

use crate::fields::{
    AUTHENTICATION, CARRIERS, ETHERNET, EXTENSIONS, FRAGMENT, LEAST_KIND, MOST_EXTENSIONS, MOST_TAGS, SNAP,
    TAGS,
};
use crate::rule::Protocol;
use bpf::Register::{R1, R2, R3, R4, R5, R6, R7, R8, R9, R10};
use bpf::{Assembler, Condition, Label, Size, context};

/// Offsets from the end of the stack.
pub mod stack {
    /// Bytes of the frame.
    pub const LENGTH: i16 = -8;
    /// As [`crate::fields::Tail`].
    pub const TAIL: i16 = -16;
    pub const HAS_PORTS: i16 = -24;
    /// IPv4: all of it; IPv6: the upper half.
    pub const TO: i16 = -32;
    pub const TO_LOW: i16 = -40;
    pub const FROM: i16 = -48;
    pub const FROM_LOW: i16 = -56;
    /// The tail under the masks of a tuple.
    pub const MASKED: i16 = -64;
    /// A word across no boundary of 8 that the kernel keeps track of: what is read back there is any number to
    /// it. Without that it would follow every way through the tables on its own.
    pub const ANY: i16 = -68;
}

/// Where to go on.
#[derive(Clone, Copy)]
pub struct Exits {
    /// With the source in `R9`.
    pub v4: Label,
    pub v6: Label,
    pub hidden: Label,
    pub other: Label,
    pub malformed: Label,
}

/// A number of the wire as a load finds it in a register.
fn wire(value: u16) -> i32 {
    i32::from(value.to_be())
}

/// Goes to `exit` unless `bytes` from `from` on are in the frame. Uses `R4`.
fn need(a: &mut Assembler, from: bpf::Register, bytes: usize, exit: Label) {
    a.mov(R4, from).add(R4, bytes as i32).jump_if(Condition::Greater, R4, R7, exit);
}

/// The same of what the packet at `R6` says of its length in `R9`. Uses `R4`.
fn need_in_packet(a: &mut Assembler, from: bpf::Register, bytes: usize, exit: Label) {
    let unsaid = a.label();
    need(a, from, bytes, exit);
    a.jump_if(Condition::Equal, R9, 0, unsaid).mov(R4, from).sub(R4, R6).add(R4, bytes as i32);
    a.jump_if(Condition::Greater, R4, R9, exit).bind(unsaid);
}

/// Reads the headers of the frame whose context is `R1`, and leaves by one of `exits`.
pub fn read(a: &mut Assembler, exits: Exits) {
    a.load(Size::Word, R6, R1, context::DATA).load(Size::Word, R7, R1, context::DATA_END);
    a.mov(R4, R7).sub(R4, R6).store(Size::Double, R10, stack::LENGTH, R4);
    need(a, R6, ETHERNET, exits.malformed);
    a.load(Size::Half, R5, R6, 12).add(R6, ETHERNET as i32);
    let kind = a.label();
    for _ in 0..MOST_TAGS {
        let tag = a.label();
        for known in TAGS {
            a.jump_if(Condition::Equal, R5, wire(known), tag);
        }
        a.jump(kind).bind(tag);
        need(a, R6, 4, exits.malformed);
        a.load(Size::Half, R5, R6, 2).add(R6, 4);
    }
    a.bind(kind);
    let (v4, v6) = (a.label(), a.label());
    a.jump_if(Condition::Equal, R5, wire(0x0800), v4);
    a.jump_if(Condition::Equal, R5, wire(0x86dd), v6);
    for carrier in CARRIERS {
        a.jump_if(Condition::Equal, R5, wire(carrier), exits.hidden);
    }
    a.to_big_endian(R5, Size::Half);
    a.jump_if(Condition::GreaterOrEqual, R5, i32::from(LEAST_KIND), exits.other);
    need(a, R6, 2, exits.other);
    a.load(Size::Half, R5, R6, 0).jump_if(Condition::Equal, R5, wire(SNAP), exits.hidden);
    a.jump(exits.other);
    a.bind(v4);
    ipv4(a, exits);
    a.bind(v6);
    ipv6(a, exits);
}

fn ipv4(a: &mut Assembler, exits: Exits) {
    need(a, R6, 20, exits.malformed);
    a.load(Size::Byte, R1, R6, 0).mov(R2, R1).shr(R2, 4);
    a.jump_if(Condition::NotEqual, R2, 4, exits.malformed);
    a.and(R1, 15).shl(R1, 2).jump_if(Condition::Less, R1, 20, exits.malformed);
    a.load(Size::Half, R9, R6, 2).to_big_endian(R9, Size::Half).mov(R8, R6).add(R8, R1);
    need_in_packet(a, R8, 0, exits.malformed);
    a.load(Size::Word, R2, R6, 16).to_big_endian(R2, Size::Word);
    a.store(Size::Double, R10, stack::TO, R2);
    a.load(Size::Byte, R3, R6, 9).load(Size::Half, R5, R6, 6).and(R5, wire(0x1fff));
    let (later, done) = (a.label(), a.label());
    a.jump_if(Condition::NotEqual, R5, 0, later);
    ports(a, exits.malformed, later, done);
    a.bind(done).load(Size::Word, R9, R6, 12).to_big_endian(R9, Size::Word);
    a.jump(exits.v4);
}

/// Puts protocol `R3` and the ports at `R8` into the stack; at `later` without ports. Ends at `done`.
fn ports(a: &mut Assembler, malformed: Label, later: Label, done: Label) {
    let has = a.label();
    let kinds = [Protocol::UDP, Protocol::TCP, Protocol::SCTP, Protocol::DCCP, Protocol::UDPLITE];
    for protocol in kinds {
        a.jump_if(Condition::Equal, R3, i32::from(protocol.0), has);
    }
    a.bind(later);
    a.shl(R3, 32).store(Size::Double, R10, stack::TAIL, R3);
    a.store(Size::Double, R10, stack::HAS_PORTS, 0).jump(done);
    a.bind(has);
    need_in_packet(a, R8, 4, malformed);
    a.load(Size::Half, R1, R8, 0).to_big_endian(R1, Size::Half);
    a.load(Size::Half, R2, R8, 2).to_big_endian(R2, Size::Half);
    a.shl(R3, 32).shl(R2, 16).or(R3, R2).or(R3, R1).store(Size::Double, R10, stack::TAIL, R3);
    a.store(Size::Double, R10, stack::HAS_PORTS, 1);
}

fn ipv6(a: &mut Assembler, exits: Exits) {
    need(a, R6, 40, exits.malformed);
    a.load(Size::Byte, R1, R6, 0).shr(R1, 4).jump_if(Condition::NotEqual, R1, 6, exits.malformed);
    for (at, to) in [(8, stack::FROM), (16, stack::FROM_LOW), (24, stack::TO), (32, stack::TO_LOW)] {
        a.load(Size::Double, R1, R6, at).to_big_endian(R1, Size::Double);
        a.store(Size::Double, R10, to, R1);
    }
    let (unsaid, behind, later, done) = (a.label(), a.label(), a.label(), a.label());
    a.load(Size::Half, R9, R6, 4).to_big_endian(R9, Size::Half).jump_if(Condition::Equal, R9, 0, unsaid);
    a.add(R9, 40).bind(unsaid);
    a.load(Size::Byte, R3, R6, 6).mov(R8, R6).add(R8, 40);
    for _ in 0..MOST_EXTENSIONS {
        extension(a, exits.malformed, behind, later);
    }
    for kind in EXTENSIONS.into_iter().chain([FRAGMENT, AUTHENTICATION]) {
        a.jump_if(Condition::Equal, R3, i32::from(kind), exits.malformed);
    }
    a.bind(behind);
    ports(a, exits.malformed, later, done);
    a.bind(done).jump(exits.v6);
}

/// Goes past one extension header: next header `R3`, where it begins `R8`.
fn extension(a: &mut Assembler, malformed: Label, behind: Label, later: Label) {
    let (is, fragment, authentication, next) = (a.label(), a.label(), a.label(), a.label());
    for kind in EXTENSIONS.into_iter().chain([FRAGMENT, AUTHENTICATION]) {
        a.jump_if(Condition::Equal, R3, i32::from(kind), is);
    }
    a.jump(behind).bind(is);
    need_in_packet(a, R8, 8, malformed);
    a.mov(R2, R3).load(Size::Byte, R3, R8, 0);
    a.jump_if(Condition::Equal, R2, i32::from(FRAGMENT), fragment).load(Size::Byte, R1, R8, 1);
    a.jump_if(Condition::Equal, R2, i32::from(AUTHENTICATION), authentication);
    a.add(R1, 1).shl(R1, 3).jump(next);
    a.bind(authentication).add(R1, 2).shl(R1, 2).jump(next);
    a.bind(fragment).load(Size::Half, R1, R8, 2).and(R1, wire(0xfff8));
    a.jump_if(Condition::NotEqual, R1, 0, later).mov(R1, 8);
    // To the kernel any number below 4 096, whichever way it was made: it need not follow each of them through
    // all that comes.
    a.bind(next).store(Size::Word, R10, stack::ANY, R1).load(Size::Word, R1, R10, stack::ANY);
    a.and(R1, 0xfff).add(R8, R1);
}
