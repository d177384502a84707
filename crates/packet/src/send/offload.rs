//! One thread that lets a port make frames itself (`live`): the port makes millions in one call, and this
//! thread watches it.
//!
//! Of several queues, queue i of k makes departures i, i + k, i + 2k, … of an even load, so that together they
//! leave as one thread's would, and their signatures have these numbers. Fields vary within each queue.
//!
//! Nothing is known of single frames but how late they were, in powers of two: that is a table of the result.
//! Of frames that the driver refused it is known how many they were, a moment after they were made: what was
//! made at the last look is settled now.

use super::departures::Pattern;
use super::ledger::{Ledger, cause_of};
use super::sender::{SenderContext, SenderReport};
use crate::PacketError;
use crate::control::NAP;
use crate::send::departures::Ends;
use clock::{Clock, HostClock};
use measure::packets::{Cell, Column, Table};
use plan::packets::send::SendPlan;
use port::{GapErrors, Made, Next, Order, PortError};
use schedule::{Action, LoadChange, Share};
use units::{Cause, Instant, Miss, Picos, Rate};

/// The first power of two (in ns) of which all that is counted in it is late.
const fn late_from(tolerance: Picos) -> usize {
    tolerance.as_nanos().next_power_of_two().ilog2() as usize
}

/// Whether a port can make these frames at these times.
///
/// # Errors
/// What it cannot, and what would be right.
pub fn check(plan: &SendPlan, pattern: Option<&Pattern>, is_signed: bool) -> Result<(), PacketError> {
    let what = match pattern {
        None if is_signed && plan.queues > 1 => {
            return Err(PacketError::Wrong(format!(
                "--queues {}: with several queues, signed frames of {} need a rate to number them; give \
                 --rate, one queue, or no --sign",
                plan.queues, plan.port
            )));
        }
        Some(Pattern::Cycle(_)) => "gaps of a file",
        Some(Pattern::Bursts { .. }) => "bursts",
        Some(Pattern::Shaped(_)) => "rates that change by themselves",
        _ if plan.relative => "relative departures",
        _ => return Ok(()),
    };
    let port = &plan.port;
    Err(PacketError::Wrong(format!("{port} makes frames only at even gaps, no {what}; use packet: or xdp:")))
}

/// What a thread is made with besides.
pub struct Offloading {
    pub timer: HostClock,
    /// Of all queues together; `None` is as fast as it goes.
    pub rate: Option<Rate>,
    pub ends: Ends,
    pub origin: Instant,
    pub share: Share,
}

/// How far a queue is.
struct Queue {
    /// The next frame of this queue.
    next: u64,
    /// How many it has in all.
    total: u64,
    rate: Option<Rate>,
    /// When the next departure at this rate is due.
    due: Instant,
    is_paused: bool,
    seen: usize,
    lateness: Vec<u64>,
    gap_errors: GapErrors,
    refused: u64,
}

impl Queue {
    /// A call has made these; the next one's first frame is due when it would have been.
    fn went_on(&mut self, made: &Made) {
        self.next += made.frames;
        self.refused += made.refused;
        if let Some(rate) = self.rate {
            self.due = self.due + rate.due(made.since_change);
        }
        add(&mut self.lateness, &made.lateness_log2_ns);
        self.gap_errors.add(&made.gap_errors);
    }

    /// Departures that were due before `now`, which will not be made any more. As fast as it goes, none is due.
    fn pass_over(&mut self, now: Instant) -> u64 {
        let Some(rate) = self.rate.filter(|_| !self.is_paused) else { return 0 };
        let due = rate.events_before(now.since(self.due)).min(self.total.saturating_sub(self.next));
        self.next += due;
        self.refused += due;
        self.due = self.due + rate.due(due);
        due
    }
}

/// What of a call is in the totals.
#[derive(Debug, Default)]
struct Known {
    /// What was made when it was last looked at.
    made: Made,
    /// Frames and bytes that left for certain.
    left: u64,
    left_bytes: u64,
    refused: u64,
}

impl Known {
    /// The totals now. What was made at the last look has been taken or refused by now, what came since may
    /// still be.
    fn look(&mut self, ledger: &mut Ledger, now: Instant, made: &Made) {
        let settled = std::mem::replace(&mut self.made, made.clone());
        let left = settled.frames.saturating_sub(made.refused);
        self.count(ledger, now, &settled, left, Cause::PortRefused);
    }

    /// The same at the end of the call, when all is settled.
    fn close(&mut self, ledger: &mut Ledger, now: Instant, made: &Made, cause: Cause) {
        self.count(ledger, now, made, made.frames.saturating_sub(made.refused), cause);
        let refused = made.frames - self.left;
        ledger.refused(now, refused - self.refused.min(refused), cause);
    }

