//! `--to redis://…` with the real redis-server: down, restarted, slow, with a wrong password.

use serde_json::Value;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};
use tare_system_tests::nginx::free_port;
use tare_system_tests::process::{Process, wait_until};
use tare_system_tests::{Run, Tare, Target, beside_others};

/// A redis-server in a folder of its own, ended when it is dropped.
struct Redis {
    process: Option<Process>,
    port: u16,
    folder: tempfile::TempDir,
    settings: String,
}

impl Redis {
    fn start(settings: &str) -> Self {
        let mut redis = Self::down(settings);
        redis.up();
        redis
    }

    /// Its port is known; it is not started yet.
    fn down(settings: &str) -> Self {
        tare_system_tests::need("redis-server");
        tare_system_tests::need("redis-cli");
        let folder = tare_system_tests::scratch();
        Self { process: None, port: free_port(), folder, settings: settings.to_owned() }
    }

    fn up(&mut self) {
        let (port, dir) = (self.port, self.folder.path().display());
        let words = format!("redis-server --port {port} --bind 127.0.0.1 --dir {dir} --logfile log --save");
        let mut argv: Vec<String> = words.split(' ').map(str::to_owned).collect();
        argv.push(String::new());
        argv.extend(self.settings.split_whitespace().map(str::to_owned));
        let mut process = Process::start(&argv, |_| {});
        wait_until("redis-server", || {
            assert!(process.is_running(), "redis-server ended");
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        self.process = Some(process);
    }

    /// SIGTERM: it ends as it does when it is stopped properly.
    fn end(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.end();
        }
    }

    fn url(&self, login: &str, options: &str) -> String {
        format!("redis://{login}127.0.0.1:{}/{options}", self.port)
    }

    fn ask(&self, words: &str) -> String {
        let output = Command::new("redis-cli")
            .args(["-p", &self.port.to_string()])
            .args(words.split(' '))
            .output()
            .expect("redis-cli runs");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Entries of all streams of single events of a run.
    fn events(&self, run: &Run) -> u64 {
        let keys = self.ask(&format!("keys tare:{}:events:*", run_name(run)));
        keys.split_whitespace()
            .map(|key| self.ask(&format!("xlen {key}")).parse::<u64>().expect("a length"))
            .sum()
    }

    fn rows(&self, run: &Run) -> u64 {
        self.ask(&format!("xlen tare:{}:intervals", run_name(run))).parse().expect("a length")
    }
}

fn run_name(run: &Run) -> &str {
    run.at("run").as_str().expect("a run has a name")
}

/// The counts of the only sink.
fn counts(run: &Run) -> [u64; 4] {
    let sink = &run.result["sinks"][0];
    ["rows", "rows_lost", "events", "events_lost"]
        .map(|key| sink[key].as_u64().unwrap_or_else(|| panic!("no {key} in {sink} of {run}")))
}

fn intervals(run: &Run) -> u64 {
    run.result["intervals"].as_array().expect("rows").len() as u64
}

fn trouble(run: &Run) -> &str {
    run.result["sinks"][0]["trouble"].as_str().unwrap_or("")
}

/// Every row arrived.
#[track_caller]
fn check_rows(run: &Run) {
    assert_eq!((counts(run)[0], counts(run)[1]), (intervals(run), 0), "{run}");
}

/// All that was given to the sink is either there or counted as lost.
#[track_caller]
fn check(run: &Run, redis: &Redis) {
    let [rows, rows_lost, events, events_lost] = counts(run);
    assert_eq!(rows + rows_lost, intervals(run), "{run}");
    assert_eq!(events + events_lost, run.total("offered") + run.int("warmup.count"), "{run}");
    assert_eq!((rows, events), (redis.rows(run), redis.events(run)), "{run}");
    let lost = run.criterion("sinks.lost");
    assert_eq!(lost.value as u64, rows_lost + events_lost);
    assert_eq!(lost.holds, rows_lost + events_lost == 0);
    assert!(run.word() != "VALID" || lost.holds, "{run}");
}

fn load(target: &Target, more: &str) -> Tare {
    Tare::http(&format!(
        "--rate 2000 --duration 2500ms --warmup 500ms --accept-invalid {more} {}",
        target.url()
    ))
}

#[test]
fn rows_events_and_result_arrive_and_nothing_is_lost() {
    let _shared = beside_others();
    let (redis, target) = (Redis::start(""), Target::start("--no-truth"));
    let run = load(&target, "--threads 2").arg("--to").arg(redis.url("", "?events=1")).run();
    check(&run, &redis);
    assert_eq!((counts(&run)[1], counts(&run)[3], trouble(&run)), (0, 0, ""), "{run}");
    let result: Value =
        serde_json::from_str(&redis.ask(&format!("get tare:{}:result", run_name(&run)))).expect("JSON");
    for key in ["totals", "rate", "latency_ns", "outcomes", "verdict"] {
        assert_eq!(result[key], run.result[key], "{key}");
    }
    assert_eq!(redis.ask(&format!("hget tare:{}:meta state", run_name(&run))), "ended");
    let report =
        |run: &str| Tare::new(&format!("report --json {}", redis.url("", run))).start().finish_unchecked();
    let drawn = report(run_name(&run));
    for key in ["totals", "latency_ns", "intervals"] {
        assert_eq!(drawn.result[key], run.result[key], "{key} of {drawn}");
    }
    let nothing = report("no-such-run");
    assert_eq!(nothing.code, Some(2));
    assert!(nothing.stderr.contains("there is no run no-such-run"), "{}", nothing.stderr);
    assert!(nothing.stderr.contains(run_name(&run)), "it names those that are there: {}", nothing.stderr);
    // A week, by default.
    let left: i64 = redis.ask(&format!("ttl tare:{}:events:0", run_name(&run))).parse().expect("seconds");
    assert!((604_000..=604_800).contains(&left), "{left}");
}

#[test]
fn runs_are_compared_as_from_their_folders() {
    let _shared = beside_others();
    let (redis, target) = (Redis::start(""), Target::start("--no-truth"));
    let folder = tare_system_tests::scratch();
    let trial = |name: &str| {
        let out = folder.path().join(name).display().to_string();
        let run = load(&target, &format!("--out {out}")).arg("--to").arg(redis.url("", "")).run();
        check_rows(&run);
        (redis.url("", run_name(&run)), out)
    };
    let trials = ["a1", "b1", "a2", "b2"].map(trial);
    let compare =
        |a: &str, b: &str| Tare::new(&format!("compare --json --anyway {a} {b}")).start().finish_unchecked();
    let [a1, b1, a2, b2] = &trials;
    let from_folders = compare(&format!("{},{}", a1.1, a2.1), &format!("{},{}", b1.1, b2.1));
    let from_redis = compare(&format!("{},{}", a1.0, a2.0), &format!("{},{}", b1.0, b2.0));
    assert_eq!(from_redis.code, Some(0), "{from_redis}");
    assert_eq!(from_redis.stdout, from_folders.stdout);
    // One of each, where spreads come from the histograms of intervals.
    let (mixed, alone) = (compare(&a1.0, &b1.1), compare(&a1.1, &b1.1));
    assert_eq!(mixed.stdout, alone.stdout, "{mixed}");

    let itself = Tare::new(&format!("compare {} {}", a1.0, a1.1)).start().finish_unchecked();
    assert!(itself.code == Some(2) && itself.stderr.contains("named twice"), "{itself}");
    let nothing =
        Tare::new(&format!("compare {} {}", a1.0, redis.url("", "no-such-run"))).start().finish_unchecked();
    assert!(nothing.code == Some(2) && nothing.stderr.contains("there is no run no-such-run"), "{nothing}");
}

#[test]
fn one_that_comes_late_and_one_that_is_restarted_get_everything() {
    let _shared = beside_others();
    let target = Target::start("--no-truth");
    let mut redis = Redis::down("--appendonly yes --appendfsync always");
    let running = load(&target, "").arg("--to").arg(redis.url("", "?events=1")).start();
    running.sleep_until(Duration::from_millis(700));
    redis.up();
    std::thread::sleep(Duration::from_millis(600));
    redis.end();
    std::thread::sleep(Duration::from_millis(300));
    redis.up();
    let run = running.finish();
    check(&run, &redis);
    assert_eq!((counts(&run)[1], counts(&run)[3]), (0, 0), "{run}");
    assert!(trouble(&run).contains("nothing listens on 127.0.0.1:"), "{}", trouble(&run));
    assert!(run.stderr.contains("it is tried again while the run goes on"), "{}", run.stderr);
    // In order and each once: the n-th entry is the n-th event that ended.
    let first = redis.ask(&format!("xrange tare:{}:events:0 - + count 1", run_name(&run)));
    let last = redis.ask(&format!("xrevrange tare:{}:events:0 + - count 1", run_name(&run)));
    let all = redis.events(&run);
    assert!(first.starts_with("1-0") && last.starts_with(&format!("{all}-0")), "{first}\n{last}");
}

#[test]
fn a_wrong_password_degrades_and_is_shown_nowhere() {
    let _shared = beside_others();
    let (redis, target) = (Redis::start("--requirepass right"), Target::start("--no-truth"));
    let folder = tare_system_tests::scratch();
    let out: PathBuf = folder.path().join("run");
    let tare = load(&target, &format!("--out {}", out.display()));
    let run = tare.arg("--to").arg(redis.url(":s3cret@", "?events=1")).run();
    assert_eq!((counts(&run)[0], counts(&run)[1]), (0, intervals(&run)), "{run}");
    assert!(trouble(&run).contains("wrong password"), "{}", trouble(&run));
    assert_eq!(run.criterion("sinks.lost").severity, "DEGRADED");
    assert!(run.criterion("sinks.lost").advice.contains("redis://:***@127.0.0.1"), "{run}");
    assert!(run.stderr.contains("redis://:***@127.0.0.1") && run.stderr.contains("wrong password"), "{run}");
    assert!(!run.stderr.contains("s3cret"));
    for file in ["result.json", "report.html", "plan.toml", "environment.json", "intervals.jsonl"] {
        let text = std::fs::read_to_string(out.join(file)).unwrap_or_else(|why| panic!("{file}: {why}"));
        assert!(!text.contains("s3cret"), "{file} has the password");
    }
    assert_eq!(run.at("store.lost"), &serde_json::json!([]), "{run}");
}

#[test]
fn one_that_stops_answering_holds_nothing_up_and_what_it_lost_is_counted() {
    let _shared = beside_others();
    let (redis, target) = (Redis::start(""), Target::start("--no-truth"));
    let running = load(&target, "--threads 1").arg("--to").arg(redis.url("", "?events=1")).start();
    running.sleep_until(Duration::from_millis(1_200));
    // Nobody is answered for a minute.
    assert_eq!(redis.ask("client pause 60000 all"), "OK");
    let run = running.finish();
    let [rows, rows_lost, events, events_lost] = counts(&run);
    assert_eq!(rows + rows_lost, intervals(&run), "{run}");
    assert_eq!(events + events_lost, 6_000, "{run}");
    assert!(rows_lost > 0 && events_lost > 0 && !trouble(&run).is_empty(), "{run}");
    assert_ne!(run.word(), "VALID");
    // 3 s of load, 5 s of patience, and what calls on their way may take.
    assert!(run.took < Duration::from_secs(12), "{:?}", run.took);
    assert_eq!(run.total("offered"), 5_000, "the load was held up: {run}");
}

/// A server that is no Redis: it replies to each command, told by its text, with `head`, and then with `more`
/// again and again.
fn no_redis(reply: fn(&str) -> (Vec<u8>, &'static [u8])) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("its address").port();
    std::thread::spawn(move || {
        for guest in listener.incoming() {
            let mut guest = guest.expect("somebody connects");
            std::thread::spawn(move || {
                let mut piece = [0; 4_096];
                while let Ok(count @ 1..) = guest.read(&mut piece) {
                    let (head, more) = reply(&String::from_utf8_lossy(&piece[..count]));
                    let mut going = guest.write_all(&head);
                    while going.is_ok() && !more.is_empty() {
                        going = guest.write_all(more);
                    }
                }
            });
        }
    });
    port
}

fn read_back(port: u16) -> Run {
    Tare::new(&format!("report redis://127.0.0.1:{port}/run")).start().finish_unchecked()
}

#[test]
fn a_reply_that_never_ends_is_given_up() {
    let _beside = beside_others();
    const NUMBERS: &[u8] = b":12345678\r\n:12345678\r\n:12345678\r\n:12345678\r\n:12345678\r\n";
    let begun = Instant::now();
    let run = read_back(no_redis(|_| (b"*999999999\r\n".to_vec(), NUMBERS)));
    assert_eq!(run.code, Some(2), "{run}");
    let said = ["is longer than 64 MiB", "did not end within 30 s"];
    assert!(said.iter().any(|said| run.stderr.contains(said)), "{run}");
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    // A page that comes again for whatever is asked.
    let run = read_back(no_redis(|command| {
        let reply: &[u8] = match command {
            _ if command.contains("INFO") => b"$7\r\n# Redis\r\n",
            _ if command.contains("HGETALL") => b"*2\r\n$6\r\nschema\r\n$12\r\ntare.redis/1\r\n",
            _ => b"*1\r\n*2\r\n$3\r\n0-0\r\n*0\r\n",
        };
        (reply.to_vec(), b"")
    }));
    assert_eq!(run.code, Some(2), "{run}");
    assert!(run.stderr.contains("it stands before what was asked for"), "{run}");
}

#[test]
fn a_server_that_says_ok_to_everything_is_told_as_no_redis() {
    let _beside = beside_others();
    let port = no_redis(|_| (b"+OK\r\n".to_vec(), b""));
    let said = format!("127.0.0.1:{port} does not reply as Redis does: its reply to INFO was +OK");
    let run = read_back(port);
    assert_eq!(run.code, Some(2), "{run}");
    assert!(run.stderr.contains(&said), "{run}");
    let target = Target::start("");
    let load = format!("http {} --rate 100 --duration 1s --to redis://127.0.0.1:{port}/", target.url());
    let run = Tare::new(&load).start().finish_unchecked();
    assert!(run.stderr.contains(&said), "{run}");
}
