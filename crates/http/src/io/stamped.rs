//! Reading a socket together with the kernel's receive stamp (SO_TIMESTAMPING,
//! Documentation/networking/timestamping.rst).
//!
//! On TCP the stamp is that of the last segment of which bytes were read (tcp_recvmsg), or of a later one that
//! the kernel merged with it (tcp_try_coalesce). So for the last byte of what can be read it is the time from
//! which that could be read; bytes before it may have been there for longer. Measured on loopback, it costs
//! nothing that can be told from noise.

use rustix::fd::{AsRawFd, OwnedFd};
use rustix::io::Errno;
use std::mem::{MaybeUninit, size_of};
use std::num::NonZeroU64;

/// Room for one control message of three timespecs (48 bytes and its head), with some to spare.
const CONTROL: usize = 128;

#[repr(C, align(8))]
struct Ancillary([MaybeUninit<u8>; CONTROL]);

/// Has the kernel stamp what arrives on this socket, in software: when the driver handed it over. An error
/// means that the kernel or the kind of socket knows no stamps.
pub fn switch_on(socket: &OwnedFd) -> Result<(), Errno> {
    let flags: libc::c_uint = libc::SOF_TIMESTAMPING_RX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE;
    // SAFETY: the option's value is one live unsigned integer of the length that is given.
    let status = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMPING,
            (&raw const flags).cast(),
            size_of::<libc::c_uint>() as libc::socklen_t,
        )
    };
    if status == 0 { Ok(()) } else { Err(last_error()) }
}

/// Reads what fits, without waiting: the number of bytes (0 at the end of the stream), and the stamp of the
/// last.
pub fn read(socket: &OwnedFd, buffer: &mut [u8]) -> Result<(usize, Option<NonZeroU64>), Errno> {
    let mut control = Ancillary([MaybeUninit::uninit(); CONTROL]);
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: a message header of zeroes is valid: no name, no parts, no control.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = (&raw mut control).cast();
    message.msg_controllen = CONTROL as _;
    // SAFETY: the header names one live buffer and one live control area, each with its own length.
    let count = unsafe { libc::recvmsg(socket.as_raw_fd(), &mut message, libc::MSG_DONTWAIT) };
    match usize::try_from(count) {
        Ok(count) => Ok((count, stamp(&message))),
        Err(_) => Err(last_error()),
    }
}

/// The header for receives that an io_uring makes: control messages as long as ours, no name. It points
/// nowhere.
pub(super) fn message_for_ring() -> libc::msghdr {
    // SAFETY: as in `read`.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_controllen = CONTROL as _;
    message
}

/// The software stamp among control messages that stand in memory of ours.
pub(super) fn stamp_in(control: &[u8]) -> Option<NonZeroU64> {
    let mut message = message_for_ring();
    message.msg_control = control.as_ptr().cast_mut().cast();
    message.msg_controllen = control.len() as _;
    stamp(&message)
}

/// The software stamp among the control messages, in nanoseconds since 1970.
pub(super) fn stamp(message: &libc::msghdr) -> Option<NonZeroU64> {
    // SAFETY: the kernel has set the control area's length; the macros stay within it.
    let mut head = unsafe { libc::CMSG_FIRSTHDR(message) };
    while !head.is_null() {
        // SAFETY: `head` is a whole header inside the control area; it may not be aligned, so it is copied.
        let found = unsafe { head.read_unaligned() };
        if found.cmsg_level == libc::SOL_SOCKET && found.cmsg_type == libc::SO_TIMESTAMPING {
            // SAFETY: behind a header of this type stand three timespecs, of which the first is the software
            // stamp.
            let time = unsafe { libc::CMSG_DATA(head).cast::<libc::timespec>().read_unaligned() };
            return nanos(&time);
        }
        // SAFETY: as for the first.
        head = unsafe { libc::CMSG_NXTHDR(message, head) };
    }
    None
}

fn nanos(time: &libc::timespec) -> Option<NonZeroU64> {
    let seconds = u64::try_from(time.tv_sec).ok()?;
    NonZeroU64::new(seconds.checked_mul(1_000_000_000)?.checked_add(u64::try_from(time.tv_nsec).ok()?)?)
}

fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};
    use std::time::Duration;

    fn pair() -> (TcpStream, OwnedFd) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        (server, client.into())
    }

    /// The first stamps may be missing: the kernel begins to stamp a little after it is asked.
    fn stamped_pair() -> (TcpStream, OwnedFd) {
        let (mut server, client) = pair();
        switch_on(&client).unwrap();
        let mut buffer = [0; 16];
        for _ in 0..200 {
            server.write_all(b"x").unwrap();
            std::thread::sleep(Duration::from_millis(2));
            if matches!(read(&client, &mut buffer), Ok((_, Some(_)))) {
                return (server, client);
            }
        }
        panic!("no stamp in 200 tries");
    }

    #[test]
    fn a_stamp_tells_when_bytes_arrived_not_when_they_were_read() {
        let (mut server, client) = stamped_pair();
        let before = clock::unix_ns();
        server.write_all(b"answer").unwrap();
        let written = clock::unix_ns();
        std::thread::sleep(Duration::from_millis(30));
        let (count, stamp) = read(&client, &mut [0; 64]).unwrap();
        let stamp = stamp.expect("stamps are on").get();
        assert_eq!(count, 6);
        assert!(stamp >= before && stamp <= written + 20_000_000, "{before} {stamp} {written}");
    }

    #[test]
    fn the_last_byte_has_the_stamp_of_the_segment_that_brought_it() {
        let (mut server, client) = stamped_pair();
        server.write_all(b"first").unwrap();
        std::thread::sleep(Duration::from_millis(5));
        let before = clock::unix_ns();
        server.write_all(b"second").unwrap();
        std::thread::sleep(Duration::from_millis(5));
        let (count, early) = read(&client, &mut [0; 5]).unwrap();
        assert_eq!(count, 5);
        let (count, late) = read(&client, &mut [0; 64]).unwrap();
        assert_eq!(count, 6);
        assert!(early.is_some() && late.unwrap().get() >= before, "{early:?} {late:?} {before}");
    }

    #[test]
    fn nothing_to_read_and_the_end_are_told() {
        let (server, client) = pair();
        assert_eq!(read(&client, &mut [0; 8]), Err(Errno::AGAIN));
        drop(server);
        std::thread::sleep(Duration::from_millis(5));
        assert_eq!(read(&client, &mut [0; 8]), Ok((0, None)));
    }
}
