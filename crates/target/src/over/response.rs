//! The one response, as segments that are ready but for addresses and numbers.

use crate::answer::{Answer, Body, Pattern};
use crate::over::OverError;
use std::ops::Range;
use units::Bytes;
use wire::checksum;

/// Most segments of a response.
pub(crate) const MOST_PARTS: usize = 10;

/// A response in segments of at most `mss` bytes.
#[derive(Debug)]
pub(crate) struct Response {
    bytes: Vec<u8>,
    parts: Vec<Part>,
}

/// One segment's payload.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    range: Range<usize>,
    /// Of its 16-bit words.
    pub sum: u16,
    pub is_last: bool,
}

impl Response {
    /// # Errors
    /// `Size` if it would be more than [`MOST_PARTS`] segments.
    pub fn new(
        status: u16,
        size: Bytes,
        text: Option<&str>,
        close: bool,
        mss: usize,
    ) -> Result<Self, OverError> {
        let most = Bytes::new((mss * MOST_PARTS) as u64);
        if size > most {
            return Err(OverError::Size { size, most, segments: MOST_PARTS });
        }
        let answer = Answer { close, say_close: close, ..Answer::new(status, Body::Pattern(size.get())) };
        let mut bytes = Vec::new();
        answer.write_head(&mut bytes);
        let (pattern, mut sent) = (Pattern::new(text), 0);
        while sent < answer.written_length() {
            sent = answer.write_body(&pattern, sent, &mut bytes);
        }
        if bytes.len() > mss * MOST_PARTS {
            return Err(OverError::Size { size, most, segments: MOST_PARTS });
        }
        let last = (bytes.len() - 1) / mss;
        let part = |at: usize| {
            let range = at * mss..((at + 1) * mss).min(bytes.len());
            let sum = checksum::fold(checksum::sum(&bytes[range.clone()]));
            Part { range, sum, is_last: at == last }
        };
        let parts = (0..=last).map(part).collect();
        Ok(Self { bytes, parts })
    }

    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The payload of a part.
    #[inline]
    pub fn payload(&self, part: &Part) -> &[u8] {
        &self.bytes[part.range.clone()]
    }
}

impl Part {
    /// Where it begins in the response.
    #[inline]
    pub const fn offset(&self) -> u32 {
        self.range.start as u32
    }
}
