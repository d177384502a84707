//! How even a row of arrivals is.
//!
//! With arrivals t₀ … tₙ₋₁ (ns) and the asked rate R (1/s):
//!
//! - gap error   |tᵢ₊₁ − tᵢ − 10⁹/R|, n − 1 of them;
//! - deviation   |rᵢ − median(r)| where rᵢ = tᵢ − i·10⁹/R: how far each arrival lies from an even line of
//!   exactly the asked slope, laid where it fits best (a constant delay is no unevenness; a wrong rate is);
//! - achieved    (n − 1) / (tₙ₋₁ − t₀).

use serde::Serialize;

use crate::stats::percentile;

/// The figures for one run. Times in ns, rates per second.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Evenness {
    pub arrivals: usize,
    pub achieved_per_s: f64,
    /// |achieved − asked| / asked.
    pub rate_error: f64,
    pub gap_error_p50_ns: u64,
    pub gap_error_p95_ns: u64,
    pub gap_error_p99_ns: u64,
    pub deviation_p50_ns: u64,
    pub deviation_p99_ns: u64,
}

/// Computes the figures. `arrivals_ns` must be in order; `None` with fewer than two, or all at one instant.
pub fn of(arrivals_ns: &[u64], rate_per_s: f64) -> Option<Evenness> {
    let (first, last) = (*arrivals_ns.first()?, *arrivals_ns.last()?);
    if last <= first {
        return None;
    }
    let gap_ns = 1e9 / rate_per_s;
    let gaps = gap_errors(arrivals_ns, gap_ns);
    let deviations = deviations(arrivals_ns, gap_ns);
    let achieved_per_s = (arrivals_ns.len() - 1) as f64 * 1e9 / (last - first) as f64;
    Some(Evenness {
        arrivals: arrivals_ns.len(),
        achieved_per_s,
        rate_error: (achieved_per_s - rate_per_s).abs() / rate_per_s,
        gap_error_p50_ns: percentile(&gaps, 0.50)?,
        gap_error_p95_ns: percentile(&gaps, 0.95)?,
        gap_error_p99_ns: percentile(&gaps, 0.99)?,
        deviation_p50_ns: percentile(&deviations, 0.50)?,
        deviation_p99_ns: percentile(&deviations, 0.99)?,
    })
}

fn gap_errors(arrivals_ns: &[u64], gap_ns: f64) -> Vec<u64> {
    let mut errors: Vec<u64> =
        arrivals_ns.windows(2).map(|w| ((w[1] - w[0]) as f64 - gap_ns).abs().round() as u64).collect();
    errors.sort_unstable();
    errors
}

fn deviations(arrivals_ns: &[u64], gap_ns: f64) -> Vec<u64> {
    let first = arrivals_ns[0];
    let residuals: Vec<f64> =
        arrivals_ns.iter().enumerate().map(|(i, t)| (t - first) as f64 - i as f64 * gap_ns).collect();
    let centre = crate::stats::median(&residuals).expect("there is at least one arrival");
    let mut deviations: Vec<u64> = residuals.iter().map(|r| (r - centre).abs().round() as u64).collect();
    deviations.sort_unstable();
    deviations
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_even_row_has_no_error() {
        let arrivals: Vec<u64> = (0..1001).map(|i| 7_000_000 + i * 500_000).collect();
        let e = of(&arrivals, 2_000.0).expect("1001 arrivals");
        assert_eq!((e.gap_error_p50_ns, e.gap_error_p99_ns, e.deviation_p99_ns), (0, 0, 0));
        // 1000 gaps over 1000 · 500 000 ns = 0.5 s
        assert_eq!(e.achieved_per_s, 2_000.0);
        assert_eq!(e.rate_error, 0.0);
    }

    #[test]
    fn pairs_show_half_a_clump() {
        // 2 000/s, but in pairs: 0, 0, 1 ms, 1 ms, … Gaps alternate 0 and 1 ms; each is 0.5 ms from 0.5 ms.
        // Residuals alternate 0 and −0.5 ms; their median is −0.25 ms, so each is 0.25 ms from it.
        let arrivals: Vec<u64> = (0..1000).map(|i| (i / 2) * 1_000_000).collect();
        let e = of(&arrivals, 2_000.0).expect("1000 arrivals");
        assert_eq!((e.gap_error_p50_ns, e.gap_error_p99_ns), (500_000, 500_000));
        assert_eq!((e.deviation_p50_ns, e.deviation_p99_ns), (250_000, 250_000));
    }

    #[test]
    fn one_late_arrival_moves_two_gaps_and_one_point() {
        // 1 000/s; the 50th of 100 comes 0.3 ms late: gaps 1.3 ms and 0.7 ms, all others exact.
        // 99 gaps sorted: 97 zeros, then 300 µs twice. p95 → rank 95 (0); p99 → rank ceil(98.01) = 99 (300 µs).
        // 100 deviations: 99 zeros, then 300 µs. p99 → rank 99 (0).
        let mut arrivals: Vec<u64> = (0..100).map(|i| i * 1_000_000).collect();
        arrivals[50] += 300_000;
        let e = of(&arrivals, 1_000.0).expect("100 arrivals");
        assert_eq!((e.gap_error_p95_ns, e.gap_error_p99_ns), (0, 300_000));
        assert_eq!(e.deviation_p99_ns, 0);
    }

    #[test]
    fn a_wrong_rate_is_seen_as_rate_error_and_as_drift() {
        // Asked 1 000/s, sent 999/s-ish: gaps of 1.001 ms. achieved = 1/1.001 ms = 999.001/s; error 0.000999.
        // Residuals 0, 1, 2 … 1000 µs; median 500 µs; deviations |k − 500| µs.
        // 1001 of them: 0 once, 1 … 500 µs twice each; p99 → rank ceil(990.99) = 991 → (991 − 1) / 2 = 495 µs.
        let arrivals: Vec<u64> = (0..1001).map(|i| i * 1_001_000).collect();
        let e = of(&arrivals, 1_000.0).expect("1001 arrivals");
        assert!((e.rate_error - 0.000_999_000_999).abs() < 1e-12, "{}", e.rate_error);
        assert_eq!(e.deviation_p99_ns, 495_000);
        assert_eq!(e.gap_error_p50_ns, 1_000);
    }

    #[test]
    fn too_few_arrivals_have_no_figures() {
        assert!(of(&[], 1.0).is_none());
        assert!(of(&[5], 1.0).is_none());
        assert!(of(&[5, 5], 1.0).is_none());
    }
}
