//! From what was typed to a run.
//!
//! | typed | means |
//! |---|---|
//! | `2026-11-20T12-00-00Z-http-7f3a` | the run of that name |
//! | `7f3a`, `2026-11-20T12` | the one run whose name ends or begins so |
//! | `last`, `last~1` | the newest run, the one before it |
//! | `before`, `tag:before` | the one run with that tag |
//! | `./out`, `/srv/out`, `out/result.json` | the run in that folder, listed or not |

use crate::Catalogue;
use crate::entry::Entry;
use crate::error::CatalogueError;
use crate::folder;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// How many names a message suggests.
const NEAR: usize = 3;

impl Catalogue {
    /// The folder of the one run that `typed` can mean. A name that is in no list may be a folder right here.
    pub fn folder_of(&self, typed: &str) -> Result<PathBuf, CatalogueError> {
        if let Some(folder) = by_path(typed)? {
            return Ok(folder);
        }
        match self.find(typed) {
            Ok(entry) => Ok(entry.folder.clone()),
            Err(error @ CatalogueError::NotFound { .. }) => beside(typed).ok_or(error),
            Err(error) => Err(error),
        }
    }

    /// The one run that `typed` can mean, paths apart.
    pub fn find(&self, typed: &str) -> Result<&Entry, CatalogueError> {
        let typed = typed.trim();
        if typed.is_empty() {
            return Err(CatalogueError::NoName);
        }
        if let Some(back) = back_from_last(typed) {
            return self.back(typed, back);
        }
        if let Some(tag) = typed.strip_prefix("tag:") {
            return only(typed, self.tagged(tag)?);
        }
        let all =
            |is_it: &dyn Fn(&Entry) -> bool| self.entries().iter().filter(|entry| is_it(entry)).collect();
        let exactly: Vec<&Entry> = all(&|entry| entry.name == typed);
        if !exactly.is_empty() {
            return only(typed, exactly);
        }
        let fits = |entry: &Entry| {
            entry.has_tag(typed) || entry.name.starts_with(typed) || entry.name.ends_with(typed)
        };
        let found = all(&fits);
        if !found.is_empty() {
            return only(typed, found);
        }
        // Its folder has another name today.
        match all(&|entry: &Entry| entry.run.starts_with(typed) || entry.run.ends_with(typed)) {
            none if none.is_empty() => {
                Err(CatalogueError::NotFound { typed: typed.to_owned(), near: self.near(typed) })
            }
            found => only(typed, found),
        }
    }

    /// Every run with the tag, oldest first; an error if there is none.
    pub fn tagged(&self, tag: &str) -> Result<Vec<&Entry>, CatalogueError> {
        let found: Vec<&Entry> = self.entries().iter().rev().filter(|entry| entry.has_tag(tag)).collect();
        if found.is_empty() {
            let tags = self.entries().iter().flat_map(|entry| &entry.tags).map(String::as_str);
            return Err(CatalogueError::NoSuchTag { tag: tag.to_owned(), near: nearest(tag, tags) });
        }
        Ok(found)
    }

    fn back(&self, typed: &str, back: usize) -> Result<&Entry, CatalogueError> {
        let runs = self.entries().len();
        match self.entries().get(back) {
            Some(entry) => Ok(entry),
            None if runs == 0 => Err(CatalogueError::Empty),
            None => Err(CatalogueError::TooFarBack { typed: typed.to_owned(), runs }),
        }
    }

    /// Names, their ends, and tags that are nearly what was typed.
    fn near(&self, typed: &str) -> Vec<String> {
        let short = short_names(self.entries());
        let names = self.entries().iter().flat_map(|entry| {
            [entry.name.as_str(), short.of(entry)].into_iter().chain(entry.tags.iter().map(String::as_str))
        });
        nearest(typed, names)
    }
}

