//! One run, from a plan to a verdict and all that is kept and printed of it, for every engine; and groups of
//! such runs.
//!
//! ```text
//! Options ┐
//! Plan ───┴─► load ─► Driven: HttpEngine, Frames ─► Collector ─► judge ─► Finished ─► summary, files, status
//!              │                                       │
//!              └─ who watches: progress, live, sinks ◄─┘
//! trials: the same command in processes of its own, again and again
//! hosted: a run within a program of others
//! ```

#![forbid(unsafe_code)]

mod by_module;
mod ci_reports;
mod describe;
mod engine;
pub mod frames;
mod frames_engine;
pub mod hosted;
mod http_engine;
mod inputs;
pub mod interrupt;
pub mod limits;
mod load;
mod loaded;
mod named_runs;
mod options;
mod past_kernel;
mod progress;
mod run_files;
mod run_sinks;
mod status;
mod stored_windows;
pub mod terminal;
pub mod trials;
mod watching;
mod weighed;

pub use load::{Finished, load, quietly};
pub use loaded::Loaded;
pub use named_runs::Scratch;
pub use options::{Host, Live, Options, Output};
/// A file that is named as input, read; a named pipe is not waited for.
pub use os::input::read_to_string as read_input;
pub use progress::Shown;
pub use status::{Failure, Status, complain, said_once};
