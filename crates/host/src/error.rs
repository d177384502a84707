//! What can go wrong.

use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum HostError {
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: std::io::Error },
    /// What was asked for cannot be.
    #[error("{0}")]
    Wrong(String),
    #[error(transparent)]
    Port(#[from] port::PortError),
    #[error(transparent)]
    Bed(#[from] bed::BedError),
    #[error("{what}: {source}")]
    System { what: String, source: std::io::Error },
    #[error("{}: not a profile of this program: {why}", path.display())]
    NotAProfile { path: PathBuf, why: String },
    #[error("{}: not a record of changed settings: {why}; move the file away, and check the settings in it \
             yourself", path.display())]
    NotARecord { path: PathBuf, why: String },
    #[error(
        "/{path} is not a kernel setting that doctor changes; only settings below /proc/sys and /sys are"
    )]
    NotASetting { path: String },
}
