//! What leaves next, and how to wait for it.
//!
//! ```text
//!   now ──────────── sleep ────────────┬──── poll, SPIN ────┬─ spin, GUARD ─┐
//!                                      │ sockets are served │ nothing else  ▼ due
//! ```
//!
//! A thread that does not spin sleeps up to the due time and leaves when it is woken.

use clock::Clock;
use plan::Plan;
use units::{Departure, Instant, Picos};

use crate::io::Wait;
use crate::source::Staged;
use crate::worker::feed::Feed;
use schedule::Control;

/// No socket is handled when the next departure is closer than this: about the cost of handling one.
const GUARD: Picos = Picos::from_micros(4);
/// Before a due time, this long is spun; waking from sleep is later than that only rarely (p99 was 187 µs).
const SPIN: Picos = Picos::from_micros(250);
/// What is given up at the end is told apart by how long it had waited, in so many steps.
const SLICES: u64 = 32;

/// When the run begins and ends.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// Nothing is due from then on; `FAR` if only the number of requests ends the run.
    pub end: Instant,
    pub grace: Picos,
}

/// A departure that has been taken and waits for a connection.
pub(crate) struct Pending {
    pub departure: Departure,
    pub staged: Staged,
    /// When its request was written.
    pub written_at: Instant,
}

/// See the module.
pub(crate) struct Pacer {
    feed: Feed,
    pending: Option<Pending>,
    times: Times,
    spin: bool,
    /// The plan gives a length and no number of requests.
    by_time_alone: bool,
    /// A schedule that ends before its time ends the run.
    ends_by_itself: bool,
    /// When the last departure of the schedule was taken.
    drained_at: Option<Instant>,
    /// Changes of the rate that were taken.
    steered: usize,
}

impl Pacer {
    pub(crate) fn new(feed: Feed, times: Times, spin: bool, plan: &Plan) -> Self {
        Self {
            feed,
            pending: None,
            times,
            spin,
            by_time_alone: times.end != Instant::FAR && plan.stop.requests.is_none(),
            ends_by_itself: plan.load.ends_by_itself(),
            drained_at: None,
            steered: 0,
        }
    }

    /// Takes changes of the rate that were asked for since the last turn.
    pub(crate) fn follow(&mut self, control: &Control) {
        while let Some(change) = control.change_after(self.steered) {
            self.steered += 1;
            if let Some(change) = change.rate() {
                self.feed.steer(change);
            }
        }
    }

    /// The departure whose turn is next: one that has been taken and could not leave, or the feed's.
    pub(crate) fn next(&mut self) -> Option<Departure> {
        match &self.pending {
            Some(pending) => Some(pending.departure),
            None => self.feed.head(),
        }
    }
    /// The same, if its time has come.
    pub(crate) fn next_due(&mut self, now: Instant) -> Option<Departure> {
        self.next().filter(|departure| departure.due <= now)
    }

    /// Takes the feed's next departure.
    pub(crate) fn take(&mut self) {
        self.feed.take();
    }
    /// Keeps a departure that was taken until there is a connection for it.
    pub(crate) fn keep(&mut self, pending: Pending) {
        self.pending = Some(pending);
    }
    pub(crate) fn take_pending(&mut self) -> Option<Pending> {
        self.pending.take()
    }
    pub(crate) fn has_pending(&self) -> bool {
        self.pending.is_some()
    }

    /// A departure has ended: see [`Feed::freed`].
    pub(crate) fn freed(&mut self, at: Instant, pause: Picos) {
        self.feed.freed(at, pause);
    }
    pub(crate) fn is_closed_loop(&self) -> bool {
        self.feed.is_closed()
    }
    /// How many departures have been due before `now`, of which `taken` were taken.
    pub(crate) fn due_before(&mut self, now: Instant, taken: u64) -> u64 {
        self.feed.due_before(now, taken)
    }

    /// Whether the departure is so close that the thread should spin until then.
    pub(crate) fn is_near(&self, due: Instant, now: Instant) -> bool {
        self.spin && due > now && due.since(now) <= GUARD
    }

    /// Spins until then, and says when that is.
    pub(crate) fn spin_until(&self, due: Instant, clock: &impl Clock, from: Instant) -> Instant {
        let mut now = from;
        while now < due {
            std::hint::spin_loop();
            now = clock.now();
        }
        now
    }

