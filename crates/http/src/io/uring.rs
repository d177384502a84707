//! Sockets by io_uring: one multishot receive a connection, sends gathered and submitted with the next wait.
//!
//! Fewer system calls than epoll, at a price: bytes leave when the batch is submitted, a little after `send`
//! returned. What is not worth a ring (connecting, the first send) uses plain system calls.

use super::buffers::{Buffers, GROUP};
use super::{Chunk, Driver, Opening, Ready, Wait, begin, reset_on_close, syn_round_trip};
use io_uring::squeue::Entry;
use io_uring::types::{Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{SendFlags, SocketAddrAny, send};
use std::collections::VecDeque;
use units::{Instant, Picos};

/// Entries of the submission ring.
const ENTRIES: u32 = 512;
/// Completions are four times as many: multishot receives make many of one submission.
const COMPLETIONS: u32 = 4 * ENTRIES;

/// What a completion belongs to: the top byte of its user data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Receive,
    Send,
    Connect,
    Waker,
    Cancel,
}

#[derive(Default)]
struct Socket {
    fd: Option<OwnedFd>,
    generation: u32,
    connecting: bool,
    receiving: bool,
    paused: bool,
    /// Bytes with the kernel; their memory stays until the completion.
    sending: Vec<u8>,
    sent: usize,
    wants_write: bool,
}

/// Something that came out of the ring and was not handed out.
#[derive(Clone, Copy, Debug)]
struct Came {
    slot: u32,
    generation: u32,
    what: What,
    /// It had not come out of the ring then.
    not_before: Instant,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Bytes { id: u16, length: usize, taken: usize },
    Other(Ready),
}

/// See the module.
pub struct Uring {
    // Dropped before the buffers that it points to.
    ring: IoUring,
    buffers: Buffers,
    sockets: Vec<Socket>,
    /// Sends whose socket was closed meanwhile: their memory, by user data.
    orphans: Vec<(u64, Vec<u8>)>,
    came: VecDeque<Came>,
    waker: OwnedFd,
    overflow: VecDeque<Entry>,
    /// What comes out of the ring next was not there before this.
    not_before: Instant,
}

impl Uring {
    /// `waker` is an eventfd that ends a wait. Fails where the kernel refuses io_uring or lacks a feature of 6.0.
    pub fn new(waker: OwnedFd) -> Result<Self, Errno> {
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_coop_taskrun()
            .setup_cqsize(COMPLETIONS)
            .build(ENTRIES)
            .map_err(|error| errno(&error))?;
        let buffers = Buffers::new()?;
        // SAFETY: the ring's memory is page-aligned, large enough for `count` entries, and outlives the registration,
        // as `ring` is dropped before `buffers`.
        unsafe {
            ring.submitter().register_buf_ring_with_flags(buffers.ring_address(), Buffers::count(), GROUP, 0)
        }
        .map_err(|error| errno(&error))?;
        let mut uring = Self {
            ring,
            buffers,
            sockets: Vec::new(),
            orphans: Vec::new(),
            came: VecDeque::new(),
            waker,
            overflow: VecDeque::new(),
            not_before: Instant::EPOCH,
        };
        uring.watch_waker();
        Ok(uring)
    }

    fn watch_waker(&mut self) {
        let poll = opcode::PollAdd::new(Fd(self.waker.as_raw_fd()), libc::POLLIN as u32).multi(true);
        self.push(poll.build().user_data(user_data(Kind::Waker, 0, 0)));
    }

