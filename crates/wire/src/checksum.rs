//! The Internet checksum: the complement of the ones' complement sum of 16-bit words (RFC 1071).
//!
//! Sums are kept wide and folded at the end: 2¹⁶ ≡ 1 (mod 65 535), so that a word of any width counts like its
//! halves. A field that changes from m to m' changes the checksum HC to `~(~HC + ~m + m')` (RFC 1624, equation
//! 3).

use crate::WireError;
use core::net::{Ipv4Addr, Ipv6Addr};

/// Shorter ones are summed as they stand.
const SHORT: usize = 32;

/// Sum of the 16-bit words of `bytes`; an odd one at the end has a zero behind it. At most 2³² for 64 KiB. Of
/// more than 32 bytes only what it is modulo 65 535 counts, and that it is 0 for zeros alone.
#[inline]
pub fn sum(bytes: &[u8]) -> u64 {
    if bytes.len() > SHORT { sum_of_many(bytes) } else { sum_of_few(bytes) }
}

#[inline]
fn sum_of_few(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<4>();
    let mut total: u64 = words.iter().map(|word| u64::from(u32::from_be_bytes(*word))).sum();
    let (halves, odd) = rest.as_chunks::<2>();
    total += halves.iter().map(|half| u64::from(u16::from_be_bytes(*half))).sum::<u64>();
    total + odd.first().map_or(0, |last| u64::from(*last) << 8)
}

/// Summed in the machine's order of bytes, which many additions at a time can be, and turned once at the end
/// (RFC 1071, §2(B)).
fn sum_of_many(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<4>();
    let total: u64 = words.iter().map(|word| u64::from(u32::from_ne_bytes(*word))).sum();
    u64::from(u16::from_be(fold(total))) + sum_of_few(rest)
}

/// A sum as 16 bits: 0 only if all was 0.
#[inline]
pub const fn fold(total: u64) -> u16 {
    let total = (total >> 32) + (total & 0xffff_ffff);
    let total = (total >> 16) + (total & 0xffff);
    let total = (total >> 16) + (total & 0xffff);
    ((total >> 16) + (total & 0xffff)) as u16
}

/// The checksum of what was summed.
#[inline]
pub const fn finish(total: u64) -> u16 {
    !fold(total)
}

/// The checksum after a field changed (RFC 1624).
#[inline]
pub const fn update(checksum: u16, old: u16, new: u16) -> u16 {
    finish(!checksum as u64 + !old as u64 + new as u64)
}

/// The checksum for UDP, where 0 says that there is none.
#[inline]
pub const fn finish_udp(total: u64) -> u16 {
    match finish(total) {
        0 => 0xffff,
        checksum => checksum,
    }
}

/// Addresses that count for the checksum of a transport (RFC 768, RFC 8200 §8.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pseudo {
    V4 { source: Ipv4Addr, destination: Ipv4Addr },
    V6 { source: Ipv6Addr, destination: Ipv6Addr },
}

impl Pseudo {
    /// Sum of the pseudo-header for `length` bytes of `protocol`.
    pub fn sum(&self, protocol: u8, length: usize) -> u64 {
        let addresses = match self {
            Self::V4 { source, destination } => sum(&source.octets()) + sum(&destination.octets()),
            Self::V6 { source, destination } => sum(&source.octets()) + sum(&destination.octets()),
        };
        addresses + u64::from(protocol) + length as u64
    }
}

/// Whether `bytes`, with a pseudo-header's sum, have the checksum that is at `at` in them.
pub(crate) fn verify(protocol: &'static str, bytes: &[u8], at: usize, extra: u64) -> Result<(), WireError> {
    let total = sum(bytes) + extra;
    if fold(total) == 0xffff {
        return Ok(());
    }
    let has = crate::bytes::half(bytes, at);
    let right = finish(total + u64::from(!has));
    Err(WireError::Checksum { protocol, has, right })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    #[test]
    fn the_example_of_rfc_1071_sums_as_printed_there() {
        // §3: 0001 f203 f4f5 f6f7 sum to 2ddf0, folded ddf2.
        assert_eq!(fold(sum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7])), 0xddf2);
    }

    #[test]
    fn the_example_of_rfc_1624_updates_as_printed_there() {
        // §4: HC = dd2f, m = 5555, m' = 3285: the new checksum is 0000.
        assert_eq!(update(0xdd2f, 0x5555, 0x3285), 0x0000);
    }

    #[test]
    fn an_odd_byte_has_a_zero_behind_it() {
        assert_eq!(sum(&[0x12, 0x34, 0x56]), 0x1234 + 0x5600);
    }

    #[test]
    fn few_bytes_are_summed_as_they_stand() {
        for words in [7, 8] {
            assert_eq!(sum(&[0xff; 32][..words * 4]), words as u64 * 0xffff_ffff);
        }
    }

    #[test]
    fn the_largest_sum_folds_without_a_carry_that_is_lost() {
        // Of the last: ffff_ffff + 1_0000 = 1_0000_ffff; 1_0000 + ffff = 1_ffff; 1 + ffff = 1_0000; 1 + 0 = 1.
        let sums = [u64::MAX, 0x1_0000, 0xffff_ffff_0001_0000];
        assert_eq!(sums.map(fold), [0xffff, 1, 1]);
    }

    proptest! {
        #[test]
        fn an_update_is_the_checksum_of_the_new_bytes(
            bytes in prop::collection::vec(any::<u8>(), 2..200),
            at: prop::sample::Index,
            new: u16,
        ) {
            let mut bytes: Vec<u8> = bytes;
            bytes[0] |= 1; // all zeros have two representations
            let at = at.index(bytes.len() / 2) * 2;
            prop_assume!(at != 0 || new != 0);
            let old = u16::from_be_bytes([bytes[at], bytes[at + 1]]);
            let before = finish(sum(&bytes));
            bytes[at..at + 2].copy_from_slice(&new.to_be_bytes());
            if bytes.iter().any(|byte| *byte != 0) {
                prop_assert_eq!(update(before, old, new), finish(sum(&bytes)));
            }
        }

        #[test]
        fn words_of_any_width_count_alike(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let halfword = |pair: &[u8]| u64::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| u64::from(*low));
            let by_hand = bytes.chunks(2).map(halfword).sum();
            prop_assert_eq!(fold(sum(&bytes)), fold(by_hand));
        }
    }
}
