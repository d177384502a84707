//! The thread between the chunks and the files.

use super::chunk::Chunk;
use super::files::Files;
use crate::JobControl;
use port::pcap::Written;
use port::pcap::bytes::Statistics;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// What came of writing.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcome {
    pub written: Written,
    pub files: u64,
    pub removed: u64,
    /// Frames that came to the disk and were not kept.
    pub unkept: u64,
    /// Why nothing more was written.
    pub failure: Option<String>,
}

/// The disk thread; it ends when all receiving threads have.
pub(super) struct Disk {
    thread: JoinHandle<Files>,
    outcome: Arc<Mutex<Outcome>>,
}

impl Disk {
    pub fn start(
        mut files: Files,
        chunks: Receiver<Chunk>,
        control: Arc<JobControl>,
    ) -> std::io::Result<Self> {
        let outcome = Arc::new(Mutex::new(Outcome::default()));
        let told = outcome.clone();
        let thread = std::thread::Builder::new().name("disk".to_owned()).spawn(move || {
            for chunk in chunks {
                if let Some(failure) = keep(&mut files, chunk, &told) {
                    control.fail(failure);
                }
            }
            files
        })?;
        Ok(Self { thread, outcome })
    }

    /// Waits until all is written, and ends the file with what is known of the whole capture.
    pub fn finish(self, statistics: &Statistics) -> Outcome {
        let files = self.thread.join();
        let mut outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match files {
            Ok(mut files) => {
                if let Err(error) = files.finish(statistics) {
                    outcome.failure.get_or_insert(format!("{}: {error}", files.name().display()));
                }
                outcome.written = files.total();
                (outcome.files, outcome.removed) = files.files();
            }
            Err(_) => outcome.failure = Some("writing failed because of a bug in Tare".to_owned()),
        }
        outcome
    }
}

/// Writes a chunk and gives it back. The first failure is told; after it frames are only counted.
fn keep(files: &mut Files, chunk: Chunk, outcome: &Mutex<Outcome>) -> Option<String> {
    let mut outcome = outcome.lock().unwrap_or_else(PoisonError::into_inner);
    let mut told = None;
    if outcome.failure.is_some() {
        outcome.unkept += chunk.frames;
    } else if let Err(unkept) = files.write(&chunk) {
        let whole = files.total().frames;
        let failure = format!(
            "{}: {}; the file is intact and ends after {whole} frames",
            files.name().display(),
            unkept.error
        );
        outcome.unkept += unkept.frames;
        outcome.failure = Some(failure.clone());
        told = Some(failure);
    }
    drop(outcome);
    chunk.release();
    told
}
