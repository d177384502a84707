//! Which way datagrams to a peer take, by rtnetlink (rtnetlink(7), RTM_GETROUTE): what `ip route get` prints.

use super::netlink::{Netlink, ONE};
use super::rtnetlink::read_u32;
use std::io;
use std::net::{IpAddr, SocketAddr};

/// struct rtmsg: family, lengths of destination and source, tos, table, protocol, scope, type (at 7), flags.
const HEAD: usize = 12;
/// RTA_IP_PROTO, RTA_SPORT, RTA_DPORT: by them a route of several hops chooses.
const PROTOCOL: u16 = 27;
const SOURCE_PORT: u16 = 28;
const PORT: u16 = 29;

/// Where a route leads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Route {
    /// RTN_UNICAST, RTN_BROADCAST, …
    pub kind: u8,
    /// Index of the interface.
    pub interface: u32,
}

/// The way of UDP from `own` (any, if not specified) to `peer`.
///
/// # Errors
/// What sending would fail with: EINVAL for a blackhole, EACCES where it is prohibited.
pub fn towards(netlink: &Netlink, own: SocketAddr, peer: SocketAddr) -> io::Result<Route> {
    let mut found = Route::default();
    netlink.ask(libc::RTM_GETROUTE, &question(own, peer), ONE, |answer| {
        if answer.kind == libc::RTM_NEWROUTE {
            found.kind = answer.byte(7);
            let out = answer.attributes(HEAD).find(|(kind, _)| *kind == libc::RTA_OIF);
            found.interface = out.map_or(0, |(_, value)| read_u32(value, 0));
        }
    })?;
    Ok(found)
}

fn question(own: SocketAddr, peer: SocketAddr) -> Vec<u8> {
    let octets = |ip: IpAddr| match ip {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    };
    let (to, from) = (octets(peer.ip()), octets(own.ip()));
    let family = if peer.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    let mut bytes = vec![0; HEAD];
    (bytes[0], bytes[1]) = (family as u8, 8 * to.len() as u8);
    attribute(&mut bytes, libc::RTA_DST, &to);
    if !own.ip().is_unspecified() {
        bytes[2] = 8 * from.len() as u8;
        attribute(&mut bytes, libc::RTA_SRC, &from);
    }
    attribute(&mut bytes, PROTOCOL, &[libc::IPPROTO_UDP as u8]);
    if own.port() > 0 {
        attribute(&mut bytes, SOURCE_PORT, &own.port().to_be_bytes());
    }
    attribute(&mut bytes, PORT, &peer.port().to_be_bytes());
    bytes
}

/// Length, kind, value, padding to four bytes.
fn attribute(bytes: &mut Vec<u8>, kind: u16, value: &[u8]) {
    bytes.extend((4 + value.len() as u16).to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_to_this_host_is_the_loopback_interface() {
        let netlink = Netlink::open().unwrap();
        let lo = super::super::Interface::find("lo").unwrap().index;
        let peer: SocketAddr = "127.0.0.1:9".parse().unwrap();
        for own in ["0.0.0.0:0", "127.0.0.1:1024"] {
            let route = towards(&netlink, own.parse().unwrap(), peer).unwrap();
            assert_eq!(route, Route { kind: libc::RTN_LOCAL, interface: lo });
        }
    }
}
