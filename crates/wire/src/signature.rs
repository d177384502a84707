//! The mark that Tare leaves at the start of a frame's payload, by which the receiver knows it again.
//!
//! At the start, so that a capture that cuts frames off has it, and so that it has one place whatever a frame's
//! size. It fits the payload of an untagged 64-byte frame of IPv4 and UDP (60 − 14 − 20 − 8 = 18 bytes).
//! Big-endian, like all else in a frame:
//!
//! | bytes | bits | what |
//! |---|---|---|
//! | 0–7 = A | 40 | position in the whole schedule, modulo 2⁴⁰ (18 hours at 16 M/s), from a base on |
//! | | 8 | stream |
//! | | 16 | lateness = sent − due: e: 5 bits, m: 11 bits; e = 0: m ns; else (2048 + m) · 2^(e−1) ns |
//! | 8–15 = B | 4 | 0xa |
//! | | 60 | when it was sent, in ns since 2020-01-01 UTC (until 2056) |
//! | 16–17 | 16 | check of the other 16 bytes: the upper 16 bits of `((A ^ K₁) · K₂ ^ B) · K₃`, modulo 2⁶⁴ |
//!
//! The base is 0, but random in a run that receives its own frames: it knows them by that.
//!
//! The check is last: dissectors that guess a protocol look at the first bytes, where the upper bits of a
//! position are zeros.
//!
//! Lateness is exact below 4 096 ns, at most 1/2048 too small above, and at most 4 398 s. Of random payloads
//! one in 2²⁰ passes for a signature; [`Signature::is_near`] makes that one in 10⁹ where the time of arrival is
//! known.
//!
//! The FPGA module writes another version, as its frames leave: when that was is not known before, and nothing
//! can be multiplied then.
//!
//! | bytes | bits | what |
//! |---|---|---|
//! | 0–7 | 40 | position, as above |
//! | | 8 | stream |
//! | | 16 | lateness in ticks of 8 ns, at most 65 535 |
//! | 8–15 | 4 | 0xb |
//! | | 60 | when its preamble began, by the module's clock, in ns since 2020-01-01 UTC |
//! | 16–17 | 16 | check: with it, the ones' complement sum (RFC 1071) of the nine halfwords is 0x5aa5 |
//!
//! In the check, 0 and 0xffff are the same. As that sum is always the same, a checksum of UDP or TCP over the
//! payload is right whatever the time is.

