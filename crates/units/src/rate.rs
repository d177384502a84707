//! Rates as exact rationals: 400/s is 400/s for a day.

use crate::parse::{ParseError, decimal_and_unit};
use crate::picos::Picos;
use std::fmt;
use std::str::FromStr;

/// Events per second as `events / per`, both exact: `per` is a length of time in picoseconds.
/// Always greater than zero and at most 10¹² per second (one each picosecond).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rate {
    events: u64,
    per_picos: u64,
}

const EXPECTED: &str = "400, 20k, 400/s, 30/min, 1/7s";
const SECOND: u64 = 1_000_000_000_000;

impl Rate {
    /// `events` each `per`; `None` when either is zero or the rate is over 10¹² per second.
    pub fn new(events: u64, per: Picos) -> Option<Self> {
        let (events, per_picos) = lowest_terms(events, per.as_picos());
        (events > 0 && per_picos > 0 && events <= per_picos).then_some(Self { events, per_picos })
    }

    /// `events` per second; `None` when zero or over 10¹².
    pub fn per_second(events: u64) -> Option<Self> {
        Self::new(events, Picos::from_secs(1))
    }

    /// Offset of the n-th event from the first: `floor(n · per / events)`, in 128-bit arithmetic, so
    /// no rounding adds up. Saturates at 213 days.
    pub fn due(self, n: u64) -> Picos {
        let picos = u128::from(n) * u128::from(self.per_picos) / u128::from(self.events);
        Picos::from_picos_u128(picos)
    }

    /// How many events have their `due` strictly before `end`: the smallest n with `due(n) ≥ end`.
    pub fn events_before(self, end: Picos) -> u64 {
        // due(n) ≥ end  ⇔  n·per ≥ end·events  ⇔  n ≥ ceil(end·events / per), as due rounds down.
        let product = u128::from(end.as_picos()) * u128::from(self.events);
        u64::try_from(product.div_ceil(u128::from(self.per_picos))).unwrap_or(u64::MAX)
    }

    /// Time between two events, rounded down.
    pub fn gap(self) -> Picos {
        self.due(1)
    }

    /// Numerator and denominator: events, and the picoseconds in which they happen.
    pub fn ratio(self) -> (u64, Picos) {
        (self.events, Picos::from_picos(self.per_picos))
    }

    pub fn as_per_second_f64(self) -> f64 {
        self.events as f64 / self.per_picos as f64 * 1e12
    }
}

fn lowest_terms(a: u64, b: u64) -> (u64, u64) {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    (a.checked_div(x).unwrap_or(a), b.checked_div(x).unwrap_or(b))
}

impl FromStr for Rate {
    type Err = ParseError;

    /// `400`, `20k`, `0.5`, `400/s`, `20k/min`, `1/7s`, `3/250ms`.
    fn from_str(input: &str) -> Result<Self, ParseError> {
        let fail = |problem| ParseError::new(input, problem, EXPECTED);
        let (events, per) = match input.split_once('/') {
            Some((events, per)) => (events, per.trim()),
            None => (input, "s"),
        };
        let (number, unit) = decimal_and_unit(events, EXPECTED)
            .map_err(|error| ParseError { input: input.to_owned(), ..error })?;
        let multiplier: u128 = match unit {
            "" => 1,
            "k" | "K" => 1_000,
            "M" => 1_000_000,
            "G" => 1_000_000_000,
            _ => return Err(fail("has an unknown multiplier")),
        };
        let with_count = |per: &str| {
            let bare_unit = per.starts_with(|c: char| c.is_alphabetic());
            if bare_unit { format!("1{per}") } else { per.to_owned() }
        };
        let period: Picos =
            with_count(per).parse().map_err(|_| fail("has an unknown unit of time after '/'"))?;
        let events = number.value * multiplier;
        if events == 0 {
            return Err(fail("is zero"));
        }
        // value/10^scale events per period = value events per (period · 10^scale)
        let per_picos = u128::from(period.as_picos()) * 10u128.pow(number.scale);
        let shrink = gcd128(events, per_picos).max(1);
        let events = u64::try_from(events / shrink).map_err(|_| fail("is too large"))?;
        let per_picos = u64::try_from(per_picos / shrink).map_err(|_| fail("is too small"))?;
        Self::new(events, Picos::from_picos(per_picos)).ok_or_else(|| fail("is more than one per picosecond"))
    }
}

