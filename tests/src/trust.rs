//! Runs that something tries to spoil, and runs that nothing spoils: the verdict beside the truth.
//!
//! ```text
//!                  ┌─ saboteur ─┐
//!   tare (CPU 0) ◄─┘            └─► the way between them
//!        └──────────── load ────────────► target (CPU 1), which writes down what it did
//!
//!   told net p50, p90, p99, p99.9 beside the target's   ×   VALID, DEGRADED, INVALID
//! ```
//!
//! A run that is VALID while a printed percentile is more than 10 % off is a lie; that is what the verdict is
//! there to prevent. `bench-trust` makes all of these runs, `trust.rs` among the system tests some of them.

pub mod clean;
pub mod frames;
pub mod http;
pub mod noise;
pub mod sabotage;
pub mod table;
pub mod truth;

use crate::Run;
use noise::Watch;
use std::panic::{AssertUnwindSafe, catch_unwind};
use truth::Told;

/// From here on a printed percentile is off.
pub const OFF: f64 = 0.10;
/// Within this, a percentile of a clean run has been recovered.
pub const RECOVERED: f64 = 0.05;

/// How requests are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode {
    pub open: bool,
    pub tls: bool,
    pub uring: bool,
}

impl Mode {
    /// All eight.
    pub fn all() -> Vec<Self> {
        let two = [true, false];
        let each = two.iter().flat_map(|&open| two.map(|https| (open, !https)));
        each.flat_map(|(open, tls)| two.map(|epoll| Self { open, tls, uring: !epoll })).collect()
    }
}

impl std::fmt::Display for Mode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let load = if self.open { "open" } else { "closed" };
        let scheme = if self.tls { "https" } else { "http" };
        write!(f, "{load} {scheme} {}", if self.uring { "io_uring" } else { "epoll" })
    }
}

/// One run to be made.
pub struct Case {
    /// The row of the table that it counts in.
    pub name: String,
    /// What is special about this one: its mode, or the command.
    pub way: String,
    pub clean: bool,
    make: Box<dyn Fn(&Options) -> Outcome>,
}

/// What is allowed, and wanted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// CLOCK_REALTIME of this machine may be set.
    pub step_clock: bool,
    /// Clean runs have a real-time priority.
    pub ahead: bool,
}

impl Case {
    fn clean(case: clean::Clean, mode: Mode) -> Self {
        let make = move |options: &Options| http::clean(&case, mode, options.ahead);
        Self { name: case.name.into(), way: mode.to_string(), clean: true, make: Box::new(make) }
    }

    fn sabotage(sabotage: http::Sabotage, mode: Mode) -> Self {
        let make = move |options: &Options| match sabotage {
            http::Sabotage::Clock if !options.step_clock => {
                Outcome::Skipped("the clock is set only with --step-clock".into())
            }
            _ => http::sabotaged(sabotage, mode),
        };
        Self { name: sabotage.to_string(), way: mode.to_string(), clean: false, make: Box::new(make) }
    }

    /// Makes the run.
    pub fn make(&self, options: &Options) -> Outcome {
        (self.make)(options)
    }
}

/// All runs: about 100 clean ones, and more that are sabotaged.
pub fn all() -> Vec<Case> {
    let modes = Mode::all();
    let mut cases = Vec::new();
    for (number, clean) in clean::CLEAN.iter().enumerate() {
        // Five of the eight modes each, others from one truth to the next: 3 and 8 have no common divisor.
        cases.extend((0..5).map(|step| Case::clean(*clean, modes[(number + 3 * step) % modes.len()])));
    }
    for sabotage in http::ALL {
        cases.extend(
            modes.iter().filter(|mode| sabotage.applies(**mode)).map(|mode| Case::sabotage(*sabotage, *mode)),
        );
    }
    cases.extend(frames::all());
    cases
}

/// What came of a case.
pub enum Outcome {
    Judged(Box<Finding>),
    Skipped(String),
    /// The run or its truth could not be had.
    Broken(String),
}

/// Told and true figures of a run.
pub struct Judged {
    pub run: Run,
    pub net: Vec<Told>,
    pub gross: Vec<Told>,
}

/// The same, and what the machine did meanwhile.
pub struct Finding {
    pub judged: Judged,
    pub noise: Option<String>,
}

impl Finding {
    /// `VALID`, `DEGRADED` or `INVALID`.
    pub fn word(&self) -> &str {
        self.judged.run.word()
    }

    /// Printed net percentiles that are off.
    pub fn off(&self) -> Vec<&Told> {
        self.judged.net.iter().filter(|told| !told.within(OFF)).collect()
    }

    /// It says that the figures are the target's, and they are not.
    pub fn is_false(&self) -> bool {
        self.word() == "VALID" && !self.off().is_empty()
    }

    /// Whether p50, p90 and p99 of net (or gross) are the target's.
    pub fn recovered(&self, told: &[Told]) -> bool {
        told.iter().filter(|told| told.key != "p99_9").all(|told| told.within(RECOVERED))
    }

    /// One line: the word and why, and what is off.
    pub fn line(&self) -> String {
        let failing: Vec<String> =
            self.judged.run.failing().into_iter().map(|criterion| criterion.name).collect();
        let off: Vec<String> = self.off().into_iter().map(ToString::to_string).collect();
        let mut line = self.word().to_owned();
        if !failing.is_empty() {
            line += &format!(" ({})", failing.join(", "));
        }
        line += &if off.is_empty() {
            "; net is true".into()
        } else {
            format!("; net is off: {}", off.join("; "))
        };
        if let Some(noise) = &self.noise {
            line += &format!("; noisy: {noise}");
        }
        line
    }
}

/// Makes a run and watches the machine meanwhile. A panic (a program that is not there, a target that did not
/// start) is a run that could not be made; what it had started is ended while it unwinds.
pub fn watched(ahead: bool, make: impl FnOnce() -> Result<Judged, String>) -> Outcome {
    let watch = Watch::start();
    match catch_unwind(AssertUnwindSafe(make)) {
        Ok(Ok(judged)) => Outcome::Judged(Box::new(Finding { judged, noise: watch.noise(ahead) })),
        Ok(Err(why)) => Outcome::Skipped(why),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            Outcome::Broken(text.unwrap_or_default())
        }
    }
}
