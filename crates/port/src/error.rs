//! What can go wrong with a port, in words that say what to do.

use std::io;

/// Why something is as it is, in words: "the driver has no native XDP (EOPNOTSUPP)".
pub type Why = String;

/// A port could not be opened, or failed while it was used.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// The address cannot be read. Exit status 2.
    #[error("port '{address}': {problem}; write {expected}")]
    Address { address: String, problem: String, expected: String },
    #[error("there is no interface '{interface}'; {advice}")]
    NoInterface { interface: String, advice: String },
    /// The process lacks a capability: `CAP_NET_RAW`, `CAP_NET_ADMIN`, `CAP_BPF`.
    #[error("{what} needs {capability}: run as root, or give it to the program by 'setcap {capability}+ep'")]
    Privilege { what: String, capability: &'static str },
    /// The driver or the kernel cannot do what was asked for.
    #[error("{what} is not available: {why}")]
    Unavailable { what: String, why: Why },
    #[error("a frame of {length} bytes is longer than the {longest} that {port} accepts")]
    TooLong { port: String, length: usize, longest: usize },
    /// The interface went away while the port was open.
    #[error("the interface '{interface}' is gone")]
    Gone { interface: String },
    /// The link is down; the port may come back.
    #[error("the interface '{interface}' is down")]
    Down { interface: String },
    /// The device at the other end failed, or says that something is wrong.
    #[error("{port}: {problem}")]
    Device { port: String, problem: String },
    /// The module would not do what this says, and does not check it.
    #[error("register {0}")]
    Register(#[from] crate::fpga::rules::Refused),
    #[error("{port} cannot {what}")]
    Unable { port: String, what: &'static str },
    #[error("{file}: {problem}")]
    File { file: String, problem: String },
    /// A capture file ends within a frame; what came before it is good.
    #[error("{file} is cut off: {frames} whole frames were read, and a part of the next")]
    Truncated { file: String, frames: u64 },
    /// No frame will ever come again: the file is at its end, the other end of a pair is closed and all was
    /// read.
    #[error("{port} has no more frames")]
    Over { port: String },
    #[error("{what}: {error}")]
    System { what: String, error: io::Error },
}

impl PortError {
    /// What was typed is wrong, or cannot be had here: nothing was sent.
    pub const fn is_users(&self) -> bool {
        !matches!(
            self,
            Self::Gone { .. }
                | Self::Down { .. }
                | Self::Device { .. }
                | Self::Over { .. }
                | Self::System { .. }
        )
    }

    /// Whether it is no fault but the end of what there is to receive.
    pub const fn is_end(&self) -> bool {
        matches!(self, Self::Over { .. })
    }
}
