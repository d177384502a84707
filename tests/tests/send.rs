//! `tare send` from outside: what leaves is what was asked for, by the kernel's counters and tshark's word; what cannot be is told.

use std::fs;
use std::process::Command;
use std::time::Duration;
use tare_system_tests::bed::{Namespace, TestBed, Topology, run_in};
use tare_system_tests::{Run, Tare, alone, beside_others, need, scratch};

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
    fields.split(' ').for_each(|field| drop(tshark.args(["-e", field])));
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
}

#[test]
fn lengths_and_addresses_are_those_that_were_asked_for() {
    let _guard = beside_others();
    let bed = TestBed::pair();
    let folder = scratch();
    let lengths = folder.path().join("lengths");
    fs::write(&lengths, "# of payload\n18\n100\n1472\n").unwrap();
    let load = send(
        &bed,
        &format!("-n 300 -d 100000 -L {} -i 198.18.0.9 -I 198.18.0.8 -m {NOBODY}", lengths.display()),
    );
    let fields = "frame.len ip.src ip.dst eth.dst _ws.expert";
    let (run, seen) = captured(&bed, 300, fields, load);
    assert_eq!((run.total("done"), seen.len()), (300, 300), "{run}");
    for (n, frame) in seen.iter().enumerate() {
        // Payload + 8 (UDP) + 20 (IPv4) + 14 (Ethernet).
        let length = [60, 142, 1_514][n % 3].to_string();
        assert_eq!(frame[..4], [length.as_str(), "198.18.0.8", "198.18.0.9", NOBODY], "frame {n}");
        assert_eq!(frame.get(4).map_or("", String::as_str), "", "tshark warns of frame {n}");
    }
}

#[test]
fn gaps_at_the_receiver_are_those_of_the_file() {
    let _guard = alone();
    let bed = TestBed::pair();
    let folder = scratch();
    let gaps = folder.path().join("gaps");
    fs::write(&gaps, "200000\n400000\n1000us\n").unwrap();
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
    // A swapped or forgotten gap would be 200 000 ns off; half of them are within a hundredth of that.
    assert!(errors[errors.len() / 2] < 20_000, "median error {} ns", errors[errors.len() / 2]);
}

#[test]
fn a_rate_is_changed_while_it_runs_and_the_result_says_when() {
    let _guard = beside_others();
    let bed = TestBed::pair();
    let folder = scratch();
    let out = folder.path().join("run");
    let running = send(&bed, &format!("--rate 1k -t 2 -m {NOBODY} --out {}", out.display())).start();
    let socket = out.join("control.sock");
    (0..100).take_while(|_| !socket.exists()).for_each(|_| std::thread::sleep(Duration::from_millis(20)));
    running.sleep_until(Duration::from_millis(700));
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
    let change = &run.result["packets"]["changes"][0];
    assert_eq!((change["what"].as_str(), change["to"].as_str()), (Some("rate"), Some("4000/s")), "{run}");
    // Exact: those due before the change at 1 000/s, and from it on at 4 000/s until 2 s.
    let at = change["at_s"].as_f64().unwrap();
    let expected = (at * 1_000.0).ceil() + ((2.0 - at) * 4_000.0).ceil();
    assert!((run.total("offered") as f64 - expected).abs() <= 1.0, "{expected} {run}");
    assert!(!socket.exists(), "the socket goes with the run");
    let over = ctl("show");
    assert!(over.code == Some(2) && over.stderr.contains("not under way"), "{over}");
}

#[test]
fn a_hardware_address_is_asked_for_and_ours_is_answered() {
    let _guard = beside_others();
    let bed = TestBed::pair();
    let sinks = bed.sink().interface().mac.to_string();
    let load = send(&bed, "-n 1000 --rate 1k -i 198.18.0.2 -I 198.18.0.77 --answer-arp").start();
    load.sleep_until(Duration::from_millis(600));
    let asked = bed.sink().command("bash").args(["-c", "echo x > /dev/udp/198.18.0.77/9"]).status();
    assert!(asked.expect("bash runs").success());
    std::thread::sleep(Duration::from_millis(200));
    let known = run_in(bed.sink(), "ip neigh show 198.18.0.77");
    let run = load.finish();
    assert_eq!(run.total("done"), 1_000, "{run}");
    assert!(known.contains(&bed.generator().interface().mac.to_string()), "{known}");
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
    assert!(run.total("missed") > 0 && run.total("done") > 10_000, "{run}");
    let reached = run.float("rate.achieved_per_s");
    assert!(reached > 10_000.0 && reached < 20e6, "{reached}");
}

#[test]
fn an_interface_that_is_removed_leaves_a_complete_labelled_result() {
    let _guard = beside_others();
    let bed = TestBed::pair();
    let load = send(&bed, &format!("--rate 5k -t 5 -m {NOBODY}")).start();
    load.sleep_until(Duration::from_millis(900));
    bed.ip(bed.generator(), "link del gen0");
    let run = load.finish();
    assert!(run.result.is_object(), "{run}");
    assert!(run.took < Duration::from_secs(4), "it ends when the interface does: {:?}", run.took);
    assert!(run.total("done") > 100, "{run}");
    let told = format!("{} {}", run.result["labels"], run.stderr);
    assert!(told.contains("gen0"), "{told}");
}

#[test]
fn a_link_that_goes_down_and_up_again_costs_what_was_due_meanwhile() {
    let _guard = beside_others();
    let bed = TestBed::pair();
    let load = send(&bed, &format!("--rate 2k -t 2 -m {NOBODY}")).start();
    load.sleep_until(Duration::from_millis(800));
    bed.ip(bed.generator(), "link set gen0 down");
    std::thread::sleep(Duration::from_millis(300));
    bed.ip(bed.generator(), "link set gen0 up");
    let run = load.finish();
    assert_eq!(run.total("offered"), 4_000, "{run}");
    assert!(run.total("failed") > 200 && run.total("done") > 1_500, "{run}");
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
