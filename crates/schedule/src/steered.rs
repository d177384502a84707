//! Even gaps whose rate is changed by hand while the load runs.
//!
//! ```text
//! rate │            ┌──────── r₁   due(n) = at₀ + floor(n · per₀ / events₀)            n < first₁
//!   r₀ │────────────┘                       at₁ + floor((n − first₁) · per₁ / events₁)   first₁ ≤ n < first₂ …
//!      └────────────┴──────── t    firstᵢ = how many are due before atᵢ under all rates before
//!                  at₁
//! ```
//!
//! The number of departures before a change is computed, not counted: every share knows it without asking the
//! others, so numbers are never lost or used twice, and the shares stay every `of`-th number. A share that
//! learns of a change only after `at` may have taken a few departures at their old due times; their numbers are
//! the same, and whatever it takes from then on is due when the new rate says.

use crate::{Schedule, Share};
use units::{Departure, Instant, Picos, Rate};

/// Another rate, from a point in time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    pub at: Instant,
    pub rate: Rate,
}

/// A stretch with one rate.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    /// Offset from the origin; the departure `first` is due then.
    from: Picos,
    first: u64,
    rate: Rate,
}

/// One share of an even load, see the module.
#[derive(Debug)]
pub struct Steered {
    /// Never empty; `from` and `first` never descend.
    stretches: Vec<Stretch>,
    origin: Instant,
    end: Picos,
    requests: u64,
    next: u64,
    stride: u64,
    /// The first number that is not sent any more.
    total: u64,
}

impl Steered {
    pub(crate) fn new(rate: Rate, end: Picos, requests: u64, origin: Instant, share: Share) -> Self {
        let stretches = vec![Stretch { from: Picos::ZERO, first: 0, rate }];
        let (next, stride) = (share.index().into(), share.of().into());
        let mut steered = Self { stretches, origin, end, requests, next, stride, total: 0 };
        steered.total = steered.count_before(end).min(requests);
        steered
    }

    /// From `change.at` on the load has that rate. All shares must be told of the same changes in the same
    /// order; one that would begin before the last one does begins with it.
    pub fn steer(&mut self, change: Change) {
        let from = change.at.since(self.origin).max(self.last().from);
        let first = self.count_before(from);
        self.stretches.push(Stretch { from, first, rate: change.rate });
        self.total = self.count_before(self.end).min(self.requests);
    }

    /// The departure that was drawn last was not taken: it is drawn again, and due when the rate of that time
    /// says.
    pub fn put_back(&mut self, departure: Departure) {
        self.next = departure.seq;
    }

    fn last(&self) -> Stretch {
        *self.stretches.last().expect("there is a first stretch")
    }

    /// The last stretch for which `holds`, or the first one.
    fn stretch(&self, holds: impl Fn(&Stretch) -> bool) -> Stretch {
        let found = self.stretches.iter().rev().find(|stretch| holds(stretch));
        *found.unwrap_or(&self.stretches[0])
    }

    fn due(&self, n: u64) -> Picos {
        let stretch = self.stretch(|stretch| stretch.first <= n);
        match stretch.rate.due(n - stretch.first) {
            Picos::MAX => Picos::MAX,
            offset => stretch.from + offset,
        }
    }

    /// How many departures of the whole load are due strictly before `end`.
    fn count_before(&self, end: Picos) -> u64 {
        let stretch = self.stretch(|stretch| stretch.from < end);
        stretch.first.saturating_add(stretch.rate.events_before(end.saturating_sub(stretch.from)))
    }
}

impl Schedule for Steered {
    fn next(&mut self) -> Option<Departure> {
        if self.next >= self.total {
            return None;
        }
        let seq = self.next;
        self.next = seq.saturating_add(self.stride);
        Some(Departure { seq, due: self.origin + self.due(seq) })
    }

    fn skip_before(&mut self, end: Instant) -> u64 {
        let passed = self.count_before(end.since(self.origin)).min(self.total);
        let dropped = passed.saturating_sub(self.next).div_ceil(self.stride);
        self.next = self.next.saturating_add(dropped.saturating_mul(self.stride));
        dropped
    }

