//! Memory that is shared with the kernel. Every access is checked against its length.

use std::io;
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// A mapping of a socket's ring.
#[derive(Debug)]
pub struct Memory {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: the mapping belongs to this value alone, and to no thread.
unsafe impl Send for Memory {}

impl Memory {
    pub fn map(socket: BorrowedFd<'_>, length: usize) -> io::Result<Self> {
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: a new mapping, at an address that the kernel chooses.
        let start = unsafe { mmap(ptr::null_mut(), length, protection, flags, socket, 0) }?;
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?;
        Ok(Self { start, length })
    }

    fn at(&self, range: Range<usize>) -> *mut u8 {
        assert!(range.start <= range.end && range.end <= self.length, "offsets lie within the ring");
        // SAFETY: it lies within the mapping.
        unsafe { self.start.as_ptr().add(range.start) }
    }

    /// The word that says whose a slot or block is.
    #[inline]
    fn word(&self, offset: usize) -> &AtomicU32 {
        let pointer: *mut u32 = self.at(offset..offset + 4).cast();
        assert!(pointer.is_aligned(), "status words are aligned");
        // SAFETY: within the mapping, aligned, and only ever accessed atomically by both sides.
        unsafe { AtomicU32::from_ptr(pointer) }
    }

    /// Status of a slot or block: what the other side wrote before it is seen after this.
    #[inline]
    pub fn status(&self, offset: usize) -> u32 {
        self.word(offset).load(Ordering::Acquire)
    }

    /// Hands a slot or block over: what was written before is seen by the other side.
    #[inline]
    pub fn set_status(&self, offset: usize, status: u32) {
        self.word(offset).store(status, Ordering::Release);
    }

    #[inline]
    pub fn u8_at(&self, offset: usize) -> u8 {
        // SAFETY: within the mapping, by `at`; any byte is a number.
        unsafe { ptr::read(self.at(offset..offset + 1)) }
    }

    #[inline]
    pub fn u32_at(&self, offset: usize) -> u32 {
        // SAFETY: within the mapping, by `at`; any bytes are a number.
        unsafe { ptr::read_unaligned(self.at(offset..offset + 4).cast()) }
    }

    #[inline]
    pub fn u16_at(&self, offset: usize) -> u16 {
        // SAFETY: as above.
        unsafe { ptr::read_unaligned(self.at(offset..offset + 2).cast()) }
    }

    #[inline]
    pub fn set_u32(&mut self, offset: usize, value: u32) {
        // SAFETY: within the mapping, by `at`, and `&mut self` makes it the only access of this process.
        unsafe { ptr::write_unaligned(self.at(offset..offset + 4).cast(), value) }
    }

    /// Bytes of a slot or block that is ours by its status.
    #[inline]
    pub fn bytes(&mut self, range: Range<usize>) -> &mut [u8] {
        let length = range.len();
        // SAFETY: within the mapping, by `at`; `&mut self` lends it once, and the kernel leaves alone what is
        // not its own.
        unsafe { std::slice::from_raw_parts_mut(self.at(range), length) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this address and length, and nothing borrows from it any more.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.length) };
    }
}
