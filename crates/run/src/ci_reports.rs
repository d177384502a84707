//! Reports for CI servers: `--junit FILE`, `--markdown FILE`. The files are opened before the load, so that a
//! file that cannot be written costs no run, and a file of an earlier run is not taken for this one's. Files in
//! the run folder are made at the end, because that folder must be empty when the run begins.

use crate::options::{Options, Output};
use crate::run_files::RunFiles;
use crate::run_sinks;
use crate::status::{Failure, complain, said_once};
use crate::terminal::print_all;
use anyhow::anyhow;
use rustix::fs::{Access, access};
use rustix::io::Errno;
use std::cell::OnceCell;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use store::RunResult;

/// Where GitHub's runner wants a job's summary; several steps may add to it.
const STEP_SUMMARY: &str = "GITHUB_STEP_SUMMARY";

/// Papers that were asked for, ready to be written.
#[derive(Debug)]
pub struct Papers {
    junit: Option<Paper>,
    markdown: Option<Paper>,
}

#[derive(Debug)]
enum Paper {
    Stdout,
    File {
        flag: &'static str,
        path: PathBuf,
        /// `None` if it was only looked whether it can be opened.
        file: Option<File>,
    },
    /// In the run folder, which must be empty when the run begins.
    InRunFolder {
        flag: &'static str,
        path: PathBuf,
        /// Its path from there.
        name: PathBuf,
        /// Opened when the load begins: the run's folder, wherever that is later.
        folder: OnceCell<File>,
    },
}

impl Papers {
    /// Opens the files. Nothing is sent if one cannot be, or is one of those that the run reads and writes.
    pub fn open(options: &Options, files: &RunFiles) -> Result<Self, Failure> {
        Self::with(options, files, create)
    }

    /// Whether [`Self::open`] could, without creating or emptying a file.
    ///
    /// # Errors
    /// What it would say.
    pub fn check(options: &Options, files: &RunFiles) -> Result<(), Failure> {
        Self::with(options, files, look).map(drop)
    }

    fn with(
        options: &Options,
        files: &RunFiles,
        file: fn(&Path) -> io::Result<Option<File>>,
    ) -> Result<Self, Failure> {
        files.guard(options)?;
        let folder = options.out.as_deref().filter(|_| options.save);
        let open = |flag, path: &Option<PathBuf>| {
            path.as_deref().map(|path| Paper::open(flag, path, folder, file)).transpose()
        };
        let papers = Self {
            junit: open("--junit", &options.junit)?,
            markdown: open("--markdown", &options.markdown)?,
        };
        let printed =
            [&papers.junit, &papers.markdown].into_iter().flatten().filter(|paper| paper.is_stdout());
        let json = options.output == Output::Json;
        if printed.count() + usize::from(json) + usize::from(run_sinks::takes_stdout(options)) > 1 {
            let why = "only one of --json, --junit -, --markdown - and --to KIND:- can use standard output; \
                       name files for the others";
            return Err(Failure::wrong(anyhow!(why)));
        }
        Ok(papers)
    }

    /// Empties the files, now that the load begins: who takes them for this run's later finds nothing older.
    ///
    /// # Errors
    /// One of them cannot be emptied.
    pub fn begin(&self, run_folder: Option<&Path>) -> Result<(), Failure> {
        let files = [&self.junit, &self.markdown].into_iter().flatten().filter_map(Paper::opened);
        files.filter(|(_, path, _)| !is_added_to(path)).try_for_each(|(flag, path, file)| {
            let why = |error| Failure::wrong(anyhow!("{flag}: cannot empty {}: {error}", path.display()));
            os::output::empty(path, file).map_err(why)
        })?;
        for paper in [&self.junit, &self.markdown].into_iter().flatten() {
            if let (Paper::InRunFolder { folder, .. }, Some(place)) = (paper, run_folder) {
                let _ = File::open(place).map(|opened| folder.set(opened));
            }
        }
        Ok(())
    }

    /// Whether standard output is taken, so that the summary goes elsewhere.
    pub fn take_stdout(&self) -> bool {
        [&self.junit, &self.markdown].into_iter().flatten().any(Paper::is_stdout)
    }

    /// Writes both files, even if one fails, and reports failures. Returns whether everything was written.
    pub fn write(self, result: &RunResult) -> bool {
        let junit = self.junit.is_none_or(|paper| told(paper.write(&report::junit(result))));
        let markdown = self.markdown.is_none_or(|paper| told(paper.write(&report::markdown(result))));
        junit && markdown
    }
}

/// Reports an error that came up after a run; returns whether there was none.
pub fn told(outcome: Result<(), Failure>) -> bool {
    let told = outcome.map_err(|failure| complain(&format!("tare: {}", said_once(&failure.into_error()))));
    told.is_ok()
}

