//! What is to leave next: the open loop's schedule, or the closed loop's free places.

use schedule::{Change, Schedule, Share};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use units::{Departure, Instant, Picos};

/// The departures of one thread, the next in front.
pub enum Feed {
    Open(OpenFeed),
    Closed(ClosedFeed),
}

/// An open loop: the schedule alone decides.
pub struct OpenFeed {
    schedule: Box<dyn Schedule>,
    head: Option<Departure>,
    /// The same schedule once more, to count what is due while departures wait for their turn.
    counter: Box<dyn Schedule>,
    counted: u64,
    /// How many departures the schedule has, where a file has them, and how many came of it.
    recorded: Option<u64>,
    drawn: u64,
    /// Not over before then: the rate may rise, and more be due.
    stays_until: Instant,
}

/// A closed loop: a departure is due when the one before it on its place has ended.
pub struct ClosedFeed {
    /// Since when each free place is free.
    free: VecDeque<Instant>,
    /// Places that wait a while after a failure, or for their turn to open.
    delayed: BinaryHeap<Reverse<Instant>>,
    next_seq: u64,
    step: u64,
    /// Departures left that count; those due before `counted_from` (the warm-up) do not.
    left: u64,
    counted_from: Instant,
    /// No departure that is due then or later.
    end: Instant,
}

impl Feed {
    /// `counter` is a second, untouched copy of `schedule`.
    pub fn open(mut schedule: Box<dyn Schedule>, counter: Box<dyn Schedule>) -> Self {
        let head = schedule.next();
        Self::Open(OpenFeed {
            schedule,
            head,
            counter,
            counted: 0,
            recorded: None,
            drawn: u64::from(head.is_some()),
            stays_until: Instant::EPOCH,
        })
    }

    /// So many departures are in the file of recorded times, for all shares: if it changes, there may be fewer.
    pub fn expect(&mut self, all: u64, share: Share) {
        let (index, of) = (u64::from(share.index()), u64::from(share.of()));
        if let Self::Open(open) = self {
            open.recorded = Some(all / of + u64::from(index < all % of));
        }
    }

    /// Why the schedule ended before all of its departures had come.
    pub fn lost(&self) -> Option<String> {
        let Self::Open(open) = self else { return None };
        if open.head.is_some() || open.recorded.is_none_or(|recorded| open.drawn >= recorded) {
            return None;
        }
        Some(open.schedule.failure().map_or_else(
            || "the file of recorded times (--at) shrank during the run".to_owned(),
            |failure| format!("--at: {failure}"),
        ))
    }

    /// Departures that a file of recorded times no longer had; those in front of them that were not taken are
    /// among them.
    pub fn never_came(&mut self) -> u64 {
        let Self::Open(open) = self else { return 0 };
        let Some(recorded) = open.recorded else { return 0 };
        let taken = open.drawn - u64::from(open.head.is_some());
        open.drawn += open.schedule.skip_before(Instant::FAR);
        if open.drawn < recorded { recorded - taken } else { 0 }
    }

    /// An open loop whose rate may be changed is not over before then.
    pub fn stay_until(&mut self, end: Instant) {
        if let Self::Open(open) = self {
            open.stays_until = end;
        }
    }

    /// Another rate from a time on. A departure that is in front but was not taken is due when the new rate
    /// says.
    pub fn steer(&mut self, change: Change) {
        let Self::Open(open) = self else { return };
        let (Some(schedule), Some(counter)) = (open.schedule.as_steered(), open.counter.as_steered()) else {
            return;
        };
        if let Some(head) = open.head.take() {
            schedule.put_back(head);
        }
        schedule.steer(change);
        counter.steer(change);
        open.head = open.schedule.next();
    }

    /// How many departures have been due before `now`, of which `taken` were taken.
    pub fn due_before(&mut self, now: Instant, taken: u64) -> u64 {
        let Self::Open(open) = self else { return taken };
        if open.head.is_none_or(|head| head.due >= now) {
            return taken;
        }
        open.counted += open.counter.skip_before(now);
        open.counted
    }

