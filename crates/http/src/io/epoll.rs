//! Sockets by epoll, edge-triggered: one `epoll_ctl` a connection, one `recv` and one `send` a request.
//!
//! A short read means that the socket is drained (epoll(7), "edge-triggered"), unless the target has shut down
//! its side; then one more read brings the end of file without another wait. A socket that fills the whole
//! buffer goes behind the others that are ready, so that one huge answer delays nobody else's by more than one
//! buffer.

use super::{Chunk, Destination, Driver, InSocket, Opening, Ready, Wait, socket, stamped};
use clock::HostClock;
use rustix::event::epoll;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use rustix::time::Timespec;
use units::{Instant, Picos};

/// The most events taken in one wait.
const BATCH: usize = 256;
/// The token of the waker.
const WAKER: u64 = u64::MAX;

const READABLE: epoll::EventFlags =
    epoll::EventFlags::IN.union(epoll::EventFlags::RDHUP).union(epoll::EventFlags::HUP);
const HUNG_UP: epoll::EventFlags =
    epoll::EventFlags::RDHUP.union(epoll::EventFlags::HUP).union(epoll::EventFlags::ERR);

/// One registered socket.
#[derive(Default)]
struct Socket {
    fd: Option<OwnedFd>,
    /// Told apart from an earlier socket of the same slot.
    generation: u32,
    registered: bool,
    connecting: bool,
    wants_write: bool,
    paused: bool,
    /// Something arrived while paused.
    held: bool,
    /// The kernel stamps what arrives.
    stamped: bool,
    /// See [`socket::crowded_from`].
    crowded_from: usize,
    /// See [`socket::behind_holes`].
    behind_holes: u32,
}

/// A socket that is ready, and since when at the earliest.
#[derive(Clone, Copy)]
struct Waiting {
    slot: u32,
    generation: u32,
    flags: epoll::EventFlags,
    not_before: Instant,
}

/// See the module.
pub struct Epoll {
    poll: OwnedFd,
    waker: OwnedFd,
    sockets: Vec<Socket>,
    events: Vec<epoll::Event>,
    /// What is ready and not handed out, in order; taken from the front.
    ready: Vec<Waiting>,
    taken: usize,
    /// What the next wait reports was not ready before this.
    not_before: Instant,
    /// The last wait reported as many as it could.
    full: bool,
}

