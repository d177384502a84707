//! Which of an interface's frames are ours, where the host's own stack goes on beside us: for own addresses
//! that the kernel does not have.
//!
//! ```text
//!  frame ─┬ ARP whose target or sender is an own address          ┐
//!         ├ IPv4 or IPv6 to an own address (TCP: to these ports)  ├─► ours
//!         ├ neighbour discovery about an own address              ┘
//!         └ everything else ─► the host's own stack
//! ```
//!
//! One meaning, three forms: [`Match::takes`] for programs, an XDP program for `xdp`, and classic BPF for
//! `packet`. With XDP the stack gets what is not ours, and that alone; beside AF_PACKET it sees all frames.

mod classic;
mod xdp;

use crate::Instruction;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;

/// Ethernet's header, and a tag.
const ETHERNET: usize = 14;
const TAG: usize = 4;
const IPV4: u16 = 0x0800;
const ARP: u16 = 0x0806;
const VLAN: u16 = 0x8100;
const IPV6: u16 = 0x86dd;
const TCP: u8 = 6;
const ICMPV6: u8 = 58;
/// Neighbour solicitation and advertisement.
const DISCOVERY: RangeInclusive<u8> = 135..=136;

/// Frames that are ours.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Match {
    v4: Option<RangeInclusive<u32>>,
    /// The first 96 bits, and the range of the last 32.
    v6: Option<([u32; 3], RangeInclusive<u32>)>,
    ports: RangeInclusive<u16>,
    /// Nothing but TCP is ours: the host has the addresses, too.
    segments_only: bool,
    vlan: Option<u16>,
}

impl Match {
    /// No addresses yet; all ports.
    pub const fn new(vlan: Option<u16>) -> Self {
        Self { v4: None, v6: None, ports: 0..=u16::MAX, segments_only: false, vlan }
    }

    /// With these addresses.
    #[must_use]
    pub fn v4(self, own: RangeInclusive<Ipv4Addr>) -> Self {
        Self { v4: Some(u32::from(*own.start())..=u32::from(*own.end())), ..self }
    }

    /// With these addresses; `None` if they differ in their first 96 bits.
    pub fn v6(self, own: RangeInclusive<Ipv6Addr>) -> Option<Self> {
        let [first, last] = [own.start(), own.end()].map(|address| words(address.octets()));
        let ([a, b, c, from], [d, e, f, to]) = (first, last);
        ([a, b, c] == [d, e, f]).then_some(Self { v6: Some(([a, b, c], from..=to)), ..self })
    }

    /// Of TCP only what goes to these ports of the own addresses.
    #[must_use]
    pub fn tcp_ports(self, ports: RangeInclusive<u16>) -> Self {
        Self { ports, ..self }
    }

    /// Only TCP: ARP, neighbour discovery, ICMP and all else stay the host's, which has the addresses, too.
    #[must_use]
    pub fn segments_only(self) -> Self {
        Self { segments_only: true, ..self }
    }

    /// Where the network header begins.
    fn network(&self) -> usize {
        ETHERNET + if self.vlan.is_some() { TAG } else { 0 }
    }

    fn has_all_ports(&self) -> bool {
        self.ports == (0..=u16::MAX)
    }

    /// The same as classic BPF, for [`crate::Port::filter`].
    pub fn program(&self) -> Vec<Instruction> {
        classic::program(self)
    }

    /// Whether a frame is ours, with its tag in it.
    pub fn takes(&self, frame: &[u8]) -> bool {
        self.looks(frame).unwrap_or(false)
    }

    fn looks(&self, frame: &[u8]) -> Option<bool> {
        let at = self.network();
        if let Some(own) = self.vlan
            && (half(frame, 12)? != VLAN || half(frame, 14)? & 0x0fff != own)
        {
            return Some(false);
        }
        match (half(frame, at - 2)?, &self.v4, &self.v6) {
            (ARP, Some(own), _) if !self.segments_only => {
                frame.get(..at + 28)?;
                Some(own.contains(&word(frame, at + 24)?) || own.contains(&word(frame, at + 14)?))
            }
            (IPV4, Some(own), _) => {
                frame.get(..at + 20)?;
                let is_first = half(frame, at + 6)? & 0x1fff == 0;
                let header = usize::from(frame[at] & 0x0f) * 4;
                Some(
                    own.contains(&word(frame, at + 16)?) && {
                        let is_segment = frame[at + 9] == TCP && is_first;
                        match is_segment {
                            true => self.has_port(frame, at + header + 2)?,
                            false => !self.segments_only,
                        }
                    },
                )
            }
            (IPV6, _, Some(_)) => {
                frame.get(..at + 40)?;
                let next = frame[at + 6];
                if self.has_v6(frame, at + 24)? {
                    return Some(match next {
                        TCP => self.has_port(frame, at + 42)?,
                        _ => !self.segments_only,
                    });
                }
                if self.segments_only {
                    return Some(false);
                }
                frame.get(..at + 64)?;
                Some(next == ICMPV6 && DISCOVERY.contains(&frame[at + 40]) && self.has_v6(frame, at + 48)?)
            }
            _ => Some(false),
        }
    }

    /// Of a segment whose port stands there. With all ports it may be cut off before that, as long as it need
    /// not be a whole segment.
    fn has_port(&self, frame: &[u8], at: usize) -> Option<bool> {
        let any = self.has_all_ports() && !self.segments_only;
        Some(any || self.ports.contains(&half(frame, at)?))
    }

    fn has_v6(&self, frame: &[u8], at: usize) -> Option<bool> {
        let [a, b, c, last] = words(*frame.get(at..)?.first_chunk::<16>()?);
        Some(self.v6.as_ref().is_some_and(|(prefix, own)| *prefix == [a, b, c] && own.contains(&last)))
    }
}

fn words(octets: [u8; 16]) -> [u32; 4] {
    let (words, _) = octets.as_chunks::<4>();
    [0, 1, 2, 3].map(|at| u32::from_be_bytes(words[at]))
}

fn half(frame: &[u8], at: usize) -> Option<u16> {
    frame.get(at..)?.first_chunk::<2>().map(|bytes| u16::from_be_bytes(*bytes))
}

fn word(frame: &[u8], at: usize) -> Option<u32> {
    frame.get(at..)?.first_chunk::<4>().map(|bytes| u32::from_be_bytes(*bytes))
}

#[cfg(test)]
mod tests;
