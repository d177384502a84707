//! Histogram buckets by their index, without the histogram: what a picture of a long run is computed with.
//!
//! A bucket of an HdrHistogram with three significant digits and a unit of 1 ns has, for value v whose highest
//! bit is b
//!
//! ```text
//! shift = max(0, b − 10)      index = (shift << 10) + (v >> shift)      width = 2^shift
//! ```
//!
//! which is the index that `latency.hlog` counts by, so a line of that file is added without being unpacked.

use crate::timeline::HeatCell;
use hdrhistogram::Histogram;

/// Sub-buckets of an octave, as a power of two.
const OCTAVE_BITS: u32 = 10;

/// Indices that times up to one hour need: 3.6·10¹² has its highest bit at 41, so `shift` is at most 31.
pub const SLOTS: usize = 33 << OCTAVE_BITS;

/// Index of the bucket in which a value lies.
pub const fn index_of(value: u64) -> usize {
    let shift = (value | ((2 << OCTAVE_BITS) - 1)).ilog2() - OCTAVE_BITS;
    ((shift as usize) << OCTAVE_BITS) + (value >> shift) as usize
}

/// The smallest value of a bucket, and how wide it is.
pub const fn bucket_at(index: usize) -> (u64, u64) {
    let shift = (index >> OCTAVE_BITS).saturating_sub(1);
    (((index - (shift << OCTAVE_BITS)) as u64) << shift, 1 << shift)
}

/// The largest value of a bucket: what a percentile that falls into it is said to be.
pub const fn highest_at(index: usize) -> u64 {
    let (lowest, width) = bucket_at(index);
    lowest + (width - 1)
}

/// Counts of all buckets, dense: made once, used again for each bin.
#[derive(Clone)]
pub struct Counts {
    counts: Box<[u64]>,
    /// Indices from here up to (not including) there may be other than zero.
    low: usize,
    high: usize,
    total: u64,
}

impl Counts {
    pub fn new() -> Self {
        Self { counts: vec![0; SLOTS].into_boxed_slice(), low: SLOTS, high: 0, total: 0 }
    }

    /// Values beyond the longest time count as that.
    #[inline]
    pub fn add(&mut self, index: usize, count: u64) {
        let index = index.min(SLOTS - 1);
        self.counts[index] = self.counts[index].saturating_add(count);
        self.low = self.low.min(index);
        self.high = self.high.max(index + 1);
        self.total = self.total.saturating_add(count);
    }

    pub fn add_histogram<C: hdrhistogram::Counter>(&mut self, histogram: &Histogram<C>) {
        for bucket in histogram.iter_recorded() {
            self.add(index_of(bucket.value_iterated_to()), bucket.count_at_value().as_u64());
        }
    }

    pub fn add_all(&mut self, other: &Self) {
        other.filled().buckets.iter().for_each(|(index, count)| self.add(*index, *count));
    }

    pub const fn total(&self) -> u64 {
        self.total
    }

    pub fn clear(&mut self) {
        if self.low < self.high {
            self.counts[self.low..self.high].fill(0);
        }
        (self.low, self.high, self.total) = (SLOTS, 0, 0);
    }

    /// Those that are not zero.
    pub fn filled(&self) -> Filled {
        let mut buckets = Vec::new();
        let from = self.low.min(self.high);
        // Most are empty: looked at eight at a time.
        for (chunk, counts) in self.counts[from..self.high].chunks(8).enumerate() {
            if counts.iter().fold(0, |all, count| all | count) == 0 {
                continue;
            }
            let there = counts.iter().enumerate().filter(|(_, count)| **count > 0);
            buckets.extend(there.map(|(offset, count)| (from + chunk * 8 + offset, *count)));
        }
        Filled { buckets, total: self.total }
    }
}

/// Index and count of the buckets that are not empty, ascending.
pub struct Filled {
    buckets: Vec<(usize, u64)>,
    total: u64,
}

impl Filled {
    pub fn buckets(&self) -> &[(usize, u64)] {
        &self.buckets
    }

    /// Calls `found` with each quantile's place and value, as HdrHistogram defines them: the largest value of
    /// the bucket in which the ⌈q·n⌉-th smallest lies. The quantiles ascend; of nothing there are none.
    pub fn quantiles(&self, quantiles: impl Iterator<Item = f64>, mut found: impl FnMut(usize, u64)) {
        let mut buckets = self.buckets.iter();
        let mut sum = 0u64;
        let mut at = 0;
        for (place, quantile) in quantiles.enumerate() {
            let rank = ((quantile * self.total as f64).ceil() as u64).max(1);
            while sum < rank {
                let Some((index, count)) = buckets.next() else { return };
                (at, sum) = (*index, sum.saturating_add(*count));
            }
            found(place, highest_at(at));
        }
    }

