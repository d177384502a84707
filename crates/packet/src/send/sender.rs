//! What every sending thread has, what others may see of it while it runs, and what it leaves behind.
//!
//! ```text
//!   SenderContext ─► pacer │ flood │ timed │ offload ─► SenderReport
//!         └─► Progress: how many have left, and through which time
//! ```

use super::ledger::{Ledger, StreamLedger};
use super::outlet::{Looks, Prepared};
use super::streams::Due;
use crate::JobControl;
use crate::ports;
use clock::Clock;
use measure::gap_meter::GapMeter;
use measure::packets::{PortReport, ScriptReport, Table};
use port::{For, Port};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use units::{Cause, Instant, Miss, Picos};

/// A port that takes nothing for so long takes nothing.
const STALL: Picos = Picos::from_secs(5);

/// What a sending thread is made with, whatever says when its frames leave.
pub struct SenderContext {
    pub port: Box<dyn Port>,
    pub looks: Looks,
    pub prepared: Arc<Prepared>,
    pub control: Arc<JobControl>,
    pub progress: Arc<Progress>,
    pub ledger: Ledger,
    /// Since when the port takes nothing.
    full_since: Option<Instant>,
}

impl SenderContext {
    pub fn new(
        port: Box<dyn Port>,
        looks: Looks,
        prepared: Arc<Prepared>,
        control: Arc<JobControl>,
        progress: Arc<Progress>,
        ledger: Ledger,
    ) -> Self {
        Self { port, looks, prepared, control, progress, ledger, full_since: None }
    }

    /// One that nobody watches or steers by hand.
    pub fn unwatched(port: Box<dyn Port>, looks: Looks, control: Arc<JobControl>, ledger: Ledger) -> Self {
        Self::new(port, looks, Arc::default(), control, Arc::default(), ledger)
    }

    /// There was no room: the frame stays, and the port is asked again after `again`. One that takes nothing
    /// for long ends the run.
    pub fn full(&mut self, now: Instant, again: Picos) {
        let since = *self.full_since.get_or_insert(now);
        if now.since(since) > STALL {
            let name = &self.port.about().name;
            self.control.fail(format!("{name} accepted no frame for {STALL}"));
        }
        // Interrupted or refused: the next round tries again.
        let _ = self.port.wait(For::Transmit, again);
    }

    /// The port took something.
    #[inline]
    pub const fn took(&mut self) {
        self.full_since = None;
    }

    /// Why departures that did not leave in time did not.
    pub const fn why_missed(&self) -> Miss {
        if self.full_since.is_some() { Miss::PortFull } else { Miss::NotReached }
    }

    /// A frame was handed over at `sent`.
    #[inline]
    pub fn sent(&mut self, due: &Due, sent: Instant, bytes: usize) {
        self.ledger.sent(due.departure, sent, bytes);
        if let Some(script) = self.looks.script() {
            script.left(due.departure.due, sent, self.ledger.tolerance());
        }
        if !self.ledger.streams.is_empty() {
            let stream = self.looks.stream_of(due);
            self.ledger.sent_of(stream, due.departure.due, sent, bytes);
        }
    }

    /// A frame was not taken, and will not be.
    pub fn failed(&mut self, due: &Due, at: Instant, cause: Cause) {
        self.ledger.failed(due.departure, at, cause);
        let stream = self.looks.stream_of(due);
        if let Some(stream) = self.ledger.streams.get_mut(stream) {
            stream.failed += 1;
        }
    }

    /// Departures that never left, and how many of each stream where that is known.
    pub fn missed(&mut self, why: Miss, count: u64, by_stream: &[u64]) {
        self.ledger.missed(why, count);
        for (stream, missed) in self.ledger.streams.iter_mut().zip(by_stream) {
            stream.missed += missed;
        }
    }

    /// So many departures were given up, and those behind them are numbered as if they had never been: whoever
    /// receives, wherever that is, misses no number.
    pub const fn leave_out(&mut self, count: u64) {
        self.looks.leave_out(count);
        self.ledger.unnumbered += count;
    }

