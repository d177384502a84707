//! Which network namespace this thread is in.

use std::os::fd::AsRawFd;
use std::os::unix::net::UnixDatagram;

/// `SO_NETNS_COOKIE` of <asm-generic/socket.h>, Linux 5.14.
const NETNS_COOKIE: libc::c_int = 71;

/// A number that no other network namespace has until the next start of the machine; an inode's number is
/// given again as soon as its namespace is gone. None where the kernel does not tell.
pub fn cookie() -> Option<u64> {
    let socket = UnixDatagram::unbound().ok()?;
    let mut cookie = 0_u64;
    let mut length = size_of::<u64>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `cookie`, and both outlive the call.
    let status = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            NETNS_COOKIE,
            (&raw mut cookie).cast(),
            &raw mut length,
        )
    };
    (status == 0 && length as usize == size_of::<u64>()).then_some(cookie)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_namespace_has_its_own_cookie_also_one_that_got_anothers_inode() {
        let mine = cookie();
        assert!(mine.is_some() && mine == cookie(), "{mine:?}");
        let away = || {
            // SAFETY: this thread alone goes to the new namespace, and shares nothing of its own by it.
            if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
                return None;
            }
            let inode = std::fs::read_link("/proc/thread-self/ns/net").ok();
            Some((inode, cookie()))
        };
        let all: Vec<_> = (0..8).filter_map(|_| std::thread::spawn(away).join().unwrap()).collect();
        if all.is_empty() {
            return eprintln!("SKIPPED: no network namespace: {}", std::io::Error::last_os_error());
        }
        let mut cookies: Vec<u64> = all.iter().map(|(_, cookie)| cookie.unwrap()).chain(mine).collect();
        cookies.sort_unstable();
        cookies.dedup();
        assert_eq!(cookies.len(), 9, "{all:?}");
    }
}