    /// Puts an entry into the ring, or behind it if it is full.
    fn push(&mut self, entry: Entry) {
        // SAFETY: every entry names descriptors and memory that stay valid until its completion: sockets are closed by
        // `close`, which cancels first, and `sending` is kept (or moved to `orphans`) until the send completes.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        if pushed.is_err() {
            self.overflow.push_back(entry);
        }
    }

    fn receive(&mut self, slot: u32) {
        let socket = &mut self.sockets[slot as usize];
        let Some(fd) = &socket.fd else { return };
        let entry = opcode::RecvMulti::new(Fd(fd.as_raw_fd()), GROUP).build().user_data(user_data(
            Kind::Receive,
            slot,
            socket.generation,
        ));
        socket.receiving = true;
        self.push(entry);
    }

    fn submit_send(&mut self, slot: u32) {
        let socket = &mut self.sockets[slot as usize];
        let Some(fd) = &socket.fd else { return };
        let rest = &socket.sending[socket.sent..];
        let entry = opcode::Send::new(Fd(fd.as_raw_fd()), rest.as_ptr(), rest.len() as u32)
            .flags(libc::MSG_NOSIGNAL)
            .build()
            .user_data(user_data(Kind::Send, slot, socket.generation));
        self.push(entry);
    }

    fn flush_overflow(&mut self) {
        while let Some(entry) = self.overflow.pop_front() {
            // SAFETY: as in `push`.
            if unsafe { self.ring.submission().push(&entry) }.is_err() {
                self.overflow.push_front(entry);
                return;
            }
        }
    }

    fn enter(&mut self, wait: Wait) -> Result<(), Errno> {
        let nothing = Timespec::new();
        let patience = match wait {
            Wait::AtMost(time) => {
                let nanos = time.as_nanos();
                Timespec::new().sec(nanos / 1_000_000_000).nsec((nanos % 1_000_000_000) as u32)
            }
            Wait::Poll | Wait::Forever => nothing,
        };
        let submitter = self.ring.submitter();
        let entered = match wait {
            Wait::Forever => submitter.submit_and_wait(1),
            // With deferred task work completions are made only in a call that asks for events.
            Wait::Poll | Wait::AtMost(_) => {
                submitter.submit_with_args(1, &SubmitArgs::new().timespec(&patience))
            }
        };
        match entered.map_err(|error| errno(&error)) {
            Ok(_) | Err(Errno::TIME | Errno::INTR | Errno::BUSY) => Ok(()),
            Err(errno) => Err(errno),
        }
    }

    fn collect(&mut self) {
        // Taken out first: handling one may submit another.
        let completions: Vec<(u64, i32, u32)> =
            self.ring.completion().map(|entry| (entry.user_data(), entry.result(), entry.flags())).collect();
        for (data, result, flags) in completions {
            let (kind, slot, generation) = parts(data);
            match kind {
                Kind::Receive => self.received(slot, generation, result, flags),
                Kind::Send => self.sent(data, slot, generation, result),
                Kind::Connect => self.connected(slot, generation),
                Kind::Waker => {
                    let mut count = [0u8; 8];
                    // The count does not matter.
                    let _ = rustix::io::read(&self.waker, &mut count);
                    if !cqueue::more(flags) {
                        self.watch_waker();
                    }
                }
                Kind::Cancel => {}
            }
        }
    }

    fn is_current(&self, slot: u32, generation: u32) -> bool {
        self.sockets
            .get(slot as usize)
            .is_some_and(|s| s.generation & GENERATION == generation && s.fd.is_some())
    }

    fn received(&mut self, slot: u32, generation: u32, result: i32, flags: u32) {
        let id = cqueue::buffer_select(flags);
        if !self.is_current(slot, generation) {
            id.into_iter().for_each(|id| self.buffers.give(id));
            return;
        }
        let more = cqueue::more(flags);
        self.sockets[slot as usize].receiving = more;
        let what = match (result, id) {
            (0, _) => What::Other(Ready::Eof),
            (length, Some(id)) if length > 0 => What::Bytes { id, length: length as usize, taken: 0 },
            // Out of buffers: go on when some have been given back.
            (length, _) if -length == libc::ENOBUFS => return self.receive(slot),
            (length, _) => What::Other(Ready::Failed(Errno::from_raw_os_error(-length))),
        };
        self.came.push_back(Came { slot, generation, what, not_before: self.not_before });
        if !more && matches!(what, What::Bytes { .. }) {
            self.receive(slot);
        }
    }

    fn sent(&mut self, data: u64, slot: u32, generation: u32, result: i32) {
        if !self.is_current(slot, generation) {
            self.orphans.retain(|(orphan, _)| *orphan != data);
            return;
        }
        let socket = &mut self.sockets[slot as usize];
        if result < 0 {
            socket.sending.clear();
            let failed = Ready::Failed(Errno::from_raw_os_error(-result));
            return self.came.push_back(Came { slot, generation, what: What::Other(failed), not_before: self.not_before });
        }
        socket.sent += result as usize;
        if socket.sent < socket.sending.len() {
            return self.submit_send(slot);
        }
        socket.sending.clear();
        socket.sent = 0;
        if std::mem::take(&mut socket.wants_write) {
            self.came.push_back(Came { slot, generation, what: What::Other(Ready::Writable), not_before: self.not_before });
        }
    }

    fn connected(&mut self, slot: u32, generation: u32) {
        if !self.is_current(slot, generation) || !self.sockets[slot as usize].connecting {
            return;
        }
        let socket = &mut self.sockets[slot as usize];
        socket.connecting = false;
        let Some(fd) = &socket.fd else { return };
        let what = match rustix::net::sockopt::socket_error(fd) {
            Ok(Ok(())) => Ready::Connected,
            Ok(Err(errno)) | Err(errno) => Ready::Failed(errno),
        };
        if what == Ready::Connected {
            self.receive(slot);
        }
        self.came.push_back(Came { slot, generation, what: What::Other(what), not_before: self.not_before });
    }

    /// Hands `came[at]` out, as far as it fits.
    fn hand_out(&mut self, at: usize, buffer: &mut [u8]) -> Option<(u32, Ready)> {
        let came = self.came[at];
        let current = self.is_current(came.slot, came.generation);
        let ready = match came.what {
            What::Other(ready) => ready,
            What::Bytes { id, .. } if !current => {
                self.buffers.give(id);
                Ready::Eof
            }
            What::Bytes { id, length, taken } => {
                let rest = &self.buffers.bytes(id, length)[taken..];
                let count = rest.len().min(buffer.len());
                buffer[..count].copy_from_slice(&rest[..count]);
                let more = count < rest.len();
                let chunk = Chunk { length: count, stamp_ns: None, not_before: came.not_before, more };
                if more {
                    self.came[at].what = What::Bytes { id, length, taken: taken + count };
                    return Some((came.slot, Ready::Data(chunk)));
                }
                self.buffers.give(id);
                Ready::Data(chunk)
            }
        };
        self.came.remove(at);
        current.then_some((came.slot, ready))
    }
}

