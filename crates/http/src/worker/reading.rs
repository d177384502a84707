//! How long bytes lay unread in this machine before the loop read them.
//!
//! ```text
//!    not before            stamp                    now
//!  ──┴─────────────────────┴────────────────────────┴──►
//!                          └─ measured: lay unread ─┘
//!    └─ without a stamp: a bound, the worst case ───┘
//! ```
//!
//! The loop's own bookkeeping ("nothing was there at the last look") is no measure: a thread that sleeps in the
//! kernel is woken late, and does not know it. So without a stamp the whole time since the last look counts as
//! what may have been.

use clock::{HostClock, Realtime};
use units::{Instant, Picos};

use crate::io::{Chunk, InSocket};

/// How long the last byte of a chunk lay unread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delay {
    /// By the kernel's stamp; zero if there is none.
    pub measured: Picos,
    pub is_measured: bool,
    /// How much longer it may have been, where there is no stamp or it says too much.
    pub bound: Picos,
    /// For how long the socket may have been so full that the target could not send: since the last of these
    /// bytes came, or since bytes were left in it. Zero if it was not crowded.
    pub crowded: Picos,
    /// How long any of these bytes may have lain unread: since the loop looked last and found nothing, or read
    /// and left some.
    pub at_most: Picos,
    /// The stamp says that the bytes were in this machine when the loop looked and found nothing to read: the
    /// kernel took so long to bring them to the socket, or the stamp is wrong.
    pub contradicts: bool,
}

/// What the kernel may take from stamping a segment to having it ready to be read, without being late with it.
pub(crate) const DELIVERY: Picos = Picos::from_micros(200);

impl Delay {
    /// Some of these bytes waited in the kernel for a hole before them to be filled, at most so long ago. That
    /// the stamp is older is no contradiction.
    pub fn behind_a_hole(self, filled: Picos) -> Self {
        let (bound, contradicts) = (self.bound + self.measured.min(filled), false);
        Self { measured: Picos::ZERO, bound, at_most: self.at_most.max(bound), contradicts, ..self }
    }

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

    /// Of a chunk that was read at `now`. `behind_since` is when the chunk before it was read, if more was left
    /// then; `woken`, when the last wait ended.
    pub fn delay(&self, chunk: &Chunk, behind_since: Option<Instant>, woken: Instant, now: Instant) -> Delay {
        let stamp = chunk.stamp_ns.and_then(|stamp| self.realtime.instant(stamp.get()));
        let earliest = behind_since.unwrap_or(chunk.not_before);
        let at_most = now.since(earliest);
        let left = match chunk.in_socket {
            InSocket::UntilRead => now,
            InSocket::UntilWoken => woken,
            InSocket::Until(taken) => taken,
        };
        let crowded_since = |since: Instant| if chunk.crowded { left.since(since) } else { Picos::ZERO };
        match stamp {
            Some(stamp) => {
                let measured = now.since(stamp);
                let contradicts = behind_since.is_none() && stamp + DELIVERY < chunk.not_before;
                // A thread that was stopped notes late that it had found nothing.
                let crowded = crowded_since(if contradicts { stamp } else { stamp.max(earliest) });
                Delay { measured, is_measured: true, bound: Picos::ZERO, crowded, at_most, contradicts }
            }
            None => {
                let crowded = crowded_since(earliest);
                Delay { bound: at_most, crowded, at_most, ..Delay::default() }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clock::Clock;
    use std::num::NonZeroU64;

    fn micros(micros: u64) -> Picos {
        Picos::from_micros(micros)
    }

    /// A chunk that was read now, 1 ms after the loop had looked; with a stamp so many microseconds before now.
    fn read(stamped: Option<u64>, more: bool, behind: Option<u64>) -> Delay {
        read_from(stamped, more, behind, |_| InSocket::UntilRead)
    }

    /// The same; the wait before it ended 50 µs ago, and the bytes were `in_socket`.
    fn read_from(
        stamped: Option<u64>,
        more: bool,
        behind: Option<u64>,
        in_socket: impl Fn(Instant) -> InSocket,
    ) -> Delay {
        let clock = HostClock::calibrate();
        let mut reading = Reading::new(&clock);
        reading.look(&clock);
        let (now, unix_ns) = (clock.now(), clock::unix_ns());
        let stamp_ns = stamped.and_then(|before| NonZeroU64::new(unix_ns - before * 1_000));
        let ago = |before| now.saturating_sub(micros(before));
        let (not_before, in_socket) = (ago(1_000), in_socket(now));
        let chunk = Chunk { length: 1, stamp_ns, not_before, more, crowded: more, in_socket };
        reading.delay(&chunk, behind.map(ago), ago(50), now)
    }

    /// Both clocks are read a little apart, and a little more on a busy machine.
    #[track_caller]
    fn near(found: Picos, expected_us: u64) {
        let off = found.as_nanos().abs_diff(expected_us * 1_000);
        assert!(off < 200_000, "{found:#} is not {expected_us} µs");
    }

    #[test]
    fn a_stamp_measures_and_leaves_no_bound() {
        let delay = read(Some(600), false, None);
        near(delay.measured, 600);
        assert_eq!((delay.is_measured, delay.bound, delay.contradicts), (true, Picos::ZERO, false));
    }

    #[test]
    fn what_waited_for_a_hole_is_in_doubt_and_not_taken_out() {
        for (filled, bound) in [(5_000, 2_000), (700, 700)] {
            let delay = read(Some(2_000), false, None).behind_a_hole(micros(filled));
            assert_eq!((delay.measured, delay.is_measured, delay.contradicts), (Picos::ZERO, true, false));
            near(delay.bound, bound);
        }
    }

    #[test]
    fn without_a_stamp_the_whole_time_since_the_last_look_is_the_bound() {
        let delay = read(None, false, None);
        assert_eq!((delay.measured, delay.is_measured, delay.bound), (Picos::ZERO, false, micros(1_000)));
        // Of a body whose last piece was read 300 µs ago, those.
        assert_eq!(read(None, false, Some(300)).bound, micros(300));
    }

    #[test]
    fn bytes_behind_a_full_buffer_may_have_kept_the_target_waiting() {
        // They came 600 µs ago, and the piece before them was read 300 µs ago: for those the socket may have
        // been full.
        near(read(Some(600), true, Some(300)).crowded, 300);
        near(read(Some(100), true, Some(300)).crowded, 100);
        assert_eq!(read(Some(600), false, None).crowded, Picos::ZERO);
    }

    #[test]
    fn bytes_that_a_wait_took_out_of_the_socket_keep_nobody_waiting_afterwards() {
        let woken = |behind| read_from(Some(600), true, behind, |_| InSocket::UntilWoken);
        near(woken(None).crowded, 550);
        near(woken(None).measured, 600);
        // The piece before them was read after that.
        assert_eq!(woken(Some(40)).crowded, Picos::ZERO);
        let earlier =
            |stamped| read_from(stamped, true, None, |now| InSocket::Until(now.saturating_sub(micros(450))));
        near(earlier(Some(600)).crowded, 150);
        near(earlier(None).crowded, 550);
        assert_eq!(earlier(None).bound, micros(1_000), "nor are they read sooner");
    }

    #[test]
    fn a_stamp_from_before_the_last_look_contradicts_it() {
        assert!(read(Some(2_000), false, None).contradicts);
        // A socket that was full when the loop came late to it may have been so since.
        near(read(Some(2_000), true, None).crowded, 2_000);
        assert!(!read(Some(900), false, None).contradicts);
        // Where more was left to read, that it had come before is no wonder.
        assert!(!read(Some(2_000), false, Some(300)).contradicts);
    }
}
