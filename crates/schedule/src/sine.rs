//! A rate that swings around its mean, as load over a day does.
//!
//! ```text
//! rate │   .-.         .-.       rate(t) = m + A·sin(2πt / P)          A ≤ m
//!    m │--/---\-------/---\--    N(t)    = m·t + A·P/(2π) · (1 − cos(2πt / P))
//!      │       \     /           N(q·P)  = q·m·P                       whole periods, exact
//!      │        `-.-'            due(n)  = q·P + floor(r),  N(r) = n − q·m·P,  0 ≤ r < P
//!      └───────────────────── t
//!      |<--- P ---->|            m, A in events per second, P in picoseconds
//! ```
//!
//! The period of a departure, and how far into it, are found in whole numbers; r is then found in double
//! precision by Newton's method kept inside a shrinking bracket, to within a picosecond or 2⁻⁵⁰ of the
//! period. The cosine is libm's, which is made of additions and multiplications that IEEE 754 rounds alike
//! everywhere, so the same n gives the same time on every machine. Order is safe because two departures are
//! one whole event apart, far more than that error: a period may have at most 2⁴⁸ of them.

use crate::ScheduleError;
use crate::curve::Curve;
use crate::rational::{Common, divide, saturating_picos, saturating_u64};
use ethnum::U256;
use std::f64::consts::TAU;
use units::{Picos, Rate};

const MOST_IN_A_PERIOD: f64 = (1u64 << 48) as f64;
/// Newton's method needs about five rounds; halving alone would need 64.
const ROUNDS: usize = 70;

pub struct Sine {
    denominator: u128,
    /// D·m·P: departures in one period, as a numerator.
    in_period: U256,
    period: u64,
    /// Events each picosecond.
    mean: f64,
    amplitude: f64,
}

impl Sine {
    pub fn new(mean: Rate, amplitude: Rate, period: Picos) -> Result<Self, ScheduleError> {
        let Common { denominator, numerators: [m, a] } = Common::of([mean, amplitude])?;
        if a > m {
            return Err(ScheduleError::NegativeRate { mean, amplitude });
        }
        if period.is_zero() {
            return Err(ScheduleError::Zero { what: "the period of a sine" });
        }
        let in_period = U256::from(m) * U256::from(period.as_picos());
        if in_period.as_f64() / denominator as f64 > MOST_IN_A_PERIOD {
            return Err(ScheduleError::PeriodTooFull);
        }
        let per_picosecond = |numerator: u128| numerator as f64 / denominator as f64;
        Ok(Self {
            denominator,
            in_period,
            period: period.as_picos(),
            mean: per_picosecond(m),
            amplitude: per_picosecond(a),
        })
    }

    /// N(r) within the first period, and its derivative, the rate.
    fn reached(&self, r: f64) -> (f64, f64) {
        let period = self.period as f64;
        let angle = TAU * (r / period);
        let (sin, cos) = (libm::sin(angle), libm::cos(angle));
        let reached = self.mean * r + self.amplitude * (period / TAU) * (1.0 - cos);
        (reached, self.mean + self.amplitude * sin)
    }

    /// r with N(r) = x.
    fn offset(&self, x: f64) -> f64 {
        let (mut low, mut high) = (0.0, self.period as f64);
        let mut r = (x / self.mean).min(high);
        for _ in 0..ROUNDS {
            let (reached, rate) = self.reached(r);
            if reached <= x {
                low = r
            } else {
                high = r
            }
            let newton = r - (reached - x) / rate;
            // Out of the bracket, or not a number where the rate is zero: halve instead.
            let next = if newton >= low && newton <= high { newton } else { low + (high - low) / 2.0 };
            let moved = (next - r).abs();
            r = next;
            if moved < 0.25 {
                break;
            }
        }
        r
    }
}

