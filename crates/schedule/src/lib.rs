//! WHEN each request is due: pure, seeded, exact. Never reads a clock.
//!
//! ```text
//! plan::Arrivals ─► shape ─► jitter ─► share i of k ─► Departure { seq, due = origin + offset }
//! ```
//!
//! | shape | file | n-th due time |
//! |---|---|---|
//! | constant | `constant.rs` | closed form, exact |
//! | constant, its rate changed while it runs | `steered.rs` | closed form between changes, exact |
//! | ramp, stages | `line.rs` (`ramp.rs`, `stages.rs`) | inverse of the cumulative count, exact |
//! | step | `step.rs` | closed form, exact |
//! | burst | `burst.rs` | closed form, exact |
//! | sine | `sine.rs` | inverse of the cumulative count; exact at whole periods |
//! | Poisson | `poisson.rs` | a seeded sum with its remainder carried (`drawn.rs`: by number) |
//! | recorded | `recorded.rs` | read from a file line by line |
//!
//! [`Merge`] makes one schedule of several. While a run goes on, [`Control`] tells its threads of changes,
//! and when to stop.
//!
//! The first five know any due time by its number, so skipping the rest of a schedule takes no time. All of
//! them give the same times on every machine: integers, and IEEE 754 operations that are rounded correctly.

#![forbid(unsafe_code)]

mod burst;
mod constant;
mod control;
mod curve;
mod drawn;
mod error;
mod jitter;
mod line;
mod merge;
mod poisson;
mod ramp;
mod random;
mod rates;
mod rational;
mod recorded;
mod search;
mod share;
mod sine;
mod stages;
mod steered;
mod step;
mod stream;

pub use control::{Action, Control, Halt, LoadChange, TooManyChanges};
pub use curve::Curve;
pub use error::ScheduleError;
pub use merge::{Merge, Part, Turn};
pub use rates::{expected_per_second_at, smallest_gap};
pub use recorded::{Recorded, RecordedTimes, check_recorded, check_recorded_before};
pub use share::{Limits, Share, curve, share};
pub use steered::{Change, Steered};

use units::{Departure, Instant};

/// One share of a schedule. Due times never descend.
pub trait Schedule: Send {
    /// The next departure of this share; `None` when the schedule is over.
    fn next(&mut self) -> Option<Departure>;

    /// Drops every departure left that is due before `end` and says how many there were. Takes no time
    /// worth mention, except that Poisson and recorded times are drawn one by one (20 to 100 ns each).
    fn skip_before(&mut self, end: Instant) -> u64;

    /// Why a schedule ended before its time: only a file of recorded times can fail on the way.
    fn failure(&self) -> Option<&ScheduleError> {
        None
    }

    /// Itself, if its rate may be changed while it runs: even gaps without jitter.
    fn as_steered(&mut self) -> Option<&mut Steered> {
        None
    }
}
