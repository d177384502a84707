//! Frames that hold several: merged by a host on the way (GRO), or not yet split by a card (TSO, UDP_SEGMENT).
//! A packet socket sees each as one.
//!
//! The kernel marks those of TCP. Of all others it tells if asked for the header of virtio (`PACKET_VNET_HDR`),
//! which stands before the frame.

use super::memory::Memory;
use super::socket::Socket;
use std::io;

/// Not in the crate libc.
const PACKET_VNET_HDR: i32 = 15;
const TP_STATUS_GSO_TCP: u32 = 1 << 8;
/// Bytes of `struct virtio_net_hdr`, and where it says how a frame is to be split (0: it is not).
pub const VNET: usize = 10;
const GSO_TYPE: usize = 1;
/// Older kernels lose datagrams that are to be split, rather than describe them.
const SINCE: (u32, u32) = (6, 2);

/// How it is known which frames hold several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merged {
    /// Those of TCP are marked.
    Marks,
    /// Each frame has a header that tells.
    Headers,
}

impl Merged {
    /// Asks for the headers, before there is a ring.
    pub fn ask(socket: &Socket) -> io::Result<Self> {
        if kernel(&rustix::system::uname().release().to_string_lossy()) < SINCE {
            return Ok(Self::Marks);
        }
        socket.set_packet(PACKET_VNET_HDR, 1_i32)?;
        Ok(Self::Headers)
    }

    /// Whether the frame at `frame` in the ring, with this header, holds several.
    #[inline]
    pub fn has(self, memory: &Memory, frame: usize, status: u32) -> bool {
        status & TP_STATUS_GSO_TCP != 0
            || (self == Self::Headers && memory.u8_at(frame - VNET + GSO_TYPE) != 0)
    }
}

/// Version and patch level of a release such as "6.1.0-18-amd64"; zeros if it cannot be read.
fn kernel(release: &str) -> (u32, u32) {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_known_by_their_release() {
        assert!(kernel("6.1.0-18-amd64") < SINCE && kernel("5.15.0") < SINCE && kernel("odd") < SINCE);
        assert!(kernel("6.2.0") >= SINCE && kernel("6.18.44-fc") >= SINCE && kernel("7.0-rc1") >= SINCE);
    }
}
