//! From what the simulation reports to events: each departure ends once, whatever becomes of the simulation.

use super::due::Numbers;
use super::histograms::Histograms;
use super::intervals::Intervals;
use super::{Fit, Module};
use crate::notes::Notes;
use port::fpga::sessions::{Figures, Report, Row, RowOutcome, SessionSim, TICK};
use schedule::Control;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use units::{Bytes, Cause, Departure, EngineCounters, Event, Instant, Miss, Outcome, Phase, Picos, Record};

/// How long it may take until Ctrl-C is heard.
const PATIENCE: Duration = Duration::from_millis(50);
/// The module waits that long, by TCP's clock, for the target to end a connection that is over.
const CLOSING_MS: u64 = 60_000;
/// For all that is rounded up, and for what a port must rest.
const SLACK_MS: u64 = 2_000;

/// A simulation under way, and what came of it.
pub(crate) struct Drive<R> {
    fit: Fit,
    sim: SessionSim,
    control: Arc<Control>,
    books: Books<R>,
    /// The module's histograms.
    reported: Histograms,
    /// And its intervals.
    intervals: Intervals,
    figures: Option<Figures>,
    patience: Patience,
}

impl<R: Record> Drive<R> {
    /// `origin` is the tick of the plan's that has that name.
    pub fn new(fit: Fit, sim: SessionSim, control: Arc<Control>, origin: Instant, recorder: R) -> Self {
        let (books, patience) = (Books::new(&fit, origin, recorder), Patience::of(&fit));
        let (reported, intervals) = (Histograms::default(), intervals(&fit));
        Self { fit, sim, control, books, reported, intervals, figures: None, patience }
    }

    /// Runs to the end.
    pub fn run(mut self) -> Notes {
        let (mut is_stopped, mut wrong) = (false, None);
        loop {
            if self.control.stops() && !is_stopped {
                self.sim.stop();
                is_stopped = true;
            }
            match self.sim.next(PATIENCE) {
                Ok(None) => {}
                Ok(Some(Report::Gone)) => break,
                Ok(Some(Report::End(figures))) => self.figures = Some(figures),
                Ok(Some(Report::Row(row))) => {
                    self.patience.again(self.books.tick);
                    if let Err(why) = self.books.row(&row) {
                        wrong = Some(why);
                        break;
                    }
                }
                Ok(Some(Report::Now(tick))) => {
                    self.books.now(tick);
                    if self.patience.is_over(tick) {
                        self.control.fail(self.patience.why(&self.fit));
                    }
                }
                Ok(Some(Report::Connected { session, ticks })) => {
                    self.patience.again(self.books.tick);
                    self.books.connected(session, ticks);
                }
                Ok(Some(Report::Way(tick))) => self.books.on_their_way.push(tick),
                Ok(Some(Report::Interval(number, tally))) => self.intervals.tally(number, tally),
                Ok(Some(Report::Bin(figure, bin, count))) => self.reported.bin(figure, bin, count),
                Err(error) => {
                    wrong = Some(error.to_string());
                    break;
                }
            }
        }
        let said = self.sim.end();
        if self.figures.is_none() {
            let why =
                wrong.or_else(|| last_line(&said)).unwrap_or_else(|| "it was killed, or died".to_owned());
            self.control.fail(format!("the simulation ended before the run: {why}"));
        }
        if let Some(figures) = &self.figures
            && let Some(why) = self.books.contradiction(&self.reported, &self.intervals, figures.of("late"))
        {
            self.control.fail(why);
        }
        let is_whole = self.figures.is_some() && !is_stopped;
        let figures = self.figures.unwrap_or_default();
        self.books.wind_up(is_whole, &figures);
        Notes { module: Some(Module { figures, ..self.fit.about }), ..Notes::default() }
    }
}

/// A closed loop ends by itself after the last request alone. Without a connection there is none: it ends when
/// nothing has come for longer than a request, an opening or the end of a connection may take.
struct Patience {
    /// In ticks; none where a schedule ends the run.
    most: Option<u64>,
    last: u64,
}

impl Patience {
    fn of(fit: &Fit) -> Self {
        let load = &fit.load;
        let openings = u64::from(load.sessions) * u64::from(load.open_gap);
        let times = fit
            .ticks_of_ms(u64::from(load.timeout_ms).max(if load.each { CLOSING_MS } else { 0 }) + SLACK_MS);
        Self { most: load.due.is_none().then_some(openings + times), last: load.first }
    }

    fn again(&mut self, tick: u64) {
        self.last = self.last.max(tick);
    }

    fn is_over(&self, tick: u64) -> bool {
        self.most.is_some_and(|most| tick.saturating_sub(self.last) > most)
    }

