//! Even gaps.
//!
//! ```text
//! due(n) = floor(n · per / events)          rate = events / per, per in picoseconds
//!
//! rate │────────────────────
//!      │
//!      └──────────────────── t
//! ```

use crate::curve::Curve;
use units::{Picos, Rate};

pub struct Constant(pub Rate);

impl Constant {
    /// One each `every`; `None` when that is zero.
    pub fn every(every: Picos) -> Option<Self> {
        Rate::new(1, every).map(Self)
    }
}

impl Curve for Constant {
    fn due(&self, n: u64) -> Picos {
        self.0.due(n)
    }

    fn roughly_before(&self, end: Picos) -> u64 {
        self.0.events_before(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::{assert_guess_is_near, count_before};

    #[test]
    fn exact_over_a_billion_events() {
        // floor(10⁹ · 10¹² / rate), by Python: 10**21 // rate; 3/s and 7/s are over 213 days at 10⁹, so 10⁷.
        for (per_second, n, expected) in [
            (3, 10_000_000, 3_333_333_333_333_333_333),
            (7, 10_000_000, 1_428_571_428_571_428_571),
            (600_000, 1_000_000_000, 1_666_666_666_666_666),
            (14_880_952, 1_000_000_000, 67_200_001_720_320),
            (148_809_523, 1_000_000_000, 6_720_000_036_556),
        ] {
            let constant = Constant(Rate::per_second(per_second).unwrap());
            assert_eq!(constant.due(n).as_picos(), expected, "{per_second}/s");
            assert_eq!(count_before(&constant, constant.due(n)), n);
            assert_eq!(count_before(&constant, Picos::from_secs(86_400)), per_second * 86_400);
        }
    }

    #[test]
    fn what_would_be_due_after_213_days_is_never_due() {
        let constant = Constant(Rate::per_second(1).unwrap());
        assert_eq!(constant.due(20_000_000), Picos::MAX);
        // floor(2⁶⁴ ps / 1 s) = 18 446 744; the last is due at 18 446 744 s.
        assert_eq!(count_before(&constant, Picos::MAX), 18_446_745);
    }

    #[test]
    fn the_guess_is_near() {
        let constant = Constant(Rate::per_second(600_000).unwrap());
        assert_guess_is_near(&constant, [0, 1, 59, 86_400].map(Picos::from_secs));
    }
}
