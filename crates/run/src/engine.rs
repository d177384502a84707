//! What the arrow needs of an engine, whatever it sends: a brief before the start, hands on it while it runs,
//! and what there is to say of it at the end.
//!
//! ```text
//! Driven ── brief ─► load.rs ── start(recorders) ─► (threads) ── finish ─► result
//! ```

use crate::status::Failure;
use crate::watching::Watching;
use crate::weighed::Weighed;
use clock::{Agreement, HostClock};
use measure::{
    AskedArrivals, Choice, Conditions, FrameConditions, Loop, Measuring, Recorder, RunTotals, Settings,
    SimulatedTime, Tapped,
};
use os::peers::Peers;
use plan::Limits;
use port::interface::LinkWatch;
use schedule::{Control, Halt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::schema::SinkStatus;
use store::secrets;
use store::{Measured, RunResult, Spans};
use units::{Instant, Picos, Rate};

pub(crate) const INTERVAL: Picos = Picos::from_secs(1);

/// Makes the recorders, one for each thread, once the origin is known.
pub type MakeRecorders<'a> = &'a mut dyn FnMut(Instant) -> Vec<Tapped<Recorder>>;

/// A run that is known before it starts.
#[derive(Clone, Debug)]
pub struct Brief {
    /// `http`, `send`…: the name in `result.json` and in the run's name.
    pub engine: &'static str,
    /// The canonical plan, and its hash without the limits.
    pub plan_text: String,
    pub plan_hash: String,
    /// Files whose lines go into requests; some of them only the engine knows.
    pub line_files: Vec<PathBuf>,
    /// For people: what is loaded, and how.
    pub target: String,
    pub load: String,
    /// What one departure is called.
    pub unit: &'static str,
    pub limits: Limits,
    /// Names that figures are kept for; empty if there is only one.
    pub names: Vec<String>,
    /// The first part, which is not in the figures.
    pub warmup: Picos,
    /// Length of the measured part, where the plan says it.
    pub planned: Option<Picos>,
    /// What the progress line counts down, warm-up included.
    pub whole: Option<Picos>,
    pub threads: u16,
    /// What offers the load.
    pub load_loop: Loop,
    /// The rate, where arrivals are a Poisson process.
    pub poisson: Option<Rate>,
    /// Connections that the plan allows at once.
    pub parallel: Option<u32>,
    /// That connections leave from; 0 if they use none of the kernel's ports.
    pub source_addresses: u64,
    /// Connections are of a TCP of our own (`--via`).
    pub own_tcp: bool,
    /// Where the run's connections go.
    pub peers: Peers,
    /// The interface of the port over which they go, where the kernel does not carry them; those of the ports
    /// that receive frames.
    pub links: Vec<Arc<LinkWatch>>,
    pub spins: bool,
    /// CPUs that threads are pinned to; empty leaves it to the kernel.
    pub cpus: Vec<u32>,
    /// How bytes are moved, for `generator.io`.
    pub io: String,
    pub choices: Vec<Choice>,
    /// The rate that keys may change, or why they may not.
    pub steerable: Result<Rate, &'static str>,
    /// Whether frames are sent, which nobody answers.
    pub has_frames: bool,
    /// All times are a simulation's.
    pub simulated: bool,
    /// Of requests, whose target may live in another time.
    pub target_time: Option<SimulatedTime>,
    /// What this machine was weighed at; looked up before the start.
    pub weighed: Weighed,
}

impl Brief {
    pub fn measuring(&self) -> Measuring {
        Measuring {
            from: self.warmup,
            until: self.planned.map(|planned| self.warmup + planned),
            interval: INTERVAL,
        }
    }

    pub fn settings(&self, origin: Instant) -> Settings {
        let measured_from = origin + self.warmup;
        Settings {
            origin,
            measured_from,
            measured_until: self.planned.map_or(Instant::FAR, |planned| measured_from + planned),
            interval: INTERVAL,
            groups: self.names.len() as u16,
            threads: self.threads,
            gaps: matches!(self.load_loop, Loop::Open { .. }),
            asked: match (self.load_loop, self.poisson) {
                (_, Some(rate)) => AskedArrivals::Poisson(rate),
                (Loop::Open { gap: Some(gap) }, None) => AskedArrivals::Even(gap),
                _ => AskedArrivals::Other,
            },
            answered: !self.has_frames,
            simulated: self.simulated,
        }
    }

    /// How many intervals the run will have; 0 where that is not known beforehand.
    pub fn intervals(&self) -> u64 {
        let length = self.planned.map_or(Picos::ZERO, |planned| planned + self.warmup);
        length.as_picos().div_ceil(INTERVAL.as_picos())
    }

    /// How long the measured part was, for the rates. `is_whole`: the run was not stopped.
    pub fn length(&self, is_whole: bool, totals: &RunTotals) -> Measured {
        let planned = self.planned.filter(|planned| is_whole && !self.differs(*planned, totals));
        match (planned, self.load_loop) {
            (Some(planned), _) => Measured::Planned(planned),
            (None, Loop::Open { .. }) => Measured::Departures,
            (None, Loop::Closed | Loop::Passive) => Measured::Answers,
        }
    }

    /// A run of frames that its number of frames ended before its time, or whose departures slipped (each gap
    /// counts from the last departure as it was): what the plan says of its length is not how long it was.
    fn differs(&self, planned: Picos, totals: &RunTotals) -> bool {
        let percent = Picos::from_picos(planned.as_picos() / 100);
        self.has_frames && (totals.measured + percent < planned || planned + percent < totals.until_last_due)
    }

    /// Where the rate was changed by hand, the shortest of its gaps counts.
    pub fn conditions(&self, clock: &HostClock, control: &schedule::Control, seen: Seen) -> Conditions {
        let load = match self.load_loop {
            Loop::Open { gap: Some(gap) } => Loop::Open { gap: Some(control.shortest_gap(gap)) },
            load => load,
        };
        Conditions {
            load,
            clock: seen.agreement,
            clock_precision: clock.precision().max(clock.overhead()),
            clock_refused: clock.refused().map(|refused| refused.to_string()),
            spins: self.spins,
            cpus: self.cpus_to_run_on(),
            pinned: !self.cpus.is_empty(),
            parallel: self.parallel,
            sinks: seen.sinks,
            weighed: self.weighed.load.clone(),
            own_tcp: self.own_tcp,
            unix: self.peers.known().unix.is_some(),
            port_failed: seen.failed,
            simulated: self.target_time,
            frames: self.has_frames.then(|| seen.frames.unwrap_or_default()),
        }
    }

    fn cpus_to_run_on(&self) -> u32 {
        let count = if self.cpus.is_empty() { os::cpus::parallelism() } else { self.cpus.len() };
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    /// The plan as others may see it.
    pub fn plan_shown(&self) -> String {
        secrets::in_plan(&self.plan_text)
    }
}

/// What is known only while or after the run.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    pub agreement: Option<Agreement>,
    pub sinks: Option<measure::SinkLoss>,
    /// The engine could not go on.
    pub failed: bool,
    pub frames: Option<FrameConditions>,
}

/// Why a run stopped before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    No,
    /// The user wanted it.
    Interrupted,
    /// A limit was reached that ends a run.
    Aborted,
    /// Something else, which the reason tells.
    Otherwise,
}

