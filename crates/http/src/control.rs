//! The one thing that threads share while they run: whether to stop, and why; and changes of the rate by hand.

use schedule::Change;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use units::{Instant, Picos, Rate};

/// A new rate holds this long after it was asked for: five times what a thread may sleep, so that each knows it
/// by then.
const LEAD: Picos = Picos::from_millis(100);
/// Changes that a run remembers.
const MOST_CHANGES: usize = 256;

/// Why a run stops before its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Halt {
    #[default]
    No,
    /// The user wants it.
    Interrupted,
    /// The file of requests was truncated.
    SourceLost,
    /// The generator can not go on.
    Failed,
    /// A limit of the plan came true that ends the run (`--abort-if`).
    Aborted,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Control {
    halt: AtomicU8,
    why: Mutex<Option<String>>,
    may_steer: AtomicBool,
    changes: Mutex<Vec<Change>>,
    /// How many there are, for threads to see at a glance.
    told: AtomicUsize,
}

/// Why the rate was not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotNow {
    #[error("the last change has not taken effect yet")]
    TooSoon,
    #[error("the rate was changed {MOST_CHANGES} times already")]
    TooOften,
}

impl Control {
    pub fn halt(&self) -> Halt {
        match self.halt.load(Ordering::Relaxed) {
            0 => Halt::No,
            1 => Halt::Interrupted,
            2 => Halt::SourceLost,
            4 => Halt::Aborted,
            _ => Halt::Failed,
        }
    }

    /// Ends the run now; what is on its way is cut off. Safe in a signal handler.
    pub fn interrupt(&self) {
        let _ = self.halt.compare_exchange(0, 1, Ordering::Relaxed, Ordering::Relaxed);
    }

    pub fn lose_source(&self, why: String) {
        self.stop(2, why);
    }

    pub fn fail(&self, why: String) {
        self.stop(3, why);
    }

    /// Ends the run now, as `interrupt` does; `why` is the limit and its value.
    pub fn abort(&self, why: String) {
        self.stop(4, why);
    }

    fn stop(&self, halt: u8, why: String) {
        if let Ok(mut known) = self.why.lock() {
            known.get_or_insert(why);
        }
        let _ = self.halt.compare_exchange(0, halt, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// The rate may be changed while the run goes on. To be said before it starts: threads then stay until its
    /// end, also when nothing more is due.
    pub fn allow_steering(&self) {
        self.may_steer.store(true, Ordering::Relaxed);
    }

    pub(crate) fn may_steer(&self) -> bool {
        self.may_steer.load(Ordering::Relaxed)
    }

    /// From a moment after `now` on, the load has another rate.
    pub fn steer(&self, rate: Rate, now: Instant) -> Result<Change, NotNow> {
        let mut changes = self.changes.lock().expect("nobody panics while holding it");
        if changes.last().is_some_and(|last| last.at > now) {
            return Err(NotNow::TooSoon);
        }
        if changes.len() >= MOST_CHANGES {
            return Err(NotNow::TooOften);
        }
        let change = Change { at: now + LEAD, rate };
        changes.push(change);
        self.told.store(changes.len(), Ordering::Release);
        Ok(change)
    }

    /// Every change so far, in order.
    pub fn changes(&self) -> Vec<Change> {
        self.changes.lock().expect("nobody panics while holding it").clone()
    }

    /// The first change that a thread has not taken which has taken `seen`.
    #[inline]
    pub(crate) fn change(&self, seen: usize) -> Option<Change> {
        if self.told.load(Ordering::Relaxed) <= seen {
            return None;
        }
        self.changes.lock().expect("nobody panics while holding it").get(seen).copied()
    }

    /// In words, if it was not the user.
    pub fn why(&self) -> Option<String> {
        self.why.lock().ok().and_then(|why| why.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_come_one_after_another() {
        let control = Control::default();
        let (faster, now) = (Rate::per_second(110).unwrap(), Instant::EPOCH + Picos::from_secs(1));
        assert_eq!(control.change(0), None);
        let change = control.steer(faster, now).unwrap();
        assert_eq!(change, Change { at: now + LEAD, rate: faster });
        assert_eq!(control.steer(faster, now + Picos::from_millis(99)), Err(NotNow::TooSoon));
        assert_eq!((control.change(0), control.change(1)), (Some(change), None));
        for n in 1..MOST_CHANGES as u64 {
            control.steer(faster, now + Picos::from_secs(n)).unwrap();
        }
        assert_eq!(control.steer(faster, now + Picos::from_secs(1_000)), Err(NotNow::TooOften));
        assert_eq!(control.changes().len(), MOST_CHANGES);
    }
}
