//! Live frames into a veth pair in a namespace of its own: needs root.

use crate::veth::{self, apart, ip, output, statistic};
use bpf::{
    Assembler, License, Link, Map, MapSpec, Program, ProgramKind, Register::*, Shared, Size, XdpMode, context,
};
use port::{Address, DropPlace, For, GapErrors, Made, Next, Order, Port, PortError, Wish};
use std::collections::HashMap;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};
use units::{Picos, Rate};
use wire::template::{By, Field, Layer, Mac, Sizes, Spec, StreamSpec, Values, Vary};
use wire::{Signature, Template};

static NEVER: AtomicBool = AtomicBool::new(false);
/// For what comes when the machine has time for it.
const PATIENCE: Duration = Duration::from_secs(20);

fn open(address: &str) -> Box<dyn Port> {
    let address: Address = address.parse().unwrap();
    port::open(&address, &Wish::transmit()).unwrap_or_else(|error| panic!("{address}: {error}"))
}

fn template(sizes: Sizes, sign: bool) -> Template {
    let layers = vec![
        Layer::ethernet(Mac([2, 0, 0, 0, 0, 1]), Mac([2, 0, 0, 0, 0, 2])),
        Layer::ipv4([198, 18, 0, 1].into(), [198, 18, 0, 2].into()),
        Layer::Udp { source: 1000, destination: 9, checksum: true },
    ];
    let count = Values::Increment { start: 1000, step: 1, count: 50_000 };
    let vary = vec![Vary { field: Field::PortSource, values: count, by: By::Frame }];
    let stream = StreamSpec { weight: 1, layers, sizes, vary, sign, ..StreamSpec::default() };
    Template::build(&Spec { streams: vec![stream], seed: 1 }).unwrap()
}

fn order(most: u64) -> Order<'static> {
    Order { first: 0, most, rate: None, origin_monotonic_ns: 0, until_monotonic_ns: None, stop: &NEVER }
}

/// Takes the place of a receiver: counts and drops.
struct Sink {
    _link: Link,
    seen: Shared,
}

impl Sink {
    fn at(interface: &str) -> Self {
        let map = Map::create(&MapSpec::memory("sink", 16)).unwrap();
        let seen = map.share().unwrap();
        let mut a = Assembler::new();
        a.load(Size::Word, R2, R1, context::DATA).load(Size::Word, R3, R1, context::DATA_END).sub(R3, R2);
        a.load_map_value(R1, map.as_fd(), 0).mov(R2, 1);
        a.atomic_add(Size::Double, R1, 0, R2).atomic_add(Size::Double, R1, 8, R3).mov(R0, 1).exit();
        let program =
            Program::load(ProgramKind::Xdp, "sink", &a.assemble().unwrap(), License::Apache).unwrap();
        let index = output(&format!("ip -o link show {interface}"));
        let index: u32 = index.split(':').next().unwrap().parse().unwrap();
        Self { _link: program.attach_xdp(index, XdpMode::Native).unwrap(), seen }
    }

    fn frames(&self) -> u64 {
        self.seen.u64_at(0).load(Relaxed)
    }

    fn bytes(&self) -> u64 {
        self.seen.u64_at(8).load(Relaxed)
    }

    /// What arrived, once nothing more does (bounded).
    fn settled(&self) -> u64 {
        let mut last = self.frames();
        for _ in 0..100 {
            std::thread::sleep(Duration::from_millis(20));
            if self.frames() == last {
                return last;
            }
            last = self.frames();
        }
        last
    }
}

fn make(
    port: &mut dyn Port,
    template: &Template,
    order: &Order<'_>,
    watch: &mut (dyn FnMut(&Made) -> Next + Send),
) -> Made {
    let offload = port.offload().expect("live frames");
    offload.prepare(template).unwrap();
    offload.make(order, watch).unwrap()
}

