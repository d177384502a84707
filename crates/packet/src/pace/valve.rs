//! The valve before a tap: a token bucket (`tbf`) as its queueing discipline, set over rtnetlink.
//!
//! A frame that waits in a queueing discipline still counts against the socket that sent it. TCP keeps a
//! millisecond or two of its pace there (its small queues) and stops; a UDP socket blocks when its send buffer
//! is there. So nothing is dropped, and nothing waits for long.
//!
//! Without it (no `tbf` in the kernel, no CAP_NET_ADMIN, not a tap) frames wait in the tap's own queue, which
//! is then long.

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with};
use std::io;
use std::os::fd::OwnedFd;

/// Frames that a tap's own queue holds. They wait there only when the valve cannot keep them back.
pub const TAP_QUEUE: u32 = 16_384;
/// Bytes that may wait in the valve: far more than all sockets' send buffers.
const LIMIT: u32 = 256 << 20;
/// `7a5e:`, a handle that nobody chooses by chance.
const HANDLE: u32 = 0x7a5e_0000;
const ROOT: u32 = 0xffff_ffff;

const NEWLINK: u16 = 16;
const NEWQDISC: u16 = 36;
const DELQDISC: u16 = 37;
const REQUEST: u16 = 1;
const ACK: u16 = 4;
const CREATE: u16 = 0x400;
const REPLACE: u16 = 0x100;
const NLMSG_ERROR: u16 = 2;

const IFLA_TXQLEN: u16 = 13;
const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TCA_TBF_PARMS: u16 = 1;
const TCA_TBF_RATE64: u16 = 4;
const TCA_TBF_BURST: u16 = 6;

/// The valve of one interface. Taken away when it is dropped.
#[derive(Debug)]
pub struct Valve {
    socket: OwnedFd,
    index: u32,
    longest: u32,
    is_set: bool,
    /// The last message's number, by which its answer is known.
    seq: u32,
}

impl Valve {
    /// The valve of the interface with this index, whose longest frame has so many bytes. Nothing is set yet.
    pub fn new(index: u32, longest: usize) -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC;
        // No protocol named is the first of them: NETLINK_ROUTE.
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?;
        let patience = std::time::Duration::from_secs(1);
        rustix::net::sockopt::set_socket_timeout(
            &socket,
            rustix::net::sockopt::Timeout::Recv,
            Some(patience),
        )?;
        Ok(Self { socket, index, longest: u32::try_from(longest).unwrap_or(u32::MAX), is_set: false, seq: 0 })
    }

    /// Frames that the interface's own queue holds.
    pub fn set_queue(&mut self, frames: u32) -> io::Result<()> {
        let mut body = vec![0; 16];
        body[4..8].copy_from_slice(&self.index.to_ne_bytes());
        attribute(&mut body, IFLA_TXQLEN, &frames.to_ne_bytes());
        self.ask(NEWLINK, 0, &body)
    }

    /// Lets so many bytes a second pass. The first time it puts the valve in.
    pub fn set(&mut self, bytes_per_second: u64) -> io::Result<()> {
        let flags = if self.is_set { 0 } else { CREATE | REPLACE };
        let mut body = self.about_qdisc();
        attribute(&mut body, TCA_KIND, b"tbf\0");
        attribute(&mut body, TCA_OPTIONS, &options(bytes_per_second, self.longest));
        self.ask(NEWQDISC, flags, &body)?;
        self.is_set = true;
        Ok(())
    }

    /// struct tcmsg: family, padding, interface, handle, parent, info.
    fn about_qdisc(&self) -> Vec<u8> {
        let mut body = vec![0; 4];
        for word in [self.index, HANDLE, ROOT, 0] {
            body.extend(word.to_ne_bytes());
        }
        body
    }

    /// Sends one request and waits for its acknowledgement.
    fn ask(&mut self, kind: u16, flags: u16, body: &[u8]) -> io::Result<()> {
        self.seq += 1;
        let mut message = Vec::with_capacity(16 + body.len());
        message.extend((16 + body.len() as u32).to_ne_bytes());
        message.extend(kind.to_ne_bytes());
        message.extend((REQUEST | ACK | flags).to_ne_bytes());
        message.extend(self.seq.to_ne_bytes());
        message.extend(0u32.to_ne_bytes());
        message.extend(body);
        sendto(&self.socket, &message, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
        let mut answer = [0u8; 4_096];
        // Answers to earlier requests that timed out may come first.
        for _ in 0..16 {
            let length = recv(&self.socket, &mut answer[..], RecvFlags::empty())?.0;
            if let Some(result) = acknowledged(&answer[..length], self.seq) {
                return result;
            }
        }
        Err(io::Error::other("rtnetlink replies to other requests"))
    }
}

