//! A client's TCP as one pure function: no I/O, no clock, no allocation.
//!
//! ```text
//! step(path, record, event, now) ─► record, at most one segment, notices
//!
//! frame ─ wire::tcp::View ─ Arrived::read ─► Event::Segment ─┐            ┌─► Segment::write ─► frame
//! owner ─ open, send, answered, close, abort, flush ─────────┼─► step() ──┼─► Record (64 bytes)
//! time  ─ timer ─────────────────────────────────────────────┘            └─► Notices ─► owner
//! ```
//!
//! `spec/tcp.toml` is the specification: states, events, fields, timers and every transition. `spec.rs`, the
//! page docs/tcp.md and the vectors are made from it. The vectors' expectations come from a second, plain
//! model (`spec/tcp_model.py`), never from this crate.
//!
//! What it is made for: requests of at most 65 535 bytes, one at a time, at most [`Path::burst`] segments of
//! them in flight; and responses of any length that are not stored here. Bytes in order are announced as
//! ranges of the segment that brought them ([`Notice::Data`]). Bytes ahead of a hole are announced once as well
//! ([`Notice::Early`]), and are in order when the hole has been filled ([`Notice::Filled`]). One such
//! interval stands in the record; an owner keeps others beside it, where there are several holes
//! ([`step_further()`]). They are also the SACK blocks.
//!
//! What the owner does: it finds the record of a segment (by port), checks checksums, drops segments whose
//! options cannot be read, and sends the segments. At the end of a batch it calls [`step()`] with
//! [`Event::Flush`] for each touched record, for as long as [`Record::wants_flush`], and with [`Event::Timer`]
//! when [`Record::next_deadline`] has come. It feeds [`Notice::Rtt`] to the [`Path`]. One call never sends more
//! than one segment and touches no other record.

#![no_std]
#![forbid(unsafe_code)]

mod arrive;
mod event;
mod further;
mod isn;
mod notice;
mod number;
mod options;
mod path;
mod record;
mod segment;
mod send;
mod spec;
mod step;
mod text;
mod time;

pub use event::{Arrived, Event};
pub use further::{Further, INTERVALS};
pub use isn::{Pair, Secret, isn};
pub use notice::{Cause, Dropped, MOST_NOTICES, Notice, Notices, Refusal};
pub use options::{MOST_OPTION_BYTES, OptionError, Options};
pub use path::Path;
pub use record::{Exponents, Flags, Record};
pub use segment::{Payload, Segment, WriteError};
pub use spec::{State, limit, timer};
pub use step::{Step, step, step_further};
pub use time::{Micros, Millis, Time};
