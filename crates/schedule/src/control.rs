//! What the threads of a run and those who steer it share: whether to stop, and why; and changes of the load.
//!
//! ```text
//!   Ctrl-C ─► interrupt ─┐                  ┌─► stops()            every round of every thread
//!   a port fails ─► fail ┼─► Control ───────┤
//!   a key ─► change ─────┘                  └─► change_after(seen)  changes, in order, each with its time
//! ```
//!
//! A change takes effect a lead after it was asked for: by then every thread has seen it, so that all threads
//! change at the same point of the schedule.

use crate::Change;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use thiserror::Error;
use units::{Instant, Picos, Rate};

/// A change holds after so many times what a thread may sleep.
const LEADS: u64 = 5;
/// Changes that a run remembers; what comes after is refused.
const MOST_CHANGES: usize = 1_024;

/// Why a run stops before its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Halt {
    #[default]
    No,
    /// The user wants it.
    Interrupted,
    /// The file of requests was truncated.
    SourceLost,
    /// The generator cannot go on: a port failed, an interface is gone…
    Failed,
    /// A limit of the plan came true that ends the run (`--abort-if`).
    Aborted,
}

impl Halt {
    const ALL: [Self; 5] = [Self::No, Self::Interrupted, Self::SourceLost, Self::Failed, Self::Aborted];
}

/// A change of the load that all threads make at the same point of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadChange {
    /// How many were asked for before it.
    pub number: usize,
    pub at: Instant,
    pub action: Action,
}

/// What is done to a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Rate(Rate),
    /// Of one of several streams.
    RateOf {
        stream: u32,
        rate: Rate,
    },
    /// As fast as it goes.
    Max,
    /// Other frames: those that whoever asked for the change has kept under this number.
    Look(usize),
    Pause,
    Resume,
}

/// A change, and what threads tell of it.
#[derive(Clone, Copy, Debug)]
struct Asked {
    change: LoadChange,
    first: First,
}

/// The number from which a change holds, as threads tell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum First {
    Untold,
    At(u64),
    /// There is no one number: each thread has its own.
    Differs,
}

/// There were too many changes already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the run was already changed {MOST_CHANGES} times")]
pub struct TooManyChanges;

impl From<TooManyChanges> for String {
    fn from(error: TooManyChanges) -> Self {
        error.to_string()
    }
}

/// See the module.
#[derive(Debug)]
pub struct Control {
    lead: Picos,
    halt: AtomicU8,
    why: Mutex<Option<String>>,
    stop: AtomicBool,
    may_change: AtomicBool,
    changes: Mutex<Vec<Asked>>,
    /// How many changes there are, for threads to see at a glance.
    told: AtomicUsize,
}

/// Nobody panics while holding one of these for more than a push.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Control {
    /// Of threads that sleep for `longest` at most: changes take effect five times as long after they were
    /// asked for.
    pub const fn of_threads_that_sleep(longest: Picos) -> Self {
        Self {
            lead: longest.saturating_mul(LEADS),
            halt: AtomicU8::new(Halt::No as u8),
            why: Mutex::new(None),
            stop: AtomicBool::new(false),
            may_change: AtomicBool::new(false),
            changes: Mutex::new(Vec::new()),
            told: AtomicUsize::new(0),
        }
    }

    pub fn halt(&self) -> Halt {
        Halt::ALL[usize::from(self.halt.load(Ordering::Relaxed))]
    }

    /// Whether threads shall end now.
    #[inline]
    pub fn stops(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// The same as a flag, for calls that watch it themselves.
    pub const fn stop_flag(&self) -> &AtomicBool {
        &self.stop
    }

    /// Ends the run now; what is on its way is cut off. Safe in a signal handler.
    pub fn interrupt(&self) {
        self.end(Halt::Interrupted);
    }

    pub fn lose_source(&self, why: String) {
        self.end_for(Halt::SourceLost, why);
    }

    pub fn fail(&self, why: String) {
        self.end_for(Halt::Failed, why);
    }

    /// Ends the run now, as `interrupt` does; `why` is the limit and its value.
    pub fn abort(&self, why: String) {
        self.end_for(Halt::Aborted, why);
    }

    fn end_for(&self, halt: Halt, why: String) {
        lock(&self.why).get_or_insert(why);
        self.end(halt);
    }

    fn end(&self, halt: Halt) {
        let (no, halt) = (Halt::No as u8, halt as u8);
        let _ = self.halt.compare_exchange(no, halt, Ordering::Relaxed, Ordering::Relaxed);
        self.stop.store(true, Ordering::Relaxed);
    }

    /// The first reason that was given, if it was not the user.
    pub fn why(&self) -> Option<String> {
        lock(&self.why).clone()
    }

    /// The load may be changed while the run goes on. To be said before it starts: threads then stay until its
    /// end, also when nothing more is due.
    pub fn allow_changes(&self) {
        self.may_change.store(true, Ordering::Relaxed);
    }

    pub fn may_change(&self) -> bool {
        self.may_change.load(Ordering::Relaxed)
    }

    /// The load is changed, from a lead after `now` on, and never before an earlier change takes effect.
    ///
    /// # Errors
    /// There were too many changes already.
    pub fn change(&self, action: Action, now: Instant) -> Result<LoadChange, TooManyChanges> {
        self.change_all(&[action], now)?.pop().ok_or(TooManyChanges)
    }

    /// All of these at one time, or none.
    ///
    /// # Errors
    /// There were too many changes already.
    pub fn change_all(&self, actions: &[Action], now: Instant) -> Result<Vec<LoadChange>, TooManyChanges> {
        let mut changes = lock(&self.changes);
        if changes.len() + actions.len() > MOST_CHANGES {
            return Err(TooManyChanges);
        }
        let at = self.from(changes.last(), now);
        let numbered = (changes.len()..).zip(actions);
        let all: Vec<_> =
            numbered.map(|(number, action)| LoadChange { number, at, action: *action }).collect();
        changes.extend(all.iter().map(|change| Asked { change: *change, first: First::Untold }));
        self.told.store(changes.len(), Ordering::Release);
        Ok(all)
    }

    /// When a change takes effect that is asked for now.
    pub fn would_hold_from(&self, now: Instant) -> Instant {
        self.from(lock(&self.changes).last(), now)
    }

    fn from(&self, last: Option<&Asked>, now: Instant) -> Instant {
        last.map_or(Instant::EPOCH, |last| last.change.at).max(now + self.lead)
    }

    /// Whether the last change has not taken effect yet.
    pub fn is_changing(&self, now: Instant) -> bool {
        lock(&self.changes).last().is_some_and(|last| last.change.at > now)
    }

    /// The first change that a thread has not made which has made `seen`. Costs one load where there is none.
    #[inline]
    pub fn change_after(&self, seen: usize) -> Option<LoadChange> {
        if self.told.load(Ordering::Acquire) <= seen {
            return None;
        }
        lock(&self.changes).get(seen).map(|asked| asked.change)
    }

    /// A thread says from which departure on a change holds.
    pub fn holds_from(&self, change: &LoadChange, first: u64) {
        if let Some(asked) = lock(&self.changes).get_mut(change.number) {
            asked.first = match asked.first {
                First::At(known) if known != first => First::Differs,
                First::Differs => First::Differs,
                _ => First::At(first),
            };
        }
    }

    /// The departure from which on a change holds, if all threads that told of it say the same.
    pub fn first_of(&self, change: &LoadChange) -> Option<u64> {
        match lock(&self.changes).get(change.number)?.first {
            First::At(first) => Some(first),
            First::Untold | First::Differs => None,
        }
    }

    /// Every rate that the load was changed to so far, in order.
    pub fn rates(&self) -> Vec<Change> {
        lock(&self.changes).iter().filter_map(|asked| asked.change.rate()).collect()
    }

    /// The shortest gap that even departures have had so far: `first`, before any change, or a later one.
    pub fn shortest_gap(&self, first: Picos) -> Picos {
        self.rates().iter().map(|change| change.rate.gap()).fold(first, Picos::min)
    }
}

