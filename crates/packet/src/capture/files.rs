//! Chunks into files: one, or several where rotation is asked for. Every file ends with a whole frame, also on
//! a full disk.

use super::chunk::Chunk;
use port::pcap::bytes::{Described, Statistics, head, tail};
use port::pcap::{Format, Rotation, Written, numbered};
use port::{PortError, Stamp};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use units::Picos;

/// See the module.
pub(super) struct Files {
    path: PathBuf,
    format: Format,
    head: Vec<u8>,
    rotation: Rotation,
    file: Option<File>,
    /// Of the file that is being written, and of all that are done.
    current: Written,
    done: Written,
    number: u64,
    earlier: VecDeque<PathBuf>,
    removed: u64,
}

/// One block: where it ends, and the frame's time.
struct Block {
    size: usize,
    stamp: Stamp,
}

impl Files {
    /// Opens the first file, or creates it. What is in it stays until [`Self::begin`]: the command may yet be
    /// refused.
    pub fn create(
        path: &Path,
        format: Format,
        described: &Described,
        rotation: Rotation,
    ) -> Result<Self, PortError> {
        let mut files = Self {
            path: path.to_owned(),
            format,
            head: head(format, described),
            rotation,
            file: None,
            current: Written::default(),
            done: Written::default(),
            number: 0,
            earlier: VecDeque::new(),
            removed: 0,
        };
        files.number = 1;
        files.open_first().map_err(|error| files.unwritable(&error))?;
        Ok(files)
    }

    fn open_first(&mut self) -> io::Result<()> {
        let file = os::output::open(&self.name(), false)?;
        let about = file.metadata()?;
        self.file = Some(file);
        match about.is_file() && about.len() > 0 {
            true => Ok(()),
            // What cannot be written is told before anything is listened to.
            false => self.write_head(),
        }
    }

    /// Empties the first file, now that the capture begins.
    pub fn begin(&mut self) -> Result<(), PortError> {
        let name = self.name();
        let Some(file) = self.file.as_ref().filter(|_| self.current.calls == 0) else { return Ok(()) };
        os::output::empty(&name, file)
            .and_then(|()| self.write_head())
            .map_err(|error| self.unwritable(&error))
    }

    fn unwritable(&self, error: &io::Error) -> PortError {
        PortError::File {
            file: self.name().display().to_string(),
            problem: format!("cannot be written: {error}"),
        }
    }

    /// The file that is being written.
    pub fn name(&self) -> PathBuf {
        if self.rotation.is_off() { self.path.clone() } else { numbered(&self.path, self.number.max(1)) }
    }

    fn open_next(&mut self) -> io::Result<()> {
        self.number += 1;
        self.file = Some(os::output::create(self.name())?);
        self.write_head()
    }

