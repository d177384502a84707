//! No text of this program can claim confidence without a computation: the words stand in `claim.rs` alone.

use std::path::{Path, PathBuf};

/// Every source file of every crate, but for this crate's own.
fn sources() -> Vec<PathBuf> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut folders: Vec<PathBuf> = std::fs::read_dir(crates)
        .expect("this crate is among the others")
        .filter_map(|entry| Some(entry.ok()?.path().join("src")))
        .filter(|folder| folder.is_dir() && !folder.ends_with("stats/src"))
        .collect();
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder that was just seen").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                files.push(path);
            }
        }
    }
    files
}

/// What may be said elsewhere: that there is none, or what a test of two sides has.
const MAY: [&str; 4] =
    ["No confidence: ", "\"no confidence\"", "without any confidence", "true change with a confidence of"];

/// The parts of a line of code that are text: between quotes, without what follows `//`.
fn is_text(line: &str) -> bool {
    let code = line.trim_start();
    !code.starts_with("//") && code.contains(['"', '\\']) || code.starts_with(char::is_lowercase)
}

#[test]
fn nobody_else_says_confident() {
    let mut found = Vec::new();
    let files = sources();
    assert!(files.len() > 100, "only {} sources were found", files.len());
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a source file is text");
        let tests = text.find("#[cfg(test)]").unwrap_or(text.len());
        for line in text[..tests].lines().filter(|line| is_text(line)) {
            let lower = line.to_lowercase();
            let claims = lower.contains("confident") || lower.contains("confidence") && lower.contains('"');
            if claims && !MAY.iter().any(|may| line.contains(may)) && !is_name(line) {
                found.push(format!("{}: {}", file.display(), line.trim()));
            }
        }
    }
    assert!(found.is_empty(), "an Interval says how sure it is, and nothing else:\n{}", found.join("\n"));
}

/// A name in the code, not a word for people: `confidence: f64`, `Finding::NoConfidence`, `CONFIDENCE`.
fn is_name(line: &str) -> bool {
    let outside: String = line.split('"').step_by(2).collect();
    let inside: String = line.split('"').skip(1).step_by(2).collect();
    outside.to_lowercase().contains("confiden") && !inside.to_lowercase().contains("confiden")
}

#[test]
fn the_words_are_where_they_belong() {
    let claim = include_str!("../../src/claim.rs");
    assert_eq!(claim.matches("% confident: ").count() - claim.matches("(95 % confident: ").count(), 1);
}
