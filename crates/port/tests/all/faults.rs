//! Faults of a known rate are found again, and those that are asked for by number happen exactly there.

use port::{Address, Counters, DropPlace, For, Frame, Port, Wish, mem};
use units::Picos;

/// A faulty port on one end of a pair, and the other end.
fn faulty(options: &str, name: &str) -> (Box<dyn Port>, Box<dyn Port>) {
    let open = |text: String| port::open(&text.parse::<Address>().unwrap(), &Wish::default()).unwrap();
    (open(format!("fault,{options}:mem,slots=4096:{name}")), open(format!("mem:{name}")))
}

fn transmit(port: &mut dyn Port, numbers: std::ops::Range<u32>) {
    for number in numbers {
        let taken = port.transmit(1, &mut |slot| {
            slot.data[..60].fill(0);
            slot.data[20..24].copy_from_slice(&number.to_le_bytes());
            slot.length = 60;
        });
        assert_eq!(taken.unwrap(), 1);
    }
}

fn number(frame: &Frame<'_>) -> u32 {
    u32::from_le_bytes(frame.data[20..24].try_into().unwrap())
}

fn arrived(port: &mut dyn Port) -> Vec<u32> {
    let mut seen = Vec::new();
    while port.receive(256, &mut |frame| seen.push(number(frame))).unwrap() > 0 {}
    seen
}

/// Sends so many frames through the fault; what arrived, and what the faulty port counted.
fn run(options: &str, name: &str, frames: u32) -> (Vec<u32>, Counters) {
    let (mut a, mut b) = faulty(options, name);
    let mut seen = Vec::new();
    for start in (0..frames).step_by(500) {
        transmit(&mut *a, start..(start + 500).min(frames));
        seen.extend(arrived(&mut *b));
    }
    assert!(a.flush(Picos::from_millis(2_000)).unwrap());
    seen.extend(arrived(&mut *b));
    let counters = a.counters().unwrap().clone();
    (seen, counters)
}

#[test]
fn one_frame_is_lost_two_are_swapped_one_comes_twice() {
    let (seen, counters) = run("drop=at=3", "drop-one", 6);
    assert_eq!(seen, [0, 1, 2, 4, 5]);
    assert_eq!((counters.sent, counters.dropped(DropPlace::Fault), counters.faults.dropped), (6, 1, 1));

    let (seen, counters) = run("reorder=at=2", "swap-two", 6);
    assert_eq!(seen, [0, 1, 3, 2, 4, 5]);
    assert_eq!((counters.sent, counters.lost(), counters.faults.reordered), (6, 0, 1));

    let (seen, _) = run("reorder=at=1,by=3", "late-by-three", 6);
    assert_eq!(seen, [0, 2, 3, 4, 1, 5]);

    let (seen, counters) = run("duplicate=at=4+0", "double", 6);
    assert_eq!(seen, [0, 0, 1, 2, 3, 4, 4, 5]);
    assert_eq!((counters.sent, counters.faults.duplicated), (8, 2));

    // Nobody overtakes the last one: it leaves when the port is flushed.
    let (seen, _) = run("reorder=at=5", "last", 6);
    assert_eq!(seen, [0, 1, 2, 3, 4, 5]);
    let (seen, _) = run("drop=every=3", "every", 9);
    assert_eq!(seen, [0, 1, 3, 4, 6, 7]);
}

#[test]
fn one_frame_is_held_back_for_as_long_as_was_asked_for() {
    let (mut a, mut b) = faulty("delay=at=1,hold=50ms", "delay-one");
    let start = clock::monotonic_ns();
    transmit(&mut *a, 0..4);
    assert_eq!(arrived(&mut *b), [0, 2, 3]);
    assert!(a.flush(Picos::from_millis(2_000)).unwrap());
    let took_ms = (clock::monotonic_ns() - start) / 1_000_000;
    assert!((50..1_000).contains(&took_ms), "{took_ms} ms");
    assert_eq!(arrived(&mut *b), [1]);
    assert_eq!(a.counters().unwrap().faults.delayed, 1);
}

#[test]
fn a_held_frame_leaves_at_its_time_although_nobody_calls() {
    let (mut a, mut b) = faulty("delay=at=1+3,hold=60ms", "unattended");
    let start = clock::monotonic_ns();
    transmit(&mut *a, 0..4);
    assert_eq!(arrived(&mut *b), [0, 2]);
    // `a` is left alone from here on: as by a sender that waits for its next due time.
    let mut seen = Vec::new();
    while seen.len() < 2 && b.wait(For::Receive, Picos::from_secs(5)).unwrap() {
        let at_ms = (clock::monotonic_ns() - start) / 1_000_000;
        seen.extend(arrived(&mut *b).into_iter().map(|number| (number, at_ms)));
    }
    let numbers: Vec<u32> = seen.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, [1, 3]);
    assert!(seen.iter().all(|(_, at_ms)| *at_ms >= 60), "{seen:?}");
    let counters = a.counters().unwrap();
    assert_eq!((counters.sent, counters.faults.delayed, counters.lost()), (4, 2, 0));
    assert_eq!(a.about().can.holds, Picos::from_millis(60));
}

