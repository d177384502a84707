//! A run within a program of others: in a thread of its own, without signals, prints and exits.
//!
//! ```text
//! plan text ─ start ─► Run ┬─ row      each interval as it ends
//!                          ├─ stop     ends it early, with a complete result
//!                          └─ outcome  what came of it
//! ```
//!
//! The plan is read where it is given; ports and files are opened in the run's thread, and what is wrong with
//! them is part of the outcome.

use crate::frames;
use crate::loaded::Loaded;
use crate::options::{Host, Options, Output};
use crate::status::{Failure, said_once};
use measure::ExitStatus;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use store::RunResult;
use store::schema::Interval;
use units::Picos;

/// Rows that wait to be looked at; those that come when there is no room are in the result alone.
const ROWS: usize = 4_096;

/// What is to be kept of a run, and what counts as a failure.
#[derive(Clone, Debug, Default)]
pub struct Wishes {
    /// Keep it among the runs that `tare runs` lists.
    pub save: bool,
    /// Keep it in this folder.
    pub out: Option<PathBuf>,
    pub accept_invalid: bool,
}

/// A run that is over.
#[derive(Clone, Debug)]
pub struct Ended {
    pub result: RunResult,
    pub status: ExitStatus,
}

/// Nothing was sent, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// The plan, or something that it names.
    Plan(String),
    /// Nobody answered where the load should go.
    Unreachable(String),
    /// The run's thread panicked: a mistake in Tare.
    Panic,
    /// This process was forked from the one that started the run, and has none of its threads.
    Forked,
}

impl Wrong {
    fn of(failure: Failure) -> Self {
        let is_unreachable = frames::is_unreachable(&failure);
        let said = said_once(&failure.into_error());
        if is_unreachable { Self::Unreachable(said) } else { Self::Plan(said) }
    }
}

impl std::fmt::Display for Wrong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Plan(said) | Self::Unreachable(said) => f.write_str(said),
            Self::Forked => f.write_str(
                "the run was started before this process was forked, so only its parent can wait for it; start \
                 runs after the fork",
            ),
            Self::Panic => {
                f.write_str("the run panicked, which is a bug in Tare: please report it")
            }
        }
    }
}

impl std::error::Error for Wrong {}

/// What a wait came to.
#[derive(Clone, Debug, PartialEq)]
pub enum Row {
    Interval(Box<Interval>),
    /// There will be no more.
    Over,
    /// None came in that time.
    Later,
}

/// What a run has come to in a process that was forked from its own.
static FORKED: Result<Ended, Wrong> = Err(Wrong::Forked);

/// A run in its own thread. All of it may be called from any thread.
pub struct Run {
    /// The process whose thread it is.
    process: u32,
    stop: Arc<AtomicBool>,
    rows: Mutex<Receiver<Interval>>,
    end: Arc<End>,
}

/// Where a run's thread leaves what came of it.
#[derive(Default)]
struct End {
    outcome: OnceLock<Result<Ended, Wrong>>,
    is_there: Mutex<bool>,
    came: Condvar,
}

impl End {
    fn set(&self, outcome: Result<Ended, Wrong>) {
        let _ = self.outcome.set(outcome);
        *lock(&self.is_there) = true;
        self.came.notify_all();
    }
}

impl Run {
    /// Reads the plan and starts it. `name` says who runs it, in the result's `command`.
    ///
    /// # Errors
    /// The plan is wrong, or there is no thread to be had.
    pub fn start(text: &str, name: &'static str, wishes: &Wishes) -> Result<Self, Failure> {
        let stop = Arc::new(AtomicBool::new(false));
        let (send, rows) = sync_channel(ROWS);
        let options = options(wishes, Host { name, stop: stop.clone(), rows: send });
        let loaded = Loaded::read(text, "plan", |_| {}, &options)?;
        let end = Arc::new(End::default());
        let theirs = end.clone();
        let work = move || {
            // All of the run's threads are started from this one.
            os::pipes::block_signal();
            let run = AssertUnwindSafe(|| ended(loaded, &options));
            theirs.set(catch_unwind(run).unwrap_or(Err(Wrong::Panic)));
        };
        let thread = thread::Builder::new().name("tare-run".to_owned()).spawn(work);
        thread.map_err(|error| Failure::wrong(anyhow::anyhow!("cannot start the run's thread: {error}")))?;
        Ok(Self { process: std::process::id(), stop, rows: Mutex::new(rows), end })
    }

