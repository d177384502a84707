//! `tare forward` as a middlebox between two real veth pairs, in user space and as an XDP program: TCP passes,
//! what a rule drops does not, every frame is counted at its rule, and rules change without a frame lost.

use port::Stamp;
use port::pcap::{Statistics, Style, Writer};
use serde_json::Value;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;
use tare_system_tests::bed::{Middlebox, Topology, run_in};
use tare_system_tests::process::wait_until;
use tare_system_tests::{Process, Run, Running, Tare, TestBed, alone, beside_others, light, need};

/// Where the rules are applied.
#[derive(Clone, Copy, Debug, PartialEq)]
enum By {
    Process,
    Kernel,
}

struct Way {
    bed: TestBed,
    folder: tempfile::TempDir,
    by: By,
}

/// Rules that drop 198.18.0.64/26 and what goes to port 7.
const RULES: &str =
    "# first match\ndrop from 198.18.0.64/26\ndrop proto udp dport 7\npass from 198.18.0.0/24\n";

/// Within this time whatever was sent has passed, also on a busy machine; and what should not pass would have.
const SETTLED: Duration = Duration::from_millis(500);

impl Way {
    fn new(by: By, rules: &str) -> Self {
        let wire = Topology::unique().middlebox(Middlebox::Wire);
        // A veth takes redirected frames only if its other end polls (NAPI), which GRO turns on.
        let bed = TestBed::up(if by == By::Kernel { wire.with_gro() } else { wire });
        let way = Self { bed, folder: tempfile::tempdir().unwrap(), by };
        std::fs::write(way.rules(), rules).unwrap();
        way
    }

    fn rules(&self) -> PathBuf {
        self.folder.path().join("rules.txt")
    }

    fn forward(&self, flags: &str) -> Running {
        let ports = match self.by {
            By::Process => "packet:mid0 packet:mid1",
            By::Kernel => "mid0 mid1 --xdp",
        };
        let rules = self.rules();
        let out = self.folder.path().join("run");
        let tare = Tare::packets(&format!(
            "forward {ports} --rules {} --out {} {flags}",
            rules.display(),
            out.display()
        ));
        let middle = self.bed.middlebox().unwrap();
        let running = tare.inside(middle).limit(Duration::from_secs(60)).start();
        wait_until("the middlebox runs", || out.join("begun.json").exists());
        running.sleep_until(Duration::from_millis(500));
        running
    }

    /// Sends and returns how many frames left.
    fn send(&self, flags: &str) -> u64 {
        let run = Tare::packets(&format!(
            "send packet:gen0 --dst 198.18.0.2 --dst-mac {} {flags}",
            self.sink_mac()
        ))
        .inside(self.bed.generator())
        .start()
        .finish_unchecked();
        run.outcome("sent")
    }

    fn sink_mac(&self) -> String {
        run_in(self.bed.sink(), "cat /sys/class/net/sink0/address").trim().to_owned()
    }

    fn received(&self) -> u64 {
        self.bed.kernel(self.bed.sink(), "rx_packets")
    }
}

/// Frames of the rule in this row of the table.
fn rule(run: &Run, row: usize) -> u64 {
    run.at(&format!("/packets/tables/0/rows/{row}/2")).as_f64().expect("a count") as u64
}

fn passes_and_drops(by: By) {
    let way = Way::new(by, RULES);
    let running = way.forward("-t 30");
    let before = way.received();
    let (kept, dropped, seven) = (
        way.send("--src 198.18.0.1 --sport 4000 --dport 9 -n 3000 --rate 20k"),
        way.send("--src 198.18.0.65 --sport 4000 --dport 9 -n 2000 --rate 20k"),
        way.send("--src 198.18.0.1 --sport 4000 --dport 7 -n 1000 --rate 20k"),
    );
    assert_eq!((kept, dropped, seven), (3_000, 2_000, 1_000));
    std::thread::sleep(SETTLED);
    let after = way.received();
    let run = running.end();
    assert_eq!(after - before, 3_000, "{by:?}: {}", run.stderr);
    assert_eq!((rule(&run, 0), rule(&run, 1), rule(&run, 2)), (2_000, 1_000, 3_000), "{by:?}");
    // The sink's answers (port unreachable) go back, forwarded and not judged.
    assert_eq!(run.outcome("filtered"), 3_000);
    assert!(run.outcome("forwarded") >= 3_000);
    assert_eq!(run.total("offered"), run.total("done") + run.total("failed") + run.total("missed"));
}

