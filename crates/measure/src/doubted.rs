//! Answers whose net time is known only to lie between two values: as told, and less what a bound allows.
//!
//! ```text
//! net:      all answers as told                    p99 ─────────────┐
//! at least: those with a bound less that bound     p99 ──────┐      │   the true p99 is between the two
//! ```
//!
//! A percentile of all is thus known to within the difference, whichever of the answers the bounds are of.

use crate::series::{HISTOGRAM_DIGITS, Histogram, LONGEST, empty_histogram, merge_histogram, record_ns};
use hdrhistogram::Counter;
use units::Picos;

/// Net of the answers that have a bound.
#[derive(Clone, Debug)]
pub(crate) struct Doubted<C: Counter> {
    told: Histogram<C>,
    least: Histogram<C>,
}

impl<C: Counter> Doubted<C> {
    pub fn new() -> Self {
        let empty = || empty_histogram(Picos::ZERO, HISTOGRAM_DIGITS);
        Self { told: empty(), least: empty() }
    }

    pub fn record(&mut self, net: Picos, bound: Picos) {
        record_ns(&mut self.told, net.min(LONGEST));
        record_ns(&mut self.least, (net - bound).min(LONGEST));
    }

    pub fn merge<D: Counter>(&mut self, more: &Doubted<D>) {
        merge_histogram(&mut self.told, &more.told);
        merge_histogram(&mut self.least, &more.least);
    }

    pub fn clear(&mut self) {
        self.told.reset();
        self.least.reset();
    }

    /// `net` of all answers, as it is at least; `None` if no answer has a bound.
    pub fn at_least(&self, net: &Histogram<u64>) -> Option<Histogram<u64>> {
        if self.told.is_empty() {
            return None;
        }
        let mut least = empty_histogram(Picos::ZERO, HISTOGRAM_DIGITS);
        merge_histogram(&mut least, &self.least);
        for bucket in net.iter_recorded() {
            let value = bucket.value_iterated_to();
            // Of a value beyond its buckets a histogram tells what is in the last one.
            let doubted = if value > self.told.max() { C::zero() } else { self.told.count_at(value) };
            let known = bucket.count_at_value().saturating_sub(doubted.as_u64());
            least.record_n(value, known).expect("an hour fits in a histogram that may grow");
        }
        Some(least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_at_least_what_it_would_be_without_the_bounds() {
        let (mut net, mut doubted) = (empty_histogram(Picos::ZERO, HISTOGRAM_DIGITS), Doubted::<u32>::new());
        // 98 answers of 1 ms, and two of 5 ms, one of which may have been one of 2 ms.
        net.record_n(1_000_000, 98).unwrap();
        net.record_n(5_000_000, 2).unwrap();
        assert!(doubted.at_least(&net).is_none());
        doubted.record(Picos::from_millis(5), Picos::from_millis(3));
        let least = doubted.at_least(&net).unwrap();
        let near = |value: u64, millis: u64| value.abs_diff(millis * 1_000_000) < millis * 1_000;
        assert!(near(net.value_at_quantile(0.985), 5) && near(least.value_at_quantile(0.985), 2));
        assert!(near(least.value_at_quantile(0.995), 5) && near(least.value_at_quantile(0.5), 1));
        assert_eq!(least.len(), 100);
    }
}
