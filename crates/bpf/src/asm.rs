//! The assembler: instructions in order, with names for the places that are jumped to.
//!
//! ```
//! use bpf::{Assembler, Condition, Register::*, Size, context};
//! let mut a = Assembler::new();
//! let short = a.label();
//! a.load(Size::Word, R2, R1, context::DATA);
//! a.load(Size::Word, R3, R1, context::DATA_END);
//! a.mov(R4, R2).add(R4, 14);
//! a.jump_if(Condition::Greater, R4, R3, short); // a forward jump: the label is bound below
//! a.mov(R0, 2).exit();
//! a.bind(short);
//! a.mov(R0, 1).exit();
//! assert_eq!(a.assemble().unwrap().len(), 9);
//! ```

use crate::error::BpfError;
use crate::instruction::{Helper, Instruction, Register, Size};
use std::os::fd::{AsRawFd, BorrowedFd};

const LD: u8 = 0x00;
const LDX: u8 = 0x01;
const ST: u8 = 0x02;
const STX: u8 = 0x03;
const ALU32: u8 = 0x04;
const JMP: u8 = 0x05;
const JMP32: u8 = 0x06;
const ALU64: u8 = 0x07;
const MEM: u8 = 0x60;
const ATOMIC: u8 = 0xc0;
const FROM_REGISTER: u8 = 0x08;
const CALL: u8 = 0x80;
const EXIT: u8 = 0x90;
const END: u8 = 0xd0;
const NEGATE: u8 = 0x80;

const PSEUDO_MAP_FD: u8 = 1;
const PSEUDO_MAP_VALUE: u8 = 2;
const PSEUDO_CALL: u8 = 1;

/// The second operand: a register or a number (which is sign-extended to 64 bits).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    Register(Register),
    Immediate(i32),
}

impl From<Register> for Operand {
    fn from(register: Register) -> Self {
        Self::Register(register)
    }
}

impl From<i32> for Operand {
    fn from(value: i32) -> Self {
        Self::Immediate(value)
    }
}

/// An operation of the arithmetic unit. All are unsigned but for `ShiftRightSigned`; division by 0 gives 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Alu {
    Add = 0x00,
    Subtract = 0x10,
    Multiply = 0x20,
    Divide = 0x30,
    Or = 0x40,
    And = 0x50,
    ShiftLeft = 0x60,
    ShiftRight = 0x70,
    Remainder = 0x90,
    Xor = 0xa0,
    Move = 0xb0,
    ShiftRightSigned = 0xc0,
}

/// When a conditional jump is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Condition {
    Equal = 0x10,
    Greater = 0x20,
    GreaterOrEqual = 0x30,
    /// Any of the second operand's bits is set.
    AnyBit = 0x40,
    NotEqual = 0x50,
    SignedGreater = 0x60,
    SignedGreaterOrEqual = 0x70,
    Less = 0xa0,
    LessOrEqual = 0xb0,
    SignedLess = 0xc0,
    SignedLessOrEqual = 0xd0,
}

/// A place in the program, named before or after it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Label(usize);

#[derive(Clone, Copy, Debug)]
struct Fixup {
    at: usize,
    label: Label,
    /// A call's distance is in the immediate, a jump's in the offset.
    is_call: bool,
}

/// A program in the making.
#[derive(Clone, Debug, Default)]
pub struct Assembler {
    code: Vec<Instruction>,
    labels: Vec<Option<usize>>,
    fixups: Vec<Fixup>,
}

macro_rules! arithmetic {
    ($($wide:ident $narrow:ident = $op:ident,)+) => {
        $(
            pub fn $wide(&mut self, dst: Register, src: impl Into<Operand>) -> &mut Self {
                self.alu64(Alu::$op, dst, src)
            }
            pub fn $narrow(&mut self, dst: Register, src: impl Into<Operand>) -> &mut Self {
                self.alu32(Alu::$op, dst, src)
            }
        )+
    };
}

