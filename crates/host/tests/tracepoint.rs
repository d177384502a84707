//! The time of a packet, by other means: a program of our own on the kernel's tracepoint `net_dev_start_xmit`, which adds up when packets
//! of this process were handed to the driver. Needs root.

use bpf::{
    Assembler, Condition, Helper, License, Map, MapSpec, Program, ProgramKind, Register::*, Shared, Size,
};
use host::weigh::packets::{Options, weigh};
use host::weigh::{Stage, Told, Wall, Way};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Where in the memory that the program shares with us.
const OWN: i16 = 0;
const BASE: i16 = 8;
const COUNT: i16 = 16;
const SUM: i16 = 24;

/// Packets of this process that reached a driver, and the sum of their times.
struct Tracepoint {
    _link: bpf::Link,
    memory: Shared,
}

impl Tracepoint {
    fn attach(base_monotonic_ns: u64) -> Self {
        let map = Map::create(&MapSpec::memory("tare_xmit", 32)).unwrap();
        let memory = map.share().unwrap();
        memory.u64_at(OWN as usize).store(u64::from(std::process::id()), Ordering::Relaxed);
        memory.u64_at(BASE as usize).store(base_monotonic_ns, Ordering::Relaxed);
        let mut a = Assembler::new();
        let others = a.label();
        a.call(Helper::KtimeNs).mov(R7, R0).load_map_value(R9, map.as_fd(), 0);
        a.call(Helper::PidTgid).shr(R0, 32).load(Size::Double, R1, R9, OWN);
        a.jump_if(Condition::NotEqual, R0, R1, others);
        a.load(Size::Double, R1, R9, BASE).sub(R7, R1).atomic_add(Size::Double, R9, SUM, R7);
        a.mov(R1, 1).atomic_add(Size::Double, R9, COUNT, R1);
        a.bind(others).mov(R0, 0).exit();
        let code = a.assemble().unwrap();
        let program = Program::load(ProgramKind::RawTracepoint, "tare_xmit", &code, License::Dual).unwrap();
        Self { _link: program.attach_tracepoint(c"net_dev_start_xmit").unwrap(), memory }
    }

    fn totals(&self) -> (u64, u64) {
        let at = |place: i16| self.memory.u64_at(place as usize).load(Ordering::Relaxed);
        (at(COUNT), at(SUM))
    }
}

/// Mean time from hand-over to the tracepoint, and the mean that is reported, over the packets of one trial.
fn both(way: Way) -> (f64, f64) {
    let wall = Wall::default().offset();
    let told = Arc::new(Told::new((wall.wall_ns + wall.monotonic_ns as i64) as u64));
    let tracepoint = Tracepoint::attach(wall.monotonic_ns);
    let options = Options {
        ways: vec![way],
        sizes: vec![64],
        trials: 1,
        packets: 100_000,
        longest_ns: 1_000_000_000,
        threads: Some(1),
        capture: false,
        each: None,
        batch: None,
        through: None,
        wall: Wall::written_to(told.clone()),
    };
    let stage = Stage::bed().unwrap();
    let mut before = None;
    let found = weigh(&stage, &options, way, 64, &AtomicBool::new(false), &mut |_| {
        // The first line is told between the curve and the trial.
        before.get_or_insert_with(|| (told.totals(), tracepoint.totals()));
    })
    .unwrap();
    let ((handed_before, sum_before), (passed_before, passed_sum_before)) = before.unwrap();
    let ((handed, sum), (passed, passed_sum)) = (told.totals(), tracepoint.totals());
    assert_eq!(handed - handed_before, passed - passed_before, "every packet is seen by both");
    let packets = (handed - handed_before) as f64;
    let by_tracepoint = ((passed_sum - passed_sum_before) as f64 - (sum - sum_before) as f64) / packets;
    (by_tracepoint, found.trials[0].overall.mean_ns)
}

/// The tracepoint is passed before the driver is called, and the driver's stamp is made of a copy of the packet, after this program has run:
/// a stamp is later than the tracepoint, by what both cost (some hundred nanoseconds), and by no more.
#[test]
fn the_mean_time_is_that_of_a_tracepoint_and_of_the_stamp_itself() {
    // Frames of a packet socket without a queueing discipline pass no tracepoint.
    let way = Way::Udp;
    // A pause between tracepoint and stamp is in one of them alone: the best of a few tries counts.
    let tries: Vec<(f64, f64)> = (0..5).map(|_| both(way)).collect();
    let off = |(a, b): &(f64, f64)| (b - a).abs() / a;
    let best = tries.iter().min_by(|a, b| off(a).total_cmp(&off(b))).unwrap();
    println!("{way}: by tracepoint and as reported, ns: {tries:?}");
    assert!(best.0 < best.1 && off(best) < 0.40, "{way}: {tries:?}");
}
