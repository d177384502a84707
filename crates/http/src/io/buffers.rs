//! Memory that the kernel fills by itself: io_uring's ring of provided buffers, kept apart from all else.
//!
//! ```text
//! ring   [entry 0 │ entry 1 │ … ]  page-aligned; the kernel takes entries up to the tail, which is ours
//! memory [buffer 0 │ buffer 1 │ …]  an entry's id is its buffer's number
//! ```

use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::types::BufRingEntry;

/// A power of two.
const COUNT: u16 = 256;
/// A page of an answer, and what a receive writes in front of it.
const SIZE: usize = 4096 + 256;
/// Its number towards the kernel.
pub const GROUP: u16 = 0;

/// See the module. Must be registered with a ring that is dropped before it.
pub struct Buffers {
    ring: NonNull<BufRingEntry>,
    memory: NonNull<u8>,
    tail: u16,
}

impl Buffers {
    const RING_BYTES: usize = COUNT as usize * size_of::<BufRingEntry>();
    const MEMORY_BYTES: usize = COUNT as usize * SIZE;

    pub fn new() -> Result<Self, Errno> {
        let ring = map(Self::RING_BYTES)?.cast();
        let memory = map(Self::MEMORY_BYTES)?.cast();
        let mut buffers = Self { ring, memory, tail: 0 };
        (0..COUNT).for_each(|id| buffers.give(id));
        Ok(buffers)
    }

    pub fn ring_address(&self) -> u64 {
        self.ring.as_ptr() as u64
    }
    pub const fn count() -> u16 {
        COUNT
    }

    /// The first `length` bytes of a buffer that the kernel has filled and not been given back.
    pub fn bytes(&self, id: u16, length: usize) -> &[u8] {
        assert!(id < COUNT && length <= SIZE, "the kernel names buffers that it was given");
        // SAFETY: id and length lie within the mapping, which lives as long as self; the kernel does not write
        // to a buffer between its completion and `give`, and `give` needs `&mut self`.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr().add(usize::from(id) * SIZE), length) }
    }

    /// Gives a buffer (back) to the kernel.
    pub fn give(&mut self, id: u16) {
        let at = usize::from(self.tail & (COUNT - 1));
        // SAFETY: `at` < COUNT entries of the mapping; the kernel reads entries below the published tail only,
        // and this one is not below it yet.
        let entry = unsafe { &mut *self.ring.as_ptr().add(at) };
        entry.set_addr(self.memory.as_ptr() as u64 + u64::from(id) * SIZE as u64);
        entry.set_len(SIZE as u32);
        entry.set_bid(id);
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: the ring's first entry is valid memory; its reserved field holds the tail
        // (io_uring_register(2)).
        let tail = unsafe { BufRingEntry::tail(self.ring.as_ptr()) };
        // SAFETY: the pointer is aligned and valid as above; the kernel reads it concurrently, hence the atomic
        // store.
        let tail = unsafe { AtomicU16::from_ptr(tail.cast_mut()) };
        tail.store(self.tail, Ordering::Release);
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: mapped by `new` with this length, and nothing points into it after self is gone.
        let _ = unsafe { munmap(self.ring.as_ptr().cast(), Self::RING_BYTES) };
        // SAFETY: as above.
        let _ = unsafe { munmap(self.memory.as_ptr().cast(), Self::MEMORY_BYTES) };
    }
}

fn map(length: usize) -> Result<NonNull<u8>, Errno> {
    let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
    // SAFETY: a new anonymous mapping at an address of the kernel's choice touches no other memory.
    let address = unsafe { mmap_anonymous(std::ptr::null_mut(), length, protection, flags) }?;
    NonNull::new(address.cast()).ok_or(Errno::NOMEM)
}
