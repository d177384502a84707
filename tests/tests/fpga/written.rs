//! `tare http --via fpga,redis=…:sim`: the module writes its results to a real redis-server by itself. The run
//! says what is there and what is not, by cause; `tare report` reads it; and the load is the same to the tick,
//! whatever that Redis does.

use super::simulator::sessions::Load;
use super::simulator::stored::{self, Server};
use rustix::process::Signal;
use std::process::Command;
use std::time::Duration;
use tare_system_tests::module::simulator;
use tare_system_tests::process::wait_until;
use tare_system_tests::{Run, Tare, TestBed, beside_others, scratch};

/// Their own responder, and a session too few, so that departures are missed, too.
const LOAD: &str = "--rate 100k --parallel 2 --requests 1200 --seed 7";

/// Twelve commands have room, the last of which has ten places left: all of it, however slow the server is.
const FITS: &str = "--rate 100k --parallel 64 --requests 470 --seed 7";

/// A run, and what became of each departure.
struct Written {
    run: Run,
    events: Vec<String>,
}

impl Written {
    fn of(bed: &TestBed, redis: &str, load: &str) -> Self {
        simulator();
        let folder = scratch();
        let lines = folder.path().join("events.jsonl");
        let via = format!("fpga,netns={},delay=20us{redis}:sim,ip=198.18.0.2/24", bed.generator().name);
        let run = Tare::http(&format!("--via {via} {load}"))
            .arg("--to")
            .arg(format!("jsonl:{}?events=1", lines.display()))
            .arg("http://198.18.0.1/")
            .limit(Duration::from_secs(150))
            .run();
        let lines = std::fs::read_to_string(lines).expect("lines");
        let mut events: Vec<String> =
            lines.lines().filter(|line| line.contains("\"type\":\"event\"")).map(str::to_owned).collect();
        events.sort_unstable();
        assert_eq!(events.len() as u64, run.total("offered"), "{run}");
        Self { run, events }
    }

    fn name(&self) -> &str {
        self.run.at("run").as_str().expect("a name")
    }

    /// The module's entry among the sinks.
    fn own(&self) -> &serde_json::Value {
        let sinks = self.run.at("sinks").as_array().expect("sinks");
        let is_own = |url: &str| url.starts_with("redis://198.18.1.1/") && url.ends_with(self.name());
        let own = sinks.iter().find(|sink| sink["url"].as_str().is_some_and(is_own));
        own.unwrap_or_else(|| panic!("{sinks:?}"))
    }

    fn trouble(&self) -> &str {
        self.own()["trouble"].as_str().unwrap_or_default()
    }

    fn count(&self, key: &str) -> u64 {
        let own = self.own();
        let (whole, part) = (own.get(key), own["events_lost_by"].get(key));
        whole.or(part).map_or(0, |count| count.as_u64().expect("a number"))
    }

    /// What Redis has and what it has not are all departures, and the verdict says that some are missing.
    #[track_caller]
    fn check(&self, server: &Server<'_>) {
        let (all, run) = (self.run.total("offered"), &self.run);
        assert_eq!(self.count("events") + self.count("events_lost"), all, "{run}");
        let causes = ["no_room", "refused", "no_reply"].map(|cause| self.count(cause));
        assert_eq!(causes.iter().sum::<u64>(), self.count("events_lost"), "{run}");
        if self.count("no_reply") == 0 {
            assert_eq!(
                server.departures(&format!("tare:{}:module", self.name())).len() as u64,
                self.count("events"),
                "{run}"
            );
        }
        let lost = self.count("events_lost");
        assert_eq!(run.criterion("sinks.lost").holds, lost == 0, "{run}");
        assert_eq!(run.word(), if lost == 0 { "VALID" } else { "DEGRADED" }, "{run}");
    }
}

const REDIS: &str = ",redis=198.18.1.1/24";

#[test]
fn a_run_of_the_module_is_in_redis_and_report_reads_it() {
    let _shared = beside_others();
    let bed = TestBed::pair();
    let server = Server::start(&bed, "");
    let written = Written::of(&bed, REDIS, FITS);
    written.check(&server);
    assert_eq!((written.count("events"), written.run.total("done")), (470, 470), "{}", written.run);
    let report = Tare::new("report --json")
        .arg(format!("redis://127.0.0.1/{}", written.name()))
        .inside(bed.generator())
        .start()
        .finish_unchecked();
    assert_eq!((report.total("offered"), report.total("done")), (470, 470), "{report}");
    let slowest = written.run.int("latency_ns.max");
    assert!(report.int("latency_ns.max").abs_diff(slowest) * 1_000 <= slowest, "{report}");
    // The server's host still has the connection of that run.
    assert_eq!(Written::of(&bed, REDIS, FITS).count("events"), 470);
    let links = bed.generator().command("ip").arg("link").output().expect("ip");
    assert!(!String::from_utf8_lossy(&links.stdout).contains("redis0"), "the device goes with the run");
}

