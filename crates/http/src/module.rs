//! Requests that the FPGA module makes by itself (`--via fpga:sim`): its sessions open connections, send what
//! is due and read the responses. This program says what is to be done, and books what became of it.
//!
//! ```text
//! Plan ─ fit ─► SessionLoad ─► simulation ─ Report ─► drive ─ Event ─► recorder
//! ```
//!
//! All times are the module's, in ticks of 8 ns. Its simulation is slower than a clock: a target that is a
//! program of this world answers in no time, and the figures of such a run say nothing about it.

mod drive;
mod due;
mod fit;
mod histograms;
mod intervals;

pub(crate) use drive::Drive;
pub(crate) use fit::Fit;

use port::fpga::sessions::Figures;
use std::net::{Ipv4Addr, SocketAddrV4};
use units::Picos;

/// What a run by the module leaves to be told.
#[derive(Clone, Debug)]
pub struct Module {
    /// The port, as it is written, and who the sessions are there.
    pub port: String,
    pub own: Ipv4Addr,
    pub mac: String,
    pub why_mac: &'static str,
    pub target: SocketAddrV4,
    /// The target lives in another time than the simulation.
    pub is_apart: bool,
    /// Each request has a connection of its own.
    pub each: bool,
    /// Between openings of connections, where no schedule says when they are.
    pub open_gap: Option<Picos>,
    /// Due times that the module did not compute itself: so many were listed for it.
    pub listed: Option<u64>,
    /// Where the module itself wrote its results: the Redis, and the database.
    pub redis: Option<(SocketAddrV4, u32)>,
    pub figures: Figures,
}