#[test]
fn as_many_frames_arrive_as_were_made_and_not_refused() {
    apart(1, || {
        let sink = Sink::at("v1");
        let mut port = open("live:v0");
        for (round, frames) in [(1u64, 300_000u64), (2, 1), (3, 77_777)] {
            let (frames_before, bytes_before) = (sink.frames(), sink.bytes());
            let before = statistic("v0", "tx_packets");
            let made =
                make(&mut *port, &template(Sizes::Fixed(64), false), &order(frames), &mut |_| Next::Go);
            assert_eq!((made.frames, made.bytes), (frames, frames * 60), "round {round}");
            let seen = sink.settled() - frames_before;
            assert_eq!(seen, made.frames - made.refused, "round {round}");
            assert_eq!(sink.bytes() - bytes_before, seen * 60);
            // The kernel's own counters of the interface.
            assert_eq!(statistic("v0", "tx_packets") - before, seen, "round {round}");
        }
        let counters = port.counters().unwrap();
        assert_eq!(counters.sent + counters.unsent(), 377_778);
        assert_eq!(statistic("v0", "tx_dropped"), counters.dropped(DropPlace::TransmitDriver));
    });
}

#[test]
fn frames_arrive_as_the_template_writes_them_and_in_order() {
    apart(1, || {
        let address: Address = "xdp:v1".parse().unwrap();
        let mut rx = port::open(&address, &Wish::receive()).unwrap();
        let mut port = open("live:v0");
        for sizes in [Sizes::Fixed(128), Sizes::imix(), Sizes::Fixed(1518)] {
            let template = template(sizes, true);
            let wanted = Order {
                rate: Rate::per_second(50_000),
                origin_monotonic_ns: clock::monotonic_ns() + 50_000_000,
                ..order(2000)
            };
            let mut seen = 0;
            std::thread::scope(|scope| {
                let maker = scope.spawn(|| make(&mut *port, &template, &wanted, &mut |_| Next::Go));
                let begun = Instant::now();
                while seen < 2000 && begun.elapsed() < Duration::from_secs(5) {
                    let read = rx.receive(64, &mut |frame| {
                        let signature = Signature::read(&frame.data[42..]).expect("signed");
                        assert_eq!(signature.seq, seen);
                        let times = wire::Times {
                            due_unix_ns: signature.due_unix_ns,
                            sent_unix_ns: signature.sent_unix_ns,
                        };
                        let mut expected = vec![0; template.length(seen)];
                        template.write(seen, times, &mut expected, &mut 0);
                        // The lateness in a signature is rounded; what follows from it as well.
                        assert_eq!(frame.data, expected, "frame {seen}");
                        assert!(frame.stamp.as_unix_nanos().abs_diff(signature.sent_unix_ns) < 1_000_000_000);
                        seen += 1;
                    });
                    if read.unwrap() == 0 {
                        rx.wait(For::Receive, Picos::from_millis(20)).unwrap();
                    }
                }
                let made = maker.join().unwrap();
                assert_eq!((made.frames, made.refused), (2000, 0));
                assert_eq!(made.lateness_log2_ns.iter().sum::<u64>(), 2000);
            });
            assert_eq!(seen, 2000);
        }
    });
}

#[test]
fn a_rate_is_kept_to_the_frame() {
    apart(1, || {
        let sink = Sink::at("v1");
        let mut port = open("live:v0");
        let offload = port.offload().unwrap();
        // Loaded before the clock counts.
        offload.prepare(&template(Sizes::Fixed(64), true)).unwrap();
        let origin = clock::monotonic_ns() + 50_000_000;
        let wanted = Order {
            rate: Rate::per_second(100_000),
            origin_monotonic_ns: origin,
            until_monotonic_ns: Some(origin + 300_000_000),
            ..order(u64::MAX)
        };
        let mut looks = 0;
        let made = offload.make(&wanted, &mut |made| {
            looks += 1;
            assert!(made.frames <= 30_000);
            Next::Go
        });
        let made = made.unwrap();
        assert!(clock::monotonic_ns() >= origin + 299_000_000);
        // Due before 0.3 s: 30 000 frames; those at the very end may be cut off by the end itself.
        assert!((20_000..=30_000).contains(&made.frames), "{}", made.frames);
        assert_eq!(sink.settled(), made.frames - made.refused);
        assert!(looks >= 2, "{looks} looks");
        // One gap less than frames, and as far off as latenesses differ.
        assert_eq!(made.gap_errors.count(), made.frames - 1);
        let GapErrors { sum_ns, max_ns, .. } = made.gap_errors;
        assert!(max_ns <= sum_ns && max_ns < 1_000_000_000, "{:?}", made.gap_errors);
        assert!(made.gap_errors.at_most_ns(500_000) <= max_ns);
        let late: u64 = made.lateness_log2_ns.iter().skip(10).sum();
        println!("later than 1 us: {late} of {} {:?}", made.frames, made.lateness_log2_ns);
    });
}

