//! Division by a number that stays the same, and random values that are a function of their number.
//!
//! For d ≥ 2, m = ⌊(2⁶⁴ − 1) / d⌋ and any n < 2⁶⁴: q = ⌊n · m / 2⁶⁴⌋ is ⌊n / d⌋ or one less, since n·m/2⁶⁴ >
//! n/d − 1. So one multiplication and one correction do what a division does at many times the cost.

/// A divisor, made ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Modulus {
    divisor: u64,
    reciprocal: u64,
}

impl Modulus {
    /// `divisor` 0 is taken as 1.
    pub const fn new(divisor: u64) -> Self {
        let divisor = if divisor == 0 { 1 } else { divisor };
        Self { divisor, reciprocal: u64::MAX / divisor }
    }

    pub const fn divisor(&self) -> u64 {
        self.divisor
    }

    /// `n / divisor` and `n mod divisor`.
    #[inline]
    pub const fn split(&self, n: u64) -> (u64, u64) {
        let quotient = ((n as u128 * self.reciprocal as u128) >> 64) as u64;
        let rest = n - quotient * self.divisor;
        if rest >= self.divisor { (quotient + 1, rest - self.divisor) } else { (quotient, rest) }
    }

    /// `n mod divisor`.
    #[inline]
    pub const fn of(&self, n: u64) -> u64 {
        self.split(n).1
    }

    /// `n / divisor`.
    #[inline]
    pub const fn quotient(&self, n: u64) -> u64 {
        if self.divisor == 1 { n } else { self.split(n).0 }
    }
}

/// 64 even bits from a seed and a number: the finalizer of SplitMix64 over `seed + number ·
/// 0x9e3779b97f4a7c15`.
#[inline]
pub const fn spread(seed: u64, number: u64) -> u64 {
    let mut z = seed.wrapping_add(number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// One of `0..count` from 64 even bits; `count` 0 is 2⁶⁴. Up to 2³² only the upper half of the bits counts, so
/// that 64-bit arithmetic suffices to do the same elsewhere.
#[inline]
pub const fn span_value(bits: u64, count: u64) -> u64 {
    if count == 0 {
        bits
    } else if count <= 1 << 32 {
        // (2³² − 1) · 2³² fits.
        ((bits >> 32) * count) >> 32
    } else {
        ((bits as u128 * count as u128) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_divisor_of_0_is_1() {
        assert_eq!([0, 1, 7].map(|divisor| Modulus::new(divisor).divisor()), [1, 1, 7]);
    }

    #[test]
    fn a_value_of_a_span_is_its_share_of_the_bits() {
        // 3 · 5555_5555 is just below 2³²; with the lower half it would be above.
        assert_eq!(span_value(0x5555_5555_ffff_ffff, 3), 0);
        assert_eq!(
            (span_value(u64::MAX, 1 << 32), span_value(u64::MAX, 1 << 40)),
            ((1 << 32) - 1, (1 << 40) - 1)
        );
        assert_eq!((span_value(1 << 63, 1 << 40), span_value(77, 0)), (1 << 39, 77));
    }
    use proptest::prelude::*;

    #[test]
    fn division_is_right_at_the_edges() {
        for divisor in
            [1, 2, 3, 7, 10, 1000, (1 << 32) - 1, 1 << 32, (1 << 63) - 1, 1 << 63, u64::MAX - 1, u64::MAX]
        {
            let modulus = Modulus::new(divisor);
            for n in [0, 1, divisor - 1, divisor, divisor.wrapping_add(1), u64::MAX - 1, u64::MAX, 1 << 63] {
                assert_eq!(modulus.split(n), (n / divisor, n % divisor), "{n} by {divisor}");
            }
        }
    }

    proptest! {
        #[test]
        fn division_is_that_of_the_processor(n: u64, divisor in 1u64.., bits in 0u32..64) {
            let divisor = (divisor >> bits).max(1);
            prop_assert_eq!(Modulus::new(divisor).split(n), (n / divisor, n % divisor));
        }

        #[test]
        fn a_random_value_is_in_its_span(bits: u64, count in 1u64..) {
            prop_assert!(span_value(bits, count) < count);
        }
    }

    #[test]
    fn the_spread_is_splitmix64() {
        // First outputs of SplitMix64 with seed 1234567 (Vigna's splitmix64.c).
        assert_eq!(spread(1_234_567, 0), 6_457_827_717_110_365_317);
        assert_eq!(spread(1_234_567, 1), 3_203_168_211_198_807_973);
    }
}
