//! Frame formats: one file per protocol, no I/O, no allocation in the timed path, no unsafe.
//!
//! ```text
//! Spec ─ Template::build ─► Template ─ write(n) ─► frame bytes ─ parse::summary ─► Tuple ─► flows, filters
//!                                                      └─ Signature::find ─► Signature ─► loss, order, latency
//! ```
//!
//! A frame here runs from the Ethernet header to the end of the payload, without FCS. Sizes that users type
//! count the FCS ([`FCS`]): a frame size of 64 is 60 bytes here.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod arp;
mod bytes;
pub mod checksum;
pub mod echo;
mod error;
pub mod ethernet;
pub mod extension;
mod finish;
pub mod gre;
pub mod gtpu;
pub mod icmp;
pub mod icmpv6;
pub mod inner;
pub mod ipv4;
pub mod ipv6;
pub mod mpls;
pub mod parse;
pub mod pppoe;
#[cfg(test)]
mod samples;
mod sign;
pub mod signature;
pub mod tcp;
pub mod template;
pub mod udp;
pub mod vlan;
pub mod vxlan;

pub use error::WireError;
pub use finish::{finish, finish_begun, lengths_to_the_end};
pub use parse::{Tuple, summary};
pub use signature::Signature;
pub use template::{Template, Times};

/// Bytes of the frame check sequence: part of a frame's size, not of its bytes here.
pub const FCS: usize = 4;
/// The least frame size of Ethernet, counting the FCS.
pub const LEAST_SIZE: usize = 64;
/// The longest frame size that a template makes, counting the FCS.
pub const LONGEST_SIZE: usize = 65_535;
/// Preamble, start delimiter and the gap between frames, which take time on the wire beside the frame's own
/// size.
pub const PREAMBLE_AND_GAP: usize = 20;
