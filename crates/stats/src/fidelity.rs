//! Whether gaps between arrivals have the distribution that was asked for, learned while they pass by.
//!
//! ```text
//!  gap ─► F(gap) ─► one of 1 000 cells          if the gaps are what was asked for, F(gap) is even over 0 … 1
//!
//!  1 ┤          ⟋╱        D = sup |share of the gaps with F(gap) ≤ u − u|
//!    │       ⟋ ╱              Kolmogorov and Smirnov's distance, at the cells' edges: within 0.001 of the
//!    │   ⟋   ╱ ↕ D            exact one
//!  0 ┼╱────╱────── u
//! ```
//!
//! F is that of a Poisson process of rate λ, split by turns between k threads, each of which has every k-th
//! arrival: its gaps are sums of k exponential ones (Erlang's distribution).
//!
//! ```text
//! F(x) = 1 − e^(−λx) · Σ (λx)^j / j!  over j < k
//! ```
//!
//! A. N. Kolmogorov, Giorn. Ist. Ital. Attuari 4 (1933), 83–91; the critical distance for n gaps, all
//! parameters known, is about 1.95/√n at 0.1 % (M. A. Stephens, J. Am. Stat. Assoc. 69 (1974), 730–737).

/// Cells over 0 … 1.
pub const CELLS: usize = 1_000;
/// By √n: chance alone makes the distance larger in one case of a thousand.
const CRITICAL: f64 = 1.949_5;

/// P(gap ≤ x) where λx is `events`, and a gap is that of `shares` arrivals.
pub fn erlang(shares: u32, events: f64) -> f64 {
    if shares == 1 {
        return -(-events).exp_m1();
    }
    let mut term = 1.0;
    let mut sum = 1.0;
    for j in 1..shares {
        term *= events / f64::from(j);
        sum += term;
    }
    (1.0 - (-events).exp() * sum).clamp(0.0, 1.0)
}

/// How often F(gap) was in each cell. 8 KB, however many there were; nothing before the first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fit {
    cells: Vec<u64>,
}

impl Fit {
    /// A gap whose F(gap) is this.
    #[inline]
    pub fn add(&mut self, share: f64) {
        if self.cells.is_empty() {
            self.cells.resize(CELLS, 0);
        }
        let cell = (share * CELLS as f64) as usize;
        self.cells[cell.min(CELLS - 1)] += 1;
    }

    pub fn merge(&mut self, other: &Self) {
        if self.cells.len() < other.cells.len() {
            self.cells.resize(CELLS, 0);
        }
        self.cells.iter_mut().zip(&other.cells).for_each(|(into, from)| *into += from);
    }

    pub fn clear(&mut self) {
        self.cells.fill(0);
    }

    pub fn count(&self) -> u64 {
        self.cells.iter().sum()
    }

    /// D, from 0 to 1; 0 of nothing.
    pub fn distance(&self) -> f64 {
        let all = self.count().max(1) as f64;
        let mut below = 0;
        let off = |(cell, count): (usize, &u64)| {
            below += count;
            (below as f64 / all - (cell + 1) as f64 / CELLS as f64).abs()
        };
        if self.count() == 0 { 0.0 } else { self.cells.iter().enumerate().map(off).fold(0.0, f64::max) }
    }

    /// The distance that chance alone exceeds in one case of a thousand, if the gaps are what was asked for.
    pub fn by_chance(&self) -> f64 {
        CRITICAL / (self.count().max(1) as f64).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gaps of a Poisson process at 1 000/s, in seconds.
    fn poisson(count: usize) -> Vec<f64> {
        let mut random = fastrand::Rng::with_seed(11);
        (0..count).map(|_| -(1.0 - random.f64()).ln() / 1_000.0).collect()
    }

    fn fit(gaps: impl IntoIterator<Item = f64>) -> Fit {
        let mut fit = Fit::default();
        gaps.into_iter().for_each(|gap| fit.add(erlang(1, gap * 1_000.0)));
        fit
    }

    #[test]
    fn erlang_by_hand() {
        // 1 − e⁻¹ = 0.632121; 1 − e⁻²(1 + 2) = 0.593994; 1 − e⁻³(1 + 3 + 4.5) = 0.576810.
        for (shares, events, expected) in [(1, 1.0, 0.632_121), (2, 2.0, 0.593_994), (3, 3.0, 0.576_810)] {
            assert!((erlang(shares, events) - expected).abs() < 1e-6);
        }
        assert_eq!((erlang(1, 0.0), erlang(4, 0.0)), (0.0, 0.0));
        assert!((erlang(16, 1e4) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_poisson_process_is_near_and_every_other_far() {
        let gaps = poisson(20_000);
        let right = fit(gaps.clone());
        assert!(right.distance() < right.by_chance(), "{} {}", right.distance(), right.by_chance());
        // All gaps 1 ms: every F(gap) is 0.632, so D = 0.632.
        assert!((fit(vec![1e-3; 1_000]).distance() - 0.632).abs() < 1e-3);
        // Rounded down to whole milliseconds, P(gap = 0) = 1 − e⁻¹.
        let coarse = fit(gaps.iter().map(|gap| (gap * 1e3).floor() / 1e3));
        assert!((coarse.distance() - 0.632).abs() < 0.02, "{}", coarse.distance());
        // 10 % too fast: sup |e⁻ˣ − e⁻¹·¹ˣ| is at x = 10·ln 1.1 = 0.953: 0.3855 − 0.3505 = 0.035.
        let fast = fit(gaps.iter().map(|gap| gap / 1.1));
        assert!((fast.distance() - 0.035).abs() < 0.01, "{}", fast.distance());
    }

    #[test]
    fn shares_of_threads_are_erlang() {
        let gaps = poisson(40_000);
        let mut fit = Fit::default();
        gaps.chunks_exact(4).for_each(|four| fit.add(erlang(4, four.iter().sum::<f64>() * 1_000.0)));
        assert!(fit.distance() < fit.by_chance(), "{} {}", fit.distance(), fit.by_chance());
    }

    #[test]
    fn parts_add_up() {
        let (mut a, b) = (fit(poisson(100)), fit(vec![1e-3; 50]));
        a.merge(&b);
        assert_eq!(a.count(), 150);
        a.clear();
        assert_eq!((a.count(), a.distance()), (0, 0.0));
    }
}
