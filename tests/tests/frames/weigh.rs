//! `tare weigh`: through the program, in beds that it makes itself and takes away.

use rustix::process::Signal;
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use tare_system_tests::bed::{TestBed, namespaces};
use tare_system_tests::process::wait_until;
use tare_system_tests::run::{Run, Tare};
use tare_system_tests::{
    Process, alone, beside_others, binary, need, need_root, patiently, scratch, skipped,
};

/// A short weighing, as JSON.
fn weigh(words: &str) -> Tare {
    Tare::new(&format!("weigh {words} --json --no-save --no-progress")).limit(Duration::from_secs(120))
}

/// Of packets: quick, and without the rates of `tare send`.
fn packets(words: &str) -> Tare {
    weigh(&format!("packets --packets 20k --time 600ms --no-rates {words}"))
}

#[track_caller]
fn done(tare: Tare) -> Value {
    let run = tare.start().finish_unchecked();
    assert_eq!(run.code, Some(0), "{run}{}", run.stdout);
    run.result
}

#[track_caller]
fn float(value: &Value, path: &str) -> f64 {
    value.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("no {path} in {value:#}"))
}

fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    value.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

/// Beds of weighings that are there.
fn beds() -> Vec<String> {
    namespaces().lines().filter(|line| line.contains("tare-weigh-")).map(str::to_owned).collect()
}

fn beds_of(pid: u32) -> Vec<String> {
    beds().into_iter().filter(|bed| bed.contains(&format!("tare-weigh-{pid}-"))).collect()
}

#[test]
fn every_port_is_weighed_and_says_who_stamps() {
    let _alone = alone();
    need_root();
    patiently(3, || weighed_ports(&done(packets("--port all --trials 3"))));
}