impl From<Halt> for Stopped {
    fn from(halt: Halt) -> Self {
        match halt {
            Halt::No => Self::No,
            Halt::Interrupted => Self::Interrupted,
            Halt::Aborted => Self::Aborted,
            Halt::SourceLost | Halt::Failed => Self::Otherwise,
        }
    }
}

/// An engine that load.rs can drive.
pub trait Driven {
    fn brief(&self) -> Brief;

    /// Keys may change the rate; to be said before the start.
    fn allow_steering(&self);

    /// Called before the start, with the run's name.
    fn name_run(&mut self, run: &str) {
        let _ = run;
    }

    /// Starts the threads.
    fn start(&mut self, recorders: MakeRecorders<'_>) -> Result<(), Failure>;

    fn is_over(&self) -> bool;

    /// What stops its threads, and knows why they stopped.
    fn control(&self) -> &Control;

    /// Does what keys asked for.
    fn steer(&self, watching: &Watching, now: Instant);
    /// How the rate was changed by hand, as a label.
    fn steered(&self, origin: Instant) -> Option<String>;

    /// Called once it has started, with the run folder if there is one.
    fn settle_in(&mut self, folder: Option<&Path>) {
        let _ = folder;
    }

    /// Waits for the threads.
    fn join(&mut self);

    /// What it sent elsewhere by itself, past all sinks; after `join`.
    fn written(&self, totals: &RunTotals) -> Option<SinkStatus> {
        let _ = totals;
        None
    }

    /// What the verdict needs to know of frames; after `join`.
    fn frame_conditions(&self) -> Option<FrameConditions> {
        None
    }

    /// What rates are over, where the run's own length is not it; after `join`.
    fn spans(&self, spans: Spans, totals: &RunTotals) -> Spans {
        let _ = totals;
        spans
    }

    /// Puts what only this engine knows into the result: notes, labels, figures of its own; after `join`.
    fn tell(&self, result: &mut RunResult, totals: &RunTotals);
}
