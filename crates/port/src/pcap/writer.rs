//! Writes capture files: frames go into a large buffer, and the buffer goes to the file by one write(2).
//!
//! A file is whole at every moment in which nothing is being written: the buffer holds whole frames only, and
//! if a write fails (a full disk), what was written of it is cut off again.

use super::Format;
use super::bytes::{self, Described, Entry, Statistics};
use crate::{PortError, Stamp};
use rustix::fs::{Access, access};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What is written at a time.
const BUFFER: usize = 1 << 20;
/// Pages of the buffer and of the file's cache lie alike, so that the kernel copies whole ones.
const PAGE: usize = 4_096;

/// How a file shall be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Style {
    pub format: Format,
    pub described: Described,
    /// Whether the queue of each frame is written with it.
    pub has_queues: bool,
}

impl Default for Style {
    fn default() -> Self {
        Self { format: Format::PcapNg, described: Described::default(), has_queues: false }
    }
}

impl Style {
    /// As the file's name ends: `.pcap` is pcap with nanoseconds, everything else pcapng.
    pub fn of_name(path: &Path) -> Self {
        let is_pcap = path.extension().is_some_and(|end| end == "pcap" || end == "cap");
        Self { format: if is_pcap { Format::PcapNanos } else { Format::PcapNg }, ..Self::default() }
    }
}

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    pub frames: u64,
    /// Bytes of frames that were kept.
    pub frame_bytes: u64,
    /// Bytes of the file.
    pub file_bytes: u64,
    pub first: Stamp,
    pub last: Stamp,
    /// Calls of write(2).
    pub calls: u64,
}

/// One capture file that is written.
pub struct Writer {
    path: PathBuf,
    file: Option<Box<dyn Output>>,
    /// What was in it before is gone.
    is_begun: bool,
    style: Style,
    snap: usize,
    buffer: Vec<u8>,
    /// Where the page-aligned part of the buffer begins, and how far it is filled.
    start: usize,
    filled: usize,
    /// Frames in the buffer.
    waiting: u64,
    written: Written,
}

/// A file, or something else that bytes go to.
trait Output: Write + Send {
    /// Empties it before the first write, where that can be.
    fn empty(&mut self, path: &Path) -> io::Result<()>;

    /// Cuts off what came after `length` bytes, where that can be.
    fn cut(&mut self, path: &Path, length: u64);

    /// Whether something lies in it.
    fn is_full(&self) -> bool;
}

impl Output for File {
    fn empty(&mut self, path: &Path) -> io::Result<()> {
        os::output::empty(path, self)
    }

    fn cut(&mut self, path: &Path, length: u64) {
        if os::output::descriptor(path).is_none() {
            // If this fails too, the file ends within a frame, and readers say so.
            let _ = self.set_len(length);
        }
    }

    fn is_full(&self) -> bool {
        self.metadata().is_ok_and(|about| about.is_file() && about.len() > 0)
    }
}

impl Output for io::Stdout {
    fn empty(&mut self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn cut(&mut self, _: &Path, _: u64) {}

    fn is_full(&self) -> bool {
        false
    }
}

impl Writer {
    /// Opens the file, or creates it; `-` is standard output. What is in it stays until the first write: the
    /// command may yet be refused.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn create(path: &Path, style: Style) -> Result<Self, PortError> {
        let file: Box<dyn Output> = match path.to_str() {
            Some("-") => Box::new(io::stdout()),
            _ => Box::new(
                os::output::open(path, false)
                    .map_err(|error| wrong(path, &format!("cannot be written: {error}")))?,
            ),
        };
        let mut buffer = vec![0; BUFFER + PAGE];
        let start = buffer.as_ptr().align_offset(PAGE).min(PAGE);
        let head = bytes::head(style.format, &style.described);
        buffer[start..start + head.len()].copy_from_slice(&head);
        let snap = if style.described.snap == 0 { usize::MAX } else { style.described.snap as usize };
        let (path, filled) = (path.to_owned(), head.len());
        let written = Written { file_bytes: filled as u64, ..Written::default() };
        let (file, is_begun) = (Some(file), false);
        Ok(Self { path, file, is_begun, style, snap, buffer, start, filled, waiting: 0, written })
    }

    /// Empties the file, now that the load begins.
    ///
    /// # Errors
    /// If it cannot be emptied.
    #[inline]
    pub(crate) fn begin(&mut self) -> Result<(), PortError> {
        if self.is_begun {
            return Ok(());
        }
        self.is_begun = true;
        let emptied = self.file.as_mut().map_or(Ok(()), |file| file.empty(&self.path));
        emptied.map_err(|error| wrong(&self.path, &format!("cannot be emptied: {error}")))
    }