fn gcd128(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// An exact form that parses back to the same rate.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let per_second = u128::from(self.events) * u128::from(SECOND);
        if per_second.is_multiple_of(u128::from(self.per_picos)) {
            return f.pad(&format!("{}/s", per_second / u128::from(self.per_picos)));
        }
        f.pad(&format!("{}/{}", self.events, Picos::from_picos(self.per_picos)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(text: &str) -> Rate {
        text.parse().unwrap()
    }

    #[test]
    fn due_times_are_exact_over_a_billion_events() {
        // Expected: floor(10⁹ · 10¹² / rate), by Python: 10**21 // rate.
        for (per_second, at_1e9) in
            [(600_000, 1_666_666_666_666_666), (14_880_952, 67200001720320), (148_809_523, 6720000036556)]
        {
            let rate = Rate::per_second(per_second).unwrap();
            assert_eq!(rate.due(1_000_000_000).as_picos(), at_1e9, "{per_second}/s");
        }
        assert_eq!(rate("3").due(3_000_000), Picos::from_secs(1_000_000));
        assert_eq!(rate("7").due(7_000_000), Picos::from_secs(1_000_000));
    }

    #[test]
    fn four_hundred_a_second_is_four_hundred_a_second() {
        assert_eq!(rate("400").gap(), Picos::from_micros(2_500));
        assert_eq!(rate("400/s").events_before(Picos::from_secs(86_400)), 400 * 86_400);
        assert_eq!(rate("600").events_before(Picos::from_secs(1)), 600);
    }

    #[test]
    fn one_in_seven_seconds() {
        assert_eq!(rate("1/7s").due(3), Picos::from_secs(21));
        assert_eq!(rate("30/min").gap(), Picos::from_secs(2));
        assert_eq!(rate("0.5").gap(), Picos::from_secs(2));
        assert_eq!(rate("20k"), rate("20000/s"));
    }

    #[test]
    fn refuses_what_is_not_a_rate() {
        for (text, problem) in [
            ("0", "is zero"),
            ("-5", "is negative"),
            ("NaN", "is not a number"),
            ("5x", "has an unknown multiplier"),
            ("5/fortnight", "has an unknown unit of time after '/'"),
            ("2000G", "is more than one per picosecond"),
        ] {
            assert_eq!(text.parse::<Rate>().unwrap_err().problem, problem, "{text}");
        }
    }

    #[test]
    fn printed_form_round_trips() {
        for text in ["400", "1/7s", "0.3", "14880952", "3/250ms", "1/3d"] {
            assert_eq!(rate(text).to_string().parse::<Rate>().unwrap(), rate(text), "{text}");
        }
    }

    #[test]
    fn every_multiplier_is_what_its_name_says() {
        for (text, per_second) in [("2k", 2_000), ("2K", 2_000), ("2M", 2_000_000), ("2G", 2_000_000_000)] {
            assert_eq!(rate(text), Rate::per_second(per_second).unwrap(), "{text}");
            let ratio = rate(text).as_per_second_f64() / per_second as f64;
            assert!((ratio - 1.0).abs() < 1e-12, "{text}");
        }
        assert_eq!(rate("1/4s").as_per_second_f64(), 0.25);
        assert_eq!(rate("6/4s").ratio(), (3, Picos::from_secs(2)));
    }

    #[test]
    fn the_fastest_is_one_each_picosecond() {
        assert_eq!(Rate::new(1, Picos::from_picos(1)).unwrap().gap(), Picos::from_picos(1));
        assert_eq!(Rate::new(2, Picos::from_picos(1)), None);
        assert_eq!((Rate::new(0, Picos::from_secs(1)), Rate::new(1, Picos::ZERO)), (None, None));
        assert_eq!(Rate::per_second(1_000_000_000_000).unwrap().gap(), Picos::from_picos(1));
        assert_eq!("79228162514264337593543950335".parse::<Rate>().unwrap_err().problem, "is too large");
        // 10⁻⁸ each 213 days.
        assert_eq!("0.00000001/213d".parse::<Rate>().unwrap_err().problem, "is too small");
    }

    #[test]
    fn printed_as_a_whole_number_a_second_where_it_is_one() {
        for (text, printed) in [("120/min", "2/s"), ("1/7s", "1/7s"), ("0.3", "3/10s"), ("1.5k", "1500/s")] {
            assert_eq!(rate(text).to_string(), printed);
        }
    }
}
