//! An AF_XDP socket with its memory and rings (linux/if_xdp.h), bound to one queue of one interface.
//!
//! ```text
//!              ┌──── fill ────► kernel ──── receive ────►┐
//!   chunks ────┤                                         ├── chunks
//!              └─── transmit ─► kernel ─── completion ──►┘
//! ```

use super::memory::{Chunks, Pages};
use super::ring::{Consumer, Descriptor, Offsets, Producer};
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

const SOL_XDP: i32 = 283;
const MMAP_OFFSETS: i32 = 1;
const RX_RING: i32 = 2;
const TX_RING: i32 = 3;
const UMEM_REG: i32 = 4;
const UMEM_FILL_RING: i32 = 5;
const UMEM_COMPLETION_RING: i32 = 6;
const STATISTICS: i32 = 7;
const OPTIONS: i32 = 8;
/// Since Linux 6.17: frames that one call hands to the driver in copy mode (32 before).
const MAX_TX_SKB_BUDGET: i32 = 9;

const PAGE_RX: i64 = 0;
const PAGE_TX: i64 = 0x8000_0000;
const PAGE_FILL: i64 = 0x1_0000_0000;
const PAGE_COMPLETION: i64 = 0x1_8000_0000;

const OPTION_ZEROCOPY: u32 = 1;
/// XDP_UMEM_TX_METADATA_LEN.
const UMEM_TX_METADATA: u32 = 1 << 2;

/// Bits of `sxdp_flags`.
pub const COPY: u16 = 1 << 1;
pub const ZEROCOPY: u16 = 1 << 2;
pub const USE_NEED_WAKEUP: u16 = 1 << 3;

/// Sizes of everything; all powers of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// 2 048 or 4 096.
    pub chunk: usize,
    /// Entries of the transmit ring, and chunks for it; 0: this socket sends nothing.
    pub transmit: u32,
    /// Entries of the receive ring; there are twice as many chunks, so that a full ring and a full fill ring
    /// fit.
    pub receive: u32,
    /// Bytes for metadata before each frame that is sent; 0 or [`super::launch::METADATA`].
    pub metadata: usize,
}

impl Layout {
    pub fn receive_chunks(&self) -> u32 {
        self.receive * 2
    }

    fn chunks(&self) -> usize {
        (self.transmit + self.receive_chunks()) as usize
    }
}

/// struct xdp_mmap_offsets: receive, transmit, fill, completion.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct AllOffsets {
    receive: Offsets,
    transmit: Offsets,
    fill: Offsets,
    completion: Offsets,
}

/// struct xdp_statistics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Statistics {
    /// No chunk in the fill ring, or longer than a chunk.
    pub rx_dropped: u64,
    pub rx_invalid: u64,
    pub tx_invalid: u64,
    /// No room in the receive ring.
    pub rx_ring_full: u64,
    pub rx_fill_empty: u64,
    pub tx_ring_empty: u64,
}

/// struct xdp_umem_reg.
#[repr(C)]
struct UmemRegistration {
    address: u64,
    bytes: u64,
    chunk: u32,
    headroom: u32,
    flags: u32,
    tx_metadata: u32,
}

#[repr(C)]
struct BindAddress {
    family: u16,
    flags: u16,
    interface: u32,
    queue: u32,
    shared: u32,
}

/// A bound socket. The rings end before the descriptor closes, and the memory after it.
#[derive(Debug)]
pub struct Socket {
    pub transmit: Option<Producer<Descriptor>>,
    pub completion: Consumer<u64>,
    pub receive: Option<Consumer<Descriptor>>,
    pub fill: Producer<u64>,
    fd: OwnedFd,
    pub chunks: Chunks,
    pub is_zero_copy: bool,
}

impl Socket {
    /// Makes a socket with everything and binds it. Needs CAP_NET_RAW.
    pub fn open(interface: u32, queue: u32, layout: &Layout, flags: u16) -> io::Result<Self> {
        let fd = rustix::net::socket_with(
            AddressFamily::from_raw(libc::AF_XDP as _),
            SocketType::RAW,
            SocketFlags::CLOEXEC,
            None,
        )?;
        let chunks = Chunks::new(layout.chunk, layout.chunks())?;
        register(fd.as_fd(), &chunks, layout.metadata)?;
        let fill_size = layout.receive_chunks().max(2);
        let completion_size = layout.transmit.max(2);
        set(fd.as_fd(), SOL_XDP, UMEM_FILL_RING, &fill_size)?;
        set(fd.as_fd(), SOL_XDP, UMEM_COMPLETION_RING, &completion_size)?;
        if layout.receive > 0 {
            set(fd.as_fd(), SOL_XDP, RX_RING, &layout.receive)?;
        }
        if layout.transmit > 0 {
            set(fd.as_fd(), SOL_XDP, TX_RING, &layout.transmit)?;
        }
        let offsets: AllOffsets = get(fd.as_fd(), SOL_XDP, MMAP_OFFSETS)?;
        let fd_ref = fd.as_fd();
        let map = |offsets: &Offsets, size: u32, entry: usize, page: i64| {
            Pages::of(fd_ref, offsets.entries as usize + size as usize * entry, page).map(Arc::new)
        };
        let fill = Producer::new(&map(&offsets.fill, fill_size, 8, PAGE_FILL)?, &offsets.fill, fill_size);
        let completion = map(&offsets.completion, completion_size, 8, PAGE_COMPLETION)?;
        let completion = Consumer::new(&completion, &offsets.completion, completion_size);
        let receive = match layout.receive {
            0 => None,
            size => Some(Consumer::new(&map(&offsets.receive, size, 16, PAGE_RX)?, &offsets.receive, size)),
        };
        let transmit = match layout.transmit {
            0 => None,
            size => Some(Producer::new(&map(&offsets.transmit, size, 16, PAGE_TX)?, &offsets.transmit, size)),
        };
        bind(fd.as_fd(), interface, queue, flags)?;
        let is_zero_copy = get::<u32>(fd.as_fd(), SOL_XDP, OPTIONS)? & OPTION_ZEROCOPY != 0;
        raise_budget(fd.as_fd(), layout.transmit);
        Ok(Self { transmit, completion, receive, fill, fd, chunks, is_zero_copy })
    }

