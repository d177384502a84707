//! Bursts over pairs of ports in this process.

use super::*;
use filter::Firewall;

fn open(name: &str) -> BurstPort {
    BurstPort::open(&format!("mem:{name}"), &Opening { burst: 8, ..Opening::default() }).unwrap()
}

/// Writes a frame of `length` bytes, each `value`.
fn fill(port: &mut BurstPort, index: usize, length: usize, value: u8) {
    let view = port.out.view();
    view.data[index * view.stride..][..length].fill(value);
    view.lengths[index] = length as u32;
}

#[test]
fn a_burst_that_is_sent_arrives_in_order() {
    let (mut a, mut b) = (open("bursts-order"), open("bursts-order"));
    assert_eq!(a.lend(100).unwrap(), 8);
    (0..8).for_each(|index| fill(&mut a, index, 60 + index, index as u8));
    assert_eq!(a.send(0, 8).unwrap(), 8);
    assert_eq!(b.receive(5).unwrap(), 5);
    let view = b.came.view();
    let (last, stride) = (4, view.stride);
    assert_eq!((view.lengths[last], view.wire_lengths[last]), (64, 64));
    assert!(view.data[last * stride..][..64].iter().all(|byte| *byte == 4));
    b.release().unwrap();
    // The same rows once more, of which one is left out.
    fill(&mut a, 3, 0, 0);
    assert_eq!(a.send(2, 3).unwrap(), 3);
    a.give_back().unwrap();
    assert_eq!(b.receive(8).unwrap(), 5);
    assert_eq!(b.came.view().lengths[..5], [65, 66, 67, 62, 64]);
}

#[test]
fn what_is_lent_or_held_cannot_be_had_twice() {
    let (mut a, mut b) = (open("bursts-twice"), open("bursts-twice"));
    assert!(matches!(a.send(0, 1), Err(BurstError::NotLent)));
    assert!(matches!(a.give_back(), Err(BurstError::NotLent)));
    a.lend(2).unwrap();
    assert!(matches!(a.lend(2), Err(BurstError::StillLent)));
    assert!(matches!(a.send(1, 2), Err(BurstError::Beyond { first: 1, end: 3, lent: 2 })));
    fill(&mut a, 0, 60, 1);
    a.send(0, 1).unwrap();
    a.give_back().unwrap();
    assert!(matches!(b.release(), Err(BurstError::NotHeld)));
    assert_eq!(b.receive(8).unwrap(), 1);
    assert!(matches!(b.receive(8), Err(BurstError::StillHeld)));
    b.release().unwrap();
    assert!(matches!(b.release(), Err(BurstError::NotHeld)));
    assert_eq!(b.receive(8).unwrap(), 0);
    assert!(matches!(b.release(), Err(BurstError::NotHeld)));
}

#[test]
fn frames_before_one_that_is_too_long_leave() {
    let (mut a, mut b) = (open("bursts-long"), open("bursts-long"));
    a.lend(3).unwrap();
    (0..3).for_each(|index| fill(&mut a, index, 60, 1));
    a.out.view().lengths[1] = 1_515;
    assert_eq!(a.send(0, 3).unwrap(), 1);
    let refused = a.send(1, 2);
    assert!(matches!(refused, Err(BurstError::TooLong { index: 1, length: 1_515, longest: 1_514 })));
    a.out.view().lengths[1] = u32::MAX;
    assert!(matches!(a.send(1, 2), Err(BurstError::TooLong { .. })));
    assert_eq!(a.send(2, 1).unwrap(), 1);
    assert_eq!(b.receive(8).unwrap(), 2);
}

#[test]
fn a_full_ring_takes_what_it_has_room_for() {
    let opening = Opening { burst: 8, ..Opening::default() };
    let mut a = BurstPort::open("mem,slots=5:bursts-full", &opening).unwrap();
    let mut b = open("bursts-full");
    a.lend(8).unwrap();
    (0..8).for_each(|index| fill(&mut a, index, 60, index as u8));
    assert_eq!(a.send(0, 8).unwrap(), 5);
    assert_eq!(a.send(5, 3).unwrap(), 0);
    assert_eq!(b.receive(8).unwrap(), 5);
    assert_eq!(a.send(5, 3).unwrap(), 3);
    b.release().unwrap();
    assert_eq!(b.receive(8).unwrap(), 3);
    assert_eq!(b.came.view().data[0], 5);
}

#[test]
fn a_longer_frame_than_a_row_is_cut_off() {
    let mut a = open("bursts-cut");
    let opening = Opening { burst: 8, longest: 100, ..Opening::default() };
    let mut b = BurstPort::open("mem:bursts-cut", &opening).unwrap();
    a.lend(1).unwrap();
    fill(&mut a, 0, 1_000, 7);
    a.send(0, 1).unwrap();
    assert_eq!(b.receive(8).unwrap(), 1);
    let view = b.came.view();
    assert_eq!((view.lengths[0], view.wire_lengths[0]), (100, 1_000));
}

