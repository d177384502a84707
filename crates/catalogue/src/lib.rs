//! The runs that were kept: found by name, tag or age, listed, tagged and removed.
//!
//! ```text
//! <state dir>/tare/runs/NAME/      the truth: one folder a run; its tags are in tags.json
//! <state dir>/tare/elsewhere.jsonl  where `--out` put runs, one folder a line
//! <state dir>/tare/index.sqlite     only a cache: updated on each call, rebuilt when it is missing or damaged
//!
//! folders ── signature changed? ──► Entry ──► index ──► list, find, tag, remove
//! ```
//!
//! Nothing is known of a run but what its folder says, so folders may be copied, moved or removed with any
//! tool. Any number of programs may work here at once: the index is written in transactions, tags under a lock
//! on the folder, and a run that is still being written is never removed.

#![forbid(unsafe_code)]

mod elsewhere;
mod entry;
mod error;
mod find;
mod folder;
#[cfg(feature = "sqlite")]
mod index;
#[cfg(not(feature = "sqlite"))]
mod no_index;
mod remove;
mod tags;

pub use entry::{Entry, State};
pub use error::CatalogueError;
pub use find::{Names, short_names};
pub use remove::Removed;
pub use tags::Tag;

#[cfg(feature = "sqlite")]
use index::Index;
#[cfg(not(feature = "sqlite"))]
use no_index::Index;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// All runs that this machine's user kept, as they were when it was opened; the newest first.
#[derive(Debug)]
pub struct Catalogue {
    /// `<state dir>/tare`.
    home: PathBuf,
    entries: Vec<Entry>,
}

impl Catalogue {
    /// Of the state folder that `XDG_STATE_HOME` or `HOME` names.
    pub fn open() -> Result<Self, CatalogueError> {
        Self::open_at(&store::state_dir()?.join("tare"))
    }

    /// Of `home`, which need not exist.
    pub fn open_at(home: &Path) -> Result<Self, CatalogueError> {
        let folders = folders(home)?;
        let mut entries = Index::open(home).bring_up_to_date(&folders, &home.join("runs"));
        let age = |entry: &Entry| (entry.started_at.clone(), entry.begun_ns, entry.name.clone());
        entries.sort_by_cached_key(|entry| std::cmp::Reverse(age(entry)));
        Ok(Self { home: home.to_owned(), entries })
    }

    /// The newest first.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// `<state dir>/tare/runs`.
    pub fn runs_folder(&self) -> PathBuf {
        self.home.join("runs")
    }

    /// Whether it lies where runs are kept unless `--out` says otherwise.
    pub fn is_in_runs_folder(&self, entry: &Entry) -> bool {
        entry.folder.parent() == Some(&self.runs_folder())
    }
}

/// The folder of a run: its name, a unique beginning or end of it, `last`, `last~1`, a tag, or a path.
pub fn find(run: &str) -> Result<PathBuf, CatalogueError> {
    match find::by_path(run)? {
        Some(folder) => Ok(folder),
        None => Catalogue::open()?.folder_of(run),
    }
}

/// The folders of several runs: names with commas between them, or tags (`before`, `tag:before`) for all
/// that have them, oldest first.
pub fn find_all(runs: &str) -> Result<Vec<PathBuf>, CatalogueError> {
    let catalogue = Catalogue::open()?;
    let mut found: Vec<PathBuf> = Vec::new();
    let is_tag = |run: &str| catalogue.entries().iter().any(|entry| entry.has_tag(run));
    for run in runs.split(',').map(str::trim).filter(|run| !run.is_empty()) {
        match run.strip_prefix("tag:").or(Some(run).filter(|run| is_tag(run))) {
            Some(tag) => found.extend(catalogue.tagged(tag)?.into_iter().map(|entry| entry.folder.clone())),
            None => found.push(catalogue.folder_of(run)?),
        }
    }
    if found.is_empty() {
        return Err(CatalogueError::NoName);
    }
    Ok(found)
}

/// Has a run that `--out` put outside of the runs folder listed with the others.
pub fn register(folder: &Path) -> Result<(), CatalogueError> {
    let home = store::state_dir()?.join("tare");
    elsewhere::add(&home, folder)
}

/// Every folder that may hold a run, each once.
fn folders(home: &Path) -> Result<Vec<PathBuf>, CatalogueError> {
    let runs = home.join("runs");
    let mut all = folder::children(&runs)?;
    let mut seen: HashSet<PathBuf> = all.iter().cloned().collect();
    all.extend(elsewhere::read(home).into_iter().filter(|folder| seen.insert(folder.clone())));
    Ok(all)
}

/// The tags of the run in `folder`, sorted.
pub fn tags(folder: &Path) -> Result<Vec<String>, CatalogueError> {
    tags::of(folder)
}

/// Changes the tags of the run in `folder`, and returns what it then has.
pub fn tag(folder: &Path, add: &[Tag], remove: &[Tag]) -> Result<Vec<String>, CatalogueError> {
    tags::change(folder, add, remove)
}