#[test]
fn waiting_for_arrivals_lets_held_frames_go_meanwhile() {
    let (mut a, mut b) = faulty("delay=at=0,hold=40ms", "meanwhile");
    transmit(&mut *a, 0..1);
    // One thread, which waits at the faulty port itself for longer than the frame is held.
    assert!(!a.wait(For::Receive, Picos::from_millis(400)).unwrap());
    assert_eq!(arrived(&mut *b), [0]);
}

#[test]
fn what_is_held_on_the_way_in_comes_at_its_time_also_when_nothing_else_will() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("three.pcapng");
    let open = |text: String, wish: &Wish| port::open(&text.parse::<Address>().unwrap(), wish).unwrap();
    let mut written = open(format!("pcap:{}", file.display()), &Wish::transmit());
    transmit(&mut *written, 0..3);
    assert!(written.flush(Picos::from_secs(2)).unwrap());
    drop(written);
    let text = format!("fault,delay=at=1,hold=80ms,on=receive:pcap:{}", file.display());
    let mut read = open(text, &Wish::receive());
    let (start, mut seen) = (clock::monotonic_ns(), Vec::new());
    loop {
        match read.receive(10, &mut |frame| seen.push(number(frame))) {
            Ok(0) => drop(read.wait(For::Receive, Picos::from_millis(500)).unwrap()),
            Ok(_) => {}
            Err(error) if error.is_end() => break,
            Err(error) => panic!("{error}"),
        }
        assert!(clock::monotonic_ns() - start < 10_000_000_000, "{seen:?}");
    }
    assert_eq!(seen, [0, 2, 1]);
    let took_ms = (clock::monotonic_ns() - start) / 1_000_000;
    assert!(took_ms >= 80, "{took_ms} ms");
}

#[test]
fn a_flush_that_is_not_patient_enough_says_so() {
    let (mut a, _b) = faulty("delay=at=0,hold=10s", "impatient");
    transmit(&mut *a, 0..1);
    assert!(!a.flush(Picos::from_millis(20)).unwrap());
}

#[test]
fn a_stamp_is_later_by_exactly_the_delay_on_the_way_in() {
    let open = |text: &str| port::open(&text.parse::<Address>().unwrap(), &Wish::default()).unwrap();
    let mut a = open("mem,stamp=launch:stamped");
    let mut b = open("fault,delay=at=1,hold=3ms,on=receive:mem:stamped");
    let mut launch = 1_000_000_000;
    a.transmit(3, &mut |slot| {
        (slot.length, slot.launch) = (60, port::Stamp(launch));
        launch += 1_000;
    })
    .unwrap();
    let mut stamps = Vec::new();
    let until = clock::monotonic_ns() + 2_000_000_000;
    while stamps.len() < 3 && clock::monotonic_ns() < until {
        b.receive(9, &mut |frame| stamps.push(frame.stamp.as_unix_nanos())).unwrap();
        b.wait(For::Receive, Picos::from_millis(100)).unwrap();
    }
    assert_eq!(stamps, [1_000_000_000, 1_000_002_000, 1_003_001_000]);
    assert_eq!(b.counters().unwrap().received, 3);
}

#[test]
fn one_bit_is_wrong_and_only_one() {
    let (mut a, mut b) = faulty("corrupt=at=1", "corrupt-one");
    transmit(&mut *a, 0..3);
    let mut frames = Vec::new();
    b.receive(9, &mut |frame| frames.push(frame.data.to_vec())).unwrap();
    let expected = |number: u32| {
        let mut frame = vec![0; 60];
        frame[20..24].copy_from_slice(&number.to_le_bytes());
        frame
    };
    let wrong: Vec<u32> = frames
        .iter()
        .zip(0..)
        .map(|(frame, number)| frame.iter().zip(expected(number)).map(|(a, b)| (a ^ b).count_ones()).sum())
        .collect();
    assert_eq!(wrong, [0, 1, 0]);
    assert_eq!(frames[1][..14], [0; 14], "the Ethernet header is left alone");
}

