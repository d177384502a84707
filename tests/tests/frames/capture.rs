//! `tare capture` by others' word: what tcpdump takes at the same time, what the kernel counts, and what is
//! broken on purpose.

use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use tare_system_tests::bed::{TestBed, Topology, run_in};
use tare_system_tests::{Process, Run, Running, Tare, beside_others, need, scratch};

/// A frame as a file has it: its time in ns, its length on the wire, its bytes.
type Frame = (u64, u32, Vec<u8>);

/// A pcap file with nanoseconds, read by hand (draft-ietf-opsawg-pcap).
fn read_pcap(path: &Path) -> Vec<Frame> {
    let bytes = std::fs::read(path).expect("a file to read");
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    assert_eq!(word(0), 0xa1b2_3c4d, "{} has no nanoseconds", path.display());
    let (mut frames, mut at) = (Vec::new(), 24);
    while at < bytes.len() {
        let kept = word(at + 8) as usize;
        let stamp = u64::from(word(at)) * 1_000_000_000 + u64::from(word(at + 4));
        frames.push((stamp, word(at + 12), bytes[at + 16..at + 16 + kept].to_vec()));
        at += 16 + kept;
    }
    frames
}

/// tcpdump in the sink, which keeps what comes. It is ready when it says that it listens.
fn tcpdump(bed: &TestBed, file: &Path, filter: &str) -> Process {
    need("tcpdump");
    let said = file.with_extension("said");
    let words = format!(
        "ip netns exec {} tcpdump -i sink0 --nano -B 32768 -Z root -U -w {} {filter}",
        bed.sink().name,
        file.display()
    );
    let argv: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
    let process = Process::start(&argv, |command| {
        command.stderr(std::fs::File::create(&said).expect("a scratch file"));
    });
    until("tcpdump listens", || std::fs::read_to_string(&said).is_ok_and(|said| said.contains("listening")));
    process
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..200 {
        if is_so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("{what}: not within 10 s");
}

/// Waits until the sink has a packet socket more.
fn listening(bed: &TestBed, before: usize) {
    until("tare captures", || sockets(bed) > before);
    // The socket is there before it is bound and has its ring.
    std::thread::sleep(Duration::from_millis(300));
}

fn sockets(bed: &TestBed) -> usize {
    run_in(bed.sink(), "cat /proc/net/packet").lines().count()
}

fn capturing(bed: &TestBed, arguments: &str) -> Running {
    let before = sockets(bed);
    let running = Tare::packets(&format!("capture packet:sink0 {arguments}")).inside(bed.sink()).start();
    listening(bed, before);
    running
}

fn send(bed: &TestBed, arguments: &str) -> Run {
    Tare::packets(&format!("send packet:gen0 -m {SINK} {arguments}")).inside(bed.generator()).run()
}

/// The sink's MAC address: nobody needs to ask for it, so nothing comes but what is counted.
const SINK: &str = "02:18:00:00:00:02";

/// Ends a capture by Ctrl-C when everything has had the time to arrive.
fn ended(running: Running) -> Run {
    std::thread::sleep(Duration::from_millis(700));
    running.interrupt();
    running.finish()
}

fn drops(run: &Run) -> BTreeMap<String, u64> {
    let all = run.at("packets.ports").as_array().into_iter().flatten();
    let all =
        all.flat_map(|port| port["drops"].as_array().into_iter().flatten().cloned().collect::<Vec<Value>>());
    all.map(|drop| {
        (drop["place"].as_str().unwrap_or_default().to_owned(), drop["frames"].as_u64().unwrap_or(0))
    })
    .collect()
}

fn incidents(run: &Run) -> Vec<String> {
    let all = run.at("packets.received.incidents").as_array().into_iter().flatten();
    all.map(|text| text.as_str().unwrap_or_default().to_owned()).collect()
}

fn received(run: &Run) -> u64 {
    let ports = run.at("packets.ports").as_array().into_iter().flatten();
    ports.map(|port| port["received"].as_u64().unwrap_or(0)).sum()
}

#[test]
fn a_capture_equals_the_one_that_tcpdump_takes_at_the_same_time() {
    let _beside = beside_others();
    let (bed, folder) = (TestBed::pair(), scratch());
    let (ours, theirs) = (folder.path().join("ours.pcap"), folder.path().join("theirs.pcap"));
    let mut tcpdump = tcpdump(&bed, &theirs, "udp");
    let capture = capturing(&bed, &format!("-w {} udp", ours.display()));
    let before = bed.kernel(bed.sink(), "rx_packets");
    send(&bed, "-n 20000 --rate 50k --size 64,512,1518 --sign");
    let run = ended(capture);
    let kernel = bed.kernel(bed.sink(), "rx_packets") - before;
    // Its ring hands a block over when it is full or a second old.
    std::thread::sleep(Duration::from_millis(1_500));
    tcpdump.signal(Signal::INT);
    tcpdump.wait(Duration::from_secs(10)).expect("tcpdump ends");
    let (ours, theirs) = (read_pcap(&ours), read_pcap(&theirs));
    assert_eq!((ours.len(), theirs.len(), received(&run), kernel), (20_000, 20_000, 20_000, 20_000), "{run}");
    assert!(ours.iter().zip(&theirs).all(|(a, b)| (a.1, &a.2) == (b.1, &b.2)), "bytes or lengths differ");
    // Both have the stamp that the kernel took when the frame came.
    let apart = ours.iter().zip(&theirs).filter(|(a, b)| a.0 != b.0).count();
    assert_eq!(apart, 0, "{apart} stamps differ");
    assert!(drops(&run).values().all(|frames| *frames == 0), "{run}");
    assert_eq!((run.int("packets.received.signed"), run.int("packets.received.lost")), (20_000, 0));
}

/// Frames of several queues, as fast as they go, or due by their predecessors: no time grows with the numbers.
#[test]
fn one_run_of_several_queues_is_one_run() {
    let _beside = beside_others();
    let bed = TestBed::pair();
    for rate in ["--rate max", "--rate 5k --relative"] {
        let capture = capturing(&bed, "");
        send(&bed, &format!("-n 5000 --queues 2 --sign {rate}"));
        let run = ended(capture);
        assert!(run.int("packets.received.signed") > 4_000, "{rate}: {run}");
        assert!(run.criterion("receiver.mixed").holds, "{rate}: {run}");
    }
}

/// Both count from 0, so each fills the other's gaps. What is advised helps.
#[test]
fn two_runs_in_one_capture_are_in_doubt_and_each_alone_is_not() {
    let _beside = beside_others();
    let bed = TestBed::pair();
    for (filter, mixed) in [("", true), ("udp dst port 9", false)] {
        let capture = capturing(&bed, filter);
        let other = format!("send packet:gen0 -m {SINK} -n 500 --rate 1k --sign --dport 7");
        let other = Tare::packets(&other).inside(bed.generator()).start();
        let lossy =
            format!("send fault,drop=20%,seed=3:packet:gen0 -m {SINK} -n 500 --rate 1k --sign --dport 9");
        Tare::packets(&lossy).inside(bed.generator()).start().finish_unchecked();
        other.finish_unchecked();
        let run = ended(capture);
        let criterion = run.criterion("receiver.mixed");
        assert_eq!(criterion.holds, !mixed, "{run}");
        assert!(mixed == criterion.advice.contains("udp dst port 9"), "{criterion:?}");
        if !mixed {
            // But for those that were lost at the end.
            let seen = run.int("packets.received.signed") + run.int("packets.received.lost");
            assert!((490..=500).contains(&seen) && run.int("packets.received.lost") > 50, "{run}");
            assert_eq!(run.int("packets.received.duplicated"), 0, "{run}");
        }
    }
}

#[test]
fn tcpdump_reads_what_is_written_and_the_snap_length_holds() {
    let _beside = beside_others();
    need("tcpdump");
    let (bed, folder) = (TestBed::pair(), scratch());
    let file = folder.path().join("cut.pcapng");
    let capture = capturing(&bed, &format!("-s 60 -n 500 -w {}", file.display()));
    send(&bed, "-n 500 --rate 10k --size 1000");
    let run = capture.finish();
    assert_eq!(received(&run), 500, "{run}");
    let output = Command::new("tcpdump").args(["-nn", "-e", "-r"]).arg(&file).output().expect("tcpdump runs");
    let text = String::from_utf8_lossy(&output.stdout);
    // A frame of 1000 has 996 bytes without its FCS, whatever is kept of it.
    assert_eq!(text.lines().filter(|line| line.contains("length 996")).count(), 500, "{text}");
}

#[test]
fn a_filter_in_the_kernel_takes_what_it_says() {
    let _beside = beside_others();
    let bed = TestBed::pair();
    let capture = capturing(&bed, "udp dst port 1003");
    send(&bed, "-n 1000 --rate 20k --dport 1000..1009");
    let run = ended(capture);
    assert_eq!(received(&run), 100, "{run}");
    let wrong =
        Tare::packets("capture packet:sink0 -n 1 udp prot 9").inside(bed.sink()).start().finish_unchecked();
    assert_eq!(wrong.code, Some(2), "{wrong}");
    assert!(wrong.stderr.contains("filter 'udp prot 9'") && wrong.stderr.contains("syntax error"), "{wrong}");
}

#[test]
fn a_filter_that_asks_for_a_tag_by_its_bytes_finds_it_and_counts_the_rest() {
    let _beside = beside_others();
    let bed = TestBed::pair();
    let capture = capturing(&bed, "ether[12:2]=0x8100");
    send(&bed, "-n 100 --rate 5k --vlan 5");
    send(&bed, "-n 50 --rate 5k");
    let run = ended(capture);
    // The kernel keeps the tag beside the frame: there, no frame would have matched.
    assert_eq!((received(&run), drops(&run).get("rx.filter").copied()), (100, Some(50)), "{run}");
}

#[test]
fn an_interface_that_belongs_to_a_bridge_is_left_to_the_hosts_own_stack() {
    let _beside = beside_others();
    let bed = TestBed::up(Topology::unique().with_gro());
    for words in [
        "link add br0 type bridge",
        "addr flush dev sink0",
        "link set sink0 master br0",
        "link set br0 address 02:18:00:00:00:02 up",
        "addr add 198.18.0.2/24 dev br0",
    ] {
        bed.ip(bed.sink(), words);
    }
    let datagrams = || -> u64 {
        let text = run_in(bed.sink(), "cat /sys/class/net/br0/statistics/rx_packets");
        text.trim().parse().expect("a count")
    };
    let before = sockets(&bed);
    let running = Tare::packets("capture sink0").inside(bed.sink()).start();
    listening(&bed, before);
    let came = datagrams();
    Tare::packets("send udp:198.18.0.2:9 -n 50 --rate 1k").inside(bed.generator()).run();
    let run = ended(running);
    assert!(datagrams() - came >= 50, "{run}");
    assert!(received(&run) >= 50, "{run}");
    let choices = run.at("packets.ports").to_string();
    assert!(choices.contains("packet:sink0") && choices.contains("belongs to 'br0'"), "{choices}");
}

#[test]
fn checksums_that_the_sender_left_to_its_card_are_no_damage() {
    let _beside = beside_others();
    let bed = TestBed::up(Topology::unique().with_gro());
    // A veth that says it will finish them, and does not, as nobody looks at the other end.
    run_in(bed.generator(), "ethtool -K gen0 tx on");
    for port in ["packet:sink0", "xdp:sink0"] {
        let running = Tare::packets(&format!("capture {port} udp port 9")).inside(bed.sink()).start();
        std::thread::sleep(Duration::from_millis(1_500));
        Tare::packets("send udp:198.18.0.2:9 -n 100 --rate 1k --sign").inside(bed.generator()).run();
        let run = ended(running);
        // A slow start may miss the first ones.
        assert!(run.int("packets.received.signed") >= 50, "{port}: {run}");
        assert_eq!(run.int("packets.received.corrupted"), 0, "{port}: {run}");
    }
}

#[test]
fn files_rotate_and_the_last_are_kept() {
    let _beside = beside_others();
    let (bed, folder) = (TestBed::pair(), scratch());
    let file = folder.path().join("r.pcap");
    let capture = capturing(&bed, &format!("-n 1000 --rotate 300 --keep 2 -w {}", file.display()));
    send(&bed, "-n 1000 --rate 10k");
    let run = capture.finish();
    let count = |number: u32| read_pcap(&folder.path().join(format!("r-{number:05}.pcap"))).len();
    assert_eq!([count(3), count(4)], [300, 100], "{run}");
    assert!(!folder.path().join("r-00001.pcap").exists());
    assert!(run.remarks().contains("in 4 files, of which the oldest 2 were removed"), "{run}");
}

#[test]
fn frames_that_find_no_room_while_the_reader_is_held_up_are_counted() {
    let _beside = beside_others();
    let bed = TestBed::pair();
    let capture = capturing(&bed, "--no-flows");
    capture.process.signal(Signal::STOP);
    let before = bed.kernel(bed.sink(), "rx_packets");
    send(&bed, "-n 200000 --rate max --size 1000");
    let kernel = bed.kernel(bed.sink(), "rx_packets") - before;
    capture.process.signal(Signal::CONT);
    let run = ended(capture);
    let lost: u64 = drops(&run).values().sum();
    assert!(lost > 0, "a ring held everything: {run}");
    assert_eq!(received(&run) + lost, kernel, "{run}");
    assert_eq!(run.total("done") + run.total("missed"), kernel, "{run}");
    assert_eq!(run.outcome("missed.receiver_full"), lost, "{run}");
    assert_ne!(run.word(), "VALID");
}

#[test]
fn a_full_disk_leaves_a_whole_file_and_a_labelled_result() {
    let _beside = beside_others();
    let (bed, folder) = (TestBed::pair(), scratch());
    let disk = folder.path().join("disk");
    std::fs::create_dir(&disk).expect("a folder");
    let file = disk.join("full.pcap");
    // A file system of 1 MB that only this command sees.
    let script = format!(
        "mount -t tmpfs -o size=1m tmpfs {0} && {1} capture packet:sink0 -t 20 -w {2} --json --no-progress --no-save; \
         status=$?; cp {2} {3}; exit $status",
        disk.display(),
        tare_system_tests::binary().display(),
        file.display(),
        folder.path().join("copy.pcap").display(),
    );
    let words =
        ["ip", "netns", "exec", &bed.sink().name, "unshare", "-m", "sh", "-c", &script].map(str::to_owned);
    let before = sockets(&bed);
    let out = folder.path().join("out");
    let mut process = Process::start(&words, |command| {
        command.stdout(std::fs::File::create(&out).expect("a scratch file"));
    });
    listening(&bed, before);
    send(&bed, "-n 5000 --rate 20k --size 1000");
    process.wait(Duration::from_secs(30)).expect("it ends by itself");
    let result: Value = serde_json::from_str(&std::fs::read_to_string(&out).unwrap()).expect("a result");
    let told = format!("{} {}", result["labels"], result["notes"]);
    assert!(
        told.contains("No space left on device") && told.contains("the file is intact and ends after"),
        "{told}"
    );
    let kept = read_pcap(&folder.path().join("copy.pcap"));
    assert!((900..1_060).contains(&kept.len()), "{} frames in 1 MiB", kept.len());
    assert!(kept.iter().all(|(_, length, bytes)| *length == 996 && bytes.len() == 996));
    let port = &result["packets"]["ports"][0];
    let lost = port["drops"].as_array().into_iter().flatten().find(|drop| drop["place"] == "rx.disk");
    let lost = lost.and_then(|drop| drop["frames"].as_u64()).unwrap_or(0);
    assert_eq!(kept.len() as u64 + lost, port["received"].as_u64().unwrap(), "{port}");
}

/// Sends 1000 signed frames through a port with this fault, and says what the capture says of them.
fn broken(fault: &str) -> Run {
    let bed = TestBed::pair();
    let capture = capturing(&bed, "");
    let port = format!("send fault,{fault}:packet:gen0 -m {SINK} -n 1000 --rate 5k --sign");
    Tare::packets(&port).inside(bed.generator()).run();
    ended(capture)
}

#[test]
fn one_dropped_frame_is_told_and_nothing_else() {
    let _beside = beside_others();
    let run = broken("drop=at=471");
    assert_eq!(run.int("packets.received.lost"), 1, "{run}");
    for key in ["duplicated", "reordered", "corrupted", "too_old"] {
        assert_eq!(run.int(&format!("packets.received.{key}")), 0, "{key}: {run}");
    }
    let told: Vec<String> = incidents(&run).into_iter().filter(|text| !text.contains(" took ")).collect();
    assert_eq!(told, ["stream 0: frame 471 is lost"]);
}

#[test]
fn two_swapped_frames_are_told_and_nothing_else() {
    let _beside = beside_others();
    let run = broken("reorder=at=471");
    assert_eq!(run.int("packets.received.reordered"), 1, "{run}");
    for key in ["lost", "duplicated", "corrupted", "too_old"] {
        assert_eq!(run.int(&format!("packets.received.{key}")), 0, "{key}: {run}");
    }
    let told: Vec<String> = incidents(&run).into_iter().filter(|text| !text.contains(" took ")).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with("stream 0: frame 471 came after frame 472, "), "{told:?}");
}

