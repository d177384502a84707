//! One-way times: received − sent of each frame.

use super::slow::Slowest;
use hdrhistogram::Histogram;
use measure::packets::Spread;
use units::Picos;

/// Longest one-way time that is told apart.
const LONGEST_NS: u64 = 3_600_000_000_000;

/// received − sent.
pub(super) struct Times {
    values: Histogram<u64>,
    sum: i128,
    min: i64,
    max: i64,
    slowest: Slowest,
}

impl Times {
    pub(super) fn new() -> Self {
        let mut values = Histogram::new_with_bounds(1, 1_000_000, 3).expect("1 ≤ low, 2·low ≤ high");
        values.auto(true);
        Self { values, sum: 0, min: 0, max: 0, slowest: Slowest::default() }
    }

    #[inline]
    pub(super) fn add(&mut self, took: i64, number: u64, stream: u16) {
        if self.values.is_empty() {
            (self.min, self.max) = (took, took);
        }
        self.sum += i128::from(took);
        self.min = self.min.min(took);
        self.max = self.max.max(took);
        let kept = (took.max(0) as u64).min(LONGEST_NS);
        self.values.record(kept).expect("an hour fits in a histogram that may grow");
        self.slowest.add(took, number, stream);
    }

    fn at(&self, quantile: f64) -> f64 {
        let value = self.values.value_at_quantile(quantile);
        self.values.median_equivalent(value) as f64
    }

    pub(super) fn spread(&self) -> Spread {
        if self.values.is_empty() {
            return Spread::default();
        }
        let count = self.values.len();
        Spread {
            count,
            mean: self.sum as f64 / count as f64,
            min: self.min as f64,
            p50: self.at(0.5),
            p95: self.at(0.95),
            p99: self.at(0.99),
            max: self.max as f64,
        }
    }

    pub(super) fn words(&self, known: impl Fn(u64) -> bool) -> Vec<String> {
        if self.values.is_empty() {
            return Vec::new();
        }
        let mut words = self.slowest.words(self.at(0.5) as i64, known);
        if self.min < 0 {
            let by = Picos::from_nanos(self.min.unsigned_abs());
            words.push(format!(
                "frames arrived up to {by:#} before they were sent: the clocks of sender and receiver differ"
            ));
        }
        words
    }
}
