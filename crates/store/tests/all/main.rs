//! Run folders from outside, whole and damaged.

mod fill;
mod merge_runs;
mod older;
mod remains;
mod rows;
mod run_folder;
