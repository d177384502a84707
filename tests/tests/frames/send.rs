//! `tare send` from outside: what leaves is what was asked for, by the kernel's counters and tshark.

use port::Stamp;
use port::pcap::{Statistics, Style, Writer};
use std::fs;
use std::process::Command;
use std::time::Duration;
use tare_system_tests::bed::{Namespace, TestBed, Topology, run_in};
use tare_system_tests::process::wait_until;
use tare_system_tests::tmux::Tmux;
use tare_system_tests::{Run, Tare, alone, beside_others, binary, need, patiently, scratch};

/// A hardware address that nobody has: frames go there without being asked for.
const NOBODY: &str = "02:00:00:00:00:99";

/// What `tcpdump` on the sink gets while `load` runs, one line of these fields a frame.
fn captured(bed: &TestBed, frames: u64, fields: &str, load: Tare) -> (Run, Vec<Vec<String>>) {
    need("tcpdump");
    let folder = scratch();
    let file = folder.path().join("seen.pcap");
    let mut tcpdump = bed
        .sink()
        .command("tcpdump")
        .args(["-i", "sink0", "-Q", "in", "-U", "--time-stamp-precision=nano", "-B", "8192"])
        .args(["-c", &frames.to_string(), "-w"])
        .arg(&file)
        .arg("udp")
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("tcpdump runs");
    // It listens when it has written the file's head.
    let listens = || fs::metadata(&file).is_ok_and(|file| file.len() >= 24);
    (0..100).take_while(|_| !listens()).for_each(|_| std::thread::sleep(Duration::from_millis(50)));
    let run = load.run();
    let is_over = |tcpdump: &mut std::process::Child| tcpdump.try_wait().expect("a child").is_some();
    (0..60)
        .take_while(|_| !is_over(&mut tcpdump))
        .for_each(|_| std::thread::sleep(Duration::from_millis(50)));
    let _ = tcpdump.kill();
    let _ = tcpdump.wait();
    (run, dissected(&file, fields))
}

