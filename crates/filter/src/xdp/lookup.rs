//! The part of the program that looks up: `firewall.rs` in the kernel's instructions, made for one set of
//! rules. Lengths, masks and sizes are constants in the code; what no rule looks at is not there at all.
//!
//! ```text
//! R7 best code so far   R8 aim, then tuple   R6 tuples still to come   R9 IPv4 source, then the next tuple
//! ```

use super::headers::stack;
use super::image::Sections;
use crate::compile::half::{AIM4, AIM4_BITS, AIM6, Half, Half4, Half6, LEAF4, LEAF6, PREFIX4};
use crate::compile::search::Step;
use crate::compile::table::{K1, K2};
use crate::rule::mask;
use bpf::Register::{R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, R10};
use bpf::{Assembler, Condition, Label, Map, Register, Size};
use std::os::fd::AsFd;

/// What both families need to know.
pub struct Tables<'a> {
    pub map: &'a Map,
    pub at: Sections,
    /// Goes there with the code in `R7`.
    pub decided: Label,
    /// A number that the tables never hold was found: never, but the kernel wants to see it handled.
    pub broken: Label,
}

/// dst = the section's address + dst · bytes, where dst is below 2^bits.
fn address(a: &mut Assembler, tables: &Tables<'_>, section: u32, dst: Register, scratch: Register) {
    a.load_map_value(scratch, tables.map.as_fd(), section).add(scratch, dst).mov(dst, scratch);
}

/// The search over lengths. `probe` emits one look-up: to `found` with the slot's word in `R4`, or to `missed`.
fn search(
    a: &mut Assembler,
    steps: &[Step],
    aim: (u32, i32, u32),
    known: Label,
    probe: impl Fn(&mut Assembler, u8, Label, Label),
) {
    let (shift, aim_mask, leaf) = aim;
    let labels: Vec<Label> = steps.iter().map(|_| a.label()).collect();
    let to = |next: u16| labels.get(usize::from(next)).copied().unwrap_or(known);
    a.mov(R8, 0);
    if steps.is_empty() {
        a.jump(known);
    }
    for (step, &label) in steps.iter().zip(&labels) {
        a.bind(label);
        let found = a.label();
        probe(a, step.length, found, to(step.missed));
        a.bind(found).mov(R8, R4).shr(R8, shift as i32).and32(R8, aim_mask);
        a.jump_if(Condition::AnyBit, R4, 1 << leaf, known).jump(to(step.found));
    }
}

/// From aim `R8` to best code `R7` and first tuple `R8`; an aim that is a code is decided.
fn class<const P: usize, const T: usize, const E: usize>(
    a: &mut Assembler,
    tables: &Tables<'_>,
    half: &Half<P, T, E>,
) {
    let class = a.label();
    a.mov(R7, R8).shr(R8, 1).and(R7, 1).jump_if(Condition::Equal, R7, 0, class);
    a.mov(R7, R8).jump(tables.decided).bind(class);
    a.jump_if(Condition::GreaterOrEqual, R8, half.classes.len() as i32, tables.broken);
    a.shl(R8, 3);
    address(a, tables, tables.at.classes, R8, R1);
    a.load(Size::Word, R7, R8, if cfg!(target_endian = "little") { 4 } else { 0 });
    a.load(Size::Word, R8, R8, if cfg!(target_endian = "little") { 0 } else { 4 });
}

