//! What a thread hands over: events, phases and pauses to its recorder, its counters, and notes.

use session::Account;
use units::{Departure, EngineCounters, Event, Instant, Miss, Outcome, Phase, Picos, Record};

use crate::notes::Notes;
use crate::protocol::Unserved;
use crate::worker::pulse::Pause;

/// No round of looking for work takes longer, unless something else had the CPU.
const ROUND: Picos = Picos::from_micros(5);
/// Own lateness above this is counted as late.
const LATE: Picos = Picos::from_millis(1);

/// See the module.
pub(crate) struct Accounts<R> {
    recorder: R,
    pub(crate) counters: EngineCounters,
    pub(crate) notes: Notes,
}

impl<R: Record> Accounts<R> {
    pub(crate) fn new(recorder: R) -> Self {
        Self { recorder, counters: EngineCounters::default(), notes: Notes::default() }
    }

    pub(crate) fn event(&mut self, event: &Event) {
        self.recorder.event(event);
    }
    pub(crate) fn phase(&mut self, phase: Phase, took: Picos) {
        self.recorder.phase(phase, took);
    }

    /// A departure that never left.
    pub(crate) fn miss(&mut self, departure: Departure, why: Miss, now: Instant) {
        self.event(&Event::unsent(departure, Outcome::Missed(why), now));
    }

    /// Departures that had waited this long and were never taken.
    pub(crate) fn given_up(&mut self, why: Miss, count: u64, waited: Picos) {
        self.counters.due += count;
        self.recorder.given_up(why, count, waited);
    }

    /// The loop stood still.
    pub(crate) fn paused(&mut self, pause: Pause) {
        self.counters.pauses += 1;
        self.counters.paused += pause.length;
        self.recorder.pause(pause.until.saturating_sub(pause.length), pause.length);
    }

    /// Time spent waiting on the CPU. A round that took far longer was not spinning but preempted.
    pub(crate) fn spun(&mut self, from: Instant, to: Instant) {
        self.counters.spun += to.since(from).min(ROUND);
    }

    /// A request has left this much later than it could.
    pub(crate) fn left(&mut self, own_lateness: Picos) {
        self.counters.late += u64::from(own_lateness > LATE);
    }

    /// A connection that was being made is up.
    pub(crate) fn opened(&mut self) {
        let counters = &mut self.counters;
        counters.connecting -= 1;
        counters.open += 1;
        counters.opened += 1;
        counters.open_peak = counters.open_peak.max(counters.open);
    }
    /// A connection is gone, or what was to become one.
    pub(crate) fn closed(&mut self, was_up: bool) {
        *if was_up { &mut self.counters.open } else { &mut self.counters.connecting } -= 1;
    }

    /// A request goes to another connection.
    pub(crate) fn sent_again(&mut self, why: Option<Unserved>) {
        self.counters.sent_again += 1;
        self.notes.sent_again(why);
    }

    /// What the sessions of a port did in all.
    pub(crate) fn own_tcp(&mut self, account: Account) {
        // What was dropped here behind too many holes the target had to send again.
        self.counters.retransmitted = account.figures.retransmitted + account.figures.too_many_holes;
        self.counters.frames_out = account.figures.segments_out;
        self.counters.frames_unsent = account.unsent();
        self.counters.frames_lost = account.lost_after_arrival();
        self.notes.tcp = Some(account);
    }

    /// Hands the interval over if it has ended.
    pub(crate) fn tick(&mut self, now: Instant) {
        self.recorder.tick(now, &self.counters);
    }
}
