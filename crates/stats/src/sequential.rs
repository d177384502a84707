//! Trials until the interval is narrow enough, and what so many looks cost.
//!
//! ```text
//! trials   5    7    9    12   15   19 …   most       a look at each; it ends when the interval's half is
//!          │    │    │    │                           within the share asked for
//!          each look's interval is made at 0.97, and what is stated is 0.95
//! ```
//!
//! Whoever looks again and again and stops when the interval is narrow stops rather when the trials happen to
//! lie close together, so an interval of 95 % holds the truth less often. Corrected in Pocock's way: every look
//! has the same, higher level (S. J. Pocock, Biometrika 64 (1977), 191–199). Pocock's own levels guard any
//! reason to stop, the size of the mean too; here only the width decides (Y. S. Chow and H. Robbins, Ann. Math.
//! Stat. 36 (1965), 457–462), which costs less, so the level is the one that simulation finds to keep 95 % at
//! the stop (docs/statistics.md, tests/all/coverage.rs).

use crate::claim::{Claim, Interval, LEVEL, Refusal};

/// Confidence of each look's interval, so that the one that ends the trials has [`LEVEL`].
pub const LOOK_LEVEL: f64 = 0.97;
/// A look comes when the trials are so many times as many as at the last.
const GROWTH: f64 = 1.25;

/// When to look at the trials, and whether they are enough.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Until {
    /// Half of the interval, relative to the estimate: 0.02 for ±2 %.
    share: f64,
    /// Trials at the first look.
    first: usize,
    /// Trials at the last.
    most: usize,
}

/// What a look showed.
#[derive(Clone, Debug, PartialEq)]
pub enum Look {
    /// It is not time for a look.
    Wait,
    /// Too wide, or no interval at all; there are trials left.
    More(Claim),
    Enough(Interval),
    /// All trials have the same value, and it is not 0. It has no interval, as nothing shows how much it moves,
    /// and more trials would not show it. As far as anybody can tell, it moves by less than any share.
    Still(Refusal),
    /// The last trial was made, and the interval is too wide or there is none.
    NotEnough(Claim),
}

impl Look {
    /// Whether the trials are over because the figure is as sure as was asked for.
    pub const fn is_enough(&self) -> bool {
        matches!(self, Self::Enough(_) | Self::Still(_))
    }
}

impl Until {
    /// Ends at ±`share`, looks first at `first` trials, and last at `most`; `share` above 0, `first` at most
    /// `most`.
    pub fn new(share: f64, first: usize, most: usize) -> Self {
        Self { share, first: first.min(most), most }
    }

    pub fn share(&self) -> f64 {
        self.share
    }

    pub fn most(&self) -> usize {
        self.most
    }

    /// Numbers of trials at which is looked.
    pub fn looks(&self) -> Vec<usize> {
        let next = |trials: &usize| {
            (*trials < self.most)
                .then(|| ((*trials as f64 * GROWTH).ceil() as usize).max(trials + 1).min(self.most))
        };
        std::iter::successors(Some(self.first), next).collect()
    }

    /// The number of this look, from 1, if so many trials are one.
    fn number(&self, trials: usize) -> Option<usize> {
        self.looks().iter().position(|at| *at == trials).map(|at| at + 1)
    }

    /// After so many trials. `claim` makes their interval at a level, and is called only for a look.
    pub fn look(&self, trials: usize, claim: impl FnOnce(f64) -> Claim) -> Look {
        let Some(number) = self.number(trials) else { return Look::Wait };
        // A single look is no repeated one.
        let level = if self.first == self.most { LEVEL } else { LOOK_LEVEL };
        match claim(level).map(|interval| interval.after_looks(number, LEVEL)) {
            Ok(interval) if interval.relative_half() <= self.share => Look::Enough(interval),
            // Of 0 there is no share: what is rare may yet happen.
            Err(refusal @ Refusal::NoSpread { value, .. }) if value != 0.0 => Look::Still(refusal),
            claim if trials >= self.most => Look::NotEnough(claim),
            claim => Look::More(claim),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::students;

    #[test]
    fn what_does_not_move_at_all_ends_the_trials_unless_it_is_zero() {
        let until = Until::new(0.02, 5, 30);
        let of = |values: &[f64]| until.look(values.len(), |level| students::interval_at(values, level));
        assert_eq!(of(&[1_000.0; 5]), Look::Still(Refusal::NoSpread { value: 1_000.0, count: 5 }));
        assert!(of(&[1_000.0; 5]).is_enough());
        // No error in five trials is no share of anything: the sixth may have one.
        assert!(matches!(of(&[0.0; 5]), Look::More(Err(Refusal::NoSpread { .. }))));
        assert!(matches!(of(&[0.0; 30]), Look::NotEnough(Err(Refusal::NoSpread { .. }))));
    }

    #[test]
    fn looks_are_a_quarter_apart() {
        assert_eq!(Until::new(0.02, 5, 20).looks(), [5, 7, 9, 12, 15, 19, 20]);
        assert_eq!(Until::new(0.02, 5, 3).looks(), [3]);
    }

    #[test]
    fn it_ends_when_the_interval_is_narrow_or_the_trials_are_used_up() {
        let until = Until::new(0.02, 5, 7);
        let wide = [90.0, 110.0, 95.0, 105.0, 100.0, 92.0, 107.0];
        let narrow = [100.0, 100.2, 99.9, 100.1, 99.8];
        let of = |values: &[f64]| until.look(values.len(), |level| students::interval_at(values, level));
        assert_eq!(of(&wide[..4]), Look::Wait);
        assert!(matches!(of(&wide[..5]), Look::More(Ok(_))));
        assert_eq!(of(&wide[..6]), Look::Wait);
        assert!(matches!(of(&wide), Look::NotEnough(Ok(_))));
        // s = 0.158, t(0.985; 4) = 3.30 (tables: t(0.985) of 4 is 3.298): half 0.233 of 100.
        let Look::Enough(interval) = of(&narrow) else { panic!("{:?}", of(&narrow)) };
        assert!((interval.half() - 0.233).abs() < 1e-3, "{interval}");
        assert_eq!(interval.level(), 0.95);
        assert!(interval.to_string().ends_with(", 1 look)"), "{interval}");
        let refused = until.look(7, |_| Err(Refusal::Drift { tau: 1.0, p: 0.001 }));
        assert!(matches!(refused, Look::NotEnough(Err(_))));
    }
}