impl Curve for Sine {
    fn due(&self, n: u64) -> Picos {
        let (periods, rest) = divide(U256::from(n) * U256::from(self.denominator), self.in_period);
        let x = rest.as_f64() / self.denominator as f64;
        // Even the last departure of a period is due before its end.
        let offset = (self.offset(x) as u64).min(self.period - 1);
        saturating_picos(periods * U256::from(self.period) + U256::from(offset))
    }

    fn roughly_before(&self, end: Picos) -> u64 {
        let (periods, rest) = (end.as_picos() / self.period, end.as_picos() % self.period);
        let whole = divide(U256::from(periods) * self.in_period, U256::from(self.denominator)).0;
        saturating_u64(whole).saturating_add(self.reached(rest as f64).0 as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::{assert_guess_is_near, count_before};

    fn sine(mean: &str, amplitude: &str, period: &str) -> Sine {
        Sine::new(mean.parse().unwrap(), amplitude.parse().unwrap(), period.parse().unwrap()).unwrap()
    }

    #[test]
    fn whole_periods_have_their_mean() {
        for amplitude in ["1", "500", "1k"] {
            let sine = sine("1k", amplitude, "60s");
            for periods in [1, 2, 1_000, 100_000] {
                assert_eq!(
                    count_before(&sine, Picos::from_secs(60 * periods)),
                    60_000 * periods,
                    "{amplitude}"
                );
                assert_eq!(sine.due(60_000 * periods), Picos::from_secs(60 * periods));
            }
        }
        // 7/s for 1/3 s… a period with a fraction of a departure: 3 periods of 1.1 s at 7/s are 23.1.
        let odd = sine("7", "3", "1.1s");
        assert_eq!(count_before(&odd, Picos::from_millis(3_300)), 24);
        assert_eq!(count_before(&odd, Picos::from_secs(11)), 77);
    }

    #[test]
    fn halves_and_quarters_are_the_integral() {
        // N(P/2) = mP/2 + AP/π = 30 000 + 500·60/π = 39 549.297; N(P/4) = 15 000 + 500·60/(2π) = 19 774.648.
        let sine = sine("1k", "500", "60s");
        assert_eq!(count_before(&sine, Picos::from_secs(30)), 39_550);
        assert_eq!(count_before(&sine, Picos::from_secs(15)), 19_775);
        // Around P/4 the rate is 1 500/s: 0.648 departures take 432 µs.
        let before = Picos::from_secs(15).since_picos(sine.due(19_774));
        assert!((431_000_000..433_000_000).contains(&before), "{before}");
    }

    #[test]
    fn a_rate_that_touches_zero_is_still_in_order() {
        let sine = sine("100", "100", "10s");
        // The trough at 7.5 s: N = 750 + 100·10/(2π)·(1 − cos 270°) = 750 + 159.15 = 909.155.
        assert_eq!(count_before(&sine, Picos::from_millis(7_500)), 910);
        assert!((1..5_000).all(|n| sine.due(n) > sine.due(n - 1)));
    }

    #[test]
    fn wrong_sines_are_refused() {
        let rate = |text: &str| text.parse::<Rate>().unwrap();
        let new = |mean, amplitude, period| Sine::new(rate(mean), rate(amplitude), period);
        assert!(matches!(new("5", "6", Picos::from_secs(1)), Err(ScheduleError::NegativeRate { .. })));
        assert!(matches!(new("5", "5", Picos::ZERO), Err(ScheduleError::Zero { .. })));
        assert!(matches!(new("1000G", "1", Picos::from_secs(1_000)), Err(ScheduleError::PeriodTooFull)));
    }

    trait SincePicos {
        fn since_picos(self, earlier: Picos) -> u64;
    }
    impl SincePicos for Picos {
        fn since_picos(self, earlier: Picos) -> u64 {
            (self - earlier).as_picos()
        }
    }

    #[test]
    fn the_guess_is_near() {
        let sine = sine("1k", "700", "60s");
        assert_guess_is_near(
            &sine,
            [0, 1, 14_999, 33_333, 60_000, 75_000, 86_399_000].map(Picos::from_millis),
        );
    }
}
