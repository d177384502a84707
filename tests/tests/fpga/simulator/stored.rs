//! What the module's sessions write to Redis by themselves (`hdl/session/session_redis.sv`), to a real
//! redis-server in a namespace: what is there, what is counted as lost, and that the load does not notice.

use super::counted::OUTCOMES;
use super::sessions::{Departure, Load};
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::time::Duration;
use tare_system_tests::process::{Process, wait_until};
use tare_system_tests::{TestBed, beside_others, need, scratch};

pub const KEY: &str = "tare:sim:module";
/// The module's other wire ends at a new device; its clock for Redis is about that of the server.
pub const REDIS: &str = "redis_tap=redis0 redis_micro=1 redis_linger=200000000";
/// Twelve commands have room, the last of which has ten places left: all of it, however slow the server is.
pub const FITS: &str = "departures=470 redis_flush=2000 redis_patience=60000";
pub const LOAD: &str = "sessions=64 open_gap=500 first=60000";

/// A redis-server in a namespace, in a folder of its own.
pub struct Server<'a> {
    bed: &'a TestBed,
    folder: tempfile::TempDir,
    settings: &'static str,
    process: Option<Process>,
}

impl<'a> Server<'a> {
    pub fn start(bed: &'a TestBed, settings: &'static str) -> Self {
        need("redis-server");
        need("redis-cli");
        let mut server = Self { bed, folder: scratch(), settings, process: None };
        server.up();
        server
    }

    pub fn up(&mut self) {
        let words = format!(
            "ip netns exec {} redis-server --bind 0.0.0.0 --protected-mode no --logfile log --dir {} {} --save",
            self.bed.generator().name,
            self.folder.path().display(),
            self.settings,
        );
        let mut argv: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        argv.push(String::new());
        self.process = Some(Process::start(&argv, |_| {}));
        wait_until("redis-server", || self.ask(&["ping"]) == "PONG");
    }

    /// As in a power cut.
    pub fn kill(&mut self) {
        self.signal(Signal::KILL);
        self.process = None;
        wait_until("the end of redis-server", || self.ask(&["ping"]) != "PONG");
    }

    pub fn signal(&self, signal: Signal) {
        self.process.as_ref().expect("it runs").signal(signal);
    }

    pub fn ask(&self, words: &[&str]) -> String {
        let output = self.bed.generator().command("redis-cli").args(words).output().expect("redis-cli runs");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    fn commands(&self) -> u64 {
        self.ask(&["xlen", KEY]).parse().unwrap_or(0)
    }

    /// All departures that a stream has, by due time, each once.
    pub fn departures(&self, key: &str) -> BTreeMap<u64, Departure> {
        const HEX: &str = "local out = {} \
            for _, entry in ipairs(redis.call('XRANGE', KEYS[1], '-', '+')) do \
              out[#out + 1] = entry[2][2]:gsub('.', function(c) return string.format('%02x', c:byte()) end) \
            end \
            return out";
        let mut found = BTreeMap::new();
        for line in self.ask(&["--raw", "eval", HEX, "1", key]).lines().filter(|line| !line.is_empty()) {
            let digit = |at: usize| u8::from_str_radix(&line[at..at + 2], 16).expect("hex");
            let bytes: Vec<u8> = (0..line.len() / 2).map(|at| digit(2 * at)).collect();
            assert_eq!(bytes.len(), 40 * 32);
            for event in bytes.chunks_exact(32).filter(|event| event[6] != 255) {
                let one = departure(event);
                assert_eq!(found.insert(one.due, one), None, "twice");
            }
        }
        found
    }
}

fn departure(event: &[u8]) -> Departure {
    let number = |from: usize, count: usize| {
        event[from..from + count].iter().rev().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte))
    };
    Departure {
        outcome: OUTCOMES[usize::from(event[6])].to_owned(),
        session: number(8, 2),
        status: number(10, 2),
        due: number(0, 6),
        sent: number(16, 4),
        connected: number(20, 4),
        first: number(24, 4),
        done: number(28, 4),
        size: number(12, 4),
        sum: None,
        passed: None,
    }
}

pub fn counted(load: &Load, key: &str) -> u64 {
    load.told["redis"][key].as_u64().unwrap_or_else(|| panic!("{key}: {}", load.told["redis"]))
}

