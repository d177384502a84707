//! What is due when: a heap ordered by time. Entries that no longer hold are left in and skipped.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use units::Instant;

/// Due times with the key of what is due.
#[derive(Default)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(Instant, u64)>>,
}

impl Timers {
    pub fn add(&mut self, due: Instant, key: u64) {
        self.heap.push(Reverse((due, key)));
    }

    pub fn next_due(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse((due, _))| *due)
    }

    /// The earliest that is due by `now`.
    pub fn pop(&mut self, now: Instant) -> Option<(Instant, u64)> {
        self.next_due().filter(|due| *due <= now)?;
        self.heap.pop().map(|Reverse(entry)| entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comes_out_in_order_and_not_early() {
        let mut timers = Timers::default();
        for n in [5, 1, 4, 2, 3] {
            timers.add(Instant::from_picos(n), n * 10);
        }
        let mut out = Vec::new();
        while let Some((due, key)) = timers.pop(Instant::from_picos(3)) {
            out.push((due.since_epoch().as_picos(), key));
        }
        assert_eq!(out, [(1, 10), (2, 20), (3, 30)]);
        assert_eq!(timers.next_due(), Some(Instant::from_picos(4)));
    }
}
