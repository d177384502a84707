//! What an engine thread counts of itself, and how counts of threads and times are put together.

use crate::picos::Picos;
use std::iter::Sum;
use std::ops::{AddAssign, Sub};

/// Makes the struct and its arithmetic from one list of fields. A field is one of three:
///
/// ```text
///          over threads   since a moment before      after another interval
/// total    sum            now − before, at least 0   before + gained
/// level    sum            now                        gained
/// peak     sum            now                        the larger
/// ```
macro_rules! engine_counters {
    (
        $(#[$meta:meta])*
        pub struct $name:ident { $($(#[$doc:meta])* $kind:ident $field:ident: $unit:ty,)+ }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name { $($(#[$doc])* pub $field: $unit,)+ }

        /// Adds another thread's counters, or another thread's gains in the same interval. The sum of levels is
        /// the level of all threads together, because no connection belongs to two of them. The sum of peaks is
        /// an upper bound: fewer were open at once if the threads had their peaks at different times.
        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                $(self.$field += other.$field;)+
            }
        }

        /// What the same thread gained since `before`: totals as differences, levels and peaks as they are now.
        impl Sub for $name {
            type Output = Self;

            fn sub(self, before: Self) -> Self {
                Self { $($field: engine_counters!(@$kind gained self.$field, before.$field),)+ }
            }
        }

        impl $name {
            /// The same counters one interval later, in which they gained this: the inverse of `-`.
            pub fn advance(&mut self, gained: Self) {
                $(engine_counters!(@$kind advance self.$field, gained.$field);)+
            }
        }
    };
    (@total gained $now:expr, $before:expr) => { $now.saturating_sub($before) };
    (@level gained $now:expr, $before:expr) => { $now };
    (@peak gained $now:expr, $before:expr) => { $now };
    (@total advance $now:expr, $gained:expr) => { $now += $gained };
    (@level advance $now:expr, $gained:expr) => { $now = $gained };
    (@peak advance $now:expr, $gained:expr) => { $now = $now.max($gained) };
}

engine_counters! {
    /// What an engine thread knows of itself, as running totals since its start (except where noted).
    pub struct EngineCounters {
        /// Departures taken from the schedule.
        total offered: u64,
        /// Departures that have been due, taken or not: at the end those taken and those given up together.
        total due: u64,
        /// Connections open now.
        level open: u64,
        /// The most connections that there ever were at once.
        peak open_peak: u64,
        /// All connections that were opened, and all attempts to open one, at another address too.
        total opened: u64,
        total attempts: u64,
        /// Connections that are being opened: they have ports and descriptors as well.
        level connecting: u64,
        /// Requests that were sent again on another connection.
        total sent_again: u64,
        /// Time spent spinning towards a due time: CPU time that is not work.
        total spun: Picos,
        /// Time slept by the clock while answers gathered, and how often: answers were seen later by as much.
        total napped: Picos,
        total naps: u64,
        /// Times that the loop stood still for a millisecond or more beyond its work and its waits, and their
        /// sum.
        total pauses: u64,
        total paused: Picos,
        /// Answers whose time unread was measured by a stamp, and those for which there was none.
        total stamped: u64,
        total unstamped: u64,
        /// Time for which requests that did not leave at once may have waited for the generator.
        total unsent: Picos,
        /// Time for which requests may have waited because a TCP of our own sends less at once than the
        /// kernel's, or its port had no room.
        total held: Picos,
        /// Time for which departures of the measured part waited for the plan's ramp of connections, or behind
        /// those that did.
        total ramped: Picos,
        /// Time for which the plan itself let responses lie unread.
        total throttled: Picos,
        /// Time for which bodies waited for a 100 (Continue) that did not come.
        total expecting: Picos,
        /// Reads whose stamp says that the bytes were there when the loop had looked and found nothing.
        total contradicted: u64,
        /// Times that the loop waited in the kernel, and the events it got.
        total waits: u64,
        total ready: u64,
        /// Departures whose own lateness was over the plan's tolerance.
        total late: u64,
        /// Bytes on the wire side (TLS included).
        total wire_out: u64,
        total wire_in: u64,
        /// Bytes of response bodies, without heads and chunk framing, of all that was answered or failed.
        total body_in: u64,
        /// Of a TCP of our own, known at the end: segments that were sent again, all frames that were to leave,
        /// those that never left, and those that had arrived and were lost in this machine.
        total retransmitted: u64,
        total frames_out: u64,
        total frames_unsent: u64,
        total frames_lost: u64,
    }
}

/// All threads together.
impl Sum for EngineCounters {
    fn sum<I: Iterator<Item = Self>>(threads: I) -> Self {
        threads.fold(Self::default(), |mut all, thread| {
            all += thread;
            all
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(open: u64, open_peak: u64, opened: u64, spun_s: u64) -> EngineCounters {
        EngineCounters {
            open,
            open_peak,
            opened,
            spun: Picos::from_secs(spun_s),
            ..EngineCounters::default()
        }
    }

    #[test]
    fn an_interval_gains_totals_and_keeps_levels_and_peaks() {
        // 12 connections were opened in the first second and 5 more in the next; 7 remain open.
        let (before, now) = (thread(9, 10, 12, 1), thread(7, 11, 17, 4));
        let gained = now - before;
        assert_eq!(gained, thread(7, 11, 5, 3));
        let mut later = before;
        later.advance(gained);
        assert_eq!(later, now);
        // The peak was before: an interval in which fewer are open does not lower it.
        let mut later = before;
        later.advance(thread(2, 3, 0, 0));
        assert_eq!(later, thread(2, 10, 12, 1));
    }

    #[test]
    fn nothing_is_gained_below_zero() {
        assert_eq!(thread(0, 0, 1, 1) - thread(3, 3, 2, 2), thread(0, 0, 0, 0));
    }

    #[test]
    fn threads_have_different_connections_so_their_peaks_add_up() {
        // Of 64 connections each of four threads has 16, all at once: 64 are open, not 16.
        let quarter = thread(16, 16, 16, 1);
        assert_eq!(std::iter::repeat_n(quarter, 4).sum::<EngineCounters>(), thread(64, 64, 64, 4));
        // One had 16 before the other had any: at most 32 were open at once, which is all that is known.
        let all: EngineCounters = [thread(0, 16, 16, 0), thread(16, 16, 16, 0)].into_iter().sum();
        assert_eq!((all.open, all.open_peak), (16, 32));
    }
}
