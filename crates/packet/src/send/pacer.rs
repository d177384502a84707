//! One thread that sends each frame at its time.
//!
//! ```text
//!   far: sleep ≤ 10 ms at a time │ near: the frame is written, the clock is spun, the frame leaves │ record
//!   ─────────────────────────────┼─────────────────────────────────────────────────────────────────┼───────► t
//!                          due − 250 µs                                                         due
//! ```
//!
//! A frame is written into the port's room before it is due, so that nothing but the handing over comes after
//! the spin. Where several are due already (the gap is shorter than a send, or the thread was away), they leave
//! in one call. What becomes of a frame is recorded after it has left, in the slack before the next.
//!
//! A change holds also for a thread that is behind: it gets [`CATCH_UP`] for what was due before the change,
//! and what has not left by then has missed its time. So a paused load is silent, and a slower one slow,
//! however much was owed. It has no number in signatures, either: those count what leaves. (Threads that share
//! the numbers of one load keep theirs, and the receiver of the same run is told which never left.)

use super::ledger::cause_of;
use super::outlet::{Timer, Wall};
use super::scripted;
use super::sender::{GivenUp, SenderContext, SenderReport};
use super::streams::{Due, Timetable};
use crate::control::NAP;
use plan::Spin;
use port::PortError;
use schedule::{Action, Halt, LoadChange};
use std::collections::VecDeque;
use units::{Instant, Picos};

/// Waking is late by up to this much (p99 was 187 µs), so that is how long before a due time a thread wakes.
const AHEAD: Picos = Picos::from_micros(250);
/// A shorter wait is spun.
const NEAR: Picos = Picos::from_micros(500);
/// A run of a certain length gets so much more for those that are late.
const GRACE: Picos = Picos::from_millis(100);
/// After a change, what was due before it has so long to leave.
const CATCH_UP: Picos = Picos::from_millis(10);
/// A recording that has not been read so far is asked again after this.
const UNREAD: Picos = Picos::from_micros(200);
/// A full port is asked again after this.
const FULL: Picos = Picos::from_micros(100);
/// Most frames of one call.
const MOST: usize = 256;
/// A script gets the frames of so much time at once: changes hold 50 ms after they were asked for.
const SCRIPTED: Picos = Picos::from_millis(1);
/// How often the wall clock is compared again.
const WALL: Picos = Picos::from_secs(1);
/// How often the counters are brought up to date.
const HOUSE: Picos = Picos::from_millis(1);
/// A frame that left this much after it was written to have left has its time written again.
const STALE: Picos = Picos::from_micros(1);

/// What a thread is made with besides.
pub struct PacerSetup<T> {
    pub timer: T,
    pub departures: Timetable,
    /// Nothing is due from then on; `FAR` if only a count ends the run.
    pub end: Instant,
    pub spin: Spin,
    /// Gaps count from the last departure as it was, not as it was due.
    pub relative: bool,
    /// Changes may come, also when nothing is due any more.
    pub may_turn: bool,
}

/// What was due before a change.
#[derive(Clone, Copy, Debug)]
struct Owed {
    before: Instant,
    /// Until when it may leave; known from the first look at the clock that finds the change made.
    until: Option<Instant>,
    change: LoadChange,
    /// The first departure for which the change holds.
    first: Option<u64>,
}

/// See the module.
pub struct Pacer<T> {
    context: SenderContext,
    setup: PacerSetup<T>,
    wall: Wall,
    wall_read: Instant,
    /// Drawn, and not yet taken from `taken` on.
    batch: Vec<Due>,
    taken: usize,
    lengths: Vec<u32>,
    /// What relative departures have lost so far.
    slip: Picos,
    seen: usize,
    /// Changes that hold, or will: what was due before them has yet to leave.
    owed: VecDeque<Owed>,
    most: usize,
    house_at: Instant,
    /// Through which time everything has left, as was shown last.
    shown: Instant,
    given_up: Vec<GivenUp>,
}

impl<T: Timer> Pacer<T> {
    pub fn new(context: SenderContext, setup: PacerSetup<T>) -> Self {
        let most = if context.looks.has_script() { scripted::MOST } else { MOST };
        let most = if setup.relative { 1 } else { context.port.about().can.batch.clamp(1, most) };
        let wall = Wall::read(&setup.timer);
        Self {
            wall,
            wall_read: setup.timer.now(),
            batch: Vec::with_capacity(most),
            taken: 0,
            lengths: vec![0; most],
            slip: Picos::ZERO,
            seen: 0,
            owed: VecDeque::new(),
            most,
            house_at: Instant::EPOCH,
            shown: Instant::EPOCH,
            given_up: Vec::new(),
            context,
            setup,
        }
    }

