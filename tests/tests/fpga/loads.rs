//! The packet commands through the simulated module: nothing about them is other than on any port, but that all
//! times are the module's. The independent reader of what was on the wire is the simulator's own capture
//! (`command.rs`); here it is what the commands themselves say, and who is at the other end: a real kernel, a
//! real nginx, a real curl.

use serde_json::Value;
use std::time::Duration;
use tare_system_tests::bed::{Topology, run_in};
use tare_system_tests::module::with_module;
use tare_system_tests::process::wait_until;
use tare_system_tests::{Process, Run, Tare, TestBed, beside_others, need, scratch};

const SINK: &str = "--dst 198.18.0.2 --src 198.18.0.1 --dst-mac 02:18:00:00:00:02";

/// A machine so busy that the host itself let the module's queue run dry has another try: then frames are late,
/// and that is said.
fn send(flags: &str) -> Run {
    let once = || with_module(&format!("send {SINK} {flags}")).limit(Duration::from_secs(120)).run();
    let in_time = |run: &Run| run.float("lateness_ns.max") == 0.0;
    (0..3).map(|_| once()).find(in_time).unwrap_or_else(once)
}

/// Its times are the module's, and nothing of this machine's clock and CPUs is judged with them.
#[track_caller]
fn is_simulated(run: &Run) {
    assert_eq!(run.at("packets.time.simulated"), true, "{run}");
    assert_eq!(run.int("packets.time.tick_ps"), 8_000, "{run}");
    assert!(run.at("labels").to_string().contains("simulated time"), "{run}");
    assert!(run.at("generator.clock").as_str().unwrap_or_default().contains("simulated"), "{run}");
    let names: Vec<String> = run.criteria().into_iter().map(|criterion| criterion.name).collect();
    for of_this_machine in ["clock", "cpu.thread", "runqueue", "steal", "health.samples"] {
        assert!(!names.iter().any(|name| name == of_this_machine), "{of_this_machine} is judged: {run}");
    }
}

fn ns(run: &Run, key: &str) -> f64 {
    run.float(&format!("packets.gaps.{key}"))
}

#[test]
fn whole_gaps_are_kept_to_the_cycle_and_others_within_one() {
    let _shared = beside_others();
    // A gap of the rate in cycles of 8 ns: 84 (line rate), 100, 1250 and 12 500 are whole; 333⅓ ns and 1538 · 8
    // / 9 are not.
    let cases = [
        ("--size 64 --rate 100%", 672.0, true),
        ("--size 64 --gap 800", 800.0, true),
        ("--size 64 --rate 100k", 10_000.0, true),
        ("--size 1518 --rate 100%", 12_304.0, true),
        ("--size 512 --rate 150k", 1e9 / 150e3, false),
        ("--size 64 --rate 1Mpps", 1_000.0, true),
        ("--size 64 --rate 300k", 1e9 / 300e3, false),
    ];
    for (flags, gap, is_whole) in cases {
        let flags = flags.replace("1Mpps", "1M");
        let run = send(&format!("fpga:sim {flags} -n 400"));
        is_simulated(&run);
        assert_eq!((run.total("offered"), run.total("done"), run.total("failed")), (400, 400, 0), "{run}");
        assert_eq!(run.word(), "VALID", "{run}");
        assert_eq!(ns(&run, "count"), 399.0, "{run}");
        let worst = ns(&run, "error.max_ns");
        match is_whole {
            true => {
                assert_eq!((worst, ns(&run, "variance_ns2")), (0.0, 0.0), "{flags}: {run}");
                assert_eq!((ns(&run, "min_ns"), ns(&run, "max_ns")), (gap, gap), "{flags}: {run}");
            }
            false => {
                assert!(worst <= 8.0, "{flags}: {run}");
                // No drift: 399 gaps are right to one cycle.
                assert!((ns(&run, "mean_ns") - gap).abs() * 399.0 <= 8.0, "{flags}: {run}");
            }
        }
        assert_eq!(run.float("lateness_ns.max"), 0.0, "{flags}: {run}");
    }
}

#[test]
fn frames_on_a_cable_come_back_with_the_modules_signature() {
    let _shared = beside_others();
    let run = send("fpga:sim --receive fpga:sim --size 200 --rate 250k --sign -n 500");
    is_simulated(&run);
    assert_eq!((run.int("packets.received.signed"), run.int("packets.received.lost")), (500, 0), "{run}");
    let way = run.at("packets.received.one_way_ns");
    // A cable has one length.
    assert_eq!(way["min"], way["max"], "{way}");
    assert_eq!((run.word(), ns(&run, "error.max_ns")), ("VALID", 0.0), "{run}");
}

