//! Big-endian numbers at a place. The caller has checked the length: a header's view does so once, for all its
//! fields.

use crate::WireError;

#[inline]
pub(crate) fn half(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

#[inline]
pub(crate) fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[inline]
pub(crate) fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut all = [0; N];
    all.copy_from_slice(&bytes[at..at + N]);
    all
}

#[inline]
pub(crate) fn put_half(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

#[inline]
pub(crate) fn put_word(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_be_bytes());
}

/// `bytes`, if there are at least `needs`.
pub(crate) fn need(protocol: &'static str, bytes: &[u8], needs: usize) -> Result<(), WireError> {
    if bytes.len() < needs { Err(WireError::Short { protocol, has: bytes.len(), needs }) } else { Ok(()) }
}

/// A field that must hold.
pub(crate) fn check(
    holds: bool,
    protocol: &'static str,
    field: &'static str,
    value: impl Into<u64>,
    expected: &'static str,
) -> Result<(), WireError> {
    if holds { Ok(()) } else { Err(WireError::Field { protocol, field, value: value.into(), expected }) }
}
