//! The port `packet` over veth pairs in namespaces made for it. Needs root.

use bed::{Bed, Namespace, Topology};
use port::{Direction, DropPlace, For, Instruction, Port, PortError, StampedBy, Wish};
use std::process::Command;
use std::time::{Duration, Instant};
use units::Picos;

const PATIENCE: Picos = Picos::from_millis(2_000);

fn open(namespace: &Namespace, address: &str, wish: &Wish) -> Result<Box<dyn Port>, PortError> {
    namespace.run_in(|| port::open(&address.parse()?, wish)).unwrap()
}

fn bed() -> Bed {
    Bed::up(&Topology::unique()).unwrap()
}

fn ip(namespace: &Namespace, words: &str) {
    let status = Command::new("ip").args(["-n", &namespace.name]).args(words.split(' ')).status().unwrap();
    assert!(status.success(), "ip {words}");
}

/// A frame of `length` bytes between the bed's ends, of an experimental EtherType, numbered.
fn numbered(number: u32, length: usize) -> Vec<u8> {
    let mut frame = vec![0x02, 0x18, 0, 0, 0, 2, 0x02, 0x18, 0, 0, 0, 1, 0x88, 0xb5];
    frame.extend(number.to_be_bytes());
    frame.resize(length, (number % 251) as u8);
    frame
}

/// Sends these, however many calls it takes.
fn send(port: &mut dyn Port, frames: &[Vec<u8>]) {
    let (mut sent, until) = (0, Instant::now() + Duration::from_secs(10));
    while sent < frames.len() {
        assert!(Instant::now() < until, "{:?}", port.counters());
        let mut next = sent;
        let taken = port.transmit(frames.len() - sent, &mut |slot| {
            slot.data[..frames[next].len()].copy_from_slice(&frames[next]);
            slot.length = frames[next].len();
            next += 1;
        });
        sent += taken.unwrap();
        assert_eq!(next, sent, "the writer is called for those taken");
        if sent < frames.len() {
            port.wait(For::Transmit, PATIENCE).unwrap();
        }
    }
    assert!(port.flush(PATIENCE).unwrap());
}

/// Receives `count` frames, and no more for a while.
fn receive(port: &mut dyn Port, count: usize) -> Vec<Vec<u8>> {
    let (mut frames, until) = (Vec::new(), Instant::now() + Duration::from_secs(5));
    let mut quiet = Picos::from_millis(500);
    while Instant::now() < until {
        let took = port.receive(100, &mut |frame| {
            assert_eq!(frame.length, frame.data.len());
            frames.push(frame.data.to_vec());
        });
        if took.unwrap() == 0 {
            if frames.len() >= count {
                quiet = Picos::from_millis(30);
            }
            if !port.wait(For::Receive, quiet).unwrap() && frames.len() >= count {
                break;
            }
        }
    }
    assert_eq!(frames.len(), count, "{:?}", port.counters());
    frames
}

/// `count` frames of changing length cross, and arrive as they were sent, in order; both sides and the kernel
/// count the same.
fn crosses(bed: &Bed, out: &str, into: &str, both: bool) {
    let direction = if both { Direction::Both } else { Direction::Transmit };
    let wish = Wish { direction, ..Wish::default() };
    let mut near = open(bed.generator(), out, &wish).unwrap();
    let wish = Wish { direction: if both { Direction::Both } else { Direction::Receive }, ..Wish::default() };
    let mut far = open(bed.sink(), into, &wish).unwrap();
    let frames: Vec<Vec<u8>> = (0..1_000).map(|n| numbered(n, 60 + n as usize % 1_455)).collect();
    let bytes: usize = frames.iter().map(Vec::len).sum();
    send(near.as_mut(), &frames);
    assert!(receive(far.as_mut(), 1_000) == frames, "the same bytes in the same order");
    let (sent, received) = (near.counters().unwrap().clone(), far.counters().unwrap().clone());
    assert_eq!((sent.sent, sent.sent_bytes, sent.lost()), (1_000, bytes as u64, 0), "{sent:?}");
    assert_eq!((received.received, received.received_bytes, received.lost()), (1_000, bytes as u64, 0));
    let interface = bed.generator().run_in(|| port::interface::Interface::find("gen0")).unwrap().unwrap();
    let kernel = interface.statistics().unwrap();
    assert_eq!((kernel.tx_packets, kernel.tx_bytes), (1_000, bytes as u64));
    if both {
        assert_eq!(sent.received, 0, "what is sent is not received");
        send(far.as_mut(), &frames[..10]);
        assert!(receive(near.as_mut(), 10) == frames[..10]);
    }
}

