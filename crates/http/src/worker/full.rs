//! When departures were held back because all connections that the plan allows were busy. Where connections
//! open on a ramp, the rest of what they waited was the ramp's.
//!
//! ```text
//! due ──── all busy ────┬──── the ramp ────┬── all busy ──► leaves
//!       the target's    │ the generator's  │ the target's
//! ```

use std::collections::VecDeque;
use units::{Instant, Picos};

/// A time in which all were busy, and for how long they had been before.
#[derive(Clone, Copy, Debug)]
struct Span {
    from: Instant,
    until: Instant,
    before: Picos,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Full {
    past: VecDeque<Span>,
    since: Option<Instant>,
    total: Picos,
}

impl Full {
    /// All are busy since then.
    pub(crate) fn begin(&mut self, from: Instant) {
        if self.since.is_some() {
            return;
        }
        self.since = Some(match self.past.back().copied() {
            Some(last) if last.until >= from => {
                self.past.pop_back();
                self.total = last.before;
                last.from
            }
            _ => from,
        });
    }

    /// One has become free.
    pub(crate) fn end(&mut self, at: Instant) {
        let Some(from) = self.since.take() else { return };
        let until = at.max(from);
        self.past.push_back(Span { from, until, before: self.total });
        self.total += until.since(from);
    }

    /// That has ended at `at` could have ended at `since`.
    pub(crate) fn could_end(&mut self, at: Instant, since: Instant) {
        let Some(last) = self.past.back_mut().filter(|last| last.until == at) else { return };
        last.until = since.clamp(last.from, at);
        self.total = self.total - at.since(last.until);
    }

    /// When one has become free last.
    pub(crate) fn ended(&self) -> Option<Instant> {
        self.past.back().map(|last| last.until)
    }

    /// For how long all were busy in this time.
    pub(crate) fn within(&self, from: Instant, to: Instant) -> Picos {
        self.before(to) - self.before(from)
    }

    fn before(&self, at: Instant) -> Picos {
        if let Some(since) = self.since.filter(|since| *since <= at) {
            return self.total + at.since(since);
        }
        let after = self.past.partition_point(|span| span.from <= at);
        match after.checked_sub(1) {
            Some(index) => {
                let span = self.past[index];
                span.before + at.min(span.until).since(span.from)
            }
            None => self.past.front().map_or(self.total, |first| first.before),
        }
    }

    /// Nothing that was due earlier waits any more.
    pub(crate) fn forget(&mut self, due: Instant) {
        while self.past.len() > 1 && self.past[0].until < due {
            self.past.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_in_which_all_are_busy_add_up_whatever_lies_between() {
        let at = |millis| Instant::EPOCH + Picos::from_millis(millis);
        let millis = |from, to, full: &Full| full.within(at(from), at(to)).as_picos() / 1_000_000_000;
        let mut full = Full::default();
        full.begin(at(10));
        assert_eq!((millis(0, 15, &full), millis(12, 15, &full)), (5, 3));
        full.end(at(20));
        full.could_end(at(20), at(19));
        full.begin(at(40));
        full.end(at(45));
        // The place was taken again at once.
        full.begin(at(45));
        full.end(at(50));
        assert_eq!((millis(0, 60, &full), millis(15, 42, &full), millis(25, 39, &full)), (19, 6, 0));
        full.forget(at(30));
        assert_eq!((millis(30, 60, &full), full.past.len(), full.ended()), (10, 1, Some(at(50))));
    }
}
