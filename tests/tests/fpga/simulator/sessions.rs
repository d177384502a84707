//! The sessions of the module (`hdl/session`), simulated: a real nginx in a namespace answers them, or a
//! responder that keeps nothing, which holds every frame against its checksums.

use serde_json::Value;
use std::process::{Command, Output};
use tare_system_tests::module::simulator;
use tare_system_tests::nginx::Nginx;
use tare_system_tests::process::wait_until;
use tare_system_tests::{TestBed, beside_others, scratch};
use units::{Picos, Rate};

/// Of 8 ns.
pub const CYCLES_PER_SECOND: u64 = 125_000_000;
const TICK_PS: u64 = 8_000;
/// With preamble and gap: an answer of 300 bytes over TCP; and with a connection for each, SYN-ACK, answer, FIN
/// and the ACK of our FIN.
const ANSWER_CYCLES: u64 = 378;
const CONNECTION_CYCLES: u64 = 630;
/// From the due tick to the first beat of the frame: 112 ns.
const MOST_TO_SEND: u64 = 14;

/// A line of the results.
#[derive(Clone, Debug, PartialEq)]
pub struct Departure {
    pub outcome: String,
    pub session: u64,
    pub status: u64,
    pub due: u64,
    pub sent: u64,
    pub connected: u64,
    pub first: u64,
    pub done: u64,
    pub size: u64,
    /// The module's sum of the body, and that of the bytes on the wire.
    pub sum: Option<u64>,
    pub passed: Option<u64>,
}

pub struct Load {
    pub told: Value,
    pub departures: Vec<Departure>,
}

impl Load {
    pub fn run(flags: &str) -> Self {
        Self::of(flags, Command::new(program()))
    }

    pub fn inside(bed: &TestBed, flags: &str) -> Self {
        Self::of(flags, bed.generator().command(&program()))
    }

    fn of(flags: &str, mut command: Command) -> Self {
        let folder = scratch();
        let results = folder.path().join("results");
        command.args(flags.split_whitespace().flat_map(|word| match word.split_once('=') {
            Some((name, value)) => [format!("--{name}"), value.to_owned()],
            None => panic!("{word} has no value"),
        }));
        let Output { status, stdout, stderr } =
            command.arg("--results").arg(&results).output().expect("the simulation runs");
        assert!(status.success(), "{flags}: {}", String::from_utf8_lossy(&stderr));
        let told: Value = serde_json::from_slice(&stdout).expect("JSON");
        let text = std::fs::read_to_string(results).expect("results");
        let load = Self { told, departures: text.lines().map(Departure::read).collect() };
        // Each departure has one outcome, and no frame is wrong, whatever else is asked.
        assert_eq!(load.departures.len() as u64, load.int("departures"), "{}", load.told);
        for never in ["frames_wrong", "frames_broken", "wrong_requests", "wrong_sums"] {
            assert_eq!(load.int(never), 0, "{flags}: {never}: {}", load.told);
        }
        assert_eq!(load.counted("result_lost"), 0, "{}", load.told);
        load
    }

    fn int(&self, key: &str) -> u64 {
        self.told[key].as_u64().unwrap_or_else(|| panic!("{key}: {}", self.told))
    }

    pub fn counted(&self, key: &str) -> u64 {
        self.told["counted"][key].as_u64().unwrap_or_else(|| panic!("{key}: {}", self.told))
    }

    pub fn outcomes(&self, outcome: &str) -> u64 {
        let number = self.departures.iter().filter(|departure| departure.outcome == outcome).count() as u64;
        assert_eq!(self.told["outcomes"][outcome], number, "{outcome}: {}", self.told);
        number
    }

    #[track_caller]
    pub fn all_are(&self, outcome: &str) {
        assert_eq!(self.outcomes(outcome), self.int("departures"), "{}", self.told);
    }

    /// From the due tick to the first beat: the same for each that left.
    #[track_caller]
    fn sends_after(&self) -> u64 {
        let mut after = self.departures.iter().filter(|one| one.outcome != "missed").map(|one| one.sent);
        let cycles = after.next().expect("a departure");
        assert!(after.all(|other| other == cycles), "worst is not mean: {}", self.told);
        cycles
    }
}

impl Departure {
    fn read(line: &str) -> Self {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| words[at].parse().expect("a number");
        Self {
            outcome: words[0].to_owned(),
            session: number(1),
            status: number(2),
            due: number(3),
            sent: number(4),
            connected: number(5),
            first: number(6),
            done: number(7),
            size: number(8),
            sum: words[11].parse().ok(),
            passed: words[12].parse().ok(),
        }
    }
}

fn program() -> String {
    simulator().with_file_name("tare-session-sim").display().to_string()
}

/// Listens on all addresses of the namespace: the simulation's device is not there yet.
fn nginx(bed: &TestBed, locations: &str) -> Nginx {
    Nginx::start_inside(bed.generator(), &format!("listen 0.0.0.0:8080; {locations}"))
}

