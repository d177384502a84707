//! PPPoE sessions (RFC 2516 §4), behind ethertype 0x8864, with the protocol field of PPP (RFC 1661 §2).
//!
//! ```text
//!  0    1    2       4      6        8
//! ┌────┬────┬───────┬──────┬────────┬─────────┐
//! │0x11│code│session│length│protocol│ payload │    length: of protocol and payload
//! └────┴────┴───────┴──────┴────────┴─────────┘
//! ```

use crate::WireError;
use crate::bytes::{check, half, need, put_half};
use core::fmt;

const NAME: &str = "PPPoE";
const VERSION_AND_TYPE: u8 = 0x11;

pub const ETHERTYPE: u16 = 0x8864;
/// Protocols of PPP (RFC 1332, RFC 5072).
pub const IPV4: u16 = 0x0021;
pub const IPV6: u16 = 0x0057;

pub mod field {
    pub const SESSION: usize = 2;
    pub const LENGTH: usize = 4;
    pub const PROTOCOL: usize = 6;
}

/// Bytes in front of the payload of PPP.
pub const LENGTH: usize = 8;

/// Data of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    pub session: u16,
    /// Of PPP.
    pub protocol: u16,
}

impl Repr {
    /// # Errors
    /// `Short`; `Field` for what is no data of a session.
    pub fn parse(bytes: &[u8]) -> Result<Self, WireError> {
        need(NAME, bytes, LENGTH)?;
        check(bytes[0] == VERSION_AND_TYPE, NAME, "version and type", bytes[0], "0x11")?;
        check(bytes[1] == 0, NAME, "code", bytes[1], "0, data of a session")?;
        Ok(Self { session: half(bytes, field::SESSION), protocol: half(bytes, field::PROTOCOL) })
    }

    /// Writes the header in front of a payload that fills the rest of `room`.
    ///
    /// # Errors
    /// `Short`; `Field` for a payload that is too long.
    pub fn emit(&self, room: &mut [u8]) -> Result<(), WireError> {
        need(NAME, room, LENGTH)?;
        let length = room.len() - field::PROTOCOL;
        check(length <= usize::from(u16::MAX), NAME, "length", length as u64, "at most 65535")?;
        (room[0], room[1]) = (VERSION_AND_TYPE, 0);
        put_half(room, field::SESSION, self.session);
        put_half(room, field::LENGTH, length as u16);
        put_half(room, field::PROTOCOL, self.protocol);
        Ok(())
    }
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PPPoE session {} protocol {:#06x}", self.session, self.protocol)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn raw_bytes_are_read_and_written_back() {
        // Session 17, two bytes of protocol and one of payload.
        let bytes = [0x11, 0, 0, 17, 0, 3, 0, 0x21, 0xee];
        let repr = Repr::parse(&bytes).unwrap();
        assert_eq!(repr, Repr { session: 17, protocol: IPV4 });
        let mut room = [0xee; 9];
        repr.emit(&mut room).unwrap();
        assert_eq!(room, bytes);
        assert_eq!(repr.to_string(), "PPPoE session 17 protocol 0x0021");
        assert!(Repr::parse(&[0x11, 9, 0, 0, 0, 0, 0, 0]).is_err(), "discovery");
    }
}
