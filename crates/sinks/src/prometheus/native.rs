//! A distribution as Prometheus' native histograms have it: spans of neighbouring buckets, and the gains of
//! their counts.
//!
//! ```text
//! index   −320        −318 −317       spans   (offset −320, length 1) (offset 1, length 2)
//! count      1           4    6       deltas   1, 3, 2
//! ```
//!
//! Schema 5: bucket i holds what is above 2^((i−1)/32) s and at most 2^(i/32) s.

use crate::metrics::{SCALE, Spread};

pub const SCHEMA: i32 = SCALE;
/// What counts as zero: smaller than any time that is told apart (1 ns).
pub const ZERO_THRESHOLD: f64 = 5e-10;

/// The same message in scrapes and in remote write.
#[derive(Clone, PartialEq, prost::Message)]
pub struct BucketSpan {
    /// From the end of the span before, or the index of the first bucket.
    #[prost(sint32, tag = "1")]
    pub offset: i32,
    #[prost(uint32, tag = "2")]
    pub length: u32,
}

/// Spans, and the count of each bucket as its gain over the one before.
pub fn spans(spread: &Spread) -> (Vec<BucketSpan>, Vec<i64>) {
    let (mut spans, mut deltas): (Vec<BucketSpan>, Vec<i64>) = (Vec::new(), Vec::new());
    let (mut next, mut before) = (0, 0);
    for (index, count) in spread.exponential() {
        match spans.last_mut() {
            Some(span) if index == next => span.length += 1,
            _ => spans.push(BucketSpan { offset: index - next, length: 1 }),
        }
        next = index + 1;
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        deltas.push(count - before);
        before = count;
    }
    (spans, deltas)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_picture_above() {
        let mut histogram = hdrhistogram::Histogram::new(3).unwrap();
        // 970 µs → −320; 1 ms → −318 (see metrics::spread); 1.03 ms: log2(0.00103)·32 = −317.5 → −317.
        for (value, count) in [(970_000, 1), (1_000_000, 4), (1_030_000, 6)] {
            histogram.record_n(value, count).unwrap();
        }
        let mut spread = Spread::default();
        spread.add(&histogram);
        let (spans, deltas) = spans(&spread);
        let spans: Vec<(i32, u32)> = spans.iter().map(|span| (span.offset, span.length)).collect();
        assert_eq!(spans, [(-320, 1), (1, 2)]);
        assert_eq!(deltas, [1, 3, 2]);
    }
}
