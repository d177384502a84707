//! MPLS label stack entries (RFC 3032 §2.1, RFC 5462), behind ethertype 0x8847.
//!
//! ```text
//!  0          20    23 24      32 bits
//! ┌──────────┬─────┬─┬────────┬─────────┐
//! │  label   │class│S│  TTL   │ payload │    S: the last entry
//! └──────────┴─────┴─┴────────┴─────────┘
//! ```

use crate::WireError;
use crate::bytes::{check, need, put_word, word};
use core::fmt;

const NAME: &str = "MPLS";

pub const ETHERTYPE: u16 = 0x8847;
/// Bytes of an entry.
pub const LENGTH: usize = 4;

/// One entry of a label stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// 20 bits.
    pub label: u32,
    /// Traffic class, 0 to 7.
    pub class: u8,
    pub is_last: bool,
    pub ttl: u8,
}

impl Repr {
    /// # Errors
    /// `Short`.
    pub fn parse(bytes: &[u8]) -> Result<Self, WireError> {
        need(NAME, bytes, LENGTH)?;
        let entry = word(bytes, 0);
        Ok(Self {
            label: entry >> 12,
            class: (entry >> 9 & 7) as u8,
            is_last: entry & 0x100 != 0,
            ttl: entry as u8,
        })
    }

    /// # Errors
    /// `Short`; `Field` for a label or class that does not fit.
    pub fn emit(&self, room: &mut [u8]) -> Result<(), WireError> {
        need(NAME, room, LENGTH)?;
        check(self.label < 1 << 20, NAME, "label", self.label, "0 to 1048575")?;
        check(self.class < 8, NAME, "traffic class", self.class, "0 to 7")?;
        let (class, last) = (u32::from(self.class) << 9, u32::from(self.is_last) << 8);
        put_word(room, 0, self.label << 12 | class | last | u32::from(self.ttl));
        Ok(())
    }
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MPLS {} class {} ttl {}", self.label, self.class, self.ttl)?;
        f.write_str(if self.is_last { " last" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn raw_bytes_are_read_and_written_back() {
        // Label 100 = 0x00064, class 5 (101), last, TTL 64: 0x00064 · 2¹² + 101 1 · 2⁸ + 0x40.
        let bytes = [0x00, 0x06, 0x4b, 0x40];
        let repr = Repr::parse(&bytes).unwrap();
        assert_eq!(repr, Repr { label: 100, class: 5, is_last: true, ttl: 64 });
        let mut room = [0; 4];
        repr.emit(&mut room).unwrap();
        assert_eq!(room, bytes);
        assert_eq!(repr.to_string(), "MPLS 100 class 5 ttl 64 last");
        let largest = Repr { label: (1 << 20) - 1, class: 7, is_last: false, ttl: 1 };
        largest.emit(&mut room).unwrap();
        assert_eq!((room, Repr::parse(&room)), ([0xff, 0xff, 0xfe, 1], Ok(largest)));
        assert_eq!(largest.to_string(), "MPLS 1048575 class 7 ttl 1");
        assert!(Repr { class: 8, ..repr }.emit(&mut room).is_err());
        let large = Repr { label: 1 << 20, ..repr };
        assert_eq!(
            large.emit(&mut room).unwrap_err().to_string(),
            "MPLS: label is 1048576; expected 0 to 1048575"
        );
    }
}
