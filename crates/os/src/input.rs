//! Files that are named as input. A named pipe is not opened, which would wait for somebody to write to it, and
//! take what somebody else was to read; one that a shell has opened is (`<(seq 100)`).

use std::fs::{File, FileType, metadata};
use std::io::{Error, ErrorKind, Read, Result};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// Where a process finds what is open already.
const OPEN: [&str; 3] = ["/dev/fd", "/dev/stdin", "/proc"];

/// Opens a file for reading; links are followed.
///
/// # Errors
/// It cannot be opened, or has no end that can be waited for: a named pipe, a socket, a device, a folder.
pub fn open(path: &Path) -> Result<File> {
    match metadata(path)?.file_type() {
        kind if is_readable(path, kind) => File::open(path),
        kind if kind.is_dir() => Err(Error::new(ErrorKind::IsADirectory, "is not a regular file")),
        _ => Err(Error::new(ErrorKind::InvalidInput, "is not a regular file")),
    }
}

fn is_readable(path: &Path, kind: FileType) -> bool {
    let is_open = || OPEN.iter().any(|place| path.starts_with(place));
    kind.is_file()
        || path == Path::new("/dev/null")
        || ((kind.is_fifo() || kind.is_char_device()) && is_open())
}

/// As [`open`], but only a file that can be read again and again.
///
/// # Errors
/// As [`open`].
pub fn open_regular(path: &Path) -> Result<File> {
    match metadata(path)?.is_file() {
        true => File::open(path),
        false => Err(Error::new(ErrorKind::InvalidInput, "is not a regular file")),
    }
}

/// All bytes of a file.
///
/// # Errors
/// As [`open`].
pub fn read(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes).map(|_| bytes)
}

/// All text of a file.
///
/// # Errors
/// As [`open`], or it is not UTF-8.
pub fn read_to_string(path: &Path) -> Result<String> {
    let mut text = String::new();
    open(path)?.read_to_string(&mut text).map(|_| text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;
    use std::process::Command;

    #[test]
    fn a_named_pipe_is_not_opened_and_one_that_is_open_is() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for said in [open(&pipe), open_regular(&pipe), open(folder.path()), open(Path::new("/dev/zero"))] {
            assert_eq!(said.unwrap_err().to_string(), "is not a regular file");
        }
        let (reader, writer) = std::io::pipe().unwrap();
        drop(writer);
        let name = format!("/dev/fd/{}", reader.as_raw_fd());
        assert_eq!(read(Path::new(&name)).unwrap(), b"");
        assert!(open_regular(Path::new(&name)).is_err());
        assert_eq!(read_to_string(Path::new("/dev/null")).unwrap(), "");
        std::fs::write(folder.path().join("file"), "text").unwrap();
        assert_eq!(read_to_string(&folder.path().join("file")).unwrap(), "text");
    }
}
