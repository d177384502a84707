//! `tare sweep`: how much a target takes, over frame sizes.
//!
//! ```text
//! sizes ─► search (NDR, PDR: RFC 9971) ─► latency at 10 … 100 % of NDR ─► longest burst ─► a row of the table
//!             │ TrialOrder           ▲ Trial
//!             ▼                      │
//!          trials over ports: send at a load, receive, count by signature, wait for what is on its way
//! ```
//!
//! | file | what |
//! |---|---|
//! | `load`, `goal`, `trial`, `classify`, `search` | RFC 9971, pure |
//! | `bursts` | back-to-back frames, pure |
//! | `recovery`, `reset`, `pauses` | after an overload or a reset, pure |
//! | `bench`, `carry`, `departed`, `arrivals` | trials over real ports, in one direction or both |
//! | `job`, `tables` | the whole sweep, and what it found |

mod arrivals;
mod bench;
mod bursts;
mod carry;
mod classify;
mod departed;
mod goal;
mod job;
mod load;
mod pauses;
mod recovery;
mod reset;
mod search;
mod tables;
mod trial;

pub use bursts::BurstSearch;
pub use classify::{Class, classify, conditional_throughput};
pub use goal::{Goal, Limits, Target};
pub use job::SweepJob;
pub use load::Load;
pub use search::{End, GoalFindings, Search};
pub use trial::{Judged, Side, TOLERANCE, Trial, TrialOrder, Void};
