//! Counters: frames and bytes for each rule, and for the three ends that are no rule.

use crate::firewall::Decision;
use crate::rule::{Rule, Rules};
use std::collections::HashMap;

/// What one rule (or end) decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hit {
    pub frames: u64,
    pub bytes: u64,
}

/// Counters of one set of rules; each thread has its own, added up at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hits {
    /// A row for each rule, then `default`, `other`, malformed.
    rows: Vec<Hit>,
}

/// Ends that are no rule: `default`, `other`, malformed.
pub(crate) const ENDS: usize = 3;

impl Hits {
    /// Zero for `rules` rules.
    pub fn new(rules: usize) -> Self {
        Self { rows: vec![Hit::default(); rules + ENDS] }
    }

    /// From rows as they are counted elsewhere: a row for each rule, then the three ends.
    pub fn from_rows(rows: Vec<Hit>) -> Self {
        Self { rows }
    }

    #[inline]
    pub fn count(&mut self, decision: Decision, bytes: u64) {
        if let Some(hit) = self.rows.get_mut(decision.slot() as usize) {
            hit.frames += 1;
            hit.bytes += bytes;
        }
    }

    /// One row for each rule.
    pub fn rules(&self) -> &[Hit] {
        &self.rows[..self.rows.len().saturating_sub(ENDS)]
    }

    fn end(&self, end: usize) -> Hit {
        self.rows.len().checked_sub(ENDS).map_or_else(Hit::default, |rules| self.rows[rules + end])
    }

    /// IP packets that no rule matched.
    pub fn default(&self) -> Hit {
        self.end(0)
    }

    /// Frames that are neither IPv4 nor IPv6.
    pub fn other(&self) -> Hit {
        self.end(1)
    }

    /// Frames that were cut off or contradicted themselves; they were dropped.
    pub fn malformed(&self) -> Hit {
        self.end(2)
    }

    /// All frames that were decided.
    pub fn total(&self) -> Hit {
        self.rows.iter().fold(Hit::default(), |mut sum, hit| {
            sum.frames += hit.frames;
            sum.bytes += hit.bytes;
            sum
        })
    }

    /// Adds the counters of another thread with the same rules.
    pub fn add(&mut self, other: &Self) {
        if self.rows.len() < other.rows.len() {
            self.rows.resize(other.rows.len(), Hit::default());
        }
        for (mine, theirs) in self.rows.iter_mut().zip(&other.rows) {
            mine.frames += theirs.frames;
            mine.bytes += theirs.bytes;
        }
    }

    /// These counters, of `old` rules, for `new` ones: a rule that is textually the same keeps its count (the
    /// k-th of several equal ones that of the k-th), and so do the three ends. Second: what was counted for
    /// rules that are gone.
    pub fn carried(&self, old: &Rules, new: &Rules) -> (Self, Hit) {
        let mut places: HashMap<&Rule, Vec<usize>> = HashMap::new();
        for (index, rule) in new.rules.iter().enumerate().rev() {
            places.entry(rule).or_default().push(index);
        }
        let mut carried = Self::new(new.rules.len());
        let mut gone = Hit::default();
        for (rule, hit) in old.rules.iter().zip(self.rules()) {
            let row = match places.get_mut(rule).and_then(Vec::pop) {
                Some(index) => &mut carried.rows[index],
                None => &mut gone,
            };
            row.frames += hit.frames;
            row.bytes += hit.bytes;
        }
        for (end, hit) in [self.default(), self.other(), self.malformed()].into_iter().enumerate() {
            carried.rows[new.rules.len() + end] = hit;
        }
        (carried, gone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_that_stays_keeps_its_count_wherever_it_moves() {
        let rules = |text: &str| Rules::parse(text, "r").unwrap();
        let old = rules("drop from 10.0.0.0/8\npass proto tcp\ndrop all\ndrop all");
        let new = rules("drop all\npass proto udp\ndrop from 10.0.0.0/8\ndrop all");
        let hit = |frames| Hit { frames, bytes: frames * 60 };
        let hits = Hits::from_rows([1, 2, 3, 4, 5, 6, 7].map(hit).to_vec());
        let (carried, gone) = hits.carried(&old, &new);
        assert_eq!(carried.rules(), [hit(3), hit(0), hit(1), hit(4)]);
        assert_eq!((carried.default(), carried.other(), carried.malformed()), (hit(5), hit(6), hit(7)));
        assert_eq!(gone, hit(2));
    }

    #[test]
    fn counters_of_all_threads_add_up() {
        let mut one = Hits::new(1);
        for (slot, bytes) in [(0, 60), (0, 100), (3, 64), (9, 1)] {
            one.count(Decision::from_code(slot << 1), bytes);
        }
        let mut all = Hits::new(0);
        all.add(&one);
        all.add(&one);
        assert_eq!(all.rules(), [Hit { frames: 4, bytes: 320 }]);
        assert_eq!((all.other(), all.malformed()), (Hit::default(), Hit { frames: 2, bytes: 128 }));
        assert_eq!(all.total(), Hit { frames: 6, bytes: 448 });
    }
}
