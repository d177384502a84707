//! A program for people: one instruction a line, in the notation of the kernel's verifier.

use crate::instruction::{Helper, Instruction};
use std::fmt::Write;

/// The whole program, numbered as the verifier's messages number it.
pub fn listing(code: &[Instruction]) -> String {
    let mut text = String::new();
    let mut at = 0;
    while at < code.len() {
        let next = code.get(at + 1).copied().unwrap_or_default();
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{at:4}: {}", line(at, code[at], next));
        at += if code[at].code == 0x18 { 2 } else { 1 };
    }
    text
}

fn line(at: usize, i: Instruction, next: Instruction) -> String {
    match i.code & 7 {
        0x00 => wide(i, next),
        0x01 => format!("r{} = *({} *)(r{} {})", i.dst(), width(i.code), i.src(), signed(i.offset.into())),
        0x02 => format!("*({} *)(r{} {}) = {}", width(i.code), i.dst(), signed(i.offset.into()), i.immediate),
        0x03 => store(i),
        0x05 | 0x06 => flow(at, i),
        _ => arithmetic(i),
    }
}

fn wide(i: Instruction, next: Instruction) -> String {
    match i.src() {
        1 => format!("r{} = map[fd {}]", i.dst(), i.immediate),
        2 => format!("r{} = &map[fd {}][0] + {}", i.dst(), i.immediate, next.immediate),
        _ => {
            let value = u64::from(i.immediate as u32) | u64::from(next.immediate as u32) << 32;
            format!("r{} = {value:#x} ll", i.dst())
        }
    }
}

fn store(i: Instruction) -> String {
    let place = format!("*({} *)(r{} {})", width(i.code), i.dst(), signed(i.offset.into()));
    match (i.code & 0xe0, i.immediate) {
        (0xc0, 0x01) => format!("r{} = atomic_fetch_add({place}, r{})", i.src(), i.src()),
        (0xc0, _) => format!("lock {place} += r{}", i.src()),
        _ => format!("{place} = r{}", i.src()),
    }
}

fn arithmetic(i: Instruction) -> String {
    let letter = if i.code & 7 == 7 { 'r' } else { 'w' };
    let dst = format!("{letter}{}", i.dst());
    let operator = match i.code & 0xf0 {
        0x00 => "+=",
        0x10 => "-=",
        0x20 => "*=",
        0x30 => "/=",
        0x40 => "|=",
        0x50 => "&=",
        0x60 => "<<=",
        0x70 => ">>=",
        0x80 => return format!("{dst} = -{dst}"),
        0x90 => "%=",
        0xa0 => "^=",
        0xb0 => "=",
        0xc0 => "s>>=",
        0xd0 => return format!("r{} = be{} r{}", i.dst(), i.immediate, i.dst()),
        _ => return unknown(i),
    };
    format!("{dst} {operator} {}", second(i, letter))
}

fn flow(at: usize, i: Instruction) -> String {
    let to = at as i64 + 1 + i64::from(i.offset);
    let operator = match i.code & 0xf0 {
        0x00 => return format!("goto {to}"),
        0x80 if i.src() == 1 => return format!("call {}", at as i64 + 1 + i64::from(i.immediate)),
        0x80 => return format!("call {}", helper(i.immediate)),
        0x90 => return "exit".to_owned(),
        0x10 => "==",
        0x20 => ">",
        0x30 => ">=",
        0x40 => "&",
        0x50 => "!=",
        0x60 => "s>",
        0x70 => "s>=",
        0xa0 => "<",
        0xb0 => "<=",
        0xc0 => "s<",
        0xd0 => "s<=",
        _ => return unknown(i),
    };
    let letter = if i.code & 7 == 5 { 'r' } else { 'w' };
    format!("if {letter}{} {operator} {} goto {to}", i.dst(), second(i, letter))
}

fn second(i: Instruction, letter: char) -> String {
    if i.code & 0x08 != 0 { format!("{letter}{}", i.src()) } else { i.immediate.to_string() }
}

fn width(code: u8) -> &'static str {
    match code & 0x18 {
        0x00 => "u32",
        0x08 => "u16",
        0x10 => "u8",
        _ => "u64",
    }
}

fn signed(offset: i64) -> String {
    if offset < 0 { format!("- {}", -offset) } else { format!("+ {offset}") }
}

fn helper(number: i32) -> String {
    match Helper::ALL.iter().find(|helper| **helper as i32 == number) {
        Some(helper) => helper.name().to_owned(),
        None => format!("helper {number}"),
    }
}

fn unknown(i: Instruction) -> String {
    format!("opcode {:#04x}", i.code)
}

#[cfg(test)]
mod tests {
    use crate::{Assembler, Condition, Helper, Register::*, Size, listing};

    #[test]
    fn a_program_reads_like_the_verifiers_messages() {
        let mut a = Assembler::new();
        let end = a.label();
        a.load_u64(R6, 0x1_0000_0002).load(Size::Half, R2, R1, -4).mov32(R3, 7);
        a.jump_if(Condition::Greater, R2, R3, end).call(Helper::KtimeNs);
        a.atomic_add(Size::Double, R6, 8, R0).to_big_endian(R0, Size::Word);
        a.bind(end).exit();
        let expected = "   0: r6 = 0x100000002 ll
   2: r2 = *(u16 *)(r1 - 4)
   3: w3 = 7
   4: if r2 > r3 goto 8
   5: call ktime_get_ns
   6: lock *(u64 *)(r6 + 8) += r0
   7: r0 = be32 r0
   8: exit
";
        assert_eq!(listing(&a.assemble().unwrap()), expected);
    }
}
