//! What can be wrong with own addresses on a port.

use std::net::IpAddr;
use wire::ethernet::Mac;

/// Each message says what is wrong and what would be right.
#[derive(Debug, thiserror::Error)]
pub enum StationError {
    /// What was typed cannot be read.
    #[error("'{text}': {problem}; write {expected}")]
    Via { text: String, problem: String, expected: String },
    /// The port's part of it cannot be read.
    #[error(transparent)]
    Port(#[from] port::PortError),
    #[error(
        "{address} is in use: {mac} answers for it; choose unused addresses, or stop the host that uses this \
         one"
    )]
    Duplicate { address: IpAddr, mac: Mac },
    #[error("an MTU of {mtu} is more than the {most} of {port}; write mtu={most} or less")]
    LongMtu { mtu: usize, most: usize, port: String },
    #[error("an MTU of {mtu} on {port} is less than the {least} that {family} needs")]
    ShortMtu { mtu: usize, least: usize, port: String, family: &'static str },
    #[error(
        "{port} receives only frames to its interface's own MAC address, and that is not known; {advice}"
    )]
    NoMac { port: String, advice: &'static str },
}

impl StationError {
    /// What was typed is wrong, or cannot be had here.
    pub const fn is_users(&self) -> bool {
        match self {
            Self::Port(error) => error.is_users(),
            _ => true,
        }
    }
}
