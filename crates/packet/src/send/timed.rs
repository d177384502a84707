//! One thread that sends through a port that keeps its own time: each frame is handed over long before it is
//! due, with the time at which it shall leave, and its outcome is what the port tells of it afterwards.
//!
//! ```text
//!   departures ─► launch time by the port's clock ─► port (its queue) ─► wire
//!                                                       └─► departed: number, when ─► ledger
//! ```
//!
//! This host's clock times nothing here: due times, departures and intervals are all by the port's. The host
//! has only to be ahead, and the port says when it was not (a frame that came too late left late).

use super::departures::Departures;
use super::ledger::cause_of;
use super::sender::{SenderContext, SenderReport};
use super::words;
use crate::on_the_wire;
use crate::own_clock::OwnClock;
use clock::Stopwatch;
use port::{Counters, Departed, DropPlace, For, PortError, Stamp};
use schedule::{Halt, Schedule};
use std::collections::VecDeque;
use units::{Cause, Departure, Instant, Miss, Picos};
use wire::Times;

/// Most frames, or reports, of one call.
const MOST: usize = 64;
/// A full port is asked again after this, and what has left is asked for.
const FULL: Picos = Picos::from_millis(1);
/// A port from which nothing leaves for so long (by this host's clock) although it is full is dead.
const STALL: std::time::Duration = std::time::Duration::from_secs(60);
/// A flush is waited for so long at once.
const FLUSH: Picos = Picos::from_millis(100);
/// After Ctrl-C, what was handed over and is not due soon stays behind.
const LAST: Picos = Picos::from_millis(200);

/// When frames are due.
pub enum When {
    /// At these times.
    Due(Departures),
    /// As fast as the port goes: so many, or for so long.
    AtOnce { frames: u64, end: Option<Picos> },
}

/// What the thread is made with besides.
pub struct TimedSetup {
    pub clock: OwnClock,
    pub when: When,
    /// By the port's clock, and far enough ahead.
    pub origin: Instant,
}

/// See the module.
pub struct Timed {
    context: SenderContext,
    setup: TimedSetup,
    /// Handed over and not told of yet, in order; with their lengths.
    under_way: VecDeque<(Departure, u32)>,
    /// The number that the port has for the first of `under_way`.
    told: u64,
    /// Drawn, and not taken.
    waiting: VecDeque<Departure>,
    /// Numbers that are left, where nothing has a due time.
    next: u64,
    /// When the last one left; where nothing has a due time, when it was off the wire.
    last: Instant,
    /// Since when nothing moves, and the port's time then.
    still_since: Option<(Stopwatch, Stamp)>,
    /// Frames that left, without a word of when.
    untold: u64,
    /// What the port had lost of what it took before this run, and what of it has an outcome.
    lost: u64,
}

impl Timed {
    pub fn new(mut context: SenderContext, setup: TimedSetup) -> Self {
        // A port that keeps times is never late by less than one of its steps.
        if setup.clock.is_exact() {
            context.ledger.late_beyond(setup.clock.tick());
        }
        Self {
            last: setup.origin,
            context,
            setup,
            under_way: VecDeque::new(),
            told: 0,
            waiting: VecDeque::new(),
            next: 0,
            still_since: None,
            untold: 0,
            lost: 0,
        }
    }

    /// Runs to the end; every departure has an outcome then.
    pub fn run(mut self) -> SenderReport {
        self.context.ledger.tick(self.setup.origin);
        // What left through this port before has numbers, too.
        self.told = self.context.port.counters().map_or(0, Counters::taken);
        self.lost = self.context.port.counters().map_or(0, lost);
        while !self.context.control.stops() {
            let moved = self.hand_over().and_then(|taken| Ok(taken + self.collect()?));
            match moved {
                Ok(0) if self.is_over() => break,
                Ok(0) => self.rest(),
                Ok(_) => self.still_since = None,
                Err(error) => self.context.control.fail(error.to_string()),
            }
            self.keep_house();
        }
        self.wind_up()
    }