    /// Places that are free at these times; sequence numbers `first`, `first + step`…. `most` departures that
    /// are due at or after `counted_from`, none at or after `end`.
    pub fn closed(
        places: impl Iterator<Item = Instant>,
        (first, step): (u64, u64),
        most: u64,
        counted_from: Instant,
        end: Instant,
    ) -> Self {
        let delayed: BinaryHeap<_> = places.map(Reverse).collect();
        Self::Closed(ClosedFeed {
            free: VecDeque::new(),
            next_seq: first,
            step,
            // Without a place nothing would ever leave.
            left: if delayed.is_empty() { 0 } else { most },
            delayed,
            counted_from,
            end,
        })
    }

    pub fn is_closed(&self) -> bool {
        matches!(self, Self::Closed(_))
    }

    /// The next departure, which may lie in the future; `None` if there is none now.
    pub fn head(&mut self) -> Option<Departure> {
        match self {
            Self::Open(open) => open.head,
            Self::Closed(closed) => closed.head(),
        }
    }

    /// Takes the departure that `head` showed.
    pub fn take(&mut self) {
        match self {
            Self::Open(open) => open.advance(),
            Self::Closed(closed) => closed.take(),
        }
    }

    /// A departure has ended, at `at`; in a closed loop its place is free from then on, or `delay` later.
    pub fn freed(&mut self, at: Instant, delay: Picos) {
        let Self::Closed(closed) = self else { return };
        if delay.is_zero() {
            closed.free.push_back(at);
        } else {
            closed.delayed.push(Reverse(at + delay));
        }
    }

    /// Whether nothing will ever come again, apart from places that are busy now.
    pub fn is_over(&mut self, now: Instant) -> bool {
        match self {
            Self::Open(open) => open.head.is_none() && now >= open.stays_until,
            Self::Closed(closed) => closed.left == 0 || now >= closed.end,
        }
    }

    /// Drops what is due before `end` and has not been taken, and says how much that was.
    pub fn skip_before(&mut self, end: Instant) -> u64 {
        let Self::Open(open) = self else { return 0 };
        match open.head.take_if(|head| head.due < end) {
            Some(_) => {
                let skipped = open.schedule.skip_before(end);
                open.drawn += skipped;
                open.advance();
                1 + skipped
            }
            None => 0,
        }
    }
}

impl OpenFeed {
    fn advance(&mut self) {
        self.head = self.schedule.next();
        self.drawn += u64::from(self.head.is_some());
    }
}

impl ClosedFeed {
    fn head(&mut self) -> Option<Departure> {
        let delayed = self.delayed.peek().map(|Reverse(at)| *at);
        let due = match (self.free.front(), delayed) {
            (Some(free), Some(delayed)) => (*free).min(delayed),
            (Some(free), None) => *free,
            (None, delayed) => delayed?,
        };
        (self.left > 0 && due < self.end).then_some(Departure { seq: self.next_seq, due })
    }

    fn take(&mut self) {
        let due = self.head().map(|head| head.due);
        if due.is_some_and(|due| due >= self.counted_from) {
            self.left -= 1;
        }
        let delayed_first = match (self.free.front(), self.delayed.peek()) {
            (Some(free), Some(Reverse(delayed))) => delayed < free,
            (None, _) => true,
            (Some(_), None) => false,
        };
        if delayed_first {
            self.delayed.pop();
        } else {
            self.free.pop_front();
        }
        self.next_seq += self.step;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: u64) -> Instant {
        Instant::EPOCH + Picos::from_secs(secs)
    }

    /// One departure each second.
    fn each_second() -> Box<dyn Schedule> {
        let shape = plan::Shape::Constant(units::Rate::per_second(1).unwrap());
        let arrivals = plan::Arrivals { shape, jitter: units::Fraction::ZERO };
        let limits = schedule::Limits { end: Some(Picos::from_secs(10)), ..schedule::Limits::default() };
        schedule::share(&arrivals, limits, 0, at(0), schedule::Share::WHOLE).unwrap()
    }

    #[test]
    fn what_is_due_counts_whether_it_can_leave_or_not() {
        let mut feed = Feed::open(each_second(), each_second());
        feed.take();
        feed.take();
        assert_eq!(feed.due_before(at(2), 2), 2, "none waits");
        // The third, due at 2 s, waits; at 7 s those of 0 to 6 s have been due.
        assert_eq!(feed.due_before(at(7), 2), 7);
        assert_eq!(feed.due_before(at(7), 2), 7);
        assert_eq!(feed.skip_before(Instant::FAR), 8);
        assert_eq!(feed.due_before(at(20), 10), 10);
    }

