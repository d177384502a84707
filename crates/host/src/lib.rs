//! What this host can bear: how much load it creates, what takes that away, and whether a plan fits into it.
//!
//! ```text
//!   weigh (packets, http, backload) ─► Profile, kept in the state directory
//!                                        │
//!   machine (facts) ─► findings ─────────┼─► doctor: what to mend, and what a plan will meet
//!   plan ─► demands ─────────────────────┘
//! ```

pub mod doctor;
mod error;
pub mod machine;
mod memory;
pub mod peak;
pub mod predict;
pub mod profile;
pub mod weigh;

pub use error::HostError;
pub use machine::Machine;
pub use memory::return_large_blocks;
pub use profile::{Capability, Point, Profile, Refused};
