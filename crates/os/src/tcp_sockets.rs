//! The TCP sockets of this network namespace, by sock_diag(7) (linux/inet_diag.h).
//!
//! `/proc/net/tcp` has them as well, with all connections that wait in TIME_WAIT: after thousands of short
//! connections the kernel takes 40 ms to write them. Here they are left out.
//!
//! ```text
//!   request   family 1 protocol 1 extensions 1 pad 1 states 4 | id 48
//!   answer    family 1 state 1 timer 1 retransmits 1 | id 48 | expires 4 queues 8 user 4 inode 4 | attributes
//!   id        port 2 peer's port 2 (big endian) | address 16, peer's address 16 | interface 4 cookie 8
//! ```

use crate::sock_diag::{dump, u32_at};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::File;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsFd;
use std::path::Path;

const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
const TCP: u8 = 6;
/// `TCP_TIME_WAIT`, `TCP_NEW_SYN_RECV`: nobody holds such a socket.
const TIME_WAIT: u32 = 6;
const NEW_SYN_RECV: u32 = 12;
const LISTEN: u8 = 10;

/// A socket that a process holds, or that waits to be accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpSocket {
    /// IPv4 within IPv6 is IPv4 here.
    pub local: SocketAddr,
    pub remote: SocketAddr,
    pub listens: bool,
    pub inode: u64,
}

/// Those that have an inode.
///
/// # Errors
///
/// The kernel's; some are built without this table.
pub fn held() -> io::Result<Vec<TcpSocket>> {
    let mut found = Vec::new();
    for family in [AF_INET, AF_INET6] {
        dump(&request(family), |body| found.extend(one(body).filter(|socket| socket.inode != 0)))?;
    }
    Ok(found)
}