use crate::{checksum, inner, parse};

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
/// The same in signatures that the FPGA module wrote.
pub const MODULE_VERSION: u64 = 0xb;
/// What the halfwords of one of those add up to (RFC 1071).
pub const MODULE_SUM: u16 = 0x5aa5;
/// Nanoseconds of lateness that the module counts as one.
pub const MODULE_TICK_NS: u64 = 8;
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

    /// The same as the FPGA module writes it.
    #[inline]
    pub fn write_as_module(&self, payload: &mut [u8; LENGTH]) {
        let late = self.sent_unix_ns.saturating_sub(self.due_unix_ns) / MODULE_TICK_NS;
        let a = (self.seq % SEQUENCES) << 24 | (self.stream as u64 & 0xff) << 16 | late.min(0xffff);
        let b = MODULE_VERSION << SENT_BITS | (self.sent_unix_ns.saturating_sub(EPOCH_UNIX_NS) & SENT_MASK);
        payload[..8].copy_from_slice(&a.to_be_bytes());
        payload[8..16].copy_from_slice(&b.to_be_bytes());
        payload[16..].copy_from_slice(&module_check(a, b).to_be_bytes());
    }

    /// Reads the signature at the start of `payload`, if there is one, whoever wrote it.
    #[inline]
    pub fn read(payload: &[u8]) -> Option<Self> {
        let bytes: &[u8; LENGTH] = payload.first_chunk()?;
        let a = u64::from_be_bytes(*bytes.first_chunk()?);
        let b = u64::from_be_bytes(*bytes[8..].first_chunk()?);
        let late_ns = match b >> SENT_BITS {
            VERSION if u16::from_be_bytes([bytes[16], bytes[17]]) == check(a, b) => lateness_ns(a as u16),
            MODULE_VERSION if checksum::fold(checksum::sum(bytes)) == MODULE_SUM => {
                u64::from(a as u16) * MODULE_TICK_NS
            }
            _ => return None,
        };
        let sent = EPOCH_UNIX_NS + (b & SENT_MASK);
        Some(Self {
            stream: (a >> 16 & 0xff) as u16,
            seq: a >> 24,
            due_unix_ns: sent - late_ns.min(sent),
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

    /// The same for a frame whose headers were read already: in its payload, or in that of a packet that it
    /// carries.
    #[inline]
    pub fn find_in(frame: &[u8], tuple: &parse::Tuple) -> Option<Self> {
        let read = |tuple: &parse::Tuple| frame.get(usize::from(tuple.payload)..).and_then(Self::read);
        read(tuple).or_else(|| inner::first(frame, tuple, read))
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

/// The check of words A and B as the FPGA module writes it: what the sum lacks.
#[inline]
pub const fn module_check(a: u64, b: u64) -> u16 {
    // Subtraction of ones' complement numbers adds the complement; a word counts like its halves.
    let sum = checksum::fold((a >> 32) + (a & 0xffff_ffff) + (b >> 32) + (b & 0xffff_ffff));
    checksum::fold(MODULE_SUM as u64 + !sum as u64)
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
    fn the_modules_bytes_are_those_of_its_table() {
        let mut room = [0; LENGTH];
        let sent_unix_ns = EPOCH_UNIX_NS + 0x0102_0304_0506;
        let due_unix_ns = sent_unix_ns - 8 * 0x0809;
        let signature = Signature { stream: 7, seq: 0x0a_0b0c_0d0e, due_unix_ns, sent_unix_ns };
        signature.write_as_module(&mut room);
        // 0a0b + 0c0d + 0e07 + 0809 + b000 + 0102 + 0304 + 0506 = e534; 5aa5 - e534 = -8a8f, which is 7570
        // modulo ffff.
        let bytes = [0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 7, 8, 9, 0xb0, 0, 1, 2, 3, 4, 5, 6, 0x75, 0x70];
        assert_eq!(room, bytes);
        assert_eq!(Signature::read(&room), Some(signature));
    }

    #[test]
    fn a_check_of_zero_may_be_written_as_ones() {
        // 5aa5 - b000 = -555b, which is aaa4 modulo ffff: with that as the lateness, nothing is lacking.
        let mut room = [0; LENGTH];
        let sent_unix_ns = EPOCH_UNIX_NS;
        let due_unix_ns = sent_unix_ns - 8 * 0xaaa4;
        let signature = Signature { stream: 0, seq: 0, due_unix_ns, sent_unix_ns };
        signature.write_as_module(&mut room);
        for check in [[0, 0], [0xff, 0xff]] {
            room[16..].copy_from_slice(&check);
            assert_eq!(Signature::read(&room), Some(signature));
        }
    }

    #[test]
    fn lateness_of_the_module_has_an_end() {
        let mut room = [0; LENGTH];
        let signature = Signature { stream: 0, seq: 1, due_unix_ns: NOW - 1_000_000_000, sent_unix_ns: NOW };
        signature.write_as_module(&mut room);
        let read = Signature::read(&room).unwrap();
        assert_eq!(NOW - read.due_unix_ns, 65_535 * 8);
    }

    #[test]
    fn one_bit_that_is_wrong_is_seen() {
        let signature = Signature { stream: 1, seq: 99, due_unix_ns: NOW, sent_unix_ns: NOW };
        for write in [Signature::write, Signature::write_as_module] {
            let mut room = [0; LENGTH];
            write(&signature, &mut room);
            for bit in 0..LENGTH * 8 {
                let mut bent = room;
                bent[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(Signature::read(&bent), None, "bit {bit}");
            }
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
    fn an_hour_is_near_and_more_is_not() {
        let sent = Signature { sent_unix_ns: NOW, ..Signature::default() };
        let hour = 3_600_000_000_000;
        assert!(sent.is_near(NOW - hour) && sent.is_near(NOW + hour));
        assert!(!sent.is_near(NOW - hour - 1) && !sent.is_near(NOW + hour + 1));
    }

    #[test]
    fn a_signature_that_is_no_payload_is_not_found() {
        let mut room = [0; LENGTH];
        // Its fifth byte is where TCP has the length of its header.
        Signature { seq: 0x50, sent_unix_ns: NOW, due_unix_ns: NOW, stream: 0 }.write(&mut room);
        let found = |ethertype: [u8; 2], protocol: u8| {
            let mut frame = [0; 80];
            frame[12..14].copy_from_slice(&ethertype);
            (frame[14], frame[17], frame[23]) = (0x45, 66, protocol);
            frame[42..60].copy_from_slice(&room);
            Signature::find(&frame).is_some()
        };
        assert!(found([8, 0], parse::UDP));
        assert!(!found([8, 0], parse::TCP) && !found([0x99, 0x99], parse::UDP));
    }

    #[test]
    fn zeros_and_ones_are_no_signature() {
        assert_eq!(Signature::read(&[0; LENGTH]), None);
        assert_eq!(Signature::read(&[0xff; LENGTH]), None);
        assert_eq!(Signature::read(&[0; 17]), None);
    }

    proptest! {
        #[test]
        fn what_the_module_wrote_is_read(
            stream in 0_u16..256,
            seq in 0_u64..SEQUENCES,
            sent_unix_ns in EPOCH_UNIX_NS + 1_000_000..EPOCH_UNIX_NS + (1 << 60),
            late_ticks in 0_u64..65_536,
        ) {
            let due_unix_ns = sent_unix_ns - late_ticks * MODULE_TICK_NS;
            let signature = Signature { stream, seq, due_unix_ns, sent_unix_ns };
            let mut room = [0; LENGTH];
            signature.write_as_module(&mut room);
            prop_assert_eq!(Signature::read(&room), Some(signature));
            prop_assert_eq!(checksum::fold(checksum::sum(&room)), MODULE_SUM);
        }

        #[test]
        fn what_was_written_is_read(
            stream in 0_u16..256,
            seq in 0_u64..SEQUENCES,
            late in 0_u64..5_000_000_000_000,
        ) {
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
