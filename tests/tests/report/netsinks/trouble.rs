//! Servers that are down, mute, wrong or not willing: the run goes on, and the message says what to do.

use super::servers::{Mute, Otlp, Prometheus};
use std::time::Duration;
use tare_system_tests::nginx::ClosedPort;
use tare_system_tests::{Run, Tare, Target, beside_others, scratch};

/// Every kind that speaks to a server, at that port.
fn each(port: u16) -> [String; 4] {
    [
        format!("prometheus+http://me:s3cret@127.0.0.1:{port}"),
        format!("otlp+http://me:s3cret@127.0.0.1:{port}"),
        format!("influxdb://me:s3cret@127.0.0.1:{port}/load"),
        format!("influxdb2://127.0.0.1:{port}/me/load?token=s3cret"),
    ]
}

fn run(places: &[String]) -> Run {
    let (target, folder) = (Target::start("--no-truth"), scratch());
    let out = folder.path().join("run");
    let mut tare = Tare::http(&format!("--rate 200 --duration 2s --out {} {}", out.display(), target.url()));
    for place in places {
        tare = tare.arg("--to").arg(place);
    }
    let run = tare.run();
    assert!(out.join("result.json").is_file() && out.join("intervals.jsonl").is_file(), "{run}");
    run
}

/// All of it is lost, and everybody is told by name; the load was not held up.
#[track_caller]
fn check_lost(run: &Run, expected: &str) {
    assert_eq!(run.criterion("sinks.lost").severity, "DEGRADED", "{run}");
    assert_eq!(run.total("done"), 400, "{run}");
    let rows = run.result["intervals"].as_array().expect("intervals is a list").len() as u64;
    for sink in run.result["sinks"].as_array().expect("sinks is a list") {
        assert_eq!(
            (sink["rows"].as_u64(), sink["rows_lost"].as_u64()),
            (Some(0), Some(rows)),
            "{sink}: {run}"
        );
        let trouble = sink["trouble"].as_str().unwrap_or_default();
        assert!(trouble.contains(expected), "{trouble} has no '{expected}': {run}");
        let url = sink["url"].as_str().expect("a URL");
        assert!(run.stderr.contains(url), "{url} is not told at once: {run}");
    }
    assert!(!run.stdout.contains("s3cret") && !run.stderr.contains("s3cret"), "{run}");
}

#[test]
fn down() {
    let _shared = beside_others();
    let closed = ClosedPort::take();
    let run = run(&each(closed.port()));
    check_lost(&run, "nobody listens there: is it up?");
    // 2 s of load, 5 s of patience for those who may come back, and some for a busy machine.
    assert!(run.took < Duration::from_secs(14), "{run}");
}

#[test]
fn mute() {
    let _shared = beside_others();
    let mute = Mute::start();
    let run = run(&each(mute.port()));
    check_lost(&run, "no response within 5 s");
    // 5 s until the load begins all the same, 2 s of load, 5 s of patience, 1 s for the call that is on its
    // way; and a machine whose disk is busy.
    assert!(run.took < Duration::from_secs(60), "{run}");
}

#[test]
fn a_page_where_another_program_listens() {
    let _shared = beside_others();
    let mute = Mute::start();
    let run = run(&[format!("prometheus://127.0.0.1:{}", mute.port())]);
    check_lost(&run, "another program listens there; name another port, or 0 for a free one");
}

#[test]
fn not_http_at_all() {
    let _shared = beside_others();
    let target = Target::start("--garbage 100% --no-truth");
    let run = run(&each(target.port()));
    check_lost(&run, "does not speak HTTP");
}

#[test]
fn another_path_or_another_program() {
    let _shared = beside_others();
    let target = Target::start("--status 404 --size 0 --no-truth");
    let places = each(target.port());
    let run = run(&places);
    check_lost(&run, "404");
    let trouble = |at: usize| run.at("sinks")[at]["trouble"].as_str().unwrap_or_default().to_owned();
    assert!(trouble(0).contains("nothing is at /api/v1/write; check the path"), "{run}");
    assert!(trouble(1).contains("its port is mostly 4318"), "{run}");
    assert!(trouble(2).contains("influxdb2:// is for version 2"), "{run}");
    assert!(trouble(3).contains("influxdb://HOST/DATABASE is for version 1"), "{run}");
}

