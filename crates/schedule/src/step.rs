//! A staircase of rates.
//!
//! ```text
//! rate │         ┌─────── to      r(k) = min(from + k·by, to)         on step k = 0, 1, 2 …
//!      │      ┌──┘                S(k) = every · (k·from + by·k(k − 1)/2)  departures before step k ≤ K
//!      │   ┌──┘  ↕ by             K = ceil((to − from) / by)          the step that has no end
//! from │───┘                      due(n) = k·every + floor((n − S(k)) / r(k))   with the last k with S(k) ≤ n
//!      └──────────────── t
//!       every                    rates in events per picosecond, over one denominator D; every in picoseconds
//! ```
//!
//! There may be millions of steps, so none is stored: the step of a departure is found from a guess (the root
//! of S) and corrected in whole numbers.

use crate::ScheduleError;
use crate::curve::Curve;
use crate::rational::{Common, divide, saturating_picos, saturating_u64};
use crate::search::first_without;
use ethnum::U256;
use units::{Picos, Rate};

pub struct Step {
    denominator: u128,
    from: u128,
    by: u128,
    to: u128,
    every: u64,
    /// K, or the number of steps that fit into 213 days if that is less.
    last: u64,
}

impl Step {
    pub fn new(from: Rate, by: Rate, every: Picos, to: Rate) -> Result<Self, ScheduleError> {
        let Common { denominator, numerators: [first, rise, top] } = Common::of([from, by, to])?;
        if top < first {
            return Err(ScheduleError::StepDown { from, to });
        }
        let every = every.as_picos();
        let longest =
            u64::MAX.checked_div(every).ok_or(ScheduleError::Zero { what: "the length of a step" })?;
        let steps = u64::try_from((top - first).div_ceil(rise)).unwrap_or(u64::MAX);
        Ok(Self { denominator, from: first, by: rise, to: top, every, last: steps.min(longest) })
    }

    /// r(k)·D.
    fn rate(&self, k: u64) -> U256 {
        U256::min(U256::from(self.from) + U256::from(self.by) * U256::from(k), U256::from(self.to))
    }

    /// 2·D·S(k), for k ≤ K.
    fn before(&self, k: u64) -> U256 {
        let (from, by, steps) = (U256::from(self.from), U256::from(self.by), U256::from(k));
        let pairs = steps * U256::from(k.saturating_sub(1));
        U256::from(self.every) * (U256::new(2) * from * steps + by * pairs)
    }

    /// 2·D·n.
    fn scaled(&self, n: u64) -> U256 {
        U256::from(n) * U256::from(self.denominator) * U256::new(2)
    }

    /// The root of `by·k² + (2·from − by)·k = 2·D·n / every`, plus one.
    fn guess(&self, scaled: U256) -> u64 {
        let (from, by) = (self.from as f64, self.by as f64);
        let right = scaled.as_f64() / self.every as f64;
        let b = 2.0 * from - by;
        let root = (b * b + 4.0 * by * right).sqrt();
        ((root - b) / (2.0 * by)) as u64 + 1
    }
}

impl Curve for Step {
    fn due(&self, n: u64) -> Picos {
        let scaled = self.scaled(n);
        // The first step that starts with more than n reached, less one; step 0 starts with none.
        let k = first_without(self.guess(scaled), self.last + 1, |k| self.before(k) <= scaled) - 1;
        let within = divide(scaled - self.before(k), self.rate(k) * U256::new(2)).0;
        saturating_picos(U256::from(k) * U256::from(self.every) + within)
    }

    fn roughly_before(&self, end: Picos) -> u64 {
        let k = (end.as_picos() / self.every).min(self.last);
        let within = U256::from(end.as_picos() - k * self.every) * self.rate(k) * U256::new(2);
        saturating_u64(divide(self.before(k) + within, self.scaled(1)).0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::{assert_guess_is_near, count_before};

    fn step(from: &str, by: &str, every: &str, to: &str) -> Step {
        let rate = |text: &str| text.parse::<Rate>().unwrap();
        Step::new(rate(from), rate(by), every.parse().unwrap(), rate(to)).unwrap()
    }

    #[test]
    fn counts_are_sums_of_steps() {
        // 1 000, 1 500, 2 000, 2 200, 2 200 … per second, 10 s each: the last rise is cut off at `to`.
        let step = step("1k", "500", "10s", "2.2k");
        for (secs, n) in
            [(10, 10_000), (15, 17_500), (20, 25_000), (30, 45_000), (40, 67_000), (100, 199_000)]
        {
            assert_eq!(count_before(&step, Picos::from_secs(secs)), n, "{secs} s");
            assert_eq!(step.due(n), Picos::from_secs(secs), "{n}");
        }
        // One after the start of the second step: 1 s / 1 500 = 666.666 µs later.
        assert_eq!(step.due(10_001).as_picos(), 10_000_666_666_666);
    }

    #[test]
    fn a_million_steps_cost_no_more_than_one() {
        // +1/s each second from 1/s: S(k) = k(k + 1)/2 at k seconds, up to a million per second.
        let step = step("1", "1", "1s", "1M");
        for k in [1, 2, 1_000, 999_999, 1_000_000u64] {
            assert_eq!(step.due(k * (k + 1) / 2), Picos::from_secs(k), "{k}");
            assert_eq!(count_before(&step, Picos::from_secs(k)), k * (k + 1) / 2, "{k}");
        }
    }

    #[test]
    fn wrong_steps_are_refused() {
        let rate = |text: &str| text.parse::<Rate>().unwrap();
        assert!(Step::new(rate("5"), rate("1"), Picos::from_secs(1), rate("4")).is_err());
        assert!(Step::new(rate("1"), rate("1"), Picos::ZERO, rate("4")).is_err());
    }

    #[test]
    fn the_guesses_are_near() {
        let step = step("1k", "500", "10s", "2.2k");
        let times = [0, 1, 9_999, 10_000, 15_500, 29_999, 30_000, 99_999, 86_400_000];
        assert_guess_is_near(&step, times.map(Picos::from_millis));
        // The n-th departure is on step k while S(k) ≤ n < S(k + 1); the guess is the first step behind it.
        for (n, k) in [(0, 0), (9_999, 0), (10_000, 1), (24_999, 1), (25_000, 2), (44_999, 2)] {
            assert!(step.guess(step.scaled(n)).abs_diff(k + 1) <= 1, "{n}");
        }
        let long = self::step("1", "1", "1s", "1M");
        for k in [1, 1_000, 999_999u64] {
            let guess = long.guess(long.scaled(k * (k + 1) / 2));
            assert!(guess.abs_diff(k + 1) <= 1, "{k}: {guess}");
        }
    }
}
