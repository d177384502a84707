//! Gaps between frames on the wire, counted by their length: a few numbers, however many frames there were.

use port::fpga::generator::Gap;
use port::fpga::time::TICK_NS;
use std::collections::BTreeMap;
use store::gap_bench::{ErrorCycles, ErrorNanos, WireGaps};

/// What was seen of one run of frames.
#[derive(Clone, Debug)]
pub struct Tally {
    gap: Gap,
    first_ns: Option<u64>,
    last_ns: u64,
    frames: u64,
    /// How many gaps were so long, in nanoseconds.
    gaps: BTreeMap<u64, u64>,
    /// How many ticks, at most, a frame began from `first + floor(n · gap)`.
    off_schedule: u64,
}

impl Tally {
    pub fn new(gap: Gap) -> Self {
        Self { gap, first_ns: None, last_ns: 0, frames: 0, gaps: BTreeMap::new(), off_schedule: 0 }
    }

    /// A frame began.
    pub fn began(&mut self, at_ns: u64) {
        let first_ns = *self.first_ns.get_or_insert(at_ns);
        if self.frames > 0 {
            *self.gaps.entry(at_ns.saturating_sub(self.last_ns)).or_default() += 1;
        }
        let due_ns = first_ns + self.gap.due(self.frames) * TICK_NS;
        self.off_schedule = self.off_schedule.max(at_ns.abs_diff(due_ns).div_ceil(TICK_NS));
        self.last_ns = at_ns;
        self.frames += 1;
    }

    pub fn frames(&self) -> u64 {
        self.frames
    }

    fn asked_ns(&self) -> f64 {
        self.gap.as_ticks() * TICK_NS as f64
    }

    fn count(&self) -> f64 {
        self.gaps.values().sum::<u64>() as f64
    }

    fn mean(&self, of: impl Fn(f64) -> f64) -> f64 {
        self.gaps.iter().map(|(gap, count)| of(*gap as f64) * *count as f64).sum::<f64>() / self.count()
    }

    /// In nanoseconds, the least first, and how many.
    fn errors(&self) -> Vec<(f64, u64)> {
        let mut all: Vec<(f64, u64)> =
            self.gaps.iter().map(|(gap, count)| ((*gap as f64 - self.asked_ns()).abs(), *count)).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        all
    }

    /// The error, in cycles, that so many percent of all gaps do not exceed.
    fn error_at(&self, percent: u64) -> f64 {
        let errors = self.errors();
        let wanted = (self.gaps.values().sum::<u64>() * percent).div_ceil(100);
        let mut sum = 0;
        let found = errors.iter().find(|(_, count)| {
            sum += count;
            sum >= wanted
        });
        found.or(errors.last()).map_or(0.0, |(error, _)| error / TICK_NS as f64)
    }

    /// Mean of the gaps, mean square and mean amount of what they differ from the gap that was asked for.
    fn moments(&self) -> (f64, f64, f64) {
        let variance = self.mean(|gap| (gap - self.asked_ns()).powi(2));
        (self.mean(|gap| gap), variance, self.mean(|gap| (gap - self.asked_ns()).abs()))
    }

    pub fn figures(&self) -> WireGaps {
        let (mean_ns, var_ns2, avgerr_ns) = self.moments();
        let [p50, p95, p99, max] = [50, 95, 99, 100].map(|percent| self.error_at(percent));
        let ns = |cycles: f64| cycles * TICK_NS as f64;
        WireGaps {
            frames: self.frames,
            mean_ns,
            var_ns2,
            avgerr_ns,
            error_cycles: ErrorCycles { p50, p95, p99, max },
            error_ns: ErrorNanos { p95: ns(p95), max: ns(max) },
            off_schedule_cycles_max: self.off_schedule,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Errors of 95 and of all percent, and how far off the schedule, in cycles; mean, variance, error in ns.
    fn told(tally: &Tally) -> ((f64, f64, u64), (f64, f64, f64)) {
        let of = tally.figures();
        let cycles = (of.error_cycles.p95, of.error_cycles.max, of.off_schedule_cycles_max);
        (cycles, (of.mean_ns, of.var_ns2, of.avgerr_ns))
    }

    #[test]
    fn an_even_run_has_no_error() {
        let mut tally = Tally::new(Gap::of(1_538, 1).unwrap());
        (0..100).for_each(|n| tally.began(400 + n * 12_304));
        assert_eq!(told(&tally), ((0.0, 0.0, 0), (12_304.0, 0.0, 0.0)));
        assert_eq!(tally.frames(), 100);
    }

    #[test]
    fn a_gap_between_two_ticks_is_one_of_them() {
        // 2 1/2 ticks: 2, 3, 2, 3, …: each half a tick off, and none further from its place in the schedule.
        let gap = Gap::of(5, 2).unwrap();
        let mut tally = Tally::new(gap);
        (0..101).for_each(|n| tally.began(80 + gap.due(n) * 8));
        // 16 and 24, 50 of each: mean 20, variance 16, error 4.
        assert_eq!(told(&tally), ((0.5, 0.5, 0), (20.0, 16.0, 4.0)));
        assert_eq!(tally.figures().error_ns.max, 4.0);
    }

    #[test]
    fn a_gap_that_is_wrong_each_time_is_in_the_variance() {
        let mut tally = Tally::new(Gap::of(100, 1).unwrap());
        (0..10).for_each(|n| tally.began(n * 880));
        assert_eq!(told(&tally).1, (880.0, 6_400.0, 80.0));
    }

    #[test]
    fn one_late_frame_is_seen() {
        let mut tally = Tally::new(Gap::of(100, 1).unwrap());
        for n in 0..1_000 {
            tally.began(n * 800 + if n == 500 { 24 } else { 0 });
        }
        assert_eq!(told(&tally).0, (0.0, 3.0, 3));
    }
}