const TAP: &str =
    "tap=tare0 tap_address=198.19.0.1 address=198.19.0.2 peer_port=8080 micro=1 cycles=60000000";

/// What the log has of the module, in its order: nginx writes a line when the answer has left.
fn numbers_of(nginx: &Nginx, path: &str, many: usize) -> Vec<u64> {
    let of_path = |nginx: &Nginx| -> Vec<u64> {
        let logged = nginx.logged();
        logged.iter().filter_map(|line| line.uri.strip_prefix(path)?.parse().ok()).collect()
    };
    wait_until("nginx's log", || of_path(nginx).len() >= many);
    of_path(nginx)
}

#[test]
fn nginx_logs_each_request_that_was_done_and_no_other() {
    let _shared = beside_others();
    let bed = TestBed::pair();
    let nginx = nginx(&bed, "location /ok { return 200 'abcdefgh'; } location /no { return 404; }");
    // With full requests, and with requests in three parts that are summed on their own.
    for (path, more, number) in [("/ok?", "", 600), ("/ok?b=", "mss=60 shift=0 stamps=1", 200)] {
        let load = Load::inside(
            &bed,
            &format!(
                "{TAP} sessions=32 departures={number} whole=6000 first=150000 path={path}{{sequence}} {more} \
                 length_low=8 length_high=8 port={}",
                10_000 + number
            ),
        );
        load.all_are("done");
        // A part is summed before its frame starts.
        assert!(load.sends_after() <= if more.is_empty() { MOST_TO_SEND } else { 100 }, "{}", load.told);
        let mut numbers = numbers_of(&nginx, path, number);
        numbers.sort_unstable();
        assert_eq!(numbers, (0..number as u64).collect::<Vec<_>>(), "{path}: each once");
    }
    // A connection for each; another status is another outcome.
    let each = Load::inside(
        &bed,
        &format!(
            "{TAP} sessions=100 departures=150 each=1 whole=20000 first=40000 path=/ok?e={{sequence}} \
             path=/no?e={{sequence}} port=20000 patience=20000"
        ),
    );
    assert_eq!((each.outcomes("done"), each.outcomes("status")), (75, 75), "{}", each.told);
    assert_eq!((numbers_of(&nginx, "/ok?e=", 75).len(), numbers_of(&nginx, "/no?e=", 75).len()), (75, 75));
    assert_eq!(each.counted("opened"), 150, "{}", each.told);
}

#[test]
fn departures_are_those_of_the_schedule() {
    let _shared = beside_others();
    for per_second in [300_000, 99_999, 250_000] {
        let first = 120_000;
        let (whole, rest) = (CYCLES_PER_SECOND / per_second, CYCLES_PER_SECOND % per_second);
        let load = Load::run(&format!(
            "sessions=64 open_gap=500 departures=1500 whole={whole} numerator={rest} denominator={per_second} \
             first={first} request_bytes=100"
        ));
        load.all_are("done");
        let rate = Rate::per_second(per_second).expect("a rate");
        let mut due: Vec<u64> = load.departures.iter().map(|departure| departure.due).collect();
        due.sort_unstable();
        for (n, due) in due.into_iter().enumerate() {
            assert_eq!(due - first, rate.due(n as u64).as_picos() / TICK_PS, "the {n}-th at {per_second}/s");
        }
        assert_eq!(rate.due(0), Picos::from_picos(0));
    }
}

#[test]
fn the_wire_is_full_of_answers_and_departures_keep_their_cycle() {
    let _shared = beside_others();
    let sizes = "request_bytes=100 answer_bytes=300 length_low=200";
    let kept = format!("{sizes} sessions=256 open_gap=200 whole={ANSWER_CYCLES} first=80000");
    let load = Load::run(&format!("{kept} departures=3000"));
    load.all_are("done");
    assert!(load.sends_after() <= MOST_TO_SEND, "{}", load.told);
    let share = |load: &Load, cycles: u64| {
        load.told["done_per_s"].as_f64().expect("a rate") / (CYCLES_PER_SECOND as f64 / cycles as f64)
    };
    assert!(share(&load, ANSWER_CYCLES) >= 0.99, "{}", load.told);

    // At less than half of that, other frames fill the way in between the answers: the same departures, to the
    // cycle.
    let half = format!("{sizes} sessions=64 open_gap=500 whole=800 first=60000 departures=1500");
    let left = |load: &Load| -> Vec<(u64, u64)> {
        let mut left: Vec<_> = load.departures.iter().map(|one| (one.due, one.sent)).collect();
        left.sort_unstable();
        left
    };
    let loaded = Load::run(&format!("{half} backload=1"));
    assert!(loaded.counted("foreign") > 4000, "{}", loaded.told);
    loaded.all_are("done");
    assert_eq!(left(&loaded), left(&Load::run(&half)));

    // A connection for each request, which the server closes.
    let each =
        format!("{sizes} sessions=512 each=1 closes=1 whole={CONNECTION_CYCLES} delay=1000 departures=2500");
    let load = Load::run(&each);
    load.all_are("done");
    assert!(load.sends_after() <= MOST_TO_SEND, "{}", load.told);
    assert!(share(&load, CONNECTION_CYCLES) >= 0.95, "{}", load.told);
}