/// Each departure is stored, refused, dropped, or nobody knows; and what is stored is what the load has.
#[track_caller]
pub fn check(load: &Load, server: &Server<'_>) {
    let all = load.departures.len() as u64;
    let parts = ["events_stored", "events_refused", "dropped", "events_unconfirmed"];
    assert_eq!(parts.iter().map(|key| counted(load, key)).sum::<u64>(), all, "{}", load.told["redis"]);
    assert_eq!((counted(load, "events"), counted(load, "frames_wrong")), (all, 0), "{}", load.told["redis"]);
    let found = server.departures(KEY);
    let by_due: BTreeMap<u64, &Departure> = load.departures.iter().map(|one| (one.due, one)).collect();
    for (due, one) in &found {
        assert_eq!(Some(&one), by_due.get(due));
    }
    if counted(load, "events_unconfirmed") == 0 {
        assert_eq!(counted(load, "events_stored"), found.len() as u64, "{}", load.told["redis"]);
        assert_eq!(counted(load, "stored"), server.commands(), "{}", load.told["redis"]);
    }
}

#[test]
fn a_load_is_the_same_with_redis_without_and_with_one_that_is_stopped() {
    let _shared = beside_others();
    let bed = TestBed::pair();
    // Connections for each, some of which are lost, so that departures are missed as well.
    let load = format!("{LOAD} each=1 closes=1 departures=1500 whole=700 drops=11 micro=1 patience=300");
    let without = Load::run(&load);
    assert!(without.outcomes("missed") > 0, "{}", without.told);
    let server = Server::start(&bed, "");
    let with = Load::inside(&bed, &format!("{load} {REDIS}"));
    check(&with, &server);
    assert_eq!(with.departures, without.departures);

    // The kernel still takes what is sent, but nobody replies; then nobody is there at all.
    let stopped = "redis_linger=0 redis_patience=400 redis_tap=redis0 redis_micro=1";
    assert_eq!(server.ask(&["flushall"]), "OK");
    server.signal(Signal::STOP);
    let load_of_stopped = Load::inside(&bed, &format!("{load} {stopped}"));
    server.signal(Signal::CONT);
    assert_eq!(load_of_stopped.departures, without.departures);
    for (key, least) in [("dropped", 1), ("late", 1), ("ended", 1)] {
        assert!(counted(&load_of_stopped, key) >= least, "{key}: {}", load_of_stopped.told["redis"]);
    }
    assert_eq!(counted(&load_of_stopped, "stored"), 0, "{}", load_of_stopped.told["redis"]);
    check(&load_of_stopped, &server);
    let mut server = server;
    server.kill();
    let gone = Load::inside(&bed, &format!("{load} {stopped} redis_pause=100"));
    assert_eq!(gone.departures, without.departures);
    assert!(counted(&gone, "ended") >= 2 && counted(&gone, "opened") == 0, "{}", gone.told["redis"]);
    assert_eq!(
        counted(&gone, "dropped") + counted(&gone, "events_unconfirmed"),
        1500,
        "{}",
        gone.told["redis"]
    );
}

#[test]
fn what_redis_refuses_is_counted() {
    let _shared = beside_others();
    let bed = TestBed::pair();
    let server = Server::start(&bed, "");
    let load = format!("{REDIS} {LOAD} {FITS} whole=1000");
    for prepare in [["set", KEY, "text"].as_slice(), &["config", "set", "maxmemory", "1"]] {
        assert_eq!(server.ask(prepare), "OK");
        let load = Load::inside(&bed, &load);
        assert_eq!(counted(&load, "events_refused"), 470, "{prepare:?}: {}", load.told["redis"]);
        // The kernel still has the connection of the load before, from the same port: it is reset.
        assert_eq!((counted(&load, "stored"), counted(&load, "late")), (0, 0), "{}", load.told["redis"]);
        server.ask(&["config", "set", "maxmemory", "0"]);
        assert_eq!(server.ask(&["flushall"]), "OK");
    }
    // Numbers that are there already, of another load: "equal or smaller" is no excuse.
    server.ask(&["xadd", KEY, "1000-0", "events", ""]);
    let load = Load::inside(&bed, &load);
    assert_eq!(counted(&load, "events_refused"), 470, "{}", load.told["redis"]);
}

