//! What stands before each segment of a connection: Ethernet and IP header, ready but for the lengths.
//!
//! ```text
//! ┌──────────┬─────┬────────────┬──────────────────────────┐
//! │ Ethernet │ tag │ IPv4, IPv6 │ TCP header and payload   │
//! └──────────┴─────┴────────────┴──────────────────────────┘
//! └────── Head::write ──────────┘└─ the owner, checksum 0 ─┘
//!   Head::finish: total or payload length, IPv4's checksum, TCP's checksum
//! ```
//!
//! Sums of what does not change are kept: IPv4's header without its length, and the pseudo-header without its
//! length.

use crate::bytes::put_half;
use std::net::IpAddr;
use wire::ethernet::{self, Mac};
use wire::parse::{ETHERTYPE_IPV4, ETHERTYPE_IPV6, ETHERTYPE_VLAN};
use wire::{checksum, ipv4, ipv6, tcp, vlan};

/// Bytes of the longest one: Ethernet, a tag, IPv6.
pub const LONGEST_HEAD: usize = ethernet::LENGTH + vlan::LENGTH + ipv6::LENGTH;
const TTL: u8 = 64;

/// The headers before segments from one address to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    bytes: [u8; LONGEST_HEAD],
    length: u8,
    /// Where the IP header begins.
    network: u8,
    is_v4: bool,
    /// Of the IPv4 header without its length.
    ip_sum: u16,
    /// Of the pseudo-header without its length.
    pseudo_sum: u16,
}

impl Head {
    /// `None` for addresses of two families.
    pub(crate) fn new(from: (Mac, IpAddr), to: (Mac, IpAddr), tag: Option<u16>) -> Option<Self> {
        let mut bytes = [0; LONGEST_HEAD];
        let ethertype = if from.1.is_ipv4() { ETHERTYPE_IPV4 } else { ETHERTYPE_IPV6 };
        let network = put_link(&mut bytes, from.0, to.0, tag, ethertype);
        let ip = &mut bytes[network..];
        let (length, protocol) = (network + ip_length(from.1), u64::from(tcp::PROTOCOL));
        match (from.1, to.1) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                ip[ipv4::field::VERSION] = 0x45;
                // Never fragmented, so that an identification says nothing (RFC 6864 §4.1).
                put_half(ip, ipv4::field::FRAGMENT, 0x4000);
                ip[ipv4::field::TTL] = TTL;
                ip[ipv4::field::PROTOCOL] = tcp::PROTOCOL;
                ip[ipv4::field::SOURCE].copy_from_slice(&source.octets());
                ip[ipv4::field::DESTINATION].copy_from_slice(&destination.octets());
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => {
                ip[ipv6::field::FLOW] = 0x60;
                ip[ipv6::field::NEXT] = tcp::PROTOCOL;
                ip[ipv6::field::HOPS] = TTL;
                ip[ipv6::field::SOURCE].copy_from_slice(&source.octets());
                ip[ipv6::field::DESTINATION].copy_from_slice(&destination.octets());
            }
            _ => return None,
        }
        let is_v4 = from.1.is_ipv4();
        let addresses = &ip[if is_v4 { 12..20 } else { 8..40 }];
        let pseudo_sum = checksum::fold(checksum::sum(addresses) + protocol);
        let ip_sum = if is_v4 { checksum::fold(checksum::sum(&ip[..ipv4::LENGTH])) } else { 0 };
        Some(Self { bytes, length: length as u8, network: network as u8, is_v4, ip_sum, pseudo_sum })
    }

    /// Where the segment begins.
    #[inline]
    pub const fn length(&self) -> usize {
        self.length as usize
    }

    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length()]
    }

    /// The sum of the pseudo-header without its length, for who sums a segment on the way.
    #[inline]
    pub const fn pseudo_sum(&self) -> u16 {
        self.pseudo_sum
    }

    /// Writes the head at the beginning of a frame.
    ///
    /// # Panics
    /// If the frame has less room than [`Self::length`].
    #[inline]
    pub fn write(&self, frame: &mut [u8]) {
        frame[..self.length()].copy_from_slice(self.bytes());
    }

    /// Fills in what depends on the segment of `segment` bytes that stands behind the head, with a checksum
    /// of 0. Returns the length of the frame.
    ///
    /// # Panics
    /// If head and segment are longer than the frame, or the segment shorter than a TCP header.
    #[inline]
    pub fn finish(&self, frame: &mut [u8], segment: usize) -> usize {
        let sum = checksum::sum(&frame[self.length()..self.length() + segment]);
        self.finish_with(frame, segment, sum)
    }

    /// The same where the sum of the segment's 16-bit words is known.
    ///
    /// # Panics
    /// As [`Self::finish`].
    #[inline]
    pub fn finish_with(&self, frame: &mut [u8], segment: usize, sum: u64) -> usize {
        let (network, start) = (usize::from(self.network), self.length());
        let frame = &mut frame[..start + segment];
        if self.is_v4 {
            let total = segment + ipv4::LENGTH;
            put_half(frame, network + ipv4::field::LENGTH, total as u16);
            let check = checksum::finish(u64::from(self.ip_sum) + total as u64);
            put_half(frame, network + ipv4::field::CHECKSUM, check);
        } else {
            put_half(frame, network + ipv6::field::LENGTH, segment as u16);
        }
        let check = checksum::finish(sum + u64::from(self.pseudo_sum) + segment as u64);
        put_half(frame, start + tcp::field::CHECKSUM, check);
        start + segment
    }
}

fn ip_length(address: IpAddr) -> usize {
    if address.is_ipv4() { ipv4::LENGTH } else { ipv6::LENGTH }
}

/// Bytes of the Ethernet header, with or without a tag.
pub(crate) const fn link_length(tag: Option<u16>) -> usize {
    ethernet::LENGTH + if tag.is_some() { vlan::LENGTH } else { 0 }
}

/// Writes the Ethernet header and says how long it is.
pub(crate) fn put_link(frame: &mut [u8], from: Mac, to: Mac, tag: Option<u16>, ethertype: u16) -> usize {
    frame[ethernet::field::DESTINATION].copy_from_slice(&to.0);
    frame[ethernet::field::SOURCE].copy_from_slice(&from.0);
    match tag {
        None => put_half(frame, ethernet::field::ETHERTYPE, ethertype),
        Some(tag) => {
            put_half(frame, ethernet::field::ETHERTYPE, ETHERTYPE_VLAN);
            put_half(frame, ethernet::LENGTH, tag);
            put_half(frame, ethernet::LENGTH + 2, ethertype);
        }
    }
    link_length(tag)
}

#[cfg(test)]
mod tests;
