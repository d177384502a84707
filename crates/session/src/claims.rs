//! Own addresses are one run's at a time: two would answer each other's connections with resets.
//!
//! The probe for other hosts with these addresses does not find another run on the same interface: what one
//! packet socket sends, another does not receive from the wire.

use os::claim::{Claim, claim};
use station::Via;
use std::net::IpAddr;
use std::os::unix::fs::MetadataExt;

/// The addresses of `via`, or the first of a range of which another run has some. Where nothing can be locked,
/// nothing is claimed.
pub(crate) fn claims(via: &Via) -> Result<Vec<Claim>, IpAddr> {
    let port = via.port.innermost();
    let Some(interface) = port.interface() else { return Ok(Vec::new()) };
    let Ok(namespace) = std::fs::metadata(port.namespace_file()) else { return Ok(Vec::new()) };
    let mut claims = Vec::new();
    for range in via.ranges() {
        // Of IPv6, the last 62 bits: addresses that agree in those and in nothing else are rare enough.
        let (family, first) = match range.first() {
            IpAddr::V4(first) => (4, u64::from(u32::from(first))),
            IpAddr::V6(first) => (6, u128::from(first) as u64 & ((1 << 62) - 1)),
        };
        let name = format!("tare-via-{}-{interface}-{family}", namespace.ino());
        match claim(&name, first, range.iter().count() as u64) {
            Ok(Some(claim)) => claims.push(claim),
            Ok(None) => return Err(range.first()),
            Err(_) => {}
        }
    }
    Ok(claims)
}
