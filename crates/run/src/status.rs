//! How the process ends: DESIGN's exit statuses.

use measure::ExitStatus;
use std::io::Write;
use std::process::ExitCode;

/// The status of a command that did its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Done,
    Run(ExitStatus),
    /// The run is over and nothing speaks against it, but something that was to be written of it could not be.
    Unwritten,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        match status {
            Status::Done => Self::SUCCESS,
            Status::Run(status) => Self::from(status.code()),
            Status::Unwritten => Self::FAILURE,
        }
    }
}

/// A command that could not do its work: nothing was sent.
#[derive(Debug)]
pub struct Failure(anyhow::Error);

impl Failure {
    /// The command, plan or input file is wrong: exit status 2.
    pub fn wrong(error: impl Into<anyhow::Error>) -> Self {
        Self(error.into())
    }

    /// What was wrong, if it was an error of this kind.
    pub fn cause<E: std::error::Error + Send + Sync + 'static>(&self) -> Option<&E> {
        self.0.downcast_ref()
    }

    /// What was wrong.
    pub fn into_error(self) -> anyhow::Error {
        self.0
    }

    /// Says what was wrong on standard error.
    pub fn report(&self) -> ExitCode {
        complain(&format!("tare: {}", said_once(&self.0)));
        ExitCode::from(2)
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self(error)
    }
}

/// A line on standard error. If that is gone too, there is nobody left to tell.
pub fn complain(line: &str) {
    let _ = std::io::stderr().lock().write_all(format!("{line}\n").as_bytes());
}

/// An error and its causes, each said once: many messages have their cause in them already.
pub fn said_once(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |said, cause| match said.as_str() {
        "" => cause,
        text if text.contains(&cause) => said,
        text => format!("{text}: {cause}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;

    #[test]
    fn a_cause_that_was_said_is_not_said_again() {
        assert_eq!(
            said_once(&anyhow!("no such file").context("--at x: no such file")),
            "--at x: no such file"
        );
        assert_eq!(said_once(&anyhow!("no such file").context("--at x")), "--at x: no such file");
    }
}