#[test]
fn redis_moves_no_departure_whatever_it_does() {
    let _shared = beside_others();
    let bed = TestBed::pair();
    let without = Written::of(&bed, "", LOAD);
    assert!(without.run.total("missed") > 0 && without.run.total("done") > 0, "{}", without.run);
    let mut server = Server::start(&bed, "");
    let same = |what: &str| {
        let with = Written::of(&bed, REDIS, LOAD);
        assert_eq!(with.events, without.events, "{what}");
        with
    };
    let well = same("it replies");
    well.check(&server);
    // It takes nothing for longer than the module has room, then all of that.
    assert_eq!((server.ask(&["flushall"]), server.ask(&["client", "pause", "4000", "write"])), ok2());
    let slow = same("it is slow");
    wait_until("the end of the pause", || server.ask(&["set", "a", "b"]) == "OK");
    assert!(slow.count("no_room") > 0, "{}", slow.run);
    slow.check(&server);
    // Errors of two kinds.
    for (prepare, undo) in [
        (
            ["acl", "setuser", "default", "-xadd"].as_slice(),
            ["acl", "setuser", "default", "+xadd"].as_slice(),
        ),
        (&["config", "set", "maxmemory", "1"], &["config", "set", "maxmemory", "0"]),
    ] {
        assert_eq!(server.ask(prepare), "OK");
        let refused = same("it refuses");
        assert_eq!(server.ask(undo), "OK");
        assert!(refused.count("refused") > 0 && refused.count("events") == 0, "{}", refused.run);
        assert!(refused.trouble().contains("refused by Redis"), "{}", refused.run);
        refused.check(&server);
    }
    server.signal(Signal::STOP);
    let stopped = same("it is stopped");
    server.signal(Signal::CONT);
    assert_eq!(stopped.count("events"), 0, "{}", stopped.run);
    assert!(stopped.count("no_reply") > 0, "{}", stopped.run);
    server.kill();
    let gone = same("it is gone");
    gone.check(&server);
    assert!(gone.trouble().contains("check that Redis listens"), "{}", gone.run);
    let strange = Server::start(&bed, "--rename-command XADD XADDS");
    let unknown = same("it says -ERR");
    assert!(unknown.count("refused") > 0 && unknown.count("events") == 0, "{}", unknown.run);
    unknown.check(&strange);
}

fn ok2() -> (String, String) {
    ("OK".to_owned(), "OK".to_owned())
}

#[test]
fn a_redis_that_is_started_anew_has_each_departure_once_and_moves_none() {
    let _shared = beside_others();
    let bed = TestBed::pair();
    let load = "--rate 100k --parallel 64 --requests 3000 --seed 7";
    let without = Written::of(&bed, "", load);
    let mut server = Server::start(&bed, "--appendonly yes --appendfsync always");
    let with = std::thread::scope(|scope| {
        let bed = &bed;
        let load = scope.spawn(move || Written::of(bed, REDIS, load));
        let commands = || -> Option<u64> {
            let key = server.ask(&["keys", "*"]);
            server.ask(&["xlen", key.lines().next()?]).parse().ok()
        };
        wait_until("some commands", || commands().is_some_and(|count| count > 5));
        // The module answers there, and has found the way by itself.
        let ping =
            |words: &str| bed.generator().command("ping").args(words.split(' ')).output().expect("ping");
        wait_until("an echo", || ping("-c 1 -W 5 198.18.1.2").status.success());
        server.kill();
        std::thread::sleep(Duration::from_millis(300));
        server.up();
        load.join().expect("a run")
    });
    assert_eq!(with.events, without.events);
    with.check(&server);
    assert_eq!(with.count("no_reply"), 0, "{}", with.run);
    assert!(with.count("events") > 200, "{}", with.run);
}

