//! WHAT is sent: everything a user can ask for, resolved and valid.
//!
//! ```text
//! flags ─┐
//!        ├─► PlanFile (exactly what was typed) ── resolve ──► Plan (nothing in it can be invalid) ── canonical ──► plan.toml, hash
//! TOML ──┘
//! ```
//!
//! Past `resolve`, no value needs checking again. There is no I/O in the timed path here: files named in a
//! plan are opened by the engine.

#![forbid(unsafe_code)]

mod model;

pub use model::*;