#[track_caller]
fn weighed_ports(found: &Value) {
    assert_eq!(text(found, "/schema"), "tare.weigh/1");
    assert_eq!(found["skipped"], Value::Array(vec![]), "{}", found["skipped"]);
    let methods: Vec<(&str, &str)> = found["packets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (text(one, "/port"), text(one, "/stamps/method")))
        .collect();
    assert_eq!(
        methods,
        [("udp", "tx"), ("packet", "tx"), ("xdp", "peer"), ("live", "peer"), ("mem", "port")]
    );
    for one in found["packets"].as_array().unwrap() {
        let (mean, peak) = (float(one, "/overall/mean_ns/estimate"), float(one, "/peak/mean_ns/estimate"));
        // A packet takes between 10 ns (a ring) and 5 ms (a machine full of other work).
        assert!((10.0..5e6).contains(&mean), "{}: {mean}", one["port"]);
        assert!((float(one, "/theoretical_per_s") * peak / 1e9 - 1.0).abs() < 1e-6);
        assert_eq!(one["trials"].as_array().unwrap().len(), 3);
        for trial in one["trials"].as_array().unwrap() {
            let times = &trial["overall"];
            let (least, mean, most) =
                (float(times, "/min_ns"), float(times, "/mean_ns"), float(times, "/max_ns"));
            assert!(least <= mean && mean <= most, "{times}");
            // The steps of a trial rise.
            let steps = trial["steps"].as_array().unwrap();
            assert_eq!(steps.len(), 10);
            assert!(float(&steps[0], "/achieved_per_s") < float(&steps[8], "/achieved_per_s"), "{trial}");
        }
        assert!(!one["by_threads"].as_array().unwrap().is_empty());
    }
}

#[test]
fn the_tables_of_the_study_and_a_page_are_made_and_the_bed_is_gone() {
    let _beside = beside_others();
    need_root();
    let folder = scratch();
    let out = folder.path().join("w");
    let words = format!(
        "weigh packets --port udp --stamp capture --trials 3 --packets 5k --time 300ms --no-rates --like-study --out {}",
        out.display()
    );
    let running = Tare::new(&words).limit(Duration::from_secs(60)).start();
    let pid = running.process.pid();
    let run = running.finish_unchecked();
    assert_eq!(run.code, Some(0), "{run}");
    for said in ["Table 1.", "At the peak", "udp 64 B", "EP1 of the study", "± 0.5810", "Table 2.", "S/√n"]
    {
        assert!(run.stdout.contains(said), "{said}: {}", run.stdout);
    }
    assert!(run.stdout.lines().last().unwrap().starts_with("Next  "), "{}", run.stdout);
    assert_eq!(beds_of(pid), Vec::<String>::new());
    let kept: Value = serde_json::from_slice(&std::fs::read(out.join("weigh.json")).unwrap()).unwrap();
    assert_eq!(text(&kept, "/packets/0/stamps/method"), "capture");
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    for said in ["EP3", "17.97", "Stamps that are lost", "Trials: udp, 64 B", "c-rate-p0"] {
        assert!(page.contains(said), "{said}");
    }
    assert!(!page.contains("src=\"http") && !page.contains("href=\"http"));
}

/// Frames are held for 1 ms between hand-over and driver: the time moves by that.
#[test]
fn a_delay_at_the_drivers_side_moves_the_time_by_its_size() {
    let _alone = alone();
    need_root();
    // Means of the lower half of the rates, where nothing queues; a pause of the machine is not in all of them.
    let time = |more: &str| {
        let found = done(packets(&format!("--port packet --stamp capture --threads 1 --trials 1 {more}")));
        assert_eq!(text(&found, "/packets/0/stamps/method"), "peer");
        let steps = found.pointer("/packets/0/trials/0/steps").and_then(Value::as_array).unwrap();
        let means = steps[..5].iter().map(|step| float(step, "/mean_ns"));
        (means.fold(f64::INFINITY, f64::min), float(&found, "/packets/0/overall/min_ns"))
    };
    patiently(4, || {
        let (plain, fastest) = time("");
        let (held, least) = time("--through fault,delay=100%,hold=1ms");
        assert!(least >= 1e6, "none is let go early: {least}");
        // The quickest of all packets is held up by nothing else; the mean has what the machine adds.
        let moved = least - fastest;
        assert!((moved - 1e6).abs() < 0.1e6, "{fastest} ns, held {least} ns: moved by {moved}");
        assert!(held - plain > 0.9e6, "{plain} ns, held {held} ns");
    });
}

#[test]
fn without_privilege_what_can_be_weighed_is() {
    let _beside = beside_others();
    need("setpriv");
    let none = "setpriv --bounding-set -all --inh-caps -all --";
    let found = done(packets("--port udp,packet,live,mem --trials 1").through(none));
    let ports: Vec<&str> =
        found["packets"].as_array().unwrap().iter().map(|one| text(one, "/port")).collect();
    assert_eq!(ports, ["udp", "mem"], "{found:#}");
    assert_eq!(text(&found, "/packets/0/stamps/method"), "tx");
    let skipped = found["skipped"].to_string();
    assert!(skipped.contains("packet, 64 B") && skipped.contains("CAP_NET_RAW"), "{skipped}");
    assert!(found["notes"].to_string().contains("loopback"), "{}", found["notes"]);
}

/// A namespace with an interface whose driver stamps nothing; removed when dropped.
struct Stampless(String);

impl Stampless {
    fn up() -> Self {
        let own = Self(format!("tare-ifb-{}", std::process::id()));
        for words in [
            format!("netns add {}", own.0),
            format!("-n {} link add quiet0 type ifb", own.0),
            format!("-n {} link set quiet0 up", own.0),
        ] {
            let done = Command::new("ip").args(words.split(' ')).output().unwrap();
            assert!(done.status.success(), "ip {words}: {}", String::from_utf8_lossy(&done.stderr));
        }
        own
    }
}

impl Drop for Stampless {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.0]).status();
    }
}

#[test]
fn where_the_driver_does_not_stamp_a_capture_does_and_it_says_so() {
    let _beside = beside_others();
    need_root();
    let bed = Stampless::up();
    let words = "--port packet --trials 1 --interface quiet0 --to 198.18.9.9:9 --to-mac 02:18:00:00:00:63";
    let found = done(packets(words).through(&format!("ip netns exec {}", bed.0)));
    assert_eq!(text(&found, "/packets/0/stamps/method"), "capture", "{found:#}");
    let why = text(&found, "/packets/0/stamps/why");
    assert!(why.contains("quiet0") && why.contains("does not timestamp what it sends"), "{why}");
    assert!(float(&found, "/packets/0/overall/mean_ns/estimate") > 0.0);
}

