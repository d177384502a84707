//! How a thread that waits for due times stands towards the others on its CPU.

use crate::parse::ParseError;
use std::fmt;
use std::str::FromStr;

/// What was asked for; what it comes to is decided where the threads begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Priority {
    /// Real-time where that is safe, else niceness as far as allowed, else the usual one.
    #[default]
    Auto,
    /// The usual one.
    Normal,
    RealTime,
}

const EXPECTED: &str = "auto, normal or real-time";

impl Priority {
    /// As it is typed.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Normal => "normal",
            Self::RealTime => "real-time",
        }
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl FromStr for Priority {
    type Err = ParseError;

    fn from_str(input: &str) -> Result<Self, ParseError> {
        let known = [Self::Auto, Self::Normal, Self::RealTime];
        let found = known.into_iter().find(|priority| priority.word() == input.trim());
        found.ok_or_else(|| ParseError::new(input, "is not a priority", EXPECTED))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_read_back_and_others_are_refused() {
        for priority in [Priority::Auto, Priority::Normal, Priority::RealTime] {
            assert_eq!(priority.to_string().parse(), Ok(priority));
        }
        assert_eq!("high".parse::<Priority>().unwrap_err().expected, EXPECTED);
    }
}
