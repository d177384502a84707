//! Memory that a program in another language reads and writes between calls.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;

/// Bytes of a cache line.
pub(crate) const LINE: usize = 64;

/// `T`s at an address that stays, which others may write while no call into this crate goes on.
///
/// No reference to it is kept: each call makes one for its own time.
struct Shared<T> {
    start: NonNull<T>,
    length: usize,
}

/// Plain numbers: any bytes that others write are a value.
trait Plain: Copy + Default {}
impl Plain for u8 {}
impl Plain for u32 {}
impl Plain for u64 {}

// SAFETY: it owns its memory as a Box does, and a T is a plain number.
unsafe impl<T: Plain> Send for Shared<T> {}
// SAFETY: through a shared reference only the address can be had.
unsafe impl<T: Plain> Sync for Shared<T> {}

impl<T: Plain> Shared<T> {
    /// Zeros, from the start of a cache line on.
    fn new(length: usize) -> Self {
        let layout = Self::layout(length);
        if layout.size() == 0 {
            return Self { start: NonNull::dangling(), length };
        }
        // SAFETY: the size is not 0.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) });
        let start = start.unwrap_or_else(|| handle_alloc_error(layout));
        // All zeros are a plain number.
        Self { start: start.cast(), length }
    }

    fn get(&mut self) -> &mut [T] {
        // SAFETY: the memory is ours for `length` Ts until it is dropped, and others write only between calls.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }
}

impl<T> Shared<T> {
    fn layout(length: usize) -> Layout {
        let layout = Layout::array::<T>(length).and_then(|layout| layout.align_to(LINE));
        layout.expect("a burst is no larger than an opening may ask for")
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        let layout = Self::layout(self.length);
        if layout.size() > 0 {
            // SAFETY: it was allocated with this layout, and is given back once.
            unsafe { dealloc(self.start.cast().as_ptr(), layout) };
        }
    }
}

/// Rows of frames.
pub struct Rows {
    stride: usize,
    rows: usize,
    data: Shared<u8>,
    lengths: Shared<u32>,
    wire_lengths: Shared<u32>,
    times_unix_ns: Shared<u64>,
}

/// The rows, as long as a call uses them.
pub(crate) struct View<'a> {
    pub stride: usize,
    pub data: &'a mut [u8],
    pub lengths: &'a mut [u32],
    pub wire_lengths: &'a mut [u32],
    pub times_unix_ns: &'a mut [u64],
}

impl Rows {
    pub(crate) fn new(rows: usize, stride: usize) -> Self {
        Self {
            stride,
            rows,
            data: Shared::new(rows * stride),
            lengths: Shared::new(rows),
            wire_lengths: Shared::new(rows),
            times_unix_ns: Shared::new(rows),
        }
    }

    /// Of no frames.
    pub fn none() -> Self {
        Self::new(0, 1)
    }

    /// Bytes from the start of a frame to that of the next.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// How many frames there is room for.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Frame i begins at i · stride.
    pub fn data(&self) -> *mut u8 {
        self.data.start.as_ptr()
    }

    /// Bytes of each frame: what will be sent, or what there is of one that was received.
    pub fn lengths(&self) -> *mut u32 {
        self.lengths.start.as_ptr()
    }

    /// Of received frames: how long each was on the wire (without FCS).
    pub fn wire_lengths(&self) -> *mut u32 {
        self.wire_lengths.start.as_ptr()
    }

    /// When each came, or shall leave; 0 is unknown, or at once.
    pub fn times_unix_ns(&self) -> *mut u64 {
        self.times_unix_ns.start.as_ptr()
    }

    pub(crate) fn view(&mut self) -> View<'_> {
        View {
            stride: self.stride,
            data: self.data.get(),
            lengths: self.lengths.get(),
            wire_lengths: self.wire_lengths.get(),
            times_unix_ns: self.times_unix_ns.get(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_write_is_read_and_what_is_written_they_see() {
        let mut rows = Rows::new(3, 64);
        assert_eq!((rows.rows(), rows.stride()), (3, 64));
        assert_eq!(rows.data() as usize % LINE, 0);
        assert!(rows.view().data.iter().all(|byte| *byte == 0));
        // SAFETY: frame 2 begins at 128 of 192 bytes.
        unsafe { rows.data().add(128).write(7) };
        // SAFETY: there are three lengths.
        unsafe { rows.lengths().add(2).write(60) };
        let view = rows.view();
        assert_eq!((view.data[128], view.lengths[2]), (7, 60));
        view.times_unix_ns[0] = 9;
        // SAFETY: there are three times.
        assert_eq!(unsafe { rows.times_unix_ns().read() }, 9);
    }
}
