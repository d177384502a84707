//! Ethernet II (IEEE 802.3 §3.1, type interpretation), without preamble and FCS.
//!
//! ```text
//!  0           6           12   14
//! ┌───────────┬───────────┬────┬─────────┐
//! │destination│  source   │type│ payload │
//! └───────────┴───────────┴────┴─────────┘
//! ```

use crate::WireError;
use crate::bytes::{array, half, need, put_half};
use core::fmt;

pub use crate::template::Mac;

const NAME: &str = "Ethernet";

pub mod field {
    use core::ops::Range;
    pub const DESTINATION: Range<usize> = 0..6;
    pub const SOURCE: Range<usize> = 6..12;
    pub const ETHERTYPE: usize = 12;
}

/// Bytes of the header.
pub const LENGTH: usize = 14;
/// The least frame, without FCS; shorter ones are padded.
pub const LEAST: usize = crate::LEAST_SIZE - crate::FCS;

/// A header that is whole.
#[derive(Clone, Copy, Debug)]
pub struct View<'a>(&'a [u8]);

impl<'a> View<'a> {
    /// # Errors
    /// `Short`.
    pub fn new(bytes: &'a [u8]) -> Result<Self, WireError> {
        need(NAME, bytes, LENGTH)?;
        Ok(Self(bytes))
    }

    pub fn destination(&self) -> Mac {
        Mac(array(self.0, field::DESTINATION.start))
    }

    pub fn source(&self) -> Mac {
        Mac(array(self.0, field::SOURCE.start))
    }

    pub fn ethertype(&self) -> u16 {
        half(self.0, field::ETHERTYPE)
    }

    pub fn payload(&self) -> &'a [u8] {
        &self.0[LENGTH..]
    }
}

/// What the header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    pub destination: Mac,
    pub source: Mac,
    pub ethertype: u16,
}

impl Repr {
    pub fn parse(view: &View<'_>) -> Self {
        Self { destination: view.destination(), source: view.source(), ethertype: view.ethertype() }
    }

    /// Writes the header.
    ///
    /// # Errors
    /// `Short`, if there is no room.
    pub fn emit(&self, room: &mut [u8]) -> Result<(), WireError> {
        need(NAME, room, LENGTH)?;
        room[field::DESTINATION].copy_from_slice(&self.destination.0);
        room[field::SOURCE].copy_from_slice(&self.source.0);
        put_half(room, field::ETHERTYPE, self.ethertype);
        Ok(())
    }
}

impl Mac {
    pub const BROADCAST: Self = Self([0xff; 6]);

    /// To a group, or to all.
    pub const fn is_multicast(self) -> bool {
        self.0[0] & 1 != 0
    }
}

/// `02:00:00:00:00:01`
impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// Six pairs of hexadecimal digits with ':' or '-' between.
impl core::str::FromStr for Mac {
    type Err = WireError;

    fn from_str(text: &str) -> Result<Self, WireError> {
        let wrong = || WireError::Mac(text.into());
        let mut mac = [0; 6];
        let mut parts = text.split([':', '-']);
        for byte in &mut mac {
            let part = parts.next().filter(|part| matches!(part.len(), 1 | 2)).ok_or_else(wrong)?;
            if !part.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                return Err(wrong());
            }
            *byte = u8::from_str_radix(part, 16).map_err(|_| wrong())?;
        }
        if parts.next().is_some() { Err(wrong()) } else { Ok(Self(mac)) }
    }
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ethernet {} > {} type {:#06x}", self.source, self.destination, self.ethertype)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    const BYTES: [u8; 16] = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x08, 0x06, 0xaa, 0xbb];

    #[test]
    fn raw_bytes_are_read_and_written_back() {
        let view = View::new(&BYTES).unwrap();
        let repr = Repr::parse(&view);
        assert_eq!(repr.destination, Mac([2, 0, 0, 0, 0, 2]));
        assert_eq!(repr.source, Mac([2, 0, 0, 0, 0, 1]));
        assert_eq!(repr.ethertype, 0x0806);
        assert_eq!(view.payload(), [0xaa, 0xbb]);
        let mut room = [0; 14];
        repr.emit(&mut room).unwrap();
        assert_eq!(room, BYTES[..14]);
        assert_eq!(repr.to_string(), "Ethernet 02:00:00:00:00:01 > 02:00:00:00:00:02 type 0x0806");
    }

    #[test]
    fn the_lowest_bit_of_the_first_byte_says_that_it_is_to_a_group() {
        let groups = [Mac::BROADCAST, Mac([1, 0, 0x5e, 0, 0, 1]), Mac([0x33, 0x33, 0, 0, 0, 1])];
        assert!(groups.iter().all(|mac| mac.is_multicast()));
        assert!(![Mac([2, 1, 1, 1, 1, 1]), Mac([0; 6])].iter().any(|mac| mac.is_multicast()));
    }

    #[test]
    fn a_header_that_is_cut_off_is_an_error_with_both_lengths() {
        let error = View::new(&BYTES[..13]).unwrap_err().to_string();
        assert_eq!(error, "Ethernet header cut off: 13 bytes, 14 needed");
    }

    #[test]
    fn a_mac_is_six_pairs_of_digits() {
        assert_eq!("02:00:5e:10:00:ff".parse(), Ok(Mac([2, 0, 0x5e, 0x10, 0, 0xff])));
        assert_eq!("2-0-0-0-0-1".parse(), Ok(Mac([2, 0, 0, 0, 0, 1])));
        for wrong in [
            "",
            "02:00:00:00:00",
            "02:00:00:00:00:01:02",
            "02:00:00:00:00:0g",
            "02:00:00:00:00:+1",
            "020000000001",
        ] {
            assert!(wrong.parse::<Mac>().is_err(), "{wrong}");
        }
    }
}
