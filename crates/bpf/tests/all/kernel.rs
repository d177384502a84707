//! What the assembler writes, run by the kernel: needs CAP_BPF and CAP_NET_ADMIN.

use bpf::{
    Action, Alu, Assembler, BpfError, Condition, Helper, License, LiveRun, Map, MapKind, MapSpec, Program,
    ProgramKind,
    Register::{self, *},
    Size, XdpMode, context,
};
use proptest::prelude::*;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering::Relaxed;

const FRAME: [u8; 60] = [0x55; 60];

fn load(write: impl FnOnce(&mut Assembler)) -> Result<Program, BpfError> {
    let mut a = Assembler::new();
    write(&mut a);
    Program::load(ProgramKind::Xdp, "test", &a.assemble().unwrap(), License::Apache)
}

/// Runs `work` in a network namespace of its own, which goes away with its thread.
fn apart<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        scope
            .spawn(|| {
                // SAFETY: this thread leaves its namespace; no memory is concerned.
                assert_eq!(unsafe { libc::unshare(libc::CLONE_NEWNET) }, 0, "needs CAP_SYS_ADMIN");
                work()
            })
            .join()
            .unwrap()
    })
}

#[test]
fn a_program_reads_and_changes_a_frame() {
    let program = load(|a| {
        let short = a.label();
        a.load(Size::Word, R2, R1, context::DATA).load(Size::Word, R3, R1, context::DATA_END);
        a.mov(R4, R2).add(R4, 8).jump_if(Condition::Greater, R4, R3, short);
        a.load_u64(R5, 0x0102_0304_0506_0708).store(Size::Double, R2, 0, R5);
        a.mov(R0, Action::Transmit as i32).exit();
        a.bind(short).mov(R0, Action::Drop as i32).exit();
    })
    .unwrap();
    let outcome = program.run(&FRAME, 1).unwrap();
    assert_eq!(outcome.returned, Action::Transmit as u32);
    assert_eq!(outcome.frame[..9], [8, 7, 6, 5, 4, 3, 2, 1, 0x55]);
    assert_eq!(outcome.frame.len(), 60);
}

#[test]
fn what_the_verifier_dislikes_is_told_in_its_words() {
    let error = load(|a| _ = a.mov(R0, R7).exit()).unwrap_err();
    assert!(error.to_string().contains("R7 !read_ok"), "{error}");
}

#[test]
fn a_program_counts_in_memory_that_we_see() {
    let map = Map::create(&MapSpec::memory("words", 64)).unwrap();
    let shared = map.share().unwrap();
    shared.u64_at(8).store(40, Relaxed);
    let program = load(|a| {
        a.load_map_value(R1, map.as_fd(), 8).mov(R2, 2);
        a.atomic_add(Size::Double, R1, 0, R2);
        a.atomic_fetch_add(Size::Double, R1, 8, R2);
        a.mov(R0, R2).exit();
    })
    .unwrap();
    assert_eq!(program.run(&FRAME, 1).unwrap().returned, 0);
    assert_eq!(program.run(&FRAME, 1).unwrap().returned, 2);
    assert_eq!((shared.u64_at(8).load(Relaxed), shared.u64_at(16).load(Relaxed)), (44, 4));
}

#[test]
fn functions_and_loops_are_called_and_jumped_to() {
    // 10 + 9 + … + 1 = 55
    let program = load(|a| {
        let (sum, top) = (a.label(), a.label());
        a.mov(R1, 10).call_local(sum).exit();
        a.bind(sum).mov(R0, 0);
        a.bind(top).add(R0, R1).sub(R1, 1).jump_if(Condition::NotEqual, R1, 0, top).exit();
    })
    .unwrap();
    assert_eq!(program.run(&FRAME, 1).unwrap().returned, 55);
}

