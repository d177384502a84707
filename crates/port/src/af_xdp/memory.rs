//! Pages of memory, and the room for frames that is made of them.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;

/// A mapping, given back when dropped.
#[derive(Debug)]
pub struct Pages {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: plain memory that belongs to no thread; who reads and writes what is the business of those who hold
// it.
unsafe impl Send for Pages {}
// SAFETY: as above: `Pages` itself gives out addresses only.
unsafe impl Sync for Pages {}

impl Pages {
    /// New pages, all zero.
    pub fn anonymous(bytes: usize) -> io::Result<Self> {
        Self::map(bytes, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE, -1, 0)
    }

    /// Pages that the kernel shares by a descriptor.
    pub fn of(fd: BorrowedFd<'_>, bytes: usize, offset: i64) -> io::Result<Self> {
        Self::map(bytes, libc::MAP_SHARED | libc::MAP_POPULATE, fd.as_raw_fd(), offset)
    }

    fn map(bytes: usize, flags: i32, fd: i32, offset: i64) -> io::Result<Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice overlaps nothing.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, flags, fd, offset) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::other("mapped at 0"))?;
        Ok(Self { start, bytes })
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// The address of a `T` at `offset`.
    ///
    /// # Panics
    /// If it is not inside, or not aligned.
    pub fn at<T>(&self, offset: usize, count: usize) -> NonNull<T> {
        assert!(offset + count * size_of::<T>() <= self.bytes, "inside the mapping");
        // SAFETY: just checked to be inside.
        let place = unsafe { self.start.add(offset) }.cast::<T>();
        assert!(place.is_aligned(), "aligned");
        place
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: mapped by `map`, and whoever took addresses holds an Arc of this.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// Chunks of equal size, each of which belongs to this process or (between two rings) to the kernel.
#[derive(Debug)]
pub struct Chunks {
    pages: Pages,
    chunk: usize,
}

impl Chunks {
    /// `chunk` is 2 048 or 4 096, which is what the kernel takes.
    pub fn new(chunk: usize, count: usize) -> io::Result<Self> {
        Ok(Self { pages: Pages::anonymous(chunk * count)?, chunk })
    }

    pub fn pages(&self) -> &Pages {
        &self.pages
    }

    pub fn chunk_bytes(&self) -> usize {
        self.chunk
    }

    /// Number of the chunk that holds this address (an offset in the pages).
    pub fn number(&self, address: u64) -> usize {
        (address / self.chunk as u64) as usize
    }

    pub fn address(&self, number: usize) -> u64 {
        (number * self.chunk) as u64
    }

    /// `bytes` bytes at `address`, which lie in one chunk that belongs to this process; the exclusive borrow
    /// keeps anybody else here from it. `None` if they lie outside, which only a kernel with other ideas would
    /// say.
    pub fn bytes_mut(&mut self, address: u64, bytes: usize) -> Option<&mut [u8]> {
        let start = usize::try_from(address).ok()?;
        let end = start.checked_add(bytes).filter(|end| *end <= self.pages.bytes)?;
        let place = self.pages.at::<u8>(start, end - start);
        // SAFETY: inside the pages, and by the rings' protocol not the kernel's now; `&mut self` excludes all
        // others.
        Some(unsafe { std::slice::from_raw_parts_mut(place.as_ptr(), bytes) })
    }
}
