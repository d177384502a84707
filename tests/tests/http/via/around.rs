//! What is around a run is the same by either path: sinks, the live page, a rate changed by hand, thresholds,
//! and what a target's small window makes of it.

use super::{Ground, OWN, SERVER};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use tare_system_tests::nginx::free_port;
use tare_system_tests::process::{Process, text_of, wait_until};
use tare_system_tests::tmux::Tmux;
use tare_system_tests::{Recorder, Run, Tare, beside_others, light, need, patiently, scratch};

const PATHS: [&str; 2] = ["general", "fast"];

/// The flags of a run from this namespace, where sinks and viewers are.
fn via(ground: &Ground, path: &str) -> String {
    format!("--via packet,netns={}:gen0,{OWN} --via-path {path}", ground.generator().name)
}

fn intervals(run: &Run) -> u64 {
    run.result["intervals"].as_array().expect("rows").len() as u64
}

/// Nothing of any place was lost.
#[track_caller]
fn nothing_lost(run: &Run, places: usize) {
    let sinks = run.result["sinks"].as_array().expect("sinks");
    assert_eq!(sinks.len(), places, "{run}");
    for sink in sinks {
        let lost = [&sink["rows_lost"], &sink["events_lost"]].map(Value::as_u64);
        assert_eq!((lost, &sink["trouble"]), ([Some(0), Some(0)], &Value::Null), "{sink} {run}");
        // This one has events alone.
        let is_of_events = sink["url"].as_str().is_some_and(|url| url.starts_with("parquet:"));
        match is_of_events {
            true => {
                assert_eq!(sink["events"], run.total("offered") + run.int("warmup.count"), "{sink} {run}")
            }
            false => assert_eq!(sink["rows"], intervals(run), "{sink} {run}"),
        }
    }
    assert!(run.criterion("sinks.lost").holds, "{run}");
}

