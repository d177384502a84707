//! `tare http --via fpga:sim`: the module's sessions make the load of a plan, and the result is that of any
//! other `tare http`. Their own responder answers in the same simulated time, or a real nginx in another.

use rustix::process::Signal;
use std::io::Write;
use std::process::{Command, Output, Stdio};
use tare_system_tests::module::simulator;
use tare_system_tests::nginx::Nginx;
use tare_system_tests::process::{signal_pid, wait_until};
use tare_system_tests::recorder::{Received, Recorder};
use tare_system_tests::{Run, Running, Tare, TestBed, beside_others, scratch};

const TICK_NS: u64 = 8;
/// On the wire: preamble 8, Ethernet 14, IPv4 20, TCP 20, FCS 4. A byte takes a tick.
const AROUND: u64 = 8 + 14 + 20 + 20 + 4;
/// The responder's answer, unless it is asked for another.
const ANSWER: u64 = 300;

fn load(url: &str, via: &str, rest: &str) -> Tare {
    simulator();
    Tare::http(&format!("--via {via} {rest}")).arg(url)
}

fn own_responder(delay_ns: u64, rest: &str) -> Tare {
    load("http://198.18.0.1/", &format!("fpga,delay={delay_ns}ns:sim,ip=198.18.0.2/24"), rest)
}

#[test]
fn a_known_delay_is_the_net_to_the_tick() {
    let _shared = beside_others();
    for (delay_ns, load) in [(20_000, "--rate 100k"), (0, "--rate 99999"), (56, "--rate 250k")] {
        let run = own_responder(delay_ns, &format!("{load} --parallel 64 --requests 1200")).run();
        assert_eq!((run.word(), run.code), ("VALID", Some(0)), "{run}");
        assert_eq!((run.total("offered"), run.total("done"), run.outcome("200")), (1_200, 1_200, 1_200));
        assert_eq!(run.total("bytes_in"), 1_200 * ANSWER, "{run}");
        // The request passes, the responder sees in the tick behind it that it is over, and waits, the response
        // passes; nothing else is between. The histogram's bins are up to 16 ns wide here.
        let request = run.total("bytes_out") / 1_200;
        let net = (AROUND + request + 1 + AROUND + ANSWER) * TICK_NS + delay_ns;
        for figure in ["min", "p50", "p99_9", "max"] {
            let found = run.int(&format!("net_ns.{figure}"));
            assert!(found.abs_diff(net) < 2 * TICK_NS, "{figure} of {delay_ns}, {net} expected: {run}");
        }
        // The module's own part: worst is mean, at most 14 cycles.
        let tare = run.int("tare_ns.max");
        assert!(tare > 0 && tare <= 14 * TICK_NS && run.int("tare_ns.min") == tare, "{run}");
        assert!(run.int("latency_ns.max").abs_diff(net + tare) < 2 * TICK_NS, "{run}");
        assert_eq!(run.int("gap_error_ns.max"), 0, "{run}");
        assert_eq!(run.int("connect_ns.count"), 64, "{run}");
        // All that is known of this machine is no part of it, and it says whose time it is.
        assert!(run.criterion("time.simulated").holds, "{run}");
        assert!(
            !run.criteria().iter().any(|one| one.name.starts_with("cpu.") || one.name == "clock"),
            "{run}"
        );
        assert!(run.remarks().contains("simulated time"), "{run}");
    }
}

#[test]
fn a_connection_for_each_request_and_a_closed_loop() {
    let _shared = beside_others();
    let each = own_responder(8_000, "--rate 50k --parallel 64 --requests 300 --no-keep-alive").run();
    assert_eq!(
        (each.word(), each.total("done"), each.int("connect_ns.count")),
        ("VALID", 300, 300),
        "{each}"
    );
    assert!(each.int("connect_ns.min") >= 8_000, "{each}");
    assert!(each.int("net_ns.min") >= 2 * 8_000 + each.int("connect_ns.min") - 8_000, "{each}");
    let closed = own_responder(8_000, "--parallel 4 --requests 1500").run();
    assert_eq!((closed.word(), closed.total("done")), ("VALID", 1_500), "{closed}");
    // Four at a time, each of 8 µs and the wire's time: Little's law.
    let (rate, mean) = (closed.float("rate.achieved_per_s"), closed.float("latency_ns.mean") / 1e9);
    assert!((rate * mean - 4.0).abs() < 0.2, "{closed}");
}

