//! Tags: words that people give to runs. They live in the run's folder, so they go where it goes.
//!
//! `tags.json` is `{"schema": "tare.tags/1", "tags": ["before", "nightly"]}`, written whole. Two programs that
//! tag the same run take turns: each holds a lock on the folder from reading the file to replacing it.

use crate::error::CatalogueError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::str::FromStr;

pub const FILE: &str = "tags.json";
const SCHEMA: &str = "tare.tags/1";
const LONGEST: usize = 64;

/// A word that may be a tag.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tag(String);

impl Tag {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Tag {
    type Err = CatalogueError;

    fn from_str(text: &str) -> Result<Self, CatalogueError> {
        let fits = |letter: char| letter.is_alphanumeric() || "._-=".contains(letter);
        let begins = text.chars().next().is_some_and(char::is_alphanumeric);
        if !begins || text.chars().count() > LONGEST || !text.chars().all(fits) {
            return Err(CatalogueError::BadTag(text.to_owned()));
        }
        if text == "last" {
            return Err(CatalogueError::ReservedTag(text.to_owned()));
        }
        Ok(Self(text.to_owned()))
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Kept {
    schema: String,
    tags: BTreeSet<String>,
}

/// The tags of a folder, sorted; none if it has no file of them.
pub fn of(folder: &Path) -> Result<Vec<String>, CatalogueError> {
    let path = folder.join(FILE);
    let bad = |why: String| CatalogueError::BadTagsFile { path: path.clone(), why };
    let text = match store::regular::read(&path) {
        Ok(text) => text,
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(why) => return Err(CatalogueError::io("read", &path)(why)),
    };
    let file: Kept = serde_json::from_slice(&text).map_err(|why| bad(why.to_string()))?;
    if file.schema != SCHEMA {
        return Err(bad(format!("its schema is '{}', not '{SCHEMA}'", file.schema)));
    }
    Ok(file.tags.into_iter().filter(|tag| tag.parse::<Tag>().is_ok()).collect())
}

/// Adds and takes away, and returns what it then has.
pub fn change(folder: &Path, add: &[Tag], remove: &[Tag]) -> Result<Vec<String>, CatalogueError> {
    let held = File::open(folder).map_err(CatalogueError::io("open", folder))?;
    held.lock().map_err(CatalogueError::io("lock", folder))?;
    let mut tags: BTreeSet<String> = of(folder)?.into_iter().collect();
    let before = tags.clone();
    tags.retain(|tag| remove.iter().all(|gone| gone.as_str() != tag));
    tags.extend(add.iter().map(|tag| tag.as_str().to_owned()));
    if tags != before {
        write(folder, &tags)?;
    }
    Ok(tags.into_iter().collect())
}

fn write(folder: &Path, tags: &BTreeSet<String>) -> Result<(), CatalogueError> {
    let file = Kept { schema: SCHEMA.to_owned(), tags: tags.clone() };
    let mut text = serde_json::to_vec(&file).expect("a list of words is JSON");
    text.push(b'\n');
    let (path, temporary) = (folder.join(FILE), folder.join(".tags.json.part"));
    let written = File::create(&temporary)
        .and_then(|mut to| to.write_all(&text).and_then(|()| to.sync_all()))
        .and_then(|()| fs::rename(&temporary, &path));
    written.map_err(CatalogueError::io("write", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(words: &[&str]) -> Vec<Tag> {
        words.iter().map(|word| word.parse().unwrap()).collect()
    }

    #[test]
    fn tags_are_words() {
        for good in ["before", "v1.2", "host=a", "7", "größer"] {
            assert!(good.parse::<Tag>().is_ok(), "{good}");
        }
        for bad in ["", "-x", "a b", "a,b", "a/b", "tag:x", "last", "x\u{1b}", &"x".repeat(65)] {
            assert!(bad.parse::<Tag>().is_err(), "{bad}");
        }
    }

    #[test]
    fn added_and_taken_away() {
        let folder = tempfile::tempdir().unwrap();
        assert!(of(folder.path()).unwrap().is_empty());
        assert_eq!(change(folder.path(), &tags(&["b", "a"]), &[]).unwrap(), ["a", "b"]);
        assert_eq!(change(folder.path(), &tags(&["c"]), &tags(&["a", "z"])).unwrap(), ["b", "c"]);
        assert_eq!(of(folder.path()).unwrap(), ["b", "c"]);
    }

    #[test]
    fn a_damaged_file_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(FILE), "[").unwrap();
        let error = change(folder.path(), &tags(&["a"]), &[]).unwrap_err().to_string();
        assert!(error.contains("tags.json") && error.contains("mend or remove it"), "{error}");
    }
}
