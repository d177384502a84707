//! What one thread makes of the frames that it received.

use super::chunk::Filler;
use super::program::Program;
use super::stamps::Resolution;
use crate::flows::{Flows, Sizes};
use crate::signed::{Mark, Reader, Signed};
use measure::gap_meter::{GapMeter, Requested};
use port::{Frame, Stamp};
use std::sync::{Arc, Mutex, PoisonError};
use units::{Instant, Picos};

/// No frame waits longer for the port to be ready.
const EARLIEST_NS: u64 = 1_000_000_000;
/// Signatures that are read before they are noted: the lock is taken once for so many.
const BATCH: usize = 256;

/// See the module.
pub(super) struct Tally {
    queue: usize,
    /// Frames that pass the filter here.
    pub filter: Option<Here>,
    /// Frames stamped before this do not count, until one comes that is not. `NONE`: all count.
    pub begun: Stamp,
    /// Nor do frames from this stamp on, of which one has come then. `NONE`: all count.
    pub until: Stamp,
    pub is_over: bool,
    /// Of a file, whose times end it: set off by its first frame that has one.
    pub length: Option<Picos>,
    pub sizes: Sizes,
    pub flows: Option<Flows>,
    pub gaps: Option<GapMeter>,
    /// Errors of gaps since they were last taken away.
    pub gap_errors: Vec<Picos>,
    pub resolution: Resolution,
    signed: Option<Signatures>,
    pub file: Option<Filler>,
    pub counts: Counts,
}

/// A filter that is run here.
pub(super) struct Here {
    pub program: Program,
    /// Only frames stamped before this: later ones met the port's own filter. `NONE`: all.
    pub until: Stamp,
}

/// Running totals.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub frames: u64,
    pub bytes: u64,
    /// Received and let pass by.
    pub filtered: u64,
    /// Of `frames`, those that held several. Where gaps are those of due times, strangers do not count.
    pub merged: u64,
    /// Of `frames`, those without a stamp.
    pub unstamped: u64,
    /// Of these, those before the first stamp, and those behind the last one.
    pub before_first: u64,
    pub behind_last: u64,
    /// Of those that have one.
    pub first: Stamp,
    pub last: Stamp,
    pub last_length: usize,
}

impl Counts {
    #[inline]
    fn stamped(&mut self, frame: &Frame<'_>) {
        self.last_length = frame.length;
        if frame.stamp == Stamp::NONE {
            self.unstamped += 1;
            self.behind_last += 1;
            return;
        }
        if self.first == Stamp::NONE {
            self.first = frame.stamp;
            self.before_first = self.behind_last;
        }
        self.behind_last = 0;
        self.last = frame.stamp;
    }
}

/// Marks on their way to what all threads share.
struct Signatures {
    reader: Reader,
    marks: Vec<(Mark, Stamp)>,
    shared: Arc<Mutex<Signed>>,
}

impl Tally {
    pub fn new(queue: usize, shared: Option<Arc<Mutex<Signed>>>) -> Self {
        let signed = shared.map(|shared| Signatures {
            reader: Reader::default(),
            marks: Vec::with_capacity(BATCH),
            shared,
        });
        Self {
            queue,
            filter: None,
            begun: Stamp::NONE,
            until: Stamp::NONE,
            is_over: false,
            length: None,
            sizes: Sizes::default(),
            flows: None,
            gaps: None,
            gap_errors: Vec::new(),
            resolution: Resolution::default(),
            signed,
            file: None,
            counts: Counts::default(),
        }
    }

    /// Takes a frame that arrived; `now` is about when. Returns whether it passed the filter.
    #[inline]
    pub fn frame(&mut self, frame: &Frame<'_>, now: Instant) -> bool {
        if self.begun != Stamp::NONE {
            // By more, the clock was set back meanwhile.
            let early = self.begun.0.saturating_sub(frame.stamp.0);
            if frame.stamp != Stamp::NONE && (1..EARLIEST_NS).contains(&early) {
                return false;
            }
            self.begun = Stamp::NONE;
        }
        if self.length.is_some()
            && frame.stamp != Stamp::NONE
            && let Some(length) = self.length.take()
        {
            self.until = Stamp(frame.stamp.0.saturating_add(length.as_nanos()));
        }
        if self.until != Stamp::NONE && frame.stamp != Stamp::NONE && frame.stamp >= self.until {
            self.is_over = true;
            return false;
        }
        if let Some(here) = &self.filter
            && (here.until == Stamp::NONE || frame.stamp < here.until)
            && !here.program.passes(frame.data, frame.length)
        {
            self.counts.filtered += 1;
            return false;
        }
        self.counts.frames += 1;
        self.counts.bytes += frame.length as u64;
        self.counts.stamped(frame);
        if let Some(file) = &mut self.file {
            file.frame(frame.stamp, frame.length, frame.data, now);
        }
        self.sizes.frame(frame.length);
        if let Some(flows) = &mut self.flows {
            flows.frame(frame.data, frame.length);
        }
        let mark = self.mark(frame);
        if frame.card_work.split && (self.counts_strangers() || matches!(mark, Some(Mark::Merged(_)))) {
            self.counts.merged += 1;
        }
        if let Some(gaps) = &mut self.gaps {
            self.resolution.see(frame.stamp);
            self.gap_errors.extend(gap(gaps, mark, frame.stamp));
        }
        true
    }

    fn counts_strangers(&self) -> bool {
        !self.gaps.as_ref().is_some_and(|gaps| matches!(gaps.requested(), Requested::Due))
    }

    #[inline]
    fn mark(&mut self, frame: &Frame<'_>) -> Option<Mark> {
        let signed = self.signed.as_mut()?;
        let mark = signed.reader.read(frame);
        signed.marks.push((mark, frame.stamp));
        if signed.marks.len() >= BATCH {
            signed.note(self.queue);
        }
        Some(mark)
    }

    /// Hands over what was read of signatures.
    pub fn note(&mut self) {
        if let Some(signed) = &mut self.signed {
            signed.note(self.queue);
        }
    }
}

/// Frames without a stamp have no gap; where gaps are those of due times, strangers have none either.
#[inline]
fn gap(gaps: &mut GapMeter, mark: Option<Mark>, stamp: Stamp) -> Option<Picos> {
    if stamp == Stamp::NONE {
        // What follows is not next to what was before.
        gaps.pause();
        return None;
    }
    match (mark, gaps.requested()) {
        (Some(Mark::Signed(signature)), _) => gaps.arrived_due(stamp.0, signature.due_unix_ns),
        (_, Requested::Due) => None,
        _ => gaps.arrived(stamp.0),
    }
}

impl Signatures {
    fn note(&mut self, queue: usize) {
        if self.marks.is_empty() {
            return;
        }
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        for (mark, stamp) in self.marks.drain(..) {
            shared.note(&mark, stamp, queue);
        }
    }
}
