//! Frames of one rate that left: how long after they were due, and how fast they followed each other.
//!
//! ```text
//!   simulated   t = (preamble begins on the wire) − (tick in which it was due), of each frame
//!   board       t = lateness at the gate in front of the wire, by its counters: how many, sum and greatest
//!
//!   rate = (n − 1) / (last − first)
//! ```

use super::simulated::Seen;
use crate::tally::Differences;
use port::fpga::time::{Captured, TICK_NS};
use std::ops::Range;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Departures {
    pub frames: u64,
    pub times: Differences,
    first_ns: u64,
    last_ns: u64,
}

/// What a module counts of frames that leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    pub sent: u64,
    pub late: u64,
    pub late_ticks: u64,
    /// The greatest lateness, in ticks.
    pub latest: u64,
}

impl Departures {
    /// A frame's preamble began; `clock` relates its due time to ticks.
    pub fn left(&mut self, seen: &Seen, clock: &Captured) {
        let Some(due) = seen.due else { return };
        if self.frames == 0 {
            self.first_ns = seen.at_ns;
        }
        self.last_ns = seen.at_ns;
        self.frames += 1;
        self.times.add(clock.tick(due) * TICK_NS, seen.at_ns);
    }

    /// Of those that began to leave within a stretch of the simulation's time.
    pub fn within(seen: &[Seen], clock: &Captured, stretch: &Range<u64>) -> Self {
        let mut all = Self::default();
        seen.iter().filter(|one| stretch.contains(&one.at_ns)).for_each(|one| all.left(one, clock));
        all
    }

    /// By counters, of frames that were due within so many ticks. They do not say how late each was: of all
    /// that have this sum, those with the greatest spread are taken, so that the error is a bound.
    pub fn counted(counted: &Counted, due_ticks: u64) -> Self {
        let Counted { sent, late, late_ticks, latest } = *counted;
        let mut times = Differences::default();
        times.add_many(sent.saturating_sub(late), 0);
        if let Some(more) = latest.checked_sub(1).filter(|_| late > 0) {
            let above = late_ticks.saturating_sub(late);
            let (most, rest) =
                (above.checked_div(more).unwrap_or(0).min(late), above.checked_rem(more).unwrap_or(0));
            let others = late - most;
            times.add_many(most, latest * TICK_NS);
            times.add_many(others.min(1), (1 + rest) * TICK_NS);
            times.add_many(others.saturating_sub(1), TICK_NS);
        }
        // The last may have left so late, and the first at once.
        Self { frames: sent, times, first_ns: 0, last_ns: (due_ticks + latest) * TICK_NS }
    }

    /// 0 of fewer than two.
    pub fn per_s(&self) -> f64 {
        let span_ns = self.last_ns.saturating_sub(self.first_ns);
        if self.frames < 2 || span_ns == 0 { 0.0 } else { (self.frames - 1) as f64 * 1e9 / span_ns as f64 }
    }

    /// How long so many frames take at that rate.
    pub fn seconds(&self) -> f64 {
        let rate = self.per_s();
        if rate > 0.0 { self.frames as f64 / rate } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use port::Stamp;
    use wire::signature::EPOCH_UNIX_NS;

    #[test]
    fn the_wire_says_how_long_after_its_tick_a_frame_began() {
        // The module's clock is 1 000 ns ahead of its ticks.
        let clock = Captured { ns: 1_000 + 80, tick: 10 };
        let seen = |due_ns: u64, at_ns| Seen { at_ns, due: Some(Stamp(EPOCH_UNIX_NS + 1_000 + due_ns)) };
        let arrival = Seen { at_ns: 500, due: None };
        let all = [seen(0, 40), seen(672, 712), arrival, seen(1_344, 1_392), seen(2_016, 2_056)];
        let found = Departures::within(&all, &clock, &(0..2_000));
        assert_eq!((found.frames, found.times.min, found.times.max), (3, 40, 48));
        // Two gaps in 1 352 ns.
        assert_eq!(found.per_s(), 2e9 / 1_352.0);
        assert_eq!(Departures::within(&all, &clock, &(0..100)).per_s(), 0.0);
    }

    #[test]
    fn counters_bound_the_error() {
        let of = |sent, late, late_ticks, latest| {
            Departures::counted(&Counted { sent, late, late_ticks, latest }, 999)
        };
        let found = of(10, 0, 0, 0);
        assert_eq!((found.times.count, found.times.mean(), found.times.error()), (10, 0.0, 0.0));
        assert_eq!(found.per_s(), 9e9 / 7_992.0);
        // 4 of 10 are late by 11 ticks together, the latest by 5: at worst 5, 4, 1, 1.
        let found = of(10, 4, 11, 5);
        assert_eq!((found.times.count, found.times.min, found.times.max), (10, 0, 40));
        assert!((found.times.mean() - 8.8).abs() < 1e-9, "{}", found.times.mean());
        // Σ(t − t̄)² = 64 · (25 + 16 + 1 + 1) − 10 · 8.8² = 1 977.6; √(1 977.6 / 90).
        assert!((found.times.error() - (1_977.6_f64 / 90.0).sqrt()).abs() < 1e-9);
        let found = of(3, 3, 3, 1);
        assert_eq!((found.times.count, found.times.min, found.times.mean()), (3, 8, 8.0));
    }
}