    /// Runs to the end; every departure has an outcome then.
    pub fn run(mut self) -> SenderReport {
        // Before the first departure, so that nothing is done for the first time when it is due.
        self.context.ledger.tick(self.setup.timer.now());
        while !self.context.control.stops() {
            let now = self.setup.timer.now();
            self.take_changes(now);
            self.forgo(now);
            if self.is_past(now) {
                break;
            }
            match self.head(now) {
                Some(head) if !self.holds(head) => self.unread(now, head.departure.due),
                Some(head) => self.approach(head, now),
                None if self.setup.departures.is_waiting() => self.unread(now, Instant::FAR),
                None if self.is_over(now) => break,
                None => self.nap(now, self.setup.end),
            }
        }
        self.wind_up()
    }

    /// The next departure; draws what is due already with it.
    fn head(&mut self, now: Instant) -> Option<Due> {
        if self.taken >= self.batch.len() {
            self.setup.departures.look(now);
            self.batch.clear();
            self.taken = 0;
            let mut first = self.setup.departures.draw()?;
            first.departure.due = first.departure.due + self.slip;
            if first.departure.due >= self.setup.end {
                // Only where departures are relative: it slipped out of the run.
                self.context.looks.let_go();
                self.sends_no_more(first.departure.seq);
                self.setup.departures.skip_before(Instant::FAR);
                return None;
            }
            self.batch.push(first);
            let until = if self.context.looks.has_script() { now + SCRIPTED } else { now };
            while self.batch.len() < self.most && self.setup.departures.peek().is_some_and(|due| due <= until)
            {
                self.batch.extend(self.setup.departures.draw());
            }
            let ready = self.context.prepare(&self.batch, &self.setup.timer);
            if let Some(next) = self.batch.get(ready) {
                self.setup.departures.put_back(next.departure.seq);
                self.batch.truncate(ready);
            }
        }
        self.batch.get(self.taken).copied()
    }

    /// Whether the frames of the batch can be written.
    #[inline]
    fn holds(&mut self, head: Due) -> bool {
        let last = self.batch.last().map_or(head.departure.seq, |due| due.departure.seq);
        self.context.looks.hold(head.departure.seq, last)
    }

    /// The recording has not been read so far.
    #[cold]
    fn unread(&mut self, now: Instant, due: Instant) {
        self.context.looks.late(now.since(due));
        self.nap(now, now + UNREAD);
    }

    /// Waits for a departure, or lets it leave.
    #[inline]
    fn approach(&mut self, head: Due, now: Instant) {
        let due = head.departure.due;
        let slack = due.since(now);
        match self.setup.spin {
            Spin::Never if !slack.is_zero() => return self.nap(now, due),
            Spin::Auto if slack > NEAR => return self.nap(now, due.saturating_sub(AHEAD)),
            // Spun in pieces, so that changes and the end are seen.
            Spin::Always if slack > NEAR => return self.spin(now + AHEAD),
            _ => {}
        }
        let due = self.batch[self.taken..].iter().take_while(|due| due.departure.due <= now).count();
        if due > 1 { self.leave_together(due, now) } else { self.leave_at_its_time(head, now) }
    }

    fn spin(&mut self, until: Instant) {
        let from = self.setup.timer.now();
        while self.setup.timer.now() < until {}
        self.context.ledger.counters.spun += until.since(from);
        self.keep_house(until);
    }

    /// Sleeps until `until`, not for long; and does what there is to do besides.
    fn nap(&mut self, now: Instant, until: Instant) {
        self.keep_house(now);
        self.setup.timer.sleep_until(until.min(now + NAP));
    }

    /// What is to be done now and then, and not for each frame.
    #[inline]
    fn keep_house(&mut self, now: Instant) {
        if now >= self.house_at {
            self.clean_up(now);
        }
    }

