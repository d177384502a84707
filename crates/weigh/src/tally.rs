//! Times of packets, added up as they come: flat memory, however many there are.
//!
//! ```text
//!   difference = stamp − hand-over ─┬ ≥ 0: mean and S by Welford's method, least, most, and its stretch of the
//!                                   │      run's time
//!                                   └ < 0: counted, in no figure
//! ```
//!
//! S² = Σ(tᵢ − t̄)² / (n − 1); the standard error of the mean is S / √n (ISO/IEC Guide 98-3, 4.2.3). Welford
//! 1962, Technometrics 4 (3).

use store::weighing::Times;

/// Differences of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Differences {
    pub count: u64,
    pub negative: u64,
    /// The least of the negative ones, in ns.
    pub least_negative: i64,
    pub min: u64,
    pub max: u64,
    mean: f64,
    /// Σ(tᵢ − t̄)².
    squares: f64,
}

impl Differences {
    #[inline]
    pub fn add(&mut self, sent_ns: u64, stamp_ns: u64) {
        let difference = stamp_ns as i64 - sent_ns as i64;
        if difference < 0 {
            self.negative += 1;
            self.least_negative = self.least_negative.min(difference);
            return;
        }
        let nanos = difference as u64;
        self.min = if self.count == 0 { nanos } else { self.min.min(nanos) };
        self.max = self.max.max(nanos);
        self.count += 1;
        let from_mean = nanos as f64 - self.mean;
        self.mean += from_mean / self.count as f64;
        self.squares += from_mean * (nanos as f64 - self.mean);
    }

    /// So many times the same.
    pub fn add_many(&mut self, count: u64, nanos: u64) {
        self.merge(&Self { count, min: nanos, max: nanos, mean: nanos as f64, ..Self::default() });
    }

    /// With those of another (Chan, Golub and LeVeque 1979).
    pub fn merge(&mut self, other: &Self) {
        self.negative += other.negative;
        self.least_negative = self.least_negative.min(other.least_negative);
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            let (negative, least_negative) = (self.negative, self.least_negative);
            *self = Self { negative, least_negative, ..*other };
            return;
        }
        let (n, m) = (self.count as f64, other.count as f64);
        let apart = other.mean - self.mean;
        self.squares += other.squares + apart * apart * n * m / (n + m);
        self.mean += apart * m / (n + m);
        self.count += other.count;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Nanoseconds; 0 where there are none.
    pub const fn mean(&self) -> f64 {
        self.mean
    }

    /// S / √n.
    pub fn error(&self) -> f64 {
        if self.count < 2 {
            return 0.0;
        }
        let n = self.count as f64;
        (self.squares / (n * (n - 1.0))).sqrt()
    }

    /// Stamps that came.
    pub const fn stamped(&self) -> u64 {
        self.count + self.negative
    }

    pub fn times(&self, packets: u64, seconds: f64) -> Times {
        Times {
            packets,
            counted: self.count,
            negative: self.negative,
            least_negative_ns: self.least_negative as f64,
            mean_ns: self.mean,
            min_ns: self.min as f64,
            max_ns: self.max as f64,
            error_ns: self.error(),
            rate_per_s: if seconds > 0.0 { packets as f64 / seconds } else { 0.0 },
        }
    }
}

/// Equal stretches of a run's time, and the steps of its schedule.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// Wall time of the run's origin, ns since 1970.
    pub origin_unix_ns: u64,
    pub bin_ns: u64,
    /// Ends of the steps, in ns after the origin, ascending.
    pub ends_ns: Vec<u64>,
}

impl Timeline {
    /// Bins of at least 10 ms, and at most `MOST` of them.
    pub fn new(origin_unix_ns: u64, ends_ns: Vec<u64>) -> Self {
        const MOST: u64 = 400;
        let whole = ends_ns.last().copied().unwrap_or(1).max(1);
        Self { origin_unix_ns, bin_ns: whole.div_ceil(MOST).max(10_000_000), ends_ns }
    }

    pub fn bins(&self) -> usize {
        (self.ends_ns.last().copied().unwrap_or(0).div_ceil(self.bin_ns) as usize).max(1)
    }

    /// What was handed over then belongs to this bin; before and after the run, to the first and the last.
    #[inline]
    pub fn bin(&self, sent_unix_ns: u64) -> usize {
        let after = sent_unix_ns.saturating_sub(self.origin_unix_ns);
        ((after / self.bin_ns) as usize).min(self.bins() - 1)
    }

