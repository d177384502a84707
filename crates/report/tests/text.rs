//! The terminal summary's layout, against goldens (`TARE_BLESS=1` writes them anew), and what must hold of any.

mod common;

use report::{Style, summary};
use std::fs;
use std::path::PathBuf;

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
