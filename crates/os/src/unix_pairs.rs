//! Which Unix sockets of this network namespace are connected to which, by sock_diag(7) (linux/unix_diag.h).
//!
//! `/proc/net/unix` has the sockets, but not the other end of each. The kernel tells it in answer to one
//! datagram:
//!
//! ```text
//!   request   nlmsghdr 16 | family 1 protocol 1 pad 2 states 4 inode 4 show 4 cookie 8
//!   answer    nlmsghdr 16 | family 1 type 1 state 1 pad 1 inode 4 cookie 8 | attributes
//!   attribute length 2 type 2 value
//! ```
//!
//! All numbers are the machine's own (little or big endian).

use rustix::net::netlink::{SOCK_DIAG, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with};
use std::io;

/// `SOCK_DIAG_BY_FAMILY`, and `NLM_F_REQUEST | NLM_F_DUMP`.
const BY_FAMILY: u16 = 20;
const DUMP: u16 = 0x301;
/// `NLMSG_ERROR` and `NLMSG_DONE`.
const ERROR: u16 = 2;
const DONE: u16 = 3;
const AF_UNIX: u8 = 1;
/// `UDIAG_SHOW_NAME | UDIAG_SHOW_PEER`, and the attributes that come.
const SHOW: u32 = 0x5;
const NAME: u16 = 0;
const PEER: u16 = 2;
/// Length of a header, of what follows it in an answer, and of the head of an attribute.
const HEAD: usize = 16;
const BODY: usize = 16;
const ATTRIBUTE: usize = 4;
/// Answers are read into this much: the kernel puts at most 32 KiB into one datagram.
const ROOM: usize = 64 * 1024;
/// Datagrams read for one request, at most: a bound, far above what any host has sockets.
const MOST_DATAGRAMS: usize = 4_096;

/// A Unix socket that is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connected {
    pub inode: u64,
    pub peer: u64,
    /// It has a name (a path): it was accepted from a listener that has it.
    pub is_named: bool,
}

/// All of them.
pub fn connected() -> io::Result<Vec<Connected>> {
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, Some(SOCK_DIAG))?;
    sendto(&socket, &request(), SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let (mut found, mut room) = (Vec::new(), vec![0; ROOM]);
    for _ in 0..MOST_DATAGRAMS {
        let (length, _) = recv(&socket, &mut room[..], RecvFlags::empty())?;
        if read(&room[..length.min(ROOM)], &mut found) {
            break;
        }
    }
    Ok(found)
}

fn request() -> [u8; 40] {
    let mut bytes = [0; 40];
    bytes[0..4].copy_from_slice(&40_u32.to_ne_bytes());
    bytes[4..6].copy_from_slice(&BY_FAMILY.to_ne_bytes());
    bytes[6..8].copy_from_slice(&DUMP.to_ne_bytes());
    bytes[16] = AF_UNIX;
    bytes[20..24].copy_from_slice(&u32::MAX.to_ne_bytes());
    bytes[28..32].copy_from_slice(&SHOW.to_ne_bytes());
    bytes
}

/// Adds what one datagram has; whether it is the last.
fn read(mut datagram: &[u8], found: &mut Vec<Connected>) -> bool {
    while let (Some(length), Some(kind)) = (u32_at(datagram, 0), u16_at(datagram, 4)) {
        let length = length as usize;
        if length < HEAD || length > datagram.len() || kind == ERROR || kind == DONE {
            return true;
        }
        found.extend(one(&datagram[HEAD..length]));
        datagram = datagram.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    false
}

/// `None` for a socket that is not connected.
fn one(message: &[u8]) -> Option<Connected> {
    let inode = u64::from(u32_at(message, 4)?);
    let (mut peer, mut is_named) = (None, false);
    let mut rest = message.get(BODY..)?;
    while let (Some(length), Some(kind)) = (u16_at(rest, 0), u16_at(rest, 2)) {
        let length = usize::from(length);
        if length < ATTRIBUTE || length > rest.len() {
            break;
        }
        match kind {
            PEER => peer = u32_at(rest, ATTRIBUTE).map(u64::from),
            NAME => is_named = length > ATTRIBUTE,
            _ => (),
        }
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Some(Connected { inode, peer: peer.filter(|peer| *peer != 0)?, is_named })
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::{UnixListener, UnixStream};

    fn inode(socket: &impl AsRawFd) -> u64 {
        let link = std::fs::read_link(format!("/proc/self/fd/{}", socket.as_raw_fd())).unwrap();
        let text = link.to_str().unwrap().to_owned();
        text.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']')).unwrap().parse().unwrap()
    }

    #[test]
    fn both_ends_are_found_and_which_of_them_was_accepted() {
        let path = std::env::temp_dir().join(format!("tare-unix-pairs-{}", std::process::id()));
        let listener = UnixListener::bind(&path).unwrap();
        let client = UnixStream::connect(&path).unwrap();
        let (server, _) = listener.accept().unwrap();
        let _ = std::fs::remove_file(&path);
        let found = connected().unwrap();
        let of = |inode| found.iter().find(|one| one.inode == inode).copied();
        let (near, far) = (inode(&client), inode(&server));
        assert_eq!(of(near), Some(Connected { inode: near, peer: far, is_named: false }));
        assert_eq!(of(far), Some(Connected { inode: far, peer: near, is_named: true }));
        assert_eq!(of(inode(&listener)), None);
    }

    #[test]
    fn what_is_cut_short_ends_the_reading() {
        let whole = [&[36, 0, 0, 0, 20, 0][..], &[0; 30]].concat();
        for length in 0..whole.len() {
            let mut found = Vec::new();
            read(&whole[..length], &mut found);
            assert_eq!(found, []);
        }
    }
}
