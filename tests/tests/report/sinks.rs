//! `--to` a file or standard output: read back by the readers that exist for each, and equal to `result.json`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use tare_system_tests::{Recorder, Run, Tare, Target, beside_others};

/// What a Python program, which reads with the standard library, prints as JSON.
fn python(program: &str, arguments: &[&Path]) -> Value {
    tare_system_tests::need("python3");
    let output =
        Command::new("python3").arg("-c").arg(program).args(arguments).output().expect("python3 runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "python: {said}");
    serde_json::from_slice(&output.stdout).expect("the program prints JSON")
}

/// One place that `--to` named.
#[track_caller]
fn sink<'a>(run: &'a Run, url: &str) -> &'a Value {
    let sinks = run.result["sinks"].as_array().unwrap_or_else(|| panic!("no sinks in {run}"));
    sinks
        .iter()
        .find(|sink| sink["url"].as_str().is_some_and(|shown| shown.starts_with(url)))
        .unwrap_or_else(|| panic!("no sink {url} in {sinks:?}"))
}

const LOAD: &str = "--rate 400 --duration 1500ms --warmup 500ms --accept-invalid";

#[test]
fn files_say_what_the_result_says() {
    let _shared = beside_others();
    let folder = tare_system_tests::scratch();
    let at = |name: &str| folder.path().join(name);
    let target = Target::start("--delay fixed:2ms --error 503=0.1 --no-truth");
    let mut tare = Tare::http(&format!("{LOAD} --out {} {}", at("run").display(), target.url()));
    for place in ["csv:a.csv", "jsonl:a.jsonl?events=1", "hdr:a.hlog", "k6:a.k6", "k6:b.k6?events=1"] {
        let (kind, file) = place.split_once(':').expect("a kind and a file");
        tare = tare.arg("--to").arg(format!("{kind}:{}/{file}", folder.path().display()));
    }
    let run = tare.run();
    let rows = run.result["intervals"].as_array().expect("rows").len() as u64;
    let all = run.total("offered") + run.int("warmup.count");
    for sink in run.result["sinks"].as_array().expect("sinks") {
        assert_eq!(sink["rows_lost"].as_u64().unwrap() + sink["events_lost"].as_u64().unwrap(), 0, "{run}");
        assert_eq!(sink["trouble"], Value::Null, "{run}");
        let with_events = sink["url"].as_str().unwrap().ends_with("events=1");
        assert_eq!(sink["events"], if with_events { all } else { 0 }, "{run}");
    }
    assert_eq!(sink(&run, "csv:")["rows"], rows);
    assert!(run.criterion("sinks.lost").holds);

    let csv = python(CSV, &[&at("a.csv")]);
    assert_eq!(csv["rows"], rows);
    for key in ["done", "failed", "missed", "cut_off"] {
        assert_eq!(csv[key], run.total(key), "{key} of {csv} in {run}");
    }
    let last = &run.result["intervals"][rows as usize - 1];
    assert_eq!(csv["last_t_s"].as_f64(), last["t_s"].as_f64());

    let json = python(JSONL, &[&at("a.jsonl")]);
    assert_eq!(
        json["types"],
        serde_json::json!({"run": 1, "start": 1, "interval": rows, "event": all, "result": 1})
    );
    for outcome in run.result["outcomes"].as_array().expect("outcomes") {
        let name = format!("{}.{}", outcome["class"].as_str().unwrap(), outcome["key"].as_str().unwrap());
        assert_eq!(json["measured"][&name], outcome["count"], "{name} of {json} in {run}");
    }
    assert_eq!(json["done"], run.total("done"));
    // The mean in result.json is that of histogram buckets 0.1 % wide.
    let mean = json["latency_mean"].as_f64().unwrap();
    tare_system_tests::assert_close("mean latency", mean, run.float("latency_ns.mean"), 0.001);
    check_k6(&run, &at("a.k6"), &at("b.k6"));
    check_hdr(&run, &at("a.hlog"));
}

