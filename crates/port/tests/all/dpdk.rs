//! Ports of DPDK's own: what conformance does not ask. Without libdpdk they say SKIPPED.

use port::{Address, Direction, For, Port, PortError, Wish};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use units::Picos;

/// Where a system keeps the library.
const PLACES: [&str; 4] =
    ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/local/lib"];
const INSTALL: &str = "apt-get install librte-ethdev23 librte-mempool-ring23 librte-net-null23 \
                       librte-net-ring23 librte-net-pcap23 librte-net-af-packet23 librte-net-af-xdp23";

/// Whether the library and this driver are here; says SKIPPED if not.
pub fn is_here(driver: &str) -> bool {
    let has = |name: &str| PLACES.iter().any(|place| Path::new(place).join(name).exists());
    let is_here = has("librte_ethdev.so.23") && has(&format!("librte_net_{driver}.so.23"));
    if !is_here {
        println!("SKIPPED: no DPDK 22.11 with net_{driver} here; {INSTALL}");
    }
    is_here
}

/// Few tests at a time have devices: a process has 32.
pub fn turn() -> MutexGuard<'static, ()> {
    static TURNS: [Mutex<()>; 4] = [const { Mutex::new(()) }; 4];
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    TURNS[next % TURNS.len()].lock().unwrap_or_else(PoisonError::into_inner)
}

fn opened(address: &str, wish: &Wish) -> Result<Box<dyn Port>, PortError> {
    port::open(&address.parse::<Address>()?, wish)
}

#[test]
fn a_null_device_takes_all_and_gives_all() {
    if !is_here("null") {
        return;
    }
    let _turn = turn();
    let mut port = opened("dpdk:net_null7,size=100", &Wish::default()).unwrap();
    let taken = port.transmit(32, &mut |slot| {
        slot.data[..60].fill(7);
        slot.length = 60;
    });
    assert_eq!(taken.unwrap(), 32);
    let mut lengths = Vec::new();
    assert_eq!(port.receive(32, &mut |frame| lengths.push(frame.length)).unwrap(), 32);
    assert_eq!(lengths, [100; 32]);
    let counters = port.counters().unwrap();
    assert_eq!((counters.sent, counters.sent_bytes), (32, 32 * 60), "{counters:?}");
    assert_eq!((counters.received, counters.received_bytes), (32, 3_200), "{counters:?}");
}

#[test]
fn a_room_keeps_the_writers_mark() {
    if !is_here("null") {
        return;
    }
    let _turn = turn();
    let mut port = opened("dpdk:net_null8", &Wish::transmit()).unwrap();
    let (mut first, mut again) = (0, 0);
    for _ in 0..1_000 {
        let taken = port.transmit(64, &mut |slot| {
            match *slot.mark {
                0 => first += 1,
                mark => again += u64::from(slot.data[..8] == mark.to_ne_bytes()),
            }
            *slot.mark = 7 << 40 | 9;
            slot.data[..8].copy_from_slice(&slot.mark.to_ne_bytes());
            slot.length = 60;
        });
        assert_eq!(taken.unwrap(), 64);
    }
    assert_eq!(first + again, 64_000);
    // The pool has 4095, of which a thread has some hundreds at hand.
    assert!((64..1_000).contains(&first), "{first} rooms were new");
}

#[test]
fn the_environment_disturbs_nothing() {
    if !is_here("null") {
        return;
    }
    let _turn = turn();
    let status = |name: &str| {
        let text = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        text.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().to_owned()
    };
    let before = (status("Cpus_allowed:"), status("SigBlk:"), status("SigIgn:"), status("SigCgt:"));
    let port = opened("dpdk:net_null9", &Wish::default()).unwrap();
    assert_eq!(before, (status("Cpus_allowed:"), status("SigBlk:"), status("SigIgn:"), status("SigCgt:")));
    let left = Path::new("/var/run/dpdk");
    let own = std::fs::read_dir(left).into_iter().flatten().flatten().count();
    assert!(own == 0 || !left.join("rte").join("config").exists(), "files are in {}", left.display());
    // Its threads get no signals, and there is none for each core.
    let mut threads = Vec::new();
    for task in std::fs::read_dir("/proc/self/task").unwrap().flatten() {
        let name = std::fs::read_to_string(task.path().join("comm")).unwrap_or_default();
        if !["eal", "rte", "lcore", "telemetry"].iter().any(|begin| name.starts_with(begin)) {
            continue;
        }
        let text = std::fs::read_to_string(task.path().join("status")).unwrap();
        let blocked = text.lines().find_map(|line| line.strip_prefix("SigBlk:")).unwrap().trim().to_owned();
        assert!(blocked.ends_with("fffe7ffbfeff") || blocked.starts_with("ffff"), "{name}: {blocked}");
        threads.push(name.trim().to_owned());
    }
    assert_eq!(threads, ["eal-intr-thread"]);
    drop(port);
}