    fn why(&self, fit: &Fit) -> String {
        let target = fit.load.target;
        if fit.load.each {
            format!(
                "no connection to {target} was opened or closed any more: check that a server listens there, \
                 and that it closes connections after 'Connection: close'"
            )
        } else {
            format!("no connection to {target} could be opened any more: check that a server listens there")
        }
    }
}

fn intervals(fit: &Fit) -> Intervals {
    let (first, ticks) = fit.load.rows;
    Intervals::new(first, ticks)
}

fn last_line(said: &str) -> Option<String> {
    said.lines().map(str::trim).rfind(|line| !line.is_empty()).map(str::to_owned)
}

/// Which departures have ended.
struct Ended {
    /// All below.
    next: u64,
    /// And these.
    ahead: BTreeSet<u64>,
}

impl Ended {
    /// Whether it had not.
    fn add(&mut self, seq: u64) -> bool {
        if seq < self.next || !self.ahead.insert(seq) {
            return false;
        }
        while self.ahead.remove(&self.next) {
            self.next += 1;
        }
        true
    }

    /// Those below `end` that have not.
    fn missing(&self, end: u64) -> impl Iterator<Item = u64> + '_ {
        (self.next..end).filter(|seq| !self.ahead.contains(seq))
    }
}

/// What goes to the recorder.
struct Books<R> {
    recorder: R,
    counters: EngineCounters,
    fit: Fit,
    /// Of a closed loop, none.
    numbers: Option<Numbers>,
    origin: Instant,
    ended: Ended,
    /// The last tick that is known to have come.
    tick: u64,
    /// Of a closed loop over connections that are kept: when each session had its last response. Its next
    /// request is due then; that the module reads the response first is its own lateness.
    free: BTreeMap<u32, u64>,
    /// From due until sent, which is the same for each departure.
    own: u32,
    /// Of HTTP: out and in.
    bytes: (u64, u64),
    /// Requests without an outcome at the end: when they left.
    on_their_way: Vec<u64>,
    histograms: Histograms,
    intervals: Intervals,
}

impl<R: Record> Books<R> {
    fn new(fit: &Fit, origin: Instant, recorder: R) -> Self {
        Self {
            recorder,
            counters: EngineCounters::default(),
            fit: fit.clone(),
            // A shape without due times was refused when it was fitted.
            numbers: fit.dues.as_ref().and_then(|dues| dues.numbers().ok()),
            origin,
            ended: Ended { next: 0, ahead: BTreeSet::new() },
            tick: 0,
            free: BTreeMap::new(),
            own: 0,
            bytes: (0, 0),
            on_their_way: Vec::new(),
            histograms: Histograms::default(),
            intervals: intervals(fit),
        }
    }

    fn at(&self, tick: u64) -> Instant {
        self.origin + ticks(tick.saturating_sub(self.fit.origin))
    }

    fn now(&mut self, tick: u64) {
        self.tick = self.tick.max(tick);
        let now = self.at(self.tick);
        self.recorder.tick(now, &self.counters);
    }

    /// A connection that is no part of a departure.
    fn connected(&mut self, session: u32, took: u32) {
        self.histograms.connected(took);
        self.recorder.phase(Phase::Connect, ticks(took.into()));
        self.recorder.phase(Phase::Ready, ticks(took.into()));
        self.free.remove(&session);
        self.counters.opened += 1;
        self.counters.attempts += 1;
    }

    fn row(&mut self, row: &Row) -> Result<(), String> {
        let seq = match &self.numbers {
            Some(numbers) => {
                let due = row.due.checked_sub(self.fit.load.first);
                let all = u64::from(self.fit.load.departures);
                let mut there = due.into_iter().flat_map(|due| numbers.at(due)).take_while(|seq| *seq < all);
                let mut none = true;
                // Of several in one tick, each is as good as the others.
                let fresh = there.find(|seq| {
                    none = false;
                    self.ended.add(*seq)
                });
                fresh.ok_or_else(|| {
                    let what = if none { "where none is due" } else { "once more than was due" };
                    format!("it reported a departure at tick {}, {what}", row.due)
                })?
            }
            // A closed loop's have no other number than the order in which they end.
            None => {
                let next = self.ended.next;
                self.ended.add(next);
                next
            }
        };
        if let (Some(sum), Some(passed)) = (row.sum, row.passed)
            && sum != passed
        {
            return Err(format!(
                "the module's sum of a body is {sum:08x}, and that of the bytes on the wire {passed:08x}: \
                 a fault of the module"
            ));
        }
        self.tick = self.tick.max(row.due + u64::from(row.done));
        self.histograms.row(row, self.fit.load.each);
        self.intervals.row(row, self.fit.load.each);
        let judged = self.in_time(row);
        if self.fit.load.each {
            self.connection_of(&judged);
        }
        let event = self.event_of(&judged, seq);
        if row.sent > 0 {
            self.own = row.sent;
        }
        if self.numbers.is_none() && !self.fit.load.each {
            self.free.insert(row.session, row.due + u64::from(row.done));
        }
        self.book(&event);
        self.counters.body_in += u64::from(row.body);
        self.counters.stamped += u64::from(judged.outcome == RowOutcome::Done);
        Ok(())
    }

