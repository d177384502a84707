//! AF_XDP: frames in memory that the kernel shares, one socket for each queue, with nothing shared between
//! queues.
//!
//! ```text
//!   transmit: free chunk ─ write ─► transmit ring ─ kick ─► driver ─► completion ring ─► free chunk
//!   receive:  fill ring ─► driver ─ XDP program ─► receive ring ─ read ─► fill ring
//! ```
//!
//! Zero-copy where the driver has it, copies elsewhere; the kernel is called only when it says that it sleeps.
//! A kick that the driver answers with "no room" is repeated by the next call: waiting for completions alone
//! could wait for ever.

mod cursor;
mod launch;
mod memory;
mod options;
mod redirect;
mod ring;
mod socket;
#[cfg(test)]
mod tests;

use crate::interface::{Interface, Link};
use crate::{About, Address, CardWork, Counters, DropPlace, For, Frame, Port, PortError, Slot, Stamp, Wish};
use launch::{Launch, METADATA};
pub(crate) use options::check;
pub(crate) use redirect::explain;
use redirect::{Redirect, STAMP};
use ring::Descriptor;
use rustix::event::{PollFd, PollFlags, poll};
use socket::Socket;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use units::Picos;

/// Frames that one call takes at most.
const BATCH: usize = 256;
/// Calls without any frame after which the kernel is asked whether the interface is still there.
const IDLE_CALLS: u32 = 4096;
/// As long as one poll waits at most.
const SLICE: Picos = Picos::from_millis(50);
/// Kicks in a row that one call makes at most; what is left goes with the next.
const KICKS: u32 = 64;
/// Between two questions of a port without room whether the link is there.
const LOOK_NS: u64 = 10_000_000;

/// What the driver dropped while it was called.
#[derive(Debug, Default)]
struct Refused {
    calls: u32,
    frames: u64,
    bytes: u64,
}

/// One queue of one interface.
#[derive(Debug)]
pub(crate) struct XdpPort {
    about: About,
    interface: Interface,
    socket: Socket,
    redirect: Option<Arc<Redirect>>,
    /// Chunks that wait for frames to send; the last used one is the next, for it is in the cache.
    free: Vec<u32>,
    /// What the writer left in each chunk.
    marks: Vec<u64>,
    counters: Counters,
    /// Invalid descriptors and the like that were counted already.
    tai_minus_unix_ns: u64,
    snap: usize,
    idle: u32,
    launch: Option<Launch>,
    /// The link was seen to be down; the interface is asked before anything more is taken.
    is_down: bool,
    /// When a port without room last asked for the link.
    asked_ns: u64,
}

/// Opens one queue of an interface.
///
/// # Errors
/// `NoInterface`, `Privilege`, `Unavailable` with what each try was refused for.
pub(crate) fn open(address: &Address, wish: &Wish) -> Result<Box<dyn Port>, PortError> {
    Ok(Box::new(XdpPort::open(address, wish)?))
}

impl XdpPort {
    fn open(address: &Address, wish: &Wish) -> Result<Self, PortError> {
        let (options, interface) = options::usable(address, wish)?;
        let redirect = match wish.direction.receives() {
            true => {
                let stamps = options.stamps.unwrap_or(wish.stamps);
                Some(Redirect::of(&interface, options.attach, stamps, wish.ours.as_ref())?)
            }
            false => None,
        };
        let launch = wish.direction.transmits().then(|| Launch::of(&interface));
        let metadata = if matches!(launch, Some(Ok(_))) { METADATA } else { 0 };
        let layout = options.layout(&interface, wish, metadata);
        let (mut socket, mut choices) = options.bind(&interface, wish, &layout, redirect.as_deref())?;
        if let Some(redirect) = &redirect {
            redirect.add(wish.queue, socket.as_fd())?;
            choices.extend(options::choices_of(redirect, options.stamps));
            choices.extend(options::taken_from_host(&interface, wish));
        }
        if wish.busy && socket.prefer_busy_poll(64).is_err() {
            choices.push(options::no_busy_poll());
        }
        choices.extend(launch.as_ref().map(launch::choice));
        fill(&mut socket, &layout);
        let about = options::about(address, &interface, wish, &layout, &socket, redirect.as_deref(), choices);
        Ok(Self {
            about,
            interface,
            free: (0..layout.transmit).rev().collect(),
            marks: vec![0; layout.transmit as usize],
            socket,
            redirect,
            counters: Counters::default(),
            tai_minus_unix_ns: clock::tai_minus_unix_ns(),
            snap: wish.snap.unwrap_or(usize::MAX),
            idle: 0,
            launch: launch.and_then(Result::ok),
            is_down: false,
            asked_ns: 0,
        })
    }

