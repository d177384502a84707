//! WHEN each request is due: pure, seeded, exact. Never reads a clock.

#![forbid(unsafe_code)]

use units::{Departure, Instant};

/// One share of a schedule. Due times never descend.
pub trait Schedule: Send {
    /// The next departure of this share; `None` when the schedule is over.
    fn next(&mut self) -> Option<Departure>;

    /// Drops every departure left that is due before `end` and says how many there were.
    fn skip_before(&mut self, end: Instant) -> u64;
}
