//! Echo: what ICMP (RFC 792) and ICMPv6 (RFC 4443 §4) have in common, but for the numbers of its types.
//!
//! ```text
//!  0    1    2        4          6        8
//! ┌────┬────┬────────┬──────────┬────────┬─────────┐
//! │type│code│checksum│identifier│sequence│ payload │
//! └────┴────┴────────┴──────────┴────────┴─────────┘
//! ```

use crate::bytes::{half, put_half};
use core::fmt;

pub mod field {
    pub const KIND: usize = 0;
    pub const CODE: usize = 1;
    pub const CHECKSUM: usize = 2;
    pub const IDENTIFIER: usize = 4;
    pub const SEQUENCE: usize = 6;
}

/// Bytes in front of the payload.
pub const LENGTH: usize = 8;

/// What an echo says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo {
    pub request: bool,
    pub identifier: u16,
    pub sequence: u16,
}

/// The types that a protocol has for it.
#[derive(Clone, Copy)]
pub(crate) struct Types {
    pub request: u8,
    pub reply: u8,
}

impl Echo {
    /// `None` if these bytes, of which there are [`LENGTH`] or more, are of another type.
    pub(crate) fn read(bytes: &[u8], types: Types) -> Option<Self> {
        let kind = bytes[field::KIND];
        (kind == types.request || kind == types.reply).then(|| Self {
            request: kind == types.request,
            identifier: half(bytes, field::IDENTIFIER),
            sequence: half(bytes, field::SEQUENCE),
        })
    }

    /// Writes all but the checksum into `room`, which has [`LENGTH`] bytes or more.
    pub(crate) fn write(self, room: &mut [u8], types: Types) {
        room[field::KIND] = if self.request { types.request } else { types.reply };
        room[field::CODE] = 0;
        put_half(room, field::IDENTIFIER, self.identifier);
        put_half(room, field::SEQUENCE, self.sequence);
    }
}

impl fmt::Display for Echo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.request { "request" } else { "reply" };
        write!(f, "echo {what} identifier {} sequence {}", self.identifier, self.sequence)
    }
}
