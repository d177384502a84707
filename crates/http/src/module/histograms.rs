//! The module's histograms, and the same made of its single results: they must agree, bin by bin.

use port::fpga::sessions::{Figure, Row, RowOutcome};
use std::collections::BTreeMap;

/// Counts of bins that are not empty.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Histograms(BTreeMap<(Figure, u16), u64>);

impl Histograms {
    fn add(&mut self, figure: Figure, ticks: u32) {
        self.bin(figure, Figure::bin(ticks), 1);
    }

    /// As the module reports it.
    pub fn bin(&mut self, figure: Figure, bin: u16, count: u32) {
        *self.0.entry((figure, bin)).or_default() += u64::from(count);
    }

    /// A connection that is no part of a departure.
    pub fn connected(&mut self, ticks: u32) {
        self.add(Figure::Connect, ticks);
    }

    /// A departure's end; `each` had a connection of its own.
    pub fn row(&mut self, row: &Row, each: bool) {
        if each && row.connected > 0 {
            self.connected(row.connected.wrapping_sub(row.sent));
        }
        if row.outcome == RowOutcome::Done {
            let start = if each { row.connected } else { row.sent };
            self.add(Figure::Gross, row.done);
            self.add(Figure::Net, row.done.wrapping_sub(row.sent));
            self.add(Figure::FirstByte, row.first.wrapping_sub(start));
        }
    }

    /// Where the module has another count than its results. `is_all`: no connection was made for a departure
    /// that has no result.
    pub fn contradiction(&self, module: &Self, is_all: bool) -> Option<String> {
        let keys = self.0.keys().chain(module.0.keys());
        let count = |of: &Self, key: &(Figure, u16)| of.0.get(key).copied().unwrap_or(0);
        let wrong = keys
            .filter(|(figure, _)| is_all || *figure != Figure::Connect)
            .find(|key| count(self, key) != count(module, key))?;
        let (figure, bin) = wrong;
        Some(format!(
            "the module's histogram of {} has {} times in bin {bin}, and its single results {}: a fault of the module",
            figure.key(),
            count(module, wrong),
            count(self, wrong)
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_time_in_another_bin_is_a_contradiction() {
        let row = |outcome| Row {
            outcome,
            session: 0,
            status: 200,
            due: 5,
            sent: 10,
            connected: 70,
            first: 75,
            done: 900,
            body: 0,
            request: 0,
            response: 0,
            sum: None,
            passed: None,
        };
        let mut own = Histograms::default();
        own.row(&row(RowOutcome::Done), true);
        own.row(&row(RowOutcome::Reset), true);
        let mut module = Histograms::default();
        // 900 = 2^9 + 388, 388 / 16 = 24: 32 · 5 + 24. 890: 378 / 16 = 23. 60: 32 + 28; 5.
        for (figure, bin, count) in [
            (Figure::Gross, 184, 1),
            (Figure::Net, 183, 1),
            (Figure::Connect, 60, 2),
            (Figure::FirstByte, 5, 1),
        ] {
            assert!(own.contradiction(&module, true).is_some());
            module.bin(figure, bin, count);
        }
        assert_eq!(own.contradiction(&module, true), None);
        module.connected(60);
        assert_eq!(own.contradiction(&module, false), None);
        let why = own.contradiction(&module, true).expect("a contradiction");
        assert!(why.contains("connect has 3 times in bin 60, and its single results 2"), "{why}");
    }
}
