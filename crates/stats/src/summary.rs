//! Mean, variance, median; and mean and variance of values that pass by one at a time.

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

/// The middle one of the values; of an even number the smaller of the two in the middle, so that it is one of
/// them.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len().saturating_sub(1) / 2).copied().unwrap_or(f64::NAN)
}

/// Count, mean, deviation, smallest and largest of values that are not kept.
///
/// ```text
/// δ = x − x̄;   x̄ += δ / n;   S² += δ · (x − x̄)      B. P. Welford, Technometrics 4 (1962), 419–420
/// S/√n = √(S² / (n − 1) / n)                         standard error of the mean, if the values are independent
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Running {
    count: u64,
    mean: f64,
    squares: f64,
    least: f64,
    most: f64,
}

impl Running {
    pub fn add(&mut self, value: f64) {
        self.least = if self.count == 0 { value } else { self.least.min(value) };
        self.most = if self.count == 0 { value } else { self.most.max(value) };
        self.count += 1;
        let off = value - self.mean;
        self.mean += off / self.count as f64;
        self.squares += off * (value - self.mean);
    }

    /// As if the other's values had been added as well (Chan, Golub and LeVeque, Am. Stat. 37 (1983), 242–247).
    pub fn merge(&mut self, other: &Self) {
        if self.count == 0 || other.count == 0 {
            *self = if self.count == 0 { *other } else { *self };
            return;
        }
        let (n, m) = (self.count as f64, other.count as f64);
        let off = other.mean - self.mean;
        self.mean += off * m / (n + m);
        self.squares += other.squares + off * off * n * m / (n + m);
        self.count += other.count;
        self.least = self.least.min(other.least);
        self.most = self.most.max(other.most);
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    /// `None` of nothing, as are all that follow.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then_some(self.mean)
    }

    pub fn least(&self) -> Option<f64> {
        (self.count > 0).then_some(self.least)
    }

    pub fn most(&self) -> Option<f64> {
        (self.count > 0).then_some(self.most)
    }

    /// S = √(Σ(x − x̄)² / (n − 1)); `None` of fewer than two.
    pub fn deviation(&self) -> Option<f64> {
        (self.count > 1).then(|| (self.squares / (self.count - 1) as f64).sqrt())
    }

    /// S/√n; `None` of fewer than two. An interval of the mean only if the values are independent, which those
    /// of one trial rarely are.
    pub fn standard_error(&self) -> Option<f64> {
        self.deviation().map(|deviation| deviation / (self.count as f64).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn by_hand() {
        assert_eq!(mean(&[1.0, 2.0, 6.0]), 3.0);
        // (4 + 1 + 9) / 2
        assert_eq!(variance(&[1.0, 2.0, 6.0]), 7.0);
        assert_eq!((median(&[6.0, 1.0, 2.0]), median(&[4.0, 1.0, 2.0, 3.0])), (2.0, 2.0));
        let mut running = Running::default();
        [1.0, 2.0, 6.0].into_iter().for_each(|value| running.add(value));
        assert_eq!((running.mean(), running.least(), running.most()), (Some(3.0), Some(1.0), Some(6.0)));
        assert_eq!(running.deviation(), Some(7f64.sqrt()));
        assert_eq!(running.standard_error(), Some(7f64.sqrt() / 3f64.sqrt()));
        assert_eq!((Running::default().mean(), Running::default().deviation()), (None, None));
    }

    proptest! {
        #[test]
        fn in_parts_and_one_by_one_it_is_the_same(
            values in prop::collection::vec(-1e9..1e9, 2..200),
            at in 0usize..200,
        ) {
            let (left, right) = values.split_at(at.min(values.len()));
            let of = |values: &[f64]| {
                let mut running = Running::default();
                values.iter().for_each(|value| running.add(*value));
                running
            };
            let mut merged = of(left);
            merged.merge(&of(right));
            let tolerance = 1e-6 * (1.0 + variance(&values).sqrt());
            prop_assert!((merged.mean().unwrap() - mean(&values)).abs() <= tolerance);
            prop_assert!((merged.deviation().unwrap() - variance(&values).sqrt()).abs() <= tolerance);
            prop_assert_eq!(merged.count(), values.len() as u64);
            prop_assert_eq!(merged.least(), of(&values).least());
            prop_assert_eq!(merged.most(), of(&values).most());
        }
    }
}
