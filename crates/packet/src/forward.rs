//! A middlebox between two ports: what comes in is counted, judged by rules, and sent on.
//!
//! ```text
//!          ┌──────────────── lane (a thread, a queue of each port) ────────────────┐
//!   IN ───►│ receive ─► judge ─┬─ pass ─► batch ─► transmit (waits, or drops) │───► OUT
//!          │                   └─ drop, counted by rule                            │
//!   IN ◄───│ the way back: untouched, judged too, or not at all                    │◄─── OUT
//!          └────────────────────────────────────────────────────────────────────────┘
//!   with `kernel`: the same rules as an XDP program on both interfaces, and nothing here but its counters
//! ```
//!
//! Every frame that arrives is forwarded, filtered, received (where there is no OUT), missed (the port had no
//! room, or the receiver was too slow) or failed (too long for the other port); each is counted at its place.

mod batch;
mod job;
mod kernel;
mod lane;
mod reload;
mod rules_table;
mod speed;
mod table_job;

pub use job::Forward;
pub use kernel::KernelForward;
pub use lane::{Lane, Moved, Work};
pub use reload::{Reloader, Signal};
pub use speed::{Speed, SpeedPlan, lane_speed};
pub use table_job::TableJob;

use filter::Rules;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use units::Picos;

/// What becomes of frames whose port has no room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Full {
    /// They wait, and so do those behind them: what is too much is lost (and counted) where it arrives.
    #[default]
    Wait,
    /// After so many tries in vain they are dropped, and counted as missed.
    Drop { tries: u32 },
}

/// What is done with frames that come from OUT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Back {
    /// They go back to IN untouched.
    #[default]
    Pass,
    /// They are judged by the same rules.
    Rules,
    /// They are left where they are.
    Nothing,
}

/// Rules and where they came from.
#[derive(Clone, Debug, Default)]
pub struct RuleSource {
    pub rules: Rules,
    /// The file, if they can be read again.
    pub file: Option<PathBuf>,
    /// Read them again as often as this.
    pub every: Option<Picos>,
    /// Set by a signal: read them again now.
    pub signal: Option<Arc<AtomicBool>>,
}

/// What is to be done, whichever way.
#[derive(Clone, Debug, Default)]
pub struct ForwardSetup {
    pub rules: Option<RuleSource>,
    pub full: Full,
    pub back: Back,
    /// End after this time, or after so many frames have arrived.
    pub duration: Option<Picos>,
    pub frames: Option<u64>,
    /// Lanes never sleep.
    pub busy: bool,
}
