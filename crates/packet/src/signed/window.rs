//! Which of the last numbers were seen: a ring of bits.
//!
//! ```text
//!        base            highest − SPAN + 1                    highest
//!  ────────┼───────────────────┼──1 1 0 1 1 1 1 0 1 1 1 1 1 1 1 1 1┼──────►
//!           decided: seen, or lost        undecided                   not yet
//! ```
//!
//! A number that falls out of the ring unseen is lost. Memory is fixed, however many numbers there are.

/// What a number is to those seen before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Higher than all.
    Ahead,
    /// Lower than the highest, and not seen before.
    Behind,
    Again,
    /// It fell out of the ring: whether it was seen is no longer known.
    TooOld,
}

#[derive(Clone, Debug)]
pub(super) struct Window {
    bits: Box<[u64]>,
    /// The lowest number that is expected, if it is known beforehand.
    from: Option<u64>,
    /// Lowest and highest number that are expected; the highest was seen.
    reach: Option<Reach>,
}

#[derive(Clone, Copy, Debug)]
struct Reach {
    base: u64,
    highest: u64,
}

impl Window {
    /// Remembers the last `span` numbers, at least 64, rounded up to a power of two. `from`: everything from
    /// this number on is expected, also if the first that comes is higher.
    pub fn new(span: u64, from: Option<u64>) -> Self {
        let words = span.clamp(64, 1 << 32).next_power_of_two() / 64;
        Self { bits: vec![0; words as usize].into(), from, reach: None }
    }

    pub fn span(&self) -> u64 {
        self.bits.len() as u64 * 64
    }

    /// From which number on all are expected.
    pub fn first(&self) -> Option<u64> {
        self.reach.map(|reach| reach.base)
    }

    pub fn highest(&self) -> Option<u64> {
        self.reach.map(|reach| reach.highest)
    }

    /// The first that came: what is expected before it and has no place in the ring is lost.
    #[cold]
    fn begin(&mut self, number: u64, lost: &mut dyn FnMut(u64, u64)) {
        let base = self.from.unwrap_or(number).min(number);
        let out = (number + 1).saturating_sub(self.span()).saturating_sub(base);
        if out > 0 {
            lost(base, out);
        }
        self.reach = Some(Reach { base: base + out, highest: number });
        self.set(number);
    }

    /// `number` was seen. Numbers that are now known to be lost are told as (first, how many), ascending.
    #[inline]
    pub fn see(&mut self, number: u64, lost: &mut dyn FnMut(u64, u64)) -> Place {
        let Some(mut reach) = self.reach else {
            self.begin(number, lost);
            return Place::Ahead;
        };
        if number == reach.highest + 1 {
            reach.highest = number;
            self.reach = Some(reach);
            self.slide(number, lost);
            return Place::Ahead;
        }
        if number > reach.highest {
            self.jump(number, lost);
            return Place::Ahead;
        }
        if reach.highest - number >= self.span() {
            return Place::TooOld;
        }
        if self.is_set(number) {
            return Place::Again;
        }
        self.set(number);
        // Before the first that came: those between are expected too.
        reach.base = reach.base.min(number);
        self.reach = Some(reach);
        Place::Behind
    }

    /// Takes the place of the number that falls out.
    #[inline]
    fn slide(&mut self, number: u64, lost: &mut dyn FnMut(u64, u64)) {
        let (word, bit) = self.position(number);
        let was_seen = self.bits[word] & bit != 0;
        self.bits[word] |= bit;
        if !was_seen
            && let Some(out) = number.checked_sub(self.span())
            && self.is_expected(out)
        {
            lost(out, 1);
        }
    }

    #[inline]
    fn is_expected(&self, number: u64) -> bool {
        self.reach.is_some_and(|reach| number >= reach.base)
    }

    /// Numbers were left out: what falls out is decided, and the places of those left out are cleared.
    #[cold]
    fn jump(&mut self, number: u64, lost: &mut dyn FnMut(u64, u64)) {
        let Some(reach) = self.reach else { return };
        let span = self.span();
        // Within the ring one by one; beyond it none was ever seen.
        let last_in_ring = number.min(reach.highest + span);
        for next in reach.highest + 1..=last_in_ring {
            let (word, bit) = self.position(next);
            let was_seen = self.bits[word] & bit != 0;
            self.bits[word] &= !bit;
            if !was_seen
                && let Some(out) = next.checked_sub(span)
                && out >= reach.base
            {
                lost(out, 1);
            }
        }
        if number > last_in_ring {
            lost(reach.highest + 1, number - last_in_ring);
        }
        self.reach = Some(Reach { highest: number, ..reach });
        self.set(number);
    }