/// The same in another network namespace (a file such as `/proc/4711/ns/net`), which a thread enters that ends
/// with it. To find them the kernel goes through the sockets of all namespaces, 2 ms each time, so one that
/// [`may_be_in`] says has none is not asked for them.
///
/// # Errors
///
/// There is no such file, no privilege to enter it (CAP_SYS_ADMIN), or what [`held`] says.
pub fn held_in(namespace: &File) -> io::Result<Vec<TcpSocket>> {
    let inside = || {
        move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?;
        if may_be_in(Path::new("/proc/thread-self/net")) { held() } else { Ok(Vec::new()) }
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("tare-look-in".to_owned());
        let joined = thread.spawn_scoped(scope, inside)?.join();
        joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Whether somebody holds TCP sockets in a network namespace, as far as the kernel says, from its folder in
/// /proc (`/proc/4711/net`).
pub fn may_be_in(net: &Path) -> bool {
    [("sockstat", "TCP:"), ("sockstat6", "TCP6:")].iter().any(|(file, row)| {
        let counts = std::fs::read_to_string(net.join(file)).unwrap_or_default();
        !has_none(&counts, row)
    })
}

/// `TCP: inuse 0 …`: without those in TIME_WAIT, which nobody holds.
fn has_none(counts: &str, row: &str) -> bool {
    let mut rows = counts.lines().map(|line| line.split_whitespace().take(3));
    rows.any(|words| words.eq([row, "inuse", "0"]))
}

fn request(family: u8) -> [u8; 56] {
    let mut bytes = [0; 56];
    bytes[..2].copy_from_slice(&[family, TCP]);
    let states: u32 = !(1 << TIME_WAIT | 1 << NEW_SYN_RECV);
    bytes[4..8].copy_from_slice(&states.to_ne_bytes());
    bytes
}

fn one(body: &[u8]) -> Option<TcpSocket> {
    let (family, state) = (*body.first()?, *body.get(1)?);
    let at = |port: usize, address: usize| {
        let port = u16::from_be_bytes(body.get(port..port + 2)?.try_into().ok()?);
        let bytes: [u8; 16] = body.get(address..address + 16)?.try_into().ok()?;
        let ip: IpAddr = match family {
            AF_INET => Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3]).into(),
            _ => Ipv6Addr::from(bytes).to_canonical(),
        };
        Some(SocketAddr::new(ip, port))
    };
    Some(TcpSocket {
        local: at(4, 8)?,
        remote: at(6, 24)?,
        listens: state == LISTEN,
        inode: u64::from(u32_at(body, 68)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sock_diag::testing::inode;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn listeners_and_both_ends_of_connections_are_found_by_their_inodes() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let listener = TcpListener::bind(address).unwrap();
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (server, _) = listener.accept().unwrap();
            let found = held().unwrap();
            let of = |inode| *found.iter().find(|socket| socket.inode == inode).unwrap();
            let (near, far) = (client.local_addr().unwrap(), listener.local_addr().unwrap());
            let ends = |socket: TcpSocket| (socket.local, socket.remote, socket.listens);
            assert_eq!(ends(of(inode(&client))), (near, far, false));
            assert_eq!(ends(of(inode(&server))), (far, near, false));
            assert_eq!((of(inode(&listener)).local, of(inode(&listener)).listens), (far, true));
        }
    }

    #[test]
    fn what_waits_in_time_wait_is_left_out_and_ipv4_within_ipv6_is_ipv4() {
        let listener = TcpListener::bind("[::]:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let (server, _) = listener.accept().unwrap();
        let near = client.local_addr().unwrap();
        let of_server = inode(&server);
        let found = held().unwrap();
        let its = found.iter().find(|socket| socket.inode == of_server).unwrap();
        assert_eq!((its.local.ip(), its.remote), (near.ip(), near));
        drop(client);
        drop(server);
        assert!(held().unwrap().iter().all(|socket| socket.local != near && socket.remote != near));
    }

    #[test]
    fn sockets_of_another_namespace_are_found_there_alone() {
        let (tell, told) = std::sync::mpsc::channel();
        let (leave, left) = std::sync::mpsc::channel::<()>();
        let away = std::thread::spawn(move || {
            // SAFETY: this thread alone goes to the new namespace, and shares nothing of its own by it.
            if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
                return eprintln!("SKIPPED: no network namespace: {}", io::Error::last_os_error());
            }
            let listener = TcpListener::bind("0.0.0.0:0").unwrap();
            let namespace = File::open("/proc/thread-self/ns/net").unwrap();
            tell.send((namespace, inode(&listener), listener.local_addr().unwrap())).unwrap();
            let _ = left.recv();
        });
        if let Ok((namespace, inode, local)) = told.recv() {
            let found = held_in(&namespace).unwrap();
            let its = found.iter().find(|socket| socket.inode == inode).unwrap();
            assert_eq!((its.local, its.listens, found.len()), (local, true, 1));
            assert!(
                held().unwrap().iter().all(|socket| socket.inode != inode),
                "this thread is where it was"
            );
        }
        drop(leave);
        away.join().unwrap();
        assert!(held_in(&File::open("/proc/self/status").unwrap()).is_err());
    }

    #[test]
    fn a_namespace_in_which_nobody_holds_a_socket_says_so() {
        assert!(has_none("sockets: used 9\nTCP: inuse 0 orphan 0 tw 7 alloc 3 mem 0\n", "TCP:"));
        assert!(has_none("TCP6: inuse 0\nUDP6: inuse 2\n", "TCP6:"));
        assert!(!has_none("TCP: inuse 10 orphan 0 tw 0 alloc 12 mem 1\n", "TCP:"));
        assert!(!has_none("TCP6: inuse 0\n", "TCP:") && !has_none("", "TCP:"));
        let net = tempfile::tempdir().unwrap();
        assert!(may_be_in(net.path()), "it does not say so");
        std::fs::write(net.path().join("sockstat"), "TCP: inuse 0 orphan 0\n").unwrap();
        assert!(may_be_in(net.path()));
        std::fs::write(net.path().join("sockstat6"), "TCP6: inuse 0\n").unwrap();
        assert!(!may_be_in(net.path()));
    }

    #[test]
    fn what_is_cut_short_is_no_socket() {
        assert!((0..72).all(|length| one(&vec![2; length]).is_none()));
        assert!(one(&[2; 72]).is_some());
    }
}
