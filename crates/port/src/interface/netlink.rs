//! Links and their counters by rtnetlink (RFC 3549; linux/rtnetlink.h): requests are one datagram, answers a
//! few.

use super::Statistics;
use super::ethtool::{Queues, with_request};
use netlink_packet_core::{NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::address::{AddressMessage, AddressScope};
use netlink_packet_route::link::{
    InfoKind, LinkAttribute, LinkFlags, LinkInfo, LinkLayerType, LinkMessage, LinkXdp, Stats64, XdpAttached,
};
use netlink_packet_route::route::{RouteAttribute, RouteMessage, RouteType};
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
const DUMP: u16 = NLM_F_REQUEST | NLM_F_DUMP;
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
        self.ask(RouteNetlinkMessage::GetAddress(AddressMessage::default()), DUMP, |answer| {
            if let RouteNetlinkMessage::NewAddress(address) = answer
                && address.header.scope != AddressScope::Link
            {
                indices.push(address.header.index);
            }
        })?;
        Ok(indices)
    }

    /// Indices of the interfaces through which default routes lead.
    pub fn ways_out(&self) -> io::Result<Vec<u32>> {
        let mut indices = Vec::new();
        self.ask(RouteNetlinkMessage::GetRoute(RouteMessage::default()), DUMP, |answer| {
            let RouteNetlinkMessage::NewRoute(route) = answer else { return };
            if route.header.destination_prefix_length > 0 || route.header.kind != RouteType::Unicast {
                return;
            }
            for attribute in route.attributes {
                match attribute {
                    RouteAttribute::Oif(index) => indices.push(index),
                    RouteAttribute::MultiPath(hops) => {
                        indices.extend(hops.iter().map(|hop| hop.interface_index));
                    }
                    _ => (),
                }
            }
        })?;
        Ok(indices)
    }

    /// All interfaces, in the order of their indices.
    pub fn links(&self) -> io::Result<Vec<LinkFacts>> {
        let answers = self.ask_links(LinkMessage::default(), DUMP)?;
        Ok(answers.into_iter().map(found).collect())
    }

    pub fn statistics(&self, index: u32) -> io::Result<Statistics> {
        let mut request = LinkMessage::default();
        request.header.index = index;
        let answers = self.ask_links(request, NLM_F_REQUEST)?;
        let attributes = answers.into_iter().flat_map(|link| link.attributes);
        let counters = attributes.into_iter().find_map(|attribute| match attribute {
            LinkAttribute::Stats64(counters) => Some(statistics(&counters)),
            _ => None,
        });
        counters.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
    }

    /// Frames that an interface's queueing discipline holds, and its kind.
    pub fn queueing(&self, index: u32) -> io::Result<(Option<u32>, Option<String>)> {
        let mut request = LinkMessage::default();
        request.header.index = index;
        let mut found = (None, None);
        for attribute in self.ask_links(request, NLM_F_REQUEST)?.into_iter().flat_map(|link| link.attributes)
        {
            match attribute {
                LinkAttribute::TxQueueLen(frames) => found.0 = Some(frames),
                LinkAttribute::Qdisc(kind) => found.1 = Some(kind),
                _ => (),
            }
        }
        Ok(found)
    }

    /// The XDP program at an interface: its number, and whether the driver runs it (or the kernel, after the
    /// driver).
    pub fn xdp_program(&self, index: u32) -> io::Result<Option<(u32, bool)>> {
        let mut request = LinkMessage::default();
        request.header.index = index;
        let answers = self.ask_links(request, NLM_F_REQUEST)?;
        let attributes = answers.into_iter().flat_map(|link| link.attributes);
        let parts = attributes.filter_map(|attribute| match attribute {
            LinkAttribute::Xdp(parts) => Some(parts),
            _ => None,
        });
        let (mut number, mut is_native) = (None, false);
        for part in parts.flatten() {
            match part {
                LinkXdp::ProgId(id) => number = Some(id),
                LinkXdp::Attached(how) => is_native = how == XdpAttached::Driver,
                _ => {}
            }
        }
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

    fn ask_links(&self, request: LinkMessage, flags: u16) -> io::Result<Vec<LinkMessage>> {
        let mut links = Vec::new();
        self.ask(RouteNetlinkMessage::GetLink(request), flags, |answer| {
            if let RouteNetlinkMessage::NewLink(link) = answer {
                links.push(link);
            }
        })?;
        Ok(links)
    }

    /// Sends one request and gives `take` all that is answered to it.
    fn ask(
        &self,
        request: RouteNetlinkMessage,
        flags: u16,
        mut take: impl FnMut(RouteNetlinkMessage),
    ) -> io::Result<()> {
        let mut message = NetlinkMessage::new(NetlinkHeader::default(), NetlinkPayload::from(request));
        message.header.flags = flags;
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        net::send(&self.socket, &bytes, SendFlags::empty())?;

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
fn read_datagram(mut bytes: &[u8], take: &mut impl FnMut(RouteNetlinkMessage)) -> io::Result<bool> {
    let invalid = |_| io::Error::from(io::ErrorKind::InvalidData);
    while !bytes.is_empty() {
        let message = NetlinkMessage::<RouteNetlinkMessage>::deserialize(bytes).map_err(invalid)?;
        match message.payload {
            NetlinkPayload::Done(_) => return Ok(true),
            NetlinkPayload::Error(error) => return Err(error.to_io()),
            NetlinkPayload::InnerMessage(answer) => take(answer),
            _ => (),
        }
        // Messages are aligned to four bytes.
        let length = (message.header.length as usize).next_multiple_of(4).max(4);
        bytes = bytes.get(length..).unwrap_or_default();
    }
    Ok(false)
}

fn found(link: LinkMessage) -> LinkFacts {
    let mut found = LinkFacts {
        index: link.header.index,
        name: String::new(),
        mac: None,
        mtu: 0,
        is_ethernet: matches!(link.header.link_layer_type, LinkLayerType::Ether | LinkLayerType::Loopback),
        is_loopback: link.header.flags.contains(LinkFlags::Loopback),
        queues: Queues { transmit: 1, receive: 1 },
        master: None,
        below: None,
    };
    let mut is_elsewhere = false;
    for attribute in link.attributes {
        match attribute {
            LinkAttribute::IfName(name) => found.name = name,
            LinkAttribute::Mtu(mtu) => found.mtu = mtu,
            LinkAttribute::Address(bytes) => found.mac = bytes.try_into().ok(),
            LinkAttribute::NumTxQueues(queues) => found.queues.transmit = queues,
            LinkAttribute::NumRxQueues(queues) => found.queues.receive = queues,
            LinkAttribute::Controller(index) => found.master = Some(index),
            LinkAttribute::Link(index) => found.below = Some(index).filter(|below| *below != found.index),
            // What it lies on, or its other end, is in another namespace, and the number is that one's.
            LinkAttribute::LinkNetNsId(_) => is_elsewhere = true,
            LinkAttribute::LinkInfo(parts) => {
                let is_pair = |part: &LinkInfo| {
                    matches!(part, LinkInfo::Kind(InfoKind::Veth | InfoKind::Netkit | InfoKind::Vxcan))
                };
                is_elsewhere |= parts.iter().any(is_pair);
            }
            _ => (),
        }
    }
    found.below = found.below.filter(|_| !is_elsewhere);
    found
}

fn statistics(counters: &Stats64) -> Statistics {
    Statistics {
        rx_packets: counters.rx_packets,
        rx_bytes: counters.rx_bytes,
        rx_errors: counters.rx_errors,
        rx_dropped: counters.rx_dropped,
        rx_missed: counters.rx_missed_errors,
        rx_over: counters.rx_over_errors,
        rx_fifo: counters.rx_fifo_errors,
        rx_nohandler: counters.rx_nohandler,
        tx_packets: counters.tx_packets,
        tx_bytes: counters.tx_bytes,
        tx_errors: counters.tx_errors,
        tx_dropped: counters.tx_dropped,
        tx_fifo: counters.tx_fifo_errors,
        tx_carrier: counters.tx_carrier_errors,
    }
}
