//! User Datagram Protocol (RFC 768).
//!
//! ```text
//!  0      2           4      6        8
//! ┌──────┬───────────┬──────┬────────┬─────────┐
//! │source│destination│length│checksum│ payload │
//! └──────┴───────────┴──────┴────────┴─────────┘
//! ```

use crate::WireError;
use crate::bytes::{check, half, need, put_half};
use crate::checksum::{self, Pseudo};
use core::fmt;

const NAME: &str = "UDP";
/// Its number in IPv4's protocol and IPv6's next header.
pub const PROTOCOL: u8 = 17;

pub mod field {
    pub const SOURCE: usize = 0;
    pub const DESTINATION: usize = 2;
    pub const LENGTH: usize = 4;
    pub const CHECKSUM: usize = 6;
}

pub const LENGTH: usize = 8;

/// A datagram whose length is within the bytes.
#[derive(Clone, Copy, Debug)]
pub struct View<'a>(&'a [u8]);

impl<'a> View<'a> {
    /// # Errors
    /// `Short`; `Field` for a length below 8 or beyond the bytes.
    pub fn new(bytes: &'a [u8]) -> Result<Self, WireError> {
        need(NAME, bytes, LENGTH)?;
        let length = usize::from(half(bytes, field::LENGTH));
        check(length >= LENGTH, NAME, "length", length as u64, "at least 8")?;
        check(length <= bytes.len(), NAME, "length", length as u64, "at most the bytes that there are")?;
        Ok(Self(&bytes[..length]))
    }

    pub fn source(&self) -> u16 {
        half(self.0, field::SOURCE)
    }

    pub fn destination(&self) -> u16 {
        half(self.0, field::DESTINATION)
    }

    pub fn length(&self) -> u16 {
        half(self.0, field::LENGTH)
    }

    /// 0: there is none.
    pub fn checksum(&self) -> u16 {
        half(self.0, field::CHECKSUM)
    }

    pub fn payload(&self) -> &'a [u8] {
        &self.0[LENGTH..]
    }

    /// # Errors
    /// `Checksum`, with the one that would be right. One of 0 is right over IPv4 alone.
    pub fn verify(&self, pseudo: &Pseudo) -> Result<(), WireError> {
        if self.checksum() == 0 && matches!(pseudo, Pseudo::V4 { .. }) {
            return Ok(());
        }
        checksum::verify(NAME, self.0, field::CHECKSUM, pseudo.sum(PROTOCOL, self.0.len()))
    }
}

/// What the header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    pub source: u16,
    pub destination: u16,
    /// Whether it has a checksum.
    pub checksum: bool,
}

impl Repr {
    pub fn parse(view: &View<'_>) -> Self {
        Self { source: view.source(), destination: view.destination(), checksum: view.checksum() != 0 }
    }

    /// Writes the header in front of a payload that fills the rest of `room`.
    ///
    /// # Errors
    /// `Short`; `Field` if it is too long.
    pub fn emit(&self, room: &mut [u8], pseudo: &Pseudo) -> Result<(), WireError> {
        need(NAME, room, LENGTH)?;
        check(room.len() <= 65_535, NAME, "length", room.len() as u64, "at most 65535")?;
        put_half(room, field::SOURCE, self.source);
        put_half(room, field::DESTINATION, self.destination);
        put_half(room, field::LENGTH, room.len() as u16);
        put_half(room, field::CHECKSUM, 0);
        if self.checksum {
            let total = checksum::sum(room) + pseudo.sum(PROTOCOL, room.len());
            put_half(room, field::CHECKSUM, checksum::finish_udp(total));
        }
        Ok(())
    }
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UDP {} > {}", self.source, self.destination)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use core::net::Ipv4Addr;

    const PSEUDO: Pseudo =
        Pseudo::V4 { source: Ipv4Addr::new(198, 18, 0, 1), destination: Ipv4Addr::new(198, 18, 0, 2) };

    /// By hand: c612 + 0001 + c612 + 0002 + 0011 + 000a (pseudo) + 0400 + 0009 + 000a + 6869 = 1f8be → f8bf;
    /// ~f8bf = 0740.
    const BYTES: [u8; 10] = [0x04, 0x00, 0x00, 0x09, 0x00, 0x0a, 0x07, 0x40, b'h', b'i'];

    #[test]
    fn raw_bytes_are_read_and_written_back() {
        let view = View::new(&BYTES).unwrap();
        view.verify(&PSEUDO).unwrap();
        let repr = Repr::parse(&view);
        assert_eq!((repr.to_string(), view.payload()), ("UDP 1024 > 9".to_string(), &b"hi"[..]));
        let mut room = *b"........hi";
        repr.emit(&mut room, &PSEUDO).unwrap();
        assert_eq!(room, BYTES);
    }

    #[test]
    fn a_checksum_that_comes_out_as_0_is_written_as_ffff() {
        let repr = Repr { source: 1024, destination: 9, checksum: true };
        // As above, with a payload that makes the sum ffff: what is missing is 0740, on top of "hi" = 6869:
        // 6fa9.
        let mut room = [0, 0, 0, 0, 0, 0, 0, 0, 0x6f, 0xa9];
        repr.emit(&mut room, &PSEUDO).unwrap();
        assert_eq!(half(&room, field::CHECKSUM), 0xffff);
        View::new(&room).unwrap().verify(&PSEUDO).unwrap();
    }

    #[test]
    fn no_checksum_is_right_over_ipv4_only() {
        let mut room = [0; 10];
        Repr { source: 1, destination: 2, checksum: false }.emit(&mut room, &PSEUDO).unwrap();
        let view = View::new(&room).unwrap();
        assert_eq!(view.checksum(), 0);
        view.verify(&PSEUDO).unwrap();
        let over_ipv6 =
            Pseudo::V6 { source: "fd00::1".parse().unwrap(), destination: "fd00::2".parse().unwrap() };
        assert!(view.verify(&over_ipv6).is_err());
    }

    #[test]
    fn broken_lengths_are_named() {
        let mut bytes = BYTES;
        bytes[5] = 7;
        assert_eq!(View::new(&bytes).unwrap_err().to_string(), "UDP: length is 7; expected at least 8");
        bytes[5] = 11;
        assert!(View::new(&bytes).is_err());
        let repr = Repr { source: 1, destination: 2, checksum: true };
        assert!(repr.emit(&mut alloc::vec![0; 65_535], &PSEUDO).is_ok());
        assert!(repr.emit(&mut alloc::vec![0; 65_536], &PSEUDO).is_err());
    }
}
