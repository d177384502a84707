//! The mark that Tare leaves at the start of a frame's payload, by which the receiver knows it again.
//!
//! At the start, so that a capture that cuts frames off has it, and so that it has one place whatever a frame's size. It fits the
//! payload of an untagged 64-byte frame of IPv4 and UDP (60 − 14 − 20 − 8 = 18 bytes). Big-endian, like all else in a frame:
//!
//! | bytes | bits | what |
//! |---|---|---|
//! | 0–7 = A | 40 | position in the whole schedule, modulo 2⁴⁰ (18 hours at 16 M/s) |
//! | | 8 | stream |
//! | | 16 | lateness = sent − due: 5 bits exponent e, 11 bits mantissa m; e = 0: m ns; else (2048 + m) · 2^(e−1) ns |
//! | 8–15 = B | 4 | 0xa |
//! | | 60 | when it was sent, in ns since 2020-01-01 UTC (until 2056) |
//! | 16–17 | 16 | check of the other 16 bytes: the upper 16 bits of `((A ^ K₁) · K₂ ^ B) · K₃`, modulo 2⁶⁴ |
//!
//! The check is last: dissectors that guess a protocol look at the first bytes, where the upper bits of a position are zeros.
//!
//! Lateness is exact below 4 096 ns, at most 1/2048 too small above, and at most 4 398 s. Of random payloads one in 2²⁰ passes for a
//! signature; [`Signature::is_near`] makes that one in 10⁹ where the time of arrival is known.

use crate::parse;

/// Bytes of a signature.
pub const LENGTH: usize = 18;
/// Positions are counted modulo this.
pub const SEQUENCES: u64 = 1 << 40;
/// Streams that a signature can tell apart.
pub const STREAMS: usize = 256;

/// 2020-01-01 UTC in nanoseconds since 1970.
pub const EPOCH_UNIX_NS: u64 = 1_577_836_800_000_000_000;
/// The four bits before the time sent.
pub const VERSION: u64 = 0xa;
/// The constants of the check: odd, with bits spread evenly.
pub const K1: u64 = 0x7461_7265_2066_7261;
pub const K2: u64 = 0x9e37_79b9_7f4a_7c15;
pub const K3: u64 = 0xd6e8_feb8_6659_fd93;

const SENT_BITS: u32 = 60;
const SENT_MASK: u64 = (1 << SENT_BITS) - 1;
/// Clocks of two machines may differ by this much, and a frame be under way for the rest.
const NEAR_NS: u64 = 3600 * 1_000_000_000;

/// Who a frame is, and when it should have left and did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signature {
    /// At most 255.
    pub stream: u16,
    /// Position in the whole schedule, modulo [`SEQUENCES`].
    pub seq: u64,
    /// Nanoseconds since 1970 (CLOCK_REALTIME). Never after `sent_unix_ns` when read back.
    pub due_unix_ns: u64,
    pub sent_unix_ns: u64,
}

impl Signature {
    /// The two words A and B of the table.
    #[inline]
    pub const fn words(&self) -> (u64, u64) {
        let late = lateness_code(self.sent_unix_ns.saturating_sub(self.due_unix_ns));
        let a = (self.seq % SEQUENCES) << 24 | (self.stream as u64 & 0xff) << 16 | late as u64;
        let b = VERSION << SENT_BITS | (self.sent_unix_ns.saturating_sub(EPOCH_UNIX_NS) & SENT_MASK);
        (a, b)
    }

    /// Writes the signature over the first bytes of a payload.
    #[inline]
    pub fn write(&self, payload: &mut [u8; LENGTH]) {
        let (a, b) = self.words();
        payload[..8].copy_from_slice(&a.to_be_bytes());
        payload[8..16].copy_from_slice(&b.to_be_bytes());
        payload[16..].copy_from_slice(&check(a, b).to_be_bytes());
    }

    /// Reads the signature at the start of `payload`, if there is one.
    #[inline]
    pub fn read(payload: &[u8]) -> Option<Self> {
        let bytes: &[u8; LENGTH] = payload.first_chunk()?;
        let a = u64::from_be_bytes(*bytes.first_chunk()?);
        let b = u64::from_be_bytes(*bytes[8..].first_chunk()?);
        if b >> SENT_BITS != VERSION || u16::from_be_bytes([bytes[16], bytes[17]]) != check(a, b) {
            return None;
        }
        let sent = EPOCH_UNIX_NS + (b & SENT_MASK);
        Some(Self {
            stream: (a >> 16 & 0xff) as u16,
            seq: a >> 24,
            due_unix_ns: sent - lateness_ns(a as u16).min(sent),
            sent_unix_ns: sent,
        })
    }

