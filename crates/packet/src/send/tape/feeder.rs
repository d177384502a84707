//! The thread that reads: frames with their changes and times, in blocks, so many ahead.

use super::super::job::none_of;
use super::super::split::Splitter;
use super::times::Starts;
use super::{
    BESIDE, BLOCK_BYTES, BLOCK_FRAMES, Block, MOST, Odd, Offsets, Reel, TOO_LONG, Tape, TapeReport, TapeTimes,
};
use crate::{JobControl, PacketError};
use plan::packets::send::Speed;
use plan::packets::split::{Side, Split};
use port::PortError;
use port::pcap::Reader;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::time::Duration;
use units::Picos;
use wire::template::Changes;
use wire::{Template, WireError};

/// Blocks that are read ahead at least: a call may need two.
const LEAST_BLOCKS: usize = 4;
/// For so long a load is not started because of what has not been read yet.
const PATIENCE: Duration = Duration::from_secs(2);
/// A full queue is looked at again after this.
const FULL: Duration = Duration::from_millis(1);

/// What is read, and how.
#[derive(Clone, Debug)]
pub struct TapeSetup {
    pub file: PathBuf,
    pub changes: Changes,
    /// `None`: only the frames are wanted, and their times are another's.
    pub speed: Option<Speed>,
    /// How often it is read; `None` without end.
    pub loops: Option<u64>,
    /// Frames of one side only, by this rule.
    pub side: Option<(Split, Side)>,
    /// After so many frames, those of the other side included, there are no more.
    pub frames: Option<u64>,
    /// So much is kept in memory.
    pub window_bytes: u64,
}

/// See the module. It ends when nobody takes its blocks any more.
pub struct Feeder {
    setup: TapeSetup,
    blocks: SyncSender<Block>,
    starts: SyncSender<Starts>,
    done: Receiver<Block>,
    report: Arc<TapeReport>,
    /// Told once, when as much has been read as may be kept.
    ready: Option<Sender<()>>,
    /// Number of the next frame, and rounds before this one.
    next: u64,
    /// Frames of both sides so far.
    seen: u64,
    round: u64,
    /// How long a round is; known at the end of the first.
    total: Picos,
    /// How long the file was when the run began.
    bytes: u64,
}

/// What has been read of the current block.
#[derive(Default)]
struct Draft {
    frames: Vec<Vec<u8>>,
    starts: Vec<u64>,
    /// Numbers of the frames in the file.
    places: Vec<u64>,
    /// Bytes that were read for it.
    read: usize,
}

/// Nobody takes what is read, or it cannot be read.
enum Stop {
    Nobody,
    Wrong(String),
}

impl From<PortError> for Stop {
    fn from(error: PortError) -> Self {
        Self::Wrong(error.to_string())
    }
}

impl TapeSetup {
    /// Starts to read. What goes wrong while the run goes on ends it.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start(self, control: Arc<JobControl>) -> Result<(Tape, Ready), PacketError> {
        let most = (self.window_bytes as usize / BLOCK_BYTES).max(LEAST_BLOCKS);
        let (blocks, of_blocks) = sync_channel(most);
        let (starts, of_starts) = sync_channel(most);
        // All that were sent may come back at once.
        let (back, done) = sync_channel(most + LEAST_BLOCKS);
        let (ready, is_ready) = channel();
        let report = Arc::new(TapeReport::default());
        let times = TapeTimes::new(of_starts, report.clone(), self.side.is_some());
        let reel = Reel::new(of_blocks, back, most + LEAST_BLOCKS, report.clone());
        let has_times = self.speed.is_some();
        let bytes = std::fs::metadata(&self.file).map_or(0, |file| file.len());
        let feeder = Feeder {
            setup: self,
            blocks,
            starts,
            done,
            report: report.clone(),
            ready: Some(ready),
            next: 0,
            seen: 0,
            round: 0,
            total: Picos::ZERO,
            bytes,
        };
        let failed =
            |error: std::io::Error| PacketError::Wrong(format!("a thread cannot be started: {error}"));
        std::thread::Builder::new()
            .name("tare-read".to_owned())
            .spawn(move || feeder.run(&control))
            .map_err(failed)?;
        Ok((Tape { reel, times, has_times, report }, Ready(is_ready)))
    }
}

/// Waits until as much has been read as may be kept, or all.
pub struct Ready(Receiver<()>);

impl Ready {
    pub fn wait(self) {
        // That it has ended is as good.
        let _: Result<(), RecvTimeoutError> = self.0.recv_timeout(PATIENCE);
    }
}

impl Feeder {
    fn run(mut self, control: &JobControl) {
        while self.setup.loops.is_none_or(|loops| self.round < loops) {
            match self.round() {
                Ok(()) if self.is_done() => return,
                Ok(()) => self.round += 1,
                Err(Stop::Nobody) => return,
                Err(Stop::Wrong(problem)) => return control.fail(problem),
            }
        }
    }