/// tshark's word on a capture file.
fn dissected(file: &std::path::Path, fields: &str) -> Vec<Vec<String>> {
    need("tshark");
    let mut tshark = Command::new("tshark");
    tshark.args(["-o", "frame.generate_md5_hash:TRUE", "-T", "fields", "-r"]).arg(file);
    for field in fields.split(' ') {
        tshark.args(["-e", field]);
    }
    let output = tshark.output().expect("tshark runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

fn send(bed: &TestBed, arguments: &str) -> Tare {
    Tare::packets(&format!("send packet:gen0 {arguments}")).inside(bed.generator())
}

#[test]
fn counts_equal_the_kernels_counters() {
    let _guard = beside_others();
    let bed = TestBed::pair();
    let before = (bed.kernel(bed.generator(), "tx_packets"), bed.kernel(bed.sink(), "rx_packets"));
    let run = send(&bed, &format!("-n 2000 --rate 20k --queues 2 -m {NOBODY}")).run();
    assert_eq!((run.total("offered"), run.total("done"), run.total("missed")), (2_000, 2_000, 0), "{run}");
    assert_eq!(bed.kernel(bed.generator(), "tx_packets") - before.0, 2_000);
    assert_eq!(bed.kernel(bed.sink(), "rx_packets") - before.1, 2_000);
    assert_eq!(run.total("bytes_out"), 2_000 * 60);
    // Each queue has 1 000 frames and so 999 gaps; nobody received, so they are those of the handing over.
    let gaps = &run.result["packets"]["gaps"];
    assert_eq!(
        (gaps["count"].as_u64(), gaps["error"]["count"].as_u64()),
        (Some(1_998), Some(1_998)),
        "{gaps}"
    );
    let at = gaps["measured_at"].as_str().unwrap_or_default();
    assert!(at.contains("gen0, when handed over") && gaps["stamps"] == "software", "{gaps}");
}

#[test]
fn gaps_of_bursts_are_judged_within_them_and_between() {
    let _guard = alone();
    let bed = TestBed::pair();
    patiently(3, || {
        // Four at once, each 4 ms.
        let run = send(&bed, &format!("-n 400 --rate 1k --burst 4 -m {NOBODY}")).run();
        let gaps = &run.result["packets"]["gaps"];
        assert_eq!(gaps["count"].as_u64(), Some(399), "{run}");
        // Set against 1 ms, each would be wrong by 1 ms or more.
        let error = gaps["error"]["p50_ns"].as_f64().unwrap();
        assert!(error < 500_000.0, "{error}");
    });
}

#[test]
fn lengths_and_addresses_are_those_that_were_asked_for() {
    let _guard = beside_others();
    let bed = TestBed::pair();
    let folder = scratch();
    let lengths = folder.path().join("lengths");
    fs::write(&lengths, "# of payload\n4\n100\n1472\n").unwrap();
    let load = send(
        &bed,
        &format!("-n 300 -d 100000 -L {} -i 198.18.0.9 -I 198.18.0.8 -m {NOBODY}", lengths.display()),
    );
    let fields = "frame.len ip.src ip.dst eth.dst udp.length _ws.expert";
    let (run, seen) = captured(&bed, 300, fields, load);
    assert_eq!((run.total("done"), seen.len()), (300, 300), "{run}");
    for (n, frame) in seen.iter().enumerate() {
        // Payload + 8 (UDP) + 20 (IPv4) + 14 (Ethernet); 60 is the least that Ethernet has.
        let length = [60, 142, 1_514][n % 3].to_string();
        let datagram = [12, 108, 1_480][n % 3].to_string();
        assert_eq!(frame[..5], [&length, "198.18.0.8", "198.18.0.9", NOBODY, &datagram], "frame {n}");
        assert_eq!(frame.get(5).map_or("", String::as_str), "", "tshark warns of frame {n}");
    }
}

#[test]
fn gaps_at_the_receiver_are_those_of_the_file() {
    let _guard = alone();
    let bed = TestBed::pair();
    let folder = scratch();
    let gaps = folder.path().join("gaps");
    fs::write(&gaps, "200000\n400000\n1000us\n").unwrap();
    patiently(3, || {
        let load = send(&bed, &format!("-n 600 -D {} --relative -m {NOBODY}", gaps.display()));
        let (run, seen) = captured(&bed, 600, "frame.time_delta", load);
        assert_eq!((run.total("done"), seen.len()), (600, 600), "{run}");
        let mut errors: Vec<u64> = seen[1..]
            .iter()
            .enumerate()
            .map(|(n, frame)| {
                let gap = (frame[0].parse::<f64>().unwrap() * 1e9) as u64;
                gap.abs_diff([200_000, 400_000, 1_000_000][n % 3])
            })
            .collect();
        errors.sort_unstable();
        // A swapped or forgotten gap would be 200 000 ns off or more.
        assert!(errors[errors.len() / 2] < 100_000, "median error {} ns", errors[errors.len() / 2]);
    });
}

#[test]
fn a_rate_is_changed_while_it_runs_and_the_result_says_when() {
    let _guard = beside_others();
    let bed = TestBed::pair();
    let folder = scratch();
    let out = folder.path().join("run");
    let running = send(&bed, &format!("--rate 1k -t 5 -m {NOBODY} --out {}", out.display())).start();
    let socket = out.join("control.sock");
    wait_until("the socket", || socket.exists());
    wait_until("a frame", || bed.kernel(bed.generator(), "tx_packets") > 300);
    let ctl = |words: &str| Tare::new(&format!("ctl {} {words}", out.display())).run();
    let shown = ctl("show");
    assert!(shown.stdout.contains("rate") && shown.stdout.contains("1000/s"), "{shown}");
    let set = ctl("set rate 4k");
    assert_eq!((set.code, set.stdout.trim()), (Some(0), "rate 4000/s"), "{set}");
    let marked = ctl("mark half");
    assert!(marked.stdout.contains("mark half:"), "{marked}");
    let refused = ctl("set rate quick");
    assert!(refused.code == Some(2) && refused.stderr.contains("'quick' is not a number"), "{refused}");
    let run = running.finish();
    // The mark may stand before it: a rate takes effect a little after it was asked for.
    let changes = run.result["packets"]["changes"].as_array().expect("changes");
    let change = changes.iter().find(|change| change["what"] == "rate").expect("the rate");
    assert_eq!(change["to"], "4000/s", "{run}");
    // Exact: those due before the change at 1 000/s, and from it on at 4 000/s until 5 s.
    let at = change["at_s"].as_f64().unwrap();
    let expected = (at * 1_000.0).ceil() + ((5.0 - at) * 4_000.0).ceil();
    assert!((run.total("offered") as f64 - expected).abs() <= 1.0, "{expected} {run}");
    assert!(!socket.exists(), "the socket goes with the run");
    let over = ctl("show");
    assert!(over.code == Some(2) && over.stderr.contains("not under way"), "{over}");
}

#[test]
fn the_size_is_changed_while_it_runs_and_bytes_say_from_when() {
    let _guard = beside_others();
    let bed = TestBed::pair();
    let folder = scratch();
    let out = folder.path().join("run");
    let running = send(&bed, &format!("--rate 1k -t 4 -m {NOBODY} --out {}", out.display())).start();
    wait_until("frames", || bed.kernel(bed.generator(), "tx_packets") > 300);
    let ctl = |words: &str| Tare::new(&format!("ctl {} {words}", out.display())).run();
    let set = ctl("set size 512");
    assert_eq!((set.code, set.stdout.trim()), (Some(0), "size 512"), "{set}");
    let refused = ctl("set size 9000");
    assert!(refused.code == Some(2) && refused.stderr.contains("1518"), "{refused}");
    let run = running.finish();
    let changes = run.result["packets"]["changes"].as_array().unwrap();
    assert_eq!((changes.len(), changes[0]["what"].as_str()), (1, Some("size")), "{run}");
    // 60 bytes each before, 508 from then on; at_s is rounded to less than a frame.
    let at = changes[0]["at_s"].as_f64().unwrap();
    let before = (at * 1_000.0).ceil() as u64;
    let expected = before * 60 + (4_000 - before) * 508;
    assert_eq!(run.total("offered"), 4_000, "{run}");
    assert!(run.total("bytes_out").abs_diff(expected) <= 448, "{expected} {run}");
}

#[test]
fn keys_on_a_terminal_change_the_rate_pause_and_stop() {
    let _guard = beside_others();
    let bed = TestBed::pair();
    let tmux = Tmux::start(100, 30);
    let out = tmux.folder().join("run");
    let (namespace, tare, folder) = (&bed.generator().name, binary(), out.display());
    let load = format!("send packet:gen0 --rate 1k -t 60 -m {NOBODY} --out {folder}");
    tmux.run(&format!("ip netns exec {namespace} {} {load}; echo ended $?", tare.display()));
    wait_until("frames", || bed.kernel(bed.generator(), "tx_packets") > 100);
    for (key, said) in [("+", "rate 1100/s"), ("-", "rate 1000/s"), ("Space", "paused"), ("Space", "sending")]
    {
        tmux.keys(&[key]);
        tmux.wait_for(said);
    }
    // A change takes effect a little later than its key, and a stop at once.
    std::thread::sleep(Duration::from_millis(500));
    tmux.keys(&["q"]);
    tmux.wait_for("ended 130");
    // The terminal is as it was: it shows what is typed.
    tmux.run("echo still $((40 + 2))");
    tmux.wait_for("still 42");
    let text = fs::read_to_string(out.join("result.json")).unwrap();
    let result: serde_json::Value = serde_json::from_str(&text).unwrap();
    let changes = result["packets"]["changes"].as_array().unwrap();
    let told: Vec<_> =
        changes.iter().map(|change| (change["what"].as_str(), change["to"].as_str())).collect();
    let wanted =
        [("rate", "1100/s"), ("rate", "1000/s"), ("state", "paused"), ("state", "sending"), ("stop", "")];
    assert_eq!(told, wanted.map(|(what, to)| (Some(what), Some(to))));
    assert!(changes.iter().all(|change| change["by"] == "key"), "{changes:?}");
    assert_eq!(result["partial"], true);
}

#[test]
fn live_frames_that_the_driver_refused_have_failed() {
    let _guard = alone();
    let bed = TestBed::pair();
    need("ethtool");
    let long = Tare::packets(&format!("send live:gen0 -n 10 --rate max -l 1473 -m {NOBODY}"));
    let long = long.inside(bed.generator()).run();
    assert!(long.code == Some(2) && long.stderr.contains("a frame size of 1519"), "{long}");
    let refused = Tare::packets(&format!("send live:gen0 -n 1000 --rate max -m {NOBODY}"))
        .inside(bed.generator())
        .run();
    assert!(refused.stderr.contains("gro on") || refused.remarks().contains("gro on"), "{refused}");
    run_in(bed.sink(), "ethtool -K sink0 gro on");
    let seen = |counter| bed.kernel(bed.sink(), counter);
    let before = seen("rx_packets");
    let run = Tare::packets(&format!("send live:gen0 -n 300000 --rate max -m {NOBODY}"))
        .inside(bed.generator())
        .run();
    assert_eq!(run.total("offered"), 300_000, "{run}");
    assert_eq!(run.total("done") + run.total("failed"), 300_000, "{run}");
    assert_eq!(run.total("failed"), run.outcome("port.refused"), "{run}");
    // What the sink's queue had no room for was refused: nothing else is lost on a veth.
    wait_until("all to be seen", || seen("rx_packets") - before >= run.total("done"));
    assert_eq!(seen("rx_packets") - before, run.total("done"), "{run}");
    assert_eq!(run.total("bytes_out"), run.total("done") * 60, "{run}");
}

#[test]
fn queues_of_live_frames_have_numbers_without_holes() {
    let _guard = alone();
    let bed = TestBed::pair();
    need("ethtool");
    run_in(bed.sink(), "ethtool -K sink0 gro on");
    let capture = Tare::packets("capture packet:sink0 -n 4000 -t 20").inside(bed.sink()).start();
    wait_until("the capture", || run_in(bed.sink(), "cat /proc/net/packet").lines().count() > 1);
    let run = Tare::packets(&format!("send live:gen0 -n 4000 --rate 20k --queues 2 --sign -m {NOBODY}"))
        .inside(bed.generator())
        .run();
    assert_eq!((run.total("done"), run.total("failed")), (4_000, 0), "{run}");
    let seen = capture.finish();
    let received = &seen.result["packets"]["received"];
    assert_eq!((received["signed"].as_u64(), received["lost"].as_u64()), (Some(4_000), Some(0)), "{seen}");
    assert_eq!(received["duplicated"].as_u64(), Some(0), "{seen}");
    let refused = Tare::packets(&format!("send live:gen0 -n 10 --rate max --queues 2 --sign -m {NOBODY}"))
        .inside(bed.generator())
        .run();
    assert!(refused.code == Some(2) && refused.stderr.contains("--queues 2"), "{refused}");
}

#[test]
fn live_frames_take_a_rate_while_they_go_as_fast_as_they_can() {
    let _guard = alone();
    let bed = TestBed::pair();
    need("ethtool");
    run_in(bed.sink(), "ethtool -K sink0 gro on");
    let folder = scratch();
    let out = folder.path().join("run");
    let load = format!("send live:gen0 -t 4 --rate 1k -m {NOBODY} --out {}", out.display());
    let running = Tare::packets(&load).inside(bed.generator()).start();
    let sent = || bed.kernel(bed.sink(), "rx_packets");
    wait_until("frames", || sent() > 100);
    let ctl = |words: &str| Tare::new(&format!("ctl {} {words}", out.display())).run();
    let max = ctl("set rate max");
    assert_eq!((max.code, max.stdout.trim()), (Some(0), "rate max"), "{max}");
    wait_until("many more than at a rate", || sent() > 20_000);
    assert_eq!(ctl("set rate 500").stdout.trim(), "rate 500/s");
    let run = running.finish();
    let changes = run.result["packets"]["changes"].as_array().unwrap();
    let told: Vec<_> = changes.iter().filter_map(|change| change["to"].as_str()).collect();
    assert_eq!(told, ["max", "500/s"], "{run}");
    assert_eq!(run.total("offered"), run.total("done") + run.total("failed") + run.total("missed"), "{run}");
}

#[test]
fn a_hardware_address_is_asked_for_and_ours_is_answered() {
    let _guard = beside_others();
    let bed = TestBed::pair();
    let sinks = bed.sink().interface().mac.to_string();
    let load = send(&bed, "-n 4000 --rate 1k -i 198.18.0.2 -I 198.18.0.77 --answer-arp").start();
    wait_until("frames", || bed.kernel(bed.sink(), "rx_packets") > 100);
    let asked = bed.sink().command("bash").args(["-c", "echo x > /dev/udp/198.18.0.77/9"]).status();
    assert!(asked.expect("bash runs").success());
    let ours = bed.generator().interface().mac.to_string();
    wait_until("the answer", || run_in(bed.sink(), "ip neigh show 198.18.0.77").contains(&ours));
    let run = load.finish();
    assert_eq!(run.total("done"), 4_000, "{run}");
    let notes = run.result["notes"].to_string();
    assert!(notes.contains(&format!("198.18.0.2 is at {sinks}")), "{notes}");
    let nobody = send(&bed, "-n 10 -i 198.18.0.200").run();
    assert_eq!(nobody.code, Some(5), "{nobody}");
    assert!(nobody.stderr.contains("198.18.0.200") && nobody.stderr.contains("--dst-mac"), "{nobody}");
}

#[test]
fn bad_input_is_named_and_nothing_is_sent() {
    let _guard = beside_others();
    let bed = TestBed::pair();
    let folder = scratch();
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        path.display().to_string()
    };
    let bad_gaps = file("gaps", b"100\n200\nsoon\n");
    let cut = file("cut.pcap", &[0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0]);
    let empty = file("empty", b"");
    let sent = bed.kernel(bed.generator(), "tx_packets");
    for (arguments, problem) in [
        ("packet:nowhere0".to_owned(), "there is no interface 'nowhere0'"),
        ("pakket:gen0".to_owned(), "there is no kind of port 'pakket'"),
        (format!("packet:gen0 -m {NOBODY} --rate fast"), "--rate: 'fast'"),
        (format!("packet:gen0 -m {NOBODY} -d 0"), "--gap (-d): '0' is zero"),
        (format!("packet:gen0 -m {NOBODY} -D {bad_gaps}"), ", line 3: 'soon'"),
        (format!("packet:gen0 -m {NOBODY} -L {empty}"), "holds no number"),
        (format!("packet:gen0 --replay {cut}"), "cut.pcap"),
        (format!("packet:gen0 -m {NOBODY} --size 9000"), "MTU"),
        (format!("packet:gen0 -m {NOBODY} --size 20"), "20"),
        (format!("packet:gen0 -m {NOBODY} --rate 5 -d 5"), "contradicts"),
        (format!("packet:gen0 -m {NOBODY} --cpus 99"), "--cpus: this process may not use CPU 99"),
        ("packet:gen0 -m nobody".to_owned(), "nobody"),
    ] {
        let run = Tare::packets(&format!("send {arguments}")).inside(bed.generator()).run();
        assert_eq!(run.code, Some(2), "{arguments}: {run}");
        assert!(run.stderr.contains(problem), "{arguments}: {}", run.stderr);
    }
    assert_eq!(bed.kernel(bed.generator(), "tx_packets"), sent);
}

#[test]
fn without_the_privilege_its_name_is_told() {
    let _guard = beside_others();
    need("setpriv");
    let bed = TestBed::pair();
    let run = Tare::packets(&format!("send packet:gen0 -n 10 -m {NOBODY}"))
        .inside(bed.generator())
        .through("setpriv --bounding-set=-net_raw --inh-caps=-net_raw --")
        .run();
    assert_eq!(run.code, Some(2), "{run}");
    assert!(run.stderr.contains("CAP_NET_RAW"), "{}", run.stderr);
}

#[test]
fn a_rate_that_the_port_cannot_do_is_invalid_and_says_what_was_reached() {
    let _guard = beside_others();
    let bed = TestBed::pair();
    let run = send(&bed, &format!("--rate 20M -t 0.5 -m {NOBODY}")).run();
    assert_eq!((run.code, run.word()), (Some(4), "INVALID"), "{run}");
    assert!(run.total("missed") > 0 && run.total("done") > 0, "{run}");
    assert_eq!(run.total("offered"), 10_000_000, "{run}");
    let reached = run.float("rate.achieved_per_s");
    assert!(reached > 0.0 && reached < 20e6, "{reached}");
}

#[test]
fn an_interface_that_is_removed_leaves_a_complete_labelled_result() {
    let _guard = beside_others();
    let bed = TestBed::pair();
    let load = send(&bed, &format!("--rate 5k -t 30 -m {NOBODY}")).start();
    wait_until("frames", || bed.kernel(bed.generator(), "tx_packets") > 200);
    bed.ip(bed.generator(), "link del gen0");
    let run = load.finish();
    assert!(run.result.is_object(), "{run}");
    assert!(run.took < Duration::from_secs(20), "it ends when the interface does: {:?}", run.took);
    assert!(run.total("done") > 100, "{run}");
    let told = format!("{} {}", run.result["labels"], run.stderr);
    assert!(told.contains("gen0"), "{told}");
}

#[test]
fn a_link_that_goes_down_and_up_again_costs_what_was_due_meanwhile() {
    let _guard = beside_others();
    let bed = TestBed::pair();
    let load = send(&bed, &format!("--rate 2k -t 4 -m {NOBODY}")).start();
    wait_until("frames", || bed.kernel(bed.generator(), "tx_packets") > 200);
    bed.ip(bed.generator(), "link set gen0 down");
    std::thread::sleep(Duration::from_millis(300));
    bed.ip(bed.generator(), "link set gen0 up");
    let run = load.finish();
    assert_eq!(run.total("offered"), 8_000, "{run}");
    // It was down for 300 ms: 600 departures; more where the machine was slow to bring it up again.
    assert!(run.total("failed") >= 400 && run.total("done") >= 200, "{run}");
}

#[test]
fn a_live_port_goes_on_when_its_link_does_and_ends_when_its_interface_does() {
    let _guard = alone();
    let bed = TestBed::pair();
    need("ethtool");
    run_in(bed.sink(), "ethtool -K sink0 gro on");
    let load =
        || Tare::packets(&format!("send live:gen0 --rate 1k -t 3 -m {NOBODY}")).inside(bed.generator());
    let seen = || bed.kernel(bed.sink(), "rx_packets");
    let running = load().start();
    wait_until("frames", || seen() > 100);
    bed.ip(bed.generator(), "link set gen0 down");
    std::thread::sleep(Duration::from_millis(300));
    bed.ip(bed.generator(), "link set gen0 up");
    let run = running.finish();
    assert_eq!(run.total("offered"), 3_000, "{run}");
    // 300 departures while it was down; a few more, as a link needs time for that.
    assert!((200..2_000).contains(&run.outcome("link.down")), "{run}");
    wait_until("all to be seen", || seen() >= run.total("done"));
    // A link that comes up says a word or two itself.
    assert!(seen() <= run.total("done") + 20, "{run}");
    let running = load().start();
    let before = seen();
    wait_until("frames", || seen() > before + 100);
    bed.ip(bed.generator(), "link del gen0");
    let run = running.finish();
    assert_eq!((run.code, run.word()), (Some(4), "INVALID"), "{run}");
    assert!(run.result["labels"].to_string().contains("the interface 'gen0' is gone"), "{run}");
    assert!((100..3_000).contains(&run.total("offered")), "what was due afterwards was never offered: {run}");
}

#[test]
fn frames_are_held_to_limits_that_they_have() {
    let _guard = beside_others();
    let bed = TestBed::pair();
    let held = |limit: &str| {
        send(&bed, &format!("-n 500 --rate 1k -m {NOBODY} --accept-invalid"))
            .arg("--fail-if")
            .arg(limit)
            .run()
    };
    for (limit, code) in
        [("gap_error.max > 1ns", 3), ("achieved < 900k/s", 3), ("failed > 0", 0), ("lateness.p50 > 1min", 0)]
    {
        let run = held(limit);
        assert_eq!(run.code, Some(code), "{limit}: {run}");
    }
    for (limit, problem) in [
        ("latency.p99 > 1ms", "frames get no responses, so tare send has no latency"),
        ("status(5xx) > 0", "frames have no status"),
        ("error(connect) > 0", "no frame fails in connect"),
    ] {
        let run = held(limit);
        assert_eq!(run.code, Some(2), "{limit}: {run}");
        assert!(run.stderr.contains(problem) && run.stderr.contains("gap_error"), "{limit}: {}", run.stderr);
    }
    let run =
        send(&bed, &format!("-n 5 --rate max -m {NOBODY}")).arg("--fail-if").arg("lateness.p99 > 1s").run();
    assert!(run.code == Some(2) && run.stderr.contains("no due times of frames"), "{run}");
}

/// A run that is kept, and what it chose, with the reason.
fn chosen(what: &str, load: &str, prepared: impl Fn(Tare) -> Tare) -> (Run, String, String) {
    let folder = scratch();
    let out = folder.path().join("run");
    let run = prepared(Tare::packets(&format!("{load} --out {}", out.display()))).run();
    let text = fs::read_to_string(out.join("environment.json")).expect("the run is kept");
    let environment: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let choices = environment["choices"].as_array().cloned().unwrap_or_default();
    let found = choices.iter().find(|choice| choice["what"] == what);
    let found = found.unwrap_or_else(|| panic!("no {what}: {choices:?}"));
    let word = |key: &str| found[key].as_str().unwrap_or_default().to_owned();
    (run, word("chosen"), word("why"))
}

/// Half of the gaps are off by no more than this, when frames were handed over.
fn gap_error_ns(run: &Run) -> f64 {
    run.float("packets.gaps.error.p50_ns")
}

#[test]
fn one_cpu_of_its_own_lets_a_thread_spin_and_makes_no_gap_worse() {
    let _guard = alone();
    need("taskset");
    let bed = TestBed::pair();
    let load = format!("send packet:gen0 -d 13560 -n 30000 -m {NOBODY} --accept-invalid");
    let inside = |tare: Tare| tare.inside(bed.generator());
    patiently(3, || {
        let free = chosen("spin", &load, inside);
        // As the advice has it: pinned to a CPU of its own, by either way.
        let bound = chosen("spin", &load, |tare| inside(tare).through("taskset -c 0"));
        let named = chosen("spin", &format!("{load} --cpus 0"), inside);
        for (run, spin, why) in [&free, &bound, &named] {
            assert!(spin.starts_with("yes"), "{spin}: {why}");
            assert!(!run.result["notes"].to_string().contains("do not spin"), "{run}");
        }
        // A thread that sleeps is woken some 50 µs late: half of such gaps are off by 8 µs and more.
        let [free, bound, named] = [&free, &bound, &named].map(|(run, ..)| gap_error_ns(run));
        assert!(bound < 4.0 * free + 2_000.0 && named < 4.0 * free + 2_000.0, "{free} {bound} {named}");
    });
}

#[test]
fn a_thread_that_would_keep_the_receiver_from_the_only_cpu_sleeps_and_the_advice_helps() {
    let _guard = beside_others();
    need("taskset");
    let load = "send mem:one --receive mem:one --sign -n 50 --rate 1k --accept-invalid";
    let run = Tare::packets(load).through("taskset -c 0").run();
    let told = run.result["notes"].to_string();
    assert!(told.contains("do not spin") && told.contains("keep the thread that receives from it"), "{run}");
    assert!(told.contains("one more CPU (taskset), and bind the thread that sends to one (--cpus)"), "{run}");
    assert!(!told.contains("--spin always"), "that would make it worse: {run}");
    let (advised, spin, why) =
        chosen("spin", &format!("{load} --cpus 0"), |tare| tare.through("taskset -c 0,1"));
    assert!(spin.starts_with("yes"), "{why}: {advised}");
    let asked = Tare::packets(&format!("{load} --spin never")).through("taskset -c 0").run();
    assert!(!asked.result["notes"].to_string().contains("do not spin"), "it was asked for: {asked}");
}

#[test]
fn the_priority_is_chosen_so_that_nobody_starves_and_the_result_says_why() {
    let _guard = beside_others();
    let priority = |flags: &str| {
        let load = format!("send mem:prio --receive mem:prio --sign -n 60 --accept-invalid {flags}");
        let (_, level, why) = chosen("priority", &load, |tare| tare);
        (level, why)
    };
    let (normal, why) = priority("--rate 200 --priority normal");
    assert_eq!((normal.as_str(), why.as_str()), ("normal", "it was asked for"));
    let (fast, why) = priority("-d 13560");
    assert!(fast != "real-time" && why.contains("never sleeps"), "{fast}: {why}");
    let (slow, why) = priority("--rate 200");
    let may = std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() > 1);
    assert!(slow == "real-time" || !may || why.contains("does not allow"), "{slow}: {why}");
    let refused = Tare::packets("send mem:a --receive mem:a -n 1 --priority high").start().finish_unchecked();
    assert!(refused.code == Some(2) && refused.stderr.contains("--priority"), "{refused}");
}

