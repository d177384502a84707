//! The kernel beside the port: whose the addresses are, and which frames and ports are ours.
//!
//! Addresses are nobody's, unless the user shares the host's own (`--share-address`). Then a block of their
//! ports is kept from the kernel, and only segments to these ports are ours.

use crate::sessions::SessionError;
use crate::table::PORTS;
use port::{Address, Host, Match, Port, PortKind, Reserved, Wish};
use station::Via;
use std::net::IpAddr;
use std::ops::RangeInclusive;

/// What the kernel beside a port leaves to us.
pub(crate) struct Beside {
    /// It forwards packets for others.
    pub forwards: bool,
    reserved: Option<Reserved>,
}

impl Beside {
    /// Looks whose the addresses of `via` are. Nothing is sent.
    pub fn look(via: &Via, share: bool) -> Result<Self, SessionError> {
        let addresses: Vec<IpAddr> = via.ranges().flat_map(|range| range.iter()).collect();
        let port = via.port.innermost();
        if port.kind() == PortKind::Fpga && port.place() == "sim" {
            return Err(SessionError::Simulated);
        }
        let host = Host::beside(&via.port, &addresses)?;
        let foreign = addresses.iter().copied().find(|address| !host.has.contains(address));
        let reserved = match (host.has.first().copied(), foreign) {
            (None, _) if !share => None,
            (Some(address), _) if !share => return Err(SessionError::OfThisHost { address }),
            (_, Some(address)) => return Err(SessionError::NotOfThisHost { address }),
            _ if !matches!(port.kind(), PortKind::Packet | PortKind::Xdp) => {
                return Err(SessionError::CannotShare { port: via.port.to_string() });
            }
            _ if via.mac.is_some() => return Err(SessionError::MacOfHost),
            _ => Some(Reserved::beside(&via.port, &addresses)?),
        };
        Ok(Self { forwards: host.forwards, reserved })
    }

    /// The ports that connections leave from.
    pub fn ports(&self) -> RangeInclusive<u16> {
        self.reserved.as_ref().map_or(PORTS, Reserved::ports)
    }

    pub fn is_shared(&self) -> bool {
        self.reserved.is_some()
    }

    /// The frames that the port shall take. An XDP program takes them away from the kernel: there it may only
    /// be segments.
    pub fn ours(&self, via: &Via) -> Match {
        let own = via.ours();
        match &self.reserved {
            None => own,
            Some(reserved) if takes_away(via) => own.tcp_ports(reserved.ports()).segments_only(),
            Some(reserved) => own.tcp_ports(reserved.ports()),
        }
    }

    /// A second port, where the first one takes nothing but segments: it hears who the neighbours are, and
    /// ICMP, beside the kernel.
    pub fn ear(&self, via: &Via) -> Result<Option<Box<dyn Port>>, SessionError> {
        let xdp = via.port.innermost();
        let Some(interface) = xdp.interface().filter(|_| self.is_shared() && takes_away(via)) else {
            return Ok(None);
        };
        let mut packet = Address::new(PortKind::Packet, interface);
        if let Some(namespace) = xdp.namespace() {
            packet = packet.with("netns", namespace);
        }
        // No connection has port 0.
        let wish = Wish { ours: Some(via.ours().tcp_ports(0..=0)), ..Wish::receive() };
        Ok(Some(port::open(&packet, &wish)?))
    }
}

fn takes_away(via: &Via) -> bool {
    via.port.innermost().kind() == PortKind::Xdp
}
