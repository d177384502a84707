//! A run watched while it goes on: a page in the browser, a view on the terminal.
//!
//! ```text
//! Collector ─ totals, rows ─► run ─ Update ─┬─► Page      one thread: draws once a second, serves every viewer
//!                                           └─► Terminal  one thread: draws, reads keys ─► Key
//! ```
//!
//! Nobody watches: nothing is drawn, and no [`Update`] is made ([`Page::wants`]). Both threads step aside for
//! the engine (a lower priority, not on its CPUs), take only the latest update and never make anybody wait.

#![forbid(unsafe_code)]

mod about;
// Only the page listens.
#[cfg_attr(not(feature = "page"), allow(dead_code))]
mod address;
mod error;
#[cfg(not(all(feature = "page", feature = "view")))]
mod left_out;
#[cfg(feature = "page")]
mod page;
#[cfg(feature = "page")]
mod server;
#[cfg(feature = "view")]
mod terminal;
#[cfg_attr(not(feature = "page"), allow(dead_code))]
mod token;

pub use about::{About, Signals, Wish};
pub use address::Address;
pub use error::LiveError;
#[cfg(not(feature = "page"))]
pub use left_out::Page;
#[cfg(not(feature = "view"))]
pub use left_out::Terminal;
#[cfg(feature = "page")]
pub use page::Page;
#[cfg(feature = "view")]
pub use terminal::Terminal;
pub use token::Token;

use std::sync::Arc;
use store::{RunResult, Timeline};

/// Whether this program can fill a terminal.
pub const HAS_VIEW: bool = cfg!(feature = "view");

/// The run so far. Made by the thread that collects, drawn by others.
#[derive(Clone, Debug)]
pub struct Update {
    pub result: Arc<RunResult>,
    pub timeline: Arc<Timeline>,
}
