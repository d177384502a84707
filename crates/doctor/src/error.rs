//! What can go wrong.

use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum DoctorError {
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: std::io::Error },
    #[error("{}: not a record of changed settings: {why}; move the file away, and check the settings in it \
             yourself", path.display())]
    NotARecord { path: PathBuf, why: String },
    #[error(
        "/{path} is not a kernel setting that doctor changes; only settings below /proc/sys and /sys are"
    )]
    NotASetting { path: String },
}
