//! Lengths of time and points in time, in picoseconds.

use crate::parse::{ParseError, decimal_and_unit};
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};
use std::str::FromStr;

/// A length of time in picoseconds, 0 to 213 days. Sums saturate: a run is never that long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Picos(u64);

/// A point in time: picoseconds since the epoch of the run's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

const EXPECTED: &str = "10s, 250ms, 1.5m, 2h, 800us, 40ns";

impl Picos {
    pub const ZERO: Self = Self(0);
    pub const MAX: Self = Self(u64::MAX);

    #[inline]
    pub const fn from_picos(picos: u64) -> Self {
        Self(picos)
    }
    #[inline]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos.saturating_mul(1_000))
    }
    #[inline]
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros.saturating_mul(1_000_000))
    }
    #[inline]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000_000))
    }
    #[inline]
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1_000_000_000_000))
    }
    /// Rounds to the nearest picosecond; NaN and negative become zero, too large becomes `MAX`.
    pub fn from_secs_f64(secs: f64) -> Self {
        Self((secs * 1e12).round() as u64)
    }
    /// Saturates at `MAX`.
    #[inline]
    pub fn from_picos_u128(picos: u128) -> Self {
        Self(u64::try_from(picos).unwrap_or(u64::MAX))
    }

    #[inline]
    pub const fn as_picos(self) -> u64 {
        self.0
    }
    /// Whole nanoseconds, rounded down.
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0 / 1_000
    }
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e12
    }
    pub fn as_std(self) -> std::time::Duration {
        std::time::Duration::from_nanos(self.as_nanos())
    }
    #[inline]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
    #[inline]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
    #[inline]
    pub const fn saturating_mul(self, times: u64) -> Self {
        Self(self.0.saturating_mul(times))
    }
}

impl Instant {
    /// The clock's epoch.
    pub const EPOCH: Self = Self(0);
    /// Later than any instant of a run: "never".
    pub const FAR: Self = Self(u64::MAX);

    #[inline]
    pub const fn from_picos(since_epoch: u64) -> Self {
        Self(since_epoch)
    }
    /// Length of time since the epoch.
    #[inline]
    pub const fn since_epoch(self) -> Picos {
        Picos(self.0)
    }
    /// `self − earlier`, zero when `earlier` is later.
    #[inline]
    pub const fn since(self, earlier: Self) -> Picos {
        Picos(self.0.saturating_sub(earlier.0))
    }
    #[inline]
    pub const fn saturating_sub(self, by: Picos) -> Self {
        Self(self.0.saturating_sub(by.0))
    }
}

impl Add<Picos> for Instant {
    type Output = Self;
    #[inline]
    fn add(self, by: Picos) -> Self {
        Self(self.0.saturating_add(by.0))
    }
}
impl Add for Picos {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}
impl AddAssign for Picos {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}
impl Sub for Picos {
    type Output = Self;
    /// Saturates at zero.
    #[inline]
    fn sub(self, other: Self) -> Self {
        self.saturating_sub(other)
    }
}
impl Sum for Picos {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::ZERO, Add::add)
    }
}

impl FromStr for Picos {
    type Err = ParseError;

    /// `10s`, `250ms`, `1.5m`, `2h`, `1d`, `800us`, `800µs`, `40ns`, `7ps`; a bare number is seconds.
    fn from_str(input: &str) -> Result<Self, ParseError> {
        let (number, unit) = decimal_and_unit(input, EXPECTED)?;
        let factor: u128 = match unit {
            "ps" => 1,
            "ns" => 1_000,
            "us" | "µs" | "μs" => 1_000_000,
            "ms" => 1_000_000_000,
            "" | "s" | "sec" => 1_000_000_000_000,
            "m" | "min" => 60_000_000_000_000,
            "h" => 3_600_000_000_000_000,
            "d" => 86_400_000_000_000_000,
            _ => return Err(ParseError::new(input, "has an unknown unit of time", EXPECTED)),
        };
        let picos = number.times(factor).and_then(|p| u64::try_from(p).ok());
        picos.map(Self).ok_or_else(|| ParseError::new(input, "is longer than 213 days", EXPECTED))
    }
}

/// The shortest exact form that parses back to the same value, except with `{:#}` or a precision,
/// which round to three significant digits for people (`1.23 ms`).
impl fmt::Display for Picos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 5] =
            [(1_000_000_000_000, "s"), (1_000_000_000, "ms"), (1_000_000, "us"), (1_000, "ns"), (1, "ps")];
        if f.alternate() {
            return self.fmt_rounded(f);
        }
        if self.0 == 0 {
            return f.pad("0s");
        }
        let (size, name) =
            UNITS.into_iter().find(|(size, _)| self.0.is_multiple_of(*size)).unwrap_or((1, "ps"));
        f.pad(&format!("{}{name}", self.0 / size))
    }
}

