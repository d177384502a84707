//! Memory of a map that this process and programs in the kernel read and write at the same time.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

/// The values of a mappable array, one after another. Unmapped when dropped; programs keep their own hold on
/// it.
#[derive(Debug)]
pub struct Shared {
    start: NonNull<u8>,
    bytes: usize,
    mapped: usize,
}

// SAFETY: the memory is reached through atomics only, and belongs to no thread.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    pub(crate) fn map(fd: BorrowedFd<'_>, bytes: usize) -> io::Result<Self> {
        let mapped = bytes.next_multiple_of(rustix::param::page_size());
        // SAFETY: a new mapping at an address of the kernel's choice overlaps nothing.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                mapped,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                fd.as_raw_fd(),
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::other("mapped at 0"))?;
        Ok(Self { start, bytes, mapped })
    }

    pub fn len(&self) -> usize {
        self.bytes
    }

    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// The eight bytes at `offset`, which is a multiple of 8.
    ///
    /// # Panics
    /// If they are not all inside.
    pub fn u64_at(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: `at` has checked bounds and alignment; the memory lives as long as self and is only reached
        // by atomics.
        unsafe { self.at(offset, 8).cast::<AtomicU64>().as_ref() }
    }

    /// The four bytes at `offset`, which is a multiple of 4.
    pub fn u32_at(&self, offset: usize) -> &AtomicU32 {
        // SAFETY: as in `u64_at`.
        unsafe { self.at(offset, 4).cast::<AtomicU32>().as_ref() }
    }

    fn u8_at(&self, offset: usize) -> &AtomicU8 {
        // SAFETY: as in `u64_at`.
        unsafe { self.at(offset, 1).cast::<AtomicU8>().as_ref() }
    }

    /// Copies bytes in. A program that reads them meanwhile sees some old and some new ones.
    pub fn write(&self, offset: usize, bytes: &[u8]) {
        let mut at = offset;
        let mut rest = bytes;
        while at.is_multiple_of(8) && rest.len() >= 8 {
            let mut word = [0; 8];
            word.copy_from_slice(&rest[..8]);
            self.u64_at(at).store(u64::from_ne_bytes(word), Ordering::Relaxed);
            (at, rest) = (at + 8, &rest[8..]);
        }
        for (index, byte) in rest.iter().enumerate() {
            self.u8_at(at + index).store(*byte, Ordering::Relaxed);
        }
    }

    fn at(&self, offset: usize, bytes: usize) -> NonNull<u8> {
        assert!(offset.is_multiple_of(bytes) && offset + bytes <= self.bytes, "inside the map and aligned");
        // SAFETY: just checked to be inside the mapping.
        unsafe { self.start.add(offset) }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: this mapping was made by `map`, and no reference into it outlives self.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.mapped) };
    }
}