    /// The module's timers look at whole milliseconds: what they find up to one later timed out when its time
    /// was over. By a clock that is not that of the ticks, they are right.
    fn in_time(&self, row: &Row) -> Row {
        let after = row.sent.saturating_add(self.fit.ticks_of_ms(self.fit.load.timeout_ms.into()) as u32);
        if self.fit.about.is_apart || row.outcome == RowOutcome::Missed || row.done <= after {
            return *row;
        }
        let by_then = |time: u32| if time > after { 0 } else { time };
        let (connected, first) = (by_then(row.connected), by_then(row.first));
        Row { outcome: RowOutcome::TimedOut, connected, first, done: after, ..*row }
    }

    /// The connection of a departure that had one of its own.
    fn connection_of(&mut self, row: &Row) {
        if row.outcome == RowOutcome::Missed {
            return;
        }
        self.counters.attempts += 1;
        if row.connected == 0 {
            return;
        }
        self.counters.opened += 1;
        let took = ticks(row.connected.saturating_sub(row.sent).into());
        self.recorder.phase(Phase::Connect, took);
        self.recorder.phase(Phase::Ready, took);
        if row.first > 0 {
            self.recorder.phase(Phase::FirstByte, ticks(row.first.saturating_sub(row.connected).into()));
        }
    }

    fn contradiction(&self, reported: &Histograms, intervals: &Intervals, late: u64) -> Option<String> {
        let is_all = !self.fit.load.each || self.on_their_way.is_empty();
        let of_histograms = self.histograms.contradiction(reported, is_all);
        of_histograms.or_else(|| self.intervals.contradiction(intervals, late))
    }

    fn event_of(&self, row: &Row, seq: u64) -> Event {
        let due = self.at(self.free.get(&row.session).map_or(row.due, |free| row.due.min(*free)));
        let after = |time: u32| self.at(row.due + u64::from(time));
        let event = Event::unsent(Departure { seq, due }, outcome(row, self.fit.load.each), after(row.done));
        if row.outcome == RowOutcome::Missed {
            return event;
        }
        Event {
            // What ended before it left left at its end.
            sent: after(if row.sent > 0 { row.sent } else { row.done }),
            first_byte: if row.first > 0 { after(row.first) } else { Instant::FAR },
            bytes_out: Bytes::new(row.request.into()),
            bytes_in: Bytes::new(row.response.into()),
            ..event
        }
    }

    fn book(&mut self, event: &Event) {
        self.counters.offered += 1;
        self.counters.due += 1;
        self.bytes.0 += event.bytes_out.get();
        self.bytes.1 += event.bytes_in.get();
        self.recorder.event(event);
    }

    /// What has no outcome was cut off: all of a schedule that has passed, and of one that was stopped, what
    /// was due until then.
    fn wind_up(&mut self, is_whole: bool, figures: &Figures) {
        if figures.is_empty() && self.numbers.is_none() {
            // A simulation that died does not tell.
            self.on_their_way = std::mem::take(&mut self.free).into_values().collect();
        }
        self.on_their_way.sort_unstable();
        let first = self.fit.load.first;
        let mut left = std::mem::take(&mut self.on_their_way).into_iter().peekable();
        let cut: Vec<(Departure, u64)> = match &self.numbers {
            Some(numbers) => {
                let all = u64::from(self.fit.load.departures);
                let due = (self.tick + 1).checked_sub(first).map_or(0, |ticks| numbers.before(ticks));
                let end = if is_whole { all } else { due.min(all) };
                let missing: Vec<u64> = self.ended.missing(end).collect();
                let cut = missing.into_iter().map(|seq| {
                    let due = first + numbers.due(seq);
                    while left.next_if(|sent| *sent < due).is_some() {}
                    let sent = left.next().unwrap_or(due + u64::from(self.own));
                    (Departure { seq, due: self.at(due) }, sent)
                });
                cut.collect()
            }
            None => {
                let next = self.ended.next;
                let rest = u64::from(self.fit.load.departures) - next.min(self.fit.load.departures.into());
                let cut = left
                    .take(rest as usize)
                    .enumerate()
                    .map(|(n, sent)| (Departure { seq: next + n as u64, due: self.at(sent) }, sent));
                cut.collect()
            }
        };
        let now = self.at(self.tick);
        for (departure, sent) in cut {
            let sent = self.at(sent);
            let event = Event::unsent(departure, Outcome::CutOff, now.max(sent));
            self.book(&Event { sent, ..event });
        }
        self.counters.retransmitted = figures.of("retransmitted");
        self.counters.frames_out = figures.of("frames_out");
        self.counters.frames_unsent = figures.of("frames_lost");
        self.counters.frames_lost = figures.of("full");
        self.counters.opened = self.counters.opened.max(figures.of("opened"));
        self.counters.open_peak = figures.of("most_open");
        (self.counters.wire_out, self.counters.wire_in) = self.bytes;
        self.recorder.tick(now, &self.counters);
    }
}

