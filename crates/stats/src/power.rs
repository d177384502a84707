//! How many trials a side would show a difference of a given size.
//!
//! With n trials a side of relative spread s (standard deviation ÷ mean), a t test at the two-sided level α =
//! 0.05 finds a relative difference d with probability 1 − β = 0.8 if
//!
//! ```text
//! n ≥ 2 · (s / d)² · (t(1 − α/2; 2n − 2) + t(1 − β; 2n − 2))²
//! ```
//!
//! which is solved by trying n = 2, 3, 4…; the result is that of an exact calculation or one more. The rank
//! test needs π/3 times as many (its asymptotic relative efficiency on normal values is 3/π), and at least as
//! many as can reach α at all.

use crate::ranks::least_p;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Probability of a false alarm, both sides together.
pub const ALPHA: f64 = 0.05;
/// Probability to find a difference that is there.
pub const POWER: f64 = 0.8;
/// Beyond this many the answer is only "more".
pub const MOST: u64 = 10_000;

/// Trials a side for a t test to show the relative difference `shown`; [`MOST`] stands for that many or more.
pub fn trials_for_means(spread: f64, shown: f64) -> u64 {
    let enough = |n: u64| {
        let Ok(t) = StudentsT::new(0.0, 1.0, (2 * n - 2) as f64) else { return false };
        let reach = t.inverse_cdf(1.0 - ALPHA / 2.0) + t.inverse_cdf(POWER);
        n as f64 >= 2.0 * (spread / shown * reach).powi(2)
    };
    if !spread.is_finite() {
        return MOST;
    }
    // What is enough stays enough with one more: halve the range.
    let (mut low, mut high) = (2, MOST);
    while low < high {
        let middle = (low + high) / 2;
        if enough(middle) { high = middle } else { low = middle + 1 }
    }
    low
}

/// The same for a rank test whose probability is multiplied by `family` (Holm's first step).
pub fn trials_for_ranks(spread: f64, shown: f64, family: usize) -> u64 {
    let by_spread = (trials_for_means(spread, shown) as f64 * std::f64::consts::FRAC_PI_3).ceil() as u64;
    by_spread.max(least_trials_for_ranks(ALPHA / family.max(1) as f64)).min(MOST)
}

/// Trials a side below which no order of ranks has a two-sided probability of at most `level`. (A one-sided one
/// is half as large.)
pub fn least_trials_for_ranks(level: f64) -> u64 {
    (2..100).find(|n| least_p(*n, *n) <= level).unwrap_or(100) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trials_as_tables_have_them() {
        // R: power.t.test(delta = 1, sd = s, power = 0.8) gives n = 16.71 for s = 1, 5.09 for s = 0.5, 63.8 for
        // s = 2; Cohen's table 2.4.1: 17, 6, 64.
        assert_eq!(trials_for_means(1.0, 1.0), 17);
        assert_eq!(trials_for_means(0.5, 1.0), 6);
        assert_eq!(trials_for_means(2.0, 1.0), 64);
        assert_eq!(trials_for_means(0.0, 0.05), 2);
        assert_eq!(trials_for_means(f64::NAN, 0.05), MOST);
        assert_eq!(trials_for_means(1e9, 0.05), MOST);
    }

    #[test]
    fn ranks_need_more() {
        // 17 · π/3 = 17.8
        assert_eq!(trials_for_ranks(1.0, 1.0, 1), 18);
        // 2/C(8,4) = 0.029; four times that is too much, 4 · 2/C(10,5) = 0.032 is not.
        assert_eq!((least_trials_for_ranks(0.05), least_trials_for_ranks(0.05 / 4.0)), (4, 5));
        assert_eq!(trials_for_ranks(0.0, 0.05, 4), 5);
    }
}