impl Paper {
    fn open(
        flag: &'static str,
        path: &Path,
        run_folder: Option<&Path>,
        file: fn(&Path) -> io::Result<Option<File>>,
    ) -> Result<Self, Failure> {
        if os::output::is_stdout(path) {
            return Ok(Self::Stdout);
        }
        if let Some(name) = run_folder.and_then(|folder| path.strip_prefix(folder).ok()) {
            let (path, name) = (path.to_owned(), name.to_owned());
            return Ok(Self::InRunFolder { flag, path, name, folder: OnceCell::new() });
        }
        let file = file(path).map_err(|error| {
            let path = path.display();
            Failure::wrong(anyhow!("{flag}: {path}: {error}; expected a writable file, or -"))
        })?;
        Ok(Self::File { flag, path: path.to_owned(), file })
    }

    fn is_stdout(&self) -> bool {
        matches!(self, Self::Stdout)
    }

    /// What is open.
    fn opened(&self) -> Option<(&'static str, &Path, &File)> {
        let Self::File { flag, path, file: Some(file) } = self else { return None };
        Some((flag, path, file))
    }

    fn write(self, text: &str) -> Result<(), Failure> {
        let (flag, path, written) = match self {
            Self::Stdout => return print_all(text),
            Self::File { flag, path, file } => {
                (flag, path, file.map_or(Ok(()), |mut file| file.write_all(text.as_bytes())))
            }
            Self::InRunFolder { flag, path, name, folder } => {
                let folder = folder.get().map(|folder| format!("/proc/self/fd/{}", folder.as_raw_fd()));
                let held = folder.map(PathBuf::from).filter(|folder| folder.exists());
                let written = write_new(&held.map_or_else(|| path.clone(), |held| held.join(name)), text);
                (flag, path, written)
            }
        };
        written.map_err(|error| Failure::wrong(anyhow!("{flag}: cannot write {}: {error}", path.display())))
    }
}

/// What is there stays there until the load begins.
fn create(path: &Path) -> io::Result<Option<File>> {
    os::output::open(path, is_added_to(path)).map(Some)
}

fn is_added_to(path: &Path) -> bool {
    std::env::var_os(STEP_SUMMARY).is_some_and(|summary| path == Path::new(&summary))
}

fn look(path: &Path) -> io::Result<Option<File>> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => return Err(Errno::ISDIR.into()),
        Ok(_) => access(path, Access::WRITE_OK)?,
        Err(_) => access(folder, Access::WRITE_OK | Access::EXEC_OK)?,
    }
    Ok(None)
}

/// Never in the place of one of the run's own files.
fn write_new(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    OpenOptions::new().create_new(true).write(true).open(path)?.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_emptied_when_the_load_begins_and_none_that_it_is_made_of() {
        let folder = tempfile::tempdir().unwrap();
        let old = folder.path().join("old");
        fs::write(&old, "kept").unwrap();
        let options = Options { markdown: Some(old.clone()), ..Options::default() };
        let mut files = RunFiles::default();
        files.inputs.push(old.clone());
        let refused = Papers::open(&options, &files).unwrap_err().into_error().to_string();
        assert!(refused.contains("this command reads"), "{refused}");
        let papers = Papers::open(&options, &RunFiles::default()).unwrap();
        assert_eq!(fs::read(&old).unwrap(), b"kept");
        papers.begin(None).unwrap();
        assert_eq!(fs::read(&old).unwrap(), b"");
        let pipe = folder.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into()).unwrap();
        assert!(
            Papers::open(&Options { junit: Some(pipe), ..Options::default() }, &RunFiles::default()).is_err()
        );
    }

    #[test]
    fn a_check_says_what_the_run_would_and_makes_and_empties_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let said = |junit: PathBuf, markdown: Option<PathBuf>| {
            let options = Options { junit: Some(junit), markdown, ..Options::default() };
            let words = |failure: Failure| failure.into_error().to_string();
            (Papers::check(&options, &RunFiles::default()).map_err(words), options)
        };
        let (new, old) = (folder.path().join("new"), folder.path().join("old"));
        fs::write(&old, "kept").unwrap();
        assert_eq!(said(new.clone(), Some(old.clone())).0, Ok(()));
        assert!(!new.exists() && fs::read(&old).unwrap() == b"kept");
        let both = Options {
            markdown: Some(old.clone()),
            to: vec![format!("csv:{}", old.display())],
            ..Options::default()
        };
        let words = Papers::check(&both, &RunFiles::default()).unwrap_err().into_error().to_string();
        assert!(words.contains("csv:") && words.contains("and --markdown both write"), "{words}");
        for (junit, markdown) in [
            ("/nowhere/report".into(), None),
            (folder.path().to_owned(), None),
            (new.clone(), Some(new)),
            (old.clone(), Some(old)),
        ] {
            let (checked, options) = said(junit, markdown);
            let run = Papers::open(&options, &RunFiles::default());
            let run = run.map(drop).map_err(|failure| failure.into_error().to_string());
            assert_eq!(checked, run);
            assert!(checked.is_err());
        }
    }
}