#[test]
fn what_may_still_come_is_waited_for_and_never_called_lost() {
    let _guard = beside_others();
    // The receiving end holds every fifth frame for 700 ms, as a slow device would.
    let load = |name: &str, flags: &str| {
        let port = format!("--receive fault,delay=every=5,hold=700ms:mem:{name}");
        Tare::packets(&format!("send mem:{name} {port} --sign --rate 500 -n 500 --accept-invalid {flags}"))
            .run()
    };
    let all = load("held", "");
    assert_eq!((all.int("packets.received.signed"), all.int("packets.received.lost")), (500, 0), "{all}");
    let waited = all.float("packets.received.waited_s");
    assert!((0.3..30.0).contains(&waited), "until the last came, and no longer than that: {waited}");
    let short = load("short", "--drain 50ms");
    let (lost, outstanding) = (short.int("packets.received.lost"), short.int("packets.received.outstanding"));
    assert_eq!((lost, short.int("packets.received.signed") + outstanding), (0, 500), "{short}");
    assert!(outstanding > 0 && !short.criterion("receiver.outstanding").holds, "{short}");
    assert!(short.remarks().contains("may still come"), "{}", short.remarks());
    let alone = Tare::packets("send mem:a -n 1 --drain 1s").start().finish_unchecked();
    assert!(alone.code == Some(2) && alone.stderr.contains("--drain needs --receive"), "{alone}");
}