#[test]
fn a_list_of_gaps_and_sizes_is_kept_one_by_one() {
    let _shared = beside_others();
    let folder = scratch();
    let (gaps, sizes) = (folder.path().join("gaps"), folder.path().join("sizes"));
    // Payloads of frames of 64, 128, 1 024 and 1 518 bytes; each gap is longer than the frame before it takes
    // on the wire.
    std::fs::write(&gaps, "800\n2000\n9000\n16000\n").expect("a scratch file");
    std::fs::write(&sizes, "18\n82\n978\n1472\n").expect("a scratch file");
    let lists = format!("--gaps {} -L {}", gaps.display(), sizes.display());
    let run = send(&format!("fpga:sim {lists} -n 401"));
    is_simulated(&run);
    assert_eq!((run.total("done"), ns(&run, "count")), (401, 400.0), "{run}");
    assert_eq!(ns(&run, "error.max_ns"), 0.0, "{run}");
    assert_eq!(ns(&run, "mean_ns"), 27_800.0 / 4.0, "{run}");
}

/// The module's wire is this host's veth, and a plain sender is at its other end.
#[test]
fn what_arrives_is_captured_with_the_modules_stamps() {
    let _shared = beside_others();
    let folder = scratch();
    let bed = TestBed::pair();
    let (wire, file) = (bed.generator().interface().name.clone(), folder.path().join("in.pcapng"));
    let capture =
        with_module(&format!("capture fpga,wire={wire}:sim -n 300 -w {} udp port 9", file.display()));
    let running = capture.inside(bed.generator()).limit(Duration::from_secs(60)).start();
    // For five seconds: however long the capture takes to begin, 300 are there for it.
    let other = bed.sink().interface().name.clone();
    let sent = Tare::packets(&format!(
        "send packet:{other} --dst 198.18.0.1 --dst-mac 02:18:00:00:00:01 --rate 2k -n 10k"
    ))
    .inside(bed.sink())
    .run();
    assert_eq!(sent.total("done"), 10_000, "{sent}");
    let run = running.finish();
    is_simulated(&run);
    assert_eq!(run.total("done"), 300, "{run}");
    let port = &run.at("packets.ports")[0];
    assert_eq!(port["stamps"], "hardware", "{port}");
    // The file has them: by the module's time, in which nothing stood still between two frames.
    let read = Tare::packets(&format!("gaps {}", file.display())).run();
    assert_eq!(read.int("packets.gaps.count"), 299, "{read}");
    assert!(read.float("packets.gaps.min_ns") >= 672.0, "no frame is shorter on the wire: {read}");
}

/// The other end of the wire is down: nothing leaves, and no run of nothing is VALID. Who knows better than the
/// module says so, and all leave.
#[test]
fn a_run_over_a_wire_without_a_link_is_invalid() {
    let _shared = beside_others();
    let bed = TestBed::pair();
    bed.ip(bed.sink(), &format!("link set {} down", bed.sink().interface().name));
    let wire = bed.generator().interface().name.clone();
    wait_until("the other end to see it", || {
        run_in(bed.generator(), &format!("ip -o link show {wire}")).contains("NO-CARRIER")
    });
    let run = |options: &str| {
        let send = format!("send fpga,{options}wire={wire}:sim {SINK} --size 64 --rate 10k -n 200");
        with_module(&send).inside(bed.generator()).run()
    };
    let down = run("");
    assert_eq!((down.total("done"), down.outcome("link.down")), (0, 200), "{down}");
    assert_eq!((down.word(), down.code), ("INVALID", Some(4)), "{down}");
    let criteria = down.criteria();
    let broken: Vec<&str> =
        criteria.iter().filter(|criterion| !criterion.holds).map(|criterion| &criterion.name[..]).collect();
    assert_eq!(broken, ["links.down"], "{down}");
    let trusted = run("carrier=no,");
    assert_eq!((trusted.total("done"), trusted.word()), (200, "VALID"), "{trusted}");
    assert!(trusted.at("packets.ports").to_string().contains("carrier"), "{trusted}");
}

