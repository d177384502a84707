//! `udp`: sockets of this host. The stack, its routes and its queueing are part of what is measured.
//!
//! ```text
//!   frame ─► its UDP payload ─► sendmmsg, UDP_SEGMENT      recvmmsg ─► payload with headers ─► frame
//! ```
//!
//! The socket is connected: it sends to one peer and receives from it alone. Of a frame only the payload of its
//! UDP datagram is sent; addresses are the socket's. What the kernel took and could not send after all is told
//! by its error queue, so a full queueing discipline holds frames back, and none is lost there. What the kernel
//! still holds when a flush ends is told as held: it leaves when its turn comes.

mod errors;
mod headers;
mod incoming;
mod outgoing;
mod way;

use crate::about::{Abilities, About, Choice, StampedBy};
use crate::interface::Interface;
use crate::namespace::Home;
use crate::tap::{found_on, wait_on};
use crate::{Address, Counters, Direction, DropPlace, For, Frame, Port, PortError, Slot, Wish};
use errors::Said;
use headers::Headers;
use incoming::Incoming;
use outgoing::Outgoing;
use rustix::event::PollFlags;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, getsockname, socket_with, sockopt};
use std::io;
use std::mem::size_of;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use units::Picos;
use way::Way;

/// What the socket's buffers are asked to hold.
const BUFFER: usize = 8 << 20;
/// Where the kernel has no room, it is asked again after this long.
const CRAMMED: Picos = Picos::from_micros(100);
/// A flush goes on while the kernel's queues move: this long, and the usual patience of who flushes.
const HOLDS: Picos = Picos::from_secs(9);
/// What does not move for so long stays. (The kernel asks for a next hop for three seconds.)
const STILL_NS: u64 = 4_000_000_000;
/// Longest frame: Ethernet, and the longest IPv4 packet.
const LONGEST: usize = 14 + 65_535;

struct Udp {
    about: About,
    socket: OwnedFd,
    outgoing: Outgoing,
    incoming: Incoming,
    counters: Counters,
    /// Datagrams that the socket lost, as it last said.
    lost: u32,
    /// The socket's own address.
    own: IpAddr,
    /// The kernel had no room for the datagram that is pending.
    is_crammed: bool,
    /// What leads to the peer, and what it says of datagrams that the kernel took.
    way: Way,
}

pub(crate) fn open(address: &Address, wish: &Wish) -> Result<Box<dyn Port>, PortError> {
    let (peer, local) = ends(address, wish)?;
    let asked = address.option("gso").is_some();
    let segments = if address.word("gso", &["yes", "no"])? == "no" { Err("gso=no") } else { may_cut() };
    let buffer = address.read("buffer", "8388608")?.unwrap_or(BUFFER);
    let name = address.to_string();
    let what = |error: io::Error| trouble(&name, &local, &peer, error);
    let socket = connected(local, peer, buffer, wish).map_err(what)?;
    let own = getsockname(&socket).and_then(SocketAddr::try_from).map_err(|error| what(error.into()))?;
    let segments = segments.and_then(|()| if asked { Ok(()) } else { is_cut(own, peer) });
    let longest = longest(&socket, peer).map_err(what)?;
    let namespace = Home::here().map_or(0, |home| home.inode());
    if wish.frame > longest && wish.direction.transmits() {
        return Err(PortError::TooLong { port: name, length: wish.frame, longest });
    }
    let Some(headers) = Headers::new(peer, own) else {
        return Err(address.wrong("has addresses of two kinds", "both of IPv4 or both of IPv6"));
    };
    let mut about = About {
        name,
        kind: "udp",
        longest,
        can: Abilities {
            transmit: true,
            receive: true,
            batch: outgoing::BATCH,
            stamps: Some(StampedBy::Driver),
            holds: HOLDS,
            ..Abilities::default()
        },
        queue: wish.queue,
        queues: wish.queues.max(1),
        ..About::default()
    };
    let (chosen, why) = match segments {
        Ok(()) => ("UDP_SEGMENT", "payloads of the same length leave in one message"),
        Err(why) => ("sendmmsg", why),
    };
    about.choices.push(Choice { what: "sending", chosen: chosen.to_owned(), why: why.to_owned() });
    Ok(Box::new(Udp {
        about,
        socket,
        outgoing: Outgoing::new(longest, segments.is_ok(), peer.is_ipv6()),
        incoming: Incoming::new(longest, headers),
        counters: Counters::default(),
        lost: 0,
        own: own.ip(),
        is_crammed: false,
        way: Way::find(own, peer, namespace),
    }))
}