    fn clean_up(&mut self, now: Instant) {
        self.house_at = now + HOUSE;
        if now.since(self.wall_read) > WALL && self.context.looks.is_signed() {
            self.wall = Wall::read(&self.setup.timer);
            self.wall_read = now;
        }
        self.context.ledger.counters.due = self
            .setup
            .departures
            .due_before(now.saturating_sub(self.slip))
            .max(self.context.ledger.counters.offered + self.context.ledger.missed);
        let through = self.batch.get(self.taken).map(|due| due.departure.due);
        let through = through.or_else(|| self.setup.departures.peek());
        let unknown = if self.setup.departures.is_waiting() { self.shown } else { Instant::FAR };
        let through = through.unwrap_or(unknown);
        self.shown = through;
        self.context.show(through);
        self.context.ledger.tick(now);
    }

    /// The exact way: written before, handed over when it is due.
    #[inline]
    fn leave_at_its_time(&mut self, head: Due, now: Instant) {
        let due = head.departure.due;
        let (timer, wall, looks) = (&self.setup.timer, &self.wall, &self.context.looks);
        let (mut left, mut length) = (now, 0);
        let taken = self.context.port.transmit(1, &mut |slot| {
            let planned = now.max(due);
            length = looks.write(&head, wall.times(due, planned), slot.data, slot.mark);
            slot.length = length;
            left = timer.now();
            while left < due {
                left = timer.now();
            }
            if left.since(planned) > STALE {
                looks.write(&head, wall.times(due, left), slot.data, slot.mark);
            }
        });
        match taken {
            Ok(0) => self.full(now),
            Ok(_) => {
                self.taken += 1;
                self.context.took();
                self.context.sent(&head, left, length);
                self.context.ledger.counters.spun += due.since(now);
                if self.setup.relative {
                    self.slip += left.since(due);
                    self.context.ledger.stood_still(left.since(due));
                    self.context.ledger.slip = self.slip;
                }
                self.keep_house(left);
            }
            Err(error) => self.failed(&error, 0),
        }
    }

    /// All that are due, in one call.
    fn leave_together(&mut self, count: usize, now: Instant) {
        let (wall, looks, lengths) = (&self.wall, &self.context.looks, &mut self.lengths);
        let mut waiting = self.batch[self.taken..].iter();
        let mut written = 0;
        let taken = self.context.port.transmit(count, &mut |slot| {
            // The port lends no more rooms than it was asked for.
            let Some(next) = waiting.next() else { return slot.length = 0 };
            let times = wall.times(next.departure.due, now);
            let length = looks.write(next, times, slot.data, slot.mark);
            slot.length = length;
            lengths[written] = length as u32;
            written += 1;
        });
        match taken {
            Ok(0) => self.full(now),
            Ok(taken) => {
                self.context.took();
                let left = self.setup.timer.now();
                self.count(taken, left);
                self.keep_house(left);
            }
            Err(error) => {
                // How many of the call had left before it failed, the port knows.
                let known = self.context.ledger.sent;
                let left =
                    self.context.port.counters().map_or(0, |counters| counters.sent.saturating_sub(known));
                self.failed(&error, (left as usize).min(count));
            }
        }
    }

    fn count(&mut self, taken: usize, left: Instant) {
        for index in 0..taken {
            self.context.sent(&self.batch[self.taken + index], left, self.lengths[index] as usize);
        }
        self.taken += taken;
    }

    /// There was no room: the frame stays, and becomes late.
    fn full(&mut self, now: Instant) {
        self.context.full(now, FULL);
        self.keep_house(self.setup.timer.now());
    }

    /// The frame behind those that left cannot leave.
    fn failed(&mut self, error: &PortError, left_before: usize) {
        let now = self.setup.timer.now();
        self.count(left_before, now);
        if let Some(due) = self.batch.get(self.taken) {
            self.context.failed(due, now, cause_of(error));
            self.taken += 1;
        }
        // A link may come up again, and the next frame be shorter; everything else stays as it is.
        if !matches!(error, PortError::Down { .. } | PortError::TooLong { .. }) {
            self.context.control.fail(error.to_string());
        }
        self.keep_house(now);
    }

    /// Takes changes that were asked for since.
    #[inline]
    fn take_changes(&mut self, now: Instant) {
        while let Some(change) = self.context.control.change_after(self.seen) {
            // What relative departures will have lost by then is known then.
            if self.setup.relative && now < change.at {
                return;
            }
            self.seen += 1;
            self.put_back();
            let first = self.take(change);
            self.owed.push_back(Owed { before: change.at, until: None, change, first });
        }
    }

