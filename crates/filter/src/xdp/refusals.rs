//! Frames that were sent on and not taken: counted by the kernel's own tracepoints, CPU by CPU.
//!
//! ```text
//!   program ─ handed += 1 ─► redirect ─► bulk of this CPU ─► driver: sent, dropped ─► tracepoint A
//!                               └─ not even that: xdp_redirect_err ─────────────────► tracepoint B
//!
//!   A: left += sent + dropped, refused += dropped        B: left += 1, refused += 1
//! ```
//!
//! A driver hands all it has over before its round on a CPU ends, and on an interface with our program only
//! ours runs in that round: whatever passes a tracepoint on a CPU where frames of ours are under way is ours.
//! (So it is with programs in the driver; those that run after it hand each frame over by itself, past these
//! tracepoints.)

use bpf::{
    Assembler, BpfError, Condition, Helper, License, Link, Map, MapSpec, Program, ProgramKind, Register::*,
    Shared, Size,
};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::Ordering;

/// Bytes for each CPU, so that no two share a cache line.
pub(super) const STRIDE: usize = 64;
/// Frames that the program sent on; those that are through; of these, those that were refused; why the last one
/// was.
pub(super) const HANDED: i16 = 0;
const LEFT: i16 = 8;
pub(super) const REFUSED: i16 = 16;
const ERROR: i16 = 24;

/// The counts of one direction. Programs that take each other's place share them.
#[derive(Debug)]
pub struct Refusals {
    map: Map,
    shared: Shared,
    cpus: usize,
    _batches: Link,
    _errors: Link,
}

impl Refusals {
    /// # Errors
    /// `Privilege` without CAP_PERFMON; `System` on a kernel without these tracepoints.
    pub fn begin() -> Result<Self, BpfError> {
        let cpus = bpf::possible_cpus()?;
        let map = Map::create(&MapSpec::memory("tare_refused", (STRIDE * cpus) as u32))?;
        let shared = map.share()?;
        // (from device, to device, sent, drops, error)
        let batches = load("tare_fw_batch", map.as_fd(), cpus, |a| {
            a.load(Size::Double, R2, R6, 16).load(Size::Double, R3, R6, 24).load(Size::Double, R4, R6, 32);
        })?;
        // (device, program, action, error, …)
        let errors = load("tare_fw_error", map.as_fd(), cpus, |a| {
            a.mov(R2, 0).mov(R3, 1).load(Size::Double, R4, R6, 24);
        })?;
        Ok(Self {
            _batches: batches.attach_tracepoint(c"xdp_devmap_xmit")?,
            _errors: errors.attach_tracepoint(c"xdp_redirect_err")?,
            map,
            shared,
            cpus,
        })
    }

    pub(super) fn map(&self) -> BorrowedFd<'_> {
        self.map.as_fd()
    }

    /// Frames that were refused.
    pub fn frames(&self) -> u64 {
        self.words(REFUSED).sum()
    }

    /// Frames of which it is not known yet.
    pub fn under_way(&self) -> u64 {
        let left: Vec<u64> = self.words(LEFT).collect();
        self.words(HANDED).zip(left).map(|(handed, left)| handed.saturating_sub(left)).sum()
    }

    /// Why the last one was refused, as an errno.
    pub fn errno(&self) -> Option<i32> {
        self.words(ERROR).map(|error| (error as u32 as i32).wrapping_neg()).find(|errno| *errno > 0)
    }

    fn words(&self, at: i16) -> impl Iterator<Item = u64> {
        let word = move |cpu| self.shared.u64_at(cpu * STRIDE + at as usize).load(Ordering::Acquire);
        (0..self.cpus).map(word)
    }
}

/// R1 = address of this CPU's words; R0 is lost. Jumps to `none` if there are none.
pub(super) fn words_of_this_cpu(a: &mut Assembler, map: BorrowedFd<'_>, cpus: usize, none: bpf::Label) {
    a.call(Helper::Cpu).jump_if(Condition::GreaterOrEqual, R0, cpus as i32, none);
    a.mul(R0, STRIDE as i32).load_map_value(R1, map, 0).add(R1, R0);
}

/// `read` takes from the arguments in R6: R2 sent, R3 dropped, R4 error; each has 32 bits.
fn load(
    name: &str,
    map: BorrowedFd<'_>,
    cpus: usize,
    read: impl Fn(&mut Assembler),
) -> Result<Program, BpfError> {
    let mut a = Assembler::new();
    let (others, all, no_drops) = (a.label(), a.label(), a.label());
    a.mov(R6, R1);
    words_of_this_cpu(&mut a, map, cpus, others);
    a.mov(R9, R1).load(Size::Double, R7, R9, HANDED).load(Size::Double, R5, R9, LEFT);
    a.jump_if(Condition::LessOrEqual, R7, R5, others);
    read(&mut a);
    a.mov32(R2, R2).mov32(R3, R3).add(R5, R2).add(R5, R3);
    // Never more through than were handed over.
    a.jump_if(Condition::LessOrEqual, R5, R7, all).mov(R5, R7).bind(all);
    a.jump_if(Condition::Equal, R3, 0, no_drops);
    a.load(Size::Double, R1, R9, REFUSED).add(R1, R3).store(Size::Double, R9, REFUSED, R1);
    a.store(Size::Double, R9, ERROR, R4);
    // Last: whoever sees a frame as through sees its refusal, too.
    a.bind(no_drops).store(Size::Double, R9, LEFT, R5).bind(others).mov(R0, 0).exit();
    Program::load(ProgramKind::RawTracepoint, name, &a.assemble()?, License::Dual)
}