/// Whether the kernel may cut messages up. Some queueing disciplines would lose parts of one without a word.
fn may_cut() -> Result<(), &'static str> {
    let names = Interface::names().unwrap_or_default();
    let kinds = names.iter().filter_map(|name| Interface::find(name).ok()?.qdiscs().ok()).flatten();
    match kinds.map(|qdisc| qdisc.kind).any(|kind| ["tbf", "netem", "cake"].contains(&&*kind)) {
        true => Err("a queueing discipline here (tbf, netem or cake) loses parts of messages silently"),
        false => Ok(()),
    }
}

/// Whether what leads to the peer cuts messages up, so that each datagram is a frame there. Between interfaces
/// of one host nobody does: whoever captures there sees one frame of many.
fn is_cut(own: SocketAddr, peer: SocketAddr) -> Result<(), &'static str> {
    let route = Interface::route(own, peer).ok();
    let driver = route.and_then(|route| Interface::of_index(route.interface)?.driver);
    match driver.is_some_and(|driver| ["veth", "tun", "bridge"].contains(&&*driver)) {
        true => {
            Err("veth, tap and bridges do not split messages of many datagrams; gso=yes sends such anyway")
        }
        false => Ok(()),
    }
}

/// The peer, and where to send from.
fn ends(address: &Address, wish: &Wish) -> Result<(SocketAddr, SocketAddr), PortError> {
    let expected = "udp:198.18.0.2:9 or udp:[fd00::2]:9";
    let peer: SocketAddr = address.place().parse().map_err(|_| {
        address.wrong("has no address and port of a peer (names are not looked up)", expected)
    })?;
    if peer.port() == 0 {
        return Err(address.wrong("sends to port 0", expected));
    }
    let any = if peer.is_ipv4() { IpAddr::V4(Ipv4Addr::UNSPECIFIED) } else { Ipv6Addr::UNSPECIFIED.into() };
    let local = match address.option("local") {
        None => any,
        Some(text) => {
            let ip = text.trim_matches(['[', ']']).parse::<IpAddr>().ok();
            ip.filter(|ip| ip.is_ipv4() == peer.is_ipv4()).ok_or_else(|| {
                address.wrong("local is not an address of the peer's family", "local=198.18.0.1")
            })?
        }
    };
    let port: u16 = address.read("port", "1024")?.unwrap_or(0);
    if port == 0 && wish.direction == Direction::Receive {
        return Err(address.wrong(
            "has no known port to receive on (its address is the peer's)",
            "port=N, and local=ADDRESS if this host has several",
        ));
    }
    // Queues have ports one after another, so that each is a flow of its own.
    let port = if port == 0 { 0 } else { port.wrapping_add(wish.queue as u16) };
    let peer_port = peer.port().wrapping_add(if port == 0 { 0 } else { wish.queue as u16 });
    Ok((SocketAddr::new(peer.ip(), peer_port), SocketAddr::new(local, port)))
}

