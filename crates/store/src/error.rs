//! Why a run could not be stored or read.

use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The user's mistake: nothing should be sent.
    #[error("the folder {} is not empty; name one that is empty or does not exist yet, so that no earlier result is lost", .0.display())]
    NotEmpty(PathBuf),
    /// The user's mistake, too.
    #[error("{} is a file; the run folder needs a folder", .0.display())]
    NotAFolder(PathBuf),
    /// And this.
    #[error("{}: the path is not UTF-8, so result.json cannot contain it; name another folder", .0.escape_ascii())]
    NotUtf8(Vec<u8>),
    #[error(
        "no place for run folders: neither XDG_STATE_HOME nor HOME is an absolute path; set one, or use --out DIR"
    )]
    NoStateDir,
    #[error("cannot write to the folder {}: {why}", path.display())]
    Create { path: PathBuf, why: io::Error },
    #[error("cannot read {}: {why}", path.display())]
    Read { path: PathBuf, why: io::Error },
    #[error("{} is not a run folder: it has neither result.json nor intervals.jsonl", .0.display())]
    NoResult(PathBuf),
    #[error("the run in {} is still running: wait until it ends, or press Ctrl-C once in its terminal", .0.display())]
    Running(PathBuf),
    /// The text of `why` has the line and the column.
    #[error("{} is damaged or no result of this program: {why}", path.display())]
    Format { path: PathBuf, why: serde_json::Error },
    #[error("{} has schema '{found}'{}; this is tare {}, which reads 'tare.result/1': use {}", path.display(), written_by(by), env!("CARGO_PKG_VERSION"), fitting(by))]
    Schema {
        path: PathBuf,
        found: String,
        /// Version of the program that wrote it; empty if it does not say.
        by: String,
    },
}

impl StoreError {
    /// Whether what was typed is wrong, so that the run must not start. Otherwise it may go on without a
    /// folder.
    pub const fn is_users(&self) -> bool {
        matches!(self, Self::NotEmpty(_) | Self::NotAFolder(_) | Self::NotUtf8(_))
    }
}

fn written_by(version: &str) -> String {
    if version.is_empty() { String::new() } else { format!(", written by tare {version}") }
}

fn fitting(version: &str) -> String {
    if version.is_empty() { "a newer version".to_owned() } else { format!("tare {version} or newer") }
}
