//! Several schedules as one: every departure of every part, in the order of their due times.
//!
//! ```text
//! part 0   |      |      |      |        rank of (part p, number n), due at d:
//! part 1     |  |  |  |  |  |              n + Σ over parts before p of those due at d or earlier
//! merged   0 1  2 3 4 …                      + Σ over parts behind p of those due before d
//! ```
//!
//! Each part knows its n-th due time and how many are due before a time, so any rank can be found without those
//! before it ([`Merge::locate`]), and shares agree without asking each other. A share walks over all
//! departures and keeps every `of`-th: one comparison in a heap for each.

use crate::Share;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use units::{Departure, Instant, Picos};

/// One of the schedules that are merged.
pub trait Part {
    /// When departure n is due, never descending and before [`Instant::FAR`]; `None` past its end.
    fn due(&self, n: u64) -> Option<Instant>;

    /// How many are due strictly before `end`.
    fn before(&self, end: Instant) -> u64;
}

/// A departure of the whole, and whose it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// `seq` is its rank in the whole.
    pub departure: Departure,
    pub part: usize,
    /// Its number in that part.
    pub number: u64,
}

/// The next departure of a part: when, which part, its number. Ordered as the whole is.
type Head = Reverse<(Instant, usize, u64)>;

/// One share of the whole, see the module.
#[derive(Clone, Debug)]
pub struct Merge<P> {
    parts: Vec<P>,
    share: Share,
    /// Departures of the whole, at most.
    most: u64,
    heads: BinaryHeap<Head>,
    /// Rank of the first of `heads`.
    rank: u64,
    /// Where ranks are looked for first: when the last departure was due.
    near: Instant,
}

/// A rank is looked for so far from there, then twice as far.
const STRIDE: Picos = Picos::from_micros(100);

impl<P: Part> Merge<P> {
    pub fn new(parts: Vec<P>, most: Option<u64>, share: Share) -> Self {
        let most = most.unwrap_or(u64::MAX);
        let mut all = Self { parts, share, most, heads: BinaryHeap::new(), rank: 0, near: Instant::EPOCH };
        all.seek(share.index().into());
        all
    }

    pub fn parts(&self) -> &[P] {
        &self.parts
    }

    pub const fn share(&self) -> Share {
        self.share
    }

    /// Changes parts from a time on. What was due before it must stay as it was, so that ranks do.
    pub fn change(&mut self, change: impl FnOnce(&mut [P])) {
        change(&mut self.parts);
        self.seek(self.rank);
    }

    /// From rank `rank` on. A whole that has no such rank is over.
    pub fn seek(&mut self, rank: u64) {
        self.heads.clear();
        self.rank = rank;
        let Some(numbers) = self.numbers_at(rank) else { return };
        for (part, number) in numbers.into_iter().enumerate() {
            self.heads.extend(self.parts[part].due(number).map(|due| Reverse((due, part, number))));
        }
    }

    /// The rank of the next departure of this share.
    pub const fn rank(&self) -> u64 {
        self.rank
    }

    /// When the next departure of this share is due.
    #[inline]
    pub fn peek(&self) -> Option<Instant> {
        self.heads.peek().filter(|_| self.rank < self.most).map(|Reverse((due, ..))| *due)
    }

    /// The next departure of this share.
    #[inline]
    pub fn draw(&mut self) -> Option<Turn> {
        if self.rank >= self.most {
            return None;
        }
        let Reverse((due, part, number)) = *self.heads.peek()?;
        let turn = Turn { departure: Departure { seq: self.rank, due }, part, number };
        self.near = due;
        for _ in 0..self.share.of() {
            self.advance();
        }
        Some(turn)
    }

    #[inline]
    fn advance(&mut self) {
        // Also past the last: there may be more after a change, and each share keeps to its own ranks.
        self.rank += 1;
        let Some(mut head) = self.heads.peek_mut() else { return };
        let Reverse((_, part, number)) = *head;
        match self.parts[part].due(number + 1) {
            Some(due) => *head = Reverse((due, part, number + 1)),
            None => drop(std::collections::binary_heap::PeekMut::pop(head)),
        }
    }

    /// Whether a change could bring more: the whole has not ended by count.
    pub const fn has_room(&self) -> bool {
        self.rank < self.most
    }

    /// How many departures of the whole are due strictly before `end`.
    pub fn before(&self, end: Instant) -> u64 {
        let all = self.parts.iter().fold(0u64, |sum, part| sum.saturating_add(part.before(end)));
        all.min(self.most)
    }

    /// Whose the departure of this rank is; `None` past the end.
    pub fn locate(&self, rank: u64) -> Option<(usize, u64)> {
        let numbers = self.numbers_at(rank)?;
        let heads = numbers.into_iter().enumerate();
        let due = heads.filter_map(|(part, n)| self.parts[part].due(n).map(|due| (due, part, n)));
        due.min().map(|(_, part, number)| (part, number))
    }

