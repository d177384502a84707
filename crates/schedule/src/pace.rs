//! A limit on how fast things may happen, for connections that open and for bytes that are read.
//!
//! ```text
//! allowed(n) = anchor + due(n)            due(n) of the rate; the anchor moves on when nothing was wanted
//!
//!  ┼──────┼──────┼──────┼          ┼──────┼──────┼
//!  0      1      2      3    idle  4      5      6      nothing is saved up while idle
//! ```

use crate::Share;
use units::{Instant, Picos, Rate};

/// One share of a pace: the k shares together are no faster than the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    rate: Rate,
    of: u64,
    /// When number zero is allowed.
    anchor: Instant,
    taken: u64,
}

impl Pace {
    /// The first of share i is allowed at `origin + due(i)`.
    pub fn new(rate: Rate, origin: Instant, share: Share) -> Self {
        Self { rate, of: share.of().into(), anchor: origin + rate.due(share.index().into()), taken: 0 }
    }

    /// When the next is allowed.
    pub fn next_at(&self) -> Instant {
        self.anchor + self.rate.due(self.taken.saturating_mul(self.of))
    }

    /// How long until the next is allowed.
    pub fn wait(&self, now: Instant) -> Picos {
        self.next_at().since(now)
    }

    /// Takes one if it is allowed now.
    pub fn take(&mut self, now: Instant) -> bool {
        let allowed = self.wait(now).is_zero();
        if allowed {
            self.spend(now, 1);
        }
        allowed
    }

    /// Takes `count` of which the first may be taken now, for things whose number is known only afterwards,
    /// such as bytes read: what was too many is waited for before the next.
    pub fn spend(&mut self, now: Instant, count: u64) {
        // More than one turn late: what was not taken is lost, so that no clump follows.
        let turn = self.rate.due(self.of);
        if now >= self.next_at() + turn {
            (self.anchor, self.taken) = (now, 0);
        }
        self.taken = self.taken.saturating_add(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::EPOCH + Picos::from_millis(millis)
    }

    fn pace(share: Share) -> Pace {
        Pace::new(Rate::per_second(100).unwrap(), at(1_000), share)
    }

    #[test]
    fn no_faster_than_the_rate() {
        let mut pace = pace(Share::WHOLE);
        assert!(!pace.take(at(999)));
        // Asked each millisecond for one second from the origin: 100 are allowed, at 0, 10, 20 … ms.
        let taken: Vec<u64> = (1_000..2_000).filter(|millis| pace.take(at(*millis))).collect();
        assert_eq!(taken, (0..100).map(|n| 1_000 + 10 * n).collect::<Vec<_>>());
        assert_eq!(pace.wait(at(1_999)), Picos::from_millis(1));
    }

    #[test]
    fn slow_asking_does_not_lower_the_rate_and_idling_saves_nothing() {
        let mut pace = pace(Share::WHOLE);
        // Asked each 7 ms, always a little late: still 100 in a second.
        assert_eq!((0..143).filter(|n| pace.take(at(1_000 + 7 * n))).count(), 100);
        let burst = (0..50).filter(|_| pace.take(at(9_000))).count();
        assert_eq!(burst, 1);
        assert_eq!(pace.next_at(), at(9_010));
    }

    #[test]
    fn shares_take_turns() {
        let mut paces = [0, 1, 2].map(|i| pace(Share::new(i, 3).unwrap()));
        let mut taken = Vec::new();
        for millis in 1_000..1_100 {
            taken.extend(paces.iter_mut().filter_map(|pace| pace.take(at(millis)).then_some(millis)));
        }
        assert_eq!(taken, (0..10).map(|n| 1_000 + 10 * n).collect::<Vec<_>>());
    }

    #[test]
    fn too_many_are_waited_for() {
        // 3 360 bytes a second; one read brings 6 720: two seconds until the next.
        let mut pace = Pace::new(Rate::per_second(3_360).unwrap(), at(0), Share::WHOLE);
        pace.spend(at(0), 6_720);
        assert_eq!(pace.next_at(), at(2_000));
    }
}
