//! Mann–Whitney's test: does one set of values tend to be larger than another, whatever their distribution?
//!
//! ```text
//! U = number of pairs (x, y) with y > x, plus half of those with y = x        of n·m pairs
//! p = P(U so far from n·m / 2), over all ways to deal the ranks of the n + m values to both sides
//! ```
//!
//! The probability is counted exactly, ties included, up to [`MOST_EXACT`] values; beyond that the normal
//! approximation with its correction for ties and continuity is as good. H. B. Mann and D. R. Whitney, Ann.
//! Math. Stat. 18 (1947), 50–60.
//!
//! Three trials and three are too few: the most extreme of their 20 orders has p = 2/20. Four and four (2/70)
//! can show something.
//!
//! The estimate of how `y` compares to `x` is Hodges and Lehmann's: the median of the ratios of all pairs; its
//! confidence interval lies between two of them (Ann. Math. Stat. 34 (1963), 598–611). The effect size is
//! Cliff's delta, the share of pairs with y > x less that of pairs with y < x: from −1 to 1.

use statrs::distribution::{ContinuousCDF, Normal};
use std::cmp::Ordering;

/// Values on both sides together that are still counted exactly.
pub const MOST_EXACT: usize = 60;

/// How often chance alone gives what was seen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranks {
    /// Pairs with y > x; those with y = x count one half.
    pub u: f64,
    /// A difference at least as large, either way.
    pub p: f64,
    /// `y` at least so far above `x`.
    pub p_above: f64,
    /// `y` at least so far below `x`.
    pub p_below: f64,
}

/// `y` against `k·x`; `None` if a side is empty.
pub fn mann_whitney(x: &[f64], y: &[f64], k: f64) -> Option<Ranks> {
    if x.is_empty() || y.is_empty() {
        return None;
    }
    let x: Vec<f64> = x.iter().map(|value| k * value).collect();
    let u = pairs(&x, y).map(weight).sum();
    let (p_below, p_above) = match x.len() + y.len() {
        few if few <= MOST_EXACT => exact_tails(&x, y),
        _ => normal_tails(&x, y, u),
    };
    Some(Ranks { u, p: (2.0 * p_below.min(p_above)).min(1.0), p_above, p_below })
}

/// The share of pairs with y > x less the share with y < x.
pub fn cliffs_delta(x: &[f64], y: &[f64]) -> Option<f64> {
    let all = x.len() * y.len();
    let balance: i64 = pairs(x, y).map(|order| order as i64).sum();
    (all > 0).then(|| balance as f64 / all as f64)
}

/// How many times as large `y` is as `x`, and the interval that holds it with this confidence, if so few values
/// can say. All values must be above 0, or there is no ratio.
pub fn ratio(x: &[f64], y: &[f64], confidence: f64) -> Option<(f64, Option<(f64, f64)>)> {
    if x.is_empty() || y.is_empty() || x.iter().chain(y).any(|value| value.is_nan() || *value <= 0.0) {
        return None;
    }
    let mut ratios: Vec<f64> = x.iter().flat_map(|x| y.iter().map(move |y| y / x)).collect();
    ratios.sort_by(f64::total_cmp);
    let middle = ratios.len() / 2;
    let estimate = match ratios.len() % 2 {
        1 => ratios[middle],
        // Between two ratios the middle is the geometric one: then y/x is the inverse of x/y.
        _ => (ratios[middle - 1] * ratios[middle]).sqrt(),
    };
    let cut = cut_off(x.len(), y.len(), (1.0 - confidence) / 2.0);
    let interval = cut.checked_sub(1).map(|low| (ratios[low], ratios[ratios.len() - 1 - low]));
    Some((estimate, interval))
}

/// The smallest two-sided p that so many values can have.
pub fn least_p(n: usize, m: usize) -> f64 {
    let ways: f64 = (1..=m).map(|i| (n + i) as f64 / i as f64).product();
    (2.0 / ways).min(1.0)
}

/// Of every pair, how `y` compares to `x`.
fn pairs(x: &[f64], y: &[f64]) -> impl Iterator<Item = Ordering> {
    x.iter().flat_map(move |x| y.iter().map(move |y| y.total_cmp(x)))
}