    /// Decides all that is undecided, up to the highest seen and up to (without) `until`, and starts anew.
    pub fn finish(&mut self, until: Option<u64>, lost: &mut dyn FnMut(u64, u64)) {
        let next = match self.reach.take() {
            Some(reach) => {
                let first = (reach.highest + 1).saturating_sub(self.span()).max(reach.base);
                (first..=reach.highest)
                    .filter(|number| !self.is_set(*number))
                    .for_each(|number| lost(number, 1));
                Some(reach.highest + 1)
            }
            None => self.from,
        };
        if let (Some(next), Some(until)) = (next, until)
            && until > next
        {
            lost(next, until - next);
        }
        self.bits.fill(0);
    }

    #[inline]
    fn position(&self, number: u64) -> (usize, u64) {
        ((number / 64) as usize & (self.bits.len() - 1), 1 << (number % 64))
    }

    #[inline]
    fn is_set(&self, number: u64) -> bool {
        let (word, bit) = self.position(number);
        self.bits[word] & bit != 0
    }

    #[inline]
    fn set(&mut self, number: u64) {
        let (word, bit) = self.position(number);
        self.bits[word] |= bit;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// What became of these numbers: places in order, and the lost ones.
    fn fed(span: u64, from: Option<u64>, numbers: &[u64], until: Option<u64>) -> (Vec<Place>, Vec<u64>) {
        let mut window = Window::new(span, from);
        let mut missing = Vec::new();
        let mut lost = |first: u64, count: u64| missing.extend(first..first + count);
        let places = numbers.iter().map(|number| window.see(*number, &mut lost)).collect();
        window.finish(until, &mut lost);
        (places, missing)
    }

    #[test]
    fn one_that_is_left_out_is_lost_and_one_that_comes_later_is_not() {
        use Place::{Again, Ahead, Behind};
        assert_eq!(fed(64, None, &[5, 6, 8, 9], None), (vec![Ahead; 4], vec![7]));
        assert_eq!(fed(64, None, &[5, 7, 6, 8], None), (vec![Ahead, Ahead, Behind, Ahead], vec![]));
        assert_eq!(fed(64, None, &[5, 6, 6, 7], None), (vec![Ahead, Ahead, Again, Ahead], vec![]));
    }

    #[test]
    fn both_ends_are_expected_where_they_are_known() {
        assert_eq!(fed(64, Some(3), &[5, 6], Some(9)).1, [3, 4, 7, 8]);
        assert!(fed(64, None, &[5, 6], None).1.is_empty());
        assert_eq!(fed(64, Some(0), &[], Some(2)).1, [0, 1]);
        // Before the first that came, but within the ring: expected from then on.
        assert_eq!(fed(64, None, &[5, 2], None).1, [3, 4]);
    }

    #[test]
    fn a_leap_far_beyond_the_ring_costs_no_time_and_is_all_lost() {
        let mut window = Window::new(64, None);
        let mut count = 0;
        let mut lost = |_, many| count += many;
        window.see(0, &mut lost);
        window.see(1 << 39, &mut lost);
        window.finish(None, &mut lost);
        assert_eq!(count, (1 << 39) - 1);
    }

    #[test]
    fn what_fell_out_of_the_ring_is_too_old() {
        let (places, lost) = fed(64, None, &[0, 1, 100, 1, 36, 37], None);
        assert_eq!(&places[3..], [Place::TooOld, Place::TooOld, Place::Behind]);
        // Of 101 numbers 0, 1, 37 and 100 were seen.
        assert_eq!(lost.len(), 97);
    }

    proptest! {
        /// A set of all numbers is the truth, as long as nothing is older than the ring.
        #[test]
        fn it_agrees_with_a_set(steps in prop::collection::vec((0_u64..40, 0_u64..60), 1..400)) {
            let (mut highest, mut numbers) = (1_000_u64, vec![1_000]);
            for (ahead, behind) in steps {
                highest = highest.max(*numbers.last().unwrap()) + ahead;
                numbers.push(highest - behind.min(highest - 1_000));
            }
            let (mut seen, mut top) = (BTreeSet::new(), 0);
            let (places, lost) = fed(64, None, &numbers, None);
            for (number, place) in numbers.iter().zip(places) {
                let expected = match *number {
                    n if n > top => Place::Ahead,
                    n if top - n >= 64 => Place::TooOld,
                    n if seen.contains(&n) => Place::Again,
                    _ => Place::Behind,
                };
                prop_assert_eq!(place, expected);
                if place != Place::TooOld {
                    seen.insert(*number);
                }
                top = top.max(*number);
            }
            let missing: Vec<u64> = (1_000..=top).filter(|n| !seen.contains(n)).collect();
            prop_assert_eq!(lost, missing);
        }
    }
}
