//! How departures ended: in four sums, and one by one.

use plan::LOWEST_ERROR_STATUS;
use std::ops::AddAssign;
use units::{Bytes, Cause, Event, Fate, Miss, Outcome, OutcomeClass};

/// How departures ended, in four sums, and their bytes of HTTP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub done: u64,
    pub failed: u64,
    pub missed: u64,
    pub cut_off: u64,
    /// Those done, by the hundreds of their status: 200 to 299 in the third. A status over 999 is in the first.
    pub by_class: [u64; 10],
    pub bytes_out: Bytes,
    pub bytes_in: Bytes,
}

impl Tally {
    /// done + failed + missed + cut_off.
    pub fn ended(&self) -> u64 {
        self.done + self.failed + self.missed + self.cut_off
    }
    /// Those that left: done + failed + cut_off.
    pub fn sent(&self) -> u64 {
        self.done + self.failed + self.cut_off
    }
    /// Those that failed, or were answered with a status of 400 or more.
    pub fn errors(&self) -> u64 {
        self.failed + self.by_class[usize::from(LOWEST_ERROR_STATUS / 100)..].iter().sum::<u64>()
    }

    #[inline]
    pub(crate) fn record(&mut self, event: &Event) {
        self.add(event.outcome, 1);
        self.bytes_out += event.bytes_out;
        self.bytes_in += event.bytes_in;
    }

    /// `count` departures ended like this.
    #[inline]
    pub(crate) fn add(&mut self, outcome: Outcome, count: u64) {
        match outcome {
            Outcome::Status(code) => {
                self.done += count;
                self.by_class[if code < 1000 { usize::from(code / 100) } else { 0 }] += count;
            }
            Outcome::Frame(_) => self.done += count,
            Outcome::Failed(_) => self.failed += count,
            Outcome::Missed(_) => self.missed += count,
            Outcome::CutOff => self.cut_off += count,
        }
    }
}

impl AddAssign for Tally {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.done += other.done;
        self.failed += other.failed;
        self.missed += other.missed;
        self.cut_off += other.cut_off;
        self.by_class.iter_mut().zip(other.by_class).for_each(|(into, from)| *into += from);
        self.bytes_out += other.bytes_out;
        self.bytes_in += other.bytes_in;
    }
}

/// Counts of every single outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcomes {
    status: Box<[u64; 1000]>,
    frames: [u64; Fate::ALL.len()],
    failed: [u64; Cause::ALL.len()],
    missed: [u64; Miss::ALL.len()],
    cut_off: u64,
}

/// Distinct outcomes that a group tells apart; what comes beyond them is in the sums only.
const FEW: usize = 12;

/// Counts of the outcomes of one group: those that came first, at most [`FEW`] different ones. Memory is small
/// enough to have one for each group, and nothing is allocated for a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FewOutcomes(Vec<(Outcome, u64)>);

impl FewOutcomes {
    pub(crate) fn new() -> Self {
        Self(Vec::with_capacity(FEW))
    }

    #[inline]
    pub(crate) fn add(&mut self, outcome: Outcome, count: u64) {
        match self.0.iter().position(|(known, _)| *known == outcome) {
            Some(index) => self.0[index].1 += count,
            None if self.0.len() < FEW => self.0.push((outcome, count)),
            None => {}
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        other.0.iter().for_each(|(outcome, count)| self.add(*outcome, *count));
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Statuses first, then errors, missed and cut off. What `sums` has beyond those that are told apart is one
    /// row of its class that says no outcome.
    pub fn rows(&self, sums: &Tally) -> Vec<OutcomeCount> {
        let mut all = Outcomes::new();
        self.0.iter().for_each(|(outcome, count)| all.add(*outcome, *count));
        let mut rows = all.rows();
        let classes = [
            (OutcomeClass::Status, sums.done),
            (OutcomeClass::Error, sums.failed),
            (OutcomeClass::Missed, sums.missed),
            (OutcomeClass::CutOff, sums.cut_off),
        ];
        for (class, sum) in classes {
            let of_class = rows.iter().filter(|row| row.class == class).map(|row| row.count);
            let rest = sum.saturating_sub(of_class.sum());
            if rest > 0 {
                rows.push(OutcomeCount { class, outcome: None, count: rest });
            }
        }
        rows
    }
}

/// One line of `outcomes` in `result.json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutcomeCount {
    pub class: OutcomeClass,
    /// `None` for outcomes of this class that were not told apart.
    pub outcome: Option<Outcome>,
    pub count: u64,
}

impl Outcomes {
    pub fn new() -> Self {
        Self {
            status: Box::new([0; 1000]),
            frames: [0; Fate::ALL.len()],
            failed: [0; Cause::ALL.len()],
            missed: [0; Miss::ALL.len()],
            cut_off: 0,
        }
    }

