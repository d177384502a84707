//! Ports over a toy of a module: what each answer, and each fault of a module, makes of them.

use super::device::Module;
use super::link::Why;
use super::port::ModulePort;
use super::registers::*;
use super::time::{Captured, TICK};
use super::toy::{Tell, Toy, Trick};
use crate::{Address, Departed, DropPlace, For, Port, PortError, Stamp, Wish};
use std::sync::Arc;
use units::Picos;

const PATIENCE: Picos = Picos::from_millis(2_000);

fn module(trick: Trick) -> (Toy, Result<Arc<Module>, PortError>) {
    let (toy, transport) = Toy::new(trick);
    (toy, Module::greet("fpga:toy", transport, None).map(Arc::new))
}

fn open(trick: Trick) -> (Toy, Arc<Module>, ModulePort) {
    let (toy, module) = module(trick);
    let module = module.unwrap();
    let wish = Wish { departures: true, ..Wish::default() };
    let port = ModulePort::new(&address(), &wish, module.clone()).unwrap();
    (toy, module, port)
}

fn address() -> Address {
    "fpga:sim".parse().unwrap()
}

/// Sends `count` frames of 100 bytes, `gap` ticks apart from `first`.
fn send(port: &mut dyn Port, count: u64, first: Stamp, gap: u64) -> usize {
    let mut next = 0;
    let taken = port.transmit(count as usize, &mut |slot| {
        slot.data[..100].fill(next as u8);
        slot.length = 100;
        slot.launch =
            if first == Stamp::NONE { first } else { Stamp(first.0 + next * gap * TICK.as_nanos()) };
        next += 1;
    });
    taken.unwrap()
}

fn departed(port: &mut dyn Port) -> Vec<Departed> {
    let mut all = Vec::new();
    port.departed(usize::MAX, &mut |departed| all.push(*departed)).unwrap();
    all
}

#[test]
fn frames_leave_when_they_are_told_to_and_come_back_stamped() {
    let (_toy, _module, mut port) = open(Trick::None);
    let now = port.own_time().unwrap().unwrap();
    assert!(now.simulated && now.tick == TICK && now.bound == Picos::ZERO, "{now:?}");
    let first = Stamp(now.now.0 + 100_000);
    assert_eq!(send(&mut port, 10, first, 2_000), 10);
    assert!(port.flush(PATIENCE).unwrap());
    let all = departed(&mut port);
    assert_eq!(all.len(), 10);
    for (n, departed) in all.iter().enumerate() {
        let due = Stamp(first.0 + n as u64 * 16_000);
        let expected = Departed { number: n as u64, launch: due, start: due, ..Departed::default() };
        assert_eq!(*departed, expected);
    }
    let mut stamps = Vec::new();
    while stamps.len() < 10 && port.wait(For::Receive, PATIENCE).unwrap() {
        port.receive(4, &mut |frame| stamps.push((frame.stamp, frame.data[0]))).unwrap();
    }
    // Seven ticks of cable.
    let expected = (0..10).map(|n| (Stamp(first.0 + n * 16_000 + 56), n as u8));
    assert_eq!(stamps, expected.collect::<Vec<_>>());
    let counters = port.counters().unwrap();
    assert_eq!((counters.sent, counters.received, counters.lost()), (10, 10, 0));
}

#[test]
fn a_frame_for_a_time_that_has_passed_is_late_by_whole_ticks() {
    let (_toy, _module, mut port) = open(Trick::None);
    let now = port.own_time().unwrap().unwrap().now;
    assert_eq!(send(&mut port, 1, Stamp(now.0 - 803), 1), 1);
    assert!(port.flush(PATIENCE).unwrap());
    let late = departed(&mut port)[0];
    // 803 ns before now is the tick 101 before, as ticks are rounded down.
    assert_eq!((late.start, late.late), (now, Picos::from_nanos(808)));
}

