//! One thread that sends as fast as the port takes frames: no due times, whole batches, counted in bulk.
//!
//! Threads take frame numbers in blocks from one counter, so that together they send each number once.

use super::outlet::{Timer, Wall};
use super::scripted;
use super::sender::{SenderContext, SenderReport};
use super::streams::Due;
use crate::control::NAP;
use port::PortError;
use schedule::{Action, LoadChange};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use units::{Departure, Instant, Picos};

/// Frame numbers that a thread takes at once.
pub const BLOCK: u64 = 4_096;
/// No port takes longer for a frame, the peer's own work on it included.
const SLOWEST: Picos = Picos::from_micros(20);
/// Most frames of one call.
const MOST: usize = 1_024;
/// A full port is asked again after this.
const FULL: Picos = Picos::from_millis(1);
/// At the end there is so much time for what was taken.
const GRACE: Picos = Picos::from_millis(50);

/// A recording that has not been read so far is asked again after this.
const UNREAD: Picos = Picos::from_micros(200);

const fn due_at(seq: u64, due: Instant) -> Due {
    Due { departure: Departure { seq, due }, of: None }
}

/// The next frame number of all threads.
#[derive(Debug)]
pub struct Numbers {
    next: AtomicU64,
    total: u64,
}

impl Numbers {
    pub fn new(total: Option<u64>) -> Self {
        Self { next: AtomicU64::new(0), total: total.unwrap_or(u64::MAX) }
    }

    /// The next block, from the first to one behind the last; empty at the end.
    pub fn take(&self, most: u64) -> (u64, u64) {
        let first = self.next.fetch_add(most, Ordering::Relaxed).min(self.total);
        (first, first.saturating_add(most).min(self.total))
    }
}

/// What a thread is made with besides.
pub struct FloodSetup<T> {
    pub timer: T,
    pub numbers: Arc<Numbers>,
    pub origin: Instant,
    /// No numbers are taken from then on; `FAR` if only a count ends the run.
    pub end: Instant,
}

/// See the module.
pub struct Flood<T> {
    context: SenderContext,
    setup: FloodSetup<T>,
    most: usize,
    /// Numbers of this thread that are still to be sent.
    block: (u64, u64),
    /// A change that was seen and does not hold yet.
    next_change: Option<LoadChange>,
    seen: usize,
    is_paused: bool,
    /// When it began to hand over what the port took, and how much of it.
    handed: Option<(Instant, u64)>,
}

impl<T: Timer> Flood<T> {
    pub fn new(context: SenderContext, setup: FloodSetup<T>) -> Self {
        let most = if context.looks.has_script() { scripted::MOST } else { MOST };
        let most = context.port.about().can.batch.clamp(1, most);
        let (block, next_change) = ((0, 0), None);
        Self { context, setup, most, block, next_change, seen: 0, is_paused: false, handed: None }
    }

    pub fn run(mut self) -> SenderReport {
        self.context.ledger.tick(self.setup.timer.now());
        self.setup.timer.sleep_until(self.setup.origin);
        let mut wall = Wall::read(&self.setup.timer);
        let mut wall_read = self.setup.timer.now();
        let is_signed = self.context.looks.is_signed();
        while !self.context.control.stops() {
            let now = self.setup.timer.now();
            // A file's disk and a script may take their time.
            if let Some((since, frames)) = self.handed.take() {
                let at_most = SLOWEST.saturating_mul(frames);
                self.context.ledger.stood_still(now.since(since).saturating_sub(at_most));
            }
            self.take_changes(now);
            self.context.ledger.tick(now);
            self.context.show(now);
            // What was taken is sent, so that the numbers of all threads have no holes.
            if now >= self.setup.end && (self.block.0 == self.block.1 || now >= self.setup.end + GRACE) {
                break;
            }
            if self.is_paused {
                self.setup.timer.sleep_until(self.setup.end.min(now + NAP));
                continue;
            }
            if is_signed && now.since(wall_read) > Picos::from_secs(1) {
                (wall, wall_read) = (Wall::read(&self.setup.timer), now);
            }
            if self.block.0 == self.block.1 {
                self.block = self.setup.numbers.take(BLOCK);
                if self.block.0 == self.block.1 {
                    break;
                }
            }
            self.send(now, wall);
        }
        self.wind_up()
    }

