//! The examination of a machine that is to make load.
//!
//! ```text
//!   /proc, /sys ─► Files ────┐
//!   interfaces  ─► Devices ──┼─► examiners, one file per subject ─► findings, worst first ─► fix ─► undo
//!   clock, CPU  ─► Measured ─┘
//! ```
//!
//! Nothing is changed here but by [`fix`]. What cannot be read is a finding that says so
//! ([`Severity::Unknown`]), never a guess.

mod capabilities;
mod clocks;
mod container;
mod cpus;
mod devices;
mod error;
mod file_capabilities;
mod files;
mod finding;
pub mod fix;
mod interrupts;
mod limits;
mod measured;
mod memory;
mod napi;
mod overview;
mod ports;
mod power;
mod ptp;
mod sockets;
#[cfg(test)]
mod tests;
mod tracking;

pub use devices::Device;
pub use error::DoctorError;
pub use file_capabilities::FileCapabilities;
pub use files::Files;
pub use finding::{Change, Finding, Load, Mend, Severity, Weight};
pub use measured::{Measured, Pauses, Shares, Sleeps};
pub use overview::Overview;
pub use ports::PortState;
pub use ptp::CardClock;

use std::path::Path;

/// What is examined.
#[derive(Debug, Default)]
pub struct Subject {
    pub files: Files,
    pub measured: Measured,
    pub devices: Vec<Device>,
    pub card_clocks: Vec<CardClock>,
    /// Of the file of this program.
    pub program: FileCapabilities,
}

impl Subject {
    /// This machine. Takes about a second: it measures.
    pub fn here() -> Self {
        Self {
            files: Files::default(),
            measured: Measured::take(),
            devices: Device::all(),
            card_clocks: CardClock::all(),
            program: FileCapabilities::of(Path::new("/proc/self/exe")),
        }
    }

    /// Everything that can be said of it, the worst first.
    pub fn findings(&self) -> Vec<Finding> {
        let examiners: [fn(&Self) -> Vec<Finding>; 13] = [
            clocks::examine,
            power::examine,
            cpus::examine,
            interrupts::examine,
            napi::examine,
            devices::examine,
            ptp::examine,
            sockets::examine,
            tracking::examine,
            limits::examine,
            container::examine,
            memory::examine,
            capabilities::examine,
        ];
        let mut findings: Vec<Finding> = examiners.iter().flat_map(|examine| examine(self)).collect();
        // Stable: of equals, those of the earlier subject come first.
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.worst()));
        findings
    }
}