/// Arithmetic: each in 64 bits, and (name with `32`) in 32 bits, which clears the upper half.
impl Assembler {
    arithmetic! {
        mov mov32 = Move,
        add add32 = Add,
        sub sub32 = Subtract,
        mul mul32 = Multiply,
        div div32 = Divide,
        rem rem32 = Remainder,
        or or32 = Or,
        and and32 = And,
        xor xor32 = Xor,
        shl shl32 = ShiftLeft,
        shr shr32 = ShiftRight,
        sar sar32 = ShiftRightSigned,
    }

    pub fn alu64(&mut self, op: Alu, dst: Register, src: impl Into<Operand>) -> &mut Self {
        self.operate(ALU64, op, dst, src.into())
    }

    pub fn alu32(&mut self, op: Alu, dst: Register, src: impl Into<Operand>) -> &mut Self {
        self.operate(ALU32, op, dst, src.into())
    }

    pub fn negate(&mut self, dst: Register) -> &mut Self {
        self.push(ALU64 | NEGATE, dst as u8, 0, 0, 0)
    }

    /// Turns the low 16, 32 or 64 bits of a register into big-endian order (or back), and clears what is above
    /// them.
    pub fn to_big_endian(&mut self, dst: Register, size: Size) -> &mut Self {
        self.push(ALU32 | END | FROM_REGISTER, dst as u8, 0, 0, size.bytes() as i32 * 8)
    }

    fn operate(&mut self, class: u8, op: Alu, dst: Register, src: Operand) -> &mut Self {
        let (flag, register, immediate) = split(src);
        self.push(class | op as u8 | flag, dst as u8, register, 0, immediate)
    }
}

/// Memory.
impl Assembler {
    /// dst = *(base + offset), zero-extended.
    pub fn load(&mut self, size: Size, dst: Register, base: Register, offset: i16) -> &mut Self {
        self.push(LDX | MEM | size.code(), dst as u8, base as u8, offset, 0)
    }

    /// *(base + offset) = src.
    pub fn store(&mut self, size: Size, base: Register, offset: i16, src: impl Into<Operand>) -> &mut Self {
        match src.into() {
            Operand::Register(src) => self.push(STX | MEM | size.code(), base as u8, src as u8, offset, 0),
            Operand::Immediate(value) => self.push(ST | MEM | size.code(), base as u8, 0, offset, value),
        }
    }

    /// *(base + offset) += src, as one step for all CPUs. `size` is `Word` or `Double`.
    pub fn atomic_add(&mut self, size: Size, base: Register, offset: i16, src: Register) -> &mut Self {
        self.push(STX | ATOMIC | size.code(), base as u8, src as u8, offset, 0)
    }

    /// As `atomic_add`, and src becomes what was there before.
    pub fn atomic_fetch_add(&mut self, size: Size, base: Register, offset: i16, src: Register) -> &mut Self {
        self.push(STX | ATOMIC | size.code(), base as u8, src as u8, offset, 0x01)
    }

    /// dst = a 64-bit number (two instructions).
    pub fn load_u64(&mut self, dst: Register, value: u64) -> &mut Self {
        self.wide(dst, 0, value as u32 as i32, (value >> 32) as u32 as i32)
    }

    /// dst = a map, for helpers that take one. The map must stay open until the program is loaded, which keeps
    /// it from then on.
    pub fn load_map(&mut self, dst: Register, map: BorrowedFd<'_>) -> &mut Self {
        self.wide(dst, PSEUDO_MAP_FD, map.as_raw_fd(), 0)
    }

    /// dst = the address of byte `offset` of an array map's values: memory that can be read and written with no
    /// look-up.
    pub fn load_map_value(&mut self, dst: Register, map: BorrowedFd<'_>, offset: u32) -> &mut Self {
        self.wide(dst, PSEUDO_MAP_VALUE, map.as_raw_fd(), offset as i32)
    }

    fn wide(&mut self, dst: Register, kind: u8, low: i32, high: i32) -> &mut Self {
        self.push(LD | 0x18, dst as u8, kind, 0, low);
        self.push(0, 0, 0, 0, high)
    }
}

