//! Whether the files of two runs held the same. Their names stand in the plans, and say little.

use crate::schema::InputFile;
use std::path::Path;

/// Keys of plans whose values are files.
const KEYS: [&str; 10] =
    ["file", "body_file", "body_stream", "at", "replay", "gaps", "list", "lengths", "pcap", "rules"];
/// Keys of plans whose values may be ports.
const PORTS: [&str; 6] = ["port", "servers", "send", "receive", "input", "output"];

/// What is known of two runs' files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Held<'a> {
    /// Two of which one stands where the other did.
    pub pairs: Vec<(&'a InputFile, &'a InputFile)>,
    /// Names of those of which nobody knows whether they held the same.
    pub unknown: Vec<String>,
}

/// Whether a value of this key of a plan names a file.
pub fn names_a_file(key: &str, value: &str) -> bool {
    let key = key.rsplit('.').next().unwrap_or(key);
    let is_path = value.starts_with('"');
    is_path && (KEYS.contains(&key) || (PORTS.contains(&key) && value.contains("pcap")))
}

/// Pairs the files of two runs: by their places where there are as many, or else by their names.
pub fn held<'a>(first: &'a [InputFile], other: &'a [InputFile]) -> Held<'a> {
    let mut held = Held::default();
    if first.len() == other.len() {
        held.pairs.extend(first.iter().zip(other));
    } else {
        let mut left: Vec<&InputFile> = other.iter().collect();
        for one in first {
            let by = |alike: fn(&InputFile, &InputFile) -> bool| left.iter().position(|two| alike(one, two));
            match by(|one, two| one.file == two.file).or_else(|| by(|one, two| name(one) == name(two))) {
                Some(at) => held.pairs.push((one, left.remove(at))),
                None => held.unknown.push(name(one)),
            }
        }
        held.unknown.extend(left.into_iter().map(name));
    }
    let is_unknown = |(one, two): &&(&InputFile, &InputFile)| one.is_same(two).is_none();
    held.unknown.extend(held.pairs.iter().filter(is_unknown).map(|(one, _)| name(one)));
    held
}

/// Whether a plan names files of which its run knows nothing: older versions did not look at them.
pub fn is_unread(plan: &str, inputs: &[InputFile]) -> bool {
    inputs.is_empty()
        && plan
            .lines()
            .filter_map(|line| line.split_once(" = "))
            .any(|(key, value)| KEYS.contains(&key) && value.starts_with('"') || value.contains("{line:"))
}

/// Without its folder.
pub fn name(of: &InputFile) -> String {
    let name = Path::new(&of.file).file_name().map(|name| name.display().to_string());
    name.unwrap_or_else(|| of.file.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::slice::from_ref;

    fn file(name: &str, bytes: u64, sha256: Option<&str>) -> InputFile {
        InputFile { file: name.to_owned(), bytes, sha256: sha256.map(str::to_owned) }
    }

    #[test]
    fn what_nobody_knows_is_told() {
        let (known, pipe) = (file("/a/u", 3, Some("x")), file("/dev/stdin", 0, None));
        assert_eq!(held(from_ref(&known), from_ref(&known)).unknown, [""; 0]);
        assert_eq!(held(from_ref(&pipe), from_ref(&pipe)).unknown, ["stdin"]);
        assert_eq!(held(from_ref(&known), from_ref(&pipe)).unknown, ["u"]);
        assert_eq!(held(from_ref(&known), &[]).unknown, ["u"]);
        let moved = file("/b/u", 3, Some("x"));
        let (first, other) = ([known.clone()], [pipe.clone(), moved.clone()]);
        let mixed = held(&first, &other);
        assert_eq!((mixed.pairs, mixed.unknown), (vec![(&known, &moved)], vec!["stdin".to_owned()]));
        // A size tells two files apart, and no pipe from anything.
        assert_eq!(file("u", 5, None).is_same(&file("u", 6, None)), Some(false));
        assert_eq!(pipe.is_same(&known), None);
    }

    #[test]
    fn a_plan_with_files_and_no_inputs_is_an_older_ones() {
        assert!(is_unread("file = \"u\"\n", &[]) && is_unread("url = \"http://h/{line:a}\"\n", &[]));
        assert!(!is_unread("url = \"http://h/\"\n", &[]) && !is_unread("gaps = 5\n", &[]));
        assert!(!is_unread("file = \"u\"\n", &[file("u", 1, None)]));
        assert!(names_a_file("request.body_file", "\"b\"") && !names_a_file("request.body", "\"b\""));
        assert!(names_a_file("gaps.port", "\"pcap:a\"") && !names_a_file("send.port", "\"veth0\""));
    }
}