#[test]
fn responses_that_are_not_expected_fail_and_sessions_that_are_busy_miss() {
    let _shared = beside_others();
    let run = own_responder(8_000, "--rate 50k --parallel 16 --requests 50 --expect-status 404").run();
    assert_eq!(run.outcome("expect.status"), 50, "{run}");
    // Two sessions that are busy for 1 ms carry 2 000/s of 10 000.
    let slow = own_responder(1_000_000, "--rate 10k --parallel 2 --requests 100").run();
    let (done, missed) = (slow.total("done"), slow.outcome("missed.no_connection"));
    assert!(done + missed == 100 && (15..=30).contains(&done), "{slow}");
    // What is on its way when the grace is over is cut off, once.
    let cut = own_responder(1_000_000, "--rate 10k --parallel 32 --requests 20 --grace 0s").run();
    let (done, cut_off) = (cut.total("done"), cut.total("cut_off"));
    assert!(done + cut_off == 20 && (5..=15).contains(&cut_off), "{cut}");
}

#[test]
fn a_timeout_is_exact_to_the_tick() {
    let _shared = beside_others();
    // The responder's delay, and 2 µs until the first byte is there and 2 more until the last.
    for (delay_ns, outcome) in
        [(1_990_000, "200"), (1_997_000, "body.timeout"), (1_999_000, "first_byte.timeout")]
    {
        let run = own_responder(delay_ns, "--rate 1k --parallel 8 --requests 12 --timeout 2ms").run();
        assert_eq!((run.outcome(outcome), run.total("offered")), (12, 12), "{run}");
    }
    let run = own_responder(4_000_000, "--parallel 2 --requests 6 --timeout 2ms --no-keep-alive").run();
    assert_eq!((run.outcome("connect.timeout"), run.total("offered")), (6, 6), "{run}");
    assert!(run.remarks().contains("the responder's delay="), "{run}");
    assert!(
        run.remarks().contains("at least 8.00 µs apart") && !run.remarks().contains("before the load"),
        "{run}"
    );
}

