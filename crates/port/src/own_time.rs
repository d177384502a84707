//! Time of a port that keeps its own: the FPGA module's clock, which in a simulation has nothing to do with
//! this host's; and the wall clock where the kernel keeps launch times (`packet:` with `launch`).
//!
//! ```text
//!   own_time ─► now ─┐
//!                    ├─► Slot::launch ─► the device keeps the frame until then ─► departed: when it left
//!   due times ───────┘
//! ```
//!
//! All stamps of such a port are by its own clock: those of received frames, launch times, and departures. They
//! may be compared with each other, and with this host's clocks only where they are not simulated, and then to
//! within [`OwnTime::bound`].

use crate::{Stamp, StampedBy};
use units::Picos;

/// The clock of a port that keeps its own time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnTime {
    /// It is a simulation's. Such time goes as fast as the simulation can, and stands still while there is
    /// nothing to do: whoever wants a frame to leave later says so ([`crate::Slot::launch`]) and does not wait
    /// for it by another clock.
    pub simulated: bool,
    /// Simulations with the same number have the same time, others have nothing to do with each other; 0 if it
    /// is not simulated.
    pub simulation: u32,
    /// What one step of it lasts. Frames start at whole steps: a launch time between two of them is rounded
    /// down.
    pub tick: Picos,
    /// Nothing delays a frame but those before it: one that left a step late was late.
    pub is_exact: bool,
    /// Who tells when frames left.
    pub stamped: StampedBy,
    /// What it shows, asked anew.
    pub now: Stamp,
    /// `now` is that far from CLOCK_REALTIME at most, if it is not simulated.
    pub bound: Picos,
}

/// When a frame left, as the port that sent it says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Departed {
    /// Its place among the frames that were taken from this port since it was opened, from 0. What is left out
    /// was not told, or lost.
    pub number: u64,
    /// The time that was asked for; `Stamp::NONE` was at once.
    pub launch: Stamp,
    /// Its first byte (of the preamble) was on the wire then.
    pub start: Stamp,
    /// What `start` lacks, below a nanosecond.
    pub rest: Picos,
    /// How much later than asked for that was: whole steps of the port's clock.
    pub late: Picos,
    /// The wire had no link when this was told: it left into nothing, or (if `missed`) was lost with the link.
    pub into_nothing: bool,
    /// It never left: it was too late for its launch time, and was dropped.
    pub missed: bool,
}
