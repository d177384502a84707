//! Messages of rtnetlink as bytes (RFC 3549; netlink(7), rtnetlink(7)): a header of 16 bytes, a fixed part that
//! depends on the kind, and attributes. Numbers have this machine's byte order.
//!
//! ```text
//!   length:32 | kind:16 | flags:16 | sequence:32 | port:32 | fixed part | attributes
//!   attribute:  length:16 | kind:16 | value | padding to four bytes
//! ```

use std::io;

/// The header of a message.
const HEAD: usize = 16;
/// The head of an attribute.
const ATTRIBUTE: usize = 4;
/// The upper two bits of an attribute's kind say how its value is made.
const KIND: u16 = 0x3fff;

/// One message with this fixed part and no attributes.
pub fn request(kind: u16, flags: u16, fixed: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEAD + fixed.len());
    bytes.extend(((HEAD + fixed.len()) as u32).to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(flags.to_ne_bytes());
    bytes.extend([0; 8]);
    bytes.extend(fixed);
    bytes
}

/// A message without its header.
pub struct Message<'a> {
    pub kind: u16,
    body: &'a [u8],
}

impl<'a> Message<'a> {
    /// The first message of a datagram, and what is behind it.
    ///
    /// # Errors
    /// `InvalidData` if its length is not that of a message in these bytes.
    pub fn split(bytes: &'a [u8]) -> io::Result<(Self, &'a [u8])> {
        let length = read_u32(bytes, 0) as usize;
        let body = bytes.get(HEAD..length).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))?;
        let rest = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Ok((Self { kind: read_u16(bytes, 4), body }, rest))
    }

    /// What a message of an error says; 0 is none.
    pub fn error(&self) -> io::Result<()> {
        match read_u32(self.body, 0) as i32 {
            0 => Ok(()),
            negative => Err(io::Error::from_raw_os_error(negative.wrapping_neg())),
        }
    }

    /// A byte of the fixed part; 0 if the message ends before it, as below.
    pub fn byte(&self, at: usize) -> u8 {
        self.body.get(at).copied().unwrap_or_default()
    }

    pub fn half(&self, at: usize) -> u16 {
        read_u16(self.body, at)
    }

    pub fn word(&self, at: usize) -> u32 {
        read_u32(self.body, at)
    }

    /// What follows a fixed part of this length.
    pub fn attributes(&self, fixed: usize) -> Attributes<'a> {
        Attributes(self.body.get(fixed..).unwrap_or_default())
    }
}

/// Kinds and values, up to the first that does not fit.
pub struct Attributes<'a>(&'a [u8]);

impl<'a> Attributes<'a> {
    /// Those within another attribute.
    pub fn of(value: &'a [u8]) -> Self {
        Self(value)
    }
}

impl<'a> Iterator for Attributes<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let bytes = self.0;
        let length = usize::from(read_u16(bytes, 0));
        let value = bytes.get(ATTRIBUTE..length)?;
        self.0 = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((read_u16(bytes, 2) & KIND, value))
    }
}

pub fn read_u16(bytes: &[u8], at: usize) -> u16 {
    let two = bytes.get(at..at + 2).and_then(|bytes| bytes.try_into().ok());
    two.map_or(0, u16::from_ne_bytes)
}

pub fn read_u32(bytes: &[u8], at: usize) -> u32 {
    let four = bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
    four.map_or(0, u32::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An attribute of five bytes is padded to twelve with its head; its kind has the bit of nested ones.
    fn message() -> Vec<u8> {
        let mut fixed = vec![1, 2, 3, 4, 5, 6, 7, 8];
        fixed.extend(9u16.to_ne_bytes());
        fixed.extend(0x8003u16.to_ne_bytes());
        fixed.extend([b'e', b't', b'h', b'0', 0, 0, 0, 0]);
        fixed.extend(8u16.to_ne_bytes());
        fixed.extend(4u16.to_ne_bytes());
        fixed.extend(1500u32.to_ne_bytes());
        request(16, 1, &fixed)
    }

    #[test]
    fn a_message_is_taken_apart() {
        let mut bytes = message();
        assert_eq!(bytes.len(), 16 + 8 + 12 + 8);
        bytes.extend(request(3, 0, &[]));
        let (first, rest) = Message::split(&bytes).unwrap();
        assert_eq!((first.kind, first.byte(3), first.half(0)), (16, 4, u16::from_ne_bytes([1, 2])));
        let attributes: Vec<_> = first.attributes(8).collect();
        assert_eq!(attributes, [(3, &b"eth0\0"[..]), (4, &1500u32.to_ne_bytes()[..])]);
        let (second, rest) = Message::split(rest).unwrap();
        assert_eq!((second.kind, rest.len(), second.attributes(0).count()), (3, 0, 0));
    }

    #[test]
    fn an_error_is_that_of_the_system() {
        let refused = request(2, 0, &(-libc::ENODEV).to_ne_bytes());
        let (message, _) = Message::split(&refused).unwrap();
        assert_eq!(message.error().unwrap_err().raw_os_error(), Some(libc::ENODEV));
        let fine = request(2, 0, &0i32.to_ne_bytes());
        assert!(Message::split(&fine).unwrap().0.error().is_ok());
    }

    proptest! {
        /// Whatever bytes come: reading ends, and what is read is within them.
        #[test]
        fn no_bytes_lead_astray(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut rest = &bytes[..];
            for _ in 0..bytes.len() {
                let Ok((message, behind)) = Message::split(rest) else { break };
                prop_assert!(behind.len() < rest.len());
                let values: usize = message.attributes(12).map(|(_, value)| value.len()).sum();
                prop_assert!(values <= rest.len());
                rest = behind;
            }
        }
    }
}
