//! Transmission Control Protocol: the header (RFC 9293 §3.1).
//!
//! ```text
//!  0      2           4        8   12     13    14     16       18     20
//! ┌──────┬───────────┬────────┬───┬──────┬─────┬──────┬────────┬──────┬─────────┐
//! │source│destination│sequence│ack│offset│flags│window│checksum│urgent│options… │
//! └──────┴───────────┴────────┴───┴──────┴─────┴──────┴────────┴──────┴─────────┘
//! ```

use crate::WireError;
use crate::bytes::{check, half, need, put_half, put_word, word};
use crate::checksum::{self, Pseudo};
use alloc::vec::Vec;
use core::fmt;

const NAME: &str = "TCP";
/// Its number in IPv4's protocol and IPv6's next header.
pub const PROTOCOL: u8 = 6;

pub mod field {
    pub const SOURCE: usize = 0;
    pub const DESTINATION: usize = 2;
    pub const SEQUENCE: usize = 4;
    pub const ACKNOWLEDGMENT: usize = 8;
    pub const OFFSET: usize = 12;
    pub const FLAGS: usize = 13;
    pub const WINDOW: usize = 14;
    pub const CHECKSUM: usize = 16;
    pub const URGENT: usize = 18;
    pub const OPTIONS: usize = 20;
}

/// Bytes of a header without options.
pub const LENGTH: usize = 20;

/// Control bits.
pub mod flag {
    pub const FIN: u8 = 0x01;
    pub const SYN: u8 = 0x02;
    pub const RST: u8 = 0x04;
    pub const PSH: u8 = 0x08;
    pub const ACK: u8 = 0x10;
    pub const URG: u8 = 0x20;
    pub const ECE: u8 = 0x40;
    pub const CWR: u8 = 0x80;

    /// Letters as tcpdump and others write them, by bit.
    pub const LETTERS: [u8; 8] = *b"FSRPAUEC";
}

/// A segment whose header is within the bytes.
#[derive(Clone, Copy, Debug)]
pub struct View<'a>(&'a [u8]);

impl<'a> View<'a> {
    /// # Errors
    /// `Short`; `Field` for a data offset below 20 bytes.
    pub fn new(bytes: &'a [u8]) -> Result<Self, WireError> {
        need(NAME, bytes, LENGTH)?;
        let header = usize::from(bytes[field::OFFSET] >> 4) * 4;
        check(header >= LENGTH, NAME, "data offset", header as u64, "20 to 60 bytes")?;
        need(NAME, bytes, header)?;
        Ok(Self(bytes))
    }

    pub fn source(&self) -> u16 {
        half(self.0, field::SOURCE)
    }

    pub fn destination(&self) -> u16 {
        half(self.0, field::DESTINATION)
    }

    pub fn sequence(&self) -> u32 {
        word(self.0, field::SEQUENCE)
    }

    pub fn acknowledgment(&self) -> u32 {
        word(self.0, field::ACKNOWLEDGMENT)
    }

    pub fn header_length(&self) -> usize {
        usize::from(self.0[field::OFFSET] >> 4) * 4
    }

    pub fn flags(&self) -> u8 {
        self.0[field::FLAGS]
    }

    pub fn window(&self) -> u16 {
        half(self.0, field::WINDOW)
    }

    pub fn checksum(&self) -> u16 {
        half(self.0, field::CHECKSUM)
    }

    pub fn urgent(&self) -> u16 {
        half(self.0, field::URGENT)
    }

    pub fn options(&self) -> &'a [u8] {
        &self.0[LENGTH..self.header_length()]
    }

    pub fn payload(&self) -> &'a [u8] {
        &self.0[self.header_length()..]
    }

    /// # Errors
    /// `Checksum`, with the one that would be right.
    pub fn verify(&self, pseudo: &Pseudo) -> Result<(), WireError> {
        checksum::verify(NAME, self.0, field::CHECKSUM, pseudo.sum(PROTOCOL, self.0.len()))
    }
}

/// What the header says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repr {
    pub source: u16,
    pub destination: u16,
    pub sequence: u32,
    pub acknowledgment: u32,
    pub flags: u8,
    pub window: u16,
    pub urgent: u16,
    /// As on the wire, a multiple of four bytes.
    pub options: Vec<u8>,
}

impl Repr {
    pub fn parse(view: &View<'_>) -> Self {
        Self {
            source: view.source(),
            destination: view.destination(),
            sequence: view.sequence(),
            acknowledgment: view.acknowledgment(),
            flags: view.flags(),
            window: view.window(),
            urgent: view.urgent(),
            options: view.options().to_vec(),
        }
    }

    pub fn header_length(&self) -> usize {
        LENGTH + self.options.len()
    }

