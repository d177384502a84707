//! The few statistics that the tables need: nearest-rank percentiles, medians, and ratios of paired rounds.

use serde::Serialize;

/// The nearest-rank percentile: the smallest value that at least `share` (0..=1) of `sorted` do not exceed.
/// `None` when there are no values.
pub fn percentile(sorted: &[u64], share: f64) -> Option<u64> {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied()
}

/// The median; of an even number of values the mean of the middle two. `None` when there are no values.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let upper = *sorted.get(sorted.len() / 2)?;
    let lower = sorted[(sorted.len() - 1) / 2];
    Some((lower + upper) / 2.0)
}

/// A median with the range that it was taken from.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    pub median: f64,
    pub min: f64,
    pub max: f64,
}

impl Spread {
    /// `None` when there are no values.
    pub fn of(values: &[f64]) -> Option<Self> {
        let median = median(values)?;
        let min = values.iter().copied().fold(f64::INFINITY, f64::min);
        let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Some(Self { median, min, max })
    }
}

/// `ours / theirs` for each pair. Rounds are paired because whatever slows the machine for a while slows both.
/// Pairs without a positive denominator are left out.
pub fn ratios(pairs: &[(f64, f64)]) -> Vec<f64> {
    pairs.iter().filter(|(_, theirs)| *theirs > 0.0).map(|(ours, theirs)| ours / theirs).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentile_is_the_nearest_rank() {
        // Ranks ceil(p·5): p50 → ceil(2.5) = 3rd, p95 → ceil(4.75) = 5th, p20 → 1st, p0 → clamped to the 1st.
        let sorted = [10, 20, 30, 40, 50];
        assert_eq!(percentile(&sorted, 0.50), Some(30));
        assert_eq!(percentile(&sorted, 0.95), Some(50));
        assert_eq!(percentile(&sorted, 0.20), Some(10));
        assert_eq!(percentile(&sorted, 0.0), Some(10));
        assert_eq!(percentile(&sorted, 1.0), Some(50));
        assert_eq!(percentile(&[], 0.5), None);
    }

    #[test]
    fn median_of_odd_and_even_counts() {
        assert_eq!(median(&[5.0, 1.0, 3.0]), Some(3.0));
        // (2 + 8) / 2
        assert_eq!(median(&[8.0, 1.0, 2.0, 9.0]), Some(5.0));
        assert_eq!(median(&[4.0]), Some(4.0));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn ratios_keep_rounds_together() {
        // A machine that is twice as slow in the second round moves both, and the ratio not at all.
        let ratios = ratios(&[(120.0, 100.0), (60.0, 50.0), (1.0, 0.0)]);
        assert_eq!(ratios, [1.2, 1.2]);
        assert_eq!(Spread::of(&[3.0, 1.0, 2.0]), Some(Spread { median: 2.0, min: 1.0, max: 3.0 }));
    }
}
