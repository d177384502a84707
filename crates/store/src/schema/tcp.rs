//! Runs past the kernel (`--via`): where their connections were, and what their TCP did.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The port that connections went through, and who they were there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Via {
    /// As it opened, with what it chose.
    pub port: String,
    pub addresses: Vec<String>,
    pub mac: String,
    /// Why this MAC address.
    pub mac_reason: String,
    /// Bytes of the longest IP packet.
    pub mtu: u64,
    /// `fast` or `general`; empty for sessions of a module, which have no other.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// Why this path.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub path_reason: String,
}

/// A way in which this TCP is not a kernel's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Deviation {
    pub name: String,
    pub means: String,
}

macro_rules! tcp {
    ($($name:ident,)+) => {
        /// What the connections' TCP did, warm-up included. The counts have the names of crate `session`.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct Tcp {
            $(pub $name: u64,)+
            /// What the station beside them counted: ARP and neighbour discovery, echoes, frames of others.
            pub station: BTreeMap<String, u64>,
            /// Frames to our addresses that were not used, by cause.
            pub bad_frames: BTreeMap<String, u64>,
            /// Frames that the port lost, by place.
            pub lost_frames: BTreeMap<String, u64>,
            /// Faults that the port was asked for.
            pub faults: BTreeMap<String, u64>,
            pub deviations: Vec<Deviation>,
        }

        impl Tcp {
            /// Sets the count of this name; whether there is one.
            pub fn set(&mut self, name: &str, count: u64) -> bool {
                let place = match name {
                    $(stringify!($name) => &mut self.$name,)+
                    _ => return false,
                };
                *place = count;
                true
            }
        }
    };
}

tcp! {
    opened, connected, segments_in, segments_out, retransmitted, slow, resets_in, refused, timed_out,
    challenges, challenges_held, out_of_order, too_many_holes, window_stalls, window_probes, stray, unusable,
    bad_options, icmp, mss_lowered, quarantined, no_port, waited_for_room, unsent,
}