fn weight(order: Ordering) -> f64 {
    match order {
        Ordering::Greater => 1.0,
        Ordering::Equal => 0.5,
        Ordering::Less => 0.0,
    }
}

/// P(U ≤ seen) and P(U ≥ seen).
fn exact_tails(x: &[f64], y: &[f64]) -> (f64, f64) {
    let ranks = doubled_ranks(x, y);
    let (of_x, of_y) = ranks.split_at(x.len());
    let seen: usize = of_y.iter().sum();
    let ways = ways_by_sum(of_x.iter().chain(of_y).copied(), y.len());
    let all: f64 = ways.iter().sum();
    let at_most: f64 = ways[..=seen].iter().sum();
    let at_least: f64 = ways[seen..].iter().sum();
    (at_most / all, at_least / all)
}

/// In how many ways `chosen` of the ranks have each sum. (Counts above 2⁵³ lose their last digits, no more.)
fn ways_by_sum(ranks: impl Iterator<Item = usize>, chosen: usize) -> Vec<f64> {
    let ranks: Vec<usize> = ranks.collect();
    let sums = ranks.iter().sum::<usize>() + 1;
    // ways[c][s]: ways to choose c of the ranks so far with the sum s.
    let mut ways = vec![vec![0.0; sums]; chosen + 1];
    ways[0][0] = 1.0;
    for (seen, rank) in ranks.iter().enumerate() {
        for count in (1..=chosen.min(seen + 1)).rev() {
            let (fewer, these) = ways.split_at_mut(count);
            let from = &fewer[count - 1];
            these[0][*rank..].iter_mut().zip(from).for_each(|(to, from)| *to += from);
        }
    }
    ways.swap_remove(chosen)
}

/// Twice the rank of each value among all, those of `x` first; equal values share the mean of their ranks.
fn doubled_ranks(x: &[f64], y: &[f64]) -> Vec<usize> {
    let all: Vec<f64> = x.iter().chain(y).copied().collect();
    let rank = |value: &f64| {
        let below = all.iter().filter(|other| other.total_cmp(value).is_lt()).count();
        let equal = all.iter().filter(|other| other.total_cmp(value).is_eq()).count();
        // Ranks below+1 … below+equal; twice their mean.
        2 * below + equal + 1
    };
    all.iter().map(rank).collect()
}

fn normal_tails(x: &[f64], y: &[f64], u: f64) -> (f64, f64) {
    let (n, m) = (x.len() as f64, y.len() as f64);
    let all = n + m;
    let mut sorted: Vec<f64> = x.iter().chain(y).copied().collect();
    sorted.sort_by(f64::total_cmp);
    let ties: f64 =
        sorted.chunk_by(|a, b| a == b).map(|tied| (tied.len() as f64).powi(3) - tied.len() as f64).sum();
    let spread = (n * m / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)))).sqrt();
    if spread == 0.0 {
        return (1.0, 1.0);
    }
    let normal = Normal::standard();
    let off = u - n * m / 2.0;
    (normal.cdf((off + 0.5) / spread), normal.sf((off - 0.5) / spread))
}