#[test]
fn two_ports_share_a_module_and_each_hears_of_its_own_frames() {
    let (_toy, module, mut one) = open(Trick::None);
    let wish = Wish { departures: true, ..Wish::transmit() };
    let mut two = ModulePort::new(&address(), &wish, module.clone()).unwrap();
    let mut listener = ModulePort::new(&address(), &Wish::receive(), module).unwrap();
    for _ in 0..5 {
        assert_eq!((send(&mut one, 3, Stamp::NONE, 0), send(&mut two, 2, Stamp::NONE, 0)), (3, 2));
    }
    assert!(one.flush(PATIENCE).unwrap() && two.flush(PATIENCE).unwrap());
    let numbers = |port: &mut ModulePort| departed(port).iter().map(|one| one.number).collect::<Vec<_>>();
    assert_eq!(numbers(&mut one), (0..15).collect::<Vec<_>>());
    assert_eq!(numbers(&mut two), (0..10).collect::<Vec<_>>());
    assert!(matches!(two.receive(1, &mut |_| {}), Err(PortError::Unable { .. })));
    assert!(matches!(listener.transmit(1, &mut |_| {}), Err(PortError::Unable { .. })));
    // Whoever listens hears everything.
    assert_eq!(listener.receive(64, &mut |_| {}).unwrap(), 25);
    assert_eq!(one.receive(64, &mut |_| {}).unwrap(), 25);
}

#[test]
fn only_a_port_that_shall_sign_touches_signatures() {
    for signs in [false, true] {
        let (_toy, module) = module(Trick::None);
        let wish = Wish { signs, ..Wish::default() };
        let mut port = ModulePort::new(&address(), &wish, module.unwrap()).unwrap();
        let frame = super::sign::tests::signed(7);
        let taken = port.transmit(1, &mut |slot| {
            slot.data[..frame.len()].copy_from_slice(&frame);
            slot.length = frame.len();
        });
        assert_eq!(taken.unwrap(), 1);
        assert!(port.flush(PATIENCE).unwrap());
        let mut is_same = None;
        port.receive(1, &mut |came| is_same = Some(came.data == frame)).unwrap();
        assert_eq!(is_same, Some(!signs));
    }
}

#[test]
fn credits_hold_back_and_nothing_is_lost() {
    let (_toy, module, mut port) = open(Trick::Stingy);
    let mut sent = 0;
    for _ in 0..100 {
        sent += send(&mut port, 64, Stamp::NONE, 0);
    }
    // 100 bytes are 13 beats of 2 048; the longest frame is to fit: 190.
    assert_eq!(sent, (2_048 - 190) / 13 + 1);
    assert!(!port.wait(For::Transmit, Picos::from_millis(20)).unwrap());
    assert!(port.flush(PATIENCE).unwrap());
    let counters = port.counters().unwrap();
    assert_eq!((counters.sent as usize, counters.lost()), (sent, 0));
    assert!(counters.full > 0);
    assert!(module.trouble().is_none());
}

#[test]
fn refused_frames_are_counted_and_told() {
    let (_toy, module, mut port) = open(Trick::Refuses(Why::Length));
    assert_eq!(send(&mut port, 20, Stamp::NONE, 0), 20);
    assert!(port.flush(PATIENCE).unwrap());
    let counters = port.counters().unwrap();
    assert_eq!((counters.sent, counters.unsent(), counters.sent_bytes), (0, 20, 0), "{counters:?}");
    assert_eq!(module.errors(), [(3, 20)]);
    assert!(departed(&mut port).is_empty());
}

#[test]
fn frames_that_the_link_loses_are_counted_and_every_departure_is_its_own() {
    let (_toy, module, mut port) = open(Trick::Loses);
    let mut sent: u64 = 0;
    while sent < 1_000 {
        // Their credits come back, or it would stand still here.
        assert!(port.wait(For::Transmit, PATIENCE).unwrap());
        sent += send(&mut port, (1_000 - sent).min(50), Stamp::NONE, 0) as u64;
    }
    assert!(port.flush(PATIENCE).unwrap());
    let counters = port.counters().unwrap();
    assert_eq!(
        (counters.sent, counters.dropped(DropPlace::TransmitDown), counters.taken()),
        (900, 100, 1_000)
    );
    let numbers: Vec<u64> = departed(&mut port).iter().map(|one| one.number).collect();
    let expected: Vec<u64> = (0..1_000).filter(|number| number % 10 != 9).collect();
    assert_eq!(numbers, expected);
    assert_eq!(module.errors(), [(6, 100)]);
}

