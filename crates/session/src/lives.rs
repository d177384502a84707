//! Numbers that grow from each run to the next, as a kernel's do.
//!
//! A server keeps a connection that it closed for a minute (TIME_WAIT). A SYN from the same port is taken as a
//! new connection only if its sequence number and its timestamp are above those that the server remembers; else
//! it is answered by an acknowledgment of the old one, and the run waits a second for its time-out. So both are
//! counted from the machine's boot, with a secret that all runs since then share.

use tcp::{Pair, Secret, Time, isn};
use units::Instant;

/// Where the kernel keeps 128 bits that it drew when it booted.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

pub(crate) struct Lives {
    secret: Secret,
    /// How much longer ago the machine's clock began than the run's.
    ahead_us: u64,
    /// Added to a session's milliseconds for its timestamps.
    pub stamp_offset: u32,
}

impl Lives {
    pub fn new(now: Instant) -> Self {
        let text = std::fs::read_to_string(BOOT_ID).unwrap_or_default();
        // Without a boot to share numbers are of this run alone.
        let random = || [fastrand::u64(..), fastrand::u64(..)];
        Self::since_boot(halves(&text).unwrap_or_else(random), clock::monotonic_ns() / 1_000, now)
    }

    fn since_boot(bits: [u64; 2], uptime_us: u64, now: Instant) -> Self {
        let ahead_us = uptime_us.wrapping_sub(micros(now));
        let stamp_offset = ((bits[0] >> 32) as u32).wrapping_add((ahead_us / 1_000) as u32);
        Self { secret: Secret::new(bits), ahead_us, stamp_offset }
    }

    /// The first number of a connection that begins now.
    pub fn isn(&self, pair: &Pair, now: Instant) -> u32 {
        isn(&self.secret, pair, Time::from_micros(micros(now).wrapping_add(self.ahead_us)))
    }
}

fn micros(now: Instant) -> u64 {
    now.since_epoch().as_nanos() / 1_000
}

/// A UUID's 128 bits.
fn halves(uuid: &str) -> Option<[u64; 2]> {
    let digits: String = uuid.trim().chars().filter(|digit| *digit != '-').collect();
    let bits = u128::from_str_radix(&digits, 16).ok()?;
    Some([(bits >> 64) as u64, bits as u64])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{IpAddr, Ipv4Addr};
    use units::Picos;

    #[test]
    fn a_later_run_has_higher_numbers_whenever_it_began() {
        let pair = Pair {
            local: (IpAddr::V4(Ipv4Addr::new(198, 18, 0, 10)), 1_024),
            remote: (IpAddr::V4(Ipv4Addr::new(198, 18, 0, 2)), 80),
        };
        let bits = halves("8e3f1c6a-0b52-4d0e-9c1d-55aa10f3c2b7\n").expect("a UUID");
        let at = |ms| Instant::EPOCH + Picos::from_millis(ms);
        // The first run is made 5 s after boot and opens at its 9th second; the next, at 15 s, at its first.
        let (first, next) =
            (Lives::since_boot(bits, 5_000_000, at(0)), Lives::since_boot(bits, 15_000_000, at(2_000)));
        let (before, after) = (first.isn(&pair, at(9_000)), next.isn(&pair, at(2_001)));
        // From 14 s to 15.001 s in steps of 4 us.
        assert_eq!(after.wrapping_sub(before), 1_001_000 / 4);
        let stamp = |lives: &Lives, ms: u32| lives.stamp_offset.wrapping_add(ms);
        assert_eq!(stamp(&next, 2_001).wrapping_sub(stamp(&first, 9_000)), 1_001);
    }

    #[test]
    fn what_is_no_uuid_has_no_bits() {
        assert_eq!(halves("00000000-0000-0001-0000-000000000002"), Some([1, 2]));
        assert!(halves("").is_none() && halves("one").is_none());
    }
}
