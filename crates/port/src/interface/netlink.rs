//! Links and their counters by rtnetlink (RFC 3549; linux/rtnetlink.h): requests are one datagram, answers a
//! few.

use super::Statistics;
use super::ethtool::{Queues, with_request};
use super::rtnetlink::{Attributes, Message, read_u32, request};
use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// A socket of the namespace in which it was opened.
#[derive(Debug)]
pub struct Netlink {
    socket: OwnedFd,
}

/// What netlink tells of one interface.
#[derive(Debug)]
pub struct LinkFacts {
    pub index: u32,
    pub name: String,
    pub mac: Option<[u8; 6]>,
    pub mtu: u32,
    pub is_ethernet: bool,
    pub is_loopback: bool,
    pub queues: Queues,
    /// Index of the bridge, bond or VRF that it belongs to.
    pub master: Option<u32>,
    /// Index of the interface of this namespace that it lies on, as a VLAN does. (A veth tells its other end's
    /// number in the same place, and lies on nothing.)
    pub below: Option<u32>,
}

/// Asks for all there are.
const DUMP: u16 = ONE | libc::NLM_F_DUMP as u16;
/// Asks for the one that is named.
pub(super) const ONE: u16 = libc::NLM_F_REQUEST as u16;
/// struct ifinfomsg: family, kind of link (at 2), index (4), flags (8), mask.
const LINK_HEAD: usize = 16;
/// Within `IFLA_XDP` (linux/if_link.h).
const IFLA_XDP_ATTACHED: u16 = 2;
const IFLA_XDP_PROG_ID: u16 = 4;
const XDP_ATTACHED_DRV: u8 = 1;
/// How often the link was lost (linux/if_link.h, since Linux 4.16).
const IFLA_CARRIER_DOWN_COUNT: u16 = 48;
/// Answers are read into this much: more than the kernel puts into one datagram (32 KiB at most).
const ROOM: usize = 64 * 1024;
/// Datagrams read for one request, at most: a bound, far above what any host has interfaces.
const MOST_DATAGRAMS: usize = 4096;

