//! A run watched while it goes on: a page in the browser, a view on the terminal.
//!
//! ```text
//! Collector ─ totals, rows ─► cli ─ Update ─┬─► Page      one thread: draws once a second, serves every viewer
//!                                           └─► Terminal  one thread: draws, reads keys ─► Key
//! ```
//!
//! Nobody watches: nothing is drawn, and no [`Update`] is made ([`Page::wants`]). Both threads step aside for
//! the engine (a lower priority, not on its CPUs), take only the latest update and never make anybody wait.

#![forbid(unsafe_code)]

mod address;
mod aside;
mod error;
mod limited;
mod page;
mod server;
mod terminal;
mod token;

pub use address::Address;
pub use error::LiveError;
pub use page::Page;
pub use terminal::{About, Signals, Terminal, Wish};
pub use token::Token;

use std::sync::Arc;
use store::{RunResult, Timeline};

/// The run so far. Made by the thread that collects, drawn by others.
#[derive(Clone, Debug)]
pub struct Update {
    pub result: Arc<RunResult>,
    pub timeline: Arc<Timeline>,
}