impl Epoll {
    /// `waker` is an eventfd that ends a wait. Fails if the process may have no more descriptors.
    pub fn new(waker: OwnedFd) -> Result<Self, Errno> {
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&poll, &waker, epoll::EventData::new_u64(WAKER), epoll::EventFlags::IN)?;
        Ok(Self {
            poll,
            waker,
            sockets: Vec::new(),
            events: Vec::with_capacity(BATCH),
            ready: Vec::with_capacity(BATCH),
            taken: 0,
            not_before: Instant::EPOCH,
            full: false,
        })
    }

    fn register(&mut self, slot: u32) -> Result<(), Errno> {
        let socket = &mut self.sockets[slot as usize];
        let Some(fd) = socket.fd.as_ref() else { return Err(Errno::BADF) };
        let token = u64::from(socket.generation) << 32 | u64::from(slot);
        let flags = READABLE | epoll::EventFlags::OUT | epoll::EventFlags::ET;
        epoll::add(&self.poll, fd, epoll::EventData::new_u64(token), flags)?;
        socket.registered = true;
        Ok(())
    }

    fn collect(&mut self) {
        if self.taken == self.ready.len() {
            self.ready.clear();
            self.taken = 0;
        } else if self.taken >= BATCH {
            self.ready.drain(..self.taken);
            self.taken = 0;
        }
        for event in &self.events {
            let token = event.data.u64();
            if token == WAKER {
                let mut count = [0u8; 8];
                // The count does not matter; an empty waker was read by someone else.
                let _ = rustix::io::read(&self.waker, &mut count);
                continue;
            }
            self.ready.push(Waiting {
                slot: token as u32,
                generation: (token >> 32) as u32,
                flags: event.flags,
                not_before: self.not_before,
            });
        }
        self.events.clear();
    }

    /// One step with the event at `at`; `None` if nothing (more) comes of it.
    fn step(&mut self, at: usize, buffer: &mut [u8]) -> Option<Ready> {
        let Waiting { slot, generation, flags, not_before } = self.ready[at];
        let socket = self.sockets.get_mut(slot as usize)?;
        let fd = socket.fd.as_ref().filter(|_| socket.generation == generation)?;
        let left = &mut self.ready[at].flags;
        if socket.connecting && flags.intersects(epoll::EventFlags::OUT | HUNG_UP) {
            socket.connecting = false;
            socket.wants_write = false;
            *left = flags - epoll::EventFlags::OUT;
            return Some(match rustix::net::sockopt::socket_error(fd) {
                Ok(Ok(())) => Ready::Connected,
                Ok(Err(errno)) | Err(errno) => Ready::Failed(errno),
            });
        }
        if flags.contains(epoll::EventFlags::OUT) && socket.wants_write {
            socket.wants_write = false;
            *left = flags - epoll::EventFlags::OUT;
            return Some(Ready::Writable);
        }
        if !flags.intersects(READABLE | epoll::EventFlags::ERR) {
            return None;
        }
        if socket.paused {
            socket.held = true;
            return None;
        }
        let read = match socket.stamped {
            true => stamped::read(fd, buffer),
            false => recv(fd, &mut *buffer, RecvFlags::empty()).map(|(count, _)| (count, None)),
        };
        match read {
            Ok((0, _)) => {
                *left = epoll::EventFlags::empty();
                Some(Ready::Eof)
            }
            Ok((length, stamp_ns)) => {
                let more = length == buffer.len();
                let drained = !more && !flags.intersects(HUNG_UP);
                *left = if drained { epoll::EventFlags::empty() } else { flags };
                let there = if more { length + socket::unread(fd) } else { length };
                let crowded = there >= socket.crowded_from;
                if crowded {
                    // The kernel lets it grow with what the target sends.
                    socket.crowded_from = socket::crowded_from(fd);
                }
                let in_socket = InSocket::UntilRead;
                Some(Ready::Data(Chunk { length, stamp_ns, not_before, more, crowded, in_socket }))
            }
            Err(Errno::AGAIN) => None,
            Err(Errno::INTR) => Some(AGAIN),
            Err(errno) => {
                *left = epoll::EventFlags::empty();
                Some(Ready::Failed(errno))
            }
        }
    }

    /// Puts the socket at `at` behind all others that are ready.
    fn send_back(&mut self, at: usize) {
        let waiting = self.ready[at];
        self.ready.swap(at, self.taken);
        self.taken += 1;
        self.ready.push(waiting);
    }
}

/// A read that a signal interrupted: to be tried again.
const AGAIN: Ready = Ready::Data(Chunk {
    length: 0,
    stamp_ns: None,
    not_before: Instant::EPOCH,
    more: true,
    crowded: true,
    in_socket: InSocket::UntilRead,
});

