//! Sockets in and out, behind one small trait: what the loop needs of a kernel interface, and no more.
//!
//! A driver owns the sockets, by slot number. Bytes come out through `next`, into the caller's buffer; whether
//! the kernel reported readiness (epoll) or completion (io_uring) stays inside.

mod buffers;
pub mod choose;
pub mod epoll;
pub mod stamped;
pub mod uring;

use std::num::NonZeroU64;

use rustix::fd::{AsRawFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::SocketAddrAny;
use units::{Instant, Picos};

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

/// A kernel interface for many sockets.
pub trait Driver {
    /// The name in `environment.json`.
    fn name(&self) -> &'static str;

    /// Takes a socket that is not connected yet and begins to connect it.
    fn open(&mut self, slot: u32, socket: OwnedFd, to: &SocketAddrAny) -> Result<Opening, Errno>;

    /// Sends what fits now; `Errno::AGAIN` if nothing does, then `Ready::Writable` (or `Connected`) will come.
    fn send(&mut self, slot: u32, bytes: &[u8]) -> Result<usize, Errno>;

    /// Makes sure that what happens on the socket is seen, also if nothing was sent yet.
    fn watch(&mut self, slot: u32) -> Result<(), Errno>;

    /// The socket of a slot, to ask the kernel about it.
    fn socket(&self, slot: u32) -> Option<BorrowedFd<'_>>;

    /// Stops or goes on reading from a socket.
    fn pause(&mut self, slot: u32, paused: bool);

    /// Forgets the socket and closes it. With `abort` it is reset rather than shut down.
    fn close(&mut self, slot: u32, abort: bool);

    /// How long the target took to answer the kernel's connection request, measured by the kernel; `None` if it
    /// does not know.
    fn round_trip(&self, slot: u32) -> Option<Picos>;

    /// Waits for something to be ready and says how many things are. `looked` is when the wait before this one
    /// returned: what it did not report was not ready then.
    fn wait(&mut self, wait: Wait, looked: Instant) -> Result<usize, Errno>;

    /// The next ready thing for which `choose` holds, with its bytes read into `buffer`. A socket that has more
    /// to read than fits goes behind the others.
    fn next(&mut self, buffer: &mut [u8], choose: impl Fn(u32) -> bool) -> Option<(u32, Ready)>;
}

/// An eventfd: written to by other threads to end a driver's wait.
pub fn waker() -> Result<OwnedFd, Errno> {
    use rustix::event::{EventfdFlags, eventfd};
    eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
}

/// Begins to connect a non-blocking socket.
pub(crate) fn begin(socket: &OwnedFd, to: &SocketAddrAny) -> Result<Opening, Errno> {
    match rustix::net::connect(socket, to) {
        Ok(()) => Ok(Opening::Done),
        Err(Errno::INPROGRESS) => Ok(Opening::Started),
        Err(errno) => Err(errno),
    }
}

/// The round-trip time of a connection request, from the kernel's own times (tcpi_rtt after the SYN was
/// acknowledged, RFC 6298 section 2.2). `None` if it was sent more than once, or the socket is none of TCP.
pub(crate) fn syn_round_trip(socket: &OwnedFd) -> Option<Picos> {
    // SAFETY: a tcp_info of zeroes is valid: it has numbers only.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: the option's value is one live tcp_info of the length that is given; the kernel writes no more.
    let status = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut length,
        )
    };
    let known = status == 0 && info.tcpi_total_retrans == 0 && info.tcpi_rtt > 0;
    known.then(|| Picos::from_micros(u64::from(info.tcpi_rtt)))
}

/// From how many bytes on a socket counts as crowded: a quarter of its receive buffer, half of which is its
/// window at first (tcp_adv_win_scale). Small buffers are shut by answers that are far from filling ours.
pub(crate) fn crowded_from(socket: &OwnedFd) -> usize {
    rustix::net::sockopt::socket_recv_buffer_size(socket).map_or(usize::MAX, |size| (size / 4).max(1))
}

/// Makes a close of this socket a reset, so that no TIME_WAIT is left behind.
pub(crate) fn reset_on_close(socket: &OwnedFd) {
    // A socket that refuses the option is closed in the ordinary way, which is right as well.
    let _ = rustix::net::sockopt::set_socket_linger(socket, Some(std::time::Duration::ZERO));
}
