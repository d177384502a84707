//! VLAN tags: 802.1Q (0x8100) and, before another tag, 802.1ad (0x88a8).
//!
//! ```text
//!  0               2    4
//! ┌───┬─┬──────────┬────┬─────────┐
//! │pcp│d│identifier│type│ payload │    behind the tag's own ethertype
//! └───┴─┴──────────┴────┴─────────┘
//!  3   1 12 bits
//! ```

use crate::WireError;
use crate::bytes::{check, half, need, put_half};
use core::fmt;

const NAME: &str = "VLAN";

pub mod field {
    pub const CONTROL: usize = 0;
    pub const ETHERTYPE: usize = 2;
}

/// Bytes of a tag, from behind its ethertype to behind the next.
pub const LENGTH: usize = 4;

/// A tag that is whole.
#[derive(Clone, Copy, Debug)]
pub struct View<'a>(&'a [u8]);

impl<'a> View<'a> {
    /// # Errors
    /// `Short`.
    pub fn new(bytes: &'a [u8]) -> Result<Self, WireError> {
        need(NAME, bytes, LENGTH)?;
        Ok(Self(bytes))
    }

    pub fn identifier(&self) -> u16 {
        half(self.0, field::CONTROL) & 0x0fff
    }

    pub fn priority(&self) -> u8 {
        self.0[field::CONTROL] >> 5
    }

    pub fn is_drop_eligible(&self) -> bool {
        self.0[field::CONTROL] & 0x10 != 0
    }

    pub fn ethertype(&self) -> u16 {
        half(self.0, field::ETHERTYPE)
    }

    pub fn payload(&self) -> &'a [u8] {
        &self.0[LENGTH..]
    }
}

/// What the tag says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// 0 to 4095; 0 marks a priority alone.
    pub identifier: u16,
    /// 0 to 7.
    pub priority: u8,
    pub drop_eligible: bool,
    /// Of what follows.
    pub ethertype: u16,
}

impl Repr {
    pub fn parse(view: &View<'_>) -> Self {
        Self {
            identifier: view.identifier(),
            priority: view.priority(),
            drop_eligible: view.is_drop_eligible(),
            ethertype: view.ethertype(),
        }
    }

    /// Writes the tag.
    ///
    /// # Errors
    /// `Short`; `Field` for an identifier or priority that does not fit.
    pub fn emit(&self, room: &mut [u8]) -> Result<(), WireError> {
        need(NAME, room, LENGTH)?;
        check(self.identifier < 4096, NAME, "identifier", self.identifier, "0 to 4095")?;
        check(self.priority < 8, NAME, "priority", self.priority, "0 to 7")?;
        let control = u16::from(self.priority) << 13 | u16::from(self.drop_eligible) << 12 | self.identifier;
        put_half(room, field::CONTROL, control);
        put_half(room, field::ETHERTYPE, self.ethertype);
        Ok(())
    }
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VLAN {} priority {}", self.identifier, self.priority)?;
        f.write_str(if self.drop_eligible { " drop eligible" } else { "" })?;
        write!(f, " type {:#06x}", self.ethertype)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn raw_bytes_are_read_and_written_back() {
        // Priority 5 (101), drop eligible (1), identifier 0x064 = 100.
        let bytes = [0xb0, 0x64, 0x08, 0x00];
        let repr = Repr::parse(&View::new(&bytes).unwrap());
        assert_eq!(repr, Repr { identifier: 100, priority: 5, drop_eligible: true, ethertype: 0x0800 });
        let mut room = [0; 4];
        repr.emit(&mut room).unwrap();
        assert_eq!(room, bytes);
        assert_eq!(repr.to_string(), "VLAN 100 priority 5 drop eligible type 0x0800");
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let repr = Repr { identifier: 4096, priority: 0, drop_eligible: false, ethertype: 0 };
        assert_eq!(
            repr.emit(&mut [0; 4]).unwrap_err().to_string(),
            "VLAN: identifier is 4096; expected 0 to 4095"
        );
        let largest = Repr { identifier: 4095, priority: 7, drop_eligible: false, ethertype: 0 };
        let mut room = [0; 5];
        largest.emit(&mut room).unwrap();
        let view = View::new(&room).unwrap();
        assert_eq!((Repr::parse(&view), view.payload()), (largest, &[0][..]));
        let error = Repr { priority: 8, ..largest }.emit(&mut room).unwrap_err();
        assert_eq!(error.to_string(), "VLAN: priority is 8; expected 0 to 7");
    }
}