#[test]
fn a_stop_is_prompt_and_nothing_leaves_after_it() {
    apart(1, || {
        let sink = Sink::at("v1");
        let mut port = open("live:v0");
        let frames = template(Sizes::Fixed(64), false);
        for rate in [None, Rate::per_second(1_000), Rate::per_second(1_000_000)] {
            let stop = AtomicBool::new(false);
            let origin_monotonic_ns = clock::monotonic_ns();
            let wanted = Order { rate, origin_monotonic_ns, stop: &stop, ..order(u64::MAX) };
            let before = sink.settled();
            let (seen, stopped) = (AtomicBool::new(false), Mutex::new(None));
            let made = std::thread::scope(|scope| {
                scope.spawn(|| {
                    // To load a program takes time, on a busy machine much: the first frame comes when it
                    // comes.
                    let begun = Instant::now();
                    while !seen.load(Relaxed) && begun.elapsed() < PATIENCE {
                        std::thread::sleep(Duration::from_millis(5));
                    }
                    std::thread::sleep(Duration::from_millis(100));
                    *stopped.lock().unwrap() = Some(Instant::now());
                    stop.store(true, Relaxed);
                });
                make(&mut *port, &frames, &wanted, &mut |made| {
                    seen.fetch_or(made.frames > 0, Relaxed);
                    Next::Go
                })
            });
            assert!(made.frames > 0);
            let now = sink.frames();
            let took = stopped.lock().unwrap().map_or(Duration::ZERO, |at: Instant| at.elapsed());
            assert!(took < Duration::from_secs(2), "{took:?}");
            assert_eq!(sink.settled() - before, made.frames - made.refused);
            // What was under way to the sink may still arrive; no more than veth's ring holds.
            assert!(sink.frames() - now <= 256, "{}", sink.frames() - now);
        }
    });
}

#[test]
fn a_rate_changes_in_the_middle_with_exact_counts() {
    apart(1, || {
        let sink = Sink::at("v1");
        let mut port = open("live:v0");
        let origin = clock::monotonic_ns() + 50_000_000;
        let wanted = Order { rate: Rate::per_second(10_000), origin_monotonic_ns: origin, ..order(u64::MAX) };
        let (mut changed, mut at, begun) = (0, 0, Instant::now());
        let made = make(&mut *port, &template(Sizes::Fixed(64), false), &wanted, &mut |made| {
            let now = clock::monotonic_ns();
            if changed == 0 && made.frames >= 1_000 {
                at = now;
                changed = made.frames;
                return Next::Rate { rate: Rate::per_second(100_000), origin_monotonic_ns: now };
            }
            let is_over = begun.elapsed() > PATIENCE || (changed > 0 && made.since_change >= 5_000);
            if is_over { Next::Stop } else { Next::Go }
        });
        // Never more than were due until then.
        assert!((1_000..=(at - origin) / 100_000 + 1).contains(&changed), "{changed}");
        // The same after the change.
        let due = (clock::monotonic_ns() - at) / 10_000 + 1;
        assert!((5_000..=due).contains(&made.since_change), "{made:?}");
        // Frames that left between the look and the change: those behind their times leave in one go.
        let between = made.frames - made.since_change - changed;
        assert!(between < 2_000, "{between}");
        assert_eq!(sink.settled(), made.frames - made.refused);
        // From even gaps to as fast as it goes: another way of making, in the same call.
        let wanted = Order {
            rate: Rate::per_second(10_000),
            origin_monotonic_ns: clock::monotonic_ns(),
            ..order(100_000)
        };
        let made =
            make(&mut *port, &template(Sizes::Fixed(64), false), &wanted, &mut |made| match made.frames {
                0..100 => Next::Go,
                _ if made.since_change == made.frames => Next::Rate { rate: None, origin_monotonic_ns: 0 },
                _ => Next::Go,
            });
        assert_eq!(made.frames, 100_000);
        assert!(made.since_change < 100_000);
    });
}

