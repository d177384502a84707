//! What one stream has of what was sent to it, told by the numbers of its entries.

/// Ranges that are kept: enough for a store that fails a thousand times.
const MOST_HOLES: usize = 1_024;

/// Entries are numbered from 1 and sent in order; some may be refused, some may be gone after the store was
/// started again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// The largest number that arrived.
    last: u64,
    /// The largest number that was given out.
    given: u64,
    /// Up to this number it may be there although nobody confirmed it: the connection broke.
    doubt: u64,
    /// Ranges (both ends included) below `last` that are not there, ascending.
    holes: Vec<(u64, u64)>,
    /// There were more of them than are kept.
    has_forgotten: bool,
    /// Entries that arrived and that somebody deleted.
    deleted: u64,
}

impl Written {
    pub fn last(&self) -> u64 {
        self.last
    }

    /// The number of the next entry.
    pub fn next(&self) -> u64 {
        self.given + 1
    }

    /// The connection broke while these were on their way.
    pub fn unsure(&mut self, through: u64) {
        self.doubt = self.doubt.max(through);
    }

    /// Whether it may have been there before it was sent again.
    pub fn may_be_there(&self, number: u64) -> bool {
        number <= self.doubt
    }

    /// What became of all up to this number is known.
    pub fn settled(&mut self, through: u64) {
        self.given = self.given.max(through);
    }

    /// What was on its way when the connection broke is not sent again. It may be there, so that its numbers
    /// are nobody else's.
    pub fn give_up(&mut self) {
        self.given = self.given.max(self.doubt);
    }

    /// It is there. Numbers between the last one and this one are not.
    pub fn arrived(&mut self, number: u64) {
        if number > self.last + 1 {
            self.hole(self.last + 1, number - 1);
        }
        self.last = self.last.max(number);
    }

    /// The stream's largest number is this: how many are gone that had arrived, and were not found gone before.
    pub fn found(&mut self, largest: u64) -> u64 {
        if largest >= self.last {
            return 0;
        }
        let (from, to) = (largest + 1, self.last);
        let known: u64 = self.holes.iter().map(|(a, b)| overlap((*a, *b), (from, to))).sum();
        self.holes.retain(|(a, _)| *a < from);
        if let Some((_, end)) = self.holes.last_mut() {
            *end = (*end).min(largest);
        }
        self.hole(from, to);
        to - from + 1 - known
    }

    /// The stream has so many entries: how many that had arrived were deleted and not found so before.
    pub fn counted(&mut self, entries: u64) -> u64 {
        let holes: u64 = self.holes.iter().map(|(from, to)| to - from + 1).sum();
        let there = self.last.saturating_sub(holes + self.deleted);
        let more = if self.has_forgotten { 0 } else { there.saturating_sub(entries) };
        self.deleted += more;
        more
    }

    fn hole(&mut self, from: u64, to: u64) {
        match self.holes.last_mut() {
            Some((_, end)) if *end + 1 == from => *end = to,
            _ => self.holes.push((from, to)),
        }
        if self.holes.len() > MOST_HOLES {
            self.holes.remove(0);
            self.has_forgotten = true;
        }
    }
}

fn overlap(a: (u64, u64), b: (u64, u64)) -> u64 {
    (a.1.min(b.1) + 1).saturating_sub(a.0.max(b.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_gone_counts_once() {
        let mut written = Written::default();
        (1..=100).filter(|n| !(41..=50).contains(n)).for_each(|n| written.arrived(n));
        // 41 to 50 were refused. The store comes back with 1 to 30: 31–40 and 51–100 are gone, 60 of them.
        assert_eq!(written.found(30), 60);
        assert_eq!(written.found(30), 0);
        // 20 more arrive, and all but 1 to 25 are gone: 26–30 and the 20.
        (101..=120).for_each(|n| written.arrived(n));
        assert_eq!(written.found(25), 25);
        assert_eq!(written.found(120), 0);
    }

    #[test]
    fn what_was_deleted_counts_once() {
        let mut written = Written::default();
        (1..=100).filter(|n| !(41..=50).contains(n)).for_each(|n| written.arrived(n));
        assert_eq!([90, 90, 80, 80, 0].map(|entries| written.counted(entries)), [0, 0, 10, 0, 80]);
        (101..=110).for_each(|n| written.arrived(n));
        assert_eq!([10, 9].map(|entries| written.counted(entries)), [0, 1]);
    }

    #[test]
    fn what_may_be_there_is_what_was_on_its_way() {
        let mut written = Written::default();
        assert_eq!(written.next(), 1);
        written.unsure(10);
        assert!(written.may_be_there(10) && !written.may_be_there(11));
        assert_eq!(written.next(), 1);
        written.settled(10);
        assert_eq!(written.next(), 11);
        written.unsure(20);
        assert_eq!(written.next(), 11);
        written.give_up();
        assert_eq!(written.next(), 21);
    }
}
