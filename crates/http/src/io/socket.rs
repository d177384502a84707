//! The kernel's sockets, as both drivers make and ask them.

use clock::{Clock, HostClock};
use plan::ConnectionPlan;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrAny, SocketAddrUnix, SocketFlags, SocketType, bind, socket_with, sockopt,
};
use std::net::{IpAddr, SocketAddr};
use units::{Instant, Picos};

use super::{Address, Destination, Opening};

/// Makes a non-blocking socket and begins to connect it, at the instant that is returned.
pub(super) fn open(
    destination: &Destination<'_>,
    clock: &HostClock,
) -> Result<(OwnedFd, Opening, Instant), Errno> {
    let (socket, to) = match destination.to {
        Address::Tcp(to) => (tcp(to, destination)?, to.into()),
        Address::Unix(path) => (stream(AddressFamily::UNIX)?, SocketAddrUnix::new(path)?.into()),
    };
    let asked = clock.now();
    let opening = begin(&socket, &to)?;
    Ok((socket, opening, asked))
}

fn tcp(to: SocketAddr, destination: &Destination<'_>) -> Result<OwnedFd, Errno> {
    let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = stream(family)?;
    if destination.no_delay {
        sockopt::set_tcp_nodelay(&socket, true)?;
    }
    if let Some(source) = destination.from {
        bind_address_only(&socket)?;
        bind(&socket, &SocketAddr::new(source, 0))?;
    }
    Ok(socket)
}

fn stream(family: AddressFamily) -> Result<OwnedFd, Errno> {
    socket_with(family, SocketType::STREAM, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC, None)
}

fn begin(socket: &OwnedFd, to: &SocketAddrAny) -> Result<Opening, Errno> {
    let opening = match rustix::net::connect(socket, to) {
        Ok(()) => Opening::Done,
        Err(Errno::INPROGRESS) => Opening::Started,
        Err(errno) => return Err(errno),
    };
    if is_to_itself(socket, to) {
        // TIME_WAIT would keep the port from the server for which it is meant.
        reset_on_close(socket);
        return Err(Errno::CONNREFUSED);
    }
    Ok(opening)
}

/// Whether the kernel chose the target's own port for a connection within this host. Nobody listens there then:
/// TCP connects the socket to itself (RFC 9293, section 3.5, simultaneous open), and it reads what it sends.
fn is_to_itself(socket: &OwnedFd, to: &SocketAddrAny) -> bool {
    let Ok(to) = SocketAddr::try_from(to.clone()) else { return false };
    let own = rustix::net::getsockname(socket).and_then(SocketAddr::try_from);
    own.is_ok_and(|own| own.port() == to.port() && (own.ip() == to.ip() || to.ip().is_unspecified()))
}

/// Leaves the choice of the port to `connect`, which knows the whole four-tuple: more than 64 k connections
/// over several source addresses (ip(7), IP_BIND_ADDRESS_NO_PORT).
fn bind_address_only(fd: &OwnedFd) -> Result<(), Errno> {
    let on: libc::c_int = 1;
    // SAFETY: the descriptor is open, and the pointer and length describe one c_int that lives across the call.
    let result = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            libc::IPPROTO_IP,
            libc::IP_BIND_ADDRESS_NO_PORT,
            std::ptr::from_ref(&on).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL))
    }
}

/// Fails with the first source address that this host does not have.
pub fn check_sources(plan: &ConnectionPlan) -> Result<(), (IpAddr, Errno)> {
    for source in &plan.source_ips {
        let family = if source.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let bound = stream(family).and_then(|fd| bind(&fd, &SocketAddr::new(*source, 0)));
        bound.map_err(|errno| (*source, errno))?;
    }
    Ok(())
}

/// Bytes that the other side's kernel has acknowledged, the one for SYN among them; `None` if this is no TCP
/// socket.
pub(super) fn acknowledged(socket: &OwnedFd) -> Option<u64> {
    // `tcpi_bytes_acked`
    info_at(socket, 120)
}

/// For how long data of ours was on its way or waited to be sent, in all (`tcpi_busy_time`); `None` if this is
/// no TCP socket. The kernel counts whole jiffies (see [`jiffy`]).
pub(super) fn busy(socket: &OwnedFd) -> Option<Picos> {
    info_at(socket, 168).map(Picos::from_micros)
}

/// The unit of the kernel's own timers: 1 to 10 ms.
pub fn jiffy() -> Picos {
    let jiffy = rustix::time::clock_getres(rustix::time::ClockId::MonotonicCoarse);
    Picos::from_nanos(jiffy.tv_nsec.unsigned_abs())
}

/// Eight bytes of `struct tcp_info` (linux/tcp.h), of which libc knows the beginning alone.
fn info_at(socket: &OwnedFd, offset: usize) -> Option<u64> {
    let mut info = [0u8; 256];
    let mut length = info.len() as libc::socklen_t;
    // SAFETY: the descriptor is open, and the pointer and length describe an array that lives across the call.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    let known = result == 0 && length as usize >= offset + 8;
    let field = info[offset..offset + 8].try_into().ok()?;
    known.then(|| u64::from_ne_bytes(field))
}

/// Segments that arrived behind a hole, so far (`tcpi_rcv_ooopack`). `None` if the kernel does not count them.
pub(super) fn behind_holes(socket: &OwnedFd) -> Option<u32> {
    info_at(socket, 224).map(first_half)
}

