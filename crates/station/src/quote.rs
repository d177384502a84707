//! ICMP errors: which segment of ours they quote, and what they say of it.
//!
//! ```text
//! ┌────┬────┬────────┬─────┬─────┬─────────────────────┬────────────────────────┐
//! │type│code│checksum│  -  │ MTU │ IP header as we     │ first 8 bytes of the   │
//! │    │    │        │     │     │ sent it             │ segment: ports, seq    │
//! └────┴────┴────────┴─────┴─────┴─────────────────────┴────────────────────────┘
//! ```

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::{ipv4, ipv6, tcp};

/// An ICMP error about a segment of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quoted {
    /// Our address and port.
    pub local: (IpAddr, u16),
    pub remote: (IpAddr, u16),
    /// The segment's sequence number.
    pub seq: u32,
    pub what: What,
}

/// What it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The target, its protocol or its port cannot be reached. Hard: protocol or port (RFC 1122 §4.2.3.9).
    Unreachable { hard: bool },
    /// The path takes IP packets of at most this length.
    Mtu { mtu: u16 },
}

/// What routers say that do not say their MTU (RFC 1191 §7.1).
const PLATEAUS: [u16; 10] = [32_000, 17_914, 8_166, 4_352, 2_002, 1_492, 1_006, 508, 296, 68];
/// RFC 791, RFC 8200 §5.
const LEAST_V4: u16 = 68;
const LEAST_V6: u16 = 1_280;

/// `None` if the message is no error; `Some(None)` if it quotes no whole beginning of a TCP segment.
pub(crate) fn v4(message: &[u8]) -> Option<Option<Quoted>> {
    let (kind, code) = (message[0], message[1]);
    let what = match (kind, code) {
        (3, 4) => What::Mtu { mtu: u16::from_be_bytes([message[6], message[7]]) },
        (3, _) => What::Unreachable { hard: matches!(code, 2 | 3) },
        (11 | 12, _) => What::Unreachable { hard: false },
        _ => return None,
    };
    Some(quoted_v4(&message[8..], what))
}

fn quoted_v4(quote: &[u8], what: What) -> Option<Quoted> {
    let head = quote.first_chunk::<{ ipv4::LENGTH }>()?;
    let length = usize::from(head[ipv4::field::VERSION] & 0x0f) * 4;
    let is_first = u16::from_be_bytes([head[6], head[7]]) & 0x1fff == 0;
    let is_tcp = head[ipv4::field::PROTOCOL] == tcp::PROTOCOL;
    if head[ipv4::field::VERSION] >> 4 != 4 || length < ipv4::LENGTH || !is_first || !is_tcp {
        return None;
    }
    let what = match what {
        What::Mtu { mtu } => {
            let sent = u16::from_be_bytes([head[2], head[3]]);
            let below = PLATEAUS.iter().copied().find(|plateau| *plateau < sent).unwrap_or(LEAST_V4);
            What::Mtu { mtu: if mtu == 0 { below } else { mtu.max(LEAST_V4) } }
        }
        other => other,
    };
    let address = |at: usize| Ipv4Addr::new(head[at], head[at + 1], head[at + 2], head[at + 3]).into();
    of(address(12), address(16), quote.get(length..)?, what)
}

/// As [`v4`].
pub(crate) fn v6(message: &[u8]) -> Option<Option<Quoted>> {
    let (kind, code) = (message[0], message[1]);
    let what = match kind {
        1 => What::Unreachable { hard: code == 4 },
        2 => {
            let mtu = u32::from_be_bytes([message[4], message[5], message[6], message[7]]);
            What::Mtu { mtu: mtu.clamp(u32::from(LEAST_V6), u32::from(u16::MAX)) as u16 }
        }
        3 => What::Unreachable { hard: false },
        // Next header not known: the target has no TCP.
        4 => What::Unreachable { hard: code == 1 },
        _ => return None,
    };
    Some(quoted_v6(&message[8..], what))
}

fn quoted_v6(quote: &[u8], what: What) -> Option<Quoted> {
    let head = quote.first_chunk::<{ ipv6::LENGTH }>()?;
    if head[0] >> 4 != 6 || head[ipv6::field::NEXT] != tcp::PROTOCOL {
        return None;
    }
    let address = |at: usize| head[at..].first_chunk::<16>().map(|octets| Ipv6Addr::from(*octets).into());
    of(address(8)?, address(24)?, &quote[ipv6::LENGTH..], what)
}

fn of(source: IpAddr, destination: IpAddr, segment: &[u8], what: What) -> Option<Quoted> {
    let [a, b, c, d, seq @ ..] = *segment.first_chunk::<8>()?;
    Some(Quoted {
        local: (source, u16::from_be_bytes([a, b])),
        remote: (destination, u16::from_be_bytes([c, d])),
        seq: u32::from_be_bytes(seq),
        what,
    })
}
