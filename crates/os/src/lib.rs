//! What the operating system grants this process: CPUs, memory that stays, descriptors, and a place in the
//! queue for a CPU.
//!
//! ```text
//!   cpus        which there are, and where a thread runs
//!   scheduling  which thread goes first
//!   limits      open files
//!   memory      what stays in memory, and what goes back
//!   namespace   which network namespace this is
//!   peers       whom it connects to, and which of them are on this host
//!   child       processes that do not outlive us
//!   input       files that are named as input: no pipes that wait for a writer
//!   output      files that are named as output: no pipes that wait for a reader
//!   pipes       writes to pipes that nobody reads: no signal
//!   clash       whether what is read would be overwritten, or two would write one file
//!   cgroup      the control groups that limit it
//!   tcp_sockets which TCP sockets there are here, without those in TIME_WAIT
//!   unix_pairs  which Unix sockets here are connected to which
//! ```
//!
//! Each is asked for in one place. Nothing here decides: whoever asks knows why, and says what was refused.

pub mod aside;
pub mod cgroup;
pub mod child;
pub mod clash;
pub mod cpus;
pub mod input;
pub mod limits;
pub mod memory;
pub mod namespace;
pub mod output;
pub mod peers;
pub mod pipes;
pub mod scheduling;
mod sock_diag;
pub mod tcp_sockets;
pub mod unix_pairs;
