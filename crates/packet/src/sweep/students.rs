//! A mean of several trials, and where the true mean lies (Student's t). Only for values of whole trials.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Confidence of every interval.
pub const CONFIDENCE: f64 = 0.95;

/// A mean with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    pub count: usize,
    pub mean: f64,
    /// Half the width of the interval; `None` of a single value.
    pub half: Option<f64>,
    /// Standard deviation of the values, √(Σ(x − x̄)² / (n − 1)); `None` of a single value.
    pub deviation: Option<f64>,
    pub least: f64,
    pub most: f64,
}

impl Mean {
    /// x̄ ± t(0.975, n − 1) · s / √n; `None` of nothing.
    pub fn of(values: &[f64]) -> Option<Self> {
        let (count, n) = (values.len(), values.len() as f64);
        let least = values.iter().copied().min_by(f64::total_cmp)?;
        let most = values.iter().copied().max_by(f64::total_cmp)?;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = (count > 1).then(|| (squares / (n - 1.0)).sqrt());
        let quantile =
            |freedom| StudentsT::new(0.0, 1.0, freedom).ok().map(|t| t.inverse_cdf(0.5 + CONFIDENCE / 2.0));
        let half = deviation.and_then(|s| Some(quantile(n - 1.0)? * s / n.sqrt()));
        Some(Self { count, mean, half, deviation, least, most })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_trials_have_the_quantile_of_the_tables() {
        // t(0.975, 9) = 2.262 (any table). 1…10: mean 5.5, s = √(82.5 / 9) = 3.0277, half = 2.262 · 3.0277 / √10 = 2.1658.
        let values: Vec<f64> = (1..=10).map(f64::from).collect();
        let mean = Mean::of(&values).unwrap();
        assert_eq!((mean.count, mean.mean, mean.least, mean.most), (10, 5.5, 1.0, 10.0));
        assert!((mean.half.unwrap() - 2.1658).abs() < 1e-3, "{mean:?}");
        assert!((mean.deviation.unwrap() - 3.0277).abs() < 1e-4);
    }

    #[test]
    fn one_trial_has_no_interval() {
        let mean = Mean::of(&[7.0]).unwrap();
        assert_eq!((mean.mean, mean.half), (7.0, None));
        assert_eq!(Mean::of(&[]), None);
    }
}
