//! What a folder says of the run in it.
//!
//! A folder holds a run if it has a `result.json` (finished), a `begun.json`, or a plan and intervals (running,
//! or ended by force). A run that is being written holds a lock on its `intervals.jsonl`, which the kernel
//! takes back however its program ends.

use crate::entry::{Entry, State};
use crate::error::CatalogueError;
use crate::tags;
use serde::Deserialize;
use std::fs::{self, TryLockError};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use store::schema::{Label, Rates, SCHEMA, Threshold, Totals, Verdict};
use store::{Distribution, RunResult, regular};

pub const RESULT: &str = "result.json";
pub const BEGUN: &str = "begun.json";
pub const PLAN: &str = "plan.toml";
pub const INTERVALS: &str = "intervals.jsonl";
/// Nothing that Tare writes comes near; what is larger is not its own.
const LARGEST_RESULT: u64 = 256 << 20;

/// Whether there is a run in it.
pub fn holds_run(folder: &Path) -> bool {
    let has = |name: &str| folder.join(name).is_file();
    has(RESULT) || has(BEGUN) || (has(PLAN) && has(INTERVALS))
}

/// Folders in `runs`, without those whose name begins with a dot. None if `runs` does not exist.
pub fn children(runs: &Path) -> Result<Vec<PathBuf>, CatalogueError> {
    let entries = match fs::read_dir(runs) {
        Ok(entries) => entries,
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(why) => return Err(CatalogueError::io("list", runs)(why)),
    };
    let visible = entries.flatten().filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b"."));
    Ok(visible.map(|entry| entry.path()).filter(|path| path.is_dir()).collect())
}

/// Whether a program is writing the run.
pub fn is_held(folder: &Path) -> bool {
    regular::open(&folder.join(INTERVALS))
        .is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// The entry of the run in `folder`; `None` if there is none. In the runs folder (`runs`) a run has the name of
/// its folder, whatever it was made as: it may be a copy. Elsewhere (`--out`) it has the name that it was given
/// when it was made.
pub fn read(folder: &Path, runs: &Path) -> Option<Entry> {
    if !holds_run(folder) {
        return None;
    }
    let mut entry = match folder.join(RESULT).exists() {
        true => finished(folder),
        false if is_held(folder) => Entry { state: State::Running, ..begun(folder) },
        false => killed(folder),
    };
    if entry.run.is_empty() || folder.parent() == Some(runs) {
        entry.name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    }
    if entry.started_at.is_empty() {
        entry.started_at = started_at(folder, &entry.name);
    }
    entry.begun_ns = begun_ns(folder);
    entry.folder = folder.to_owned();
    entry.tags = tags::of(folder).unwrap_or_default();
    Some(entry)
}

/// The keys of `result.json` that a list shows: reading only them, a thousand results take a moment.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Head {
    schema: String,
    engine: String,
    run: String,
    plan_hash: String,
    version: String,
    command: String,
    target: String,
    load: String,
    started_at: String,
    partial: bool,
    labels: Vec<Label>,
    verdict: Verdict,
    totals: Totals,
    rate: Rates,
    net_ns: Distribution,
    latency_ns: Distribution,
    thresholds: Vec<Threshold>,
}

impl Head {
    fn read(file: &Path) -> Result<Self, String> {
        let mut text = String::new();
        let opened = regular::open(file).map_err(|why| why.to_string())?;
        opened.take(LARGEST_RESULT).read_to_string(&mut text).map_err(|why| why.to_string())?;
        let head: Self = serde_json::from_str(&text).map_err(|why| why.to_string())?;
        match head.schema.as_str() {
            SCHEMA => Ok(head),
            other if !other.starts_with("tare.result/") => {
                Err(format!("no result of this program: it does not have the schema '{SCHEMA}'"))
            }
            other => Err(format!("its schema is '{other}'; this version reads '{SCHEMA}'")),
        }
    }

    fn of(result: RunResult) -> Self {
        Self {
            schema: result.schema,
            engine: result.engine,
            run: result.run,
            plan_hash: result.plan_hash,
            version: result.version,
            command: result.command,
            target: result.target,
            load: result.load,
            started_at: result.started_at,
            partial: result.partial,
            labels: result.labels,
            verdict: result.verdict,
            totals: result.totals,
            rate: result.rate,
            net_ns: result.net_ns,
            latency_ns: result.latency_ns,
            thresholds: result.thresholds,
        }
    }

    /// What is known from the beginning.
    fn entry(self) -> Entry {
        Entry {
            name: self.run.clone(),
            run: self.run,
            started_at: self.started_at,
            engine: self.engine,
            target: self.target,
            load: self.load,
            command: self.command,
            plan_hash: self.plan_hash,
            version: self.version,
            partial: self.partial,
            labels: self.labels,
            thresholds: self.thresholds.len(),
            thresholds_failed: self.thresholds.iter().filter(|threshold| !threshold.holds).count(),
            ..Entry::default()
        }
    }

