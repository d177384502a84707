//! A percentile of one trial, between two of its own values.
//!
//! ```text
//! x₍₁₎ ≤ … ≤ x₍ₗ₎ ≤ … ≤ x₍ᵤ₎ ≤ … ≤ x₍ₙ₎    of n independent values K ~ Bin(n, q) are below the true q-quantile
//!            └──── holds it ────┘         P(l ≤ K < u) ≥ level;  l the highest with P(K < l) ≤ α/2,
//!                                                                u the lowest with P(K ≥ u) ≤ α/2
//! ```
//!
//! No distribution is assumed (W. J. Conover, Practical Nonparametric Statistics (1999), §3.2; H. A. David and
//! H. N. Nagaraja, Order Statistics (2003), §7.1), but independence is, and latencies of one trial rarely have
//! it: one pause makes many of them long. So it is looked for, in the values and in which of them lie above the
//! quantile, the correlation of neighbours is stated beside the interval, and what depends is refused.
//! [`within`] takes those: it learns from the trial's own seconds how much the share above the quantile moves.
//!
//! ```text
//! p̂ ± t(1 − α/2; m − 1) · s/√m  of the shares above x in m stretches of time   ─►  the values at those shares
//! ```
//!
//! (R. S. Woodruff, J. Am. Stat. Assoc. 47 (1952), 635–646, with batch means for the error of the share.)

use crate::batch::{LEAST_BATCHES, Memory};
use crate::claim::{Claim, Interval, LEVEL, Method, Refusal, numbers};
use crate::drift::ALARM;
use crate::{dependence, drift, students, variance};
use statrs::distribution::{Binomial, DiscreteCDF};

/// Stretches of time into which the values are cut to see whether they drift.
const STRETCHES: usize = 20;

/// The q-quantile of independent values, in the order in which they were measured; `0 < q < 1`.
pub fn quantile(values: &[f64], q: f64) -> Claim {
    quantile_at(values, q, LEVEL)
}

/// The same with another confidence.
pub fn quantile_at(values: &[f64], q: f64, level: f64) -> Claim {
    numbers(values, 1)?;
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (low, high) = ranks(values.len(), q, level)?;
    let estimate = sorted[nearest(values.len(), q)];
    let above: Vec<f64> = values.iter().map(|value| f64::from(*value > estimate)).collect();
    let lag1 = dependence::lag1(values);
    check(values, &above)?;
    let ends = (sorted[low - 1], sorted[high - 1]);
    Ok(Interval::made(estimate, ends, level, Method::OrderStatistics, values.len())
        .with_autocorrelation(lag1))
}

/// Neither the values nor which of them are above the quantile may depend on time.
fn check(values: &[f64], above: &[f64]) -> Result<(), Refusal> {
    dependence::check_at(above, ALARM / 2.0)?;
    // Ranks, so that one huge value cannot hide how the others follow each other.
    dependence::check_at(&ranked(values), ALARM / 2.0)?;
    let size = values.len().div_ceil(STRETCHES);
    let shares: Vec<f64> = above.chunks(size).map(crate::mean).collect();
    drift::check_at(&shares, ALARM / 2.0)
}

/// Each value's place among all; equal values in the order of time.
fn ranked(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    order.iter().enumerate().for_each(|(rank, at)| ranks[*at] = rank as f64);
    ranks
}

/// Index of the nearest rank, ⌈q·n⌉ − 1.
fn nearest(n: usize, q: f64) -> usize {
    ((q * n as f64).ceil() as usize).clamp(1, n) - 1
}

/// Ranks, from 1, of the two of `n` independent values between which their q-quantile lies.
pub fn ranks(n: usize, q: f64, level: f64) -> Result<(usize, usize), Refusal> {
    let tail = (1.0 - level) / 2.0;
    let too_few = || Refusal::TooFew { what: "values".to_owned(), have: n, need: least(q, level) };
    let below = Binomial::new(q, n as u64).map_err(|_| too_few())?;
    // P(K < l) ≤ tail and P(K ≥ u) ≤ tail.
    let low = first(n, |rank| below.cdf(rank as u64) > tail);
    let high = first(n, |rank| 1.0 - below.cdf(rank as u64) <= tail) + 1;
    if low == 0 || high > n { Err(too_few()) } else { Ok((low, high)) }
}

/// The smallest k of 0 … n for which `holds`, which stays true once it is.
fn first(n: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, n);
    while low < high {
        let middle = (low + high) / 2;
        if holds(middle) { high = middle } else { low = middle + 1 }
    }
    low
}