/// Each rate, of 100 000 frames: the count is within four standard deviations of a binomial distribution, √(n p
/// (1−p)).
#[test]
fn a_rate_is_recovered() {
    const FRAMES: u32 = 100_000;
    for (percent, share) in [("0.1%", 0.001), ("1%", 0.01), ("10%", 0.1), ("50%", 0.5)] {
        let options = |fault: &str| format!("{fault}={percent},seed=7,room=100000");
        let near = |count: u64, what: &str| {
            let expected = f64::from(FRAMES) * share;
            let width = 4.0 * (expected * (1.0 - share)).sqrt();
            assert!((count as f64 - expected).abs() < width, "{what} {percent}: {count}");
        };
        let (seen, counters) = run(&options("drop"), &format!("rate-drop-{percent}"), FRAMES);
        near(u64::from(FRAMES) - seen.len() as u64, "drop");
        assert_eq!(counters.sent, seen.len() as u64 + counters.lost());
        let (seen, _) = run(&options("duplicate"), &format!("rate-double-{percent}"), FRAMES);
        near(seen.len() as u64 - u64::from(FRAMES), "duplicate");
        let (seen, counters) = run(&options("corrupt"), &format!("rate-damage-{percent}"), FRAMES);
        near(counters.faults.corrupted, "corrupt");
        assert_eq!(seen.len(), FRAMES as usize);
    }
    let (seen, counters) = run("reorder=1%,seed=3", "rate-reorder", FRAMES);
    let late = seen.windows(2).filter(|pair| pair[1] < pair[0]).count() as u64;
    assert_eq!(seen.len(), FRAMES as usize);
    // A frame that is overtaken by one comes after a higher number, unless its neighbour was chosen as well:
    // rarely.
    assert!(late <= counters.faults.reordered && late * 100 >= counters.faults.reordered * 96, "{late}");
}

#[test]
fn the_same_seed_chooses_the_same_frames_and_another_one_others() {
    let first = run("drop=5%,seed=1", "seed-a", 5_000).0;
    assert_eq!(first, run("drop=5%,seed=1", "seed-b", 5_000).0);
    assert_ne!(first, run("drop=5%,seed=2", "seed-c", 5_000).0);
}

#[test]
fn more_than_may_be_held_back_is_lost_and_counted() {
    let (mut a, mut b) = faulty("delay=100%,hold=10s,room=10", "crowd");
    transmit(&mut *a, 0..25);
    assert!(arrived(&mut *b).is_empty());
    assert_eq!(a.counters().unwrap().dropped(DropPlace::Queue), 15);
}

#[test]
fn a_full_port_behind_is_back_pressure_and_no_loss() {
    let open = |text: &str| port::open(&text.parse::<Address>().unwrap(), &Wish::default()).unwrap();
    let (mut a, mut b) = (open("fault,duplicate=50%:mem,slots=8:narrow"), open("mem:narrow"));
    let (mut sent, mut seen) = (0_u32, Vec::new());
    for _ in 0..100_000 {
        if sent == 3_000 {
            break;
        }
        let taken = a.transmit(64.min(3_000 - sent as usize), &mut |slot| {
            slot.data[20..24].copy_from_slice(&sent.to_le_bytes());
            slot.length = 60;
            sent += 1;
        });
        assert!(taken.is_ok());
        seen.extend(arrived(&mut *b));
    }
    for _ in 0..1_000 {
        if a.flush(Picos::from_millis(1)).unwrap() {
            break;
        }
        seen.extend(arrived(&mut *b));
    }
    seen.extend(arrived(&mut *b));
    seen.dedup();
    assert_eq!(seen, (0..3_000).collect::<Vec<_>>());
}

#[test]
fn wrong_options_are_told_before_anything_is_opened() {
    for (text, said) in [
        ("fault:mem:x", "says no fault"),
        ("fault,drop=lots:mem:x", "drop=1%, drop=every=1000 or drop=at=17+18"),
        ("fault,drop=101%:mem:x", "'101%' does not say which frames"),
        ("fault,drop=every=0:mem:x", "'every=0'"),
        ("fault,drop=1%,by=0:mem:x", "by=1"),
        ("fault,drop=1%,hold=soon:mem:x", "hold=1ms"),
        ("fault,drop=1%,on=receiv:mem:x", "did you mean 'receive'?"),
        ("record:mem:x", "says no file"),
        ("trace,most=many:mem:x", "most=1000"),
    ] {
        let address: Address = text.parse().unwrap();
        let error = address.check().unwrap_err().to_string();
        assert!(error.contains(said), "{text}: {error}");
    }
    // The pair was never opened: this is its first end.
    let (a, _) = (port::open(&"mem:x".parse().unwrap(), &Wish::default()), mem::pair(1, 60));
    assert!(a.is_ok());
}
