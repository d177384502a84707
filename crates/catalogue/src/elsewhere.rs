//! Runs outside of the runs folder: `--out DIR` puts them where the user wants, and a line here remembers
//! where.
//!
//! One JSON text a line, the absolute path of a folder. A folder that is gone or holds no run any more is
//! passed over: it may be on a disk that is not there today. Lines of such folders are dropped when the list
//! has grown long.

use crate::error::CatalogueError;
use crate::folder;
use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

const FILE: &str = "elsewhere.jsonl";
/// Above this many folders, those that are gone are forgotten.
const LONG: usize = 1_000;

/// Every folder that is remembered, each once, oldest first. Lines that are no path are passed over.
pub fn read(home: &Path) -> Vec<PathBuf> {
    let text = fs::read_to_string(home.join(FILE)).unwrap_or_default();
    let paths = text.lines().filter_map(|line| serde_json::from_str::<PathBuf>(line).ok());
    let mut seen = HashSet::new();
    paths.filter(|path| path.is_absolute() && seen.insert(path.clone())).collect()
}

/// Remembers a folder, unless it lies in the runs folder or is known already.
pub fn add(home: &Path, folder: &Path) -> Result<(), CatalogueError> {
    let folder = fs::canonicalize(folder).map_err(CatalogueError::io("find", folder))?;
    let runs = home.join("runs");
    if folder.parent() == Some(&fs::canonicalize(&runs).unwrap_or(runs)) {
        return Ok(());
    }
    fs::create_dir_all(home).map_err(CatalogueError::io("create", home))?;
    let _held = lock(home)?;
    let mut known = read(home);
    if known.contains(&folder) {
        return Ok(());
    }
    if known.len() < LONG {
        let path = home.join(FILE);
        let opened = OpenOptions::new().create(true).append(true).open(&path);
        // A line that was cut off (a full disk) must not swallow this one.
        let line = format!("{}{}\n", if ends_in_a_line(&path) { "" } else { "\n" }, as_line(&folder));
        return opened
            .and_then(|mut file| file.write_all(line.as_bytes()))
            .map_err(CatalogueError::io("write", path));
    }
    known.retain(|folder| folder::holds_run(folder));
    known.push(folder);
    replace(home, &known)
}

/// Forgets a folder.
pub fn forget(home: &Path, folder: &Path) -> Result<(), CatalogueError> {
    if !home.join(FILE).exists() {
        return Ok(());
    }
    let _held = lock(home)?;
    let mut known = read(home);
    known.retain(|other| other != folder);
    replace(home, &known)
}

/// Others wait until it is dropped.
fn lock(home: &Path) -> Result<File, CatalogueError> {
    let held = File::open(home).map_err(CatalogueError::io("open", home))?;
    held.lock().map_err(CatalogueError::io("lock", home))?;
    Ok(held)
}

fn ends_in_a_line(path: &Path) -> bool {
    fs::read(path).map_or(true, |text| text.last().is_none_or(|byte| *byte == b'\n'))
}

fn as_line(folder: &Path) -> String {
    serde_json::to_string(&folder.to_string_lossy()).expect("text is JSON")
}

fn replace(home: &Path, folders: &[PathBuf]) -> Result<(), CatalogueError> {
    let text: String = folders.iter().map(|folder| as_line(folder) + "\n").collect();
    let (path, temporary) = (home.join(FILE), home.join(".elsewhere.jsonl.part"));
    fs::write(&temporary, text)
        .and_then(|()| fs::rename(&temporary, &path))
        .map_err(CatalogueError::io("write", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remembers_each_once_and_forgets() {
        let home = tempfile::tempdir().unwrap();
        let places: Vec<_> = (0..2).map(|_| tempfile::tempdir().unwrap()).collect();
        for place in [&places[0], &places[1], &places[0]] {
            add(home.path(), place.path()).unwrap();
        }
        assert_eq!(read(home.path()), [places[0].path(), places[1].path()]);
        forget(home.path(), places[0].path()).unwrap();
        assert_eq!(read(home.path()), [places[1].path()]);
    }

    #[test]
    fn what_lies_in_the_runs_folder_needs_no_line() {
        let home = tempfile::tempdir().unwrap();
        let run = home.path().join("runs/a");
        fs::create_dir_all(&run).unwrap();
        add(home.path(), &run).unwrap();
        assert!(read(home.path()).is_empty());
    }

    #[test]
    fn a_line_that_was_cut_off_costs_only_itself() {
        let home = tempfile::tempdir().unwrap();
        let place = tempfile::tempdir().unwrap();
        fs::write(home.path().join(FILE), "\"/half").unwrap();
        add(home.path(), place.path()).unwrap();
        assert_eq!(read(home.path()), [place.path()]);
    }

    #[test]
    fn a_long_list_drops_what_is_gone() {
        let home = tempfile::tempdir().unwrap();
        let place = tempfile::tempdir().unwrap();
        let gone: Vec<PathBuf> = (0..LONG).map(|n| PathBuf::from(format!("/gone/{n}"))).collect();
        replace(home.path(), &gone).unwrap();
        add(home.path(), place.path()).unwrap();
        assert_eq!(read(home.path()), [place.path()]);
    }
}
