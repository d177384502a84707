//! The plan's limits on connections: how many may be open at the same time, and how quickly they open.
//!
//! A departure that finds neither an idle connection nor room for a new one is held back. How long it was held
//! back by the number of connections, and not by the generator, decides what counts as the generator's
//! lateness, so the limit remembers since when the last place has been free. That connections open slowly is
//! the generator's doing, though the plan wants it: the target could have had them.

use units::{Instant, Miss, Picos};

use crate::worker::full::Full;

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
    /// With a ramp: when all connections were busy, and when the last place was taken.
    full: Full,
    taken_at: Instant,
    /// It is the ramp that holds back, or did so last; and whether it has made a departure late that others,
    /// which are late by it, too, stand behind.
    by_ramp: bool,
    behind_ramp: bool,
    /// By how much departures left late that the ramp held back, or that stood behind those; of those that
    /// count from then on.
    ramped: Picos,
    counted_from: Instant,
}

impl Limit {
    /// `gap` is that of the ramp; figures count from `counted_from` on.
    pub(crate) fn new(most: usize, gap: Picos, origin: Instant, counted_from: Instant) -> Self {
        Self {
            most,
            gap,
            next_open: origin,
            holds: false,
            held_until: Instant::EPOCH,
            freed_at: origin,
            freed_doubt: Picos::ZERO,
            refused: None,
            full: Full::default(),
            taken_at: origin,
            by_ramp: false,
            behind_ramp: false,
            ramped: Picos::ZERO,
            counted_from,
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
        // What was closed while there was room for one more made none.
        let since = self.full.ended().map_or(self.next_open, |ended| ended.max(self.next_open));
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
    /// A request leaves on a connection that it could have had since `since`: for how long it waited because
    /// all that the plan allows were busy.
    pub(crate) fn blocked(&mut self, due: Instant, since: Instant, now: Instant) -> Picos {
        let held = self.has_held(due);
        self.release(now);
        let whole = if held { since.since(due) } else { Picos::ZERO };
        if self.gap.is_zero() {
            return whole;
        }
        let blocked = if held { self.full.within(due, since).min(whole) } else { Picos::ZERO };
        self.full.forget(due);
        self.taken_at = if held { since.max(due) } else { now };
        self.behind_ramp &= held;
        if self.behind_ramp && due >= self.counted_from {
            self.ramped += now.since(due) - blocked;
        }
        blocked
    }
    /// A departure is held back; `has_room` if only the ramp keeps it from a connection of its own.
    pub(crate) fn hold(&mut self, has_room: bool) {
        self.holds = true;
        self.by_ramp = has_room;
        if has_room {
            self.behind_ramp = true;
        } else if !self.gap.is_zero() {
            self.full.begin(self.taken_at);
        }
    }
    /// Departures go again from then on.
    pub(crate) fn release(&mut self, at: Instant) {
        if std::mem::take(&mut self.holds) {
            self.held_until = at;
        }
        self.full.end(at);
    }

    /// Why a departure that is held back never leaves.
    pub(crate) fn miss(&self) -> Miss {
        if self.by_ramp { Miss::NotReached } else { Miss::NoConnection }
    }
    /// By how much departures left late because of the ramp, in all.
    pub(crate) fn ramped(&self) -> Picos {
        self.ramped
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
        self.full.could_end(self.freed_at, since);
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
        let mut limit = Limit::new(9, Picos::from_millis(4), at(0), at(0));
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
        let mut limit = Limit::new(1, Picos::ZERO, at(0), at(0));
        limit.take_place(at(1));
        assert!(!limit.has_room(1));
        limit.hold(false);
        assert!(limit.still_holds(1, at(5)) && !limit.still_holds(0, at(5)));
        limit.idle(at(7));
        assert!(!limit.holds());
        assert!(limit.has_held(at(7)) && !limit.has_held(at(8)), "what was due by 7 ms had to wait");
    }

    #[test]
    fn only_a_ramp_wakes_a_held_departure_before_it_is_given_up() {
        let mut limit = Limit::new(2, Picos::from_millis(4), at(0), at(0));
        limit.take_place(at(0));
        assert_eq!(limit.wake(1, at(100)), at(4));
        assert_eq!(limit.wake(2, at(100)), at(100));
    }

    #[test]
    fn what_waits_for_the_ramp_does_not_wait_for_the_target() {
        let (gap, start) = (Picos::from_millis(50), at(0));
        let mut limit = Limit::new(9, gap, start, start);
        // Due every 33 ms; each connection is closed when its only request is done.
        assert_eq!((limit.take_place(at(0)), limit.blocked(at(0), at(0), at(0))), (at(0), Picos::ZERO));
        for (due, leaves) in [(33, 50), (66, 100), (99, 150)] {
            limit.hold(true);
            limit.closed(at(leaves - 10));
            limit.hold(true);
            let since = limit.take_place(at(leaves));
            assert_eq!((since, limit.miss()), (at(leaves), Miss::NotReached));
            assert_eq!(limit.blocked(at(due), since, at(leaves)), Picos::ZERO);
        }
        assert_eq!(limit.ramped(), Picos::from_millis(17 + 34 + 51));
    }

    #[test]
    fn what_waits_for_a_busy_connection_and_then_for_the_ramp_waits_for_both() {
        let mut limit = Limit::new(1, Picos::from_millis(50), at(0), at(0));
        assert_eq!((limit.take_place(at(0)), limit.blocked(at(0), at(0), at(0))), (at(0), Picos::ZERO));
        limit.hold(false);
        assert_eq!(limit.miss(), Miss::NoConnection);
        limit.closed(at(31));
        limit.could_close(at(30), Picos::ZERO);
        limit.hold(true);
        let since = limit.take_place(at(51));
        // Due at 10 ms: busy until 30, and 21 ms of the ramp until it left.
        assert_eq!((since, limit.blocked(at(10), since, at(51))), (at(50), Picos::from_millis(20)));
        assert_eq!(limit.ramped(), Picos::from_millis(21));
        // Nothing is late any more.
        limit.take_place(at(120));
        assert_eq!(limit.blocked(at(120), at(120), at(120)), Picos::ZERO);
        assert_eq!(limit.ramped(), Picos::from_millis(21));
    }
}
