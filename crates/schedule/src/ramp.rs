//! From one rate to another in a straight line, then on at that rate.
//!
//! ```text
//! rate │        ________ to       N(t) = from·t + (to − from)·t² / (2·over)     t ≤ over
//!      │      ╱                   N(t) = (from + to)/2 · over + to·(t − over)   afterwards
//!      │    ╱                     due(n) = floor(t) with N(t) = n, exactly (see `line.rs`)
//! from │  ╱
//!      └───────────────── t       rates in events per second, times in picoseconds
//!         over
//! ```

use crate::ScheduleError;
use crate::line::Lines;
use crate::rational::Common;
use units::{Picos, Rate};

pub fn ramp(from: Rate, to: Rate, over: Picos) -> Result<Lines, ScheduleError> {
    let Common { denominator, numerators: [from, to] } = Common::of([from, to])?;
    Ok(Lines::new(denominator, [(from, to, over)].into_iter(), Some(to)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::{Curve, assert_guess_is_near, count_before};

    fn ramp(from: &str, to: &str, over: &str) -> Lines {
        super::ramp(from.parse().unwrap(), to.parse().unwrap(), over.parse().unwrap()).unwrap()
    }

    #[test]
    fn counts_are_the_integral() {
        // 100/s to 500/s in 10 s: N(5 s) = 500 + 400·25/20 = 1 000; N(10 s) = 300·10 = 3 000; then 500 each
        // second.
        let ramp = ramp("100", "500", "10s");
        for (secs, n) in [(0, 0), (5, 1_000), (10, 3_000), (11, 3_500), (3_610, 1_803_000)] {
            assert_eq!(count_before(&ramp, Picos::from_secs(secs)), n, "{secs} s");
            assert_eq!(ramp.due(n), Picos::from_secs(secs), "{n}");
        }
    }

    #[test]
    fn due_times_are_exact_floors() {
        // 100 t + 20 t² = n in seconds, by Python's decimal with 60 digits:
        // floor(Decimal(10)**12 * ((Decimal(10000) + 80*n).sqrt() - 100) / 40)
        let ramp = ramp("100", "500", "10s");
        for (n, expected) in [
            (1, 9_980_079_602),
            (2, 19_920_633_670),
            (7, 69_046_515_733),
            (999, 4_996_665_925_596),
            (2_999, 9_997_999_839_974),
        ] {
            assert_eq!(ramp.due(n).as_picos(), expected, "{n}");
        }
    }

    #[test]
    fn a_ramp_down_is_the_mirror() {
        let ramp = ramp("500", "100", "10s");
        // N(5 s) = 2 500 − 400·25/20 = 2 000; N(10 s) = 3 000; then 100 each second.
        for (secs, n) in [(5, 2_000), (10, 3_000), (20, 4_000)] {
            assert_eq!(count_before(&ramp, Picos::from_secs(secs)), n, "{secs} s");
        }
    }

    #[test]
    fn a_long_and_fast_ramp_stays_exact() {
        // From 1/7s to 148 809 523/s in a day: N(86 400 s) = (1/7 + 148 809 523)/2 · 86 400 =
        // 6 428 571 399 771.43…
        let ramp = ramp("1/7s", "148809523", "1d");
        assert_eq!(count_before(&ramp, Picos::from_secs(86_400)), 6_428_571_399_772);
        // At a quarter of the day 21 600·(1/7 + (148 809 523 − 1/7)/8) = 401 785 714 800 exactly, by Python's
        // Fraction.
        assert_eq!(ramp.due(401_785_714_800), Picos::from_secs(21_600));
    }

    #[test]
    fn the_guesses_are_near() {
        // On the line, at its end and behind it.
        let times = [0, 1, 4_321, 9_999, 10_000, 10_001, 3_610_500].map(Picos::from_millis);
        assert_guess_is_near(&ramp("100", "500", "10s"), times);
        assert_guess_is_near(&ramp("500", "100", "10s"), times);
    }
}
