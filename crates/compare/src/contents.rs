//! Whether the files of two plans held the same.

use crate::trial::Trial;
use std::path::Path;
use store::held::{held, is_unread, name, names_a_file};
use store::schema::InputFile;

/// What the first file that was another is called, and how it differs; `None` if all were the same, as far as
/// that is known.
pub(crate) fn other(first: &Trial, trial: &Trial) -> Option<String> {
    let held = held(&first.inputs, &trial.inputs);
    let (one, another) = held.pairs.into_iter().find(|(one, another)| one.is_same(another) == Some(false))?;
    let how = if one.bytes == another.bytes {
        "other content".to_owned()
    } else {
        format!("{} bytes and {}", one.bytes, another.bytes)
    };
    Some(format!("{} was not the same file in {} and {}: {how}", name(one), first.name, trial.name))
}

/// Of which files nobody knows whether they held the same.
pub(crate) fn unknown(first: &Trial, trial: &Trial) -> Vec<String> {
    let mut files = held(&first.inputs, &trial.inputs).unknown;
    if is_unread(&first.plan, &first.inputs) && is_unread(&trial.plan, &trial.inputs) {
        files.push("each of the plan's files".to_owned());
    }
    files.iter().map(|file| store::unknown(file, &first.name, &trial.name)).collect()
}

/// Whether two values of a key of a plan name files that held the same.
pub(crate) fn is_one_file(key: &str, first: &Trial, from: &str, trial: &Trial, to: &str) -> bool {
    let names = |input: &InputFile, value: &str| {
        let value = value.trim_matches('"');
        // Of a port, the place: what follows the options.
        let value =
            value.rsplit_once("pcap").and_then(|(_, rest)| rest.split_once(':')).map_or(value, |it| it.1);
        Path::new(&input.file).ends_with(value)
    };
    let are_files = [from, to].iter().all(|value| names_a_file(key, value));
    let held = held(&first.inputs, &trial.inputs);
    let mut pairs = held.pairs.into_iter();
    are_files
        && pairs.any(|(one, another)| {
            names(one, from) && names(another, to) && one.is_same(another) == Some(true)
        })
}
