//! The wire of a simulation, read as it is written: a pipe instead of a file, so that a run of any length needs
//! no room.
//!
//! ```text
//!   simulator ── pcapng ──► pipe ──► a thread ──► what it makes of each frame
//! ```

use crate::WeighError;
use port::Address;
use port::pcap::{Captured, Reader};
use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Duration;
use tempfile::TempDir;

/// What leaves is the first interface of the capture, what comes in the second.
pub const OUT: u32 = 0;
pub const IN: u32 = 1;
/// How often the reader is looked after.
const LOOK: Duration = Duration::from_millis(1);
const NO_WAITING: i32 = OFlags::NONBLOCK.bits() as i32;

fn failed<E: Into<std::io::Error>>(what: &'static str) -> impl Fn(E) -> WeighError {
    move |error| WeighError::System { what: what.to_owned(), source: error.into() }
}

pub struct Wire<T> {
    folder: TempDir,
    pipe: PathBuf,
    traffic: Option<PathBuf>,
    reader: JoinHandle<Result<T, WeighError>>,
}

impl<T: Send + 'static> Wire<T> {
    /// Begins to read; `see` gets each frame. What comes in is `traffic`, a capture file, or else what left.
    ///
    /// # Errors
    /// There is no room for temporary files.
    pub fn new(
        traffic: Option<&[u8]>,
        seen: T,
        see: impl Fn(&mut T, &Captured<'_>) + Send + 'static,
    ) -> Result<Self, WeighError> {
        let folder =
            tempfile::Builder::new().prefix("tare-bench-").tempdir().map_err(failed("a temporary folder"))?;
        let pipe = folder.path().join("wire.pcapng");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
            .map_err(failed("a pipe for the capture"))?;
        let file = traffic.map(|bytes| {
            let file = folder.path().join("in.pcap");
            std::fs::write(&file, bytes).map(|()| file)
        });
        let traffic = file.transpose().map_err(failed("incoming traffic"))?;
        let path = pipe.clone();
        let reader = std::thread::spawn(move || read(&path, seen, see));
        Ok(Self { folder, pipe, traffic, reader })
    }

    /// The same simulation with this wire.
    pub fn address(&self, of: &Address) -> Address {
        let address = of.clone().with("pcap", &self.pipe.to_string_lossy());
        match &self.traffic {
            Some(file) => address.with("traffic", &file.to_string_lossy()),
            None => address,
        }
    }

    /// What was on it, when the simulation has ended.
    ///
    /// # Errors
    /// The capture cannot be read.
    pub fn seen(self) -> Result<T, WeighError> {
        // If nobody has written, the reader waits for a writer still, or is about to.
        while !self.reader.is_finished() {
            let _ = OpenOptions::new().write(true).custom_flags(NO_WAITING).open(&self.pipe);
            std::thread::sleep(LOOK);
        }
        let seen = self.reader.join().map_err(|_| WeighError::Wrong("the capture's reader failed".into()))?;
        drop(self.folder);
        seen
    }
}

fn read<T>(pipe: &Path, mut seen: T, see: impl Fn(&mut T, &Captured<'_>)) -> Result<T, WeighError> {
    let file = File::open(pipe).map_err(failed("the capture's pipe"))?;
    let Ok(mut reader) = Reader::new("the simulation's wire", Box::new(file)) else {
        // Nothing was written: why is told elsewhere.
        return Ok(seen);
    };
    while let Some(frame) = reader.next()? {
        see(&mut seen, &frame);
    }
    Ok(seen)
}
