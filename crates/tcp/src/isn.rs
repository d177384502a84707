//! Initial sequence numbers (RFC 6528): a clock of 4 µs and a keyed hash of addresses and ports, so that
//! numbers of one pair grow with time and those of another cannot be guessed.
//!
//! ```text
//! ISN = now / 4 µs + SipHash-2-4(secret; local address, port, remote address, port)
//! ```

use crate::time::Time;
use core::net::IpAddr;

/// 128 random bits, drawn once per run. Without them the numbers cannot be computed.
#[derive(Clone, Copy)]
pub struct Secret([u64; 2]);

impl Secret {
    pub const fn new(random: [u64; 2]) -> Self {
        Self(random)
    }
}

/// The two ends of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    pub local: (IpAddr, u16),
    pub remote: (IpAddr, u16),
}

/// The number that [`Event::Open`](crate::Event::Open) proposes.
pub fn isn(secret: &Secret, pair: &Pair, now: Time) -> u32 {
    let mut bytes = [0; 36];
    for (place, (address, port)) in bytes.chunks_exact_mut(18).zip([pair.local, pair.remote]) {
        let address = match address {
            IpAddr::V4(v4) => v4.to_ipv6_mapped(),
            IpAddr::V6(v6) => v6,
        };
        place[..16].copy_from_slice(&address.octets());
        place[16..].copy_from_slice(&port.to_be_bytes());
    }
    let ticks = (now.as_micros() / 4) as u32;
    ticks.wrapping_add(siphash(secret.0, &bytes) as u32)
}

/// SipHash-2-4 (Aumasson and Bernstein, 2012): a pseudo-random function of short messages.
fn siphash([k0, k1]: [u64; 2], message: &[u8]) -> u64 {
    let mut v = [
        k0 ^ 0x736f_6d65_7073_6575,
        k1 ^ 0x646f_7261_6e64_6f6d,
        k0 ^ 0x6c79_6765_6e65_7261,
        k1 ^ 0x7465_6462_7974_6573,
    ];
    let mut absorb = |word: u64| {
        v[3] ^= word;
        round(&mut v);
        round(&mut v);
        v[0] ^= word;
    };
    let (words, rest) = message.as_chunks::<8>();
    for word in words {
        absorb(u64::from_le_bytes(*word));
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    last[7] = message.len() as u8;
    absorb(u64::from_le_bytes(last));
    v[2] ^= 0xff;
    for _ in 0..4 {
        round(&mut v);
    }
    v[0] ^ v[1] ^ v[2] ^ v[3]
}

fn round(v: &mut [u64; 4]) {
    v[0] = v[0].wrapping_add(v[1]);
    v[2] = v[2].wrapping_add(v[3]);
    v[1] = v[1].rotate_left(13) ^ v[0];
    v[3] = v[3].rotate_left(16) ^ v[2];
    v[0] = v[0].rotate_left(32);
    v[2] = v[2].wrapping_add(v[1]);
    v[0] = v[0].wrapping_add(v[3]);
    v[1] = v[1].rotate_left(17) ^ v[2];
    v[3] = v[3].rotate_left(21) ^ v[0];
    v[2] = v[2].rotate_left(32);
}

#[cfg(test)]
mod tests;