#[test]
fn ctrl_c_keeps_what_was_weighed_and_takes_the_bed_away() {
    let _beside = beside_others();
    need_root();
    let folder = scratch();
    let out = folder.path().join("w");
    let words = format!(
        "weigh packets --port mem,udp --trials 500 --packets 100k --time 2s --json --out {}",
        out.display()
    );
    let running = Tare::new(&words).limit(Duration::from_secs(30)).start();
    let pid = running.process.pid();
    wait_until("a trial", || running.stderr().contains("trial 2"));
    running.interrupt();
    let run: Run = running.finish_unchecked();
    assert_eq!(run.code, Some(130), "{run}");
    assert_eq!(run.result["partial"], true);
    let trials = run.result["packets"][0]["trials"].as_array().unwrap();
    assert!(trials.len() >= 2 && trials[0]["counts"] == true, "{trials:?}");
    assert!(out.join("report.html").is_file());
    assert_eq!(beds_of(pid), Vec::<String>::new());
}

#[test]
fn what_a_killed_weighing_left_is_taken_away_by_the_next() {
    let _beside = beside_others();
    need_root();
    let left = || {
        let words = "weigh packets --port packet --trials 500 --packets 100k --time 2s --no-save --json";
        let mut running = Tare::new(words).limit(Duration::from_secs(30)).start();
        let pid = running.process.pid();
        wait_until("its bed", || beds_of(pid).len() == 2);
        running.process.kill();
        assert_eq!(beds_of(pid).len(), 2, "a killed process takes nothing away");
        pid
    };
    // Also by one that makes no namespaces itself; and by whoever looks which there are.
    let killed = left();
    done(packets("--port mem --trials 1"));
    assert_eq!(beds_of(killed), Vec::<String>::new());
    let killed = left();
    assert_eq!(Tare::new("lab show").start().finish_unchecked().code, Some(0));
    assert_eq!(beds_of(killed), Vec::<String>::new());
}

/// A busy loop on the generator's CPU, under a name of its own; ended when dropped.
struct Noise(Process, tempfile::TempDir);

impl Noise {
    fn on(cpu: u32) -> Self {
        need("taskset");
        let folder = scratch();
        let program = folder.path().join("noisy");
        std::fs::copy(Path::new("/bin/sh"), &program).unwrap();
        let words =
            ["taskset", "-c", &cpu.to_string(), &program.display().to_string(), "-c", "while :; do :; done"];
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let process = Process::start(&words, |_| ());
        process.wait_for_exec("noisy");
        Self(process, folder)
    }
}

#[test]
fn a_busy_loop_on_the_same_core_is_seen_and_named() {
    let _alone = alone();
    need_root();
    patiently(3, || {
        let noise = Noise::on(0);
        let found = done(packets("--port udp --threads 1 --trials 2"));
        let remarks = found["packets"][0]["trials"][0]["remarks"].to_string();
        assert!(remarks.contains("noisy neighbour") && remarks.contains("'noisy'"), "{remarks}");
        assert!(float(&found, "/packets/0/trials/0/waited") > 0.05);
        noise.0.signal(Signal::KILL);
        let _ = noise.1.path();
    });
}

#[test]
fn incoming_traffic_takes_from_udp_and_nothing_from_mem() {
    let _alone = alone();
    need_root();
    patiently(3, || {
        let found = done(weigh("backload --port udp,mem --sizes 64 --steps 2 --step 250ms --trials 4"));
        let [udp, mem] = found["backload"].as_array().unwrap().as_slice() else { panic!("{found:#}") };
        assert!(text(udp, "/steering").contains("RPS"), "{udp:#}");
        let fall = float(udp, "/fall/estimate");
        assert!(fall > 0.1, "the rate falls: {fall}");
        assert!(float(udp, "/recovery/estimate") > 1.0 - fall, "and recovers");
        assert!(float(udp, "/steps/2/in_per_s/estimate") > 10_000.0, "{udp:#}");
        assert!(float(udp, "/steps/2/softirq") > float(udp, "/steps/0/softirq"), "{udp:#}");
        let fall = float(mem, "/fall/estimate");
        if float(mem, "/steps/0/own_per_s/low") < float(mem, "/steps/0/own_per_s/estimate") * 0.9 {
            skipped("the null case: without any incoming traffic its rate is not the same twice here");
            return;
        }
        assert!(fall < 0.1, "the null case: {fall}");
        assert!(float(mem, "/steps/2/in_per_s/estimate") > 10_000.0, "{mem:#}");
    });
}

