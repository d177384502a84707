//! Payloads that have arrived: rooms with the headers already in place, filled by recvmmsg(2).
//!
//! ```text
//!   room ├ Ethernet, IP, UDP ┬ payload … ┤    control: the kernel's stamp, and the datagrams lost before
//! ```

use super::headers::Headers;
use crate::{CardWork, Frame, Stamp};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

pub(super) const BATCH: usize = 64;
/// Bytes for control messages: one with a timespec (32), one with a count (24).
const CONTROL: usize = 64;

#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Ancillary([u8; CONTROL]);

pub(super) struct Incoming {
    bytes: Box<[u8]>,
    room: usize,
    ahead: Headers,
    vectors: Box<[libc::iovec]>,
    headers: Box<[libc::mmsghdr]>,
    controls: Box<[Ancillary]>,
    /// Datagrams that the socket lost, as it last said.
    lost: u32,
}

// SAFETY: the pointers in `vectors` and `headers` lead to this value's own boxes, which move with it.
unsafe impl Send for Incoming {}

/// What one call brought.
#[derive(Clone, Copy, Default)]
pub(super) struct Got {
    pub frames: usize,
    pub bytes: u64,
}

impl Incoming {
    /// Rooms for frames of `longest` bytes.
    pub fn new(longest: usize, ahead: Headers) -> Self {
        let room = longest.next_multiple_of(64);
        let mut bytes = vec![0; room * BATCH].into_boxed_slice();
        let mut controls = vec![Ancillary([0; CONTROL]); BATCH].into_boxed_slice();
        let mut vectors: Box<[libc::iovec]> = bytes
            .chunks_exact_mut(room)
            .map(|room| {
                ahead.write(room);
                let payload = &mut room[ahead.length()..];
                libc::iovec { iov_base: payload.as_mut_ptr().cast(), iov_len: payload.len() }
            })
            .collect();
        let headers = vectors
            .iter_mut()
            .zip(controls.iter_mut())
            .map(|(vector, control)| {
                // SAFETY: `mmsghdr` is plain integers and pointers; all zeroes is a value of it.
                let mut header: libc::mmsghdr = unsafe { std::mem::zeroed() };
                header.msg_hdr.msg_iov = vector;
                header.msg_hdr.msg_iovlen = 1;
                header.msg_hdr.msg_control = control.0.as_mut_ptr().cast();
                header
            })
            .collect();
        Self { bytes, room, ahead, vectors, headers, controls, lost: 0 }
    }

    /// Reads what is there, up to `most`, and shows it.
    pub fn receive(
        &mut self,
        socket: BorrowedFd<'_>,
        most: usize,
        read: &mut dyn FnMut(&Frame<'_>),
    ) -> io::Result<Got> {
        let most = most.min(BATCH);
        for header in &mut self.headers[..most] {
            header.msg_hdr.msg_controllen = CONTROL;
        }
        let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
        let (headers, count) = (self.headers.as_mut_ptr(), most as libc::c_uint);
        // SAFETY: the first `count` headers point to vectors and controls of this value, and these to its
        // rooms; no time-out.
        let got =
            unsafe { libc::recvmmsg(socket.as_raw_fd(), headers, count, flags as _, std::ptr::null_mut()) };
        let got = usize::try_from(got).map_err(|_| io::Error::last_os_error())?;
        let mut sum = Got { frames: got, ..Got::default() };
        for index in 0..got {
            let (stamp, lost) =
                told(&self.controls[index].0[..self.headers[index].msg_hdr.msg_controllen.min(CONTROL)]);
            // The socket's count never goes back, but wraps.
            let before = lost.map_or(0, |lost| lost.wrapping_sub(std::mem::replace(&mut self.lost, lost)));
            let length = self.headers[index].msg_len as usize;
            let kept = length.min(self.vectors[index].iov_len);
            let ahead = self.ahead.length();
            let room = &mut self.bytes[index * self.room..][..ahead + kept];
            self.ahead.finish(room, kept, length);
            read(&Frame {
                data: room,
                length: ahead + length,
                stamp,
                lost_before: before,
                card_work: CardWork::NONE,
            });
            sum.bytes += (ahead + length) as u64;
        }
        Ok(sum)
    }
}

/// The stamp and the count of lost datagrams among control messages (cmsg(3)): length, level, type, value,
/// aligned to 8.
fn told(mut control: &[u8]) -> (Stamp, Option<u32>) {
    let (mut stamp, mut lost) = (Stamp::NONE, None);
    while let Some((head, rest)) = control.split_at_checked(16) {
        let number = |at: usize| i32::from_ne_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let length = number(0).max(0) as usize;
        let Some(value) = rest.get(..length.saturating_sub(16)) else { break };
        match (number(8), number(12), value) {
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS, [_, .., _]) if value.len() == 16 => {
                let (seconds, nanos) = value.split_at(8);
                let read = |bytes: &[u8]| bytes.try_into().map(i64::from_ne_bytes).unwrap_or(0) as u64;
                stamp = Stamp(read(seconds) * 1_000_000_000 + read(nanos));
            }
            (libc::SOL_SOCKET, libc::SO_RXQ_OVFL, [a, b, c, d]) => {
                lost = Some(u32::from_ne_bytes([*a, *b, *c, *d]));
            }
            _ => {}
        }
        control = control.get(length.max(16).next_multiple_of(8)..).unwrap_or_default();
    }
    (stamp, lost)
}
