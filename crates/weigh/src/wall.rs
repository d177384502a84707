//! The clock that packets carry, and whether it stepped.
//!
//! ```text
//!   CLOCK_REALTIME ─ time of hand-over, in the packet      the kernel's stamp: CLOCK_REALTIME, too
//!
//!   step = (realtime − monotonic) after − (realtime − monotonic) before,
//!          if that is more than the clock is ever slewed
//! ```
//!
//! Both times of a packet are of one clock, so there is nothing to convert and no error of a conversion. What
//! is left is that this clock may be set while packets are under way: that shows in its distance from
//! CLOCK_MONOTONIC.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// The kernel slews a clock by at most 500 ppm (adjtime(3), NTP's MAX_FREQ), and ticks by 10 % at most where
/// asked by adjtimex; the former is what time daemons use.
const SLEW: f64 = 500e-6;
/// Two readings lie so far apart at most, in the best of a few tries, on a machine that pauses.
const READING_NS: i64 = 20_000;
const READINGS: usize = 32;

/// The wall clock.
#[derive(Clone, Debug, Default)]
pub struct Wall {
    /// Nanoseconds that a test puts it ahead.
    ahead: Option<Arc<AtomicI64>>,
    told: Option<Arc<Told>>,
}

/// Hand-overs and the sum of their times, as the clock told them: for who compares with other means.
#[derive(Debug)]
pub struct Told {
    base_unix_ns: u64,
    count: AtomicU64,
    /// After the base.
    sum_ns: AtomicU64,
}

impl Told {
    /// Times count from `base_unix_ns` on.
    pub fn new(base_unix_ns: u64) -> Self {
        Self { base_unix_ns, count: AtomicU64::new(0), sum_ns: AtomicU64::new(0) }
    }

    /// How many, and the sum of their nanoseconds after the base.
    pub fn totals(&self) -> (u64, u64) {
        (self.count.load(Ordering::Relaxed), self.sum_ns.load(Ordering::Relaxed))
    }
}

impl Wall {
    /// One that `ahead` moves: for tests of what happens when the clock is set.
    pub fn moved_by(ahead: Arc<AtomicI64>) -> Self {
        Self { ahead: Some(ahead), told: None }
    }

    /// One that writes down what it tells for hand-overs.
    pub fn written_to(told: Arc<Told>) -> Self {
        Self { ahead: None, told: Some(told) }
    }

    /// Whether a test moves it.
    pub const fn is_moved(&self) -> bool {
        self.ahead.is_some()
    }

    /// The time of a hand-over.
    #[inline]
    pub fn hand_over_ns(&self) -> u64 {
        let now = self.now_ns();
        if let Some(told) = &self.told {
            told.count.fetch_add(1, Ordering::Relaxed);
            told.sum_ns.fetch_add(now.saturating_sub(told.base_unix_ns), Ordering::Relaxed);
        }
        now
    }

    /// Nanoseconds since 1970.
    #[inline]
    pub fn now_ns(&self) -> u64 {
        let now = clock::unix_ns();
        match &self.ahead {
            None => now,
            Some(ahead) => now.saturating_add_signed(ahead.load(Ordering::Relaxed)),
        }
    }

    /// How far it is from CLOCK_MONOTONIC, now.
    pub fn offset(&self) -> Offset {
        let reading = |_| {
            let before = clock::monotonic_ns();
            let wall = self.now_ns();
            let after = clock::monotonic_ns();
            (after - before, wall as i64 - (before + (after - before) / 2) as i64)
        };
        let (_, wall_ns) = (0..READINGS).map(reading).min().unwrap_or_default();
        Offset { wall_ns, monotonic_ns: clock::monotonic_ns() }
    }
}

/// The distance of both clocks at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offset {
    /// Wall clock − CLOCK_MONOTONIC.
    pub wall_ns: i64,
    pub monotonic_ns: u64,
}

impl Offset {
    /// How far the wall clock was set between `earlier` and this; `None` if it only ran as clocks do.
    pub fn step_since(&self, earlier: &Self) -> Option<i64> {
        let moved = self.wall_ns - earlier.wall_ns;
        let over = self.monotonic_ns.saturating_sub(earlier.monotonic_ns);
        let slewed = (over as f64 * SLEW) as i64 + READING_NS;
        (moved.abs() > slewed).then_some(moved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_slewed_did_not_step() {
        let at = |wall_ns, seconds: u64| Offset { wall_ns, monotonic_ns: seconds * 1_000_000_000 };
        // In 10 s a clock is slewed by 5 ms at most.
        assert_eq!(at(4_900_000, 10).step_since(&at(0, 0)), None);
        assert_eq!(at(-4_900_000, 10).step_since(&at(0, 0)), None);
        assert_eq!(at(5_100_000, 10).step_since(&at(0, 0)), Some(5_100_000));
        assert_eq!(at(-1_000_000_000, 10).step_since(&at(0, 0)), Some(-1_000_000_000));
    }

    #[test]
    fn a_clock_that_is_set_is_seen() {
        let ahead = Arc::new(AtomicI64::new(0));
        let wall = Wall::moved_by(ahead.clone());
        let before = wall.offset();
        assert_eq!(wall.offset().step_since(&before), None);
        ahead.store(-30_000_000, Ordering::Relaxed);
        let step = wall.offset().step_since(&before).unwrap();
        assert!((step + 30_000_000).abs() < 1_000_000, "{step}");
    }
}
