//! The engine for frames: generate, pace, capture, forward, measure gaps and search, over any port.

mod control;
mod error;
mod job;

pub use control::{Control, Halt};
pub use error::PacketError;
pub use job::{Facts, Findings, Job, MakeRecorders, Recorders, Running};
