//! Files that a command reads and writes: none that is read may be overwritten, and none written by two.

use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A file that is written: what asked for it, and where it is. `-` is standard output, and no file.
pub type Written = (String, PathBuf);

/// Why a command must not begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Clash {
    /// This is read, too.
    Read(Written),
    /// Two write one file.
    Twice(String, Written),
}

impl fmt::Display for Clash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read((flag, path)) => write!(
                f,
                "{flag}: this command reads {} and would overwrite it; name another file",
                path.display()
            ),
            Self::Twice(other, (flag, path)) => write!(
                f,
                "{other} and {flag} both write {}: one would overwrite the other; name different files",
                path.display()
            ),
        }
    }
}

impl std::error::Error for Clash {}

/// Whether a command may begin that reads and writes these.
///
/// # Errors
/// The first that clashes.
pub fn check(written: &[Written], read: &[PathBuf]) -> Result<(), Clash> {
    let files: Vec<&Written> = written.iter().filter(|(_, path)| path != Path::new("-")).collect();
    for (at, this) in files.iter().enumerate() {
        if read.iter().any(|read| read != Path::new("-") && is_one_file(&this.1, read)) {
            return Err(Clash::Read((*this).clone()));
        }
        if let Some((other, _)) = files[..at].iter().find(|(_, other)| is_one_file(&this.1, other)) {
            return Err(Clash::Twice(other.clone(), (*this).clone()));
        }
    }
    Ok(())
}

/// Whether two paths are of one file, which may not be there yet. Devices and pipes take more than one's words.
pub fn is_one_file(one: &Path, other: &Path) -> bool {
    match (std::fs::metadata(one), std::fs::metadata(other)) {
        (Ok(one), Ok(other)) => one.is_file() && (one.dev(), one.ino()) == (other.dev(), other.ino()),
        _ => place(one) == place(other),
    }
}

/// Links that lead on to links, at most.
const LINKS: usize = 40;

/// Of a file that is not there, its folder as it is, and its name. A link to it is followed.
fn place(path: &Path) -> Option<PathBuf> {
    let mut path = std::path::absolute(path).ok()?;
    for _ in 0..LINKS {
        let folder = path.parent()?;
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        path = folder.join(path.file_name()?);
        match std::fs::read_link(&path) {
            Ok(target) => path = folder.join(target),
            Err(_) => break,
        }
    }
    Some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_by_each_of_its_names() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("file"), "").unwrap();
        std::fs::hard_link(path("file"), path("link")).unwrap();
        assert!(is_one_file(&path("file"), &path("link")) && is_one_file(&path("new"), &path("./new")));
        assert!(!is_one_file(&path("no/new"), &path("no/other")));
        std::os::unix::fs::symlink("new", path("to-new")).unwrap();
        assert!(is_one_file(&path("new"), &path("to-new")) && !is_one_file(&path("to-new"), &path("other")));
        std::os::unix::fs::symlink("round", path("round")).unwrap();
        assert!(!is_one_file(&path("round"), &path("new")));
        assert!(!is_one_file(&path("file"), &path("new")) && !is_one_file(&path("new"), &path("other")));
        assert!(!is_one_file(Path::new("/dev/null"), Path::new("/dev/null")));
    }

    #[test]
    fn what_is_read_is_not_written_and_what_is_written_not_by_two() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("file"), "").unwrap();
        let written = |names: &[&str]| -> Vec<Written> {
            names.iter().enumerate().map(|(at, name)| (format!("--flag{at}"), path(name))).collect()
        };
        let said = |names: &[&str], read: &[PathBuf]| {
            check(&written(names), read).map_err(|clash| clash.to_string()).err().unwrap_or_default()
        };
        assert!(said(&["new", "file"], &[path("file")]).starts_with("--flag1: "));
        assert!(said(&["a", "new", "./new"], &[]).starts_with("--flag1 and --flag2 both write "));
        assert_eq!(said(&["new", "other"], &[path("file")]), "");
        let streams = [("a".to_owned(), "-".into()), ("b".to_owned(), "-".into())];
        assert_eq!(check(&streams, &["-".into()]), Ok(()));
        let devices = [("a".to_owned(), "/dev/null".into()), ("b".to_owned(), "/dev/null".into())];
        assert_eq!(check(&devices, &["/dev/null".into()]), Ok(()));
    }
}
