//! The command line of `make-run`.

use std::path::PathBuf;

pub const HELP: &str = "make-run: a run folder of a load that never was, for benchmarks and tests

  --out DIR          the folder to make; it must be empty or not exist yet
  --seconds N        length of the run (default 60)
  --kind KIND        calm (default), stall (a tenth of the time, at most 5 s, nothing is answered) or errors
                     (nothing is ever answered)
  --rate N           departures a second (default 1000)
  --names N          names, each with latencies of its own; 0 and 1 are none (default 7)
  --seed N           of the made-up latencies (default 1)
  --killed-after N   leave the folder as a run that is killed after N seconds does
";

/// What happens to the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunKind {
    Calm,
    Stall,
    Errors,
}

impl RunKind {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Calm => "calm",
            Self::Stall => "stall",
            Self::Errors => "errors",
        }
    }
}

/// What was asked, checked.
#[derive(Clone, Debug)]
pub struct Options {
    pub out: PathBuf,
    pub seconds: u64,
    pub kind: RunKind,
    /// Departures a second.
    pub rate: u64,
    pub names: usize,
    pub seed: u64,
    pub killed_after: Option<u64>,
}

impl Options {
    /// Reads the words after the program's name; `None` if help was asked for.
    pub fn parse(words: impl IntoIterator<Item = String>) -> Result<Option<Self>, String> {
        let out = PathBuf::new();
        let mut options = Self {
            out,
            seconds: 60,
            kind: RunKind::Calm,
            rate: 1_000,
            names: 7,
            seed: 1,
            killed_after: None,
        };
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            if word == "--help" || word == "-h" {
                return Ok(None);
            }
            let value = words.next().ok_or_else(|| format!("{word} needs a value"))?;
            let number = || value.parse::<u64>().map_err(|why| format!("{word} {value}: {why}"));
            match word.as_str() {
                "--out" => options.out = PathBuf::from(&value),
                "--seconds" => options.seconds = number()?.clamp(1, 86_400),
                "--rate" => options.rate = number()?.clamp(1, 1_000_000),
                "--names" => options.names = number()?.min(64) as usize,
                "--seed" => options.seed = number()?,
                "--killed-after" => options.killed_after = Some(number()?.max(1)),
                "--kind" => options.kind = kind(&value)?,
                _ => return Err(format!("there is no option {word}; --help lists them")),
            }
        }
        match options.out.as_os_str().is_empty() {
            true => Err("--out DIR is missing".to_owned()),
            false => Ok(Some(options)),
        }
    }
}

fn kind(word: &str) -> Result<RunKind, String> {
    let all = [RunKind::Calm, RunKind::Stall, RunKind::Errors];
    let found = all.into_iter().find(|kind| kind.name() == word);
    found.ok_or_else(|| format!("--kind {word}: it is calm, stall or errors"))
}