    /// Cells of the heat map: four equal steps in each octave, single values below 4.
    pub fn heat(&self) -> Vec<HeatCell> {
        let mut cells: Vec<HeatCell> = Vec::new();
        for (index, count) in &self.buckets {
            let (lowest, _) = bucket_at(*index);
            match cells.last_mut() {
                Some(cell) if lowest < cell.to_ns => cell.count = cell.count.saturating_add(*count),
                _ => cells.push(cell_of(lowest, *count)),
            }
        }
        cells
    }

    pub fn pack(&self) -> Packed {
        let mut bytes = Vec::with_capacity(self.buckets.len() * 3);
        let mut last = 0;
        for (index, count) in &self.buckets {
            put(&mut bytes, (index - last) as u64);
            put(&mut bytes, *count);
            last = *index;
        }
        Packed(bytes.into_boxed_slice())
    }
}

fn cell_of(value: u64, count: u64) -> HeatCell {
    let step = if value < 4 { 0 } else { value.ilog2() - 2 };
    let from_ns = value >> step << step;
    HeatCell { from_ns, to_ns: from_ns + (1 << step), count }
}

/// Buckets that are not empty, in two or three bytes each: distance to the one before and count, seven bits a
/// byte.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Packed(Box<[u8]>);

impl Packed {
    pub fn add_to(&self, counts: &mut Counts) {
        let mut rest = &self.0[..];
        let mut index = 0;
        while !rest.is_empty() {
            index += take(&mut rest) as usize;
            counts.add(index, take(&mut rest));
        }
    }
}

fn put(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn take(rest: &mut &[u8]) -> u64 {
    let mut value = 0;
    let mut shift = 0;
    while let Some((byte, after)) = rest.split_first() {
        *rest = after;
        value |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            break;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn histogram(values: &[u64]) -> Histogram<u64> {
        let mut histogram = Histogram::new_with_bounds(1, 3_600_000_000_000, 3).unwrap();
        values.iter().for_each(|value| histogram.record(*value).unwrap());
        histogram
    }

    #[test]
    fn indices_by_hand() {
        // Up to 2 047 each value has its own; 2 048 and 2 049 share the first bucket of width 2.
        assert_eq!([0, 1, 2_047, 2_048, 2_049, 2_050].map(index_of), [0, 1, 2_047, 2_048, 2_048, 2_049]);
        // 4 096 = 2^12: shift 2, (2 << 10) + 1 024.
        assert_eq!((index_of(4_096), bucket_at(3_072)), (3_072, (4_096, 4)));
        assert!(index_of(3_600_000_000_000) < SLOTS);
    }

    #[test]
    fn heat_cells_by_hand() {
        let mut counts = Counts::new();
        // The octave from 1 024 has the steps 1 024, 1 280, 1 536, 1 792.
        counts.add_histogram(&histogram(&[1_024, 1_279, 1_280, 3, 1_000_000]));
        let cells: Vec<_> =
            counts.filled().heat().iter().map(|cell| (cell.from_ns, cell.to_ns, cell.count)).collect();
        // 1 000 000 lies between 3·2^18 = 786 432 and 2^20: its step is 2^17, from 7·2^17 = 917 504.
        assert_eq!(cells, [(3, 4, 1), (1_024, 1_280, 2), (1_280, 1_536, 1), (917_504, 1_048_576, 1)]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn the_same_buckets_as_hdrhistogram(
            values in prop::collection::vec(0u64..3_600_000_000_000, 1..200),
            shift in 0u32..40,
        ) {
            let values: Vec<u64> = values.iter().map(|value| value >> shift).collect();
            let theirs = histogram(&values);
            let mut ours = Counts::new();
            ours.add_histogram(&theirs);
            prop_assert_eq!(ours.total(), values.len() as u64);
            let quantiles = [0.5, 0.9, 0.99, 0.999, 1.0];
            let mut found = Vec::new();
            ours.filled().quantiles(quantiles.into_iter(), |place, value| found.push((place, value)));
            let expected: Vec<_> =
                quantiles.into_iter().map(|quantile| theirs.value_at_quantile(quantile)).enumerate().collect();
            prop_assert_eq!(found, expected);
            for value in values {
                prop_assert_eq!(bucket_at(index_of(value)).0, theirs.lowest_equivalent(value));
                prop_assert_eq!(highest_at(index_of(value)), theirs.highest_equivalent(value));
            }
            let mut again = Counts::new();
            ours.filled().pack().add_to(&mut again);
            let (again, ours_filled) = (again.filled(), ours.filled());
            prop_assert_eq!(again.buckets(), ours_filled.buckets());
            prop_assert_eq!(ours.filled().heat().iter().map(|cell| cell.count).sum::<u64>(), ours.total());
        }
    }
}
