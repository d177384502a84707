//! AF_XDP on a veth pair in a namespace of its own: needs root.

use crate::veth::{self, apart, ip, statistic};
use port::{Address, Counters, Direction, DropPlace, For, Port, PortError, StampedBy, Wish};
use units::Picos;

fn try_open(address: &str, wish: &Wish) -> Result<Box<dyn Port>, PortError> {
    port::open(&address.parse::<Address>().unwrap(), wish)
}

fn open(address: &str, wish: &Wish) -> Box<dyn Port> {
    try_open(address, wish).unwrap_or_else(|error| panic!("{address}: {error}"))
}

/// Frame n: to and from addresses of nobody, its number in bytes 14 to 22, and its length told by it.
fn write(n: u64, room: &mut [u8], length: usize) -> usize {
    room[..14].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5]);
    room[14..22].copy_from_slice(&n.to_be_bytes());
    for (index, byte) in room[22..length].iter_mut().enumerate() {
        *byte = (n as usize + index) as u8;
    }
    length
}

fn number(data: &[u8]) -> u64 {
    u64::from_be_bytes(data[14..22].try_into().unwrap())
}

/// Sends frames `first..first + count`, retrying while there is no room (bounded).
fn send(port: &mut dyn Port, first: u64, count: u64, length: impl Fn(u64) -> usize) {
    let (mut next, mut tries) = (first, 0);
    while next < first + count {
        let most = (first + count - next).min(64) as usize;
        let mut n = next;
        let taken = port
            .transmit(most, &mut |slot| {
                slot.length = write(n, slot.data, length(n));
                n += 1;
            })
            .unwrap();
        next += taken as u64;
        tries += 1;
        assert!(tries < 1_000_000, "stuck at frame {next}");
    }
    assert!(port.flush(Picos::from_secs(2)).unwrap(), "everything left");
}

