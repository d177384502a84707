//! A segment to send: what stands in its header, and which bytes of the request follow.

use crate::options::{MOST_OPTION_BYTES, Options};
use wire::tcp::{LENGTH, field};

/// One segment to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    pub seq: u32,
    pub ack: u32,
    /// Bits of [`wire::tcp::flag`].
    pub flags: u8,
    pub window: u16,
    pub options: Options,
    pub payload: Option<Payload>,
}

/// A range of the request, counted from its end, as that is what the record knows: the `len` bytes that start
/// `before_end` bytes before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload {
    pub before_end: u16,
    pub len: u16,
}

impl Payload {
    /// The bytes of this request; `None` if it is shorter than what was given to `send`.
    pub fn of<'a>(&self, request: &'a [u8]) -> Option<&'a [u8]> {
        let start = request.len().checked_sub(usize::from(self.before_end))?;
        request.get(start..start.checked_add(usize::from(self.len))?)
    }
}

/// Too little room for a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteError {
    pub needs: usize,
    pub has: usize,
}

impl core::fmt::Display for WriteError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "a TCP segment of {} bytes does not fit {} bytes", self.needs, self.has)
    }
}

impl core::error::Error for WriteError {}

impl Segment {
    /// Writes header, options and `payload` with a checksum of zero, and says how many bytes these are. The
    /// caller puts the checksum in: it knows the addresses.
    ///
    /// # Errors
    /// Too little room; nothing is written.
    pub fn write(
        &self,
        source: u16,
        destination: u16,
        payload: &[u8],
        room: &mut [u8],
    ) -> Result<usize, WriteError> {
        let mut options = [0; MOST_OPTION_BYTES];
        let count = self.options.write(&mut options);
        let header = LENGTH + count;
        let (needs, has) = (header + payload.len(), room.len());
        let room = room.get_mut(..needs).ok_or(WriteError { needs, has })?;
        let mut put = |at: usize, bytes: &[u8]| room[at..at + bytes.len()].copy_from_slice(bytes);
        put(field::SOURCE, &source.to_be_bytes());
        put(field::DESTINATION, &destination.to_be_bytes());
        put(field::SEQUENCE, &self.seq.to_be_bytes());
        put(field::ACKNOWLEDGMENT, &self.ack.to_be_bytes());
        put(field::OFFSET, &[((header / 4) << 4) as u8, self.flags]);
        put(field::WINDOW, &self.window.to_be_bytes());
        put(field::CHECKSUM, &[0; 4]);
        put(field::OPTIONS, &options[..count]);
        put(header, payload);
        Ok(needs)
    }
}

#[cfg(test)]
mod tests;