#[test]
fn frames_that_the_far_interface_refuses_are_missed_once() {
    let _beside = beside_others();
    let wire = Topology::unique().middlebox(Middlebox::Wire);
    let way = Way { bed: TestBed::up(wire), folder: tempfile::tempdir().unwrap(), by: By::Kernel };
    std::fs::write(way.rules(), RULES).unwrap();
    let running = way.forward("-t 30 --accept-invalid");
    assert_eq!(way.send("--src 198.18.0.1 --sport 4000 --dport 9 -n 3000 --rate 20k"), 3_000);
    std::thread::sleep(SETTLED);
    let run = running.end();
    // Without GRO the veth takes nothing.
    assert!((3_000..3_100).contains(&run.total("missed")), "{run}");
    assert_eq!(run.total("offered"), run.total("done") + run.total("failed") + run.total("missed"), "{run}");
    let criteria = run.result["verdict"]["criteria"].as_array().expect("criteria");
    let sums = criteria.iter().find(|one| one["name"] == "conservation").expect("the sums are judged");
    assert_eq!(sums["holds"], true, "{run}");
}

fn tcp_passes(by: By) {
    need("iperf3");
    let way = Way::new(by, RULES);
    let running = way.forward("-t 30");
    let words = format!("ip netns exec {} iperf3 -s", way.bed.sink().name);
    let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
    let _server = Process::start(&words, |command| {
        command.stdout(Stdio::null()).stderr(Stdio::null());
    });
    std::thread::sleep(Duration::from_millis(500));
    way.bed.ip(way.bed.generator(), "addr add 198.18.0.65/24 dev gen0");
    let iperf = |flags: &str| -> Value {
        let mut command = way.bed.generator().command("iperf3");
        let words = format!("-c 198.18.0.2 --json --connect-timeout 1500 -t 2 {flags}");
        let output = command.args(words.split_whitespace()).output().expect("iperf3 runs");
        serde_json::from_slice(&output.stdout).expect("iperf3 prints JSON")
    };
    let said = iperf("-B 198.18.0.1");
    let rate = said["end"]["sum_received"]["bits_per_second"].as_f64().unwrap_or(0.0);
    assert!(rate > 10e6, "{by:?}: {said}");
    let said = iperf("-B 198.18.0.65");
    assert!(said.get("error").is_some(), "{by:?}: what is dropped does not connect: {said}");
    let run = running.end();
    assert!(rule(&run, 0) > 0 && rule(&run, 2) > 1_000, "{by:?}");
}

fn rules_change_without_a_loss(by: By) {
    let way = Way::new(by, RULES);
    let running = way.forward("-t 30 --reload-every 100ms");
    let before = way.received();
    let sent = std::thread::scope(|scope| {
        let sending = scope.spawn(|| way.send("--src 198.18.0.1 --sport 4000 --dport 9 -n 30000 --rate 10k"));
        for more in 0..5 {
            std::thread::sleep(Duration::from_millis(450));
            let rules = format!("drop from 198.18.0.{}\n{RULES}", 200 + more);
            // As an editor would: the file is whole at every moment.
            let fresh = way.folder.path().join("fresh");
            std::fs::write(&fresh, rules).unwrap();
            std::fs::rename(&fresh, way.rules()).unwrap();
        }
        sending.join().unwrap()
    });
    std::thread::sleep(SETTLED);
    let after = way.received();
    let run = running.end();
    // A starved machine may lose frames before the middlebox sees them; it counts these, and no others are
    // lost.
    let late = run.outcome("missed.receiver_full");
    assert_eq!((sent, after - before + late), (30_000, 30_000), "{by:?}: {}", run.stderr);
    let changes = run.at("/packets/changes").as_array().map_or(0, Vec::len);
    assert_eq!(changes, 5, "{}", run.at("/packets/changes"));
    // The rule that stayed the same kept its count through all five.
    assert_eq!(rule(&run, 3) + late, 30_000, "{by:?}");
}

