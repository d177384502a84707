//! HOW requests go out: HTTP/1 over kernel sockets.
//!
//! ```text
//! Departure ─► source (which request) ─► connection (no I/O) ─► io (epoll or io_uring) ─► target
//! Event     ◄─ settle (what became of it) ◄─ response (no I/O) ◄──────────────────────────┘
//! ```
//!
//! The protocol side (`request`, `response`, `exchange`, `connection`, `outgoing`, `tls`) does no I/O and takes
//! time as an argument; `worker` is one thread's loop around it.

mod accounts;
mod again;
mod backoff;
mod checker;
mod composer;
mod connection;
mod control;
mod deadlines;
mod dial;
mod endpoint;
mod engine;
mod exchange;
mod feed;
#[cfg(any(test, feature = "fuzzed"))]
pub mod fuzzed;
mod gather;
mod http1;
pub mod io;
mod launch;
mod limit;
pub mod lines;
mod notes;
mod open;
mod outgoing;
mod pacer;
mod protocol;
mod pulse;
mod reading;
mod receive;
mod redirect;
mod request;
mod resolver;
pub mod response;
mod rules;
mod same;
mod send;
mod settle;
mod slots;
mod sockets;
mod source;
mod targets;
mod timers;
mod tls;
mod tunnel;
mod turns;
mod upload;
mod wind_up;
mod worker;

pub use control::{Control, Halt, NotNow};
pub use engine::{Engine, EngineError, Facts, Running};
pub use notes::Notes;
pub use source::SourceError;
pub use tls::TlsError;