    /// `count` departures ended like this. A status over 999 counts as 0.
    #[inline]
    pub fn add(&mut self, outcome: Outcome, count: u64) {
        *match outcome {
            Outcome::Status(code) => &mut self.status[usize::from(if code < 1000 { code } else { 0 })],
            Outcome::Frame(fate) => &mut self.frames[fate.index()],
            Outcome::Failed(cause) => &mut self.failed[cause.index()],
            Outcome::Missed(why) => &mut self.missed[why.index()],
            Outcome::CutOff => &mut self.cut_off,
        } += count;
    }

    pub fn of(&self, outcome: Outcome) -> u64 {
        match outcome {
            Outcome::Status(code) => self.status.get(usize::from(code)).copied().unwrap_or(0),
            Outcome::Frame(fate) => self.frames[fate.index()],
            Outcome::Failed(cause) => self.failed[cause.index()],
            Outcome::Missed(why) => self.missed[why.index()],
            Outcome::CutOff => self.cut_off,
        }
    }

    /// Answers whose status is `class`00 to `class`99.
    pub fn status_class(&self, class: u16) -> u64 {
        let from = usize::from(class) * 100;
        self.status.get(from..from + 100).map_or(0, |codes| codes.iter().sum())
    }

    /// Departures that the generator's own limits kept from leaving.
    pub fn missed_by_generator(&self) -> u64 {
        Miss::ALL.iter().filter(|why| why.is_generators()).map(|why| self.missed[why.index()]).sum()
    }

    /// Those that are not zero, statuses first.
    pub fn rows(&self) -> Vec<OutcomeCount> {
        let row = |outcome: Outcome, count| {
            let class = outcome.class();
            (count > 0).then_some(OutcomeCount { class, outcome: Some(outcome), count })
        };
        let codes = (0u16..).zip(self.status.iter());
        let statuses = codes.filter_map(|(code, n)| row(Outcome::Status(code), *n));
        let frames = Fate::ALL.iter().filter_map(|f| row(Outcome::Frame(*f), self.frames[f.index()]));
        let errors = Cause::ALL.iter().filter_map(|c| row(Outcome::Failed(*c), self.failed[c.index()]));
        let missed = Miss::ALL.iter().filter_map(|m| row(Outcome::Missed(*m), self.missed[m.index()]));
        let cut_off = row(Outcome::CutOff, self.cut_off);
        statuses.chain(frames).chain(errors).chain(missed).chain(cut_off).collect()
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        let add = |into: &mut [u64], from: &[u64]| into.iter_mut().zip(from).for_each(|(a, b)| *a += b);
        add(&mut self.status[..], &other.status[..]);
        add(&mut self.frames, &other.frames);
        add(&mut self.failed, &other.failed);
        add(&mut self.missed, &other.missed);
        self.cut_off += other.cut_off;
    }

    pub(crate) fn clear(&mut self) {
        self.status.fill(0);
        self.frames.fill(0);
        self.failed.fill(0);
        self.missed.fill(0);
        self.cut_off = 0;
    }
}

impl Default for Outcomes {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_group_cannot_tell_apart_is_in_the_sum_of_its_class() {
        let mut few = FewOutcomes::new();
        // Fifteen different statuses once each, of which twelve are kept; then the first two more times.
        (200..215).for_each(|code| few.add(Outcome::Status(code), 1));
        few.add(Outcome::Status(200), 2);
        few.add(Outcome::CutOff, 1);
        let sums = Tally { done: 17, cut_off: 1, ..Tally::default() };
        let rows = few.rows(&sums);
        assert_eq!(rows.iter().map(|row| row.count).sum::<u64>(), 18);
        assert_eq!((rows[0].outcome, rows[0].count), (Some(Outcome::Status(200)), 3));
        let rests: Vec<_> =
            rows.iter().filter(|row| row.outcome.is_none()).map(|row| (row.class, row.count)).collect();
        assert_eq!(rests, [(OutcomeClass::Status, 3), (OutcomeClass::CutOff, 1)]);
    }
}
