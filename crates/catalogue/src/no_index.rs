//! In the place of the index where a program was built without SQLite: every folder is read on each call.

use crate::entry::Entry;
use crate::folder;
use std::path::{Path, PathBuf};

/// Remembers nothing.
pub struct Index;

impl Index {
    pub fn open(_home: &Path) -> Self {
        Self
    }

    /// Entries of the runs in `folders`.
    pub fn bring_up_to_date(self, folders: &[PathBuf], runs: &Path) -> Vec<Entry> {
        folders.iter().filter_map(|folder| folder::read(folder, runs)).collect()
    }
}
