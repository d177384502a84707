//! Mean and variance of whole numbers, exact however many there are.
//!
//! ```text
//! with a shift k:   S₁ = Σ (x − k)    S₂ = Σ (x − k)²
//! mean = k + S₁ / n        variance = (S₂ − S₁² / n) / n
//! ```
//!
//! The sums are whole numbers of 128 bits, so nothing is rounded until the end and parts add up to the whole.
//! With k near the values, the difference in the variance does not cancel.

/// Count, sums, least and greatest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moments {
    count: u64,
    /// The first value: the others are near it, or the variance is so large that it does not matter.
    shift: i64,
    sum: i128,
    squares: i128,
    min: i64,
    max: i64,
}

impl Moments {
    #[inline]
    pub fn add(&mut self, value: i64) {
        if self.count == 0 {
            (self.shift, self.min, self.max) = (value, value, value);
        }
        let off = i128::from(value) - i128::from(self.shift);
        self.count += 1;
        self.sum = self.sum.saturating_add(off);
        self.squares = self.squares.saturating_add(off * off);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// As if all values of `other` had been added here.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = *other;
            return;
        }
        let by = i128::from(other.shift) - i128::from(self.shift);
        let count = i128::from(other.count);
        // Σ (x − k)² with k moved: Σ (y + by)² = Σ y² + 2 by Σ y + n by².
        let moved = by.saturating_mul(2).saturating_mul(other.sum);
        let base = by.saturating_mul(by).saturating_mul(count);
        self.squares = self.squares.saturating_add(other.squares).saturating_add(moved).saturating_add(base);
        self.sum = self.sum.saturating_add(other.sum).saturating_add(by.saturating_mul(count));
        self.count += other.count;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    pub const fn count(&self) -> u64 {
        self.count
    }

    pub fn mean(&self) -> f64 {
        match self.count {
            0 => 0.0,
            count => self.shift as f64 + self.sum as f64 / count as f64,
        }
    }

    /// Of the values themselves (divided by n, not n − 1).
    pub fn variance(&self) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        let (sum, count) = (self.sum as f64, self.count as f64);
        ((self.squares as f64 - sum * sum / count) / count).max(0.0)
    }

    pub const fn min(&self) -> i64 {
        self.min
    }

    pub const fn max(&self) -> i64 {
        self.max
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[i64]) -> Moments {
        let mut moments = Moments::default();
        values.iter().for_each(|value| moments.add(*value));
        moments
    }

    #[test]
    fn mean_and_variance_are_those_of_the_formula() {
        // 2 4 4 4 5 5 7 9: mean 40 / 8 = 5; squares of the differences 9 1 1 1 0 0 4 16 = 32; 32 / 8 = 4.
        let moments = of(&[2, 4, 4, 4, 5, 5, 7, 9]);
        assert_eq!((moments.mean(), moments.variance()), (5.0, 4.0));
        assert_eq!((moments.min(), moments.max(), moments.count()), (2, 9, 8));
    }

    #[test]
    fn a_small_variance_of_large_values_is_not_lost() {
        // 13 560 000 000 000 ± 8: variance 64, which 53 bits of a square of 1.4e13 could not hold.
        let moments = of(&[13_560_000_000_008, 13_559_999_999_992]);
        assert_eq!((moments.mean(), moments.variance()), (13_560_000_000_000.0, 64.0));
    }

    proptest! {
        #[test]
        fn parts_add_up_to_the_whole(
            values in prop::collection::vec(-1_000_000_000_000_i64..1_000_000_000_000, 0..50),
            cut in 0_usize..50,
        ) {
            let (left, right) = values.split_at(cut.min(values.len()));
            let mut merged = of(left);
            merged.merge(&of(right));
            prop_assert_eq!(merged, of(&values));
        }
    }
}