fn connected(local: SocketAddr, peer: SocketAddr, buffer: usize, wish: &Wish) -> io::Result<OwnedFd> {
    let family = if peer.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family, SocketType::DGRAM, flags, None)?;
    // What exceeds the kernel's limit is asked for with privilege, then without.
    for (forced, plain) in [(libc::SO_RCVBUFFORCE, libc::SO_RCVBUF), (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF)]
    {
        let value = buffer.min(i32::MAX as usize) as i32;
        set(&socket, libc::SOL_SOCKET, forced, value)
            .or_else(|_| set(&socket, libc::SOL_SOCKET, plain, value))?;
    }
    set(&socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
    set(&socket, libc::SOL_SOCKET, libc::SO_RXQ_OVFL, 1)?;
    if wish.busy {
        // Without the privilege, or a driver that has it, arrivals are told by interrupts.
        let _ = set(&socket, libc::SOL_SOCKET, libc::SO_BUSY_POLL, 50);
    }
    // What becomes of datagrams later is told, and a full queueing discipline says so at once.
    match peer {
        SocketAddr::V4(_) => set(&socket, libc::IPPROTO_IP, libc::IP_RECVERR, 1)?,
        SocketAddr::V6(_) => set(&socket, libc::IPPROTO_IPV6, libc::IPV6_RECVERR, 1)?,
    }
    // Frames leave as they are, or not at all.
    match peer {
        SocketAddr::V4(_) => set(&socket, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_DO)?,
        SocketAddr::V6(_) => {
            set(&socket, libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_DO)?;
        }
    }
    sockopt::set_socket_reuseaddr(&socket, true)?;
    bind(&socket, &local)?;
    connect(&socket, &peer)?;
    Ok(socket)
}

/// What the way to the peer takes, with an Ethernet header.
fn longest(socket: &OwnedFd, peer: SocketAddr) -> io::Result<usize> {
    let mtu = match peer {
        SocketAddr::V4(_) => value(socket, libc::IPPROTO_IP, libc::IP_MTU)?,
        SocketAddr::V6(_) => value(socket, libc::IPPROTO_IPV6, libc::IPV6_MTU)?,
    };
    Ok((mtu.max(68) as usize + 14).min(LONGEST))
}

fn set(socket: &OwnedFd, level: i32, option: i32, value: i32) -> io::Result<()> {
    let (pointer, length) = ((&raw const value).cast(), size_of::<i32>() as libc::socklen_t);
    // SAFETY: an integer of this length, which the kernel copies before it returns.
    let status = unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, pointer, length) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn value(socket: &OwnedFd, level: i32, option: i32) -> io::Result<i32> {
    let (mut value, mut length) = (0_i32, size_of::<i32>() as libc::socklen_t);
    let pointer = (&raw mut value).cast();
    // SAFETY: room for an integer, and its length; the kernel does not exceed it.
    let status = unsafe { libc::getsockopt(socket.as_raw_fd(), level, option, pointer, &mut length) };
    if status == 0 { Ok(value) } else { Err(io::Error::last_os_error()) }
}

/// Datagrams that the socket had no room for (SO_MEMINFO, the last of nine figures).
fn lost(socket: &OwnedFd) -> io::Result<u32> {
    let (mut figures, mut length) = ([0_u32; 9], size_of::<[u32; 9]>() as libc::socklen_t);
    let pointer = (&raw mut figures).cast();
    // SAFETY: room for nine integers, and its length; the kernel does not exceed it.
    let status = unsafe {
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_MEMINFO, pointer, &mut length)
    };
    if status == 0 { Ok(figures[8]) } else { Err(io::Error::last_os_error()) }
}

fn trouble(name: &str, local: &SocketAddr, peer: &SocketAddr, error: io::Error) -> PortError {
    let route = Interface::route(*local, *peer).map_err(|error| error.raw_os_error());
    let why = match error.raw_os_error() {
        Some(libc::EINVAL) if route == Err(Some(libc::EINVAL)) => {
            format!("the route to {} is a blackhole: see 'ip route'", peer.ip())
        }
        Some(libc::EACCES) if route == Err(Some(libc::EACCES)) => {
            format!("the route to {} is prohibited: see 'ip route' and 'ip rule'", peer.ip())
        }
        Some(libc::EACCES) if route.is_ok_and(|route| route.kind == libc::RTN_BROADCAST) => {
            format!("{} is a broadcast address", peer.ip())
        }
        Some(libc::ENETUNREACH | libc::EHOSTUNREACH) => format!("there is no route to {}", peer.ip()),
        Some(libc::EADDRNOTAVAIL) => format!("{} is no address of this host", local.ip()),
        Some(libc::EADDRINUSE) => format!("another program has port {}", local.port()),
        _ => return PortError::System { what: name.to_owned(), error },
    };
    PortError::Unavailable { what: name.to_owned(), why }
}

