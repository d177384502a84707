//! From the host to the wire: takes frames from IN, keeps them until they are due, and lets them leave OUT.
//!
//! ```text
//!   round:  frames whose time has come leave ─► is there time until the next? take more from IN ─► the valve, marks, links
//! ```
//!
//! One thread; it spins while frames wait, and sleeps in the kernel while none do.

use super::marks::Marks;
use super::queue::Queue;
use super::quota::Quota;
use super::timetable::Timetable;
use super::valve::Valve;
use crate::control::{Control, Course};
use clock::{Clock, HostClock};
use measure::gap_meter::{GapMeter, Requested};
use port::{For, Port, PortError};
use std::sync::Arc;
use units::{Bytes, Cause, EngineCounters, Event, Fate, Group, Instant, Outcome, Picos, Rate, Record};

/// The frame, in bytes without FCS, whose gap stands for those of a pace of bits.
const LONG: f64 = 1_514.0;
/// Frames that wait here at the utmost; those that the valve keeps back wait before it.
pub const QUEUE: usize = 4_096;
/// Frames taken in one call where there is time for many.
pub const MOST_TAKEN: usize = 32;
/// What taking one frame costs at the utmost: with less time than this until the next departure nothing is
/// taken.
const TAKING: Picos = Picos::from_micros(4);
/// Frames that leave in one call when several are due.
const MOST_LEAVING: usize = 32;
/// Links are looked at so often.
const LOOK: Picos = Picos::from_millis(5);
/// Recorders are told at least so often.
const TICK: Picos = Picos::from_millis(5);
/// Sleep while nothing waits.
const IDLE: Picos = Picos::from_millis(2);
/// Spinning goes on so long after the last frame: the next of a busy connection is near.
const BUSY: Picos = Picos::from_micros(300);

/// What the thread leaves behind.
#[derive(Clone, Debug)]
pub struct Outcomes {
    pub taken: u64,
    pub sent: u64,
    /// Frames that were waiting when a link went down or came up: forgotten.
    pub forgotten: u64,
    /// Times that this happened.
    pub resets: u64,
    /// Longer than OUT takes.
    pub too_long: u64,
    /// The longest that the queue was.
    pub most_waiting: usize,
    pub settings: u64,
    pub valve_failed: Option<String>,
    pub gaps: GapMeter,
}

impl Outcomes {
    pub fn none() -> Self {
        Self {
            taken: 0,
            sent: 0,
            forgotten: 0,
            resets: 0,
            too_long: 0,
            most_waiting: 0,
            settings: 0,
            valve_failed: None,
            gaps: GapMeter::new(Requested::Due),
        }
    }
}

/// The thread's state.
pub struct Outward {
    pub clock: HostClock,
    pub control: Arc<Control>,
    pub marks: Arc<Marks>,
    pub from: Box<dyn Port>,
    pub to: Box<dyn Port>,
    pub record: Box<dyn Record + Send>,
    pub timetable: Timetable,
    pub valve: Option<Valve>,
    pub until: Instant,
    /// A frame that leaves more than this after it was due is late.
    tolerance: Picos,
    queue: Queue,
    quota: Quota,
    counters: EngineCounters,
    outcomes: Outcomes,
    /// Numbers left out: between frames that they part there is no gap.
    parted: u64,
    /// Whether IN had nothing more when it was last asked.
    is_drained: bool,
    was_up: bool,
    looked: Instant,
    ticked: Instant,
    last: Instant,
    seen_turns: usize,
    is_paused: bool,
}

impl Outward {
    #[allow(clippy::too_many_arguments)]
    pub fn new(
        clock: HostClock,
        control: Arc<Control>,
        marks: Arc<Marks>,
        from: Box<dyn Port>,
        to: Box<dyn Port>,
        record: Box<dyn Record + Send>,
        timetable: Timetable,
        valve: Option<Valve>,
        until: Instant,
    ) -> Self {
        let longest = from.about().longest.max(1_514);
        let now = clock.now();
        Self {
            clock,
            control,
            marks,
            from,
            to,
            record,
            tolerance: tolerance(timetable.pace()),
            timetable,
            valve,
            until,
            queue: Queue::new(QUEUE, longest),
            quota: Quota::new(longest),
            counters: EngineCounters::default(),
            outcomes: Outcomes::none(),
            parted: 0,
            is_drained: false,
            was_up: true,
            looked: now,
            ticked: now,
            last: now,
            seen_turns: 0,
            is_paused: false,
        }
    }

    /// Goes on until it is told to stop; gives the ports back for their counters.
    pub fn run(mut self) -> (Outcomes, Box<dyn Port>, Box<dyn Port>) {
        while !self.control.stops() {
            let now = self.clock.now();
            if now >= self.until {
                break;
            }
            if let Err(error) = self.round(now) {
                self.control.fail(error.to_string());
            }
        }
        self.end();
        (self.outcomes, self.from, self.to)
    }

