//! Internet Protocol, version 4 (RFC 791).
//!
//! ```text
//!  0  1    2      4  6          8   9        10       12     16          20
//! ┌──┬────┬──────┬──┬──────────┬───┬────────┬────────┬──────┬───────────┬─────────┐
//! │45│tos │length│id│flags,frag│ttl│protocol│checksum│source│destination│options… │
//! └──┴────┴──────┴──┴──────────┴───┴────────┴────────┴──────┴───────────┴─────────┘
//! ```

use crate::WireError;
use crate::bytes::{array, check, half, need, put_half};
use crate::checksum::{self, Pseudo};
use alloc::vec::Vec;
use core::fmt;
use core::net::Ipv4Addr;

const NAME: &str = "IPv4";

pub mod field {
    use core::ops::Range;
    pub const VERSION: usize = 0;
    pub const SERVICE: usize = 1;
    pub const LENGTH: usize = 2;
    pub const IDENTIFICATION: usize = 4;
    pub const FRAGMENT: usize = 6;
    pub const TTL: usize = 8;
    pub const PROTOCOL: usize = 9;
    pub const CHECKSUM: usize = 10;
    pub const SOURCE: Range<usize> = 12..16;
    pub const DESTINATION: Range<usize> = 16..20;
    pub const OPTIONS: usize = 20;
}

/// Bytes of a header without options.
pub const LENGTH: usize = 20;
/// Most bytes of options.
pub const MOST_OPTIONS: usize = 40;

/// A header whose lengths are consistent with each other and with the bytes.
#[derive(Clone, Copy, Debug)]
pub struct View<'a>(&'a [u8]);

impl<'a> View<'a> {
    /// Bytes behind the total length are padding and left out.
    ///
    /// # Errors
    /// `Short`; `Field` for version, header length or total length.
    pub fn new(bytes: &'a [u8]) -> Result<Self, WireError> {
        need(NAME, bytes, LENGTH)?;
        let (version, header) = (bytes[0] >> 4, usize::from(bytes[0] & 0x0f) * 4);
        check(version == 4, NAME, "version", version, "4")?;
        check(header >= LENGTH, NAME, "header length", header as u64, "20 to 60 bytes")?;
        need(NAME, bytes, header)?;
        let total = usize::from(half(bytes, field::LENGTH));
        check(total >= header, NAME, "total length", total as u64, "at least the header's length")?;
        check(total <= bytes.len(), NAME, "total length", total as u64, "at most the bytes that there are")?;
        Ok(Self(&bytes[..total]))
    }

    pub fn header_length(&self) -> usize {
        usize::from(self.0[field::VERSION] & 0x0f) * 4
    }

    pub fn dscp(&self) -> u8 {
        self.0[field::SERVICE] >> 2
    }

    pub fn ecn(&self) -> u8 {
        self.0[field::SERVICE] & 3
    }

    pub fn total_length(&self) -> u16 {
        half(self.0, field::LENGTH)
    }

    pub fn identification(&self) -> u16 {
        half(self.0, field::IDENTIFICATION)
    }

    pub fn is_dont_fragment(&self) -> bool {
        self.0[field::FRAGMENT] & 0x40 != 0
    }

    pub fn is_more_fragments(&self) -> bool {
        self.0[field::FRAGMENT] & 0x20 != 0
    }

    /// In bytes.
    pub fn fragment_offset(&self) -> usize {
        usize::from(half(self.0, field::FRAGMENT) & 0x1fff) * 8
    }

    pub fn ttl(&self) -> u8 {
        self.0[field::TTL]
    }

    pub fn protocol(&self) -> u8 {
        self.0[field::PROTOCOL]
    }

    pub fn checksum(&self) -> u16 {
        half(self.0, field::CHECKSUM)
    }

    pub fn source(&self) -> Ipv4Addr {
        Ipv4Addr::from(array::<4>(self.0, field::SOURCE.start))
    }

    pub fn destination(&self) -> Ipv4Addr {
        Ipv4Addr::from(array::<4>(self.0, field::DESTINATION.start))
    }

    pub fn options(&self) -> &'a [u8] {
        &self.0[LENGTH..self.header_length()]
    }

    pub fn payload(&self) -> &'a [u8] {
        &self.0[self.header_length()..]
    }

    /// # Errors
    /// `Checksum`, with the one that would be right.
    pub fn verify(&self) -> Result<(), WireError> {
        checksum::verify(NAME, &self.0[..self.header_length()], field::CHECKSUM, 0)
    }

    pub fn pseudo(&self) -> Pseudo {
        Pseudo::V4 { source: self.source(), destination: self.destination() }
    }
}

