//! Payloads on their way out: rooms of this process, handed to the socket many at a time.
//!
//! ```text
//!   rooms    ├ 0 ┬ 1 ┬ 2 ┬ 3 ┬ 4 ┤     0, 1 and 2 are equally long: one message, which the kernel cuts up
//!                                      (UDP_SEGMENT)
//!   messages ├─────────────┼───┼───┤     one sendmmsg(2) for all
//! ```

use super::headers;
use crate::{PortError, Slot, Stamp};
use std::io;
use std::mem::size_of;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Frames of one call.
pub(super) const BATCH: usize = 64;
/// Bytes of one message, whatever it is cut into: the length field of IPv4 less the longest headers.
const MOST_BYTES: usize = 65_535 - 68;

/// Room for one control message with a `u16`, aligned as the kernel wants it.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Ancillary([u8; 24]);

pub(super) struct Outgoing {
    bytes: Box<[u8]>,
    room: usize,
    marks: Box<[u64]>,
    /// Where each room's payload is.
    payloads: Vec<Range<usize>>,
    vectors: Box<[libc::iovec]>,
    headers: Box<[libc::mmsghdr]>,
    controls: Box<[Ancillary]>,
    /// Rooms that wait to be sent.
    pending: Range<usize>,
    /// Whether the kernel cuts messages up.
    cuts: bool,
    /// What is pending goes one by one: there was no room for a message that is cut up.
    singly: bool,
    /// Bytes of the headers that the kernel puts before each payload.
    overhead: u64,
}

// SAFETY: the pointers in `vectors` and `headers` lead to this value's own boxes, which move with it.
unsafe impl Send for Outgoing {}

/// Why a frame was not taken.
pub(super) enum Refused {
    TooLong(usize),
    NoDatagram,
}

/// What was sent by one call.
#[derive(Clone, Copy, Default)]
pub(super) struct Sent {
    pub messages: u64,
    pub frames: u64,
    /// With their headers.
    pub bytes: u64,
    pub payload: u64,
    /// Not all that was asked for: of why, the next call may tell.
    pub is_part: bool,
}

