//! Limits held against stored runs that lack something.

use super::*;
use std::path::Path;
use std::time::{Duration, SystemTime};
use store::HlogWriter;

fn stored(text: &str, folder: &Path) -> StoredRun {
    let result = serde_json::from_str(text).unwrap();
    StoredRun { folder: folder.to_owned(), result, plan: String::new(), environment: String::new() }
}

fn held(run: &StoredRun, limit: &str) -> Threshold {
    let mut result = run.result.clone();
    let all_hold = hold_against(&mut result, std::slice::from_ref(run), &[limit.to_owned()]);
    let threshold = result.thresholds.pop().unwrap();
    assert_eq!(all_hold.ok(), Some(threshold.holds));
    threshold
}

#[test]
fn a_figure_that_a_stored_result_lacks_does_not_hold() {
    let text = r#"{"latency_ns":{"count":9,"mean":null,"p50":7,"p90":8},"rate":{"achieved_per_s":null}}"#;
    let run = stored(text, Path::new("/nonexistent"));
    assert!(held(&run, "latency.p50 > 1ms").holds);
    for limit in [
        "latency.mean > 1ms",
        "latency.stdev > 1ms",
        "latency.min > 1ms",
        "latency.max > 1ms",
        "latency.p99 > 1ms",
        "achieved < 1/s",
        "achieved > 9/s",
    ] {
        let threshold = held(&run, limit);
        assert!(!threshold.holds && threshold.value.is_none(), "{limit}: {threshold:?}");
    }
}

/// 99 answers of 6 ms, and one that was given up after 500 ms.
#[test]
fn a_log_without_what_never_ended_is_incomplete() {
    let folder = tempfile::tempdir().unwrap();
    let of = |millis: u64, count| {
        let mut histogram = Histogram::<u64>::new(3).unwrap();
        histogram.record_n(millis * 1_000_000, count).unwrap();
        histogram
    };
    let (latency, unfinished) = (of(6, 99), of(500, 1));
    let all = [("latency", &latency), ("unfinished", &unfinished)];
    let result = RunResult {
        latency_ns: Distribution::with_unfinished(&latency, Some(&unfinished)),
        unfinished_ns: Distribution::of(&unfinished),
        ..RunResult::default()
    };
    let run = stored(&serde_json::to_string(&result).unwrap(), folder.path());
    let keep = |series: &[(&str, &Histogram<u64>)]| {
        let mut writer = HlogWriter::new();
        let mut text = writer.head("a", SystemTime::UNIX_EPOCH);
        let lines = writer.interval(Duration::ZERO, Duration::from_secs(1), series.iter().copied());
        text.extend(lines.unwrap());
        std::fs::write(folder.path().join("latency.hlog"), text).unwrap();
    };
    keep(&all);
    assert!(!held(&run, "latency.p99.5 > 100ms").holds);
    keep(&all[..1]);
    let why = hold_against(&mut run.result.clone(), &[run], &["latency.p99.5 > 100ms".to_owned()]);
    let why = why.unwrap_err().into_error().to_string();
    assert!(why.contains("latency.hlog, which is missing or incomplete"), "{why}");
}

fn is_kept(text: &str, group: &GroupResult) -> Result<bool, Failure> {
    let mut result = RunResult { groups: vec![group.clone()], ..RunResult::default() };
    hold_against(&mut result, &[], &[text.to_owned()])
}

#[test]
fn errors_by_name_count_statuses_that_were_not_told_apart() {
    let row = |outcome, count| OutcomeCount::of(outcome, count);
    let rest = OutcomeCount::of_class(OutcomeClass::Status, 60);
    let mut group = GroupResult {
        name: "api".to_owned(),
        count: 100,
        outcomes: vec![row(Outcome::Status(200), 30), row(Outcome::Status(404), 8), rest],
        statuses: Some([0, 0, 40, 0, 18, 40, 0, 0, 0, 0]),
        ..GroupResult::default()
    };
    group.outcomes.push(row(Outcome::CutOff, 2));
    for (limit, holds) in [
        ("errors > 57% for \"api\"", false),
        ("errors > 58% for \"api\"", true),
        ("status(5xx) > 39 for \"api\"", false),
        ("status(4xx) > 18 for \"api\"", true),
        ("done < 98 for \"api\"", true),
    ] {
        assert_eq!(is_kept(limit, &group).unwrap(), holds, "{limit}");
    }
    // A result of an older version.
    group.statuses = None;
    assert!(is_kept("errors > 57% for \"api\"", &group).is_err());
    assert!(is_kept("done < 98 for \"api\"", &group).unwrap());
    group.outcomes.retain(|row| !row.key.is_empty());
    assert!(is_kept("errors > 8% for \"api\"", &group).unwrap());
}
