//! Own addresses are one run's at a time: two would answer each other's connections with resets.
//!
//! The probe for other hosts with these addresses does not find another run on the same interface: what one
//! packet socket sends, another does not receive from the wire.

use os::claim::{Claim, claim};
use station::Via;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::IpAddr;
use std::os::unix::fs::MetadataExt;

/// One file for all runs on the machine.
const NAME: &str = "tare-via";

/// The addresses of `via`, or the first of a range of which another run has some. Where nothing can be locked,
/// nothing is claimed.
pub(crate) fn claims(via: &Via) -> Result<Vec<Claim>, IpAddr> {
    let port = via.port.innermost();
    let Some(interface) = port.interface() else { return Ok(Vec::new()) };
    let Ok(namespace) = std::fs::metadata(port.namespace_file()) else { return Ok(Vec::new()) };
    let mut claims = Vec::new();
    for range in via.ranges() {
        let first = number((namespace.ino(), interface), range.first());
        match claim(NAME, first, range.iter().count() as u64) {
            Ok(Some(claim)) => claims.push(claim),
            Ok(None) => return Err(range.first()),
            Err(_) => {}
        }
    }
    Ok(claims)
}

/// 30 bits of where an address is and of its first 96 bits, which a range has in common; then its last 32.
fn number(place: (u64, &str), address: IpAddr) -> u64 {
    let bits = match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
        IpAddr::V6(v6) => v6.to_bits(),
    };
    let mut hasher = DefaultHasher::new();
    (place, bits >> 32).hash(&mut hasher);
    (hasher.finish() >> 34) << 32 | u64::from(bits as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_a_range_follow_each_other_and_other_places_are_apart() {
        let address = |text: &str| text.parse::<IpAddr>().expect("an address");
        for (first, next) in [("198.18.0.10", "198.18.0.11"), ("fd00::fffe", "fd00::ffff")] {
            let at = |place, text| number(place, address(text));
            let one = at((7, "gen0"), first);
            assert_eq!(at((7, "gen0"), next), one + 1);
            for place in [(8, "gen0"), (7, "gen1")] {
                assert_ne!(at(place, first) >> 32, one >> 32);
            }
            assert!(one < 1 << 62);
        }
        assert_ne!(number((7, "gen0"), address("::c612:a")), number((7, "gen0"), address("198.18.0.10")));
    }
}