/// Flow.
impl Assembler {
    pub fn new() -> Self {
        Self::default()
    }

    /// A new name, to be bound once.
    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// The label means the instruction that comes next.
    ///
    /// # Panics
    /// If it was bound before: a mistake in the program that writes the program.
    pub fn bind(&mut self, label: Label) -> &mut Self {
        assert!(self.labels[label.0].is_none(), "a label is bound once");
        self.labels[label.0] = Some(self.code.len());
        self
    }

    /// A label that is bound here, for jumps back.
    pub fn here(&mut self) -> Label {
        let label = self.label();
        self.bind(label);
        label
    }

    pub fn jump(&mut self, to: Label) -> &mut Self {
        self.fix(to, false);
        self.push(JMP, 0, 0, 0, 0)
    }

    /// Jumps if `dst condition src`, compared in 64 bits.
    pub fn jump_if(
        &mut self,
        when: Condition,
        dst: Register,
        src: impl Into<Operand>,
        to: Label,
    ) -> &mut Self {
        self.branch(JMP, when, dst, src.into(), to)
    }

    /// As `jump_if`, in the low 32 bits.
    pub fn jump_if32(
        &mut self,
        when: Condition,
        dst: Register,
        src: impl Into<Operand>,
        to: Label,
    ) -> &mut Self {
        self.branch(JMP32, when, dst, src.into(), to)
    }

    pub fn call(&mut self, helper: Helper) -> &mut Self {
        self.push(JMP | CALL, 0, 0, 0, helper as i32)
    }

    /// Calls a function of this program, which is what stands between `to` and its `exit`.
    pub fn call_local(&mut self, to: Label) -> &mut Self {
        self.fix(to, true);
        self.push(JMP | CALL, 0, PSEUDO_CALL, 0, 0)
    }

    pub fn exit(&mut self) -> &mut Self {
        self.push(JMP | EXIT, 0, 0, 0, 0)
    }

    /// Instructions so far.
    pub fn len(&self) -> usize {
        self.code.len()
    }

    pub fn is_empty(&self) -> bool {
        self.code.is_empty()
    }

    /// Resolves all jumps.
    ///
    /// # Errors
    /// A label that was never bound, or a jump over more than 32 767 instructions.
    pub fn assemble(&self) -> Result<Vec<Instruction>, BpfError> {
        let mut code = self.code.clone();
        for fixup in &self.fixups {
            let to = self.labels[fixup.label.0].ok_or(BpfError::Assembly {
                at: fixup.at,
                problem: "a jump leads to a label that is bound nowhere",
            })?;
            let distance = to as i64 - fixup.at as i64 - 1;
            if fixup.is_call {
                code[fixup.at].immediate = distance as i32;
            } else {
                code[fixup.at].offset = i16::try_from(distance).map_err(|_| BpfError::Assembly {
                    at: fixup.at,
                    problem: "a jump is longer than 32767 instructions",
                })?;
            }
        }
        Ok(code)
    }

    fn branch(&mut self, class: u8, when: Condition, dst: Register, src: Operand, to: Label) -> &mut Self {
        self.fix(to, false);
        let (flag, register, immediate) = split(src);
        self.push(class | when as u8 | flag, dst as u8, register, 0, immediate)
    }

    fn fix(&mut self, label: Label, is_call: bool) {
        self.fixups.push(Fixup { at: self.code.len(), label, is_call });
    }

    fn push(&mut self, code: u8, dst: u8, src: u8, offset: i16, immediate: i32) -> &mut Self {
        self.code.push(Instruction::new(code, dst, src, offset, immediate));
        self
    }
}

