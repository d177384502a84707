//! A clock that stands still until it is told otherwise.

use crate::Clock;
use std::cell::Cell;
use units::{Instant, Picos};

/// For tests on one thread: time passes only by `advance`, `set` and `jump_back`. Share it as `&FakeClock`.
///
/// ```
/// use clock::{Clock, FakeClock};
/// use units::Picos;
///
/// let clock = FakeClock::default();
/// clock.advance(Picos::from_millis(5));
/// assert_eq!(clock.now().since_epoch(), Picos::from_millis(5));
/// ```
#[derive(Clone, Debug, Default)]
pub struct FakeClock {
    now: Cell<Instant>,
}

impl Clock for FakeClock {
    fn now(&self) -> Instant {
        self.now.get()
    }
}

impl FakeClock {
    pub fn at(now: Instant) -> Self {
        Self { now: Cell::new(now) }
    }

    /// Sets the time, forwards or backwards.
    pub fn set(&self, now: Instant) {
        self.now.set(now);
    }

    /// Lets time pass.
    pub fn advance(&self, by: Picos) {
        self.now.set(self.now.get() + by);
    }

    /// What no good clock does: goes back, at most to the epoch.
    pub fn jump_back(&self, by: Picos) {
        self.now.set(self.now.get().saturating_sub(by));
    }

    /// Lets time pass until `due`, unless that is past: where the earliest of several deadlines is known, a
    /// test jumps to it.
    pub fn advance_to(&self, due: Instant) {
        self.now.set(self.now.get().max(due));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_only_when_told() {
        let clock = FakeClock::at(Instant::from_picos(100));
        assert_eq!(clock.now(), Instant::from_picos(100));
        clock.advance(Picos::from_picos(5));
        clock.advance_to(Instant::from_picos(50));
        assert_eq!(clock.now(), Instant::from_picos(105));
        clock.advance_to(Instant::from_picos(300));
        clock.jump_back(Picos::from_picos(250));
        assert_eq!(clock.now(), Instant::from_picos(50));
        clock.jump_back(Picos::from_picos(51));
        assert_eq!(clock.now(), Instant::EPOCH);
    }
}
