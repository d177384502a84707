//! The memory that the program in the kernel and this process share while frames are made.
//!
//! ```text
//!    0 ┬ what the program does now: next frame, end, due time, rate   written by the program
//!  256 ┼ what it shall do from the next change on                     written by us before the change's number
//!  512 ┼ lateness: 64 counts; from 1024 on gap errors: 64 counts      written by the program
//! 1536 ┴ where each varying field stands                              written by us before a call, then by it
//! ```
//!
//! All words have 64 bits. The program looks at `END` before each frame: 0 makes it look for a change, and drop
//! frames if there is none.

use crate::GapErrors;
use bpf::{BpfError, Map, MapSpec, Shared};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Position of the frame that is next.
pub const NEXT: i16 = 0;
/// Position at which to stop.
pub const END: i16 = 8;
/// CLOCK_MONOTONIC nanoseconds at which the next frame is due, and the part of a nanosecond in `DIVISOR`ths.
pub const DUE: i16 = 16;
pub const PART: i16 = 24;
/// The gap: `GAP + GAP_PART / DIVISOR` nanoseconds.
pub const GAP: i16 = 32;
pub const GAP_PART: i16 = 40;
pub const DIVISOR: i16 = 48;
/// 1 if frames have due times.
pub const PACED: i16 = 56;
/// Number of the last change that the program made.
pub const CHANGE_SEEN: i16 = 64;
/// Position of the first frame after it.
pub const CHANGED_AT: i16 = 72;
pub const BYTES: i16 = 80;
/// Frames that came out of the driver's hands, and of these, those that it refused; and why it last did.
pub const LEFT: i16 = 88;
pub const REFUSED: i16 = 96;
pub const ERROR: i16 = 104;
/// CLOCK_MONOTONIC when the last frame was made (signed frames, and those with due times).
pub const NOW: i16 = 112;
/// The 16 bits of lateness in a signature.
pub const LATE_CODE: i16 = 120;
/// What makes a signature's time of CLOCK_MONOTONIC.
pub const CLOCK_OFFSET: i16 = 128;
/// The CPU on which frames are made.
pub const CPU: i16 = 136;
/// Runs in which a frame could not be made as it should: never, if program and template agree.
pub const BROKEN: i16 = 144;
/// One more than the lateness of the last frame that had a due time; 0 before the first of them.
pub const LAST_LATE: i16 = 152;
/// Sum and greatest of |gap − requested gap| in nanoseconds, since the beginning.
pub const GAP_ERROR_SUM: i16 = 160;
pub const GAP_ERROR_MAX: i16 = 168;

pub const CHANGE: i16 = 256;
pub const NEW_END: i16 = 264;
pub const NEW_DUE: i16 = 272;
pub const NEW_GAP: i16 = 280;
pub const NEW_GAP_PART: i16 = 288;
pub const NEW_DIVISOR: i16 = 296;
pub const NEW_PACED: i16 = 304;

pub const LATENESS: i16 = 512;
pub const BUCKETS: usize = 64;
pub const GAP_ERRORS: i16 = 1024;
pub const PLACES: i16 = 1536;
/// Words for varying fields.
pub const MOST_PLACES: usize = (BYTES_IN_ALL as usize - PLACES as usize) / 8;
const BYTES_IN_ALL: u32 = 16_384;

/// What the program shall do from a change on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Orders {
    /// Position at which to stop.
    pub end: u64,
    pub pace: Option<Pace>,
}

/// Even gaps from a moment on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    pub origin_monotonic_ns: u64,
    pub gap_ns: u64,
    /// Of a nanosecond: `part / divisor`.
    pub part: u64,
    pub divisor: u64,
}