#[test]
fn reports_that_the_link_loses_are_no_loss_of_the_wire() {
    let (_toy, _module, mut port) = open(Trick::Drops);
    assert_eq!(send(&mut port, 60, Stamp::NONE, 0), 60);
    assert!(port.flush(PATIENCE).unwrap());
    let (mut came, mut told) = (0, 0);
    while port.receive(64, &mut |frame| told += u64::from(frame.lost_before)).unwrap() > 0 {}
    let counters = port.counters().unwrap();
    came += counters.received;
    let lost = counters.dropped(DropPlace::ReceiveRing);
    assert!(lost > 0 && told > 0, "{counters:?}");
    assert_eq!(came + lost, 60);
}

#[test]
fn departures_that_are_not_told_leave_holes() {
    let (_toy, _module, mut port) = open(Trick::Forgetful);
    assert_eq!(send(&mut port, 8, Stamp::NONE, 0), 8);
    assert!(port.flush(PATIENCE).unwrap());
    let numbers: Vec<u64> = departed(&mut port).iter().map(|one| one.number).collect();
    assert_eq!(numbers, [1, 3, 5, 7]);
}

#[test]
fn departures_that_are_told_late_are_awaited() {
    let (_toy, _module, mut port) = open(Trick::Tardy);
    assert_eq!(send(&mut port, 7, Stamp::NONE, 0), 7);
    // The mark needs less than this, and the reports more.
    while !port.flush(Picos::from_millis(100)).unwrap() {}
    assert_eq!(departed(&mut port).len(), 7);
}

#[test]
fn the_wire_goes_down_and_comes_up() {
    let (toy, _module, mut port) = open(Trick::None);
    assert!(port.is_up());
    toy.tell.send(Tell::Wire(false)).unwrap();
    while port.is_up() {
        std::thread::yield_now();
    }
    assert!(matches!(port.transmit(1, &mut |_| panic!()), Err(PortError::Down { .. })));
    assert!(matches!(port.trouble(), Some(PortError::Down { .. })));
    toy.tell.send(Tell::Wire(true)).unwrap();
    while !port.is_up() {
        std::thread::yield_now();
    }
    assert_eq!(send(&mut port, 1, Stamp::NONE, 0), 1);
}

#[test]
fn a_wire_that_nobody_looks_at_is_up() {
    let (toy, module, mut port) = open(Trick::None);
    module.trust_wire();
    toy.tell.send(Tell::Wire(false)).unwrap();
    while module.errors().is_empty() {
        std::thread::yield_now();
    }
    assert!(port.is_up());
    assert_eq!(send(&mut port, 3, Stamp::NONE, 0), 3);
}

#[test]
fn a_module_that_goes_is_told_by_everything() {
    let (toy, _module, mut port) = open(Trick::None);
    drop(toy);
    while port.trouble().is_none() {
        std::thread::yield_now();
    }
    let gone = |error: &PortError| {
        assert!(!error.is_users());
        error.to_string().contains("the simulator has ended")
    };
    assert!(gone(&port.transmit(1, &mut |_| panic!()).unwrap_err()));
    assert!(gone(&port.receive(1, &mut |_| panic!()).unwrap_err()));
    assert!(gone(&port.flush(PATIENCE).err().unwrap_or_else(|| port.trouble().unwrap())));
    assert!(gone(&port.wait(For::Receive, PATIENCE).unwrap_err()));
    assert!(gone(&port.own_time().unwrap_err()));
}

#[test]
fn what_is_no_module_of_this_release_is_refused() {
    for (trick, words) in [
        (Trick::Magic(7), "not a Tare module: its magic word is 0x00000007"),
        (Trick::Layout(0x1234), "register layout (0x00001234)"),
        (Trick::Major(2), "version 2.0, but this program knows version 1"),
    ] {
        let (_toy, module) = module(trick);
        let error = module.unwrap_err();
        assert!(error.is_users() && error.to_string().contains(words), "{error}");
    }
}

