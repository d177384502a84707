//! The load of a trial: frames per second, exact, so that loads can be keys and compared without doubt.

use std::fmt;
use units::{Picos, Rate};

/// Frames per second, in thousandths: from 0.001 to 18 · 10¹⁵ a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Load(u64);

/// The period in which a load's thousandths are whole frames.
const PERIOD: Picos = Picos::from_secs(1_000);
/// 10¹² frames per second is the most that a [`Rate`] takes.
const MOST: u64 = 1_000_000_000_000_000;

impl Load {
    /// Nothing smaller can be told apart.
    pub const SMALLEST: Self = Self(1);

    /// The nearest load that there is; at least [`Load::SMALLEST`].
    pub fn per_second(frames: f64) -> Self {
        Self(((frames * 1e3).round() as u64).clamp(1, MOST))
    }

    pub fn as_per_second(self) -> f64 {
        self.0 as f64 / 1e3
    }

    pub fn rate(self) -> Rate {
        Rate::new(self.0, PERIOD).expect("between 0.001 and 10¹² frames per second")
    }

    /// Frames that are due in a trial of this length.
    pub fn frames_in(self, length: Picos) -> u64 {
        self.rate().events_before(length)
    }

    /// `self · factor`.
    pub fn times(self, factor: f64) -> Self {
        Self::per_second(self.as_per_second() * factor)
    }

    /// The geometric mean, which halves the ratio between both.
    pub fn between(self, other: Self) -> Self {
        Self::per_second((self.as_per_second() * other.as_per_second()).sqrt())
    }

    /// (high − self) / high: the width of the interval from here to `high`.
    pub fn width_to(self, high: Self) -> f64 {
        1.0 - self.0 as f64 / high.0 as f64
    }

    /// Whether no other load lies between both.
    pub const fn is_next_to(self, high: Self) -> bool {
        high.0 <= self.0.saturating_add(1)
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.rate().to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_is_an_exact_rate() {
        assert_eq!(Load::per_second(400.0).rate(), Rate::per_second(400).unwrap());
        // 0.5 frames per second are due at 0, 2, 4, 6 and 8 s.
        assert_eq!(Load::per_second(0.5).frames_in(Picos::from_secs(10)), 5);
        assert_eq!(Load::per_second(14_880_952.0).frames_in(Picos::from_secs(1)), 14_880_952);
    }

    #[test]
    fn the_middle_halves_the_ratio() {
        assert_eq!(Load::per_second(100.0).between(Load::per_second(400.0)), Load::per_second(200.0));
        assert!((Load::per_second(99.0).width_to(Load::per_second(100.0)) - 0.01).abs() < 1e-12);
        assert!(Load(7).is_next_to(Load(8)) && !Load(7).is_next_to(Load(9)));
    }
}
