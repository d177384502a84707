//! Reading a socket together with the kernel's receive stamp, so that the truth knows how long a request lay
//! unread.
//!
//! On its own, and not that of the load generator: a witness that shared its code would share its mistakes.

#![allow(unsafe_code)]

use clock::unix_ns;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::io::Errno;
use std::mem::size_of;
use units::Picos;

/// Room for one control message of one timespec, as the kernel aligns it, with some to spare.
const CONTROL: usize = 64;

#[repr(C, align(8))]
struct Ancillary([u8; CONTROL]);

/// Has the kernel stamp what arrives on connections of this listener. A kind of socket that knows no stamps has
/// none.
pub(crate) fn switch_on(listener: &OwnedFd) {
    let on: libc::c_int = 1;
    // SAFETY: the option's value is one live integer of the length that is given.
    unsafe {
        libc::setsockopt(
            listener.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMPNS,
            (&raw const on).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        );
    }
}

/// Reads what fits, without waiting: the number of bytes, and how long the last of them has been there. Zero
/// without a stamp.
pub(crate) fn read(socket: &OwnedFd, buffer: &mut [u8]) -> Result<(usize, Picos), Errno> {
    let mut control = Ancillary([0; CONTROL]);
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: a message header of zeroes is valid: no name, no parts, no control.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = (&raw mut control).cast();
    message.msg_controllen = CONTROL as _;
    // SAFETY: the header names one live buffer and one live control area, each with its own length.
    let count = unsafe { libc::recvmsg(socket.as_raw_fd(), &mut message, libc::MSG_DONTWAIT) };
    let Ok(count) = usize::try_from(count) else {
        return Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO));
    };
    let age_ns = stamp_ns(&message).map_or(0, |stamp| unix_ns().saturating_sub(stamp));
    Ok((count, Picos::from_nanos(age_ns)))
}

/// Nanoseconds since 1970.
fn stamp_ns(message: &libc::msghdr) -> Option<u64> {
    // SAFETY: the kernel has set the control area's length; the macro stays within it.
    let head = unsafe { libc::CMSG_FIRSTHDR(message) };
    if head.is_null() {
        return None;
    }
    // SAFETY: `head` is a whole header inside the control area; it may not be aligned, so it is copied.
    let found = unsafe { head.read_unaligned() };
    if found.cmsg_level != libc::SOL_SOCKET || found.cmsg_type != libc::SCM_TIMESTAMPNS {
        return None;
    }
    // SAFETY: behind a header of this type stands one timespec.
    let time = unsafe { libc::CMSG_DATA(head).cast::<libc::timespec>().read_unaligned() };
    let (seconds, nanos) = (u64::try_from(time.tv_sec).ok()?, u64::try_from(time.tv_nsec).ok()?);
    Some(seconds * 1_000_000_000 + nanos)
}
