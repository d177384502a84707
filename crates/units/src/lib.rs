//! The words that every other crate speaks: newtypes for time, rate, size and count, and the records
//! that cross the borders between crates.
//!
//! ```text
//! Instant ── minus ──► Picos ◄── due(n) ── Rate          Departure ─► engine ─► Event ─► measure
//! ```
//!
//! Time is counted in picoseconds in a `u64`: a run may last 213 days, and a rate of 14 880 952/s has
//! a gap that is exact to 10⁻¹². Nothing here reads a clock, and there are no dependencies.

#![forbid(unsafe_code)]

mod bytes;
mod count;
mod engine_counters;
mod outcome;
mod parse;
mod picos;
mod priority;
mod rate;
mod record;

pub use bytes::Bytes;
pub use count::{Count, Fraction};
pub use engine_counters::EngineCounters;
pub use outcome::{Cause, CausePart, Fate, Miss, Outcome, OutcomeClass, OutcomeKey};
pub use parse::ParseError;
pub use picos::{Instant, Picos};
pub use priority::Priority;
pub use rate::Rate;
pub use record::{Departure, Event, Group, Phase, Record};
