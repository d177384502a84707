//! When frames of a recording are due that is read while it is sent. What is not known yet is waited for.

use super::TapeReport;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};
use units::{Departure, Instant, Picos};

/// Times of frames that may be put back: more than are drawn at once.
const BEHIND: u64 = 4_096;

/// Due times of frames that follow each other, in picoseconds after the start.
#[derive(Debug)]
pub struct Starts {
    pub first: u64,
    pub due: Box<[u64]>,
}

impl Starts {
    fn end(&self) -> u64 {
        self.first + self.due.len() as u64
    }
}

/// See the module.
#[derive(Debug)]
pub struct TapeTimes {
    incoming: Receiver<Starts>,
    report: Arc<TapeReport>,
    known: VecDeque<Starts>,
    origin: Instant,
    end: Picos,
    frames: u64,
    next: u64,
    is_over: bool,
    /// Others have frames of the same recording: after a pause, gaps to theirs are as before.
    is_part: bool,
    /// What pauses have moved everything by, and from which frame on: never descending.
    shifts: Vec<(u64, i128)>,
    paused: Option<Instant>,
    /// A pause is over, and the first frame behind it is due then.
    resumed: Option<Instant>,
}

impl TapeTimes {
    pub(super) fn new(incoming: Receiver<Starts>, report: Arc<TapeReport>, is_part: bool) -> Self {
        Self {
            incoming,
            report,
            known: VecDeque::new(),
            origin: Instant::EPOCH,
            end: Picos::MAX,
            frames: u64::MAX,
            next: 0,
            is_over: false,
            is_part,
            shifts: vec![(0, 0)],
            paused: None,
            resumed: None,
        }
    }

    /// When it starts, and where it ends at the latest.
    pub fn begin(&mut self, origin: Instant, after: Option<Picos>, frames: Option<u64>) {
        self.origin = origin;
        self.end = after.unwrap_or(Picos::MAX).min(Instant::FAR.since(origin));
        self.frames = frames.unwrap_or(u64::MAX);
    }

    /// Takes what has been read. `now`: what is due before it came too late.
    pub fn look(&mut self, now: Instant) {
        if self.known.back().is_some_and(|last| self.next + BEHIND < last.end()) || self.is_over {
            return;
        }
        match self.incoming.try_recv() {
            Ok(starts) => {
                let (first, is_first) = (starts.first, self.known.is_empty());
                self.known.push_back(starts);
                while self.known.front().is_some_and(|front| front.end() + BEHIND < self.next) {
                    self.known.pop_front();
                }
                self.settle_shift();
                if let Some(due) = self.due(first).filter(|due| !is_first && *due < now && first == self.next)
                {
                    self.report.late(now.since(due));
                }
            }
            Err(TryRecvError::Disconnected) => self.is_over = true,
            Err(TryRecvError::Empty) => {}
        }
    }

    /// Whether the next frame is yet to be read.
    pub fn is_waiting(&self) -> bool {
        !self.is_over && self.paused.is_none() && self.next < self.frames && self.raw(self.next).is_none()
    }

    fn raw(&self, n: u64) -> Option<u64> {
        let block = self.known.iter().rev().find(|block| block.first <= n)?;
        block.due.get((n - block.first) as usize).copied()
    }

    fn due(&self, n: u64) -> Option<Instant> {
        let raw = i128::from(self.raw(n)?);
        let shift = self.shifts.iter().rev().find(|(first, _)| *first <= n).map_or(0, |(_, shift)| *shift);
        let offset = Picos::from_picos(u64::try_from(raw + shift).ok()?);
        (offset < self.end).then(|| self.origin + offset)
    }

    #[inline]
    pub fn peek(&self) -> Option<Instant> {
        if self.next >= self.frames || self.resumed.is_some() {
            return None;
        }
        let due = self.due(self.next)?;
        self.paused.is_none_or(|paused| due < paused).then_some(due)
    }

    #[inline]
    pub fn draw(&mut self) -> Option<Departure> {
        let due = self.peek()?;
        let seq = self.next;
        self.next += 1;
        Some(Departure { seq, due })
    }

    pub const fn put_back(&mut self, seq: u64) {
        self.next = seq;
    }

    pub const fn next(&self) -> u64 {
        self.next
    }

    /// Frames that are due before `end`, as far as they have been read.
    pub fn before(&self, end: Instant) -> u64 {
        let end = self.paused.map_or(end, |paused| end.min(paused));
        let Some(block) =
            self.known.iter().rev().find(|block| self.due(block.first).is_some_and(|due| due < end))
        else {
            return self.known.front().map_or(0, |front| front.first);
        };
        let (mut low, mut high) = (block.first, block.end());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.due(middle).is_some_and(|due| due < end) { low = middle + 1 } else { high = middle }
        }
        low.min(self.frames)
    }

    /// Drops what is due before `end`; at the end of all, also what has not been read. (Its frames are not
    /// asked for any more then.)
    pub fn skip_before(&mut self, end: Instant) -> u64 {
        let mut dropped = 0;
        loop {
            while self.peek().is_some_and(|due| due < end) {
                self.next += 1;
                dropped += 1;
            }
            if end != Instant::FAR || !self.is_waiting() {
                return dropped;
            }
            match self.incoming.recv() {
                Ok(starts) => self.known.push_back(starts),
                Err(_) => self.is_over = true,
            }
            while self.known.front().is_some_and(|front| front.end() + BEHIND < self.next) {
                self.known.pop_front();
            }
            self.settle_shift();
        }
    }

    pub const fn is_paused(&self) -> bool {
        self.paused.is_some()
    }

    pub fn pause(&mut self, at: Instant) {
        self.settle_shift();
        self.paused.get_or_insert(at);
    }

    /// The first frame behind the pause is due at `at`.
    pub fn resume(&mut self, at: Instant) {
        if self.paused.is_some() && self.resumed.is_none() {
            self.resumed = Some(at);
            self.settle_shift();
        }
    }

    /// A pause that is over moves what is behind it, as soon as the first of that is known.
    fn settle_shift(&mut self) {
        let (Some(paused), Some(resumed)) = (self.paused, self.resumed) else { return };
        let mut first = self.next;
        while self.due(first).is_some_and(|due| due < paused) {
            first += 1;
        }
        let Some(raw) = self.raw(first) else { return };
        let offset = |at: Instant| i128::from(at.since(self.origin).as_picos());
        let shift = match self.is_part {
            true => self.shifts.last().map_or(0, |(_, shift)| *shift) + offset(resumed) - offset(paused),
            false => offset(resumed) - i128::from(raw),
        };
        self.shifts.push((first, shift));
        (self.paused, self.resumed) = (None, None);
    }
}
