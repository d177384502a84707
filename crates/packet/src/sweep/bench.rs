//! Trials over real ports: `send`'s own threads send, others receive and count, and what is on its way is
//! waited for. In each direction there is one of both.
//!
//! ```text
//!   origin ──────── length ────────► end ── drain ──►
//!   frames leave as they are due        │ all there? over at once; otherwise wait
//!   ◄─────────────── arrivals are counted ──────────►
//! ```

use super::carry::{Carried, Course, LOOK, Look, OVERDUE, Sender, Step, Way};
use super::departed::{Departed, Left};
use super::pauses::Pause;
use super::recovery::{Recovered, RecoveryOrder};
use super::reset::{Ask, Outcome, ResetOrder, Watched};
use super::trial::{Side, Trial, TrialOrder, Void};
use crate::own_clock::OwnClock;
use crate::send::flood::{self, Flood, Numbers};
use crate::send::ledger::Ledger;
use crate::send::outlet::Looks;
use crate::send::pacer::{self, Pacer};
use crate::send::sender::{SenderContext, SenderReport};
use crate::send::timed::{self, Timed, When};
use crate::send::{Departures, Ends, Pattern};
use crate::{JobControl, PacketError};
use clock::priority::Grant;
use clock::{Clock, HostClock};
use hdrhistogram::Histogram;
use plan::Spin;
use schedule::Share;
use std::sync::Arc;
use units::{Instant, Picos};
use wire::Template;

/// From the making of threads to the first departure.
const START: Picos = Picos::from_millis(10);
/// A sender that was late by more than this part of a stream that was ended early did not keep up.
const HELD_UP: u64 = 10;
/// Frames that one trial may have: a bit is kept for each.
pub const MOST_FRAMES: u64 = 1 << 32;

/// The ports, open for all trials.
pub struct Bench {
    pub clock: HostClock,
    pub control: Arc<JobControl>,
    /// One, or one for each direction.
    pub ways: Vec<Way>,
    /// So long is waited for frames on their way: longer once it was seen to be too short.
    pub drain: Picos,
    /// Of a trial without a loss, how long its slowest frame was under way, and the trial: the worst of all.
    pub queued: Option<(Picos, Picos)>,
    pub cpus: Vec<u32>,
    pub spin: Spin,
    pub priority: Grant,
    /// When the first trial began, in nanoseconds since 1970.
    pub sweep_unix_ns: u64,
    /// The time of a sending port that keeps its own.
    pub own: Option<OwnClock>,
    /// What signatures count from.
    pub base: u64,
}

/// A trial, or one direction of it, and what else it tells.
#[derive(Clone, Copy, Debug)]
pub struct MadeWay {
    pub trial: Trial,
    /// Frames that came once more.
    pub duplicated: u64,
    /// Frames that came with a wrong checksum or signature: they count as lost.
    pub damaged: u64,
    /// How long the frame in the middle took.
    pub tagged_ns: Option<u64>,
}

/// A trial and its directions.
#[derive(Clone, Debug)]
pub struct Made {
    /// All directions together.
    pub trial: Trial,
    pub ways: Vec<MadeWay>,
    /// Frames of an earlier trial that came in this one.
    pub stragglers: u64,
}

impl Made {
    fn of(ways: Vec<MadeWay>, stragglers: u64) -> Self {
        let trials: Vec<Trial> = ways.iter().map(|way| way.trial).collect();
        Self { trial: Trial::together(&trials), ways, stragglers }
    }
}

/// A reset and the stream that it interrupted.
pub struct ResetMade {
    pub made: Made,
    pub outcome: Outcome,
    /// The longest interruption of each direction.
    pub pauses: Vec<Option<Pause>>,
    /// Frames that could not leave, as the link was down.
    pub unsent: u64,
    pub asked: Option<Instant>,
    pub begun: Instant,
}

/// A frame that is under way for this part of a trial may have waited in a queue that a longer one fills.
const QUEUED: u64 = 4;

