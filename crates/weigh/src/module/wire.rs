//! The wire of a simulation, read as it is written: a pipe instead of a file, so that a run of any length needs
//! no room.
//!
//! ```text
//!   simulator ── pcapng ──► pipe ──► a thread ──► Tally
//! ```

use super::tally::Tally;
use crate::WeighError;
use port::Address;
use port::fpga::generator::Gap;
use port::pcap::Reader;
use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Duration;
use tempfile::TempDir;

/// What leaves is the first interface of the capture, what comes in the second.
const OUT: u32 = 0;
/// How often the reader is looked after.
const LOOK: Duration = Duration::from_millis(1);
const NO_WAITING: i32 = OFlags::NONBLOCK.bits() as i32;

fn failed<E: Into<std::io::Error>>(what: &'static str) -> impl Fn(E) -> WeighError {
    move |error| WeighError::System { what: what.to_owned(), source: error.into() }
}

pub struct Wire {
    folder: TempDir,
    pipe: PathBuf,
    traffic: Option<PathBuf>,
    reader: JoinHandle<Result<Tally, WeighError>>,
}

impl Wire {
    /// Begins to read. With `backload`, frames of 64 bytes come in at line rate.
    ///
    /// # Errors
    /// There is no room for temporary files.
    pub fn new(gap: Gap, backload: bool) -> Result<Self, WeighError> {
        let folder =
            tempfile::Builder::new().prefix("tare-bench-").tempdir().map_err(failed("a temporary folder"))?;
        let pipe = folder.path().join("wire.pcapng");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
            .map_err(failed("a pipe for the capture"))?;
        let traffic = backload.then(|| folder.path().join("in.pcap"));
        if let Some(file) = &traffic {
            std::fs::write(file, incoming()).map_err(failed("incoming traffic"))?;
        }
        let path = pipe.clone();
        // At the other end of the cable, unless something else comes in there.
        let way = if backload { OUT } else { OUT + 1 };
        let reader = std::thread::spawn(move || read(&path, gap, way));
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
    pub fn seen(self) -> Result<Tally, WeighError> {
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

fn read(pipe: &Path, gap: Gap, way: u32) -> Result<Tally, WeighError> {
    let mut tally = Tally::new(gap);
    let file = File::open(pipe).map_err(failed("the capture's pipe"))?;
    let Ok(mut reader) = Reader::new("the simulation's wire", Box::new(file)) else {
        // Nothing was written: why is told elsewhere.
        return Ok(tally);
    };
    while let Some(frame) = reader.next()? {
        if frame.interface == way {
            tally.began(frame.stamp.as_unix_nanos());
        }
    }
    Ok(tally)
}

/// A capture file of one datagram of 64 bytes with its FCS, which the file leaves out (classic format,
/// nanoseconds).
fn incoming() -> Vec<u8> {
    let mut frame = vec![2, 0x18, 0, 0, 0, 1, 2, 0x18, 0, 0, 0, 2, 8, 0];
    frame.extend([0x45, 0, 0, 46, 0, 0, 0x40, 0, 64, 17, 0, 0, 198, 18, 0, 2, 198, 18, 0, 1]);
    frame.extend([4, 0, 0, 9, 0, 26, 0, 0]);
    frame.resize(60, 0);
    let mut file = Vec::new();
    for word in [0xa1b2_3c4d_u32, 0x0004_0002, 0, 0, 0xffff, 1] {
        file.extend(word.to_le_bytes());
    }
    for word in [0, 0, frame.len() as u32, frame.len() as u32] {
        file.extend(word.to_le_bytes());
    }
    file.extend(frame);
    file
}
