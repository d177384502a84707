//! OpenTelemetry's own messages in Python decode what we send.

use super::servers::Otlp;
use serde_json::Value;
use tare_system_tests::{Run, Tare, Target, beside_others};

fn run(receiver: &Otlp, options: &str) -> Run {
    let target = Target::start("--delay 2ms --error 503=10% --reset 2% --no-truth");
    let to = format!("otlp+http://127.0.0.1:{}{options}", receiver.port());
    Tare::http(&format!("--accept-invalid --rate 300 --duration 3s {} --to {to}", target.url()))
        .env("OTEL_EXPORTER_OTLP_HEADERS", "x-key=s3cret%3D")
        .run()
}

/// The metrics of a request, which has one resource and one scope.
fn metrics(request: &Value) -> &Vec<Value> {
    request["message"]["resourceMetrics"][0]["scopeMetrics"][0]["metrics"].as_array().expect("metrics")
}

/// The metric of this name in the last request.
#[track_caller]
fn last<'a>(requests: &'a [Value], name: &str) -> &'a Value {
    let request = requests.last().expect("there are requests");
    let found = metrics(request).iter().find(|metric| metric["name"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {request}"))
}

/// 64-bit whole numbers are texts in protobuf's JSON.
fn whole(value: &Value) -> u64 {
    value.as_str().and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("{value} is no whole number"))
}

fn wholes(list: &Value) -> Vec<u64> {
    list.as_array().into_iter().flatten().map(whole).collect()
}

#[track_caller]
fn check_sums(requests: &[Value], run: &Run) {
    for key in ["offered", "sent", "done", "failed", "missed", "cut_off"] {
        let sum = &last(requests, &format!("tare.{key}"))["sum"];
        assert_eq!(whole(&sum["dataPoints"][0]["asInt"]), run.total(key), "{key}: {run}");
        assert_eq!(sum["aggregationTemporality"], "AGGREGATION_TEMPORALITY_CUMULATIVE");
        assert_eq!(sum["isMonotonic"], true);
    }
    let received = whole(&last(requests, "tare.received.size")["sum"]["dataPoints"][0]["asInt"]);
    assert_eq!(received, run.total("bytes_in"), "{run}");
    let mut found: Vec<(String, String, u64)> = Vec::new();
    for point in last(requests, "tare.requests")["sum"]["dataPoints"].as_array().expect("points") {
        let attribute = |key: &str| {
            let all = point["attributes"].as_array().into_iter().flatten();
            all.filter(|a| a["key"] == key).map(|a| a["value"]["stringValue"].to_string()).collect::<String>()
        };
        found.push((attribute("outcome"), attribute("code"), whole(&point["asInt"])));
    }
    let outcomes = run.result["outcomes"].as_array().expect("outcomes is a list");
    let mut told: Vec<(String, String, u64)> = outcomes
        .iter()
        .map(|o| (o["class"].to_string(), o["key"].to_string(), o["count"].as_u64().expect("a count")))
        .collect();
    found.sort();
    told.sort();
    assert!(told.len() >= 3, "200, 503 and resets: {run}");
    assert_eq!(found, told, "{run}");
}

#[track_caller]
fn check_resource(requests: &[Value], run: &Run) {
    let resource = &requests[0]["message"]["resourceMetrics"][0]["resource"];
    let told = |key: &str| {
        let all = resource["attributes"].as_array().into_iter().flatten();
        all.filter(|a| a["key"] == key).map(|a| a["value"]["stringValue"].clone()).next().unwrap_or_default()
    };
    assert_eq!(told("service.name"), "tare");
    assert_eq!(&told("tare.run"), run.at("run"));
    assert_eq!(&told("tare.plan_hash"), run.at("plan_hash"));
    for request in requests {
        assert_eq!(request["headers"]["content-type"], "application/x-protobuf");
        assert_eq!(request["headers"]["x-key"], "s3cret=");
    }
    assert!(!run.stdout.contains("s3cret") && !run.stderr.contains("s3cret"), "{run}");
}

