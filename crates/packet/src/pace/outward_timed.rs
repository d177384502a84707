//! From the host to a port that keeps its own time: frames are handed over as they come, each with the time at
//! which it may leave; the port keeps them until then, and tells when each has left.
//!
//! ```text
//!   round:  take from IN ─► due by the timetable ─► OUT, with its launch time ─► … ─► departed: recorded ─► the valve, marks, links
//! ```
//!
//! All times are the port's, those of arrival too: what the host sends has arrived at the port's time of then,
//! and a little, for it is still to be handed over. So gaps are exact as long as the host is in time, and the
//! port says when it was not.

use super::marks::Marks;
use super::outward::{MOST_TAKEN, Outcomes, QUEUE, event, tolerance, with_rate};
use super::queue::Queue;
use super::quota::Quota;
use super::timetable::Timetable;
use super::valve::Valve;
use crate::control::{Control, Course};
use crate::own_clock::OwnClock;
use clock::{Clock, HostClock};
use port::{Counters, Departed, For, Port, PortError};
use std::collections::VecDeque;
use std::sync::Arc;
use units::{Cause, EngineCounters, Fate, Instant, Outcome, Picos, Record};

/// A frame that comes while nothing waits leaves this much after it was taken: so long may handing over take.
const MARGIN: Picos = Picos::from_micros(50);
/// Reports of one call.
const REPORTS: usize = 64;
/// Links are looked at so often, by this host's clock.
const LOOK: Picos = Picos::from_millis(5);
/// Sleep while nothing moves.
const IDLE: Picos = Picos::from_micros(500);
/// What was handed over has so long to leave at the end.
const LAST: Picos = Picos::from_millis(500);

/// The thread's state.
pub struct OutwardTimed {
    /// Times nothing that is told: it says when to look and when to end.
    pub clock: HostClock,
    pub own: OwnClock,
    pub control: Arc<Control>,
    pub marks: Arc<Marks>,
    pub from: Box<dyn Port>,
    pub to: Box<dyn Port>,
    pub record: Box<dyn Record + Send>,
    pub timetable: Timetable,
    pub valve: Option<Valve>,
    pub until: Instant,
    work: Work,
}

/// What changes while it runs.
struct Work {
    tolerance: Picos,
    /// Taken, and not handed over yet.
    queue: Queue,
    /// Handed over, and not told of yet: when each is due, and how long it is.
    under_way: VecDeque<(Instant, usize)>,
    /// The number that the port has for the first of these.
    told: u64,
    quota: Quota,
    counters: EngineCounters,
    outcomes: Outcomes,
    is_drained: bool,
    was_up: bool,
    looked: Instant,
    /// The latest departure, by the port's time.
    last: Instant,
    seen_turns: usize,
    is_paused: bool,
}

impl OutwardTimed {
    #[allow(clippy::too_many_arguments)]
    pub fn new(
        clock: HostClock,
        own: OwnClock,
        control: Arc<Control>,
        marks: Arc<Marks>,
        from: Box<dyn Port>,
        mut to: Box<dyn Port>,
        record: Box<dyn Record + Send>,
        timetable: Timetable,
        valve: Option<Valve>,
        until: Instant,
    ) -> Self {
        let longest = from.about().longest.max(1_514);
        let work = Work {
            tolerance: tolerance(timetable.pace()),
            queue: Queue::new(QUEUE, longest),
            under_way: VecDeque::new(),
            told: to.counters().map_or(0, Counters::taken),
            quota: Quota::new(longest),
            counters: EngineCounters::default(),
            outcomes: Outcomes::none(),
            is_drained: false,
            was_up: true,
            looked: clock.now(),
            last: own.begin(),
            seen_turns: 0,
            is_paused: false,
        };
        Self { clock, own, control, marks, from, to, record, timetable, valve, until, work }
    }

    /// Goes on until it is told to stop; gives the ports back for their counters.
    pub fn run(mut self) -> (Outcomes, Box<dyn Port>, Box<dyn Port>) {
        self.record.tick(self.work.last, &self.work.counters);
        while !self.control.stops() && self.clock.now() < self.until {
            if let Err(error) = self.round() {
                self.control.fail(error.to_string());
            }
        }
        self.end();
        (self.work.outcomes, self.from, self.to)
    }