    /// Gives up what was due before a change and could not leave in time after it.
    #[inline]
    fn forgo(&mut self, now: Instant) {
        while let Some(owed) = self.owed.front_mut().filter(|owed| owed.before <= now) {
            let until = *owed.until.get_or_insert(now + CATCH_UP);
            let before = owed.before;
            let next = self.batch.get(self.taken).map(|due| due.departure.due);
            let next = next.or_else(|| self.setup.departures.peek());
            // Relative departures owe nothing.
            let is_behind = !self.setup.relative && next.is_some_and(|due| due < before);
            if is_behind && now < until {
                return;
            }
            let owed = self.owed.pop_front();
            if is_behind {
                self.put_back();
                self.give_up(before);
            }
            // What is given up has no number, so which number is the first is known only now.
            if let Some(Owed { change, first: Some(first), .. }) = owed {
                self.context.control.holds_from(&change, self.context.looks.number_of(first));
            }
        }
    }

    #[cold]
    fn give_up(&mut self, before: Instant) {
        let (first, stride) = self.setup.departures.place();
        let (count, by_stream) = self.setup.departures.skip_before(before);
        self.context.missed(self.context.why_missed(), count, &by_stream);
        match stride {
            1 => self.context.leave_out(count),
            _ => self.given_up.push(GivenUp { first, count, stride }),
        }
    }

    /// Another thread may have used higher numbers, or still will.
    fn sends_no_more(&mut self, first: u64) {
        let (_, stride) = self.setup.departures.place();
        if stride > 1 {
            self.given_up.push(GivenUp { first, count: u64::MAX, stride });
        }
    }

    fn put_back(&mut self) {
        if let Some(first) = self.batch.get(self.taken) {
            self.setup.departures.put_back(first.departure.seq);
        }
        self.batch.clear();
        self.taken = 0;
    }

    /// Makes a change, and says from which departure on it holds.
    #[cold]
    fn take(&mut self, change: LoadChange) -> Option<u64> {
        // The schedule knows nothing of what relative departures have lost.
        let at = change.at.saturating_sub(self.slip);
        let departures = &mut self.setup.departures;
        let first = departures.first_from(at);
        match change.action {
            // Refused where it was asked for.
            Action::Rate(rate) => {
                if departures.set_rate(at, 0, rate).is_ok() {
                    self.context.ledger.at_gap(departures.turn().unwrap_or(rate.gap()));
                }
            }
            Action::RateOf { stream, rate } => {
                if departures.set_rate(at, stream as usize, rate).is_ok()
                    && let Some(gap) = departures.late_gap()
                {
                    self.context.ledger.at_gap(gap);
                }
            }
            Action::Max => return None,
            Action::Pause => departures.pause(at),
            Action::Resume => departures.resume(at),
            Action::Look(number) => self.context.change_look(first, number),
        }
        // A thread that learned of it late has sent some as they were.
        let (next, stride) = self.setup.departures.place();
        Some(if next >= first.saturating_add(stride) { next } else { first })
    }

    /// A run of a certain length is over, whether all have left or not.
    fn is_past(&self, now: Instant) -> bool {
        self.setup.end != Instant::FAR && now >= self.setup.end + GRACE
    }

    /// Nothing is left to draw: a run of a certain length has all of it, the gap after its last departure
    /// included.
    fn is_over(&self, now: Instant) -> bool {
        let may_go_on = self.setup.may_turn && self.setup.departures.may_go_on();
        now >= self.setup.end || (self.setup.end == Instant::FAR && !may_go_on)
    }

    /// Gives everything that has not left an outcome, so that the totals add up.
    fn wind_up(mut self) -> SenderReport {
        let now = self.setup.timer.now();
        let why = self.context.why_missed();
        self.put_back();
        // After a halt, what was not due yet was never offered.
        let until = if self.context.control.halt() == Halt::No { Instant::FAR } else { now };
        let until = if self.setup.relative { until.min(now).saturating_sub(self.slip) } else { until };
        self.context.looks.let_go();
        let (first, _) = self.setup.departures.place();
        self.sends_no_more(first);
        let (left, by_stream) = self.setup.departures.skip_before(until);
        self.context.missed(why, left, &by_stream);
        self.context.ledger.counters.due = self.context.ledger.counters.offered + self.context.ledger.missed;
        self.context.flush();
        let report = self.context.report();
        self.context.ledger.tick(self.setup.timer.now());
        SenderReport { given_up: self.given_up, ..report }
    }
}

#[cfg(test)]
mod tests;
