//! What the files of a plan held, so that nobody takes two loads for one because their files have one name.

use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use store::schema::InputFile;

/// What is larger is told by its size alone: to read it again would take seconds.
const LONGEST: u64 = 1 << 30;

/// Files as they were before the run.
#[derive(Debug, Default)]
pub struct Inputs(Vec<(PathBuf, Look)>);

/// What is another when a file is, or holds something else: also when another with the same times was put in
/// its place.
#[derive(Debug, PartialEq, Eq)]
enum Look {
    File {
        bytes: u64,
        place: (u64, u64),
        changed: [(i64, i64); 2],
    },
    /// It has no length, and can be read but once.
    Stream,
    Nothing,
}

impl Look {
    fn bytes(&self) -> u64 {
        if let Self::File { bytes, .. } = self { *bytes } else { 0 }
    }
}

impl Inputs {
    /// Looks at them. What is not there is left out.
    pub fn look(files: &[PathBuf]) -> Self {
        Self(files.iter().filter_map(|file| Some((name(file)?, look(file)?))).collect())
    }

    /// Looks at those that only the engine knew.
    pub fn add(&mut self, files: &[PathBuf]) {
        for (file, look) in Self::look(files).0 {
            if !self.0.iter().any(|(known, _)| *known == file) {
                self.0.push((file, look));
            }
        }
    }

    /// Those that are no longer what they were, each in a sentence.
    pub fn changed(&self) -> Vec<String> {
        let has_changed = |(file, before): &&(PathBuf, Look)| {
            matches!(before, Look::File { .. }) && look(file).as_ref() != Some(before)
        };
        let said = |(file, _): &(PathBuf, Look)| {
            format!("{} changed during the run: the load may be made from either version", file.display())
        };
        self.0.iter().filter(has_changed).map(said).collect()
    }

    /// Reads them, when the load is over. One that has changed meanwhile has no digest, and a pipe never has.
    pub fn read(&self) -> Vec<InputFile> {
        let read = |(file, before): &(PathBuf, Look)| {
            let is_as_before = || *before != Look::Stream && look(file).as_ref() == Some(before);
            let digest = (before.bytes() <= LONGEST && is_as_before()).then(|| digest(file).ok()).flatten();
            InputFile {
                file: file.display().to_string(),
                bytes: before.bytes(),
                sha256: digest.filter(|_| is_as_before()),
            }
        };
        self.0.iter().map(read).collect()
    }
}

/// `-` is standard input.
fn name(file: &Path) -> Option<PathBuf> {
    if file == Path::new("-") { Some("/dev/stdin".into()) } else { std::path::absolute(file).ok() }
}

fn look(file: &Path) -> Option<Look> {
    if file == Path::new("-") {
        return Some(Look::Stream);
    }
    if file == Path::new("/dev/null") {
        return Some(Look::Nothing);
    }
    let about = std::fs::metadata(file).ok()?;
    // From what is open already only the rest is read.
    if !about.is_file() || os::output::descriptor(file).is_some() {
        return Some(Look::Stream);
    }
    Some(Look::File {
        bytes: about.len(),
        place: (about.dev(), about.ino()),
        changed: [(about.mtime(), about.mtime_nsec()), (about.ctime(), about.ctime_nsec())],
    })
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
    fn another_file_in_its_place_has_no_digest_and_a_pipe_none_ever() {
        let folder = tempfile::tempdir().unwrap();
        let (file, other) = (folder.path().join("file"), folder.path().join("other"));
        std::fs::write(&file, "abc").unwrap();
        std::fs::write(&other, "abd").unwrap();
        let mut inputs = Inputs::look(&[file.clone(), "/dev/null".into(), "-".into()]);
        inputs.add(&[file.clone(), other.clone()]);
        // As cp -p does: size and times are the same.
        let times = std::fs::metadata(&file).unwrap().modified().unwrap();
        let written = File::options().write(true).open(&file).unwrap();
        std::io::Write::write_all(&mut &written, b"abd").unwrap();
        written.set_modified(times).unwrap();
        let read = inputs.read();
        let has_digest: Vec<bool> = read.iter().map(|input| input.sha256.is_some()).collect();
        assert_eq!(has_digest, [false, true, false, true], "{read:?}");
        let changed = inputs.changed();
        assert!(changed.len() == 1 && changed[0].contains("/file changed during the run"), "{changed:?}");
        assert_eq!(read[2].file, "/dev/stdin");
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
        let nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(digests, [Some(abc), None, None, Some(nothing)]);
        assert!(read[..3].iter().all(|input| input.bytes == 3));
    }
}