/// The largest k with P(U ≤ k − 1) ≤ `tail` where there are no ties; 0 if there is none.
fn cut_off(n: usize, m: usize, tail: f64) -> usize {
    if n + m > MOST_EXACT {
        let normal = Normal::standard();
        let (n, m) = (n as f64, m as f64);
        let spread = (n * m * (n + m + 1.0) / 12.0).sqrt();
        return (n * m / 2.0 + normal.inverse_cdf(tail) * spread).floor().max(0.0) as usize;
    }
    let ways = ways_by_sum(1..=n + m, m);
    let all: f64 = ways.iter().sum();
    let least = m * (m + 1) / 2;
    let mut so_far = 0.0;
    ways[least..]
        .iter()
        .take_while(|ways| {
            so_far += **ways;
            so_far / all <= tail
        })
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64, within: f64) -> bool {
        (a - b).abs() <= within
    }

    #[test]
    fn hollander_and_wolfe() {
        // R's help of wilcox.test (Hollander & Wolfe 1973, p. 69 ff.): x greater than y, W = 35, p-value =
        // 0.1272.
        let x = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
        let y = [1.15, 0.88, 0.90, 0.74, 1.21];
        let test = mann_whitney(&y, &x, 1.0).unwrap();
        assert_eq!(test.u, 35.0);
        assert!(close(test.p_above, 0.1272, 5e-5) && close(test.p, 0.2544, 1e-4), "{test:?}");
    }

    #[test]
    fn three_trials_can_show_nothing_and_four_can() {
        // 1 of C(6,3) = 20 orders and 1 of C(8,4) = 70 on each side.
        let test = mann_whitney(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0], 1.0).unwrap();
        assert!(close(test.p, 0.1, 1e-12) && close(test.p_above, 0.05, 1e-12) && test.p_below == 1.0);
        let test = mann_whitney(&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0], 1.0).unwrap();
        assert!(close(test.p, 2.0 / 70.0, 1e-12));
        assert!(close(least_p(3, 3), 0.1, 1e-12) && close(least_p(4, 4), 2.0 / 70.0, 1e-12));
    }

    #[test]
    fn ties_by_hand() {
        // Values 1 2 | 2 3: ranks 1, 2.5, 2.5, 4. Sums of two of the four (doubled: 2 5 5 8): 7 7 10 10 13 13.
        // The sum of y is 13: P(≥ 13) = 2/6, P(≤ 13) = 1. U = 3 pairs above and one tie: 3.5.
        let test = mann_whitney(&[1.0, 2.0], &[2.0, 3.0], 1.0).unwrap();
        assert_eq!(test.u, 3.5);
        assert!(close(test.p_above, 1.0 / 3.0, 1e-12) && close(test.p_below, 1.0, 1e-12), "{test:?}");
        let same = mann_whitney(&[2.0; 5], &[2.0; 5], 1.0).unwrap();
        assert_eq!(same.p, 1.0);
    }

    #[test]
    fn many_values_by_the_normal_distribution() {
        // Just below and just above the limit the two ways must agree.
        let x: Vec<f64> = (0..30).map(f64::from).collect();
        let y: Vec<f64> = (0..30).map(|i| f64::from(i) + 6.5).collect();
        let exact = mann_whitney(&x, &y, 1.0).unwrap();
        let (below, above) = normal_tails(&x, &y, exact.u);
        assert!(close(exact.p_above, above, 1e-3) && close(exact.p_below, below, 1e-3), "{exact:?} {above}");
    }

    #[test]
    fn ratio_of_all_pairs() {
        // Ratios of 2, 4 to 1, 2: 2 4 1 2; in order 1 2 2 4, the middle 2.
        assert_eq!(ratio(&[1.0, 2.0], &[2.0, 4.0], 0.95).unwrap(), (2.0, None));
        // Four and four: P(U ≤ 0) = 1/70 ≤ 0.025 < P(U ≤ 1) = 2/70, so the interval is from the least to the
        // largest.
        let (x, y) = ([1.0, 1.1, 1.2, 1.3], [2.0, 2.2, 2.4, 2.6]);
        let (estimate, interval) = ratio(&x, &y, 0.95).unwrap();
        assert!((1.9..2.1).contains(&estimate), "{estimate}");
        assert_eq!(interval, Some((2.0 / 1.3, 2.6)));
        // Tables of Mann–Whitney's U at two-sided 0.05: critical values 2 for 5 and 5, 23 for 10 and 10; k is
        // one more.
        assert_eq!((cut_off(4, 4, 0.025), cut_off(5, 5, 0.025), cut_off(10, 10, 0.025)), (1, 3, 24));
        assert_eq!(ratio(&[0.0], &[1.0], 0.95), None);
    }

    #[test]
    fn cliffs_delta_counts_pairs() {
        assert_eq!(cliffs_delta(&[1.0, 2.0], &[3.0, 4.0]), Some(1.0));
        // Pairs of 1 3 with 2 2: above, above, below, below.
        assert_eq!(cliffs_delta(&[1.0, 3.0], &[2.0, 2.0]), Some(0.0));
        assert_eq!(cliffs_delta(&[], &[1.0]), None);
    }
}