impl Pace {
    /// One event takes `per / events` picoseconds, which is `per / (1000 · events)` nanoseconds: whole ones,
    /// and a rest that is carried.
    pub fn new(rate: units::Rate, origin_monotonic_ns: u64) -> Self {
        let (events, per) = rate.ratio();
        // At most 10¹² events for as many picoseconds or more: 10¹⁵ fits.
        let divisor = events.saturating_mul(1000);
        let per = per.as_picos();
        Self { origin_monotonic_ns, gap_ns: per / divisor, part: per % divisor, divisor }
    }
}

/// The memory.
#[derive(Debug)]
pub struct State {
    map: Map,
    shared: Shared,
}

impl State {
    pub fn new() -> Result<Self, BpfError> {
        let map = Map::create(&MapSpec::memory("tare_live", BYTES_IN_ALL))?;
        let shared = map.share()?;
        Ok(Self { map, shared })
    }

    pub fn map(&self) -> BorrowedFd<'_> {
        self.map.as_fd()
    }

    pub fn read(&self, at: i16) -> u64 {
        self.shared.u64_at(at as usize).load(Acquire)
    }

    pub fn write(&self, at: i16, value: u64) {
        self.shared.u64_at(at as usize).store(value, Relaxed);
    }

    /// Begins at a position: nothing made yet, nothing refused.
    pub fn begin(&self, first: u64, cpu: u64) {
        for at in (0..PLACES).step_by(8) {
            self.write(at, 0);
        }
        self.write(NEXT, first);
        self.write(LEFT, first);
        self.write(CHANGED_AT, first);
        self.write(CPU, cpu);
    }

    /// Writes the orders, which hold from the frame on at which the program sees them.
    pub fn order(&self, orders: &Orders) {
        self.write(NEW_END, orders.end);
        self.write(NEW_PACED, u64::from(orders.pace.is_some()));
        if let Some(pace) = orders.pace {
            self.write(NEW_DUE, pace.origin_monotonic_ns);
            self.write(NEW_GAP, pace.gap_ns);
            self.write(NEW_GAP_PART, pace.part);
            self.write(NEW_DIVISOR, pace.divisor);
        }
        let change = self.shared.u64_at(CHANGE as usize);
        change.store(change.load(Relaxed) + 1, Release);
        self.halt();
    }

    /// Whether the program has seen the last orders.
    pub fn is_heard(&self) -> bool {
        self.read(CHANGE) == self.read(CHANGE_SEEN)
    }

    /// No frame more, unless there are new orders.
    pub fn halt(&self) {
        self.shared.u64_at(END as usize).store(0, Release);
    }

    pub fn lateness(&self) -> Vec<u64> {
        self.buckets(LATENESS)
    }

    pub fn gap_errors(&self) -> GapErrors {
        GapErrors {
            log2_ns: self.buckets(GAP_ERRORS),
            sum_ns: self.read(GAP_ERROR_SUM),
            max_ns: self.read(GAP_ERROR_MAX),
        }
    }

    fn buckets(&self, at: i16) -> Vec<u64> {
        (0..BUCKETS).map(|bucket| self.read(at + bucket as i16 * 8)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{Picos, Rate};

    #[test]
    fn gaps_are_exact_to_the_last_part_over_a_thousand_million_frames() {
        for per_second in [3, 7, 600_000, 14_880_952, 148_809_523] {
            let pace = Pace::new(Rate::per_second(per_second).unwrap(), 0);
            // 10⁹ gaps: whole nanoseconds and carried parts, as the program adds them.
            let parts = 1_000_000_000 * u128::from(pace.part);
            let due = 1_000_000_000 * u128::from(pace.gap_ns) + parts / u128::from(pace.divisor);
            assert_eq!(due, 1_000_000_000 * 1_000_000_000 / u128::from(per_second), "{per_second}");
        }
    }

    #[test]
    fn a_rate_of_days_has_no_parts() {
        let pace = Pace::new(Rate::new(1, Picos::from_secs(7)).unwrap(), 5);
        assert_eq!((pace.gap_ns, pace.part, pace.origin_monotonic_ns), (7_000_000_000, 0, 5));
    }
}
