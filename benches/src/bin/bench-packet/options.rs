//! What was typed.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

pub const HELP: &str = "\
bench-packet: Tare's frames beside their peers, each pair in the same rounds over the same test bed

  --only CASE        this case; may be given again [default: all but the two of Caliper's experiment]
  --list             name the cases
  --rounds N         rounds; medians are taken over them [default: 5]
  --seconds S        length of one run [default: 2]
  --frames N         frames at each rate of Caliper's experiment [default: 100000]
  --size BYTES       this frame size with FCS; may be given again [default: 64 and 1518]
  --json FILE        every figure of every round
  --markdown FILE    the tables as Markdown
  --all-sizes        64, 128, 256, 512, 1024 and 1518 B; a table of rates and shares of 10 Gb/s for each case
  --with FILE        tables of an earlier run (its --json) in the chart, too; may be given again
  --chart FILE       rates against sizes, or gap errors against rates, as SVG
  --plain            no priority; without this option, programs and the kernel threads that serve them run at
                     niceness -19
  --tare FILE        the program [default: the one beside this]
  --loops DIR        bare loops; may be given again [default: beside this]
  --disk DIR         where captures are written [default: the folder for temporary files]

Needs root. Exit status: 0 all bars hold, 1 one falls short or could not be judged, 2 wrong input or no test
bed.
";

pub struct Options {
    pub only: Vec<String>,
    pub list: bool,
    pub rounds: usize,
    pub length: Duration,
    pub frames: u64,
    pub sizes: Vec<usize>,
    pub json: Option<PathBuf>,
    pub markdown: Option<PathBuf>,
    pub with: Vec<PathBuf>,
    pub chart: Option<PathBuf>,
    pub priority: bool,
    pub tare: PathBuf,
    pub loops: Vec<PathBuf>,
    pub disk: Option<PathBuf>,
}

impl Options {
    pub fn parse(words: impl IntoIterator<Item = String>) -> Result<Self> {
        let beside = std::env::current_exe()?;
        let mut options = Self {
            only: Vec::new(),
            list: false,
            rounds: 5,
            length: Duration::from_secs(2),
            frames: 100_000,
            sizes: Vec::new(),
            json: None,
            markdown: None,
            with: Vec::new(),
            chart: None,
            priority: true,
            tare: beside.with_file_name("tare"),
            loops: Vec::new(),
            disk: None,
        };
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--list" => options.list = true,
                "--plain" => options.priority = false,
                "--all-sizes" => options.sizes.extend([64, 128, 256, 512, 1024, 1518]),
                _ => {
                    let value =
                        words.next().with_context(|| format!("{word}: a value after it, or --help"))?;
                    options.set(&word, &value).with_context(|| format!("{word} {value}"))?;
                }
            }
        }
        if options.sizes.is_empty() {
            options.sizes = vec![64, 1518];
        }
        if options.loops.is_empty() {
            options.loops.extend(beside.parent().map(PathBuf::from));
        }
        Ok(options)
    }

    fn set(&mut self, word: &str, value: &str) -> Result<()> {
        match word {
            "--only" => self.only.push(value.to_owned()),
            "--rounds" => {
                self.rounds = value.parse()?;
                ensure!((1..=100).contains(&self.rounds), "expected 1 to 100");
            }
            "--seconds" => {
                let seconds: f64 = value.parse()?;
                ensure!((0.2..=60.0).contains(&seconds), "expected 0.2 to 60");
                self.length = Duration::from_secs_f64(seconds);
            }
            "--frames" => {
                self.frames = value.parse()?;
                ensure!((100..=10_000_000).contains(&self.frames), "expected 100 to 10000000");
            }
            "--size" => {
                let size = value.parse()?;
                ensure!((64..=1518).contains(&size), "expected 64 to 1518");
                self.sizes.push(size);
            }
            "--json" => self.json = Some(value.into()),
            "--markdown" => self.markdown = Some(value.into()),
            "--with" => self.with.push(value.into()),
            "--chart" => self.chart = Some(value.into()),
            "--tare" => self.tare = value.into(),
            "--loops" => self.loops.push(value.into()),
            "--disk" => self.disk = Some(value.into()),
            _ => bail!("no such option; --help lists them"),
        }
        Ok(())
    }
}
