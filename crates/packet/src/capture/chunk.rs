//! What goes from a receiving thread to the disk: buffers of whole capture blocks, of which there is a fixed
//! number.
//!
//! ```text
//! receive ─ frame ─► chunk ─ full ─► queue ─► disk thread ─ write(2) ─► file
//!                      ▲                          │
//!                      └────────── free ──────────┘        no chunk free: the frame is counted, and not kept
//! ```
//!
//! Frames are laid out where they are received, and copied once. A chunk is made when none is free and there
//! may be more, so that as few are in use as the disk's speed allows: they stay in the cache.

use port::Stamp;
use port::pcap::Format;
use port::pcap::bytes::{Entry, frame, frame_size};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::time::Duration;
use units::Instant;

/// How long a file waits for the disk that takes none of it.
const PATIENCE: Duration = Duration::from_secs(10);
/// Bytes of a chunk: what a core's own cache holds, so that the disk thread finds it there.
pub(super) const CHUNK: usize = 256 << 10;

/// Whole blocks of frames.
pub(super) struct Chunk {
    data: Box<[u8]>,
    filled: usize,
    pub frames: u64,
    /// When the last frame was stamped.
    pub last: Stamp,
    /// Where to give it back.
    home: Sender<Chunk>,
}

impl Chunk {
    pub fn bytes(&self) -> &[u8] {
        &self.data[..self.filled]
    }

    /// Gives the buffer back to the thread that fills it.
    pub fn release(mut self) {
        (self.filled, self.frames) = (0, 0);
        let home = self.home.clone();
        // A thread that has ended needs none.
        let _ = home.send(self);
    }
}

/// A receiving thread's end.
pub(super) struct Filler {
    format: Format,
    snap: usize,
    /// Written with each frame, where there are several.
    queue: Option<u32>,
    current: Option<Chunk>,
    since: Instant,
    free: Receiver<Chunk>,
    home: Sender<Chunk>,
    /// Chunks that may still be made.
    spare: usize,
    to_disk: SyncSender<Chunk>,
    /// It waits for a chunk rather than lose a frame.
    is_patient: bool,
    /// Frames for which there was no room.
    pub unwritten: u64,
}

impl Filler {
    /// `most` chunks for this thread.
    pub fn new(
        format: Format,
        snap: usize,
        queue: Option<u32>,
        most: usize,
        to_disk: SyncSender<Chunk>,
    ) -> Self {
        let (home, free) = channel();
        Self {
            format,
            snap,
            queue,
            current: None,
            since: Instant::EPOCH,
            free,
            home,
            spare: most.max(2),
            to_disk,
            is_patient: false,
            unwritten: 0,
        }
    }

    /// Lays a frame out for the disk, or counts it as not written.
    #[inline]
    pub fn frame(&mut self, stamp: Stamp, length: usize, data: &[u8], now: Instant) {
        let kept = &data[..data.len().min(self.snap)];
        let size = frame_size(self.format, kept.len(), self.queue.is_some());
        if self.current.as_ref().is_none_or(|chunk| chunk.filled + size > CHUNK) {
            self.hand_over();
            self.next(now);
        }
        let Some(chunk) = self.current.as_mut().filter(|chunk| chunk.filled + size <= CHUNK) else {
            self.unwritten += 1;
            return;
        };
        let entry = Entry { stamp, length: length.max(kept.len()), kept, queue: self.queue };
        frame(self.format, &entry, &mut chunk.data[chunk.filled..chunk.filled + size]);
        chunk.filled += size;
        chunk.frames += 1;
        chunk.last = stamp;
    }

    /// Frames come from a file, which waits for the disk.
    pub fn with_patience(self) -> Self {
        Self { is_patient: true, ..self }
    }

    #[cold]
    fn next(&mut self, now: Instant) {
        self.since = now;
        self.current = self.free.try_recv().ok();
        if self.current.is_none() && self.spare == 0 && self.is_patient {
            self.current = self.free.recv_timeout(PATIENCE).ok();
            // A disk that takes nothing for so long is not waited for again.
            self.is_patient = self.current.is_some();
        }
        if self.current.is_none() && self.spare > 0 {
            self.spare -= 1;
            let data = vec![0; CHUNK].into();
            let home = self.home.clone();
            self.current = Some(Chunk { data, filled: 0, frames: 0, last: Stamp::NONE, home });
        }
    }

    /// When the oldest frame was laid out that the disk does not have yet.
    pub fn waits_since(&self) -> Option<Instant> {
        self.current.as_ref().filter(|chunk| chunk.frames > 0).map(|_| self.since)
    }

    /// Gives what there is to the disk. The queue has room for every chunk there is.
    pub fn hand_over(&mut self) {
        let Some(chunk) = self.current.take_if(|chunk| chunk.frames > 0) else { return };
        if let Err(TrySendError::Full(chunk) | TrySendError::Disconnected(chunk)) =
            self.to_disk.try_send(chunk)
        {
            self.unwritten += chunk.frames;
        }
    }
}

/// The way to the disk, with room for that many chunks.
pub(super) fn way(chunks: usize) -> (SyncSender<Chunk>, Receiver<Chunk>) {
    sync_channel(chunks.max(2))
}