/// The folder, if what was typed is a path: it has a slash in it.
pub fn by_path(typed: &str) -> Result<Option<PathBuf>, CatalogueError> {
    if !typed.contains('/') && !matches!(typed, "." | "..") {
        return Ok(None);
    }
    let path = Path::new(typed);
    if !path.exists() {
        return Err(CatalogueError::NoSuchPath(path.to_owned()));
    }
    let folder = if path.is_file() { path.parent().unwrap_or(path) } else { path };
    match folder::holds_run(folder) {
        true => folder.canonicalize().map(Some).map_err(CatalogueError::io("find", folder)),
        false => Err(CatalogueError::NotARun(folder.to_owned())),
    }
}

/// A folder of this name in the current one.
fn beside(typed: &str) -> Option<PathBuf> {
    let path = Path::new(typed);
    folder::holds_run(path).then(|| path.canonicalize().ok()).flatten()
}

/// `last` is 0, `last~2` is 2.
fn back_from_last(typed: &str) -> Option<usize> {
    match typed.strip_prefix("last")? {
        "" => Some(0),
        rest => rest.strip_prefix('~')?.parse().ok(),
    }
}

/// The one that was found; several are too many.
fn only<'a>(typed: &str, found: Vec<&'a Entry>) -> Result<&'a Entry, CatalogueError> {
    match found.as_slice() {
        [one] => Ok(one),
        several => {
            let same = several.iter().all(|entry| entry.name == several[0].name);
            let named = |entry: &&Entry| match same {
                true => entry.folder.display().to_string(),
                false => entry.name.clone(),
            };
            let candidates = several.iter().map(named).collect();
            Err(CatalogueError::Ambiguous { typed: typed.to_owned(), candidates })
        }
    }
}

/// Short names of runs, by folder.
pub struct Names(HashMap<PathBuf, String>);

impl Names {
    /// What to type for a run: the end of its name, or all of it.
    pub fn of<'a>(&'a self, entry: &'a Entry) -> &'a str {
        self.0.get(&entry.folder).map_or(&entry.name, String::as_str)
    }
}

/// The last part of each name (`7f3a`) where no other run ends or begins with it, and no tag is the same.
pub fn short_names(entries: &[Entry]) -> Names {
    let mut taken: HashMap<&str, usize> = HashMap::new();
    let end = |entry: &'_ Entry| entry.name.rsplit('-').next().map_or(0, str::len);
    for entry in entries {
        *taken.entry(&entry.name[entry.name.len() - end(entry)..]).or_default() += 1;
        entry.tags.iter().for_each(|tag| *taken.entry(tag).or_default() += 1);
    }
    let mut sorted: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
    sorted.sort_unstable();
    // Names that begin so are neighbours.
    let begins = |short: &str| {
        let at = sorted.partition_point(|name| *name < short);
        sorted.get(at).is_some_and(|name| name.starts_with(short) && *name != short)
    };
    let short = entries.iter().map(|entry| {
        let short = &entry.name[entry.name.len() - end(entry)..];
        // A name that people gave to a folder is told whole.
        let is_as_made = entry.name == entry.run || entry.run.is_empty();
        let is_free = is_as_made && taken.get(short) == Some(&1) && !short.is_empty();
        let name = if is_free && !begins(short) { short } else { &entry.name };
        (entry.folder.clone(), name.to_owned())
    });
    Names(short.collect())
}

/// Those that are at most a third of their letters away, the nearest first.
fn nearest<'a>(typed: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut found: Vec<(usize, &str)> = names
        .map(|name| (edits(typed, name), name))
        .filter(|(edits, name)| *edits <= (name.chars().count().max(typed.chars().count()) / 3).max(1))
        .filter(|(edits, _)| *edits < typed.chars().count())
        .collect();
    found.sort_unstable();
    found.dedup();
    found.into_iter().take(NEAR).map(|(_, name)| name.to_owned()).collect()
}

