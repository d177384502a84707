//! What can go wrong.

use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: std::io::Error },
    #[error("{}: not a profile of this program: {why}", path.display())]
    NotAProfile { path: PathBuf, why: String },
}
