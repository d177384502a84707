//! Rings in memory that is shared with the kernel (or, in tests, with another end of our own).

use super::cursor::{Emptying, Filling};
use super::memory::Pages;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Where a ring's parts lie in its pages, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Offsets {
    pub producer: u64,
    pub consumer: u64,
    pub entries: u64,
    pub flags: u64,
}

/// A frame's place and length, as the kernel lays it out (struct xdp_desc).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Descriptor {
    pub address: u64,
    pub length: u32,
    pub options: u32,
}

const NEED_WAKEUP: u32 = 1;

/// The shared parts. Keeps the pages alive.
#[derive(Clone, Debug)]
struct Parts<T> {
    producer: NonNull<AtomicU32>,
    consumer: NonNull<AtomicU32>,
    flags: NonNull<AtomicU32>,
    entries: NonNull<T>,
    _pages: Arc<Pages>,
}

// SAFETY: positions are atomics; entries are written by one end before its position says so, and read by the
// other after.
unsafe impl<T: Send> Send for Parts<T> {}

impl<T: Copy> Parts<T> {
    fn new(pages: &Arc<Pages>, offsets: &Offsets, size: u32) -> Self {
        Self {
            producer: pages.at(offsets.producer as usize, 1),
            consumer: pages.at(offsets.consumer as usize, 1),
            flags: pages.at(offsets.flags as usize, 1),
            entries: pages.at(offsets.entries as usize, size as usize),
            _pages: Arc::clone(pages),
        }
    }

    fn producer(&self) -> &AtomicU32 {
        // SAFETY: checked to lie in the pages, which this keeps alive; only ever used as an atomic.
        unsafe { self.producer.as_ref() }
    }

    fn consumer(&self) -> &AtomicU32 {
        // SAFETY: as in `producer`.
        unsafe { self.consumer.as_ref() }
    }

    fn flags(&self) -> &AtomicU32 {
        // SAFETY: as in `producer`.
        unsafe { self.flags.as_ref() }
    }
}

/// The end that fills.
#[derive(Debug)]
pub struct Producer<T> {
    parts: Parts<T>,
    cursor: Filling,
}

impl<T: Copy> Producer<T> {
    pub fn new(pages: &Arc<Pages>, offsets: &Offsets, size: u32) -> Self {
        Self { parts: Parts::new(pages, offsets, size), cursor: Filling::new(size) }
    }

    /// Free places, looking at the other end only if fewer than `wanted` are known.
    #[inline]
    pub fn room(&mut self, wanted: u32) -> u32 {
        if self.cursor.room() < wanted {
            self.look();
        }
        self.cursor.room()
    }

    /// Writes the n-th free place, `n < room`.
    #[inline]
    pub fn put(&mut self, n: u32, entry: T) {
        debug_assert!(n < self.cursor.room());
        // SAFETY: `place` is below the size that the entries were checked for.
        let place = unsafe { self.parts.entries.add(self.cursor.place(n)) };
        // SAFETY: a free place is ours until the position says otherwise.
        unsafe { place.write(entry) };
    }

    /// Hands the first `count` places over.
    #[inline]
    pub fn publish(&mut self, count: u32) {
        let position = self.cursor.advance(count);
        self.parts.producer().store(position, Ordering::Release);
    }

    /// Entries that the other end has not taken yet.
    #[inline]
    pub fn pending(&mut self) -> u32 {
        self.look();
        self.cursor.filled()
    }

    /// The entry that the other end took last (as far as it was looked at). It only reads entries, so this one
    /// is as it was.
    pub fn last_taken(&self) -> T {
        // SAFETY: `place_before` is below the size that the entries were checked for.
        let place = unsafe { self.parts.entries.add(self.cursor.place_before()) };
        // SAFETY: entries are zero at first and written by this end alone.
        unsafe { place.read() }
    }

    /// Whether the kernel sleeps and must be called.
    #[inline]
    pub fn needs_wakeup(&self) -> bool {
        self.parts.flags().load(Ordering::Relaxed) & NEED_WAKEUP != 0
    }