#[test]
fn what_rules_drop_does_not_pass_and_every_frame_is_counted_at_its_rule() {
    let _light = light();
    passes_and_drops(By::Process);
}

#[test]
fn the_same_by_a_program_in_the_kernel() {
    let _light = light();
    passes_and_drops(By::Kernel);
}

#[test]
fn tcp_passes_and_a_dropped_prefix_does_not_connect() {
    let _alone = alone();
    tcp_passes(By::Process);
}

#[test]
fn tcp_passes_the_program_in_the_kernel() {
    let _alone = alone();
    tcp_passes(By::Kernel);
}

#[test]
fn rules_are_replaced_live_and_no_frame_is_lost() {
    let _alone = alone();
    rules_change_without_a_loss(By::Process);
}

#[test]
fn rules_in_the_kernel_are_replaced_live_and_no_frame_is_lost() {
    let _alone = alone();
    rules_change_without_a_loss(By::Kernel);
}

/// A UDP datagram to port 53 over IPv6 from 2001:db8::1, behind this many headers of destination options.
fn behind_options(count: usize) -> Vec<u8> {
    let mut frame = vec![2, 0x18, 0, 0, 0, 2, 2, 0x18, 0, 0, 0, 1, 0x86, 0xdd, 0x60, 0, 0, 0];
    frame.extend([0, (count * 8 + 12) as u8, if count > 0 { 60 } else { 17 }, 64]);
    for last in [1, 2] {
        frame.extend([0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last]);
    }
    for left in (0..count).rev() {
        // Padding of four bytes (PadN).
        frame.extend([if left > 0 { 60 } else { 17 }, 0, 1, 4, 0, 0, 0, 0]);
    }
    frame.extend([0x10, 0, 0, 53, 0, 12, 0, 0, 1, 2, 3, 4]);
    frame
}

/// An IPv4 datagram to port 9 with these bytes between the Ethernet addresses and it.
fn behind(around: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0x18, 0, 0, 0, 2, 2, 0x18, 0, 0, 0, 1];
    frame.extend(around);
    frame.extend([0x45, 0, 0, 32, 0, 0, 0, 0, 64, 17, 0, 0, 198, 18, 0, 1, 198, 18, 0, 2]);
    frame.extend([0x10, 0, 0, 9, 0, 12, 0, 0, 1, 2, 3, 4]);
    frame.resize(frame.len().max(60), 0);
    frame
}

fn nothing_is_smuggled_past(by: By) {
    let way = Way::new(by, "drop proto udp dport 53\npass from 2001:db8::/32\ndefault drop\n");
    let frames = [
        behind_options(0),
        behind_options(5),
        behind_options(9),
        behind(&[0x81, 0, 0, 5, 0x81, 0, 0, 6, 0x81, 0, 0, 7, 8, 0]),
        behind(&[0x88, 0xa8, 0, 5, 0x91, 0, 0, 7, 8, 0]),
        behind(&[0x91, 0, 0, 5, 8, 0]),
        behind(&[0x88, 0x47, 0, 0, 0x11, 64]),
        behind(&[0x88, 0x64, 0x11, 0, 0, 1, 0, 34, 0, 0x21]),
        behind(&[0, 40, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0]),
    ];
    let file = way.folder.path().join("smuggled.pcap");
    let mut writer = Writer::create(&file, Style::of_name(&file)).unwrap();
    for (at, frame) in (1..).zip(&frames) {
        writer.frame(Stamp(at * 1_000), frame.len(), frame, 0).unwrap();
    }
    writer.finish(&Statistics::default()).unwrap();
    let running = way.forward("-t 30");
    let before = way.received();
    let words = format!("send packet:gen0 --pcap {} --rate 1k -n 900", file.display());
    let sent = Tare::packets(&words).inside(way.bed.generator()).start().finish_unchecked();
    assert_eq!(sent.outcome("sent"), 900, "{sent}");
    std::thread::sleep(SETTLED);
    let run = running.end();
    assert_eq!(way.received() - before, 0, "{by:?}: {run}");
    // Two by the first rule, none by the second, six by the default, one as malformed.
    let rows = [0, 1, 2, 4].map(|row| rule(&run, row));
    assert_eq!(rows, [200, 0, 600, 100], "{by:?}: {run}");
}