    /// How many of each part have a lower rank.
    fn numbers_at(&self, rank: u64) -> Option<Vec<u64>> {
        if rank >= self.most {
            return None;
        }
        let at = self.due_of(rank)?;
        let behind = Instant::from_picos(at.since_epoch().as_picos().saturating_add(1));
        let mut numbers: Vec<u64> = self.parts.iter().map(|part| part.before(at)).collect();
        // Of those that are due together, the first part's have the lowest ranks.
        let mut more = rank - numbers.iter().sum::<u64>();
        for (part, number) in self.parts.iter().zip(&mut numbers) {
            let here = (part.before(behind) - *number).min(more);
            (*number, more) = (*number + here, more - here);
        }
        Some(numbers)
    }

    /// When the departure of this rank is due: the last time before which no more than `rank` are.
    fn due_of(&self, rank: u64) -> Option<Instant> {
        let within = |at: Instant| {
            self.parts.iter().fold(0u64, |sum, part| sum.saturating_add(part.before(at))) <= rank
        };
        let first = self.parts.iter().filter_map(|part| part.due(0)).min()?;
        let (mut low, mut stride) = (first, STRIDE);
        if self.near > first && within(self.near) {
            low = self.near;
        }
        // `within(low)` holds, `within(high)` does not. Nothing is due at `FAR`.
        let mut high = loop {
            let probe = (low + stride).min(Instant::FAR);
            if !within(probe) {
                break probe;
            }
            if probe == Instant::FAR {
                return None;
            }
            (low, stride) = (probe, stride.saturating_mul(2));
        };
        while high.since(low) > Picos::from_picos(1) {
            let middle = low + Picos::from_picos(high.since(low).as_picos() / 2);
            if within(middle) { low = middle } else { high = middle }
        }
        Some(low)
    }

