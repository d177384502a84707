//! Buffers for frames, and how a thread gets them.
//!
//! ```text
//!   take ─► what this thread has at hand, the last used first ◄─ drivers give back here
//!                 │ empty                     │ too many
//!                 └──────── the pool's ring ──┘
//! ```
//!
//! DPDK does this in a header. What is done here is the same, by the same structures.

use super::eal::Eal;
use super::layout::{Cache, HEADROOM, Mbuf, Mempool, PoolOps, THREADS};
use std::ffi::CString;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};

/// Buffers that a thread has at hand.
const AT_HAND: u32 = 256;

/// Buffers of one size.
#[derive(Debug)]
pub struct Pool {
    eal: &'static Eal,
    raw: NonNull<Mempool>,
    ops: NonNull<PoolOps>,
}

// SAFETY: a pool may be used by any thread, each with its own cache.
unsafe impl Send for Pool {}
// SAFETY: as above.
unsafe impl Sync for Pool {}

impl Pool {
    /// So many buffers for frames of at most `frame` bytes.
    ///
    /// # Errors
    /// There is no memory for them, or the library lays them out otherwise than is known here.
    pub fn new(eal: &'static Eal, count: u32, frame: usize, socket: i32) -> Result<Self, String> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let name = format!("tare{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let name = CString::new(name).map_err(|error| error.to_string())?;
        let room = HEADROOM + frame;
        let room = u16::try_from(room).map_err(|_| format!("frames of {frame} bytes are too long"))?;
        // SAFETY: the name ends with a NUL and is copied.
        let raw =
            unsafe { (eal.dpdk.call.pktmbuf_pool_create)(name.as_ptr(), count, AT_HAND, 0, room, socket) };
        let Some(raw) = NonNull::new(raw) else {
            let error = std::io::Error::from_raw_os_error(eal.dpdk.errno());
            let mib = (count as usize * (usize::from(room) + size_of::<Mbuf>() + 64)) >> 20;
            return Err(format!(
                "there is no memory for {count} frames, {mib} MiB ({error}; {}): provide more with \
                 'sysctl vm.nr_hugepages=256' and pages=huge, or with eal=-m 1024",
                eal.memory.0
            ));
        };
        // SAFETY: a pool that was made just now.
        let index = unsafe { (*raw.as_ptr()).ops_index };
        // SAFETY: the table of the library; its entries are written when it is loaded.
        let table = unsafe { eal.dpdk.call.pool_ops.as_ref() };
        let ops = usize::try_from(index).ok().and_then(|index| table.ops.get(index));
        let pool = Self { eal, raw, ops: NonNull::from(ops.unwrap_or(&table.ops[0])) };
        if ops.is_some() && pool.is_as_known(count, room) {
            return Ok(pool);
        }
        Err(format!(
            "{} was not built with Debian's settings: this program does not know the layout of its buffers",
            eal.dpdk.version
        ))
    }

    /// Whether what the pool says of itself, where this program looks for it, is what it was made with.
    fn is_as_known(&self, count: u32, room: u16) -> bool {
        // SAFETY: a pool that was made just now, and which nobody uses yet.
        let raw = unsafe { self.raw.as_ref() };
        // SAFETY: an entry of the library's table.
        let ops = unsafe { self.ops.as_ref() };
        let has_functions = ops.enqueue.is_some() && ops.dequeue.is_some();
        let is_printable = ops.name[0].is_ascii_lowercase() && ops.name.contains(&0);
        let has_size = raw.size == count && raw.cache_size == AT_HAND && !raw.caches.is_null();
        if !(has_functions && is_printable && has_size) {
            return false;
        }
        let mut one = [ptr::null_mut()];
        if !self.dequeue(&mut one) {
            return false;
        }
        // SAFETY: a buffer that is free, and which nobody else has.
        let buffer = unsafe { &*one[0] };
        let begins = one[0].wrapping_add(1).cast::<u8>();
        let is_right = buffer.pool == self.raw.as_ptr()
            && buffer.buffer == begins
            && buffer.buffer_bytes == room
            && buffer.next.is_null();
        self.enqueue(&one);
        is_right
    }

    pub fn raw(&self) -> *mut Mempool {
        self.raw.as_ptr()
    }

    /// Takes as many buffers as `rooms` has places for the thread of this number, or none.
    #[inline]
    pub fn take(&self, thread: u32, rooms: &mut [*mut Mbuf]) -> bool {
        match self.cache(thread) {
            // SAFETY: the pool has a cache for each number below `THREADS`, and this thread alone uses the one
            // of its number.
            Some(mut cache) => unsafe { cache.as_mut() }.take(rooms, |places| self.dequeue(places)),
            None => self.dequeue(rooms),
        }
    }

    /// What this thread has at hand.
    #[inline]
    fn cache(&self, thread: u32) -> Option<NonNull<Cache>> {
        if thread >= THREADS {
            return None;
        }
        // SAFETY: the pool lives, and nobody changes where its caches are.
        let caches = unsafe { (*self.raw.as_ptr()).caches };
        NonNull::new(caches.wrapping_add(thread as usize))
    }

    fn dequeue(&self, rooms: &mut [*mut Mbuf]) -> bool {
        // SAFETY: an entry of the library's table.
        let Some(dequeue) = (unsafe { self.ops.as_ref() }).dequeue else { return false };
        // SAFETY: the pool's own function, with as many places as it is told.
        unsafe { dequeue(self.raw.as_ptr(), rooms.as_mut_ptr(), rooms.len() as u32) == 0 }
    }

    fn enqueue(&self, rooms: &[*mut Mbuf]) {
        // SAFETY: an entry of the library's table.
        let Some(enqueue) = (unsafe { self.ops.as_ref() }).enqueue else { return };
        // SAFETY: the pool's own function, with buffers that came from it.
        unsafe { enqueue(self.raw.as_ptr(), rooms.as_ptr(), rooms.len() as u32) };
    }
}

/// Gives buffers back to the pools that they came from.
#[inline]
pub fn free(eal: &'static Eal, buffers: &mut [*mut Mbuf]) {
    if !buffers.is_empty() {
        // SAFETY: buffers of pools that live, which nobody else has.
        unsafe { (eal.dpdk.call.pktmbuf_free_bulk)(buffers.as_mut_ptr(), buffers.len() as u32) };
    }
}

/// Gives buffers back that are plain ([`Mbuf::is_plain`]) and of this one pool, to what the thread of this
/// number has at hand.
#[inline]
pub fn free_plain(eal: &'static Eal, pool: *mut Mempool, thread: u32, buffers: &mut [*mut Mbuf]) {
    // SAFETY: the pool of a buffer lives as long as the buffer.
    let caches = unsafe { (*pool).caches };
    if thread >= THREADS || caches.is_null() {
        return free(eal, buffers);
    }
    // SAFETY: the pool has a cache for each number below `THREADS`, and its thread alone uses it.
    if !unsafe { &mut *caches.add(thread as usize) }.give(buffers) {
        free(eal, buffers);
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // SAFETY: the device that used it was closed before.
        unsafe { (self.eal.dpdk.call.mempool_free)(self.raw.as_ptr()) };
    }
}
