//! Runs as they are named on a command line, opened: from their folders, or from Redis.
//!
//! ```text
//! 7f3a  last~1  ./out ── catalogue ──► folder ──┐
//! redis://HOST/RUN ─── sinks ──► scratch folder ┴─► store ──► StoredRun
//! ```

use crate::status::Failure;
use anyhow::anyhow;
use std::path::Path;
use store::StoredRun;
use tempfile::TempDir;

/// Folders of runs that came from Redis. A run reads its rows when they are asked for, so these stay as long as
/// it does.
#[derive(Default)]
pub struct Scratch(Vec<TempDir>);

impl Scratch {
    /// The run that was meant.
    pub fn open(&mut self, run: &str) -> Result<StoredRun, Failure> {
        if is_in_redis(run) {
            return self.fetch(run);
        }
        load(&catalogue::find(run).map_err(Failure::wrong)?)
    }

    /// The runs that were meant: several with commas between them, or a tag, which stands for all that have it.
    /// A comma within an address is written `%2C`.
    pub fn open_all(&mut self, runs: &str) -> Result<Vec<StoredRun>, Failure> {
        let mut words = runs.split(',').map(str::trim).filter(|run| !run.is_empty());
        if !words.clone().any(is_in_redis) {
            return found(runs);
        }
        words.try_fold(Vec::new(), |mut all, run| {
            match is_in_redis(run) {
                true => all.push(self.fetch(run)?),
                false => all.extend(found(run)?),
            }
            Ok(all)
        })
    }

    fn fetch(&mut self, run: &str) -> Result<StoredRun, Failure> {
        let folder = tempfile::tempdir().map_err(|why| {
            Failure::wrong(anyhow!("cannot make a folder for the run from Redis: {why}; set TMPDIR"))
        })?;
        sinks::fetch_redis(run, folder.path()).map_err(|why| {
            // A sink's words name the flag that names sinks.
            Failure::wrong(anyhow!("{}", why.to_string().trim_start_matches("--to ")))
        })?;
        let run = load(folder.path())?;
        self.0.push(folder);
        Ok(run)
    }
}

fn is_in_redis(run: &str) -> bool {
    run.starts_with("redis://") || run.starts_with("rediss://")
}

fn found(runs: &str) -> Result<Vec<StoredRun>, Failure> {
    let folders = catalogue::find_all(runs).map_err(Failure::wrong)?;
    folders.iter().map(|folder| load(folder)).collect()
}

fn load(folder: &Path) -> Result<StoredRun, Failure> {
    store::load_run(folder).map_err(Failure::wrong)
}