impl Bench {
    /// Frames at an even rate for a time. `watch` is called every few milliseconds with the frames that have
    /// left, and when.
    ///
    /// # Errors
    /// A port failed, or the trial would be too large.
    pub fn trial(
        &mut self,
        order: TrialOrder,
        looks: &[Arc<Template>],
        watch: &mut dyn FnMut(u64, Instant),
    ) -> Result<(Made, Vec<Histogram<u64>>), PacketError> {
        let offered = bounded(order.load.frames_in(order.length))?;
        let origin = self.origin(START, OwnClock::lead)?;
        let ends = Ends { after: Some(order.length), frames: None };
        let departures = Departures::new(Pattern::Even(order.load.rate()), ends, origin, Share::WHOLE);
        let stream = Stream { departures, origin, end: origin + order.length, order };
        let course = Course { offered, origin, step: &mut |_| Step::On, pauses: false };
        let carried = self.paced(&stream, looks, self.control.clone(), course, watch)?;
        let stragglers = carried.iter().map(|way| way.arrivals.stragglers).sum();
        let whole = carried.iter().filter(|way| way.arrivals.unique >= way.left.sent);
        let slowest =
            whole.map(|way| Picos::from_nanos(way.arrivals.longest_ns)).max().unwrap_or(Picos::ZERO);
        let is_worst = self.queued.is_none_or(|(known, _)| slowest > known);
        if self.own.is_none() && is_worst && slowest.saturating_mul(QUEUED) > order.length {
            self.queued = Some((slowest, order.length));
        }
        let ways = carried.iter().map(|way| way.made(order, offered, origin)).collect();
        let times = carried.into_iter().map(|way| way.arrivals.one_way()).collect();
        Ok((Made::of(ways, stragglers), times))
    }

    /// RFC 2544 §26.5: an overload, then half of it; and how long after that the last frame was lost.
    ///
    /// # Errors
    /// A port failed, or the trial would be too large.
    pub fn recovery(
        &mut self,
        order: &RecoveryOrder,
        looks: &[Arc<Template>],
        watch: &mut dyn FnMut(u64, Instant),
    ) -> Result<(Made, Recovered), PacketError> {
        let origin = self.origin(START, OwnClock::lead)?;
        let relief = origin + order.length;
        let ends = Ends { after: Some(order.length.saturating_mul(2)), frames: None };
        let mut departures = Departures::new(Pattern::Even(order.over.rate()), ends, origin, Share::WHOLE);
        departures.set_rate(relief, order.under.rate()).expect("even gaps have a rate");
        let (offered, first) = (bounded(departures.total())?, departures.first_from(relief));
        let overload = TrialOrder { load: order.over, length: order.length };
        let end = origin + order.length.saturating_mul(2);
        let stream = Stream { departures: departures.clone(), origin, end, order: overload };
        let course = Course { offered, origin, step: &mut |_| Step::On, pauses: false };
        let carried = self.paced(&stream, looks, self.control.clone(), course, watch)?;
        let stragglers = carried.iter().map(|way| way.arrivals.stragglers).sum();
        let mut recovered = Recovered { resolution: order.under.rate().gap(), ..Recovered::default() };
        let mut ways = Vec::new();
        for way in &carried {
            let mut made = way.made(overload, offered, origin);
            // One that never left would pass for one that was lost, and the last one decides.
            let (sent, all) = (made.trial.sent, made.trial.offered);
            made.trial.spoilt = (sent < all).then_some(Void::NotSent { sent, offered: all });
            let (during, _) = way.arrivals.lost(0, first);
            let (after, last) = way.arrivals.lost(first, offered);
            let at = last.and_then(|last| departures.due_of(last));
            recovered.add(during, after, at.map(|at| at.since(relief)), order.length);
            recovered.late = recovered.late.max(made.trial.latest);
            ways.push(made);
        }
        Ok((Made::of(ways, stragglers), recovered))
    }

