//! Internet Protocol, version 6 (RFC 8200).
//!
//! ```text
//!  0                   4      6    7   8        24            40
//! ┌─┬─────────┬───────┬──────┬────┬───┬────────┬─────────────┬─────────┐
//! │6│ traffic │ flow  │length│next│hop│ source │ destination │ payload │
//! └─┴─────────┴───────┴──────┴────┴───┴────────┴─────────────┴─────────┘
//!  4  8 bits   20 bits
//! ```

use crate::WireError;
use crate::bytes::{array, check, half, need, put_half, put_word, word};
use crate::checksum::Pseudo;
use core::fmt;
use core::net::Ipv6Addr;

const NAME: &str = "IPv6";

pub mod field {
    use core::ops::Range;
    pub const FLOW: usize = 0;
    pub const LENGTH: usize = 4;
    pub const NEXT: usize = 6;
    pub const HOPS: usize = 7;
    pub const SOURCE: Range<usize> = 8..24;
    pub const DESTINATION: Range<usize> = 24..40;
}

pub const LENGTH: usize = 40;

/// A header whose payload length is within the bytes.
#[derive(Clone, Copy, Debug)]
pub struct View<'a>(&'a [u8]);

impl<'a> View<'a> {
    /// Bytes behind the payload length are padding and left out.
    ///
    /// # Errors
    /// `Short`; `Field` for version or payload length.
    pub fn new(bytes: &'a [u8]) -> Result<Self, WireError> {
        need(NAME, bytes, LENGTH)?;
        let version = bytes[0] >> 4;
        check(version == 6, NAME, "version", version, "6")?;
        let end = LENGTH + usize::from(half(bytes, field::LENGTH));
        let said = (end - LENGTH) as u64;
        check(end <= bytes.len(), NAME, "payload length", said, "at most the bytes that there are")?;
        Ok(Self(&bytes[..end]))
    }

    pub fn traffic_class(&self) -> u8 {
        (word(self.0, field::FLOW) >> 20) as u8
    }

    pub fn flow_label(&self) -> u32 {
        word(self.0, field::FLOW) & 0x000f_ffff
    }

    pub fn payload_length(&self) -> u16 {
        half(self.0, field::LENGTH)
    }

    pub fn next_header(&self) -> u8 {
        self.0[field::NEXT]
    }

    pub fn hop_limit(&self) -> u8 {
        self.0[field::HOPS]
    }

    pub fn source(&self) -> Ipv6Addr {
        Ipv6Addr::from(array::<16>(self.0, field::SOURCE.start))
    }

    pub fn destination(&self) -> Ipv6Addr {
        Ipv6Addr::from(array::<16>(self.0, field::DESTINATION.start))
    }

    /// With extension headers, if there are any.
    pub fn payload(&self) -> &'a [u8] {
        &self.0[LENGTH..]
    }

    pub fn pseudo(&self) -> Pseudo {
        Pseudo::V6 { source: self.source(), destination: self.destination() }
    }
}

/// What the header says; the length follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    pub source: Ipv6Addr,
    pub destination: Ipv6Addr,
    pub traffic_class: u8,
    /// 20 bits.
    pub flow_label: u32,
    pub hop_limit: u8,
    pub next_header: u8,
}

impl Repr {
    pub fn parse(view: &View<'_>) -> Self {
        Self {
            source: view.source(),
            destination: view.destination(),
            traffic_class: view.traffic_class(),
            flow_label: view.flow_label(),
            hop_limit: view.hop_limit(),
            next_header: view.next_header(),
        }
    }

    /// Writes the header in front of a payload that fills the rest of `room`.
    ///
    /// # Errors
    /// `Short`; `Field` for what does not fit.
    pub fn emit(&self, room: &mut [u8]) -> Result<(), WireError> {
        need(NAME, room, LENGTH)?;
        let payload = room.len() - LENGTH;
        check(payload <= 65_535, NAME, "payload length", payload as u64, "at most 65535")?;
        check(self.flow_label < 1 << 20, NAME, "flow label", self.flow_label, "0 to 0xfffff")?;
        put_word(room, field::FLOW, 6 << 28 | u32::from(self.traffic_class) << 20 | self.flow_label);
        put_half(room, field::LENGTH, payload as u16);
        room[field::NEXT] = self.next_header;
        room[field::HOPS] = self.hop_limit;
        room[field::SOURCE].copy_from_slice(&self.source.octets());
        room[field::DESTINATION].copy_from_slice(&self.destination.octets());
        Ok(())
    }
}

/// The group on which the owner of `address` is asked for (RFC 4291 §2.7.1), and its Ethernet address (RFC 2464
/// §7).
pub fn solicited_node(address: Ipv6Addr) -> (Ipv6Addr, crate::ethernet::Mac) {
    let [.., a, b, c] = address.octets();
    let mut group = [0; 16];
    group[..2].copy_from_slice(&[0xff, 0x02]);
    group[11..].copy_from_slice(&[0x01, 0xff, a, b, c]);
    (Ipv6Addr::from(group), crate::ethernet::Mac([0x33, 0x33, 0xff, a, b, c]))
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source, destination, next_header, hop_limit, .. } = self;
        write!(f, "IPv6 {source} > {destination} next header {next_header} hop limit {hop_limit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    /// fd00::1 to fd00::2, class 0xb8 (EF), flow 0x12345, UDP, 4 bytes of payload.
    const BYTES: [u8; 44] = [
        0x6b, 0x81, 0x23, 0x45, 0, 4, 17, 64, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xfd, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 9, 9, 9, 9,
    ];

    #[test]
    fn raw_bytes_are_read_and_written_back() {
        let view = View::new(&BYTES).unwrap();
        let repr = Repr::parse(&view);
        assert_eq!((repr.traffic_class, repr.flow_label), (0xb8, 0x12345));
        assert_eq!((view.payload(), view.payload_length()), (&[9; 4][..], 4));
        assert_eq!(repr.to_string(), "IPv6 fd00::1 > fd00::2 next header 17 hop limit 64");
        let mut room = [9; 44];
        repr.emit(&mut room).unwrap();
        assert_eq!(room, BYTES);
        assert!(Repr { flow_label: 0xf_ffff, ..repr }.emit(&mut room).is_ok());
        assert!(Repr { flow_label: 0x10_0000, ..repr }.emit(&mut room).is_err());
    }

    #[test]
    fn broken_fields_are_named() {
        let mut bytes = BYTES;
        bytes[0] = 0x45;
        assert_eq!(View::new(&bytes).unwrap_err().to_string(), "IPv6: version is 4; expected 6");
        assert!(View::new(&BYTES[..43]).is_err(), "shorter than it says");
    }

    #[test]
    fn a_neighbour_is_asked_for_on_its_group() {
        // RFC 4291 §2.7.1: 4037::01:800:200E:8C6C is asked for on FF02::1:FF0E:8C6C.
        let (group, mac) = solicited_node("4037::01:800:200e:8c6c".parse().unwrap());
        assert_eq!(group.to_string(), "ff02::1:ff0e:8c6c");
        assert_eq!(mac.to_string(), "33:33:ff:0e:8c:6c");
    }
}