#[test]
fn incoming_traffic_takes_from_requests_by_a_tcp_of_their_own() {
    let _alone = alone();
    need_root();
    let words = "backload --port http-packet --sizes 64 --steps 1 --step 200ms --trials 1 --backload 0..100k";
    let found = done(weigh(words));
    let row = &found["backload"][0];
    let phases: Vec<&str> =
        row["steps"].as_array().unwrap().iter().map(|step| text(step, "/phase")).collect();
    assert_eq!((text(row, "/port"), phases), ("http-packet", vec!["before", "rising", "after"]), "{row:#}");
    for step in 0..3 {
        let arrived = float(row, &format!("/steps/{step}/in_per_s/estimate"));
        assert_eq!(arrived > 10_000.0, step == 1, "{row:#}");
        assert!(float(row, &format!("/steps/{step}/own_per_s/estimate")) > 1_000.0, "{row:#}");
    }
    assert!(row["remarks"].to_string().contains("64 connections"), "{row:#}");
}

/// `tare weigh backload` in the bed's generator, with the sink as the other machine.
fn from_elsewhere(bed: &TestBed, command: &str) -> Run {
    let mac = &bed.sink().interface().mac;
    let words = "backload --port udp --sizes 64 --steps 2 --step 400ms --trials 2 --interface gen0 --backload 0..100k";
    let tare = weigh(&format!("{words} --to 198.18.0.2:9 --to-mac {mac}"));
    tare.arg(format!("--source={command}")).inside(bed.generator()).start().finish_unchecked()
}

#[test]
fn incoming_traffic_from_elsewhere_is_what_the_interface_counts() {
    let _alone = alone();
    let bed = TestBed::pair();
    // `ip` may not be found by the shell inside.
    let send = format!(
        "exec ip netns exec {} {} send packet:sink0 --rate {{rate}} -t {{time}} -i {{address}} -m {{mac}} --dport {{port}} \
         --size {{size}} --no-save -q --accept-invalid",
        bed.sink().name,
        binary().display()
    );
    patiently(3, || {
        let run = from_elsewhere(&bed, &send);
        assert_eq!(run.code, Some(0), "{run}{}", run.stdout);
        let found = &run.result["backload"][0];
        let phases: Vec<&str> =
            found["steps"].as_array().unwrap().iter().map(|step| text(step, "/phase")).collect();
        assert_eq!(phases, ["before", "rising", "rising", "after"], "{found:#}");
        let arrived = |step: usize| float(found, &format!("/steps/{step}/in_per_s/estimate"));
        // A few frames of neighbour discovery may be among them.
        assert!(arrived(0) < 1_000.0 && arrived(3) < 1_000.0, "{found:#}");
        assert!((25_000.0..=75_000.0).contains(&arrived(1)), "{found:#}");
        assert!((50_000.0..=125_000.0).contains(&arrived(2)), "{found:#}");
        assert!(float(found, "/steps/2/own_per_s/estimate") > 1_000.0, "{found:#}");
        assert!(!found["remarks"].to_string().contains("the command"), "{}", found["remarks"]);
    });
}

#[test]
fn a_command_that_cannot_send_says_why() {
    let _beside = beside_others();
    let bed = TestBed::pair();
    let run = from_elsewhere(&bed, "echo 'no route to peer {rate} {time}' >&2; exit 7");
    assert_eq!(run.code, Some(2), "no trial counts: {run}");
    let found = &run.result["backload"][0];
    assert_eq!(
        (&found["trials"], &found["steps"]),
        (&Value::from(0), &Value::Array(Vec::new())),
        "{found:#}"
    );
    let remarks = found["remarks"].to_string();
    assert!(
        remarks.contains("no route to peer") && remarks.contains("the trial does not count"),
        "{remarks}"
    );
}

