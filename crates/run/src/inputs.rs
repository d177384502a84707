//! What the files of a plan held, so that nobody takes two loads for one because their files have one name.

use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use store::schema::InputFile;

/// What is larger is told by its size alone: to read it again would take seconds.
const LONGEST: u64 = 1 << 30;

/// Files as they were before the run.
#[derive(Debug, Default)]
pub struct Inputs(Vec<(PathBuf, Look)>);

#[derive(Debug, PartialEq, Eq)]
struct Look {
    bytes: u64,
    changed: Option<SystemTime>,
}

impl Inputs {
    /// Looks at them. What is no file with a length (a pipe) is left out.
    pub fn look(files: &[PathBuf]) -> Self {
        Self(files.iter().filter_map(|file| Some((std::path::absolute(file).ok()?, look(file)?))).collect())
    }

    /// Reads them, when the load is over. One that has changed meanwhile has no digest.
    pub fn read(&self) -> Vec<InputFile> {
        let read = |(file, before): &(PathBuf, Look)| {
            let is_as_before = || look(file).as_ref() == Some(before);
            let digest = (before.bytes <= LONGEST && is_as_before()).then(|| digest(file).ok()).flatten();
            InputFile {
                file: file.display().to_string(),
                bytes: before.bytes,
                sha256: digest.filter(|_| is_as_before()),
            }
        };
        self.0.iter().map(read).collect()
    }
}

/// Whether two paths are of one file, which may not be there yet. Devices and pipes take more than one's words.
pub fn is_one_file(one: &Path, other: &Path) -> bool {
    match (std::fs::metadata(one), std::fs::metadata(other)) {
        (Ok(one), Ok(other)) => one.is_file() && (one.dev(), one.ino()) == (other.dev(), other.ino()),
        _ => place(one) == place(other),
    }
}

/// Of a file that is not there, its folder as it is, and its name.
fn place(path: &Path) -> Option<PathBuf> {
    let path = std::path::absolute(path).ok()?;
    let folder = path.parent()?;
    Some(folder.canonicalize().unwrap_or_else(|_| folder.to_owned()).join(path.file_name()?))
}

fn look(file: &Path) -> Option<Look> {
    let about = std::fs::metadata(file).ok().filter(std::fs::Metadata::is_file)?;
    Some(Look { bytes: about.len(), changed: about.modified().ok() })
}

/// In hexadecimal.
fn digest(file: &Path) -> io::Result<String> {
    let (mut file, mut piece, mut hash) = (File::open(file)?, vec![0; 1 << 16], Sha256::new());
    loop {
        let count = file.read(&mut piece)?;
        if count == 0 {
            return Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect());
        }
        hash.update(&piece[..count]);
    }
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
        assert!(!is_one_file(&path("file"), &path("new")) && !is_one_file(&path("new"), &path("other")));
        assert!(!is_one_file(Path::new("/dev/null"), Path::new("/dev/null")));
    }

    #[test]
    fn a_file_has_its_digest_unless_it_changes_meanwhile() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["kept", "grown", "gone"] {
            std::fs::write(path(name), "abc").unwrap();
        }
        let inputs =
            Inputs::look(&[path("kept"), path("grown"), path("gone"), path("missing"), "/dev/null".into()]);
        std::fs::write(path("grown"), "abcd").unwrap();
        std::fs::remove_file(path("gone")).unwrap();
        let read = inputs.read();
        let digests: Vec<_> = read.iter().map(|input| input.sha256.as_deref()).collect();
        // FIPS 180-4's own example.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(digests, [Some(abc), None, None]);
        assert!(read.iter().all(|input| input.bytes == 3));
    }
}
