//! Poisson times by number, for loads that are steered or merged: the sum is drawn once, and remembered where
//! that is cheap.
//!
//! ```text
//!   marks   ├────4096────┼────4096────┼──  state of the sum, the last ones only
//!   due     ─────────────────────►│        goes on from where it is; back from the nearest mark
//!   before  ──────────────────►│           the same, for counts
//! ```

use crate::curve::Curve;
use crate::poisson::Poisson;
use std::cell::RefCell;
use std::collections::VecDeque;
use units::{Picos, Rate};

/// Draws between two marks, and how many marks are kept besides the first.
const APART: u64 = 4_096;
const MARKS: usize = 1_024;

/// A sum that was drawn up to a departure.
#[derive(Clone)]
struct Walk {
    poisson: Poisson,
    /// The number of the departure that is due at `due`.
    number: u64,
    due: Picos,
}

impl Walk {
    fn begin(mut poisson: Poisson) -> Self {
        let due = draw(&mut poisson);
        Self { poisson, number: 0, due }
    }

    fn step(&mut self) {
        self.due = draw(&mut self.poisson);
        self.number += 1;
    }
}

/// 213 days are never.
fn draw(poisson: &mut Poisson) -> Picos {
    poisson.next().and_then(Result::ok).unwrap_or(Picos::MAX)
}

/// See the module.
pub struct Drawn {
    first: Walk,
    marks: RefCell<VecDeque<Walk>>,
    due: RefCell<Walk>,
    before: RefCell<Walk>,
}

impl Drawn {
    pub fn new(rate: Rate, seed: u64) -> Self {
        let first = Walk::begin(Poisson::new(rate, seed));
        let (due, before) = (RefCell::new(first.clone()), RefCell::new(first.clone()));
        Self { first, marks: RefCell::default(), due, before }
    }

    /// The last mark for which `holds`, or the beginning.
    fn mark(&self, holds: impl Fn(&Walk) -> bool) -> Walk {
        let marks = self.marks.borrow();
        marks.iter().rev().find(|walk| holds(walk)).unwrap_or(&self.first).clone()
    }

    fn keep(&self, walk: &Walk) {
        let mut marks = self.marks.borrow_mut();
        if walk.number.is_multiple_of(APART) && marks.back().is_none_or(|last| last.number < walk.number) {
            marks.push_back(walk.clone());
            if marks.len() > MARKS {
                marks.pop_front();
            }
        }
    }
}

impl Curve for Drawn {
    fn due(&self, n: u64) -> Picos {
        let mut walk = self.due.borrow_mut();
        if walk.number > n {
            *walk = self.mark(|walk| walk.number <= n);
        }
        while walk.number < n && walk.due < Picos::MAX {
            walk.step();
            self.keep(&walk);
        }
        walk.due
    }

    fn roughly_before(&self, end: Picos) -> u64 {
        self.before(end, u64::MAX)
    }

    fn before(&self, end: Picos, most: u64) -> u64 {
        let mut walk = self.before.borrow_mut();
        // The walk stands at the first that is not before the last end.
        if walk.due >= end && walk.number > 0 {
            *walk = self.mark(|walk| walk.due < end);
        }
        while walk.due < end && walk.number < most {
            walk.step();
            self.keep(&walk);
        }
        walk.number.min(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_by_number_are_those_drawn_one_after_another_in_any_order() {
        let rate: Rate = "1M".parse().unwrap();
        let all: Vec<Picos> = Poisson::new(rate, 9).take(20_000).map(Result::unwrap).collect();
        let drawn = Drawn::new(rate, 9);
        for n in [0u64, 1, 19_999, 5, 4_096, 4_095, 12_288, 12_287, 0, 19_999] {
            assert_eq!(drawn.due(n), all[n as usize], "{n}");
        }
        // Counts back and forth, also at a due time itself and one picosecond behind it.
        for n in [10usize, 15_000, 4_096, 4_097, 3, 19_000] {
            assert_eq!(drawn.before(all[n], u64::MAX), all.partition_point(|due| *due < all[n]) as u64);
            let behind = all[n] + Picos::from_picos(1);
            assert_eq!(drawn.before(behind, u64::MAX), all.partition_point(|due| *due < behind) as u64);
        }
        assert_eq!(drawn.before(Picos::ZERO, u64::MAX), 0);
        // However late the end is, no more are drawn than are asked for.
        assert_eq!(drawn.before(Picos::MAX, 5_000), 5_000);
        assert_eq!(drawn.before(all[7], 5_000), 7);
    }

    #[test]
    fn what_is_kept_does_not_grow() {
        let drawn = Drawn::new("1M".parse().unwrap(), 1);
        let far = APART * (MARKS as u64 + 50);
        let due = drawn.due(far);
        assert_eq!(drawn.marks.borrow().len(), MARKS);
        // Further back than any mark: from the beginning.
        assert!(drawn.due(3) < drawn.due(far) && drawn.due(far) == due);
    }
}
