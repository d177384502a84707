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
    /// Later than any instant of a run: «never».
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
}