    fn draw(&mut self) {
        while self.waiting.len() < MOST {
            let next = match &mut self.setup.when {
                When::Due(departures) => departures.next(),
                When::AtOnce { frames, end } => {
                    let is_past = end.is_some_and(|end| self.last >= self.setup.origin + end);
                    let departure = Departure { seq: self.next, due: self.last };
                    (self.next < *frames && !is_past).then(|| {
                        self.next += 1;
                        departure
                    })
                }
            };
            let Some(departure) = next else { break };
            self.waiting.push_back(departure);
        }
    }

    /// Gives the port what it takes.
    fn hand_over(&mut self) -> Result<usize, PortError> {
        self.draw();
        if self.waiting.is_empty() {
            return Ok(0);
        }
        let (looks, clock) = (&self.context.looks, &self.setup.clock);
        let has_due = matches!(self.setup.when, When::Due(_));
        let mut waiting = self.waiting.iter();
        let mut lengths = [0u32; MOST];
        let mut written = 0;
        let taken = self.context.port.transmit(self.waiting.len(), &mut |slot| {
            // The port lends no more rooms than it was asked for.
            let Some(Departure { seq, due }) = waiting.next() else { return slot.length = 0 };
            let at = clock.stamp(*due);
            slot.launch = if has_due { at } else { Stamp::NONE };
            // What is written of the time of departure is the due time; a port that signs frames itself puts
            // the true one in.
            let times = Times { due_unix_ns: at.0, sent_unix_ns: at.0 };
            slot.length = looks.of(*seq).write(*seq, times, slot.data, slot.mark);
            lengths[written] = slot.length as u32;
            written += 1;
        });
        match taken {
            Ok(taken) => {
                self.under_way.extend(self.waiting.drain(..taken).zip(lengths));
                Ok(taken)
            }
            Err(PortError::Down { .. }) if !self.is_due()? => Ok(0),
            Err(error) => {
                // A link may come up again, and the next frame be shorter.
                if let Some(departure) = self.waiting.pop_front() {
                    self.context.ledger.failed(departure, self.last, cause_of(&error));
                }
                match error {
                    PortError::Down { .. } | PortError::TooLong { .. } => Ok(1),
                    other => Err(other),
                }
            }
        }
    }

    /// Whether the first frame waiting has missed its time. (A simulation's time stands still while nothing can
    /// be sent.)
    fn is_due(&mut self) -> Result<bool, PortError> {
        let clock = self.setup.clock;
        let Some(due) = self.waiting.front().map(|departure| departure.due) else { return Ok(true) };
        Ok(clock.time().simulated || due <= clock.now(&mut *self.context.port)?)
    }

    /// Takes what the port tells of frames that have left.
    fn collect(&mut self) -> Result<usize, PortError> {
        let mut reports = [Departed::default(); MOST];
        let mut count = 0;
        let told = self.context.port.departed(MOST, &mut |report| {
            reports[count] = *report;
            count += 1;
        })?;
        for report in &reports[..count] {
            self.departed(report);
        }
        Ok(told)
    }

    fn departed(&mut self, report: &Departed) {
        // Those before it left, too, for frames leave in order; or the port lost them.
        while self.told < report.number && !self.under_way.is_empty() {
            self.left_untold();
        }
        let Some((departure, length)) = self.under_way.pop_front() else { return };
        self.told += 1;
        let sent = match report.start {
            Stamp::NONE => departure.due,
            start => self.setup.clock.instant(start) + report.rest,
        };
        self.last = self.last.max(sent);
        if report.into_nothing {
            // If it never left, it is among what the port lost.
            self.lost += u64::from(report.missed);
            return self.context.ledger.failed(departure, self.last, Cause::LinkDown);
        }
        if report.missed {
            return self.context.ledger.failed(departure, self.last, Cause::PortLate);
        }
        match self.setup.when {
            When::Due(_) => self.context.ledger.sent(departure, sent, length as usize),
            When::AtOnce { .. } => {
                // Such a load lasts as long as its frames take, the last one too.
                self.last =
                    self.last.max(sent + on_the_wire(length as usize, self.context.port.about().speed_bps));
                self.context.ledger.tick(self.last);
                self.context.ledger.sent_at_once(departure.seq, length);
            }
        }
    }

