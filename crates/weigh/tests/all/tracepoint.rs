//! The time of a packet, by other means: a program of our own on the kernel's tracepoint `net_dev_start_xmit`,
//! which adds up when packets of this process were handed to the driver. Needs root.

use bpf::{
    Assembler, Condition, Helper, License, Map, MapSpec, Program, ProgramKind, Register::*, Shared, Size,
};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use weigh::packets::{Options, weigh};
use weigh::{Stage, Told, Wall, Way};

/// Where in the memory that the program shares with us.
const OWN: i16 = 0;
const BASE: i16 = 8;
const COUNT: i16 = 16;
const SUM: i16 = 24;
/// Of five pairs each.
const BATCHES: usize = 4;

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

/// What one trial of 100 000 packets tells, in ns.
#[derive(Clone, Copy, Debug)]
struct Means {
    /// From hand-over to the tracepoint; 0 where none was attached.
    tracepoint: f64,
    /// As it is reported.
    reported: f64,
    /// Of which the stamp's own, as it is reported.
    late: f64,
}

fn measured(way: Way, is_watched: bool) -> Means {
    let wall = Wall::default().offset();
    let told = Arc::new(Told::new((wall.wall_ns + wall.monotonic_ns as i64) as u64));
    let tracepoint = is_watched.then(|| Tracepoint::attach(wall.monotonic_ns));
    let passed = || tracepoint.as_ref().map_or((0, 0), Tracepoint::totals);
    let options = Options {
        ways: vec![way],
        sizes: vec![64],
        trials: 1,
        packets: 100_000,
        longest_ns: 1_000_000_000,
        threads: Some(1),
        wall: Wall::written_to(told.clone()),
        ..Options::default()
    };
    let stage = Stage::bed().unwrap();
    let mut before = None;
    let found = weigh(&stage, &options, way, 64, &AtomicBool::new(false), &mut |_| {
        // The first line is told between the curve and the trial.
        before.get_or_insert_with(|| (told.totals(), passed()));
    })
    .unwrap();
    let reported = found.trials[0].overall.mean_ns;
    let late = found.stamps.late_ns.expect("root is told what a stamp costs");
    let ((handed_before, sum_before), (passed_before, passed_sum_before)) = before.unwrap();
    let ((handed, sum), (passed, passed_sum)) = (told.totals(), passed());
    if !is_watched {
        return Means { tracepoint: 0.0, reported, late };
    }
    assert_eq!(handed - handed_before, passed - passed_before, "every packet is seen by both");
    let packets = (handed - handed_before) as f64;
    let tracepoint = ((passed_sum - passed_sum_before) as f64 - (sum - sum_before) as f64) / packets;
    Means { tracepoint, reported, late }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The tracepoint is passed right before the driver is called; the driver's stamp is made of a copy of the
/// packet, and what that costs is told beside it. Less that, the time that is reported (of trials that nobody
/// watches, in turns with the watched ones) is the tracepoint's.
#[test]
fn the_mean_time_is_that_of_a_tracepoint() {
    let _turn = crate::turn();
    // Frames of a packet socket without a queueing discipline pass no tracepoint.
    let way = Way::Udp;
    let (mut pairs, mut off, mut is_near) = (Vec::new(), f64::INFINITY, false);
    // A trial differs from the next by a tenth where others use the machine: more of them, until their median
    // is near the truth.
    for _ in 0..BATCHES {
        pairs.extend((0..5).map(|_| (measured(way, true), measured(way, false))));
        let of = |pick: fn(&(Means, Means)) -> f64| median(pairs.iter().map(pick).collect());
        let watched = of(|(watched, _)| watched.tracepoint);
        let (reported, late) = (of(|(_, alone)| alone.reported), of(|(_, alone)| alone.late));
        off = (reported - late) / watched - 1.0;
        // What the tracepoint does before it reads the clock is in its time: at most what watching costs.
        let own = (of(|(watched, _)| watched.reported) - reported).max(0.0) / watched;
        is_near = (-0.10 - own..0.10).contains(&off);
        println!(
            "{way}: by tracepoint {watched:.0} ns; reported {reported:.0}, of which the stamp's own {late:.0}: {:+.1} % \
             (watching costs {:.1} %), {} pairs",
            off * 100.0,
            own * 100.0,
            pairs.len()
        );
        if is_near {
            break;
        }
    }
    // A stamp behind the tracepoint within the same packet is later, always.
    assert!(pairs.iter().all(|(watched, _)| watched.tracepoint < watched.reported), "{way}: {pairs:#?}");
    assert!(is_near, "{way}: {off} {pairs:#?}");
}
