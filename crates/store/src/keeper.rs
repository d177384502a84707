//! Files that may fail. A log that cannot be written loses rows, not the run; a document is either whole or
//! absent.
//!
//! Files are made in an open folder, not under its name: whoever moves the folder moves them with it, and what
//! then stands under the name is not touched.

use crate::regular;
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, openat, renameat, renameat_with, statat, unlinkat};
use rustix::io::Errno;
use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Device and number of a file: what it is, whatever its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileId(u64, u64);

impl FileId {
    pub fn of(file: &File) -> io::Result<Self> {
        file.metadata().map(|about| Self(about.dev(), about.ino()))
    }

    pub fn at(path: &Path) -> io::Result<Self> {
        std::fs::metadata(path).map(|about| Self(about.dev(), about.ino()))
    }

    /// Of what has this name in the folder.
    pub fn named(folder: &File, name: &str) -> io::Result<Self> {
        let found = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(Self(found.st_dev, found.st_ino))
    }
}

/// A file that was not there before.
fn create_new(folder: &File, name: &str, mode: u32) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    Ok(openat(folder, name, flags, Mode::from_raw_mode(mode))?.into())
}

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
    pub fn create(folder: &File, name: &str) -> Self {
        let file = create_new(folder, name, 0o666);
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

    /// Whether it still has this name in the folder.
    pub fn is_named(&self, folder: &File, name: &str) -> bool {
        let own = self.file.as_ref().ok().and_then(|file| FileId::of(file).ok());
        own.is_some() && own == FileId::named(folder, name).ok()
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
    pub fn take(folder: &File) -> Self {
        let name = ".reserve";
        let held = create_new(folder, name, 0o600).and_then(|mut file| {
            unlinkat(folder, name, AtFlags::empty())?;
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

/// Writes a whole document under its name, or nothing: a temporary file, synced, then renamed to the name.
/// `mine` is what was written there before, which is replaced; anything else that has the name stays.
pub fn write_whole(
    folder: &File,
    name: &str,
    private: bool,
    mine: Option<FileId>,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<FileId> {
    let mut temporary = format!(".{name}.part");
    let create = |name: &str| create_new(folder, name, if private { 0o600 } else { 0o644 });
    let file = create(&temporary).or_else(|_| {
        // One that was killed may have left its own.
        temporary = format!(".{name}.{}.part", std::process::id());
        create(&temporary)
    })?;
    let done = write_to(file, write).and_then(|id| put(folder, &temporary, name, mine).map(|()| id));
    if done.is_err() {
        // The failure at hand is the one to report.
        let _ = unlinkat(folder, &temporary, AtFlags::empty());
        return done;
    }
    // The name itself lasts only when the folder is synced.
    folder.sync_all()?;
    done
}

fn put(folder: &File, temporary: &str, name: &str, mine: Option<FileId>) -> io::Result<()> {
    let there = FileId::named(folder, name).ok();
    if there.is_some() && there != mine {
        return Err(io::Error::other("another program created this file; it was left alone"));
    }
    if there.is_some() {
        return Ok(renameat(folder, temporary, folder, name)?);
    }
    match renameat_with(folder, temporary, folder, name, RenameFlags::NOREPLACE) {
        // Not every file system can.
        Err(Errno::INVAL | Errno::NOSYS) => Ok(renameat(folder, temporary, folder, name)?),
        renamed => Ok(renamed?),
    }
}

fn write_to(file: File, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<FileId> {
    let id = FileId::of(&file)?;
    let mut buffered = io::BufWriter::new(file);
    write(&mut buffered)?;
    buffered.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
    Ok(id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, OpenOptions};

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
        let folder = tempfile::tempdir().unwrap();
        let held = File::open(folder.path()).unwrap();
        drop(folder);
        let mut log = Log::create(&held, "x");
        log.append(b"one\n");
        assert!(log.finish().unwrap_err().starts_with("1 row lost: No such file"));
    }

    #[test]
    fn a_log_is_held_as_long_as_its_writer_lives() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let log = Log::create(&File::open(folder.path()).unwrap(), "a");
        assert!(!is_held(&path));
        log.hold();
        assert!(is_held(&path) && is_held(&path));
        drop(log);
        assert!(!is_held(&path) && !is_held(&folder.path().join("b")));
    }

    #[test]
    fn a_document_is_whole_or_absent() {
        let folder = tempfile::tempdir().unwrap();
        let held = File::open(folder.path()).unwrap();
        let failed = write_whole(&held, "a", false, None, |to| {
            to.write_all(b"half")?;
            Err(io::Error::other("stop"))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        let text = |text: &'static [u8]| move |to: &mut dyn Write| to.write_all(text);
        let mine = write_whole(&held, "a", true, None, text(b"whole")).unwrap();
        let read = || fs::read_to_string(folder.path().join("a")).unwrap();
        assert_eq!(read(), "whole");
        assert!(write_whole(&held, "a", true, None, text(b"other")).is_err(), "it is not replaced unasked");
        write_whole(&held, "a", true, Some(mine), text(b"again")).unwrap();
        assert_eq!((read().as_str(), fs::read_dir(folder.path()).unwrap().count()), ("again", 1));
    }
}