#[test]
fn losses_of_our_own_receiver_and_the_time_frames_lay_here_are_told_apart() {
    let _guard = alone();
    let bed = TestBed::pair();
    let ports = |flags: &str| {
        let receive = format!("packet,netns={}{flags}:sink0", bed.sink().name);
        format!("send packet:gen0 --receive {receive} --sign -m {NOBODY} --accept-invalid")
    };
    let run = Tare::packets(&format!("{} --rate 2k -n 1000", ports(""))).inside(bed.generator()).run();
    let received = &run.result["packets"]["received"];
    for part in ["one_way_ns", "late_ns", "unread_ns"] {
        assert_eq!(received[part]["count"], 1_000, "{part}: {run}");
    }
    // The gaps at both ends, each with its error.
    assert!(
        run.float("packets.gaps.error.p95_ns") >= 0.0 && run.float("packets.handed_over.error.p95_ns") >= 0.0
    );
    // A ring of sixteen frames, and bursts of a thousand: the wire is bare, and loses nothing.
    let few = format!("{} --rate 100k --burst 1000 -n 20000", ports(",slots=16,receive=slots"));
    let run = Tare::packets(&few).inside(bed.generator()).run();
    let of = |key: &str| run.result["packets"]["received"][key].as_u64().unwrap_or(0);
    assert!(of("lost_here") > 0, "{run}");
    assert_eq!((of("lost"), of("signed") + of("lost_here")), (0, 20_000), "{run}");
}

