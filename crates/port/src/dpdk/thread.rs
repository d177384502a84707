//! Threads that use buffers: each has a number, by which it has buffers at hand in every pool.

use super::eal::Eal;
use super::layout::THREADS;
use std::cell::{Cell, RefCell};

/// This thread was not made known yet.
const UNKNOWN: u32 = u32::MAX - 1;
/// It has no number, for there are as many others: its buffers come from the pool itself.
pub const NONE: u32 = u32::MAX;

thread_local! {
    static NUMBER: Cell<u32> = const { Cell::new(UNKNOWN) };
    static KNOWN: RefCell<Option<Known>> = const { RefCell::new(None) };
}

/// A thread that is known until it ends.
struct Known(&'static Eal);

impl Drop for Known {
    fn drop(&mut self) {
        NUMBER.set(NONE);
        // SAFETY: gives this thread's number back, under which nobody uses a pool any more.
        unsafe { (self.0.dpdk.call.thread_unregister)() };
    }
}

/// This thread's number, below `THREADS`; [`NONE`] if it has none.
#[inline]
pub fn number(eal: &'static Eal) -> u32 {
    match NUMBER.get() {
        UNKNOWN => make_known(eal),
        number => number,
    }
}

#[cold]
fn make_known(eal: &'static Eal) -> u32 {
    // SAFETY: takes nothing; gives this thread a number.
    let status = unsafe { (eal.dpdk.call.thread_register)() };
    let number = if status == 0 { eal.dpdk.thread_number() } else { NONE };
    if number < THREADS && KNOWN.try_with(|known| *known.borrow_mut() = Some(Known(eal))).is_ok() {
        NUMBER.set(number);
    } else {
        NUMBER.set(NONE);
    }
    NUMBER.get()
}