impl Driver for Uring {
    fn name(&self) -> &'static str {
        "io_uring"
    }

    fn open(&mut self, slot: u32, fd: OwnedFd, to: &SocketAddrAny) -> Result<Opening, Errno> {
        let opening = begin(&fd, to)?;
        if self.sockets.len() <= slot as usize {
            self.sockets.resize_with(slot as usize + 1, Socket::default);
        }
        let socket = &mut self.sockets[slot as usize];
        let generation = socket.generation.wrapping_add(1);
        let connecting = opening == Opening::Started;
        // The memory of an earlier socket's buffer is used again.
        let sending = std::mem::take(&mut socket.sending);
        *socket = Socket { fd: Some(fd), generation, connecting, sending, ..Socket::default() };
        if !connecting {
            self.receive(slot);
        }
        Ok(opening)
    }

    fn send(&mut self, slot: u32, bytes: &[u8]) -> Result<usize, Errno> {
        let socket = &mut self.sockets[slot as usize];
        let Some(fd) = &socket.fd else { return Err(Errno::BADF) };
        if socket.connecting {
            let count = send(fd, bytes, SendFlags::NOSIGNAL)?;
            socket.connecting = false;
            self.receive(slot);
            if count < bytes.len() {
                // The rest goes through the ring, which waits for room.
                let socket = &mut self.sockets[slot as usize];
                socket.sending.extend_from_slice(&bytes[count..]);
                self.submit_send(slot);
            }
            return Ok(bytes.len());
        }
        if !socket.sending.is_empty() {
            socket.wants_write = true;
            return Err(Errno::AGAIN);
        }
        socket.sending.extend_from_slice(bytes);
        self.submit_send(slot);
        Ok(bytes.len())
    }

    fn watch(&mut self, slot: u32) -> Result<(), Errno> {
        let socket = &self.sockets[slot as usize];
        if let (true, Some(fd)) = (socket.connecting, &socket.fd) {
            let entry = opcode::PollAdd::new(Fd(fd.as_raw_fd()), libc::POLLOUT as u32)
                .build()
                .user_data(user_data(Kind::Connect, slot, socket.generation));
            self.push(entry);
        }
        Ok(())
    }

    fn pause(&mut self, slot: u32, paused: bool) {
        // What has arrived is held back; the kernel goes on until its buffers are full.
        self.sockets[slot as usize].paused = paused;
    }

    fn close(&mut self, slot: u32, abort: bool) {
        // Absent if its name was never found, or connecting failed at once.
        let Some(socket) = self.sockets.get_mut(slot as usize) else { return };
        let (generation, receiving) = (socket.generation, socket.receiving || socket.connecting);
        let Some(fd) = socket.fd.take() else { return };
        if abort {
            reset_on_close(&fd);
        }
        if !socket.sending.is_empty() {
            let kept = std::mem::take(&mut socket.sending);
            self.orphans.push((user_data(Kind::Send, slot, generation), kept));
        }
        let socket = &mut self.sockets[slot as usize];
        socket.generation = generation.wrapping_add(1);
        if receiving {
            // What is in the ring holds the socket open: ended by hand, so that the target sees the close.
            for kind in [Kind::Receive, Kind::Connect] {
                let cancel = opcode::AsyncCancel::new(user_data(kind, slot, generation)).build();
                self.push(cancel.user_data(user_data(Kind::Cancel, 0, 0)));
            }
        }
        drop(fd);
    }

    fn round_trip(&self, slot: u32) -> Option<Picos> {
        self.sockets.get(slot as usize).and_then(|socket| socket.fd.as_ref()).and_then(syn_round_trip)
    }

    fn wait(&mut self, wait: Wait, looked: Instant) -> Result<usize, Errno> {
        self.not_before = looked;
        self.flush_overflow();
        let held = self.came.iter().all(|came| self.sockets[came.slot as usize].paused);
        self.enter(if held { wait } else { Wait::Poll })?;
        self.collect();
        Ok(self.came.len())
    }

    fn next(&mut self, buffer: &mut [u8], choose: impl Fn(u32) -> bool) -> Option<(u32, Ready)> {
        let mut at = 0;
        while at < self.came.len() {
            let slot = self.came[at].slot;
            if self.sockets[slot as usize].paused || !choose(slot) {
                at += 1;
                continue;
            }
            if let Some(ready) = self.hand_out(at, buffer) {
                return Some(ready);
            }
        }
        None
    }
}

/// Bits of a generation that fit beside kind and slot.
const GENERATION: u32 = 0x00ff_ffff;

const fn user_data(kind: Kind, slot: u32, generation: u32) -> u64 {
    (kind as u64) << 56 | ((generation & GENERATION) as u64) << 32 | slot as u64
}

const fn parts(data: u64) -> (Kind, u32, u32) {
    let kind = match data >> 56 {
        0 => Kind::Receive,
        1 => Kind::Send,
        2 => Kind::Connect,
        3 => Kind::Waker,
        _ => Kind::Cancel,
    };
    (kind, data as u32, (data >> 32) as u32 & GENERATION)
}

fn errno(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}
