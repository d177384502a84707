//! Firewall rules, and the decision that they make for a frame: the same in user space and in an XDP program.
//!
//! ```text
//! rules.txt ─ Rules::parse ─► Rules ─ Firewall::compile ─► Firewall ─ decide(frame) ─► Decision
//!                                                              │ image (tables of u64)
//!                                                              └──► xdp: the same tables in the kernel
//! ```
//!
//! The first rule that matches decides. A frame that is neither IPv4 nor IPv6 (ARP, LLDP…) is decided by the
//! line `other`, an IP packet that no rule matches by the line `default`; both are `pass` if they are not
//! written. A frame in which an IP packet may be that no rule can look at (a third VLAN tag, MPLS, PPPoE…) is
//! decided by `default` as well. A frame whose headers are cut off, contradict themselves or have no end is
//! dropped as malformed. Fragments but the first have no ports: rules that name ports do not match them, all
//! others do.

#![forbid(unsafe_code)]

mod compile;
mod error;
mod fields;
mod firewall;
mod hits;
mod rule;
mod shared;
mod text;
pub mod xdp;

pub use error::{CompileError, RuleError};
pub use fields::{Fields, Tail, V4, V6};
pub use firewall::{Cost, Decision, Firewall, Judge};
pub use hits::{Hit, Hits};
pub use rule::{Action, Ports, Prefix, Protocol, Rule, Rules};
pub use shared::{Shared, View};
