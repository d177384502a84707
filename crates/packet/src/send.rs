//! `tare send`: frames at given times, or as fast as a port takes them.
//!
//! ```text
//!                    ┌ departures, streams  when: exact, in shares ┐
//! SendPlan ─► job ──►│ source      what: templates, replay, lists  │─► SenderContext ─► one of four:
//!                    │ answer      addresses, asked and answered   │
//!                    └ steer       tare ctl and keys               ┘   findings ◄── SenderReport, receive
//!
//! pacer    one by one, at their times          offload  frames made by the port
//! flood    as fast as it goes                  timed    for ports that keep their own time
//! receive  what arrived of it         scripted  frames that a user's Lua finishes
//! ```

mod answer;
mod departures;
pub(crate) mod flood;
mod job;
pub(crate) mod ledger;
pub(crate) mod machine;
mod neighbour;
mod offload;
pub(crate) mod outlet;
pub(crate) mod pacer;
mod receive;
#[cfg(not(feature = "lua"))]
#[path = "send/no_script.rs"]
mod scripted;
#[cfg(feature = "lua")]
mod scripted;
pub(crate) mod sender;
mod shaped;
pub(crate) mod socket;
pub(crate) mod source;
mod split;
mod steer;
pub(crate) mod streams;
mod tape;
pub(crate) mod timed;
pub(crate) mod words;

pub use departures::{Cycle, Departures, Ends, NoRate, Pattern};
pub use job::SendJob;
