//! Files that are named as output. A named pipe that nobody reads is refused: to open it would wait for a
//! reader.

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Result, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Opens a file for writing, and makes it if there is none. What is in it stays; `adds`: and goes before what
/// is written.
///
/// # Errors
/// It cannot be opened, or is a named pipe without a reader.
pub fn open(path: &Path, adds: bool) -> Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).write(true).append(adds).truncate(false);
    let opened = options.custom_flags(OFlags::NONBLOCK.bits() as i32).open(path);
    let file = opened.map_err(|error| match error.raw_os_error() {
        Some(libc::ENXIO) => Error::new(ErrorKind::NotConnected, "is a named pipe that nobody reads"),
        _ => error,
    })?;
    fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    Ok(file)
}

/// The same, and empties it.
///
/// # Errors
/// As [`open`].
pub fn create(path: impl AsRef<Path>) -> Result<File> {
    let file = open(path.as_ref(), false)?;
    if file.metadata()?.is_file() {
        file.set_len(0)?;
    }
    Ok(file)
}

/// Writes all of a file.
///
/// # Errors
/// As [`open`], or it is full.
pub fn write(path: impl AsRef<Path>, contents: impl AsRef<[u8]>) -> Result<()> {
    create(path)?.write_all(contents.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::process::Command;

    #[test]
    fn a_pipe_needs_a_reader_and_a_file_is_emptied_by_who_creates_it_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (pipe, file) = (folder.path().join("pipe"), folder.path().join("file"));
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert_eq!(write(&pipe, "x").unwrap_err().to_string(), "is a named pipe that nobody reads");
        let mut reader = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(&pipe).unwrap();
        write(&pipe, "x").unwrap();
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "x");
        write(&file, "one").unwrap();
        open(&file, true).unwrap().write_all(b"two").unwrap();
        drop(open(&file, false).unwrap());
        assert_eq!(std::fs::read(&file).unwrap(), b"onetwo");
        write(&file, "3").unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), b"3");
        write("/dev/null", "gone").unwrap();
    }
}