    /// Has a script, if there is one, finish frames before they are written, and says of how many it has. One
    /// that fails ends the run.
    #[inline]
    pub fn prepare(&mut self, due: &[Due], clock: &impl Clock) -> usize {
        self.looks.prepare(due, clock).unwrap_or_else(|problem| {
            self.control.fail(problem);
            0
        })
    }

    /// From frame `first` on frames are those that were kept under this number.
    pub fn change_look(&mut self, first: u64, number: usize) {
        if let Some(template) = self.prepared.find(number) {
            self.looks.change(first, template);
        }
    }

    /// Everything that was due before `through` has left, or will not leave any more.
    #[inline]
    pub fn show(&self, through: Instant) {
        self.progress.show(self.ledger.sent, through);
    }

    /// Waits until the port has sent what it took.
    pub fn flush(&mut self) {
        let holds = self.port.about().can.holds;
        let _ = self.port.flush(Picos::from_secs(1) + holds);
    }

    /// What is known at the end.
    pub fn report(&mut self) -> SenderReport {
        self.show(Instant::FAR);
        SenderReport {
            numbered: self.ledger.numbered,
            failed: self.ledger.failed,
            missed: self.ledger.missed,
            port: report("out", &mut *self.port, self.ledger.sent, self.ledger.sent_bytes),
            gaps: self.ledger.gaps.take(),
            streams: std::mem::take(&mut self.ledger.streams),
            script: self.looks.script().map(|script| script.report()),
            ..SenderReport::default()
        }
    }
}

/// What a thread shows of itself while it runs.
#[derive(Debug, Default)]
pub struct Progress {
    pub sent: AtomicU64,
    /// Everything of this thread that was due before this has left, or will not leave any more.
    pub through_picos: AtomicU64,
}

impl Progress {
    #[inline]
    pub fn show(&self, sent: u64, through: Instant) {
        self.sent.store(sent, Ordering::Relaxed);
        self.through_picos.store(through.since_epoch().as_picos(), Ordering::Release);
    }
}

/// Numbers that no frame has: their departures were given up, and others left after them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GivenUp {
    pub first: u64,
    pub count: u64,
    pub stride: u64,
}

impl GivenUp {
    /// How many of them are below `end`.
    pub fn below(&self, end: u64) -> u64 {
        self.count.min(end.saturating_sub(self.first).div_ceil(self.stride))
    }
}

/// What a thread leaves behind.
#[derive(Clone, Debug, Default)]
pub struct SenderReport {
    /// One behind the highest number that a frame of this thread had.
    pub numbered: u64,
    /// Departures of this thread that failed: they had numbers and never left.
    pub failed: u64,
    /// Departures that never left, for whatever cause.
    pub missed: u64,
    /// Departures that were given up at a change, and all behind the end, where several threads number frames.
    pub given_up: Vec<GivenUp>,
    pub port: PortReport,
    /// Gaps between frames as this thread handed them over.
    pub gaps: Option<GapMeter>,
    /// Of each stream, where there are several.
    pub streams: Vec<StreamLedger>,
    /// What the script of this thread has done.
    pub script: Option<ScriptReport>,
    pub tables: Vec<Table>,
    /// Sentences for people.
    pub notes: Vec<String>,
    /// What the system refused this thread before it began.
    pub refused: Vec<String>,
}

/// Of all threads together: how many numbers frames had, and how many of these never left.
pub fn numbers(reports: &[SenderReport]) -> (u64, u64) {
    let numbered = reports.iter().map(|report| report.numbered).max().unwrap_or(0);
    let given_up = reports.iter().flat_map(|report| &report.given_up);
    let given_up: u64 = given_up.map(|numbers| numbers.below(numbered)).sum();
    // Those that failed had numbers, too, and never left.
    (numbered, given_up + reports.iter().map(|report| report.failed).sum::<u64>())
}

/// A port as the result shows it. Where it can no longer be asked, what the thread itself counted is all there
/// is.
pub fn report(role: &str, port: &mut dyn Port, sent: u64, sent_bytes: u64) -> PortReport {
    let report = PortReport { sent, sent_bytes, ..ports::report_of(role, port.about()) };
    ports::counted(report, port)
}