#[test]
fn frames_cross_in_order_by_every_way_out_and_in() {
    for out in
        ["packet:gen0", "packet,mode=ring:gen0", "packet,qdisc=keep:gen0", "packet,mode=ring,qdisc=keep:gen0"]
    {
        for into in ["packet:sink0", "packet,receive=slots:sink0"] {
            crosses(&bed(), out, into, false);
        }
    }
    crosses(&bed(), "packet:gen0", "packet:sink0", true);
    crosses(&bed(), "packet,mode=ring,receive=blocks:gen0", "packet,receive=blocks:sink0", true);
}

#[test]
fn one_frame_at_a_time_is_one_call_each() {
    let bed = bed();
    let mut near = open(bed.generator(), "packet:gen0", &Wish::transmit()).unwrap();
    for n in 0..10 {
        send_one(near.as_mut(), &numbered(n, 60));
    }
    assert_eq!(near.counters().unwrap().calls, 10);
}

fn send_one(port: &mut dyn Port, frame: &[u8]) {
    let taken = port.transmit(1, &mut |slot| {
        slot.data[..frame.len()].copy_from_slice(frame);
        slot.length = frame.len();
    });
    assert_eq!(taken.unwrap(), 1);
}

#[test]
fn a_vlan_tag_arrives_where_it_was() {
    let bed = bed();
    let mut tagged = numbered(7, 100);
    tagged.splice(12..12, [0x81, 0x00, 0x60, 0x2a]);
    let mut service = numbered(8, 100);
    // QinQ: the kernel takes only the outer tag away.
    service.splice(12..12, [0x88, 0xa8, 0x00, 0x07, 0x81, 0x00, 0x00, 0x00]);
    let frames = [tagged, service, numbered(9, 100)];
    for into in ["packet:sink0", "packet,receive=slots:sink0"] {
        let mut near = open(bed.generator(), "packet:gen0", &Wish::transmit()).unwrap();
        let mut far = open(bed.sink(), into, &Wish::receive()).unwrap();
        send(near.as_mut(), &frames);
        assert!(receive(far.as_mut(), 3) == frames, "{into}");
        assert_eq!(far.counters().unwrap().received_bytes, 104 + 108 + 100);
    }
}

#[test]
fn frames_have_the_kernels_stamps_in_order_and_near_the_time_of_sending() {
    let bed = bed();
    for into in ["packet:sink0", "packet,receive=slots:sink0"] {
        let mut near = open(bed.generator(), "packet:gen0", &Wish::transmit()).unwrap();
        let mut far = open(bed.sink(), into, &Wish::receive()).unwrap();
        assert_eq!(far.about().can.stamps, Some(StampedBy::Driver));
        let told = far.about().choices.iter().find(|choice| choice.what == "stamps").unwrap();
        assert!(told.why.contains("veth"), "{told:?}");
        let before = clock::unix_ns();
        for n in 0..100 {
            send_one(near.as_mut(), &numbered(n, 60));
        }
        let after = clock::unix_ns();
        far.wait(For::Receive, PATIENCE).unwrap();
        let mut stamps = Vec::new();
        let until = Instant::now() + Duration::from_secs(2);
        while stamps.len() < 100 && Instant::now() < until {
            far.receive(100, &mut |frame| stamps.push(frame.stamp.as_unix_nanos())).unwrap();
        }
        assert_eq!(stamps.len(), 100);
        assert!(
            stamps.is_sorted() && stamps[0] >= before && stamps[99] <= after,
            "{before} {stamps:?} {after}"
        );
    }
}

