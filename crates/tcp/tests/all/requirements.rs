//! The table of all requirements of RFC 9293: each has a test that exists, or a reason why it has none.

use crate::specification::read;
use std::collections::BTreeSet;

const KINDS: [(&str, usize); 4] = [("MUST", 69), ("SHLD", 31), ("REC", 1), ("MAY", 18)];

#[test]
fn every_requirement_of_rfc_9293_has_a_test_or_a_reason() {
    let table: toml::Table = read("spec/rfc9293.toml").parse().expect("TOML");
    let listed: BTreeSet<String> = table.keys().cloned().collect();
    let all: BTreeSet<String> = KINDS
        .iter()
        .flat_map(|(kind, count)| (1..=*count).map(move |number| format!("{kind}-{number}")))
        .collect();
    assert_eq!(all.len(), 119);
    assert_eq!(listed, all);
    let mut wrong = Vec::new();
    for (id, row) in &table {
        let text = |key: &str| row.get(key).map(|value| value.as_str().expect("text"));
        if text("says").is_none_or(str::is_empty) {
            wrong.push(format!("{id} does not say what it is"));
        }
        match (text("test"), text("out")) {
            (Some(test), None) if exists(test) => {}
            (Some(test), None) => wrong.push(format!("{id}: there is no test {test}")),
            (None, Some(why)) if why.len() > 10 => {}
            _ => wrong.push(format!("{id} needs one of: a test, why it is out")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whether `FILE::NAME` is a test.
fn exists(test: &str) -> bool {
    let (file, name) = test.split_once("::").expect("FILE::NAME");
    let (text, wanted) = (read(file), format!("fn {name}()"));
    let mut lines = text.lines().map(str::trim).zip(text.lines().skip(1).map(str::trim));
    lines.any(|(before, line)| before == "#[test]" && line.starts_with(&wanted))
}
