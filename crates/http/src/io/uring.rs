//! Sockets by io_uring: one multishot receive a connection, which brings bytes and the kernel's stamp of them
//! without a system call of its own (io_uring_prep_recvmsg_multishot(3)).
//!
//! Sends are plain system calls: a send that goes through the ring leaves with its batch, and when that was
//! nobody knows. A departure leaves at its own time.
//!
//! An entry of the ring names its socket by a number that the kernel looks up when the entry is submitted, and
//! a number is free for the next socket as soon as this one is closed. So nothing is written into the ring
//! before it is submitted: until then it is a `Wish`, which dies with its socket.
//!
//! ```text
//! watch, close, … ──► wishes ──(wait: socket still open)──► entries ──► the kernel, which holds the socket
//! ```

mod entries;

use entries::{Bytes, Came, CompletionKind, GENERATION, What, Wish, parts, user_data};

use super::buffers::{Buffers, GROUP};
use super::{Chunk, Destination, Driver, Opening, Ready, Wait, socket, stamped};
use clock::HostClock;
use io_uring::squeue::Entry;
use io_uring::types::{Fd, RecvMsgOut, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{SendFlags, Shutdown, send, shutdown};
use std::collections::VecDeque;
use units::{Instant, Picos};

/// Entries of the submission ring.
const ENTRIES: u32 = 512;
/// Completions are four times as many: multishot receives make many of one submission.
const COMPLETIONS: u32 = 4 * ENTRIES;

/// The kernel handles at most 20 sockets in one wait (IO_LOCAL_TW_DEFAULT_MAX), or as many as were waited for
/// if it slept. The rest stays for the next wait.
const AT_ONCE: usize = 20;

#[derive(Default)]
struct Socket {
    fd: Option<OwnedFd>,
    generation: u32,
    connecting: bool,
    receiving: bool,
    paused: bool,
    /// The last send took less than it was given.
    wants_write: bool,
    /// Whether the ring looks for room to write.
    awaits_room: bool,
    /// How many bytes the last wait that had some for it brought, and which wait that was.
    brought: usize,
    brought_by: u64,
    /// Receives that were not handed out whole.
    queued: usize,
    /// See [`socket::crowded_from`].
    crowded_from: usize,
}

/// See the module.
pub struct Uring {
    // Dropped before the buffers that it points to.
    ring: IoUring,
    buffers: Buffers,
    /// What every receive asks for; the kernel reads it when one is submitted.
    message: Box<libc::msghdr>,
    sockets: Vec<Socket>,
    /// Memory for what comes out of the ring at once: user data, result and flags.
    completions: Vec<(u64, i32, u32)>,
    came: VecDeque<Came>,
    waker: OwnedFd,
    wishes: Vec<Wish>,
    /// Closed sockets whose numbers are in entries that the kernel did not take: closed once it has.
    closing: Vec<OwnedFd>,
    /// What comes out of the ring next was not there before this.
    not_before: Instant,
    /// Counts the waits.
    waits: u64,
    /// The last wait brought as much as one may: more may have been there.
    full: bool,
    /// See [`socket::widen`].
    widens: bool,
}

impl Uring {
    /// `waker` is an eventfd that ends a wait; `widens`: a target shall not wait for room. Fails where the
    /// kernel refuses io_uring or lacks a feature of 6.0.
    pub fn new(waker: OwnedFd, widens: bool) -> Result<Self, Errno> {
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_coop_taskrun()
            .setup_submit_all()
            .setup_cqsize(COMPLETIONS)
            .build(ENTRIES)
            .map_err(|error| errno(&error))?;
        let buffers = Buffers::new()?;
        // SAFETY: the ring's memory is page-aligned, large enough for `count` entries, and outlives the
        // registration, as `ring` is dropped before `buffers`.
        unsafe {
            ring.submitter().register_buf_ring_with_flags(buffers.ring_address(), Buffers::count(), GROUP, 0)
        }
        .map_err(|error| errno(&error))?;
        Ok(Self {
            ring,
            buffers,
            message: Box::new(stamped::message_for_ring()),
            sockets: Vec::new(),
            completions: Vec::with_capacity(COMPLETIONS as usize),
            came: VecDeque::new(),
            waker,
            wishes: vec![Wish::WatchWaker],
            closing: Vec::new(),
            not_before: Instant::EPOCH,
            waits: 0,
            full: false,
            widens,
        })
    }

    fn receive(&mut self, slot: u32) {
        let socket = &mut self.sockets[slot as usize];
        socket.receiving = true;
        self.wishes.push(Wish::For(CompletionKind::Receive, slot, socket.generation));
    }

    fn await_room(&mut self, slot: u32) {
        let socket = &mut self.sockets[slot as usize];
        if !std::mem::replace(&mut socket.awaits_room, true) {
            self.wishes.push(Wish::For(CompletionKind::Writable, slot, socket.generation));
        }
    }

    /// Turns wishes into entries. None is closed between this and the submission.
    fn write_entries(&mut self) -> Result<(), Errno> {
        let wishes = std::mem::take(&mut self.wishes);
        for (at, wish) in wishes.iter().enumerate() {
            let Some(entry) = self.entry(*wish) else { continue };
            if self.push(&entry) {
                continue;
            }
            // The ring is full.
            self.enter(Wait::Poll)?;
            if !self.push(&entry) {
                self.wishes.extend_from_slice(&wishes[at..]);
                return Ok(());
            }
        }
        if self.wishes.is_empty() {
            self.wishes = wishes;
            self.wishes.clear();
        }
        Ok(())
    }

    fn push(&mut self, entry: &Entry) -> bool {
        // SAFETY: the descriptor is open: entries are made of open sockets only, and one that is closed while
        // entries wait in the ring is kept in `closing`. The header of receives lives as long as the ring.
        unsafe { self.ring.submission().push(entry) }.is_ok()
    }

    /// `None` if the socket is gone.
    fn entry(&self, wish: Wish) -> Option<Entry> {
        let (kind, slot, generation) = match wish {
            Wish::Cancel(data) => {
                let cancel = opcode::AsyncCancel::new(data).build();
                return Some(cancel.user_data(user_data(CompletionKind::Cancel, 0, 0)));
            }
            Wish::WatchWaker => {
                let poll = opcode::PollAdd::new(Fd(self.waker.as_raw_fd()), libc::POLLIN as u32).multi(true);
                return Some(poll.build().user_data(user_data(CompletionKind::Waker, 0, 0)));
            }
            Wish::For(kind, slot, generation) => (kind, slot, generation),
        };
        let socket = &self.sockets[slot as usize];
        if socket.generation != generation {
            return None;
        }
        let fd = Fd(socket.fd.as_ref()?.as_raw_fd());
        let entry = match kind {
            CompletionKind::Receive => opcode::RecvMsgMulti::new(fd, &raw const *self.message, GROUP).build(),
            CompletionKind::Writable => opcode::PollAdd::new(fd, libc::POLLOUT as u32).build(),
            CompletionKind::Waker | CompletionKind::Cancel => unreachable!("they belong to no socket"),
        };
        Some(entry.user_data(user_data(kind, slot, generation)))
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
            Ok(_) | Err(Errno::TIME | Errno::BUSY) => {}
            // Whom a signal woke has not looked, and what came meanwhile would seem to come later.
            Err(Errno::INTR) if !matches!(wait, Wait::Poll) => return self.enter(Wait::Poll),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
        if self.ring.submission().is_empty() {
            self.closing.clear();
        }
        Ok(())
    }

    /// The number of completions.
    fn collect(&mut self) -> usize {
        // Taken out first: handling one may submit another.
        let mut completions = std::mem::take(&mut self.completions);
        let entries = self.ring.completion();
        completions.extend(entries.map(|entry| (entry.user_data(), entry.result(), entry.flags())));
        let count = completions.len();
        for (data, result, flags) in completions.drain(..) {
            let (kind, slot, generation) = parts(data);
            match kind {
                CompletionKind::Receive => self.received(slot, generation, result, flags),
                CompletionKind::Writable => self.writable(slot, generation),
                CompletionKind::Waker => {
                    let mut count = [0u8; 8];
                    // The count does not matter.
                    let _ = rustix::io::read(&self.waker, &mut count);
                    if !cqueue::more(flags) {
                        self.wishes.push(Wish::WatchWaker);
                    }
                }
                CompletionKind::Cancel => {}
            }
        }
        self.completions = completions;
        count
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
        if let Some(length) = id.and_then(|_| usize::try_from(result).ok()) {
            let socket = &mut self.sockets[slot as usize];
            socket.brought = if socket.brought_by == self.waits { socket.brought + length } else { length };
            socket.brought_by = self.waits;
        }
        let what = match (result, id) {
            (length, Some(id)) if length >= 0 => match self.parse(id, length as usize) {
                Some(bytes) => What::Bytes(bytes),
                None => {
                    self.buffers.give(id);
                    What::Other(Ready::Eof)
                }
            },
            (0, _) => What::Other(Ready::Eof),
            // Out of buffers: go on when some have been given back.
            (length, _) if -length == libc::ENOBUFS => return self.receive(slot),
            (length, _) => What::Other(Ready::Failed(Errno::from_raw_os_error(-length))),
        };
        self.sockets[slot as usize].queued += usize::from(matches!(what, What::Bytes(_)));
        self.came.push_back(Came { slot, generation, what, not_before: self.not_before, taken: None });
        if !more && matches!(what, What::Bytes(_)) {
            self.receive(slot);
        }
    }

    /// What stands in a buffer of which the kernel wrote so many bytes; `None` at the end of the stream.
    fn parse(&self, id: u16, written: usize) -> Option<Bytes> {
        let whole = self.buffers.bytes(id, written);
        let parts = RecvMsgOut::parse(whole, &self.message).expect("a receive writes its head first");
        let length = parts.payload_data().len();
        let from = written - length;
        (length > 0).then(|| Bytes {
            id,
            from,
            to: written,
            stamp_ns: stamped::stamp_in(parts.control_data()),
        })
    }

    fn writable(&mut self, slot: u32, generation: u32) {
        if !self.is_current(slot, generation) {
            return;
        }
        let socket = &mut self.sockets[slot as usize];
        socket.awaits_room = false;
        let Some(fd) = &socket.fd else { return };
        let what = if std::mem::take(&mut socket.connecting) {
            socket.wants_write = false;
            match rustix::net::sockopt::socket_error(fd) {
                Ok(Ok(())) => Ready::Connected,
                Ok(Err(errno)) | Err(errno) => Ready::Failed(errno),
            }
        } else if std::mem::take(&mut socket.wants_write) {
            Ready::Writable
        } else {
            return;
        };
        if what == Ready::Connected {
            self.receive(slot);
        }
        let (what, not_before) = (What::Other(what), self.not_before);
        self.came.push_back(Came { slot, generation, what, not_before, taken: None });
    }

    /// Hands `came[at]` out, as far as it fits.
    fn hand_out(&mut self, at: usize, buffer: &mut [u8]) -> Option<(u32, Ready)> {
        let came = self.came[at];
        let current = self.is_current(came.slot, came.generation);
        let ready = match came.what {
            What::Other(ready) => ready,
            What::Bytes(Bytes { id, .. }) if !current => {
                self.buffers.give(id);
                Ready::Eof
            }
            What::Bytes(Bytes { id, from, to, stamp_ns }) => {
                let rest = &self.buffers.bytes(id, to)[from..];
                let count = rest.len().min(buffer.len());
                buffer[..count].copy_from_slice(&rest[..count]);
                let is_whole = count == rest.len();
                let socket = &mut self.sockets[came.slot as usize];
                socket.queued -= usize::from(is_whole);
                let more = socket.queued > 0;
                let crowded = socket.brought >= socket.crowded_from;
                if let Some(fd) = socket.fd.as_ref().filter(|_| crowded) {
                    // The kernel does not let it grow: it sees pieces of the size of a buffer.
                    socket.crowded_from = match self.widens {
                        true => socket::widen(fd, socket.brought),
                        false => socket::crowded_from(fd),
                    };
                }
                let (not_before, in_socket) = (came.not_before, came.in_socket());
                let chunk = Chunk { length: count, stamp_ns, not_before, more, crowded, in_socket };
                if !is_whole {
                    self.came[at].what = What::Bytes(Bytes { id, from: from + count, to, stamp_ns });
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

    fn open(
        &mut self,
        slot: u32,
        destination: &Destination<'_>,
        clock: &HostClock,
    ) -> Result<(Opening, Instant), Errno> {
        let (fd, opening, asked) = socket::open(destination, clock)?;
        if self.sockets.len() <= slot as usize {
            self.sockets.resize_with(slot as usize + 1, Socket::default);
        }
        let socket = &mut self.sockets[slot as usize];
        let generation = socket.generation.wrapping_add(1);
        let connecting = opening == Opening::Started;
        // A Unix socket has no stamps, nor has every kernel.
        let _ = stamped::switch_on(&fd);
        let crowded_from = socket::crowded_from(&fd);
        *socket = Socket { fd: Some(fd), generation, connecting, crowded_from, ..Socket::default() };
        if !connecting {
            self.receive(slot);
        }
        Ok((opening, asked))
    }

    fn send(&mut self, slot: u32, bytes: &[u8]) -> Result<usize, Errno> {
        let socket = &mut self.sockets[slot as usize];
        let Some(fd) = &socket.fd else { return Err(Errno::BADF) };
        let sent = loop {
            match send(fd, bytes, SendFlags::NOSIGNAL) {
                Err(Errno::INTR) => continue,
                other => break other,
            }
        };
        let is_up = sent.is_ok() && std::mem::take(&mut socket.connecting);
        if is_up {
            self.receive(slot);
        }
        if sent.map_or_else(|errno| errno == Errno::AGAIN, |count| count < bytes.len()) {
            self.sockets[slot as usize].wants_write = true;
            self.await_room(slot);
        }
        sent
    }

    fn watch(&mut self, slot: u32) -> Result<(), Errno> {
        if self.sockets[slot as usize].connecting {
            self.await_room(slot);
        }
        Ok(())
    }

    fn acknowledged(&self, slot: u32) -> Option<u64> {
        self.sockets.get(slot as usize).and_then(|socket| socket.fd.as_ref()).and_then(socket::acknowledged)
    }

    fn busy(&self, slot: u32) -> Option<Picos> {
        self.sockets.get(slot as usize).and_then(|socket| socket.fd.as_ref()).and_then(socket::busy)
    }

    fn pause(&mut self, slot: u32, paused: bool) {
        // What has arrived is held back; the kernel goes on until its buffers are full.
        self.sockets[slot as usize].paused = paused;
    }

    fn close(&mut self, slot: u32, abort: bool) {
        // Absent if its name was never found, or connecting failed at once.
        let Some(socket) = self.sockets.get_mut(slot as usize) else { return };
        let Some(fd) = socket.fd.take() else { return };
        let generation = socket.generation;
        socket.generation = generation.wrapping_add(1);
        let in_ring =
            [(CompletionKind::Receive, socket.receiving), (CompletionKind::Writable, socket.awaits_room)];
        // What is in the ring holds the socket open: ended by hand.
        let held = in_ring.iter().filter(|(_, is_in)| *is_in);
        let before = self.wishes.len();
        self.wishes.extend(held.map(|(kind, _)| Wish::Cancel(user_data(*kind, slot, generation))));
        if abort {
            socket::reset_on_close(&fd);
        } else if self.wishes.len() > before {
            // The target sees the close now. A socket that is not connected needs none.
            let _ = shutdown(&fd, Shutdown::Both);
        }
        if !self.ring.submission().is_empty() {
            self.closing.push(fd);
        }
    }

    fn round_trip(&self, slot: u32) -> Option<Picos> {
        self.sockets.get(slot as usize).and_then(|socket| socket.fd.as_ref()).and_then(socket::syn_round_trip)
    }

    fn wait(&mut self, wait: Wait, looked: Instant) -> Result<usize, Errno> {
        if !self.full {
            self.not_before = looked;
        }
        self.came.iter_mut().for_each(|came| came.taken = came.taken.or(Some(looked)));
        self.waits += 1;
        self.write_entries()?;
        let held = self.came.iter().all(|came| self.sockets[came.slot as usize].paused);
        let wait = if held && self.wishes.is_empty() { wait } else { Wait::Poll };
        self.enter(wait)?;
        self.full = self.collect() >= if wait == Wait::Poll { AT_ONCE } else { 1 };
        Ok(self.came.len())
    }

    fn is_drained(&self) -> bool {
        !self.full && self.came.iter().all(|came| self.sockets[came.slot as usize].paused)
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

fn errno(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

#[cfg(test)]
mod tests;
