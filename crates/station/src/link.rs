//! Which MAC address and MTU a station has on an open port, and why.

use crate::{StationError, Via};
use port::{About, Address, PortKind};
use wire::ethernet::{self, Mac};
use wire::vlan;

/// The least MTU: RFC 791 (every host takes 576 bytes), RFC 8200 §5.
const LEAST_V4: usize = 576;
const LEAST_V6: usize = 1280;

/// How the station is on the link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    pub mac: Mac,
    /// Why this MAC address, for the result.
    pub why_mac: &'static str,
    /// Bytes of the longest IP packet.
    pub mtu: usize,
}

impl Link {
    /// On a port that is open.
    ///
    /// # Errors
    /// `LongMtu`, `ShortMtu`, `NoMac`.
    pub fn of(via: &Via, about: &About) -> Result<Self, StationError> {
        let (mac, why_mac) = mac(via, about)?;
        let tag = if via.vlan.is_some() && !about.can.tag_over_mtu { vlan::LENGTH } else { 0 };
        let most = about.longest.saturating_sub(ethernet::LENGTH + tag);
        let mtu = via.mtu.map_or(most.min(usize::from(u16::MAX)), usize::from);
        let port = || about.name.clone();
        if mtu > most {
            return Err(StationError::LongMtu { mtu, most, port: port() });
        }
        for (range, least, family) in [(via.v4, LEAST_V4, "IPv4"), (via.v6, LEAST_V6, "IPv6")] {
            if range.is_some() && mtu < least {
                return Err(StationError::ShortMtu { mtu, least, port: port(), family });
            }
        }
        Ok(Self { mac, why_mac, mtu })
    }
}

fn mac(via: &Via, about: &About) -> Result<(Mac, &'static str), StationError> {
    if via.shared {
        let no_mac = || {
            let advice = "addresses of this host cannot be shared there";
            StationError::NoMac { port: about.name.clone(), advice }
        };
        return Ok((Mac(about.mac.ok_or_else(no_mac)?), "the interface's own, like its addresses"));
    }
    if let Some(mac) = via.mac {
        return Ok((mac, "as given"));
    }
    // Behind `auto` there is the port that was chosen.
    let opened = about.name.parse::<Address>().unwrap_or_else(|_| via.port.clone());
    let port = opened.innermost();
    let why = match port.kind() {
        PortKind::Xdp | PortKind::Live => {
            "the interface's own: without promiscuous mode, a network card passes no others to an XDP program"
        }
        PortKind::Packet if port.option("promiscuous") == Some("no") => {
            "the interface's own: promiscuous=no receives no others"
        }
        _ => {
            return Ok((via.derived_mac(), "from the first own address: the kernel answers no frame to it"));
        }
    };
    match about.mac {
        Some(mac) => Ok((Mac(mac), why)),
        None => {
            let advice = "write mac=02:00:00:00:00:01";
            Err(StationError::NoMac { port: about.name.clone(), advice })
        }
    }
}
