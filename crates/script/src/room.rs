//! Memory that a script and Tare share: the frames of one burst, and what is known of each.
//!
//! ```text
//!   bytes    │ frame 1 ··· │ frame 2 ··· │ … │ frame 64 ··· │   a stride apart
//!   lengths, flags, numbers, dues, streams: one of each a frame
//! ```
//!
//! Only one side looks at it at a time: Lua within a call, Tare between calls, which borrows it for that.

use std::ptr::NonNull;

/// Frames of one call at most.
pub const MOST: usize = 64;
/// The least length of a frame, without FCS.
const LEAST: usize = 60;
/// Frames begin at multiples of this: a line of the cache.
const LINE: usize = 64;

/// Something of the frame was written.
const TOUCHED: u8 = 1;
/// Its length was set.
const RESIZED: u8 = 2;
/// Its checksums are as the script wrote them.
const AS_IS: u8 = 4;

/// As `prelude.lua` declares it.
#[repr(C)]
pub(crate) struct Shared {
    count: u32,
    least: u32,
    most: u32,
    stride: u32,
    /// Lengths stay as they are.
    fixed: u32,
    bytes: *mut u8,
    lengths: *mut u32,
    flags: *mut u8,
    numbers: *mut f64,
    dues: *mut f64,
    streams: *mut u32,
}

/// A slice that is reached through a pointer alone.
struct Slice<T> {
    start: NonNull<T>,
    length: usize,
}

impl<T: Copy + Default> Slice<T> {
    fn new(length: usize) -> Self {
        let slice = Box::leak(vec![T::default(); length].into_boxed_slice());
        Self { start: NonNull::from(&mut *slice).cast(), length }
    }

    fn get(&self) -> &[T] {
        // SAFETY: `new` made so many of them, and nobody writes while Tare looks (see the module).
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }

    fn get_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and this borrow is the only one.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }
}

impl<T> Drop for Slice<T> {
    fn drop(&mut self) {
        let slice = std::ptr::slice_from_raw_parts_mut(self.start.as_ptr(), self.length);
        // SAFETY: it was leaked from a box of this length, and is given back once.
        drop(unsafe { Box::from_raw(slice) });
    }
}

/// What became of a frame in a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// The script wrote something.
    pub is_touched: bool,
    /// It set the length, so that lengths in headers are to follow.
    pub is_resized: bool,
    /// Checksums are to stay as it wrote them.
    pub is_as_is: bool,
}

/// See the module.
pub struct Room {
    head: Head,
    bytes: Slice<u8>,
    lengths: Slice<u32>,
    flags: Slice<u8>,
    numbers: Slice<f64>,
    dues: Slice<f64>,
    streams: Slice<u32>,
    stride: usize,
    most: usize,
}

/// The head, which Lua reads.
struct Head(NonNull<Shared>);

impl Drop for Head {
    fn drop(&mut self) {
        // SAFETY: it was leaked from a box, and is given back once.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

impl Room {
    /// For frames of up to `longest` bytes, without FCS.
    pub fn new(longest: usize) -> Self {
        let longest = longest.max(LEAST);
        let stride = longest.next_multiple_of(LINE);
        let (bytes, lengths, flags) = (Slice::new(stride * MOST), Slice::new(MOST), Slice::new(MOST));
        let (numbers, dues, streams) = (Slice::new(MOST), Slice::new(MOST), Slice::new(MOST));
        let shared = Shared {
            count: 0,
            least: LEAST as u32,
            most: longest as u32,
            stride: stride as u32,
            fixed: 0,
            bytes: bytes.start.as_ptr(),
            lengths: lengths.start.as_ptr(),
            flags: flags.start.as_ptr(),
            numbers: numbers.start.as_ptr(),
            dues: dues.start.as_ptr(),
            streams: streams.start.as_ptr(),
        };
        let head = Head(NonNull::from(Box::leak(Box::new(shared))));
        Self { head, bytes, lengths, flags, numbers, dues, streams, stride, most: longest }
    }

    /// What Lua is told.
    pub(crate) fn pointer(&self) -> *mut std::ffi::c_void {
        self.head.0.as_ptr().cast()
    }

    /// The longest frame that fits, without FCS.
    pub const fn longest(&self) -> usize {
        self.most
    }

    /// A script that sets another length fails: the load was worked out from those of the plan.
    pub fn fix_lengths(&mut self) {
        // SAFETY: as below.
        unsafe { (*self.head.0.as_ptr()).fixed = 1 };
    }

    /// How many frames the next call is about.
    pub(crate) fn set_count(&mut self, count: usize) {
        let count = count.min(MOST) as u32;
        // SAFETY: the head lives as long as this, and nobody else looks at it now (see the module).
        unsafe { (*self.head.0.as_ptr()).count = count };
    }

    /// What the script is told of frame `index`, from 0: its number in the run, when it is due after the run's
    /// start, and its stream.
    pub fn describe(&mut self, index: usize, number: u64, due_ns: f64, stream: u32) {
        self.numbers.get_mut()[index] = number as f64;
        self.dues.get_mut()[index] = due_ns;
        self.streams.get_mut()[index] = stream;
    }

    /// All the room of frame `index`, to be written before a call.
    pub fn room_mut(&mut self, index: usize) -> &mut [u8] {
        let start = index * self.stride;
        &mut self.bytes.get_mut()[start..start + self.most]
    }

    /// Frame `index` has so many bytes, and nobody has changed it yet.
    pub fn set_length(&mut self, index: usize, length: usize) {
        self.lengths.get_mut()[index] = length.min(self.most) as u32;
        self.flags.get_mut()[index] = 0;
    }

    /// Frame `index`.
    pub fn frame(&self, index: usize) -> &[u8] {
        let start = index * self.stride;
        &self.bytes.get()[start..start + self.lengths.get()[index] as usize]
    }

    /// The same, to finish it after a call.
    pub fn frame_mut(&mut self, index: usize) -> &mut [u8] {
        let (start, length) = (index * self.stride, self.lengths.get()[index] as usize);
        &mut self.bytes.get_mut()[start..start + length]
    }

    /// What the last call did to frame `index`.
    pub fn written(&self, index: usize) -> Written {
        let flags = self.flags.get()[index];
        let has = |flag| flags & flag != 0;
        Written { is_touched: has(TOUCHED), is_resized: has(RESIZED), is_as_is: has(AS_IS) }
    }
}
