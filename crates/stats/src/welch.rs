//! Welch's t test: do two means differ, when the spreads need not be the same?
//!
//! ```text
//! t = (ȳ − k·x̄) / √(k²·s²x/n + s²y/m)        k = 1 asks whether they differ,
//! ν = (k²·s²x/n + s²y/m)² /                   k = 1.05 whether y is more than 5 % above x
//!     ((k²·s²x/n)²/(n−1) + (s²y/m)²/(m−1))    Welch–Satterthwaite
//! ```
//!
//! B. L. Welch, Biometrika 34 (1947), 28–35. The effect size is Hedges' g: the difference in pooled standard
//! deviations, times `1 − 3 / (4(n + m) − 9)` (L. V. Hedges, J. Educ. Stat. 6 (1981), 107–128).

use crate::{mean, variance};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Two means set beside each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Welch {
    /// ȳ − k·x̄.
    pub difference: f64,
    /// Its standard error.
    pub error: f64,
    /// Infinite where neither side has any spread but the means differ.
    pub t: f64,
    /// Degrees of freedom; infinite where neither side has any spread.
    pub freedom: f64,
}

/// `y` against `k·x`; `None` unless both have two values or more.
pub fn welch(x: &[f64], y: &[f64], k: f64) -> Option<Welch> {
    if x.len() < 2 || y.len() < 2 {
        return None;
    }
    let (from_x, from_y) = (k * k * variance(x) / x.len() as f64, variance(y) / y.len() as f64);
    let (difference, both) = (mean(y) - k * mean(x), from_x + from_y);
    if both == 0.0 {
        let t = if difference == 0.0 { 0.0 } else { difference.signum() * f64::INFINITY };
        return Some(Welch { difference, error: 0.0, t, freedom: f64::INFINITY });
    }
    let parts = from_x * from_x / (x.len() - 1) as f64 + from_y * from_y / (y.len() - 1) as f64;
    Some(Welch { difference, error: both.sqrt(), t: difference / both.sqrt(), freedom: both * both / parts })
}

impl Welch {
    /// How often chance alone gives a difference at least as large, either way.
    pub fn p(&self) -> f64 {
        (2.0 * self.tail(self.t.abs())).min(1.0)
    }

    /// How often chance alone gives a `y` at least so far above `k·x`.
    pub fn p_above(&self) -> f64 {
        self.tail(self.t)
    }

    /// How often chance alone gives a `y` at least so far below `k·x`.
    pub fn p_below(&self) -> f64 {
        self.tail(-self.t)
    }

    /// The interval that holds the true difference with this confidence (0.95: in 19 of 20 cases).
    pub fn interval(&self, confidence: f64) -> (f64, f64) {
        let reach = match self.distribution() {
            Some(distribution) => distribution.inverse_cdf((1.0 + confidence) / 2.0) * self.error,
            None => 0.0,
        };
        (self.difference - reach, self.difference + reach)
    }

    /// P(T ≥ t).
    fn tail(&self, t: f64) -> f64 {
        match self.distribution() {
            Some(distribution) => distribution.sf(t),
            None if t > 0.0 => 0.0,
            None => 1.0,
        }
    }

    /// `None` without any spread.
    fn distribution(&self) -> Option<StudentsT> {
        let freedom = Some(self.freedom).filter(|freedom| freedom.is_finite())?;
        StudentsT::new(0.0, 1.0, freedom).ok()
    }
}

/// Hedges' g of `y` over `x`; `None` where there is no spread to measure it by, or fewer than two values.
pub fn hedges_g(x: &[f64], y: &[f64]) -> Option<f64> {
    if x.len() < 2 || y.len() < 2 {
        return None;
    }
    let (n, m) = (x.len() as f64, y.len() as f64);
    let pooled = ((n - 1.0) * variance(x) + (m - 1.0) * variance(y)) / (n + m - 2.0);
    let correction = 1.0 - 3.0 / (4.0 * (n + m) - 9.0);
    (pooled > 0.0).then(|| (mean(y) - mean(x)) / pooled.sqrt() * correction)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "Student" (1908), hours of sleep gained with two drugs: R's `sleep`.
    const FIRST: [f64; 10] = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
    const SECOND: [f64; 10] = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];

    fn close(a: f64, b: f64, within: f64) -> bool {
        (a - b).abs() <= within
    }

    #[test]
    fn students_own_data() {
        // R's help of t.test, `t.test(extra ~ group, data = sleep)` (there first − second):
        // t = -1.8608, df = 17.776, p-value = 0.07939, 95 percent confidence interval -3.3654832 0.2054832.
        let test = welch(&FIRST, &SECOND, 1.0).unwrap();
        assert!(close(test.t, 1.8608, 5e-5), "{test:?}");
        assert!(close(test.freedom, 17.776, 5e-4), "{test:?}");
        assert!(close(test.p(), 0.07939, 5e-6), "{}", test.p());
        let (low, high) = test.interval(0.95);
        assert!(close(low, -0.2054832, 1e-6) && close(high, 3.3654832, 1e-6), "{low} {high}");
        assert!(close(test.p_above(), 0.07939 / 2.0, 5e-6) && close(test.p_below(), 1.0 - 0.039697, 5e-6));
    }

    #[test]
    fn effect_size_of_students_data() {
        // By hand: means 0.75 and 2.33; Σ(x − x̄)² = 28.805 and 36.081; pooled s² = 64.886 / 18 = 3.604778;
        // 1.58 / √3.604778 = 0.832181; times 1 − 3/71 = 0.957746: 0.797018.
        let g = hedges_g(&FIRST, &SECOND).unwrap();
        assert!(close(g, 0.797_018, 1e-5), "{g}");
        assert_eq!(hedges_g(&[1.0, 1.0], &[2.0, 2.0]), None);
    }

    #[test]
    fn against_a_multiple() {
        // y against 2x is y against the doubled values.
        let x = [1.0, 1.2, 1.1];
        let doubled = x.map(|value| 2.0 * value);
        let y = [2.4, 2.5, 2.9];
        let (a, b) = (welch(&x, &y, 2.0).unwrap(), welch(&doubled, &y, 1.0).unwrap());
        assert!(close(a.t, b.t, 1e-12) && close(a.freedom, b.freedom, 1e-9));
    }

    #[test]
    fn values_without_spread() {
        let same = welch(&[3.0, 3.0], &[3.0, 3.0], 1.0).unwrap();
        assert_eq!((same.p(), same.interval(0.95)), (1.0, (0.0, 0.0)));
        let apart = welch(&[3.0, 3.0], &[4.0, 4.0], 1.0).unwrap();
        assert_eq!((apart.p(), apart.p_above(), apart.p_below()), (0.0, 0.0, 1.0));
        assert_eq!(welch(&[3.0], &[4.0, 5.0], 1.0), None);
    }
}