#[test]
fn queues_are_taken_once_each_and_let_go() {
    if !is_here("null") {
        return;
    }
    let _turn = turn();
    let queue = |queue, queues| opened("dpdk:net_null10", &Wish { queue, queues, ..Wish::default() });
    let said = |result: Result<Box<dyn Port>, PortError>| match result {
        Err(error) => error.to_string(),
        Ok(port) => panic!("{:?}", port.about()),
    };
    let (first, second) = (queue(0, 2).unwrap(), queue(1, 2).unwrap());
    assert_eq!((second.about().queue, second.about().queues), (1, 2));
    let shared = said(queue(1, 2));
    assert!(shared.contains("queue 1 of net_null10 is used by another port of this process"), "{shared}");
    let other = said(queue(0, 1));
    assert!(other.contains("net_null10 is open with 2 queue(s), not 1"), "{other}");
    let other = said(opened("dpdk:net_null10,size=99", &Wish::default()));
    assert!(other.contains("this process has net_null10 open as net_null10"), "{other}");
    drop(second);
    let again = Wish { queue: 1, queues: 2, ..Wish::transmit() };
    let sends = opened("dpdk:net_null10", &again).unwrap();
    let receives = opened("dpdk:net_null10", &Wish { direction: Direction::Receive, ..again }).unwrap();
    drop((first, sends, receives));
    assert_eq!(queue(0, 1).unwrap().about().queues, 1);
}

#[test]
fn a_port_may_be_used_by_another_thread_than_the_one_that_opened_it() {
    if !is_here("ring") {
        return;
    }
    let _turn = turn();
    let address = "dpdk,mtu=9000:net_ring900";
    let mut sends = opened(address, &Wish { frame: 9_014, ..Wish::transmit() }).unwrap();
    let mut receives = opened(address, &Wish::receive()).unwrap();
    let mut lengths = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for length in [60, 1_514, 9_014] {
                let taken = sends.transmit(1, &mut |slot| {
                    slot.data[..length].fill(length as u8);
                    slot.length = length;
                });
                assert_eq!(taken.unwrap(), 1);
            }
        });
        scope.spawn(|| {
            while lengths.len() < 3 && receives.wait(For::Receive, Picos::from_millis(2_000)).unwrap() {
                receives
                    .receive(1, &mut |frame| {
                        assert!(frame.data.iter().all(|byte| *byte == frame.length as u8));
                        lengths.push(frame.length);
                    })
                    .unwrap();
            }
        });
    });
    assert_eq!(lengths, [60, 1_514, 9_014]);
}

#[test]
fn capture_files_are_written_and_read_with_their_times() {
    if !is_here("pcap") {
        return;
    }
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let (ours, theirs) = (folder.path().join("ours.pcap"), folder.path().join("theirs.pcap"));
    // Longer than a buffer: it comes in several.
    let lengths = [60usize, 1_514, 2_048, 5_000];
    let wish = Wish { frame: 5_000, ..Wish::transmit() };
    let mut file = opened(&format!("pcap:{}", ours.display()), &wish).unwrap();
    for (n, length) in lengths.iter().enumerate() {
        let taken = file.transmit(1, &mut |slot| {
            slot.data[..*length].iter_mut().enumerate().for_each(|(at, byte)| *byte = (at % 251 + n) as u8);
            slot.length = *length;
        });
        assert_eq!(taken.unwrap(), 1);
    }
    drop(file);
    let read = |address: String| {
        let mut port = opened(&address, &Wish::receive()).unwrap();
        let mut frames = Vec::new();
        while let Ok(1..) = port.receive(9, &mut |frame| {
            frames.push((frame.data.to_vec(), frame.stamp.as_unix_nanos() / 1_000));
        }) {}
        frames
    };
    let by_dpdk = read(format!("dpdk:net_pcap901,rx_pcap={}", ours.display()));
    assert_eq!(by_dpdk, read(format!("pcap:{}", ours.display())));
    assert_eq!(by_dpdk.iter().map(|(data, _)| data.len()).collect::<Vec<_>>(), lengths);
    let mut port =
        opened(&format!("dpdk:net_pcap902,tx_pcap={}", theirs.display()), &Wish::transmit()).unwrap();
    let mut next = by_dpdk.iter();
    let taken = port.transmit(2, &mut |slot| {
        let (data, _) = next.next().unwrap();
        slot.data[..data.len()].copy_from_slice(data);
        slot.length = data.len();
    });
    assert_eq!(taken.unwrap(), 2);
    drop(port);
    let contents = |frames: Vec<(Vec<u8>, u64)>| frames.into_iter().map(|(data, _)| data).collect::<Vec<_>>();
    assert_eq!(contents(read(format!("pcap:{}", theirs.display()))), contents(by_dpdk[..2].to_vec()));
}

