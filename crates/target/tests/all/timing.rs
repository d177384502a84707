//! The programmed times hold on the wire, and the truth says what they really were.

use crate::common::{ask, ask_once, connect, read_answer, request, start};
use std::collections::HashMap;
use std::io::Write;
use std::time::{Duration, Instant};
use target::How;

/// Columns of one line of a truth file.
fn records(path: &std::path::Path) -> Vec<HashMap<String, String>> {
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    lines
        .map(|line| {
            let values: Vec<&str> = line.split(',').collect();
            assert_eq!(values.len(), names.len(), "{line}");
            names.iter().map(|n| n.to_string()).zip(values.iter().map(|v| v.to_string())).collect()
        })
        .collect()
}

fn number(record: &HashMap<String, String>, column: &str) -> u64 {
    record[column].parse().unwrap()
}

fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[test]
fn a_delay_is_never_shorter_and_the_truth_lies_inside_what_the_client_saw() {
    let dir = tempfile::tempdir().unwrap();
    let csv = dir.path().join("truth.csv");
    let target = start(&format!("delay = \"5ms\"\ntruth = {{ records = {csv:?} }}"));
    let mut stream = connect(target.addrs()[0]);
    let mut seen = Vec::new();
    for seq in 0..50 {
        let before = monotonic_ns();
        assert_eq!(ask(&mut stream, &format!("/?seq={seq}")).unwrap().status, 200);
        seen.push((before, monotonic_ns()));
    }
    let truth = target.stop().unwrap();
    let records = records(&csv);
    assert_eq!((truth.requests, records.len()), (50, 50));
    for (record, (before, after)) in records.iter().zip(&seen) {
        let (arrival, answer) = (number(record, "arrival_ns"), number(record, "answer_ns"));
        // The clock's conversion to CLOCK_MONOTONIC may be a few µs off: 20 µs is the error that is allowed.
        assert!(before - 20_000 < arrival && answer < after + 20_000, "{before} {record:?} {after}");
        assert!(answer - arrival >= 5_000_000 && after - before >= 5_000_000);
        assert_eq!(number(record, "complete_ns"), arrival);
        assert!(number(record, "accepted_ns") < arrival);
    }
    let seqs: Vec<u64> = records.iter().map(|r| number(r, "seq")).collect();
    assert_eq!(seqs, (0..50).collect::<Vec<u64>>());
    let service = truth.service_ns.unwrap();
    assert!(service.min >= 5_000_000 && service.p50 < 6_000_000, "{service:?}");
}

#[test]
fn many_delays_at_once_do_not_move_each_other() {
    let target = start("delay = \"uniform:20ms,60ms\"\nspin = false");
    let addr = target.addrs()[0];
    let mut streams: Vec<_> = (0..200).map(|_| connect(addr)).collect();
    let before = Instant::now();
    for stream in &mut streams {
        stream.write_all(request("/").as_bytes()).unwrap();
    }
    for stream in &mut streams {
        assert_eq!(read_answer(stream).unwrap().status, 200);
    }
    // One after another they would take 8 s.
    assert!(before.elapsed() < Duration::from_secs(1));
    let service = target.stop().unwrap().service_ns.unwrap();
    assert!(service.min >= 20_000_000 && service.count == 200);
    // Mean of the uniform: 40 ms ± 4 · 11.5 ms / √200, and up to 5 ms for a busy machine.
    assert!((36.7e6..48.3e6).contains(&service.mean), "{service:?}");
}

#[test]
fn a_stall_stops_everything_and_then_all_goes_on() {
    let target = start("stall = [{ at = \"100ms\", for = \"300ms\" }]");
    let addr = target.addrs()[0];
    let mut stream = connect(addr);
    ask(&mut stream, "/").unwrap();
    let first = Instant::now();
    std::thread::sleep(Duration::from_millis(150));
    let before = first.elapsed();
    ask(&mut stream, "/").unwrap();
    let after = first.elapsed();
    assert!(
        before < Duration::from_millis(350) && after >= Duration::from_millis(395),
        "{before:?} {after:?}"
    );
    assert!(after < Duration::from_millis(600));
    let quick = Instant::now();
    ask_once(addr, "/");
    assert!(quick.elapsed() < Duration::from_millis(250));
}

#[test]
fn the_rate_limit_holds_over_all_connections_and_workers() {
    let target = start("rate = \"1000/s\"\nworkers = 2");
    let addr = target.addrs()[0];
    let mut streams: Vec<_> = (0..50).map(|_| connect(addr)).collect();
    let before = Instant::now();
    for _ in 0..4 {
        for stream in &mut streams {
            stream.write_all(request("/").as_bytes()).unwrap();
        }
        for stream in &mut streams {
            read_answer(stream).unwrap();
        }
    }
    // 200 requests at 1 ms: the last begins 199 ms after the first, if none of the slots was missed.
    let took = before.elapsed();
    assert!(took >= Duration::from_millis(199) && took < Duration::from_secs(1), "{took:?}");
}