/// Receives until nothing comes for 100 ms.
fn drain(port: &mut dyn Port, read: &mut dyn FnMut(&port::Frame<'_>)) -> u64 {
    let mut total = 0;
    loop {
        let count = port.receive(64, read).unwrap();
        total += count as u64;
        if count == 0 && !port.wait(For::Receive, Picos::from_millis(100)).unwrap() {
            return total;
        }
    }
}

fn ours(frame: &port::Frame<'_>) -> bool {
    frame.data[12..14] == [0x88, 0xb5]
}

fn losses(counters: &Counters) -> String {
    format!("{:?}", counters.drops)
}

#[test]
fn frames_of_all_lengths_arrive_in_order_and_unchanged() {
    for receiver in ["xdp,attach=native:v1", "xdp,attach=generic:v1", "xdp,stamps=no:v1"] {
        apart(1, || {
            let mut rx = open(receiver, &Wish::receive());
            let mut tx = open("xdp:v0", &Wish::transmit());
            let length = |n: u64| 22 + (n as usize * 7) % 1493; // up to 1514
            let (mut seen, mut bytes) = (0u64, 0u64);
            let mut expected = [0u8; 1514];
            for burst in 0..50 {
                send(&mut *tx, burst * 100, 100, length);
                drain(&mut *rx, &mut |frame| {
                    if ours(frame) {
                        let end = write(seen, &mut expected, length(seen));
                        // Frames shorter than Ethernet's least are not padded on veth.
                        assert_eq!(frame.data, &expected[..end], "frame {seen} of {receiver}");
                        assert_eq!(frame.length, end);
                        seen += 1;
                        bytes += end as u64;
                    }
                });
            }
            assert_eq!(seen, 5000, "{receiver}");
            let counters = tx.counters().unwrap();
            assert_eq!((counters.sent, counters.sent_bytes, counters.lost()), (5000, bytes, 0));
            // The kernel's own count of the same frames; neighbour discovery adds a few.
            let kernel = statistic("v0", "tx_packets");
            assert!((5000..5020).contains(&kernel), "{kernel}");
            assert_eq!(rx.counters().unwrap().lost(), 0, "{}", losses(rx.counters().unwrap()));
        });
    }
}

#[test]
fn stamps_are_the_wall_clocks_and_ascend() {
    apart(1, || {
        let mut rx = open("xdp:v1", &Wish::receive());
        let mut tx = open("xdp:v0", &Wish::transmit());
        assert_eq!(rx.about().can.stamps, Some(StampedBy::Driver));
        let before = clock::unix_ns();
        send(&mut *tx, 0, 500, |_| 60);
        let after = clock::unix_ns();
        let mut last = before;
        let count = drain(&mut *rx, &mut |frame| {
            let stamp = frame.stamp.as_unix_nanos();
            // The kernel's coarse reading may be some microseconds off the fine one.
            assert!(stamp + 50_000 >= last && stamp <= after + 5_000_000, "{before} {stamp} {after}");
            last = stamp;
        });
        assert!(count >= 500);
    });
}

#[test]
fn generic_mode_has_stamps_or_says_none() {
    apart(1, || {
        let mut rx = open("xdp,attach=generic:v1", &Wish::receive());
        let mut tx = open("xdp:v0", &Wish::transmit());
        send(&mut *tx, 0, 10, |_| 60);
        let now = clock::unix_ns();
        drain(&mut *rx, &mut |frame| {
            let stamp = frame.stamp.as_unix_nanos();
            assert!(stamp == 0 || stamp.abs_diff(now) < 1_000_000_000, "{stamp}");
        });
    });
}

#[test]
fn each_queue_has_its_own_socket_and_frames() {
    apart(2, || {
        let wish = |queue, direction| Wish { queue, queues: 2, direction, ..Wish::default() };
        let mut rx: Vec<_> = (0..2).map(|queue| open("xdp:v1", &wish(queue, Direction::Receive))).collect();
        let mut tx: Vec<_> = (0..2).map(|queue| open("xdp:v0", &wish(queue, Direction::Transmit))).collect();
        assert_eq!(rx[1].about().queue, 1);
        assert_eq!(rx[0].about().queues, 2);
        send(&mut *tx[0], 0, 300, |_| 60);
        send(&mut *tx[1], 1000, 200, |_| 60);
        for (queue, count) in [(0, 300), (1, 200)] {
            let mut numbers = Vec::new();
            drain(&mut *rx[queue], &mut |frame| {
                if ours(frame) {
                    numbers.push(number(frame.data));
                }
            });
            // veth gives what was sent on queue n to the peer's queue n.
            let first = queue as u64 * 1000;
            assert_eq!(numbers, (first..first + count).collect::<Vec<_>>(), "queue {queue}");
        }
    });
}

#[test]
fn a_receiver_that_sleeps_loses_frames_at_a_counted_place() {
    apart(1, || {
        let mut rx = open("xdp,slots=64:v1", &Wish::receive());
        let mut tx = open("xdp:v0", &Wish::transmit());
        send(&mut *tx, 0, 1000, |_| 60);
        std::thread::sleep(std::time::Duration::from_millis(100));
        let mut seen = 0;
        let all = drain(&mut *rx, &mut |frame| seen += u64::from(ours(frame)));
        assert_eq!(seen, 64, "the ring's first 64 of {all}");
        let counters = rx.counters().unwrap();
        assert!(counters.dropped(DropPlace::ReceiveRing) >= 1000 - 64, "{}", losses(counters));
        assert!(counters.dropped(DropPlace::ReceiveRing) <= 1000 - 64 + 20, "{}", losses(counters));
    });
}

/// One frame; whether it was taken.
fn try_one(tx: &mut dyn Port, n: u64) -> Result<usize, PortError> {
    tx.transmit(1, &mut |slot| slot.length = write(n, slot.data, 60))
}

#[test]
fn a_peer_that_is_down_takes_the_carrier_away_and_frames_pass_when_it_is_back() {
    apart(1, || {
        let mut tx = open("xdp:v0", &Wish::transmit());
        send(&mut *tx, 0, 10, |_| 60);
        ip("link set v1 down");
        assert!(!tx.is_up());
        let (mut taken, mut told) = (0, None);
        for n in 0..100 {
            match try_one(&mut *tx, n) {
                Ok(more) => taken += more as u64,
                Err(error) => told = told.or(Some((n, error))),
            }
        }
        let (first, error) = told.expect("the port says that the link is down");
        assert!(matches!(error, PortError::Down { .. }), "{error:?}");
        assert!(first <= 2, "told at frame {first}");
        // What was taken before that was dropped, and is counted where it was.
        tx.flush(Picos::from_millis(50)).unwrap();
        let counters = tx.counters().unwrap().clone();
        assert_eq!(counters.dropped(DropPlace::TransmitDown), taken, "{}", losses(&counters));
        assert_eq!((counters.sent, counters.sent_bytes), (10, 600), "{}", losses(&counters));
        ip("link set v1 up");
        let mut rx = open("xdp:v1", &Wish::receive());
        send(&mut *tx, 0, 100, |_| 60);
        let mut seen = 0;
        drain(&mut *rx, &mut |frame| seen += u64::from(ours(frame)));
        assert_eq!(seen, 100);
        assert!(tx.is_up());
        assert_eq!(tx.counters().unwrap().sent, 110);
    });
}

#[test]
fn an_interface_that_is_down_says_so_and_comes_back() {
    apart(1, || {
        let mut tx = open("xdp:v0", &Wish::transmit());
        ip("link set v0 down");
        // The first is in the ring when the kernel says so, and waits there.
        let taken = try_one(&mut *tx, 0).unwrap();
        let error = try_one(&mut *tx, 1).unwrap_err();
        assert!(matches!(error, PortError::Down { .. }), "{error:?}");
        ip("link set v0 up");
        let mut rx = open("xdp:v1", &Wish::receive());
        send(&mut *tx, 1, 10, |_| 60);
        let mut numbers = Vec::new();
        drain(&mut *rx, &mut |frame| numbers.extend(ours(frame).then(|| number(frame.data))));
        assert_eq!(numbers, (1 - taken as u64..=10).collect::<Vec<_>>());
    });
}

#[test]
fn an_interface_that_is_removed_is_gone_for_sender_and_receiver() {
    apart(1, || {
        let mut rx = open("xdp:v1", &Wish::receive());
        let mut tx = open("xdp:v0", &Wish::transmit());
        send(&mut *tx, 0, 10, |_| 60);
        ip("link del v0");
        let error = tx.transmit(1, &mut |slot| slot.length = write(0, slot.data, 60)).unwrap_err();
        assert!(matches!(error, PortError::Gone { .. }), "{error:?}");
        let error = (0..200_000).find_map(|_| rx.receive(64, &mut |_| ()).err()).expect("told");
        assert!(matches!(error, PortError::Gone { .. }), "{error:?}");
        let mut rx = open_gone();
        let error = rx.wait(For::Receive, Picos::from_secs(2)).unwrap_err();
        assert!(matches!(error, PortError::Gone { .. }), "{error:?}");
    });
}

fn open_gone() -> Box<dyn Port> {
    veth::pair(1);
    let rx = open("xdp:v1", &Wish::receive());
    ip("link del v0");
    rx
}

#[test]
fn a_full_ring_is_back_pressure_and_loses_nothing() {
    apart(1, || {
        let mut tx = open("xdp,slots=64:v0", &Wish::transmit());
        let mut rx = open("xdp:v1", &Wish::receive());
        let mut seen = 0;
        // Bursts far beyond the ring and veth's own 256 places, and a receiver that keeps up.
        for burst in 0..200u64 {
            send(&mut *tx, burst * 200, 200, |_| 60);
            drain_now(&mut *rx, &mut seen);
        }
        drain(&mut *rx, &mut |frame| seen += u64::from(ours(frame)));
        let lost = tx.counters().unwrap().lost() + rx.counters().unwrap().lost();
        assert_eq!(seen + lost, 40_000);
    });
}

fn drain_now(port: &mut dyn Port, seen: &mut u64) {
    while port.receive(64, &mut |frame| *seen += u64::from(ours(frame))).unwrap() > 0 {}
}

#[test]
fn refusals_say_what_is_wrong() {
    apart(1, || {
        let fails = |address: &str, wish: &Wish| try_open(address, wish).err().expect(address).to_string();
        assert!(fails("xdp:v7", &Wish::receive()).contains("there is no interface 'v7'"));
        let queue = fails("xdp:v0", &Wish { queue: 1, queues: 2, ..Wish::receive() });
        assert!(queue.contains("'v0' has 1 queues, but number 1 (from 0) was requested"), "{queue}");
        let zero = fails("xdp,mode=zerocopy:v0", &Wish::receive());
        assert!(zero.contains("zero-copy: veth has none (EOPNOTSUPP)"), "{zero}");
        let slots = fails("xdp,slots=100:v0", &Wish::receive());
        assert!(slots.contains("write slots=128"), "{slots}");
        let native = fails("xdp,attach=native:lo", &Wish::receive());
        assert!(native.contains("native") && native.contains("has no native XDP"), "{native}");
        let long = fails("xdp:v0", &Wish { frame: 9000, ..Wish::transmit() });
        assert!(long.contains("a frame of 9000 bytes is longer than the 1514"), "{long}");
        let _first = open("xdp:v1", &Wish::receive());
        let second = fails("xdp:v1", &Wish::receive());
        assert!(second.contains("queue 0 has another AF_XDP socket"), "{second}");
    });
}

#[test]
fn a_driver_without_xdp_falls_back_and_says_why() {
    apart(1, || {
        let rx = open("xdp:lo", &Wish::receive());
        let choices = &rx.about().choices;
        let attach = choices.iter().find(|choice| choice.what == "attach").unwrap();
        assert_eq!(attach.chosen, "generic");
        assert!(attach.why.contains("has no native XDP"), "{}", attach.why);
        let mode = choices.iter().find(|choice| choice.what == "mode").unwrap();
        assert_eq!(mode.chosen, "copy");
    });
}

#[test]
fn a_frame_that_is_too_long_is_refused_and_those_before_it_leave() {
    apart(1, || {
        let mut tx = open("xdp:v0", &Wish::transmit());
        let mut lengths = [60, 60, 1600, 60].into_iter();
        let taken = tx.transmit(4, &mut |slot| slot.length = lengths.next().unwrap()).unwrap();
        assert_eq!(taken, 2);
        let error = tx.transmit(1, &mut |slot| slot.length = 1600).unwrap_err();
        assert!(matches!(error, PortError::TooLong { length: 1600, longest: 1514, .. }), "{error:?}");
        assert_eq!(tx.counters().unwrap().sent, 2);
    });
}

#[test]
fn four_bytes_above_the_mtu_are_for_a_vlan_tag_alone() {
    for address in ["xdp:v0", "packet:v0", "live:v0"] {
        apart(1, || {
            let mut rx = open("xdp:v1", &Wish::receive());
            // A frame size of 1522: 1518 bytes and the FCS.
            let mut tx = open(address, &Wish { frame: 1518, ..Wish::transmit() });
            assert_eq!(tx.about().longest, 1514, "{address}");
            let mut tagged = [0; 1518];
            write(7, &mut tagged, 1518);
            tagged.copy_within(12..1514, 16);
            tagged[12..16].copy_from_slice(&[0x81, 0x00, 0, 5]);
            let mut one = |frame: &[u8]| {
                tx.transmit(1, &mut |slot| {
                    slot.data[..frame.len()].copy_from_slice(frame);
                    slot.length = frame.len();
                })
            };
            assert_eq!(one(&tagged).unwrap(), 1, "{address}");
            for length in [1515, 1518] {
                let mut plain = [0; 1518];
                write(8, &mut plain, length);
                let error = one(&plain[..length]).unwrap_err();
                let PortError::TooLong { length: told, longest: 1514, .. } = error else { panic!("{error}") };
                assert_eq!(told, length, "{address}");
            }
            assert_eq!(one(&tagged[..1514]).unwrap(), 1);
            tx.flush(Picos::from_secs(1)).unwrap();
            let mut lengths = Vec::new();
            drain(&mut *rx, &mut |frame| {
                if frame.data[..6] == tagged[..6] {
                    assert_eq!(frame.data, &tagged[..frame.length]);
                    lengths.push(frame.length);
                }
            });
            assert_eq!(lengths, [1518, 1514], "{address}");
            let refused = try_open(address, &Wish { frame: 1519, ..Wish::transmit() }).err().unwrap();
            assert!(matches!(refused, PortError::TooLong { length: 1519, longest: 1514, .. }), "{refused:?}");
        });
    }
}

#[test]
fn without_privilege_the_capability_is_named() {
    apart(1, || {
        veth::drop_capabilities();
        let error = try_open("xdp:v0", &Wish::transmit()).err().unwrap();
        assert!(error.to_string().contains("needs cap_net_raw"), "{error}");
        let error = try_open("xdp:v0", &Wish::receive()).err().unwrap();
        assert!(error.to_string().contains("cap_net_admin"), "{error}");
    });
}

#[test]
fn the_program_is_gone_with_the_last_port() {
    apart(2, || {
        let wish = |queue| Wish { queue, queues: 2, direction: Direction::Receive, ..Wish::default() };
        let shown = || veth::output("ip link show v1");
        let first = open("xdp:v1", &wish(0));
        let second = open("xdp:v1", &wish(1));
        drop(first);
        assert!(shown().contains("xdp"), "{}", shown());
        drop(second);
        assert!(!shown().contains("xdp"), "{}", shown());
    });
}

#[test]
fn a_mark_stays_with_its_room() {
    apart(1, || {
        let mut tx = open("xdp:v0", &Wish::transmit());
        let mut known = 0;
        for n in 0..1000u64 {
            let taken = tx.transmit(1, &mut |slot| {
                if *slot.mark == 77 {
                    assert_eq!(slot.data[14..22], slot.data[22..30], "what was written there");
                    known += 1;
                }
                slot.length = write(n, slot.data, 60);
                slot.data.copy_within(14..22, 22);
                *slot.mark = 77;
            });
            assert_eq!(taken.unwrap(), 1);
        }
        // One by one, the last room used is the next.
        assert!(known > 900, "{known}");
    });
}

#[test]
fn an_interface_that_leads_out_of_the_host_is_not_cut_off_unless_that_is_meant() {
    apart(1, || {
        let said = |port: &dyn Port| format!("{:?}", port.about().choices);
        let free = open("xdp:v1", &Wish::receive());
        assert!(!said(&*free).contains("taken from the host"), "{}", said(&*free));
        drop(free);
        ip("addr add 198.18.0.1/24 dev v1");
        let used = open("xdp:v1", &Wish::receive());
        assert!(said(&*used).contains("taken from the host") && said(&*used).contains("it has addresses"));
        drop(used);
        ip("route add default via 198.18.0.2 dev v1");
        let Err(error) = try_open("xdp:v1", &Wish::receive()) else {
            panic!("the default route leads there")
        };
        let error = error.to_string();
        assert!(
            error.contains("default route leads through 'v1'") && error.contains("xdp,take=all:v1"),
            "{error}"
        );
        // Who only sends takes no frames; and what is meant is done.
        drop(open("xdp:v1", &Wish::transmit()));
        drop(open("xdp,take=all:v1", &Wish::receive()));
    });
}
