//! What is to be done with a run and its result, whatever was typed to ask for it.

use crate::progress::Shown;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::SyncSender;
use store::schema::Interval;

/// What is to be done with the result.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub print_plan: bool,
    pub out: Option<PathBuf>,
    pub save: bool,
    /// Kept only for a while: no business of `tare runs`.
    pub unlisted: bool,
    /// Every single request in the run folder.
    pub samples: bool,
    /// What `tare runs` and `tare compare` shall find the run by.
    pub tags: Vec<catalogue::Tag>,
    /// Other places (`--to`), as they were typed.
    pub to: Vec<String>,
    pub output: Output,
    pub progress: Shown,
    pub accept_invalid: bool,
    /// Papers for CI servers; `-` is standard output.
    pub junit: Option<PathBuf>,
    pub markdown: Option<PathBuf>,
    /// Files that the command read before there was a plan: none is to be overwritten.
    pub reads: Vec<PathBuf>,
    pub live: Live,
    /// The program that the run is part of, if that is not the `tare` command.
    pub host: Option<Host>,
}

/// A program that a run is part of. Its signals are its own, and it hears of the run instead of a terminal.
#[derive(Clone, Debug)]
pub struct Host {
    /// What stands as the command in the result; what the program was called with is none of ours.
    pub name: &'static str,
    /// Ends the run when it is set, as Ctrl-C ends a command.
    pub stop: Arc<AtomicBool>,
    /// Gets each interval when it has ended; the run never waits for room there.
    pub rows: SyncSender<Interval>,
}

/// How a run is shown while it goes on, as it was typed.
#[derive(Clone, Debug, Default)]
pub struct Live {
    /// Of a web page, if there shall be one; empty where any will do.
    pub address: Option<String>,
    /// What viewers must give, or `@FILE`.
    pub token: Option<String>,
    /// How long the page is served after the run.
    pub linger: Option<String>,
    /// A line of progress instead of a view that fills the terminal.
    pub no_view: bool,
}

/// What is printed at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Output {
    #[default]
    Summary,
    Json,
    Nothing,
}
