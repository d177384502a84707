//! A packet socket (packet(7)): its system calls, each in a safe wrapper.

use crate::Instruction;
use crate::interface::Interface;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// All protocols, as `bind` wants it.
pub const EVERYTHING: u16 = (libc::ETH_P_ALL as u16).to_be();
/// A socket that is bound to this receives nothing.
pub const NOTHING: u16 = 0;

#[derive(Debug)]
pub struct Socket {
    fd: OwnedFd,
}

/// Values that are read and written as options: plain integers and structs of them, without gaps.
///
/// # Safety
/// Any bytes are a value of it.
pub unsafe trait Plain: Copy {}
// SAFETY: integers, or C structs of integers.
unsafe impl Plain for i32 {}
// SAFETY: as above.
unsafe impl Plain for u32 {}
// SAFETY: as above.
unsafe impl Plain for libc::tpacket_req {}
// SAFETY: as above.
unsafe impl Plain for libc::tpacket_req3 {}
// SAFETY: as above.
unsafe impl Plain for libc::tpacket_stats_v3 {}
// SAFETY: as above.
unsafe impl Plain for libc::packet_mreq {}

/// Frames and drops of a packet socket since the last call. Version 2 leaves the third figure alone.
pub fn statistics(fd: BorrowedFd<'_>) -> io::Result<libc::tpacket_stats_v3> {
    let mut statistics = libc::tpacket_stats_v3 { tp_packets: 0, tp_drops: 0, tp_freeze_q_cnt: 0 };
    let mut length = size_of::<libc::tpacket_stats_v3>() as libc::socklen_t;
    let pointer = (&raw mut statistics).cast();
    let (level, option) = (libc::SOL_PACKET, libc::PACKET_STATISTICS);
    // SAFETY: room of `length` bytes, which the kernel does not exceed; any bytes are a value.
    checked(unsafe { libc::getsockopt(fd.as_raw_fd(), level, option, pointer, &mut length) })?;
    Ok(statistics)
}

impl Socket {
    /// Raw frames, Ethernet header included. It receives nothing until it is bound.
    pub fn open() -> io::Result<Self> {
        let fd = socket_with(AddressFamily::PACKET, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
        Ok(Self { fd })
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// The descriptor alone, for who reads and writes frames by other calls.
    pub fn into_fd(self) -> OwnedFd {
        self.fd
    }

    /// Ties it to one interface, by its index: another one that gets the same name is not used.
    pub fn bind(&self, interface: &Interface, protocol: u16) -> io::Result<()> {
        let address = libc::sockaddr_ll {
            sll_family: libc::AF_PACKET as u16,
            sll_protocol: protocol,
            sll_ifindex: interface.index as i32,
            sll_hatype: 0,
            sll_pkttype: 0,
            sll_halen: 0,
            sll_addr: [0; 8],
        };
        let pointer = (&raw const address).cast();
        let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: an address of this length, which outlives the call.
        checked(unsafe { libc::bind(self.fd.as_raw_fd(), pointer, length) })
    }

    pub fn set<T: Plain>(&self, level: i32, option: i32, value: T) -> io::Result<()> {
        let length = size_of::<T>() as libc::socklen_t;
        // SAFETY: `value` is plain, of this length, and outlives the call; the kernel copies it.
        checked(unsafe {
            libc::setsockopt(self.fd.as_raw_fd(), level, option, (&raw const value).cast(), length)
        })
    }

    /// An option that is an integer.
    pub fn read_i32(&self, level: i32, option: i32) -> io::Result<i32> {
        let (mut value, mut length) = (0_i32, size_of::<i32>() as libc::socklen_t);
        // SAFETY: room for one integer of the length that is said.
        checked(unsafe {
            libc::getsockopt(self.fd.as_raw_fd(), level, option, (&raw mut value).cast(), &mut length)
        })?;
        Ok(value)
    }

    /// An option of `SOL_PACKET`.
    pub fn set_packet<T: Plain>(&self, option: i32, value: T) -> io::Result<()> {
        self.set(libc::SOL_PACKET, option, value)
    }

    /// Frames and drops since the last call. Version 2 leaves the third figure alone.
    pub fn statistics(&self) -> io::Result<libc::tpacket_stats_v3> {
        statistics(self.fd.as_fd())
    }

    /// Takes the error that a link going down leaves behind, so that polling works again.
    pub fn take_error(&self) -> Option<Errno> {
        rustix::net::sockopt::socket_error(&self.fd).ok().and_then(Result::err)
    }

    /// Only frames for which `program` returns more than 0 come in, and so many bytes of each.
    pub fn attach(&self, program: &[Instruction]) -> io::Result<()> {
        attach(&self.fd, program)
    }

    /// All frames come in again.
    pub fn detach(&self) -> io::Result<()> {
        self.set(libc::SOL_SOCKET, libc::SO_DETACH_FILTER, 0_i32)
    }

    /// Sends one frame.
    #[inline]
    pub fn send(&self, frame: &[u8]) -> io::Result<()> {
        // SAFETY: bytes of this length, which the kernel reads before it returns.
        let sent = unsafe {
            libc::send(self.fd.as_raw_fd(), frame.as_ptr().cast(), frame.len(), libc::MSG_DONTWAIT)
        };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Sends what lies ready in the transmit ring.
    #[inline]
    pub fn kick(&self) -> io::Result<()> {
        // SAFETY: no bytes are given; with a transmit ring the kernel takes them from there.
        let sent = unsafe { libc::send(self.fd.as_raw_fd(), std::ptr::null(), 0, libc::MSG_DONTWAIT) };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Bytes (with the kernel's overhead) that were taken and have not left the driver.
    pub fn unsent(&self) -> io::Result<u32> {
        let mut bytes: libc::c_int = 0;
        // SAFETY: SIOCOUTQ writes one integer.
        checked(unsafe { libc::ioctl(self.fd.as_raw_fd(), libc::TIOCOUTQ as _, &mut bytes) })?;
        Ok(bytes.unsigned_abs())
    }
}

/// Gives a socket a filter.
pub fn attach(socket: &OwnedFd, program: &[Instruction]) -> io::Result<()> {
    let length = u16::try_from(program.len()).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    // `Instruction` is laid out as the kernel's struct sock_filter; the kernel only reads it.
    let program = libc::sock_fprog { len: length, filter: program.as_ptr().cast_mut().cast() };
    let size = size_of::<libc::sock_fprog>() as libc::socklen_t;
    let (level, option) = (libc::SOL_SOCKET, libc::SO_ATTACH_FILTER);
    // SAFETY: `program` points to `length` instructions; both outlive the call, and the kernel checks and
    // copies them.
    checked(unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, (&raw const program).cast(), size) })
}

pub fn checked(status: libc::c_int) -> io::Result<()> {
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