/// What the header says; lengths and checksum follow from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repr {
    pub source: Ipv4Addr,
    pub destination: Ipv4Addr,
    pub dscp: u8,
    pub ecn: u8,
    pub identification: u16,
    pub dont_fragment: bool,
    pub more_fragments: bool,
    /// In bytes, a multiple of eight.
    pub fragment_offset: u16,
    pub ttl: u8,
    pub protocol: u8,
    /// As on the wire, a multiple of four bytes.
    pub options: Vec<u8>,
}

impl Repr {
    pub fn parse(view: &View<'_>) -> Self {
        Self {
            source: view.source(),
            destination: view.destination(),
            dscp: view.dscp(),
            ecn: view.ecn(),
            identification: view.identification(),
            dont_fragment: view.is_dont_fragment(),
            more_fragments: view.is_more_fragments(),
            fragment_offset: view.fragment_offset() as u16,
            ttl: view.ttl(),
            protocol: view.protocol(),
            options: view.options().to_vec(),
        }
    }

    pub fn header_length(&self) -> usize {
        LENGTH + self.options.len()
    }

    /// Writes the header in front of a payload that fills the rest of `room`, with its checksum.
    ///
    /// # Errors
    /// `Short`; `Field` for what does not fit.
    pub fn emit(&self, room: &mut [u8]) -> Result<(), WireError> {
        let options = self.options.len();
        check(
            options <= MOST_OPTIONS && options.is_multiple_of(4),
            NAME,
            "options' length",
            options as u64,
            "a multiple of 4, at most 40",
        )?;
        check(self.dscp < 64, NAME, "DSCP", self.dscp, "0 to 63")?;
        check(self.ecn < 4, NAME, "ECN", self.ecn, "0 to 3")?;
        let offset = self.fragment_offset;
        check(offset.is_multiple_of(8), NAME, "fragment offset", offset, "a multiple of 8")?;
        need(NAME, room, self.header_length())?;
        check(room.len() <= 65_535, NAME, "total length", room.len() as u64, "at most 65535")?;
        room[field::VERSION] = 0x40 | (self.header_length() / 4) as u8;
        room[field::SERVICE] = self.dscp << 2 | self.ecn;
        put_half(room, field::LENGTH, room.len() as u16);
        put_half(room, field::IDENTIFICATION, self.identification);
        let flags = u16::from(self.dont_fragment) << 14 | u16::from(self.more_fragments) << 13;
        put_half(room, field::FRAGMENT, flags | (offset / 8));
        room[field::TTL] = self.ttl;
        room[field::PROTOCOL] = self.protocol;
        put_half(room, field::CHECKSUM, 0);
        room[field::SOURCE].copy_from_slice(&self.source.octets());
        room[field::DESTINATION].copy_from_slice(&self.destination.octets());
        room[field::OPTIONS..self.header_length()].copy_from_slice(&self.options);
        let checksum = checksum::finish(checksum::sum(&room[..self.header_length()]));
        put_half(room, field::CHECKSUM, checksum);
        Ok(())
    }
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IPv4 {} > {} protocol {} ttl {}", self.source, self.destination, self.protocol, self.ttl)?;
        if self.more_fragments || self.fragment_offset != 0 {
            write!(f, " fragment at {}", self.fragment_offset)?;
        }
        if self.options.is_empty() { Ok(()) } else { write!(f, " options {} bytes", self.options.len()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    /// The header that Wikipedia's article on the IPv4 header checksum works through: its checksum is b861.
    const BYTES: [u8; 20] = [
        0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0xb8, 0x61, 0xc0, 0xa8, 0x00, 0x01, 0xc0,
        0xa8, 0x00, 0xc7,
    ];

    fn packet() -> Vec<u8> {
        let mut bytes = BYTES.to_vec();
        bytes.resize(0x73, 0);
        bytes
    }

    #[test]
    fn raw_bytes_are_read_and_written_back() {
        let bytes = packet();
        let view = View::new(&bytes).unwrap();
        view.verify().unwrap();
        let repr = Repr::parse(&view);
        assert_eq!(repr.to_string(), "IPv4 192.168.0.1 > 192.168.0.199 protocol 17 ttl 64");
        assert!(repr.dont_fragment && view.total_length() == 115 && view.payload().len() == 95);
        let mut room = alloc::vec![0; 0x73];
        repr.emit(&mut room).unwrap();
        assert_eq!(room[..20], BYTES);
    }

    #[test]
    fn each_field_has_bits_of_its_own() {
        let repr = Repr {
            source: Ipv4Addr::new(198, 18, 0, 1),
            destination: Ipv4Addr::new(198, 19, 0, 2),
            dscp: 0b10_1110,
            ecn: 0b01,
            identification: 0x1234,
            dont_fragment: false,
            more_fragments: true,
            fragment_offset: 8 * 0x155,
            ttl: 3,
            protocol: 17,
            options: Vec::new(),
        };
        let mut room = [0; 24];
        repr.emit(&mut room).unwrap();
        assert_eq!(room[..10], [0x45, 0xb9, 0, 24, 0x12, 0x34, 0x21, 0x55, 3, 17]);
        let view = View::new(&room).unwrap();
        assert_eq!(Repr::parse(&view), repr);
        assert_eq!((view.fragment_offset(), view.checksum()), (8 * 0x155, half(&room, field::CHECKSUM)));
        let text = "IPv4 198.18.0.1 > 198.19.0.2 protocol 17 ttl 3 fragment at 2728";
        assert_eq!(repr.to_string(), text);
        // What has the second half of a datagram is a fragment as well.
        let last = Repr { more_fragments: false, dont_fragment: true, ..repr };
        assert!(last.to_string().ends_with("fragment at 2728"));
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let good = Repr::parse(&View::new(&packet()).unwrap());
        let error = |change: fn(&mut Repr)| {
            let mut repr = good.clone();
            change(&mut repr);
            repr.emit(&mut [0; 80]).map_err(|error| error.to_string())
        };
        assert_eq!(error(|repr| (repr.dscp, repr.ecn) = (63, 3)), Ok(()));
        assert_eq!(error(|repr| repr.dscp = 64).unwrap_err(), "IPv4: DSCP is 64; expected 0 to 63");
        assert_eq!(error(|repr| repr.ecn = 4).unwrap_err(), "IPv4: ECN is 4; expected 0 to 3");
        assert_eq!(error(|repr| repr.options = alloc::vec![1; 40]), Ok(()));
        assert!(error(|repr| repr.options = alloc::vec![1; 44]).is_err());
        assert!(error(|repr| repr.options = alloc::vec![1; 3]).is_err());
        assert!(error(|repr| repr.fragment_offset = 4).is_err());
        assert!(good.emit(&mut alloc::vec![0; 65_535]).is_ok());
        assert!(good.emit(&mut alloc::vec![0; 65_536]).is_err());
    }

    #[test]
    fn options_are_carried_along() {
        let mut repr = Repr::parse(&View::new(&packet()).unwrap());
        repr.options = alloc::vec![0x94, 4, 0, 0]; // router alert (RFC 2113)
        let mut room = [0; 30];
        repr.emit(&mut room).unwrap();
        let view = View::new(&room).unwrap();
        view.verify().unwrap();
        assert_eq!((view.header_length(), view.options(), view.payload().len()), (24, &repr.options[..], 6));
        assert_eq!(Repr::parse(&view), repr);
    }

    #[test]
    fn padding_of_ethernet_is_no_payload() {
        let mut bytes = packet();
        bytes.extend([0xee; 7]);
        assert_eq!(View::new(&bytes).unwrap().payload().len(), 95);
    }

    #[test]
    fn each_broken_length_is_named() {
        let broken = |at: usize, value: u8| {
            let mut bytes = packet();
            bytes[at] = value;
            View::new(&bytes).unwrap_err().to_string()
        };
        assert_eq!(broken(0, 0x65), "IPv4: version is 6; expected 4");
        assert_eq!(broken(0, 0x44), "IPv4: header length is 16; expected 20 to 60 bytes");
        assert_eq!(broken(3, 19), "IPv4: total length is 19; expected at least the header's length");
        assert_eq!(broken(3, 0x74), "IPv4: total length is 116; expected at most the bytes that there are");
    }

    #[test]
    fn a_wrong_checksum_is_told_with_the_right_one() {
        let mut bytes = packet();
        bytes[10] = 0;
        let error = View::new(&bytes).unwrap().verify().unwrap_err().to_string();
        assert_eq!(error, "IPv4 checksum is 0x0061; the bytes give 0xb861");
    }
}
