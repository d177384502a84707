//! ICMP: echo (RFC 792; see [`crate::echo`]); all else is read as type, code and the rest.

use crate::WireError;
use crate::bytes::{check, half, need, put_half};
use crate::checksum;
use crate::echo::{Echo, Types};
use core::fmt;

pub use crate::echo::{LENGTH, field};

const NAME: &str = "ICMP";
/// Its number in IPv4's protocol.
pub const PROTOCOL: u8 = 1;
pub const ECHO_REPLY: u8 = 0;
pub const ECHO_REQUEST: u8 = 8;
const TYPES: Types = Types { request: ECHO_REQUEST, reply: ECHO_REPLY };

/// A message that has at least eight bytes.
#[derive(Clone, Copy, Debug)]
pub struct View<'a>(&'a [u8]);

impl<'a> View<'a> {
    /// # Errors
    /// `Short`.
    pub fn new(bytes: &'a [u8]) -> Result<Self, WireError> {
        need(NAME, bytes, LENGTH)?;
        Ok(Self(bytes))
    }

    pub fn kind(&self) -> u8 {
        self.0[field::KIND]
    }

    pub fn code(&self) -> u8 {
        self.0[field::CODE]
    }

    pub fn checksum(&self) -> u16 {
        half(self.0, field::CHECKSUM)
    }

    pub fn payload(&self) -> &'a [u8] {
        &self.0[LENGTH..]
    }

    /// # Errors
    /// `Checksum`, with the one that would be right.
    pub fn verify(&self) -> Result<(), WireError> {
        checksum::verify(NAME, self.0, field::CHECKSUM, 0)
    }
}

/// What a message says: an echo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr(pub Echo);

impl Repr {
    /// # Errors
    /// `Field` if it is no echo.
    pub fn parse(view: &View<'_>) -> Result<Self, WireError> {
        let (value, expected) = (view.kind().into(), "0 or 8 (echo)");
        let other = WireError::Field { protocol: NAME, field: "type", value, expected };
        let echo = Echo::read(view.0, TYPES).ok_or(other)?;
        check(view.code() == 0, NAME, "code", view.code(), "0")?;
        Ok(Self(echo))
    }

    /// Writes the header in front of a payload that fills the rest of `room`, with its checksum.
    ///
    /// # Errors
    /// `Short`, if there is no room.
    pub fn emit(&self, room: &mut [u8]) -> Result<(), WireError> {
        need(NAME, room, LENGTH)?;
        self.0.write(room, TYPES);
        put_half(room, field::CHECKSUM, 0);
        let checksum = checksum::finish(checksum::sum(room));
        put_half(room, field::CHECKSUM, checksum);
        Ok(())
    }
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ICMP {}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    /// By hand: 0800 + 0102 + 0304 + 6100 = 6d06; ~6d06 = 92f9.
    const REQUEST: [u8; 9] = [8, 0, 0x92, 0xf9, 1, 2, 3, 4, b'a'];

    #[test]
    fn raw_bytes_are_read_and_written_back() {
        let view = View::new(&REQUEST).unwrap();
        view.verify().unwrap();
        assert!(View::new(&[8, 0, 0x92, 0xf9, 1, 2, 3, 5]).unwrap().verify().is_err());
        assert_eq!((view.kind(), view.code(), view.checksum(), view.payload()), (8, 0, 0x92f9, &b"a"[..]));
        let repr = Repr::parse(&view).unwrap();
        assert_eq!(repr.to_string(), "ICMP echo request identifier 258 sequence 772");
        let mut room = *b"........a";
        repr.emit(&mut room).unwrap();
        assert_eq!(room, REQUEST);
    }

    #[test]
    fn other_messages_are_told_by_their_type() {
        let error = Repr::parse(&View::new(&[3, 1, 0, 0, 0, 0, 0, 0]).unwrap()).unwrap_err();
        assert_eq!(error.to_string(), "ICMP: type is 3; expected 0 or 8 (echo)");
        let error = Repr::parse(&View::new(&[8, 1, 0, 0, 0, 0, 0, 0]).unwrap()).unwrap_err();
        assert_eq!(error.to_string(), "ICMP: code is 1; expected 0");
    }
}
