//! Files that a command writes at its end: all are opened before the first is emptied.

use anyhow::anyhow;
use os::clash::{self, Written};
use run::terminal::print_all;
use run::{Failure, complain};
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use store::StoredRun;

/// A file that is open, or standard output.
pub struct Sheet {
    flag: String,
    path: PathBuf,
    file: Option<File>,
}

/// Opens all of them; none may be a file that one of the runs is read from.
///
/// # Errors
/// One cannot be written. Nothing is touched then.
pub fn open<'a>(
    written: Vec<Written>,
    runs: impl IntoIterator<Item = &'a StoredRun>,
) -> Result<Vec<Sheet>, Failure> {
    let read: Vec<PathBuf> = runs.into_iter().flat_map(StoredRun::files).collect();
    clash::check(&written, &read).map_err(Failure::wrong)?;
    let open = |(flag, path): Written| {
        let file = (!os::output::is_stdout(&path)).then(|| os::output::open(&path, false)).transpose();
        let file = file.map_err(|why| {
            Failure::wrong(anyhow!("{flag}: {}: {why}; expected a writable file, or -", path.display()))
        })?;
        Ok(Sheet { flag, path, file })
    };
    written.into_iter().map(open).collect()
}

impl Sheet {
    pub fn is_of(&self, flag: &str) -> bool {
        self.flag == flag
    }

    /// Writes it; `is_told`: and says so.
    pub fn write(self, text: &str, is_told: bool) -> Result<(), Failure> {
        let Self { flag, path, file } = self;
        let Some(mut file) = file else { return print_all(text) };
        let written = os::output::empty(&path, &file).and_then(|()| file.write_all(text.as_bytes()));
        written.map_err(|why| Failure::wrong(anyhow!("{flag}: cannot write {}: {why}", path.display())))?;
        if is_told {
            complain(&format!("tare: wrote {}", path.display()));
        }
        Ok(())
    }
}