#[test]
fn a_question_that_is_not_heard_is_asked_again() {
    let (_toy, module, mut port) = open(Trick::Deaf);
    module.write(&[(&GAP_WHOLE, 77)]).unwrap();
    assert_eq!(module.read(&GAP_WHOLE).unwrap(), 77);
    assert_eq!(send(&mut port, 5, Stamp::NONE, 0), 5);
    assert!(port.flush(PATIENCE).unwrap());
    assert_eq!(departed(&mut port).len(), 5);
}

#[test]
fn a_write_whose_answer_is_lost_is_done_once_or_twice_and_leaves_the_same() {
    let (toy, module) = module(Trick::Mumbles);
    let module = module.unwrap();
    let mut writes = vec![(&MEMORY, 1), (&MEMORY_ADDRESS, 4)];
    writes.extend((1..=8).map(|word| (&MEMORY_DATA, word)));
    module.write(&writes).unwrap();
    module.write(&[(&MEMORY_DATA, 9)]).unwrap();
    let (mut memory, mut address) = (std::collections::BTreeMap::new(), 0);
    let written = std::mem::take(&mut *toy.written.lock().unwrap());
    assert_eq!(written.len(), 6);
    for (at, value) in written.into_iter().flatten() {
        if at == MEMORY_ADDRESS.address {
            address = value;
        } else if at == MEMORY_DATA.address {
            memory.insert(address, value);
            address += 1;
        }
    }
    assert_eq!(memory.into_iter().collect::<Vec<_>>(), (1..=9).map(|n| (n + 3, n)).collect::<Vec<_>>());
}

#[test]
fn a_step_of_the_clock_whose_answer_is_lost_is_not_repeated() {
    let (toy, module) = module(Trick::Mumbles);
    let step = [(&COMMAND, COMMAND_NS_STEP.place(1))];
    let error = module.unwrap().write(&step).unwrap_err().to_string();
    assert!(error.contains("command.ns_step") && error.contains("unknown whether it was done"), "{error}");
    assert_eq!(toy.written.lock().unwrap().len(), 1);
}

#[test]
fn registers_are_read_and_written_by_their_descriptions() {
    let (_toy, module) = module(Trick::None);
    let module = module.unwrap();
    module.write(&[(&FIRST_TIME, 0x1122_3344_5566_7788), (&GAP_WHOLE, 12)]).unwrap();
    let both = module.read_all(&[&GAP_WHOLE, &FIRST_TIME]).unwrap();
    assert_eq!(both, [12, 0x1122_3344_5566_7788]);
    let exchange = module.exchange().unwrap();
    assert_eq!(exchange.captured, Captured { ns: 8_080, tick: 1_010 });
    assert!(exchange.before_unix_ns <= exchange.after_unix_ns);
}

#[test]
fn frames_of_every_length_are_taken_and_longer_ones_refused() {
    let (_toy, _module, mut port) = open(Trick::None);
    for length in [14, 59, 60, 61, 1_513, 1_514] {
        assert_eq!(port.transmit(1, &mut |slot| slot.length = length).unwrap(), 1);
    }
    let error = port.transmit(1, &mut |slot| slot.length = 1_515).unwrap_err();
    assert!(matches!(error, PortError::TooLong { length: 1_515, longest: 1_514, .. }), "{error}");
    // A tag makes four more possible.
    let tagged = |slot: &mut crate::Slot<'_>| {
        slot.data[12..14].copy_from_slice(&[0x81, 0]);
        slot.length = 1_518;
    };
    assert_eq!(port.transmit(1, &mut { tagged }).unwrap(), 1);
    assert!(port.flush(PATIENCE).unwrap());
    let mut lengths = Vec::new();
    while lengths.len() < 7 && port.wait(For::Receive, PATIENCE).unwrap() {
        port.receive(64, &mut |frame| lengths.push(frame.length)).unwrap();
    }
    assert_eq!(lengths, [60, 60, 60, 61, 1_513, 1_514, 1_518]);
    assert_eq!(port.counters().unwrap().sent_bytes, 14 + 59 + 60 + 61 + 1_513 + 1_514 + 1_518);
}