#[test]
fn one_delayed_frame_is_told_with_its_time() {
    let _beside = beside_others();
    let run = broken("delay=at=471,hold=50ms");
    assert_eq!(run.int("packets.received.lost"), 0, "{run}");
    let told = incidents(&run);
    assert!(told.iter().any(|text| text.contains("frame 471 ") && text.contains(" ms")), "{told:?}");
    // It is held from before its time is read until the port is next used after 50 ms.
    let longest = run.float("packets.received.one_way_ns.max");
    assert!(longest >= 45e6, "{longest} ns: {run}");
}

#[test]
fn several_queues_share_the_frames_and_lose_none() {
    let _beside = beside_others();
    let bed = TestBed::up(Topology::unique());
    let before = sockets(&bed);
    let running = Tare::packets("capture packet:sink0 --queues 2").inside(bed.sink()).start();
    listening(&bed, before + 1);
    send(&bed, "-n 10000 --rate 50k --flows 64 --sign");
    let run = ended(running);
    assert_eq!((received(&run), run.int("packets.received.lost")), (10_000, 0), "{run}");
    assert_eq!(run.at("packets.ports").as_array().map(Vec::len), Some(2), "{run}");
}

#[test]
fn an_interface_that_goes_leaves_a_whole_result() {
    let _beside = beside_others();
    let (bed, folder) = (TestBed::pair(), scratch());
    let file = folder.path().join("gone.pcap");
    let capture = capturing(&bed, &format!("-w {}", file.display()));
    send(&bed, "-n 100 --rate 10k");
    std::thread::sleep(Duration::from_millis(300));
    bed.ip(bed.sink(), "link del sink0");
    let run = capture.finish();
    assert_eq!((received(&run), read_pcap(&file).len()), (100, 100), "{run}");
    assert!(run.remarks().contains("'sink0' is gone"), "{run}");
    assert_eq!((run.code, run.word()), (Some(4), "INVALID"), "{run}");
}

#[test]
fn what_cannot_be_captured_is_said_before_anything_is_done() {
    let _beside = beside_others();
    let bed = TestBed::pair();
    let said = |words: &str| {
        let run = Tare::packets(words).inside(bed.sink()).start().finish_unchecked();
        assert_eq!(run.code, Some(2), "{run}");
        run.stderr
    };
    assert!(said("capture packet:sink9 -n 1").contains("there is no interface 'sink9'"));
    assert!(said("capture packet:sink0 --rotate 1M").contains("--rotate needs a file (-w FILE)"));
    assert!(
        said("capture packet:sink0 -w /no/such/folder/a.pcap")
            .contains("/no/such/folder/a.pcap: cannot be written")
    );
    assert!(said("capture").contains("PORT needs a port"));
    need("setpriv");
    let run = Tare::packets("capture packet:sink0 -n 1")
        .inside(bed.sink())
        .through("setpriv --bounding-set -net_raw --inh-caps -net_raw")
        .start()
        .finish_unchecked();
    assert_eq!(run.code, Some(2), "{run}");
    assert!(run.stderr.contains("CAP_NET_RAW"), "{run}");
}
