//! libtare: ports, rules, signatures and runs for C, and for whatever calls C.
//!
//! ```text
//! C ─► extern "C" fn ─► guard ─┬─ Table: handle → port, rules, run
//!                              ├─ what a crate of Tare does
//!                              └─ an error: its code, and its text for this thread
//! ```
//!
//! No panic leaves a function, no handle is a pointer, and nothing is freed by the caller. `tare.h` is made
//! from the files of this folder, in the order of `tests/header.rs`.

// What is unsafe in all of them alike is said once, at the top of the header.
#![allow(clippy::missing_safety_doc)]

pub mod codes;
mod error;
mod guard;
pub mod passing;
mod pointers;
pub mod ports;
pub mod rules;
pub mod runs;
pub mod signatures;
mod table;
