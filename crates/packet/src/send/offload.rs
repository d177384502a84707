//! One thread that lets a port make frames itself (`live`): the port makes millions in one call, and this thread watches it.
//!
//! Of several queues, queue i of k makes departures i, i + k, i + 2k, … of an even load, so that together they leave as one thread's
//! would. Frames themselves are numbered apart: each queue has a range of numbers of its own.
//!
//! Nothing is known of single frames but how late they were, in powers of two: that is a table of the result.

use super::departures::Pattern;
use super::outlet::{Ledger, Looks, Progress, Sizes, report};
use crate::PacketError;
use crate::control::{Control, Course, Turn};
use crate::send::departures::Ends;
use clock::{Clock, HostClock};
use measure::packets::{Cell, Column, Table};
use plan::packets::send::SendPlan;
use port::{Made, Next, Order, Port, PortError};
use schedule::Share;
use std::sync::Arc;
use units::{Instant, Miss, Picos, Rate};

/// Numbers of a queue's own range: 2³² at 16 M/s are four minutes, and then they go on in the next queue's.
const RANGE: u64 = 1 << 32;
const NAP: Picos = Picos::from_millis(10);
/// From this power of two (in ns) on a frame is late.
const LATE_FROM: usize = 10;

/// Whether a port can make these frames at these times.
///
/// # Errors
/// What it cannot, and what would be right.
pub fn check(plan: &SendPlan, pattern: Option<&Pattern>) -> Result<(), PacketError> {
    let what = match pattern {
        Some(Pattern::Cycle(_)) => "gaps of a file",
        Some(Pattern::Bursts { .. }) => "bursts",
        _ if plan.relative => "relative departures",
        _ => return Ok(()),
    };
    let port = &plan.port;
    Err(PacketError::Wrong(format!("{port} makes frames at even gaps only, no {what}; take packet: or xdp:")))
}

/// What a thread is made with.
pub struct Offloading {
    pub port: Box<dyn Port>,
    pub timer: HostClock,
    /// Of all queues together; `None` is as fast as it goes.
    pub rate: Option<Rate>,
    pub ends: Ends,
    pub looks: Looks,
    pub sizes: Arc<Sizes>,
    pub control: Arc<Control>,
    pub progress: Arc<Progress>,
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
    refused: u64,
}

impl Offloading {
    /// Runs to the end.
    pub fn run(mut self, mut ledger: Ledger) {
        ledger.tick(self.timer.now());
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
            refused: 0,
        };
        let end = self.ends.after.map_or(Instant::FAR, |after| self.origin + after);
        self.timer.sleep_until(self.origin.saturating_sub(NAP));
        while !self.control.stops() && course.next < course.total && self.timer.now() < end {
            self.take_turns(&mut course);
            if course.is_paused {
                let now = self.timer.now();
                ledger.tick(now);
                self.timer.sleep_until(end.min(now + NAP));
                continue;
            }
            if let Err(error) = self.call(&mut course, &mut ledger, end) {
                match error {
                    PortError::Down { .. } => self.timer.sleep_until(self.timer.now() + NAP),
                    error => self.control.fail(error.to_string()),
                }
            }
        }
        self.wind_up(&course, ledger, end);
    }

    /// One call: until a change that ends it, or all are made.
    fn call(&mut self, course: &mut Queue, ledger: &mut Ledger, end: Instant) -> Result<(), PortError> {
        let template = self.looks.of(u64::MAX).clone();
        let first = u64::from(self.share.index()) * RANGE + course.next;
        let (timer, control, progress) = (self.timer, self.control.clone(), self.progress.clone());
        let order = Order {
            first,
            most: course.total - course.next,
            rate: course.rate,
            origin_monotonic_ns: timer.to_monotonic_ns(course.due),
            until_monotonic_ns: (end != Instant::FAR).then(|| timer.to_monotonic_ns(end)),
            stop: control.stop_flag(),
        };
        let name = self.port.about().name.clone();
        let offload =
            self.port.offload().ok_or(PortError::Unable { port: name, what: "make frames itself" })?;
        offload.prepare(&template)?;
        let mut known = Made::default();
        let of = u64::from(self.share.of());
        let result = offload.make(&order, &mut |made| {
            let now = timer.now();
            note(ledger, &mut known, made);
            ledger.tick(now);
            progress.show(ledger.sent, now);
            let Some(turn) = control.turn_after(course.seen).filter(|turn| turn.at <= now) else {
                return Next::Go;
            };
            match turn.to {
                Course::Rate(rate) if course.rate.is_some() => {
                    course.seen += 1;
                    course.rate = divided(rate, of);
                    course.due = turn.at;
                    Next::Rate { rate: course.rate, origin_monotonic_ns: timer.to_monotonic_ns(turn.at) }
                }
                _ => Next::Stop,
            }
        });
        let made = result?;
        note(ledger, &mut known, &made);
        course.next += made.frames;
        course.refused += made.refused;
        if let Some(rate) = course.rate {
            course.due = course.due + rate.due(made.since_change);
        }
        add(&mut course.lateness, &made.lateness_log2_ns);
        Ok(())
    }

    fn take_turns(&mut self, course: &mut Queue) {
        let now = self.timer.now();
        while let Some(Turn { to, at }) = self.control.turn_after(course.seen).filter(|turn| turn.at <= now) {
            course.seen += 1;
            match to {
                Course::Pause => course.is_paused = true,
                Course::Resume => {
                    course.is_paused = false;
                    course.due = at;
                }
                Course::Rate(rate) => {
                    course.rate = course.rate.and_then(|_| divided(rate, self.share.of().into()));
                    course.due = at;
                }
                Course::Size(size) => {
                    if let Some(template) = self.sizes.find(size) {
                        self.looks.change(0, template);
                    }
                }
            }
        }
    }

    fn wind_up(mut self, course: &Queue, mut ledger: Ledger, end: Instant) {
        // What an even load should have made until its end, or until it was halted, and did not.
        let now = self.timer.now().min(end);
        let left = match course.rate {
            Some(rate) if !course.is_paused => {
                let until = rate.events_before(now.since(course.due));
                until.min(course.total.saturating_sub(course.next))
            }
            _ => 0,
        };
        ledger.gauges.late += course.lateness.iter().skip(LATE_FROM).sum::<u64>();
        ledger.missed(Miss::NotReached, left);
        ledger.gauges.due = ledger.gauges.offered + left;
        let _ = self.port.flush(Picos::from_secs(1));
        self.progress.show(ledger.sent, Instant::FAR);
        let mut seen = report("out", &mut *self.port, ledger.sent, ledger.sent_bytes);
        if course.refused > 0 && seen.drops.is_empty() {
            let place = port::DropPlace::TransmitDriver.key().to_owned();
            seen.drops.push(measure::packets::PlaceCount { place, frames: course.refused });
        }
        if let Ok(mut kept) = self.progress.port.lock() {
            *kept = Some(seen);
        }
        if let Ok(mut tables) = self.progress.tables.lock() {
            tables.extend(lateness_table(&course.lateness));
        }
        ledger.tick(self.timer.now());
    }
}

/// Puts what was made since the last time into the totals.
fn note(ledger: &mut Ledger, known: &mut Made, made: &Made) {
    let (frames, bytes) = (made.frames - known.frames, made.bytes - known.bytes);
    if frames > 0 {
        ledger.bulk(frames, bytes);
    }
    (known.frames, known.bytes) = (made.frames, made.bytes);
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