#[test]
fn a_closed_loop_ends_where_nobody_listens_any_more() {
    let _shared = beside_others();
    let bed = TestBed::pair();
    let via = format!("fpga,netns={},{TAP}", bed.generator().name);
    let run = load("http://198.19.0.1:8082/", &via, "--parallel 4 --requests 40 --timeout 500ms").run();
    assert_eq!((run.word(), run.total("done")), ("INVALID", 0), "{run}");
    assert!(run.remarks().contains("no connection to 198.19.0.1:8082 could be opened"), "{run}");
    // A device that is there already is left as it is.
    let ip = |words: &str| {
        let output = bed.generator().command("ip").args(words.split(' ')).output().expect("ip");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    ip("tuntap add dev tare0 mode tap");
    let run = load("http://198.19.0.1/", &via, "--parallel 4 --requests 40").start().finish_unchecked();
    assert!(run.code == Some(2) && run.stderr.contains("exists already"), "{}", run.stderr);
    let shown = ip("addr show dev tare0");
    assert!(shown.contains("tare0") && !shown.contains("198.19"), "{shown}");
}

#[test]
fn a_run_folder_has_all_that_any_other_has() {
    let _shared = beside_others();
    let folder = scratch();
    let out = folder.path().join("run");
    let rest = format!("--rate 100k --parallel 16 --duration 2ms --warmup 1ms --out {}", out.display());
    let run = own_responder(800, &rest).run();
    // The plan's own: 1 ms of warm-up is not in the figures.
    assert_eq!((run.word(), run.total("offered")), ("VALID", 200), "{run}");
    assert_eq!((run.at("engine"), run.at("schema")), (&"http".into(), &"tare.result/1".into()));
    assert_eq!(run.at("via.addresses").to_string(), "[\"198.18.0.2\"]");
    assert_eq!(run.int("tcp.connected"), 16, "{run}");
    let page = std::fs::read_to_string(out.join("report.html")).expect("a report");
    assert!(page.contains("simulated time") && page.contains("VALID"));
    let plan = std::fs::read_to_string(out.join("plan.toml")).expect("a plan");
    let again = Tare::new("run --json --no-save").arg(out.join("plan.toml").display().to_string()).run();
    assert!(plan.contains("fpga,delay=800ns:sim"), "{plan}");
    assert_eq!((again.total("done"), again.int("net_ns.max")), (200, run.int("net_ns.max")), "{again}");
}

const MD5: &str = "--parallel 4 --requests 9 --expect-md5 d41d8cd98f00b204e9800998ecf8427e";
const SLOW: &str = "fpga,delay=2ms:sim,ip=198.18.0.2/24";
const TAP: &str = "tap=tare0,address=198.19.0.1/24:sim,ip=198.19.0.2/24";

#[test]
fn nginx_logs_what_the_result_says_and_the_run_is_invalid() {
    let _shared = beside_others();
    let bed = TestBed::pair();
    let nginx = Nginx::start_inside(
        bed.generator(),
        "listen 0.0.0.0:8080; location /ok { return 200 'abcdefgh'; } location /no { return 404; }",
    );
    let folder = scratch();
    let urls = folder.path().join("urls.txt");
    let mut file = std::fs::File::create(&urls).expect("a file");
    writeln!(file, "http://198.19.0.1:8080/ok?{{seq:8}}\nhttp://198.19.0.1:8080/no?{{seq:8}}").expect("room");
    let via = format!("fpga,netns={},{TAP}", bed.generator().name);
    let rest = "--rate 20k --parallel 32 --requests 400 --order sequential --timeout 20s --grace 20s";
    let run = load(&urls.display().to_string(), &via, rest).run();
    let counts = (run.outcome("200"), run.outcome("404"), run.total("done"));
    assert_eq!(counts, (200, 200, 400), "{run}");
    let logged = || {
        let log = nginx.logged();
        let number = |line: &tare_system_tests::nginx::Logged| -> Option<(u16, u64)> {
            Some((line.status, line.uri.split('?').nth(1)?.parse().ok()?))
        };
        log.iter().filter_map(number).collect::<Vec<_>>()
    };
    wait_until("nginx's log", || logged().len() >= 400);
    let mut logged = logged();
    logged.sort_unstable_by_key(|(_, number)| *number);
    let expected: Vec<(u16, u64)> = (0..400).map(|n| (if n % 2 == 0 { 200 } else { 404 }, n)).collect();
    assert_eq!(logged, expected, "each request once, in turn");
    // Right as the outcomes are, no time of it is nginx's.
    assert_eq!((run.word(), run.code), ("INVALID", Some(4)), "{run}");
    let [only] = &run.failing()[..] else { panic!("{run}") };
    assert!(only.name == "time.simulated" && only.advice.contains("minutes"), "{run}");
    let links = bed.generator().command("ip").arg("link").output().expect("ip");
    assert!(!String::from_utf8_lossy(&links.stdout).contains("tare0"), "the tap goes with the run");
    // Where nobody listens, that is said.
    let nobody = load("http://198.19.0.1:8081/", &via, "--rate 20k --parallel 8 --requests 40").run();
    assert_eq!((nobody.word(), nobody.total("missed")), ("INVALID", 40), "{nobody}");
    assert!(nobody.remarks().contains("no connection to 198.19.0.1:8081 was made"), "{nobody}");
}

/// Notes each request in the namespace of a bed.
struct Inside {
    bed: TestBed,
    recorder: Option<Recorder>,
}

impl Inside {
    fn start() -> Self {
        let bed = TestBed::pair();
        let recorder = bed.generator().run_in(|| Recorder::on(&["0.0.0.0"])).expect("a namespace");
        Self { bed, recorder: Some(recorder) }
    }

    /// What came of a run, in the order of the numbers that `number` finds.
    fn received(
        &self,
        load: &str,
        more: impl FnOnce(Tare) -> Tare,
        number: impl Fn(&Received) -> u64,
    ) -> Vec<Received> {
        let recorder = self.recorder.as_ref().expect("it is there until the end");
        let via = format!("fpga,netns={},{TAP}", self.bed.generator().name);
        let before = recorder.requests().len();
        simulator();
        let rest = "--rate 20k --parallel 16 --requests 120 --timeout 20s --grace 20s";
        let run = more(Tare::http(&format!("--via {via} {rest} {load}"))).run();
        assert_eq!((run.outcome("200"), run.total("done")), (120, 120), "{run}");
        let mut received = recorder.requests().split_off(before);
        received.sort_by_key(number);
        // Each byte of them was counted: head, empty line and body.
        let bytes: usize = received.iter().map(|one| one.head.len() + 4 + one.body.len()).sum();
        assert_eq!(run.total("bytes_out"), bytes as u64, "{run}");
        received
    }

    fn url(&self, path: &str) -> String {
        let port = self.recorder.as_ref().expect("it is there until the end").port();
        format!("http://198.19.0.1:{port}{path}")
    }
}

impl Drop for Inside {
    /// The recorder's last connection is its own, from inside.
    fn drop(&mut self) {
        let recorder = self.recorder.take();
        let _ = self.bed.generator().run_in(move || drop(recorder));
    }
}

#[test]
fn bodies_arrive_as_they_are_meant_with_their_field_and_length() {
    let _shared = beside_others();
    let inside = Inside::start();
    let number = |text: &str| text.parse::<u64>().unwrap_or_else(|_| panic!("{text:?} is no number"));
    // A field in the body; the headers are those that were given.
    let of_body = |one: &Received| {
        let body = std::str::from_utf8(&one.body).expect("text");
        number(body.strip_prefix("{\"id\":\"").and_then(|rest| rest.strip_suffix("\"}")).expect("the body"))
    };
    let more = |tare: Tare| {
        let tare = tare.arg("-H").arg("Content-Type: application/json").arg("-H").arg("X-Order: a b");
        tare.arg("-d").arg("{\"id\":\"{seq:8}\"}").arg(inside.url("/orders"))
    };
    let received = inside.received("", more, of_body);
    for (n, one) in received.iter().enumerate() {
        assert_eq!((one.line(), of_body(one)), ("POST /orders HTTP/1.1", n as u64));
        let fields = ["Content-Type", "X-Order", "Content-Length"].map(|name| one.fields(name));
        assert_eq!(fields, [["application/json"], ["a b"], ["17"]], "{one:?}");
    }
    // A field in the head of each, beside a body of the greatest size; another method.
    let body = "0123456789".repeat(125);
    let of_target = |one: &Received| number(one.target().strip_prefix("/item/").expect("the path"));
    let more = |tare: Tare| {
        tare.arg("-d").arg(body.as_str()).arg("--method").arg("PUT").arg(inside.url("/item/{seq:8}"))
    };
    let received = inside.received("", more, of_target);
    for (n, one) in received.iter().enumerate() {
        assert_eq!((one.line(), of_target(one)), (&*format!("PUT /item/{n:08} HTTP/1.1"), n as u64));
        assert_eq!((one.fields("Content-Length"), &one.body[..]), (vec!["1250"], body.as_bytes()));
    }
    // Requests with bodies and without in turn, and random digits, of which no two are the same.
    let folder = scratch();
    let lines = folder.path().join("mix.jsonl");
    let line = |rest: &str| format!("{{\"url\": \"{}\", {rest}}}\n", inside.url("/mix"));
    let text = line("\"method\": \"POST\", \"body\": \"r={random:hex:8}\"") + &line("\"method\": \"DELETE\"");
    std::fs::write(&lines, text).expect("a file");
    let more = |tare: Tare| tare.arg(lines.display().to_string());
    let received = inside.received("--order sequential --no-keep-alive", more, |_| 0);
    let mut bodies: Vec<&[u8]> = Vec::new();
    for one in &received {
        match one.line() {
            "POST /mix HTTP/1.1" => bodies.push(&one.body),
            line => assert_eq!((line, one.body.len()), ("DELETE /mix HTTP/1.1", 0)),
        }
    }
    assert_eq!(bodies.len(), 60);
    let is_random = |body: &&[u8]| {
        body.len() == 10 && body.starts_with(b"r=") && body[2..].iter().all(u8::is_ascii_hexdigit)
    };
    assert!(bodies.iter().all(is_random), "{bodies:?}");
    bodies.sort_unstable();
    assert!(bodies.windows(2).all(|pair| pair[0] != pair[1]), "{bodies:?}");
}

#[test]
fn bodies_that_change_are_told_by_their_sum() {
    let _shared = beside_others();
    let bed = TestBed::pair();
    let _nginx = Nginx::start_inside(
        bed.generator(),
        "listen 0.0.0.0:8080; location /same { return 200 'abcdefgh'; } location /other { return 200 '$request_id'; }",
    );
    let via = format!("fpga,netns={},{TAP}", bed.generator().name);
    for (path, right, other) in [("same", 60, 0), ("other", 1, 59)] {
        let rest = "--rate 20k --parallel 16 --requests 60 --same-checksum --timeout 20s --grace 20s";
        let run = load(&format!("http://198.19.0.1:8080/{path}"), &via, rest).run();
        assert_eq!((run.outcome("200"), run.outcome("expect.checksum")), (right, other), "{run}");
    }
    let run = own_responder(8_000, "--rate 50k --parallel 32 --requests 300 --same-checksum").run();
    assert_eq!((run.word(), run.outcome("200")), ("VALID", 300), "{run}");
}

#[test]
fn what_the_module_cannot_do_is_refused_with_its_flag() {
    let _shared = beside_others();
    let folder = scratch();
    let two = folder.path().join("two.txt");
    std::fs::write(&two, "http://198.18.0.1/a\nhttp://198.18.0.1/b\n").expect("a file");
    let hosts = folder.path().join("hosts.txt");
    std::fs::write(&hosts, "http://198.18.0.1/a\nhttp://198.18.0.3/b\n").expect("a file");
    let (two, hosts) = (two.display().to_string(), hosts.display().to_string());
    let plain = "http://198.18.0.1/";
    let sim = "fpga:sim,ip=198.18.0.2/24";
    for (url, via, rest, words) in [
        (plain, sim, "--rate 1k", "--parallel: the sessions of fpga:sim are 8192"),
        (plain, sim, "--parallel 4 --duration 1s", "--duration: "),
        (plain, sim, "--parallel 4 --requests 9 --warmup 1s", "--warmup: "),
        (plain, sim, "--rate 10M --poisson --duration 1m --parallel 4", "--poisson: "),
        (plain, sim, "--ramp 1..200M:1s --parallel 4", "--ramp: "),
        (plain, sim, "--sine 100M+-50M:1s --parallel 4", "--sine: "),
        (plain, sim, "--rate 200M --jitter 5% --parallel 4", "--rate: "),
        (plain, sim, "--rate 200M --parallel 4", "--rate: "),
        (plain, sim, "--rate 1/60s --parallel 4", "--rate: "),
        (plain, sim, "--parallel 4 --requests 9 --follow 2", "--follow: "),
        (plain, sim, "--parallel 4 --requests 9 --pipeline 2", "--pipeline: "),
        (plain, sim, "--parallel 4 --requests 9 --body-stream /etc/hostname", "--body-stream: "),
        (plain, sim, "--parallel 4 --requests 9 -d x --expect-continue", "--expect-continue: "),
        (plain, sim, "--parallel 4 --requests 9 -d {seq}", "one field of eight digits each"),
        (plain, sim, "--parallel 4 --requests 9 -d {seq:8}{random:hex:8}", "one field of eight digits each"),
        (
            plain,
            sim,
            &format!("--parallel 4 --requests 9 -d {}", "x".repeat(1_400)),
            "have at most 1460 bytes",
        ),
        (plain, sim, "--parallel 4 --requests 9 --method HEAD", "--method: "),
        (plain, sim, "--parallel 4 --requests 9 --expect-body x", "--expect-body: "),
        (plain, sim, MD5, "only by CRC-32; leave them out, or give --same-checksum"),
        (plain, sim, "--parallel 4 --requests 9 --timeout 40s", "--timeout: "),
        (plain, sim, "--parallel 4 --requests 9 --timeout 1500us", "whole number of them"),
        (plain, SLOW, "--parallel 4 --requests 9 --timeout 2ms", "their responder waits for 2"),
        (plain, sim, "--parallel 4 --requests 9 --via-path fast", "--via-path: "),
        (plain, sim, "--parallel 4 --requests 9 --spin always", "--spin: "),
        (plain, "fpga:sim,ip=198.18.0.2-9/24", "--parallel 4 --requests 9", "--via: "),
        (plain, "fpga:sim,ip=fd00::2/64", "--parallel 4 --requests 9", "--via: "),
        (plain, "fpga:sim,ip=198.18.0.1/24", "--parallel 4 --requests 9", "which is the target's"),
        (plain, "fpga,wire=lo:sim,ip=198.18.0.2/24", "--parallel 4 --requests 9", "wire is for frames"),
        (plain, "fpga,delay=9ns:sim,ip=198.18.0.2/24", "--parallel 4 --requests 9", "ticks of 8 ns"),
        (plain, "fault,drop=1%:fpga:sim,ip=198.18.0.2/24", "--parallel 4 --requests 9", "wraps a simulation"),
        (plain, &format!("fpga,{TAP}"), "--parallel 4 --requests 9", "reach only 198.19.0.1"),
        ("https://198.18.0.1/", sim, "--parallel 4 --requests 9", "have no TLS"),
        ("http://[fd00::1]/", sim, "--parallel 4 --requests 9", "one IPv4 address"),
        ("http://198.18.0.1/{seq}", sim, "--parallel 4 --requests 9", "{seq:8}"),
        ("http://198.18.0.1/{uuid}", sim, "--parallel 4 --requests 9", "{seq:8}"),
        (&two, sim, "--parallel 4 --requests 9", "--order: "),
        (&hosts, sim, "--parallel 4 --requests 9 --order sequential", "one host and port"),
    ] {
        let run = load(url, via, rest).start().finish_unchecked();
        assert_eq!(run.code, Some(2), "{via} {rest} {url}: {}", run.stderr);
        assert!(run.stderr.contains(words), "{via} {rest} {url}: {}", run.stderr);
    }
    let missing = load(plain, sim, "--parallel 4 --requests 9").env("TARE_SESSION_SIM", "/dev/null");
    let missing = missing.start().finish_unchecked();
    assert_eq!(missing.code, Some(2), "{}", missing.stderr);
    assert!(missing.stderr.contains("/dev/null is not a program"), "{}", missing.stderr);
    // Frames have no responder.
    let frames =
        Tare::packets("send fpga,delay=8ns:sim --dst-mac 02:18:00:00:00:02 -n 5").start().finish_unchecked();
    assert!(frames.code == Some(2) && frames.stderr.contains("delay is for sessions"), "{}", frames.stderr);
}

/// The simulation that a run has started.
fn simulation_of(running: &Running) -> u32 {
    let mut found = None;
    wait_until("the simulation", || {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", running.process.pid()))
            .into_iter()
            .flatten()
            .flatten();
        let children = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
        let pids = children.flat_map(|text| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        let is_it = |pid: &String| {
            let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            name.trim() == "tare-session-si"
        };
        found = pids.filter(is_it).find_map(|pid| pid.parse().ok());
        found.is_some()
    });
    let pid = found.expect("it was waited for");
    // The first departure is due after a tenth of a million cycles, of which it does about a million a second.
    wait_until("departures", || {
        let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let user = text.split_whitespace().nth(13).and_then(|ticks| ticks.parse::<u64>().ok());
        user.is_none_or(|hundredths| hundredths >= 80)
    });
    pid
}

fn is_gone(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/comm")).map_or(true, |name| name.trim() != "tare-session-si")
}

#[test]
fn a_simulation_that_dies_leaves_a_complete_result_that_is_invalid() {
    let _shared = beside_others();
    for load in ["--rate 100k --parallel 64 --duration 20s", "--parallel 16 --requests 4000000"] {
        let running = own_responder(20_000, load).start();
        signal_pid(simulation_of(&running), Signal::KILL);
        let run = running.finish();
        assert_eq!((run.word(), run.code), ("INVALID", Some(4)), "{run}");
        assert!(run.remarks().contains("the simulation ended before the run"), "{run}");
        // Those that it had under way: 24 µs of 100 000/s, or one for each session.
        let (done, cut_off) = (run.total("done"), run.total("cut_off"));
        assert!(done > 0 && (1..=16).contains(&cut_off), "{run}");
        assert_eq!(run.at("partial").as_bool(), Some(true), "{run}");
    }
}

#[test]
fn an_interrupted_run_is_complete_and_leaves_nothing_behind() {
    let _shared = beside_others();
    let running = own_responder(20_000, "--rate 100k --parallel 64 --duration 20s").start();
    let simulation = simulation_of(&running);
    running.interrupt();
    let run: Run = running.finish();
    assert_eq!((run.code, run.at("partial").as_bool()), (Some(130), Some(true)), "{run}");
    assert!(run.total("done") > 0 && (1..=4).contains(&run.total("cut_off")), "{run}");
    assert!(is_gone(simulation));
    // Nor does one that nobody can end any more.
    let running = own_responder(20_000, "--rate 100k --parallel 64 --duration 20s").start();
    let simulation = simulation_of(&running);
    signal_pid(running.process.pid(), Signal::KILL);
    wait_until("the end of the simulation", || is_gone(simulation));
}

fn simulation(flags: &str) -> Command {
    let mut command = Command::new(simulator().with_file_name("tare-session-sim"));
    command.args(flags.split_whitespace()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
fn the_simulation_refuses_what_it_does_not_know_and_says_what_it_could_not_write() {
    let _shared = beside_others();
    let run = |flags: &str| -> Output { simulation(flags).output().expect("it runs") };
    for (flags, words) in [
        ("--departure 5", "there is no option --departure"),
        ("--s 5", "there is no option --s"),
        ("departures 5", "there is no option departures"),
        ("--departures", "--departures has no value"),
        ("--departures 5x", "--departures 5x is no number"),
        ("--template none:0:4", "expected FIELD:PLACE:HEX"),
        ("--departures 5 --results /nowhere/at/all", "/nowhere/at/all: No such file"),
        ("--departures 5 --results /dev/full", "/dev/full: No space left"),
    ] {
        let Output { status, stderr, .. } = run(flags);
        let said = String::from_utf8_lossy(&stderr).into_owned();
        assert!(status.code() == Some(2) && said.contains(words), "{flags}: {status} {said}");
    }
    // What was known when it was stopped is there.
    let folder = scratch();
    for (signal, code) in [(Signal::TERM, Some(143)), (Signal::INT, Some(130)), (Signal::KILL, None)] {
        let results = folder.path().join("results");
        let _ = std::fs::remove_file(&results);
        let flags = format!("--sessions 16 --departures 100000000 --results {}", results.display());
        let child = simulation(&flags).spawn().expect("it starts");
        let lines = || std::fs::read_to_string(&results).unwrap_or_default().lines().count();
        wait_until("results", || lines() > 100);
        signal_pid(child.id(), signal);
        let Output { status, stdout, .. } = child.wait_with_output().expect("its end");
        assert_eq!(status.code(), code);
        let text = std::fs::read_to_string(&results).expect("results");
        assert!(text.ends_with('\n') && text.lines().all(|line| line.split(' ').count() == 13), "{signal:?}");
        if code.is_some() {
            let told: serde_json::Value = serde_json::from_slice(&stdout).expect("JSON");
            assert_eq!(told["results"], lines(), "{signal:?}");
        }
    }
}
