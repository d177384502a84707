//! Reading a run back: of this version or an older one (missing keys are defaults), or a newer one of the same
//! schema (unknown keys are ignored).

use crate::error::StoreError;
use crate::run_folder::{ENVIRONMENT, INTERVALS, PLAN, RESULT};
use crate::schema::{Interval, RunResult, SCHEMA};
use crate::stored_timeline::stored_timeline;
use crate::timeline::Timeline;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

/// A run that was kept.
#[derive(Debug)]
pub struct StoredRun {
    pub folder: PathBuf,
    pub result: RunResult,
    /// Text of `plan.toml`; empty if there is none.
    pub plan: String,
    /// Text of `environment.json`; empty if there is none.
    pub environment: String,
}

/// Reads a run folder, or the `result.json` in one.
pub fn load_run(path: &Path) -> Result<StoredRun, StoreError> {
    let folder = if path.is_file() { path.parent().unwrap_or(path) } else { path };
    let file = if path.is_file() { path.to_owned() } else { folder.join(RESULT) };
    let result = read_result(&file, folder)?;
    let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
    Ok(StoredRun { folder: folder.to_owned(), result, plan: text(PLAN), environment: text(ENVIRONMENT) })
}

fn read_result(file: &Path, folder: &Path) -> Result<RunResult, StoreError> {
    let text = fs::read(file).map_err(|why| match why.kind() {
        io::ErrorKind::NotFound if folder.is_dir() => StoreError::NoResult(folder.to_owned()),
        _ => StoreError::Read { path: file.to_owned(), why },
    })?;
    let result: RunResult =
        serde_json::from_slice(&text).map_err(|why| StoreError::Format { path: file.to_owned(), why })?;
    if result.schema != SCHEMA {
        return Err(StoreError::Schema { path: file.to_owned(), found: result.schema });
    }
    Ok(result)
}

impl StoredRun {
    /// Every interval: from `intervals.jsonl`, one at a time, or from the result if that file is not whole.
    pub fn intervals(&self) -> Intervals<'_> {
        Intervals::of(&self.result, &self.folder)
    }

    /// The run in at most `most` steps of time, read in one pass. Where `latency.hlog` lacks something, bins say that
    /// their percentiles are not exact.
    pub fn timeline(&self, most: usize) -> Timeline {
        stored_timeline(self.intervals(), self.rows(), &self.folder, most)
    }

    /// How many intervals [`StoredRun::intervals`] has; an estimate that is not too small, if the file was not touched.
    fn rows(&self) -> u64 {
        let rows = self.result.intervals.len() as u64;
        rows.saturating_mul(self.result.interval_rows_merged.max(1))
    }
}

/// Rows of a run, one at a time.
pub enum Intervals<'a> {
    File(io::Lines<BufReader<File>>),
    Result(std::slice::Iter<'a, Interval>),
}

impl<'a> Intervals<'a> {
    /// The rows of `result`, unmerged if they are in `folder`.
    pub fn of(result: &'a RunResult, folder: &Path) -> Self {
        let unmerged = result.interval_rows_merged > 1 && result.intervals_in == INTERVALS;
        match File::open(folder.join(INTERVALS)) {
            Ok(file) if unmerged => Self::File(BufReader::new(file).lines()),
            _ => Self::Result(result.intervals.iter()),
        }
    }
}

impl Iterator for Intervals<'_> {
    type Item = Interval;

    /// Lines that are not a row are passed over.
    fn next(&mut self) -> Option<Interval> {
        match self {
            Self::Result(rows) => rows.next().cloned(),
            Self::File(lines) => {
                lines.map_while(Result::ok).find_map(|line| serde_json::from_str(&line).ok())
            }
        }
    }
}
