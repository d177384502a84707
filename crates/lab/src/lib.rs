//! Test beds on one machine. Today: the known-truth target server that stands behind `tare target`.
//!
//! ```text
//! TargetConfig ── spawn ──► Running ── stop ──► Truth (+ truth file)
//! ```

#![deny(unsafe_code)]

pub mod target;