    fn round(&mut self, now: Instant) -> Result<(), PortError> {
        let now = self.let_leave(now)?;
        let next = self.queue.front().map(|front| self.timetable.due(front.arrived));
        match next {
            // What the host sends meanwhile waits here, so that a mark stands behind it.
            _ if self.is_paused => {
                if self.take(MOST_TAKEN, now)? == 0 {
                    self.idle()?;
                }
            }
            // With so little time only the spin is left; the next round is it.
            Some(due) if due.since(now) < TAKING.saturating_mul(2) => std::hint::spin_loop(),
            Some(due) => {
                let time = due.since(now).as_picos() / TAKING.as_picos() - 1;
                self.take(usize::try_from(time).unwrap_or(MOST_TAKEN).clamp(1, MOST_TAKEN), now)?;
            }
            None => {
                if self.take(MOST_TAKEN, now)? == 0 && now.since(self.last) > BUSY {
                    self.idle()?;
                }
            }
        }
        self.look_after(now)
    }

    /// Nothing waits: sleeps until the host sends something.
    fn idle(&mut self) -> Result<(), PortError> {
        if self.is_paused {
            std::thread::sleep(IDLE.as_std());
            return Ok(());
        }
        match self.from.wait(For::Receive, IDLE) {
            Err(PortError::Down { .. }) => {
                std::thread::sleep(IDLE.as_std());
                Ok(())
            }
            other => other.map(|_| ()),
        }
    }

