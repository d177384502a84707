//! Shapes whose due times are drawn one after another: every share draws all and keeps its own.

use crate::{Schedule, ScheduleError, Share};
use units::{Departure, Instant, Picos};

/// An offset from the origin, or why there is none.
pub type Offset = Result<Picos, ScheduleError>;

pub struct Streamed<I> {
    offsets: I,
    origin: Instant,
    end: Picos,
    share: Share,
    /// Number of the next offset of the whole sequence.
    seq: u64,
    /// How many may be drawn.
    requests: u64,
    /// Drawn by `skip_before`, but not due before its end.
    pending: Option<Departure>,
    failure: Option<ScheduleError>,
}

impl<I: Iterator<Item = Offset>> Streamed<I> {
    pub fn new(offsets: I, end: Picos, requests: u64, origin: Instant, share: Share) -> Self {
        Self { offsets, origin, end, share, seq: 0, requests, pending: None, failure: None }
    }

    /// The next departure of any share.
    fn draw(&mut self) -> Option<Departure> {
        if self.seq >= self.requests {
            return None;
        }
        match self.offsets.next() {
            Some(Ok(offset)) if offset < self.end => {
                let departure = Departure { seq: self.seq, due: self.origin + offset };
                self.seq += 1;
                return Some(departure);
            }
            Some(Err(failure)) => self.failure = Some(failure),
            Some(Ok(_)) | None => {}
        }
        self.requests = self.seq;
        None
    }
}

impl<I: Iterator<Item = Offset> + Send> Schedule for Streamed<I> {
    fn next(&mut self) -> Option<Departure> {
        if let Some(pending) = self.pending.take() {
            return Some(pending);
        }
        loop {
            let departure = self.draw()?;
            if departure.seq % u64::from(self.share.of()) == u64::from(self.share.index()) {
                return Some(departure);
            }
        }
    }

    fn skip_before(&mut self, end: Instant) -> u64 {
        let mut dropped = 0;
        while let Some(departure) = self.next() {
            if departure.due >= end {
                self.pending = Some(departure);
                break;
            }
            dropped += 1;
        }
        dropped
    }

    fn failure(&self) -> Option<&ScheduleError> {
        self.failure.as_ref()
    }
}