#[test]
fn nothing_gets_past_a_rule_by_what_is_put_around_it() {
    let _beside = beside_others();
    nothing_is_smuggled_past(By::Process);
    nothing_is_smuggled_past(By::Kernel);
}

#[test]
fn without_rules_the_end_of_the_terminal_ends_the_run() {
    let _beside = beside_others();
    let folder = tempfile::tempdir().unwrap();
    // Several: the signal comes as soon as the run can be reached.
    for run in 0..8 {
        let out = folder.path().join(run.to_string());
        // Whoever runs the tests by nohup ignores it for all.
        let tare = Tare::packets(&format!("forward mem:a mem:b -t 30 --out {}", out.display()));
        let running = tare.through("env --default-signal=HUP").start();
        wait_until("the socket", || out.join("control.sock").exists());
        running.process.signal(rustix::process::Signal::HUP);
        let run = running.finish_unchecked();
        assert!(run.code == Some(130) && run.result["labels"].to_string().contains("interrupted"), "{run}");
    }
}

#[test]
fn rules_are_read_again_at_a_signal_and_at_a_word() {
    let _beside = beside_others();
    let folder = tempfile::tempdir().unwrap();
    let (rules, out) = (folder.path().join("rules.txt"), folder.path().join("run"));
    std::fs::write(&rules, "drop from 198.18.0.1\n").unwrap();
    let words = format!("forward mem:a mem:b --rules {} -t 4 --out {}", rules.display(), out.display());
    let running = Tare::packets(&words).start();
    wait_until("the socket", || out.join("control.sock").exists());
    let ctl = || Tare::new(&format!("ctl {} reload", out.display())).run();
    let same = ctl();
    assert!(same.stdout.trim().ends_with(", as before"), "{same}");
    std::fs::write(&rules, "drop from 198.18.0.1\ndrop from 198.18.0.2\n").unwrap();
    assert_eq!(ctl().stdout.trim(), "2 rules (before: 1)");
    std::fs::write(&rules, "drop from 198.18.0.1\nkeep all\n").unwrap();
    let refused = ctl();
    assert!(refused.code == Some(2) && refused.stderr.contains("rules.txt:2"), "{refused}");
    std::fs::write(&rules, "drop all\ndefault pass\n").unwrap();
    running.process.signal(rustix::process::Signal::HUP);
    let run = running.finish();
    assert!(!run.result["labels"].to_string().contains("interrupted"), "it goes on: {run}");
    let changes = run.at("/packets/changes").as_array().cloned().unwrap_or_default();
    let told: Vec<_> = changes.iter().map(|change| (change["to"].as_str(), change["by"].as_str())).collect();
    assert_eq!(told, [(Some("2"), Some("ctl")), (Some("1"), Some("signal"))], "{run}");
}

#[test]
fn an_interface_that_is_removed_ends_the_run_with_a_complete_result() {
    let _beside = beside_others();
    for by in [By::Process, By::Kernel] {
        let way = Way::new(by, "default pass\n");
        let running = way.forward("-t 30");
        let sent = way.send("--src 198.18.0.1 --sport 4000 --dport 9 -n 500 --rate 2k --size 128");
        way.bed.ip(way.bed.middlebox().unwrap(), "link del mid1");
        let run = running.finish_unchecked();
        assert_eq!((run.code, run.word()), (Some(4), "INVALID"), "{by:?}: {run}");
        assert!(run.result["labels"].to_string().contains("'mid1' is gone"), "{by:?}: {run}");
        assert!(run.outcome("forwarded") >= sent, "{by:?}: {run}");
        // Frames of 124 bytes without their FCS.
        assert!(run.total("bytes_in") >= sent * 124, "{by:?}: {run}");
    }
}

