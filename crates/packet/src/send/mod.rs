//! Frames at given times.

mod departures;

pub use departures::{Cycle, Departures, Ends, NoRate, Pattern};
