//! The command line of `bench-http`.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::cases::{self, Case};

/// What was asked, checked.
pub struct Options {
    /// Rounds over all tools.
    pub rounds: u32,
    /// Seconds per closed-loop run; the other cases scale with it.
    pub seconds: u64,
    pub cases: Vec<&'static Case>,
    pub json: Option<PathBuf>,
    pub tare: PathBuf,
    /// Measure the peers alone; no bar is judged.
    pub peers_only: bool,
    pub list: bool,
    /// Run generators and servers ahead of what else the machine does.
    pub priority: bool,
    /// The longest to wait for a quiet machine and to repeat disturbed runs, all together.
    pub patience: Duration,
}

pub const HELP: &str = "bench-http: tare http beside wrk, h2load, oha and httperf

  --rounds N       rounds over all tools, interleaved (default 5)
  --seconds N      seconds for each closed-loop run (default 4); open loop runs twice as long
  --case NAME...   only these cases (see --list)
  --json FILE      write every run, the medians and the bars there
  --tare PATH      the program to judge (default target/release/tare)
  --peers-only     measure the peers alone; judge nothing
  --patience N     seconds, all together, to wait for a quiet machine and to repeat disturbed runs (default 300)
  --priority       run generators and servers at niceness -19, on a machine that has other work (root)
  --list           name the cases and their bars, run nothing

Exit status: 0 all bars hold, 1 a bar fails, 2 the command is wrong or a tool could not be run.
";

impl Options {
    /// Reads the words after the program's name.
    pub fn parse(words: impl IntoIterator<Item = String>) -> Result<Self> {
        let mut options = Self {
            rounds: 5,
            seconds: 4,
            cases: Vec::new(),
            json: None,
            tare: crate::peers::repository().join("target/release/tare"),
            peers_only: false,
            list: false,
            priority: false,
            patience: Duration::from_secs(300),
        };
        let mut words = words.into_iter().peekable();
        while let Some(word) = words.next() {
            let mut value = || words.next().with_context(|| format!("{word} needs a value"));
            match word.as_str() {
                "--rounds" => options.rounds = positive(&word, &value()?)?,
                "--seconds" => options.seconds = positive(&word, &value()?)?.into(),
                "--patience" => options.patience = Duration::from_secs(whole(&word, &value()?)?.into()),
                "--json" => options.json = Some(value()?.into()),
                "--tare" => options.tare = value()?.into(),
                "--peers-only" => options.peers_only = true,
                "--priority" => options.priority = true,
                "--list" => options.list = true,
                "--case" => {
                    options.cases.push(case(&value()?)?);
                    while let Some(name) = words.next_if(|w| !w.starts_with('-')) {
                        options.cases.push(case(&name)?);
                    }
                }
                _ => bail!("unknown option {word}\n\n{HELP}"),
            }
        }
        if options.cases.is_empty() {
            options.cases = cases::CASES.iter().collect();
        }
        Ok(options)
    }

    /// Seconds for each open-loop run: 8 by default.
    pub fn open_seconds(&self) -> u64 {
        2 * self.seconds
    }
}

fn positive(flag: &str, text: &str) -> Result<u32> {
    match text.parse() {
        Ok(n) if n > 0 => Ok(n),
        _ => bail!("{flag} {text}: expected a whole number above 0"),
    }
}

fn whole(flag: &str, text: &str) -> Result<u32> {
    text.parse().ok().with_context(|| format!("{flag} {text}: expected a whole number"))
}

fn case(name: &str) -> Result<&'static Case> {
    let names = || cases::CASES.iter().map(|c| c.name).collect::<Vec<_>>().join(", ");
    cases::CASES
        .iter()
        .find(|c| c.name == name)
        .with_context(|| format!("no case {name}; there are: {}", names()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options> {
        Options::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn cases_and_numbers_are_read() {
        let options = parse("--patience 0 --rounds 2 --case keep-alive even-2000 --seconds 1 --peers-only")
            .expect("a good line");
        assert_eq!((options.rounds, options.seconds, options.open_seconds()), (2, 1, 2));
        assert_eq!(options.cases.iter().map(|c| c.name).collect::<Vec<_>>(), ["keep-alive", "even-2000"]);
        assert!(options.peers_only);
        assert_eq!(parse("").expect("nothing is good too").cases.len(), cases::CASES.len());
    }

    #[test]
    fn bad_lines_are_named() {
        for (line, word) in [
            ("--rounds 0", "--rounds 0"),
            ("--case nonesuch", "keep-alive"),
            ("--json", "--json"),
            ("--fast", "--fast"),
        ] {
            let message = parse(line).err().expect("a bad line").to_string();
            assert!(message.contains(word), "{line}: {message}");
        }
    }
}