#[test]
fn maps_keep_what_is_written_one_by_one_or_at_once() {
    for kind in [MapKind::Hash, MapKind::LruHash, MapKind::Array] {
        // An LRU map that is full to the brim forgets: its CPUs keep free entries apart.
        let room = if kind == MapKind::LruHash { 8000 } else { 1000 };
        let spec = MapSpec { kind, ..MapSpec::array("kept", 8, room) };
        let map = Map::create(&MapSpec { is_lazy: kind == MapKind::Hash, ..spec }).unwrap();
        let keys: Vec<u8> = (0..1000u32).flat_map(u32::to_ne_bytes).collect();
        let values: Vec<u8> = (0..1000u64).flat_map(|n| (n * n).to_ne_bytes()).collect();
        map.update_batch(&keys, &values).unwrap();
        let mut value = [0; 8];
        assert!(map.lookup(&999u32.to_ne_bytes(), &mut value).unwrap());
        assert_eq!(u64::from_ne_bytes(value), 998_001, "{kind:?}");
        map.update(&7u32.to_ne_bytes(), &5u64.to_ne_bytes()).unwrap();
        assert!(map.lookup(&7u32.to_ne_bytes(), &mut value).unwrap());
        assert_eq!(u64::from_ne_bytes(value), 5);
        if kind == MapKind::Array {
            assert_eq!(map.values().unwrap()[56..72], [5u64.to_ne_bytes(), 64u64.to_ne_bytes()].concat());
        } else {
            map.delete_batch(&keys[..400]).unwrap();
            assert!(!map.lookup(&99u32.to_ne_bytes(), &mut value).unwrap());
            assert!(map.delete(&100u32.to_ne_bytes()).unwrap());
            assert!(!map.delete(&100u32.to_ne_bytes()).unwrap());
        }
    }
}

#[test]
fn the_longest_prefix_is_found() {
    let spec = MapSpec { kind: MapKind::LongestPrefix, key_bytes: 8, ..MapSpec::array("prefixes", 4, 10) };
    let map = Map::create(&spec).unwrap();
    let key = |bits: u32, address: [u8; 4]| [bits.to_ne_bytes(), address].concat();
    map.update(&key(8, [10, 0, 0, 0]), &1u32.to_ne_bytes()).unwrap();
    map.update(&key(24, [10, 1, 2, 0]), &2u32.to_ne_bytes()).unwrap();
    let mut value = [0; 4];
    assert!(map.lookup(&key(32, [10, 1, 2, 9]), &mut value).unwrap());
    assert_eq!(value, 2u32.to_ne_bytes());
    assert!(map.lookup(&key(32, [10, 1, 3, 9]), &mut value).unwrap());
    assert_eq!(value, 1u32.to_ne_bytes());
    assert!(!map.lookup(&key(32, [11, 1, 3, 9]), &mut value).unwrap());
}

#[test]
fn values_of_each_cpu_stand_side_by_side() {
    let map = Map::create(&MapSpec { kind: MapKind::PerCpuArray, ..MapSpec::array("percpu", 8, 2) }).unwrap();
    let program = load(|a| {
        a.store(Size::Word, R10, -4, 1)
            .load_map(R1, map.as_fd())
            .mov(R2, R10)
            .add(R2, -4)
            .call(Helper::MapLookup);
        let none = a.label();
        a.jump_if(Condition::Equal, R0, 0, none).mov(R1, 1).atomic_add(Size::Double, R0, 0, R1);
        a.bind(none).mov(R0, 1).exit();
    })
    .unwrap();
    program.run(&FRAME, 10).unwrap();
    let values = map.values().unwrap();
    let sum: u64 = values.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap())).sum();
    assert_eq!(values.len(), 2 * map.value_bytes());
    assert_eq!(sum, 10);
}

#[test]
fn live_frames_run_as_often_as_asked() {
    apart(|| {
        let map = Map::create(&MapSpec::memory("runs", 8)).unwrap();
        let shared = map.share().unwrap();
        let program = load(|a| {
            a.load_map_value(R1, map.as_fd(), 0).mov(R2, 1).atomic_add(Size::Double, R1, 0, R2);
            a.mov(R0, Action::Drop as i32).exit();
        })
        .unwrap();
        program.run_live(&LiveRun { frame: &FRAME, repeat: 100_000, batch: 64 }).unwrap();
        assert_eq!(shared.u64_at(0).load(Relaxed), 100_000);
    });
}

