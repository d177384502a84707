//! `tare send`: frames at given times, or as fast as a port takes them.
//!
//! ```text
//!                    ┌ departures  when: exact, in shares, steered          ┐
//! SendPlan ─► job ──►│ source      what: templates, replay, lists           │─► pacer   one by one, at their times
//!                    │ answer      hardware addresses, asked and answered   │   flood   as fast as it goes
//!                    └ steer       tare ctl and keys                        ┘   offload frames made by the port
//!                                                                               timed   for ports that keep their own time
//!                                                                               receive what arrived of it
//! ```

mod answer;
mod departures;
pub(crate) mod flood;
mod job;
pub(crate) mod machine;
mod neighbour;
mod offload;
pub(crate) mod outlet;
pub(crate) mod pacer;
mod receive;
pub(crate) mod source;
mod steer;
pub(crate) mod timed;
pub(crate) mod words;

pub use departures::{Cycle, Departures, Ends, NoRate, Pattern};
pub use job::SendJob;
