//! What can be wrong with bytes that should be a header, and with a specification of frames.

use alloc::string::String;
use thiserror::Error;

/// Each message says what is there and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WireError {
    /// Bytes that end before the header does.
    #[error("{protocol} header cut off: {has} bytes, {needs} needed")]
    Short { protocol: &'static str, has: usize, needs: usize },

    /// A field of a header that contradicts the rest.
    #[error("{protocol}: {field} is {value}; expected {expected}")]
    Field { protocol: &'static str, field: &'static str, value: u64, expected: &'static str },

    /// A checksum that is not that of the bytes.
    #[error("{protocol} checksum is {has:#06x}; the bytes give {right:#06x}")]
    Checksum { protocol: &'static str, has: u16, right: u16 },

    #[error("'{0}' is not a MAC address; expected six pairs of hexadecimal digits such as 02:00:00:00:00:01")]
    Mac(String),

    /// Headers that do not follow upon each other.
    #[error("{inner} cannot follow {outer}")]
    Order { outer: &'static str, inner: &'static str },

    /// A stack that is no frame.
    #[error("a frame needs {0}")]
    Stack(&'static str),

    /// A frame size that is none, or does not hold what the frame carries.
    #[error("frame size {size} is too small: {what} need at least {least} (with FCS)")]
    Small { size: usize, what: String, least: usize },

    #[error("frame size {size} is too large: at most {most} (with FCS)")]
    Large { size: usize, most: usize },

    /// A field that these frames do not have.
    #[error("{field} cannot vary: these frames have no {header} header")]
    NoField { field: &'static str, header: &'static str },

    /// Values that the field does not hold, or that cannot be made.
    #[error("{field}: {problem}")]
    Values { field: &'static str, problem: String },

    /// Not as many flows as asked for.
    #[error(
        "these fields make {possible} different flows, not {asked}: vary more of the addresses and ports, or \
         request fewer"
    )]
    Flows { asked: u64, possible: u64 },

    /// Frames that cannot be signed.
    #[error("{0} cannot be signed: there is no payload for the signature")]
    Unsigned(&'static str),

    /// A frame from elsewhere that cannot be sent, or not with these changes.
    #[error("frame {number}: {problem}")]
    Frame { number: usize, problem: String },

    /// There is nothing to send, or more than fits.
    #[error("{0}")]
    Streams(String),
}