    fn write_head(&mut self) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        file.write_all(&self.head)?;
        self.current = Written { file_bytes: self.head.len() as u64, calls: 1, ..Written::default() };
        Ok(())
    }

    /// Writes all of a chunk. On failure, says how many of its frames could not be kept.
    pub fn write(&mut self, chunk: &Chunk) -> Result<(), Unkept> {
        let before = self.total().frames;
        let outcome = match self.rotation.is_off() {
            true => self.write_blocks(chunk.bytes(), chunk.frames),
            false => self.write_rotating(chunk.bytes()),
        };
        self.current.last = chunk.last;
        let kept = self.total().frames - before;
        outcome.map_err(|error| Unkept { frames: chunk.frames - kept, error })
    }

    fn write_rotating(&mut self, bytes: &[u8]) -> io::Result<()> {
        let (mut from, mut to, mut frames) = (0, 0, 0);
        while let Some(block) = self.block(&bytes[to..]) {
            // `last` is still that of the block before.
            if self.is_over(frames, to - from, &block) {
                self.write_blocks(&bytes[from..to], frames)?;
                self.rotate()?;
                (from, frames) = (to, 0);
            }
            if self.current.frames + frames == 0 {
                self.current.first = block.stamp;
            }
            self.current.last = block.stamp;
            to += block.size;
            frames += 1;
        }
        self.write_blocks(&bytes[from..to], frames)
    }

    /// Whether a new file begins with this block, when so many frames and bytes are to be written before it.
    fn is_over(&self, frames: u64, bytes: usize, next: &Block) -> bool {
        let (frames, bytes) = (self.current.frames + frames, self.current.file_bytes + bytes as u64);
        let since = next.stamp.0.saturating_sub(self.current.first.0);
        let Rotation { bytes: most, frames: count, time, .. } = self.rotation;
        frames > 0
            && (most.is_some_and(|most| bytes + next.size as u64 > most)
                || count.is_some_and(|count| frames >= count)
                || time.is_some_and(|time| Picos::from_nanos(since) >= time))
    }

    fn rotate(&mut self) -> io::Result<()> {
        self.earlier.push_back(self.name());
        self.end(&Statistics::default())?;
        self.open_next()?;
        while self.rotation.keep.is_some_and(|keep| self.earlier.len() >= keep.max(1)) {
            let Some(oldest) = self.earlier.pop_front() else { break };
            self.removed += u64::from(std::fs::remove_file(oldest).is_ok());
        }
        Ok(())
    }

    fn write_blocks(&mut self, bytes: &[u8], frames: u64) -> io::Result<()> {
        let Some(file) = &mut self.file else {
            return Err(io::Error::other("the file is closed"));
        };
        let Err((there, error)) = write_counted(file, bytes, &mut self.current.calls) else {
            self.note(bytes, bytes.len(), frames);
            return Ok(());
        };
        // What is there of the last block is cut off again.
        let (mut whole, mut kept) = (0, 0);
        while let Some(block) = self.block(&bytes[whole..]).filter(|block| whole + block.size <= there) {
            whole += block.size;
            kept += 1;
        }
        let is_own = os::output::descriptor(&self.name()).is_none();
        if let Some(file) = self.file.take().filter(|_| is_own) {
            // If this fails too, the file ends within a frame, and readers say so.
            let _ = file.set_len(self.current.file_bytes + whole as u64);
        }
        self.note(bytes, whole, kept);
        Err(error)
    }

    fn note(&mut self, bytes: &[u8], size: usize, frames: u64) {
        if self.current.frames == 0
            && let Some(block) = self.block(bytes)
        {
            self.current.first = block.stamp;
        }
        self.current.frames += frames;
        self.current.file_bytes += size as u64;
    }

    /// The block at the start of these bytes.
    fn block(&self, bytes: &[u8]) -> Option<Block> {
        let word =
            |at: usize| bytes.get(at..).and_then(<[u8]>::first_chunk).map(|word| u32::from_le_bytes(*word));
        let (size, stamp) = match self.format {
            Format::PcapNg => (word(4)? as usize, u64::from(word(12)?) << 32 | u64::from(word(16)?)),
            Format::PcapNanos => {
                (16 + word(8)? as usize, u64::from(word(0)?) * 1_000_000_000 + u64::from(word(4)?))
            }
            Format::PcapMicros => {
                (16 + word(8)? as usize, u64::from(word(0)?) * 1_000_000_000 + u64::from(word(4)?) * 1_000)
            }
        };
        Some(Block { size, stamp: Stamp(stamp) })
    }

    /// Ends the file that is being written.
    fn end(&mut self, statistics: &Statistics) -> io::Result<()> {
        if let Some(mut file) = self.file.take() {
            let received = statistics.received.max(self.current.frames);
            let statistics = Statistics { received, ..*statistics };
            let tail = tail(self.format, &statistics, self.current.first, self.current.last);
            let whole = self.current.file_bytes;
            if let Err(error) = file.write_all(&tail) {
                let _ = file.set_len(whole);
                return Err(error);
            }
            self.current.file_bytes += tail.len() as u64;
        }
        self.done = self.total();
        self.current = Written::default();
        Ok(())
    }

    pub fn finish(&mut self, statistics: &Statistics) -> io::Result<()> {
        self.end(statistics)
    }

    /// What was written, over all files, those that were removed too.
    pub fn total(&self) -> Written {
        Written {
            frames: self.done.frames + self.current.frames,
            file_bytes: self.done.file_bytes + self.current.file_bytes,
            calls: self.done.calls + self.current.calls,
            ..self.current
        }
    }

    /// Files that were begun, and how many of them were removed since.
    pub fn files(&self) -> (u64, u64) {
        (self.number, self.removed)
    }
}

/// Frames that could not be kept, and why.
#[derive(Debug)]
pub(super) struct Unkept {
    pub frames: u64,
    pub error: io::Error,
}

/// Writes it all, or says how much is there.
fn write_counted(file: &mut File, mut bytes: &[u8], calls: &mut u64) -> Result<(), (usize, io::Error)> {
    let all = bytes.len();
    while !bytes.is_empty() {
        *calls += 1;
        match file.write(bytes) {
            Ok(0) => return Err((all - bytes.len(), io::ErrorKind::WriteZero.into())),
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err((all - bytes.len(), error)),
        }
    }
    Ok(())
}
