//! The other end of the socket: asks a run, waits for its one line.

use super::{SOCKET, short_path};
use crate::control::{Answer, LONGEST_LINE};
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A run answers within this: a mark waits for a second at most.
const PATIENCE: Duration = Duration::from_secs(5);
/// A longer answer is cut off.
const LONGEST_ANSWER: u64 = 1 << 20;

/// A run could not be asked.
#[derive(Debug, thiserror::Error)]
pub enum CtlError {
    #[error("the run in {} is not under way, or accepts no commands: it has no socket {SOCKET}", .0.display())]
    NotUnderWay(PathBuf),
    #[error("the command has {0} bytes; a run accepts at most {LONGEST_LINE}")]
    TooLong(usize),
    #[error("the run in {} does not reply: {error}", folder.display())]
    Silent { folder: PathBuf, error: std::io::Error },
}

/// Asks the run in `folder`, and gives what it said.
///
/// # Errors
/// The run could not be asked. What it refused is in the answer.
pub fn ask(folder: &Path, command: &str) -> Result<Answer, CtlError> {
    if command.len() >= LONGEST_LINE {
        return Err(CtlError::TooLong(command.len()));
    }
    let silent = |error| CtlError::Silent { folder: folder.to_owned(), error };
    let mut stream = connect(folder).map_err(|error| match error.kind() {
        ErrorKind::NotFound | ErrorKind::ConnectionRefused | ErrorKind::NotADirectory => {
            CtlError::NotUnderWay(folder.to_owned())
        }
        _ => silent(error),
    })?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(silent)?;
    stream.set_write_timeout(Some(PATIENCE)).map_err(silent)?;
    stream.write_all(format!("{}\n", command.replace('\n', " ")).as_bytes()).map_err(silent)?;
    let mut line = String::new();
    BufReader::new(stream.take(LONGEST_ANSWER)).read_line(&mut line).map_err(silent)?;
    let line = line.trim_end();
    match (line.strip_prefix("ok"), line.strip_prefix("error ")) {
        (Some(said), _) => Ok(Ok(said.trim_start().to_owned())),
        (None, Some(why)) => Ok(Err(why.to_owned())),
        (None, None) => Err(silent(std::io::Error::other("the connection was closed"))),
    }
}

fn connect(folder: &Path) -> std::io::Result<UnixStream> {
    let opened = File::open(folder)?;
    UnixStream::connect(short_path(&opened, SOCKET))
}
