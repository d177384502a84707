//! TCP sessions over a port, without the kernel's sockets: records by port number, their timers, and frames.
//!
//! ```text
//!  owner ─ open, act ─► Sessions ─ tcp::step ─► segments ─► Outgoing ─ one transmit a batch ─► port
//!    ▲                     │ ▲
//!    │  Owner::hear        │ └─ Station::take ◄─ frames ◄─────────────────────────────────────── port
//!    └──── notices ────────┘ Wheel: deadlines
//! ```
//!
//! A session belongs to an owner, who knows what is sent and what is done with what comes: `http`'s driver is
//! one. Nothing here stores a byte of a request or of a response; an owner that wants bytes that came ahead of
//! a hole keeps them ([`Ahead`]).
//!
//! Acknowledgments that are owed leave with [`Sessions::settle`]: an owner calls it when it has handled what
//! came, so that a request carries the acknowledgment of the response before it.

#![forbid(unsafe_code)]

mod account;
mod ahead;
mod beside;
mod figures;
mod inner;
mod lives;
mod looks;
mod outgoing;
mod peers;
mod sessions;
mod table;
mod wheel;

pub use account::{Account, DEVIATIONS, Place};
pub use ahead::Ahead;
pub use figures::Figures;
pub use peers::BURST;
pub use sessions::{Began, Inward, OpenError, Owner, SessionError, Sessions};
pub use station::{Bad, Silent, Station, StationError, Via};
pub use table::{Id, PORTS};
