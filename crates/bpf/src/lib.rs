//! Programs for the kernel's BPF machine: an assembler, and the few system calls that load, attach and run
//! them.
//!
//! ```text
//! Assembler ─ assemble ─► Vec<Instruction> ─ Program::load ─► Program ─┬─ attach_xdp ─► Link
//!                                                 ▲                    ├─ run / run_live    (BPF_PROG_RUN)
//!                        Map ─ load_map ──────────┘                    └─ attach_tracepoint ─► Link
//!                         └─ share ─► Shared  (words that program and process share)
//!
//! A link is detached when it is dropped.
//! ```
//!
//! No libbpf, no ELF, no C compiler: programs are made of what the user asked for, so they are written by code.
//! Every object is a file descriptor that closes when it is dropped.

mod asm;
mod attached;
mod error;
mod instruction;
mod map;
mod print;
mod program;
mod shared;
mod sys;
mod xdp;

pub use asm::{Alu, Assembler, Condition, Label, Operand};
pub use attached::{Holder, link_holder, program_name};
pub use error::BpfError;
pub use instruction::{Helper, Instruction, Register, Size};
pub use map::{Map, MapKind, MapSpec, possible_cpus};
pub use print::listing;
pub use program::{License, Link, LiveRun, Outcome, Program, ProgramKind};
pub use shared::Shared;
pub use xdp::{Action, XdpMode, context};
