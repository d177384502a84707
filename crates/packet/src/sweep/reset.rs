//! Reset (RFC 2544 §26.6, RFC 6201): how long a device that is reset forwards nothing.
//!
//! ```text
//!            before          patience, at most                 after
//!   origin ────────► asked ─────────────────────► back again ─────────► end
//!   ■■■■■■■■■■■■■■■■■■■■■■A                      B■■■■■■■■■■■■■■■■■■■     arrivals; B − A is the reset time
//! ```
//!
//! A and B are stamps of frames. When to end is decided here, as looks are taken at what arrives; it decides
//! nothing of the figure.

use super::carry::{Look, Step};
use super::load::Load;
use super::pauses::Pause;
use super::tables::column;
use super::trial::Judged;
use measure::packets::{Cell, Table};
use units::{Instant, Picos};

/// A shorter interruption may be the machine's: nobody waits for it to be over.
const LEAST: Picos = Picos::from_millis(50);
const LEAST_GAPS: u64 = 10;
/// If nothing arrives for so much longer than the stream should have flowed, nothing will.
const SILENCE: Picos = Picos::from_secs(1);

/// An even stream, and how long is waited for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResetOrder {
    pub load: Load,
    /// The stream flows so long before the device is reset, and when it is back.
    pub before: Picos,
    pub after: Picos,
    /// From when the reset is asked for until the device must be back.
    pub patience: Picos,
}

impl ResetOrder {
    pub fn longest(&self) -> Picos {
        self.before + SILENCE + self.patience + self.after
    }

    /// As patient as it can be with this many frames.
    #[must_use]
    pub fn within(self, frames: u64) -> Self {
        let most = Picos::from_secs_f64((frames - 1) as f64 / self.load.as_per_second());
        let patience = most.saturating_sub(self.before + SILENCE + self.after);
        Self { patience: self.patience.min(patience), ..self }
    }

    /// The shortest interruption that is taken for a reset.
    pub fn least(&self) -> Picos {
        LEAST.max(self.load.rate().gap().saturating_mul(LEAST_GAPS))
    }
}

/// Whoever resets the device.
pub trait Ask {
    /// It is to be reset now.
    fn begin(&mut self, now: Instant);
    /// Whether it is known that nothing will come of it.
    fn has_failed(&mut self, now: Instant) -> bool;
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Back,
    /// Nothing arrived before it was asked for.
    Silent,
    /// The stream was never interrupted, or not for long.
    Untouched,
    NotBack,
    /// Nothing came of the command.
    Failed,
    /// The user ended the run.
    Unfinished,
}

/// The stream as it is watched. No I/O.
#[derive(Debug)]
pub struct Watched {
    order: ResetOrder,
    origin: Instant,
    pub asked: Option<Instant>,
    pub ended: Option<Instant>,
    failed: Option<Instant>,
    /// The longest interruption that is over, and since when.
    back: Option<(Picos, Instant)>,
    /// Frames that have arrived, and since when there are no more.
    arrived: (u64, Instant),
    outcome: Outcome,
}

impl Watched {
    pub const fn new(order: &ResetOrder, origin: Instant) -> Self {
        Self {
            order: *order,
            origin,
            asked: None,
            ended: None,
            failed: None,
            back: None,
            arrived: (0, origin),
            outcome: Outcome::Unfinished,
        }
    }

    pub const fn outcome(&self) -> Outcome {
        self.outcome
    }

    pub fn step(&mut self, look: &Look, ask: &mut dyn Ask) -> Step {
        let Look { now, arrived, pause } = *look;
        let (order, least) = (self.order, self.order.least());
        if arrived > self.arrived.0 {
            self.arrived = (arrived, now);
        }
        if self.ended.is_some() {
            return Step::On;
        }
        let Some(asked) = self.asked else {
            let flowed = now.since(self.origin);
            return match arrived > 0 {
                true if flowed >= order.before => {
                    self.asked = Some(now);
                    ask.begin(now);
                    Step::Count
                }
                false if flowed >= order.before + SILENCE => self.end(now, Outcome::Silent),
                _ => Step::On,
            };
        };
        if ask.has_failed(now) {
            self.failed.get_or_insert(now);
        }
        if pause >= least && self.back.is_none_or(|(longest, _)| pause > longest) {
            self.back = Some((pause, now));
        }
        let flows = now.since(self.arrived.1) < least;
        let is_late = now.since(asked) >= order.patience;
        match (self.back, flows) {
            (Some((_, since)), true) if now.since(since) >= order.after => self.end(now, Outcome::Back),
            (Some(_), true) => Step::On,
            (_, false) if is_late => self.end(now, Outcome::NotBack),
            (None, true) if is_late && self.failed.is_none() => self.end(now, Outcome::Untouched),
            (None, true) if is_late => self.end(now, Outcome::Failed),
            (None, true) if self.failed.is_some_and(|failed| now.since(failed) >= order.after) => {
                self.end(now, Outcome::Failed)
            }
            _ => Step::On,
        }
    }

