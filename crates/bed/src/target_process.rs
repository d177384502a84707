//! `tare target` as a child of this process: its CPU time, descriptors and pauses are then not the generator's.

use crate::Namespace;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{self, BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

/// Why there is no target, or nothing is known of it.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    #[error("{what}")]
    System { what: &'static str, source: io::Error },
    #[error("the target did not start")]
    Ended,
}

fn failed(what: &'static str) -> impl Fn(io::Error) -> TargetError {
    move |source| TargetError::System { what, source }
}

/// The target at work. Dropped, it is ended; so it is where this process is killed, and where the thread ends
/// that started it.
pub struct TargetProcess {
    child: Child,
    says: BufReader<ChildStdout>,
    url: String,
}

impl TargetProcess {
    /// `tare target <arguments>`, on a free port of 127.0.0.1. It listens when this returns.
    ///
    /// # Errors
    /// It could not be started, or ended before it listened.
    pub fn start(arguments: &[&str]) -> Result<Self, TargetError> {
        Self::start_by(Command::new, arguments)
    }

    /// The same in a namespace, on the addresses that `--listen` or `--over` says.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn start_inside(namespace: &Namespace, arguments: &[&str]) -> Result<Self, TargetError> {
        Self::start_by(|program| namespace.command(&program.display().to_string()), arguments)
    }

    fn start_by(command: impl FnOnce(PathBuf) -> Command, arguments: &[&str]) -> Result<Self, TargetError> {
        let program = std::env::current_exe().map_err(failed("the tare program cannot be found"))?;
        let mut command = command(program);
        command.arg("target").args(arguments).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = os::child::end_with_this_thread(&mut command)
            .spawn()
            .map_err(failed("the target could not be started"))?;
        let says = BufReader::new(child.stdout.take().expect("standard output is a pipe"));
        let mut target = Self { child, says, url: String::new() };
        let mut line = String::new();
        target.says.read_line(&mut line).map_err(failed("cannot read the target's output"))?;
        let url = line.trim().strip_prefix("listening on ").ok_or(TargetError::Ended)?;
        target.url = format!("{url}/");
        Ok(target)
    }

    /// `http://127.0.0.1:PORT/`, or https; of another place, its first address.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Ends it, and hears what it says at its end.
    ///
    /// # Errors
    /// Its standard output broke off.
    pub fn end(mut self) -> Result<String, TargetError> {
        self.signal();
        let mut said = String::new();
        self.says.read_to_string(&mut said).map_err(failed("cannot read the target's output"))?;
        Ok(said)
    }

    fn signal(&self) {
        // It may have ended already; until it is waited for, its number is nobody else's.
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
    }
}

impl Drop for TargetProcess {
    fn drop(&mut self) {
        self.signal();
        // There is nothing to be done about a child that cannot be waited for.
        let _ = self.child.wait();
    }
}
