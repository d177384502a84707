//! The mean of a long series of one trial, such as a rate of its seconds: means of batches, as long as the
//! series remembers.
//!
//! ```text
//! x₁ x₂ … x_b | x_b₊₁ … x₂b | …        m batches of b values, b ≥ 7 τ;   ȳ ± t(1 − α/2; m − 1) · s_y / √m
//!    ȳ₁             ȳ₂
//! τ = 1 + 2 (r₁ + r₂ + … + r_w)        how many neighbours say the same as one independent value;
//!                                      w the least ≥ 5 τ
//!   ≥ (1 + r₁) / (1 − r₁)              what it is if each value depends on the one before alone
//! ```
//!
//! Batch means: A. M. Law, Simulation Modeling and Analysis (2015), §9.5.3; von Neumann's ratio checks that
//! batches are independent (ibid., after Fishman). The values shall be sums or means of many: a second's
//! answers, not single ones. τ with its window: A. D. Sokal, "Monte Carlo Methods in Statistical Mechanics"
//! (1997), §3.

use crate::claim::{Claim, LEVEL, Method, Refusal, numbers};
use crate::{dependence, drift, mean, students};

/// Fewer batches say too little of their own spread.
pub const LEAST_BATCHES: usize = 10;
/// More make the interval hardly narrower.
const MOST_BATCHES: usize = 30;
/// A batch is so many times as long as what the series remembers.
const TIMES: f64 = 7.0;
/// Correlations are added up over so many times what they come to.
const WINDOW: f64 = 5.0;
/// Neighbours that chance makes as alike in more cases than this are taken as independent.
const ALIKE: f64 = 0.1;

/// How long a series remembers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Memory {
    /// τ, in values; at least 1, which is that of independent ones.
    pub values: f64,
}

impl Memory {
    /// Of a series in the order of time.
    pub fn of(series: &[f64]) -> Self {
        if dependence::von_neumann(series) > ALIKE {
            return Self { values: 1.0 };
        }
        let (n, middle) = (series.len(), mean(series));
        let off: Vec<f64> = series.iter().map(|value| value - middle).collect();
        let squares: f64 = off.iter().map(|off| off * off).sum();
        let mut tau = 1.0;
        if squares > 0.0 {
            for lag in 1..n / 2 {
                let products: f64 = off.iter().zip(&off[lag..]).map(|(early, late)| early * late).sum();
                tau += 2.0 * products / squares;
                if lag as f64 >= WINDOW * tau {
                    break;
                }
            }
        }
        let lag1 = dependence::lag1(series).clamp(0.0, 0.999);
        Self { values: tau.max((1.0 + lag1) / (1.0 - lag1)) }
    }

    /// Means of batches that are long enough, the values that are left over left out at the start.
    pub(crate) fn batches(self, series: &[f64]) -> Result<Vec<f64>, Refusal> {
        let n = series.len();
        let short = || Refusal::TooFew { what: "values over time".to_owned(), have: n, need: LEAST_BATCHES };
        if n < LEAST_BATCHES {
            return Err(short());
        }
        let by_memory = if self.values > 1.0 { (TIMES * self.values).ceil() as usize } else { 1 };
        let size = n.div_ceil(MOST_BATCHES).max(by_memory);
        if n / size < LEAST_BATCHES {
            let p = dependence::von_neumann(series);
            return Err(Refusal::Dependent { lag1: dependence::lag1(series), p });
        }
        let batches: Vec<f64> = series[n % size..].chunks_exact(size).map(mean).collect();
        dependence::check(&batches)?;
        Ok(batches)
    }
}

/// Where the mean of a stationary series lies, such as the rate of a trial by its seconds.
pub fn interval(series: &[f64]) -> Claim {
    numbers(series, 1)?;
    if series.iter().all(|value| *value == series[0]) && series.len() > 1 {
        return Err(Refusal::NoSpread { value: series[0], count: series.len() });
    }
    let batches = Memory::of(series).batches(series)?;
    drift::check(&batches)?;
    Ok(students::plain(&batches, LEVEL, Method::BatchMeans))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_by_hand() {
        // Twenty values, alternating 1 and 3: τ is cut to 1; 20 batches of one; mean 2, s = √(20/19), t(19) =
        // 2.093.
        let series: Vec<f64> = (0..20).map(|i| f64::from(1 + 2 * (i % 2))).collect();
        assert_eq!(Memory::of(&series).values, 1.0);
        let interval = interval(&series).unwrap();
        let half = 2.093 * (20.0_f64 / 19.0 / 20.0).sqrt();
        assert!((interval.half() - half).abs() < 1e-3 && interval.estimate() == 2.0, "{interval}");
    }

    #[test]
    fn a_series_that_remembers_too_long_is_refused() {
        let waves: Vec<f64> = (0..60).map(|i| (f64::from(i) / 5.0).sin()).collect();
        assert!(matches!(interval(&waves), Err(Refusal::Dependent { lag1, .. }) if lag1 > 0.8));
        assert!(matches!(interval(&[1.0, 2.0, 1.5]), Err(Refusal::TooFew { have: 3, need: 10, .. })));
        assert!(matches!(interval(&[7.0; 30]), Err(Refusal::NoSpread { .. })));
    }
}
