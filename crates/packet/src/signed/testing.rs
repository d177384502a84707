//! Signed frames for tests, made by hand.

use wire::Signature;

/// 2026-01-01, in ns.
pub const START: u64 = 1_767_225_600_000_000_000;
/// Sent every 10 µs, 20 µs under way.
pub const GAP: u64 = 10_000;
pub const WAY: u64 = 20_000;

/// The 16-bit loop of RFC 1071 §4.1, on its own.
pub fn checksum(parts: &[&[u8]]) -> u16 {
    let mut sum = 0_u32;
    for part in parts {
        for pair in part.chunks(2) {
            sum += u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| u32::from(*low));
            sum = (sum & 0xffff) + (sum >> 16);
        }
    }
    !(sum as u16)
}

/// A frame of 64 (60 bytes here) or more and when it arrives: Ethernet, IPv4, UDP, signature, zeros.
pub fn frame(number: u64, stream: u16, length: usize) -> (Vec<u8>, u64) {
    let mut bytes = vec![0; length];
    bytes[..14].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0]);
    let total = ((length - 14) as u16).to_be_bytes();
    bytes[14..34].copy_from_slice(&[
        0x45, 0, total[0], total[1], 0, 0, 0, 0, 64, 17, 0, 0, 198, 18, 0, 1, 198, 18, 0, 2,
    ]);
    let ip = checksum(&[&bytes[14..34]]);
    bytes[24..26].copy_from_slice(&ip.to_be_bytes());
    let size = ((length - 34) as u16).to_be_bytes();
    bytes[34..42].copy_from_slice(&[4, 0, 0, 9, size[0], size[1], 0, 0]);
    let sent = START + number * GAP;
    let signature = Signature { stream, seq: number, due_unix_ns: sent, sent_unix_ns: sent };
    signature.write((&mut bytes[42..60]).try_into().unwrap());
    let udp = checksum(&[&bytes[26..34], &[0, 17], &size, &bytes[34..]]);
    bytes[40..42].copy_from_slice(&udp.to_be_bytes());
    (bytes, sent + WAY)
}