    /// Chunks whose frames have left are free again.
    fn reclaim(&mut self) {
        let ready = self.socket.completion.ready(u32::MAX);
        for n in 0..ready {
            let chunk = self.socket.chunks.number(self.socket.completion.peek(n));
            self.free.push(chunk as u32);
        }
        self.socket.completion.release(ready);
    }

    /// Calls the kernel until it has taken everything, or has no more room, or the link is found to be down:
    /// what is in the ring then waits for it, or was dropped and is counted.
    fn kick(&mut self) -> Result<(), PortError> {
        let mut refused = Refused::default();
        let result = self.kick_until(&mut refused);
        if refused.calls > 0 {
            self.is_down = self.interface.state() == Link::Down;
        }
        let place = if self.is_down { DropPlace::TransmitDown } else { DropPlace::TransmitDriver };
        self.counters.drop(place, refused.frames);
        self.counters.sent -= refused.frames;
        self.counters.sent_bytes -= refused.bytes;
        match result {
            Err(PortError::Down { .. }) => {
                self.is_down = true;
                Ok(())
            }
            other => other,
        }
    }

    fn kick_until(&mut self, refused: &mut Refused) -> Result<(), PortError> {
        for _ in 0..KICKS {
            let Some(ring) = &mut self.socket.transmit else { return Ok(()) };
            let before = ring.pending();
            if before == 0 || !ring.needs_wakeup() {
                return Ok(());
            }
            self.counters.calls += 1;
            let result = self.socket.kick_transmit();
            let Some(ring) = &mut self.socket.transmit else { return Ok(()) };
            let after = ring.pending();
            match result.map_err(|error| error.raw_os_error()) {
                Ok(()) if after == before => return Ok(()),
                Ok(()) => {}
                // The driver dropped one frame (and completed it); those behind it wait for the next call.
                Err(Some(libc::EBUSY)) if after < before => {
                    refused.calls += 1;
                    refused.frames += 1;
                    refused.bytes += u64::from(ring.last_taken().length);
                }
                Err(Some(libc::EBUSY | libc::EAGAIN | libc::ENOBUFS | libc::EINTR)) if after < before => {}
                Err(Some(libc::EBUSY | libc::EAGAIN | libc::ENOBUFS | libc::EINTR)) => return Ok(()),
                Err(errno) => return Err(self.meaning(errno)),
            }
        }
        Ok(())
    }

    /// Whether the link is there again after it was down.
    #[cold]
    fn look_again(&mut self) -> Result<(), PortError> {
        match self.interface.trouble() {
            Some(trouble) => Err(trouble),
            None => {
                self.is_down = false;
                Ok(())
            }
        }
    }

    /// There is no room: now and then, whether that is for want of a link.
    #[cold]
    fn look_at_link(&mut self) -> Result<(), PortError> {
        let now = clock::monotonic_ns();
        if now.saturating_sub(self.asked_ns) < LOOK_NS {
            return Ok(());
        }
        self.asked_ns = now;
        self.is_down = true;
        self.look_again()
    }

    /// What an errno of the socket means.
    fn meaning(&self, errno: Option<i32>) -> PortError {
        let interface = self.interface.name.clone();
        match (errno, self.interface.state()) {
            (_, Link::Gone) => PortError::Gone { interface },
            (Some(libc::ENETDOWN), _) | (Some(libc::ENXIO | libc::EBUSY), Link::Down) => {
                PortError::Down { interface }
            }
            (Some(libc::ENXIO | libc::ENODEV), _) => PortError::Gone { interface },
            (errno, _) => PortError::System {
                what: format!("AF_XDP at '{interface}'"),
                error: errno.map_or_else(io::Error::last_os_error, io::Error::from_raw_os_error),
            },
        }
    }

    /// Waits in slices: a socket whose interface was removed is never woken up.
    fn poll(&mut self, flags: PollFlags, patience: Picos) -> Result<(), PortError> {
        let mut left = patience;
        loop {
            let slice = left.min(SLICE);
            self.counters.calls += 1;
            let found = poll_for(self.socket.as_fd(), flags, slice);
            let found =
                found.map_err(|error| PortError::System { what: "waiting for AF_XDP".to_owned(), error })?;
            if found.contains(PollFlags::ERR) {
                let errno = self.socket.pending_error().and_then(|error| error.raw_os_error());
                return Err(self.meaning(errno.or(Some(libc::ENETDOWN))));
            }
            left = left.saturating_sub(slice);
            if !found.is_empty() || left.is_zero() {
                return Ok(());
            }
            if self.interface.state() == Link::Gone {
                return Err(self.meaning(Some(libc::ENODEV)));
            }
        }
    }

