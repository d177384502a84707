//! A distribution as dashboards want it: fixed buckets, and exponential ones.
//!
//! ```text
//! HdrHistogram of an interval (0.1 %) ──┬─► 81 bounds, 1 µs to 100 s, each at most 28 % above the one before
//!                                       └─► exponential buckets: bounds 2^(i/32) s, each 2.2 % above the last
//! ```
//!
//! Both only ever grow: they are cumulative over the run. A value whose HdrHistogram bucket straddles a bound
//! is counted above it (fixed bounds) or by the bucket's middle (exponential): 0.1 % at most.

use hdrhistogram::Histogram;
use std::collections::BTreeMap;

/// Exponential buckets have the bounds 2^(i / 2^SCALE) seconds: 32 in each octave.
pub const SCALE: i32 = 5;

/// Steps of a decade (R10 of ISO 3, rounded), in tenths.
const STEPS: [u64; 10] = [100, 125, 160, 200, 250, 315, 400, 500, 630, 800];
/// 1 µs, and so many decades from there.
const SMALLEST_NS: u64 = 1_000;
const DECADES: u32 = 8;
/// How many bounds there are; one bucket more lies beyond the last.
pub const BOUNDS: usize = STEPS.len() * DECADES as usize + 1;

/// Upper bounds (included) of the fixed buckets, nanoseconds, ascending.
fn bounds_ns() -> impl Iterator<Item = u64> {
    let decades = (0..DECADES).map(|decade| SMALLEST_NS * 10u64.pow(decade));
    let steps = decades.flat_map(|decade| STEPS.iter().map(move |step| decade * step / 100));
    steps.chain(std::iter::once(SMALLEST_NS * 10u64.pow(DECADES)))
}

/// Upper bounds (included) of the fixed buckets, seconds, ascending.
pub fn bounds_s() -> impl Iterator<Item = f64> {
    // A quotient of two whole numbers is the float nearest to the decimal: it prints as 0.00315.
    bounds_ns().map(|bound| bound as f64 / 1e9)
}

/// Cumulative over a run.
#[derive(Clone, Debug)]
pub struct Spread {
    pub count: u64,
    /// In seconds, from the middles of the buckets: within 0.1 %, as the mean in `result.json`.
    pub sum_s: f64,
    pub min_s: f64,
    pub max_s: f64,
    /// Values of zero: they have no logarithm.
    pub zeros: u64,
    /// Counts of the fixed buckets, not added up; the last is what lies beyond all bounds.
    fixed: Box<[u64; BOUNDS + 1]>,
    /// Counts by index: bucket i holds what is above 2^((i−1)/32) s and at most 2^(i/32) s.
    exponential: BTreeMap<i32, u64>,
}

impl Default for Spread {
    fn default() -> Self {
        Self {
            count: 0,
            sum_s: 0.0,
            min_s: f64::INFINITY,
            max_s: 0.0,
            zeros: 0,
            fixed: Box::new([0; BOUNDS + 1]),
            exponential: BTreeMap::new(),
        }
    }
}

impl Spread {
    /// Adds an interval's values, which are nanoseconds.
    pub fn add(&mut self, values: &Histogram<u32>) {
        if values.is_empty() {
            return;
        }
        self.count += values.len();
        self.sum_s += values.mean() * values.len() as f64 / 1e9;
        self.min_s = self.min_s.min(values.min() as f64 / 1e9);
        self.max_s = self.max_s.max(values.max() as f64 / 1e9);
        let mut bounds = bounds_ns().enumerate().peekable();
        for bucket in values.iter_recorded() {
            let (value, count) = (bucket.value_iterated_to(), u64::from(bucket.count_at_value()));
            while bounds.next_if(|(_, bound)| *bound < value).is_some() {}
            self.fixed[bounds.peek().map_or(BOUNDS, |(index, _)| *index)] += count;
            match values.median_equivalent(value) {
                0 => self.zeros += count,
                middle => *self.exponential.entry(index(middle)).or_default() += count,
            }
        }
    }

    /// How many values are at most each bound; the last, of all, is for the bound +∞.
    pub fn at_most(&self) -> impl Iterator<Item = (f64, u64)> {
        let bounds = bounds_s().chain(std::iter::once(f64::INFINITY));
        bounds.zip(self.fixed.iter().scan(0, |sum, count| {
            *sum += count;
            Some(*sum)
        }))
    }

    /// Counts of the fixed buckets, each for itself; one more than there are bounds.
    pub fn fixed(&self) -> &[u64] {
        self.fixed.as_slice()
    }

