//! Address resolution for IPv4 over Ethernet (RFC 826).
//!
//! ```text
//!  0  2    4 5 6  8          14        18         24        28
//! ┌──┬────┬─┬─┬──┬──────────┬─────────┬──────────┬─────────┐
//! │ 1│0800│6│4│op│sender MAC│sender IP│target MAC│target IP│
//! └──┴────┴─┴─┴──┴──────────┴─────────┴──────────┴─────────┘
//! ```

use crate::WireError;
use crate::bytes::{array, check, half, need, put_half};
use crate::ethernet::Mac;
use core::fmt;
use core::net::Ipv4Addr;

const NAME: &str = "ARP";

pub mod field {
    use core::ops::Range;
    pub const HARDWARE: usize = 0;
    pub const PROTOCOL: usize = 2;
    pub const LENGTHS: usize = 4;
    pub const OPERATION: usize = 6;
    pub const SENDER_MAC: Range<usize> = 8..14;
    pub const SENDER: Range<usize> = 14..18;
    pub const TARGET_MAC: Range<usize> = 18..24;
    pub const TARGET: Range<usize> = 24..28;
}

pub const LENGTH: usize = 28;

/// A message that is whole and of IPv4 over Ethernet.
#[derive(Clone, Copy, Debug)]
pub struct View<'a>(&'a [u8]);

impl<'a> View<'a> {
    /// # Errors
    /// `Short`; `Field` if it is about other addresses.
    pub fn new(bytes: &'a [u8]) -> Result<Self, WireError> {
        need(NAME, bytes, LENGTH)?;
        let hardware = half(bytes, field::HARDWARE);
        check(hardware == 1, NAME, "hardware type", hardware, "1 (Ethernet)")?;
        let protocol = half(bytes, field::PROTOCOL);
        check(protocol == 0x0800, NAME, "protocol type", protocol, "0x0800 (IPv4)")?;
        let lengths = half(bytes, field::LENGTHS);
        check(lengths == 0x0604, NAME, "address lengths", lengths, "6 and 4 (0x0604)")?;
        Ok(Self(bytes))
    }

    pub fn operation(&self) -> u16 {
        half(self.0, field::OPERATION)
    }

    pub fn sender_mac(&self) -> Mac {
        Mac(array(self.0, field::SENDER_MAC.start))
    }

    pub fn sender(&self) -> Ipv4Addr {
        Ipv4Addr::from(array::<4>(self.0, field::SENDER.start))
    }

    pub fn target_mac(&self) -> Mac {
        Mac(array(self.0, field::TARGET_MAC.start))
    }

    pub fn target(&self) -> Ipv4Addr {
        Ipv4Addr::from(array::<4>(self.0, field::TARGET.start))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Request,
    Reply,
}

/// What the message says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    pub operation: Operation,
    pub sender_mac: Mac,
    pub sender: Ipv4Addr,
    pub target_mac: Mac,
    pub target: Ipv4Addr,
}

impl Repr {
    /// # Errors
    /// `Field` for an operation other than request and reply.
    pub fn parse(view: &View<'_>) -> Result<Self, WireError> {
        let operation = match view.operation() {
            1 => Operation::Request,
            2 => Operation::Reply,
            other => {
                check(false, NAME, "operation", other, "1 (request) or 2 (reply)")?;
                Operation::Reply
            }
        };
        Ok(Self {
            operation,
            sender_mac: view.sender_mac(),
            sender: view.sender(),
            target_mac: view.target_mac(),
            target: view.target(),
        })
    }

    /// The answer to a request, from the owner of its target.
    pub const fn reply(&self, owner: Mac) -> Self {
        Self {
            operation: Operation::Reply,
            sender_mac: owner,
            sender: self.target,
            target_mac: self.sender_mac,
            target: self.sender,
        }
    }

    /// Writes the message.
    ///
    /// # Errors
    /// `Short`, if there is no room.
    pub fn emit(&self, room: &mut [u8]) -> Result<(), WireError> {
        need(NAME, room, LENGTH)?;
        put_half(room, field::HARDWARE, 1);
        put_half(room, field::PROTOCOL, 0x0800);
        put_half(room, field::LENGTHS, 0x0604);
        put_half(room, field::OPERATION, if self.operation == Operation::Request { 1 } else { 2 });
        room[field::SENDER_MAC].copy_from_slice(&self.sender_mac.0);
        room[field::SENDER].copy_from_slice(&self.sender.octets());
        room[field::TARGET_MAC].copy_from_slice(&self.target_mac.0);
        room[field::TARGET].copy_from_slice(&self.target.octets());
        Ok(())
    }
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.operation {
            Operation::Request => write!(f, "ARP who has {}, tell {}", self.target, self.sender),
            Operation::Reply => write!(f, "ARP {} is at {}", self.sender, self.sender_mac),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    /// Who has 198.18.0.2, tell 198.18.0.1 (02:…:01).
    const REQUEST: [u8; 28] =
        [0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 1, 198, 18, 0, 1, 0, 0, 0, 0, 0, 0, 198, 18, 0, 2];

    #[test]
    fn raw_bytes_are_read_and_written_back() {
        let repr = Repr::parse(&View::new(&REQUEST).unwrap()).unwrap();
        assert_eq!(repr.to_string(), "ARP who has 198.18.0.2, tell 198.18.0.1");
        let mut room = [0xff; 28];
        repr.emit(&mut room).unwrap();
        assert_eq!(room, REQUEST);
    }

    #[test]
    fn a_reply_goes_back_to_who_asked() {
        let request = Repr::parse(&View::new(&REQUEST).unwrap()).unwrap();
        let reply = request.reply(Mac([2, 0, 0, 0, 0, 2]));
        assert_eq!(reply.to_string(), "ARP 198.18.0.2 is at 02:00:00:00:00:02");
        assert_eq!((reply.target_mac, reply.target), (request.sender_mac, request.sender));
        let mut room = [0; LENGTH];
        reply.emit(&mut room).unwrap();
        assert_eq!(Repr::parse(&View::new(&room).unwrap()), Ok(reply));
    }

    #[test]
    fn other_addresses_and_operations_are_refused() {
        let mut bytes = REQUEST;
        bytes[1] = 6;
        assert!(View::new(&bytes).is_err());
        let mut bytes = REQUEST;
        bytes[7] = 3;
        let error = Repr::parse(&View::new(&bytes).unwrap()).unwrap_err().to_string();
        assert_eq!(error, "ARP: operation is 3; expected 1 (request) or 2 (reply)");
    }
}
