//! The kernel's tables of sockets in this network namespace, by sock_diag(7): one datagram asks for a table,
//! and the answer is many messages.
//!
//! ```text
//!   message   nlmsghdr: length 4, type 2, flags 2, sequence 4, port 4 | body
//! ```
//!
//! All numbers are the machine's own (little or big endian), unless said.

use rustix::net::netlink::{SOCK_DIAG, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with};
use std::io;

/// `SOCK_DIAG_BY_FAMILY`, and `NLM_F_REQUEST | NLM_F_DUMP`.
const BY_FAMILY: u16 = 20;
const DUMP: u16 = 0x301;
/// `NLMSG_ERROR` and `NLMSG_DONE`.
const ERROR: u16 = 2;
const DONE: u16 = 3;
/// Length of the head of a message.
const HEAD: usize = 16;
/// Answers are read into this much: the kernel puts at most 32 KiB into one datagram.
const ROOM: usize = 64 * 1024;
/// Datagrams read for one request, at most: a bound, far above what any host has sockets.
const MOST_DATAGRAMS: usize = 16_384;

/// Asks for a table, and gives the body of each message of the answer to `each`.
///
/// # Errors
///
/// The kernel's, also where it has no such table: a module may be missing.
pub(crate) fn dump(request: &[u8], mut each: impl FnMut(&[u8])) -> io::Result<()> {
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, Some(SOCK_DIAG))?;
    sendto(&socket, &message(request), SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let mut room = vec![0; ROOM];
    for _ in 0..MOST_DATAGRAMS {
        let (length, _) = recv(&socket, &mut room[..], RecvFlags::empty())?;
        if read(&room[..length.min(ROOM)], &mut each)? {
            return Ok(());
        }
    }
    Ok(())
}

fn message(body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; HEAD];
    bytes[0..4].copy_from_slice(&u32::try_from(HEAD + body.len()).unwrap_or(u32::MAX).to_ne_bytes());
    bytes[4..6].copy_from_slice(&BY_FAMILY.to_ne_bytes());
    bytes[6..8].copy_from_slice(&DUMP.to_ne_bytes());
    bytes.extend(body);
    bytes
}

/// Gives what one datagram has; whether it is the last.
pub(crate) fn read(mut datagram: &[u8], each: &mut impl FnMut(&[u8])) -> io::Result<bool> {
    while let (Some(length), Some(kind)) = (u32_at(datagram, 0), u16_at(datagram, 4)) {
        let length = length as usize;
        if length < HEAD || length > datagram.len() || kind == DONE {
            return Ok(true);
        }
        if kind == ERROR {
            // The number of the error, negative.
            let number = u32_at(datagram, HEAD).map_or(0, |number| -number.cast_signed());
            return Err(io::Error::from_raw_os_error(number));
        }
        each(&datagram[HEAD..length]);
        datagram = datagram.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(false)
}

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
pub(crate) mod testing {
    use std::os::fd::AsRawFd;

    /// By which the kernel's tables name a socket.
    pub fn inode(socket: &impl AsRawFd) -> u64 {
        let link = std::fs::read_link(format!("/proc/self/fd/{}", socket.as_raw_fd())).unwrap();
        let text = link.to_str().unwrap().to_owned();
        text.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']')).unwrap().parse().unwrap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_short_ends_the_reading() {
        let whole = [&[36, 0, 0, 0, 20, 0][..], &[0; 30]].concat();
        for length in 0..whole.len() {
            let mut found = 0;
            let _ = read(&whole[..length], &mut |_| found += 1);
            assert_eq!(found, 0);
        }
    }

    #[test]
    fn an_error_of_the_kernel_is_one() {
        let mut none = |_: &[u8]| panic!("an error is no socket");
        let mut whole = message(&(-2_i32).to_ne_bytes());
        whole[4..6].copy_from_slice(&ERROR.to_ne_bytes());
        assert_eq!(read(&whole, &mut none).unwrap_err().kind(), io::ErrorKind::NotFound);
        // No protocol has this number.
        assert!(dump(&[2, 250, 0, 0], none).is_err());
    }
}
