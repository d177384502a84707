//! What holds for every run, whatever was done to it.

use crate::run::Run;
use serde_json::Value;

/// offered = done + failed + missed + cut off; the outcomes and the intervals add up to the totals; each
/// histogram has one value for each event; the word is the worst of the criteria; the status follows the word.
#[track_caller]
pub fn check_conservation(run: &Run) {
    assert_eq!(run.at("schema"), "tare.result/1", "{run}");
    check_totals(run);
    check_outcomes(run);
    check_intervals(run);
    check_verdict(run);
    check_status(run);
}

#[track_caller]
fn check_totals(run: &Run) {
    let total = |key| run.total(key);
    let ended = total("done") + total("failed") + total("missed") + total("cut_off");
    assert_eq!(total("offered"), ended, "offered is not what ended: {run}");
    assert_eq!(total("sent"), total("offered") - total("missed"), "sent is not what was not missed: {run}");
    if run.at("packets").is_object() {
        // Nobody answers frames, and those that are sent as fast as possible or received have no due time.
        return;
    }
    assert_eq!(run.int("latency_ns.count"), total("done"), "one latency for each answer: {run}");
    assert_eq!(run.int("service_ns.count"), total("done"), "one service time for each answer: {run}");
    assert_eq!(run.int("lateness_ns.count"), total("sent"), "one lateness for each that left: {run}");
    assert_eq!(run.int("failed_ns.count"), total("failed"), "one time for each failure: {run}");
}

#[track_caller]
fn check_outcomes(run: &Run) {
    let list = run.result["outcomes"].as_array().expect("outcomes is a list");
    let of = |class: &str| -> u64 {
        list.iter().filter(|o| o["class"] == class).map(|o| o["count"].as_u64().expect("a count")).sum()
    };
    assert_eq!(of("status") + of("frame"), run.total("done"), "{run}");
    assert_eq!(of("error"), run.total("failed"), "{run}");
    assert_eq!(of("missed"), run.total("missed"), "{run}");
    assert_eq!(of("cut_off"), run.total("cut_off"), "{run}");
    let known = ["status", "frame", "error", "missed", "cut_off"];
    assert!(list.iter().all(|o| known.iter().any(|class| o["class"] == *class)), "an unknown class: {run}");
}

#[track_caller]
fn check_intervals(run: &Run) {
    let rows = run.result["intervals"].as_array().expect("intervals is a list");
    let sum = |key: &str| -> u64 { rows.iter().filter_map(|row| row[key].as_u64()).sum() };
    for key in ["done", "failed", "missed", "cut_off"] {
        assert_eq!(sum(key), run.total(key), "{key} of the intervals: {run}");
    }
    let with_warmup = run.total("offered") + run.int("warmup.count");
    assert_eq!(sum("offered"), with_warmup, "offered of the intervals: {run}");
}

#[track_caller]
fn check_verdict(run: &Run) {
    const ORDER: [&str; 3] = ["VALID", "DEGRADED", "INVALID"];
    let rank =
        |word: &str| ORDER.iter().position(|w| *w == word).unwrap_or_else(|| panic!("word {word}: {run}"));
    let criteria = run.criteria();
    assert!(criteria.len() >= 8, "a verdict needs its inputs: {run}");
    let worst = criteria.iter().map(|c| rank(&c.severity)).max().expect("there are criteria");
    assert_eq!(rank(run.word()), worst, "the word is the worst of the criteria: {run}");
    for criterion in &criteria {
        assert_eq!(
            criterion.holds,
            criterion.advice.is_empty(),
            "advice where it fails, only there: {criterion:?}"
        );
        assert!(!criterion.holds || criterion.severity == "VALID", "{criterion:?}");
    }
}

/// The first that applies: interrupted, unreachable, INVALID, a threshold failed, a file that was not written.
#[track_caller]
fn check_status(run: &Run) {
    let labels: Vec<&Value> = run.result["labels"].as_array().into_iter().flatten().collect();
    let accepted = run.command.contains("--accept-invalid");
    let expected = if labels.iter().any(|label| *label == "interrupted") {
        assert_eq!(run.at("partial"), true, "{run}");
        130
    } else if labels.iter().any(|label| *label == "target unreachable") {
        5
    } else if run.word() == "INVALID" && !accepted {
        4
    } else if run.result["thresholds"].as_array().into_iter().flatten().any(|t| t["holds"] == false) {
        3
    } else {
        // Of a run folder that is there, each file is to be.
        let has_folder = run.at("store.folder").as_str().is_some_and(|folder| !folder.is_empty());
        let has_lost = run.at("store.lost").as_array().is_some_and(|lost| !lost.is_empty());
        i32::from(has_folder && has_lost)
    };
    assert_eq!(run.code, Some(expected), "the status does not follow the result: {run}");
}