impl Picos {
    fn fmt_rounded(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0 as f64 / 1e3;
        let (value, unit) = match nanos {
            n if n < 999.5 => (n, "ns"),
            n if n < 999.5e3 => (n / 1e3, "µs"),
            n if n < 999.5e6 => (n / 1e6, "ms"),
            n if n < 600e9 => (n / 1e9, "s"),
            n => (n / 60e9, "min"),
        };
        let decimals = match value {
            v if v == 0.0 || v >= 99.95 => 0,
            v if v >= 9.995 => 1,
            _ => 2,
        };
        f.pad(&format!("{value:.decimals$} {unit}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_every_unit() {
        // Each expected value is the unit's definition in picoseconds.
        for (text, picos) in [
            ("7ps", 7),
            ("40ns", 40_000),
            ("1.5us", 1_500_000),
            ("250ms", 250_000_000_000),
            ("10s", 10_000_000_000_000),
            ("2", 2_000_000_000_000),
            ("1.5m", 90_000_000_000_000),
            ("2h", 7_200_000_000_000_000),
            ("1_000ns", 1_000_000),
        ] {
            assert_eq!(text.parse::<Picos>().unwrap().as_picos(), picos, "{text}");
        }
    }

    #[test]
    fn refuses_what_is_not_a_time() {
        for text in ["", "-1s", "s", "1x", "1.2.3s", "NaN", "inf", "300d"] {
            assert!(text.parse::<Picos>().is_err(), "{text}");
        }
    }

    #[test]
    fn exact_form_round_trips() {
        for picos in [0, 1, 999, 1_000, 1_500_000, 90_000_000_000_000, u64::MAX] {
            let time = Picos(picos);
            assert_eq!(time.to_string().parse::<Picos>().unwrap(), time);
        }
    }

    #[test]
    fn rounded_form_keeps_three_digits() {
        for (picos, text) in [
            (0, "0 ns"),
            (812_000, "812 ns"),
            (1_234_000, "1.23 µs"),
            (12_345_000, "12.3 µs"),
            (999_600_000, "1.00 ms"),
            (1_000_000_000_000, "1.00 s"),
        ] {
            assert_eq!(format!("{:#}", Picos(picos)), text);
        }
    }

    #[test]
    fn other_names_of_units_are_read_as_well() {
        for (text, picos) in [
            ("1µs", 1_000_000),
            ("1μs", 1_000_000),
            ("2sec", 2_000_000_000_000),
            ("1min", 60_000_000_000_000),
            ("1d", 86_400_000_000_000_000),
        ] {
            assert_eq!(text.parse::<Picos>().unwrap().as_picos(), picos, "{text}");
        }
    }

    #[test]
    fn constructors_are_named_by_their_unit() {
        for (time, picos) in [
            (Picos::from_nanos(3), 3_000),
            (Picos::from_micros(3), 3_000_000),
            (Picos::from_millis(3), 3_000_000_000),
            (Picos::from_secs(3), 3_000_000_000_000),
            (Picos::from_secs_f64(1.5e-12), 2),
            (Picos::from_secs_f64(2.5), 2_500_000_000_000),
            (Picos::from_secs_f64(-1.0), 0),
            (Picos::from_secs_f64(f64::NAN), 0),
            (Picos::from_secs(u64::MAX), u64::MAX),
            (Picos::from_picos_u128(7), 7),
            (Picos::from_picos_u128(1 << 64), u64::MAX),
        ] {
            assert_eq!(time.as_picos(), picos, "{time:?}");
        }
        let time = Picos::from_micros(2_500_000);
        assert_eq!((time.as_nanos(), time.as_secs_f64()), (2_500_000_000, 2.5));
        assert_eq!(time.as_std(), std::time::Duration::from_millis(2_500));
        assert!(Picos::ZERO.is_zero() && !Picos(1).is_zero());
    }

    #[test]
    fn sums_and_differences_saturate() {
        let mut sum = Picos(3) + Picos(4);
        sum += Picos(5);
        assert_eq!((sum, [Picos(1), Picos(2), Picos(3)].into_iter().sum::<Picos>()), (Picos(12), Picos(6)));
        assert_eq!((Picos(7) - Picos(5), Picos(5) - Picos(7)), (Picos(2), Picos::ZERO));
        assert_eq!(Picos(7).saturating_sub(Picos(5)), Picos(2));
        assert_eq!((Picos(7).saturating_mul(3), Picos::MAX.saturating_mul(2)), (Picos(21), Picos::MAX));
        assert_eq!(Picos::MAX + Picos(1), Picos::MAX);

        let (early, late) = (Instant::from_picos(5), Instant::from_picos(7));
        assert_eq!((late.since(early), early.since(late)), (Picos(2), Picos::ZERO));
        assert_eq!((late.since_epoch(), early + Picos(2)), (Picos(7), late));
        assert_eq!((late.saturating_sub(Picos(2)), late.saturating_sub(Picos(9))), (early, Instant::EPOCH));
        assert_eq!(Instant::FAR + Picos(1), Instant::FAR);
    }

    #[test]
    fn the_exact_form_has_the_largest_unit_that_divides_it() {
        for (picos, text) in [
            (0, "0s"),
            (999, "999ps"),
            (2_000, "2ns"),
            (1_500_000, "1500ns"),
            (3_000_000, "3us"),
            (4_000_000_000, "4ms"),
            (90_000_000_000_000, "90s"),
        ] {
            assert_eq!(Picos(picos).to_string(), text);
        }
    }

    #[test]
    fn the_rounded_form_changes_its_unit_where_three_digits_end() {
        for (picos, text) in [
            (1_000, "1.00 ns"),
            (9_994, "9.99 ns"),
            (9_996, "10.0 ns"),
            (99_940, "99.9 ns"),
            (99_960, "100 ns"),
            (999_499, "999 ns"),
            (999_500, "1.00 µs"),
            (999_499_999, "999 µs"),
            (999_500_000, "1.00 ms"),
            (999_499_999_999, "999 ms"),
            (999_500_000_000, "1.00 s"),
            (599_900_000_000_000, "600 s"),
            (600_000_000_000_000, "10.0 min"),
            (5_400_000_000_000_000, "90.0 min"),
        ] {
            assert_eq!(format!("{:#}", Picos(picos)), text);
        }
    }
}