impl Drop for Valve {
    fn drop(&mut self) {
        if self.is_set {
            // The interface may be gone, and the valve with it.
            let body = self.about_qdisc();
            let _ = self.ask(DELQDISC, 0, &body);
        }
    }
}

/// What an acknowledgement says; `None` if it is none, or another's.
fn acknowledged(answer: &[u8], seq: u32) -> Option<io::Result<()>> {
    let word = |at: usize| answer.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes);
    let kind = u16::from_ne_bytes(answer.get(4..6)?.try_into().ok()?);
    if kind != NLMSG_ERROR || word(8)? != seq {
        return None;
    }
    let code = word(16)? as i32;
    Some(if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(-code)) })
}

/// Appends an attribute: length, type, value, padded to four bytes.
fn attribute(to: &mut Vec<u8>, kind: u16, value: &[u8]) {
    to.extend((4 + value.len() as u16).to_ne_bytes());
    to.extend(kind.to_ne_bytes());
    to.extend(value);
    to.resize(to.len().next_multiple_of(4), 0);
}

/// Attributes of `tbf`: its rate, its limit, and how much may pass at once.
fn options(bytes_per_second: u64, longest: u32) -> Vec<u8> {
    // Half a millisecond of the rate covers the kernel's own timer; several frames must pass in any case.
    let burst =
        u32::try_from(bytes_per_second / 2_000).unwrap_or(u32::MAX / 2).max(longest.saturating_mul(4));
    // struct tc_ratespec: cell_log, linklayer (1: Ethernet), overhead, cell_align, mpu, rate.
    let mut parms = vec![0, 1, 0, 0, 0, 0, 0, 0];
    parms.extend(u32::try_from(bytes_per_second).unwrap_or(u32::MAX).to_ne_bytes());
    // No peak rate; limit; buffer and mtu follow from TCA_TBF_BURST.
    parms.extend([0; 12]);
    for word in [LIMIT, 0, 0] {
        parms.extend(word.to_ne_bytes());
    }
    let mut options = Vec::new();
    attribute(&mut options, TCA_TBF_PARMS, &parms);
    attribute(&mut options, TCA_TBF_BURST, &burst.to_ne_bytes());
    if u32::try_from(bytes_per_second).is_err() {
        attribute(&mut options, TCA_TBF_RATE64, &bytes_per_second.to_ne_bytes());
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_laid_out_as_the_kernel_has_them() {
        // Two attributes: 4 + 36 (struct tc_tbf_qopt) and 4 + 4.
        let small = options(1_000_000, 1_514);
        assert_eq!(small.len(), 40 + 8);
        assert_eq!(small[0..4], [40, 0, 1, 0]);
        assert_eq!(small[12..16], 1_000_000u32.to_ne_bytes());
        assert_eq!(small[28..32], LIMIT.to_ne_bytes());
        assert_eq!(small[44..48], 6_056u32.to_ne_bytes(), "four frames are more than 500 bytes");
        // 40 Gbit/s do not fit 32 bits.
        assert_eq!(options(5_000_000_000, 1_514).len(), 40 + 8 + 12);
    }

    #[test]
    fn an_acknowledgement_of_another_request_is_not_taken() {
        let mut answer = vec![36, 0, 0, 0, 2, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0];
        answer.extend((-2i32).to_ne_bytes());
        assert!(acknowledged(&answer, 8).is_none());
        assert_eq!(acknowledged(&answer, 7).unwrap().unwrap_err().raw_os_error(), Some(2));
        assert!(acknowledged(&answer[..10], 7).is_none());
    }

    #[test]
    fn an_interface_that_is_not_there_is_an_error() {
        let mut valve = Valve::new(999_999, 1_514).unwrap();
        assert!(valve.set(1_000_000).is_err());
    }
}