#[test]
fn an_interface_alone_is_taken_by_the_way_that_fits_and_the_result_says_which() {
    let _guard = beside_others();
    let bed = TestBed::pair();
    let taken = |rate: &str| {
        let run = Tare::packets(&format!("send auto:gen0 -n 2000 --rate {rate} -m {NOBODY}"))
            .inside(bed.generator())
            .run();
        assert_eq!(run.total("done"), 2_000, "{run}");
        let choices = run.result["packets"]["ports"][0]["choices"].to_string();
        assert!(choices.contains("port refused: xdp,mode=zerocopy:gen0"), "{choices}");
        run.result["packets"]["ports"][0]["name"].as_str().unwrap_or_default().to_owned()
    };
    assert!(taken("max").starts_with("xdp,mode=copy:gen0"), "whole batches cost least there");
}

#[test]
fn a_replay_gives_the_same_bytes() {
    let _guard = beside_others();
    let bed = TestBed::pair();
    let folder = scratch();
    let file = folder.path().join("made.pcapng");
    let made = Tare::packets(&format!(
        "send pcap:{} -n 300 --rate 10k --size random(64..1518) --payload random --vary sport=1024..2047",
        file.display()
    ))
    .run();
    assert_eq!(made.total("done"), 300, "{made}");
    let fields = "frame.len frame.md5_hash";
    let wanted = dissected(&file, fields);
    let (run, seen) =
        captured(&bed, 300, fields, send(&bed, &format!("--replay {} --speed 2", file.display())));
    assert_eq!(run.total("done"), 300, "{run}");
    assert_eq!(wanted.len(), 300);
    assert_eq!(seen, wanted);
}

