//! The terminal summary's layout, against goldens (`TARE_BLESS=1` writes them anew), and what must hold of any.

use crate::common;
use report::{Style, summary, text_report};
use std::fs;
use std::path::PathBuf;
use store::Timeline;
use store::schema::Word;

fn golden(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(format!("{name}.txt"))
}

#[test]
fn layout() {
    for (name, result) in common::all() {
        let text = summary(&result, Style::PLAIN);
        if std::env::var_os("TARE_BLESS").is_some() {
            fs::write(golden(name), &text).unwrap();
        }
        let expected = fs::read_to_string(golden(name)).unwrap();
        assert_eq!(text, expected, "\n{name} is now:\n{text}");
    }
}

#[test]
fn never_wider_than_asked() {
    for width in [80, 90, 100] {
        for (name, result) in common::all() {
            for line in summary(&result, Style::PLAIN.with_width(width)).lines() {
                // Only what is there to be copied whole may be wider.
                let fits = line.chars().count() <= width || line.contains("report.html");
                assert!(fits, "{name} at {width}: {line}");
            }
        }
    }
}

#[test]
fn the_verdict_is_last_and_colour_changes_nothing_else() {
    let colored = Style::choose(true, None, None, false);
    for (name, result) in common::all() {
        let plain = summary(&result, Style::PLAIN);
        assert!(plain.lines().last().unwrap().contains(result.verdict.word.as_str()), "{name}");
        let colored = summary(&result, colored);
        assert_eq!(without_escapes(&colored), plain, "{name}");
        assert!(colored.contains("\x1b["));
    }
}

/// Removes `ESC [ … m`.
fn without_escapes(text: &str) -> String {
    let mut parts = text.split('\x1b');
    let first = parts.next().unwrap_or_default().to_owned();
    let plain = parts.fold(first, |plain, part| plain + part.split_once('m').unwrap().1);
    plain.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

const ENVIRONMENT: &str = "{\"cpu_model\": \"A <fast> CPU\", \"cpus_allowed\": \"0-1\", \"kernel\": \"6.18\", \
                           \"virtualisation\": \"unknown\", \"memory_total_bytes\": 8000000000}";

#[test]
fn a_stored_run_is_told_in_the_order_of_the_html_report() {
    for (name, result) in common::all() {
        let style = Style::PLAIN.with_width(80);
        let text = text_report(&result, &common::timeline(&result), ENVIRONMENT, style);
        let first = text.lines().find(|line| !line.is_empty()).unwrap();
        assert!(first.starts_with(&format!("  {} ", result.verdict.word.as_str())), "{name}: {text}");
        for line in text.lines() {
            let fits = line.chars().count() <= 80 || line.contains("report.html") || line.contains("Command");
            assert!(fits, "{name}: {line}");
        }
    }
    let result = common::degraded();
    let text = text_report(&result, &common::timeline(&result), ENVIRONMENT, Style::PLAIN);
    let parts = [
        "DEGRADED     the figures hold",
        "lateness.p99",
        "FAILED       1 of 2 thresholds",
        "Thresholds   failed  p99 < 20ms",
        "Note ",
        "Not stored   latency.hlog",
        "Command      tare http --rate 20k --duration 20s http://127.0.0.1:8080/",
        "tare http    http://127.0.0.1:8080/",
        "Rate ",
        "Requests     ",
        "service ",
        "Outcomes ",
        "By name ",
        "Generator ",
        "Offered and achieved rate",
        "Latency by percentile",
        "Environment  A <fast> CPU   CPUs 0-1   8.00 GB memory   kernel 6.18   clock tsc",
        "Report       /home/me",
    ];
    let places: Vec<usize> =
        parts.iter().map(|part| text.find(part).unwrap_or_else(|| panic!("no {part} in {text}"))).collect();
    assert!(places.is_sorted(), "{places:?} {text}");
    assert_eq!(text.matches("DEGRADED").count(), 1);
    let mut secret = result;
    secret.command = "tare http http://me:hunter2@h/".into();
    assert!(!text_report(&secret, &Timeline::default(), "", Style::PLAIN).contains("hunter2"));
}

#[test]
fn figures_of_no_answer_do_not_hold() {
    let mut result = common::only_errors();
    // Every connection was reset once it stood: the target could be reached.
    (result.labels, result.outcomes[0].key) = (Vec::new(), "first_byte.reset".into());
    for (word, said) in [
        (Word::Degraded, "no response arrived; the outcomes hold, with the stated doubt"),
        (Word::Valid, "the generator kept up, but no response arrived"),
    ] {
        result.verdict.word = word;
        // Some criteria do not hold in such a run; that of the number of answers never does.
        result.verdict.criteria[1].holds = false;
        let text = summary(&result, Style::PLAIN);
        assert!(text.trim_end().ends_with(said) && !text.contains("figures hold"), "{text}");
        assert!(report::markdown(&result).contains(said) && report::junit(&result).contains(said));
    }
}

#[test]
fn advice_that_several_criteria_share_is_said_once() {
    let mut result = common::all().into_iter().find(|(name, _)| *name == "invalid").unwrap().1;
    let failing: Vec<usize> =
        (0..result.verdict.criteria.len()).filter(|n| !result.verdict.criteria[*n].holds).collect();
    assert!(failing.len() >= 2);
    let last = failing[failing.len() - 1];
    for n in [failing[0], last] {
        result.verdict.criteria[n].advice = "Do this.".into();
    }
    assert_eq!(summary(&result, Style::PLAIN).matches("Do this.").count(), 1);
}

#[test]
fn an_unreachable_target_is_the_matter_and_not_the_generator() {
    let mut result = common::all().into_iter().find(|(name, _)| *name == "invalid").unwrap().1;
    result.labels = vec!["target unreachable".into()];
    result.outcomes =
        vec![store::schema::OutcomeCount { class: "error".into(), key: "connect.refused".into(), count: 3 }];
    let text = summary(&result, Style::PLAIN);
    let sentence = "the target could not be reached: nothing listens there (connect.refused)";
    assert_eq!(text.matches(sentence).count(), 2, "{text}");
    assert!(!text.contains("the generator, not the target") && !text.contains("add --threads"), "{text}");
}

#[test]
fn says_where_else_the_figures_went_and_what_did_not_get_there() {
    let mut result = common::all().into_iter().next().unwrap().1;
    assert!(!summary(&result, Style::PLAIN).contains("Sent to"));
    let sink = |url: &str, counts: [u64; 4]| store::schema::SinkStatus {
        url: url.into(),
        rows: counts[0],
        rows_lost: counts[1],
        events: counts[2],
        events_lost: counts[3],
        ..Default::default()
    };
    result.sinks = vec![
        sink("csv:a.csv", [10, 0, 0, 0]),
        sink("redis://:***@h/", [9, 1, 9_000, 1_000]),
        sink("k6:x", [0; 4]),
    ];
    let text = summary(&result, Style::PLAIN);
    for line in [
        "  Sent to      csv:a.csv   10 rows\n",
        "               redis://:***@h/   9 rows, 9 000 events, 1 row lost, 1 000 events lost\n",
        "               k6:x   nothing\n",
    ] {
        assert!(text.contains(line), "{line}{text}");
    }
}