    /// Reads the file once.
    fn round(&mut self) -> Result<(), Stop> {
        let mut reader = Reader::open(&self.setup.file)?;
        let mut draft = Draft::default();
        let mut splitter = self.setup.side.clone().map(|(by, side)| (Splitter::new(by), side));
        let mut offsets = Offsets::default();
        let (mut all, mut own) = (0u64, 0);
        while let Some(frame) = reader.next_ethernet()? {
            if self.is_done() {
                break;
            }
            let (offset, odd) = offsets.next(frame.stamp.as_unix_nanos());
            if self.faster(offset) > MOST {
                return Err(Stop::Wrong(format!("{}: {TOO_LONG}", self.setup.file.display())));
            }
            all += 1;
            self.seen += 1;
            draft.read += frame.data.len() + BESIDE;
            let is_own = splitter.as_mut().is_none_or(|(splitter, side)| splitter.side(frame.data) == *side);
            if is_own {
                own += 1;
                self.note(odd, frame.data.len() < frame.length);
                draft.starts.push(self.start(offset));
                draft.frames.push(frame.data.to_vec());
                draft.places.push(all);
            }
            // Those of a side that is seldom heard must not wait until there are many.
            if draft.frames.len() == BLOCK_FRAMES || draft.read >= BLOCK_BYTES {
                self.push(std::mem::take(&mut draft), own)?;
            }
        }
        self.push(draft, own)?;
        self.is_as_long()?;
        match &self.setup.side {
            None if all == 0 => {
                return Err(Stop::Wrong(format!("{}: holds no frame", self.setup.file.display())));
            }
            Some((_, side)) if own == 0 && self.round == 0 => {
                return Err(Stop::Wrong(none_of(*side).to_string()));
            }
            _ => {}
        }
        if self.round == 0 {
            let last = self.faster(offsets.last());
            // After the last frame comes the mean gap, and it begins again.
            self.total = last + Picos::from_picos((last.as_picos() / (all - 1).max(1)).max(1));
        }
        Ok(())
    }

    /// A file that was cut off between two frames ends as any other does. One that is no file has no length.
    fn is_as_long(&self) -> Result<(), Stop> {
        let bytes = std::fs::metadata(&self.setup.file).map_or(self.bytes, |file| file.len());
        if bytes >= self.bytes || self.is_done() {
            return Ok(());
        }
        Err(Stop::Wrong(format!(
            "{}: was cut off while it was read: it had {} bytes when the run began, and now has {bytes}",
            self.setup.file.display(),
            self.bytes
        )))
    }

    fn is_done(&self) -> bool {
        self.setup.frames.is_some_and(|frames| self.seen >= frames)
    }

    /// What is wrong with a frame is counted in the first round.
    fn note(&self, odd: Odd, is_cut: bool) {
        let add = |counter: &AtomicU64, count| {
            counter.fetch_add(count, Ordering::Relaxed);
        };
        if self.round == 0 {
            let odd = if self.setup.speed.is_some() { odd } else { Odd::default() };
            add(&self.report.backward, odd.backward);
            add(&self.report.unstamped, odd.unstamped);
            add(&self.report.ahead, odd.ahead);
            add(&self.report.cut, u64::from(is_cut));
        }
    }

    fn faster(&self, ns: u64) -> Picos {
        self.setup.speed.map_or(Picos::ZERO, |speed| speed.faster(ns))
    }

    /// When a frame is due after the start, with its offset in the recording.
    fn start(&self, offset_ns: u64) -> u64 {
        self.total.saturating_mul(self.round).as_picos().saturating_add(self.faster(offset_ns).as_picos())
    }

    /// Makes a block ready and hands it on; waits while as many as may be kept are waiting.
    fn push(&mut self, draft: Draft, own: u64) -> Result<(), Stop> {
        let Draft { frames, starts, places, .. } = draft;
        if frames.is_empty() {
            return Ok(());
        }
        let (first, count) = (self.next, frames.len() as u64);
        // Signatures count the frames of the file.
        let of_file = (own - count) as u16;
        let template = Template::from_frames_with(frames, &self.setup.changes)
            .map_err(|error| {
                Stop::Wrong(format!("{}: {}", self.setup.file.display(), of_the_file(error, &places)))
            })?
            .numbered_from(of_file);
        self.next += count;
        self.hand(Block { first, round: self.round, template })?;
        if self.setup.speed.is_some() {
            // One is taken for each block, so there is room.
            self.starts.send(Starts { first, due: starts.into() }).map_err(|_| Stop::Nobody)?;
        }
        Ok(())
    }

    fn hand(&mut self, mut block: Block) -> Result<(), Stop> {
        loop {
            // What has left is freed here.
            while self.done.try_recv().is_ok() {}
            match self.blocks.try_send(block) {
                Ok(()) => return Ok(()),
                // At the end only the times of what is left are asked for.
                Err(TrySendError::Disconnected(_)) if self.setup.speed.is_some() => return Ok(()),
                Err(TrySendError::Disconnected(_)) => return Err(Stop::Nobody),
                Err(TrySendError::Full(back)) => {
                    block = back;
                    if let Some(ready) = self.ready.take() {
                        let _ = ready.send(());
                    }
                    std::thread::sleep(FULL);
                }
            }
        }
    }
}

/// What is wrong with a frame of a block, with the frame's number in the file.
fn of_the_file(error: WireError, places: &[u64]) -> WireError {
    let in_file = |number: usize| places.get(number.wrapping_sub(1)).map_or(number, |place| *place as usize);
    match error {
        WireError::Frame { number, problem } => WireError::Frame { number: in_file(number), problem },
        other => other,
    }
}
