//! Tests that ask the simulation of the sessions alone, and not `tare`: with the sources and tools that they
//! last passed with, they do not run again (`scripts/sessions_test.sh`). One that starts `tare` does not belong
//! here.

mod counted;
pub mod sessions;
pub mod stored;