#[test]
fn queues_of_one_interface_share_what_arrives() {
    if !is_here("af_packet") {
        return;
    }
    let _turn = turn();
    super::veth::apart(2, || {
        let two = |queue| Wish { queue, queues: 2, ..Wish::default() };
        let few = opened("dpdk:net_af_packet903,iface=v1", &two(0)).map(drop).unwrap_err().to_string();
        assert!(few.contains("has 1 queue(s), not 2; add ,qpairs=N"), "{few}");
        let mut sends = opened("packet:v0", &Wish::transmit()).unwrap();
        let address = "dpdk:net_af_packet903,iface=v1,qpairs=2";
        let (mut first, mut second) = (opened(address, &two(0)).unwrap(), opened(address, &two(1)).unwrap());
        let mut flow = 0u16;
        for _ in 0..16 {
            let taken = sends.transmit(16, &mut |slot| {
                // UDP from a port of its own for each: the kernel spreads by these.
                let mut frame = super::conformance::frame(u32::from(flow), 100, false);
                frame[34..36].copy_from_slice(&(4_000 + flow).to_be_bytes());
                slot.data[..100].copy_from_slice(&frame);
                slot.length = 100;
                flow += 1;
            });
            assert_eq!(taken.unwrap(), 16);
        }
        let count = |port: &mut Box<dyn Port>| {
            let mut count = 0;
            while port.wait(For::Receive, Picos::from_millis(100)).unwrap() {
                count += port.receive(64, &mut |_| {}).unwrap();
            }
            count
        };
        let (a, b) = (count(&mut first), count(&mut second));
        assert_eq!(a + b, 256);
        assert!(a > 32 && b > 32, "{a} and {b}");
    });
}

#[test]
fn frames_go_on_in_the_buffers_that_they_came_in() {
    if !is_here("ring") {
        return;
    }
    let _turn = turn();
    let mut first = opened("dpdk:net_ring910", &Wish::default()).unwrap();
    let mut second = opened("dpdk:net_ring911", &Wish::default()).unwrap();
    let frames: Vec<_> =
        (0..100u32).map(|n| super::conformance::frame(n, 60 + 14 * n as usize, false)).collect();
    let mut next = frames.iter();
    let mut send = |port: &mut Box<dyn Port>, most| {
        let taken = port.transmit(most, &mut |slot| {
            let frame = next.next().unwrap();
            slot.data[..frame.len()].copy_from_slice(frame);
            slot.length = frame.len();
        });
        assert_eq!(taken.unwrap(), most);
    };
    send(&mut first, 64);
    send(&mut first, 36);
    let (mut arrived, mut bytes) = (0, 0);
    while arrived < 100 {
        let passed = first.pass_on(&mut *second, 50).unwrap().unwrap();
        assert_eq!((passed.arrived, passed.too_long), (passed.forwarded, 0), "{passed:?}");
        assert!(passed.arrived > 0, "{arrived} of 100");
        (arrived, bytes) = (arrived + passed.arrived, bytes + passed.forwarded_bytes);
    }
    assert_eq!(bytes, frames.iter().map(|frame| frame.len() as u64).sum::<u64>());
    assert_eq!(first.counters().unwrap().received, 100);
    assert_eq!((second.counters().unwrap().sent, second.counters().unwrap().sent_bytes), (100, bytes));
    // Its buffers outlive the device that they came from.
    drop(first);
    let mut seen = Vec::new();
    while seen.len() < 100 && second.wait(For::Receive, Picos::from_millis(100)).unwrap() {
        second.receive(64, &mut |frame| seen.push(frame.data.to_vec())).unwrap();
    }
    assert!(seen == frames, "{} of 100", seen.len());
    let mut memory = opened("mem:passing", &Wish::default()).unwrap();
    assert!(second.pass_on(&mut *memory, 1).is_none() && memory.pass_on(&mut *second, 1).is_none());
}

#[test]
fn what_cannot_be_had_says_what_to_do() {
    if !is_here("af_packet") {
        return;
    }
    let _turn = turn();
    for (address, says) in [
        (
            "dpdk:net_moon0",
            "no driver is installed for net_moon0; on Debian 12: apt-get install librte-net-moon23",
        ),
        ("dpdk:moon", "no driver is installed for moon"),
        ("dpdk:0000:ff:1f.7", "there is no PCI device 0000:ff:1f.7; 'lspci -D' lists all devices"),
        ("dpdk:net_af_packet904,iface=nowhere", "there is no interface 'nowhere'"),
        ("dpdk:net_af_packet904", "cannot create net_af_packet904: "),
        ("dpdk:net_pcap904,rx_pcap=/nowhere/at.pcap", "No such file or directory"),
        ("dpdk,eal=-m 77:net_null904", "a process has one environment"),
        ("dpdk,pages=some:net_null904", "'some' is no value for pages"),
        ("dpdk,mtu=many:net_null904", "'many' is no value for mtu"),
        ("dpdk,huge=yes:net_null904", "dpdk has no option 'huge'"),
        ("dpdk,library=/nowhere:net_null904", "a process has one environment"),
    ] {
        // So that there is an environment, which others can ask for otherwise.
        let _first = opened("dpdk:net_null905", &Wish::default()).unwrap();
        let error = opened(address, &Wish::default()).map(drop).unwrap_err();
        let said = error.to_string();
        assert!(said.contains(says), "{address}: {said}");
        assert!(error.is_users() && !said.contains('\n'), "{address}: {said}");
    }
    let long = Wish { frame: 2_000, ..Wish::transmit() };
    let error = opened("dpdk:net_null906", &long).map(drop).unwrap_err();
    assert!(matches!(error, PortError::TooLong { length: 2_000, longest: 1_514, .. }), "{error}");
}
