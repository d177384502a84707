//! Writes to pipes that nobody reads any more: an error, EPIPE, and no signal. In a program that has loaded
//! libtare, SIGPIPE is the program's, and ends it by default.

use std::io::{Error, Result};
use std::mem::MaybeUninit;
use std::ptr::null_mut;

/// From here on this thread gets no SIGPIPE, nor do those that it starts: their writes fail with EPIPE alone.
pub fn block_signal() {
    mask(libc::SIG_BLOCK, &pipe_signal());
}

/// Writes by `write` without a SIGPIPE: what a write to a pipe without a reader raises is taken back.
///
/// # Errors
/// Those of `write`.
pub fn without_signal<T>(write: impl FnOnce() -> Result<T>) -> Result<T> {
    let ours = pipe_signal();
    let was_pending = is_pending();
    let before = mask(libc::SIG_BLOCK, &ours);
    let wrote = write();
    if !was_pending && wrote.as_ref().is_err_and(is_broken_pipe) {
        let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: reads a live set and a live time; no information about the signal is asked for.
        unsafe { libc::sigtimedwait(&raw const ours, null_mut(), &raw const at_once) };
    }
    mask(libc::SIG_SETMASK, &before);
    wrote
}

fn is_broken_pipe(error: &Error) -> bool {
    error.raw_os_error() == Some(libc::EPIPE)
}

fn pipe_signal() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: makes the set that it is given an empty one.
    unsafe { libc::sigemptyset(set.as_mut_ptr()) };
    // SAFETY: it was filled just now.
    let mut set = unsafe { set.assume_init() };
    // SAFETY: a live set, and a signal that there is.
    unsafe { libc::sigaddset(&raw mut set, libc::SIGPIPE) };
    set
}

/// Changes which signals this thread gets; returns what was blocked before.
fn mask(how: libc::c_int, set: &libc::sigset_t) -> libc::sigset_t {
    let mut before = pipe_signal();
    // SAFETY: reads one live set and fills another; it fails for an unknown `how` alone.
    unsafe { libc::pthread_sigmask(how, set, &raw mut before) };
    before
}

/// Whether a SIGPIPE waits that was raised by others.
fn is_pending() -> bool {
    let mut waiting = pipe_signal();
    // SAFETY: fills a live set.
    let known = unsafe { libc::sigpending(&raw mut waiting) } == 0;
    known && has_pipe_signal(&waiting)
}

fn has_pipe_signal(set: &libc::sigset_t) -> bool {
    // SAFETY: reads a live set.
    unsafe { libc::sigismember(set, libc::SIGPIPE) == 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn to_a_broken_pipe() -> Result<()> {
        let (reader, mut writer) = std::io::pipe()?;
        drop(reader);
        writer.write_all(b"x")
    }

    fn blocked() -> bool {
        let mut now = pipe_signal();
        // SAFETY: fills a live set; without one to set, nothing is changed.
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &raw mut now) };
        has_pipe_signal(&now)
    }

    /// What is blocked stays pending, even where it would be ignored.
    #[test]
    fn a_broken_pipe_raises_no_signal_and_the_mask_is_as_before() {
        let works = || {
            assert!(!blocked());
            assert!(is_broken_pipe(&without_signal(to_a_broken_pipe).unwrap_err()));
            assert!(!blocked() && !is_pending());

            block_signal();
            assert!(is_broken_pipe(&without_signal(to_a_broken_pipe).unwrap_err()));
            assert!(blocked() && !is_pending(), "it was taken back");
            // What others raised is theirs.
            to_a_broken_pipe().unwrap_err();
            assert!(is_pending());
            without_signal(to_a_broken_pipe).unwrap_err();
            assert!(is_pending() && std::thread::spawn(blocked).join().unwrap());
        };
        std::thread::spawn(works).join().unwrap();
    }
}
