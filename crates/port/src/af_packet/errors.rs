//! The error queue of a packet socket: when frames left, and which the queueing discipline dropped because of
//! their launch times.
//!
//! ```text
//!   send ─► etf or fq ─► driver ─► stamp, with the frame's number (SOF_TIMESTAMPING_OPT_ID) ──┐
//!              └─ too late: SO_EE_ORIGIN_TXTIME, with its launch time ────────────────────────┴─► MSG_ERRQUEUE
//! ```
//!
//! Documentation/networking/timestamping.rst, 2.1; linux/errqueue.h.

use super::socket::Socket;
use std::io;
use std::mem::size_of;
use std::os::fd::AsRawFd;

/// Messages of one call.
const BATCH: usize = 64;
/// Two control messages: three times of 16 bytes, and struct sock_extended_err with an address.
const CONTROL: usize = 192;
/// Calls of one reading: frames leave meanwhile, and it must end.
const MOST_CALLS: usize = 256;

/// SO_EE_ORIGIN_TIMESTAMPING, SO_EE_ORIGIN_TXTIME and its codes.
const TIMESTAMPING: u8 = 4;
const TXTIME: u8 = 6;
const INVALID: u8 = 1;
const MISSED: u8 = 2;
/// PACKET_TX_TIMESTAMP of linux/if_packet.h.
const TX_TIMESTAMP: i32 = 16;

/// What the kernel tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// Frame number `key` left: by the kernel's wall clock, and by the card's clock; 0 where it has no stamp.
    Left { key: u32, unix_ns: u64, card_ns: u64 },
    /// It was too late, or out of order, when it came to the queue: the call that sent it failed, too.
    Refused { launch_ns: u64 },
    /// It had been taken, and was dropped when its turn came.
    Missed { launch_ns: u64 },
}

/// Room for control messages, aligned as the kernel wants it.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Control([u8; CONTROL]);

pub struct Errors {
    controls: Box<[Control]>,
    headers: Box<[libc::mmsghdr]>,
}

// SAFETY: the pointers in `headers` lead to this value's own box, which moves with it.
unsafe impl Send for Errors {}

impl Errors {
    pub fn new() -> Self {
        // SAFETY: `mmsghdr` is plain integers and pointers; all zeroes is a value of it.
        let header = || unsafe { std::mem::zeroed::<libc::mmsghdr>() };
        Self {
            controls: vec![Control([0; CONTROL]); BATCH].into(),
            headers: (0..BATCH).map(|_| header()).collect(),
        }
    }

    /// Gives `told` everything that is there, and says how many calls that took.
    ///
    /// # Errors
    /// The kernel refuses to tell.
    pub fn read(&mut self, socket: &Socket, told: &mut dyn FnMut(Told)) -> io::Result<u64> {
        for calls in 1..=MOST_CALLS as u64 {
            let count = match self.receive(socket) {
                Ok(count) => count,
                Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EINTR)) => 0,
                // An error of the link's, which stands before the others.
                Err(error) if error.raw_os_error() == Some(libc::ENETDOWN) => continue,
                Err(error) => return Err(error),
            };
            for (header, control) in self.headers[..count].iter().zip(&self.controls) {
                let length = header.msg_hdr.msg_controllen.min(CONTROL);
                if let Some(found) = told_by(&control.0[..length]) {
                    told(found);
                }
            }
            if count < BATCH {
                return Ok(calls);
            }
        }
        Ok(MOST_CALLS as u64)
    }

    fn receive(&mut self, socket: &Socket) -> io::Result<usize> {
        for (header, control) in self.headers.iter_mut().zip(self.controls.iter_mut()) {
            // The frames' own bytes are not asked for.
            header.msg_hdr.msg_control = control.0.as_mut_ptr().cast();
            header.msg_hdr.msg_controllen = CONTROL as _;
        }
        let (fd, flags) = (socket.fd().as_raw_fd(), libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT);
        let (headers, count) = (self.headers.as_mut_ptr(), BATCH as u32);
        // SAFETY: `count` headers, without vectors, whose controls are this value's own and as long as said.
        let read = unsafe { libc::recvmmsg(fd, headers, count, flags as _, std::ptr::null_mut()) };
        usize::try_from(read).map_err(|_| io::Error::last_os_error())
    }
}