    fn look(&mut self) {
        self.cursor.saw(self.parts.consumer().load(Ordering::Acquire));
    }
}

/// The end that empties.
#[derive(Debug)]
pub struct Consumer<T> {
    parts: Parts<T>,
    cursor: Emptying,
}

impl<T: Copy> Consumer<T> {
    pub fn new(pages: &Arc<Pages>, offsets: &Offsets, size: u32) -> Self {
        Self { parts: Parts::new(pages, offsets, size), cursor: Emptying::new(size) }
    }

    /// Entries that are there, looking at the other end only if fewer than `wanted` are known.
    #[inline]
    pub fn ready(&mut self, wanted: u32) -> u32 {
        if self.cursor.ready() < wanted {
            self.cursor.saw(self.parts.producer().load(Ordering::Acquire));
        }
        self.cursor.ready()
    }

    /// The n-th entry, `n < ready`.
    #[inline]
    pub fn peek(&self, n: u32) -> T {
        debug_assert!(n < self.cursor.ready());
        // SAFETY: `place` is below the size that the entries were checked for.
        let place = unsafe { self.parts.entries.add(self.cursor.place(n)) };
        // SAFETY: the other end wrote it before its position said so, and leaves it alone until ours does.
        unsafe { place.read() }
    }

    /// Gives the first `count` entries' places back.
    #[inline]
    pub fn release(&mut self, count: u32) {
        let position = self.cursor.advance(count);
        self.parts.consumer().store(position, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Both ends of one ring in anonymous memory: no kernel beyond mmap.
    fn pair(size: u32) -> (Producer<Descriptor>, Consumer<Descriptor>) {
        let bytes = 192 + size as usize * size_of::<Descriptor>();
        let pages = Arc::new(Pages::anonymous(bytes).unwrap());
        let offsets = Offsets { producer: 0, consumer: 64, flags: 128, entries: 192 };
        (Producer::new(&pages, &offsets, size), Consumer::new(&pages, &offsets, size))
    }

    #[test]
    fn ten_thousand_entries_cross_between_threads_in_order() {
        let (mut producer, mut consumer) = pair(64);
        let sender = std::thread::spawn(move || {
            let mut sent = 0u64;
            while sent < 10_000 {
                let count = producer.room(16).min(16).min((10_000 - sent) as u32);
                for n in 0..count {
                    producer.put(n, Descriptor { address: sent, length: sent as u32, options: 0 });
                    sent += 1;
                }
                producer.publish(count);
                if count == 0 {
                    std::thread::yield_now();
                }
            }
        });
        let mut expected = 0u64;
        while expected < 10_000 {
            let count = consumer.ready(1);
            for n in 0..count {
                assert_eq!(consumer.peek(n).address, expected);
                expected += 1;
            }
            consumer.release(count);
            if count == 0 {
                std::thread::yield_now();
            }
        }
        sender.join().unwrap();
        assert_eq!(consumer.ready(1), 0);
    }

    proptest! {
        #[test]
        fn what_was_published_is_there_and_no_more(bits in 0u32..6,
            steps in proptest::collection::vec((0u32..40, 0u32..40), 1..100)) {
            let size = 1 << bits;
            let (mut producer, mut consumer) = pair(size);
            let (mut put, mut got) = (0u64, 0u64);
            for (fill, empty) in steps {
                let count = producer.room(fill).min(fill);
                for n in 0..count {
                    producer.put(n, Descriptor { address: put, ..Descriptor::default() });
                    put += 1;
                }
                producer.publish(count);
                prop_assert_eq!(u64::from(producer.pending()), put - got);
                let count = consumer.ready(u32::MAX).min(empty);
                for n in 0..count {
                    prop_assert_eq!(consumer.peek(n).address, got);
                    got += 1;
                }
                consumer.release(count);
            }
            prop_assert_eq!(u64::from(consumer.ready(u32::MAX)), put - got);
        }
    }
}
