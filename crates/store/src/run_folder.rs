//! The run folder: a run on disk, readable with nothing but a text editor and a browser.
//!
//! ```text
//! <state dir>/tare/runs/2026-11-20T12-00-00Z-http-7f3a/     or the folder that --out names
//!   begun.json  plan.toml  environment.json   at the start; the first goes when the result is there
//!   intervals.jsonl  latency.hlog             while it runs, one write each interval
//!   result.json  report.html                  at the end, whole or not at all
//! ```
//!
//! A run that is killed leaves no result; [`crate::load_run`] makes one of `begun.json` and the two logs, which
//! lack the last interval at most. `intervals.jsonl` is locked (flock) as long as the process lives, so that
//! nobody takes a run that goes on for one that was killed.
//!
//! `--out DIR` is the folder itself. It is made if it does not exist; if it has anything in it (an earlier run,
//! too) it is refused, so that no result is ever overwritten or mixed with another.
//!
//! `intervals` in `result.json` has at most [`crate::MAX_INTERVALS`] rows. A longer run has neighbours added up
//! there (`interval_rows_merged`, counts only, no percentiles); `intervals.jsonl` has every row as it was.
//!
//! `plan.toml` may hold credentials, so only its owner can read it.

use crate::error::StoreError;
use crate::hlog::Hlog;
use crate::json::write_json;
use crate::keeper::{Log, Reserve, write_whole};
use crate::schema::{Interval, Lost, RunResult, SCHEMA, StoreStatus};
use crate::series::BoundedIntervals;
use crate::sink::{Sink, take_intervals};
use crate::wall;
use measure::IntervalRow;
use rustix::fs::{Access, PROC_SUPER_MAGIC, access, statfs};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

pub(crate) const INTERVALS: &str = "intervals.jsonl";
pub(crate) const HLOG: &str = "latency.hlog";
/// What was known of the run when it began: a result without figures.
pub const BEGUN: &str = "begun.json";
pub(crate) const RESULT: &str = "result.json";
pub(crate) const PLAN: &str = "plan.toml";
pub(crate) const ENVIRONMENT: &str = "environment.json";

/// A run folder that is being written.
pub struct RunFolder {
    path: PathBuf,
    name: String,
    started: SystemTime,
    rows: Log,
    histograms: Log,
    hlog: Hlog,
    reserve: Reserve,
    intervals: BoundedIntervals,
    kept: Vec<&'static str>,
    lost: Vec<Lost>,
}

impl RunFolder {
    /// Makes the folder: `out` itself, or a new one under the state folder. `now` is the run's start.
    pub fn create(out: Option<&Path>, engine: &str, now: SystemTime) -> Result<Self, StoreError> {
        match out {
            Some(path) => {
                let name = run_name(engine, now);
                let made = fs::create_dir_all(path);
                check_empty(path)?;
                made.map_err(|why| StoreError::Create { path: path.to_owned(), why })?;
                let folder = Self::in_folder(path.to_owned(), name, now);
                match folder.rows.creation_error() {
                    Some(why) => Err(StoreError::Create { path: path.to_owned(), why }),
                    None => Ok(folder),
                }
            }
            None => Self::create_under(&state_dir()?.join("tare/runs"), engine, now),
        }
    }

    /// Makes a new folder under `base`; its four last digits are others if the name is taken.
    fn create_under(base: &Path, engine: &str, now: SystemTime) -> Result<Self, StoreError> {
        let failed = |path: &Path, why| StoreError::Create { path: path.to_owned(), why };
        fs::create_dir_all(base).map_err(|why| failed(base, why))?;
        let first = tag(now);
        for attempt in 0..=u16::MAX {
            let tag = first.wrapping_add(attempt.wrapping_mul(0x9e37));
            let name = format!("{}-{engine}-{tag:04x}", wall::for_a_name(now));
            let path = base.join(&name);
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Self::in_folder(path, name, now)),
                Err(why) if why.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(why) => return Err(failed(&path, why)),
            }
        }
        Err(failed(base, io::Error::from(io::ErrorKind::AlreadyExists)))
    }

    fn in_folder(path: PathBuf, name: String, started: SystemTime) -> Self {
        let path = fs::canonicalize(&path).unwrap_or(path);
        let mut hlog = Hlog::new();
        let mut histograms = Log::create(&path.join(HLOG));
        histograms.append(&hlog.head(&name, started));
        let rows = Log::create(&path.join(INTERVALS));
        rows.hold();
        Self {
            rows,
            reserve: Reserve::take(&path),
            histograms,
            hlog,
            path,
            name,
            started,
            intervals: BoundedIntervals::default(),
            kept: Vec::new(),
            lost: Vec::new(),
        }
    }

    /// The run's name: `2026-11-20T12-00-00Z-http-7f3a`.
    pub fn name(&self) -> &str {
        &self.name
    }
    pub fn path(&self) -> &Path {
        &self.path
    }
    pub fn started(&self) -> SystemTime {
        self.started
    }

    fn note(&mut self, what: &'static str, outcome: Result<(), String>) {
        match outcome {
            Ok(()) => self.kept.push(what),
            Err(why) => self.lost.push(Lost { what: what.to_owned(), why }),
        }
    }

    fn status(&self) -> StoreStatus {
        StoreStatus {
            folder: self.path.display().to_string(),
            kept: self.kept.iter().map(|name| (*name).to_owned()).collect(),
            lost: self.lost.clone(),
        }
    }

    /// A log is kept if all its rows are, and if it is still where it was made.
    fn finish_log(&mut self, name: &'static str, finished: Result<(), String>) {
        let there = self.path.join(name).exists();
        let outcome = finished.and_then(|()| {
            if there { Ok(()) } else { Err("it was removed while the run wrote to it".to_owned()) }
        });
        self.note(name, outcome);
    }
}