#[test]
fn what_cannot_be_written_to_is_refused_before_any_load() {
    let _shared = beside_others();
    simulator();
    let bed = TestBed::pair();
    let folder = scratch();
    let (out, file) = (folder.path().join("run"), folder.path().join("password"));
    let refused = |options: &str, words: &str| {
        let via = format!("fpga,netns={},{options}:sim,ip=198.18.0.2/24", bed.generator().name);
        let load = format!("--rate 1k --parallel 4 --requests 5 --out {} http://198.18.0.1/", out.display());
        let run = Tare::http(&format!("--via {via} {load}")).start().finish_unchecked();
        assert!(run.code == Some(2) && run.stderr.contains(words), "{options}: {}", run.stderr);
        assert!(!out.exists(), "{options}: a run that did not begin leaves nothing");
    };
    let by_password = format!("redis=198.18.1.1/24,redis_password={}", file.display());
    refused(&by_password, "No such file");
    assert!(Command::new("mkfifo").arg(&file).status().expect("mkfifo").success());
    refused(&by_password, "not a regular file");
    std::fs::remove_file(&file).expect("it is there");
    std::fs::write(&file, "\n").expect("room");
    refused(&by_password, "whose first line is empty");
    refused("redis=198.18.0.9/24", "subnet of their Redis");
    refused("redis=198.18.1.1", "no IPv4 address with a prefix length");
    refused("redis_port=7000", "no redis");
    let ip = bed.generator().command("ip").args(["tuntap", "add", "dev", "redis0", "mode", "tap"]).status();
    assert!(ip.expect("ip").success());
    refused("redis=198.18.1.1/24", "exists already");
}

#[test]
fn what_a_simulation_wrote_is_reported_like_a_run() {
    let _shared = beside_others();
    let bed = TestBed::pair();
    let server = Server::start(&bed, "");
    let flags =
        [stored::REDIS, stored::LOAD, stored::FITS, "whole=1000 status=404 status_high=404"].join(" ");
    let load = Load::inside(&bed, &flags);
    load.all_are("done");
    stored::check(&load, &server);
    assert_eq!(stored::counted(&load, "events_stored"), 470);
    assert_eq!((stored::counted(&load, "asked"), stored::counted(&load, "found")), (1, 1));
    let report =
        Tare::new("report --json redis://127.0.0.1/sim").inside(bed.generator()).start().finish_unchecked();
    let figures = ["offered", "done"].map(|key| report.result["totals"][key].as_u64());
    assert_eq!(figures, [Some(470); 2], "{report}");
    let slowest = load.departures.iter().map(|one| 8 * one.done).max().expect("a departure");
    let reported = report.result["latency_ns"]["max"].as_u64().expect("a time");
    assert!(reported.abs_diff(slowest) * 1000 <= slowest + 1000, "{reported} of {slowest}: {report}");
}

#[test]
fn a_connection_begins_with_its_password_and_its_database() {
    let _shared = beside_others();
    let bed = TestBed::pair();
    let without = Written::of(&bed, "", FITS);
    let server = Server::start(&bed, "");
    assert_eq!(
        server.ask(&["acl", "setuser", "writer", "on", ">s3cret", "~tare:*", "+xadd", "+select"]),
        "OK"
    );
    assert_eq!(server.ask(&["config", "set", "requirepass", "s3cret"]), "OK");
    let folder = scratch();
    let file = folder.path().join("password");
    std::fs::write(&file, "s3cret\n").expect("room");
    for (user, database) in [("", 0), ("", 2), (",redis_user=writer", 3)] {
        let redis = format!("{REDIS},redis_password={}{user},redis_database={database}", file.display());
        let with = Written::of(&bed, &redis, FITS);
        assert_eq!(with.events, without.events);
        assert_eq!((with.count("events"), with.run.word()), (470, "VALID"), "{}", with.run);
        let url = format!("redis://:s3cret@127.0.0.1/{database}/{}", with.name());
        let report = Tare::new("report --json").arg(url).inside(bed.generator()).start().finish_unchecked();
        assert_eq!(report.total("offered"), 470, "{report}");
        assert!(!with.run.result.to_string().contains("s3cret"), "{}", with.run);
    }
    // A wrong one, and a database that is not there: no command is sent.
    std::fs::write(&file, "guess").expect("room");
    let wrong = format!("{REDIS},redis_password={}", file.display());
    std::fs::write(folder.path().join("right"), "s3cret").expect("room");
    let nowhere =
        format!("{REDIS},redis_password={},redis_database=99", folder.path().join("right").display());
    for redis in [wrong, nowhere] {
        let with = Written::of(&bed, &redis, FITS);
        assert_eq!(with.events, without.events);
        assert_eq!((with.count("events"), with.count("refused")), (0, 0), "{}", with.run);
        assert!(with.trouble().contains("by AUTH or SELECT"), "{}", with.run);
    }
}