    /// Ends the run early; its result is complete, and says that it was interrupted.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Waits until the run is over, for at most `patience`. Returns what came of it if it is.
    pub fn outcome(&self, patience: Picos) -> Option<&Result<Ended, Wrong>> {
        // A lock may have been held when the process was forked, for ever.
        if self.is_forked() {
            return Some(&FORKED);
        }
        let is_there = lock(&self.end.is_there);
        let waited = self.end.came.wait_timeout_while(is_there, patience.as_std(), |is_there| !*is_there);
        drop(waited);
        self.end.outcome.get()
    }

    /// The next interval, once it has ended; waits for at most `patience`.
    pub fn row(&self, patience: Picos) -> Row {
        if self.is_forked() {
            return Row::Over;
        }
        match lock(&self.rows).recv_timeout(patience.as_std()) {
            Ok(row) => Row::Interval(Box::new(row)),
            Err(RecvTimeoutError::Disconnected) => Row::Over,
            Err(RecvTimeoutError::Timeout) => Row::Later,
        }
    }
}

impl Run {
    fn is_forked(&self) -> bool {
        std::process::id() != self.process
    }
}

/// A run that nobody can ask for its result ends.
impl Drop for Run {
    fn drop(&mut self) {
        self.stop();
    }
}

fn ended(loaded: Loaded, options: &Options) -> Result<Ended, Wrong> {
    let finished = loaded.quietly(options).map_err(Wrong::of)?;
    let (result, status) = (finished.result.clone(), finished.status);
    finished.leave();
    Ok(Ended { result, status })
}

fn options(wishes: &Wishes, host: Host) -> Options {
    Options {
        save: wishes.save || wishes.out.is_some(),
        out: wishes.out.clone(),
        accept_invalid: wishes.accept_invalid,
        output: Output::Nothing,
        host: Some(host),
        ..Options::default()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAMES: &str = "[send]\nport = \"mem:NAME\"\nrate = \"1k\"\nframes = 100\n\
        [frames]\nsize = 64\n";

    fn run(text: &str) -> Run {
        Run::start(text, "a test", &Wishes::default()).unwrap_or_else(|failure| panic!("{failure:?}"))
    }

    #[test]
    fn a_run_of_frames_ends_with_a_result_and_its_rows() {
        let run = run(&FRAMES.replace("NAME", "hosted-ends"));
        let ended = run.outcome(Picos::from_secs(30)).expect("it ends").as_ref().expect("it was sent");
        let RunResult { engine, command, store, totals, .. } = &ended.result;
        assert_eq!((engine.as_str(), command.as_str(), totals.sent), ("send", "a test", 100));
        assert!(store.folder.is_empty(), "nothing was to be kept: {}", store.folder);
        let mut sent = 0;
        while let Row::Interval(row) = run.row(Picos::ZERO) {
            sent += row.sent;
        }
        assert_eq!((sent, run.row(Picos::from_secs(30))), (100, Row::Over));
    }

    #[test]
    fn a_run_that_is_stopped_has_a_complete_result() {
        let run = run(&FRAMES.replace("NAME", "hosted-stops").replace("frames = 100", "duration = \"1h\""));
        assert_eq!(run.outcome(Picos::ZERO).map(|_| ()), None);
        while !matches!(run.row(Picos::from_secs(30)), Row::Interval(_)) {}
        run.stop();
        let ended = run.outcome(Picos::from_secs(30)).expect("it ends").as_ref().expect("it was sent");
        assert_eq!(ended.status, ExitStatus::Interrupted);
        assert!(ended.result.partial && ended.result.totals.sent > 0);
    }

    #[test]
    fn a_plan_that_is_wrong_is_refused_where_it_is_given() {
        let start = |text: &str| Run::start(text, "a test", &Wishes::default()).map(|_| ());
        let said = |text: &str| said_once(&start(text).expect_err("it is wrong").into_error());
        assert_eq!(
            said("url = \"http://127.0.0.1/\"\n[load]\nrat = 5\n"),
            "plan, line 3: unknown key `load.rat`; did you mean `load.rate`?"
        );
        assert!(said("[send]\nport = 5\n").contains("send.port"));
    }

    #[test]
    fn a_port_that_cannot_be_opened_is_the_outcome() {
        let run = run(&FRAMES.replace("mem:NAME", "packet:no-such-if"));
        let outcome = run.outcome(Picos::from_secs(30)).expect("it ends");
        let Err(Wrong::Plan(said)) = outcome else { panic!("{outcome:?}") };
        assert!(said.contains("no-such-if"), "{said}");
    }
}
