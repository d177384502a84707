//! From the host to the wire: takes frames from IN, keeps them until they are due, and lets them leave OUT.
//!
//! ```text
//!   round:  frames whose time has come leave ─► is there time? take more from IN ─► the valve, marks, links
//!              └─ Release: `spun`, this thread waits for each due time; `launched`, the port does
//! ```

use super::marks::Marks;
use super::queue::Queue;
use super::quota::Quota;
use super::timetable::Timetable;
use super::valve::Valve;
use crate::control::JobControl;
use clock::{Clock, HostClock};
use measure::gap_meter::{GapMeter, Requested};
use port::{Counters, For, Port, PortError};
use schedule::Action;
use std::sync::Arc;
use units::{Bytes, Cause, Departure, EngineCounters, Event, Fate, Instant, Outcome, Picos, Rate, Record};

/// The frame, in bytes without FCS, whose gap stands for those of a pace of bits.
const LONG: f64 = 1_514.0;
/// Frames that wait here at the utmost; those that the valve keeps back wait before it.
pub const QUEUE: usize = 4_096;
/// Frames taken in one call where there is time for many.
pub const MOST_TAKEN: usize = 32;
/// Links are looked at so often.
const LOOK: Picos = Picos::from_millis(5);

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
    /// Held several.
    pub merged: u64,
    /// The longest that the queue was.
    pub most_waiting: usize,
    pub settings: u64,
    pub valve_failed: Option<String>,
    /// What IN's device had no room for, while the load went on.
    pub dropped: u64,
    /// What IN had counted by then.
    pub received: Counters,
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
            merged: 0,
            most_waiting: 0,
            settings: 0,
            valve_failed: None,
            dropped: 0,
            received: Counters::default(),
            gaps: GapMeter::new(Requested::Due),
        }
    }
}

/// How frames that are due leave.
pub trait Release {
    /// Frames whose time has come leave, and more are taken where there is time.
    ///
    /// # Errors
    /// A port failed.
    fn round(&mut self, passage: &mut Passage, now: Instant) -> Result<Round, PortError>;

    /// Waits a little where there was nothing to do.
    ///
    /// # Errors
    /// A port failed.
    fn rest(&mut self, passage: &mut Passage) -> Result<(), PortError>;

    /// Frames that were handed over and have not left yet.
    fn under_way(&self) -> usize;

    /// The time that is told of marks, at `now` of this host.
    fn told(&self, now: Instant) -> Instant;

    /// Whether a frame is due so soon that everything else has to wait.
    fn is_near(&self, passage: &mut Passage, now: Instant) -> bool;

    /// A pause has ended at `now` of this host: what waits is due from now on, at its pace.
    fn goes_on(&mut self, passage: &mut Passage, now: Instant);

    /// Tells the recorder what time it is, as often as is right.
    fn tick(&mut self, passage: &mut Passage, now: Instant);

    /// An interface went down or came up: what waits is of another time.
    fn forget(&mut self, passage: &mut Passage, now: Instant);

    /// What still waits was on its way when the run ended.
    fn end(&mut self, passage: &mut Passage);
}

/// What came of a round.
pub struct Round {
    /// The clock, as it was read last.
    pub now: Instant,
    /// There was nothing to do.
    pub rests: bool,
}

/// What the thread is made with.
pub struct PassageSetup {
    pub clock: HostClock,
    pub control: Arc<JobControl>,
    pub marks: Arc<Marks>,
    pub from: Box<dyn Port>,
    pub to: Box<dyn Port>,
    pub record: Box<dyn Record + Send>,
    pub timetable: Timetable,
    pub valve: Option<Valve>,
    pub until: Instant,
    /// How many frames IN's device has had no room for so far.
    pub dropped: Box<dyn Fn() -> u64 + Send>,
}

/// Both ends and what is between them.
pub struct Passage {
    pub clock: HostClock,
    control: Arc<JobControl>,
    marks: Arc<Marks>,
    pub from: Box<dyn Port>,
    pub to: Box<dyn Port>,
    pub record: Box<dyn Record + Send>,
    pub timetable: Timetable,
    valve: Option<Valve>,
    until: Instant,
    /// A frame that leaves more than this after it was due is late.
    pub tolerance: Picos,
    /// Taken, and not handed over yet.
    pub queue: Queue,
    quota: Quota,
    pub counters: EngineCounters,
    pub outcomes: Outcomes,
    /// Whether IN had nothing more when it was last asked.
    is_drained: bool,
    was_up: bool,
    looked: Instant,
    seen_changes: usize,
    pub is_paused: bool,
    dropped: Box<dyn Fn() -> u64 + Send>,
}

