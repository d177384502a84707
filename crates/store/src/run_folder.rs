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
//! The folder is held open: moved during the run, it goes on filling where it is, and whatever then has its
//! name is left alone.
//!
//! `plan.toml` may hold credentials, so only its owner can read it.

use crate::error::StoreError;
use crate::hlog::Hlog;
use crate::json::write_json;
use crate::keeper::{FileId, Log, Reserve, write_whole};
use crate::schema::{Interval, Lost, RunResult, SCHEMA, StoreStatus};
use crate::series::BoundedIntervals;
use crate::sink::{Sink, take_intervals};
use crate::wall;
use measure::IntervalRow;
use rustix::fs::{Access, AtFlags, PROC_SUPER_MAGIC, access, statfs, unlinkat};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

pub(crate) const INTERVALS: &str = "intervals.jsonl";
pub(crate) const HLOG: &str = "latency.hlog";
/// What was known of the run when it began: a result without figures.
pub const BEGUN: &str = "begun.json";
pub(crate) const RESULT: &str = "result.json";
pub(crate) const PLAN: &str = "plan.toml";
pub(crate) const ENVIRONMENT: &str = "environment.json";
pub(crate) const TAGS: &str = "tags.json";
/// Everything that a run may have in its folder.
pub const RUN_FILES: [&str; 9] =
    [RESULT, BEGUN, PLAN, ENVIRONMENT, INTERVALS, HLOG, "report.html", "samples.parquet", TAGS];

