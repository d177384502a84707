//! VXLAN (RFC 7348 §5), over UDP port 4789: a frame of Ethernet within a datagram.
//!
//! ```text
//!  0    1        4       7        8
//! ┌────┬────────┬───────┬────────┬────────────────┐
//! │0x08│reserved│network│reserved│ Ethernet frame │
//! └────┴────────┴───────┴────────┴────────────────┘
//! ```

use crate::WireError;
use crate::bytes::{check, need, put_word, word};
use core::fmt;

const NAME: &str = "VXLAN";
/// The network identifier is valid.
const VALID: u8 = 0x08;

pub const PORT: u16 = 4_789;
pub const LENGTH: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// 24 bits.
    pub network: u32,
}

impl Repr {
    /// # Errors
    /// `Short`; `Field` without a network identifier.
    pub fn parse(bytes: &[u8]) -> Result<Self, WireError> {
        need(NAME, bytes, LENGTH)?;
        check(bytes[0] & VALID != 0, NAME, "flags", bytes[0], "0x08, a network identifier")?;
        Ok(Self { network: word(bytes, 4) >> 8 })
    }

    /// # Errors
    /// `Short`; `Field` for an identifier that does not fit.
    pub fn emit(&self, room: &mut [u8]) -> Result<(), WireError> {
        need(NAME, room, LENGTH)?;
        check(self.network < 1 << 24, NAME, "network identifier", self.network, "0 to 16777215")?;
        put_word(room, 0, u32::from(VALID) << 24);
        put_word(room, 4, self.network << 8);
        Ok(())
    }
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VXLAN network {}", self.network)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn raw_bytes_are_read_and_written_back() {
        let bytes = [8, 0, 0, 0, 0x12, 0x34, 0x56, 0];
        let repr = Repr::parse(&bytes).unwrap();
        assert_eq!(repr, Repr { network: 0x12_3456 });
        let mut room = [0xee; 8];
        repr.emit(&mut room).unwrap();
        assert_eq!(room, bytes);
        assert_eq!(repr.to_string(), "VXLAN network 1193046");
        assert!(Repr::parse(&[0; 8]).is_err());
        assert!(Repr { network: 1 << 24 }.emit(&mut room).is_err());
    }
}