/// Values of which the smallest is below, and the largest above, the q-quantile often enough.
fn least(q: f64, level: f64) -> usize {
    let tail = (1.0 - level) / 2.0;
    let far = q.max(1.0 - q);
    (tail.ln() / far.ln()).ceil().max(1.0) as usize
}

/// How many values a stretch of time had, and how many of them were above the trial's quantile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stretch {
    pub all: u64,
    pub above: u64,
}

/// The q-quantile of a trial of which histograms over time are kept, however its values depend on each other
/// within a stretch. `value_at` gives the trial's value at a share: `value_at(0.5)` its median.
pub fn within(stretches: &[Stretch], q: f64, value_at: impl Fn(f64) -> f64) -> Claim {
    let all: u64 = stretches.iter().map(|stretch| stretch.all).sum();
    let above: u64 = stretches.iter().map(|stretch| stretch.above).sum();
    let short = |what: &str, have: usize, need: usize| Refusal::TooFew { what: what.to_owned(), have, need };
    if stretches.len() < LEAST_BATCHES {
        return Err(short("stretches of time", stretches.len(), LEAST_BATCHES));
    }
    if all == 0 {
        return Err(short("values", 0, least(q, LEVEL)));
    }
    let (share, usual) = (above as f64 / all as f64, all as f64 / stretches.len() as f64);
    // The error of a ratio: what each stretch has above its part, by the usual size (W. G. Cochran, Sampling
    // Techniques, §6.4).
    let off: Vec<f64> =
        stretches.iter().map(|of| share + (of.above as f64 - share * of.all as f64) / usual).collect();
    let batches = Memory::of(&off).batches(&off)?;
    drift::check(&batches)?;
    let m = batches.len() as f64;
    let half = students::quantile(0.5 + LEVEL / 2.0, m - 1.0) * (variance(&batches) / m).sqrt();
    // A share of which no stretch differs is as uncertain as that of independent values.
    let half = half.max(1.96 * (q * (1.0 - q) / all as f64).sqrt() * f64::from(u8::from(half == 0.0)));
    if q - half <= 0.0 || q + half >= 1.0 {
        return Err(short(
            "values",
            all as usize,
            (all as f64 * (half / q.min(1.0 - q)).powi(2)).ceil() as usize,
        ));
    }
    let ends = (value_at(q - half), value_at(q + half));
    Ok(Interval::made(value_at(q), ends, LEVEL, Method::BatchMeans, batches.len())
        .with_autocorrelation(dependence::lag1(&off)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_those_of_the_tables() {
        // Conover (1999), §3.2, and any table of the sign test: n = 10 median: ranks 2 and 9 (P = 0.9785); n =
        // 6: 1 and 6 (0.9688); with 5, 1 and 5 hold it in only 0.9375.
        assert_eq!(ranks(10, 0.5, 0.95), Ok((2, 9)));
        assert_eq!(ranks(6, 0.5, 0.95), Ok((1, 6)));
        assert_eq!(ranks(5, 0.5, 0.95), Err(Refusal::TooFew { what: "values".into(), have: 5, need: 6 }));
        // 0.99^n ≤ 0.025: n ≥ 367.04.
        assert!(ranks(367, 0.99, 0.95).is_err() && ranks(368, 0.99, 0.95).is_ok());
        // scipy 1.17: binom.ppf(0.025, 10000, 0.99) = 9880, binom.ppf(0.975, …) = 9919: x₍₉₈₈₀₎ … x₍₉₉₂₀₎.
        assert_eq!(ranks(10_000, 0.99, 0.95), Ok((9_880, 9_920)));
    }

    #[test]
    fn values_that_follow_each_other_are_refused() {
        let waves: Vec<f64> = (0..2_000).map(|i| (f64::from(i) / 100.0).sin()).collect();
        assert!(matches!(quantile(&waves, 0.9), Err(Refusal::Dependent { lag1, .. }) if lag1 > 0.9));
    }

    #[test]
    fn stretches_by_hand() {
        // Ten stretches of 100 values, 8 or 12 of each above: mean share 0.1, s = 0.02 · √(10/9) = 0.021082,
        // half = 2.262 · 0.021082 / √10 = 0.01508; values are their shares.
        let stretches: Vec<Stretch> = [8, 12, 12, 8, 12, 8, 8, 12, 12, 8]
            .into_iter()
            .map(|above| Stretch { all: 100, above })
            .collect();
        let interval = within(&stretches, 0.9, |share| share).unwrap();
        assert!(
            (interval.low() - 0.884_92).abs() < 1e-4 && (interval.high() - 0.915_08).abs() < 1e-4,
            "{interval}"
        );
        assert!(matches!(within(&stretches[..4], 0.9, |share| share), Err(Refusal::TooFew { have: 4, .. })));
    }
}