    /// Tells the kernel to look at the transmit ring.
    pub fn kick_transmit(&self) -> io::Result<()> {
        // SAFETY: no buffer and no address: lengths are 0.
        let sent = unsafe {
            libc::sendto(self.fd.as_raw_fd(), std::ptr::null(), 0, libc::MSG_DONTWAIT, std::ptr::null(), 0)
        };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Tells the kernel to look at the fill ring.
    pub fn kick_receive(&self) -> io::Result<()> {
        // SAFETY: no buffer and no address: lengths are 0.
        let got = unsafe {
            libc::recvfrom(
                self.fd.as_raw_fd(),
                std::ptr::null_mut(),
                0,
                libc::MSG_DONTWAIT,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
            )
        };
        if got < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    pub fn statistics(&self) -> io::Result<Statistics> {
        get(self.fd.as_fd(), SOL_XDP, STATISTICS)
    }

    /// An error that the kernel left here (ENETDOWN when the interface was removed).
    pub fn pending_error(&self) -> Option<io::Error> {
        match get::<i32>(self.fd.as_fd(), libc::SOL_SOCKET, libc::SO_ERROR) {
            Ok(0) => None,
            Ok(errno) => Some(io::Error::from_raw_os_error(errno)),
            Err(error) => Some(error),
        }
    }

    /// Asks the kernel to poll the device in our calls rather than by interrupts; a driver that has no NAPI
    /// here ignores it.
    pub fn prefer_busy_poll(&self, budget: i32) -> io::Result<()> {
        set(self.fd.as_fd(), libc::SOL_SOCKET, libc::SO_PREFER_BUSY_POLL, &1i32)?;
        set(self.fd.as_fd(), libc::SOL_SOCKET, libc::SO_BUSY_POLL, &20i32)?;
        set(self.fd.as_fd(), libc::SOL_SOCKET, libc::SO_BUSY_POLL_BUDGET, &budget)
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn register(fd: BorrowedFd<'_>, chunks: &Chunks, metadata: usize) -> io::Result<()> {
    let registration = UmemRegistration {
        address: chunks.pages().start().as_ptr() as u64,
        bytes: chunks.pages().bytes() as u64,
        chunk: chunks.chunk_bytes() as u32,
        headroom: 0,
        flags: if metadata > 0 { UMEM_TX_METADATA } else { 0 },
        tx_metadata: metadata as u32,
    };
    set(fd, SOL_XDP, UMEM_REG, &registration)
}

fn bind(fd: BorrowedFd<'_>, interface: u32, queue: u32, flags: u16) -> io::Result<()> {
    let address = BindAddress { family: libc::AF_XDP as u16, flags, interface, queue, shared: 0 };
    let pointer = std::ptr::from_ref(&address).cast();
    // SAFETY: the structure outlives the call, and its own length is given.
    let result = unsafe { libc::bind(fd.as_raw_fd(), pointer, size_of::<BindAddress>() as u32) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// More frames a call, and room for the sk_buffs of copy mode: each costs what a small one costs, whatever the
/// frame's length.
fn raise_budget(fd: BorrowedFd<'_>, transmit: u32) {
    const SEND_BUFFER: i32 = 16 << 20;
    // Both only make it faster: without them the kernel's own values stand.
    let _ = set(fd, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &SEND_BUFFER);
    let wanted = transmit.min(256);
    let _ = set(fd, SOL_XDP, MAX_TX_SKB_BUDGET, &wanted);
}

fn set<T>(fd: BorrowedFd<'_>, level: i32, name: i32, value: &T) -> io::Result<()> {
    let pointer = std::ptr::from_ref(value).cast();
    // SAFETY: the value outlives the call, and its own length is given.
    let result = unsafe { libc::setsockopt(fd.as_raw_fd(), level, name, pointer, size_of::<T>() as u32) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// `T` is made of integers: whatever the kernel writes is a value of it.
fn get<T: Default + Copy>(fd: BorrowedFd<'_>, level: i32, name: i32) -> io::Result<T> {
    let mut value = T::default();
    let mut length = size_of::<T>() as u32;
    let pointer = std::ptr::from_mut(&mut value).cast();
    // SAFETY: the kernel writes at most `length` bytes into a value of that length.
    let result = unsafe { libc::getsockopt(fd.as_raw_fd(), level, name, pointer, &raw mut length) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(value) }
}