const fn split(src: Operand) -> (u8, u8, i32) {
    match src {
        Operand::Register(register) => (FROM_REGISTER, register as u8, 0),
        Operand::Immediate(value) => (0, 0, value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Register::*;

    /// Bytes by hand from RFC 9669, section 4 and 5: opcode, registers, offset (LE), immediate (LE).
    fn bytes(instruction: Instruction) -> [u8; 8] {
        let offset = instruction.offset.to_le_bytes();
        let immediate = instruction.immediate.to_le_bytes();
        [
            instruction.code,
            instruction.registers,
            offset[0],
            offset[1],
            immediate[0],
            immediate[1],
            immediate[2],
            immediate[3],
        ]
    }

    fn one(write: impl FnOnce(&mut Assembler)) -> [u8; 8] {
        let mut a = Assembler::new();
        write(&mut a);
        bytes(a.assemble().unwrap()[0])
    }

    #[test]
    fn instructions_are_those_of_the_standard() {
        assert_eq!(one(|a| _ = a.mov(R1, R2)), [0xbf, 0x21, 0, 0, 0, 0, 0, 0]);
        assert_eq!(one(|a| _ = a.mov(R1, -1)), [0xb7, 0x01, 0, 0, 0xff, 0xff, 0xff, 0xff]);
        assert_eq!(one(|a| _ = a.add32(R3, 7)), [0x04, 0x03, 0, 0, 7, 0, 0, 0]);
        assert_eq!(one(|a| _ = a.sub(R3, R9)), [0x1f, 0x93, 0, 0, 0, 0, 0, 0]);
        assert_eq!(one(|a| _ = a.negate(R4)), [0x87, 0x04, 0, 0, 0, 0, 0, 0]);
        assert_eq!(one(|a| _ = a.to_big_endian(R4, Size::Half)), [0xdc, 0x04, 0, 0, 16, 0, 0, 0]);
        assert_eq!(one(|a| _ = a.load(Size::Word, R2, R1, 4)), [0x61, 0x12, 4, 0, 0, 0, 0, 0]);
        assert_eq!(one(|a| _ = a.store(Size::Double, R10, -8, R2)), [0x7b, 0x2a, 0xf8, 0xff, 0, 0, 0, 0]);
        assert_eq!(one(|a| _ = a.store(Size::Byte, R2, 1, 5)), [0x72, 0x02, 1, 0, 5, 0, 0, 0]);
        assert_eq!(one(|a| _ = a.atomic_add(Size::Double, R1, 0, R2)), [0xdb, 0x21, 0, 0, 0, 0, 0, 0]);
        assert_eq!(one(|a| _ = a.call(Helper::KtimeNs)), [0x85, 0, 0, 0, 5, 0, 0, 0]);
        assert_eq!(one(|a| _ = a.exit()), [0x95, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn a_64_bit_number_takes_two_instructions() {
        let mut a = Assembler::new();
        a.load_u64(R3, 0x1122_3344_5566_7788);
        let code = a.assemble().unwrap();
        assert_eq!(bytes(code[0]), [0x18, 3, 0, 0, 0x88, 0x77, 0x66, 0x55]);
        assert_eq!(bytes(code[1]), [0, 0, 0, 0, 0x44, 0x33, 0x22, 0x11]);
    }

    #[test]
    fn jumps_forward_and_back_count_from_the_next_instruction() {
        let mut a = Assembler::new();
        let end = a.label();
        let top = a.here();
        a.jump_if(Condition::Equal, R1, 0, end); // 0
        a.sub(R1, 1); // 1
        a.jump(top); // 2
        a.bind(end);
        a.exit(); // 3
        let code = a.assemble().unwrap();
        assert_eq!(code[0].offset, 2); // 0 + 1 + 2 = 3
        assert_eq!(code[2].offset, -3); // 2 + 1 − 3 = 0
    }

    #[test]
    fn a_label_that_is_bound_nowhere_is_an_error() {
        let mut a = Assembler::new();
        let lost = a.label();
        a.mov(R0, 0).jump(lost);
        assert!(a.assemble().unwrap_err().to_string().contains("instruction 1"));
    }

    #[test]
    fn a_jump_that_is_too_long_is_an_error() {
        let mut a = Assembler::new();
        let end = a.label();
        a.jump(end);
        for _ in 0..32_768 {
            a.mov(R0, 0);
        }
        a.bind(end).exit();
        assert!(a.assemble().is_err());
    }
}