/// Goes over the tuples from `R8` on. `look` emits the look-up of one, whose first word is `R3` and whose
/// address is `R2`: to the label, with `R7` lowered if something was found.
fn chain<const P: usize, const T: usize, const E: usize>(
    a: &mut Assembler,
    tables: &Tables<'_>,
    half: &Half<P, T, E>,
    look: impl FnOnce(&mut Assembler, Label),
) {
    if half.longest_chain == 0 {
        a.jump(tables.decided);
        return;
    }
    a.mov(R6, half.longest_chain as i32);
    let (again, next) = (a.here(), a.label());
    a.jump_if(Condition::Equal, R8, 0, tables.decided);
    a.jump_if(Condition::GreaterOrEqual, R8, half.tuples.len() as i32, tables.broken);
    a.mov(R1, R8).shl(R1, (T as i32 * 8).ilog2() as i32);
    a.load_map_value(R2, tables.map.as_fd(), tables.at.tuples).add(R2, R1);
    a.load(Size::Double, R3, R2, 0).mov32(R9, R3).mov(R5, R3).shr(R5, 40);
    a.jump_if(Condition::GreaterOrEqual, R5, R7, tables.decided);
    look(a, next);
    a.bind(next);
    a.mov(R8, R9).sub(R6, 1).jump_if(Condition::NotEqual, R6, 0, again).jump(tables.decided);
}

/// `R5` = the tuple's masks of protocol and ports, whose ports are in `R5` and whose first word is `R3`; to
/// `next` if it looks at ports that the packet lacks. Uses `R0`, `R1`.
fn masks(a: &mut Assembler, next: Label) {
    let has = a.label();
    a.jump_if(Condition::Equal, R5, 0, has);
    a.load(Size::Double, R1, R10, stack::HAS_PORTS).jump_if(Condition::Equal, R1, 0, next);
    a.bind(has).load_u64(R0, 0xff_0000_0000).and(R0, R3).or(R5, R0);
}

/// `R7` = the lesser of `R7` and `found`, then to `next`.
fn lower(a: &mut Assembler, found: Register, next: Label) {
    a.jump_if(Condition::GreaterOrEqual, found, R7, next).mov(R7, found).jump(next);
}

/// dst ^= dst >> 32.
fn fold(a: &mut Assembler, dst: Register, scratch: Register) {
    a.mov(scratch, dst).shr(scratch, 32).xor(dst, scratch);
}

/// IPv4: the source is in `R9`.
pub fn ipv4(a: &mut Assembler, tables: &Tables<'_>, half: &Half4) {
    let known = a.label();
    search(a, &half.steps, (AIM4, (1 << AIM4_BITS) - 1, LEAF4), known, |a, length, found, missed| {
        let bits = (mask(length) >> 96) as u32;
        a.mov(R1, R9).and32(R1, bits as i32).shl(R1, 32).or(R1, i32::from(length));
        a.load_u64(R2, K1).mul(R2, R1).shr(R2, 64 - half.prefixes.bits as i32).shl(R2, 3);
        address(a, tables, tables.at.prefixes, R2, R3);
        a.load_u64(R3, PREFIX4);
        for slot in 0..half.prefixes.steps as i16 {
            a.load(Size::Double, R4, R2, slot * 8).jump_if(Condition::Equal, R4, 0, missed);
            a.mov(R5, R4).and(R5, R3).jump_if(Condition::Equal, R5, R1, found);
        }
        a.jump(missed);
    });
    a.bind(known);
    class(a, tables, half);
    chain(a, tables, half, |a, next| {
        a.load(Size::Double, R4, R2, 8).mov32(R5, R4);
        masks(a, next);
        a.load(Size::Double, R2, R10, stack::TO).shr(R4, 32).and(R4, R2);
        a.mov(R1, R8).shl(R1, 32).or(R1, R4);
        a.load(Size::Double, R2, R10, stack::TAIL).and(R2, R5);
        a.load_u64(R3, K1).mul(R3, R1);
        fold(a, R3, R4);
        a.xor(R3, R2).load_u64(R4, K2).mul(R3, R4).shr(R3, 64 - half.exact.bits as i32).shl(R3, 4);
        address(a, tables, tables.at.exact, R3, R4);
        for slot in 0..half.exact.steps as i16 {
            let after = a.label();
            a.load(Size::Double, R5, R3, slot * 16).jump_if(Condition::Equal, R5, 0, next);
            a.jump_if(Condition::NotEqual, R5, R1, after);
            a.load(Size::Double, R0, R3, slot * 16 + 8).mov(R5, R0).shl(R5, 24).shr(R5, 24);
            a.jump_if(Condition::NotEqual, R5, R2, after).shr(R0, 40);
            lower(a, R0, next);
            a.bind(after);
        }
    });
}

