//! Removing runs, and nothing but runs.
//!
//! - Only a real folder that holds a run is removed; a link never is, and none is followed.
//! - A run that is being written holds a lock; who cannot get it does not remove the run.
//! - In the runs folder a run is first renamed (`.removing-NAME`), so no half of it is ever listed; what a
//!   crash leaves of it goes with the next removal.
//! - Elsewhere (`--out`) only the files that Tare writes are removed, and the folder if nothing else is in it.

use crate::elsewhere;
use crate::entry::{Entry, State};
use crate::error::CatalogueError;
use crate::folder::{self, INTERVALS};
use crate::{Catalogue, Tag};
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

const REMOVING: &str = ".removing-";

/// What is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed {
    pub folder: PathBuf,
    /// Of its files.
    pub bytes: u64,
    /// Files in it that Tare did not write: they, and the folder, are still there.
    pub left: usize,
}

impl Catalogue {
    /// Removes the run in `folder`.
    pub fn remove(&self, folder: &Path) -> Result<Removed, CatalogueError> {
        remove(&self.home, folder)
    }

    /// What `prune` would remove, the newest first: all that have ended but the `keep` newest. Runs with a tag
    /// are left alone (they do not count, either) unless `tagged`; with `only`, just those that have this tag
    /// are looked at. Runs outside of the runs folder, and those that cannot be read, are never pruned.
    pub fn prunable(&self, keep: usize, only: Option<&Tag>, tagged: bool) -> Vec<&Entry> {
        let is_meant = |entry: &&Entry| match only {
            Some(tag) => entry.has_tag(tag.as_str()),
            None => tagged || entry.tags.is_empty(),
        };
        // Who knows what a run is that cannot be read: it may be a newer version's.
        let ended = |entry: &&Entry| {
            !matches!(entry.state, State::Running | State::Unreadable) && self.is_in_runs_folder(entry)
        };
        self.entries().iter().filter(ended).filter(is_meant).skip(keep).collect()
    }

    /// Changes a run's tags, and returns what it then has.
    pub fn tag(&self, folder: &Path, add: &[Tag], remove: &[Tag]) -> Result<Vec<String>, CatalogueError> {
        let names = |tag: &Tag| self.entries().iter().any(|entry| entry.name == tag.as_str());
        match add.iter().find(|tag| names(tag)) {
            Some(tag) => Err(CatalogueError::ReservedTag(tag.as_str().to_owned())),
            None => crate::tags::change(folder, add, remove),
        }
    }
}

fn remove(home: &Path, folder: &Path) -> Result<Removed, CatalogueError> {
    let kind = fs::symlink_metadata(folder).map_err(CatalogueError::io("find", folder))?.file_type();
    if kind.is_symlink() {
        return Err(CatalogueError::Link(folder.to_owned()));
    }
    if !kind.is_dir() || !folder::holds_run(folder) {
        return Err(CatalogueError::NotARun(folder.to_owned()));
    }
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let _held = hold(folder, &name)?;
    let runs = home.join("runs");
    let is_within = folder.parent().is_some_and(|parent| same(parent, &runs));
    match is_within {
        true => {
            sweep(&runs);
            let bytes = size(folder);
            let aside = runs.join(format!("{REMOVING}{name}"));
            fs::rename(folder, &aside).map_err(CatalogueError::io("remove", folder))?;
            fs::remove_dir_all(&aside).map_err(CatalogueError::io("remove", &aside))?;
            Ok(Removed { folder: folder.to_owned(), bytes, left: 0 })
        }
        false => {
            let removed = remove_own_files(folder)?;
            elsewhere::forget(home, folder)?;
            Ok(removed)
        }
    }
}

/// The lock that a running program would hold.
fn hold(folder: &Path, name: &str) -> Result<Option<File>, CatalogueError> {
    let Ok(file) = store::regular::open(&folder.join(INTERVALS)) else {
        return Ok(None);
    };
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(CatalogueError::Running(name.to_owned())),
        // A file system without locks: nobody can hold one there.
        _ => Ok(Some(file)),
    }
}

fn same(a: &Path, b: &Path) -> bool {
    matches!((fs::canonicalize(a), fs::canonicalize(b)), (Ok(a), Ok(b)) if a == b)
}

/// What an earlier removal did not finish. It was removed for its user already.
fn sweep(runs: &Path) {
    for entry in fs::read_dir(runs).into_iter().flatten().flatten() {
        let is_left = entry.file_name().as_encoded_bytes().starts_with(REMOVING.as_bytes());
        if is_left && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            // Another program may be at it, too; whoever is later finds it gone.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Bytes of the files right in the folder.
fn size(folder: &Path) -> u64 {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    files.filter_map(|file| fs::symlink_metadata(file.path()).ok()).map(|file| file.len()).sum()
}

fn remove_own_files(folder: &Path) -> Result<Removed, CatalogueError> {
    let mut bytes = 0;
    let parts = store::RUN_FILES.iter().map(|name| format!(".{name}.part"));
    for name in store::RUN_FILES.iter().map(|name| (*name).to_owned()).chain(parts) {
        let path = folder.join(name);
        let length = fs::symlink_metadata(&path).map_or(0, |file| file.len());
        match fs::remove_file(&path) {
            Ok(()) => bytes += length,
            Err(why) if why.kind() == io::ErrorKind::NotFound => {}
            Err(why) => return Err(CatalogueError::io("remove", path)(why)),
        }
    }
    let left = fs::read_dir(folder).map_or(0, Iterator::count);
    if left == 0 {
        fs::remove_dir(folder).map_err(CatalogueError::io("remove", folder))?;
    }
    Ok(Removed { folder: folder.to_owned(), bytes, left })
}