/// How long ago a segment arrived that was in order, or filled a hole (`tcpi_last_data_recv`), at most: the
/// kernel counts jiffies, and tells whole milliseconds.
pub(super) fn in_order_since(socket: &OwnedFd) -> Picos {
    let coarse = jiffy() + Picos::from_millis(1);
    info_at(socket, 52).map_or(Picos::MAX, |two| Picos::from_millis(first_half(two).into()) + coarse)
}

fn first_half(two: u64) -> u32 {
    let [a, b, c, d, ..] = two.to_ne_bytes();
    u32::from_ne_bytes([a, b, c, d])
}

/// The round-trip time of a connection request, from the kernel's own times (tcpi_rtt after the SYN was
/// acknowledged, RFC 6298 section 2.2). `None` if it was sent more than once, or the socket is none of TCP.
pub(super) fn syn_round_trip(socket: &OwnedFd) -> Option<Picos> {
    // SAFETY: a tcp_info of zeroes is valid: it has numbers only.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: the option's value is one live tcp_info of the length that is given; the kernel writes no more.
    let status = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut length,
        )
    };
    let known = status == 0 && info.tcpi_total_retrans == 0 && info.tcpi_rtt > 0;
    known.then(|| Picos::from_micros(u64::from(info.tcpi_rtt)))
}

/// Bytes on a socket that have not been read.
pub(super) fn unread(socket: &OwnedFd) -> usize {
    rustix::io::ioctl_fionread(socket).map_or(usize::MAX / 2, |count| count as usize)
}

/// From how many bytes on a socket counts as crowded: a quarter of its receive buffer, half of which is its
/// window at first (tcp_adv_win_scale), and at most three quarters of what the window may grow to as the kernel
/// sees it (`tcpi_rcv_ssthresh`). Small buffers are shut by answers that are far from filling ours, and one
/// that has grown for a large answer is much larger than its window.
pub(super) fn crowded_from(socket: &OwnedFd) -> usize {
    let buffer = rustix::net::sockopt::socket_recv_buffer_size(socket).map_or(usize::MAX, |size| size / 4);
    let window = info_at(socket, 64).map_or(usize::MAX, |two| first_half(two) as usize / 4 * 3);
    buffer.min(window).max(1)
}

/// Enlarges a socket's receive buffer until so many bytes do not crowd it, as far as `net.ipv4.tcp_rmem`
/// allows, and returns the new [`crowded_from`]. The kernel does this by itself only if a single read brings
/// much (`tcp_rcv_space_adjust`).
pub(super) fn widen(socket: &OwnedFd, bytes: usize) -> usize {
    if crowded_from(socket) <= bytes {
        // The buffer grows to what the mark needs, and stays so large. SO_RCVBUF would end its growth.
        for mark in [bytes.saturating_mul(4), 1] {
            set_low_water_mark(socket, i32::try_from(mark).unwrap_or(i32::MAX));
        }
    }
    crowded_from(socket)
}

/// SO_RCVLOWAT. A socket that refuses it stays as it is.
fn set_low_water_mark(socket: &OwnedFd, bytes: i32) {
    // SAFETY: the option's value is one live integer of the length that is given; the kernel reads no more.
    unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_RCVLOWAT,
            (&raw const bytes).cast(),
            size_of::<i32>() as libc::socklen_t,
        );
    }
}

/// Makes a close of this socket a reset, so that no TIME_WAIT is left behind.
pub(super) fn reset_on_close(socket: &OwnedFd) {
    // A socket that refuses the option is closed in the ordinary way, which is right as well.
    let _ = rustix::net::sockopt::set_socket_linger(socket, Some(std::time::Duration::ZERO));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    /// The kernel lets a window grow with what arrives, whatever the buffer's size.
    #[test]
    fn a_buffer_that_is_larger_than_its_window_is_crowded_by_what_fills_the_window() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = OwnedFd::from(TcpStream::connect(listener.local_addr().unwrap()).unwrap());
        let before = crowded_from(&socket);
        rustix::net::sockopt::set_socket_recv_buffer_size_force(&socket, 32 << 20)
            .or_else(|_| rustix::net::sockopt::set_socket_recv_buffer_size(&socket, 32 << 20))
            .unwrap();
        let buffer = rustix::net::sockopt::socket_recv_buffer_size(&socket).unwrap();
        let after = crowded_from(&socket);
        assert!((1..=before * 4).contains(&after) && after <= buffer / 4, "{before} {after} {buffer}");
    }

    /// A bound port takes the place of the one that the kernel would choose by chance.
    #[test]
    fn a_connection_to_itself_is_refused_and_leaves_the_port_free() {
        for text in ["127.0.0.1:0", "[::1]:0"] {
            let any: SocketAddr = text.parse().unwrap();
            let family = if any.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
            let socket = stream(family).unwrap();
            if bind(&socket, &any).is_err() {
                continue; // a host without IPv6
            }
            let own = SocketAddr::try_from(rustix::net::getsockname(&socket).unwrap()).unwrap();
            assert_eq!(begin(&socket, &own.into()).err(), Some(Errno::CONNREFUSED), "{own}");
            drop(socket);
            // std would set SO_REUSEADDR, which passes over TIME_WAIT.
            bind(stream(family).unwrap(), &own).unwrap();

            let listener = TcpListener::bind(own).unwrap();
            begin(&stream(family).unwrap(), &listener.local_addr().unwrap().into()).unwrap();
        }
        let socket = stream(AddressFamily::INET).unwrap();
        bind(&socket, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let own = SocketAddr::try_from(rustix::net::getsockname(&socket).unwrap()).unwrap();
        let anywhere = SocketAddr::from(([0, 0, 0, 0], own.port()));
        assert_eq!(begin(&socket, &anywhere.into()).err(), Some(Errno::CONNREFUSED));
    }
}