impl Passage {
    pub fn new(setup: PassageSetup) -> Self {
        let PassageSetup { clock, control, marks, from, to, record, timetable, valve, until, dropped } =
            setup;
        let longest = from.about().longest.max(1_514);
        Self {
            looked: clock.now(),
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
            is_drained: false,
            was_up: true,
            seen_changes: 0,
            is_paused: false,
            dropped,
        }
    }

    /// Takes frames from IN, as many as there is room for, at most `most`; the second is when they arrived.
    /// `arrived` is asked only if there are any: it may take time.
    pub fn take(
        &mut self,
        most: usize,
        arrived: impl FnOnce(&mut dyn Port) -> Result<Instant, PortError>,
    ) -> Result<Option<Taken>, PortError> {
        let most = most.min(self.queue.room());
        if most == 0 {
            self.is_drained = false;
            return Ok(None);
        }
        let (queue, quota) = (&mut self.queue, &mut self.quota);
        let (mut too_long, mut merged) = (0, 0);
        let taken = self.from.receive(most, &mut |frame| {
            quota.saw(frame.data.len());
            merged += u64::from(frame.card_work.split);
            let is_kept = frame.data.len() >= frame.length
                && queue.push(frame.data, frame.card_work.checksum, Instant::EPOCH);
            too_long += usize::from(!is_kept);
        });
        let taken = match taken {
            Ok(taken) => taken,
            Err(PortError::Down { .. }) => 0,
            Err(error) => return Err(error),
        };
        self.outcomes.merged += merged;
        self.is_drained = taken < most;
        if taken == 0 {
            return Ok(None);
        }
        let arrived = arrived(&mut *self.to)?;
        self.queue.date_from(taken - too_long, arrived);
        self.outcomes.taken += taken as u64;
        self.outcomes.too_long += too_long as u64;
        self.counters.offered += taken as u64;
        self.counters.due = self.counters.offered;
        Ok(Some(Taken { frames: taken, too_long, arrived }))
    }

    /// When the frame at the head of the queue is due.
    #[inline]
    pub fn next_due(&mut self) -> Option<Instant> {
        let arrived = self.queue.front()?.arrived;
        Some(self.timetable.due(arrived))
    }

    /// So many wait, here or in OUT.
    pub fn saw_waiting(&mut self, waiting: usize) {
        self.outcomes.most_waiting = self.outcomes.most_waiting.max(waiting);
    }

    /// A frame left; `seq` is its number.
    #[inline]
    pub fn has_left(&mut self, seq: u64, due: Instant, sent: Instant, bytes: usize) {
        self.outcomes.sent += 1;
        self.counters.late += u64::from(sent.since(due) > self.tolerance);
        self.outcomes.gaps.arrived_due(sent.since_epoch().as_nanos(), due.since_epoch().as_nanos());
        let event = Event::unsent(Departure { seq, due }, Outcome::Frame(Fate::Sent), sent);
        self.record.event(&Event { sent, bytes_out: Bytes::new(bytes as u64), ..event });
    }

    /// A frame goes nowhere.
    pub fn is_lost(&mut self, due: Instant, done: Instant, cause: Cause) {
        let departure = Departure { seq: self.counters.offered, due };
        self.record.event(&Event::unsent(departure, Outcome::Failed(cause), done));
    }

    /// The run is over before a frame could leave.
    pub fn is_cut_off(&mut self, due: Instant, done: Instant) {
        self.record.event(&Event::unsent(Departure { seq: 0, due }, Outcome::CutOff, done));
    }

    /// OUT is down: every frame that comes meanwhile is forgotten, and the link went down once.
    pub fn went_down(&mut self) {
        self.outcomes.resets += u64::from(std::mem::replace(&mut self.was_up, false));
    }

    /// The number of the oldest frame that waits here.
    pub fn first_waiting(&self) -> u64 {
        self.outcomes.taken - self.queue.len() as u64
    }

    /// Forgets what waits here; `done` tells from a due time when that was.
    pub fn forget_queue(&mut self, done: impl Fn(Instant) -> Instant) {
        while let Some(due) = self.next_due() {
            self.queue.pop();
            self.outcomes.forgotten += 1;
            self.is_lost(due, done(due), Cause::LinkDown);
        }
    }

    /// Frames from number `first` on were forgotten, and the timetable begins anew.
    pub fn begin_anew(&mut self, first: u64) {
        // One that was too long to be taken is among them.
        self.marks.forget(first, self.first_waiting());
        self.timetable.reset();
        self.outcomes.gaps.pause();
    }

    fn turn_valve(&mut self, waiting: usize, now: Instant) {
        let Some(valve) = &mut self.valve else { return };
        let Some(rate) = self.quota.look(waiting, self.timetable.pace(), now) else { return };
        match valve.set(rate) {
            Ok(()) => self.outcomes.settings += 1,
            Err(error) => {
                self.outcomes.valve_failed = Some(error.to_string());
                self.valve = None;
            }
        }
    }