impl Udp {
    /// Sends what is pending as far as the socket takes it. Errors that concern one frame are counted.
    fn push(&mut self) -> Result<(), PortError> {
        // Each round sends, gives up a frame, or ends.
        for _ in 0..4 * outgoing::BATCH {
            if self.outgoing.pending() == 0 {
                return Ok(());
            }
            self.counters.calls += 1;
            self.way.begin();
            let error = match self.outgoing.send(self.socket.as_fd()) {
                Ok(sent) => {
                    self.counters.sent += sent.frames;
                    self.counters.sent_bytes += sent.bytes;
                    self.way.gave(sent.messages, sent.frames, sent.payload);
                    if sent.is_part {
                        self.way.refused();
                    }
                    continue;
                }
                Err(error) => error,
            };
            match error.raw_os_error().unwrap_or(0) {
                libc::ENOBUFS if self.outgoing.part() => self.way.refused(),
                libc::EAGAIN | libc::ENOBUFS | libc::ENOMEM => {
                    self.is_crammed = error.raw_os_error() != Some(libc::EAGAIN);
                    if error.raw_os_error() == Some(libc::ENOBUFS) {
                        self.way.refused();
                    }
                    self.counters.full += 1;
                    return Ok(());
                }
                libc::EINTR => {}
                libc::ECONNREFUSED => {
                    if self.hear().entries == 0 {
                        self.counters.drop(DropPlace::Peer, 1);
                    }
                }
                libc::EIO | libc::EINVAL | libc::EOPNOTSUPP if self.outgoing.cut_no_more() => {}
                libc::EMSGSIZE => self.lose(DropPlace::TransmitTooLong),
                libc::ENETDOWN | libc::ENETUNREACH | libc::EHOSTUNREACH | libc::EHOSTDOWN => {
                    // If earlier datagrams are meant, this one has not been looked at.
                    if self.hear().entries == 0 {
                        self.lose(DropPlace::TransmitDown);
                    }
                }
                libc::EPERM => self.lose(DropPlace::TransmitKernel),
                _ => return Err(PortError::System { what: self.about.name.clone(), error }),
            }
        }
        Ok(())
    }

    /// A socket can be written to although what is behind it is full: a moment's rest, if it was.
    fn rest(&mut self, patience: Picos) -> bool {
        let was = std::mem::replace(&mut self.is_crammed, false);
        if was {
            std::thread::sleep(CRAMMED.min(patience).as_std());
        }
        was
    }

    /// What the kernel says of datagrams that it had taken: nothing where somebody else has them stamped.
    fn hear(&mut self) -> Said {
        if value(&self.socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPING).is_ok_and(|flags| flags != 0) {
            return Said::default();
        }
        let said = errors::read(self.socket.as_fd(), self.own);
        self.counters.drop(DropPlace::Peer, said.refused);
        self.way.gone(said.stranded);
        self.take_back(DropPlace::TransmitKernel, said.stranded);
        said
    }

    /// So many that counted as sent have not left.
    fn take_back(&mut self, place: DropPlace, frames: u64) {
        let frames = frames.min(self.counters.sent);
        self.counters.sent -= frames;
        self.counters.drop(place, frames);
    }

    /// What has not left: frames here, and bytes in the kernel's queues.
    fn left(&self) -> (usize, usize) {
        (self.outgoing.pending(), errors::held(self.socket.as_fd()).unwrap_or(0))
    }