    /// Drops every departure of this share that is due before `end`, and says how many there were of each part.
    pub fn skip_before(&mut self, end: Instant) -> Vec<u64> {
        let mut dropped = vec![0; self.parts.len()];
        if self.share == Share::WHOLE {
            let before = self.before(end);
            if before <= self.rank {
                return dropped;
            }
            let none = || self.parts.iter().map(|part| part.before(Instant::FAR)).collect();
            let from = self.numbers_at(self.rank).unwrap_or_else(none);
            let all = || self.parts.iter().map(|part| part.before(end)).collect();
            let to = self.numbers_at(before).unwrap_or_else(all);
            // Where the whole ends by count, the last of it are found one by one.
            if before < self.most {
                for (dropped, (to, from)) in dropped.iter_mut().zip(to.into_iter().zip(from)) {
                    *dropped = to.saturating_sub(from);
                }
                self.seek(before);
                return dropped;
            }
        }
        while self.peek().is_some_and(|due| due < end) {
            let Some(turn) = self.draw() else { break };
            dropped[turn.part] += 1;
        }
        dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::Curve;
    use plan::Shape;
    use proptest::prelude::*;
    use units::Rate;

    const ORIGIN: Instant = Instant::from_picos(123_456_789_012_345);

    /// A curve from its own beginning, for a number of departures.
    struct Line {
        curve: Box<dyn Curve>,
        start: Picos,
        count: u64,
    }

    impl Part for Line {
        fn due(&self, n: u64) -> Option<Instant> {
            let due = (n < self.count).then(|| self.curve.due(n)).filter(|due| *due < Picos::MAX);
            due.map(|due| ORIGIN + self.start + due)
        }

        fn before(&self, end: Instant) -> u64 {
            let since = end.since(ORIGIN + self.start);
            if since.is_zero() { 0 } else { self.curve.before(since, self.count) }
        }
    }

    fn line(shape: &Shape, start_ns: u64, count: u64) -> Line {
        let curve = crate::curve(shape, 7).unwrap();
        Line { curve, start: Picos::from_nanos(start_ns), count }
    }

    fn rate(text: &str) -> Rate {
        text.parse().unwrap()
    }

    fn even(text: &str) -> Shape {
        Shape::Constant(rate(text))
    }

    /// Nothing is due for a while, as in a pause, and then there is more: no share draws what another has.
    #[test]
    fn shares_keep_to_their_ranks_past_an_end() {
        for of in 1..=4 {
            let parts = || vec![line(&even("400"), 0, 101), line(&even("200"), 0, 50)];
            let share = |index| Share::new(index, of).expect("a share");
            let mut shares: Vec<_> = (0..of).map(|index| Merge::new(parts(), None, share(index))).collect();
            let drawn = |shares: &mut [Merge<Line>]| {
                let all = shares
                    .iter_mut()
                    .flat_map(|share| std::iter::from_fn(|| share.draw()).collect::<Vec<_>>());
                let mut ranks: Vec<u64> = all.map(|turn| turn.departure.seq).collect();
                ranks.sort_unstable();
                ranks
            };
            assert_eq!(drawn(&mut shares), (0..151).collect::<Vec<_>>());
            shares
                .iter_mut()
                .for_each(|share| share.change(|parts| parts.iter_mut().for_each(|p| p.count += 7)));
            assert_eq!(drawn(&mut shares), (151..165).collect::<Vec<_>>(), "{of} shares");
        }
    }

    /// Five streams of all kinds: two with due times in common, a ramp, a staircase, a Poisson one that begins
    /// later.
    fn parts() -> Vec<Line> {
        let ramp = Shape::Ramp { from: rate("10k"), to: rate("90k"), over: Picos::from_millis(10) };
        let step =
            Shape::Step { from: rate("1k"), by: rate("7k"), every: Picos::from_millis(2), to: rate("30k") };
        vec![
            line(&even("100k"), 0, 1_500),
            line(&even("50k"), 0, 400),
            line(&ramp, 1_000_000, 700),
            line(&step, 0, 300),
            line(&Shape::Poisson(rate("40k")), 3_000_000, 500),
        ]
    }

    /// The same by sorting.
    fn sorted(parts: &[Line]) -> Vec<Turn> {
        let mut all: Vec<(Instant, usize, u64)> = Vec::new();
        for (part, line) in parts.iter().enumerate() {
            all.extend((0..line.count).map(|n| (line.due(n).unwrap(), part, n)));
        }
        all.sort_unstable();
        let turn =
            |(seq, (due, part, number))| Turn { departure: Departure { seq: seq as u64, due }, part, number };
        all.into_iter().enumerate().map(turn).collect()
    }

    fn drawn(mut merge: Merge<Line>) -> Vec<Turn> {
        std::iter::from_fn(|| merge.draw()).collect()
    }

    #[test]
    fn shares_together_are_all_departures_in_order() {
        let expected = sorted(&parts());
        assert_eq!(expected.len(), 3_400);
        assert_eq!(drawn(Merge::new(parts(), None, Share::WHOLE)), expected);
        for of in [2, 3, 7] {
            let mut all: Vec<Turn> = (0..of)
                .flat_map(|index| drawn(Merge::new(parts(), None, Share::new(index, of).unwrap())))
                .collect();
            all.sort_unstable_by_key(|turn| turn.departure.seq);
            assert_eq!(all, expected, "{of} shares");
        }
    }

    #[test]
    fn departures_that_are_due_together_are_in_the_order_of_their_parts() {
        // At 0 and each 20 µs both are due; at 10 µs only the first.
        let turns =
            drawn(Merge::new(vec![line(&even("100k"), 0, 4), line(&even("50k"), 0, 2)], None, Share::WHOLE));
        let found: Vec<_> =
            turns.iter().map(|turn| (turn.departure.due.since(ORIGIN).as_nanos(), turn.part)).collect();
        assert_eq!(found, [(0, 0), (0, 1), (10_000, 0), (20_000, 0), (20_000, 1), (30_000, 0)]);
    }

    #[test]
    fn any_rank_is_found_without_those_before_it() {
        let expected = sorted(&parts());
        let merge = Merge::new(parts(), None, Share::WHOLE);
        for turn in expected.iter().step_by(13).chain(expected.last()) {
            assert_eq!(merge.locate(turn.departure.seq), Some((turn.part, turn.number)), "{turn:?}");
        }
        assert_eq!(merge.locate(3_400), None);
    }

    #[test]
    fn exact_where_ranks_are_in_the_billions() {
        // At 14 880 952/s and 1/s, second 100 begins with rank 100 · (14 880 952 + 1), as both begin at once.
        let parts = vec![line(&even("14880952"), 0, u64::MAX), line(&even("1"), 0, u64::MAX)];
        let mut merge = Merge::new(parts, None, Share::WHOLE);
        let rank = 100 * 14_880_953;
        assert_eq!(merge.locate(rank), Some((0, 1_488_095_200)));
        assert_eq!(merge.locate(rank + 1), Some((1, 100)));
        merge.seek(rank + 1);
        let turn = merge.draw().unwrap();
        assert_eq!((turn.part, turn.departure.due), (1, ORIGIN + Picos::from_secs(100)));
    }

    proptest! {
        #[test]
        fn what_is_skipped_and_what_is_drawn_are_the_whole(
            end_us in 0u64..40_000, first in 0usize..50, index in 0u32..3, of in 1u32..4, most in 1u64..4_000,
        ) {
            let share = Share::new(index % of, of).unwrap();
            let mut merge = Merge::new(parts(), Some(most), share);
            let mine: Vec<Turn> = sorted(&parts()).into_iter()
                .filter(|turn| turn.departure.seq < most
            && turn.departure.seq % u64::from(of) == u64::from(index % of))
                .collect();
            let begun: Vec<Turn> = std::iter::from_fn(|| merge.draw()).take(first).collect();
            let end = ORIGIN + Picos::from_micros(end_us);
            let dropped = merge.skip_before(end);
            let rest = drawn(merge);
            prop_assert_eq!(&begun[..], &mine[..begun.len()]);
            let kept: Vec<Turn> =
                mine[begun.len()..].iter().filter(|turn| turn.departure.due >= end).copied().collect();
            prop_assert_eq!(rest, kept);
            let mut expected = [0u64; 5];
            for turn in mine[begun.len()..].iter().filter(|turn| turn.departure.due < end) {
                expected[turn.part] += 1;
            }
            prop_assert_eq!(dropped, expected.to_vec());
        }
    }
}
