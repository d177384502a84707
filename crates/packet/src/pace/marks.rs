//! Marks: "all up to here has gone", readable while the run goes on.
//!
//! ```text
//!   ctl mark ─► asked ─► the thread has taken all that IN had ─► placed behind frame n ─► n has left: gone
//! ```
//!
//! A mark is placed once IN is empty: then all that the host sent before it was asked for is before it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use units::Instant;

/// Marks that are remembered; the oldest are forgotten first.
const MOST: usize = 1_024;

/// One mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// From 1.
    pub number: u64,
    pub state: State,
}

/// How far a mark is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// IN still has frames from before it.
    Asked,
    /// It stands behind this many frames, of which some wait.
    Placed { behind: u64 },
    /// None before it wait any more: all have left, but for those that were forgotten when an interface went
    /// down or came up.
    Gone { behind: u64, forgotten: u64, at: Instant },
}

/// The marks of a run.
#[derive(Debug, Default)]
pub struct Marks {
    all: Mutex<Vec<Mark>>,
    asked: AtomicU64,
    /// Marks that are not gone yet, for the engine to see at a glance.
    open: AtomicU64,
    taken: AtomicU64,
    gone: AtomicU64,
    /// Stretches of frames that were forgotten: those from the first up to, not including, the second.
    forgotten: Mutex<Vec<(u64, u64)>>,
}

impl Marks {
    fn lock(&self) -> MutexGuard<'_, Vec<Mark>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new mark; returns its number.
    pub fn ask(&self) -> u64 {
        let mut all = self.lock();
        if all.len() == MOST {
            let oldest = all.remove(0);
            if !matches!(oldest.state, State::Gone { .. }) {
                self.open.fetch_sub(1, Ordering::Relaxed);
            }
        }
        let number = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        all.push(Mark { number, state: State::Asked });
        self.open.fetch_add(1, Ordering::Release);
        number
    }

    /// Told by the engine, each round: so many frames were taken from IN and so many are gone; `is_empty`: IN
    /// has no more.
    #[inline]
    pub fn progress(&self, taken: u64, gone: u64, is_empty: bool, now: Instant) {
        self.taken.store(taken, Ordering::Relaxed);
        self.gone.store(gone, Ordering::Relaxed);
        if self.open.load(Ordering::Acquire) > 0 {
            self.advance(taken, gone, is_empty, now);
        }
    }

    #[cold]
    fn advance(&self, taken: u64, gone: u64, is_empty: bool, now: Instant) {
        for mark in self.lock().iter_mut() {
            if mark.state == State::Asked && is_empty {
                mark.state = State::Placed { behind: taken };
            }
            if let State::Placed { behind } = mark.state
                && behind <= gone
            {
                mark.state = State::Gone { behind, forgotten: self.forgotten_before(behind), at: now };
                self.open.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }

    /// Told by the engine: of all frames that were taken those from number `from` on were forgotten, up to
    /// number `to`.
    pub fn forget(&self, from: u64, to: u64) {
        let mut all = self.forgotten.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() == MOST {
            // The two oldest become one, which is said to have been forgotten as a whole: too many rather than
            // too few.
            let oldest = all.remove(0);
            all[0].0 = oldest.0;
        }
        if from < to {
            all.push((from, to));
        }
    }

    /// Frames before this one that were forgotten.
    fn forgotten_before(&self, behind: u64) -> u64 {
        let all = self.forgotten.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().map(|(from, to)| (*to).min(behind).saturating_sub(*from)).sum()
    }

    pub fn find(&self, number: u64) -> Option<Mark> {
        self.lock().iter().find(|mark| mark.number == number).copied()
    }

    pub fn last(&self) -> Option<Mark> {
        self.lock().last().copied()
    }

    /// Frames taken from IN, and those of them that are gone.
    pub fn counts(&self) -> (u64, u64) {
        (self.taken.load(Ordering::Relaxed), self.gone.load(Ordering::Relaxed))
    }

    /// One line about a mark.
    pub fn describe(&self, mark: Mark, origin: Instant) -> String {
        let number = mark.number;
        match mark.state {
            State::Asked => format!("mark {number}: waiting, frames from before it are still being taken"),
            State::Placed { behind } => {
                let left = behind.saturating_sub(self.counts().1);
                format!("mark {number}: waiting, behind frame {behind}; {left} frames have not left")
            }
            State::Gone { behind, forgotten: lost @ 1.., at } => {
                let (seconds, left) = (at.since(origin).as_secs_f64(), behind.saturating_sub(lost));
                format!(
                    "mark {number}: gone by {seconds:.6} s, but {lost} of the {behind} frames up to it were \
                     discarded, because an interface went down or came up; {left} had left"
                )
            }
            State::Gone { behind, at, .. } => {
                let seconds = at.since(origin).as_secs_f64();
                format!("mark {number}: gone, all {behind} frames up to it had left by {seconds:.6} s")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Picos;

    #[test]
    fn a_mark_is_gone_when_all_before_it_are() {
        let at = |ms| Instant::EPOCH + Picos::from_millis(ms);
        let marks = Marks::default();
        let number = marks.ask();
        marks.progress(10, 4, false, at(1));
        assert_eq!(marks.find(number).unwrap().state, State::Asked, "IN still had frames");
        marks.progress(12, 4, true, at(2));
        assert_eq!(marks.find(number).unwrap().state, State::Placed { behind: 12 });
        assert!(marks.describe(marks.last().unwrap(), at(0)).contains("behind frame 12; 8 frames"));
        marks.progress(20, 11, true, at(3));
        assert_eq!(marks.find(number).unwrap().state, State::Placed { behind: 12 });
        marks.progress(20, 12, true, at(4));
        assert_eq!(marks.find(number).unwrap().state, State::Gone { behind: 12, forgotten: 0, at: at(4) });
        assert!(
            marks
                .describe(marks.last().unwrap(), at(0))
                .ends_with("all 12 frames up to it had left by 0.004000 s")
        );
        assert_eq!(marks.find(2), None);
    }

    #[test]
    fn a_mark_says_how_many_frames_before_it_were_forgotten() {
        let at = |ms| Instant::EPOCH + Picos::from_millis(ms);
        let marks = Marks::default();
        let first = marks.ask();
        marks.progress(12, 4, true, at(1));
        // Frames 4 … 11 wait, two more come, and an interface goes down.
        let second = marks.ask();
        marks.forget(4, 14);
        marks.progress(14, 14, true, at(2));
        let said = |number| marks.describe(marks.find(number).unwrap(), at(0));
        assert!(said(first).contains("8 of the 12 frames up to it were discarded"), "{}", said(first));
        assert!(said(first).ends_with("; 4 had left"), "{}", said(first));
        assert!(said(second).contains("10 of the 14 frames"), "{}", said(second));
    }

    #[test]
    fn many_marks_do_not_grow() {
        let marks = Marks::default();
        for _ in 0..MOST + 10 {
            marks.ask();
        }
        assert_eq!((marks.find(10), marks.lock().len()), (None, MOST));
        marks.progress(0, 0, true, Instant::EPOCH);
        assert_eq!(marks.open.load(Ordering::Relaxed), 0);
    }
}