    /// RFC 2544 §26.6: an even stream, which a reset interrupts. `ask` is called once when the device is to be
    /// reset, and then every few milliseconds.
    ///
    /// # Errors
    /// A port failed, or the stream would be too large.
    pub fn reset(
        &mut self,
        order: &ResetOrder,
        looks: &[Arc<Template>],
        ask: &mut dyn Ask,
        watch: &mut dyn FnMut(u64, Instant),
    ) -> Result<ResetMade, PacketError> {
        let most = order.longest();
        bounded(order.load.frames_in(most))?;
        let origin = self.origin(START, OwnClock::lead)?;
        let ends = Ends { after: Some(most), frames: None };
        let departures = Departures::new(Pattern::Even(order.load.rate()), ends, origin, Share::WHOLE);
        let whole = TrialOrder { load: order.load, length: most };
        let stream = Stream { departures: departures.clone(), origin, end: origin + most, order: whole };
        let mut watched = Watched::new(order, origin);
        // Ended before its time, the stream alone ends.
        let crew = Arc::new(JobControl::default());
        let offered = departures.total();
        let mut step = |look: &Look| watched.step(look, ask);
        let course = Course { offered, origin, step: &mut step, pauses: true };
        let carried = self.paced(&stream, looks, crew, course, watch)?;
        let ended = watched.ended.unwrap_or(origin + most);
        let length = ended.since(origin);
        let whole = TrialOrder { length, ..whole };
        let stragglers = carried.iter().map(|way| way.arrivals.stragglers).sum();
        let unsent = carried.iter().map(|way| way.failed).sum();
        let due = departures.passed(ended);
        let made = |way: &Carried| {
            // What the device's link did not take is the device's. A sender that was held up for a moment when
            // the stream ended had frames left that were due.
            let gone = way.left.sent.saturating_sub(way.dropped);
            let missing = due.saturating_sub(gone + way.failed);
            let held_up = way.left.latest.min(Picos::from_picos(length.as_picos() / HELD_UP)) + LOOK;
            let offered = if missing <= order.load.frames_in(held_up) + 1 { gone } else { due };
            let mut made = way.made(whole, offered, origin);
            // What the device kept during the reset came, or had all the time since to come.
            let slowest = Picos::from_nanos(way.arrivals.longest_ns);
            made.trial.undrained =
                way.undrained.filter(|waited| *waited + order.after < slowest.saturating_mul(OVERDUE));
            made
        };
        let pauses = carried
            .iter()
            .map(|way| way.arrivals.pauses.as_ref().and_then(|pauses| pauses.longest))
            .collect();
        let made = Made::of(carried.iter().map(made).collect(), stragglers);
        Ok(ResetMade {
            made,
            outcome: watched.outcome(),
            pauses,
            unsent,
            asked: watched.asked,
            begun: origin,
        })
    }

    /// So many frames back to back, as fast as the port takes them.
    ///
    /// # Errors
    /// A port failed.
    pub fn burst(
        &mut self,
        frames: u64,
        looks: &[Arc<Template>],
        watch: &mut dyn FnMut(u64, Instant),
    ) -> Result<Burst, PacketError> {
        // A port that keeps its own time lets them go as soon as it has them.
        let origin = self.origin(START, |_| Picos::ZERO)?;
        let sender = |(way, look): (&Way, &Arc<Template>)| {
            let departed = Departed::default();
            let context = context(way, look, &departed, (self.control.clone(), self.base));
            let (timer, numbers) = (self.clock, look.numbers());
            let run: Box<dyn FnOnce() -> SenderReport + Send> = match self.own {
                Some(clock) => {
                    let setup = timed::TimedSetup { clock, when: When::AtOnce { frames, end: None }, origin };
                    Box::new(move || Timed::new(context, setup).run())
                }
                None => {
                    let numbers = Arc::new(Numbers::new(Some(frames)));
                    let setup = flood::FloodSetup { timer, numbers, origin, end: Instant::FAR };
                    Box::new(move || Flood::new(context, setup).run())
                }
            };
            Sender { run, departed, numbers }
        };
        let senders = self.ways.iter().zip(looks).map(sender).collect();
        let course = Course { offered: frames, origin, step: &mut |_| Step::On, pauses: false };
        let carried = self.carry_out(senders, self.control.clone(), course, watch)?;
        let burst = |way: &Carried| Burst {
            offered: frames,
            sent: way.left.sent.saturating_sub(way.dropped),
            received: way.arrivals.unique,
            missed: way.missed,
            took: way.left.last.map_or(Picos::ZERO, |last| last.since(origin)),
            undrained: way.undrained,
        };
        Ok(Burst::together(&carried.iter().map(burst).collect::<Vec<_>>()))
    }

    /// When the next trial begins: by the clock of this host, or of the port.
    fn origin(&mut self, ahead: Picos, own_ahead: fn(&OwnClock) -> Picos) -> Result<Instant, PacketError> {
        Ok(match &self.own {
            Some(own) => own.now(&mut self.ways[0].send)? + own_ahead(own),
            None => self.clock.now() + ahead,
        })
    }