    fn send(&mut self, now: Instant, wall: Wall) {
        let (first, end) = self.block;
        let count = (end - first).min(self.most as u64) as usize;
        if !self.context.looks.hold(first, first + count as u64 - 1) {
            self.context.looks.waits();
            return self.setup.timer.sleep_until(now + UNREAD);
        }
        let count = match self.context.looks.has_script() {
            true => self.prepare(count, |seq| due_at(seq, now)),
            false => count,
        };
        let (looks, times) = (&self.context.looks, wall.times(now, now));
        let (mut seq, mut bytes) = (first, 0);
        let taken = self.context.port.transmit(count, &mut |slot| {
            let length = looks.write(&due_at(seq, now), times, slot.data, slot.mark);
            slot.length = length;
            seq += 1;
            bytes += length as u64;
        });
        match taken {
            Ok(0) => self.context.full(now, FULL),
            Ok(taken) => {
                self.context.took();
                let is_own = self.context.port.about().kind != "pcap" && !self.context.looks.has_script();
                self.handed = is_own.then_some((now, taken as u64));
                self.block.0 += taken as u64;
                self.context.ledger.bulk(taken as u64, bytes);
            }
            Err(error) => self.failed(&error, now),
        }
    }

    /// How many of the next frames a script has made ready.
    fn prepare(&mut self, count: usize, due: impl Fn(u64) -> Due) -> usize {
        let first = self.block.0;
        let due: Vec<Due> = (first..first + count as u64).map(due).collect();
        self.context.prepare(&due, &self.setup.timer)
    }

    /// How many of the call had left before it failed, the port knows. The others stay; while a link is down
    /// they wait.
    fn failed(&mut self, error: &PortError, now: Instant) {
        let known = (self.context.ledger.sent, self.context.ledger.sent_bytes);
        if let Ok(counters) = self.context.port.counters() {
            let frames = counters.sent.saturating_sub(known.0).min(self.block.1 - self.block.0);
            let bytes = counters.sent_bytes.saturating_sub(known.1);
            self.block.0 += frames;
            if frames > 0 {
                self.context.ledger.bulk(frames, bytes);
            }
        }
        match error {
            PortError::Down { .. } => self.setup.timer.sleep_until(now + NAP),
            _ => self.context.control.fail(error.to_string()),
        }
    }

    fn take_changes(&mut self, now: Instant) {
        while let Some(change) = self.next_change.or_else(|| self.context.control.change_after(self.seen)) {
            self.next_change = Some(change);
            if change.at > now {
                return;
            }
            self.next_change = None;
            self.seen += 1;
            match change.action {
                Action::Pause => self.is_paused = true,
                Action::Resume => self.is_paused = false,
                // Refused where it was asked for.
                Action::Rate(_) | Action::RateOf { .. } | Action::Max => {}
                Action::Look(number) => {
                    self.context.change_look(self.block.0, number);
                    self.context.control.holds_from(&change, self.block.0);
                }
            }
        }
    }

    fn wind_up(mut self) -> SenderReport {
        // Numbers that were taken and not sent: only a count that was asked for makes them departures.
        let left = if self.setup.numbers.total < u64::MAX { self.block.1 - self.block.0 } else { 0 };
        let why = self.context.why_missed();
        self.context.ledger.missed(why, if self.context.control.stops() { 0 } else { left });
        self.context.flush();
        self.context.ledger.numbered = self.block.0;
        let report = self.context.report();
        self.context.ledger.tick(self.setup.timer.now());
        report
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_disjoint_and_end_at_the_total() {
        let numbers = Numbers::new(Some(10));
        assert_eq!(
            [numbers.take(4), numbers.take(4), numbers.take(4), numbers.take(4)],
            [(0, 4), (4, 8), (8, 10), (10, 10)]
        );
    }
}