impl Driver for Epoll {
    fn name(&self) -> &'static str {
        "epoll"
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
        let stamped = stamped::switch_on(&fd).is_ok();
        let crowded_from = socket::crowded_from(&fd);
        *socket = Socket { fd: Some(fd), generation, connecting, stamped, crowded_from, ..Socket::default() };
        Ok((opening, asked))
    }

    fn send(&mut self, slot: u32, bytes: &[u8]) -> Result<usize, Errno> {
        let socket = &mut self.sockets[slot as usize];
        let Some(fd) = socket.fd.as_ref() else { return Err(Errno::BADF) };
        let sent = loop {
            match send(fd, bytes, SendFlags::NOSIGNAL) {
                Err(Errno::INTR) => continue,
                other => break other,
            }
        };
        match sent {
            Ok(count) => {
                socket.connecting = false;
                socket.wants_write = count < bytes.len();
            }
            Err(Errno::AGAIN) => socket.wants_write = true,
            Err(_) => {}
        }
        // Registered after the first send: on loopback the connection is up by then, and no event is wasted.
        self.watch(slot)?;
        sent
    }

    fn watch(&mut self, slot: u32) -> Result<(), Errno> {
        if self.sockets[slot as usize].registered { Ok(()) } else { self.register(slot) }
    }

    fn acknowledged(&self, slot: u32) -> Option<u64> {
        self.sockets.get(slot as usize).and_then(|socket| socket.fd.as_ref()).and_then(socket::acknowledged)
    }

    fn busy(&self, slot: u32) -> Option<Picos> {
        self.sockets.get(slot as usize).and_then(|socket| socket.fd.as_ref()).and_then(socket::busy)
    }

    fn behind_hole(&mut self, slot: u32) -> Option<Picos> {
        let socket = self.sockets.get_mut(slot as usize)?;
        let fd = socket.fd.as_ref()?;
        let behind = socket::behind_holes(fd)?;
        let had_holes = std::mem::replace(&mut socket.behind_holes, behind) != behind;
        had_holes.then(|| socket::in_order_since(fd))
    }

    fn pause(&mut self, slot: u32, paused: bool) {
        let socket = &mut self.sockets[slot as usize];
        socket.paused = paused;
        if !paused && std::mem::take(&mut socket.held) {
            let generation = socket.generation;
            // Held back by the plan: from now on it is the loop that lets it wait.
            let not_before = self.not_before;
            self.ready.push(Waiting { slot, generation, flags: READABLE, not_before });
        }
    }

    fn close(&mut self, slot: u32, abort: bool) {
        // Absent if its name was never found, or connecting failed at once.
        let Some(socket) = self.sockets.get_mut(slot as usize) else { return };
        if let Some(fd) = socket.fd.take() {
            if abort {
                socket::reset_on_close(&fd);
            }
            // Closing the only descriptor of a socket takes it out of the epoll set.
            drop(fd);
        }
        socket.generation = socket.generation.wrapping_add(1);
    }

    fn round_trip(&self, slot: u32) -> Option<Picos> {
        self.sockets.get(slot as usize).and_then(|socket| socket.fd.as_ref()).and_then(socket::syn_round_trip)
    }

    fn wait(&mut self, wait: Wait, looked: Instant) -> Result<usize, Errno> {
        let pending = self.ready.len() - self.taken;
        let timeout = match wait {
            _ if pending > 0 => Some(Timespec { tv_sec: 0, tv_nsec: 0 }),
            Wait::Poll => Some(Timespec { tv_sec: 0, tv_nsec: 0 }),
            Wait::Forever => None,
            Wait::AtMost(time) => Some(timespec(time)),
        };
        let mut look = |timeout: Option<&Timespec>| {
            epoll::wait(&self.poll, rustix::buffer::spare_capacity(&mut self.events), timeout)
        };
        match look(timeout.as_ref()) {
            Ok(_) => {}
            // Whom a signal woke has not looked, and what came meanwhile would seem to come later. That is how
            // a process wakes that was stopped.
            Err(Errno::INTR) => match look(Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            },
            Err(errno) => return Err(errno),
        }
        // What did not fit into a full batch may have been ready as long as what did.
        if !self.full {
            self.not_before = looked;
        }
        self.full = self.events.len() >= BATCH;
        self.collect();
        Ok(self.ready.len() - self.taken)
    }

    fn is_drained(&self) -> bool {
        self.taken == self.ready.len() && !self.full
    }

    fn next(&mut self, buffer: &mut [u8], choose: impl Fn(u32) -> bool) -> Option<(u32, Ready)> {
        let mut at = self.taken;
        while at < self.ready.len() {
            let slot = self.ready[at].slot;
            if !choose(slot) {
                at += 1;
                continue;
            }
            match self.step(at, buffer) {
                Some(Ready::Data(Chunk { length: 0, .. })) => continue,
                Some(ready) => {
                    if matches!(ready, Ready::Data(Chunk { more: true, .. })) {
                        self.send_back(at);
                    }
                    return Some((slot, ready));
                }
                None => {
                    self.ready.swap(at, self.taken);
                    self.taken += 1;
                    at = at.max(self.taken);
                }
            }
        }
        None
    }
}

fn timespec(time: units::Picos) -> Timespec {
    let nanos = time.as_nanos();
    Timespec { tv_sec: (nanos / 1_000_000_000) as i64, tv_nsec: (nanos % 1_000_000_000) as _ }
}