    fn count(&mut self, ledger: &mut Ledger, now: Instant, settled: &Made, left: u64, cause: Cause) {
        if left > self.left {
            // Frames that were refused had the mean length: that is theirs wherever all have one.
            let bytes = u128::from(settled.bytes) * u128::from(left) / u128::from(settled.frames.max(1));
            let bytes = (bytes as u64).max(self.left_bytes);
            ledger.bulk(left - self.left, bytes - self.left_bytes);
            (self.left, self.left_bytes) = (left, bytes);
        }
        let refused = settled.refused.min(settled.frames - self.left.min(settled.frames));
        if refused > self.refused {
            ledger.refused(now, refused - self.refused, cause);
            self.refused = refused;
        }
    }
}

impl Offloading {
    /// Runs to the end.
    pub fn run(self, mut context: SenderContext) -> SenderReport {
        context.ledger.tick(self.timer.now());
        let (index, of) = (u64::from(self.share.index()), u64::from(self.share.of()));
        let total = self.ends.frames.map_or(u64::MAX, |all| all / of + u64::from(index < all % of));
        let mut course = Queue {
            next: 0,
            total,
            rate: self.rate.and_then(|rate| divided(rate, of)),
            due: self.origin + self.rate.map_or(Picos::ZERO, |rate| rate.due(index)),
            is_paused: false,
            seen: 0,
            lateness: Vec::new(),
            gap_errors: GapErrors::default(),
            refused: 0,
        };
        let end = self.ends.after.map_or(Instant::FAR, |after| self.origin + after);
        self.timer.sleep_until(self.origin.saturating_sub(NAP));
        while !context.control.stops() && course.next < course.total && self.timer.now() < end {
            self.take_changes(&mut context, &mut course);
            if course.is_paused {
                let now = self.timer.now();
                context.ledger.tick(now);
                self.timer.sleep_until(end.min(now + NAP));
                continue;
            }
            if let Err(error) = self.call(&mut context, &mut course, end) {
                match error {
                    PortError::Down { .. } => self.wait_for_link(&mut context, &mut course, end),
                    error => context.control.fail(error.to_string()),
                }
            }
        }
        self.wind_up(context, &course, end)
    }

    /// One call: until a change that ends it, or all are made.
    fn call(&self, context: &mut SenderContext, course: &mut Queue, end: Instant) -> Result<(), PortError> {
        let SenderContext { port, looks, control, progress, ledger, .. } = context;
        let (timer, template) = (self.timer, looks.of(u64::MAX));
        let order = Order {
            first: course.next,
            most: course.total - course.next,
            rate: course.rate,
            origin_monotonic_ns: timer.to_monotonic_ns(course.due),
            until_monotonic_ns: (end != Instant::FAR).then(|| timer.to_monotonic_ns(end)),
            stop: control.stop_flag(),
        };
        let name = port.about().name.clone();
        let offload = port.offload().ok_or(PortError::Unable { port: name, what: "make frames itself" })?;
        offload.prepare(template)?;
        let mut known = Known::default();
        let of = u64::from(self.share.of());
        let result = offload.make(&order, &mut |made| {
            let now = timer.now();
            known.look(ledger, now, made);
            ledger.tick(now);
            progress.show(ledger.sent, now);
            let Some(change) = control.change_after(course.seen).filter(|change| change.at <= now) else {
                return Next::Go;
            };
            match change.action {
                Action::Rate(rate) => {
                    course.seen += 1;
                    course.rate = divided(rate, of);
                    course.due = change.at;
                    Next::Rate { rate: course.rate, origin_monotonic_ns: timer.to_monotonic_ns(change.at) }
                }
                _ => Next::Stop,
            }
        });
        let made = match result {
            Ok(made) => made,
            Err(error) => {
                // It was told the last totals before.
                let last = known.made.clone();
                known.close(ledger, timer.now(), &last, cause_of(&error));
                course.went_on(&last);
                return Err(error);
            }
        };
        known.close(ledger, timer.now(), &made, Cause::PortRefused);
        course.went_on(&made);
        Ok(())
    }

    /// Until the link is up again: what is due meanwhile has failed, each at its time.
    fn wait_for_link(&self, context: &mut SenderContext, course: &mut Queue, end: Instant) {
        loop {
            self.timer.sleep_until(end.min(self.timer.now() + NAP));
            let now = self.timer.now().min(end);
            self.take_changes(context, course);
            let due = course.pass_over(now);
            context.ledger.refused(now, due, Cause::LinkDown);
            context.ledger.tick(now);
            // An interface that is taken away goes down first.
            if let Some(error @ PortError::Gone { .. }) = context.port.trouble() {
                context.control.fail(error.to_string());
            }
            let is_over = context.control.stops() || now >= end || course.next >= course.total;
            if is_over || course.is_paused || context.port.is_up() {
                return;
            }
        }
    }

