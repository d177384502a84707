//! Holm's adjustment: of many tests, some seem to show something by chance alone. With adjusted probabilities,
//! at most 5 % of all families of tests in which nothing differs have even one below 0.05.
//!
//! Sorted from the smallest, the i-th of m is multiplied by m − i + 1 (i from 1), and none may be below the one
//! before it. S. Holm, Scand. J. Statist. 6 (1979), 65–70.

/// The adjusted probabilities, in the order of those given.
pub fn adjusted(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let mut adjusted = vec![0.0; p.len()];
    let mut least = 0.0_f64;
    for (place, at) in order.into_iter().enumerate() {
        least = least.max((p[at] * (p.len() - place) as f64).min(1.0));
        adjusted[at] = least;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        // 0.01·4, then 0.02·3, then 0.03·2 = 0.06, then 0.04·1 raised to it.
        let found = adjusted(&[0.04, 0.01, 0.03, 0.02]);
        let expected = [0.06, 0.04, 0.06, 0.06];
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?}");
        assert_eq!(adjusted(&[0.9, 0.8]), [1.0, 1.0]);
        assert!(adjusted(&[]).is_empty());
    }
}
