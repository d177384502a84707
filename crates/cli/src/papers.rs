//! What a CI server reads of a run: `--junit FILE`, `--markdown FILE`. The files are opened before the load, so that a
//! name that cannot be written costs no run, and none of an earlier run is taken for this one's.

use crate::elsewhere;
use crate::options::{Options, Output};
use crate::status::Failure;
use crate::terminal::print_all;
use anyhow::anyhow;
use std::fs::{File, OpenOptions};
use std::io::Write;
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
    File { flag: &'static str, path: PathBuf, file: File },
}

impl Papers {
    /// Opens the files. Nothing is sent if one cannot be.
    pub fn open(options: &Options) -> Result<Self, Failure> {
        let open =
            |flag, path: &Option<PathBuf>| path.as_deref().map(|path| Paper::open(flag, path)).transpose();
        let papers = Self {
            junit: open("--junit", &options.junit)?,
            markdown: open("--markdown", &options.markdown)?,
        };
        let printed =
            [&papers.junit, &papers.markdown].into_iter().flatten().filter(|paper| paper.is_stdout());
        let json = options.output == Output::Json;
        if printed.count() + usize::from(json) + usize::from(elsewhere::takes_stdout(options)) > 1 {
            let why = "standard output takes one of --json, --junit -, --markdown - and --to KIND:-; name a file for the others";
            return Err(Failure::wrong(anyhow!(why)));
        }
        Ok(papers)
    }

    /// Whether standard output is taken, so that the summary goes elsewhere.
    pub fn take_stdout(&self) -> bool {
        [&self.junit, &self.markdown].into_iter().flatten().any(Paper::is_stdout)
    }

    /// Writes what was asked for.
    pub fn write(self, result: &RunResult) -> Result<(), Failure> {
        let junit = self.junit.map_or(Ok(()), |paper| paper.write(&report::junit(result)));
        let markdown = self.markdown.map_or(Ok(()), |paper| paper.write(&report::markdown(result)));
        junit.and(markdown)
    }
}

impl Paper {
    fn open(flag: &'static str, path: &Path) -> Result<Self, Failure> {
        if path == Path::new("-") {
            return Ok(Self::Stdout);
        }
        let adds = std::env::var_os(STEP_SUMMARY).is_some_and(|summary| path == Path::new(&summary));
        let file = OpenOptions::new().create(true).write(true).append(adds).truncate(!adds).open(path);
        let file = file.map_err(|error| {
            let path = path.display();
            Failure::wrong(anyhow!("{flag}: {path}: {error}; expected a file that can be written, or -"))
        })?;
        Ok(Self::File { flag, path: path.to_owned(), file })
    }

    fn is_stdout(&self) -> bool {
        matches!(self, Self::Stdout)
    }

    fn write(self, text: &str) -> Result<(), Failure> {
        match self {
            Self::Stdout => print_all(text),
            Self::File { flag, path, mut file } => file.write_all(text.as_bytes()).map_err(|error| {
                Failure::wrong(anyhow!("{flag}: {} could not be written: {error}", path.display()))
            }),
        }
    }
}