#[test]
fn every_frame_is_counted_once_while_the_far_link_is_down() {
    let _beside = beside_others();
    let way = Way::new(By::Process, "default pass\n");
    way.bed.ip(way.bed.sink(), "link set sink0 down");
    let running = way.forward("-t 30 --accept-invalid");
    let sent = way.send("--src 198.18.0.1 --sport 4000 --dport 9 -n 3000 --rate 10k");
    std::thread::sleep(SETTLED);
    let run = running.end();
    let out = run.at("/packets/ports").as_array().unwrap().iter().find(|port| port["role"] == "out").unwrap();
    let (left, down) = (out["sent"].as_u64().unwrap(), run.outcome("link.down"));
    assert_eq!(sent, 3_000);
    assert_eq!(run.total("offered"), run.total("done") + run.total("failed") + run.total("missed"), "{run}");
    // What did not leave is not done. The bed's own chatter (neighbour discovery) may be among them.
    assert_eq!(run.total("done"), left, "{run}");
    assert!((3_000..3_100).contains(&(down + left)) && down >= 2_900, "{down} {left}: {run}");
    assert!(!run.criterion("links.down").holds, "{run}");
}

/// The next link takes less, or frames were merged on their way here.
#[test]
fn frames_that_are_too_long_for_the_far_interface_are_in_no_valid_run() {
    let _beside = beside_others();
    let way = Way::new(By::Process, RULES);
    run_in(way.bed.generator(), "ip link set gen0 mtu 3000");
    run_in(way.bed.middlebox().unwrap(), "ip link set mid0 mtu 3000");
    let running = way.forward("-t 30 --accept-invalid");
    assert_eq!(way.send("--src 198.18.0.1 --size 2000 -n 100 --rate 1k"), 100);
    std::thread::sleep(SETTLED);
    let run = running.end();
    assert_eq!(run.outcome("frame.too_long"), 100, "{run}");
    assert!(run.word() == "INVALID" && !run.criterion("transmit.drops").holds, "{run}");
    assert!(run.criterion("transmit.drops").advice.contains("MTU"), "{run}");
}

#[test]
fn bad_input_is_named_before_anything_is_opened() {
    let _beside = beside_others();
    let folder = tempfile::tempdir().unwrap();
    let rules = folder.path().join("rules.txt");
    std::fs::write(&rules, format!("{}drop form 198.18.0.0/24\n", "drop from 198.18.0.1\n".repeat(6)))
        .unwrap();
    let with_rules = format!("forward mem:a mem:b --rules {} -t 1", rules.display());
    for (arguments, said) in [
        (with_rules.as_str(), "rules.txt:7: 'form' is not part of a rule, write 'pass' or 'drop'"),
        ("forward mem:a mem:b --rules /nonexistent", "--rules: /nonexistent"),
        ("forward mem:a mem:a", "IN contradicts OUT"),
        ("forward mem:a mem:b --xdp", "IN: 'mem:a' is not an interface"),
        ("forward nothere0 nothere1 --xdp", "there is no interface 'nothere0'"),
        ("forward --table --sizes 63", "--sizes: '63'"),
    ] {
        let run = Tare::packets(arguments).start().finish_unchecked();
        assert_eq!(run.code, Some(2), "{arguments}: {}", run.stderr);
        assert!(run.stderr.contains(said), "{arguments}: {}", run.stderr);
    }
}

#[test]
fn the_table_has_a_row_for_each_number_of_threads_and_a_figure_with_its_spread_for_each_size() {
    let _alone = alone();
    let run = Tare::packets("forward --table --threads 1,2 --sizes 64,512,1024 --trials 3 --trial 20ms")
        .start()
        .finish_unchecked();
    let rows = run.at("/packets/tables/0/rows").as_array().unwrap().clone();
    assert_eq!(rows.len(), 2, "{}", run.stderr);
    // Advice names only flags that this command has.
    let advice = run.result["verdict"]["criteria"].to_string();
    assert!(!advice.contains("--queues") && !advice.contains("--cpus"), "{advice}");
    for row in &rows {
        // The number of threads, and for each size the rate of CPU time and that of the wall clock.
        assert_eq!(row.as_array().unwrap().len(), 1 + 3 + 3);
        assert!(row[1]["value"].as_f64().unwrap() > row[1]["low"].as_f64().unwrap() * 0.99);
    }
}