/// Columns by their names; sums of counts.
const CSV: &str = "
import csv, json, sys
rows = list(csv.DictReader(open(sys.argv[1], newline='')))
sums = {key: sum(int(row[key]) for row in rows) for key in ['done', 'failed', 'missed', 'cut_off']}
print(json.dumps({'rows': len(rows), 'last_t_s': float(rows[-1]['t_s']), **sums}))
";

/// Lines by type, measured events by outcome, and the mean latency of the answers.
const JSONL: &str = "
import collections, json, sys
types, measured, latencies = collections.Counter(), collections.Counter(), []
for line in open(sys.argv[1]):
    line = json.loads(line)
    types[line['type']] += 1
    if line['type'] == 'event' and not line['warmup']:
        measured[line['class'] + '.' + line['key']] += 1
        if line['class'] == 'status':
            latencies.append(line['latency_ns'])
    if line['type'] == 'result':
        done = line['totals']['done']
mean = sum(latencies) / len(latencies)
print(json.dumps({'types': types, 'measured': measured, 'done': done, 'latency_mean': mean}))
";

/// Values of each metric's points, with the points of the warm-up left out.
const K6: &str = "
import collections, datetime, json, sys
defined, sums, counts = set(), collections.Counter(), collections.Counter()
for line in open(sys.argv[1]):
    line = json.loads(line)
    if line['type'] == 'Metric':
        defined.add(line['data']['name'])
        continue
    assert line['type'] == 'Point' and line['metric'] in defined, line
    datetime.datetime.strptime(line['data']['time'][:26], '%Y-%m-%dT%H:%M:%S.%f')
    if 'warmup' not in line['data']['tags']:
        sums[line['metric']] += line['data']['value']
        counts[line['metric']] += 1
print(json.dumps({'sums': sums, 'counts': counts}))
";

fn check_k6(run: &Run, by_interval: &Path, by_event: &Path) {
    let answered = run.total("done") + run.total("failed");
    let of = |file| python(K6, &[file]);
    let (intervals, events) = (of(by_interval), of(by_event));
    for points in [&intervals, &events] {
        assert_eq!(points["sums"]["http_reqs"].as_f64(), Some(answered as f64), "{points} in {run}");
        assert_eq!(points["sums"]["data_received"].as_f64(), Some(run.total("bytes_in") as f64), "{points}");
    }
    assert_eq!(events["counts"]["http_req_duration"], answered);
    assert_eq!(events["sums"]["http_req_failed"].as_f64(), Some(run.outcome("503") as f64));
    let mean_ms = events["sums"]["tare_latency"].as_f64().unwrap() / answered as f64;
    tare_system_tests::assert_close("k6's latency", mean_ms * 1e6, run.float("latency_ns.mean"), 0.001);
}

fn check_hdr(run: &Run, file: &Path) {
    let text = std::fs::read(file).expect("the log is there");
    let mut merged = Histogram::<u64>::new(3).expect("three digits");
    let mut reader = Deserializer::new();
    for entry in IntervalLogIterator::new(&text) {
        let LogEntry::Interval(interval) = entry.expect("a line that the reader understands") else {
            continue;
        };
        if interval.tag().is_some_and(|tag| tag.as_str() == "latency") {
            let bytes = STANDARD.decode(interval.encoded_histogram()).expect("base64");
            let histogram: Histogram<u64> =
                reader.deserialize(&mut bytes.as_slice()).expect("a V2 histogram");
            merged.add(&histogram).expect("values within an hour");
        }
    }
    assert_eq!(merged.len(), run.total("done"));
    assert_eq!(merged.value_at_quantile(0.99), run.int("latency_ns.p99"));
}