#[test]
fn a_link_that_goes_down_in_the_middle_fails_what_is_due_from_then_on() {
    let _shared = beside_others();
    let bed = TestBed::pair();
    let (wire, other) = (bed.generator().interface().name.clone(), bed.sink().interface().name.clone());
    let send = format!("send fpga,wire={wire}:sim {SINK} --size 64 --rate 4k -n 2000");
    let running = with_module(&send).inside(bed.generator()).limit(Duration::from_secs(120)).start();
    wait_until("frames", || bed.kernel(bed.sink(), "rx_packets") > 100);
    bed.ip(bed.sink(), &format!("link set {other} down"));
    let run = running.finish();
    assert_eq!(run.total("offered"), 2_000, "{run}");
    assert!(run.total("done") > 100 && run.outcome("link.down") > 60, "{run}");
    assert_eq!(run.total("done") + run.outcome("link.down"), 2_000, "{run}");
    // What the module had when the link went, 256 frames, and sent into nothing, is not done: but for what left
    // before anybody saw it, as the kernel tells of a link up to a second later.
    let arrived = bed.kernel(bed.sink(), "rx_packets");
    assert!(run.total("done") < arrived + 150, "{arrived} arrived: {run}");
    assert_eq!((run.word(), run.code), ("INVALID", Some(4)), "{run}");
}

#[test]
fn every_command_takes_the_port_by_its_flag() {
    let _shared = beside_others();
    for (command, expected) in [
        ("send --port fpga:sim --rate 1k", &["port = \"fpga:sim\""][..]),
        ("pace --port fpga:sim --gap 200us", &["input = \"tap:tare0\"", "output = \"fpga:sim\""]),
        ("pace tap:a --port fpga:sim --gap 200us", &["input = \"tap:a\"", "output = \"fpga:sim\""]),
        ("pace tap:a fpga:sim --gap 200us", &["input = \"tap:a\"", "output = \"fpga:sim\""]),
        ("gaps --port fpga:sim udp port 9", &["port = \"fpga:sim\"", "filter = \"udp port 9\""]),
        ("capture --port fpga:sim udp port 9", &["port = \"fpga:sim\"", "filter = \"udp port 9\""]),
        ("capture fpga:sim udp port 9", &["port = \"fpga:sim\"", "filter = \"udp port 9\""]),
        ("sweep --port fpga:sim", &["send = \"fpga:sim\"", "receive = \"fpga:sim\""]),
    ] {
        let run = Tare::new(&format!("{command} --print-plan")).start().finish_unchecked();
        assert_eq!(run.code, Some(0), "{command}: {run}");
        for line in expected {
            assert!(run.stdout.lines().any(|said| said == *line), "{command}: {}", run.stdout);
        }
    }
    let both = Tare::new("pace tap:a packet:b --port fpga:sim --gap 1us").start().finish_unchecked();
    assert!(both.code == Some(2) && both.stderr.contains("--port"), "{both}");
}

/// curl's TCP in one namespace, nginx in another, the simulated module between them.
#[test]
fn a_hosts_own_tcp_runs_through_the_module_with_exact_gaps() {
    let _shared = beside_others();
    need("curl");
    need("nginx");
    let folder = scratch();
    let bed = TestBed::up(Topology::unique().without_neighbours());
    let wire = bed.generator().interface().name.clone();
    bed.ip(bed.generator(), &format!("addr flush dev {wire}"));
    let body = folder.path().join("body");
    std::fs::write(&body, vec![0x5a; 200_000]).expect("a scratch file");
    let configuration = format!(
        "daemon off; master_process off; user root; pid nginx.pid; error_log error.log;\n\
         events {{}}\nhttp {{ access_log off; server {{ listen 198.18.0.2:8000; root {}; }} }}\n",
        folder.path().display()
    );
    std::fs::write(folder.path().join("nginx.conf"), configuration).expect("a scratch file");
    let words = format!(
        "ip netns exec {} nginx -p {} -c nginx.conf -e error.log",
        bed.sink().name,
        folder.path().display()
    );
    let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
    let _nginx = Process::start(&words, |_| {});
    let pace = format!("pace tap,address=198.18.0.1/24:tare0 --port fpga,wire={wire}:sim --gap 200us -t 20");
    let running = with_module(&pace).inside(bed.generator()).limit(Duration::from_secs(60)).start();
    wait_until("the tap has its address", || {
        run_in(bed.generator(), "ip -o addr").contains("tare0    inet 198.18.0.1")
    });
    let curl = "curl -sS --max-time 15 --retry 20 --retry-connrefused --retry-delay 1 -o /dev/null -w %{http_code}:%{size_download} \
                http://198.18.0.2:8000/body";
    assert_eq!(run_in(bed.generator(), curl), "200:200000");
    running.interrupt();
    let run = running.finish();
    is_simulated(&run);
    assert!(run.total("done") > 20, "{run}");
    assert_eq!((run.total("failed"), run.total("missed")), (0, 0), "{run}");
    // Gaps of 200 µs are whole cycles; where the host was idle they are longer, and start anew at any cycle.
    assert!(ns(&run, "error.max_ns") <= 8.0, "{run}");
    assert!(ns(&run, "min_ns") >= 199_992.0, "{run}");
    assert!(run.float("lateness_ns.max") <= 8.0, "{run}");
}

