//! Bytes in and out, behind one small trait: what the loop needs of TCP, and no more.
//!
//! A driver owns the connections, by slot number. Bytes come out through `next`, into the caller's buffer;
//! whether the kernel reported readiness (epoll) or completion (io_uring) stays inside.

mod buffers;
pub mod choose;
pub mod epoll;
pub mod ports;
mod socket;
pub mod stamped;
pub mod uring;

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU64;
use std::path::Path;

use clock::HostClock;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use session::Account;
use units::{Instant, Picos};

pub use socket::{check_sources, jiffy};

/// What became ready on one socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ready {
    /// The connection that `open` began is up.
    Connected,
    /// The last `send` took less than it was given; it may go on.
    Writable,
    /// Bytes are in the buffer.
    Data(Chunk),
    /// The target will send no more.
    Eof,
    /// The socket failed.
    Failed(Errno),
}

/// Bytes that were read at once, and since when they could be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    pub length: usize,
    /// When the last of them reached this machine: the kernel's receive stamp (SO_TIMESTAMPING), in nanoseconds
    /// of CLOCK_REALTIME. Without one, nothing is known but `not_before`.
    pub stamp_ns: Option<NonZeroU64>,
    /// They could not be read before this instant: nothing was, when the sockets were looked at then.
    pub not_before: Instant,
    /// There may be more to read at once.
    pub more: bool,
    /// So much was there that the target may have had to wait: the socket was full, or a good part of it.
    pub crowded: bool,
    pub in_socket: InSocket,
}

/// Until when bytes were in the socket, where they take the room of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InSocket {
    /// Until they were read.
    UntilRead,
    /// Until the last wait ended, or before: it took them out.
    UntilWoken,
    /// Until an earlier one did.
    Until(Instant),
}

/// Where a connection leads, and how it leaves this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Destination<'a> {
    pub to: Address<'a>,
    /// The address that it leaves from; `None` leaves the choice to the driver.
    pub from: Option<IpAddr>,
    /// Small segments leave at once (TCP_NODELAY).
    pub no_delay: bool,
}

impl<'a> Destination<'a> {
    pub fn unix(path: &'a Path) -> Self {
        Self { to: Address::Unix(path), from: None, no_delay: false }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address<'a> {
    Tcp(SocketAddr),
    /// The path of a socket of this host.
    Unix(&'a Path),
}

/// How far `open` got at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// `Ready::Connected` or `Ready::Failed` will come. Sending may be tried before: on loopback it works.
    Started,
    /// It is up (Unix sockets).
    Done,
}

/// Why a loop shall stop waiting without any socket being ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Do not wait at all.
    Poll,
    /// At most this long.
    AtMost(Picos),
    /// Until something happens.
    Forever,
}

/// What carries the bytes of many connections: a kernel interface, or any other implementation of TCP.
///
/// The loop knows connections by slot numbers and never sees a descriptor. An implementation has to provide:
///
/// - Slots that are used again. After `close` the next `open` may name the same slot, and nothing that belongs
///   to the connection before may come out of `next` for it.
/// - Errors as `errno(3)`, because outcomes follow from them. From `open`, `MFILE` and `NFILE` mean that this
///   host has no descriptor for the connection, `ADDRINUSE` and `ADDRNOTAVAIL` no port, `NOBUFS` and `NOMEM` no
///   memory: those requests count as missed. Any other error, there or in [`Ready::Failed`], is the target's.
/// - Times that hold. [`Chunk::not_before`] is the last time at which nothing was there to be read. A stamp is
///   optional and more precise; it is in nanoseconds of CLOCK_REALTIME, taken when the bytes reached this host.
/// - A wait that another thread can end: it writes to the eventfd ([`waker`]) that the driver was made with.
/// - Sends at once: a request leaves within `send`, not with a later batch, since its departure has a due time.
///
/// It is chosen in one place, `Engine::start`.
pub trait Driver {
    /// The name in `environment.json`.
    fn name(&self) -> &'static str;

    /// Begins to connect a slot that has no connection, and says when: whatever had to be made for it comes
    /// before.
    fn open(
        &mut self,
        slot: u32,
        destination: &Destination<'_>,
        clock: &HostClock,
    ) -> Result<(Opening, Instant), Errno>;

    /// Sends what fits now; `Errno::AGAIN` if nothing does, then `Ready::Writable` (or `Connected`) will come.
    fn send(&mut self, slot: u32, bytes: &[u8]) -> Result<usize, Errno>;

    /// Nothing more follows at once: what the driver held back to send it together leaves.
    fn release(&mut self, _slot: u32) -> Result<(), Errno> {
        Ok(())
    }

    /// All that was asked for has been answered whole: the other side may wait for nothing of ours.
    fn answered(&mut self, _slot: u32) {}

    /// Makes sure that what happens on the socket is seen, also if nothing was sent yet.
    fn watch(&mut self, slot: u32) -> Result<(), Errno>;

    /// Bytes that the other side's TCP has acknowledged, the one for SYN among them; `None` if that is not
    /// known.
    fn acknowledged(&self, slot: u32) -> Option<u64>;

    /// For how long, in all, data of ours was on its way to the other side or waited in the driver to be sent;
    /// `None` if that is not known. It may be off by [`jiffy`] in every look.
    fn busy(&self, slot: u32) -> Option<Picos>;

    /// For how long, since the last call, there was more to send than a TCP of the driver's own sends without
    /// an acknowledgment. That time may be the generator's, not the target's.
    fn held(&mut self, _slot: u32) -> Picos {
        Picos::ZERO
    }

    /// For how long, since the last call, the target may have waited for acknowledgments that are the driver's
    /// own to send.
    fn unacked(&mut self, _slot: u32) -> Picos {
        Picos::ZERO
    }

    /// If bytes arrived behind a hole since the last call, they could be read later than their stamps say: how
    /// long ago that was, at most.
    fn behind_hole(&mut self, _slot: u32) -> Option<Picos> {
        None
    }

    /// Stops or goes on reading from a socket.
    fn pause(&mut self, slot: u32, paused: bool);

    /// Forgets the socket and closes it. With `abort` it is reset rather than shut down.
    fn close(&mut self, slot: u32, abort: bool);

    /// How long the target took to answer the connection request, measured by TCP itself; `None` if that is not
    /// known.
    fn round_trip(&self, slot: u32) -> Option<Picos>;

    /// Waits for something to be ready and says how many things are. `looked` is when the wait before this one
    /// returned: what it did not report was not ready then.
    fn wait(&mut self, wait: Wait, looked: Instant) -> Result<usize, Errno>;

    /// Whether everything that was ready when the last wait returned has been handed out.
    fn is_drained(&self) -> bool;

    /// Ends what is left of the connections, and says what their TCP did, if that is not the kernel's.
    fn finish(&mut self) -> Option<Account> {
        None
    }

    /// The next ready thing for which `choose` holds, with its bytes read into `buffer`. A socket that has more
    /// to read than fits goes behind the others.
    fn next(&mut self, buffer: &mut [u8], choose: impl Fn(u32) -> bool) -> Option<(u32, Ready)>;
}

/// An eventfd: written to by other threads to end a driver's wait.
pub fn waker() -> Result<OwnedFd, Errno> {
    use rustix::event::{EventfdFlags, eventfd};
    eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
}