    #[inline]
    pub fn step(&self, sent_unix_ns: u64) -> usize {
        let after = sent_unix_ns.saturating_sub(self.origin_unix_ns);
        let found = self.ends_ns.iter().position(|end| after < *end);
        found.unwrap_or(self.ends_ns.len().saturating_sub(1))
    }
}

/// All differences of a run, by stretch and by step.
#[derive(Clone, Debug)]
pub struct Tally {
    timeline: Timeline,
    pub bins: Vec<Differences>,
    pub steps: Vec<Differences>,
    /// Stamps of packets that carried no time of ours.
    pub strange: u64,
    /// The step and bin of the last one: most come one after another.
    last: (u64, usize, usize),
}

impl Tally {
    pub fn new(timeline: Timeline) -> Self {
        let (bins, steps) = (timeline.bins(), timeline.ends_ns.len().max(1));
        Self {
            timeline,
            bins: vec![Differences::default(); bins],
            steps: vec![Differences::default(); steps],
            strange: 0,
            last: (0, 0, 0),
        }
    }

    #[inline]
    pub fn add(&mut self, sent_ns: u64, stamp_ns: u64) {
        // A hundredth of the least bin: a packet at a border may be in the stretch before.
        const SAME_NS: u64 = 100_000;
        if sent_ns.abs_diff(self.last.0) > SAME_NS || self.last.0 == 0 {
            self.last = (sent_ns, self.timeline.bin(sent_ns), self.timeline.step(sent_ns));
        }
        let (_, bin, step) = self.last;
        self.bins[bin].add(sent_ns, stamp_ns);
        self.steps[step].add(sent_ns, stamp_ns);
    }

    pub fn whole(&self) -> Differences {
        let mut whole = Differences::default();
        self.steps.iter().for_each(|step| whole.merge(step));
        whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_studys_formula() {
        let mut found = Differences::default();
        // Times 2, 4, 4, 4, 5, 5, 7, 9: mean 5, Σ(t − 5)² = 9+1+1+1+0+0+4+16 = 32, S/√n = √(32 / (8 · 7)) =
        // 0.7559…
        for time in [2, 4, 4, 4, 5, 5, 7, 9] {
            found.add(1_000, 1_000 + time);
        }
        assert_eq!((found.count, found.min, found.max, found.mean()), (8, 2, 9, 5.0));
        assert!((found.error() - (32.0f64 / 56.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn what_is_negative_is_counted_and_in_no_figure() {
        let mut found = Differences::default();
        for (sent, stamp) in [(100, 110), (100, 90), (100, 70), (100, 130)] {
            found.add(sent, stamp);
        }
        assert_eq!((found.count, found.negative, found.least_negative), (2, 2, -30));
        assert_eq!((found.mean(), found.min, found.max), (20.0, 10, 30));
        assert_eq!(found.stamped(), 4);
    }

    #[test]
    fn packets_are_in_the_step_in_which_they_were_handed_over() {
        let timeline = Timeline::new(1_000, vec![100_000_000, 300_000_000]);
        assert_eq!((timeline.bin_ns, timeline.bins()), (10_000_000, 30));
        let mut tally = Tally::new(timeline);
        for (after, time) in [(0, 5), (99_000_000, 7), (100_000_001, 9), (299_000_000, 11), (400_000_000, 1)]
        {
            tally.add(1_000 + after, 1_000 + after + time);
        }
        assert_eq!((tally.steps[0].count, tally.steps[1].count), (2, 3));
        assert_eq!((tally.steps[0].mean(), tally.steps[1].mean()), (6.0, 7.0));
        assert_eq!((tally.bins[0].count, tally.bins[9].count, tally.bins[29].count), (1, 1, 2));
        assert_eq!(tally.whole().count, 5);
    }

    proptest! {
        #[test]
        fn parts_make_the_whole(times in proptest::collection::vec(-50i64..1000, 1..60), cut in 0usize..60) {
            let add = |times: &[i64]| {
                let mut found = Differences::default();
                times.iter().for_each(|time| found.add(1_000, (1_000 + time) as u64));
                found
            };
            let cut = cut.min(times.len());
            let (mut parts, whole) = (add(&times[..cut]), add(&times));
            parts.merge(&add(&times[cut..]));
            prop_assert_eq!((parts.count, parts.negative, parts.min, parts.max),
                (whole.count, whole.negative, whole.min, whole.max));
            prop_assert!((parts.mean() - whole.mean()).abs() < 1e-6);
            prop_assert!((parts.error() - whole.error()).abs() < 1e-6);
        }
    }
}