#[test]
fn a_sweep_over_a_cable_finds_the_line_rate() {
    let _shared = beside_others();
    let run = with_module(&format!(
        "sweep --send fpga:sim --receive fpga:sim {} --sizes 1518 --trial-time 2ms",
        "--dst 198.18.0.2 --src 198.18.0.1 --bursts 0 --no-latency --goal ndr"
    ))
    .limit(Duration::from_secs(200))
    .run();
    is_simulated(&run);
    let tables = run.at("packets.tables").to_string();
    assert!(run.total("done") > 300, "{run}");
    // 10⁹ / (1538 · 8) = 81 274 frames a second.
    assert!(tables.contains("81274") || tables.contains("81 274") || tables.contains("8127"), "{tables}");
}

/// A rate is over simulated time, from the first frame to the end of the last: never more than the wire
/// carries, however few frames there are.
#[test]
fn no_rate_is_above_that_of_the_line() {
    let _shared = beside_others();
    let folder = scratch();
    let traffic = folder.path().join("traffic.pcap");
    Tare::packets(&format!("send pcap:{} {SINK} --rate max --size 1518 -n 20", traffic.display())).run();
    let incoming = format!("fpga,traffic={}:sim", traffic.display());
    let sweep = "sweep --port fpga:sim --dst 198.18.0.2 --src 198.18.0.1 --sizes 1518 --trial-time 2ms --no-latency --goal ndr";
    // Of the line rate, at least so much: what sends at once begins when it is there, and trials begin one
    // after the other.
    for (command, least) in [
        (format!("capture {incoming} -n 5"), 0.999_999),
        (format!("gaps {incoming} -n 5"), 0.999_999),
        (format!("send fpga:sim {SINK} --size 1518 --rate max -n 7"), 0.1),
        (format!("send fpga:sim {SINK} --size 1518 --rate 100% -n 7"), 0.999_999),
        (format!("{sweep} --bursts 0"), 0.5),
        (format!("{sweep} --bursts 1 --max-rate 300"), 0.1),
    ] {
        let run = with_module(&command).limit(Duration::from_secs(120)).run();
        is_simulated(&run);
        // 10⁹ / (1538 · 8) frames, and so many times 1 514 bytes.
        let line = 1e9 / 12_304.0;
        let bytes = run.total("bytes_out").max(run.total("bytes_in")) as f64 / run.float("rate.bytes_over_s");
        for rate in [run.float("rate.achieved_per_s"), run.float("rate.offered_per_s"), bytes / 1_514.0] {
            assert!(rate <= line * 1.000_001, "{command}: {rate}/s: {run}");
            assert!(rate > line * least, "{command}: {rate}/s: {run}");
        }
    }
}

#[test]
fn simulated_time_is_compared_with_no_other() {
    let _shared = beside_others();
    let folder = scratch();
    let out = |name: &str| folder.path().join(name).display().to_string();
    send(&format!("fpga:sim --rate 100k -n 50 --out {}", out("a")));
    Tare::packets(&format!("send mem:nobody-reads {SINK} --rate 1k -n 50 --out {}", out("b"))).run();
    let run = Tare::new(&format!("compare --anyway {} {}", out("a"), out("b"))).start().finish_unchecked();
    assert_eq!(run.code, Some(2), "{run}");
    assert!(run.stderr.contains("simulated"), "{run}");
    // Nor does one simulation have another's time.
    let two = format!("send fpga:sim --receive fpga,seed=1:sim {SINK} --sign -n 10");
    let run = with_module(&two).start().finish_unchecked();
    assert_eq!(run.code, Some(2), "{run}");
    assert!(run.stderr.contains("nor another simulation's"), "{run}");
    // The page says it, too.
    let page = std::fs::read_to_string(folder.path().join("a/report.html")).expect("a report");
    assert!(page.contains("simulated time"));
    let _: Value = run.result;
}