    #[test]
    fn recorded_times_that_are_gone_are_missed() {
        let with = |recorded| {
            let mut feed = Feed::open(each_second(), each_second());
            feed.expect(recorded, Share::WHOLE);
            feed
        };
        // Ten come of the schedule.
        let mut whole = with(10);
        (0..4).for_each(|_| whole.take());
        assert_eq!((whole.skip_before(Instant::FAR), whole.lost(), whole.never_came()), (6, None, 0));
        let mut short = with(14);
        (0..9).for_each(|_| short.take());
        assert_eq!(short.lost(), None, "the last is in front");
        short.take();
        assert!(short.lost().unwrap().contains("--at) shrank"));
        assert_eq!(short.never_came(), 4);
        // Another thread has found it out: the one in front, six behind it, and four that are gone.
        let mut other = with(14);
        (0..3).for_each(|_| other.take());
        assert_eq!(other.never_came(), 11);
        assert_eq!(with(10).never_came(), 0, "nothing is gone: something else has ended the run");
    }

    #[test]
    fn the_departure_in_front_follows_the_rate() {
        let mut feed = Feed::open(each_second(), each_second());
        feed.stay_until(at(10));
        feed.take();
        // In front is the second, due at 1 s. From 0.5 s on ten a second: at 0.5, 0.6 …
        let half = at(0) + Picos::from_millis(500);
        feed.steer(Change { at: half, rate: units::Rate::per_second(10).unwrap() });
        let head = feed.head().unwrap();
        assert_eq!((head.seq, head.due), (1, half));
        assert_eq!(feed.due_before(at(1), 1), 6, "at 0, 0.5, 0.6, 0.7, 0.8 and 0.9 s");
        assert_eq!(feed.skip_before(at(9)), 85);
        feed.steer(Change { at: at(9), rate: units::Rate::per_second(2).unwrap() });
        assert_eq!(feed.skip_before(Instant::FAR), 2, "at 9 and 9.5 s");
        assert!(!feed.is_over(at(9)) && feed.is_over(at(10)));
    }

    #[test]
    fn a_closed_loop_counts_its_share_and_stops() {
        // Thread 1 of 3, of 8 requests: 1, 4 and 7.
        let mut feed = Feed::closed([at(0), at(0)].into_iter(), (1, 3), 3, at(0), at(100));
        let mut seqs = Vec::new();
        while let Some(head) = feed.head() {
            feed.take();
            seqs.push(head.seq);
            feed.freed(at(1), Picos::ZERO);
        }
        assert_eq!(seqs, [1, 4, 7]);
        assert!(feed.is_over(at(1)));
    }

    #[test]
    fn a_closed_loop_without_a_place_has_nothing_to_do() {
        let mut feed = Feed::closed(std::iter::empty(), (0, 1), 7, at(0), Instant::FAR);
        assert!(feed.head().is_none() && feed.is_over(at(0)));
    }

    #[test]
    fn a_delayed_place_comes_back_in_its_time() {
        let mut feed = Feed::closed([at(0), at(0)].into_iter(), (0, 1), u64::MAX, at(0), at(100));
        feed.take();
        feed.take();
        assert_eq!(feed.head(), None);
        feed.freed(at(5), Picos::from_secs(10));
        feed.freed(at(7), Picos::ZERO);
        assert_eq!(feed.head().unwrap().due, at(7));
        feed.take();
        assert_eq!(feed.head().unwrap().due, at(15));
    }

    #[test]
    fn the_warm_up_does_not_count() {
        let mut feed = Feed::closed(std::iter::once(at(0)), (0, 1), 2, at(3), at(100));
        let mut dues = Vec::new();
        while let Some(head) = feed.head() {
            feed.take();
            dues.push(head.due);
            feed.freed(head.due + Picos::from_secs(1), Picos::ZERO);
        }
        // 0, 1 and 2 s are warm-up; two more follow.
        assert_eq!(dues, [at(0), at(1), at(2), at(3), at(4)]);
    }

    #[test]
    fn nothing_is_due_at_or_after_the_end() {
        let mut feed = Feed::closed(std::iter::once(at(0)), (0, 1), u64::MAX, at(0), at(10));
        feed.take();
        feed.freed(at(10), Picos::ZERO);
        assert_eq!(feed.head(), None);
        assert!(feed.is_over(at(10)));
    }
}
