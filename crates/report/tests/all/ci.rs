//! What CI servers read: JUnit XML and Markdown of results made by hand.

use crate::common;
use measure::Label;
use store::RunResult;
use store::schema::{Criterion, Threshold, Word};

fn threshold(expression: &str, value: Option<f64>, holds: bool) -> Threshold {
    Threshold { expression: expression.into(), value, holds, unit: "ns".into(), ..Threshold::default() }
}

fn result(word: Word) -> RunResult {
    let mut result = common::valid();
    result.verdict.word = word;
    result.thresholds = vec![
        threshold("latency.p99 > 50ms", Some(81e6), false),
        threshold("latency.p50 > 50ms", Some(1e6), true),
        Threshold {
            window_s: Some(10.0),
            at_s: Some(24.0),
            aborts: true,
            ..threshold("service.p99 for \"<&>\" > 50ms in any 10s", Some(60e6), false)
        },
        threshold("tls.p99 > 1s", None, false),
    ];
    result
}

#[test]
fn junit_has_a_case_for_the_verdict_and_one_for_each_threshold() {
    let text = report::junit(&result(Word::Valid));
    assert!(
        text.contains("<testsuites name=\"tare\" tests=\"5\" skipped=\"0\" failures=\"3\" errors=\"0\""),
        "{text}"
    );
    for part in [
        "<testcase name=\"verdict\" classname=\"tare.verdict\">\n            <system-out>VALID: ",
        "<testcase name=\"latency.p99 &gt; 50ms\" classname=\"tare.fail_if\">\n            <failure message=\"was 81.0 ms\"",
        "<testcase name=\"latency.p50 &gt; 50ms\" classname=\"tare.fail_if\">\n            <system-out>was 1.00 ms",
        "name=\"service.p99 for &quot;&lt;&amp;&gt;&quot; &gt; 50ms in any 10s\" classname=\"tare.abort_if\"",
        "<failure message=\"was 60.0 ms in the 10.0 s until 24.0 s\"",
        "<failure message=\"nothing to measure\"",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn junit_fails_an_invalid_run_and_says_what_to_do() {
    let mut invalid = result(Word::Invalid);
    invalid.thresholds.clear();
    invalid.target = "http://h/\u{1b}[2J\u{0}".into();
    invalid.verdict.criteria.push(Criterion {
        name: "lateness.p99".into(),
        value: 2e6,
        limit: 5e4,
        unit: "ns".into(),
        severity: Word::Invalid,
        advice: "use fewer <connections>".into(),
        ..Criterion::default()
    });
    let text = report::junit(&invalid);
    assert!(text.contains("tests=\"1\" skipped=\"0\" failures=\"1\""), "{text}");
    let failure = "<failure message=\"INVALID: the generator, not the target, limited this run\" type=\"tare.verdict\">";
    assert!(text.contains(failure), "{text}");
    assert!(text.contains("lateness.p99: 2.00 ms, at most 50.0 µs. use fewer &lt;connections&gt;"), "{text}");
    assert!(!text.contains(['\u{1b}', '\u{0}']), "what XML cannot have is left out: {text}");
}

#[test]
fn junit_has_an_error_for_a_run_that_ended_early_unless_a_limit_says_so() {
    let mut run = result(Word::Valid);
    run.partial = true;
    run.labels = vec![Label::Interrupted];
    let text = report::junit(&run);
    assert!(text.contains("tests=\"6\" skipped=\"0\" failures=\"3\" errors=\"1\""), "{text}");
    let error = format!("<error message=\"{}\" type=\"tare.complete\"/>", Label::Interrupted);
    assert!(text.contains(&error), "{error} {text}");
    let aborting =
        run.thresholds.iter().find(|threshold| threshold.aborts).expect("one of the limits aborts");
    run.labels = vec![Label::Aborted { limit: aborting.expression.clone(), reading: "60.0 ms".into() }];
    let text = report::junit(&run);
    assert!(text.contains("tests=\"5\" skipped=\"0\" failures=\"3\" errors=\"0\""), "{text}");
}

#[test]
fn markdown_has_verdict_thresholds_figures_and_names() {
    let text = report::markdown(&result(Word::Valid));
    for line in [
        "### Thresholds: 3 of 4 failed",
        "| **failed** | fail if `latency.p99 > 50ms` | 81.0 ms |",
        "| holds | fail if `latency.p50 > 50ms` | 1.00 ms |",
        "| **failed** | abort if `service.p99 for \"<&>\" > 50ms in any 10s` | 60.0 ms in the 10.0 s until 24.0 s |",
        "| **failed** | fail if `tls.p99 > 1s` | nothing to measure |",
        "| time | mean | p50 | p90 | p99 | p99.9 | max |",
        "| load |  |",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    assert!(text.starts_with("## VALID: "), "{text}");
    // A table is a block of lines with as many cells each.
    for block in text.split("\n\n").filter(|block| block.starts_with('|')) {
        let cells = |line: &str| line.replace("\\|", "").matches('|').count();
        let first = block.lines().next().map(cells);
        assert!(block.lines().all(|line| Some(cells(line)) == first), "{block}");
    }
    assert!(!report::markdown(&common::valid()).is_empty());
}

#[test]
fn a_result_of_nothing_is_no_reason_to_fail() {
    let nothing = RunResult::default();
    assert!(report::junit(&nothing).contains("failures=\"1\""), "without a verdict it is INVALID");
    assert!(report::markdown(&nothing).starts_with("## INVALID: "));
}
