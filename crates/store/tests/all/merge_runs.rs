//! Runs added up.

use crate::rows::{now, result, row};
use std::path::Path;
use store::schema::{Criterion, GroupResult, Label, OutcomeCount, Rates, Totals, Verdict, Word};
use store::{Distribution, RunFolder, RunResult, Sink, StoredRun, load_run, merge_runs, merged_timeline};
use units::{Outcome, OutcomeClass};

/// The seconds `from..to` of the rows made by hand, as a finished run: (n + 1) answers of 10 ms each.
fn run(out: &Path, name: &str, seconds: std::ops::Range<u64>, word: Word) -> StoredRun {
    let groups =
        ["home", "search"].map(|name| GroupResult { name: name.to_owned(), ..GroupResult::default() });
    let mut sink = RunFolder::create(Some(out), "http", now()).unwrap();
    sink.begin(&RunResult { groups: groups.to_vec(), ..result() });
    let length = seconds.end - seconds.start;
    let done: u64 = seconds.clone().map(|n| n + 1).sum();
    for (at, n) in seconds.enumerate() {
        let mut row = row(n);
        (row.index, row.start) = (at as u64, units::Picos::from_secs(at as u64));
        sink.row(&row);
    }
    let holds = word == Word::Valid;
    let mut whole = RunResult {
        totals: Totals { offered: done + length, sent: done, done, missed: length, ..Totals::default() },
        rate: Rates {
            achieved_per_s: done as f64 / length as f64,
            duration_s: length as f64,
            ..Rates::default()
        },
        verdict: Verdict {
            word,
            criteria: vec![Criterion { holds, advice: "spin".to_owned(), ..Criterion::default() }],
        },
        latency_ns: Distribution { count: done, ..Distribution::default() },
        ..result()
    };
    whole.groups = groups.to_vec();
    whole.groups[0].count = 7;
    sink.end_rows(&mut whole);
    sink.save(&mut whole);
    let mut stored = load_run(out).unwrap();
    stored.result.run = name.to_owned();
    stored
}

#[test]
fn counts_and_buckets_add_and_the_verdict_is_the_worst() {
    let base = tempfile::tempdir().unwrap();
    let runs = [
        run(&base.path().join("a"), "a", 0..3, Word::Valid),
        run(&base.path().join("b"), "b", 0..2, Word::Degraded),
    ];
    let all = merge_runs(&runs);
    // 1 + 2 + 3 answers in 3 s and 1 + 2 in 2 s; one departure without a port in each second.
    assert_eq!((all.totals.offered, all.totals.done, all.totals.missed), (14, 9, 5));
    assert_eq!(all.latency_ns.count, 9);
    // Every answer took 10 ms from its due time, within 0.1 %.
    assert!((10_000_000..=10_010_000).contains(&all.latency_ns.p50), "{:?}", all.latency_ns);
    assert_eq!((all.rate.duration_s, all.rate.achieved_per_s), (5.0, 9.0 / 5.0));
    assert_eq!((all.verdict.word, all.verdict.criteria.len()), (Word::Degraded, 1));
    assert_eq!(all.verdict.criteria[0].advice, "in b: spin");
    assert_eq!(all.labels, ["merged from a, b".into()]);
    assert_eq!(all.groups[0].count, 14);
    let starts: Vec<f64> = all.intervals.iter().map(|row| row.t_s).collect();
    assert_eq!(starts, [0.0, 1.0, 2.0, 3.0, 4.0]);
    let timeline = merged_timeline(&runs, 400);
    assert!(timeline.bins.iter().all(|bin| bin.exact && !bin.heat.is_empty()));
    assert_eq!(timeline.bins.iter().map(|bin| bin.row.t_s).collect::<Vec<_>>(), starts);
}

#[test]
fn a_log_without_what_never_ended_gives_no_percentiles_of_all() {
    let base = tempfile::tempdir().unwrap();
    let mut runs = [
        run(&base.path().join("a"), "a", 0..3, Word::Valid),
        run(&base.path().join("b"), "b", 0..2, Word::Valid),
    ];
    assert_eq!(merge_runs(&runs).latency_ns.count, 9);
    // Two were given up, and their lines are gone.
    runs[1].result.unfinished_ns.count = 2;
    let all = merge_runs(&runs);
    assert_eq!(all.latency_ns.count, 0);
    assert!(all.notes.iter().any(|note| note.contains("latency.hlog of b")), "{:?}", all.notes);
}

#[test]
fn without_buckets_there_are_no_percentiles_of_all() {
    let base = tempfile::tempdir().unwrap();
    let runs = [
        run(&base.path().join("a"), "a", 0..3, Word::Valid),
        run(&base.path().join("b"), "b", 0..2, Word::Valid),
    ];
    std::fs::remove_file(base.path().join("b/latency.hlog")).unwrap();
    let all = merge_runs(&runs);
    assert_eq!((all.totals.done, all.latency_ns.count, all.verdict.word), (9, 0, Word::Valid));
    assert!(all.notes.iter().any(|note| note.contains("latency.hlog of b")), "{:?}", all.notes);
    assert_eq!(merge_runs(&[]).totals.done, 0);
}

#[test]
fn what_is_true_of_each_run_is_a_label_of_all() {
    let base = tempfile::tempdir().unwrap();
    let labels = |a: &[Label], b: &[Label]| {
        let mut runs = ["a", "b"].map(|name| run(&base.path().join(name), name, 0..1, Word::Valid));
        (runs[0].result.labels, runs[1].result.labels) = (a.to_vec(), b.to_vec());
        let merged = merge_runs(&runs);
        for name in ["a", "b"] {
            std::fs::remove_dir_all(base.path().join(name)).unwrap();
        }
        merged.labels.into_iter().skip(1).collect::<Vec<_>>()
    };
    for label in [Label::Unreachable, Label::SimulatedTime, Label::Interrupted] {
        let one = std::slice::from_ref(&label);
        assert_eq!(labels(one, one), one);
    }
    // A target that answered one of them could be reached.
    assert_eq!(
        labels(&[Label::Unreachable], &[Label::Interrupted]),
        ["a: target unreachable".into(), "b: interrupted".into()]
    );
}

#[test]
fn statuses_of_a_name_add_where_some_are_not_told_apart() {
    let base = tempfile::tempdir().unwrap();
    let mut runs = ["a", "b"].map(|name| run(&base.path().join(name), name, 0..1, Word::Valid));
    let sums = [0, 0, 3, 0, 0, 9, 0, 0, 0, 0];
    runs[0].result.groups[0].outcomes =
        vec![OutcomeCount::of(Outcome::Status(200), 3), OutcomeCount::of_class(OutcomeClass::Status, 9)];
    runs[0].result.groups[0].statuses = Some(sums);
    runs[1].result.groups[0].outcomes = vec![OutcomeCount::of(Outcome::Status(404), 5)];
    assert_eq!(merge_runs(&runs).groups[0].statuses(), Some([0, 0, 3, 0, 5, 9, 0, 0, 0, 0]));
    // An older result has no sums, so there are none of both.
    runs[0].result.groups[0].statuses = None;
    assert_eq!(merge_runs(&runs).groups[0].statuses(), None);
}
