//! Why a packet command could not be started.

use port::PortError;

#[derive(Debug, thiserror::Error)]
pub enum PacketError {
    #[error(transparent)]
    Port(#[from] PortError),
    /// What was asked for cannot be: the sentence says what would be right.
    #[error("{0}")]
    Wrong(String),
    /// Nobody answers where the load should go. Exit status 5.
    #[error("{0}")]
    Unreachable(String),
}
