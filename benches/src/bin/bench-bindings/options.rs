//! What was typed.

use anyhow::{Context, Result, ensure};
use std::path::PathBuf;
use std::time::Duration;

pub const HELP: &str = "\
bench-bindings: capture and firewall in Java, step by step, beside the same in C, over the same ports

  --java HOME        a JDK of version 22 or later
  --at DIR           what `make java` and bindings/java/bench.sh made [default: beside this program's folder]
  --rounds N         rounds; medians are taken over them [default: 31]
  --ms N             length of one run [default: 10]
  --size BYTES       this frame size with FCS; may be given again [default: 64 128 256 512 1024 1518]
  --burst N          frames of a burst [default: 256]
  --cpu N            the core of both [default: 1]
  --json FILE        every figure of every round
  --markdown FILE    the tables as Markdown
  --chart FILE       the ladder as SVG
  --no-recordings    without flight recordings
  --plain            no priority: without it, root's programs run at niceness -19

Exit status: 0 all bars hold, 1 one falls short or could not be judged, 2 wrong input, or a program failed.
";

const SIZES: [u32; 6] = [64, 128, 256, 512, 1_024, 1_518];

pub struct Options {
    pub java: PathBuf,
    pub at: PathBuf,
    pub rounds: usize,
    pub length: Duration,
    pub sizes: Vec<u32>,
    pub burst: u32,
    pub cpu: u32,
    pub json: Option<PathBuf>,
    pub markdown: Option<PathBuf>,
    pub chart: Option<PathBuf>,
    pub recordings: bool,
    /// Ahead of what else the machine does.
    pub priority: bool,
}

impl Options {
    pub fn parse(words: impl IntoIterator<Item = String>) -> Result<Self> {
        let beside = std::env::current_exe()?;
        let mut options = Self {
            java: PathBuf::new(),
            at: beside.ancestors().nth(2).unwrap_or(&beside).join("java"),
            rounds: 31,
            length: Duration::from_millis(10),
            sizes: Vec::new(),
            burst: 256,
            cpu: 1,
            json: None,
            markdown: None,
            chart: None,
            recordings: true,
            priority: rustix::process::geteuid().is_root(),
        };
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--no-recordings" => options.recordings = false,
                "--plain" => options.priority = false,
                _ => {
                    let value =
                        words.next().with_context(|| format!("{word}: a value after it, or --help"))?;
                    options.set(&word, &value).with_context(|| format!("{word} {value}"))?;
                }
            }
        }
        if options.sizes.is_empty() {
            options.sizes = SIZES.to_vec();
        }
        ensure!(
            options.java.join("bin/java").exists(),
            "--java: no JDK at '{}'; scripts/java.sh finds one",
            options.java.display()
        );
        ensure!(options.at.join("native").exists(), "nothing in {}: make java", options.at.display());
        Ok(options)
    }

    fn set(&mut self, word: &str, value: &str) -> Result<()> {
        let within = |least: u32, most: u32| -> Result<u32> {
            let number = value.parse()?;
            ensure!((least..=most).contains(&number), "expected {least} to {most}");
            Ok(number)
        };
        match word {
            "--java" => self.java = value.into(),
            "--at" => self.at = value.into(),
            "--rounds" => self.rounds = within(1, 1_000)? as usize,
            "--ms" => self.length = Duration::from_millis(within(1, 60_000)?.into()),
            "--size" => self.sizes.push(within(64, 1_518)?),
            "--burst" => self.burst = within(1, 1_024)?,
            "--cpu" => self.cpu = within(0, 1_023)?,
            "--json" => self.json = Some(value.into()),
            "--markdown" => self.markdown = Some(value.into()),
            "--chart" => self.chart = Some(value.into()),
            _ => anyhow::bail!("no such option; --help lists them"),
        }
        Ok(())
    }

    /// As the JDK's file `release` has it.
    pub fn java_version(&self) -> String {
        let told = std::fs::read_to_string(self.java.join("release")).unwrap_or_default();
        let field = |name: &str| {
            told.lines()
                .find_map(|line| line.strip_prefix(name))
                .unwrap_or_default()
                .trim_matches('"')
                .to_owned()
        };
        format!("Java {} ({})", field("JAVA_VERSION="), field("IMPLEMENTOR="))
    }
}
