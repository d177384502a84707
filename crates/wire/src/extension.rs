//! Extension headers of IPv6 (RFC 8200 §4) that say nothing: options of padding, and a fragment that is the
//! whole packet (RFC 6946).
//!
//! ```text
//!  0    1    2                    8
//! ┌────┬────┬────────────────────┬──────
//! │next│ 0  │ PadN: 1, 4, 0 0 0 0│ …         fragment: next, 0, offset 0 and no more, identification
//! └────┴────┴────────────────────┴──────
//! ```

use crate::WireError;
use crate::bytes::need;

/// Bytes of each.
pub const LENGTH: usize = 8;

/// Which header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extension {
    HopByHop,
    Destination,
    Fragment,
}

impl Extension {
    /// The number by which the header before it announces it.
    pub const fn protocol(self) -> u8 {
        match self {
            Self::HopByHop => 0,
            Self::Destination => 60,
            Self::Fragment => 44,
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::HopByHop => "IPv6 hop-by-hop options",
            Self::Destination => "IPv6 destination options",
            Self::Fragment => "IPv6 fragment",
        }
    }

    /// # Errors
    /// `Short`.
    pub fn emit(self, next: u8, room: &mut [u8]) -> Result<(), WireError> {
        need(self.name(), room, LENGTH)?;
        room[..LENGTH].copy_from_slice(&match self {
            Self::HopByHop | Self::Destination => [next, 0, 1, 4, 0, 0, 0, 0],
            Self::Fragment => [next, 0, 0, 0, 0, 0, 0, 1],
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a_fragment_is_the_whole_and_options_are_padding() {
        let mut room = [0xee; 8];
        Extension::Fragment.emit(17, &mut room).unwrap();
        assert_eq!(room, [17, 0, 0, 0, 0, 0, 0, 1]);
        Extension::Destination.emit(6, &mut room).unwrap();
        assert_eq!(room, [6, 0, 1, 4, 0, 0, 0, 0]);
        let error = Extension::HopByHop.emit(6, &mut room[..7]).unwrap_err().to_string();
        assert_eq!(error, "IPv6 hop-by-hop options header cut off: 7 bytes, 8 needed");
    }

    #[test]
    fn each_is_announced_by_its_number() {
        let all = [Extension::HopByHop, Extension::Destination, Extension::Fragment];
        assert_eq!(all.map(Extension::protocol), [0, 60, 44]);
    }
}
