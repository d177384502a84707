//! A card's clock followed while a run goes on: its times told by the wall clock, and how far that may be off.
//!
//! ```text
//!   ahead ▲            × next comparison     between two, the line of the last two goes on; where the next
//!         │     ____――╱ ┐                    lies beside it says how far off it was at its end
//!         │ ×―――    └ rest
//!         └──┴──────────┴──► wall clock
//! ```
//!
//! With bounds b₀ and b₁ of the comparisons at both ends and the rest r at the second, a clock that drifts
//! evenly in between is told to within max(b₀, r + b₁). A clock that somebody set in between is off by the
//! whole step, and that is what the bound says then.

use super::Comparison;
use std::io;

/// Between two comparisons: short at first, while the drift is not known, then a second.
const FIRST_NS: u64 = 10_000_000;
const LAST_NS: u64 = 1_000_000_000;
/// No crystal is off by more; a clock that is has been set. (Drivers let one be slewed by some hundred ppm.)
const MOST_DRIFT: f64 = 1e-3;

/// A clock that can be compared with the wall clock.
pub trait Compare {
    /// # Errors
    /// It cannot be read.
    fn compare(&mut self) -> io::Result<Comparison>;
}

/// See the module.
#[derive(Debug)]
pub struct Follower<C> {
    card: C,
    last: Comparison,
    /// Nanoseconds that the card's clock gains in one.
    drift: f64,
    pause_ns: u64,
    /// When it was read last.
    read_unix_ns: u64,
    found: Followed,
}

/// What is known of a clock that was followed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Followed {
    /// What it showed more than the wall clock at first, and at last.
    pub first_ahead_ns: i64,
    pub ahead_ns: i64,
    /// Times told by it were off by this at most, as far as comparisons go.
    pub bound_ns: u64,
    pub drift_ppm: f64,
    /// Times that it, or the wall clock, was set.
    pub steps: u32,
    pub comparisons: u32,
    /// Times that it could not be read.
    pub unread: u32,
}

impl Followed {
    /// Whether what it told can be set beside times of the wall clock: it was never set, and always read.
    pub const fn is_kept(&self) -> bool {
        self.steps == 0 && self.unread == 0
    }
}

impl<C: Compare> Follower<C> {
    /// # Errors
    /// The clock cannot be read.
    pub fn begin(mut card: C) -> io::Result<Self> {
        let last = card.compare()?;
        let found = Followed {
            first_ahead_ns: last.ahead_ns,
            ahead_ns: last.ahead_ns,
            bound_ns: last.bound_ns,
            drift_ppm: 0.0,
            steps: 0,
            comparisons: 1,
            unread: 0,
        };
        Ok(Self { card, last, drift: 0.0, pause_ns: FIRST_NS, read_unix_ns: last.unix_ns, found })
    }

    /// Compares again if it is time; `now_unix_ns` is the wall clock's.
    #[inline]
    pub fn follow(&mut self, now_unix_ns: u64) {
        if now_unix_ns.abs_diff(self.last.unix_ns) >= self.pause_ns {
            self.compare();
        }
    }

    /// Compares now, so that the bound holds for all times told before.
    #[cold]
    pub fn compare(&mut self) {
        match self.card.compare() {
            Ok(next) => self.take(next),
            Err(_) => {
                self.found.unread += 1;
                // Nobody knows what it did since; no crystal is off by more.
                let blind = (self.last.unix_ns + self.pause_ns).saturating_sub(self.read_unix_ns);
                let doubt = self.last.bound_ns + (blind as f64 * MOST_DRIFT) as u64;
                self.found.bound_ns = self.found.bound_ns.max(doubt);
                // It is asked again later, not at each frame.
                self.last = self.at(self.last.unix_ns + self.pause_ns);
            }
        }
    }

    /// What was measured last carried on to another time.
    fn at(&self, unix_ns: u64) -> Comparison {
        Comparison { unix_ns, ahead_ns: self.ahead_at(unix_ns), ..self.last }
    }

    fn take(&mut self, next: Comparison) {
        let rest = next.ahead_ns.abs_diff(self.ahead_at(next.unix_ns));
        let span = next.unix_ns.saturating_sub(self.last.unix_ns);
        self.found.comparisons += 1;
        self.found.bound_ns = self.found.bound_ns.max(self.last.bound_ns).max(rest + next.bound_ns);
        let doubt = self.last.bound_ns + next.bound_ns;
        let moved = next.ahead_ns.wrapping_sub(self.last.ahead_ns);
        let is_set = next.unix_ns < self.last.unix_ns
            || moved.unsigned_abs() as f64 > doubt as f64 + span as f64 * MOST_DRIFT;
        if is_set {
            self.found.steps += 1;
            self.pause_ns = FIRST_NS;
        } else if span > 0 {
            self.drift = moved as f64 / span as f64;
            self.found.drift_ppm = self.drift * 1e6;
            self.pause_ns = (self.pause_ns * 2).min(LAST_NS);
        }
        (self.last, self.read_unix_ns, self.found.ahead_ns) = (next, next.unix_ns, next.ahead_ns);
    }

    #[inline]
    fn ahead_at(&self, unix_ns: u64) -> i64 {
        let since = unix_ns.wrapping_sub(self.last.unix_ns) as i64;
        self.last.ahead_ns.wrapping_add((since as f64 * self.drift) as i64)
    }

    /// A time of the card's clock by the wall clock.
    #[inline]
    pub fn to_unix(&self, card_ns: u64) -> u64 {
        let roughly = card_ns.wrapping_sub(self.last.ahead_ns as u64);
        card_ns.wrapping_sub(self.ahead_at(roughly) as u64)
    }

    /// A time of the wall clock by the card's.
    #[inline]
    pub fn to_card(&self, unix_ns: u64) -> u64 {
        unix_ns.wrapping_add(self.ahead_at(unix_ns) as u64)
    }

    pub const fn found(&self) -> Followed {
        self.found
    }
}

#[cfg(test)]
mod tests;