impl Sink for RunFolder {
    fn begin(&mut self, result: &RunResult) {
        self.hlog.name_groups(&result.groups);
        let begun = RunResult {
            schema: SCHEMA.to_owned(),
            run: self.name.clone(),
            partial: true,
            environment: ENVIRONMENT.to_owned(),
            ..result.clone()
        };
        let written = write_whole(&self.path, BEGUN, false, |to| write_json(&begun, to));
        if let Err(why) = written {
            self.lost.push(Lost { what: BEGUN.to_owned(), why: why.to_string() });
        }
    }

    fn row(&mut self, row: &IntervalRow) {
        let interval = Interval::from(row);
        match serde_json::to_vec(&interval) {
            Ok(mut line) => {
                line.push(b'\n');
                self.rows.append(&line);
            }
            Err(why) => self.rows.lose(why.to_string()),
        }
        match self.hlog.interval(row) {
            Ok(lines) => self.histograms.append(&lines),
            Err(why) => self.histograms.lose(why),
        }
        self.intervals.push(interval);
    }

    fn end_rows(&mut self, result: &mut RunResult) {
        take_intervals(&mut self.intervals, result);
        let rows = self.rows.finish();
        self.finish_log(INTERVALS, rows);
        if self.kept.contains(&INTERVALS) {
            result.intervals_in = INTERVALS.to_owned();
        }
        let histograms = self.histograms.finish();
        self.finish_log(HLOG, histograms);
        self.reserve.release();
        result.run.clone_from(&self.name);
        if self.kept.contains(&ENVIRONMENT) {
            result.environment = ENVIRONMENT.to_owned();
        }
        result.store = self.status();
    }

    fn attach(&mut self, name: &'static str, contents: &[u8]) {
        let private = name == PLAN;
        let written = write_whole(&self.path, name, private, |to| to.write_all(contents));
        self.note(name, written.map_err(|why| why.to_string()));
    }

    fn save(&mut self, result: &mut RunResult) {
        // It may have been saved before.
        self.kept.retain(|name| *name != RESULT);
        self.lost.retain(|lost| lost.what != RESULT);
        self.kept.push(RESULT);
        result.store = self.status();
        let written = write_whole(&self.path, RESULT, false, |to| write_json(result, to));
        if let Err(why) = written {
            self.kept.pop();
            self.note(RESULT, Err(why.to_string()));
            result.store = self.status();
            return;
        }
        // What it said is in the result now.
        let _ = fs::remove_file(self.path.join(BEGUN));
    }

    fn place(&self) -> Option<String> {
        Some(self.path.display().to_string())
    }

    fn name(&self) -> Option<&str> {
        Some(&self.name)
    }

    /// A folder that has something else in it stays.
    fn discard(&mut self) {
        for name in [INTERVALS, HLOG, PLAN, ENVIRONMENT, BEGUN] {
            let _ = fs::remove_file(self.path.join(name));
        }
        let _ = fs::remove_dir(&self.path);
    }
}

/// Whether a run's results could be kept in this folder, which need not be there yet.
///
/// # Errors
/// It is not empty, or no folder.
pub fn check_folder(path: &Path) -> Result<(), StoreError> {
    match path.ancestors().find(|above| above.exists()) {
        Some(above) if above != path && !above.is_dir() => Err(StoreError::NotAFolder(above.to_owned())),
        above => check_empty(path).and_then(|()| check_access(path, above)),
    }
}