    /// Looks for a signature in a frame, where its payload starts.
    #[inline]
    pub fn find(frame: &[u8]) -> Option<Self> {
        // The common places first (IPv4 and UDP without options or tags): a read is cheaper than a parse.
        if frame.get(12..14) == Some(&[0x08, 0x00]) && frame.get(23) == Some(&parse::UDP) {
            let found = frame.get(42..).and_then(Self::read);
            if found.is_some() {
                return found;
            }
        }
        Self::find_in(frame, &parse::summary(frame)?)
    }

    /// The same for a frame whose headers were read already.
    #[inline]
    pub fn find_in(frame: &[u8], tuple: &parse::Tuple) -> Option<Self> {
        frame.get(usize::from(tuple.payload)..).and_then(Self::read)
    }

    /// Whether it can be true that this was sent, if it arrived then: within an hour.
    #[inline]
    pub const fn is_near(&self, arrived_unix_ns: u64) -> bool {
        self.sent_unix_ns.abs_diff(arrived_unix_ns) <= NEAR_NS
    }
}

/// The check of words A and B.
#[inline]
pub const fn check(a: u64, b: u64) -> u16 {
    (((a ^ K1).wrapping_mul(K2) ^ b).wrapping_mul(K3) >> 48) as u16
}

/// A lateness as 16 bits, rounded down.
#[inline]
pub const fn lateness_code(ns: u64) -> u16 {
    if ns < 2048 {
        return ns as u16;
    }
    let exponent = ns.ilog2() - 10;
    if exponent > 31 {
        return u16::MAX;
    }
    (exponent << 11) as u16 | (ns >> (exponent - 1) & 0x7ff) as u16
}

/// The lateness that 16 bits stand for, in nanoseconds.
#[inline]
pub const fn lateness_ns(code: u16) -> u64 {
    let (exponent, mantissa) = (code >> 11, code as u64 & 0x7ff);
    if exponent == 0 { mantissa } else { (2048 + mantissa) << (exponent - 1) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOW: u64 = 1_700_000_000_123_456_789;

    #[test]
    fn the_bytes_are_those_of_the_table() {
        let mut room = [0; LENGTH];
        let signature = Signature {
            stream: 3,
            seq: 0x01_0203_0405,
            due_unix_ns: EPOCH_UNIX_NS,
            sent_unix_ns: EPOCH_UNIX_NS + 2050,
        };
        signature.write(&mut room);
        // Lateness 2050: exponent 1 (bit 11), mantissa 2.
        assert_eq!(room[..16], [1, 2, 3, 4, 5, 3, 0x08, 0x02, 0xa0, 0, 0, 0, 0, 0, 0x08, 0x02]);
        assert_eq!(Signature::read(&room), Some(signature));
    }

    #[test]
    fn one_bit_that_is_wrong_is_seen() {
        let mut room = [0; LENGTH];
        Signature { stream: 1, seq: 99, due_unix_ns: NOW, sent_unix_ns: NOW }.write(&mut room);
        for bit in 0..LENGTH * 8 {
            let mut bent = room;
            bent[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Signature::read(&bent), None, "bit {bit}");
        }
    }

    #[test]
    fn random_payloads_hardly_ever_pass() {
        let mut passed = 0;
        for n in 0..1_000_000_u64 {
            let mut room = [0; LENGTH];
            for (at, chunk) in room.chunks_mut(8).enumerate() {
                let bytes = crate::template::spread(n, at as u64).to_le_bytes();
                chunk.copy_from_slice(&bytes[..chunk.len()]);
            }
            passed += u32::from(Signature::read(&room).is_some_and(|found| found.is_near(NOW)));
        }
        assert_eq!(passed, 0);
    }

    #[test]
    fn zeros_and_ones_are_no_signature() {
        assert_eq!(Signature::read(&[0; LENGTH]), None);
        assert_eq!(Signature::read(&[0xff; LENGTH]), None);
        assert_eq!(Signature::read(&[0; 17]), None);
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(stream in 0_u16..256, seq in 0_u64..SEQUENCES, late in 0_u64..5_000_000_000_000) {
            let (sent, due) = (NOW, NOW - late);
            let mut room = [0; LENGTH];
            Signature { stream, seq, due_unix_ns: due, sent_unix_ns: sent }.write(&mut room);
            let read = Signature::read(&room).unwrap();
            prop_assert_eq!((read.stream, read.seq, read.sent_unix_ns), (stream, seq, sent));
            let told = sent - read.due_unix_ns;
            prop_assert!(told <= late);
            if late < 4096 {
                prop_assert_eq!(told, late);
            } else if late < 4_398_000_000_000 {
                prop_assert!((late - told) * 2048 <= late);
            }
        }
    }
}
