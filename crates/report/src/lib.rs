//! A stored result, as people and other programs read it. Pure: nothing here opens a file or asks the time.
//!
//! ```text
//! RunResult ──► summary    the terminal           ──► json        --json
//! Interval  ──► progress_line  while it runs      ──► http_load   scripts that know http_load
//! RunResult, Intervals, plan, environment ──► html  one file for a browser
//! ```

#![forbid(unsafe_code)]

pub mod chart;
mod chart_table;
mod charts;
mod html;
mod http_load;
mod json;
mod markup;
mod printf;
mod progress;
mod scale;
mod spark;
mod style;
mod svg;
mod text;
mod words;

pub use html::{Documents, html};
pub use http_load::{HttpLoad, http_load};
pub use json::json;
pub use printf::percent_g;
pub use progress::{Progress, progress_line};
pub use style::{Ink, Style};
pub use text::summary;
pub use words::{count, counted, number, printable, rate, share, time};