/// A run folder that is being written.
pub struct RunFolder {
    /// Where it was made.
    path: PathBuf,
    /// It itself, wherever it is.
    held: File,
    /// Somebody else made it.
    was_there: bool,
    name: String,
    started: SystemTime,
    rows: Log,
    histograms: Log,
    hlog: Hlog,
    reserve: Reserve,
    intervals: BoundedIntervals,
    kept: Vec<&'static str>,
    lost: Vec<Lost>,
    /// Documents that were written.
    written: Vec<(&'static str, FileId)>,
}

impl RunFolder {
    /// Makes the folder: `out` itself, or a new one under the state folder. `now` is the run's start.
    pub fn create(out: Option<&Path>, engine: &str, now: SystemTime) -> Result<Self, StoreError> {
        match out {
            Some(path) => {
                let name = run_name(engine, now);
                check_name(path)?;
                let was_there = path.is_dir();
                let made = fs::create_dir_all(path);
                check_empty(path)?;
                made.map_err(|why| StoreError::Create { path: path.to_owned(), why })?;
                let failed = |why| StoreError::Create { path: path.to_owned(), why };
                let mut folder = Self::in_folder(path.to_owned(), name, now).map_err(failed)?;
                folder.was_there = was_there;
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
        check_name(base)?;
        fs::create_dir_all(base).map_err(|why| failed(base, why))?;
        let first = tag(now);
        for attempt in 0..=u16::MAX {
            let tag = first.wrapping_add(attempt.wrapping_mul(0x9e37));
            let name = format!("{}-{engine}-{tag:04x}", wall::for_a_name(now));
            let path = base.join(&name);
            match fs::create_dir(&path) {
                Ok(()) => return Self::in_folder(path.clone(), name, now).map_err(|why| failed(&path, why)),
                Err(why) if why.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(why) => return Err(failed(&path, why)),
            }
        }
        Err(failed(base, io::Error::from(io::ErrorKind::AlreadyExists)))
    }

    fn in_folder(path: PathBuf, name: String, started: SystemTime) -> io::Result<Self> {
        let path = fs::canonicalize(&path).unwrap_or(path);
        let held = File::open(&path)?;
        let mut hlog = Hlog::new();
        let mut histograms = Log::create(&held, HLOG);
        histograms.append(&hlog.head(&name, started));
        let rows = Log::create(&held, INTERVALS);
        rows.hold();
        Ok(Self {
            rows,
            reserve: Reserve::take(&held),
            held,
            was_there: false,
            histograms,
            hlog,
            path,
            name,
            started,
            intervals: BoundedIntervals::default(),
            kept: Vec::new(),
            lost: Vec::new(),
            written: Vec::new(),
        })
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

    /// Writes a document that no other program has written.
    fn write(
        &mut self,
        name: &'static str,
        private: bool,
        write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let mine = self.written.iter().position(|(written, _)| *written == name);
        let mine = mine.map(|at| self.written.swap_remove(at).1);
        let written = write_whole(&self.held, name, private, mine, write);
        self.written.extend(written.as_ref().ok().copied().or(mine).map(|id| (name, id)));
        written.map(drop)
    }

    /// Whether it is the folder that has this name.
    fn is_at(&self, path: &Path) -> bool {
        FileId::of(&self.held).is_ok_and(|own| FileId::at(path).is_ok_and(|there| there == own))
    }

    /// Where it is by now, as far as that is known.
    fn whereabouts(&self) -> PathBuf {
        if self.is_at(&self.path) {
            return self.path.clone();
        }
        let now = fs::read_link(self.by_descriptor()).ok().filter(|now| self.is_at(now));
        now.unwrap_or_else(|| self.path.clone())
    }

    fn by_descriptor(&self) -> PathBuf {
        Path::new("/proc/self/fd").join(self.held.as_raw_fd().to_string())
    }

    fn status(&self) -> StoreStatus {
        StoreStatus {
            folder: self.whereabouts().display().to_string(),
            kept: self.kept.iter().map(|name| (*name).to_owned()).collect(),
            lost: self.lost.clone(),
        }
    }

    /// A log is kept if all its rows are, and if it is still where it was made.
    fn finish_log(&mut self, name: &'static str, finished: Result<(), String>) {
        let log = if name == HLOG { &self.histograms } else { &self.rows };
        let there = log.is_named(&self.held, name);
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
        let written = self.write(BEGUN, false, |to| write_json(&begun, to));
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
        let written = self.write(name, private, |to| to.write_all(contents));
        self.note(name, written.map_err(|why| why.to_string()));
    }

    fn save(&mut self, result: &mut RunResult) {
        // It may have been saved before.
        self.kept.retain(|name| *name != RESULT);
        self.lost.retain(|lost| lost.what != RESULT);
        self.kept.push(RESULT);
        result.store = self.status();
        let written = self.write(RESULT, false, |to| write_json(result, to)).map_err(|why| why.to_string());
        let written = written.and_then(|()| match self.is_at(&self.whereabouts()) {
            true => Ok(()),
            false => Err("its folder cannot be reached any more: it was unmounted or removed".to_owned()),
        });
        if let Err(why) = written {
            self.kept.pop();
            self.note(RESULT, Err(why));
            result.store = self.status();
            return;
        }
        // What it said is in the result now.
        let _ = unlinkat(&self.held, BEGUN, AtFlags::empty());
    }

    fn place(&self) -> Option<String> {
        Some(self.whereabouts().display().to_string())
    }

    fn anchor(&self) -> Option<PathBuf> {
        let held = self.by_descriptor();
        Some(if self.is_at(&held) { held } else { self.path.clone() })
    }

    fn name(&self) -> Option<&str> {
        Some(&self.name)
    }

    /// A folder that has something else in it stays.
    fn discard(&mut self) {
        for name in [INTERVALS, HLOG, PLAN, ENVIRONMENT, BEGUN, TAGS] {
            let _ = unlinkat(&self.held, name, AtFlags::empty());
        }
        let place = self.whereabouts();
        if self.is_at(&place) && !self.was_there {
            let _ = fs::remove_dir(place);
        }
    }
}

/// Whether a run's results could be kept in this folder, which need not be there yet.
///
/// # Errors
/// It is not empty, or no folder.
pub fn check_folder(path: &Path) -> Result<(), StoreError> {
    check_name(path)?;
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

/// A name that text cannot have would stand as another one in results and lists.
///
/// # Errors
/// The folder's path is not UTF-8.
pub fn check_name(path: &Path) -> Result<(), StoreError> {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let whole = fs::canonicalize(&whole).unwrap_or(whole);
    match whole.to_str() {
        Some(_) => Ok(()),
        None => Err(StoreError::NotUtf8(whole.into_os_string().into_vec())),
    }
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
    fn a_folder_that_is_moved_is_filled_where_it_is_and_what_takes_its_name_is_left_alone() {
        let base = tempfile::tempdir().unwrap();
        let (out, moved) = (base.path().join("run"), base.path().join("moved"));
        let mut run = RunFolder::create(Some(&out), "http", noon()).unwrap();
        run.begin(&RunResult::default());
        fs::rename(&out, &moved).unwrap();
        fs::create_dir(&out).unwrap();
        for name in [RESULT, PLAN, BEGUN, INTERVALS, "report.html"] {
            fs::write(out.join(name), "theirs").unwrap();
        }
        let mut result = RunResult::default();
        run.end_rows(&mut result);
        run.attach("report.html", b"ours");
        // Of others' files in the run's own folder none is overwritten either.
        fs::write(moved.join(PLAN), "theirs").unwrap();
        run.attach(PLAN, b"ours");
        run.save(&mut result);
        run.save(&mut result);
        for name in [RESULT, PLAN, BEGUN, INTERVALS, "report.html"] {
            assert_eq!(fs::read_to_string(out.join(name)).unwrap(), "theirs", "{name}");
        }
        assert_eq!(fs::read_to_string(moved.join("report.html")).unwrap(), "ours");
        assert_eq!(fs::read_to_string(moved.join(PLAN)).unwrap(), "theirs");
        let lost: Vec<&str> = result.store.lost.iter().map(|lost| lost.what.as_str()).collect();
        assert_eq!(lost, [PLAN], "{:?}", result.store);
        assert!(moved.join(RESULT).exists() && !moved.join(BEGUN).exists());
        assert_eq!(result.store.folder, fs::canonicalize(&moved).unwrap().display().to_string());
    }

    #[test]
    fn a_result_that_nobody_can_reach_is_told() {
        let base = tempfile::tempdir().unwrap();
        let mut run = RunFolder::create(Some(&base.path().join("run")), "http", noon()).unwrap();
        run.path = base.path().join("gone");
        fs::remove_dir_all(base.path().join("run")).unwrap();
        let mut result = RunResult::default();
        run.save(&mut result);
        assert_eq!(result.store.lost[0].what, RESULT, "{:?}", result.store);
    }

    #[test]
    fn a_name_that_is_not_utf_8_is_refused_before_anything_is_made() {
        let base = tempfile::tempdir().unwrap();
        let odd = base.path().join(OsString::from_vec(b"caf\xe9".to_vec()));
        for out in [odd.clone(), odd.join("run")] {
            let said = RunFolder::create(Some(&out), "http", noon()).err().unwrap();
            assert!(said.is_users() && said.to_string().contains("caf\\xe9"), "{said}");
            assert_eq!(check_folder(&out).unwrap_err().to_string(), said.to_string());
        }
        assert_eq!(fs::read_dir(base.path()).unwrap().count(), 0);
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
        // A folder that somebody else made stays, as it was.
        fs::create_dir(&out).unwrap();
        let mut run = RunFolder::create(Some(&out), "http", noon()).unwrap();
        fs::write(out.join(TAGS), "{}").unwrap();
        run.discard();
        assert_eq!(fs::read_dir(&out).unwrap().count(), 0);
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
