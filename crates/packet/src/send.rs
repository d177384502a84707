//! `tare send`: frames at given times, or as fast as a port takes them.
//!
//! ```text
//!                    ┌ departures  when: exact, in shares, steered ┐
//! SendPlan ─► job ──►│ source      what: templates, replay, lists  │─► SenderContext ─► one of four:
//!                    │ answer      addresses, asked and answered   │
//!                    └ steer       tare ctl and keys               ┘   findings ◄── SenderReport, receive
//!
//! pacer    one by one, at their times          offload  frames made by the port
//! flood    as fast as it goes                  timed    for ports that keep their own time
//! receive  what arrived of it
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
pub(crate) mod sender;
pub(crate) mod source;
mod steer;
pub(crate) mod timed;
pub(crate) mod words;

pub use departures::{Cycle, Departures, Ends, NoRate, Pattern};
pub use job::SendJob;
