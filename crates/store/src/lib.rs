//! What a run leaves behind: the result's schema, and the sinks that keep it.
//!
//! ```text
//! measure ─ IntervalRow ─► Sink::row ──► intervals.jsonl, latency.hlog      (one write each, each interval)
//! measure ─ RunTotals ──► RunResult::fill ─► Sink::end_rows ─► Sink::save ──► result.json
//!                                              result, rows ──► report
//! ```
//!
//! A sink that cannot write says so in the result (`store.lost`) and the run goes on: nothing here panics, and
//! the result in memory is complete whatever the disk does. Memory is bounded: see [`BoundedIntervals`].

#![forbid(unsafe_code)]

mod buckets;
mod criterion_name;
pub mod csv;
mod distribution;
mod error;
mod figures;
mod from_measure;
pub mod gap_bench;
pub mod held;
mod hlog;
mod hlog_read;
mod hlog_write;
mod json;
mod keeper;
mod log_state;
mod may_merge;
mod merge_packets;
mod merge_runs;
mod number;
mod outcome;
mod packs;
mod read;
mod rebuild;
pub mod regular;
mod run_folder;
mod run_histograms;
pub mod schema;
pub mod secrets;
mod series;
mod sink;
mod stored_timeline;
pub mod timeline;
mod wall;
pub mod weighing;

pub use distribution::{Curve, Distribution};
pub use error::StoreError;
pub use from_measure::{Measured, Spans};
pub use hlog_read::{HlogEntry, HlogReader, read_hlog};
pub use hlog_write::HlogWriter;
pub use json::write_json;
pub use may_merge::{MergeError, may_merge, unknown};
/// Figures that only frames have, as they are kept.
pub use measure::packets;
pub use merge_runs::{merge_runs, merged_timeline};
pub use read::{Intervals, StoredRun, load_run};
pub use run_folder::{BEGUN, RUN_FILES, RunFolder, check_folder, check_name, run_name, state_dir};
pub use run_histograms::{RunHistograms, merged_series};
pub use schema::RunResult;
pub use series::{BoundedIntervals, MAX_INTERVALS};
pub use sink::{NoFolder, Sink};
pub use timeline::{Bin, HeatCell, Timeline, TimelineBuilder};
pub use wall::rfc3339;