    fn take_changes(&self, context: &mut SenderContext, course: &mut Queue) {
        let now = self.timer.now();
        while let Some(change) = context.control.change_after(course.seen).filter(|change| change.at <= now) {
            let LoadChange { action, at, .. } = change;
            course.seen += 1;
            match action {
                Action::Pause => course.is_paused = true,
                Action::Resume => {
                    course.is_paused = false;
                    course.due = at;
                }
                Action::Rate(rate) => {
                    course.rate = divided(rate, self.share.of().into());
                    course.due = at;
                }
                Action::Max => course.rate = None,
                // Refused where it was asked for: there is one load.
                Action::RateOf { .. } => {}
                Action::Look(number) => {
                    context.change_look(0, number);
                    if self.share == Share::WHOLE {
                        context.control.holds_from(&change, course.next);
                    }
                }
            }
        }
    }

    fn wind_up(&self, mut context: SenderContext, course: &Queue, end: Instant) -> SenderReport {
        let ledger = &mut context.ledger;
        // What an even load should have made until its end, or until it was halted, and did not.
        let now = self.timer.now().min(end);
        let left = match course.rate {
            Some(rate) if !course.is_paused => {
                let until = rate.events_before(now.since(course.due));
                until.min(course.total.saturating_sub(course.next))
            }
            _ => 0,
        };
        ledger.counters.late += course.lateness.iter().skip(late_from(ledger.tolerance())).sum::<u64>();
        ledger.missed(Miss::NotReached, left);
        ledger.counters.due = ledger.counters.offered + left;
        let (index, of) = (u64::from(self.share.index()), u64::from(self.share.of()));
        ledger.numbered = course.next.checked_sub(1).map_or(0, |last| last * of + index + 1);
        let _ = context.port.flush(Picos::from_secs(1));
        let mut report = context.report();
        if course.refused > 0 && report.port.drops.is_empty() {
            let place = port::DropPlace::TransmitDriver.key().to_owned();
            report.port.drops.push(measure::packets::PlaceCount { place, frames: course.refused });
        }
        report.tables.extend(lateness_table(&course.lateness));
        report.tables.extend(gap_table(&course.gap_errors));
        context.ledger.tick(self.timer.now());
        report
    }
}

/// The rate of one of `of` queues.
fn divided(rate: Rate, of: u64) -> Option<Rate> {
    let (events, per) = rate.ratio();
    Rate::new(events, per.saturating_mul(of))
}

fn add(into: &mut Vec<u64>, from: &[u64]) {
    into.resize(into.len().max(from.len()), 0);
    into.iter_mut().zip(from).for_each(|(into, from)| *into += from);
}

/// How late frames were, in powers of two.
fn lateness_table(counts: &[u64]) -> Option<Table> {
    let column = |name: &str, unit: &str| Column { name: name.to_owned(), unit: unit.to_owned() };
    let rows: Vec<Vec<Cell>> = counts
        .iter()
        .enumerate()
        .filter(|(_, count)| **count > 0)
        .map(|(power, count)| {
            let from = if power == 0 { 0.0 } else { (1u64 << power.min(63)) as f64 };
            vec![Cell::Figure(from), Cell::Figure(*count as f64)]
        })
        .collect();
    (!rows.is_empty()).then(|| Table {
        key: "lateness".to_owned(),
        title: "How late the port made its frames".to_owned(),
        columns: vec![column("at least", "ns"), column("frames", "count")],
        rows,
        notes: vec!["counted where the frames were made, in powers of two".to_owned()],
    })
}

