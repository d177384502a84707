//! Listening sockets: one for each worker and address, so that the kernel spreads connections.

use crate::TargetError;
use rustix::fd::OwnedFd;
use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;

/// One worker's listeners.
pub(crate) type Listeners = Vec<Arc<OwnedFd>>;

/// Opens `workers` listeners on each address; gives them by worker, and the addresses with their ports.
pub(crate) fn open(
    addrs: &[SocketAddr],
    unix: Option<&Path>,
    backlog: u32,
    workers: usize,
) -> Result<(Vec<Listeners>, Vec<SocketAddr>), TargetError> {
    let mut all: Vec<Listeners> = (0..workers).map(|_| Vec::new()).collect();
    let mut bound = Vec::new();
    let backlog = i32::try_from(backlog).unwrap_or(i32::MAX);
    for addr in addrs {
        let failed = |why| TargetError::Listen { at: addr.to_string(), why };
        // The first takes the port for itself and shares it only then: a port that another program shares
        // as well would split the load between the two.
        let first = TcpListener::from(bind(*addr, false).map_err(failed)?);
        let actual = first.local_addr().map_err(failed)?;
        let first = OwnedFd::from(first);
        if workers > 1 {
            sockopt::set_socket_reuseport(&first, true).map_err(|e| failed(e.into()))?;
        }
        let others = (1..workers).map(|_| bind(actual, true));
        for (listeners, fd) in all.iter_mut().zip(std::iter::once(Ok(first)).chain(others)) {
            let fd = fd.map_err(failed)?;
            net::listen(&fd, backlog).map_err(|e| failed(e.into()))?;
            listeners.push(Arc::new(fd));
        }
        bound.push(actual);
    }
    if let Some(path) = unix {
        // One queue for all workers: Unix sockets cannot share a path.
        let listener = unix_socket(path, backlog)
            .map_err(|why| TargetError::Listen { at: path.display().to_string(), why })?;
        let listener = Arc::new(listener);
        for listeners in &mut all {
            listeners.push(listener.clone());
        }
    }
    Ok((all, bound))
}

const FLAGS: SocketFlags = SocketFlags::CLOEXEC.union(SocketFlags::NONBLOCK);

fn bind(addr: SocketAddr, shared: bool) -> std::io::Result<OwnedFd> {
    let family = if addr.is_ipv6() { AddressFamily::INET6 } else { AddressFamily::INET };
    let fd = net::socket_with(family, SocketType::STREAM, FLAGS, None)?;
    sockopt::set_socket_reuseaddr(&fd, true)?;
    if shared {
        sockopt::set_socket_reuseport(&fd, true)?;
    }
    if addr.is_ipv6() {
        sockopt::set_ipv6_v6only(&fd, true)?;
    }
    // Accepted sockets inherit it: no system call for each.
    sockopt::set_tcp_nodelay(&fd, true)?;
    net::bind(&fd, &addr)?;
    Ok(fd)
}

fn unix_socket(path: &Path, backlog: i32) -> std::io::Result<OwnedFd> {
    use std::os::unix::fs::FileTypeExt;
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|meta| meta.file_type().is_socket());
    // A socket that somebody still listens on is not taken away.
    if is_socket && std::os::unix::net::UnixStream::connect(path).is_err() {
        std::fs::remove_file(path)?;
    }
    let fd = net::socket_with(AddressFamily::UNIX, SocketType::STREAM, FLAGS, None)?;
    net::bind(&fd, &SocketAddrUnix::new(path)?)?;
    net::listen(&fd, backlog)?;
    Ok(fd)
}
