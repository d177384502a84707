//! What the driver did with the frames that were handed to it, by the kernel's own tracepoints.
//!
//! | tracepoint | when | what it says |
//! |---|---|---|
//! | `xdp_devmap_xmit` | after each batch that a driver was given | sent, dropped, error |
//! | `xdp_redirect_err` | a frame that did not get that far | error |
//!
//! Frames of others pass there too. Ours are told apart with certainty: between a run of our program and the
//! flush of its frames the kernel does nothing else on this CPU, so whatever passes there on our CPU while
//! frames of ours are under way is ours.

use super::state::{CPU, ERROR, LEFT, NEXT, REFUSED, State};
use bpf::{Assembler, BpfError, Condition, Helper, License, Link, Program, ProgramKind, Register::*, Size};

/// Both programs, at work until dropped.
#[derive(Debug)]
pub struct Watching {
    _batches: Link,
    _errors: Link,
}

impl Watching {
    /// # Errors
    /// `Privilege` without CAP_PERFMON; `System` on a kernel without these tracepoints.
    pub fn begin(state: &State) -> Result<Self, BpfError> {
        // (from device, to device, sent, drops, error)
        let batches = load("tare_batches", state, |a| {
            a.load(Size::Double, R2, R6, 16).load(Size::Double, R3, R6, 24).load(Size::Double, R4, R6, 32);
        })?;
        // (device, program, action, error, …)
        let errors = load("tare_errors", state, |a| {
            a.mov(R2, 0).mov(R3, 1).load(Size::Double, R4, R6, 24);
        })?;
        Ok(Self {
            _batches: batches.attach_tracepoint(c"xdp_devmap_xmit")?,
            _errors: errors.attach_tracepoint(c"xdp_redirect_err")?,
        })
    }
}

/// `read` takes from the arguments in R6: R2 sent, R3 dropped, R4 error; each has 32 bits.
fn load(name: &str, state: &State, read: impl Fn(&mut Assembler)) -> Result<Program, BpfError> {
    let mut a = Assembler::new();
    let (others, no_drops) = (a.label(), a.label());
    a.mov(R6, R1).load_map_value(R9, state.map(), 0);
    a.call(Helper::Cpu).load(Size::Double, R1, R9, CPU).jump_if(Condition::NotEqual, R0, R1, others);
    a.load(Size::Double, R1, R9, NEXT).load(Size::Double, R5, R9, LEFT);
    a.jump_if(Condition::LessOrEqual, R1, R5, others);
    read(&mut a);
    a.mov32(R2, R2).mov32(R3, R3).add(R5, R2).add(R5, R3).store(Size::Double, R9, LEFT, R5);
    a.jump_if(Condition::Equal, R3, 0, no_drops);
    a.load(Size::Double, R1, R9, REFUSED).add(R1, R3).store(Size::Double, R9, REFUSED, R1);
    a.store(Size::Double, R9, ERROR, R4);
    a.bind(no_drops).bind(others).mov(R0, 0).exit();
    Program::load(ProgramKind::RawTracepoint, name, &a.assemble()?, License::Dual)
}