/// How far gaps were from those that were asked for, as the port made them: known also where nobody receives.
fn gap_table(errors: &GapErrors) -> Option<Table> {
    let names = ["gaps", "error mean", "error p50", "error p95", "error p99", "error max"];
    let column = |name: &&str| Column {
        name: (*name).to_owned(),
        unit: if *name == "gaps" { "count" } else { "ns" }.to_owned(),
    };
    let count = errors.count();
    let mean = errors.sum_ns as f64 / count.max(1) as f64;
    let shares = [500_000, 950_000, 990_000].map(|millionths| errors.at_most_ns(millionths) as f64);
    let figures = [count as f64, mean].into_iter().chain(shares).chain([errors.max_ns as f64]);
    (count > 0).then(|| Table {
        key: "gaps_made".to_owned(),
        title: "Gap errors when the port made its frames".to_owned(),
        columns: names.iter().map(column).collect(),
        rows: vec![figures.map(Cell::Figure).collect()],
        notes: vec![
            "percentiles are the upper ends of bins that double in width; where gaps are below 400 ns, frames \
             leave in groups of 8, and the gaps on the wire are others"
                .to_owned(),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::sync::{Arc, Mutex};
    use units::{Bytes, EngineCounters, Event, Fate, Outcome, Phase, Record};

    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<BTreeMap<&'static str, u64>>>);

    impl Kept {
        fn add(&self, what: &'static str, count: u64) {
            *self.0.lock().unwrap().entry(what).or_default() += count;
        }
    }

    impl Record for Kept {
        fn event(&mut self, event: &Event) {
            assert_eq!(event.outcome, Outcome::Failed(Cause::PortRefused));
            assert_eq!(event.lateness(), None);
            self.add("refused", 1);
        }
        fn missed(&mut self, _: Miss, _: u64) {}
        fn frames(&mut self, _: Fate, count: u64, bytes: Bytes) {
            self.add("left", count);
            self.add("bytes", bytes.get());
        }
        fn phase(&mut self, _: Phase, _: Picos) {}
        fn tick(&mut self, _: Instant, _: &EngineCounters) {}
    }

    /// Totals after each of these looks, and after the end: (left, refused, bytes).
    fn told(looks: &[(u64, u64)], end: (u64, u64)) -> Vec<(u64, u64, u64)> {
        let kept = Kept::default();
        let mut ledger = Ledger::new(Box::new(kept.clone()));
        let made = |(frames, refused)| Made { frames, refused, bytes: frames * 60, ..Made::default() };
        let totals = || {
            let kept = kept.0.lock().unwrap();
            let of = |what| kept.get(what).copied().unwrap_or(0);
            (of("left"), of("refused"), of("bytes"))
        };
        let mut known = Known::default();
        let mut all = Vec::new();
        for look in looks {
            known.look(&mut ledger, Instant::EPOCH, &made(*look));
            all.push(totals());
        }
        known.close(&mut ledger, Instant::EPOCH, &made(end), Cause::PortRefused);
        all.push(totals());
        let (left, refused, _) = totals();
        assert_eq!((ledger.counters.offered, left + refused), (end.0, end.0));
        all
    }

    #[test]
    fn frames_count_as_sent_when_they_can_be_refused_no_more() {
        // 100 made; then 10 of them are known to have been refused, and 200 made; at the end 12 of 250.
        let all = told(&[(100, 0), (200, 10)], (250, 12));
        assert_eq!(all, [(0, 0, 0), (90, 0, 90 * 60), (238, 12, 238 * 60)]);
        assert_eq!(told(&[(100, 100), (200, 200)], (200, 200)).last(), Some(&(0, 200, 0)));
        assert_eq!(told(&[], (7, 0)).last(), Some(&(7, 0, 420)));
    }

    #[test]
    fn totals_add_up_however_late_refusals_are_told() {
        // All of the first hundred were settled as sent before they were told to be refused.
        let all = told(&[(100, 0), (100, 0)], (100, 30));
        assert_eq!(all.last(), Some(&(100, 0, 6_000)));
    }

    #[test]
    fn a_schedule_goes_on_where_it_was_after_trouble() {
        // 1 000/s from 5 s on: after 1 500 frames the next is due at 6.5 s, whatever became of them.
        let at = |millis| Instant::EPOCH + Picos::from_millis(millis);
        let mut queue = Queue {
            next: 0,
            total: 3_000,
            rate: Rate::per_second(1_000),
            due: at(5_000),
            is_paused: false,
            seen: 0,
            lateness: Vec::new(),
            gap_errors: GapErrors::default(),
            refused: 0,
        };
        queue.went_on(&Made { frames: 1_500, since_change: 1_500, refused: 7, ..Made::default() });
        assert_eq!((queue.next, queue.due, queue.refused), (1_500, at(6_500), 7));
        // Those of 6.5 s, 6.501 s … 6.509 s were due before 6.5095 s; the next is due at 6.51 s, and nothing
        // before that.
        assert_eq!(queue.pass_over(at(6_509) + Picos::from_micros(500)), 10);
        assert_eq!((queue.next, queue.due, queue.refused), (1_510, at(6_510), 17));
        assert_eq!(queue.pass_over(at(6_510)), 0);
        assert_eq!(queue.pass_over(at(6_400)), 0);
        // Never more than there are.
        assert_eq!(queue.pass_over(at(60_000)), 1_490);
        assert_eq!((queue.next, queue.pass_over(at(70_000))), (3_000, 0));
        queue.rate = None;
        assert_eq!(queue.pass_over(at(80_000)), 0);
    }
}
