//! `latency.hlog` is opened by HdrHistogram's own log reader, and says what `result.json` says.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use std::collections::BTreeMap;
use tare_system_tests::{Tare, Target, beside_others};

#[test]
fn hdrhistograms_reader_finds_the_percentiles_of_the_result() {
    let _shared = beside_others();
    let folder = tare_system_tests::scratch();
    let out = folder.path().join("run");
    let target = Target::start("--delay exponential:4ms --no-truth");
    let load = "--rate 500 --duration 2500ms --threads 2";
    let run = Tare::http(&format!("{load} --out {} {}", out.display(), target.url())).run();
    let log = std::fs::read(out.join("latency.hlog")).expect("the run folder has latency.hlog");

    let mut merged: BTreeMap<String, Histogram<u64>> = BTreeMap::new();
    let mut starts = Vec::new();
    let mut reader = Deserializer::new();
    for entry in IntervalLogIterator::new(&log) {
        let LogEntry::Interval(interval) = entry.expect("a line that the reader understands") else {
            continue;
        };
        let tag = interval.tag().expect("each line is tagged").as_str().to_owned();
        if tag == "latency" {
            starts.push(interval.start_timestamp().as_secs_f64());
        }
        let bytes = STANDARD.decode(interval.encoded_histogram()).expect("base64");
        let histogram: Histogram<u64> = reader.deserialize(&mut bytes.as_slice()).expect("a V2 histogram");
        merged
            .entry(tag)
            .or_insert_with(|| Histogram::new_with_bounds(1, 3_600_000_000_000, 3).expect("usual bounds"))
            .add(&histogram)
            .expect("values within an hour");
    }
    // 2.5 s in intervals of a second.
    assert!((3..=4).contains(&starts.len()), "{starts:?}");
    assert!(starts.windows(2).all(|pair| pair[0] < pair[1]), "{starts:?}");
    for series in ["latency", "service", "lateness", "connect", "first_byte"] {
        let histogram =
            merged.get(series).unwrap_or_else(|| panic!("no series {series}: {:?}", merged.keys()));
        let figure = |key: &str| run.int(&format!("{series}_ns.{key}"));
        assert_eq!(histogram.len(), figure("count"), "{series}: {run}");
        for (key, quantile) in [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p99_9", 0.999)] {
            // Both have three digits; the two histograms may part their buckets otherwise: one in a thousand.
            let (ours, theirs) = (figure(key) as f64, histogram.value_at_quantile(quantile) as f64);
            assert!((ours - theirs).abs() <= 0.001 * theirs + 1.0, "{series} {key}: {ours} and {theirs}");
        }
    }
}
