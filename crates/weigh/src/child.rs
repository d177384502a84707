//! A trial that is a run of this same program, in a process of its own: what is weighed is what users run.

use crate::WeighError;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{self, Read, Seek};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often a trial is looked at, how much longer than its length it may take, and how long once it was told
/// to end.
const LOOK: Duration = Duration::from_millis(10);
const OVERTIME: Duration = Duration::from_secs(20);
const PATIENCE: Duration = Duration::from_secs(5);

/// What came of a run.
pub struct Ran {
    pub status: ExitStatus,
    /// Its standard output and standard error.
    pub said: String,
    pub complaint: String,
}

/// This program.
///
/// # Errors
/// It cannot be found.
pub fn program() -> Result<PathBuf, WeighError> {
    std::env::current_exe().map_err(|source| failed("the tare program cannot be found", source))
}

/// Runs a command that takes `length`. `None` if it was stopped.
///
/// # Errors
/// It could not be started, or did not end.
pub fn run(mut command: Command, length: Duration, stop: &AtomicBool) -> Result<Option<Ran>, WeighError> {
    if stop.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let file = || tempfile::tempfile().map_err(|source| failed(OUTPUT, source));
    let (mut stdout, mut stderr) = (file()?, file()?);
    let copy = |file: &std::fs::File| file.try_clone().map_err(|source| failed(OUTPUT, source));
    command.stdin(Stdio::null()).stdout(copy(&stdout)?).stderr(copy(&stderr)?);
    let child = os::child::end_with_this_thread(&mut command)
        .spawn()
        .map_err(|source| failed("cannot start a trial", source))?;
    let status = Watched(child).wait(length + OVERTIME, stop)?;
    // One that was stopped may have been told so before it could handle signals.
    let Some(status) = status.filter(|_| !stop.load(Ordering::Relaxed)) else { return Ok(None) };
    Ok(Some(Ran { status, said: whole(&mut stdout)?, complaint: whole(&mut stderr)? }))
}

const OUTPUT: &str = "cannot make a file for a trial's output";

fn failed(what: &str, source: io::Error) -> WeighError {
    WeighError::System { what: what.to_owned(), source }
}

fn whole(file: &mut std::fs::File) -> Result<String, WeighError> {
    let mut text = String::new();
    let read = file.rewind().and_then(|()| file.read_to_string(&mut text));
    read.map(|_| text).map_err(|source| failed("cannot read a trial's output", source))
}

/// A child that is ended when this is dropped.
struct Watched(Child);

impl Watched {
    /// `None` if it was stopped and did not end.
    fn wait(mut self, limit: Duration, stop: &AtomicBool) -> Result<Option<ExitStatus>, WeighError> {
        let mut left = limit;
        let mut is_told = false;
        loop {
            if let Some(status) =
                self.0.try_wait().map_err(|source| failed("cannot wait for a trial", source))?
            {
                return Ok(Some(status));
            }
            if stop.load(Ordering::Relaxed) && !is_told {
                is_told = true;
                // A Ctrl-C of the terminal reached it as well; one more would make it quit at once, which is
                // what is wanted.
                let _ = kill_process(Pid::from_child(&self.0), Signal::INT);
                left = left.min(PATIENCE);
            }
            if left.is_zero() {
                let why = format!("a trial did not end within {} s", limit.as_secs());
                return if is_told { Ok(None) } else { Err(WeighError::Wrong(why)) };
            }
            std::thread::sleep(LOOK);
            left = left.saturating_sub(LOOK);
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        // It has usually ended; if not, it is ended now.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn what_a_run_says_is_kept() {
        let never = AtomicBool::new(false);
        let ran = run(shell("echo out; echo err >&2; exit 5"), Duration::ZERO, &never).unwrap().unwrap();
        assert_eq!(
            (ran.status.code(), ran.said.as_str(), ran.complaint.as_str()),
            (Some(5), "out\n", "err\n")
        );
        assert!(run(Command::new("/no/such/program"), Duration::ZERO, &never).is_err());
    }

    #[test]
    fn a_run_that_is_stopped_ends() {
        let stop = AtomicBool::new(false);
        let ran = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(50));
                stop.store(true, Ordering::Relaxed);
            });
            run(shell("exec sleep 60"), Duration::from_secs(60), &stop).unwrap()
        });
        assert!(ran.is_none());
        assert!(run(shell("true"), Duration::ZERO, &stop).unwrap().is_none(), "none is begun");
    }
}
