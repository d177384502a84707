//! What can go wrong with a burst.

use port::PortError;

/// A burst was used wrongly, or its port failed.
#[derive(Debug, thiserror::Error)]
pub enum BurstError {
    #[error(transparent)]
    Port(#[from] PortError),
    #[error("no burst is lent: lend one first")]
    NotLent,
    #[error("a burst is lent already: send it, or give it back first")]
    StillLent,
    #[error("no burst is held: it was released already, or never received")]
    NotHeld,
    #[error("the last burst that was received is still held: release it first")]
    StillHeld,
    #[error("cannot send frames {first} to {end}: only {lent} are lent")]
    Beyond { first: usize, end: usize, lent: usize },
    #[error("cannot send frames {first} to {end}: only {held} are held")]
    BeyondHeld { first: usize, end: usize, held: usize },
    #[error("frame {index} of the burst has {length} bytes, and at most {longest} may be sent")]
    TooLong { index: usize, length: usize, longest: usize },
    #[error("{what} is {value}: it must be {expected}")]
    Wrong { what: &'static str, value: u64, expected: &'static str },
}
