//! What a driver's stamp costs itself: the kernel copies a packet before it stamps the copy, so a stamp is
//! later than the packet was at the driver. A program on the kernel's tracepoint `net_dev_start_xmit`, which is
//! passed right before the driver is called, tells how much.
//!
//! ```text
//!   hand-over ──── stack ────► tracepoint: our program ─┤ end ├─► driver: copy ─ stamp
//!   └────────────── the system's time ──────────────────┘       └── the stamp's own ──┘
//! ```
//!
//! It needs CAP_BPF and CAP_PERFMON. It runs beside a stretch of its own, not beside trials.

use bpf::{
    Assembler, Condition, Helper, License, Map, MapSpec, Program, ProgramKind, Register::*, Shared, Size,
};
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;

/// Where in the memory that the program shares with us.
const OWN: i16 = 0;
const BASE: i16 = 8;
const COUNT: i16 = 16;
const SUM: i16 = 24;

/// Counts this process's packets on their way to a driver, and adds up their times, until it is dropped.
pub struct Tracepoint {
    _link: bpf::Link,
    memory: Shared,
}

impl Tracepoint {
    /// Times count from `base_monotonic_ns` on.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn attach(base_monotonic_ns: u64) -> Result<Self, bpf::BpfError> {
        let map = Map::create(&MapSpec::memory("tare_stamp", 32))?;
        let memory = map.share()?;
        memory.u64_at(OWN as usize).store(u64::from(std::process::id()), Ordering::Relaxed);
        memory.u64_at(BASE as usize).store(base_monotonic_ns, Ordering::Relaxed);
        let mut a = Assembler::new();
        let others = a.label();
        a.load_map_value(R9, map.as_fd(), 0);
        a.call(Helper::PidTgid).shr(R0, 32).load(Size::Double, R1, R9, OWN);
        a.jump_if(Condition::NotEqual, R0, R1, others);
        a.mov(R1, 1).atomic_add(Size::Double, R9, COUNT, R1);
        // As late as can be: what this program costs is not the stamp's.
        a.call(Helper::KtimeNs).mov(R7, R0);
        a.load(Size::Double, R1, R9, BASE).sub(R7, R1).atomic_add(Size::Double, R9, SUM, R7);
        a.bind(others).mov(R0, 0).exit();
        let program = Program::load(ProgramKind::RawTracepoint, "tare_stamp", &a.assemble()?, License::Dual)?;
        Ok(Self { _link: program.attach_tracepoint(c"net_dev_start_xmit")?, memory })
    }

    /// How many packets, and the sum of their nanoseconds after the base.
    pub fn totals(&self) -> (u64, u64) {
        let at = |place: i16| self.memory.u64_at(place as usize).load(Ordering::Relaxed);
        (at(COUNT), at(SUM))
    }
}
