//! Addresses of our own on a port, which the kernel does not have: who has them is answered here, and who has
//! others is asked here.
//!
//! ```text
//!  "packet:eth1,ip=198.18.0.10-25/24" ─► Via ─ Link::of(port) ─► Station
//!
//!  port ─ receive ─► Station::take ─┬► Taken::Tcp    a checked segment for the owner
//!                                   ├► Taken::Icmp   an error that quotes a segment of ours
//!                                   └► Outbox        replies to ARP, NDP and echo ─┐
//!  owner ─ Station::route ─► MAC address, or a question in the Outbox ────────────┼─ transmit ─► port
//!        └ Station::head ──► Head: Ethernet and IP header of a segment ───────────┘
//! ```
//!
//! No I/O and no clock: frames are handed in, replies lie in an [`Outbox`], time is an argument. A station
//! answers only those who ask it. It learns MAC addresses from replies to its own questions and from requests
//! to it.

#![forbid(unsafe_code)]

mod answer;
mod bytes;
mod counters;
mod error;
mod extension;
mod head;
mod limiter;
mod link;
mod neighbours;
mod outbox;
mod probe;
mod quote;
mod range;
mod station;
mod take;
mod via;

pub use counters::{Bad, Counters};
pub use error::StationError;
pub use head::{Head, LONGEST_HEAD};
pub use link::Link;
pub use neighbours::{Route, Silent, Unreachable};
pub use outbox::Outbox;
pub use probe::Probing;
pub use quote::{Quoted, What};
pub use range::{Addresses, MOST_ADDRESSES};
pub use station::{Family, Station};
pub use take::{Segment, Taken};
pub use via::Via;
pub use wire::ethernet::Mac;