#[test]
fn what_is_wrong_with_a_recording_is_told_however_it_is_sent() {
    let _guard = beside_others();
    let folder = scratch();
    let file = folder.path().join("cut.pcap");
    let mut writer = Writer::create(&file, Style::of_name(&file)).expect("a scratch file");
    for milliseconds in [5, 4, 6] {
        writer.frame(Stamp(milliseconds * 1_000_000), 200, &[0; 60], 0).expect("room");
    }
    writer.finish(&Statistics::default()).expect("room");
    let notes = |how: &str| {
        let run = Tare::packets(&format!("send mem:cut {how} {}", file.display())).run();
        assert_eq!(run.total("done"), 3, "{run}");
        run.result["notes"].to_string()
    };
    let cut = "3 frames of the recording were cut off when captured";
    let told = notes("--rate 1k -n 3 --pcap");
    assert!(told.contains(cut) && !told.contains("stamped before"), "{told}");
    let told = notes("--replay");
    assert!(told.contains(cut) && told.contains("1 frames of the recording are stamped before"), "{told}");
}

#[test]
fn what_arrives_is_told_and_faults_are_found() {
    let _guard = beside_others();
    let run = Tare::packets("send mem:all --receive mem:all --sign --rate 20k -n 4000").run();
    let received = &run.result["packets"]["received"];
    assert_eq!((received["signed"].as_u64(), received["lost"].as_u64()), (Some(4_000), Some(0)), "{run}");
    let run =
        Tare::packets("send fault,drop=5%,seed=7:mem:some --receive mem:some --sign --rate 20k -n 4000")
            .run();
    let report = &run.result["packets"];
    let dropped = report["ports"][0]["drops"].as_array().and_then(|drops| {
        drops.iter().find(|drop| drop["place"] == "fault").and_then(|drop| drop["frames"].as_u64())
    });
    let dropped = dropped.expect("the fault port counts what it drops");
    assert!((100..300).contains(&dropped), "5 % of 4 000 are 200: {dropped}");
    assert_eq!(report["received"]["lost"].as_u64(), Some(dropped), "{run}");
    // All of them, and the last of them.
    for (which, lost) in [("every=1", 10), ("at=8+9", 2)] {
        let load = format!("send fault,drop={which}:mem:{lost} --receive mem:{lost} --sign --rate 1k -n 10");
        let run = Tare::packets(&load).run();
        let received = &run.result["packets"]["received"];
        assert_eq!(
            (received["signed"].as_u64(), received["lost"].as_u64()),
            (Some(10 - lost), Some(lost)),
            "{run}"
        );
    }
    // Where the port only receives, its faults are made there.
    let run = Tare::packets("send mem:in --receive fault,drop=at=3:mem:in --sign --rate 1k -n 10").run();
    assert_eq!(run.result["packets"]["received"]["lost"].as_u64(), Some(1), "{run}");
    let refused = Tare::packets("send mem:two --queues 2 --receive mem:two --sign -n 10").run();
    assert!(refused.code == Some(2) && refused.stderr.contains("--queues"), "{refused}");
}

#[test]
fn frames_over_ipv6_find_their_neighbour() {
    let _guard = beside_others();
    let bed = TestBed::up(Topology::unique().ipv6());
    let load = send(&bed, "-n 200 --rate 1k -i fd00:18::2 -I fd00:18::1");
    let seen = |namespace: &Namespace| bed.kernel(namespace, "rx_packets");
    let before = seen(bed.sink());
    let run = load.run();
    assert_eq!(run.total("done"), 200, "{run}");
    assert!(seen(bed.sink()) - before >= 200);
}
