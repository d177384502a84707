//! Steering a run from outside: a Unix socket in its folder, and the keys of its terminal.
//!
//! ```text
//!   tare ctl last set rate 2M ──┐
//!   nc -U RUN/control.sock ─────┼─► Server (a thread) ─► Control::ask ─► "ok …" or "error …", one line each
//!   + − space m q ──────────────┘   Keys (a thread)
//! ```
//!
//! A line is plain words (`set rate 2M`), or JSON (`{"command":"set rate 2M"}`), and is answered in kind.

mod client;
mod keys;
mod server;

pub use client::{CtlError, ask};
pub use keys::Keys;
pub use server::Server;

use std::path::Path;

/// Name of the socket in the run's folder.
pub const SOCKET: &str = "control.sock";

/// A socket's address is at most 107 bytes long, a folder's path may be longer: the folder is opened, and the
/// socket found through the descriptor.
fn short_path(folder: &std::fs::File, name: &str) -> std::path::PathBuf {
    use std::os::fd::AsRawFd;
    Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name)
}
