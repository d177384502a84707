//! What frames look like: a base for each stream, and the fields that change from frame to frame.
//!
//! ```text
//! Spec (headers, sizes, fields that vary) ─ build ─► Template ─ write(n) ─► bytes
//!                                                    Stream: base bytes, shapes (one a length), variations
//! ```
//!
//! Frame n is a pure function of n (and of its times, if it is signed), so that threads that share a schedule
//! make the same frames as one.

mod build;
mod layers;
mod modulus;
mod places;
mod sizes;
mod spec;
mod spoil;
mod stream;
mod tunnels;
mod variation;
mod write;

#[cfg(test)]
mod tests;

pub use modulus::{Modulus, span_value, spread};
pub use spec::{
    By, Echo, Extension, Field, IMIX, Layer, Mac, Payload, Sizes, Spec, Spoiled, StreamSpec, Values, Vary,
};
pub use stream::{Selection, Shape, Stream, ValueSource, Variation};

use crate::WireError;
use alloc::vec::Vec;

/// Frames of one or several streams.
#[derive(Clone, Debug, Default)]
pub struct Template {
    /// Differs between templates of this process, so that none takes another's bytes in a room for its own.
    id: u32,
    streams: Vec<Stream>,
    turns: Turns,
    /// The number that signatures have for the first stream.
    first: u16,
}

/// The times that go into a signature, in nanoseconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    pub due_unix_ns: u64,
    pub sent_unix_ns: u64,
}

/// Which stream has which turn.
#[derive(Clone, Debug, Default)]
pub enum Turns {
    /// There is but one.
    #[default]
    Only,
    /// Stream n mod count, its frame n / count.
    Round(Modulus),
    /// Entry n mod length: (stream, rank): the stream's frame n / length · weight + rank.
    Pattern { entries: Vec<(u32, u32)>, modulus: Modulus, weights: Vec<u32> },
}

/// What to change in frames that were taken from elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    pub vary: Vec<Vary>,
    /// A frame that does not have a field stays as it is there; otherwise it is refused.
    pub may_lack: bool,
    pub sign: bool,
    pub seed: u64,
}

impl Template {
    /// Makes ready what `write` needs.
    ///
    /// # Errors
    /// Whatever in `spec` cannot be: the message names the field and what would be right.
    pub fn build(spec: &Spec) -> Result<Self, WireError> {
        build::from_spec(spec)
    }

    /// Frame n is `frames[n mod frames.len()]`, byte for byte.
    ///
    /// # Errors
    /// No frames, or one beyond the longest.
    pub fn from_frames(frames: Vec<Vec<u8>>) -> Result<Self, WireError> {
        Self::from_frames_with(frames, &Changes::default())
    }

    /// The same with fields that vary and a signature over the first bytes of the payload. A checksum that was
    /// wrong stays wrong.
    ///
    /// # Errors
    /// As `from_frames`, and a field that a frame does not have.
    pub fn from_frames_with(frames: Vec<Vec<u8>>, changes: &Changes) -> Result<Self, WireError> {
        build::from_frames(frames, changes)
    }

    /// The same frames, whose signatures count streams from `first` on: a receiver tells them from others'.
    #[must_use]
    pub const fn numbered_from(mut self, first: u16) -> Self {
        self.first = first;
        self
    }

    /// The numbers of its streams in signatures.
    pub fn numbers(&self) -> core::ops::Range<u16> {
        self.first..self.first.saturating_add(self.streams.len() as u16)
    }

    pub fn streams(&self) -> &[Stream] {
        &self.streams
    }

    pub const fn turns(&self) -> &Turns {
        &self.turns
    }

    /// Which stream frame `seq` is of, and its number in that stream.
    #[inline]
    pub fn locate(&self, seq: u64) -> (usize, u64) {
        match &self.turns {
            Turns::Only => (0, seq),
            Turns::Round(modulus) => {
                let (round, stream) = modulus.split(seq);
                (stream as usize, round)
            }
            Turns::Pattern { entries, modulus, weights } => {
                let (round, place) = modulus.split(seq);
                let (stream, rank) = entries[place as usize];
                (stream as usize, round * u64::from(weights[stream as usize]) + u64::from(rank))
            }
        }
    }

    /// Length in bytes (without FCS) of frame `seq`.
    #[inline]
    pub fn length(&self, seq: u64) -> usize {
        let (stream, i) = self.locate(seq);
        usize::from(self.streams[stream].shape(i).length)
    }

    /// Length in bytes (without FCS) of the longest frame.
    pub fn longest(&self) -> usize {
        self.streams.iter().map(|stream| stream.base.len()).max().unwrap_or(0)
    }

    /// Whether any frame carries a signature.
    pub fn is_signed(&self) -> bool {
        self.streams.iter().any(|stream| stream.signature.is_some())
    }
}
