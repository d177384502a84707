//! The verdict and each threshold as test cases, for the test reports of CI servers (JUnit XML, as Jenkins
//! reads it).
//!
//! ```text
//! testsuite "tare http: URL"
//!   testcase verdict          fails if INVALID
//!   testcase complete         only of a run that ended early: an error, unless a threshold ended it
//!   testcase latency.p99 > 50ms, one for each threshold
//! ```

use crate::words;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use std::time::Duration;
use store::RunResult;
use store::schema::{Threshold, Verdict, Word};

/// The XML document.
pub fn junit(result: &RunResult) -> String {
    let took = Duration::try_from_secs_f64(result.rate.duration_s).unwrap_or_default();
    let mut suite = TestSuite::new(format!("tare {}: {}", result.engine, result.target));
    let facts = [
        ("run", &result.run),
        ("load", &result.load),
        ("command", &result.command),
        ("plan_hash", &result.plan_hash),
        ("started_at", &result.started_at),
        ("version", &result.version),
    ];
    for (name, value) in facts.into_iter().filter(|(_, value)| !value.is_empty()) {
        suite.add_property((name, value.as_str()));
    }
    suite.set_time(took);
    suite.add_test_case(verdict(result));
    suite.add_test_cases(incomplete(result));
    suite.add_test_cases(result.thresholds.iter().map(threshold));
    let mut report = Report::new("tare");
    report.set_time(took);
    report.add_test_suite(suite);
    report.to_string().expect("text without control characters can be written to memory as XML")
}

fn verdict(result: &RunResult) -> TestCase {
    let verdict = &result.verdict;
    let unreachable = words::unreachable(result);
    let sentence = unreachable.clone().unwrap_or_else(|| words::verdict(result));
    let said = format!("{}: {sentence}", verdict.word.as_str());
    let doubts = doubts(verdict);
    let fails = verdict.word == Word::Invalid || unreachable.is_some();
    let mut case = test_case("verdict", "tare.verdict", fails, &said, &doubts);
    if !fails {
        case.set_system_out([said.as_str(), &doubts].join("\n").trim_end());
    }
    case
}

/// What a run that ended early does not show is no success, whatever the rest says.
fn incomplete(result: &RunResult) -> Option<TestCase> {
    let ended_by_limit = result.thresholds.iter().any(|threshold| result.was_ended_by(threshold));
    if !result.partial || ended_by_limit {
        return None;
    }
    let labels: Vec<String> = result.labels.iter().map(ToString::to_string).collect();
    let why =
        if labels.is_empty() { "the run ended before it was complete".to_owned() } else { labels.join("; ") };
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
    status.set_message(why);
    status.set_type("tare.complete");
    let mut case = TestCase::new("complete", status);
    case.set_classname("tare.complete");
    Some(case)
}

/// Criteria that do not hold, one a line, with what to do.
fn doubts(verdict: &Verdict) -> String {
    let failing = verdict.criteria.iter().filter(|criterion| !criterion.holds);
    let lines = failing.map(|criterion| {
        let value = words::in_unit(criterion.value, &criterion.unit);
        let limit = words::limit(criterion.limit, criterion);
        format!("{}: {value}, {limit}. {}", criterion.name, criterion.advice)
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn threshold(threshold: &Threshold) -> TestCase {
    let value = words::threshold_value(threshold);
    let value = if threshold.value.is_some() { format!("was {value}") } else { value };
    let kind = if threshold.aborts { "tare.abort_if" } else { "tare.fail_if" };
    let mut case = test_case(&threshold.expression, kind, !threshold.holds, &value, "");
    if threshold.holds {
        case.set_system_out(&value);
    }
    case
}

fn test_case(name: &str, class: &str, fails: bool, message: &str, text: &str) -> TestCase {
    let status = if fails {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
        status.set_message(message);
        status.set_type(class);
        if !text.is_empty() {
            status.set_description(text);
        }
        status
    } else {
        TestCaseStatus::success()
    };
    let mut case = TestCase::new(name, status);
    case.set_classname(class);
    case
}
