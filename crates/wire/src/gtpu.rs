//! GTP-U (3GPP TS 29.281 §5.1), over UDP port 2152: user data of a tunnel.
//!
//! ```text
//!  0    1    2      4      8
//! ┌────┬────┬──────┬──────┬─────────┐
//! │0x30│0xff│length│tunnel│ payload │    length: behind the first 8 bytes; with E, S or PN set (0x07) four
//! └────┴────┴──────┴──────┴─────────┘    bytes more, and extension headers
//! ```

use crate::WireError;
use crate::bytes::{check, half, need, put_half, put_word, word};
use core::fmt;

const NAME: &str = "GTP-U";
/// Version 1, GTP and not GTP'.
const VERSION: u8 = 0x30;
/// User data (G-PDU).
const DATA: u8 = 0xff;
const OPTIONAL: u8 = 0x07;
/// Extension headers that are followed.
const EXTENSIONS: usize = 4;

pub const PORT: u16 = 2_152;
pub const LENGTH: usize = 8;

pub mod field {
    pub const LENGTH: usize = 2;
    pub const TUNNEL: usize = 4;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// The tunnel endpoint identifier.
    pub tunnel: u32,
}

impl Repr {
    /// What is said, and how long the header is with all that is optional.
    ///
    /// # Errors
    /// `Short`; `Field` for another version or another message.
    pub fn parse(bytes: &[u8]) -> Result<(Self, usize), WireError> {
        need(NAME, bytes, LENGTH)?;
        check(bytes[0] & 0xf0 == VERSION, NAME, "version", bytes[0], "0x30, version 1")?;
        check(bytes[1] == DATA, NAME, "message", bytes[1], "255, user data")?;
        let tunnel = word(bytes, field::TUNNEL);
        if bytes[0] & OPTIONAL == 0 {
            return Ok((Self { tunnel }, LENGTH));
        }
        let mut length = LENGTH + 4;
        need(NAME, bytes, length)?;
        let mut next = if bytes[0] & 4 == 0 { 0 } else { bytes[length - 1] };
        for _ in 0..EXTENSIONS {
            if next == 0 {
                break;
            }
            need(NAME, bytes, length + 4)?;
            let units = usize::from(bytes[length]);
            check(units > 0, NAME, "length of an extension", units as u64, "1 or more")?;
            length += units * 4;
            need(NAME, bytes, length)?;
            next = bytes[length - 1];
        }
        Ok((Self { tunnel }, length))
    }

    /// Writes the header in front of a payload that fills the rest of `room`.
    ///
    /// # Errors
    /// `Short`; `Field` for a payload that is too long.
    pub fn emit(&self, room: &mut [u8]) -> Result<(), WireError> {
        need(NAME, room, LENGTH)?;
        let length = room.len() - LENGTH;
        check(length <= usize::from(u16::MAX), NAME, "length", length as u64, "at most 65535")?;
        (room[0], room[1]) = (VERSION, DATA);
        put_half(room, field::LENGTH, length as u16);
        put_word(room, field::TUNNEL, self.tunnel);
        Ok(())
    }
}

/// The length that a header states.
pub fn stated(bytes: &[u8]) -> usize {
    bytes.get(..LENGTH).map_or(0, |head| usize::from(half(head, field::LENGTH)))
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GTP-U tunnel {}", self.tunnel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn raw_bytes_are_read_and_written_back() {
        let bytes = [0x30, 0xff, 0, 2, 0, 0, 0x12, 0x34, 0xee, 0xee];
        assert_eq!(Repr::parse(&bytes).unwrap(), (Repr { tunnel: 0x1234 }, 8));
        let mut room = [0xee; 10];
        Repr { tunnel: 0x1234 }.emit(&mut room).unwrap();
        assert_eq!((room, stated(&room)), (bytes, 2));
        assert_eq!(Repr { tunnel: 7 }.to_string(), "GTP-U tunnel 7");
        // A sequence number, and one extension of four bytes (a PDU session container).
        let long = [0x36, 0xff, 0, 10, 0, 0, 0, 1, 0, 5, 0, 0x85, 1, 0, 0, 0, 0x45, 0];
        assert_eq!(Repr::parse(&long).unwrap(), (Repr { tunnel: 1 }, 16));
        let two = [0x34, 0xff, 0, 12, 0, 0, 0, 1, 0, 0, 0, 0x85, 1, 0, 0, 0xc0, 1, 0, 0, 0];
        assert_eq!(Repr::parse(&two), Ok((Repr { tunnel: 1 }, 20)));
        // What would announce an extension counts only where there may be one, and an extension must be there.
        let sequence = [0x32, 0xff, 0, 4, 0, 0, 0, 1, 0, 5, 0, 0x85];
        assert_eq!(Repr::parse(&sequence), Ok((Repr { tunnel: 1 }, 12)));
        assert_eq!(
            Repr::parse(&long[..12]).unwrap_err().to_string(),
            "GTP-U header cut off: 12 bytes, 16 needed"
        );
        assert!(Repr::parse(&[0x30, 1, 0, 0, 0, 0, 0, 0]).is_err(), "an echo");
        assert!(
            Repr::parse(&[0x34, 0xff, 0, 4, 0, 0, 0, 1, 0, 0, 0, 0x85, 0, 0, 0, 0]).is_err(),
            "no length"
        );
    }
}
