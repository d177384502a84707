//! Sockets made ready to connect.

use plan::ConnectionPlan;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrAny, SocketAddrUnix, SocketFlags, SocketType, bind, socket_with, sockopt,
};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use units::{Instant, Picos};

/// Makes sockets as the plan wants them; source addresses are used in turn.
#[derive(Debug)]
pub struct Dialer {
    sources: Vec<IpAddr>,
    next: usize,
    no_delay: bool,
    /// When this machine last had no socket to give.
    refused: Option<Instant>,
}

/// After that, connections that exist are used again before further ones are tried.
const REST: Picos = Picos::from_millis(100);

impl Dialer {
    /// `index` lets each thread begin with another source address.
    pub fn new(plan: &ConnectionPlan, index: usize) -> Self {
        Self { sources: plan.source_ips.clone(), next: index, no_delay: plan.no_delay, refused: None }
    }

    /// A non-blocking TCP socket for that address, bound to the next source address if there are any.
    pub fn tcp(&mut self, to: SocketAddr) -> Result<(OwnedFd, SocketAddrAny), Errno> {
        let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let fd = stream(family)?;
        if self.no_delay {
            sockopt::set_tcp_nodelay(&fd, true)?;
        }
        if let Some(source) = self.source(to) {
            bind_address_only(&fd)?;
            bind(&fd, &SocketAddr::new(source, 0))?;
        }
        Ok((fd, to.into()))
    }

    /// No descriptor, port or memory was free.
    pub fn refused(&mut self, now: Instant) {
        self.refused = Some(now);
    }

    /// Whether a further connection is likely to be had.
    pub fn has_room(&self, now: Instant) -> bool {
        self.refused.is_none_or(|at| now.since(at) >= REST)
    }

    fn source(&mut self, to: SocketAddr) -> Option<IpAddr> {
        if self.sources.is_empty() {
            return None;
        }
        self.next = self.next.wrapping_add(1);
        let from = self.next % self.sources.len();
        let turn = self.sources[from..].iter().chain(&self.sources[..from]);
        turn.copied().find(|source| source.is_ipv4() == to.is_ipv4())
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

/// A non-blocking Unix socket for that path.
pub fn unix(path: &Path) -> Result<(OwnedFd, SocketAddrAny), Errno> {
    let address = SocketAddrUnix::new(path)?;
    Ok((stream(AddressFamily::UNIX)?, address.into()))
}

/// Bytes that the other side's kernel has acknowledged, the one for SYN among them; `None` if this is no TCP
/// socket.
pub fn acknowledged(socket: BorrowedFd<'_>) -> Option<u64> {
    /// Where `tcpi_bytes_acked` is in `struct tcp_info` (linux/tcp.h).
    const BYTES_ACKED: usize = 120;
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
    let known = result == 0 && length as usize >= BYTES_ACKED + 8;
    let field = info[BYTES_ACKED..BYTES_ACKED + 8].try_into().ok()?;
    known.then(|| u64::from_ne_bytes(field))
}

fn stream(family: AddressFamily) -> Result<OwnedFd, Errno> {
    socket_with(family, SocketType::STREAM, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC, None)
}

/// Leaves the choice of the port to `connect`, which knows the whole four-tuple: more than 64 k connections
/// over several source addresses (ip(7), IP_BIND_ADDRESS_NO_PORT).
fn bind_address_only(fd: &OwnedFd) -> Result<(), Errno> {
    let on: libc::c_int = 1;
    // SAFETY: the descriptor is open, and the pointer and length describe one c_int that lives across the call.
    let result = unsafe {
        libc::setsockopt(
            fd.as_fd().as_raw_fd(),
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
