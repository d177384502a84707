//! A stored result, as people and other programs read it. Pure: nothing here opens a file or asks the time.
//!
//! ```text
//! RunResult ──► summary    the terminal           ──► json        --json
//! Interval  ──► progress_line  while it runs      ──► http_load   scripts that know http_load
//! RunResult ──► junit, markdown   continuous integration
//! Weighing ──► weighing::text, weighing::html      what `tare weigh` found
//! RunResult, Timeline ──► charts ──► html, live_main    pages for a browser
//! ```

#![forbid(unsafe_code)]

mod bed;
pub mod chart;
mod chart_table;
pub mod chart_text;
mod charts;
mod comparison;
mod comparison_html;
mod comparison_words;
mod demo;
pub mod examination;
mod frames;
mod gap_bench;
mod html;
mod http_load;
mod json;
mod junit;
mod markdown;
mod markup;
mod module;
mod page;
mod past_kernel;
mod printf;
mod progress;
mod registers;
mod runs;
mod scale;
mod spark;
mod style;
mod svg;
mod sweep_charts;
mod text;
mod trials;
pub mod weighing;
mod words;

pub use bed::bed;
pub use chart_text::text_charts;
pub use comparison::{comparison, comparison_csv, comparison_json};
pub use comparison_html::{Drawn, comparison_html};
pub use demo::{KnownTruth, demo};
pub use gap_bench::{gap_bench_head, gap_bench_json, gap_bench_row};
pub use html::{Documents, html, live_main, page_shell, title};
pub use http_load::{HttpLoad, http_load, http_load_doubts};
pub use json::json;
pub use junit::junit;
pub use markdown::markdown;
pub use module::{ModuleCapability, ModuleClock, ModuleCounter, ModuleStatus, long_time};
pub use printf::percent_g;
pub use progress::{Progress, progress_line};
pub use registers::{RegisterRead, registers, registers_json};
pub use runs::{ListedRun, runs_table};
pub use style::{Ink, Style};
pub use text::{summary, text_report};
pub use trials::{trial_line, trials, trials_html, trials_json};
pub use words::{count, counted, in_unit, number, printable, rate, share, time, unreachable, wrap};
