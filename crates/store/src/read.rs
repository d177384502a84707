//! Reading a run back: of this version or an older one (missing keys are defaults), or a newer one of the same
//! schema (unknown keys are ignored).

use crate::error::StoreError;
use crate::keeper::is_held;
use crate::rebuild;
use crate::regular;
use crate::run_folder::{BEGUN, ENVIRONMENT, HLOG, INTERVALS, PLAN, RESULT, TAGS};
use crate::schema::{Interval, RunResult, SCHEMA};
use crate::stored_timeline::stored_timeline;
use crate::timeline::Timeline;
use serde::Deserialize;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read};
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

impl StoredRun {
    /// Files that it is read from; not all have to be there.
    pub fn files(&self) -> Vec<PathBuf> {
        let folder = if self.folder.is_dir() { self.folder.as_path() } else { Path::new("") };
        let names = [BEGUN, RESULT, PLAN, ENVIRONMENT, INTERVALS, HLOG, TAGS];
        names.iter().map(|name| folder.join(name)).collect()
    }
}

/// Reads a run folder, or the `result.json` in one. A run that was killed, or whose result is damaged, is
/// rebuilt from its intervals; its labels say so.
pub fn load_run(path: &Path) -> Result<StoredRun, StoreError> {
    let folder = if path.is_file() { path.parent().unwrap_or(path) } else { path };
    let file = if path.is_file() { path.to_owned() } else { folder.join(RESULT) };
    let result = match read_result(&file) {
        Err(StoreError::Read { why, .. }) if why.kind() == ErrorKind::NotFound && folder.is_dir() => {
            without_result(folder)?
        }
        Err(StoreError::Format { path, why }) => damaged(&path, folder, why)?,
        read => read?,
    };
    let text = |name: &str| regular::read_to_string(&folder.join(name)).unwrap_or_default();
    Ok(StoredRun { folder: folder.to_owned(), result, plan: text(PLAN), environment: text(ENVIRONMENT) })
}

/// What the schemas of all versions begin with.
const FAMILY: &str = "tare.result/";

/// The result that was written, whole and of a schema that is known here.
fn read_result(file: &Path) -> Result<RunResult, StoreError> {
    let text = regular::read(file).map_err(|why| StoreError::Read { path: file.to_owned(), why })?;
    let format = |why| StoreError::Format { path: file.to_owned(), why };
    let stamp: Stamp = serde_json::from_slice(&text).map_err(format)?;
    if !stamp.schema.starts_with(FAMILY) {
        return Err(format(serde::de::Error::custom(format_args!("it does not have the schema '{SCHEMA}'"))));
    }
    if stamp.schema != SCHEMA {
        return Err(StoreError::Schema { path: file.to_owned(), found: stamp.schema, by: stamp.version });
    }
    serde_json::from_slice(&text).map_err(format)
}

/// What every version has.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Stamp {
    schema: String,
    version: String,
}

fn without_result(folder: &Path) -> Result<RunResult, StoreError> {
    if is_held(&folder.join(INTERVALS)) {
        return Err(StoreError::Running(folder.to_owned()));
    }
    // It may have ended between the two looks.
    match read_result(&folder.join(RESULT)) {
        Err(StoreError::Read { why, .. }) if why.kind() == ErrorKind::NotFound => {
            rebuild::of_killed(folder).ok_or_else(|| StoreError::NoResult(folder.to_owned()))
        }
        read => read,
    }
}

fn damaged(file: &Path, folder: &Path, why: serde_json::Error) -> Result<RunResult, StoreError> {
    let text = regular::read(file).unwrap_or_default();
    rebuild::of_damaged(&text, folder, &why).ok_or(StoreError::Format { path: file.to_owned(), why })
}

impl StoredRun {
    /// Every interval: from `intervals.jsonl`, one at a time, or from the result if that file is not whole.
    pub fn intervals(&self) -> Intervals<'_> {
        Intervals::of(&self.result, &self.folder)
    }

    /// The run in at most `most` steps of time, read in one pass. Where `latency.hlog` lacks something, bins
    /// say that their percentiles are not exact.
    pub fn timeline(&self, most: usize) -> Timeline {
        self.timeline_and_trouble(most).0
    }

    /// The same, and what to say of `latency.hlog` if it lacks something that `result.notes` does not tell
    /// already.
    pub fn timeline_and_trouble(&self, most: usize) -> (Timeline, Option<String>) {
        let (timeline, log) = stored_timeline(self.intervals(), self.rows(), &self.folder, most);
        let is_told = self.result.store.lost.iter().any(|lost| lost.what == HLOG)
            || self.result.notes.iter().any(|note| note.starts_with(HLOG));
        let trouble = log.of_finished(&self.result, &timeline).filter(|_| !is_told);
        (timeline, trouble)
    }

    /// How many intervals [`StoredRun::intervals`] has; an estimate that is not too small, if the file was not
    /// touched.
    pub(crate) fn rows(&self) -> u64 {
        let rows = self.result.intervals.len() as u64;
        rows.saturating_mul(self.result.interval_rows_merged.max(1))
    }
}

/// Rows of a run, one at a time.
pub enum Intervals<'a> {
    File(Rows),
    Result(std::slice::Iter<'a, Interval>),
}

impl<'a> Intervals<'a> {
    /// The rows of `result`, unmerged if they are in `folder`.
    pub fn of(result: &'a RunResult, folder: &Path) -> Self {
        let unmerged = result.interval_rows_merged > 1 && result.intervals_in == INTERVALS;
        match Rows::of_folder(folder).filter(|_| unmerged) {
            Some(rows) => Self::File(rows),
            None => Self::Result(result.intervals.iter()),
        }
    }
}

impl Iterator for Intervals<'_> {
    type Item = Interval;

    fn next(&mut self) -> Option<Interval> {
        match self {
            Self::Result(rows) => rows.next().cloned(),
            Self::File(rows) => rows.next(),
        }
    }
}

/// Lines of `intervals.jsonl`. What is not a row is passed over: a last line that was half written, or a
/// damaged one.
pub struct Rows {
    from: BufReader<File>,
    damaged: u64,
}

impl Rows {
    /// Longest line that is read: 1 000 threads and as many outcomes need a quarter of it.
    const LONGEST: u64 = 1 << 20;

    pub fn of_folder(folder: &Path) -> Option<Self> {
        regular::open(&folder.join(INTERVALS))
            .ok()
            .map(|file| Self { from: BufReader::new(file), damaged: 0 })
    }

    /// Lines so far that have their end and are no row.
    pub fn damaged(&self) -> u64 {
        self.damaged
    }
}

impl Iterator for Rows {
    type Item = Interval;

    fn next(&mut self) -> Option<Interval> {
        let mut line = Vec::new();
        loop {
            line.clear();
            if (&mut self.from).take(Self::LONGEST).read_until(b'\n', &mut line).ok()? == 0 {
                return None;
            }
            if !line.ends_with(b"\n") {
                continue;
            }
            match serde_json::from_slice(&line) {
                Ok(row) => return Some(row),
                Err(_) => self.damaged += 1,
            }
        }
    }
}