    /// What the kernel holds is not lost: it leaves when its turn comes, also when the socket is closed.
    fn count_held(&mut self) {
        let (here, there) = self.left();
        self.counters.held = here as u64 + errors::datagrams(there, self.outgoing.last_length());
    }

    fn lose(&mut self, place: DropPlace) {
        self.counters.drop(place, 1);
        self.outgoing.skip();
    }
}

impl Port for Udp {
    fn about(&self) -> &About {
        &self.about
    }

    fn transmit(&mut self, most: usize, write: &mut dyn FnMut(&mut Slot<'_>)) -> Result<usize, PortError> {
        self.push()?;
        if self.outgoing.pending() > 0 {
            return Ok(0);
        }
        let (taken, refused) = self.outgoing.write(most, self.about.longest, write);
        self.push()?;
        match refused {
            None => Ok(taken),
            Some(refused) => Err(refused.error(&self.about.name, self.about.longest)),
        }
    }

    fn receive(&mut self, most: usize, read: &mut dyn FnMut(&Frame<'_>)) -> Result<usize, PortError> {
        if most == 0 {
            return Ok(0);
        }
        self.counters.calls += 1;
        match self.incoming.receive(self.socket.as_fd(), most, read) {
            Ok(got) => {
                self.counters.received += got.frames as u64;
                self.counters.received_bytes += got.bytes;
                Ok(got.frames)
            }
            Err(error) => match error.raw_os_error().unwrap_or(0) {
                libc::EAGAIN | libc::EINTR => Ok(0),
                libc::ECONNREFUSED | libc::ENETUNREACH | libc::EHOSTUNREACH | libc::EHOSTDOWN => {
                    self.hear();
                    Ok(0)
                }
                _ => Err(PortError::System { what: self.about.name.clone(), error }),
            },
        }
    }

    fn flush(&mut self, patience: Picos) -> Result<bool, PortError> {
        let start = clock::monotonic_ns();
        let until = start.saturating_add(patience.as_nanos());
        let (mut left, mut moved) = (self.left(), start);
        loop {
            self.push()?;
            let now = clock::monotonic_ns();
            if std::mem::replace(&mut left, self.left()) != left {
                moved = now;
            }
            if left == (0, 0) || now >= until || now - moved >= STILL_NS {
                break;
            }
            let rest = Picos::from_nanos((until - now).min(10_000_000));
            match left {
                (0, _) => std::thread::sleep(Picos::from_millis(1).min(rest).as_std()),
                _ if self.rest(rest) => {}
                _ => _ = wait_on(self.socket.as_fd(), PollFlags::OUT, rest)?,
            }
        }
        self.hear();
        self.count_held();
        let missing = self.way.settle(self.counters.held > 0, until);
        let place = if missing.had_no_link { DropPlace::TransmitDown } else { DropPlace::TransmitKernel };
        match missing.may_leave {
            true => self.counters.held = self.counters.held.max(missing.frames),
            false => self.take_back(place, missing.frames),
        }
        Ok(left.0 == 0)
    }

    fn wait(&mut self, what: For, patience: Picos) -> Result<bool, PortError> {
        if what == For::Transmit && self.rest(patience) {
            return Ok(true);
        }
        let flags = if what == For::Receive { PollFlags::IN } else { PollFlags::OUT };
        let found = found_on(self.socket.as_fd(), flags, patience)?;
        // What is left in the error queue would end every wait at once.
        if found.contains(PollFlags::ERR) {
            self.hear();
        }
        Ok(!found.is_empty())
    }

    fn counters(&mut self) -> Result<&Counters, PortError> {
        if let Ok(now) = lost(&self.socket) {
            // The socket's count wraps.
            let more = now.wrapping_sub(std::mem::replace(&mut self.lost, now));
            self.counters.drop(DropPlace::ReceiveRing, u64::from(more));
        }
        self.hear();
        Ok(&self.counters)
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.as_fd())
    }

    fn outlet(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.as_fd())
    }
}
