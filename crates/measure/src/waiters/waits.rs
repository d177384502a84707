//! How long single waits of a target's were, and how many responses they may have delayed.
//!
//! ```text
//!   requests   |    |    |    |    |    |    |      λ per second
//!   target          ▒▒▒▒▒▒▒▒▒▒                      waits for w
//!   delayed         w   ...  less and less          1 + λ (w − x) of them by more than x
//! ```
//!
//! Waits are counted in octaves, each with its sum: half a kilobyte a thread, however long the run.

/// The first octave has all that is shorter, the last all that is longer: from 16 us to 34 s.
const FIRST: u32 = 14;
const OCTAVES: usize = 22;

const SLICE_NS: u64 = 1_000_000;

/// Waits by length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waits([Octave; OCTAVES]);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Octave {
    count: u64,
    sum_ns: u64,
}

impl Waits {
    /// A thread has waited so long since it was last read, and was given a CPU so often. How that was spread is
    /// not known: at most one wait a millisecond is counted, as slices of the scheduler's are about as long.
    pub(crate) fn record(&mut self, ns: u64, runs: u64) {
        let count = runs.min(ns.div_ceil(SLICE_NS)).max(1);
        let octave = (ns / count).max(1).ilog2().saturating_sub(FIRST) as usize;
        let octave = &mut self.0[octave.min(OCTAVES - 1)];
        octave.count += count;
        octave.sum_ns += ns;
    }

    pub(crate) fn add(&mut self, more: &Self) {
        for (into, from) in self.0.iter_mut().zip(&more.0) {
            into.count += from.count;
            into.sum_ns += from.sum_ns;
        }
    }

    /// Time of all.
    pub(crate) fn total_ns(&self) -> u64 {
        self.0.iter().map(|octave| octave.sum_ns).sum()
    }

    /// Responses that may have come more than `x_ns` later, at `per_ns` requests in a nanosecond.
    pub(crate) fn delayed(&self, x_ns: f64, per_ns: f64) -> f64 {
        let of = |octave: &Octave| {
            let mean_ns = octave.sum_ns as f64 / octave.count.max(1) as f64;
            if mean_ns > x_ns { octave.count as f64 * (1.0 + per_ns * (mean_ns - x_ns)) } else { 0.0 }
        };
        self.0.iter().map(of).sum()
    }

    /// The delay that so many responses may have had, or more; 0 if there are not as many.
    pub(crate) fn at_least_ns(&self, responses: f64, per_ns: f64) -> f64 {
        // A wait is no longer than the last octave's, and the answer is good to a microsecond.
        let (mut low, mut high) = (0.0, (1_u64 << (FIRST as usize + OCTAVES)) as f64);
        if self.delayed(low, per_ns) < responses {
            return 0.0;
        }
        while high - low > 1_000.0 {
            let middle = f64::midpoint(low, high);
            if self.delayed(middle, per_ns) >= responses { low = middle } else { high = middle }
        }
        low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_wait_delays_grows_with_its_length_and_the_rate() {
        let mut waits = Waits::default();
        (0..10).for_each(|_| waits.record(3_000_000, 1));
        waits.record(100_000, 7);
        assert_eq!(waits.total_ns(), 30_100_000);
        // One a second: each delays the request that woke the target. At 1 000 a second two more that come
        // within the last 2 ms of it by more than 1 ms.
        assert!((waits.delayed(1e6, 1e-9) - 10.0).abs() < 0.1);
        assert!((waits.delayed(1e6, 1e-6) - 30.0).abs() < 0.1);
        assert!((waits.delayed(50_000.0, 1e-9) - 11.0).abs() < 0.1);
        assert_eq!(waits.delayed(3e6, 1e-6), 0.0);
        // 10 (1 + 3 − x) = 20, x in ms.
        assert!((waits.at_least_ns(20.0, 1e-6) - 2e6).abs() < 2_000.0);
        assert_eq!(waits.at_least_ns(50.0, 1e-6), 0.0);
    }

    #[test]
    fn waits_beyond_the_octaves_are_in_the_first_and_last() {
        let mut waits = Waits::default();
        [0, 1, u64::MAX / 2].into_iter().for_each(|ns| waits.record(ns, 1));
        let mut both = waits.clone();
        both.add(&waits);
        assert_eq!((both.0[0].count, both.0[OCTAVES - 1].count), (4, 2));
    }
}