#[test]
fn truth_and_stats_count_what_the_clients_counted() {
    let dir = tempfile::tempdir().unwrap();
    let (csv, summary) = (dir.path().join("truth.csv"), dir.path().join("truth.json"));
    let target = start(&format!(
        "workers = 2\nsize = \"uniform:0,4KiB\"\nfaults = {{ errors = [{{ status = 503, share = \"30%\" }}] }}\n\
         truth = {{ records = {csv:?}, summary = {summary:?}, expected_rate = \"1000/s\" }}"
    ));
    let addr = target.addrs()[0];
    let clients: Vec<_> = (0..8)
        .map(|_| {
            std::thread::spawn(move || {
                let mut stream = connect(addr);
                let (mut errors, mut bytes) = (0u64, 0u64);
                for _ in 0..250 {
                    let answer = ask(&mut stream, "/").unwrap();
                    errors += u64::from(answer.status == 503);
                    bytes += (answer.head.len() + answer.body.len()) as u64;
                }
                (errors, bytes)
            })
        })
        .collect();
    let counted: Vec<(u64, u64)> = clients.into_iter().map(|c| c.join().unwrap()).collect();
    let errors: u64 = counted.iter().map(|c| c.0).sum();
    let bytes: u64 = counted.iter().map(|c| c.1).sum();
    let stats = target.stats();
    assert_eq!((stats.requests, stats.status(503), stats.status(200)), (2_000, errors, 2_000 - errors));
    assert_eq!((stats.bytes_out, stats.bytes_in), (bytes, 2_000 * request("/").len() as u64));
    let truth = target.stop().unwrap();
    assert_eq!((truth.requests, truth.accepted, truth.truth_lost), (2_000, 8, 0));
    assert_eq!(truth.ended_as(How::Whole), 2_000);
    let records = records(&csv);
    assert_eq!(records.len(), 2_000);
    assert_eq!(records.iter().filter(|r| r["status"] == "503").count() as u64, errors);
    assert_eq!(records.iter().map(|r| number(r, "bytes_out")).sum::<u64>(), bytes);
    let json: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&summary).unwrap()).unwrap();
    assert_eq!(json["requests"], 2_000);
    assert_eq!(json["answers"]["503"], errors);
    let gaps = truth.arrivals.unwrap();
    assert_eq!(gaps.gap_ns.unwrap().count, 1_999);
    assert_eq!(gaps.gap_error_ns.unwrap().count, 1_999);
    assert_eq!(gaps.line_deviation_ns.unwrap().count, 2_000);
}

#[test]
fn arrivals_are_stamped_when_they_come() {
    let target = start("truth = { expected_rate = \"100/s\" }\nspin = true");
    let mut stream = connect(target.addrs()[0]);
    let start = Instant::now();
    let mut sent = Vec::new();
    for n in 0..30u32 {
        let due = start + Duration::from_millis(10) * n;
        while Instant::now() < due {
            std::thread::sleep((due - Instant::now()).min(Duration::from_millis(1)));
        }
        sent.push(monotonic_ns());
        ask(&mut stream, "/").unwrap();
    }
    let own: Vec<u64> = sent.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let arrivals = target.stop().unwrap().arrivals.unwrap();
    let mut own_sorted = own.clone();
    own_sorted.sort_unstable();
    // The target's median gap is the client's own within what a busy machine moves one arrival by.
    let median = arrivals.gap_ns.unwrap().p50;
    assert!(median.abs_diff(own_sorted[own.len() / 2]) < 2_000_000, "{median}");
    // And its rate the client's own, which is near 100/s only on a machine that is not busy.
    let rate = 29e9 / (sent[29] - sent[0]) as f64;
    assert!((arrivals.rate_per_s / rate - 1.0).abs() < 0.05, "{}, not {rate}", arrivals.rate_per_s);
}

#[test]
fn a_trickled_answer_takes_its_time_and_others_do_not_wait_for_it() {
    let target = start("");
    let addr = target.addrs()[0];
    let mut slow = connect(addr);
    let before = Instant::now();
    slow.write_all(request("/?size=20&trickle=1&gap=10ms").as_bytes()).unwrap();
    let quick = Instant::now();
    for _ in 0..50 {
        ask_once(addr, "/");
    }
    assert!(quick.elapsed() < Duration::from_millis(600), "{:?}", quick.elapsed());
    let answer = read_answer(&mut slow).unwrap();
    assert_eq!(answer.body.len(), 20);
    // Head and body are a byte each 10 ms; the first comes at once.
    let bytes = answer.head.len() + 20;
    assert!(before.elapsed() >= Duration::from_millis(10) * (bytes as u32 - 1));
}

#[test]
fn a_slow_reader_gets_a_large_body_and_blocks_nobody() {
    let target = start("");
    let addr = target.addrs()[0];
    let mut slow = connect(addr);
    slow.write_all(request("/?size=30MB").as_bytes()).unwrap();
    let quick = Instant::now();
    for _ in 0..50 {
        ask_once(addr, "/");
    }
    assert!(quick.elapsed() < Duration::from_millis(500), "{:?}", quick.elapsed());
    let answer = read_answer(&mut slow).unwrap();
    assert_eq!(answer.body.len(), 30_000_000);
    let unit = b"tare known-truth target body 0123456789 abcdefghijklmnopqrstuvw\n";
    assert!(answer.body.chunks(64).all(|chunk| chunk == &unit[..chunk.len()]));
}
