//! What frames look like: a base for each stream, and the fields that change from frame to frame.

/// Frames of one or several streams; frame n is a pure function of n (and of its times, if it is signed), so that threads
/// that share a schedule make the same frames as one.
#[derive(Clone, Debug, Default)]
pub struct Template;

/// The times that go into a signature, in nanoseconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    pub due_unix_ns: u64,
    pub sent_unix_ns: u64,
}

impl Template {
    /// Length in bytes (without FCS) of frame `seq`.
    pub fn length(&self, seq: u64) -> usize {
        let _ = seq;
        0
    }

    /// Writes frame `seq` into `room` and returns its length. `mark` tells what the room has from before (see `port::Slot`).
    pub fn write(&self, seq: u64, times: Times, room: &mut [u8], mark: &mut u64) -> usize {
        let _ = (seq, times, room, mark);
        0
    }
}