    /// Writes the header in front of a payload that fills the rest of `room`, with its checksum.
    ///
    /// # Errors
    /// `Short`; `Field` for options that do not fit.
    pub fn emit(&self, room: &mut [u8], pseudo: &Pseudo) -> Result<(), WireError> {
        let options = self.options.len();
        check(
            options <= 40 && options.is_multiple_of(4),
            NAME,
            "options' length",
            options as u64,
            "a multiple of 4, at most 40",
        )?;
        need(NAME, room, self.header_length())?;
        put_half(room, field::SOURCE, self.source);
        put_half(room, field::DESTINATION, self.destination);
        put_word(room, field::SEQUENCE, self.sequence);
        put_word(room, field::ACKNOWLEDGMENT, self.acknowledgment);
        room[field::OFFSET] = ((self.header_length() / 4) << 4) as u8;
        room[field::FLAGS] = self.flags;
        put_half(room, field::WINDOW, self.window);
        put_half(room, field::CHECKSUM, 0);
        put_half(room, field::URGENT, self.urgent);
        room[field::OPTIONS..self.header_length()].copy_from_slice(&self.options);
        let total = checksum::sum(room) + pseudo.sum(PROTOCOL, room.len());
        put_half(room, field::CHECKSUM, checksum::finish(total));
        Ok(())
    }
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TCP {} > {} [", self.source, self.destination)?;
        for (bit, letter) in flag::LETTERS.iter().enumerate() {
            if self.flags >> bit & 1 == 1 {
                write!(f, "{}", char::from(*letter))?;
            }
        }
        write!(f, "] seq {} ack {} window {}", self.sequence, self.acknowledgment, self.window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use core::net::Ipv4Addr;

    const PSEUDO: Pseudo =
        Pseudo::V4 { source: Ipv4Addr::new(198, 18, 0, 1), destination: Ipv4Addr::new(198, 18, 0, 2) };

    /// By hand: pseudo c612 + 0001 + c612 + 0002 + 0006 + 0018 = 18c45; header 0400 + 0050 + 0000 + 0001 + 0000
    /// + 0000 + 6002 + ffff + 0000 + 0204 + 05b4 = 16c0a; together 2f84f → f851; ~f851 = 07ae.
    const SYN: [u8; 24] = [
        0x04, 0x00, 0x00, 0x50, 0, 0, 0, 1, 0, 0, 0, 0, 0x60, 0x02, 0xff, 0xff, 0x07, 0xae, 0, 0, 0x02, 0x04,
        0x05, 0xb4,
    ];

    #[test]
    fn raw_bytes_are_read_and_written_back() {
        let view = View::new(&SYN).unwrap();
        view.verify(&PSEUDO).unwrap();
        let mut wrong = SYN;
        wrong[23] ^= 1;
        assert!(View::new(&wrong).unwrap().verify(&PSEUDO).is_err());
        let repr = Repr::parse(&view);
        assert_eq!(repr.to_string(), "TCP 1024 > 80 [S] seq 1 ack 0 window 65535");
        assert_eq!(view.options(), [2, 4, 5, 0xb4]);
        assert!(view.payload().is_empty());
        let mut room = [0xff; 24];
        repr.emit(&mut room, &PSEUDO).unwrap();
        assert_eq!(room, SYN);
    }

    #[test]
    fn each_field_is_read_where_it_was_written() {
        let repr = Repr {
            source: 0x0102,
            destination: 0x0304,
            sequence: 0x0506_0708,
            acknowledgment: 0x090a_0b0c,
            flags: flag::ACK | flag::URG | flag::CWR,
            window: 0x0d0e,
            urgent: 0x0f10,
            options: alloc::vec![1; 40],
        };
        let mut room = [7; 61];
        repr.emit(&mut room, &PSEUDO).unwrap();
        assert_eq!(room[..16], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0xf0, 0xb0, 13, 14]);
        let view = View::new(&room).unwrap();
        assert_eq!((Repr::parse(&view), view.payload()), (repr.clone(), &[7][..]));
        assert_eq!(view.checksum(), half(&room, field::CHECKSUM));
        assert!(repr.to_string().contains("[AUC]"));
        for wrong in [3, 44] {
            let wrong = Repr { options: alloc::vec![1; wrong], ..repr.clone() };
            assert!(wrong.emit(&mut [0; 80], &PSEUDO).is_err());
        }
    }

    #[test]
    fn a_data_offset_that_cannot_be_is_named() {
        let mut bytes = SYN;
        bytes[12] = 0x40;
        let error = View::new(&bytes).unwrap_err().to_string();
        assert_eq!(error, "TCP: data offset is 16; expected 20 to 60 bytes");
        bytes[12] = 0x70;
        assert_eq!(View::new(&bytes).unwrap_err().to_string(), "TCP header cut off: 24 bytes, 28 needed");
    }
}
