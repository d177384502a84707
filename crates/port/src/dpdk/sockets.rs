//! Sockets of virtual devices: what the kernel says that it has lost there, which their drivers do not all ask.
//!
//! A driver keeps its sockets to itself. They are those descriptors of the right family, namespace and (as far
//! as it can be told) interface that were not there before the device was made.

use crate::Instruction;
use crate::af_packet::socket::attach;
use crate::interface::Interface;
use std::ffi::{c_int, c_void};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Descriptors of this process at one moment.
pub struct Before(Vec<c_int>);

impl Before {
    pub fn now() -> Self {
        Self(descriptors())
    }

    /// What has come since, and belongs to that interface.
    pub fn since(&self, interface: Option<&Interface>) -> Vec<Losing> {
        let Some(interface) = interface else { return Vec::new() };
        let new = descriptors().into_iter().filter(|number| !self.0.contains(number));
        new.filter_map(|number| Losing::of(number, interface)).collect()
    }
}

/// A socket that tells what it loses.
#[derive(Debug)]
pub struct Losing {
    socket: OwnedFd,
    is_xdp: bool,
    /// What was told since the device was made.
    total: u64,
}

impl Losing {
    fn of(number: c_int, interface: &Interface) -> Option<Self> {
        let family = option::<c_int>(number, libc::SOL_SOCKET, libc::SO_DOMAIN)?;
        let is_xdp = family == libc::AF_XDP;
        if !is_xdp && family != libc::AF_PACKET {
            return None;
        }
        let cookie = |number| option::<u64>(number, libc::SOL_SOCKET, SO_NETNS_COOKIE);
        if cookie(number) != cookie(interface.descriptor().as_raw_fd()) {
            return None;
        }
        // An XDP socket does not tell what it is bound to.
        if !is_xdp && bound_to(number)? != interface.index {
            return None;
        }
        // SAFETY: takes numbers.
        let copy = unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 3) };
        if copy < 0 {
            return None;
        }
        // SAFETY: a descriptor that was made just now and belongs to nobody else.
        Some(Self { socket: unsafe { OwnedFd::from_raw_fd(copy) }, is_xdp, total: 0 })
    }

    /// Leaves out what this host sends, which the driver would take for frames that arrive. (It shares frames
    /// between its queues, where the kernel has no other way.)
    pub fn ignore_outgoing(&self) {
        // Without it the figures are as the driver has them.
        let _ = attach(&self.socket, &INWARD);
    }

    /// Has the kernel send what a driver has left in its ring; whether nothing is left there.
    pub fn kick(&self) -> bool {
        if self.is_xdp {
            return true;
        }
        for _ in 0..KICKS {
            let number = self.socket.as_raw_fd();
            // SAFETY: no bytes are given; with a ring the kernel takes them from there.
            let sent = unsafe { libc::send(number, std::ptr::null(), 0, libc::MSG_DONTWAIT) };
            if sent <= 0 {
                return sent == 0;
            }
        }
        false
    }

    /// Frames for which there was no room, since the device was made.
    pub fn lost(&mut self) -> u64 {
        let number = self.socket.as_raw_fd();
        if self.is_xdp {
            // rx_dropped, rx_invalid_descs, tx_invalid_descs, rx_ring_full, …: the driver tells the first.
            if let Some(counts) = option::<[u64; 6]>(number, libc::SOL_XDP, libc::XDP_STATISTICS) {
                self.total = counts[3];
            }
        } else if let Some([_, drops]) = option::<[u32; 2]>(number, libc::SOL_PACKET, libc::PACKET_STATISTICS)
        {
            // The kernel begins again with each question.
            self.total += u64::from(drops);
        }
        self.total
    }
}

/// SKF_AD_OFF + SKF_AD_PKTTYPE (linux/filter.h).
const KIND: u32 = 0xffff_f000 + 4;
/// Return all of a frame, unless it is one that goes out.
const INWARD: [Instruction; 4] = [
    Instruction { code: 0x20, jt: 0, jf: 0, k: KIND },
    Instruction { code: 0x15, jt: 0, jf: 1, k: libc::PACKET_OUTGOING as u32 },
    Instruction { code: 0x06, jt: 0, jf: 0, k: 0 },
    Instruction { code: 0x06, jt: 0, jf: 0, k: 0x0004_0000 },
];
/// Calls that empty a ring, at most: each sends something.
const KICKS: usize = 4_096;
/// The kernel's number of a namespace.
const SO_NETNS_COOKIE: c_int = 71;

fn descriptors() -> Vec<c_int> {
    let entries = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let mut numbers: Vec<c_int> =
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    // One of them was that of the listing itself, and is free again.
    // SAFETY: takes two numbers.
    numbers.retain(|number| unsafe { libc::fcntl(*number, libc::F_GETFD) } >= 0);
    numbers
}

/// An option of a socket; `T` is plain integers.
fn option<T: Copy + Default>(number: c_int, level: c_int, name: c_int) -> Option<T> {
    let (mut value, mut length) = (T::default(), size_of::<T>() as libc::socklen_t);
    let place: *mut c_void = (&raw mut value).cast();
    // SAFETY: there is room for as many bytes as are said, and any bytes are integers.
    let status = unsafe { libc::getsockopt(number, level, name, place, &mut length) };
    (status == 0 && length as usize == size_of::<T>()).then_some(value)
}

/// The index of the interface that a packet socket is bound to, which is in the second word of `sockaddr_ll`.
fn bound_to(number: c_int) -> Option<u32> {
    let (mut address, mut length) = ([0u32; 8], 32);
    // SAFETY: there is room for as many bytes as are said.
    let status = unsafe { libc::getsockname(number, address.as_mut_ptr().cast(), &mut length) };
    (status == 0 && length >= 8).then_some(address[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_new_packet_socket_of_the_interface_is_found() {
        let Ok(interface) = Interface::find("lo") else { return };
        let before = Before::now();
        // SAFETY: takes three numbers.
        let number = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
        if number < 0 {
            println!("SKIPPED: needs CAP_NET_RAW");
            return;
        }
        // SAFETY: made just now.
        let socket = unsafe { OwnedFd::from_raw_fd(number) };
        assert!(before.since(Some(&interface)).is_empty(), "it is bound to nothing");
        let mut address = [0u32; 5];
        (address[0], address[1]) = (libc::AF_PACKET as u32, interface.index);
        // SAFETY: a `sockaddr_ll` in 20 bytes.
        let bound = unsafe { libc::bind(socket.as_raw_fd(), address.as_ptr().cast(), 20) };
        assert_eq!(bound, 0);
        assert_eq!(before.since(Some(&interface)).iter_mut().map(Losing::lost).collect::<Vec<_>>(), [0]);
        assert!(before.since(None).is_empty() && Before::now().since(Some(&interface)).is_empty());
    }
}