    /// Counts by index, ascending, without empty buckets (see the field).
    pub fn exponential(&self) -> impl Iterator<Item = (i32, u64)> {
        self.exponential.iter().map(|(index, count)| (*index, *count))
    }
}

/// The i with 2^((i−1)/32) s < value ≤ 2^(i/32) s.
fn index(value_ns: u64) -> i32 {
    ((value_ns as f64 / 1e9).log2() * f64::from(1 << SCALE)).ceil() as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(values: &[(u64, u32)]) -> Spread {
        let mut histogram = Histogram::new(3).unwrap();
        values.iter().for_each(|(value, count)| histogram.record_n(*value, *count).unwrap());
        let mut spread = Spread::default();
        spread.add(&histogram);
        spread
    }

    #[test]
    fn bounds_are_friendly_decimals() {
        let bounds: Vec<String> = bounds_s().map(|bound| bound.to_string()).collect();
        assert_eq!(bounds.len(), BOUNDS);
        assert_eq!(
            bounds[..6],
            ["0.000001", "0.00000125", "0.0000016", "0.000002", "0.0000025", "0.00000315"]
        );
        assert_eq!(bounds[BOUNDS - 2..], ["80", "100"]);
        for bound in ["0.05", "0.1", "0.2", "0.25", "0.5", "1"] {
            assert!(bounds.iter().any(|known| known == bound), "{bound} is a limit that people set");
        }
        let ns: Vec<u64> = bounds_ns().collect();
        // 2 % for the rounding to whole steps: 1.28 ≥ 1.6 / 1.25.
        assert!(ns.windows(2).all(|two| two[0] < two[1] && two[1] * 100 <= two[0] * 128));
    }

    #[test]
    fn each_value_is_in_the_bucket_of_its_size() {
        let spread =
            spread(&[(0, 1), (999, 2), (1_000, 3), (1_001, 4), (50_000_000, 5), (200_000_000_000, 6)]);
        let at_most: Vec<(f64, u64)> = spread.at_most().collect();
        // 0, 999 and 1 000 ns are exact in a histogram of three digits (below 2 048 every value has its
        // bucket).
        assert_eq!(at_most[0], (1e-6, 6));
        assert_eq!(at_most[1], (1.25e-6, 10));
        // 50 ms lies in a histogram bucket of 32 768 ns that reaches beyond 50 ms: it is counted above.
        let bound = |s: f64| at_most.iter().find(|(bound, _)| *bound == s).unwrap().1;
        assert_eq!((bound(0.05), bound(0.063)), (10, 15));
        assert_eq!((bound(100.0), bound(f64::INFINITY)), (15, 21));
        assert_eq!((spread.count, spread.zeros), (21, 1));
        assert_eq!(spread.fixed().iter().sum::<u64>(), 21);
    }

    #[test]
    fn exponential_buckets_hold_what_their_bounds_say() {
        // 2^-10 s = 976 562.5 ns: 970 000 lies below it, and above 2^(-10 - 1/32) s = 955 635 ns.
        let spread = spread(&[(970_000, 1), (1_000_000_000, 2), (1_000_000, 4)]);
        let found: Vec<(i32, u64)> = spread.exponential().collect();
        // 1 ms: log2(0.001)·32 = −318.9 → −318. 1 s is its bucket's upper bound, but its histogram bucket's
        // middle is 262 144 ns above it: index 1.
        assert_eq!(found, [(-320, 1), (-318, 4), (1, 2)]);
        for (index, _) in found {
            let (low, high) = (((index - 1) as f64 / 32.0).exp2(), (index as f64 / 32.0).exp2());
            assert!(
                (high / low - 1.0219).abs() < 1e-4,
                "{low} to {high}: the width that the documents state"
            );
        }
    }

    #[test]
    fn sums_are_those_of_the_histogram() {
        let mut sum = spread(&[(1_000_000, 10), (3_000_000, 10)]);
        // 10 × 1 ms + 10 × 3 ms = 40 ms.
        assert!((sum.sum_s - 0.040).abs() < 0.00004);
        let mut more = Histogram::new(3).unwrap();
        more.record(2_000_000).unwrap();
        sum.add(&more);
        assert!(sum.count == 21 && (sum.sum_s - 0.042).abs() < 0.00005);
        assert!((sum.min_s - 0.001).abs() < 1e-6 && (sum.max_s - 0.003).abs() < 3e-6);
    }
}