#[test]
fn a_password_that_is_wrong() {
    let _shared = beside_others();
    let target = Target::start("--status 401 --size 0 --no-truth");
    let run = run(&each(target.port()));
    check_lost(&run, "is not accepted");
}

#[test]
fn a_server_that_is_busy_is_tried_again() {
    let _shared = beside_others();
    let target = Target::start("--status 503 --size 0");
    let run = run(&each(target.port()));
    check_lost(&run, "it responded with 503");
    let asked = target.truth().records.len();
    // A nap of 50 ms at first, 1 s at most, over 7 s: about 10 for each of four.
    assert!((12..=80).contains(&asked), "{asked} attempts: {run}");
}

#[test]
fn over_tls_to_those_who_are_trusted() {
    let _shared = beside_others();
    let folder = scratch();
    let ca = folder.path().join("ca.pem");
    let target = Target::start(&format!("--tls --tls-write-cert {} --size 0 --no-truth", ca.display()));
    let to = |ca: &str| vec![format!("otlp+https://127.0.0.1:{}?ca={ca}", target.port())];
    let trusted = run(&to(&ca.display().to_string()));
    assert_eq!(trusted.at("sinks")[0]["rows_lost"], 0, "{trusted}");
    let refused = run(&[format!("otlp+https://127.0.0.1:{}", target.port())]);
    check_lost(&refused, "name its authority's PEM file with ?ca=FILE");
}

#[test]
fn a_prometheus_that_takes_no_remote_write_is_told_how() {
    let _shared = beside_others();
    let prometheus = Prometheus::start("", &[]);
    let run = run(&[format!("prometheus+http://127.0.0.1:{}", prometheus.port())]);
    check_lost(&run, "start it with --web.enable-remote-write-receiver");
}

#[test]
fn a_receiver_that_recovers_gets_everything() {
    let _shared = beside_others();
    let (target, receiver) = (Target::start("--no-truth"), Otlp::start("--busy 1"));
    let to = format!("otlp+http://127.0.0.1:{}", receiver.port());
    let running = Tare::http(&format!("--rate 200 --duration 3s {} --to {to}", target.url())).start();
    running.sleep_until(Duration::from_millis(1_500));
    receiver.go();
    let run = running.finish();
    let sink = &run.at("sinks")[0];
    let rows = run.result["intervals"].as_array().expect("intervals is a list").len() as u64;
    assert_eq!((sink["rows"].as_u64(), sink["rows_lost"].as_u64()), (Some(rows), Some(0)), "{sink}: {run}");
    assert!(
        run.stderr.contains("it responded with 503 ('busy'); it is tried again while the run goes on"),
        "{run}"
    );
    assert_eq!(receiver.requests().len() as u64, rows + 2, "{run}");
}

#[test]
fn what_is_wrong_with_the_url_is_said_before_any_load() {
    let _shared = beside_others();
    let target = Target::start("");
    for (to, expected) in [
        ("prometheus://0.0.0.0:0", "name an address of 127.0.0.0/8, or add ?public=1"),
        ("prometheus://127.0.0.1:0?linger=1h", "linger is at most"),
        ("prometheus+http://h?histograms=nativ", "is none of classic, native and both"),
        ("otlp+http://h?histograms=native", "is neither exponential nor explicit"),
        ("influxdb://h", "its path is not that of influxdb://"),
        ("influxdb2://h/org", "its path is not that of influxdb2://"),
        ("influxdb2://h/org/bucket", "has no token; put it into INFLUX_TOKEN or ?token="),
        ("influxdb+https://h/db?ca=/nowhere.pem", "ca=/nowhere.pem: "),
        ("otlp+https://h?ca=/dev/null", "holds no certificate; expected a PEM file"),
    ] {
        let run = Tare::http(&format!("--rate 100 --duration 1s {}", target.url()));
        let run = run.arg("--to").arg(to).start().finish_unchecked();
        assert_eq!(run.code, Some(2), "{to}: {run}");
        assert!(run.stderr.contains(expected), "{to} says no '{expected}': {}", run.stderr);
    }
    assert!(target.truth().records.is_empty(), "nothing was sent");
}