    /// Sends a stream in each direction, and receives it.
    fn paced(
        &mut self,
        stream: &Stream,
        looks: &[Arc<Template>],
        crew: Arc<JobControl>,
        course: Course<'_>,
        watch: &mut dyn FnMut(u64, Instant),
    ) -> Result<Vec<Carried>, PacketError> {
        let sender = |(way, look): (&Way, &Arc<Template>)| {
            let departed = Departed::default();
            departed.watch(stream.origin, stream.order.length, stream.order.load.rate().gap());
            let context = context(way, look, &departed, (crew.clone(), self.base));
            let (timer, spin, departures) = (self.clock, self.spin, stream.departures.clone());
            let (origin, end) = (stream.origin, stream.end);
            let run: Box<dyn FnOnce() -> SenderReport + Send> = match self.own {
                Some(clock) => {
                    let setup = timed::TimedSetup { clock, when: When::Due(departures), origin };
                    Box::new(move || Timed::new(context, setup).run())
                }
                None => {
                    let (relative, may_turn, departures) = (false, false, departures.into());
                    let setup = pacer::PacerSetup { timer, departures, end, spin, relative, may_turn };
                    Box::new(move || Pacer::new(context, setup).run())
                }
            };
            Sender { run, departed, numbers: look.numbers() }
        };
        let senders = self.ways.iter().zip(looks).map(sender).collect();
        self.carry_out(senders, crew, course, watch)
    }

    /// A frame from each receiving port, so that switches on the way learn where it is. Ports that only receive
    /// send none.
    pub fn teach(&mut self) {
        self.ways.iter_mut().for_each(|way| {
            way.teach();
        });
    }
}

/// Frames that leave at their times.
struct Stream {
    departures: Departures,
    origin: Instant,
    end: Instant,
    /// By which load and length it is judged whether the generator kept up.
    order: TrialOrder,
}

impl Carried {
    fn made(&self, order: TrialOrder, offered: u64, origin: Instant) -> MadeWay {
        let left: &Left = &self.left;
        let trial = Trial {
            load: order.load,
            length: order.length,
            offered,
            sent: left.sent.saturating_sub(self.dropped),
            took: left.took(origin).min(order.length.saturating_mul(10)),
            received: self.arrivals.unique,
            missed: self.missed,
            latest: left.latest,
            kept_up: left.kept_up(offered),
            undrained: self.undrained,
            ways: 1,
            spoilt: None,
        };
        let (duplicated, damaged) = (self.arrivals.duplicated, self.arrivals.damaged);
        MadeWay { trial, duplicated, damaged, tagged_ns: self.arrivals.tagged_ns() }
    }
}

/// What the thread that sends is made with, whichever it is.
fn context(
    way: &Way,
    look: &Arc<Template>,
    departed: &Departed,
    (control, base): (Arc<JobControl>, u64),
) -> SenderContext {
    let ledger = Ledger::new(Box::new(departed.clone()));
    let looks = Looks::new(look.clone()).counted_from(base);
    SenderContext::unwatched(Box::new(way.send.again()), looks, control, ledger)
}

fn bounded(offered: u64) -> Result<u64, PacketError> {
    match offered > MOST_FRAMES {
        true => Err(PacketError::Wrong(format!(
            "a trial of {offered} frames is too long; lower --trial-time, or the time of this test"
        ))),
        false => Ok(offered),
    }
}

/// A burst and what became of it, in all directions together.
#[derive(Clone, Copy, Debug)]
pub struct Burst {
    pub offered: u64,
    pub sent: u64,
    pub received: u64,
    pub missed: u64,
    pub took: Picos,
    pub undrained: Option<Picos>,
}

impl Burst {
    fn together(ways: &[Self]) -> Self {
        let sum = |of: fn(&Self) -> u64| ways.iter().map(of).sum();
        let lossy = || ways.iter().filter(|way| way.received < way.sent);
        Self {
            offered: sum(|way| way.offered),
            sent: sum(|way| way.sent),
            received: sum(|way| way.received),
            missed: lossy().map(|way| way.missed).sum(),
            took: ways.iter().map(|way| way.took).max().unwrap_or(Picos::ZERO),
            undrained: lossy().filter_map(|way| way.undrained).max(),
        }
    }

    /// Which end of this machine fell short, so that the burst says nothing of the target.
    pub const fn void(&self) -> Option<Side> {
        if self.sent < self.offered {
            Some(Side::Generator)
        } else if self.received < self.sent && (self.missed > 0 || self.undrained.is_some()) {
            Some(Side::Receiver)
        } else {
            None
        }
    }
}
