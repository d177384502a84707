//! A recording that is read while it is sent, because it is larger than what may be held in memory.
//!
//! ```text
//! file ─► Feeder (a thread): frames, changes, times ─► blocks, a bounded number ─┬─► TapeTimes  when
//!           ▲                                                                    └─► Reel       what
//!           └──────────────────────── blocks that have left, to be freed there ◄────────┘
//! ```
//!
//! The thread that sends neither reads nor allocates: it takes finished blocks. One that comes after its frames
//! were due is late by the fault of the reader, and [`TapeReport`] says so.

mod feeder;
mod offsets;
#[cfg(test)]
mod tests;
mod times;

pub use feeder::{Ready, TapeSetup};
pub use offsets::{MOST, Odd, Offsets, TOO_LONG};
pub use times::TapeTimes;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError};
use units::Picos;
use wire::{Template, Times};

/// Most frames of a block: more than any call takes.
const BLOCK_FRAMES: usize = 1_024;
/// And most bytes, with what is kept beside each frame.
const BLOCK_BYTES: usize = 1 << 20;
/// What is kept of a frame beside its bytes, about.
pub const BESIDE: usize = 320;

/// Frames that follow each other, ready to be written.
#[derive(Debug)]
struct Block {
    /// Number of the first.
    first: u64,
    /// Rounds before this one: the number by which fields vary.
    round: u64,
    template: Template,
}

impl Block {
    fn end(&self) -> u64 {
        self.first + self.template.streams().len() as u64
    }
}

/// What is known of a recording only when it has been read.
#[derive(Debug, Default)]
pub struct TapeReport {
    pub backward: AtomicU64,
    pub unstamped: AtomicU64,
    pub ahead: AtomicU64,
    pub cut: AtomicU64,
    /// Blocks that came when their first frame was due already, and how late the last of these was at worst.
    pub late_blocks: AtomicU64,
    pub latest_ns: AtomicU64,
}

impl TapeReport {
    fn late(&self, by: Picos) {
        self.late_blocks.fetch_add(1, Ordering::Relaxed);
        self.latest_ns.fetch_max(by.as_nanos(), Ordering::Relaxed);
    }

    /// Sentences for people, of all parts of a recording together.
    pub fn words(parts: &[Arc<Self>]) -> Vec<String> {
        let sum = |of: fn(&Self) -> &AtomicU64| -> u64 {
            parts.iter().map(|part| of(part).load(Ordering::Relaxed)).sum()
        };
        let odd = Odd {
            backward: sum(|part| &part.backward),
            unstamped: sum(|part| &part.unstamped),
            ahead: sum(|part| &part.ahead),
        };
        let mut notes = super::words::of_stamps(odd);
        notes.extend(super::words::of_cut(sum(|part| &part.cut)));
        let late = sum(|part| &part.late_blocks);
        if late > 0 {
            let latest = parts.iter().map(|part| part.latest_ns.load(Ordering::Relaxed)).max().unwrap_or(0);
            let mend = "use a faster disk, a file that is not compressed, or a larger --read-ahead";
            notes.push(match latest {
                0 => format!("the recording was read too slowly: sending had to wait {late} times; {mend}"),
                _ => format!(
                    "the recording was read too slowly: {late} times, frames were due before they were read, by up to {:#}; {mend}",
                    Picos::from_nanos(latest)
                ),
            });
        }
        notes
    }
}

/// The frames themselves, on the thread that sends.
#[derive(Debug)]
pub struct Reel {
    incoming: Receiver<Block>,
    done: SyncSender<Block>,
    blocks: VecDeque<Block>,
    report: Arc<TapeReport>,
    /// What was asked for last has not been read yet.
    is_short: bool,
}

impl Reel {
    fn new(incoming: Receiver<Block>, done: SyncSender<Block>, most: usize, report: Arc<TapeReport>) -> Self {
        Self { incoming, done, blocks: VecDeque::with_capacity(most), report, is_short: false }
    }

    /// Gets the frames `from..=to` and lets go of those before; `false` if they have not been read yet.
    #[inline]
    pub fn hold(&mut self, from: u64, to: u64) -> bool {
        let is_there = self.blocks.back().is_some_and(|block| to < block.end());
        if is_there && self.blocks.front().is_some_and(|block| from < block.end()) {
            return true;
        }
        self.wind(from, to)
    }

    #[cold]
    fn wind(&mut self, from: u64, to: u64) -> bool {
        while self.blocks.front().is_some_and(|block| block.end() <= from) {
            // Where the reader has ended, they are freed here.
            let _ = self.blocks.pop_front().map(|block| self.done.try_send(block));
        }
        while self.blocks.back().is_none_or(|block| block.end() <= to) {
            match self.incoming.try_recv() {
                Ok(block) => self.blocks.push_back(block),
                // Where it cannot be read any further, the run has failed.
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => return false,
            }
        }
        self.is_short = false;
        true
    }

    /// What is to leave has not been read, and is late by so much already.
    pub fn late(&mut self, by: Picos) {
        if by.is_zero() {
            return;
        }
        self.waits();
        self.report.latest_ns.fetch_max(by.as_nanos(), Ordering::Relaxed);
    }

    /// What is to leave has not been read, and has no due time.
    pub fn waits(&mut self) {
        if !std::mem::replace(&mut self.is_short, true) {
            self.report.late_blocks.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Writes frame `seq`, which must be held, with `number` in its signature; 0 if it is not held. Of one that
    /// has no room only the length is told.
    #[inline]
    pub fn write(&self, seq: u64, number: u64, times: Times, room: &mut [u8], mark: &mut u64) -> usize {
        let found = self.blocks.iter().find(|block| seq < block.end());
        let Some(block) = found.filter(|block| block.first <= seq) else { return 0 };
        let length = block.template.length(seq - block.first);
        if length > room.len() {
            return length;
        }
        block.template.write_of((seq - block.first) as usize, block.round, number, times, room, mark)
    }
}

/// What belongs to one recording that is read while it is sent.
pub struct Tape {
    pub reel: Reel,
    pub times: TapeTimes,
    /// Whether the recording's own times are asked for.
    pub has_times: bool,
    pub report: Arc<TapeReport>,
}
