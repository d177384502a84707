//! IPv6 extension headers before a segment (RFC 8200 §4), skipped as by a kernel to which the packet goes.
//!
//! ```text
//! ┌────┬──────┬──────────────┬────┬──────┬─────────────┬─────
//! │next│length│ options      │next│length│ … left = 0  │ TCP
//! └────┴──────┴──────────────┴────┴──────┴─────────────┴─────
//!  hop-by-hop, destination     routing: the route ends here
//! ```
//!
//! What a kernel without IPsec could not use either is refused: an authentication header, a route that goes on,
//! an option that must not be skipped by who does not know it.

use crate::counters::Bad;
use wire::ipv6;

/// Most headers of a packet, and most of their bytes.
const MOST: usize = 8;
const MOST_BYTES: usize = 2_048;

const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const AUTHENTICATION: u8 = 51;
const DESTINATION: u8 = 60;

/// What is behind the headers of a packet: its protocol, and where it begins.
pub(crate) fn skip(packet: &[u8]) -> Result<(u8, usize), Bad> {
    let (mut next, mut at, mut count) = (packet[ipv6::field::NEXT], ipv6::LENGTH, 0);
    while matches!(next, HOP_BY_HOP | ROUTING | AUTHENTICATION | DESTINATION) {
        let rest = &packet[at..];
        let [behind, units, ..] = *rest.first_chunk::<8>().ok_or(Bad::Header)?;
        let length = (usize::from(units) + 1) * 8;
        let header = rest.get(..length).ok_or(Bad::Header)?;
        let may_skip = match next {
            HOP_BY_HOP if count > 0 => false,
            ROUTING => header[3] == 0,
            AUTHENTICATION => false,
            _ => may_skip_options(&header[2..])?,
        };
        (next, at, count) = (behind, at + length, count + 1);
        if !may_skip || count > MOST || at > ipv6::LENGTH + MOST_BYTES {
            return Err(Bad::Extension);
        }
    }
    Ok((next, at))
}

/// Whether each may be skipped by who does not know it: the first two bits of its kind say so.
fn may_skip_options(mut options: &[u8]) -> Result<bool, Bad> {
    while let Some((kind, rest)) = options.split_first() {
        if kind >> 6 != 0 {
            return Ok(false);
        }
        options = match (kind, rest.first()) {
            // One byte of padding.
            (0, _) => rest,
            (_, Some(length)) => rest.get(1 + usize::from(*length)..).ok_or(Bad::Header)?,
            (_, None) => return Err(Bad::Header),
        };
    }
    Ok(true)
}