    /// How to wait for sockets, until `until` at most, if the next departure is to be looked at at `wake`.
    pub(crate) fn wait(&self, now: Instant, until: Instant, wake: Option<Instant>) -> Wait {
        let until = if self.times.end > now { until.min(self.times.end) } else { until };
        match wake {
            Some(wake) if wake <= now => Wait::Poll,
            Some(wake) if self.spin && wake.since(now) <= SPIN => Wait::Poll,
            Some(wake) if self.spin => Wait::AtMost(until.min(wake.saturating_sub(SPIN)).since(now)),
            Some(wake) => Wait::AtMost(until.min(wake).since(now)),
            None if self.spin && self.feed.is_closed() => Wait::Poll,
            None => Wait::AtMost(until.since(now)),
        }
    }

    /// Whether the run is over; `busy` if requests are on their way, of which all that came by `read` was read:
    /// the wait for them ends when nothing that came in time can be missing.
    pub(crate) fn is_over(&mut self, now: Instant, read: Instant, busy: bool) -> bool {
        let Times { end, grace, .. } = self.times;
        if end != Instant::FAR && read >= end + grace {
            return true;
        }
        if self.pending.is_some() || !self.feed.is_over(now) {
            return false;
        }
        let drained_at = *self.drained_at.get_or_insert(now);
        // A run of a certain length has all of it, the gap after its last departure included.
        if self.by_time_alone && now < end && !self.ends_by_itself {
            return false;
        }
        !busy || (!self.by_time_alone && read >= drained_at + grace)
    }

    /// Why the schedule ended before its time: see [`Feed::lost`].
    pub(crate) fn lost(&self) -> Option<String> {
        self.feed.lost()
    }

    /// Departures that will never come: see [`Feed::never_came`].
    pub(crate) fn never_came(&mut self) -> u64 {
        self.feed.never_came()
    }

    /// Gives up what was due before `until` and was not taken, one slice of time after another, so that how
    /// long each departure had waited is known: `each` gets a number of departures and that time.
    pub(crate) fn give_up(&mut self, now: Instant, until: Instant, mut each: impl FnMut(u64, Picos)) {
        let Some(first) = self.feed.head().map(|head| head.due) else { return };
        let slice = Picos::from_picos(now.since(first).as_picos() / SLICES);
        for index in 1..=SLICES {
            let end = (first + slice.saturating_mul(index)).min(until);
            each(self.feed.skip_before(end), now.since(end));
        }
        each(self.feed.skip_before(until), Picos::ZERO);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::PlanFile;

    fn at(micros: u64) -> Instant {
        Instant::EPOCH + Picos::from_micros(micros)
    }

    /// A closed loop with one place that is free from 5 s on, for one second.
    fn pacer(spin: bool) -> Pacer {
        let text = "url = \"http://h/\"\n[load]\nparallel = 1\n[stop]\nduration = \"1s\"\n";
        let plan = PlanFile::from_toml(text, "a test").unwrap().resolve().unwrap();
        let (origin, end) = (at(5_000_000), at(6_000_000));
        let feed = Feed::closed(std::iter::once(origin), (0, 1), u64::MAX, origin, end);
        Pacer::new(feed, Times { end, grace: Picos::from_secs(2) }, spin, &plan)
    }

    #[test]
    fn a_thread_that_spins_sleeps_up_to_250_us_before_the_due_time() {
        let (far, due) = (at(9_000), at(1_000));
        let most = |micros| Wait::AtMost(Picos::from_micros(micros));
        let spinning = pacer(true);
        assert_eq!(spinning.wait(at(0), far, Some(due)), most(750));
        assert_eq!(spinning.wait(at(751), far, Some(due)), Wait::Poll);
        assert_eq!(spinning.wait(at(0), at(300), Some(due)), most(300));
        assert!(spinning.is_near(due, at(996)) && !spinning.is_near(due, at(995)));
        let sleeping = pacer(false);
        assert_eq!(sleeping.wait(at(0), far, Some(due)), most(1_000));
        assert_eq!(sleeping.wait(at(1_000), far, Some(due)), Wait::Poll);
        assert_eq!(sleeping.wait(at(0), far, None), most(9_000));
        assert!(!sleeping.is_near(due, at(999)));
    }

    #[test]
    fn a_run_with_a_length_has_all_of_it_and_then_its_grace_while_requests_are_on_their_way() {
        let mut pacer = pacer(false);
        assert!(!pacer.is_over(at(5_999_999), at(5_999_999), false));
        assert!(
            pacer.is_over(at(6_000_000), at(6_000_000), false)
                && !pacer.is_over(at(6_000_000), at(6_000_000), true)
        );
        assert!(pacer.is_over(at(8_000_000), at(8_000_000), true));
    }
}
