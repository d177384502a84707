//! Stamps of what a socket sent: the driver's, by way of the socket's error queue.
//!
//! ```text
//!   send ─► stack ─► driver: skb_tx_timestamp ─► the packet itself with its stamp ─► recvmmsg(MSG_ERRQUEUE)
//! ```
//!
//! Documentation/networking/timestamping.rst, 1.3 and 2.1. The packet comes back from its Ethernet header on.

use super::Reader;
use crate::WeighError;
use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use wire::Signature;

/// Stamps of one call.
const BATCH: usize = 64;
/// Bytes of each packet: headers and signature.
const DATA: usize = 128;
const CONTROL: usize = 256;
/// What the queue may hold: a packet and its notes take less than a kibibyte, if it is short.
const ROOM: i32 = 64 << 20;

/// Room for control messages, aligned as the kernel wants it.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Ancillary([u8; CONTROL]);

/// The error queue of a socket that somebody else sends through.
pub struct ErrorQueue {
    socket: OwnedFd,
    data: Box<[[u8; DATA]]>,
    controls: Box<[Ancillary]>,
    vectors: Box<[libc::iovec]>,
    headers: Box<[libc::mmsghdr]>,
    method: &'static str,
}

// SAFETY: the pointers in `vectors` and `headers` lead to this value's own boxes, which move with it.
unsafe impl Send for ErrorQueue {}

impl ErrorQueue {
    /// Has the kernel stamp all that leaves through this socket.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn open(socket: BorrowedFd<'_>) -> io::Result<Self> {
        let socket = socket.try_clone_to_owned()?;
        let room = |option| set(&socket, (libc::SOL_SOCKET, option), ROOM);
        room(libc::SO_RCVBUFFORCE).or_else(|_| room(libc::SO_RCVBUF))?;
        // The network's errors would take the room of stamps. No socket has both options.
        for of_kind in [(libc::IPPROTO_IP, libc::IP_RECVERR), (libc::IPPROTO_IPV6, libc::IPV6_RECVERR)] {
            let _ = set(&socket, of_kind, 0);
        }
        let flags = libc::SOF_TIMESTAMPING_TX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE;
        set(&socket, (libc::SOL_SOCKET, libc::SO_TIMESTAMPING), flags as i32)?;
        // SAFETY: `mmsghdr` is plain integers and pointers; all zeroes is a value of it.
        let header = || unsafe { std::mem::zeroed::<libc::mmsghdr>() };
        let empty = || libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        Ok(Self {
            socket,
            data: vec![[0; DATA]; BATCH].into(),
            controls: vec![Ancillary([0; CONTROL]); BATCH].into(),
            vectors: (0..BATCH).map(|_| empty()).collect(),
            headers: (0..BATCH).map(|_| header()).collect(),
            method: "reading stamps",
        })
    }

    /// Messages that were there; fewer than asked for is all.
    fn receive(&mut self) -> io::Result<usize> {
        for index in 0..BATCH {
            self.vectors[index] =
                libc::iovec { iov_base: self.data[index].as_mut_ptr().cast(), iov_len: DATA };
            let header = &mut self.headers[index].msg_hdr;
            header.msg_iov = &raw mut self.vectors[index];
            header.msg_iovlen = 1;
            header.msg_control = self.controls[index].0.as_mut_ptr().cast();
            header.msg_controllen = CONTROL as _;
        }
        let (fd, flags) = (self.socket.as_raw_fd(), libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT);
        let (headers, count) = (self.headers.as_mut_ptr(), BATCH as u32);
        // SAFETY: `count` headers, whose vectors and controls are this value's own and as long as said.
        let read = unsafe { libc::recvmmsg(fd, headers, count, flags as _, std::ptr::null_mut()) };
        if read < 0 { Err(io::Error::last_os_error()) } else { Ok(read as usize) }
    }
}

impl Reader for ErrorQueue {
    fn read(&mut self, found: &mut dyn FnMut(Option<(u64, u64)>)) -> Result<usize, WeighError> {
        let read = match self.receive() {
            Ok(read) => read,
            Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EINTR)) => return Ok(0),
            Err(source) => return Err(WeighError::System { what: self.method.into(), source }),
        };
        for index in 0..read {
            let header = &self.headers[index];
            let data = &self.data[index][..(header.msg_len as usize).min(DATA)];
            let control = &self.controls[index].0[..header.msg_hdr.msg_controllen.min(CONTROL)];
            let signature = Signature::find(data);
            found(signature.zip(stamp(control)).map(|(signature, stamp)| (signature.sent_unix_ns, stamp)));
        }
        Ok(read)
    }
}

/// The software stamp among control messages, in ns since 1970.
fn stamp(mut control: &[u8]) -> Option<u64> {
    const HEAD: usize = size_of::<libc::cmsghdr>();
    while control.len() >= HEAD {
        let length = usize::from_ne_bytes(*control.first_chunk()?);
        let word = |at: usize| control[at..].first_chunk().map(|bytes| i32::from_ne_bytes(*bytes));
        let (level, kind) = (word(size_of::<usize>())?, word(size_of::<usize>() + 4)?);
        if length < HEAD || length > control.len() {
            return None;
        }
        if (level, kind) == (libc::SOL_SOCKET, libc::SO_TIMESTAMPING) {
            let number = |at: usize| {
                control.get(HEAD + at..)?.first_chunk().map(|bytes| i64::from_ne_bytes(*bytes) as u64)
            };
            // Three times: of the kernel, none, of the card.
            return Some(number(0)? * 1_000_000_000 + number(8)?).filter(|stamp| *stamp > 0);
        }
        control = control.get(length.next_multiple_of(size_of::<usize>())..)?;
    }
    None
}

fn set(socket: &OwnedFd, (level, option): (i32, i32), value: i32) -> io::Result<()> {
    let (pointer, length) = ((&raw const value).cast(), size_of::<i32>() as libc::socklen_t);
    // SAFETY: an integer of this length, which the kernel copies before it returns.
    let status = unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, pointer, length) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(level: i32, kind: i32, data: &[i64]) -> Vec<u8> {
        let mut bytes = (16 + data.len() * 8).to_ne_bytes().to_vec();
        bytes.extend(level.to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        data.iter().for_each(|word| bytes.extend(word.to_ne_bytes()));
        bytes
    }

    #[test]
    fn the_kernels_stamp_is_found_among_others() {
        let other = message(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &[5, 6]);
        let stamps = message(libc::SOL_SOCKET, libc::SO_TIMESTAMPING, &[7, 8, 0, 0, 0, 0]);
        assert_eq!(stamp(&[other.clone(), stamps.clone()].concat()), Some(7_000_000_008));
        assert_eq!(stamp(&stamps), Some(7_000_000_008));
        assert_eq!(stamp(&other), None);
        assert_eq!(stamp(&stamps[..20]), None);
    }
}