#[test]
fn frames_that_are_too_long_are_refused_before_anything_is_sent() {
    let bed = Bed::up(&Topology::unique().mtu(576)).unwrap();
    // 590 with the Ethernet header, 594 with a VLAN tag.
    let wish = |frame| Wish { frame, ..Wish::transmit() };
    let refused = open(bed.generator(), "packet:gen0", &wish(595)).map(|_| ()).unwrap_err();
    assert!(matches!(refused, PortError::TooLong { length: 595, longest: 590, .. }), "{refused}");
    let mut near = open(bed.generator(), "packet:gen0", &wish(594)).unwrap();
    let mut far = open(bed.sink(), "packet:sink0", &Wish::receive()).unwrap();
    let frames = [numbered(0, 590), numbered(1, 591), numbered(2, 590)];
    let mut next = 0;
    let refused = near.transmit(3, &mut |slot| {
        slot.data[..frames[next].len()].copy_from_slice(&frames[next]);
        slot.length = frames[next].len();
        next += 1;
    });
    assert!(matches!(refused, Err(PortError::TooLong { length: 591, .. })), "{refused:?}");
    assert!(receive(far.as_mut(), 1) == frames[..1], "the one before it has left, none after it");
    let mut tagged = numbered(3, 590);
    tagged.splice(12..12, [0x81, 0x00, 0x00, 0x01]);
    send(near.as_mut(), &[tagged.clone()]);
    assert!(receive(far.as_mut(), 1) == [tagged]);

    // The MTU shrinks afterwards: the kernel refuses, and the frame is counted where it was lost.
    for out in ["packet:gen0", "packet,mode=ring:gen0"] {
        ip(bed.generator(), "link set gen0 mtu 576");
        let mut near = open(bed.generator(), out, &wish(590)).unwrap();
        ip(bed.generator(), "link set gen0 mtu 300");
        send(near.as_mut(), &[numbered(4, 100), numbered(5, 400), numbered(6, 100), numbered(7, 13)]);
        let counted = near.counters().unwrap().clone();
        assert_eq!((counted.sent, counted.lost()), (2, 2), "{out} {counted:?}");
        assert!(receive(far.as_mut(), 2) == [numbered(4, 100), numbered(6, 100)], "{out}");
    }
}

#[test]
fn a_link_that_goes_down_is_told_and_one_that_comes_back_goes_on() {
    for (out, into) in
        [("packet:gen0", "packet:sink0"), ("packet,mode=ring:gen0", "packet,receive=slots:sink0")]
    {
        let bed = bed();
        let mut near = open(bed.generator(), out, &Wish::transmit()).unwrap();
        let mut far = open(bed.sink(), into, &Wish::receive()).unwrap();
        send(near.as_mut(), &[numbered(0, 60)]);
        assert_eq!(receive(far.as_mut(), 1).len(), 1);
        ip(bed.generator(), "link set gen0 down");
        assert!(!near.is_up() && !far.is_up(), "a veth has no carrier without its peer");
        // Taken, refused by the kernel and counted; then the port says why nothing goes.
        send_one(near.as_mut(), &numbered(1, 60));
        assert_eq!(near.counters().unwrap().dropped(DropPlace::TransmitDown), 1);
        let refused = near.transmit(1, &mut |_| panic!("nothing is written while the link is down"));
        assert!(matches!(refused, Err(PortError::Down { .. })), "{refused:?}");
        assert!(!near.wait(For::Transmit, Picos::from_millis(20)).unwrap());
        assert_eq!(far.receive(1, &mut |_| ()).unwrap(), 0);
        assert!(!far.wait(For::Receive, Picos::from_millis(20)).unwrap());
        ip(bed.generator(), "link set gen0 up");
        let until = Instant::now() + Duration::from_secs(5);
        while !(near.is_up() && far.is_up()) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        send(near.as_mut(), &[numbered(2, 60)]);
        assert!(receive(far.as_mut(), 1) == [numbered(2, 60)]);
    }
}

#[test]
fn an_interface_that_is_removed_is_gone_for_both_halves() {
    for (out, into) in
        [("packet:gen0", "packet:sink0"), ("packet,mode=ring:gen0", "packet,receive=slots:sink0")]
    {
        let bed = bed();
        let mut near = open(bed.generator(), out, &Wish::transmit()).unwrap();
        let mut far = open(bed.sink(), into, &Wish::receive()).unwrap();
        ip(bed.generator(), "link del gen0");
        // Another of the same name is not used.
        ip(bed.generator(), "link add gen0 type veth peer name other0");
        ip(bed.generator(), "link set gen0 up");
        let until = Instant::now() + Duration::from_secs(5);
        let mut sending = Ok(1);
        while sending.is_ok() && Instant::now() < until {
            sending = near.transmit(1, &mut |slot| slot.length = 60);
        }
        assert!(matches!(&sending, Err(PortError::Gone { interface }) if interface == "gen0"), "{sending:?}");
        let mut receiving = Ok(0);
        while matches!(receiving, Ok(0)) && Instant::now() < until {
            receiving = far.receive(1, &mut |_| ());
        }
        assert!(matches!(receiving, Err(PortError::Gone { .. })), "{receiving:?}");
        let waiting = (0..3).find_map(|_| far.wait(For::Receive, Picos::from_millis(100)).err());
        assert!(waiting.is_none() || matches!(waiting, Some(PortError::Gone { .. })), "{waiting:?}");
        assert!(near.counters().is_ok() && far.counters().is_ok());
    }
}

