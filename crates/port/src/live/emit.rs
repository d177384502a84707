//! Pieces of program that several parts need: numbers of any size, random values, sums of words.
//!
//! Registers: `R6` is the context, `R7` the frame's first byte, `R8` its position in the schedule, `R9` the
//! state, `R5` the sum for the network header's checksum, `R0` that for the transport's. `R1` to `R4` are free.

use bpf::{Alu, Assembler, Condition, Label, Register, Register::*, Size};
use std::os::fd::BorrowedFd;

pub const STATE: Register = R9;
pub const FRAME: Register = R7;
pub const POSITION: Register = R8;
pub const NETWORK: Register = R5;
pub const TRANSPORT: Register = R0;

/// A number as an immediate, if it is one when sign-extended.
pub fn immediate(value: u64) -> Option<i32> {
    i32::try_from(value as i64).ok()
}

/// dst = value, the short way if there is one.
pub fn load(a: &mut Assembler, dst: Register, value: u64) {
    match immediate(value) {
        Some(small) => a.mov(dst, small),
        None => a.load_u64(dst, value),
    };
}

/// dst = dst op value, with `spare` for a number that does not fit.
pub fn alu(a: &mut Assembler, op: Alu, dst: Register, value: u64, spare: Register) {
    match immediate(value) {
        Some(small) => a.alu64(op, dst, small),
        None => a.load_u64(spare, value).alu64(op, dst, spare),
    };
}

/// Jumps if dst condition value.
pub fn jump_if(a: &mut Assembler, when: Condition, dst: Register, value: u64, spare: Register, to: Label) {
    match immediate(value) {
        Some(small) => a.jump_if(when, dst, small, to),
        None => a.load_u64(spare, value).jump_if(when, dst, spare, to),
    };
}

/// dst = address of byte `offset` of a map's value.
pub fn address(a: &mut Assembler, dst: Register, map: BorrowedFd<'_>, offset: usize) {
    a.load_map_value(dst, map, offset as u32);
}

/// sum += a word, as 32-bit words (which add up like 16-bit ones, modulo 2¹⁶ − 1). Loses `word` if it is wide;
/// uses `spare`.
pub fn add_word(a: &mut Assembler, sum: Register, word: Register, bytes: u8, spare: Register) {
    if bytes < 8 {
        a.add(sum, word);
        return;
    }
    a.mov(spare, word).shr(spare, 32).add(sum, spare);
    a.mov32(spare, word).add(sum, spare);
}

/// Folds a sum to 16 bits and complements it: a checksum (RFC 1071). 32 carries of 32 bits and less are folded
/// in five steps.
pub fn finish(a: &mut Assembler, sum: Register, spare: Register, is_udp: bool) {
    a.mov(spare, sum).shr(spare, 32).mov32(sum, sum).add(sum, spare);
    for _ in 0..3 {
        a.mov(spare, sum).shr(spare, 16).and(sum, 0xffff).add(sum, spare);
    }
    a.xor(sum, 0xffff).and(sum, 0xffff);
    if is_udp {
        // 0 would say that there is none.
        let set = a.label();
        a.jump_if(Condition::NotEqual, sum, 0, set).mov(sum, 0xffff);
        a.bind(set);
    }
}

/// `value` = 64 even bits from a seed and the number in `value` (`wire::template::spread`). Uses R4.
pub fn spread(a: &mut Assembler, value: Register, spare: Register, seed: u64) {
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    a.add(value, 1).load_u64(R4, STEP).mul(value, R4);
    alu(a, Alu::Add, value, seed, R4);
    a.mov(spare, value).shr(spare, 30).xor(value, spare).load_u64(R4, 0xbf58_476d_1ce4_e5b9).mul(value, R4);
    a.mov(spare, value).shr(spare, 27).xor(value, spare).load_u64(R4, 0x94d0_49bb_1331_11eb).mul(value, R4);
    a.mov(spare, value).shr(spare, 31).xor(value, spare);
}

/// `bits` = one of `0..count` (`wire::template::span_value`); count 0 is all. Uses R1, R3 and R4, and `bits` is
/// R2.
pub fn span(a: &mut Assembler, count: u64) {
    if count == 0 {
        return;
    }
    if count <= 1 << 32 {
        a.shr(R2, 32);
        alu(a, Alu::Multiply, R2, count, R4);
        a.shr(R2, 32);
        return;
    }
    // The upper half of a 128-bit product, by halves: (h·2³² + l) · (H·2³² + L).
    let (high, low) = (count >> 32, count & 0xffff_ffff);
    a.mov(R1, R2).shr(R1, 32).mov32(R2, R2); // R1 = h, R2 = l
    a.mov(R3, R2);
    alu(a, Alu::Multiply, R3, low, R4); // l·L
    a.shr(R3, 32);
    alu(a, Alu::Multiply, R2, high, R4); // l·H
    a.mov(R4, R1).store(Size::Double, R10, -64, R4);
    a.load_u64(R4, low).mul(R1, R4).add(R1, R3); // h·L + (l·L >> 32): below 2⁶⁴
    a.mov32(R3, R1).add(R2, R3).shr(R2, 32).shr(R1, 32).add(R2, R1); // both carries
    a.load(Size::Double, R1, R10, -64).load_u64(R4, high).mul(R1, R4).add(R2, R1); // + h·H
}

/// Writes a big-endian word of 2, 4 or 8 bytes, losing `word`.
pub fn store_word(a: &mut Assembler, at: i16, bytes: u8, word: Register) {
    let size = size_of_word(bytes);
    a.to_big_endian(word, size).store(size, FRAME, at, word);
}

pub const fn size_of_word(bytes: u8) -> Size {
    match bytes {
        2 => Size::Half,
        4 => Size::Word,
        _ => Size::Double,
    }
}
