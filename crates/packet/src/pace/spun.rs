//! This thread waits for each due time: it spins while frames wait, and sleeps in the kernel while none do.

use super::outward::{MOST_TAKEN, Passage, QUEUE, Release, Round};
use clock::Clock;
use port::{For, PortError};
use units::{Cause, Instant, Picos};

/// What taking one frame costs at the utmost: with less time than this until the next departure nothing is
/// taken.
const TAKING: Picos = Picos::from_micros(4);
/// Frames that leave in one call when several are due.
const MOST_LEAVING: usize = 32;
/// Nothing else is done so shortly before a departure.
const NEAR: Picos = Picos::from_micros(15);
/// Recorders are told at least so often.
const TICK: Picos = Picos::from_millis(5);
/// Sleep while nothing waits.
const IDLE: Picos = Picos::from_millis(2);
/// A round without a frame takes no longer, unless the CPU was somebody else's meanwhile: that is no spinning.
const LOOK: Picos = Picos::from_micros(20);
/// Spinning goes on so long after the last frame: the next of a busy connection is near.
const BUSY: Picos = Picos::from_micros(300);

/// See the module.
pub struct Spun {
    /// Numbers left out: between frames that they part there is no gap.
    parted: u64,
    ticked: Instant,
    /// When a frame last came or left.
    last: Instant,
    /// When the round before this one began, if it did nothing but look.
    looked: Option<Instant>,
}

impl Spun {
    pub const fn starting_at(now: Instant) -> Self {
        Self { parted: 0, ticked: now, last: now, looked: None }
    }

    /// All frames leave whose time has come.
    #[inline]
    fn let_leave(&mut self, passage: &mut Passage, mut now: Instant) -> Result<Instant, PortError> {
        for _ in 0..MOST_LEAVING {
            if passage.is_paused {
                break;
            }
            let Some(front) = passage.queue.front() else { break };
            let due = passage.timetable.due(front.arrived);
            if due.since(now) >= TAKING {
                break;
            }
            let (bytes, clock, mut sent) = (front.data.len(), passage.clock, now);
            let mut written = now;
            // Written first, so that nothing but the handing over comes after the spin.
            let left = passage.to.transmit(1, &mut |slot| {
                slot.data[..bytes].copy_from_slice(front.data);
                slot.length = bytes;
                written = clock.now();
                sent = written;
                while sent < due {
                    std::hint::spin_loop();
                    sent = clock.now();
                }
            });
            now = clock.now();
            match left {
                Ok(0) => break,
                Ok(_) => {
                    passage.counters.spun += sent.since(written);
                    passage.timetable.left(due, sent, bytes);
                    passage.queue.pop();
                    passage.has_left(passage.outcomes.sent + self.parted, due, sent, bytes);
                    self.last = now;
                }
                Err(PortError::TooLong { .. }) => {
                    passage.queue.pop();
                    passage.outcomes.too_long += 1;
                    passage.is_lost(due, now, Cause::FrameTooLong);
                }
                Err(PortError::Down { .. }) => {
                    passage.went_down();
                    self.forget(passage, now);
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(now)
    }

    /// Takes frames from IN; how many.
    fn take(&mut self, passage: &mut Passage, most: usize, now: Instant) -> Result<usize, PortError> {
        let Some(taken) = passage.take(most, |_| Ok(now))? else { return Ok(0) };
        for _ in 0..taken.too_long {
            passage.is_lost(now, now, Cause::FrameTooLong);
        }
        passage.saw_waiting(passage.queue.len());
        self.last = now;
        Ok(taken.frames)
    }
}

impl Release for Spun {
    #[inline]
    fn round(&mut self, passage: &mut Passage, now: Instant) -> Result<Round, PortError> {
        let begun = now;
        if let Some(before) = self.looked.take() {
            passage.counters.spun += now.since(before).min(LOOK);
        }
        let moved = |passage: &Passage| (passage.outcomes.taken, passage.outcomes.sent);
        let before = moved(passage);
        let now = self.let_leave(passage, now)?;
        let rests = match passage.next_due() {
            // What the host sends meanwhile waits here, so that a mark stands behind it.
            _ if passage.is_paused => self.take(passage, MOST_TAKEN, now)? == 0,
            // With so little time only the spin is left; the next round is it.
            Some(due) if due.since(now) < TAKING.saturating_mul(2) => {
                std::hint::spin_loop();
                false
            }
            Some(due) => {
                let time = due.since(now).as_picos() / TAKING.as_picos() - 1;
                let most = usize::try_from(time).unwrap_or(MOST_TAKEN).clamp(1, MOST_TAKEN);
                self.take(passage, most, now)?;
                false
            }
            None => self.take(passage, MOST_TAKEN, now)? == 0 && now.since(self.last) > BUSY,
        };
        if !rests && moved(passage) == before {
            self.looked = Some(begun);
        }
        Ok(Round { now, rests })
    }

    /// Nothing waits: sleeps until the host sends something.
    fn rest(&mut self, passage: &mut Passage) -> Result<(), PortError> {
        if passage.is_paused {
            std::thread::sleep(IDLE.as_std());
            return Ok(());
        }
        passage.wait(For::Receive, IDLE)
    }

    fn under_way(&self) -> usize {
        0
    }

    #[inline]
    fn told(&self, now: Instant) -> Instant {
        now
    }

    #[inline]
    fn is_near(&self, passage: &mut Passage, now: Instant) -> bool {
        passage.next_due().is_some_and(|due| due.since(now) < NEAR && due > now)
    }

    fn goes_on(&mut self, passage: &mut Passage, now: Instant) {
        passage.timetable.begins(now);
    }

    fn tick(&mut self, passage: &mut Passage, now: Instant) {
        if now.since(self.ticked) >= TICK {
            self.ticked = now;
            passage.record.tick(now, &passage.counters);
        }
    }

    /// What IN still has was sent before, too.
    fn forget(&mut self, passage: &mut Passage, now: Instant) {
        let first = passage.first_waiting();
        // Bounded, should the host send without pause.
        for _ in 0..QUEUE / MOST_TAKEN {
            passage.forget_queue(|_| now);
            if !matches!(self.take(passage, MOST_TAKEN, now), Ok(1..)) {
                break;
            }
        }
        passage.begin_anew(first);
        self.parted += 1;
    }

    fn end(&mut self, passage: &mut Passage) {
        let now = passage.clock.now();
        while let Some(front) = passage.queue.front() {
            let due = passage.timetable.due(front.arrived).min(now);
            passage.queue.pop();
            passage.is_cut_off(due, now);
        }
        passage.record.tick(now, &passage.counters);
    }
}