impl LoadChange {
    /// The change of the schedule that this is, if it is one of its rate.
    pub const fn rate(&self) -> Option<Change> {
        match self.action {
            Action::Rate(rate) => Some(Change { at: self.at, rate }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::EPOCH + Picos::from_millis(millis)
    }

    #[test]
    fn changes_come_in_order_and_each_with_its_time() {
        // A thread sleeps for 10 ms: a change holds 50 ms after it was asked for.
        let control = Control::of_threads_that_sleep(Picos::from_millis(10));
        let faster = Rate::per_second(110).unwrap();
        let rate = Action::Rate(faster);
        assert_eq!(control.change_after(0), None);
        assert_eq!(control.would_hold_from(at(1_000)), at(1_050));
        let first = control.change(rate, at(1_000)).unwrap();
        assert_eq!(first, LoadChange { number: 0, at: at(1_050), action: rate });
        assert!(control.is_changing(at(1_049)) && !control.is_changing(at(1_050)));
        assert_eq!(control.shortest_gap(Picos::from_millis(1)), Picos::from_millis(1));
        assert_eq!(control.shortest_gap(Picos::from_millis(100)), faster.gap());
        // Asked for by a thread whose clock was read earlier: it is not before the first.
        assert_eq!(control.change(Action::Pause, at(990)).unwrap().at, at(1_050));
        assert_eq!((control.change_after(0), control.change_after(2)), (Some(first), None));
        assert_eq!(control.rates(), [Change { at: at(1_050), rate: faster }]);
        for n in 2..MOST_CHANGES as u64 {
            control.change(Action::Resume, at(n)).unwrap();
        }
        assert!(control.change(Action::Pause, at(9)).unwrap_err().to_string().contains("1024 times"));
    }

    #[test]
    fn several_changes_hold_from_one_departure_or_none_is_made() {
        let control = Control::of_threads_that_sleep(Picos::from_millis(10));
        let rate = Action::RateOf { stream: 1, rate: Rate::per_second(7).unwrap() };
        let both = control.change_all(&[Action::Look(3), rate], at(100)).unwrap();
        assert!(both.iter().all(|change| change.at == at(150)) && both[1].number == 1);
        assert_eq!(control.first_of(&both[0]), None);
        control.holds_from(&both[0], 15);
        control.holds_from(&both[0], 15);
        assert_eq!(control.first_of(&both[0]), Some(15), "two threads that agree");
        control.holds_from(&both[0], 16);
        control.holds_from(&both[0], 15);
        assert_eq!((control.first_of(&both[0]), control.first_of(&both[1])), (None, None));
        let many = vec![Action::Pause; MOST_CHANGES - 1];
        assert_eq!(control.change_all(&many, at(200)), Err(TooManyChanges));
        assert_eq!(control.change_after(2), None);
    }

    #[test]
    fn the_first_reason_counts() {
        let control = Control::of_threads_that_sleep(Picos::from_millis(20));
        assert!(!control.stops() && control.halt() == Halt::No);
        control.lose_source("urls.txt was truncated".to_owned());
        control.abort("latency".to_owned());
        control.interrupt();
        assert!(control.stops() && control.halt() == Halt::SourceLost);
        assert_eq!(control.why().as_deref(), Some("urls.txt was truncated"));
        for (index, halt) in Halt::ALL.into_iter().enumerate() {
            assert_eq!(usize::from(halt as u8), index);
        }
    }
}