/// What the control messages of one message tell together.
fn told_by(mut control: &[u8]) -> Option<Told> {
    const HEAD: usize = size_of::<libc::cmsghdr>();
    let (mut unix_ns, mut card_ns, mut error) = (0, 0, None);
    while control.len() >= HEAD {
        let length = usize::from_ne_bytes(*control.first_chunk()?);
        if length < HEAD || length > control.len() {
            return None;
        }
        let (level, kind) = (word(control, size_of::<usize>())?, word(control, size_of::<usize>() + 4)?);
        let value = &control[HEAD..length];
        match (level as i32, kind as i32) {
            // Three times: of the kernel, none, of the card.
            (libc::SOL_SOCKET, libc::SO_TIMESTAMPING) => {
                (unix_ns, card_ns) = (time(value, 0)?, time(value, 32)?);
            }
            // struct sock_extended_err: errno, then origin, type, code and nothing, info, data.
            (libc::SOL_PACKET, TX_TIMESTAMP) => {
                let (origin, code) = (*value.get(4)?, *value.get(6)?);
                error = Some((origin, code, word(value, 8)?, word(value, 12)?));
            }
            _ => (),
        }
        control = control.get(length.next_multiple_of(size_of::<usize>())..)?;
    }
    let (origin, code, info, data) = error?;
    let launch_ns = u64::from(data) << 32 | u64::from(info);
    match (origin, code) {
        (TIMESTAMPING, _) => Some(Told::Left { key: data, unix_ns, card_ns }),
        (TXTIME, INVALID) => Some(Told::Refused { launch_ns }),
        (TXTIME, MISSED) => Some(Told::Missed { launch_ns }),
        _ => None,
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// struct timespec.
fn time(bytes: &[u8], at: usize) -> Option<u64> {
    let number = |at: usize| Some(u64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?));
    Some(number(at)?.saturating_mul(1_000_000_000).saturating_add(number(at + 8)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(level: i32, kind: i32, value: &[u8]) -> Vec<u8> {
        let mut bytes = (16 + value.len()).to_ne_bytes().to_vec();
        bytes.extend(level.to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    }

    fn error(origin: u8, code: u8, info: u32, data: u32) -> Vec<u8> {
        let mut value = 42u32.to_ne_bytes().to_vec();
        value.extend([origin, 0, code, 0]);
        value.extend(info.to_ne_bytes());
        value.extend(data.to_ne_bytes());
        message(libc::SOL_PACKET, TX_TIMESTAMP, &value)
    }

    fn stamps(numbers: [u64; 6]) -> Vec<u8> {
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
        message(libc::SOL_SOCKET, libc::SO_TIMESTAMPING, &bytes)
    }

    #[test]
    fn stamps_and_errors_are_told_apart() {
        let left = [stamps([7, 8, 0, 0, 0, 0]), error(TIMESTAMPING, 0, 0, 513)].concat();
        let expected = Told::Left { key: 513, unix_ns: 7_000_000_008, card_ns: 0 };
        assert_eq!(told_by(&left), Some(expected));
        let card = [stamps([0, 0, 0, 0, 44, 5]), error(TIMESTAMPING, 0, 0, 2)].concat();
        let expected = Told::Left { key: 2, unix_ns: 0, card_ns: 44_000_000_005 };
        assert_eq!(told_by(&card), Some(expected));
        // net/sched/sch_etf.c: ee_data has the upper half of the launch time, ee_info the lower.
        let launch_ns = 0x18fa_e259_3b6d_0001u64;
        let (upper, lower) = ((launch_ns >> 32) as u32, launch_ns as u32);
        assert_eq!(told_by(&error(TXTIME, MISSED, lower, upper)), Some(Told::Missed { launch_ns }));
        assert_eq!(told_by(&error(TXTIME, INVALID, lower, upper)), Some(Told::Refused { launch_ns }));
        // Other errors, other messages, and less than a message.
        assert_eq!(told_by(&error(2, 0, 0, 0)), None);
        assert_eq!(told_by(&stamps([7, 8, 0, 0, 0, 0])), None);
        for cut in 0..left.len() {
            assert_ne!(told_by(&left[..cut]), Some(expected), "{cut}");
        }
    }
}