    fn end(&mut self, now: Instant, outcome: Outcome) -> Step {
        (self.ended, self.outcome) = (Some(now), outcome);
        Step::End
    }
}

/// One reset, as it is told.
#[derive(Clone, Debug)]
pub struct Reset {
    pub size: u32,
    pub load: Load,
    pub order: ResetOrder,
    /// `power`: what the user calls it, if anything.
    pub name: Option<String>,
    /// `hand`, or how the command ended.
    pub how: String,
    pub is_command: bool,
    /// It failed, could not be started, or still ran at the end and was killed.
    pub command_failed: bool,
    /// Since the sweep began.
    pub asked: Option<Picos>,
    pub outcome: Outcome,
    pub pause: Option<Pause>,
    /// Of all frames that were due: lost on the way, or not taken by a link that was down; and lost here.
    pub lost: u64,
    pub unsent: u64,
    pub lost_here: u64,
    pub late: Picos,
    pub judged: Judged,
}

impl Reset {
    /// B − A, where there was a reset.
    pub fn time(&self) -> Option<Picos> {
        let is_known = self.outcome == Outcome::Back && self.judged.is_of_use() && !self.command_failed;
        self.pause.filter(|_| is_known).map(Pause::length)
    }

    /// Whether its command failed or had to be killed: what the stream shows is then no reset that was asked
    /// for, nor the lack of one.
    pub const fn is_of_a_failed_command(&self) -> bool {
        self.command_failed
    }

    fn words(&self) -> String {
        let least = self.order.least();
        match self.outcome {
            _ if !self.judged.is_of_use() => self.judged.words(),
            Outcome::Failed => "the command failed, and the stream was not interrupted".to_owned(),
            _ if self.command_failed => format!("void, because of its {}", self.how),
            Outcome::Back => "found".to_owned(),
            Outcome::Silent => "no frame arrived before the reset".to_owned(),
            Outcome::Untouched => {
                format!("no interruption of {least:#} or more within {:#}", self.order.patience)
            }
            Outcome::NotBack => format!("no frames again within {:#}", self.order.patience),
            Outcome::Unfinished => "the run was interrupted".to_owned(),
        }
    }

    /// The statement that the RFC asks for.
    pub fn statement(&self, number: usize) -> String {
        let by = if self.is_command { "by command" } else { "by hand" };
        let by = self.name.as_ref().map_or_else(|| by.to_owned(), |name| format!("{name}, {by}"));
        match self.time() {
            Some(time) => format!("reset {number} ({by}): no frames for {time:#}"),
            None => format!("reset {number} ({by}): {}", self.words()),
        }
    }

    fn row(&self, number: usize) -> Vec<Cell> {
        let by_loss = (self.lost + self.unsent) as f64 / self.load.as_per_second() * 1e9;
        let ns = |time: Picos| Cell::Figure(time.as_nanos() as f64);
        vec![
            Cell::Figure(number as f64),
            self.name.clone().map_or(Cell::Nothing, Cell::Words),
            Cell::Figure(f64::from(self.size)),
            Cell::Figure(self.load.as_per_second()),
            self.asked.map_or(Cell::Nothing, ns),
            self.time().map_or(Cell::Nothing, ns),
            ns(self.load.rate().gap() + self.late + self.pause.map_or(Picos::ZERO, Pause::unsure)),
            Cell::Figure(self.lost as f64),
            Cell::Figure(self.unsent as f64),
            Cell::Figure(self.lost_here as f64),
            self.time().map_or(Cell::Nothing, |_| Cell::Figure(by_loss)),
            Cell::Words(self.how.clone()),
            Cell::Words(self.words()),
        ]
    }
}

/// A row for each reset.
pub fn resets(resets: &[Reset]) -> Option<Table> {
    let columns = [
        ("reset", "count"),
        ("kind", ""),
        ("frame size", "bytes"),
        ("load", "frames/s"),
        ("asked for at", "ns"),
        ("reset time", "ns"),
        ("within", "ns"),
        ("lost", "count"),
        ("not taken by the link", "count"),
        ("lost here", "count"),
        ("by lost frames", "ns"),
        ("reset by", ""),
        ("ended", ""),
    ];
    (!resets.is_empty()).then(|| Table {
        key: "resets".to_owned(),
        title: "Resets".to_owned(),
        columns: columns.iter().map(|(name, unit)| column(name, unit)).collect(),
        rows: resets.iter().enumerate().map(|(index, reset)| reset.row(index + 1)).collect(),
        notes: vec![
            "'reset time' is from the last frame before the longest interruption to the first after it (RFC 2544 26.6)"
                .to_owned(),
            "'within' is the error of that time: the gap between frames, how late the latest frame left, and how long \
             the receiver was not looking"
                .to_owned(),
            "'by lost frames' is the number of lost frames divided by the load (RFC 6201): longer than the reset time if \
             more interruptions lost frames, shorter if the device kept some"
                .to_owned(),
        ],
    })
}

#[cfg(test)]
mod tests;