impl Netlink {
    pub fn open() -> io::Result<Self> {
        let socket = net::socket_with(
            AddressFamily::NETLINK,
            SocketType::RAW,
            SocketFlags::CLOEXEC,
            // NETLINK_ROUTE is 0.
            None,
        )?;
        Ok(Self { socket })
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Indices of the interfaces on which the host's own stack has IP addresses. (A link-local one of IPv6 does
    /// not count: every interface that is up has it.)
    pub fn addressed(&self) -> io::Result<Vec<u32>> {
        let mut indices = Vec::new();
        // struct ifaddrmsg: family, length of the prefix, flags, scope; then the index of the interface.
        self.ask(libc::RTM_GETADDR, &[0; 8], DUMP, |answer| {
            if answer.kind == libc::RTM_NEWADDR && answer.byte(3) != libc::RT_SCOPE_LINK {
                indices.push(answer.word(4));
            }
        })?;
        Ok(indices)
    }

    /// Indices of the interfaces through which default routes lead.
    pub fn ways_out(&self) -> io::Result<Vec<u32>> {
        let mut indices = Vec::new();
        // struct rtmsg: family, length of the destination's prefix, …, type at 7.
        self.ask(libc::RTM_GETROUTE, &[0; 12], DUMP, |answer| {
            if answer.kind != libc::RTM_NEWROUTE || answer.byte(1) > 0 || answer.byte(7) != libc::RTN_UNICAST
            {
                return;
            }
            for (kind, value) in answer.attributes(12) {
                match kind {
                    libc::RTA_OIF => indices.push(read_u32(value, 0)),
                    libc::RTA_MULTIPATH => indices.extend(hops(value)),
                    _ => (),
                }
            }
        })?;
        Ok(indices)
    }

    /// All interfaces, in the order of their indices.
    pub fn links(&self) -> io::Result<Vec<LinkFacts>> {
        let mut links = Vec::new();
        self.ask_links(0, DUMP, |link| links.push(found(link)))?;
        Ok(links)
    }

    pub fn statistics(&self, index: u32) -> io::Result<Statistics> {
        let mut counters = None;
        self.attributes_of(index, |kind, value| {
            if kind == libc::IFLA_STATS64 {
                counters = Some(statistics(value));
            }
        })?;
        counters.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
    }

    /// How often an interface has lost its link, where the kernel tells.
    pub fn link_losses(&self, index: u32) -> io::Result<Option<u64>> {
        let mut losses = None;
        self.attributes_of(index, |kind, value| {
            if kind == IFLA_CARRIER_DOWN_COUNT {
                losses = Some(u64::from(read_u32(value, 0)));
            }
        })?;
        Ok(losses)
    }

    /// Frames that an interface's queueing discipline holds, and its kind.
    pub fn queueing(&self, index: u32) -> io::Result<(Option<u32>, Option<String>)> {
        let mut found = (None, None);
        self.attributes_of(index, |kind, value| match kind {
            libc::IFLA_TXQLEN => found.0 = Some(read_u32(value, 0)),
            libc::IFLA_QDISC => found.1 = Some(text(value)),
            _ => (),
        })?;
        Ok(found)
    }

    /// The XDP program at an interface: its number, and whether the driver runs it (or the kernel, after the
    /// driver).
    pub fn xdp_program(&self, index: u32) -> io::Result<Option<(u32, bool)>> {
        let (mut number, mut is_native) = (None, false);
        self.attributes_of(index, |kind, value| {
            if kind != libc::IFLA_XDP {
                return;
            }
            for (part, value) in Attributes::of(value) {
                match part {
                    IFLA_XDP_PROG_ID => number = Some(read_u32(value, 0)),
                    IFLA_XDP_ATTACHED => is_native = value.first() == Some(&XDP_ATTACHED_DRV),
                    _ => {}
                }
            }
        })?;
        Ok(number.map(|number| (number, is_native)))
    }

    /// Name and flags (`IFF_*`) of an interface, by its index; ENODEV if it is gone.
    pub fn flags(&self, index: u32) -> io::Result<(libc::ifreq, i32)> {
        let name = with_request(self.fd(), libc::SIOCGIFNAME as _, |request| {
            request.ifr_ifru.ifru_ifindex = index as i32;
        })?;
        let answer =
            with_request(self.fd(), libc::SIOCGIFFLAGS as _, |request| request.ifr_name = name.ifr_name)?;
        // SAFETY: SIOCGIFFLAGS wrote this member of the union.
        Ok((name, i32::from(unsafe { answer.ifr_ifru.ifru_flags })))
    }

    /// The MTU of an interface now.
    pub fn mtu(&self, index: u32) -> io::Result<usize> {
        let name = with_request(self.fd(), libc::SIOCGIFNAME as _, |request| {
            request.ifr_ifru.ifru_ifindex = index as i32;
        })?;
        let answer =
            with_request(self.fd(), libc::SIOCGIFMTU as _, |request| request.ifr_name = name.ifr_name)?;
        // SAFETY: SIOCGIFMTU wrote this member of the union.
        usize::try_from(unsafe { answer.ifr_ifru.ifru_mtu })
            .map_err(|_| io::Error::from_raw_os_error(libc::ERANGE))
    }

    /// Gives `take` all attributes of one interface.
    fn attributes_of(&self, index: u32, mut take: impl FnMut(u16, &[u8])) -> io::Result<()> {
        self.ask_links(index, ONE, |link| {
            link.attributes(LINK_HEAD).for_each(|(kind, value)| take(kind, value));
        })
    }

    fn ask_links(&self, index: u32, flags: u16, mut take: impl FnMut(&Message<'_>)) -> io::Result<()> {
        let mut head = [0; LINK_HEAD];
        head[4..8].copy_from_slice(&index.to_ne_bytes());
        self.ask(libc::RTM_GETLINK, &head, flags, |answer| {
            if answer.kind == libc::RTM_NEWLINK {
                take(answer);
            }
        })
    }

    /// Gives `take` the interface, the parent and the attributes of each queueing discipline of this namespace;
    /// `head` is the length of the fixed part (struct tcmsg).
    pub fn ask_qdiscs(&self, head: usize, mut take: impl FnMut(u32, u32, Attributes<'_>)) -> io::Result<()> {
        self.ask(libc::RTM_GETQDISC, &vec![0; head], DUMP, |answer| {
            if answer.kind == libc::RTM_NEWQDISC {
                take(answer.word(4), answer.word(12), answer.attributes(head));
            }
        })
    }

    /// Sends one request and gives `take` all that is answered to it.
    pub(super) fn ask(
        &self,
        kind: u16,
        head: &[u8],
        flags: u16,
        mut take: impl FnMut(&Message<'_>),
    ) -> io::Result<()> {
        net::send(&self.socket, &request(kind, flags, head), SendFlags::empty())?;
        let mut buffer = vec![0; ROOM];
        for _ in 0..MOST_DATAGRAMS {
            let (length, _) = net::recv(&self.socket, &mut buffer[..], RecvFlags::empty())?;
            let is_over = read_datagram(&buffer[..length.min(ROOM)], &mut take)?;
            if is_over || flags != DUMP {
                break;
            }
        }
        Ok(())
    }
}

/// Reads the messages of one datagram; whether the answer ends with it.
fn read_datagram(mut bytes: &[u8], take: &mut impl FnMut(&Message<'_>)) -> io::Result<bool> {
    while !bytes.is_empty() {
        let (message, rest) = Message::split(bytes)?;
        match i32::from(message.kind) {
            libc::NLMSG_DONE => return Ok(true),
            libc::NLMSG_ERROR => message.error()?,
            _ => take(&message),
        }
        bytes = rest;
    }
    Ok(false)
}

/// The interfaces of a route with several: struct rtnexthop (its length, flags, hops, interface), each with
/// attributes of its own.
fn hops(mut bytes: &[u8]) -> Vec<u32> {
    let mut indices = Vec::new();
    while bytes.len() >= 8 {
        indices.push(read_u32(bytes, 4));
        let length = usize::from(u16::from_ne_bytes([bytes[0], bytes[1]]));
        bytes = bytes.get(length.next_multiple_of(4).max(8)..).unwrap_or_default();
    }
    indices
}

/// Text that ends with a zero.
pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.strip_suffix(&[0]).unwrap_or(bytes)).into_owned()
}

fn found(link: &Message<'_>) -> LinkFacts {
    let flags = link.word(8);
    let mut found = LinkFacts {
        index: link.word(4),
        name: String::new(),
        mac: None,
        mtu: 0,
        is_ethernet: [libc::ARPHRD_ETHER, libc::ARPHRD_LOOPBACK].contains(&link.half(2)),
        is_loopback: flags & libc::IFF_LOOPBACK as u32 != 0,
        queues: Queues { transmit: 1, receive: 1 },
        master: None,
        below: None,
    };
    let mut is_elsewhere = false;
    for (kind, value) in link.attributes(LINK_HEAD) {
        match kind {
            libc::IFLA_IFNAME => found.name = text(value),
            libc::IFLA_MTU => found.mtu = read_u32(value, 0),
            libc::IFLA_ADDRESS => found.mac = value.try_into().ok(),
            libc::IFLA_NUM_TX_QUEUES => found.queues.transmit = read_u32(value, 0),
            libc::IFLA_NUM_RX_QUEUES => found.queues.receive = read_u32(value, 0),
            libc::IFLA_MASTER => found.master = Some(read_u32(value, 0)),
            libc::IFLA_LINK => found.below = Some(read_u32(value, 0)).filter(|below| *below != found.index),
            // What it lies on, or its other end, is in another namespace, and the number is that one's.
            libc::IFLA_LINK_NETNSID => is_elsewhere = true,
            libc::IFLA_LINKINFO => {
                is_elsewhere |= Attributes::of(value).any(|(kind, value)| {
                    kind == libc::IFLA_INFO_KIND
                        && ["veth", "netkit", "vxcan"].contains(&text(value).as_str())
                });
            }
            _ => (),
        }
    }
    found.below = found.below.filter(|_| !is_elsewhere);
    found
}

/// struct rtnl_link_stats64: its counters, in this order, eight bytes each. Older kernels have fewer.
fn statistics(bytes: &[u8]) -> Statistics {
    let at = |index: usize| {
        let eight = bytes.get(index * 8..index * 8 + 8).and_then(|bytes| bytes.try_into().ok());
        eight.map_or(0, u64::from_ne_bytes)
    };
    Statistics {
        rx_packets: at(0),
        tx_packets: at(1),
        rx_bytes: at(2),
        tx_bytes: at(3),
        rx_errors: at(4),
        tx_errors: at(5),
        rx_dropped: at(6),
        tx_dropped: at(7),
        rx_over: at(11),
        rx_fifo: at(14),
        rx_missed: at(15),
        tx_carrier: at(17),
        tx_fifo: at(18),
        rx_nohandler: at(23),
    }
}
