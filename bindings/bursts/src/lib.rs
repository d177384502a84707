//! Ports and rules for other languages: a burst of frames lies in memory that stays, so that a program can fill
//! or read it between two calls, whatever it is written in.
//!
//! ```text
//! lend ──► fill rows in place ──► send ─┐          receive ──► look at rows ──► release
//!               ▲                       │
//!               └── the same rows ◄─────┘          give_back ends it
//!
//! frame i is bytes i · stride .. i · stride + lengths[i] of the data
//! ```
//!
//! A port of Tare lends its own rooms for the time of one call only; here each frame is copied once, into or
//! out of them.

mod error;
mod judge;
mod memory;
mod port;

pub use error::BurstError;
pub use judge::judge;
pub use memory::Rows;
pub use port::{BurstPort, Forwarded, Opening};