    /// Nothing came: now and then, whether anything still can.
    fn nothing_came(&mut self) -> Result<(), PortError> {
        self.idle += 1;
        if self.socket.fill.needs_wakeup() {
            self.counters.calls += 1;
            // EAGAIN and the like say that there is nothing, which is known.
            let _ = self.socket.kick_receive();
        }
        if !self.idle.is_multiple_of(IDLE_CALLS) {
            return Ok(());
        }
        match self.socket.pending_error() {
            Some(error) => Err(self.meaning(error.raw_os_error())),
            None if self.interface.state() == Link::Gone => {
                Err(PortError::Gone { interface: self.interface.name.clone() })
            }
            None => Ok(()),
        }
    }
}

impl Port for XdpPort {
    fn about(&self) -> &About {
        &self.about
    }

    fn transmit(&mut self, most: usize, write: &mut dyn FnMut(&mut Slot<'_>)) -> Result<usize, PortError> {
        if self.socket.transmit.is_none() {
            return Err(PortError::Unable {
                port: self.about.name.clone(),
                what: "send: it was opened to receive",
            });
        }
        if self.is_down {
            self.look_again()?;
        }
        let most = most.min(BATCH);
        self.reclaim();
        let metadata = if self.launch.is_some() { METADATA } else { 0 };
        let (mut taken, mut queued, mut too_long) = (0, 0, None);
        while taken < most {
            let Some(ring) = &mut self.socket.transmit else { break };
            if ring.room(queued + 1) <= queued {
                break;
            }
            let Some(chunk) = self.free.pop() else { break };
            let address = self.socket.chunks.address(chunk as usize);
            let bytes = self.socket.chunks.chunk_bytes();
            let Some(room) = self.socket.chunks.bytes_mut(address, bytes) else { break };
            let (before, data) = room.split_at_mut(metadata);
            let mark = &mut self.marks[chunk as usize];
            let mut slot = Slot { data, length: 0, launch: Stamp::NONE, mark };
            write(&mut slot);
            let (length, launch) = (slot.length, slot.launch);
            let longest = self.about.longest_like(slot.data);
            if length > longest {
                *slot.mark = 0;
                self.free.push(chunk);
                too_long = Some((length, longest));
                break;
            }
            taken += 1;
            if length == 0 {
                self.free.push(chunk);
                continue;
            }
            let options = self.launch.as_mut().map_or(0, |clock| clock.write(before, launch));
            let address = address + metadata as u64;
            ring.put(queued, Descriptor { address, length: length as u32, options });
            queued += 1;
            self.counters.sent += 1;
            self.counters.sent_bytes += length as u64;
        }
        if let Some(ring) = &mut self.socket.transmit {
            ring.publish(queued);
        }
        self.counters.full += u64::from(taken < most && too_long.is_none());
        self.kick()?;
        if taken == 0 && most > 0 && too_long.is_none() {
            self.look_at_link()?;
        }
        match too_long {
            Some((length, longest)) if taken == 0 => {
                Err(PortError::TooLong { port: self.about.name.clone(), length, longest })
            }
            _ => Ok(taken),
        }
    }

    fn receive(&mut self, most: usize, read: &mut dyn FnMut(&Frame<'_>)) -> Result<usize, PortError> {
        let Some(ring) = &mut self.socket.receive else {
            return Err(PortError::Unable {
                port: self.about.name.clone(),
                what: "receive: it was opened to send",
            });
        };
        let count = ring.ready(1).min(most.min(BATCH) as u32);
        if count == 0 {
            self.nothing_came()?;
            return Ok(0);
        }
        self.idle = 0;
        let stamped = self.redirect.as_ref().is_some_and(|redirect| redirect.stamps);
        // As many chunks as the fill ring has places: there is room for each that comes back.
        self.socket.fill.room(count);
        let mut bytes = 0;
        for n in 0..count {
            let entry = ring.peek(n);
            let length = entry.length as usize;
            let start = if stamped { entry.address - STAMP as u64 } else { entry.address };
            let room = self.socket.chunks.bytes_mut(start, if stamped { STAMP + length } else { length });
            if let Some(room) = room {
                let (stamp, data) =
                    if stamped { take_stamp(room, self.tai_minus_unix_ns) } else { (Stamp::NONE, room) };
                let data = &data[..length.min(self.snap)];
                read(&Frame { data, length, stamp, lost_before: 0, card_work: CardWork::NONE });
            }
            bytes += length as u64;
            let chunk = self.socket.chunks.number(entry.address);
            self.socket.fill.put(n, self.socket.chunks.address(chunk));
        }
        ring.release(count);
        self.socket.fill.publish(count);
        if self.socket.fill.needs_wakeup() {
            self.counters.calls += 1;
            let _ = self.socket.kick_receive();
        }
        self.counters.received += u64::from(count);
        self.counters.received_bytes += bytes;
        Ok(count as usize)
    }

    fn flush(&mut self, patience: Picos) -> Result<bool, PortError> {
        let all = self.marks.len();
        let until = clock::monotonic_ns().saturating_add(patience.as_nanos());
        loop {
            self.kick()?;
            self.reclaim();
            if self.free.len() == all {
                return Ok(true);
            }
            if clock::monotonic_ns() >= until {
                return Ok(false);
            }
            // The driver works in the kernel's own time, on this CPU perhaps.
            std::thread::yield_now();
        }
    }

    fn wait(&mut self, what: For, patience: Picos) -> Result<bool, PortError> {
        let flags = match what {
            For::Receive => {
                if self.socket.receive.as_mut().is_some_and(|ring| ring.ready(1) > 0) {
                    return Ok(true);
                }
                PollFlags::IN
            }
            For::Transmit => {
                self.kick()?;
                self.reclaim();
                if !self.free.is_empty() {
                    return Ok(true);
                }
                PollFlags::OUT
            }
        };
        self.poll(flags, patience)?;
        if what == For::Transmit {
            self.reclaim();
            return Ok(!self.free.is_empty());
        }
        Ok(self.socket.receive.as_mut().is_some_and(|ring| ring.ready(1) > 0))
    }

    fn counters(&mut self) -> Result<&Counters, PortError> {
        // A socket whose interface is gone has no statistics any more: what is known stays.
        if let Ok(statistics) = self.socket.statistics() {
            let set = |counters: &mut Counters, place, total: u64| {
                let known = counters.dropped(place);
                counters.drop(place, total.saturating_sub(known));
            };
            set(&mut self.counters, DropPlace::ReceiveRing, statistics.rx_ring_full);
            set(&mut self.counters, DropPlace::ReceiveKernel, statistics.rx_dropped + statistics.rx_invalid);
            set(&mut self.counters, DropPlace::TransmitKernel, statistics.tx_invalid);
        }
        Ok(&self.counters)
    }

    fn is_up(&mut self) -> bool {
        self.interface.state() == Link::Up
    }

    fn trouble(&mut self) -> Option<PortError> {
        self.interface.trouble()
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.as_fd())
    }
}

impl Drop for XdpPort {
    fn drop(&mut self) {
        if let Some(redirect) = &self.redirect {
            redirect.remove(self.about.queue);
        }
    }
}

/// Gives all receive chunks, which lie behind those for sending, to the kernel.
fn fill(socket: &mut Socket, layout: &socket::Layout) {
    let count = layout.receive_chunks();
    socket.fill.room(count);
    for n in 0..count {
        let address = socket.chunks.address((layout.transmit + n) as usize);
        socket.fill.put(n, address);
    }
    socket.fill.publish(count);
}

/// The stamp before a frame, which is then wiped out: a frame that gets none must not show that of an earlier
/// one.
fn take_stamp(room: &mut [u8], tai_minus_unix_ns: u64) -> (Stamp, &mut [u8]) {
    let (stamp, data) = room.split_at_mut(STAMP);
    let mut word = [0; STAMP];
    word.copy_from_slice(stamp);
    stamp.fill(0);
    let tai = u64::from_ne_bytes(word);
    (if tai == 0 { Stamp::NONE } else { Stamp(tai.saturating_sub(tai_minus_unix_ns)) }, data)
}

fn poll_for(fd: BorrowedFd<'_>, flags: PollFlags, patience: Picos) -> io::Result<PollFlags> {
    let nanos = patience.as_nanos();
    let timeout = rustix::event::Timespec {
        tv_sec: (nanos / 1_000_000_000).min(i64::MAX as u64) as i64,
        tv_nsec: (nanos % 1_000_000_000) as _,
    };
    let mut fds = [PollFd::new(&fd, flags)];
    match poll(&mut fds, Some(&timeout)) {
        Ok(_) => Ok(fds[0].revents()),
        Err(rustix::io::Errno::INTR) => Ok(PollFlags::empty()),
        Err(error) => Err(error.into()),
    }
}