    /// Whether [`Self::create`] could, without creating or emptying anything.
    ///
    /// # Errors
    /// What it would say.
    pub fn check(path: &Path) -> Result<(), PortError> {
        if path == Path::new("-") {
            return Ok(());
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let checked = match fs::metadata(path) {
            Ok(found) if found.is_dir() => Err(rustix::io::Errno::ISDIR),
            Ok(_) => access(path, Access::WRITE_OK),
            Err(_) => access(folder, Access::WRITE_OK | Access::EXEC_OK),
        };
        checked.map_err(|error| wrong(path, &format!("cannot be written: {}", io::Error::from(error))))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What was written so far, the buffer included.
    pub fn counts(&self) -> &Written {
        &self.written
    }

    /// Writes a frame of which `data` was captured, and whose length on the wire is `length`.
    ///
    /// # Errors
    /// If the file cannot be written; nothing more is written then.
    #[inline]
    pub fn frame(&mut self, stamp: Stamp, length: usize, data: &[u8], queue: u32) -> Result<(), PortError> {
        let kept = &data[..data.len().min(self.snap)];
        let size = bytes::frame_size(self.style.format, kept.len(), self.style.has_queues);
        if self.filled + size > BUFFER {
            self.make_room(size)?;
        }
        let at = self.start + self.filled;
        let queue = self.style.has_queues.then_some(queue);
        let entry = Entry { stamp, length: length.max(kept.len()), kept, queue };
        bytes::frame(self.style.format, &entry, &mut self.buffer[at..at + size]);
        self.filled += size;
        self.waiting += 1;
        let written = &mut self.written;
        written.frames += 1;
        written.frame_bytes += kept.len() as u64;
        written.file_bytes += size as u64;
        written.last = stamp;
        if written.frames == 1 {
            written.first = stamp;
        }
        Ok(())
    }

    /// What a frame of `length` bytes needs in the file.
    #[inline]
    pub(super) fn size_of(&self, length: usize) -> u64 {
        bytes::frame_size(self.style.format, length.min(self.snap), self.style.has_queues) as u64
    }

    #[cold]
    fn make_room(&mut self, size: usize) -> Result<(), PortError> {
        self.flush()?;
        if size > BUFFER {
            return Err(wrong(&self.path, &format!("a frame of {size} bytes is too long to be written")));
        }
        Ok(())
    }

    /// Writes what is in the buffer.
    ///
    /// # Errors
    /// If it cannot be written: the file then ends with the last frame before the buffer.
    pub fn flush(&mut self) -> Result<(), PortError> {
        let Some(file) = &mut self.file else {
            return Err(wrong(&self.path, "is no longer written since that failed"));
        };
        let full = &self.buffer[self.start..self.start + self.filled];
        if full.is_empty() {
            return Ok(());
        }
        let emptied = if self.is_begun { Ok(()) } else { file.empty(&self.path) };
        self.is_begun = true;
        self.written.calls += 1;
        if let Err(error) = emptied.and_then(|()| os::pipes::without_signal(|| file.write_all(full))) {
            let whole = self.written.file_bytes - self.filled as u64;
            file.cut(&self.path, whole);
            self.file = None;
            self.written.frames -= self.waiting;
            self.written.file_bytes = whole;
            let problem = format!(
                "cannot be written: {error}; it ends after frame {}, and {} frames are lost",
                self.written.frames, self.waiting
            );
            return Err(wrong(&self.path, &problem));
        }
        (self.filled, self.waiting) = (0, 0);
        Ok(())
    }

    /// Ends the file; a pcapng file also tells what was lost.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(mut self, statistics: &Statistics) -> Result<Written, PortError> {
        self.end(statistics)?;
        Ok(self.written)
    }

    /// The same if anything was to be written: what no load has begun with stays as it was.
    pub(crate) fn end_if_begun(mut self, statistics: &Statistics) {
        if self.may_end() {
            let _ = self.end(statistics);
        }
        self.file = None;
    }

    /// Whether the load has begun, or nothing would be lost.
    fn may_end(&self) -> bool {
        let is_full = self.file.as_ref().is_some_and(|file| file.is_full());
        self.is_begun || self.written.frames > 0 || !is_full
    }

    /// Ends the file without statistics.
    pub(super) fn close(mut self) -> Result<Written, PortError> {
        let done = self.flush();
        self.file = None;
        done.map(|()| self.written)
    }

    fn end(&mut self, statistics: &Statistics) -> Result<(), PortError> {
        let received = statistics.received.max(self.written.frames);
        let statistics = Statistics { received, ..*statistics };
        let tail = bytes::tail(self.style.format, &statistics, self.written.first, self.written.last);
        if self.filled + tail.len() > BUFFER {
            self.flush()?;
        }
        let at = self.start + self.filled;
        self.buffer[at..at + tail.len()].copy_from_slice(&tail);
        self.filled += tail.len();
        self.written.file_bytes += tail.len() as u64;
        let done = self.flush();
        self.file = None;
        done
    }
}

impl Drop for Writer {
    /// Whoever forgets to finish loses no frame.
    fn drop(&mut self) {
        if self.file.is_some() && self.may_end() {
            let _ = self.flush();
        }
    }
}

fn wrong(path: &Path, problem: &str) -> PortError {
    PortError::File { file: path.display().to_string(), problem: problem.to_owned() }
}