impl Outgoing {
    pub fn new(longest: usize, cuts: bool, is_ipv6: bool) -> Self {
        let room = longest.next_multiple_of(64);
        // SAFETY: `mmsghdr` is plain integers and pointers; all zeroes is a value of it.
        let header = || unsafe { std::mem::zeroed::<libc::mmsghdr>() };
        Self {
            bytes: vec![0; room * BATCH].into(),
            room,
            marks: vec![0; BATCH].into(),
            payloads: vec![0..0; BATCH],
            vectors: (0..BATCH).map(|_| libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }).collect(),
            headers: (0..BATCH).map(|_| header()).collect(),
            controls: vec![Ancillary([0; 24]); BATCH].into(),
            pending: 0..0,
            cuts,
            singly: false,
            // Ethernet, IPv4 or IPv6, UDP.
            overhead: 14 + 8 + if is_ipv6 { 40 } else { 20 },
        }
    }

    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Has up to `most` frames written. Nothing must be pending.
    pub fn write(
        &mut self,
        most: usize,
        longest: usize,
        write: &mut dyn FnMut(&mut Slot<'_>),
    ) -> (usize, Option<Refused>) {
        let (mut taken, mut next, mut refused) = (0, 0, None);
        while taken < most.min(BATCH) {
            let data = &mut self.bytes[next * self.room..][..self.room];
            let mut slot = Slot { data, length: 0, launch: Stamp::NONE, mark: &mut self.marks[next] };
            write(&mut slot);
            if slot.length == 0 {
                taken += 1;
                continue;
            }
            if slot.length > longest {
                refused = Some(Refused::TooLong(slot.length));
                break;
            }
            let Some(payload) = headers::payload(&slot.data[..slot.length]) else {
                refused = Some(Refused::NoDatagram);
                break;
            };
            self.payloads[next] = payload;
            taken += 1;
            next += 1;
        }
        self.pending = 0..next;
        self.singly = false;
        (taken, refused)
    }

    /// Sends what is pending, as much as the socket takes at once.
    pub fn send(&mut self, socket: BorrowedFd<'_>) -> io::Result<Sent> {
        let messages = self.lay_out();
        let count = messages as libc::c_uint;
        let headers = self.headers.as_mut_ptr();
        // SAFETY: the first `count` headers point to vectors and controls of this value, and these to its
        // rooms; all outlive the call.
        let sent = unsafe { libc::sendmmsg(socket.as_raw_fd(), headers, count, libc::MSG_DONTWAIT) };
        let sent = usize::try_from(sent).map_err(|_| io::Error::last_os_error())?;
        Ok(Sent { is_part: sent < messages, ..self.done(sent) })
    }

    /// The frames of the first `messages` messages have left.
    fn done(&mut self, messages: usize) -> Sent {
        let frames: usize = self.headers[..messages].iter().map(|header| header.msg_hdr.msg_iovlen).sum();
        let range = self.pending.start..self.pending.start + frames;
        // A frame counts with the headers that it leaves with.
        let payload = self.payloads[range].iter().map(|payload| payload.len() as u64).sum();
        self.pending.start += frames;
        let bytes = payload + frames as u64 * self.overhead;
        Sent { messages: messages as u64, frames: frames as u64, bytes, payload, is_part: false }
    }

    /// Bytes of the payload that was sent last.
    pub fn last_length(&self) -> usize {
        self.payloads.get(self.pending.start.wrapping_sub(1)).map_or(0, std::iter::ExactSizeIterator::len)
    }

    /// The kernel cannot cut messages up on this way; every frame is a message of its own from now on.
    pub fn cut_no_more(&mut self) -> bool {
        std::mem::replace(&mut self.cuts, false)
    }

    /// There was no room for the first message: what is pending goes one by one. `false` if it does already.
    pub fn part(&mut self) -> bool {
        let is_cut = self.pending.len() > 1 && self.run(self.pending.start) > 1;
        self.singly |= is_cut;
        is_cut
    }

    /// Gives up the first frame that is pending.
    pub fn skip(&mut self) {
        self.pending.start = (self.pending.start + 1).min(self.pending.end);
    }

    /// Makes messages of what is pending. Returns how many.
    fn lay_out(&mut self) -> usize {
        let (mut message, mut at) = (0, self.pending.start);
        while at < self.pending.end {
            let run = self.run(at);
            let size = self.payloads[at].len();
            for index in at..at + run {
                let payload = self.payloads[index].clone();
                let room = &mut self.bytes[index * self.room..][payload];
                self.vectors[index] = libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: room.len() };
            }
            let header = &mut self.headers[message].msg_hdr;
            header.msg_iov = &mut self.vectors[at];
            header.msg_iovlen = run;
            (header.msg_control, header.msg_controllen) = (std::ptr::null_mut(), 0);
            if run > 1 {
                let control = &mut self.controls[message];
                *control = segments_of(size as u16);
                header.msg_control = control.0.as_mut_ptr().cast();
                header.msg_controllen = control.0.len();
            }
            at += run;
            message += 1;
        }
        message
    }

    /// How many frames from `at` on can be one message: equally long, but for the last, which may be shorter.
    fn run(&self, at: usize) -> usize {
        let size = self.payloads[at].len();
        if !self.cuts || self.singly || size == 0 {
            return 1;
        }
        let (mut run, mut bytes) = (1, size);
        for payload in &self.payloads[at + 1..self.pending.end] {
            if payload.len() > size || payload.is_empty() || bytes + payload.len() > MOST_BYTES {
                break;
            }
            (run, bytes) = (run + 1, bytes + payload.len());
            if payload.len() < size {
                break;
            }
        }
        run
    }
}

/// The control message that says how long each piece is (udp(7)): length, level, type, value.
fn segments_of(size: u16) -> Ancillary {
    let mut control = [0; 24];
    let length = size_of::<libc::cmsghdr>() + size_of::<u16>();
    control[..8].copy_from_slice(&length.to_ne_bytes());
    control[8..12].copy_from_slice(&libc::SOL_UDP.to_ne_bytes());
    control[12..16].copy_from_slice(&libc::UDP_SEGMENT.to_ne_bytes());
    control[16..18].copy_from_slice(&size.to_ne_bytes());
    Ancillary(control)
}

impl Refused {
    pub fn error(&self, port: &str, longest: usize) -> PortError {
        match self {
            Self::TooLong(length) => PortError::TooLong { port: port.to_owned(), length: *length, longest },
            Self::NoDatagram => PortError::Unable {
                port: port.to_owned(),
                what: "send a frame that is not a whole UDP datagram over IP",
            },
        }
    }
}