#[test]
fn refused_frames_are_counted_to_the_last_one() {
    apart(1, || {
        // A receiver that takes its frames through the stack is slower: veth's ring of 256 overflows.
        output("ethtool -K v1 gro on");
        let mut port = open("live:v0");
        let made = make(&mut *port, &template(Sizes::Fixed(64), false), &order(200_000), &mut |_| Next::Go);
        assert_eq!(made.frames, 200_000);
        std::thread::sleep(Duration::from_millis(300));
        let statistics = output("ethtool -S v0");
        let value = |name: &str| -> u64 {
            let lines = statistics
                .lines()
                .filter(|line| line.trim().starts_with("tx_queue") && line.contains(&format!("{name}:")));
            lines.map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum()
        };
        assert_eq!(value("xdp_xmit_errors"), made.refused, "{statistics}");
        assert_eq!(value("xdp_xmit"), made.frames - made.refused, "{statistics}");
        println!("refused {} of {}", made.refused, made.frames);
    });
}

#[test]
fn a_peer_without_xdp_is_told_at_once() {
    apart(1, || {
        let mut port = open("live:v0");
        let offload = port.offload().unwrap();
        offload.prepare(&template(Sizes::Fixed(64), false)).unwrap();
        let begun = Instant::now();
        let error = offload.make(&order(u64::MAX), &mut |_| Next::Go).unwrap_err();
        assert!(begun.elapsed() < Duration::from_secs(2));
        let said = error.to_string();
        assert!(said.contains("veth refuses every frame") && said.contains("gro on"), "{said}");
    });
}

#[test]
fn a_driver_that_cannot_send_for_programs_is_refused_before_anything_is_sent() {
    apart(1, || {
        ip("link add br0 type bridge");
        ip("link set br0 up");
        let address: Address = "live:br0".parse().unwrap();
        let error = port::open(&address, &Wish::transmit()).err().unwrap();
        assert!(error.is_users(), "{error:?}");
        let said = error.to_string();
        assert!(
            said.contains("bridge cannot send frames of XDP programs") && said.contains("packet:br0"),
            "{said}"
        );
    });
}

/// What `live:v0` says when a command is run as soon as the first frames have left.
fn error_after(command: &str, port: &mut dyn Port) -> PortError {
    let offload = port.offload().unwrap();
    offload.prepare(&template(Sizes::Fixed(64), false)).unwrap();
    let (mut is_done, begun) = (false, Instant::now());
    let made = offload.make(&order(u64::MAX), &mut |made| {
        if made.frames > 0 && !is_done {
            ip(command);
            is_done = true;
        }
        if begun.elapsed() < PATIENCE { Next::Go } else { Next::Stop }
    });
    made.unwrap_err()
}

#[test]
fn an_interface_that_is_removed_in_the_middle_is_gone() {
    apart(1, || {
        let _sink = Sink::at("v1");
        let mut port = open("live:v0");
        let error = error_after("link del v0", &mut *port);
        assert!(matches!(error, PortError::Gone { .. }), "{error:?}");
        assert!(port.counters().unwrap().sent > 0);
    });
}