const fn ticks(count: u64) -> Picos {
    TICK.saturating_mul(count)
}

/// An outcome of the module in the words of every engine.
fn outcome(row: &Row, each: bool) -> Outcome {
    let is_connected = !each || row.connected > 0;
    let by_part = |connect, first_byte, body| {
        Outcome::Failed(match (is_connected, row.first > 0) {
            (false, _) => connect,
            (true, false) => first_byte,
            (true, true) => body,
        })
    };
    match row.outcome {
        RowOutcome::Done => Outcome::Status(row.status),
        RowOutcome::Missed => Outcome::Missed(Miss::NoConnection),
        RowOutcome::Status => Outcome::Failed(Cause::ExpectStatus),
        RowOutcome::Length => Outcome::Failed(Cause::ExpectBody),
        RowOutcome::Sum => Outcome::Failed(Cause::ExpectChecksum),
        RowOutcome::Malformed => Outcome::Failed(Cause::FramingHead),
        RowOutcome::Hole => Outcome::Failed(Cause::FramingHole),
        RowOutcome::Cut => by_part(Cause::ConnectOther, Cause::FirstByteClosed, Cause::BodyClosed),
        RowOutcome::TimedOut => by_part(Cause::ConnectTimeout, Cause::FirstByteTimeout, Cause::BodyTimeout),
        RowOutcome::Reset => by_part(Cause::ConnectReset, Cause::FirstByteReset, Cause::BodyReset),
        RowOutcome::Refused => Outcome::Failed(Cause::ConnectRefused),
        RowOutcome::Unreachable => Outcome::Failed(Cause::ConnectUnreachable),
        RowOutcome::Aborted => Outcome::Failed(Cause::SocketOther),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn departures_end_once_in_any_order() {
        let mut ended = Ended { next: 0, ahead: BTreeSet::new() };
        assert!([2, 0, 4, 1].into_iter().all(|seq| ended.add(seq)));
        assert!(!ended.add(2) && !ended.add(4));
        assert_eq!(ended.missing(7).collect::<Vec<_>>(), [3, 5, 6]);
        assert!(ended.add(3));
        assert_eq!((ended.next, ended.ahead.len()), (5, 0));
    }

    #[test]
    fn patience_is_longer_than_whatever_the_module_waits_for_and_has_an_end() {
        let mut patience = Patience { most: Some(100), last: 8_000 };
        assert!(!patience.is_over(8_100) && patience.is_over(8_101));
        patience.again(8_050);
        patience.again(7_000);
        assert!(!patience.is_over(8_150) && patience.is_over(8_151));
        assert!(!Patience { most: None, last: 0 }.is_over(u64::MAX));
    }

    #[test]
    fn an_outcome_says_in_which_part_a_request_failed() {
        let row = |outcome, connected, first| Row {
            outcome,
            session: 0,
            status: 200,
            due: 0,
            sent: 10,
            connected,
            first,
            done: 900,
            body: 0,
            request: 0,
            response: 0,
            sum: None,
            passed: None,
        };
        let failed = |row: &Row, each| match self::outcome(row, each) {
            Outcome::Failed(cause) => cause.key(),
            other => panic!("{other:?}"),
        };
        assert_eq!(self::outcome(&row(RowOutcome::Done, 0, 9), false), Outcome::Status(200));
        assert_eq!(self::outcome(&row(RowOutcome::Missed, 0, 0), true), Outcome::Missed(Miss::NoConnection));
        for (outcome, words) in [
            (RowOutcome::TimedOut, ["connect.timeout", "first_byte.timeout", "body.timeout"]),
            (RowOutcome::Reset, ["connect.reset", "first_byte.reset", "body.reset"]),
            (RowOutcome::Cut, ["connect.other", "first_byte.closed", "body.closed"]),
        ] {
            let found = [(0, 0), (20, 0), (20, 30)].map(|(up, first)| failed(&row(outcome, up, first), true));
            assert_eq!(found, words);
            // A connection that was there before.
            assert_eq!(failed(&row(outcome, 0, 0), false), words[1]);
        }
    }
}
