//! The part of the program that reads headers: `fields.rs`, line by line, in the kernel's instructions.
//!
//! ```text
//! R6 header now read   R7 end of the frame   R8 where ports begin   R9 IPv4 source (afterwards)
//! stack: see `Stack`
//! ```

use crate::fields::{ETHERNET, MOST_EXTENSIONS, MOST_TAGS};
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
    /// A word across no boundary of 8 that the kernel keeps track of: what is read back there is any number to it. Without that it
    /// would follow every way through the tables on its own.
    pub const ANY: i16 = -68;
}

/// Where to go on.
#[derive(Clone, Copy)]
pub struct Exits {
    /// With the source in `R9`.
    pub v4: Label,
    pub v6: Label,
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

/// `v4_tail`: whether protocol and ports of IPv4 are looked at by any rule.
pub fn read(a: &mut Assembler, exits: Exits, v4_tail: bool) {
    a.load(Size::Word, R6, R1, context::DATA).load(Size::Word, R7, R1, context::DATA_END);
    a.mov(R4, R7).sub(R4, R6).store(Size::Double, R10, stack::LENGTH, R4);
    need(a, R6, ETHERNET, exits.malformed);
    a.load(Size::Half, R5, R6, 12).add(R6, ETHERNET as i32);
    let kind = a.label();
    for _ in 0..MOST_TAGS {
        let tag = a.label();
        a.jump_if(Condition::Equal, R5, wire(0x8100), tag);
        a.jump_if(Condition::NotEqual, R5, wire(0x88a8), kind).bind(tag);
        need(a, R6, 4, exits.malformed);
        a.load(Size::Half, R5, R6, 2).add(R6, 4);
    }
    a.bind(kind);
    let (v4, v6) = (a.label(), a.label());
    a.jump_if(Condition::Equal, R5, wire(0x0800), v4);
    a.jump_if(Condition::Equal, R5, wire(0x86dd), v6).jump(exits.other);
    a.bind(v4);
    ipv4(a, exits, v4_tail);
    a.bind(v6);
    ipv6(a, exits);
}

fn ipv4(a: &mut Assembler, exits: Exits, with_tail: bool) {
    need(a, R6, 20, exits.malformed);
    a.load(Size::Byte, R1, R6, 0).mov(R2, R1).shr(R2, 4);
    a.jump_if(Condition::NotEqual, R2, 4, exits.malformed);
    a.and(R1, 15).shl(R1, 2).jump_if(Condition::Less, R1, 20, exits.malformed);
    a.mov(R8, R6).add(R8, R1).jump_if(Condition::Greater, R8, R7, exits.malformed);
    a.load(Size::Word, R9, R6, 12).to_big_endian(R9, Size::Word);
    if with_tail {
        a.load(Size::Word, R2, R6, 16).to_big_endian(R2, Size::Word);
        a.store(Size::Double, R10, stack::TO, R2);
        a.load(Size::Byte, R3, R6, 9).load(Size::Half, R5, R6, 6).and(R5, wire(0x1fff));
        let (later, done) = (a.label(), a.label());
        a.jump_if(Condition::NotEqual, R5, 0, later);
        ports(a, later, done);
        a.bind(done);
    }
    a.jump(exits.v4);
}

/// Puts protocol `R3` and the ports at `R8` into the stack; at `later` without ports. Ends at `done`.
fn ports(a: &mut Assembler, later: Label, done: Label) {
    let has = a.label();
    let kinds = [Protocol::UDP, Protocol::TCP, Protocol::SCTP, Protocol::DCCP, Protocol::UDPLITE];
    for protocol in kinds {
        a.jump_if(Condition::Equal, R3, i32::from(protocol.0), has);
    }
    a.bind(later);
    a.shl(R3, 32).store(Size::Double, R10, stack::TAIL, R3);
    a.store(Size::Double, R10, stack::HAS_PORTS, 0).jump(done);
    a.bind(has);
    need(a, R8, 4, later);
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
    a.load(Size::Byte, R3, R6, 6).mov(R8, R6).add(R8, 40);
    let (behind, later, done) = (a.label(), a.label(), a.label());
    for _ in 0..MOST_EXTENSIONS {
        extension(a, exits.malformed, behind, later);
    }
    a.bind(behind);
    ports(a, later, done);
    a.bind(done).jump(exits.v6);
}

/// Goes past one extension header: next header `R3`, where it begins `R8`.
fn extension(a: &mut Assembler, malformed: Label, behind: Label, later: Label) {
    let (is, fragment, authentication, next) = (a.label(), a.label(), a.label(), a.label());
    for kind in [0, 43, 60, 44, 51] {
        a.jump_if(Condition::Equal, R3, kind, is);
    }
    a.jump(behind).bind(is);
    need(a, R8, 8, malformed);
    a.mov(R2, R3).load(Size::Byte, R3, R8, 0);
    a.jump_if(Condition::Equal, R2, 44, fragment).load(Size::Byte, R1, R8, 1);
    a.jump_if(Condition::Equal, R2, 51, authentication);
    a.add(R1, 1).shl(R1, 3).add(R8, R1).jump(next);
    a.bind(authentication).add(R1, 2).shl(R1, 2).add(R8, R1).jump(next);
    a.bind(fragment).load(Size::Half, R1, R8, 2).and(R1, wire(0xfff8)).add(R8, 8);
    a.jump_if(Condition::NotEqual, R1, 0, later);
    a.bind(next);
}