    /// After a flush the port has told everything that it will tell.
    fn all_left(&mut self) {
        while self.collect().is_ok_and(|told| told > 0) {}
        while !self.under_way.is_empty() {
            self.left_untold();
        }
    }

    /// The first of those under way left, but when is not known; unless the port lost as many.
    fn left_untold(&mut self) {
        let Some((departure, length)) = self.under_way.pop_front() else { return };
        self.told += 1;
        if self.context.port.counters().is_ok_and(|counters| lost(counters) > self.lost) {
            self.lost += 1;
            self.context.ledger.failed(departure, self.last, Cause::PortRefused);
        } else {
            self.untold += 1;
            self.context.ledger.sent_at_once(departure.seq, length);
        }
    }

    fn is_over(&self) -> bool {
        self.waiting.is_empty() && self.under_way.is_empty()
    }

    fn rest(&mut self) {
        let (since, before) = *self.still_since.get_or_insert((Stopwatch::start(), Stamp::NONE));
        if since.elapsed() > STALL {
            // Where gaps are long and a simulation is slow, the next departure may be minutes away.
            let now = self.context.port.own_time().ok().flatten().map_or(before, |own| own.now);
            if now == before {
                let name = &self.context.port.about().name;
                self.context
                    .control
                    .fail(format!("{name}: its clock has stood still for {} s", STALL.as_secs()));
                return;
            }
            self.still_since = Some((Stopwatch::start(), now));
        }
        if self.waiting.is_empty() {
            // All are handed over. It is asked again until all have left.
            if self.context.port.flush(FLUSH).unwrap_or(false) {
                self.all_left();
            }
            return;
        }
        // Interrupted or refused: the next round tries again.
        let _ = self.context.port.wait(For::Transmit, FULL);
    }

    fn keep_house(&mut self) {
        let through = self.under_way.front().map(|(departure, _)| departure.due);
        let through = through.or_else(|| self.waiting.front().map(|departure| departure.due));
        self.context.show(through.unwrap_or(Instant::FAR));
        self.context.ledger.counters.due = self.context.ledger.counters.offered + self.context.ledger.missed;
        self.context.ledger.tick(self.last);
    }

    /// Gives everything that has not left an outcome, so that the totals add up.
    fn wind_up(mut self) -> SenderReport {
        let has_flushed = self.context.port.flush(LAST).unwrap_or(false);
        let is_whole = self.context.control.halt() == Halt::No;
        match has_flushed {
            true => self.all_left(),
            false => while self.collect().is_ok_and(|told| told > 0) {},
        }
        // After a halt, what was not due yet was never offered.
        let until = if is_whole { Instant::FAR } else { self.last };
        let mut behind = self.under_way.iter().map(|(departure, _)| departure).chain(&self.waiting);
        let has_due = matches!(self.setup.when, When::Due(_));
        let count =
            if has_due { behind.by_ref().filter(|departure| departure.due < until).count() } else { 0 };
        self.context.ledger.missed(Miss::PortFull, count as u64);
        if let (When::Due(departures), true) = (&mut self.setup.when, is_whole) {
            let rest = departures.skip_before(Instant::FAR);
            self.context.ledger.missed(Miss::PortFull, rest);
        }
        self.context.ledger.counters.due = self.context.ledger.counters.offered + self.context.ledger.missed;
        let report = self.context.report();
        self.context.ledger.tick(self.last);
        SenderReport { notes: words::of_untold(self.untold).into_iter().collect(), ..report }
    }
}

/// Frames that the port took and lost without a report of each.
fn lost(counters: &Counters) -> u64 {
    counters.unsent() - counters.dropped(DropPlace::TransmitLate)
}

#[cfg(test)]
mod tests;