/// The value at or below which that share of all lies: somewhere in a bucket, given as its bounds.
fn bucket_of(share: f64, counts: &[u64], bounds: impl Fn(usize) -> (f64, f64)) -> (f64, f64) {
    let all: u64 = counts.iter().sum();
    let rank = (share * all as f64).ceil() as u64;
    let mut sum = 0;
    let reaches = counts.iter().position(|count| {
        sum += count;
        sum >= rank
    });
    bounds(reaches.expect("the counts are not empty"))
}

#[track_caller]
fn check_quantiles(run: &Run, bucket: impl Fn(f64) -> (f64, f64)) {
    for (share, key) in [(0.5, "p50"), (0.9, "p90"), (0.99, "p99")] {
        let ((low, high), told) = (bucket(share), run.float(&format!("latency_ns.{key}")) / 1e9);
        assert!(
            low * 0.998 < told && told < high * 1.002,
            "{key} is {told}, its bucket {low} to {high}: {run}"
        );
    }
}

#[test]
fn exponential_histograms() {
    let _shared = beside_others();
    let receiver = Otlp::start("");
    let run = run(&receiver, "");
    assert_eq!((&run.at("sinks")[0]["rows_lost"], run.code), (&0.into(), Some(0)), "{run}");
    let requests = receiver.requests();
    // One when it begins, one for each row, one when it ends.
    let rows = run.result["intervals"].as_array().expect("intervals is a list").len();
    assert_eq!(requests.len(), rows + 2, "{run}");
    check_resource(&requests, &run);
    check_sums(&requests, &run);
    let metric = last(&requests, "tare.latency");
    assert_eq!(metric["unit"], "s");
    let point = &metric["exponentialHistogram"]["dataPoints"][0];
    assert_eq!(whole(&point["count"]), run.total("done"), "{run}");
    let (sum, mean) = (point["sum"].as_f64().expect("a sum"), run.float("latency_ns.mean") / 1e9);
    assert!((sum / run.total("done") as f64 / mean - 1.0).abs() < 1e-3, "{sum}: {run}");
    // OTLP: bucket i of `positive` holds what is above base^(offset+i) and at most base^(offset+i+1).
    let base = 2f64.powf(2f64.powi(-(point["scale"].as_i64().expect("a scale") as i32)));
    let offset = point["positive"]["offset"].as_i64().expect("an offset") as i32;
    let counts = wholes(&point["positive"]["bucketCounts"]);
    assert_eq!(counts.iter().sum::<u64>(), run.total("done"), "{run}");
    assert!(base < 1.022, "buckets are 2.2 % wide");
    let bounds = |index: usize| (base.powi(offset + index as i32), base.powi(offset + index as i32 + 1));
    check_quantiles(&run, |share| bucket_of(share, &counts, bounds));
}

#[test]
fn explicit_histograms() {
    let _shared = beside_others();
    let receiver = Otlp::start("");
    let run = run(&receiver, "?histograms=explicit");
    let requests = receiver.requests();
    check_sums(&requests, &run);
    let point = &last(&requests, "tare.latency")["histogram"]["dataPoints"][0];
    let counts = wholes(&point["bucketCounts"]);
    assert_eq!(counts.iter().sum::<u64>(), run.total("done"), "{run}");
    let edges: Vec<f64> =
        point["explicitBounds"].as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
    assert_eq!(counts.len(), edges.len() + 1);
    let edge = |index: usize| edges.get(index).copied().unwrap_or(f64::INFINITY);
    let bounds = |index: usize| (if index == 0 { 0.0 } else { edge(index - 1) }, edge(index));
    check_quantiles(&run, |share| bucket_of(share, &counts, bounds));
}

#[test]
fn what_is_rejected_counts_as_lost() {
    let _shared = beside_others();
    // It takes the first request, which has one data point.
    let receiver = Otlp::start("--reject 7");
    let run = run(&receiver, "");
    let sink = &run.at("sinks")[0];
    let trouble = sink["trouble"].as_str().unwrap_or_default();
    assert!(trouble.contains("it rejected 7 of ") && trouble.contains("('out of room')"), "{sink}: {run}");
    assert_eq!(sink["rows"].as_u64(), Some(0), "{sink}: {run}");
    assert_eq!(run.criterion("sinks.lost").severity, "DEGRADED", "{run}");
}
