//! Sending by `sendmmsg`: frames are written into rooms of this process, and one call hands over many of them.
//!
//! ```text
//!   rooms   ├ 0 ┬ 1 ┬ 2 ┬ 3 ┬ … ┤
//!             sent └ pending ┘      what the kernel had no room for stays, and leaves first the next time
//! ```
//!
//! With launch times ([`super::timed`]) each message has a control message with its own (SCM_TXTIME).

use super::outlet::{Outlet, Written, too_long};
use super::socket::Socket;
use crate::{Slot, Stamp};
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;

/// Frames of one call. More make it no faster (the system call's own cost is then below 2 %), and a smaller
/// batch leaves the kernel sooner.
pub const BATCH: usize = 64;

pub struct Batch {
    /// Rooms one behind another.
    bytes: Box<[u8]>,
    room: usize,
    marks: Box<[u64]>,
    launches: Box<[Stamp]>,
    /// Empty where there are no launch times.
    controls: Box<[Control]>,
    /// Point to the rooms, in order; each `iov_len` is its frame's length.
    vectors: Box<[libc::iovec]>,
    headers: Box<[libc::mmsghdr]>,
    pending: Range<usize>,
}

/// One control message with a launch time, as the kernel lays it out (cmsg(3)).
#[repr(C)]
#[derive(Clone, Copy)]
struct Control {
    head: libc::cmsghdr,
    time_ns: u64,
}

// SAFETY: the pointers in `vectors` and `headers` lead to this value's own boxes, which move with it.
unsafe impl Send for Batch {}

impl Batch {
    pub fn new(longest: usize) -> Self {
        let room = longest.next_multiple_of(64);
        let mut bytes = vec![0; room * BATCH].into_boxed_slice();
        let vector = |room: &mut [u8]| libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: 0 };
        let mut vectors: Box<[libc::iovec]> = bytes.chunks_exact_mut(room).map(vector).collect();
        let headers = vectors.iter_mut().map(|vector| {
            // SAFETY: `mmsghdr` is plain integers and pointers; all zeroes is a value of it.
            let mut header: libc::mmsghdr = unsafe { std::mem::zeroed() };
            header.msg_hdr.msg_iov = vector;
            header.msg_hdr.msg_iovlen = 1;
            header
        });
        let headers = headers.collect();
        Self {
            bytes,
            room,
            marks: vec![0; BATCH].into(),
            launches: vec![Stamp::NONE; BATCH].into(),
            controls: Box::new([]),
            vectors,
            headers,
            pending: 0..0,
        }
    }

    /// One whose frames have launch times.
    pub fn timed(longest: usize) -> Self {
        let mut batch = Self::new(longest);
        let head = libc::cmsghdr {
            // Of head and value, without what the next would be aligned by; here it is the same.
            cmsg_len: size_of::<Control>() as _,
            cmsg_level: libc::SOL_SOCKET,
            cmsg_type: libc::SCM_TXTIME,
        };
        batch.controls = vec![Control { head, time_ns: 0 }; BATCH].into();
        batch
    }

    pub fn range(&self) -> Range<usize> {
        self.pending.clone()
    }

    pub fn launch(&self, index: usize) -> Stamp {
        self.launches[index]
    }

    pub fn length(&self, index: usize) -> usize {
        self.vectors[index].iov_len
    }

    /// The launch time of a frame for the kernel; 0 is none.
    pub fn set_time(&mut self, index: usize, time_ns: u64) {
        let Some(control) = self.controls.get_mut(index) else { return };
        control.time_ns = time_ns;
        let header = &mut self.headers[index].msg_hdr;
        header.msg_control = (&raw mut *control).cast();
        header.msg_controllen = if time_ns == 0 { 0 } else { size_of::<Control>() as _ };
    }

    /// Sends the first `count` that are pending, with their control messages; they stay pending.
    pub fn send(&mut self, socket: &Socket, count: usize) -> io::Result<usize> {
        let start = self.pending.start;
        send_many(socket, &mut self.headers[start..start + count])
    }

    /// So many have left.
    pub fn advance(&mut self, sent: usize) {
        self.pending.start += sent;
    }

    fn frame(&self, index: usize) -> &[u8] {
        &self.bytes[index * self.room..][..self.vectors[index].iov_len]
    }
}

impl Outlet for Batch {
    fn write(&mut self, most: usize, longest: usize, write: &mut dyn FnMut(&mut Slot<'_>)) -> Written {
        let mut written = Written::default();
        let mut next = 0;
        while written.taken < most && next < BATCH {
            let data = &mut self.bytes[next * self.room..][..self.room];
            let mut slot = Slot { data, length: 0, launch: Stamp::NONE, mark: &mut self.marks[next] };
            write(&mut slot);
            let length = slot.length;
            if too_long(slot.data, length, longest) {
                written.too_long = Some(length);
                break;
            }
            written.taken += 1;
            self.launches[next] = slot.launch;
            self.vectors[next].iov_len = length;
            // Nothing is sent of an empty one: the next takes its room.
            next += usize::from(length > 0);
        }
        self.pending = 0..next;
        written
    }

    fn pending(&self) -> usize {
        self.pending.len()
    }

    fn hand_over(&mut self, socket: &Socket) -> io::Result<(u64, u64)> {
        let Range { start, end } = self.pending.clone();
        let sent = if end - start == 1 {
            socket.send(self.frame(start)).map(|()| 1)?
        } else {
            send_many(socket, &mut self.headers[start..end])?
        };
        let bytes = self.vectors[start..start + sent].iter().map(|vector| vector.iov_len as u64).sum();
        self.pending.start += sent;
        Ok((sent as u64, bytes))
    }

    fn skip(&mut self) {
        self.pending.start += 1;
    }

    fn discard(&mut self) -> usize {
        let left = self.pending.len();
        self.pending = 0..0;
        left
    }

    fn in_flight(&mut self, socket: &Socket) -> io::Result<bool> {
        Ok(socket.unsent()? > 0)
    }

    fn batch(&self) -> usize {
        BATCH
    }
}

/// How many of them the kernel took; an error if it took none.
fn send_many(socket: &Socket, headers: &mut [libc::mmsghdr]) -> io::Result<usize> {
    let count = headers.len() as libc::c_uint;
    // SAFETY: each header points to one vector, and that to a room with as many bytes as it says; all of them
    // belong to one `Batch` and outlive the call.
    let sent =
        unsafe { libc::sendmmsg(socket.fd().as_raw_fd(), headers.as_mut_ptr(), count, libc::MSG_DONTWAIT) };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}
