//! The ways in which frames leave: what [`super::batch`] and [`super::ring`] have in common.

use super::socket::Socket;
use crate::Slot;
use crate::about::is_tagged;
use std::io;

/// Takes frames, and hands them to the kernel. What the kernel has no room for stays *pending*.
pub trait Outlet: Send {
    /// Has up to `most` frames written. Called only when nothing is pending.
    fn write(&mut self, most: usize, longest: usize, write: &mut dyn FnMut(&mut Slot<'_>)) -> Written;

    /// Frames that were written and not handed over.
    fn pending(&self) -> usize;

    /// Hands pending frames over: how many the kernel took now, and their bytes.
    ///
    /// # Errors
    /// What the kernel said of the first one pending, if it took none.
    fn hand_over(&mut self, socket: &Socket) -> io::Result<(u64, u64)>;

    /// Gives up the first one that is pending.
    fn skip(&mut self);

    /// Gives up all that are pending, and says how many.
    fn discard(&mut self) -> usize;

    /// Whether something that was handed over is still in the driver.
    fn in_flight(&self, socket: &Socket) -> io::Result<bool>;

    /// Most frames of one call.
    fn batch(&self) -> usize;
}

/// What came of writing.
#[derive(Debug, Default)]
pub struct Written {
    /// Calls of the writer that count as taken.
    pub taken: usize,
    /// Length of a frame that the interface does not take; it was not taken here either.
    pub too_long: Option<usize>,
}

/// Whether the interface takes a frame of this length: with a VLAN tag it may be four bytes longer (the kernel
/// allows it to tags of 802.1Q only).
#[inline]
pub fn too_long(data: &[u8], length: usize, longest: usize) -> bool {
    if length <= longest {
        return false;
    }
    length > longest + 4 || length > data.len() || !is_tagged(data)
}
