//! The ways in which frames leave: what [`super::batch`] and [`super::ring`] have in common.

use super::socket::Socket;
use crate::about::is_tagged;
use crate::card_clock::CardClock;
use crate::{Departed, Slot};
use std::io;
use std::time::Duration;

/// Takes frames, and hands them to the kernel. What the kernel has no room for stays *pending*.
pub trait Outlet: Send {
    /// Has up to `most` frames written. Called only when nothing is pending.
    fn write(&mut self, most: usize, longest: usize, write: &mut dyn FnMut(&mut Slot<'_>)) -> Written;

    /// Frames that were written and not handed over.
    fn pending(&self) -> usize;

    /// Hands pending frames over: how many the kernel took now, and their bytes. None, and as many pending as
    /// before: it is not time yet.
    ///
    /// # Errors
    /// What the kernel said of the first one pending, if it took none.
    fn hand_over(&mut self, socket: &Socket) -> io::Result<(u64, u64)>;

    /// Gives up the first one that is pending.
    fn skip(&mut self);

    /// Gives up all that are pending, and says how many.
    fn discard(&mut self) -> usize;

    /// Whether something that was handed over is still in the driver.
    fn in_flight(&mut self, socket: &Socket) -> io::Result<bool>;

    /// Most frames of one call.
    fn batch(&self) -> usize;

    /// What became of frames since this was asked last, where that is known later than when they are handed
    /// over.
    fn settled(&mut self) -> Settled {
        Settled::default()
    }

    /// How long the first frame pending waits for its time.
    fn due_in(&self) -> Option<Duration> {
        None
    }

    /// As [`crate::Port::departed`].
    fn departed(
        &mut self,
        socket: &Socket,
        most: usize,
        read: &mut dyn FnMut(&Departed),
    ) -> io::Result<usize> {
        let _ = (socket, most, read);
        Ok(0)
    }

    /// The clock of the card that stamps what leaves.
    fn card(&mut self) -> Option<&mut CardClock> {
        None
    }
}

/// Frames whose fate turned out to be another than that they were sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settled {
    /// Too late for the queue when they were handed over.
    pub refused: u64,
    /// Taken, and dropped by the queue because of their times.
    pub missed: u64,
    pub missed_bytes: u64,
    /// Taken, and lost with the link.
    pub down: u64,
    pub down_bytes: u64,
    /// System calls that told.
    pub calls: u64,
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
