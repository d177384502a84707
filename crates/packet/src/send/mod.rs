//! Frames at given times.

mod departures;
pub mod flood;
mod machine;
pub mod outlet;
pub mod pacer;

pub use departures::{Cycle, Departures, Ends, NoRate, Pattern};
