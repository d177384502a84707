//! A frame's signature as the module wants it: with a sum that does not change when the module writes into it
//! when the frame left.

use wire::parse::{TCP, Tuple, UDP};
use wire::signature::{LENGTH, MODULE_SUM};
use wire::{Signature, checksum, parse};

/// Rewrites the signature of a frame that has one, and the checksum over it. Returns its place in halfwords.
pub(super) fn prepare(frame: &mut [u8]) -> Option<u16> {
    let tuple = parse::summary(frame)?;
    let signature = Signature::find_in(frame, &tuple)?;
    let at = usize::from(tuple.payload);
    let halfword = u8::try_from(at / 2).ok().filter(|_| at % 2 == 0)?;
    let room: &mut [u8; LENGTH] = frame.get_mut(at..)?.first_chunk_mut()?;
    let old = checksum::fold(checksum::sum(&room[..]));
    signature.write_as_module(room);
    renew(frame, &tuple, old);
    Some(u16::from(halfword))
}

/// A checksum of UDP or TCP after halfwords with the sum `old` became such with [`MODULE_SUM`].
fn renew(frame: &mut [u8], tuple: &Tuple, old: u16) {
    let place = match tuple.protocol {
        UDP => 6,
        TCP => 16,
        _ => return,
    };
    let Some(field) = frame.get_mut(usize::from(tuple.transport) + place..).and_then(<[u8]>::first_chunk_mut)
    else {
        return;
    };
    let was = u16::from_be_bytes(*field);
    // A datagram may have none.
    if tuple.protocol == UDP && was == 0 {
        return;
    }
    let is = checksum::update(was, old, MODULE_SUM);
    *field = if tuple.protocol == UDP && is == 0 { u16::MAX } else { is }.to_be_bytes();
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    const SENT: u64 = 1_700_000_000_000_000_000;

    /// A datagram with a signature and a right checksum.
    pub fn signed(seq: u64) -> Vec<u8> {
        let mut frame = vec![2, 0x18, 0, 0, 0, 2, 2, 0x18, 0, 0, 0, 1, 8, 0];
        frame.extend([0x45, 0, 0, 46, 0, 0, 0x40, 0, 64, 17, 0, 0, 198, 18, 0, 1, 198, 18, 0, 2]);
        frame.extend([4, 0, 0, 9, 0, 26, 0, 0]);
        frame.extend([0; LENGTH]);
        let signature = Signature { stream: 3, seq, due_unix_ns: SENT - 5_000, sent_unix_ns: SENT };
        signature.write(frame[42..].first_chunk_mut().unwrap());
        let sum = whole_sum(&frame);
        frame[40..42].copy_from_slice(&checksum::finish_udp(sum).to_be_bytes());
        frame
    }

    /// Of the datagram and its pseudo-header.
    fn whole_sum(frame: &[u8]) -> u64 {
        checksum::sum(&frame[26..34]) + 17 + 26 + checksum::sum(&frame[34..60])
    }

    #[test]
    fn a_signature_becomes_the_modules_and_checksums_stay_right() {
        for seq in 0..200 {
            let mut frame = signed(seq * 7_919);
            assert_eq!(checksum::fold(whole_sum(&frame)), 0xffff);
            assert_eq!(prepare(&mut frame), Some(21));
            assert_eq!(checksum::fold(whole_sum(&frame)), 0xffff, "{seq}");
            let read = Signature::find(&frame).unwrap();
            assert_eq!((read.seq, read.stream, frame[50] >> 4), (seq * 7_919, 3, 0xb));
            // Whatever time the module writes, the checksum holds.
            let later = Signature { sent_unix_ns: SENT + 123_456, ..read };
            later.write_as_module(frame[42..].first_chunk_mut().unwrap());
            assert_eq!(checksum::fold(whole_sum(&frame)), 0xffff, "{seq}");
        }
    }

    #[test]
    fn a_datagram_without_a_checksum_gets_none() {
        let mut frame = signed(1);
        frame[40..42].copy_from_slice(&[0, 0]);
        assert_eq!(prepare(&mut frame), Some(21));
        assert_eq!(frame[40..42], [0, 0]);
    }

    #[test]
    fn frames_without_a_signature_are_left_alone() {
        let mut frame = signed(1);
        frame[50] ^= 1;
        let before = frame.clone();
        assert_eq!(prepare(&mut frame), None);
        assert_eq!(frame, before);
        assert_eq!(prepare(&mut [0; 14]), None);
    }
}
