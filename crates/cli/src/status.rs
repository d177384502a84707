//! How the process ends: DESIGN's exit statuses.

use measure::ExitStatus;
use std::process::ExitCode;

/// The status of a command that did its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Done,
    Run(ExitStatus),
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        match status {
            Status::Done => Self::SUCCESS,
            Status::Run(status) => Self::from(status.code()),
        }
    }
}

/// A command that could not do its work; nothing was sent.
#[derive(Debug)]
pub struct Failure(anyhow::Error);

impl Failure {
    /// The command, plan or input file is wrong: exit status 2.
    pub fn wrong(error: impl Into<anyhow::Error>) -> Self {
        Self(error.into())
    }

    /// What was wrong.
    pub fn into_error(self) -> anyhow::Error {
        self.0
    }

    /// Says what was wrong on standard error.
    pub fn report(&self) -> ExitCode {
        eprintln!("tare: {:#}", self.0);
        ExitCode::from(2)
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self(error)
    }
}