    /// All frames leave whose time has come.
    #[inline]
    fn let_leave(&mut self, mut now: Instant) -> Result<Instant, PortError> {
        for _ in 0..MOST_LEAVING {
            if self.is_paused {
                break;
            }
            let Some(front) = self.queue.front() else { break };
            let due = self.timetable.due(front.arrived);
            if due.since(now) >= TAKING {
                break;
            }
            let (bytes, clock, mut sent) = (front.data.len(), self.clock, now);
            // Written first, so that nothing but the handing over comes after the spin.
            let left = self.to.transmit(1, &mut |slot| {
                slot.data[..bytes].copy_from_slice(front.data);
                slot.length = bytes;
                sent = clock.now();
                while sent < due {
                    std::hint::spin_loop();
                    sent = clock.now();
                }
            });
            now = self.clock.now();
            match left {
                Ok(0) => break,
                Ok(_) => self.has_left(due, sent, now, bytes),
                Err(PortError::TooLong { .. }) => {
                    self.outcomes.too_long += 1;
                    self.is_lost(due, now, Cause::FrameTooLong);
                }
                Err(PortError::Down { .. }) => {
                    // Every frame that comes meanwhile is forgotten, and the link went down once.
                    self.outcomes.resets += u64::from(std::mem::replace(&mut self.was_up, false));
                    self.forget(now);
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(now)
    }

    #[inline]
    fn has_left(&mut self, due: Instant, sent: Instant, now: Instant, bytes: usize) {
        self.timetable.left(due, sent, bytes);
        self.queue.pop();
        self.outcomes.sent += 1;
        self.last = now;
        let origin = Instant::EPOCH;
        self.counters.late += u64::from(sent.since(due) > self.tolerance);
        self.outcomes.gaps.arrived_due(sent.since(origin).as_nanos(), due.since(origin).as_nanos());
        let outcome = Outcome::Frame(Fate::Sent);
        self.record.event(&event(self.outcomes.sent - 1 + self.parted, due, sent, bytes, outcome));
    }

    /// The frame at the head goes nowhere.
    fn is_lost(&mut self, due: Instant, now: Instant, cause: Cause) {
        self.queue.pop();
        let outcome = Outcome::Failed(cause);
        self.record
            .event(&Event { done: now, ..event(self.counters.offered, due, Instant::FAR, 0, outcome) });
    }

    /// Takes frames from IN, as many as there is room and time for.
    fn take(&mut self, most: usize, now: Instant) -> Result<usize, PortError> {
        let most = most.min(self.queue.room());
        if most == 0 {
            self.is_drained = false;
            return Ok(0);
        }
        let (queue, quota) = (&mut self.queue, &mut self.quota);
        let mut too_long = 0u64;
        let taken = self.from.receive(most, &mut |frame| {
            quota.saw(frame.data.len());
            too_long += u64::from(frame.data.len() < frame.length || !queue.push(frame.data, now));
        });
        let taken = match taken {
            Ok(taken) => taken,
            Err(PortError::Down { .. }) => 0,
            Err(error) => return Err(error),
        };
        self.is_drained = taken < most;
        self.outcomes.taken += taken as u64;
        self.counters.offered += taken as u64;
        self.counters.due = self.counters.offered;
        for _ in 0..too_long {
            self.outcomes.too_long += 1;
            let outcome = Outcome::Failed(Cause::FrameTooLong);
            self.record
                .event(&Event { done: now, ..event(self.counters.offered, now, Instant::FAR, 0, outcome) });
        }
        self.outcomes.most_waiting = self.outcomes.most_waiting.max(self.queue.len());
        if taken > 0 {
            self.last = now;
        }
        Ok(taken)
    }

    /// What need not be done each round, or costs next to nothing.
    #[inline]
    fn look_after(&mut self, now: Instant) -> Result<(), PortError> {
        let gone = self.outcomes.taken - self.queue.len() as u64;
        self.marks.progress(self.outcomes.taken, gone, self.is_drained, now);
        let is_near = self.queue.front().is_some_and(|front| {
            let due = self.timetable.due(front.arrived);
            due.since(now) < Picos::from_micros(15) && due > now
        });
        if is_near {
            return Ok(());
        }
        if now.since(self.ticked) >= TICK {
            self.ticked = now;
            self.record.tick(now, &self.counters);
        }
        self.steer(now);
        self.turn_valve(now);
        if now.since(self.looked) >= LOOK {
            self.looked = now;
            self.look_at_links(now);
        }
        Ok(())
    }

    /// Interfaces that went down or came up: what waits is of another time.
    fn look_at_links(&mut self, now: Instant) {
        let is_up = self.from.is_up() && self.to.is_up();
        if is_up != self.was_up {
            self.was_up = is_up;
            self.outcomes.resets += 1;
            self.forget(now);
        }
    }

    /// Interface down or up: forgets what waits here and in IN, and begins anew.
    fn forget(&mut self, now: Instant) {
        let first = self.outcomes.taken - self.queue.len() as u64;
        // What IN still has was sent before, too. Bounded, should the host send without pause.
        for _ in 0..QUEUE / MOST_TAKEN {
            while let Some(front) = self.queue.front() {
                let due = self.timetable.due(front.arrived);
                self.outcomes.forgotten += 1;
                self.is_lost(due, now, Cause::LinkDown);
            }
            if !matches!(self.take(MOST_TAKEN, now), Ok(1..)) {
                break;
            }
        }
        // One that was too long to be taken is among them.
        self.marks.forget(first, self.outcomes.taken - self.queue.len() as u64);
        self.timetable.reset();
        self.outcomes.gaps.pause();
        self.parted += 1;
    }

    fn turn_valve(&mut self, now: Instant) {
        let Some(valve) = &mut self.valve else { return };
        let Some(rate) = self.quota.look(self.queue.len(), self.timetable.pace(), now) else { return };
        match valve.set(rate) {
            Ok(()) => self.outcomes.settings += 1,
            Err(error) => {
                self.outcomes.valve_failed = Some(error.to_string());
                self.valve = None;
            }
        }
    }

    /// Changes by hand.
    #[inline]
    fn steer(&mut self, now: Instant) {
        let Some(turn) = self.control.turn_after(self.seen_turns) else { return };
        if turn.at > now {
            return;
        }
        self.seen_turns += 1;
        match turn.to {
            Course::Rate(rate) => {
                self.timetable.change(with_rate(self.timetable.pace(), rate));
                self.tolerance = tolerance(self.timetable.pace());
            }
            Course::Pause => self.pause(true),
            Course::Resume => self.pause(false),
            // Refused where it was asked for.
            Course::Max | Course::Size(_) => {}
        }
    }

    fn pause(&mut self, is_paused: bool) {
        self.is_paused = is_paused;
        self.quota.shut(is_paused);
    }

    /// What still waits was on its way when the run ended.
    fn end(&mut self) {
        let now = self.clock.now();
        while let Some(front) = self.queue.front() {
            let due = self.timetable.due(front.arrived).min(now);
            let bytes = front.data.len();
            self.queue.pop();
            self.record.event(&Event { done: now, ..event(0, due, Instant::FAR, bytes, Outcome::CutOff) });
        }
        self.record.tick(now, &self.counters);
    }
}

/// One gap, but not less than what an interrupted CPU costs: a frame later than this takes another's place.
pub fn tolerance(pace: &super::Pace) -> Picos {
    let least = Picos::from_micros(10);
    let per_second = pace.frames_per_second(LONG);
    if per_second > 0.0 && per_second.is_finite() {
        Picos::from_secs_f64(1.0 / per_second).max(least)
    } else {
        least
    }
}

/// The same kind of pace at another rate.
pub fn with_rate(pace: &super::Pace, rate: Rate) -> super::Pace {
    match pace {
        super::Pace::Bits { overhead, .. } => super::Pace::Bits { rate, overhead: *overhead },
        _ => super::Pace::Frames(rate),
    }
}

pub fn event(seq: u64, due: Instant, sent: Instant, bytes: usize, outcome: Outcome) -> Event {
    Event {
        seq,
        due,
        sent,
        first_byte: Instant::FAR,
        done: sent,
        bytes_out: Bytes::new(bytes as u64),
        bytes_in: Bytes::ZERO,
        outcome,
        blocked: Picos::ZERO,
        unread: Picos::ZERO,
        unread_bound: Picos::ZERO,
        group: Group(0),
    }
}
