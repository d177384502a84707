//! The plan's limits on connections: how many may be open at the same time, and how quickly they open.
//!
//! A departure that finds neither an idle connection nor room for a new one is held back. How long it was held
//! back by the limits, and not by the generator, decides what counts as the generator's lateness, so the limit
//! remembers since when the last place has been free.

use units::{Instant, Picos};

/// Openings that the plan's ramp allowed while the generator was busy are made up for this long.
const CATCH_UP: Picos = Picos::from_millis(10);
/// For so long after this machine had no socket to give, connections that exist are used before another is
/// tried.
const REST: Picos = Picos::from_millis(100);

/// See the module. Each thread has its share.
#[derive(Debug)]
pub(crate) struct Limit {
    /// The most connections that may be open.
    most: usize,
    /// The shortest time between two openings; zero without a ramp.
    gap: Picos,
    next_open: Instant,
    /// A departure is held back now.
    holds: bool,
    /// The last time until which departures were held back.
    held_until: Instant,
    /// When a place became free last.
    freed_at: Instant,
    /// How much earlier that may have been, if no stamp tells.
    freed_doubt: Picos,
    /// When this machine last had no socket to give.
    refused: Option<Instant>,
}

impl Limit {
    pub(crate) fn new(most: usize, gap: Picos, origin: Instant) -> Self {
        Self {
            most,
            gap,
            next_open: origin,
            holds: false,
            held_until: Instant::EPOCH,
            freed_at: origin,
            freed_doubt: Picos::ZERO,
            refused: None,
        }
    }

    /// Whether the number of connections leaves room for one more.
    pub(crate) fn has_room(&self, open: usize) -> bool {
        open < self.most
    }
    /// No descriptor, port or memory was free for a connection.
    pub(crate) fn refused(&mut self, now: Instant) {
        self.refused = Some(now);
    }

    /// Whether a further connection is allowed now, and likely to be had.
    pub(crate) fn may_have_more(&self, open: usize, now: Instant) -> bool {
        self.has_room(open) && self.is_paced(now) && self.refused.is_none_or(|at| now.since(at) >= REST)
    }

    /// Whether the ramp allows an opening now.
    pub(crate) fn is_paced(&self, now: Instant) -> bool {
        now >= self.next_open
    }

    /// Takes a place for a new connection, which must be allowed, and says since when it has been free.
    pub(crate) fn take_place(&mut self, now: Instant) -> Instant {
        if self.gap.is_zero() {
            return self.freed_at;
        }
        let since = self.freed_at.max(self.next_open);
        self.next_open = self.next_open.max(now.saturating_sub(CATCH_UP)) + self.gap;
        since
    }

    /// Whether a departure is held back now.
    pub(crate) fn holds(&self) -> bool {
        self.holds
    }
    /// Whether a departure is held back and nothing has changed that would let it go.
    pub(crate) fn still_holds(&self, open: usize, now: Instant) -> bool {
        self.holds && !(self.is_paced(now) && self.has_room(open))
    }
    /// Whether the limits hold back, or have held back, a departure that was due then.
    pub(crate) fn has_held(&self, due: Instant) -> bool {
        self.holds || self.held_until >= due
    }
    /// A request leaves on a connection that it could have had since `since`: for how long the plan's limits
    /// held it back.
    pub(crate) fn blocked(&mut self, due: Instant, since: Instant, now: Instant) -> Picos {
        let held = self.has_held(due);
        self.release(now);
        if held { since.since(due) } else { Picos::ZERO }
    }
    pub(crate) fn hold(&mut self) {
        self.holds = true;
    }
    /// Departures go again from then on.
    pub(crate) fn release(&mut self, at: Instant) {
        if std::mem::take(&mut self.holds) {
            self.held_until = at;
        }
    }

    /// When a departure that is held back is to be looked at: when it may open a connection, or when it is
    /// given up.
    pub(crate) fn wake(&self, open: usize, given_up: Instant) -> Instant {
        let waits_for_ramp = self.next_open > self.freed_at && self.has_room(open);
        if waits_for_ramp { given_up.min(self.next_open) } else { given_up }
    }

    /// A connection was closed.
    pub(crate) fn closed(&mut self, now: Instant) {
        self.freed_at = now;
        self.release(now);
    }
    /// The connection that was closed last could have been closed at `since`, or `doubt` earlier.
    pub(crate) fn could_close(&mut self, since: Instant, doubt: Picos) {
        self.freed_at = self.freed_at.min(since);
        self.freed_doubt = doubt;
    }
    /// A connection has been idle since then.
    pub(crate) fn idle(&mut self, since: Instant) {
        self.freed_at = self.freed_at.max(since);
        self.release(self.freed_at);
    }
    /// How much earlier the last place may have become free.
    pub(crate) fn doubt(&self) -> Picos {
        self.freed_doubt
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::EPOCH + Picos::from_millis(millis)
    }

    #[test]
    fn a_ramp_makes_up_for_10_ms_at_most() {
        let mut limit = Limit::new(9, Picos::from_millis(4), at(0));
        assert_eq!(limit.take_place(at(0)), at(0));
        assert!(!limit.is_paced(at(3)) && limit.is_paced(at(4)));
        // Busy until 50 ms: openings of the last 10 ms are made up for, at 40, 44 and 48 ms.
        let mut openings = 0;
        while limit.is_paced(at(50)) {
            limit.take_place(at(50));
            openings += 1;
        }
        assert_eq!(openings, 3);
    }

    #[test]
    fn a_departure_is_held_until_a_place_is_free() {
        let mut limit = Limit::new(1, Picos::ZERO, at(0));
        limit.take_place(at(1));
        assert!(!limit.has_room(1));
        limit.hold();
        assert!(limit.still_holds(1, at(5)) && !limit.still_holds(0, at(5)));
        limit.idle(at(7));
        assert!(!limit.holds());
        assert!(limit.has_held(at(7)) && !limit.has_held(at(8)), "what was due by 7 ms had to wait");
    }

    #[test]
    fn only_a_ramp_wakes_a_held_departure_before_it_is_given_up() {
        let mut limit = Limit::new(2, Picos::from_millis(4), at(0));
        limit.take_place(at(0));
        assert_eq!(limit.wake(1, at(100)), at(4));
        assert_eq!(limit.wake(2, at(100)), at(100));
    }
}
