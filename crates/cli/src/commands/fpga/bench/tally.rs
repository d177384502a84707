//! Gaps between frames on the wire, counted by their length: a few numbers, however many frames there were.

use port::fpga::generator::{Bin, Gap};
use port::fpga::time::TICK_NS;
use serde_json::{Value, json};
use std::collections::BTreeMap;

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

    pub fn off_schedule(&self) -> u64 {
        self.off_schedule
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

    pub fn error_p95(&self) -> f64 {
        self.error_at(95)
    }

    pub fn error_max(&self) -> f64 {
        self.error_at(100)
    }

    /// As Caliper's tools print it, in nanoseconds.
    pub fn caliper_line(&self) -> String {
        let (mean, variance, error) = self.moments();
        format!("mean {mean:.2} var {variance:.2} avgerr {error:.2}")
    }

    /// Mean of the gaps, mean square and mean amount of what they differ from the gap that was asked for.
    fn moments(&self) -> (f64, f64, f64) {
        let variance = self.mean(|gap| (gap - self.asked_ns()).powi(2));
        (self.mean(|gap| gap), variance, self.mean(|gap| (gap - self.asked_ns()).abs()))
    }

    pub fn json(&self) -> Value {
        let (mean, variance, error) = self.moments();
        let ns = |cycles: f64| cycles * TICK_NS as f64;
        json!({
            "frames": self.frames,
            "mean_ns": mean, "var_ns2": variance, "avgerr_ns": error,
            "error_cycles": { "p50": self.error_at(50), "p95": self.error_p95(), "p99": self.error_at(99), "max": self.error_max() },
            "error_ns": { "p95": ns(self.error_p95()), "max": ns(self.error_max()) },
            "off_schedule_cycles_max": self.off_schedule,
        })
    }
}

/// What so many percent of all values do not exceed: the greatest value of a bin.
pub fn percentile(bins: &[Bin], percent: u64) -> u64 {
    let total: u64 = bins.iter().map(|bin| bin.count).sum();
    let wanted = (total * percent).div_ceil(100);
    let mut sum = 0;
    let found = bins.iter().find(|bin| {
        sum += bin.count;
        sum >= wanted
    });
    found.map_or(0, |bin| bin.greatest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_even_run_has_no_error() {
        let mut tally = Tally::new(Gap::of(1_538, 1).unwrap());
        (0..100).for_each(|n| tally.began(400 + n * 12_304));
        assert_eq!((tally.error_p95(), tally.error_max(), tally.off_schedule()), (0.0, 0.0, 0));
        assert_eq!(tally.caliper_line(), "mean 12304.00 var 0.00 avgerr 0.00");
        assert_eq!(tally.frames(), 100);
    }

    #[test]
    fn a_gap_between_two_ticks_is_one_of_them() {
        // 2 1/2 ticks: 2, 3, 2, 3, …: each half a tick off, and none further from its place in the schedule.
        let gap = Gap::of(5, 2).unwrap();
        let mut tally = Tally::new(gap);
        (0..101).for_each(|n| tally.began(80 + gap.due(n) * 8));
        assert_eq!((tally.error_p95(), tally.error_max(), tally.off_schedule()), (0.5, 0.5, 0));
        // 16 and 24, 50 of each: mean 20, variance 16, error 4.
        assert_eq!(tally.caliper_line(), "mean 20.00 var 16.00 avgerr 4.00");
        assert_eq!(tally.json()["error_ns"]["max"], 4.0);
    }

    #[test]
    fn a_gap_that_is_wrong_each_time_is_in_the_variance() {
        let mut tally = Tally::new(Gap::of(100, 1).unwrap());
        (0..10).for_each(|n| tally.began(n * 880));
        assert_eq!(tally.caliper_line(), "mean 880.00 var 6400.00 avgerr 80.00");
    }

    #[test]
    fn one_late_frame_is_seen() {
        let mut tally = Tally::new(Gap::of(100, 1).unwrap());
        for n in 0..1_000 {
            tally.began(n * 800 + if n == 500 { 24 } else { 0 });
        }
        assert_eq!((tally.error_p95(), tally.error_max(), tally.off_schedule()), (0.0, 3.0, 3));
    }

    #[test]
    fn bins_have_percentiles() {
        let bins = |all: &[(u64, u64, u64)]| -> Vec<Bin> {
            all.iter().map(|&(least, greatest, count)| Bin { least, greatest, count }).collect()
        };
        assert_eq!(percentile(&bins(&[(0, 0, 94), (1, 1, 5), (7, 7, 1)]), 95), 1);
        assert_eq!(percentile(&bins(&[(0, 0, 95), (7, 7, 5)]), 95), 0);
        // It may have been any of 64 and 65: no more than 65 is what is known.
        assert_eq!(percentile(&bins(&[(0, 0, 1), (64, 65, 99)]), 95), 65);
        assert_eq!(percentile(&[], 95), 0);
    }
}
