//! What a port says of itself: what it can do, and why not more.

use crate::error::Why;
use crate::{Address, PortKind};
use std::fmt;
use units::Picos;

/// No frame of a plan is longer (a size of 65 535 with its FCS): for ports of which it is not known yet.
pub(crate) const LONGEST_OF_ALL: usize = 65_535;

/// What a port is and can do. Fixed once it is open, but for `up`, which [`crate::Port::is_up`] tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// The address that opens it again: `packet:veth0`, `mem:a`, `pcap:in.pcapng`.
    pub name: String,
    /// `mem`, `pcap`, `packet`, `xdp`, `live`, `dpdk`, `udp`, `tap`.
    pub kind: &'static str,
    /// Name of the network interface, if there is one.
    pub interface: Option<String>,
    /// Its MAC address, where it has one.
    pub mac: Option<[u8; 6]>,
    /// Longest frame that may leave, Ethernet header included, FCS not: the interface's MTU + 14. One with an
    /// 802.1Q tag may be four bytes longer on some ports ([`Self::longest_like`]).
    pub longest: usize,
    /// Speed of the link in bits/s, where the driver tells it.
    pub speed_bps: Option<u64>,
    pub can: Abilities,
    /// Index of the queue that this port uses, and how many the interface has.
    pub queue: u32,
    pub queues: u32,
    /// What was tried first and refused, what was chosen and why: a row each, for the result.
    pub choices: Vec<Choice>,
}

impl About {
    /// Longest frame that may leave if it begins like `data`.
    #[inline]
    pub fn longest_like(&self, data: &[u8]) -> usize {
        let tag = if self.can.tag_over_mtu && is_tagged(data) { 4 } else { 0 };
        self.longest + tag
    }

    /// A plain port to the same interface, in the same namespace, for what has to be asked or answered beside
    /// the load.
    pub fn beside(&self) -> Option<Address> {
        let plain = Address::new(PortKind::Packet, self.interface.as_deref()?);
        let own = self.name.parse::<Address>().ok();
        let namespace = own.as_ref().and_then(|own| own.innermost().namespace());
        Some(match namespace {
            Some(name) => plain.with("netns", name),
            None => plain,
        })
    }
}

/// What a port can do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Abilities {
    pub transmit: bool,
    pub receive: bool,
    /// Most frames that one call takes.
    pub batch: usize,
    /// Who stamps received frames; `None`: nobody, the time of the call is all there is.
    pub stamps: Option<StampedBy>,
    /// Frames may leave at a time given with each, kept by the device.
    pub launch_time: bool,
    /// Frames are handed over without a copy.
    pub zero_copy: bool,
    /// A frame with an 802.1Q tag may be four bytes longer than [`About::longest`].
    pub tag_over_mtu: bool,
    /// Frames may be kept on purpose for so long after they were taken: who flushes at the end waits longer by
    /// that.
    pub holds: Picos,
}

/// Whether a frame has an 802.1Q tag, for which the kernel allows four bytes on top of the MTU (to no other
/// tag).
#[inline]
pub(crate) fn is_tagged(data: &[u8]) -> bool {
    data.get(12..14) == Some(&[0x81, 0x00])
}

/// One decision that was taken while opening.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// `port`, `mode`, `stamps`, `launch time`.
    pub what: &'static str,
    pub chosen: String,
    pub why: Why,
}

/// Who stamped a frame, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StampedBy {
    /// The network card, when the frame passed its MAC.
    Hardware,
    /// The kernel, when the driver handed the frame over.
    Driver,
    /// A program (this one, or the file's writer), when it got round to it.
    Software,
}

impl StampedBy {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hardware => "hardware",
            Self::Driver => "driver",
            Self::Software => "software",
        }
    }
}

impl fmt::Display for StampedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_beside_is_in_the_same_namespace() {
        let beside = |name: &str| {
            let about =
                About { name: name.to_owned(), interface: Some("sink0".to_owned()), ..About::default() };
            about.beside().unwrap().to_string()
        };
        assert_eq!(beside("xdp,mode=copy,netns=lab-sink:sink0"), "packet,netns=lab-sink:sink0");
        assert_eq!(beside("fault,drop=1%:packet,netns=lab-sink:sink0"), "packet,netns=lab-sink:sink0");
        assert_eq!(beside("live:sink0"), "packet:sink0");
        assert_eq!(About::default().beside(), None);
    }
}
