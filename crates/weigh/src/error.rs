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
}
