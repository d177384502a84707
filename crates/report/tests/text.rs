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
