//! Checksums that are wrong on purpose.

use super::places::Places;
use super::spec::Spoiled;
use crate::bytes::{half, put_half};

/// A checksum that is wrong, and never one that says there is none, or the other zero of ones' complement.
#[inline]
pub(super) const fn wrong(right: u16) -> u16 {
    match right ^ 0x0100 {
        0 => 0x0200,
        wrong => wrong,
    }
}

/// Makes the checksums of a whole frame wrong.
pub(super) fn spoil(frame: &mut [u8], places: &Places, spoiled: Spoiled) {
    let network = places.network_checksum().filter(|_| spoiled.network);
    let transport = places.transport_checksum(frame).filter(|_| spoiled.transport);
    for at in [network, transport].into_iter().flatten() {
        put_half(frame, at, wrong(half(frame, at)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_checksum_is_wrong_and_is_one() {
        for right in 0..=u16::MAX {
            let wrong = wrong(right);
            // 0x0000 and 0xffff are the same in ones' complement; 0 is none in UDP.
            assert!(wrong % 0xffff != right % 0xffff && wrong != 0, "{right:#06x}");
        }
    }
}
