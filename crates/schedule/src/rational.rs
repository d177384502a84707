//! Rates over one denominator, and exact division.

use crate::ScheduleError;
use ethnum::U256;
use units::{Picos, Rate};

/// Denominators up to 2⁹⁶ ps keep every product of a count, a rate and two times below 2²⁵⁶.
const LARGEST: u128 = 1 << 96;

/// Several rates as `numerator / denominator` events each picosecond; a rate of `None` is zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Common<const N: usize> {
    pub denominator: u128,
    pub numerators: [u128; N],
}

impl<const N: usize> Common<N> {
    pub fn of(rates: [Rate; N]) -> Result<Self, ScheduleError> {
        let denominator = common_denominator(rates.into_iter())?;
        Ok(Self { denominator, numerators: rates.map(|rate| numerator(rate, denominator)) })
    }
}

/// The least common multiple of the rates' periods.
pub fn common_denominator(rates: impl Iterator<Item = Rate>) -> Result<u128, ScheduleError> {
    rates.into_iter().try_fold(1u128, |common, rate| {
        let per = u128::from(rate.ratio().1.as_picos());
        let multiple = (common / greatest_divisor(common, per)).checked_mul(per);
        multiple.filter(|m| *m <= LARGEST).ok_or(ScheduleError::NoCommonMeasure)
    })
}

/// The rate's numerator over a denominator that is a multiple of its own.
pub fn numerator(rate: Rate, denominator: u128) -> u128 {
    let (events, per) = rate.ratio();
    // A rate is at most 1 each picosecond, so this is at most the denominator.
    u128::from(events) * (denominator / u128::from(per.as_picos()))
}

fn greatest_divisor(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Quotient and remainder; by 128 bits where the values allow, which is several times faster.
pub fn divide(numerator: U256, denominator: U256) -> (U256, U256) {
    match (u128::try_from(numerator), u128::try_from(denominator)) {
        (Ok(n), Ok(d)) => (U256::from(n / d), U256::from(n % d)),
        _ => (numerator / denominator, numerator % denominator),
    }
}

/// A length of time of so many picoseconds; `Picos::MAX`, never, when that is over 213 days.
pub fn saturating_picos(picos: U256) -> Picos {
    u64::try_from(picos).map_or(Picos::MAX, Picos::from_picos)
}

pub fn saturating_u64(value: U256) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_get_their_least_common_denominator() {
        // 400/s is 1 in 2.5e9 ps; 1/7s is 1 in 7e12 ps; lcm(2.5e9, 7e12) = 7e12.
        let rates = ["400/s", "1/7s"].map(|text| text.parse::<Rate>().unwrap());
        let common = Common::of(rates).unwrap();
        assert_eq!(common, Common { denominator: 7_000_000_000_000, numerators: [2_800, 1] });
    }

    #[test]
    fn rates_without_a_common_measure_are_refused() {
        // Two periods near 2⁶³ ps that share no factor: their multiple is near 2¹²⁶.
        let rates = [u64::MAX / 2, u64::MAX / 2 - 1].map(|p| Rate::new(1, Picos::from_picos(p)).unwrap());
        assert!(matches!(Common::of(rates), Err(ScheduleError::NoCommonMeasure)));
    }

    #[test]
    fn narrow_and_wide_division_agree() {
        let (n, d) = (U256::from(1_000_000_007u64), U256::from(13u64));
        let shift = 150u32;
        assert_eq!(divide(n, d), (U256::from(76_923_077u64), U256::from(6u64)));
        assert_eq!(divide(n << shift, d << shift), (U256::from(76_923_077u64), U256::from(6u64) << shift));
    }
}
