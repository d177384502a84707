//! The engine for frames: generate, pace, capture, forward, measure gaps and search, over any port.

pub mod capture;
mod control;
pub mod ctl;
mod error;
pub mod flows;
pub mod forward;
mod job;
#[cfg(test)]
mod keeper;
pub mod lists;
mod on_the_wire;
mod own_clock;
pub mod pace;
mod ports;
pub mod send;
pub mod signed;
pub mod sweep;

use on_the_wire::on_the_wire;

pub use control::{Answer, By, ControlCommand, JobControl, LONGEST_LINE};
pub use error::PacketError;
pub use job::{Facts, Findings, Job, MakeRecorders, Recorders, Running};
