//! A capture in several files: the next one begins when the last is long enough.

use super::bytes::Statistics;
use super::writer::{Style, Writer, Written};
use crate::{PortError, Stamp};
use std::collections::VecDeque;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use units::Picos;

/// When a file is long enough, and how many are kept. Without any of these there is one file, under its own
/// name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rotation {
    /// Bytes of a file; it ends with the frame before the one that would exceed them.
    pub bytes: Option<u64>,
    /// Frames of a file.
    pub frames: Option<u64>,
    /// From a file's first frame on, by the frames' stamps.
    pub time: Option<Picos>,
    /// The oldest file is removed when there are more than this.
    pub keep: Option<usize>,
}

impl Rotation {
    pub fn is_off(&self) -> bool {
        self.bytes.is_none() && self.frames.is_none() && self.time.is_none()
    }

    fn is_over(&self, written: &Written, next: Stamp, size: u64) -> bool {
        let since = Picos::from_nanos(next.as_unix_nanos().saturating_sub(written.first.as_unix_nanos()));
        written.frames > 0
            && (self.bytes.is_some_and(|most| written.file_bytes + size > most)
                || self.frames.is_some_and(|most| written.frames >= most)
                || self.time.is_some_and(|most| since >= most))
    }
}

/// A capture that goes to one file or to several: `capture.pcapng`, or `capture-00001.pcapng` and so on.
pub struct Rotating {
    path: PathBuf,
    style: Style,
    rotation: Rotation,
    current: Writer,
    number: u64,
    earlier: VecDeque<PathBuf>,
    /// Of files that are done.
    done: Written,
    removed: u64,
}

impl Rotating {
    /// Creates the first file.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn create(path: &Path, style: Style, rotation: Rotation) -> Result<Self, PortError> {
        let first = if rotation.is_off() { path.to_owned() } else { numbered(path, 1) };
        let current = Writer::create(&first, style.clone())?;
        let (path, done) = (path.to_owned(), Written::default());
        Ok(Self { path, style, rotation, current, number: 1, earlier: VecDeque::new(), done, removed: 0 })
    }

    /// Writes a frame, into a new file if the last is long enough.
    ///
    /// # Errors
    /// If a file cannot be written.
    #[inline]
    pub fn frame(&mut self, stamp: Stamp, length: usize, data: &[u8], queue: u32) -> Result<(), PortError> {
        if !self.rotation.is_off() {
            let size = self.current.size_of(data.len());
            if self.rotation.is_over(self.current.counts(), stamp, size) {
                self.next_file()?;
            }
        }
        self.current.frame(stamp, length, data, queue)
    }

    #[cold]
    fn next_file(&mut self) -> Result<(), PortError> {
        self.number += 1;
        let next = Writer::create(&numbered(&self.path, self.number), self.style.clone())?;
        let last = std::mem::replace(&mut self.current, next);
        self.earlier.push_back(last.path().to_owned());
        self.done = sum(&self.done, &last.close()?);
        while self.rotation.keep.is_some_and(|keep| self.earlier.len() >= keep.max(1)) {
            let Some(oldest) = self.earlier.pop_front() else { break };
            self.removed += u64::from(std::fs::remove_file(oldest).is_ok());
        }
        Ok(())
    }

    /// What was written so far, over all files, those that were removed too.
    pub fn counts(&self) -> Written {
        sum(&self.done, self.current.counts())
    }

    /// Files that were begun, and how many of them were removed since.
    pub fn files(&self) -> (u64, u64) {
        (self.number, self.removed)
    }

    /// Writes what is in the buffer, so that others can read it.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn flush(&mut self) -> Result<(), PortError> {
        self.current.flush()
    }

    /// Ends the last file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(self, statistics: &Statistics) -> Result<Written, PortError> {
        Ok(sum(&self.done, &self.current.finish(statistics)?))
    }
}

fn sum(a: &Written, b: &Written) -> Written {
    Written {
        frames: a.frames + b.frames,
        frame_bytes: a.frame_bytes + b.frame_bytes,
        file_bytes: a.file_bytes + b.file_bytes,
        first: if a.frames > 0 { a.first } else { b.first },
        last: if b.frames > 0 { b.last } else { a.last },
        calls: a.calls + b.calls,
    }
}

/// Which file of a rotation has this name, if one has: 1 for `capture-00001.pcapng` of `capture.pcapng`.
pub fn number_of(path: &Path, name: &OsStr) -> Option<u64> {
    let end = name.to_str()?.rsplit_once('-')?.1;
    let digits: String = end.chars().take_while(char::is_ascii_digit).collect();
    let number = digits.parse().ok()?;
    (numbered(path, number).file_name() == Some(name)).then_some(number)
}

/// `capture.pcapng` as `capture-00001.pcapng`.
pub fn numbered(path: &Path, number: u64) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let name = match path.extension() {
        Some(end) => format!("{stem}-{number:05}.{}", end.to_string_lossy()),
        None => format!("{stem}-{number:05}"),
    };
    path.with_file_name(name)
}
