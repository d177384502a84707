//! What DPDK says: kept for messages, and off this program's output.

use super::library::Dpdk;
use rustix::fs::{MemfdFlags, memfd_create};
use std::ffi::{c_char, c_int, c_void};
use std::fs::File;
use std::io::{Read, Seek};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Mutex;

/// Bytes that are kept; the oldest go first.
const KEPT: usize = 16 << 10;
/// Bytes that are read of what was written while EAL started.
const MOST: u64 = 16 << 20;

/// What its log says.
#[derive(Debug)]
pub struct Said(&'static Mutex<Vec<u8>>);

/// `cookie_io_functions_t` of fopencookie(3).
#[repr(C)]
struct Cookie {
    read: *const c_void,
    write: unsafe extern "C" fn(*mut c_void, *const u8, usize) -> isize,
    seek: *const c_void,
    close: *const c_void,
}

unsafe extern "C" {
    static stdout: *mut libc::FILE;
    static stderr: *mut libc::FILE;
    fn fopencookie(cookie: *mut c_void, mode: *const c_char, functions: Cookie) -> *mut libc::FILE;
}

impl Default for Said {
    /// Lives as long as the process: the library may speak at any time.
    fn default() -> Self {
        Self(Box::leak(Box::new(Mutex::new(Vec::new()))))
    }
}

impl Said {
    /// From now on the library's log comes here.
    pub fn listen(&self, dpdk: &Dpdk) {
        let functions =
            Cookie { read: std::ptr::null(), write: keep, seek: std::ptr::null(), close: std::ptr::null() };
        let cookie = std::ptr::from_ref(self.0).cast_mut().cast();
        // SAFETY: the buffer that `keep` is given lives as long as the process.
        let file = unsafe { fopencookie(cookie, c"w".as_ptr(), functions) };
        if !file.is_null() {
            // SAFETY: an open stream that is never closed.
            unsafe { (dpdk.call.openlog_stream)(file) };
        }
    }

    /// All of it, and forgets it.
    pub fn all(&self) -> String {
        let bytes = std::mem::take(&mut *super::eal::lock(self.0));
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// The library's log writes so many bytes.
unsafe extern "C" fn keep(cookie: *mut c_void, bytes: *const u8, count: usize) -> isize {
    // SAFETY: the cookie is the buffer that `listen` gave, which is never freed.
    let kept = unsafe { &*cookie.cast::<Mutex<Vec<u8>>>() };
    // SAFETY: stdio passes so many bytes.
    let bytes = unsafe { std::slice::from_raw_parts(bytes, count) };
    let mut kept = super::eal::lock(kept);
    kept.extend_from_slice(bytes);
    let too_many = kept.len().saturating_sub(KEPT);
    kept.drain(..too_many);
    count as isize
}

/// Standard output and error of the process go to files in memory for a while: EAL prints its whole help there
/// when it does not like an argument.
pub struct Captured([Option<Output>; 2]);

/// One of them: its number, where it went before, and what comes meanwhile.
struct Output {
    number: c_int,
    before: OwnedFd,
    file: File,
}

impl Captured {
    pub fn begin() -> Self {
        flush();
        Self([1, 2].map(Output::begin))
    }

    /// Puts both back. What was written meanwhile is the answer, if EAL did not start; otherwise whatever
    /// others have written goes where it was meant for.
    pub fn end(mut self, has_started: bool) -> String {
        flush();
        // What went wrong is on standard error, and comes first.
        let said = self.0.iter_mut().rev().flatten().map(|output| {
            output.put_back();
            let said = output.said();
            if has_started {
                let others = said.split_inclusive('\n').filter(|line| !line.starts_with("EAL:"));
                output.write(&others.collect::<String>());
            }
            said
        });
        said.collect()
    }
}

impl Output {
    fn begin(number: c_int) -> Option<Self> {
        let file = memfd_create("said", MemfdFlags::CLOEXEC).ok().map(File::from)?;
        let before = duplicate(number)?;
        put(file.as_raw_fd(), number);
        Some(Self { number, before, file })
    }

    fn put_back(&self) {
        put(self.before.as_raw_fd(), self.number);
    }

    fn said(&mut self) -> String {
        let mut text = Vec::new();
        let read = self.file.rewind().and_then(|()| (&self.file).take(MOST).read_to_end(&mut text));
        debug_assert!(read.is_ok(), "memory can be read: {read:?}");
        String::from_utf8_lossy(&text).into_owned()
    }

    fn write(&self, text: &str) {
        let mut left = text.as_bytes();
        while !left.is_empty() {
            match rustix::io::write(&self.before, left) {
                Ok(count) if count > 0 => left = &left[count..],
                Err(rustix::io::Errno::INTR) => {}
                // Nobody reads it any more.
                _ => return,
            }
        }
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        self.put_back();
    }
}

/// C's own buffers of both go where they belong. (Another stream may be waiting for somebody.)
fn flush() {
    // SAFETY: streams of the C library, which stay open.
    unsafe { libc::fflush(stdout) };
    // SAFETY: as above.
    unsafe { libc::fflush(stderr) };
}

fn duplicate(number: c_int) -> Option<OwnedFd> {
    // SAFETY: takes two numbers.
    let copy = unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 3) };
    // SAFETY: a descriptor that was made just now and belongs to nobody else.
    (copy >= 0).then(|| unsafe { OwnedFd::from_raw_fd(copy) })
}

/// Makes descriptor `to` another name of `from`.
fn put(from: c_int, to: c_int) {
    // SAFETY: takes two numbers; `to` is standard output or error, which stay open.
    unsafe { libc::dup2(from, to) };
}