#[test]
fn a_slow_redis_costs_what_has_no_room_and_lost_frames_cost_nothing() {
    let _shared = beside_others();
    let bed = TestBed::pair();
    let server = Server::start(&bed, "");
    // More than has room comes in its pause.
    assert_eq!(server.ask(&["client", "pause", "3000", "write"]), "OK");
    let load = Load::inside(&bed, &format!("{REDIS} {LOAD} departures=3000 whole=500 redis_patience=60000"));
    assert!(counted(&load, "dropped") > 0 && counted(&load, "events_stored") > 0, "{}", load.told["redis"]);
    assert_eq!(
        (counted(&load, "ended"), counted(&load, "events_unconfirmed")),
        (0, 0),
        "{}",
        load.told["redis"]
    );
    check(&load, &server);

    assert_eq!(server.ask(&["flushall"]), "OK");
    // On a busy machine the server is slow by TCP's clock: a connection may end for want of a reply, and fewer
    // frames leave, with more in each.
    let lossy = format!("{REDIS} {LOAD} departures=600 whole=4000 redis_drops=7 redis_flush=200");
    let load = Load::inside(&bed, &lossy);
    assert!(counted(&load, "resent") >= 1, "{}", load.told["redis"]);
    assert_eq!(counted(&load, "events_unconfirmed"), 0, "{}", load.told["redis"]);
    check(&load, &server);
}

#[test]
fn a_redis_that_comes_back_has_each_command_once() {
    let _shared = beside_others();
    let bed = TestBed::pair();
    let mut server = Server::start(&bed, "--appendonly yes --appendfsync always");
    let load = std::thread::scope(|scope| {
        let flags = format!("{REDIS} {LOAD} departures=8000 whole=1500 redis_patience=1000");
        let bed = &bed;
        let load = scope.spawn(move || Load::inside(bed, &flags));
        // Twice: it does not answer for longer than the module waits, and it is gone.
        wait_until("some commands", || server.commands() > 20);
        server.signal(Signal::STOP);
        std::thread::sleep(Duration::from_secs(4));
        server.signal(Signal::CONT);
        let before = server.commands();
        wait_until("more commands", || server.commands() > before + 20);
        server.kill();
        server.up();
        load.join().expect("a load")
    });
    assert_eq!(counted(&load, "events_unconfirmed"), 0, "{}", load.told["redis"]);
    assert!(counted(&load, "opened") >= 2 && counted(&load, "ended") >= 1, "{}", load.told["redis"]);
    check(&load, &server);
}

#[test]
fn any_peer_of_tcp_will_do() {
    let _shared = beside_others();
    need("python3");
    let bed = TestBed::pair();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fpga/simulator/redis_peer.py");
    // A small MSS; a window that closes while it naps; and what is no reply, twice.
    for (peer, key, times) in [
        ("88 0 65536 0 -", "resent", 0),
        ("0 2304 500 0.02 -", "dropped", 1),
        ("0 0 65536 0 loading", "busy", 2),
        ("0 0 65536 0 junk", "wrong", 2),
        ("0 0 65536 0 end", "ended", 2),
    ] {
        let folder = scratch();
        let said = folder.path().join("said");
        let words = format!("ip netns exec {} python3 {script} {peer}", bed.generator().name);
        let argv: Vec<String> = words.split(' ').map(str::to_owned).collect();
        let out = std::fs::File::create(&said).expect("a file");
        let _peer = Process::start(&argv, |command| {
            command.stdout(out);
        });
        let lines = || std::fs::read_to_string(&said).expect("it says something");
        wait_until("the peer", || lines().starts_with("listens"));
        let load = format!("{REDIS} {LOAD} departures=1200 whole=2000 redis_patience=60000");
        let load = Load::inside(&bed, &load);
        assert!(counted(&load, key) >= times, "{peer}: {}", load.told["redis"]);
        assert_eq!(counted(&load, "events_unconfirmed"), 0, "{peer}: {}", load.told["redis"]);
        assert_eq!(
            counted(&load, "events_stored") + counted(&load, "dropped"),
            1200,
            "{}",
            load.told["redis"]
        );
        let taken = lines();
        let numbers: Vec<u64> =
            taken.lines().skip(1).filter_map(|line| line.split_once(' ')?.1.parse().ok()).collect();
        // In order, from the first, none twice.
        assert_eq!(numbers, (1..=counted(&load, "stored")).collect::<Vec<_>>(), "{peer}");
    }
}
