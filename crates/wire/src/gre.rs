//! GRE (RFC 2784), with a key where there is one (RFC 2890), over IP protocol 47.
//!
//! ```text
//!  0     2        4          8
//! ┌─────┬────────┬──────────┬─────────┐
//! │flags│protocol│  key, …  │ payload │    flags: C 0x8000, K 0x2000, S 0x1000: four bytes each
//! └─────┴────────┴──────────┴─────────┘
//! ```

use crate::WireError;
use crate::bytes::{check, half, need, put_half, put_word, word};
use core::fmt;

const NAME: &str = "GRE";
const CHECKSUM: u16 = 0x8000;
const KEY: u16 = 0x2000;
const SEQUENCE: u16 = 0x1000;
/// The version, and bits that RFC 2784 §2.3 wants to be zeros.
const ZEROS: u16 = 0x4c07;

pub const PROTOCOL: u8 = 47;
/// Frames of Ethernet as the payload (RFC 7637).
pub const ETHERNET: u16 = 0x6558;

/// A header without checksum and sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// The ethertype of the payload.
    pub protocol: u16,
    pub key: Option<u32>,
}

impl Repr {
    /// Bytes of the header.
    pub const fn length(&self) -> usize {
        if self.key.is_some() { 8 } else { 4 }
    }

    /// What is said, and how long the header is with all that is optional.
    ///
    /// # Errors
    /// `Short`; `Field` for another version.
    pub fn parse(bytes: &[u8]) -> Result<(Self, usize), WireError> {
        need(NAME, bytes, 4)?;
        let flags = half(bytes, 0);
        check(flags & ZEROS == 0, NAME, "flags", flags, "version 0, and no routing")?;
        let optional = |flag: u16| usize::from(flags & flag != 0) * 4;
        let key_at = 4 + optional(CHECKSUM);
        let length = key_at + optional(KEY) + optional(SEQUENCE);
        need(NAME, bytes, length)?;
        let key = (flags & KEY != 0).then(|| word(bytes, key_at));
        Ok((Self { protocol: half(bytes, 2), key }, length))
    }

    /// # Errors
    /// `Short`.
    pub fn emit(&self, room: &mut [u8]) -> Result<(), WireError> {
        need(NAME, room, self.length())?;
        put_half(room, 0, if self.key.is_some() { KEY } else { 0 });
        put_half(room, 2, self.protocol);
        if let Some(key) = self.key {
            put_word(room, 4, key);
        }
        Ok(())
    }
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GRE protocol {:#06x}", self.protocol)?;
        self.key.map_or(Ok(()), |key| write!(f, " key {key}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn raw_bytes_are_read_and_written_back() {
        let bytes = [0x20, 0, 0x08, 0, 0, 0, 0, 5];
        let (repr, length) = Repr::parse(&bytes).unwrap();
        assert_eq!((repr, length), (Repr { protocol: 0x0800, key: Some(5) }, 8));
        let mut room = [0xee; 8];
        repr.emit(&mut room).unwrap();
        assert_eq!(room, bytes);
        assert_eq!(repr.to_string(), "GRE protocol 0x0800 key 5");
        // With a checksum and a sequence number around the key.
        let all = [0xb0, 0, 0x86, 0xdd, 1, 2, 0, 0, 0, 0, 0, 9, 0, 0, 0, 1];
        assert_eq!(Repr::parse(&all).unwrap(), (Repr { protocol: 0x86dd, key: Some(9) }, 16));
        assert!(Repr::parse(&[0, 1, 8, 0]).is_err(), "version 1");
    }

    #[test]
    fn a_header_without_a_key_is_half_as_long() {
        let (plain, keyed) = (Repr { protocol: 0x0800, key: None }, Repr { protocol: 0x0800, key: Some(5) });
        assert_eq!((plain.length(), keyed.length()), (4, 8));
        assert_eq!(Repr::parse(&[0, 0, 8, 0]), Ok((plain, 4)));
        assert!(plain.emit(&mut [0; 3]).is_err() && keyed.emit(&mut [0; 7]).is_err());
    }
}