#[test]
fn the_weighings_of_two_machines_stand_on_one_page() {
    let _beside = beside_others();
    let folder = scratch();
    let kept = |name: &str| folder.path().join(name).display().to_string();
    for name in ["one", "two"] {
        let words = format!(
            "weigh packets --packets 20k --time 600ms --no-rates --port mem --trials 2 --json --out {}",
            kept(name)
        );
        assert_eq!(Tare::new(&words).limit(Duration::from_secs(60)).start().finish_unchecked().code, Some(0));
    }
    let join = |words: &str| Tare::new(&format!("weigh join {words}")).start().finish_unchecked();
    let run =
        join(&format!("old={} new={}/weigh.json --json --out {}", kept("one"), kept("two"), kept("both")));
    assert_eq!(run.code, Some(0), "{run}");
    let ports: Vec<&str> =
        run.result["packets"].as_array().unwrap().iter().map(|one| text(one, "/port")).collect();
    assert_eq!(ports, ["old: mem", "new: mem"]);
    let page = std::fs::read_to_string(folder.path().join("both/report.html")).unwrap();
    assert!(page.contains("What these machines can send") && page.contains("old: mem, 64 B"));
    for (words, said) in [
        (format!("{} x={}", kept("one"), kept("two")), "expected NAME=FOLDER"),
        (format!("a={} a={}", kept("one"), kept("two")), "names two weighings"),
        (format!("a={} b={}", kept("one"), kept("none")), "'b="),
        (format!("a={0} b={0}/weigh.json", kept("one")), "this weighing is given twice"),
        (format!("a={0} b={1} --out {0}", kept("one"), kept("two")), "name another folder"),
        (format!("a={} b={} --out /proc/none", kept("one"), kept("two")), "--out /proc/none: "),
    ] {
        let run = join(&words);
        assert_eq!(run.code, Some(2), "{words}");
        assert!(run.stderr.contains(said), "{words}: {}", run.stderr);
    }
}

#[test]
fn what_is_wrong_is_named_before_anything_is_sent() {
    let _beside = beside_others();
    for (words, said) in [
        ("packets --port pcap", "'pcap' is not a port to weigh"),
        ("packets --sizes 63", "--sizes: 63 is not between 64 and 1518"),
        ("packets --trials 0", "--trials: 0 is not between 1 and 1000"),
        ("packets --packets 10", "--packets: 10 is not between 1k and 1G"),
        ("packets --each 3", "--each: expected a power of two"),
        ("packets --interface nowhere0 --to 198.18.0.2:9", "there is no interface 'nowhere0'"),
        ("packets --interface lo", "--to"),
        ("backload --backload 9..1", "'9..1' does not rise"),
        ("backload --kind icmp", "'icmp' is not a kind of incoming traffic"),
        ("backload --step 1ms", "--step: "),
        ("backload --interface lo --to 127.0.0.1:9", "--interface: needs --source"),
        ("backload --interface lo --to 127.0.0.1:9 --source x", "--source: the command has no {rate}"),
        (
            "backload --interface lo --to 127.0.0.1:9 --kind answers --source {rate}{time}",
            "--kind: with --source",
        ),
        ("backload --interface lo --to 127.0.0.1:9 --source {rate}{time}", "add {size}"),
        (
            "backload --interface lo --to 127.0.0.1:9 --sizes 64 --kind udp-closed,tcp-syn --source {rate}{time}",
            "add {kind}",
        ),
        (
            "backload --interface lo --to 127.0.0.1:9 --sizes 64 --port udp,mem --source {rate}{time}",
            "--port: mem has both ends on this machine",
        ),
    ] {
        let done = Command::new(binary()).arg("weigh").args(words.split(' ')).output().unwrap();
        let error = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{words}: {error}");
        assert!(error.contains(said), "{words}: {error}");
    }
}
