//! Whether the files of two plans held the same. Their names stand in the plans, and say little.

use crate::trial::Trial;
use std::path::Path;
use store::schema::InputFile;

/// What the first file that was another is called, and how it differs; `None` if all were the same, as far as
/// that is known. Plans of one load have their files in one order.
pub(crate) fn other(first: &Trial, trial: &Trial) -> Option<String> {
    let (one, another) = pairs(first, trial).find(|(one, another)| one.is_same(another) == Some(false))?;
    let name = |of: &InputFile| Path::new(&of.file).file_name().map(|name| name.display().to_string());
    let how = if one.bytes == another.bytes {
        "other content".to_owned()
    } else {
        format!("{} bytes and {}", one.bytes, another.bytes)
    };
    let called = name(one).unwrap_or_else(|| one.file.clone());
    Some(format!("{called} was not the same file in {} and {}: {how}", first.name, trial.name))
}

/// Whether two values of a plan name files that held the same.
pub(crate) fn is_one_file(first: &Trial, from: &str, trial: &Trial, to: &str) -> bool {
    let names = |input: &InputFile, value: &str| {
        Path::new(&input.file).ends_with(value.trim_matches('"').trim_start_matches("pcap:"))
    };
    pairs(first, trial)
        .any(|(one, another)| names(one, from) && names(another, to) && one.is_same(another) == Some(true))
}

fn pairs<'a>(first: &'a Trial, trial: &'a Trial) -> impl Iterator<Item = (&'a InputFile, &'a InputFile)> {
    first.inputs.iter().zip(&trial.inputs)
}
