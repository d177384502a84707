//! Do values depend on those just before them? The correlation of neighbours, and von Neumann's ratio as its
//! test.
//!
//! ```text
//! r₁ = Σ (xᵢ − x̄)(xᵢ₊₁ − x̄) / Σ (xᵢ − x̄)²
//! q  = Σ (xᵢ₊₁ − xᵢ)² / Σ (xᵢ − x̄)²            about 2 of independent values, less if neighbours are alike
//! z  = (1 − q/2) · √((n² − 1) / (n − 2))         about standard normal
//! ```
//!
//! J. von Neumann, Ann. Math. Stat. 12 (1941), 367–395; the variance of 1 − q/2 is (n − 2)/(n² − 1) for normal
//! values (G. S. Fishman, Discrete-Event Simulation (2001), §6.6.7). Only likeness is refused: values that
//! alternate make an interval too wide, not too narrow.

use crate::claim::Refusal;
use crate::drift::ALARM;
use crate::mean;
use statrs::distribution::{ContinuousCDF, Normal};

/// Correlation of neighbours, from −1 to 1; 0 where nothing moves.
pub fn lag1(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let products: f64 = values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    if squares > 0.0 { products / squares } else { 0.0 }
}

/// How often independent values have neighbours that are so alike; 1 where nothing moves, or of fewer than
/// three values.
pub fn von_neumann(values: &[f64]) -> f64 {
    let (n, mean) = (values.len() as f64, mean(values));
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let steps: f64 = values.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).sum();
    if values.len() < 3 || squares <= 0.0 {
        return 1.0;
    }
    let alike = 1.0 - steps / squares / 2.0;
    Normal::standard().sf(alike * ((n * n - 1.0) / (n - 2.0)).sqrt())
}

/// Refuses values whose neighbours are more alike than chance makes them.
pub fn check(values: &[f64]) -> Result<(), Refusal> {
    check_at(values, ALARM)
}

pub(crate) fn check_at(values: &[f64], alarm: f64) -> Result<(), Refusal> {
    match von_neumann(values) {
        p if p <= alarm => Err(Refusal::Dependent { lag1: lag1(values), p }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        // 1 2 3 4: x̄ 2.5, squares 5; products 0.75 − 0.25 + 0.75 = 1.25; steps 3. r₁ = 0.25, q = 0.6,
        // z = 0.7 · √(15/2) = 1.917; P = 0.0276.
        let values = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(lag1(&values), 0.25);
        assert!((von_neumann(&values) - 0.027_6).abs() < 1e-4, "{}", von_neumann(&values));
        assert_eq!((lag1(&[5.0; 4]), von_neumann(&[5.0; 4])), (0.0, 1.0));
    }

    #[test]
    fn likeness_is_refused_and_alternation_is_not() {
        let waves: Vec<f64> = (0..40).map(|i| (f64::from(i) / 5.0).sin()).collect();
        assert!(matches!(check(&waves), Err(Refusal::Dependent { lag1, .. }) if lag1 > 0.8));
        let alternating: Vec<f64> = (0..40).map(|i| f64::from(i % 2)).collect();
        assert!(check(&alternating).is_ok() && lag1(&alternating) < -0.9);
    }
}