/// Folders and files are made in the nearest one that is there.
fn check_access(path: &Path, above: Option<&Path>) -> Result<(), StoreError> {
    let here = above.filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let create = |why| StoreError::Create { path: path.to_owned(), why };
    access(here, Access::WRITE_OK | Access::EXEC_OK).map_err(|error| create(error.into()))?;
    // There nobody can make anything, whatever its permissions say.
    let is_proc = statfs(here).is_ok_and(|found| found.f_type == PROC_SUPER_MAGIC);
    if is_proc { Err(create(Errno::NOENT.into())) } else { Ok(()) }
}

fn check_empty(path: &Path) -> Result<(), StoreError> {
    // What else may be wrong shows when files are made in it.
    match fs::read_dir(path).map(|mut entries| entries.next().is_some()) {
        Ok(true) => Err(StoreError::NotEmpty(path.to_owned())),
        Err(why) if why.kind() == io::ErrorKind::NotADirectory => {
            Err(StoreError::NotAFolder(path.to_owned()))
        }
        _ => Ok(()),
    }
}

/// A name for a run that has no folder: `2026-11-20T12-00-00Z-http-7f3a`.
pub fn run_name(engine: &str, started: SystemTime) -> String {
    format!("{}-{engine}-{:04x}", wall::for_a_name(started), tag(started))
}

/// Four hexadecimal digits that tell runs of the same second apart.
fn tag(now: SystemTime) -> u16 {
    let nanos = now.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.subsec_nanos());
    let mixed =
        (u64::from(nanos) ^ (u64::from(std::process::id()) << 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 48) as u16
}

/// `$XDG_STATE_HOME`, or `~/.local/state` (XDG base directory specification 0.8).
pub fn state_dir() -> Result<PathBuf, StoreError> {
    choose_state_dir(std::env::var_os("XDG_STATE_HOME"), std::env::var_os("HOME"))
}

fn choose_state_dir(xdg: Option<OsString>, home: Option<OsString>) -> Result<PathBuf, StoreError> {
    let absolute = |var: Option<OsString>| var.map(PathBuf::from).filter(|path| path.is_absolute());
    absolute(xdg)
        .or_else(|| absolute(home).map(|home| home.join(".local/state")))
        .ok_or(StoreError::NoStateDir)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn noon() -> SystemTime {
        // 2026-11-20T12:00:00Z, as `date -u -d @1795176000` says.
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_176_000)
    }

    #[test]
    fn names_say_when_and_what_and_never_collide() {
        let base = tempfile::tempdir().unwrap();
        let runs: Vec<RunFolder> =
            (0..50).map(|_| RunFolder::create_under(base.path(), "http", noon()).unwrap()).collect();
        let names: std::collections::HashSet<_> = runs.iter().map(|run| run.name().to_owned()).collect();
        assert_eq!(names.len(), 50);
        let name = runs[0].name();
        assert!(name.starts_with("2026-11-20T12-00-00Z-http-") && name.len() == 30, "{name}");
    }

    #[test]
    fn out_is_the_folder_itself_and_must_be_empty() {
        let base = tempfile::tempdir().unwrap();
        let out = base.path().join("a/b");
        let run = RunFolder::create(Some(&out), "http", noon()).unwrap();
        assert_eq!(run.path(), fs::canonicalize(&out).unwrap());
        let again = RunFolder::create(Some(&out), "http", noon()).err().unwrap();
        assert!(again.is_users() && again.to_string().contains("not empty"), "{again}");
        let file = base.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(RunFolder::create(Some(&file), "http", noon()).err().unwrap().is_users());
    }

    #[test]
    fn a_run_that_does_not_come_about_leaves_nothing() {
        let base = tempfile::tempdir().unwrap();
        let out = base.path().join("run");
        let mut run = RunFolder::create(Some(&out), "http", noon()).unwrap();
        run.attach(PLAN, b"rate = 1");
        run.begin(&RunResult::default());
        run.discard();
        assert!(!out.exists());
    }

    #[test]
    fn state_dir_follows_xdg() {
        let choose = |xdg: Option<&str>, home: Option<&str>| {
            choose_state_dir(xdg.map(OsString::from), home.map(OsString::from)).ok()
        };
        assert_eq!(choose(Some("/s"), Some("/h")), Some("/s".into()));
        assert_eq!(choose(None, Some("/h")), Some("/h/.local/state".into()));
        // "All paths set in these environment variables must be absolute."
        assert_eq!(choose(Some("s"), Some("/h")), Some("/h/.local/state".into()));
        assert_eq!(choose(Some(""), None), None);
    }
}
