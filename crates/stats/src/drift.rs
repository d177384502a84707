//! Do values rise or fall over time? Mann and Kendall's test, which asks for ranks only.
//!
//! ```text
//! S = Σ sign(xⱼ − xᵢ) over all i < j          tau = S / (n(n − 1)/2)
//! p = P(|S| at least so large), of all orders of the values alike
//! ```
//!
//! Counted exactly up to [`MOST_EXACT`] values without ties; otherwise the normal distribution with its
//! corrections for ties and continuity. H. B. Mann, Econometrica 13 (1945), 245–259; M. G. Kendall, Rank
//! Correlation Methods (1970), ch. 4–5.

use crate::claim::Refusal;
use statrs::distribution::{ContinuousCDF, Normal};

/// Chance of a false alarm, of this and of [`crate::dependence::check`] each. Five values that always rise have
/// p = 2/120.
pub const ALARM: f64 = 0.02;
/// Values that are counted exactly.
const MOST_EXACT: usize = 40;

/// Kendall's tau of values and time, and how often chance alone gives one so far from 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    pub tau: f64,
    pub p: f64,
}

/// Of values in the order of time; `None` of fewer than two.
pub fn mann_kendall(values: &[f64]) -> Option<Trend> {
    let n = values.len();
    if n < 2 {
        return None;
    }
    let score: i64 = values
        .iter()
        .enumerate()
        .flat_map(|(at, early)| values[at + 1..].iter().map(move |late| late.total_cmp(early) as i64))
        .sum();
    let pairs = n * (n - 1) / 2;
    let ties = ties(values);
    let p = if n <= MOST_EXACT && ties.is_empty() { exact(n, score) } else { normal(n, score, &ties) };
    Some(Trend { tau: score as f64 / pairs as f64, p })
}

/// Refuses values that drift.
pub fn check(values: &[f64]) -> Result<(), Refusal> {
    check_at(values, ALARM)
}

pub(crate) fn check_at(values: &[f64], alarm: f64) -> Result<(), Refusal> {
    match mann_kendall(values) {
        Some(Trend { tau, p }) if p <= alarm => Err(Refusal::Drift { tau, p }),
        _ => Ok(()),
    }
}

/// Sizes of the groups of equal values.
fn ties(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.chunk_by(|a, b| a == b).map(|tied| tied.len() as f64).filter(|size| *size > 1.0).collect()
}

/// Orders of n values with k inversions are counted as those of n − 1 with k, k − 1 … k − n + 1; S = pairs −
/// 2k.
fn exact(n: usize, score: i64) -> f64 {
    let pairs = n * (n - 1) / 2;
    let mut share = vec![1.0];
    for size in 2..=n {
        let mut next = vec![0.0; share.len() + size - 1];
        for (inversions, of) in share.iter().enumerate() {
            next[inversions..inversions + size].iter_mut().for_each(|to| *to += of / size as f64);
        }
        share = next;
    }
    let inversions = (pairs - score.unsigned_abs() as usize) / 2;
    (2.0 * share[..=inversions].iter().sum::<f64>()).min(1.0)
}

fn normal(n: usize, score: i64, ties: &[f64]) -> f64 {
    let of = |n: f64| n * (n - 1.0) * (2.0 * n + 5.0);
    let spread = ((of(n as f64) - ties.iter().map(|size| of(*size)).sum::<f64>()) / 18.0).sqrt();
    if score == 0 || spread == 0.0 {
        return 1.0;
    }
    2.0 * Normal::standard().sf((score.abs() - 1) as f64 / spread)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_values_by_hand() {
        // 1 2 3 4 5: all ten pairs rise; 1 of 5! = 120 orders on each side.
        let rising = mann_kendall(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert!(rising.tau == 1.0 && (rising.p - 2.0 / 120.0).abs() < 1e-12, "{rising:?}");
        // Kendall's table for n = 4: P(S ≥ 4) = 4/24, so 8/24 both sides; 1 2 4 3 has one inversion, S = 6 − 2.
        let four = mann_kendall(&[1.0, 2.0, 4.0, 3.0]).unwrap();
        assert!((four.p - 8.0 / 24.0).abs() < 1e-12 && (four.tau - 4.0 / 6.0).abs() < 1e-12, "{four:?}");
        assert_eq!(mann_kendall(&[3.0, 3.0, 3.0]).unwrap(), Trend { tau: 0.0, p: 1.0 });
        assert_eq!(mann_kendall(&[3.0]), None);
    }

    #[test]
    fn many_values_agree_with_the_normal_distribution() {
        // Thirty values with S = 87: exact and approximate differ by little.
        let (exact, near) = (exact(30, 87), normal(30, 87, &[]));
        assert!((exact - near).abs() < 1e-3, "{exact} {near}");
    }

    #[test]
    fn drift_is_refused_and_noise_is_not() {
        let drifting: Vec<f64> = (0..10).map(|i| f64::from(i) + f64::from(i * 7 % 5) * 0.4).collect();
        assert!(matches!(check(&drifting), Err(Refusal::Drift { tau, .. }) if tau > 0.8));
        assert!(check(&[4.0, 9.0, 2.0, 7.0, 5.0, 10.0, 1.0, 6.0, 3.0, 8.0]).is_ok());
    }
}
