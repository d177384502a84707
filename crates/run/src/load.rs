//! One run, from a plan to an exit status: the arrow, joined up.
//!
//! ```text
//! Plan ─► Engine ─ Event ─► Recorder ─► Collector ─► Sink (run folder) ─► report
//!
//! prepare: what is needed is open ─► watch: from start to end ─► keep: the verdict, and all that is stored
//! ```

mod keep;
mod prepare;
mod watch;

use crate::ci_reports::{Papers, told};
use crate::engine::Driven;
use crate::http_engine::Http;
use crate::options::{Options, Output};
use crate::run_files::RunFiles;
use crate::run_sinks;
use crate::status::{Failure, Status, complain};
use crate::terminal::{print_all, style};
use crate::watching::Watching;
use clock::HostClock;
use measure::{ExitStatus, RunTotals};
use plan::{Note, Plan};
use prepare::Prepared;
pub use prepare::in_outs_words;
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use store::RunResult;

/// A finished run.
pub struct Finished {
    pub result: RunResult,
    pub status: ExitStatus,
    pub totals: RunTotals,
    /// Where the run folder is.
    pub place: Option<String>,
    watching: Watching,
    stop: Arc<AtomicBool>,
}

impl Finished {
    /// Whether all that was to be in the run folder is there. One that could not be had at all was asked for by
    /// nobody, or the run had not begun.
    pub fn is_kept(&self) -> bool {
        self.place.is_none() || self.result.store.lost.is_empty()
    }

    /// Stays until those who watched have the report.
    pub fn leave(self) {
        // Whoever interrupted the run ends the waiting by a second Ctrl-C.
        let stop = if self.result.is_interrupted() { AtomicBool::new(false).into() } else { self.stop };
        self.watching.leave(&stop);
    }
}

/// Runs the plan, prints what is wanted, and says how the process shall end.
pub fn load(plan: Plan, notes: Vec<Note>, options: &Options) -> Result<Status, Failure> {
    if options.print_plan {
        http::check_inputs(&plan).map_err(Failure::wrong)?;
        print_all(&plan.to_toml())?;
        return Ok(Status::Done);
    }
    let files = RunFiles::of_requests(&plan);
    let papers = Papers::open(options, &files)?;
    let notes = notes.iter().map(ToString::to_string).collect();
    let finished = driven(|clock| http(plan, clock, options), &files, notes, options, Some(&papers))?;
    show(finished, papers, options)
}

/// Drives an engine to its end, prints what is wanted, and says how the process shall end.
pub fn load_by(
    prepare: impl FnOnce(HostClock) -> Result<Box<dyn Driven>, Failure>,
    files: &RunFiles,
    notes: Vec<String>,
    options: &Options,
) -> Result<Status, Failure> {
    let papers = Papers::open(options, files)?;
    let finished = driven(prepare, files, notes, options, Some(&papers))?;
    show(finished, papers, options)
}

fn show(finished: Finished, papers: Papers, options: &Options) -> Result<Status, Failure> {
    let is_printed = match options.output {
        Output::Summary if run_sinks::takes_stdout(options) || papers.take_stdout() => {
            complain(&report::summary(&finished.result, style(std::io::stderr().is_terminal())));
            true
        }
        Output::Summary => {
            told(print_all(&report::summary(&finished.result, style(std::io::stdout().is_terminal()))))
        }
        Output::Json => told(print_all(&report::json(&finished.result))),
        Output::Nothing => true,
    };
    let is_written = papers.write(&finished.result) && is_printed;
    let (status, is_kept) = (finished.status, finished.is_kept());
    finished.leave();
    // What the run came to says more than that something of it is missing.
    let is_lost = status == ExitStatus::Good && !(is_written && is_kept);
    Ok(if is_lost { Status::Unwritten } else { Status::Run(status) })
}

/// Runs the plan and keeps the result; prints no summary.
pub fn quietly(plan: Plan, notes: Vec<Note>, options: &Options) -> Result<Finished, Failure> {
    let files = RunFiles::of_requests(&plan);
    let notes = notes.iter().map(ToString::to_string).collect();
    drive(|clock| http(plan, clock, options), &files, notes, options)
}

fn http(plan: Plan, clock: HostClock, options: &Options) -> Result<Box<dyn Driven>, Failure> {
    Ok(Box::new(Http::prepare(plan, clock, options.host.is_some())?))
}

/// Drives an engine to its end and keeps the result.
pub fn drive(
    prepare: impl FnOnce(HostClock) -> Result<Box<dyn Driven>, Failure>,
    files: &RunFiles,
    notes: Vec<String>,
    options: &Options,
) -> Result<Finished, Failure> {
    files.guard(options)?;
    driven(prepare, files, notes, options, None)
}

fn driven(
    prepare: impl FnOnce(HostClock) -> Result<Box<dyn Driven>, Failure>,
    files: &RunFiles,
    notes: Vec<String>,
    options: &Options,
    papers: Option<&Papers>,
) -> Result<Finished, Failure> {
    let mut run = Prepared::open(prepare, files, notes, options)?;
    if let Some(papers) = papers {
        papers.begin(run.sink.anchor().as_deref()).inspect_err(|_| run.sink.discard())?;
    }
    let watched = run.watch()?;
    Ok(run.keep(watched))
}
