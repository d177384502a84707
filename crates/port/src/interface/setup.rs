//! How an interface is set up: what its driver merges and splits, how many frames its rings hold, how long it
//! waits before an interrupt, what queues before it, and what it can do for XDP. Asked without changing or
//! opening anything.

use super::Interface;
use super::ethtool::Ethtool;
use super::features;
pub use super::features::XdpFeatures;

/// Everything that the kernel tells; what a driver does not have is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InterfaceSetup {
    /// `gro` → on, by ethtool's short names; only those that the driver tells.
    pub offloads: Vec<(&'static str, bool)>,
    pub rings: Option<Rings>,
    pub coalescing: Option<Coalescing>,
    /// Frames that the queueing discipline holds (`txqueuelen`), and its kind (`noqueue`, `fq_codel`).
    pub queue_length: Option<u32>,
    pub qdisc: Option<String>,
    /// Since Linux 6.3.
    pub xdp: Option<XdpFeatures>,
}

/// Frames that each of the card's rings holds, and could.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rings {
    pub receive: u32,
    pub receive_most: u32,
    pub transmit: u32,
    pub transmit_most: u32,
}

/// How long the card gathers before it interrupts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coalescing {
    pub receive_us: u32,
    pub receive_frames: u32,
    pub transmit_us: u32,
    pub is_adaptive: bool,
}

impl Interface {
    /// How it is set up now.
    pub fn setup(&self) -> InterfaceSetup {
        let ask = Ethtool::new(&self.netlink, &self.name);
        let (queue_length, qdisc) = self.netlink.queueing(self.index).unwrap_or_default();
        InterfaceSetup {
            offloads: ask.offloads(),
            rings: ask.rings(),
            coalescing: ask.coalescing(),
            queue_length,
            qdisc,
            xdp: features::of(self.index).ok(),
        }
    }
}
