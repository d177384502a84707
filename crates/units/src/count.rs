//! Counts (`10k`) and shares of a whole (`5%`).

use crate::parse::{ParseError, decimal_and_unit};
use std::fmt;
use std::str::FromStr;

/// A number of things: requests, connections, threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Count(u64);

/// A share of a whole, 0 to 1, kept in millionths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fraction(u32);

const COUNT: &str = "10, 10k, 5M";
const FRACTION: &str = "5%, 0.05";

impl Count {
    pub const fn new(count: u64) -> Self {
        Self(count)
    }
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl FromStr for Count {
    type Err = ParseError;

    fn from_str(input: &str) -> Result<Self, ParseError> {
        let (number, unit) = decimal_and_unit(input, COUNT)?;
        let factor: u128 = match unit {
            "" => 1,
            "k" | "K" => 1_000,
            "M" => 1_000_000,
            "G" => 1_000_000_000,
            _ => return Err(ParseError::new(input, "has an unknown multiplier", COUNT)),
        };
        if !(number.value * factor).is_multiple_of(10u128.pow(number.scale)) {
            return Err(ParseError::new(input, "is not a whole number", COUNT));
        }
        let count = number.times(factor).and_then(|c| u64::try_from(c).ok());
        count.map(Self).ok_or_else(|| ParseError::new(input, "is too large", COUNT))
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0.to_string())
    }
}

impl Fraction {
    pub const ZERO: Self = Self(0);
    pub const ONE: Self = Self(1_000_000);

    /// `None` above one million.
    pub const fn from_millionths(millionths: u32) -> Option<Self> {
        if millionths <= 1_000_000 { Some(Self(millionths)) } else { None }
    }
    pub const fn millionths(self) -> u32 {
        self.0
    }
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / 1e6
    }
}

impl FromStr for Fraction {
    type Err = ParseError;

    fn from_str(input: &str) -> Result<Self, ParseError> {
        let (number, unit) = decimal_and_unit(input, FRACTION)?;
        let factor = match unit {
            "" => 1_000_000,
            "%" => 10_000,
            _ => return Err(ParseError::new(input, "is neither a share nor a percentage", FRACTION)),
        };
        let millionths = number.times(factor).and_then(|m| u32::try_from(m).ok());
        millionths
            .and_then(Self::from_millionths)
            .ok_or_else(|| ParseError::new(input, "is more than the whole", FRACTION))
    }
}

impl fmt::Display for Fraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}%", f64::from(self.0) / 1e4))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_whole() {
        assert_eq!("10k".parse::<Count>().unwrap().get(), 10_000);
        assert_eq!("1.5k".parse::<Count>().unwrap().get(), 1_500);
        assert!("1.5".parse::<Count>().is_err());
        assert!("-3".parse::<Count>().is_err());
    }

    #[test]
    fn fractions_stay_within_the_whole() {
        assert_eq!("5%".parse::<Fraction>().unwrap(), "0.05".parse().unwrap());
        assert_eq!("100%".parse::<Fraction>().unwrap(), Fraction::ONE);
        assert!("101%".parse::<Fraction>().is_err());
        assert_eq!("0.1%".parse::<Fraction>().unwrap().to_string(), "0.1%");
    }

    #[test]
    fn every_multiplier_is_what_its_name_says() {
        for (text, count) in
            [("7", 7), ("2k", 2_000), ("2K", 2_000), ("2M", 2_000_000), ("2G", 2_000_000_000), ("0.5k", 500)]
        {
            assert_eq!(text.parse::<Count>().unwrap(), Count::new(count), "{text}");
        }
        for (text, problem) in [
            ("2x", "has an unknown multiplier"),
            ("1.0005k", "is not a whole number"),
            ("99999999999G", "is too large"),
        ] {
            assert_eq!(text.parse::<Count>().unwrap_err().problem, problem, "{text}");
        }
        assert_eq!(format!("{:>5}", Count(12)), "   12");
    }

    #[test]
    fn fractions_are_told_in_every_way() {
        assert_eq!(Fraction::from_millionths(1_000_000), Some(Fraction::ONE));
        assert_eq!(Fraction::from_millionths(1_000_001), None);
        let quarter: Fraction = "25%".parse().unwrap();
        assert_eq!((quarter.millionths(), quarter.as_f64()), (250_000, 0.25));
        assert_eq!("1".parse::<Fraction>().unwrap(), Fraction::ONE);
        for (text, problem) in [
            ("5x", "is neither a share nor a percentage"),
            ("1.1", "is more than the whole"),
            ("99999999999", "is more than the whole"),
        ] {
            assert_eq!(text.parse::<Fraction>().unwrap_err().problem, problem, "{text}");
        }
    }
}
