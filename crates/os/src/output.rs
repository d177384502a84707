//! Files that are named as output. A named pipe that nobody reads is refused: to open it would wait for a
//! reader. What is open already (`/dev/stdout`, `/dev/fd/5`) is written on from where it is, and never emptied.

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Result, Write};
use std::os::fd::{BorrowedFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Whether this is standard output: `-`, or a name of its descriptor.
pub fn is_stdout(path: &Path) -> bool {
    path == Path::new("-") || descriptor(path) == Some(1)
}

/// The descriptor of this process that a path is a name of.
pub fn descriptor(path: &Path) -> Option<RawFd> {
    let path = path.to_str()?;
    match path {
        "/dev/stdin" => return Some(0),
        "/dev/stdout" => return Some(1),
        "/dev/stderr" => return Some(2),
        _ => {}
    }
    let own = format!("/proc/{}/fd/", std::process::id());
    let number = ["/dev/fd/", "/proc/self/fd/", &own].iter().find_map(|place| path.strip_prefix(place))?;
    number.parse().ok().filter(|number| *number >= 0)
}

/// Opens a file for writing, and makes it if there is none. What is in it stays; `adds`: and goes before what
/// is written.
///
/// # Errors
/// It cannot be opened, or is a named pipe without a reader.
pub fn open(path: &Path, adds: bool) -> Result<File> {
    if let Some(number) = descriptor(path) {
        return again(number);
    }
    let mut options = OpenOptions::new();
    options.create(true).write(true).append(adds).truncate(false);
    let opened = options.custom_flags(OFlags::NONBLOCK.bits() as i32).open(path);
    let file = opened.map_err(|error| match error.raw_os_error() {
        Some(libc::ENXIO) => Error::new(ErrorKind::NotConnected, "it is a named pipe that nobody reads"),
        _ => error,
    })?;
    fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    Ok(file)
}

/// Another descriptor of what is open: both write at one place.
fn again(number: RawFd) -> Result<File> {
    // SAFETY: it is borrowed for this call alone, and one that is not open is refused.
    let open = unsafe { BorrowedFd::borrow_raw(number) };
    if fcntl_getfl(open)? & OFlags::RWMODE == OFlags::RDONLY {
        return Err(Error::new(ErrorKind::PermissionDenied, "it is open for reading only"));
    }
    Ok(File::from(open.try_clone_to_owned()?))
}

/// The same, and empties it.
///
/// # Errors
/// As [`open`].
pub fn create(path: impl AsRef<Path>) -> Result<File> {
    let file = open(path.as_ref(), false)?;
    empty(path.as_ref(), &file)?;
    Ok(file)
}

/// Empties a file that was opened by this name: a regular one that nobody had open before.
///
/// # Errors
/// It cannot be.
pub fn empty(path: &Path, file: &File) -> Result<()> {
    match descriptor(path).is_none() && file.metadata()?.is_file() {
        true => file.set_len(0),
        false => Ok(()),
    }
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
    use std::os::fd::AsRawFd;
    use std::process::Command;

    #[test]
    fn what_is_open_already_is_written_on_and_never_emptied() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        std::fs::write(&log, "first\n").unwrap();
        let open_log = OpenOptions::new().append(true).open(&log).unwrap();
        for place in ["/dev/fd", "/proc/self/fd"] {
            write(format!("{place}/{}", open_log.as_raw_fd()), "more\n").unwrap();
        }
        let plain = OpenOptions::new().write(true).open(&log).unwrap();
        (&plain).write_all(b"FIRST").unwrap();
        write(format!("/dev/fd/{}", plain.as_raw_fd()), "!").unwrap();
        assert_eq!(std::fs::read_to_string(&log).unwrap(), "FIRST!more\nmore\n");
        let reader = File::open(&log).unwrap();
        assert!(open(Path::new(&format!("/dev/fd/{}", reader.as_raw_fd())), false).is_err());
        assert!(open(Path::new("/dev/fd/1000000"), false).is_err());
        for name in ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
            assert!(is_stdout(Path::new(name)), "{name}");
        }
        assert!(!is_stdout(Path::new("/dev/fd/2")) && !is_stdout(&log));
    }

    #[test]
    fn a_pipe_needs_a_reader_and_a_file_is_emptied_by_who_creates_it_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (pipe, file) = (folder.path().join("pipe"), folder.path().join("file"));
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert_eq!(write(&pipe, "x").unwrap_err().to_string(), "it is a named pipe that nobody reads");
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