#[test]
fn a_program_is_attached_replaced_and_gone_with_its_link() {
    apart(|| {
        let pass = load(|a| _ = a.mov(R0, Action::Pass as i32).exit()).unwrap();
        let drop_all = load(|a| _ = a.mov(R0, Action::Drop as i32).exit()).unwrap();
        let link = pass.attach_xdp(1, XdpMode::Generic).unwrap();
        link.replace(&drop_all).unwrap();
        let busy = pass.attach_xdp(1, XdpMode::Generic).unwrap_err();
        assert_eq!(busy.errno(), Some(libc::EBUSY), "{busy}");
        // As a child has it for a moment that another thread starts.
        let held = link.as_fd().try_clone_to_owned().unwrap();
        drop(link);
        drop(pass.attach_xdp(1, XdpMode::Generic).unwrap());
        drop(held);
        drop(pass.attach_xdp(1, XdpMode::Generic).unwrap());
        // The loopback device has no XDP of its own.
        let native = pass.attach_xdp(1, XdpMode::Native).unwrap_err();
        assert!(matches!(native, BpfError::Unsupported { .. }), "{native:?}");
    });
}

#[test]
fn without_a_capability_it_is_named() {
    std::thread::spawn(|| {
        drop_capabilities();
        let error = Map::create(&MapSpec::array("refused", 8, 1)).unwrap_err();
        assert!(error.to_string().contains("needs cap_bpf"), "{error}");
        let error = load(|a| _ = a.mov(R0, 1).exit()).unwrap_err();
        assert!(error.to_string().contains("needs cap_bpf,cap_net_admin"), "{error}");
    })
    .join()
    .unwrap();
}

/// Takes all capabilities from this thread alone.
fn drop_capabilities() {
    #[repr(C)]
    struct Header {
        version: u32,
        pid: i32,
    }
    let header = Header { version: 0x2008_0522, pid: 0 };
    let none = [0u32; 6];
    // SAFETY: capset(2) reads a header and two sets of three words.
    let result = unsafe { libc::syscall(libc::SYS_capset, &raw const header, none.as_ptr()) };
    assert_eq!(result, 0);
}

/// What RFC 9669 says an operation does, in Rust.
fn expected(op: Alu, is_wide: bool, a: u64, b: u64) -> u64 {
    let (x, y) = if is_wide { (a, b) } else { (a & 0xffff_ffff, b & 0xffff_ffff) };
    let shift = (y & if is_wide { 63 } else { 31 }) as u32;
    let result = match op {
        Alu::Add => x.wrapping_add(y),
        Alu::Subtract => x.wrapping_sub(y),
        Alu::Multiply => x.wrapping_mul(y),
        Alu::Divide => x.checked_div(y).unwrap_or(0),
        Alu::Remainder => x.checked_rem(y).unwrap_or(x),
        Alu::Or => x | y,
        Alu::And => x & y,
        Alu::Xor => x ^ y,
        Alu::Move => y,
        Alu::ShiftLeft => x << shift,
        Alu::ShiftRight => x >> shift,
        Alu::ShiftRightSigned if is_wide => ((x as i64) >> shift) as u64,
        Alu::ShiftRightSigned => u64::from(((x as u32 as i32) >> shift) as u32),
    };
    if is_wide { result } else { result & 0xffff_ffff }
}

const OPERATIONS: [Alu; 12] = [
    Alu::Add,
    Alu::Subtract,
    Alu::Multiply,
    Alu::Divide,
    Alu::Remainder,
    Alu::Or,
    Alu::And,
    Alu::Xor,
    Alu::Move,
    Alu::ShiftLeft,
    Alu::ShiftRight,
    Alu::ShiftRightSigned,
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_kernel_computes_what_the_standard_says(
        a in any::<u64>(), b in any::<u64>(), shift in 0u64..32, op in 0..OPERATIONS.len(), is_wide: bool
    ) {
        let op = OPERATIONS[op];
        let is_shift = matches!(op, Alu::ShiftLeft | Alu::ShiftRight | Alu::ShiftRightSigned);
        let b = if is_shift { shift } else { b };
        let map = Map::create(&MapSpec::memory("result", 8)).unwrap();
        let shared = map.share().unwrap();
        let program = load(|p| {
            p.load_u64(R1, a).load_u64(R2, b);
            if is_wide { p.alu64(op, R1, R2) } else { p.alu32(op, R1, R2) };
            p.load_map_value(Register::R3, map.as_fd(), 0).store(Size::Double, R3, 0, R1).mov(R0, 0).exit();
        }).unwrap();
        program.run(&FRAME, 1).unwrap();
        prop_assert_eq!(shared.u64_at(0).load(Relaxed), expected(op, is_wide, a, b));
    }
}