#[test]
fn a_port_does_only_what_it_was_opened_for() {
    let only = |direction| Opening { direction, ..Opening::default() };
    let mut a = BurstPort::open("mem:bursts-way", &only(Direction::Transmit)).unwrap();
    let mut b = BurstPort::open("mem:bursts-way", &only(Direction::Receive)).unwrap();
    let unable = |error: BurstError| matches!(error, BurstError::Port(PortError::Unable { .. }));
    assert!(unable(a.receive(1).unwrap_err()) && unable(b.lend(1).unwrap_err()));
}

#[test]
fn an_opening_that_makes_no_sense_is_refused() {
    let refused = |change: fn(&mut Opening)| {
        let mut opening = Opening::default();
        change(&mut opening);
        let Err(error) = BurstPort::open("mem:bursts-wrong", &opening) else { panic!("{opening:?}") };
        error.to_string()
    };
    assert_eq!(refused(|opening| opening.burst = 0), "burst is 0: it must be 1 to 65536 frames");
    assert_eq!(refused(|opening| opening.longest = 70_000), "longest is 70000: it must be 1 to 65549 bytes");
    assert_eq!(refused(|opening| opening.queue = 1), "queue is 1: it must be less than queues");
    assert!(refused(|opening| (opening.queue, opening.queues) = (1, 300)).starts_with("queues is 300"));
}

#[test]
fn what_is_held_goes_on_but_for_what_is_dropped() {
    let (mut a, mut b) = (open("bursts-pass"), open("bursts-pass"));
    let (mut c, mut d) = (open("bursts-on"), open("bursts-on"));
    a.lend(8).unwrap();
    (0..8).for_each(|index| fill(&mut a, index, 60, index as u8));
    assert_eq!(a.send(0, 8).unwrap(), 8);
    assert!(matches!(b.pass(Some(&mut c), 0, 1, |_| false), Err(BurstError::NotHeld)));
    assert_eq!(b.receive(8).unwrap(), 8);
    assert_eq!(b.pass(Some(&mut c), 1, 6, |index| index % 3 == 0).unwrap(), 6);
    let beyond = b.pass(Some(&mut c), 7, 2, |_| false);
    assert!(matches!(beyond, Err(BurstError::BeyondHeld { first: 7, end: 9, held: 8 })));
    // Back where it came from.
    assert_eq!(b.pass(None, 0, 1, |_| false).unwrap(), 1);
    b.release().unwrap();
    assert_eq!(d.receive(8).unwrap(), 4);
    let firsts: Vec<u8> = d.held_frames().unwrap().map(|frame| frame[0]).collect();
    assert_eq!(firsts, [1, 2, 4, 5]);
    assert_eq!(a.receive(8).unwrap(), 1);
}

#[test]
fn a_burst_that_is_forwarded_is_counted_wherever_it_ends() {
    let (mut a, mut b) = (open("bursts-forward"), open("bursts-forward"));
    // There is room for three.
    let small = Opening { burst: 8, ..Opening::default() };
    let end = || BurstPort::open("mem,slots=3:bursts-small", &small).unwrap();
    let (mut c, mut d) = (end(), end());
    let rules = filter::Rules::parse("drop all\nother pass", "r").unwrap();
    let firewall = Firewall::compile(&rules).unwrap();
    let mut send = |ip: &[usize]| {
        a.lend(8).unwrap();
        (0..8).for_each(|index| {
            fill(&mut a, index, 60 + index, 0);
            let view = a.out.view();
            let row = &mut view.data[index * view.stride..];
            let head: &[u8] = if ip.contains(&index) { &[8, 0, 0x45, 0, 0, 46] } else { &[8, 6] };
            row[12..12 + head.len()].copy_from_slice(head);
            row[23] = 253;
        });
        assert_eq!(a.send(0, 8).unwrap(), 8);
        a.give_back().unwrap();
    };
    let done = |received, received_bytes, passed, sent| Forwarded { received, received_bytes, passed, sent };
    send(&[0, 3]);
    assert_eq!(b.forward(Some(&mut c), Some(&firewall), 8).unwrap(), done(8, 508, 6, 3));
    assert_eq!(d.receive(8).unwrap(), 3);
    d.release().unwrap();
    send(&[7]);
    assert_eq!(b.forward(None, Some(&firewall), 5).unwrap(), done(5, 310, 5, 0));
    assert_eq!(b.forward(None, None, 8).unwrap(), done(3, 198, 3, 0));
    assert_eq!(b.forward(Some(&mut c), None, 8).unwrap(), Forwarded::default());
}