    fn round(&mut self) -> Result<(), PortError> {
        let moved = self.take()? + self.hand_over()? + self.collect()?;
        self.look_after();
        if moved > 0 {
            return Ok(());
        }
        let result = match self.work.queue.is_empty() {
            true => self.from.wait(For::Receive, IDLE),
            false => self.to.wait(For::Transmit, IDLE),
        };
        match result {
            Err(PortError::Down { .. }) => std::thread::sleep(IDLE.as_std()),
            other => drop(other?),
        }
        Ok(())
    }

    /// Takes frames from IN, as many as there is room for.
    fn take(&mut self) -> Result<usize, PortError> {
        let most = MOST_TAKEN.min(self.work.queue.room());
        if most == 0 {
            self.work.is_drained = false;
            return Ok(0);
        }
        let Work { queue, quota, .. } = &mut self.work;
        let mut too_long = 0u64;
        // The time of arrival is written when it is known that something arrived: asking the port for it takes
        // time.
        let taken = self.from.receive(most, &mut |frame| {
            quota.saw(frame.data.len());
            let is_kept = frame.data.len() >= frame.length && queue.push(frame.data, Instant::EPOCH);
            too_long += u64::from(!is_kept);
        });
        let taken = match taken {
            Ok(taken) => taken,
            Err(PortError::Down { .. }) => 0,
            Err(error) => return Err(error),
        };
        self.work.is_drained = taken < most;
        if taken == 0 {
            return Ok(0);
        }
        let arrived = self.own.now(&mut *self.to)? + MARGIN;
        self.work.queue.date_from(taken - too_long as usize, arrived);
        self.work.outcomes.taken += taken as u64;
        self.work.counters.offered += taken as u64;
        self.work.counters.due = self.work.counters.offered;
        for _ in 0..too_long {
            self.work.outcomes.too_long += 1;
            self.is_lost(arrived, Cause::FrameTooLong);
        }
        let waiting = self.work.queue.len() + self.work.under_way.len();
        self.work.outcomes.most_waiting = self.work.outcomes.most_waiting.max(waiting);
        Ok(taken)
    }

    /// Hands over what the port has room for.
    fn hand_over(&mut self) -> Result<usize, PortError> {
        let mut handed = 0;
        while !self.work.is_paused && handed < MOST_TAKEN {
            let Some(front) = self.work.queue.front() else { break };
            let due = self.timetable.due(front.arrived);
            let (bytes, launch) = (front.data.len(), self.own.stamp(due));
            let left = self.to.transmit(1, &mut |slot| {
                slot.data[..bytes].copy_from_slice(front.data);
                (slot.length, slot.launch) = (bytes, launch);
            });
            match left {
                Ok(0) => break,
                Ok(_) => {
                    self.timetable.left(due, due, bytes);
                    self.work.under_way.push_back((due, bytes));
                }
                Err(PortError::TooLong { .. }) => {
                    self.work.outcomes.too_long += 1;
                    self.is_lost(due, Cause::FrameTooLong);
                }
                Err(PortError::Down { .. }) => {
                    self.work.outcomes.resets += u64::from(std::mem::replace(&mut self.work.was_up, false));
                    self.forget();
                    break;
                }
                Err(error) => return Err(error),
            }
            self.work.queue.pop();
            handed += 1;
        }
        Ok(handed)
    }

    /// Records what has left.
    fn collect(&mut self) -> Result<usize, PortError> {
        let mut reports = [Departed::default(); REPORTS];
        let mut count = 0;
        self.to.departed(REPORTS, &mut |report| {
            reports[count] = *report;
            count += 1;
        })?;
        for report in &reports[..count] {
            // Those before it left, too: in order. When, nobody told, so there is no gap to them.
            while self.work.told < report.number && self.work.under_way.len() > 1 {
                self.work.told += 1;
                if let Some((_, bytes)) = self.work.under_way.pop_front() {
                    self.work.outcomes.sent += 1;
                    self.work.outcomes.gaps.pause();
                    self.record.frames(Fate::Sent, 1, units::Bytes::new(bytes as u64));
                }
            }
            self.has_left(report);
        }
        Ok(count)
    }