    fn as_steered(&mut self) -> Option<&mut Steered> {
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ORIGIN: Instant = Instant::from_picos(123_456_789_012_345);

    fn per_second(n: u64) -> Rate {
        Rate::per_second(n).unwrap()
    }

    fn at(millis: u64) -> Instant {
        ORIGIN + Picos::from_millis(millis)
    }

    fn shares(rate: Rate, end: Picos, of: u32) -> Vec<Steered> {
        let share = |index| Share::new(index, of).unwrap();
        (0..of).map(|index| Steered::new(rate, end, u64::MAX, ORIGIN, share(index))).collect()
    }

    #[test]
    fn a_change_takes_effect_at_its_time() {
        // 3/s for a second is due at 0, 333.3 and 666.6 ms; from 1 s on 2/s: at 1 s and 1.5 s.
        let mut steered = shares(per_second(3), Picos::from_secs(2), 1).remove(0);
        steered.steer(Change { at: at(1_000), rate: per_second(2) });
        let all: Vec<(u64, u64)> = std::iter::from_fn(|| steered.next())
            .map(|departure| (departure.seq, departure.due.since(ORIGIN).as_picos()))
            .collect();
        let expected = [
            (0, 0),
            (1, 333_333_333_333),
            (2, 666_666_666_666),
            (3, 1_000_000_000_000),
            (4, 1_500_000_000_000),
        ];
        assert_eq!(all, expected);
    }

    #[test]
    fn a_departure_that_was_drawn_but_not_taken_moves_with_the_rate() {
        // One in 10 s; the second one, due at 10 s, has been drawn when 10/s begins at 2 s.
        let slow = Rate::new(1, Picos::from_secs(10)).unwrap();
        let mut steered = shares(slow, Picos::from_secs(3), 1).remove(0);
        assert_eq!(steered.next().unwrap().due, at(0));
        assert_eq!(steered.next(), None, "it would be due after the end");
        steered.steer(Change { at: at(2_000), rate: per_second(10) });
        let second = steered.next().unwrap();
        assert_eq!((second.seq, second.due), (1, at(2_000)));
        steered.put_back(second);
        assert_eq!(steered.skip_before(Instant::FAR), 10, "at 2.0, 2.1 … 2.9 s");
    }

    #[test]
    fn exact_after_a_day_of_changes() {
        // 600 000/s for an hour, 7/s for an hour, … 24 times: 12 · 3600 · (600 000 + 7) departures.
        let mut steered = shares(per_second(600_000), Picos::from_secs(86_400), 1).remove(0);
        for hour in 1..24 {
            let rate = per_second(if hour % 2 == 0 { 600_000 } else { 7 });
            steered.steer(Change { at: at(hour * 3_600_000), rate });
        }
        assert_eq!(steered.skip_before(Instant::FAR), 12 * 3_600 * 600_007);
    }

    fn rates() -> impl Strategy<Value = Rate> {
        prop_oneof![
            (1u64..3_000).prop_map(per_second),
            (1u64..50, 1u64..30).prop_map(|(n, secs)| Rate::new(n, Picos::from_secs(secs)).unwrap()),
        ]
    }

    /// Changes, each some picoseconds after the last.
    fn changes() -> impl Strategy<Value = Vec<(u64, Rate)>> {
        prop::collection::vec((0u64..400_000_000_000, rates()), 0..6)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]

        /// Shares learn of each change when they have taken just what is due before it, as the engine's threads
        /// do.
        #[test]
        fn none_is_lost_none_is_doubled_and_due_times_never_descend(
            rate in rates(), changes in changes(), of in 1u32..6,
        ) {
            let end = Picos::from_millis(1_500);
            let mut taken: Vec<Departure> = Vec::new();
            let mut expected = 0;
            let (mut from, mut now) = (Picos::ZERO, rate);
            let mut moments: Vec<(Picos, Rate)> = Vec::new();
            for (after, rate) in &changes {
                let next = from + Picos::from_picos(*after);
                expected += now.events_before(next.min(end).saturating_sub(from.min(end)));
                moments.push((next, *rate));
                (from, now) = (next, *rate);
            }
            expected += now.events_before(end.saturating_sub(from.min(end)));
            let mut counted = 0;
            for (mut share, mut counter) in shares(rate, end, of).into_iter().zip(shares(rate, end, of)) {
                let mut head = share.next();
                for (offset, rate) in &moments {
                    let change = Change { at: ORIGIN + *offset, rate: *rate };
                    while let Some(departure) = head.take_if(|head| head.due < change.at) {
                        taken.push(departure);
                        head = share.next();
                    }
                    counted += counter.skip_before(change.at.min(ORIGIN + end));
                    if let Some(head) = head.take() {
                        share.put_back(head);
                    }
                    share.steer(change);
                    counter.steer(change);
                    head = share.next();
                }
                taken.extend(head.into_iter().chain(std::iter::from_fn(|| share.next())));
                counted += counter.skip_before(Instant::FAR);
            }
            taken.sort_by_key(|departure| departure.seq);
            prop_assert!(taken.iter().enumerate().all(|(n, departure)| departure.seq == n as u64));
            prop_assert!(taken.windows(2).all(|pair| pair[0].due <= pair[1].due));
            prop_assert_eq!(taken.len() as u64, expected);
            prop_assert_eq!(counted, expected);
        }

        /// However late a share learns of a change, its numbers are its own and each comes once.
        #[test]
        fn one_that_learns_late_keeps_its_numbers(
            (first, second) in (rates(), rates()), taken in 0usize..200, of in 1u32..6, at_ms in 0u64..1_500,
        ) {
            for (index, mut share) in shares(first, Picos::from_millis(1_500), of).into_iter().enumerate() {
                let first = std::iter::from_fn(|| share.next()).take(taken);
                let mut seqs: Vec<u64> = first.map(|departure| departure.seq).collect();
                share.steer(Change { at: at(at_ms), rate: second });
                seqs.extend(std::iter::from_fn(|| share.next()).map(|departure| departure.seq));
                let own = (0..).map(|n| index as u64 + n * u64::from(of));
                prop_assert!(seqs.iter().copied().eq(own.take(seqs.len())));
            }
        }
    }
}
