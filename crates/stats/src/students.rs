//! Means of several trials, and where the true mean lies (Student's t). Only for values of whole trials.
//!
//! ```text
//! x̄ ± t(1 − α/2; n − 1) · s / √n          t(0.975; 9) = 2.262
//! ```
//!
//! "Student", Biometrika 6 (1908), 1–25. It rests on values that are independent and about normal. A mean of
//! thousands is about normal; that trials neither drift nor depend on each other is looked at, as far as so few
//! values can show it.

use crate::claim::{Claim, Interval, LEVEL, Method, Refusal, numbers};
use crate::{dependence, drift, mean, variance};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Two values have a spread, but nothing shows whether it is that of three.
pub const LEAST: usize = 3;

/// t(p; freedom): the value that Student's t is below with probability `p`. `freedom` at least 1; infinite is
/// the normal one.
pub fn quantile(p: f64, freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom).map_or(f64::NAN, |t| t.inverse_cdf(p))
}

/// Where the mean of trials lies, of one value a trial, in the order in which they ran.
pub fn interval(values: &[f64]) -> Claim {
    interval_at(values, LEVEL)
}

/// The same with another confidence.
pub fn interval_at(values: &[f64], level: f64) -> Claim {
    numbers(values, LEAST)?;
    if values.iter().all(|value| *value == values[0]) {
        return Err(Refusal::NoSpread { value: values[0], count: values.len() });
    }
    drift::check(values)?;
    dependence::check(values)?;
    Ok(plain(values, level, Method::StudentT))
}

/// The bare formula, of at least two values that were checked.
pub(crate) fn plain(values: &[f64], level: f64, method: Method) -> Interval {
    let n = values.len() as f64;
    let half = quantile(0.5 + level / 2.0, n - 1.0) * (variance(values) / n).sqrt();
    let mean = mean(values);
    Interval::made(mean, (mean - half, mean + half), level, method, values.len())
        .with_autocorrelation(dependence::lag1(values))
}

/// A mean with what is known of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Mean {
    pub count: usize,
    pub mean: f64,
    /// Where the true mean lies, or why nothing says so.
    pub claim: Claim,
    /// Standard deviation of the values, √(Σ(x − x̄)² / (n − 1)); `None` of a single value.
    pub deviation: Option<f64>,
    pub least: f64,
    pub most: f64,
}

impl Mean {
    /// `None` of nothing.
    pub fn of(values: &[f64]) -> Option<Self> {
        let least = values.iter().copied().min_by(f64::total_cmp)?;
        let most = values.iter().copied().max_by(f64::total_cmp)?;
        let deviation = (values.len() > 1).then(|| variance(values).sqrt());
        Some(Self {
            count: values.len(),
            mean: mean(values),
            claim: interval(values),
            deviation,
            least,
            most,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 … 10 in an order that neither drifts nor depends on itself.
    const MIXED: [f64; 10] = [4.0, 9.0, 2.0, 7.0, 5.0, 10.0, 1.0, 6.0, 3.0, 8.0];

    #[test]
    fn quantiles_are_those_of_the_tables() {
        // Any table of t at 0.975: 12.706 (1), 4.303 (2), 2.262 (9), 2.045 (29); 1.833 at 0.95 (9).
        for (p, freedom, expected) in [
            (0.975, 1.0, 12.706),
            (0.975, 2.0, 4.303),
            (0.975, 9.0, 2.262),
            (0.975, 29.0, 2.045),
            (0.95, 9.0, 1.833),
        ] {
            assert!(
                (quantile(p, freedom) - expected).abs() < 5e-4,
                "{p} {freedom}: {}",
                quantile(p, freedom)
            );
        }
    }

    #[test]
    fn ten_trials_have_the_quantile_of_the_tables() {
        // 1…10: mean 5.5, s = √(82.5 / 9) = 3.0277, half = 2.262 · 3.0277 / √10 = 2.1658.
        let mean = Mean::of(&MIXED).unwrap();
        assert_eq!((mean.count, mean.mean, mean.least, mean.most), (10, 5.5, 1.0, 10.0));
        let interval = mean.claim.unwrap();
        assert!((interval.half() - 2.1658).abs() < 1e-3, "{interval}");
        assert!((mean.deviation.unwrap() - 3.0277).abs() < 1e-4);
    }

    #[test]
    fn what_says_nothing_is_refused() {
        let mean = Mean::of(&[7.0]).unwrap();
        assert_eq!((mean.mean, mean.claim), (7.0, Err(Refusal::TooFewTrials { have: 1, need: 3 })));
        assert_eq!(Mean::of(&[]), None);
        assert_eq!(interval(&[1.0, f64::NAN]), Err(Refusal::NotNumbers { at: 1 }));
        assert_eq!(interval(&[2.0; 5]), Err(Refusal::NoSpread { value: 2.0, count: 5 }));
        let rising: Vec<f64> = (1..=10).map(f64::from).collect();
        assert!(matches!(interval(&rising), Err(Refusal::Drift { tau: 1.0, .. })), "{:?}", interval(&rising));
    }
}
