//! What live frames need at the other end: an XDP program, which lets one of so many on to the capture and
//! drops the rest.
//!
//! A veth takes redirected frames only if its peer has a program. Dropped there, they cost least: what is
//! weighed is sending.

use crate::WeighError;
use crate::frames::NUMBER_AT;
use bpf::Register::{R0, R1, R2, R3, R4};
use bpf::{Action, Alu, Assembler, Condition, License, Link, Program, ProgramKind, Size, XdpMode, context};

/// A program on an interface, as long as this lives.
pub struct Gate {
    _link: Link,
}

impl Gate {
    /// On the interface with this index, in the namespace that this thread is in.
    ///
    /// # Errors
    /// No privilege (CAP_BPF, CAP_NET_ADMIN), or the driver takes no program.
    pub fn open(interface: u32, each: u64) -> Result<Self, WeighError> {
        let failed = |error: bpf::BpfError| WeighError::System {
            what: "an XDP program at the other end".into(),
            source: std::io::Error::other(error.to_string()),
        };
        let program = assemble(each).assemble().map_err(failed)?;
        let program =
            Program::load(ProgramKind::Xdp, "tare_gate", &program, License::Apache).map_err(failed)?;
        Ok(Self { _link: program.attach_xdp(interface, XdpMode::Native).map_err(failed)? })
    }
}

fn assemble(each: u64) -> Assembler {
    let mut a = Assembler::new();
    let drop = a.label();
    a.load(Size::Word, R2, R1, context::DATA).load(Size::Word, R3, R1, context::DATA_END);
    a.mov(R4, R2).add(R4, NUMBER_AT as i32 + 1).jump_if(Condition::Greater, R4, R3, drop);
    a.load(Size::Byte, R4, R2, NUMBER_AT as i16);
    a.alu64(Alu::And, R4, (each.clamp(1, 256) - 1) as i32);
    a.jump_if(Condition::NotEqual, R4, 0, drop);
    a.mov(R0, Action::Pass as i32).exit();
    a.bind(drop).mov(R0, Action::Drop as i32).exit();
    a
}
