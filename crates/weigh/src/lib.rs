//! How much load this machine creates: the method of the study of load capability, for every port.
//!
//! ```text
//!   Stage ─ where    Setup ─ what    Schedule ─ when
//!      └───────┬───────┘                │
//!            run ──► senders ─ packet with its time of hand-over ─► port ─► driver ── stamp
//!                       └ how many left when                                            │
//!                    reader ◄───────────────────────────────────────────────────────────┘
//!                       └ Tally: stamp − hand-over, by stretch of time and step
//!   packets: threads, then trials of rising rate     backload: trials with incoming traffic, rising and ending
//! ```

pub mod backload;
mod child;
mod claims;
mod elsewhere;
mod error;
mod frames;
pub mod http;
pub mod module;
mod neighbour;
pub mod packets;
pub mod peak;
mod run;
pub mod send;
mod sender;
pub mod session;
mod stage;
mod stamps;
mod tally;
mod usage;
mod wall;
mod ways;

pub use elsewhere::Elsewhere;
pub use error::WeighError;
pub use session::keep_profile;
pub use stage::{Stage, parse_mac};
pub use stamps::Gate;
pub use wall::{Offset, Told, Wall};
pub use ways::Way;
pub use wire::template::Mac;