#[test]
fn what_finds_no_room_in_the_ring_is_counted_there() {
    for into in ["packet,slots=64,receive=slots:sink0", "packet,slots=64:sink0"] {
        let bed = bed();
        let mut near = open(bed.generator(), "packet:gen0", &Wish::transmit()).unwrap();
        let mut far = open(bed.sink(), into, &Wish::receive()).unwrap();
        // More than either ring holds: 64 slots, or two blocks of 256 KiB.
        let frames: Vec<Vec<u8>> = (0..5_000).map(|n| numbered(n, 1_000)).collect();
        send(near.as_mut(), &frames);
        let (mut seen, mut lost_before, mut last) = (0_u64, 0, None);
        loop {
            let took = far.receive(1_000, &mut |frame| {
                last = Some(frame.data.to_vec());
                seen += 1;
                lost_before += u64::from(frame.lost_before);
            });
            if took.unwrap() == 0 && !far.wait(For::Receive, Picos::from_millis(100)).unwrap() {
                break;
            }
        }
        let counted = far.counters().unwrap().clone();
        assert!((50..5_000).contains(&seen), "{seen}");
        assert_eq!(counted.received, seen);
        assert_eq!(counted.received + counted.dropped(DropPlace::ReceiveRing), 5_000, "{into} {counted:?}");
        assert_eq!(last.unwrap(), frames[seen as usize - 1], "the ring keeps the first");
        // The next frame knows how many are missing before it.
        send(near.as_mut(), &[numbered(9_999, 60)]);
        far.wait(For::Receive, PATIENCE).unwrap();
        far.receive(10, &mut |frame| lost_before += u64::from(frame.lost_before)).unwrap();
        assert_eq!(lost_before, 5_000 - seen, "{into}");
    }
}

#[test]
fn a_filter_passes_what_it_accepts_and_a_snap_length_cuts_the_rest_off() {
    // ldh [16]: the low half of the number; jeq #7 → accept all, otherwise nothing.
    let program = [
        Instruction { code: 0x28, jt: 0, jf: 0, k: 16 },
        Instruction { code: 0x15, jt: 0, jf: 1, k: 7 },
        Instruction { code: 0x06, jt: 0, jf: 0, k: 262_144 },
        Instruction { code: 0x06, jt: 0, jf: 0, k: 0 },
    ];
    for into in ["packet:sink0", "packet,receive=slots:sink0"] {
        let bed = bed();
        let mut near = open(bed.generator(), "packet:gen0", &Wish::transmit()).unwrap();
        let wish = Wish { snap: Some(40), ..Wish::receive() };
        let mut far = open(bed.sink(), into, &wish).unwrap();
        send(near.as_mut(), &[numbered(7, 200)]);
        let mut seen = Vec::new();
        let mut take = |far: &mut Box<dyn Port>| {
            far.wait(For::Receive, PATIENCE).unwrap();
            far.receive(10, &mut |frame| seen.push((frame.data.to_vec(), frame.length))).unwrap();
            std::mem::take(&mut seen)
        };
        assert_eq!(take(&mut far), [(numbered(7, 200)[..40].to_vec(), 200)]);
        send(near.as_mut(), &[numbered(7, 201)]);
        std::thread::sleep(Duration::from_millis(30));
        far.filter(&program).unwrap();
        assert_eq!(far.counters().unwrap().dropped(DropPlace::ReceiveFilter), 1, "came before the filter");
        send(near.as_mut(), &[numbered(6, 100), numbered(7, 101), numbered(8, 102)]);
        assert_eq!(take(&mut far), [(numbered(7, 101)[..40].to_vec(), 101)]);
    }
}

#[test]
fn queues_of_one_group_share_the_frames() {
    let bed = bed();
    let mut near = open(bed.generator(), "packet:gen0", &Wish::transmit()).unwrap();
    let queue = |queue| Wish { queue, queues: 2, fanout: Some(77), ..Wish::receive() };
    let mut one = open(bed.sink(), "packet,share=lb:sink0", &queue(0)).unwrap();
    let mut other = open(bed.sink(), "packet,share=lb:sink0", &queue(1)).unwrap();
    let frames: Vec<Vec<u8>> = (0..200).map(|n| numbered(n, 60)).collect();
    send(near.as_mut(), &frames);
    // In turn: each gets every other one.
    let mut all = receive(one.as_mut(), 100);
    all.extend(receive(other.as_mut(), 100));
    all.sort();
    assert!(all == frames);
}