#[test]
fn an_interface_that_goes_down_says_so() {
    apart(1, || {
        let _sink = Sink::at("v1");
        let mut port = open("live:v0");
        let error = error_after("link set v0 down", &mut *port);
        assert!(matches!(error, PortError::Down { .. }), "{error:?}");
        ip("link set v0 up");
        let made = make(&mut *port, &template(Sizes::Fixed(64), false), &order(1000), &mut |_| Next::Go);
        assert_eq!(made.frames, 1000);
    });
}

#[test]
fn single_frames_are_sent_as_they_were_written() {
    apart(1, || {
        let address: Address = "xdp:v1".parse().unwrap();
        let mut rx = port::open(&address, &Wish::receive()).unwrap();
        let mut port = open("live:v0");
        let length = |n: usize| 60 + n * 11;
        let mut n = 0;
        let taken = port.transmit(100, &mut |slot| {
            slot.data[..12].fill(2);
            slot.data[12..14].copy_from_slice(&[0x88, 0xb5]);
            slot.data[14..length(n)].fill(n as u8);
            slot.length = length(n);
            n += 1;
        });
        assert_eq!(taken.unwrap(), 100);
        let mut lengths = HashMap::new();
        while rx
            .receive(64, &mut |frame| {
                assert_eq!(frame.data[14], lengths.len() as u8);
                assert!(frame.data[14..].iter().all(|byte| *byte == frame.data[14]));
                lengths.insert(frame.data[14] as usize, frame.length);
            })
            .unwrap()
            > 0
            || rx.wait(For::Receive, Picos::from_millis(100)).unwrap()
        {}
        assert_eq!(lengths.len(), 100);
        assert!(lengths.iter().all(|(n, seen)| length(*n) == *seen));
        assert_eq!(port.counters().unwrap().sent, 100);
        assert_eq!(port.counters().unwrap().lost(), 0);
    });
}

#[test]
fn a_thread_of_another_namespace_sends_where_the_port_was_opened_and_is_back_afterwards() {
    let inode = || std::fs::metadata("/proc/thread-self/ns/net").unwrap().ino();
    apart(1, || {
        let sink = Sink::at("v1");
        let mut port = open("live:v0");
        let there = inode();
        apart(1, || {
            // Here is another pair of the same names and, most likely, numbers: nothing may pass it.
            let other = Sink::at("v1");
            let here = inode();
            assert_ne!(here, there);
            let made = make(&mut *port, &template(Sizes::Fixed(64), false), &order(1_000), &mut |_| Next::Go);
            let taken = port.transmit(10, &mut |slot| {
                slot.data[..60].fill(2);
                slot.length = 60;
            });
            assert_eq!((made.frames, taken.unwrap()), (1_000, 10));
            assert_eq!((other.settled(), inode()), (0, here));
        });
        assert_eq!(sink.settled() + port.counters().unwrap().unsent(), 1_010);
    });
}

#[test]
fn what_it_cannot_is_said() {
    apart(1, || {
        let mut port = open("live:v0");
        assert!(port.receive(1, &mut |_| ()).unwrap_err().to_string().contains("sends only"));
        let long = template(Sizes::Fixed(4000), false);
        let error = port.offload().unwrap().prepare(&long).unwrap_err();
        assert!(matches!(error, PortError::TooLong { length: 3996, .. }), "{error:?}");
        // An MTU of 1500 and a header: 1514, and 1518 with a tag only.
        let long = template(Sizes::Fixed(1519), false);
        let error = port.offload().unwrap().prepare(&long).unwrap_err();
        assert!(matches!(error, PortError::TooLong { length: 1515, longest: 1514, .. }), "{error:?}");
        port.offload().unwrap().prepare(&template(Sizes::Fixed(1518), false)).unwrap();
        port = open("live:v0");
        let error = port.offload().unwrap().make(&order(1), &mut |_| Next::Go).unwrap_err();
        assert!(error.to_string().contains("not prepared"), "{error}");
        let address: Address = "live:v0".parse().unwrap();
        veth::drop_capabilities();
        let error = port::open(&address, &Wish::transmit()).err().unwrap();
        assert!(error.to_string().contains("needs cap_bpf"), "{error}");
    });
}
