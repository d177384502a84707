//! Test beds on one machine: the known-truth target server behind `tare target`, and namespaces with veth pairs between
//! them behind `tare lab`.
//!
//! ```text
//! TargetConfig ── spawn ──► Running ── stop ──► Truth (+ truth file)
//! Topology ────── up ─────► Bed ────── drop ──► no trace
//! ```

#![deny(unsafe_code)]

pub mod bed;
pub mod target;