#[test]
fn an_unknown_interface_and_a_missing_privilege_are_told() {
    let bed = bed();
    let refused =
        open(bed.generator(), "packet:gen1", &Wish::transmit()).map(|_| ()).unwrap_err().to_string();
    assert_eq!(refused, "there is no interface 'gen1'; did you mean 'gen0'? there are: lo, gen0");
    let refused = open(bed.sink(), "packet,mode=rings:sink0", &Wish::transmit()).map(|_| ()).unwrap_err();
    assert!(refused.is_users(), "{refused}");
    let refused = open(bed.sink(), "packet,stamps=hardware:sink0", &Wish::receive()).map(|_| ()).unwrap_err();
    assert!(matches!(&refused, PortError::Unavailable { why, .. } if why.contains("veth")), "{refused}");

    // Without the capability, in a thread of its own: privileges belong to threads.
    let refused = bed.generator().run_in(|| {
        rustix::thread::set_capabilities(
            None,
            rustix::thread::CapabilitySets {
                effective: rustix::thread::CapabilitySet::empty(),
                permitted: rustix::thread::CapabilitySet::empty(),
                inheritable: rustix::thread::CapabilitySet::empty(),
            },
        )
        .unwrap();
        port::open(&"packet:gen0".parse().unwrap(), &Wish::transmit()).map(|_| ()).unwrap_err()
    });
    let refused = refused.unwrap();
    assert!(matches!(&refused, PortError::Privilege { capability: "CAP_NET_RAW", .. }), "{refused}");
}

#[test]
fn a_port_may_be_closed_while_it_is_busy() {
    let bed = bed();
    for out in ["packet:gen0", "packet,mode=ring:gen0"] {
        let mut near = open(bed.generator(), out, &Wish::transmit()).unwrap();
        let far = open(bed.sink(), "packet:sink0", &Wish::receive()).unwrap();
        for _ in 0..50 {
            near.transmit(256, &mut |slot| {
                slot.data[..60].copy_from_slice(&numbered(0, 60));
                slot.length = 60;
            })
            .unwrap();
        }
        drop((near, far));
    }
    let mut near = open(bed.generator(), "packet:gen0", &Wish::transmit()).unwrap();
    let mut far = open(bed.sink(), "packet:sink0", &Wish::receive()).unwrap();
    send(near.as_mut(), &[numbered(1, 60)]);
    assert!(receive(far.as_mut(), 1) == [numbered(1, 60)]);
}

#[test]
fn auto_chooses_and_says_why_not_another() {
    let bed = bed();
    // veth has no zero-copy; where frames are copied anyway, a thread that spins sends the even way, others the
    // cheap one.
    let fast = open(bed.generator(), "auto:gen0", &Wish::transmit()).unwrap();
    assert_eq!(fast.about().kind, "xdp", "{:?}", fast.about().choices);
    drop(fast);
    let mut near = open(bed.generator(), "auto:gen0", &Wish { busy: true, ..Wish::transmit() }).unwrap();
    let rows = |port: &dyn Port| -> Vec<(&'static str, String)> {
        port.about().choices.iter().map(|choice| (choice.what, choice.chosen.clone())).collect()
    };
    let told = rows(near.as_ref());
    let row = |what, chosen: &str| (what, chosen.to_owned());
    assert_eq!(near.about().kind, "packet");
    assert!(told.contains(&row("port refused", "xdp,mode=zerocopy:gen0")), "{told:?}");
    assert!(told.contains(&row("port refused", "xdp,mode=copy:gen0")), "{told:?}");
    assert!(told.contains(&row("port", "packet:gen0")), "{told:?}");

    // The sink has an address: its stack keeps its frames.
    let far = open(bed.sink(), "sink0", &Wish::receive()).unwrap();
    assert_eq!(far.about().kind, "packet");
    drop(far);
    // Without one, AF_XDP may have them.
    ip(bed.sink(), "addr flush dev sink0");
    let mut far = open(bed.sink(), "auto:sink0", &Wish::receive()).unwrap();
    assert_eq!(far.about().kind, "xdp", "{:?}", far.about().choices);
    assert!(rows(far.as_ref()).contains(&row("port", "xdp,mode=copy:sink0")));
    let frames: Vec<Vec<u8>> = (0..100).map(|n| numbered(n, 60)).collect();
    send(near.as_mut(), &frames);
    assert!(receive(far.as_mut(), 100) == frames);
    let refused = open(bed.sink(), "auto:gen0", &Wish::receive()).map(|_| ()).unwrap_err();
    assert!(matches!(refused, PortError::NoInterface { .. }), "{refused}");
}
