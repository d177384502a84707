//! Numbers that one process on this machine has to itself: locks on ranges of a file's bytes.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// Where a machine keeps locks; what is there is gone after a boot.
const LOCKS: &str = "/run/lock";

/// A range that is ours until this is dropped, or the process ends however it may.
#[derive(Debug)]
pub struct Claim {
    _file: File,
}

/// Claims `count` numbers from `first` on; `None` if somebody else, or another claim of this process, has one
/// of them. `name` says what the numbers are of, in letters that a file's name may have.
///
/// # Errors
/// The file cannot be made or locked. Numbers are at most 2⁶² − 1, since the kernel counts bytes with a sign.
pub fn claim(name: &str, first: u64, count: u64) -> io::Result<Option<Claim>> {
    let folder = Path::new(LOCKS);
    let folder = if folder.is_dir() { folder.to_owned() } else { std::env::temp_dir() };
    claim_in(&folder.join(name), first, count)
}

fn claim_in(path: &PathBuf, first: u64, count: u64) -> io::Result<Option<Claim>> {
    let file = File::options().read(true).write(true).create(true).truncate(false).open(path)?;
    // SAFETY: all zeros is a flock: no process, nothing from the start of the file.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    (lock.l_type, lock.l_whence) = (libc::F_WRLCK as _, libc::SEEK_SET as _);
    (lock.l_start, lock.l_len) = (first as libc::off_t, count as libc::off_t);
    // SAFETY: the descriptor is open, and the call reads a flock that lives throughout.
    if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const lock) } == 0 {
        return Ok(Some(Claim { _file: file }));
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::EAGAIN | libc::EACCES) => Ok(None),
        _ => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_had_once_until_its_claim_is_dropped() {
        let path = std::env::temp_dir().join(format!("tare-claim-{}", std::process::id()));
        let claim = |first, count| claim_in(&path, first, count).expect("a lock on a file of our own");
        let mine = claim(10, 3).expect("nobody has it");
        assert!(claim(12, 1).is_none() && claim(0, 11).is_none());
        let beside = [claim(13, 5), claim(0, 10), claim((1 << 62) - 1, 1)];
        assert!(beside.iter().all(Option::is_some));
        drop(mine);
        assert!(claim(10, 3).is_some());
        std::fs::remove_file(&path).expect("it was made");
    }
}
