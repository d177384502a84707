//! Files that may fail. A log that cannot be written loses rows, not the run; a document is either whole or
//! absent.

use crate::regular;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file that grows by whole records, one write for each. A record that fits only partly is taken back, and
/// the next one is tried again: a disk that has room later gets the later rows.
#[derive(Debug)]
pub struct Log {
    file: io::Result<File>,
    /// Bytes of the whole records so far.
    good: u64,
    lost_records: u64,
    first_failure: Option<String>,
}

impl Log {
    pub fn create(path: &Path) -> Self {
        let file = OpenOptions::new().write(true).create_new(true).open(path);
        let first_failure = file.as_ref().err().map(io::Error::to_string);
        Self { file, good: 0, lost_records: 0, first_failure }
    }

    /// Holds the file for this process as long as it lives, so that readers know that it still grows. Where the
    /// file system has no locks nobody knows, and nothing else is lost.
    pub fn hold(&self) {
        if let Ok(file) = &self.file {
            let _ = file.try_lock();
        }
    }

    /// Why there is no file, if there is none.
    pub fn creation_error(&self) -> Option<io::Error> {
        self.file.as_ref().err().map(|why| io::Error::from(why.kind()))
    }

    pub fn append(&mut self, record: &[u8]) {
        let Ok(file) = &mut self.file else {
            self.lost_records += 1;
            return;
        };
        match file.write_all(record) {
            Ok(()) => self.good += record.len() as u64,
            Err(why) => {
                // If even this fails the half record stays, and readers skip it.
                let _ = rewind(file, self.good);
                self.lose(why.to_string());
            }
        }
    }

    /// A record that could not even be made.
    pub fn lose(&mut self, why: String) {
        self.lost_records += 1;
        self.first_failure.get_or_insert(why);
    }

    /// On disk for good; `Err` says what was lost and why.
    pub fn finish(&mut self) -> Result<(), String> {
        if let Ok(file) = &self.file
            && let Err(why) = file.sync_all()
        {
            self.first_failure.get_or_insert(why.to_string());
        }
        match (&self.first_failure, self.lost_records) {
            (None, _) => Ok(()),
            (Some(why), 0) => Err(why.clone()),
            (Some(why), 1) => Err(format!("1 row lost: {why}")),
            (Some(why), lost) => Err(format!("{lost} rows lost, the first because: {why}")),
        }
    }
}

/// Whether the process that writes a log still lives.
pub fn is_held(path: &Path) -> bool {
    regular::open(path).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

fn rewind(file: &mut File, to: u64) -> io::Result<()> {
    use std::io::Seek;
    file.set_len(to)?;
    file.seek(io::SeekFrom::Start(to)).map(|_| ())
}

/// Disk space held from the start of a run for the documents of its end, so that a disk that others fill
/// meanwhile still takes the result. The file has no name, so nothing is left of it even if the program is
/// killed.
#[derive(Debug)]
pub struct Reserve(Option<File>);

impl Reserve {
    /// A result with about 1 000 intervals.
    const BYTES: usize = 512 * 1024;

    /// Holds what it can get: all or nothing.
    pub fn take(folder: &Path) -> Self {
        let path = folder.join(".reserve");
        let held = File::create_new(&path).and_then(|mut file| {
            fs::remove_file(&path)?;
            let zeros = [0; 64 * 1024];
            (0..Self::BYTES / zeros.len()).try_for_each(|_| file.write_all(&zeros))?;
            Ok(file)
        });
        Self(held.ok())
    }

    /// Gives the room back.
    pub fn release(&mut self) {
        self.0 = None;
    }
}

/// Writes a whole document under its name, or nothing: a temporary file, synced, then renamed over the name.
pub fn write_whole(
    folder: &Path,
    name: &str,
    private: bool,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let temporary = folder.join(format!(".{name}.part"));
    let done = write_to(&temporary, private, write).and_then(|()| fs::rename(&temporary, folder.join(name)));
    if done.is_err() {
        // The failure at hand is the one to report.
        let _ = fs::remove_file(&temporary);
        return done;
    }
    // The name itself lasts only when the folder is synced.
    File::open(folder)?.sync_all()
}

fn write_to(
    path: &PathBuf,
    private: bool,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    let mode = if private { 0o600 } else { 0o644 };
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(mode).open(path)?;
    let mut buffered = io::BufWriter::new(file);
    write(&mut buffered)?;
    buffered.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_on_a_full_disk_counts_what_it_lost() {
        // /dev/full answers every write with ENOSPC.
        let file = OpenOptions::new().write(true).open("/dev/full");
        let mut log = Log { file, good: 0, lost_records: 0, first_failure: None };
        log.append(b"one\n");
        log.append(b"two\n");
        assert!(log.finish().unwrap_err().starts_with("2 rows lost, the first because: No space left"));
    }

    #[test]
    fn a_log_that_cannot_be_created_counts_every_row() {
        let mut log = Log::create(Path::new("/nonexistent/x"));
        log.append(b"one\n");
        assert!(log.finish().unwrap_err().starts_with("1 row lost: No such file"));
    }

    #[test]
    fn a_log_is_held_as_long_as_its_writer_lives() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let log = Log::create(&path);
        assert!(!is_held(&path));
        log.hold();
        assert!(is_held(&path) && is_held(&path));
        drop(log);
        assert!(!is_held(&path) && !is_held(&folder.path().join("b")));
    }

    #[test]
    fn a_document_is_whole_or_absent() {
        let folder = tempfile::tempdir().unwrap();
        let failed = write_whole(folder.path(), "a", false, |to| {
            to.write_all(b"half")?;
            Err(io::Error::other("stop"))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        write_whole(folder.path(), "a", true, |to| to.write_all(b"whole")).unwrap();
        assert_eq!(fs::read_to_string(folder.path().join("a")).unwrap(), "whole");
    }
}
