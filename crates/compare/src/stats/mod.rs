//! The statistics of a comparison: pure functions of a few numbers, one for each trial. No unit matters here.
//!
//! | question | answer by |
//! |---|---|
//! | do two means of trial values differ? | [`welch`]: Welch's t |
//! | do two sets of trial percentiles differ? | [`ranks`]: Mann–Whitney, exact |
//! | among many tests, which still count? | [`holm`]: Holm's step-down adjustment |
//! | how many trials would show a given difference? | [`power`] |

pub mod holm;
pub mod power;
pub mod ranks;
pub mod welch;

/// The arithmetic mean; NaN of nothing.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The unbiased variance, Σ(x − x̄)² / (n − 1); NaN of fewer than two.
pub fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    if values.len() < 2 { f64::NAN } else { squares / (values.len() - 1) as f64 }
}

/// The middle one of the values; of an even number the smaller of the two in the middle, so that it is one of them.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len().saturating_sub(1) / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        assert_eq!(mean(&[1.0, 2.0, 6.0]), 3.0);
        // (4 + 1 + 9) / 2
        assert_eq!(variance(&[1.0, 2.0, 6.0]), 7.0);
        assert_eq!((median(&[6.0, 1.0, 2.0]), median(&[4.0, 1.0, 2.0, 3.0])), (2.0, 2.0));
    }
}