    /// Changes by hand hold for what leaves, or is handed over, from then on.
    #[inline]
    fn steer(&mut self, now: Instant) {
        let Some(change) = self.control.change_after(self.seen_changes) else { return };
        if change.at > now {
            return;
        }
        self.seen_changes += 1;
        match change.action {
            Action::Rate(rate) => {
                self.timetable.change(with_rate(self.timetable.pace(), rate));
                self.tolerance = tolerance(self.timetable.pace());
            }
            Action::Pause => self.pause(true),
            Action::Resume => self.pause(false),
            // Refused where it was asked for.
            Action::RateOf { .. } | Action::Max | Action::Look(_) => {}
        }
    }

    fn pause(&mut self, is_paused: bool) {
        self.is_paused = is_paused;
        self.quota.shut(is_paused);
    }

    /// Sleeps in the kernel until a port has something, or for `patience`; a link that is down has nothing.
    pub fn wait(&mut self, what: For, patience: Picos) -> Result<(), PortError> {
        let port = if what == For::Receive { &mut self.from } else { &mut self.to };
        match port.wait(what, patience) {
            Err(PortError::Down { .. }) => std::thread::sleep(patience.as_std()),
            other => drop(other?),
        }
        Ok(())
    }
}

/// Frames taken in one call.
pub struct Taken {
    pub frames: usize,
    /// Of these, frames that OUT would not take: they are not kept.
    pub too_long: usize,
    pub arrived: Instant,
}

/// The thread: the same round, whatever lets frames leave.
pub struct Outward<R> {
    passage: Passage,
    release: R,
}

impl<R: Release> Outward<R> {
    pub fn new(passage: Passage, release: R) -> Self {
        Self { passage, release }
    }

    /// Goes on until it is told to stop; gives the ports back for their counters.
    pub fn run(mut self) -> (Outcomes, Box<dyn Port>, Box<dyn Port>) {
        while !self.passage.control.stops() {
            let now = self.passage.clock.now();
            if now >= self.passage.until {
                break;
            }
            if let Err(error) = self.round(now) {
                self.passage.control.fail(error.to_string());
            }
        }
        // Now, for the host may go on sending, and nobody takes it any more.
        self.passage.outcomes.dropped = (self.passage.dropped)();
        self.passage.outcomes.received = self.passage.from.counters().ok().cloned().unwrap_or_default();
        self.release.end(&mut self.passage);
        (self.passage.outcomes, self.passage.from, self.passage.to)
    }

    fn round(&mut self, now: Instant) -> Result<(), PortError> {
        let Round { now, rests } = self.release.round(&mut self.passage, now)?;
        self.look_after(now);
        if rests { self.release.rest(&mut self.passage) } else { Ok(()) }
    }

    /// What need not be done each round, or costs next to nothing.
    #[inline]
    fn look_after(&mut self, now: Instant) {
        let Self { passage, release } = self;
        let waiting = passage.queue.len() + release.under_way();
        let (taken, told) = (passage.outcomes.taken, release.told(now));
        let gone = taken.saturating_sub(waiting as u64);
        passage.marks.progress(taken, gone, passage.is_drained, told);
        if release.is_near(passage, now) {
            return;
        }
        release.tick(passage, now);
        let was_paused = passage.is_paused;
        passage.steer(now);
        if was_paused && !passage.is_paused {
            // What waits is not late, and does not leave all at once: the pause was asked for.
            passage.outcomes.gaps.pause();
            release.goes_on(passage, now);
        }
        passage.turn_valve(waiting, now);
        if now.since(passage.looked) >= LOOK {
            passage.looked = now;
            self.look_at_links(now);
        }
    }

    /// Interfaces that went down or came up.
    fn look_at_links(&mut self, now: Instant) {
        let Self { passage, release } = self;
        let is_up = passage.from.is_up() && passage.to.is_up();
        if is_up != passage.was_up {
            passage.was_up = is_up;
            passage.outcomes.resets += 1;
            release.forget(passage, now);
        }
    }
}

/// One gap, but not less than what an interrupted CPU costs: a frame later than this takes another's place.
fn tolerance(pace: &super::Pace) -> Picos {
    let least = Picos::from_micros(10);
    let per_second = pace.frames_per_second(LONG);
    if per_second > 0.0 && per_second.is_finite() {
        Picos::from_secs_f64(1.0 / per_second).max(least)
    } else {
        least
    }
}

/// The same kind of pace at another rate.
fn with_rate(pace: &super::Pace, rate: Rate) -> super::Pace {
    match pace {
        super::Pace::Bits { overhead, .. } => super::Pace::Bits { rate, overhead: *overhead },
        _ => super::Pace::Frames(rate),
    }
}