/// The lines of a file with one JSON object in each.
fn json_lines(path: &Path) -> Vec<Value> {
    text_of(path).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// The sum of a column.
fn column(path: &Path, name: &str) -> u64 {
    let text = text_of(path);
    let mut lines = text.lines();
    let head = lines.next().expect("a head");
    let at = head.split(',').position(|column| column == name).expect("the column");
    lines
        .map(|line| line.split(',').nth(at).and_then(|cell| cell.parse::<u64>().ok()).expect("a count"))
        .sum()
}

#[test]
fn files_get_what_the_result_says_by_either_path() {
    let _shared = beside_others();
    let ground = Ground::new();
    let target = ground.target("--delay 2ms --error 503=0.1 --no-truth");
    let folder = scratch();
    for path in PATHS {
        let at = |name: &str| folder.path().join(format!("{path}.{name}"));
        let load = "--rate 400 --duration 1500ms --warmup 500ms --accept-invalid";
        let mut tare = Tare::http(&format!("{} {load} {}", via(&ground, path), target.url()));
        let places = ["csv:", "jsonl:?events=1", "hdr:", "k6:", "parquet:"];
        for place in places {
            let (kind, options) = place.split_once(':').expect("a kind");
            tare = tare.arg("--to").arg(format!("{kind}:{}{options}", at(kind).display()));
        }
        let run = tare.run();
        nothing_lost(&run, places.len());
        for key in ["done", "failed", "missed", "cut_off"] {
            assert_eq!(column(&at("csv"), key), run.total(key), "{path} {key}: {run}");
        }
        let lines = json_lines(&at("jsonl"));
        let of = |kind: &str| lines.iter().filter(|line| line["type"] == kind).collect::<Vec<_>>();
        let events = of("event");
        assert_eq!(events.len() as u64, run.total("offered") + run.int("warmup.count"), "{path}: {run}");
        for outcome in run.result["outcomes"].as_array().expect("outcomes") {
            let same = |event: &&&Value| event["warmup"] == false && event["key"] == outcome["key"];
            assert_eq!(events.iter().filter(same).count(), outcome["count"], "{path} {outcome}: {run}");
        }
        assert!(run.outcome("503") > 0 && of("result")[0]["totals"]["done"] == run.total("done"), "{run}");
        for file in ["hdr", "k6", "parquet"] {
            assert!(std::fs::metadata(at(file)).is_ok_and(|file| file.len() > 1_000), "{path} {file}");
        }
    }
}

#[test]
fn redis_gets_every_row_and_event_by_either_path() {
    let _shared = beside_others();
    ["redis-server", "redis-cli"].into_iter().for_each(need);
    let (ground, folder, port) = (Ground::new(), scratch(), free_port());
    let words = format!(
        "redis-server --port {port} --bind 127.0.0.1 --dir {} --logfile log --save",
        folder.path().display()
    );
    let mut argv: Vec<String> = words.split(' ').map(str::to_owned).collect();
    argv.push(String::new());
    let _redis = Process::start(&argv, |_| {});
    wait_until("redis-server", || TcpStream::connect(("127.0.0.1", port)).is_ok());
    let ask = |words: &str| {
        let output =
            Command::new("redis-cli").args(["-p", &port.to_string()]).args(words.split(' ')).output();
        String::from_utf8_lossy(&output.expect("redis-cli runs").stdout).trim().to_owned()
    };
    let length = |key: &str| ask(&format!("xlen {key}")).parse::<u64>().expect("a length");
    let target = ground.target("--no-truth");
    for path in PATHS {
        let place = format!("redis://127.0.0.1:{port}/?events=1");
        let load = format!("--rate 1000 --duration 1500ms --accept-invalid --to {place} {}", target.url());
        let run = Tare::http(&format!("{} {load}", via(&ground, path))).run();
        nothing_lost(&run, 1);
        let name = run.at("run").as_str().expect("a name");
        assert_eq!(length(&format!("tare:{name}:intervals")), intervals(&run), "{path}: {run}");
        let streams = ask(&format!("keys tare:{name}:events:*"));
        assert_eq!(
            streams.split_whitespace().map(length).sum::<u64>(),
            run.total("offered"),
            "{path}: {run}"
        );
    }
}

/// Prometheus both ways, OpenTelemetry and both versions of InfluxDB: servers that take what they are sent.
#[test]
fn servers_get_what_the_result_says_by_either_path() {
    let _shared = beside_others();
    let ground = Ground::new();
    let target = ground.target("--no-truth");
    for path in PATHS {
        let recorder = Recorder::start();
        let (scraped, port) = (free_port(), recorder.port());
        let places = [
            format!("prometheus://127.0.0.1:{scraped}/metrics"),
            format!("prometheus+http://127.0.0.1:{port}/write"),
            format!("otlp+http://127.0.0.1:{port}/otlp"),
            format!("influxdb://127.0.0.1:{port}/load"),
            format!("influxdb2://127.0.0.1:{port}/org/load?token=secret"),
        ];
        let load = "--rate 400 --duration 2s --accept-invalid";
        let tare = Tare::http(&format!("{} {load} {}", via(&ground, path), target.url()));
        let running = places.iter().fold(tare, |tare, place| tare.arg("--to").arg(place)).start();
        let page = || TcpStream::connect(("127.0.0.1", scraped)).is_ok();
        wait_until("the page to scrape", page);
        let told = format!("127.0.0.1:{scraped}/metrics");
        wait_until("counts of requests", || get(&told, "/metrics").contains("tare_requests_total{"));
        let run = running.finish();
        nothing_lost(&run, places.len());
        let requests = recorder.requests();
        let sent_to = |start: &str| -> Vec<_> {
            requests.iter().filter(|request| request.target().starts_with(start)).collect()
        };
        for start in ["/write?db=load", "/api/v2/write?org=org&bucket=load"] {
            let text: String =
                sent_to(start).iter().map(|request| String::from_utf8_lossy(&request.body)).collect();
            let done = |line: &str| {
                let field =
                    line.strip_prefix("tare,")?.split([' ', ',']).find_map(|f| f.strip_prefix("done="));
                field?.strip_suffix('i')?.parse::<u64>().ok()
            };
            assert_eq!(
                text.lines().filter_map(done).sum::<u64>(),
                run.total("done"),
                "{path} {start}: {run}"
            );
        }
        for start in ["/write", "/otlp"] {
            let bytes: usize = sent_to(start).iter().map(|request| request.body.len()).sum();
            assert!(bytes > 100, "{path} {start}: {bytes} bytes: {run}");
        }
    }
}

/// A proxy is the peer of a TCP of our own as a target is; the fast path knows none, and says so.
#[test]
fn a_proxy_is_reached_by_the_general_path_alone() {
    let _shared = beside_others();
    let ground = Ground::new();
    let proxy = ground.target("--proxy-mode --no-truth");
    let port = proxy.url().trim_end_matches('/').rsplit(':').next().expect("a port").to_owned();
    // Nobody has this address: what is asked for is the proxy's business.
    let load = format!("--proxy {SERVER}:{port} --parallel 4 --requests 40 http://192.0.2.7/");
    let run = Tare::http(&format!("{} {load}", via(&ground, "general"))).run();
    assert_eq!((run.total("done"), run.outcome("200")), (40, 40), "{run}");
    let refused = Tare::http(&format!("{} {load}", via(&ground, "fast"))).start().finish_unchecked();
    assert_eq!(refused.code, Some(2), "{refused}");
    assert!(refused.stderr.contains("there is a proxy"), "{refused}");
}

/// What a viewer gets.
fn get(address: &str, path: &str) -> String {
    let host = address.split('/').next().expect("host and port");
    let mut socket = TcpStream::connect(host).expect("the page is there");
    write!(socket, "GET {path} HTTP/1.0\r\nHost: {host}\r\n\r\n").expect("a request");
    let mut text = String::new();
    socket.read_to_string(&mut text).expect("an answer");
    text
}

#[test]
fn the_live_page_shows_a_run_by_either_path_and_then_its_report() {
    let _shared = beside_others();
    let ground = Ground::new();
    let target = ground.target("--delay 2ms --no-truth");
    for path in PATHS {
        let folder = scratch();
        let out = folder.path().join("run");
        let load = format!("--rate 200 --duration 2500ms --live=127.0.0.1:0 --out {}", out.display());
        let running = Tare::http(&format!("{} {load} {}", via(&ground, path), target.url())).start();
        let address = || {
            running.stderr().lines().find_map(|line| line.strip_prefix("live: http://").map(str::to_owned))
        };
        wait_until("the page's address", || address().is_some());
        let address = address().expect("it is there");
        wait_until("a second of the run", || get(&address, "/").contains("so far: the run is in progress"));
        let page = get(&address, "/");
        assert!(page.contains("data-chart=\"rate\"") && page.contains(SERVER), "{path}: {page}");
        // To the end, with an update for each second.
        let events = get(&address, "/events");
        let updates = events.matches("event: update").count();
        assert!(updates >= 2 && events.contains("event: end"), "{path}: {updates} updates");
        let report = get(&address, "/");
        let run = running.finish();
        assert_eq!((run.total("done"), run.total("failed")), (500, 0), "{run}");
        assert!(
            report.ends_with(&text_of(&out.join("report.html"))),
            "{path}: the page is the report at last"
        );
    }
}

#[test]
fn a_rate_is_changed_by_hand_by_either_path() {
    let _shared = beside_others();
    let ground = Ground::new();
    let target = ground.target("--no-truth");
    for path in PATHS {
        let tmux = Tmux::start(100, 30);
        let out = tmux.folder().join("run");
        let tare = tare_system_tests::binary();
        let load =
            format!("--rate 1000 --parallel 20 --duration 4s --out {} {}", out.display(), target.url());
        tmux.run(&format!("{} http {} {load}", tare.display(), via(&ground, path)));
        tmux.wait_for("/s achieved");
        tmux.keys(&["-"]);
        tmux.wait_for("909/s");
        wait_until("the result", || out.join("result.json").is_file());
        let result: Value = serde_json::from_str(&text_of(&out.join("result.json"))).expect("JSON");
        let label = result["labels"][0].as_str().expect("a label").to_owned();
        let at = label.split("after ").nth(1).and_then(|rest| rest.split(' ').next()?.parse::<f64>().ok());
        let at = at.expect("a time");
        // The label's time is to a tenth of a second, and each of the two stretches begins with a departure.
        let offered = result["totals"]["offered"].as_u64().expect("a number") as f64;
        let expected = 1_000.0 * at + 909.0 * (4.0 - at);
        assert!((offered - expected).abs() <= 0.05 * 91.0 + 2.0, "{path}: {offered}, {expected}: {label}");
        let (totals, outcomes) = (&result["totals"], &result["outcomes"]);
        let done = totals["done"].as_u64().expect("a number") as f64;
        let is_good = totals["failed"] == 0 && done > 0.8 * offered;
        assert!(is_good, "{path}: {totals} {outcomes} {}", result["notes"]);
    }
}

#[test]
fn thresholds_decide_the_exit_status_by_either_path() {
    let _shared = beside_others();
    let ground = Ground::new();
    let target = ground.target("--delay 10ms --error 503=20% --no-truth");
    for path in PATHS {
        let load = format!("{} --accept-invalid --rate 200 {}", via(&ground, path), target.url());
        let run = |load: &str, flag: &str, limits: &[&str]| {
            let tare = Tare::http(&format!("{load} --duration 1s"));
            limits.iter().fold(tare, |tare, limit| tare.arg(flag).arg(*limit)).run()
        };
        let held = |run: &Run| {
            let all = run.result["thresholds"].as_array().expect("a list").clone();
            all.iter().map(|threshold| threshold["holds"] == true).collect::<Vec<_>>()
        };
        let mixed =
            ["latency.p50 > 5ms", "status(503) > 5%", "connect.max > 1ns", "latency.p50 > 20s", "missed > 0"];
        let broken = run(&load, "--fail-if", &mixed);
        assert_eq!(
            (held(&broken), broken.code),
            (vec![false, false, false, true, true], Some(3)),
            "{path}: {broken}"
        );
        let kept = run(&load, "--fail-if", &["latency.p50 > 20s", "failed > 0", "status(404) > 0"]);
        assert_eq!((held(&kept), kept.code), (vec![true; 3], Some(0)), "{path}: {kept}");
        let early = load.replace("--rate 200", "--rate 200 --grace 1s");
        let ended = Tare::http(&format!("{early} --duration 30s")).arg("--abort-if").arg("errors > 10").run();
        assert!(ended.code == Some(3) && ended.took.as_secs() < 10, "{path}: {ended}");
        assert_eq!(ground.connections(), Vec::<String>::new(), "{path}: {ended}");
    }
}

/// Reads slowly through a window of some kilobytes, and then answers.
const NARROW: &str = r#"
import time
made = socket.create_server
def narrow(*arguments, **more):
    listener = made(*arguments, **more)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
    return listener
socket.create_server = narrow
def serve(connection):
    try:
        while True:
            left, head = 100_000, b""
            while b"\r\n\r\n" not in head:
                piece = connection.recv(512)
                if not piece:
                    return
                head += piece
            left -= len(head.split(b"\r\n\r\n", 1)[1])
            while left > 0:
                left -= len(connection.recv(min(left, 4096)))
                time.sleep(0.001)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    except OSError:
        pass
"#;

/// A target that reads slowly takes its time: its own for the request that it reads, and for those that wait
/// for a connection meanwhile. None of it is the generator's, nor in doubt. Bodies take the general path.
#[test]
fn what_waits_for_a_small_window_is_the_targets_and_blocks_what_is_behind() {
    let _light = light();
    let ground = Ground::new();
    let _server = ground.serves(NARROW);
    let folder = scratch();
    let body = folder.path().join("body");
    std::fs::write(&body, vec![b'x'; 100_000]).expect("a scratch file");
    let upload = format!("--grace 9s --timeout 9s -d @{} http://{SERVER}:8026/", body.display());
    let (each, backlog) = ("--parallel 1 --requests 8", "--parallel 1 --rate 40 --duration 600ms");
    let by = |way: &str, load: &str| match way {
        "kernel" => ground.by_kernel(&format!("{load} {upload}")).ahead().run(),
        port => ground.by(port, &format!("{load} {upload}")).ahead().run(),
    };
    for way in ["kernel", "packet"] {
        patiently(4, || {
            let run = by(way, each);
            assert_eq!((run.total("done"), run.total("failed")), (8, 0), "{run}");
            // Each takes 25 ms at least, of which next to nothing is in doubt.
            assert!(run.int("service_ns.p50") > 25_000_000, "{run}");
            let doubt = run.at("unread_bound_ns.p50").as_u64().unwrap_or(0);
            assert!(doubt < 5_000_000, "{doubt} ns: {run}");
            assert!(way == "kernel" || run.int("tcp.window_stalls") > 0, "{run}");
        });
        patiently(4, || {
            // More are due than a connection carries: late because of the target, so that none of it is tare's.
            let run = by(way, backlog);
            assert_eq!((run.total("done"), run.total("failed")), (24, 0), "{run}");
            assert!(run.int("lateness_ns.p90") > 50_000_000, "{run}");
            assert!(run.int("own_lateness_ns.p90") < 10_000_000, "{run}");
            assert!(run.int("tare_ns.p90") < 10_000_000, "{run}");
            assert!(run.int("net_ns.p90") > run.int("lateness_ns.p90"), "{run}");
        });
    }
}
