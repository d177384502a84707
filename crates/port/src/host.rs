//! What the kernel beside a port would do with frames to addresses that are not its own.

use crate::{Address, PortError, PortKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

/// The kernel of the namespace that a port is in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Host {
    /// Addresses, of those asked about, that are its own.
    pub has: Vec<IpAddr>,
    /// It forwards packets that are for others (`net.ipv4.ip_forward`, or the same of IPv6).
    pub forwards: bool,
}

impl Host {
    /// Looks from the namespace that the port's address names. A port that no kernel stands beside has none.
    ///
    /// # Errors
    /// The namespace cannot be entered.
    pub fn beside(address: &Address, asked: &[IpAddr]) -> Result<Self, PortError> {
        let port = address.innermost();
        if matches!(port.kind(), PortKind::Mem | PortKind::Pcap) {
            return Ok(Self::default());
        }
        crate::namespace::within(port, || Ok(Self::here(asked)))
    }

    fn here(asked: &[IpAddr]) -> Self {
        let is_on = |file: &str| {
            std::fs::read_to_string(format!("/proc/sys/net/{file}")).is_ok_and(|text| text.trim() == "1")
        };
        Self {
            has: asked.iter().copied().filter(|address| is_own(*address)).collect(),
            forwards: is_on("ipv4/ip_forward") || is_on("ipv6/conf/all/forwarding"),
        }
    }
}

/// Whether it is an address of this namespace's: then the way to it begins at itself. (Whether a socket can be
/// bound to it says less, as `ip_nonlocal_bind` allows any.) Nothing is sent.
fn is_own(address: IpAddr) -> bool {
    let any: IpAddr = match address {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let begins_at = || {
        let socket = UdpSocket::bind((any, 0))?;
        // Port 9, discard; a connected datagram socket sends nothing.
        socket.connect((address, 9))?;
        socket.local_addr()
    };
    begins_at().is_ok_and(|from: std::net::SocketAddr| from.ip() == address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hosts_own_addresses_are_told_from_others() {
        let asked =
            ["127.0.0.1", "198.51.100.7", "::1", "2001:db8::7"].map(|text| text.parse().expect("one"));
        let port: Address = "packet:lo".parse().expect("an address");
        assert_eq!(Host::beside(&port, &asked).expect("this namespace").has, [asked[0], asked[2]]);
        let alone: Address = "mem:x".parse().expect("an address");
        assert_eq!(Host::beside(&alone, &asked).expect("no kernel"), Host::default());
    }
}