#[test]
fn each_departure_has_the_outcome_of_its_response() {
    let _shared = beside_others();
    let kept = "sessions=64 open_gap=500 departures=100 whole=3000 first=60000";
    for (flags, outcome) in [
        ("status=404", "status"),
        ("status=404 status_low=400 status_high=404", "done"),
        ("length_high=100", "length"),
        ("resets=1", "reset"),
        ("cut=30", "cut"),
        ("cut=200", "cut"),
        ("chunked=1 most=40 length_low=266 length_high=266", "done"),
        ("answer_bytes=700 most=350 swapped=1", "done"),
        // The header itself comes behind a hole, and nothing keeps that.
        ("answer_bytes=100 most=20 swapped=1", "hole"),
        ("silent=1 micro=1 open_patience=300", "missed"),
    ] {
        let load = Load::run(&format!("{kept} {flags}"));
        assert_eq!(load.outcomes(outcome), 100, "{flags}: {}", load.told);
    }
    // Connections that nobody answers; those that have none left are missed.
    let silent = "sessions=4 each=1 departures=20 whole=3000 first=10000 silent=1 micro=1 open_patience=100";
    let load = Load::run(silent);
    assert_eq!((load.outcomes("timed_out"), load.outcomes("missed")), (4, 16), "{}", load.told);
    // Losses both ways: what was repeated is counted, and all get an answer.
    let load = Load::run(&format!("{kept} drops=10 micro=1 patience=5000 sessions=100"));
    load.all_are("done");
    assert!(load.counted("retransmitted") >= 10, "{}", load.told);
}

#[test]
fn a_closed_loop_asks_as_soon_as_a_session_is_free() {
    let _shared = beside_others();
    let load = Load::run("sessions=16 open_gap=500 departures=2000 request_bytes=100 answer_bytes=300");
    load.all_are("done");
    let full = CYCLES_PER_SECOND as f64 / ANSWER_CYCLES as f64;
    assert!(load.told["done_per_s"].as_f64().expect("a rate") > 0.95 * full, "{}", load.told);
    // In a session, a request is due only when the one before it is done.
    for session in 0..16 {
        let of_it: Vec<_> = load.departures.iter().filter(|one| one.session == session).collect();
        for pair in of_it.windows(2) {
            assert!(pair[1].due >= pair[0].due + pair[0].done, "{pair:?}");
        }
    }
    let load = Load::run("sessions=16 each=1 closes=1 open_gap=900 departures=200");
    load.all_are("done");
    assert!(
        load.departures.iter().all(|one| one.connected > 0 && one.connected < one.first),
        "{}",
        load.told
    );
}

#[test]
fn timers_are_late_by_a_sweep_at_most() {
    let _shared = beside_others();
    // All sessions of the largest memory, of which one opens each 100 ms of TCP's clock, and nobody answers.
    let load =
        Load::run("sessions=8192 open_gap=100000 departures=1 whole=5000000 first=4000000 silent=1 micro=1");
    let round = load.int("longest_round");
    assert!((8192..8192 + 200).contains(&round), "{}", load.told);
    let syns: Vec<u64> =
        load.told["syns"].as_array().expect("SYNs").iter().filter_map(Value::as_u64).collect();
    // SYNs that open, and those that repeat: 1 s after the first, in ms of 1000 cycles that are rounded up.
    let opened = |at: &u64| at % 100_000 < 50;
    let repeated: Vec<u64> = syns.iter().copied().filter(|at| !opened(at)).collect();
    assert!(repeated.len() >= 5, "{syns:?}");
    for at in repeated {
        let since = syns.iter().filter(|first| at >= *first + 1_000_000).map(|first| at - first).min();
        let late = since.expect("a first SYN") - 1_000_000;
        assert!(late <= 1000 + round + 200, "{late} cycles late: {syns:?}");
    }
}

#[test]
fn the_module_answers_arp_and_ping_by_itself() {
    let _shared = beside_others();
    let bed = TestBed::pair();
    // Built before somebody waits for it.
    program();
    let pinging = bed.generator().clone();
    let ping = std::thread::spawn(move || {
        let mut last = String::new();
        wait_until("an echo", || {
            let mut command = pinging.command("ping");
            let output =
                command.args(["-c", "1", "-W", "1", "-s", "101", "198.19.0.2"]).output().expect("ping");
            last = String::from_utf8_lossy(&output.stdout).into_owned();
            output.status.success()
        });
        last
    });
    let flags = format!("{TAP} sessions=1 departures=1 whole=1000 first=8000000 open_gap=50000000 linger=0");
    let load = Load::inside(&bed, &flags);
    assert!(ping.join().expect("an echo").contains("109 bytes from 198.19.0.2"));
    assert!(load.counted("arp") >= 1 && load.counted("echo") >= 1, "{}", load.told);
    load.all_are("missed");
}