#[test]
fn standard_output_is_the_sinks_alone() {
    let _shared = beside_others();
    let target = Target::start("--no-truth");
    let load = format!("http --no-progress --no-save {LOAD} --to jsonl:- {}", target.url());
    let run = Tare::new(&load).start().finish_unchecked();
    let types: Vec<String> = run
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap_or_else(|why| panic!("{why}: {line}")))
        .map(|line| line["type"].as_str().expect("each line has a type").to_owned())
        .collect();
    assert_eq!((types[0].as_str(), types[types.len() - 1].as_str()), ("run", "result"));
    assert!(run.stderr.contains("400/s offered"), "the summary is on standard error: {}", run.stderr);

    let both = Tare::http(&format!("{LOAD} --to csv:- {}", target.url())).start().finish_unchecked();
    assert_eq!(both.code, Some(2));
    assert!(both.stderr.contains("--to csv:- and --json both write to standard output"), "{}", both.stderr);
    let both = Tare::new(&format!("{load} --junit -")).start().finish_unchecked();
    assert_eq!((both.code, both.stdout.as_str()), (Some(2), ""));
    assert!(both.stderr.contains("can use standard output"), "{}", both.stderr);
}

#[test]
fn a_place_that_can_not_be_meant_stops_the_run_before_any_load() {
    let _shared = beside_others();
    let folder = tare_system_tests::scratch();
    let full = folder.path().join("full.csv");
    std::fs::write(&full, "precious").expect("a scratch file");
    let recorder = Recorder::start();
    let told = |place: &str, words: &str| {
        let run =
            Tare::http(&format!("{LOAD} {} --to", recorder.url())).arg(place).start().finish_unchecked();
        assert_eq!(run.code, Some(2), "{place}: {run}");
        assert!(run.stderr.contains(words), "{place} is told as: {}", run.stderr);
    };
    told("x.csv", "--to x.csv: names no kind; there are csv, ");
    told("kafka://127.0.0.1", "kafka is not a kind of sink");
    told(&format!("csv:{}", folder.path().display()), "this is a folder; name a file in it");
    told(&format!("csv:{}", full.display()), "the file is not empty; remove it, or name another");
    told(&format!("jsonl:{}/no/x", folder.path().display()), "its folder does not exist");
    told("csv:a.csv?events=1", "there is no option events");
    told(
        "redis://:secret@127.0.0.1/zero",
        "--to redis://:***@127.0.0.1/zero: /zero is not the number of a database",
    );
    assert_eq!(recorder.requests().len(), 0, "something was sent");
    assert_eq!(std::fs::read_to_string(full).expect("it is still there"), "precious");
}

#[test]
fn a_full_disk_degrades_and_the_run_folder_is_complete() {
    let _shared = beside_others();
    let folder = tare_system_tests::scratch();
    let out = folder.path().join("run");
    let target = Target::start("--no-truth");
    // /dev/full answers every write with ENOSPC.
    let load = format!("{LOAD} --out {} --to jsonl:/dev/full?events=1 {}", out.display(), target.url());
    let run = Tare::http(&load).run();
    let rows = run.result["intervals"].as_array().expect("rows").len();
    let sink = sink(&run, "jsonl:/dev/full");
    assert_eq!((sink["rows"].as_u64(), sink["rows_lost"].as_u64()), (Some(0), Some(rows as u64)), "{run}");
    assert_eq!(sink["events_lost"], run.total("offered") + run.int("warmup.count"), "{run}");
    let criterion = run.criterion("sinks.lost");
    assert_eq!(criterion.severity, "DEGRADED");
    assert!(criterion.advice.contains("jsonl:/dev/full?events=1"), "{}", criterion.advice);
    assert!(criterion.advice.contains("the disk is full"), "{}", criterion.advice);
    assert!(run.stderr.contains("jsonl:/dev/full?events=1: the disk is full"), "{}", run.stderr);
    assert_eq!(run.at("store.lost"), &serde_json::json!([]), "{run}");
    for file in ["result.json", "intervals.jsonl", "latency.hlog", "report.html"] {
        assert!(out.join(file).is_file(), "{file} is missing");
    }
}
