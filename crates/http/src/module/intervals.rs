//! The module's rows, and the same made of its single results: they must agree, interval by interval.

use port::fpga::sessions::{Row, RowOutcome, Tally};
use std::collections::BTreeMap;

/// What ended in each interval.
#[derive(Debug)]
pub(super) struct Intervals {
    /// The tick in which the first one starts, and their length.
    first: u64,
    ticks: u64,
    tallies: BTreeMap<u64, Tally>,
}

impl Intervals {
    pub fn new(first: u64, ticks: u32) -> Self {
        Self { first, ticks: u64::from(ticks).max(1), tallies: BTreeMap::new() }
    }

    /// As the module reports it.
    pub fn tally(&mut self, number: u64, tally: Tally) {
        self.tallies.insert(number, tally);
    }

    /// A departure's end; `each` had a connection of its own.
    pub fn row(&mut self, row: &Row, each: bool) {
        let end = row.due + u64::from(row.done);
        let tally = self.tallies.entry(end.saturating_sub(self.first) / self.ticks).or_default();
        tally.outcomes[row.outcome as usize] += 1;
        if row.outcome == RowOutcome::Done {
            let start = if each { row.connected } else { row.sent };
            let times = [row.done, row.done.wrapping_sub(row.sent), row.first.wrapping_sub(start), row.body];
            for (sum, value) in tally.sums.iter_mut().zip(times) {
                *sum += u64::from(value);
            }
        }
    }

    /// Where the module's rows are others than its results make. If some were `late`, their rows were closed,
    /// and they are in another; nothing is lost all the same.
    pub fn contradiction(&self, module: &Self, late: u64) -> Option<String> {
        const FAULT: &str = "a fault of the module";
        if late > 0 {
            let [own, other] = [self, module].map(Self::total);
            return (own != other).then(|| {
                format!("the module's intervals have {other}, and its single results {own}: {FAULT}")
            });
        }
        let of = |all: &Self, number: &u64| all.tallies.get(number).copied().unwrap_or_default();
        let mut numbers = self.tallies.keys().chain(module.tallies.keys());
        let number = numbers.find(|number| of(self, number) != of(module, number))?;
        let [own, other] = [self, module].map(|all| of(all, number));
        Some(format!("the module's interval {number} has {other}, and its single results {own}: {FAULT}"))
    }

    fn total(&self) -> Tally {
        self.tallies.values().fold(Tally::default(), |mut all, one| {
            let numbers = all.outcomes.iter_mut().chain(&mut all.sums);
            numbers.zip(one.outcomes.iter().chain(&one.sums)).for_each(|(sum, number)| *sum += number);
            all
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(outcome: RowOutcome, due: u64) -> Row {
        Row {
            outcome,
            session: 0,
            status: 200,
            due,
            sent: 10,
            connected: 70,
            first: 75,
            done: 900,
            body: 6,
            request: 0,
            response: 0,
            sum: None,
            passed: None,
        }
    }

    #[test]
    fn one_departure_in_another_interval_is_a_contradiction_unless_it_was_late() {
        let mut own = Intervals::new(5_000, 1_000);
        // The first ends in the last tick of interval 0, the next in the first of interval 1.
        own.row(&row(RowOutcome::Done, 5_099), true);
        own.row(&row(RowOutcome::Done, 5_100), true);
        own.row(&row(RowOutcome::Reset, 7_000), true);
        let tally = |done: u64, reset: u64| {
            let mut tally = Tally::default();
            tally.outcomes[RowOutcome::Done as usize] = done;
            tally.outcomes[RowOutcome::Reset as usize] = reset;
            tally.sums = [900 * done, 890 * done, 5 * done, 6 * done];
            tally
        };
        let mut module = Intervals::new(5_000, 1_000);
        for (number, done, reset) in [(0, 1, 0), (1, 1, 0), (2, 0, 1)] {
            assert!(own.contradiction(&module, 0).is_some() && own.contradiction(&module, 1).is_some());
            module.tally(number, tally(done, reset));
        }
        // An empty one is none.
        module.tally(7, Tally::default());
        assert_eq!(own.contradiction(&module, 0), None);
        module.tally(1, tally(2, 0));
        module.tally(0, tally(0, 0));
        assert_eq!(own.contradiction(&module, 1), None);
        let why = own.contradiction(&module, 0).expect("a contradiction");
        assert!(why.contains("interval 0 has done 0") && why.contains("results done 1"), "{why}");
        let mut sums = tally(2, 0);
        sums.sums[3] += 1;
        module.tally(1, sums);
        assert!(own.contradiction(&module, 1).expect("a byte more").contains("bytes 13"));
    }
}
