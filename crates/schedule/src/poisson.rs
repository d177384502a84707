//! Arrivals that know nothing of each other, as those of many users do.
//!
//! ```text
//! gap(n) = −ln(u(n)) / λ            u(n) evenly in (0, 1], from the seed and n
//! due(n) = floor(gap(0) + … + gap(n))
//!
//!      ││ │   │ │││    │ │  ││        mean of the gaps 1/λ, variance 1/λ²
//!      └┴─┴───┴─┴┴┴────┴─┴──┴┴── t    λ in events per second, as events / per exactly
//! ```
//!
//! The logarithm is taken to 56 binary places; from there on everything is whole numbers, and the remainder
//! of each division is carried to the next gap, so nothing is lost however long it runs. libm's logarithm is
//! made of additions and multiplications that IEEE 754 rounds alike everywhere: same seed, same times, on
//! every machine.

use crate::random::{Purpose, Random};
use crate::stream::Offset;
use units::{Picos, Rate};

/// Binary places of −ln(u), which is at most 53·ln 2 < 2⁶.
const PLACES: u32 = 56;

#[derive(Clone)]
pub struct Poisson {
    random: Random,
    drawn: u64,
    per_picos: u128,
    /// events · 2⁵⁶.
    divisor: u128,
    whole: u64,
    /// Less than `divisor`.
    remainder: u128,
}

impl Poisson {
    pub fn new(rate: Rate, seed: u64) -> Self {
        let (events, per) = rate.ratio();
        Self {
            random: Random::new(seed, Purpose::Gap),
            drawn: 0,
            per_picos: per.as_picos().into(),
            divisor: u128::from(events) << PLACES,
            whole: 0,
            remainder: 0,
        }
    }
}

impl Iterator for Poisson {
    type Item = Offset;

    /// Ends only after 213 days.
    fn next(&mut self) -> Option<Offset> {
        let gaps = (-libm::log(self.random.unit(self.drawn)) * (1u64 << PLACES) as f64) as u64;
        self.drawn += 1;
        // Below 2⁶² · 2⁶⁴ + 2¹²⁰.
        let sum = u128::from(gaps) * self.per_picos + self.remainder;
        self.remainder = sum % self.divisor;
        self.whole = self.whole.checked_add(u64::try_from(sum / self.divisor).ok()?)?;
        Some(Ok(Picos::from_picos(self.whole)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gaps(rate: &str, seed: u64, count: usize) -> Vec<f64> {
        let times = Poisson::new(rate.parse().unwrap(), seed).map(|offset| offset.unwrap().as_secs_f64());
        let mut last = 0.0;
        times.take(count).map(|time| time - std::mem::replace(&mut last, time)).collect()
    }

    #[test]
    fn mean_and_variance_are_those_of_the_exponential() {
        // At λ = 1000/s the mean and the standard deviation are 1 ms. Of 200 000 gaps the mean is within
        // 5/√200 000 = 1.1 % and the variance within 5·√(8/200 000) = 3.2 % (five sigma; the fourth central
        // moment of the exponential is 9/λ⁴).
        for seed in [0, 1, 0xdead_beef] {
            let gaps = gaps("1k", seed, 200_000);
            let n = gaps.len() as f64;
            let mean = gaps.iter().sum::<f64>() / n;
            let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / (n - 1.0);
            assert!((mean / 1e-3 - 1.0).abs() < 0.0112, "mean {mean}");
            assert!((variance / 1e-6 - 1.0).abs() < 0.0317, "variance {variance}");
        }
    }

    #[test]
    fn gaps_pass_a_chi_square_test() {
        // 50 classes of equal probability: 1 − exp(−λ·gap) is evenly distributed. χ² with 49 degrees of
        // freedom is below 85.4 with probability 0.999 and above 23.98 with probability 0.999 (tables).
        const CLASSES: usize = 50;
        for seed in 0..4 {
            let gaps = gaps("7", seed, 100_000);
            let mut counts = [0u32; CLASSES];
            for gap in &gaps {
                let class = (-(-7.0 * gap).exp_m1() * CLASSES as f64) as usize;
                counts[class.min(CLASSES - 1)] += 1;
            }
            let expected = gaps.len() as f64 / CLASSES as f64;
            let chi2 = counts.iter().map(|c| (f64::from(*c) - expected).powi(2) / expected).sum::<f64>();
            assert!((23.98..85.4).contains(&chi2), "seed {seed}: {chi2}");
        }
    }

    #[test]
    fn counts_in_equal_windows_are_dispersed_as_poisson() {
        // Of counts in 2 000 windows of 10 ms at 1 000/s, variance / mean is 1 ± 5·√(2/1 999) = ± 0.158.
        let mut counts = vec![0f64; 2_000];
        for offset in Poisson::new("1k".parse().unwrap(), 5) {
            let window = (offset.unwrap().as_picos() / 10_000_000_000) as usize;
            let Some(count) = counts.get_mut(window) else { break };
            *count += 1.0;
        }
        let mean = counts.iter().sum::<f64>() / 2_000.0;
        let variance = counts.iter().map(|c| (c - mean).powi(2)).sum::<f64>() / 1_999.0;
        assert!((variance / mean - 1.0).abs() < 0.158, "{}", variance / mean);
    }

    #[test]
    fn rates_scale_the_same_draws() {
        // Same seed: times at 1/s are 1000 times those at 1000/s, but for rounding down.
        let slow = Poisson::new("1".parse().unwrap(), 9).map(|t| t.unwrap().as_picos());
        let fast = Poisson::new("1000".parse().unwrap(), 9).map(|t| t.unwrap().as_picos());
        assert!(slow.zip(fast).take(100_000).all(|(slow, fast)| slow / 1_000 == fast));
    }
}
