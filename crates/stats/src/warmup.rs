//! Where a warm-up ends: MSER-5.
//!
//! ```text
//! y₁ y₂ … y_k      means of five neighbours
//!
//!           Σ (yᵢ − ȳ_d)² over i > d
//! MSER(d) = ────────────────────────     the d ≤ k/2 for which it is least is cut off: the squared standard
//!                  (k − d)²              error of the mean of what is left, as if it were independent
//! ```
//!
//! K. P. White, Simulation 69 (1997), 323–334; K. P. White, M. J. Cobb and S. C. Spratt, Proc. Winter
//! Simulation Conf. (2000), 755–760. If the least lies at the very half, the series has not come to rest, and
//! that is what is said.

use crate::claim::Refusal;
use crate::mean;

/// Neighbours whose mean counts as one value.
pub const FIVE: usize = 5;
/// Fewer means of five show no warm-up.
const LEAST: usize = 10;

/// How many of the first values belong to the warm-up: a multiple of five.
pub fn mser5(series: &[f64]) -> Result<usize, Refusal> {
    if let Some(at) = series.iter().position(|value| !value.is_finite()) {
        return Err(Refusal::NotNumbers { at });
    }
    if series.len() < LEAST * FIVE {
        let (have, need) = (series.len(), LEAST * FIVE);
        return Err(Refusal::TooFew { what: "values over time".to_owned(), have, need });
    }
    let fives: Vec<f64> = series.chunks_exact(FIVE).map(mean).collect();
    let half = fives.len() / 2;
    let errors: Vec<f64> = (0..=half).map(|cut| squared_error(&fives[cut..])).collect();
    let least = errors.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1)).map_or(0, |(cut, _)| cut);
    if least == half {
        return Err(Refusal::NoRest { values: series.len() });
    }
    Ok(least * FIVE)
}

fn squared_error(rest: &[f64]) -> f64 {
    let middle = mean(rest);
    rest.iter().map(|value| (value - middle).powi(2)).sum::<f64>() / (rest.len() as f64).powi(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twelve means of five: values that alternate by ±1 around a level.
    fn series(levels: &[f64]) -> Vec<f64> {
        levels.iter().flat_map(|level| [1.0, -1.0, 0.5, -0.5, 0.0].map(|off| level + off)).collect()
    }

    #[test]
    fn a_slow_start_is_cut_off() {
        // Two fives at 50 and 90, then 100 or 101 by turns: by hand, MSER(2) = 10 · 0.25 / 100 = 0.025 is least
        // of 0 … 6 (MSER(1) = (about 91.6)/121, MSER(3) = 9 · 20/81 / 81 = 0.0274).
        let levels = [50.0, 90.0, 100.0, 101.0, 100.0, 101.0, 100.0, 101.0, 100.0, 101.0, 100.0, 101.0];
        assert_eq!(mser5(&series(&levels)), Ok(10));
    }

    #[test]
    fn what_rests_from_the_start_is_kept_whole() {
        let levels = [100.0, 101.0].repeat(6);
        assert_eq!(mser5(&series(&levels)), Ok(0));
    }

    #[test]
    fn what_never_rests_or_is_short_is_refused() {
        // Of a straight line, Σ(y − ȳ)² ~ (k − d)³: what is left only gets better.
        let rising: Vec<f64> = (0..60).map(f64::from).collect();
        assert_eq!(mser5(&rising), Err(Refusal::NoRest { values: 60 }));
        assert!(matches!(mser5(&[1.0; 49]), Err(Refusal::TooFew { have: 49, need: 50, .. })));
    }
}