    /// The same with the figures.
    fn entry_with_figures(self) -> Entry {
        let (verdict, totals, rate) = (self.verdict.word, self.totals, self.rate);
        let (net, latency) = (self.net_ns, self.latency_ns);
        let mut entry = Entry { verdict: Some(verdict), ..self.entry() };
        entry.take_figures(&totals, &rate);
        if !latency.says_nothing() {
            entry.latency_p50_ns = Some(latency.p50);
            entry.latency_p99_ns = Some(latency.p99);
            entry.p99_is_bound = latency.is_bound(0.99);
        }
        if !net.says_nothing() {
            entry.net_p50_ns = Some(net.p50);
            entry.net_p99_ns = Some(net.p99);
        }
        entry
    }
}

fn finished(folder: &Path) -> Entry {
    match Head::read(&folder.join(RESULT)) {
        Ok(head) => head.entry_with_figures(),
        Err(why) => Entry { state: State::Unreadable, trouble: format!("{RESULT}: {why}"), ..begun(folder) },
    }
}

/// What was written down when it began; little if that cannot be read.
fn begun(folder: &Path) -> Entry {
    Head::read(&folder.join(BEGUN)).map(Head::entry).unwrap_or_default()
}

/// From the intervals that it had written, where they can be read.
fn killed(folder: &Path) -> Entry {
    let entry = match store::load_run(folder) {
        Ok(run) => Head::of(run.result).entry_with_figures(),
        Err(_) => begun(folder),
    };
    Entry { state: State::Killed, partial: true, ..entry }
}

/// From the run's name, or when the folder was last written to.
fn started_at(folder: &Path, name: &str) -> String {
    if let Some(("", time)) = name.get(..20).and_then(named_time) {
        return time;
    }
    let modified = fs::metadata(folder).and_then(|folder| folder.modified());
    modified.map(store::rfc3339).unwrap_or_default()
}

/// 0 where there is no plan.
fn begun_ns(folder: &Path) -> u64 {
    let written = fs::metadata(folder.join(PLAN)).and_then(|plan| plan.modified()).ok();
    let since = written.and_then(|written| written.duration_since(std::time::UNIX_EPOCH).ok());
    since.map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

/// `2026-11-20T12-00-00Z` as `2026-11-20T12:00:00Z`, and what is left behind it.
fn named_time(name: &str) -> Option<(&str, String)> {
    const SHAPE: &[u8] = b"dddd-dd-ddTdd-dd-ddZ";
    let fits = name.len() >= SHAPE.len()
        && name.bytes().zip(SHAPE).all(|(byte, shape)| match shape {
            b'd' => byte.is_ascii_digit(),
            _ => byte == *shape,
        });
    let (time, rest) = fits.then(|| name.split_at(SHAPE.len()))?;
    let (date, clock) = time.split_at(10);
    Some((rest, format!("{date}{}", clock.replace('-', ":"))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    fn read_one(folder: &Path) -> Option<Entry> {
        read(folder, Path::new("/runs"))
    }

    #[test]
    fn a_name_says_when() {
        assert_eq!(named_time("2026-11-20T12-00-00Z").unwrap().1, "2026-11-20T12:00:00Z");
        assert!(named_time("2026-11-20T12-00-00").is_none() && named_time("calm").is_none());
    }

    #[test]
    fn only_folders_with_a_run_have_an_entry() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read_one(folder.path()), None);
        fs::write(folder.path().join(PLAN), "").unwrap();
        assert_eq!(read_one(folder.path()), None);
        fs::write(folder.path().join(INTERVALS), "").unwrap();
        assert_eq!(read_one(folder.path()).unwrap().state, State::Killed);
        let held = File::open(folder.path().join(INTERVALS)).unwrap();
        held.lock().unwrap();
        assert_eq!(read_one(folder.path()).unwrap().state, State::Running);
        held.unlock().unwrap();
        assert_eq!(read_one(folder.path()).unwrap().state, State::Killed);
        fs::write(folder.path().join(RESULT), "{").unwrap();
        let entry = read_one(folder.path()).unwrap();
        assert_eq!(entry.state, State::Unreadable);
        assert!(entry.trouble.contains("result.json: EOF"), "{}", entry.trouble);
    }

    #[test]
    fn what_is_no_result_says_so() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(RESULT), "[]").unwrap();
        let entry = read_one(folder.path()).unwrap();
        assert!(entry.trouble.contains("no result of this program"), "{}", entry.trouble);
    }

    #[test]
    fn a_newer_schema_is_named() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(RESULT), r#"{"schema":"tare.result/2"}"#).unwrap();
        let entry = read_one(folder.path()).unwrap();
        assert!(entry.trouble.contains("'tare.result/2'"), "{}", entry.trouble);
    }
}