/// Levenshtein distance: insertions, deletions and replacements.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, other) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *other);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalogue(runs: &[(&str, &[&str])]) -> Catalogue {
        let entries = runs.iter().map(|(name, tags)| Entry {
            name: (*name).to_owned(),
            folder: PathBuf::from("/runs").join(name),
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
            ..Entry::default()
        });
        Catalogue { home: PathBuf::from("/"), entries: entries.collect() }
    }

    #[test]
    fn by_name_end_beginning_age_and_tag() {
        let runs = catalogue(&[
            ("2026-11-21T09-00-00Z-http-00aa", &["after"]),
            ("2026-11-20T12-00-00Z-http-7f3a", &["before", "both"]),
            ("2026-11-20T11-00-00Z-http-7f3b", &["both"]),
        ]);
        for (typed, found) in [
            ("2026-11-20T12-00-00Z-http-7f3a", 1),
            ("7f3b", 2),
            ("2026-11-21", 0),
            ("last", 0),
            ("last~2", 2),
            ("before", 1),
            ("tag:after", 0),
        ] {
            assert_eq!(runs.find(typed).unwrap().name, runs.entries[found].name, "{typed}");
        }
        for (typed, said) in [
            ("both", "'both' can be any of 2026-11-20T12-00-00Z-http-7f3a or"),
            ("2026-11-20", "say more of the name"),
            ("last~3", "further than there are runs: there are 3"),
            ("7f3c", "did you mean 7f3a or 7f3b?"),
            ("befor", "did you mean before?"),
            ("tag:bfore", "did you mean before?; tare runs tag RUN +bfore"),
            ("zzz", "tare runs lists them"),
            ("", "a run is expected"),
        ] {
            let error = runs.find(typed).unwrap_err().to_string();
            assert!(error.contains(said), "{typed}: {error}");
        }
        let both: Vec<&str> = runs.tagged("both").unwrap().iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(both, ["2026-11-20T11-00-00Z-http-7f3b", "2026-11-20T12-00-00Z-http-7f3a"]);
    }

    #[test]
    fn short_names_are_unique() {
        let runs =
            catalogue(&[("a-http-1", &[]), ("b-http-1", &[]), ("c-http-2", &[]), ("d-http-3", &["3"])]);
        let names = short_names(&runs.entries);
        let short: Vec<&str> = runs.entries.iter().map(|entry| names.of(entry)).collect();
        assert_eq!(short, ["a-http-1", "b-http-1", "2", "d-http-3"]);
    }

    #[test]
    fn a_folder_that_was_renamed_is_told_by_its_whole_name() {
        let mut runs = catalogue(&[("a-http-1", &[]), ("my-baseline", &[])]);
        runs.entries.iter_mut().for_each(|entry| "a-http-1".clone_into(&mut entry.run));
        let names = short_names(&runs.entries);
        assert_eq!((names.of(&runs.entries[0]), names.of(&runs.entries[1])), ("1", "my-baseline"));
    }

    #[test]
    fn paths_have_a_slash_and_must_hold_a_run() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().display().to_string();
        assert_eq!(by_path("last").unwrap(), None);
        assert!(by_path(&path).unwrap_err().to_string().contains("holds no run"));
        assert!(by_path(&format!("{path}/x")).unwrap_err().to_string().contains("does not exist"));
        std::fs::write(folder.path().join("result.json"), "{}").unwrap();
        assert_eq!(by_path(&path).unwrap(), Some(folder.path().canonicalize().unwrap()));
        assert_eq!(by_path(&format!("{path}/result.json")).unwrap(), by_path(&path).unwrap());
        assert_eq!(crate::find(&path).unwrap(), folder.path().canonicalize().unwrap());
    }

    #[test]
    fn distances_by_hand() {
        assert_eq!(edits("kitten", "sitting"), 3);
        assert_eq!((edits("", "abc"), edits("abc", "")), (3, 3));
    }
}
