//! Frames that were written here, sent as live frames: each run copies the next one out of a map.
//!
//! A call costs tens of milliseconds whatever it sends, so this is for single frames (an ARP answer), not for
//! load.

use super::state::{self, State};
use bpf::{
    Action, Assembler, BpfError, Condition, Helper, License, LiveRun, Map, MapSpec, Program, ProgramKind,
    Register::*, Shared, Size,
};
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering::Relaxed;

/// Frames that one call takes: as many as the kernel flushes at once.
pub const MOST: usize = 256;
/// Bytes for each frame, its length in the first eight.
const SLOT: usize = 4096;
const NEXT: usize = 0;
const COUNT: usize = 8;
const SLOTS: usize = 64;

/// The map and the program.
#[derive(Debug)]
pub struct Copies {
    shared: Shared,
    program: Program,
    /// A frame of the greatest length, of which each run keeps as much as it needs.
    blank: Vec<u8>,
}

impl Copies {
    pub fn new(interface: u32, longest: usize, state: &State) -> Result<Self, BpfError> {
        let map = Map::create(&MapSpec::memory("tare_copies", (SLOTS + MOST * SLOT) as u32))?;
        let shared = map.share()?;
        let mut a = Assembler::new();
        let (nothing, whole) = (a.label(), a.label());
        a.mov(R6, R1).load_map_value(R9, map.as_fd(), 0);
        a.load(Size::Double, R7, R9, NEXT as i16).load(Size::Double, R1, R9, COUNT as i16);
        a.jump_if(Condition::GreaterOrEqual, R7, R1, nothing).jump_if(
            Condition::GreaterOrEqual,
            R7,
            MOST as i32,
            nothing,
        );
        a.mov(R1, R7).add(R1, 1).store(Size::Double, R9, NEXT as i16, R1);
        a.mul(R7, SLOT as i32).load_map_value(R8, map.as_fd(), SLOTS as u32).add(R8, R7);
        a.load(Size::Double, R9, R8, 0);
        a.jump_if(Condition::Less, R9, 14, nothing).jump_if(Condition::Greater, R9, longest as i32, nothing);
        a.mov(R1, R6).mov(R2, 0).mov(R3, R8).add(R3, 8).mov(R4, R9).call(Helper::XdpStoreBytes);
        a.jump_if(Condition::NotEqual, R0, 0, nothing);
        a.mov(R2, R9).sub(R2, longest as i32).jump_if(Condition::Equal, R2, 0, whole);
        a.mov(R1, R6).call(Helper::XdpAdjustTail).jump_if(Condition::NotEqual, R0, 0, nothing);
        // Under way from now on, and no earlier: what others' frames meet on this CPU until then is not ours.
        a.bind(whole).load_map_value(R9, state.map(), 0).load(Size::Double, R1, R9, state::NEXT);
        a.add(R1, 1).store(Size::Double, R9, state::NEXT, R1);
        a.mov(R1, interface as i32).mov(R2, 0).call(Helper::Redirect).exit();
        a.bind(nothing).mov(R0, Action::Drop as i32).exit();
        let program = Program::load(ProgramKind::Xdp, "tare_copies", &a.assemble()?, License::Apache)?;
        Ok(Self { shared, program, blank: vec![0; longest] })
    }

    /// Puts a frame into the n-th place.
    pub fn put(&self, n: usize, frame: &[u8]) {
        let at = SLOTS + n * SLOT;
        self.shared.u64_at(at).store(frame.len() as u64, Relaxed);
        self.shared.write(at + 8, frame);
    }

    /// Sends the first `count`; returns when the driver has had them.
    pub fn send(&self, count: usize) -> io::Result<()> {
        self.shared.u64_at(NEXT).store(0, Relaxed);
        self.shared.u64_at(COUNT).store(count as u64, Relaxed);
        loop {
            let left = count as u64 - self.shared.u64_at(NEXT).load(Relaxed);
            if left == 0 {
                return Ok(());
            }
            let run = LiveRun { frame: &self.blank, repeat: left as u32, batch: left as u32 };
            match self.program.run_live(&run) {
                Ok(()) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}
