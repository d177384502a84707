//! How long bytes lay unread in this machine before the loop read them.
//!
//! ```text
//!    not before            stamp                    now
//!  ──┴─────────────────────┴────────────────────────┴──►
//!                          └─ measured: lay unread ─┘
//!    └─ without a stamp: a bound, the worst case ───┘
//! ```
//!
//! The loop's own bookkeeping ("nothing was there at the last look") is no measure: a thread that sleeps in the kernel is
//! woken late, and does not know it. So without a stamp the whole time since the last look counts as what may have been.

use clock::{HostClock, Realtime};
use units::{Instant, Picos};

use crate::io::Chunk;

/// How long the last byte of a chunk lay unread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delay {
    /// By the kernel's stamp; zero if there is none.
    pub measured: Picos,
    pub is_measured: bool,
    /// How much longer it may have been, where there is no stamp.
    pub bound: Picos,
    /// How long bytes had to wait at worst because the chunk before had filled the buffer: meanwhile the socket may have been
    /// so full that the target could not send.
    pub behind: Picos,
}

impl Delay {
    /// When the last byte could have been read.
    pub fn since(&self, now: Instant) -> Instant {
        now.saturating_sub(self.measured)
    }
}

/// See the module; one for each thread.
#[derive(Debug)]
pub struct Reading {
    realtime: Realtime,
}

impl Reading {
    pub fn new(clock: &HostClock) -> Self {
        Self { realtime: Realtime::new(clock) }
    }

    /// Once a turn, before what is ready is read.
    #[inline]
    pub fn look(&mut self, clock: &HostClock) {
        self.realtime.look(clock);
    }

    /// Of a chunk that was read at `now`. `behind_since` is when the chunk before it was read, if more was left then.
    pub fn delay(&self, chunk: &Chunk, behind_since: Option<Instant>, now: Instant) -> Delay {
        let stamp = chunk.stamp_ns.and_then(|stamp| self.realtime.instant(stamp.get()));
        let earliest = behind_since.unwrap_or(chunk.not_before);
        match stamp {
            Some(stamp) => {
                let measured = now.since(stamp);
                let behind = if chunk.more { now.since(stamp.max(earliest)) } else { now.since(earliest) };
                Delay { measured, is_measured: true, bound: Picos::ZERO, behind }
            }
            None => {
                let bound = now.since(earliest);
                Delay { measured: Picos::ZERO, is_measured: false, bound, behind: bound }
            }
        }
    }
}
