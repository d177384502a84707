//! What can go wrong.

#[derive(Debug, thiserror::Error)]
pub enum WeighError {
    /// What was asked for cannot be.
    #[error("{0}")]
    Wrong(String),
    #[error(transparent)]
    Port(#[from] port::PortError),
    #[error(transparent)]
    Bed(#[from] bed::BedError),
    #[error("{what}: {source}")]
    System { what: String, source: std::io::Error },
    #[error("cannot reach {url}")]
    Unreachable { url: String },
    /// What a trial printed instead of a result.
    #[error("a trial failed: {0}")]
    Trial(String),
    #[error("cannot read the result of a trial: {0}")]
    Result(serde_json::Error),
    #[error(transparent)]
    Target(#[from] bed::TargetError),
    #[error(transparent)]
    Store(#[from] store::StoreError),
    #[error(transparent)]
    Profile(#[from] profile::ProfileError),
}