    fn has_left(&mut self, report: &Departed) {
        let work = &mut self.work;
        let Some((due, bytes)) = work.under_way.pop_front() else { return };
        work.told += 1;
        let sent = self.own.instant(report.start) + report.rest;
        work.last = work.last.max(sent);
        if report.into_nothing {
            work.outcomes.gaps.pause();
            work.outcomes.forgotten += 1;
            return self.is_lost(due, Cause::LinkDown);
        }
        work.counters.late += u64::from(sent.since(due) > work.tolerance);
        work.outcomes.gaps.arrived_due(sent.since_epoch().as_nanos(), due.since_epoch().as_nanos());
        let number = work.outcomes.sent;
        work.outcomes.sent += 1;
        self.record.event(&event(number, due, sent, bytes, Outcome::Frame(Fate::Sent)));
    }

    /// A frame goes nowhere.
    fn is_lost(&mut self, due: Instant, cause: Cause) {
        let done = due.max(self.work.last);
        let event = event(self.work.counters.offered, due, Instant::FAR, 0, Outcome::Failed(cause));
        self.record.event(&units::Event { done, ..event });
    }

    fn look_after(&mut self) {
        let now = self.clock.now();
        let waiting = (self.work.queue.len() + self.work.under_way.len()) as u64;
        let gone = self.work.outcomes.taken.saturating_sub(waiting);
        self.marks.progress(self.work.outcomes.taken, gone, self.work.is_drained, self.work.last);
        self.record.tick(self.work.last, &self.work.counters);
        self.steer(now);
        self.turn_valve(now);
        if now.since(self.work.looked) >= LOOK {
            self.work.looked = now;
            let is_up = self.from.is_up() && self.to.is_up();
            if is_up != self.work.was_up {
                self.work.was_up = is_up;
                self.work.outcomes.resets += 1;
                self.forget();
            }
        }
    }

    /// An interface went down or came up: what waits here is of another time.
    fn forget(&mut self) {
        let waiting = self.work.queue.len() as u64;
        let first = self.work.outcomes.taken - waiting;
        while let Some(front) = self.work.queue.front() {
            let due = self.timetable.due(front.arrived);
            self.work.queue.pop();
            self.work.outcomes.forgotten += 1;
            self.is_lost(due, Cause::LinkDown);
        }
        self.marks.forget(first, self.work.outcomes.taken);
        self.timetable.reset();
        self.work.outcomes.gaps.pause();
    }

    fn turn_valve(&mut self, now: Instant) {
        let Some(valve) = &mut self.valve else { return };
        let waiting = self.work.queue.len() + self.work.under_way.len();
        let Some(rate) = self.work.quota.look(waiting, self.timetable.pace(), now) else { return };
        match valve.set(rate) {
            Ok(()) => self.work.outcomes.settings += 1,
            Err(error) => {
                self.work.outcomes.valve_failed = Some(error.to_string());
                self.valve = None;
            }
        }
    }

    /// Changes by hand hold for what is handed over from then on.
    fn steer(&mut self, now: Instant) {
        let Some(turn) = self.control.turn_after(self.work.seen_turns) else { return };
        if turn.at > now {
            return;
        }
        self.work.seen_turns += 1;
        match turn.to {
            Course::Rate(rate) => {
                self.timetable.change(with_rate(self.timetable.pace(), rate));
                self.work.tolerance = tolerance(self.timetable.pace());
            }
            Course::Pause | Course::Resume => {
                self.work.is_paused = turn.to == Course::Pause;
                self.work.quota.shut(self.work.is_paused);
            }
            // Refused where it was asked for.
            Course::Max | Course::Size(_) => {}
        }
    }

    /// What still waits was on its way when the run ended.
    fn end(&mut self) {
        let _ = self.to.flush(LAST);
        while self.collect().is_ok_and(|told| told > 0) {}
        let last = self.work.last;
        let queued = std::iter::from_fn(|| {
            let front = self.work.queue.front()?;
            let (arrived, bytes) = (front.arrived, front.data.len());
            self.work.queue.pop();
            Some((arrived.min(last), bytes))
        });
        let queued: Vec<(Instant, usize)> = queued.collect();
        for (due, bytes) in self.work.under_way.drain(..).chain(queued) {
            let due = due.min(last);
            let cut_off = event(0, due, Instant::FAR, bytes, Outcome::CutOff);
            self.record.event(&units::Event { done: last, ..cut_off });
        }
        self.record.tick(last, &self.work.counters);
    }
}