/// IPv6: the source is in the stack.
pub fn ipv6(a: &mut Assembler, tables: &Tables<'_>, half: &Half6) {
    let known = a.label();
    search(a, &half.steps, (AIM6, -1, LEAF6), known, |a, length, found, missed| {
        let bits = mask(length);
        a.load(Size::Double, R1, R10, stack::FROM).load_u64(R3, (bits >> 64) as u64).and(R1, R3);
        a.load(Size::Double, R2, R10, stack::FROM_LOW).load_u64(R3, bits as u64).and(R2, R3);
        a.mov(R3, R1).xor(R3, i32::from(length)).load_u64(R4, K1).mul(R3, R4);
        fold(a, R3, R5);
        a.xor(R3, R2).load_u64(R5, K2).mul(R3, R5);
        fold(a, R3, R5);
        a.mul(R3, R4).shr(R3, 64 - half.prefixes.bits as i32).mul(R3, 24);
        address(a, tables, tables.at.prefixes, R3, R4);
        for slot in 0..half.prefixes.steps as i16 {
            let after = a.label();
            a.load(Size::Double, R4, R3, slot * 24 + 16).jump_if(Condition::Equal, R4, 0, missed);
            a.mov(R0, R4).and(R0, 0xff).jump_if(Condition::NotEqual, R0, i32::from(length), after);
            a.load(Size::Double, R0, R3, slot * 24).jump_if(Condition::NotEqual, R0, R1, after);
            a.load(Size::Double, R0, R3, slot * 24 + 8).jump_if(Condition::Equal, R0, R2, found);
            a.bind(after);
        }
        a.jump(missed);
    });
    a.bind(known);
    class(a, tables, half);
    chain(a, tables, half, |a, next| {
        a.load(Size::Double, R5, R2, 8);
        masks(a, next);
        a.load(Size::Double, R0, R10, stack::TAIL).and(R5, R0).store(Size::Double, R10, stack::MASKED, R5);
        a.load(Size::Double, R1, R2, 16).load(Size::Double, R0, R10, stack::TO).and(R1, R0);
        a.load(Size::Double, R2, R2, 24).load(Size::Double, R0, R10, stack::TO_LOW).and(R2, R0);
        a.mov(R3, R1).load_u64(R4, K1).mul(R3, R4);
        fold(a, R3, R0);
        a.xor(R3, R2).load_u64(R0, K2).mul(R3, R0);
        fold(a, R3, R0);
        a.xor(R3, R5).mov(R0, R8).shl(R0, 40).xor(R3, R0);
        a.mul(R3, R4).shr(R3, 64 - half.exact.bits as i32).shl(R3, 5);
        address(a, tables, tables.at.exact, R3, R4);
        for slot in 0..half.exact.steps as i16 {
            let after = a.label();
            a.load(Size::Double, R5, R3, slot * 32 + 16).jump_if(Condition::Equal, R5, 0, next);
            a.mov(R0, R5).shr(R0, 32).jump_if(Condition::NotEqual, R0, R8, after);
            a.load(Size::Double, R0, R3, slot * 32).jump_if(Condition::NotEqual, R0, R1, after);
            a.load(Size::Double, R0, R3, slot * 32 + 8).jump_if(Condition::NotEqual, R0, R2, after);
            a.load(Size::Double, R0, R3, slot * 32 + 24).load(Size::Double, R4, R10, stack::MASKED);
            a.jump_if(Condition::NotEqual, R0, R4, after).mov32(R5, R5);
            lower(a, R5, next);
            a.bind(after);
        }
    });
}
