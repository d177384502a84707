//! One thread that sends as fast as the port takes frames: no due times, whole batches, counted in bulk.
//!
//! Threads take frame numbers in blocks from one counter, so that together they send each number once.

use super::outlet::{Ledger, Looks, Progress, Sizes, Timer, Wall, report};
use crate::control::{Control, Course, Turn};
use port::{For, Port, PortError};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use units::{Instant, Miss, Picos};

/// Frame numbers that a thread takes at once.
const BLOCK: u64 = 4_096;
/// Most frames of one call.
const MOST: usize = 1_024;
/// A full port is asked again after this.
const FULL: Picos = Picos::from_millis(1);
/// A port that takes nothing for so long takes nothing.
const STALL: Picos = Picos::from_secs(5);
/// At the end there is so much time for what was taken.
const GRACE: Picos = Picos::from_millis(50);
const NAP: Picos = Picos::from_millis(10);

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

/// What a thread is made with.
pub struct Setup<T> {
    pub port: Box<dyn Port>,
    pub timer: T,
    pub numbers: Arc<Numbers>,
    pub looks: Looks,
    pub sizes: Arc<Sizes>,
    pub control: Arc<Control>,
    pub progress: Arc<Progress>,
    pub origin: Instant,
    /// No numbers are taken from then on; `FAR` if only a count ends the run.
    pub end: Instant,
}

/// See the module.
pub struct Flood<T> {
    setup: Setup<T>,
    ledger: Ledger,
    most: usize,
    /// Numbers of this thread that are still to be sent.
    block: (u64, u64),
    /// A turn that was seen and does not hold yet.
    next_turn: Option<Turn>,
    seen: usize,
    is_paused: bool,
    full_since: Option<Instant>,
}

impl<T: Timer> Flood<T> {
    pub fn new(setup: Setup<T>, ledger: Ledger) -> Self {
        let most = setup.port.about().can.batch.clamp(1, MOST);
        let (block, next_turn) = ((0, 0), None);
        Self { setup, ledger, most, block, next_turn, seen: 0, is_paused: false, full_since: None }
    }

    pub fn run(mut self) {
        self.ledger.tick(self.setup.timer.now());
        self.setup.timer.sleep_until(self.setup.origin);
        let mut wall = Wall::read(&self.setup.timer);
        let mut wall_read = self.setup.timer.now();
        let is_signed = self.setup.looks.is_signed();
        while !self.setup.control.stops() {
            let now = self.setup.timer.now();
            self.take_turns(now);
            self.ledger.tick(now);
            self.setup.progress.show(self.ledger.sent, now);
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
        self.wind_up();
    }

    fn send(&mut self, now: Instant, wall: Wall) {
        let (first, end) = self.block;
        let count = (end - first).min(self.most as u64) as usize;
        let (looks, times) = (&self.setup.looks, wall.times(now, now));
        let (mut seq, mut bytes) = (first, 0);
        let taken = self.setup.port.transmit(count, &mut |slot| {
            let length = looks.of(seq).write(seq, times, slot.data, slot.mark);
            slot.length = length;
            seq += 1;
            bytes += length as u64;
        });
        match taken {
            Ok(0) => self.full(now),
            Ok(taken) => {
                self.full_since = None;
                self.block.0 += taken as u64;
                self.ledger.bulk(taken as u64, bytes);
            }
            Err(error) => self.failed(&error, now),
        }
    }

    fn full(&mut self, now: Instant) {
        let since = *self.full_since.get_or_insert(now);
        if now.since(since) > STALL {
            let name = &self.setup.port.about().name;
            self.setup.control.fail(format!("{name} took no frame for {STALL}"));
        }
        // Interrupted or refused: the next round tries again.
        let _ = self.setup.port.wait(For::Transmit, FULL);
    }

    /// How many of the call had left before it failed, the port knows. The others stay; while a link is down
    /// they wait.
    fn failed(&mut self, error: &PortError, now: Instant) {
        let known = (self.ledger.sent, self.ledger.sent_bytes);
        if let Ok(counters) = self.setup.port.counters() {
            let frames = counters.sent.saturating_sub(known.0).min(self.block.1 - self.block.0);
            let bytes = counters.sent_bytes.saturating_sub(known.1);
            self.block.0 += frames;
            if frames > 0 {
                self.ledger.bulk(frames, bytes);
            }
        }
        match error {
            PortError::Down { .. } => self.setup.timer.sleep_until(now + NAP),
            _ => self.setup.control.fail(error.to_string()),
        }
    }

    fn take_turns(&mut self, now: Instant) {
        while let Some(turn) = self.next_turn.or_else(|| self.setup.control.turn_after(self.seen)) {
            self.next_turn = Some(turn);
            if turn.at > now {
                return;
            }
            self.next_turn = None;
            self.seen += 1;
            match turn.to {
                Course::Pause => self.is_paused = true,
                Course::Resume => self.is_paused = false,
                // Refused where it was asked for.
                Course::Rate(_) | Course::Max => {}
                Course::Size(size) => {
                    if let Some(template) = self.setup.sizes.find(size) {
                        self.setup.looks.change(self.block.0, template);
                    }
                }
            }
        }
    }

    fn wind_up(mut self) {
        // Numbers that were taken and not sent: only a count that was asked for makes them departures.
        let left = if self.setup.numbers.total < u64::MAX { self.block.1 - self.block.0 } else { 0 };
        let why = if self.full_since.is_some() { Miss::PortFull } else { Miss::NotReached };
        self.ledger.missed(why, if self.setup.control.stops() { 0 } else { left });
        let holds = self.setup.port.about().can.holds;
        let _ = self.setup.port.flush(Picos::from_secs(1) + holds);
        self.ledger.numbered = self.block.0;
        let seen = report("out", &mut *self.setup.port, self.ledger.sent, self.ledger.sent_bytes);
        self.setup.progress.end(seen, &mut self.ledger);
        self.ledger.tick(self.setup.timer.now());
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
