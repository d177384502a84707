//! HOW requests go out: HTTP/1 over kernel sockets.
//!
//! ```text
//! Departure ─► source (which request) ─► connection (no I/O) ─► io (epoll or io_uring) ─► target
//! Event     ◄─ settle (what became of it) ◄─ response (no I/O) ◄──────────────────────────┘
//! ```
//!
//! The protocol side (`request`, `response`, `exchange`, `connection`, `outgoing`, `tls`) does no I/O and takes
//! time as an argument; `worker` is one thread's loop around it. A second protocol on a connection implements
//! `protocol::Protocol` beside `http1`; another TCP than the kernel's implements [`io::Driver`].

mod connection;
mod endpoint;
mod engine;
mod exchange;
mod fast;
#[cfg(any(test, feature = "fuzzed"))]
pub mod fuzzed;
mod http1;
pub mod io;
pub mod lines;
mod module;
mod notes;
mod outgoing;
mod protocol;
mod redirect;
mod request;
mod resolver;
pub mod response;
mod rules;
mod same;
mod source;
#[cfg(feature = "tls")]
mod tls;
#[cfg(not(feature = "tls"))]
#[path = "no_tls.rs"]
mod tls;
mod tls_error;
mod tunnel;
mod via;
mod worker;

pub use engine::{Engine, EngineError, Facts, Running, check_inputs, control};
pub use module::Module;
pub use notes::Notes;
pub use session::{Account, Bad, DEVIATIONS, Figures, Place, Silent};
pub use source::SourceError;
pub use tls::TlsError;
pub use via::{port_of_via, via_from_anywhere};
