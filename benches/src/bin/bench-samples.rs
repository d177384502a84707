//! `bench-samples`: what `--samples` costs a run, and whether it keeps every row.
//!
//! ```text
//! tare target (core 1) ◄── tare http (engine on core 0; the thread that writes samples where it finds room)
//! rounds of: without, with, without, with …      medians of each, rows against what was offered
//! ```
//!
//! Whatever slows the machine for a while slows both kinds, as they take turns; `--priority` goes before other
//! work.

#![forbid(unsafe_code)]

#[allow(dead_code, reason = "shared with bench-http, which needs more of it")]
#[path = "../stats.rs"]
mod stats;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use stats::Spread;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const HELP: &str = "bench-samples: a run with and without --samples, in turns

  --rate R       requests a second (default 100k)
  --seconds N    length of each run (default 60)
  --rounds N     runs of each kind (default 2)
  --to URL       another sink instead of --samples: parquet:/tmp/x.parquet
  --tare FILE    the program (default: beside this one)
  --priority     go before the machine's other work (root)

Exit status: 0 no row was lost, and with samples the median rate is not lower and the median p99 not higher
than without by more than 1 % (or than the runs of one kind differ by); 1 not so; 2 it could not be measured.
";

/// The share by which rate and p99 may differ.
const LIMIT: f64 = 0.01;

fn main() -> std::process::ExitCode {
    match Options::parse(std::env::args().skip(1)).and_then(|options| options.map_or(Ok(true), |o| bench(&o)))
    {
        Ok(true) => 0.into(),
        Ok(false) => 1.into(),
        Err(why) => {
            eprintln!("bench-samples: {why:#}");
            2.into()
        }
    }
}

struct Options {
    rate: String,
    seconds: u32,
    rounds: u32,
    to: Option<String>,
    tare: PathBuf,
    priority: bool,
}

impl Options {
    /// `None`: only help was wanted.
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Option<Self>> {
        let beside = std::env::current_exe().context("where this program is")?.with_file_name("tare");
        let mut options =
            Self { rate: "100k".to_owned(), seconds: 60, rounds: 2, to: None, tare: beside, priority: false };
        while let Some(word) = words.next() {
            let mut value = || words.next().with_context(|| format!("{word} needs a value"));
            match word.as_str() {
                "--rate" => options.rate = value()?,
                "--seconds" => options.seconds = value()?.parse().context("--seconds")?,
                "--rounds" => options.rounds = value()?.parse().context("--rounds")?,
                "--to" => options.to = Some(value()?),
                "--tare" => options.tare = value()?.into(),
                "--priority" => options.priority = true,
                "--help" | "-h" => {
                    print!("{HELP}");
                    return Ok(None);
                }
                _ => bail!("there is no option {word}; --help lists them"),
            }
        }
        Ok(Some(options))
    }
}

/// What one run says of itself.
struct Figures {
    achieved_per_s: f64,
    p50_us: f64,
    p99_us: f64,
    late_p99_us: f64,
    cpu_s_per_million: f64,
    wait_share: f64,
    offered: u64,
    rows: u64,
    lost: u64,
    word: String,
}

fn bench(options: &Options) -> Result<bool> {
    if options.priority {
        go_ahead()?;
    }
    let target = Target::start(&options.tare)?;
    let scratch = std::env::temp_dir().join(format!("tare-bench-samples-{}", std::process::id()));
    let ended = rounds(options, &target, &scratch);
    // Whatever came of it, nothing of it stays.
    let _ = std::fs::remove_dir_all(&scratch);
    let (without, with) = ended?;
    judge(&without, &with)
}

fn rounds(options: &Options, target: &Target, scratch: &Path) -> Result<(Vec<Figures>, Vec<Figures>)> {
    println!(
        "{:<8}{:>12}{:>10}{:>11}{:>12}{:>11}{:>10}{:>12}{:>12}{:>8}  verdict",
        "samples",
        "achieved/s",
        "p50 us",
        "p99 us",
        "late99 us",
        "CPU s/M",
        "waits %",
        "offered",
        "rows",
        "lost"
    );
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for _ in 0..options.rounds.max(1) {
        for (kept, into) in [(false, &mut without), (true, &mut with)] {
            let figures = run(options, target, kept, scratch)?;
            figures.print(if kept { "with" } else { "without" });
            into.push(figures);
        }
    }
    Ok((without, with))
}

fn run(options: &Options, target: &Target, samples: bool, folder: &Path) -> Result<Figures> {
    if folder.exists() {
        std::fs::remove_dir_all(folder).with_context(|| format!("emptying {}", folder.display()))?;
    }
    let mut command = Command::new(&options.tare);
    command
        .args(["http", "--quiet", "--accept-invalid", "--threads", "1", "--cpus", "0", "--parallel", "64"])
        .args(["--rate", &options.rate, "--duration", &format!("{}s", options.seconds)])
        .arg("--out")
        .arg(folder)
        .arg(&target.url);
    match (&options.to, samples) {
        (_, false) => {}
        (None, true) => drop(command.arg("--samples")),
        (Some(to), true) => drop(command.args(["--to", to])),
    }
    let status = command.status().with_context(|| format!("starting {}", options.tare.display()))?;
    let text =
        std::fs::read(folder.join("result.json")).with_context(|| format!("the run ended with {status}"))?;
    Figures::read(&serde_json::from_slice(&text).context("result.json")?)
}

impl Figures {
    fn read(result: &Value) -> Result<Self> {
        let at = |path: &str| path.split('.').fold(result, |value, key| &value[key]);
        let number = |path: &str| at(path).as_f64().with_context(|| format!("no {path} in result.json"));
        let whole = |value: &Value| value.as_u64().unwrap_or(0);
        let sink = &result["sinks"][0];
        let waits: u64 = at("generator.threads")
            .as_array()
            .into_iter()
            .flatten()
            .map(|thread| whole(&thread["run_queue_wait_ns"]))
            .sum();
        Ok(Self {
            achieved_per_s: number("rate.achieved_per_s")?,
            p50_us: number("latency_ns.p50")? / 1e3,
            p99_us: number("latency_ns.p99")? / 1e3,
            late_p99_us: number("lateness_ns.p99")? / 1e3,
            cpu_s_per_million: number("generator.cpu_s_per_million")?,
            wait_share: waits as f64 / 1e9 / number("rate.duration_s")?,
            offered: whole(at("totals.offered")),
            rows: whole(&sink["events"]),
            lost: whole(&sink["events_lost"]),
            word: at("verdict.word").as_str().unwrap_or_default().to_owned(),
        })
    }

    fn print(&self, kind: &str) {
        println!(
            "{kind:<8}{:>12.0}{:>10.1}{:>11.1}{:>12.1}{:>11.2}{:>10.1}{:>12}{:>12}{:>8}  {}",
            self.achieved_per_s,
            self.p50_us,
            self.p99_us,
            self.late_p99_us,
            self.cpu_s_per_million,
            self.wait_share * 100.0,
            self.offered,
            self.rows,
            self.lost,
            self.word
        );
    }
}

/// Medians side by side. On a machine with other work the runs of one kind may differ by more than the limit;
/// then the limit can be neither shown nor refuted, and the line says so.
fn judge(without: &[Figures], with: &[Figures]) -> Result<bool> {
    let mut holds = true;
    let rate: fn(&Figures) -> f64 = |figures| figures.achieved_per_s;
    let p99: fn(&Figures) -> f64 = |figures| figures.p99_us;
    // A rate is worse when it is smaller.
    for (name, worse, of) in [("achieved rate", -1.0, rate), ("p99", 1.0, p99)] {
        let all = |runs: &[Figures]| {
            Spread::of(&runs.iter().map(of).collect::<Vec<f64>>()).context("there was no run")
        };
        let (before, after) = (all(without)?, all(with)?);
        let noise = width(&before).max(width(&after));
        let (before, after) = (before.median, after.median);
        let change = (after - before) / before.max(f64::MIN_POSITIVE);
        let off = worse * change;
        let says = match off {
            _ if off <= LIMIT => "within the limit",
            _ if off <= noise => "no difference shown: runs of one kind differ as much",
            _ => "more than the limit, and than runs of one kind differ by",
        };
        println!(
            "{name}: {:.2} % {} with samples (runs of one kind differ by {:.2} %): {says}",
            change.abs() * 100.0,
            if after > before { "more" } else { "less" },
            noise * 100.0
        );
        holds &= off <= LIMIT.max(noise);
    }
    let lost: u64 = with.iter().map(|figures| figures.lost).sum();
    println!("{lost} rows lost; {}", if holds && lost == 0 { "held" } else { "NOT held" });
    Ok(holds && lost == 0)
}

/// (largest − smallest) / smallest.
fn width(spread: &Spread) -> f64 {
    if spread.min > 0.0 { (spread.max - spread.min) / spread.min } else { 0.0 }
}

/// A target at work; ended when dropped.
struct Target {
    process: Child,
    url: String,
}

impl Target {
    fn start(tare: &Path) -> Result<Self> {
        let mut process = Command::new(tare)
            .args(["target", "--listen", "127.0.0.1:0", "--cpus", "1", "--workers", "1"])
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("starting {} target", tare.display()))?;
        let mut line = String::new();
        let out = process.stdout.take().context("the target's standard output")?;
        BufReader::new(out).read_line(&mut line).context("the target's address")?;
        let url =
            line.trim().strip_prefix("listening on ").context("the target did not listen")?.to_owned() + "/";
        Ok(Self { process, url })
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What this program starts goes before other work: the niceness of its session (sched(7), "The autogroup
/// feature") where that counts, else its own.
fn go_ahead() -> Result<()> {
    const AUTOGROUP: &str = "/proc/self/autogroup";
    rustix::process::setpriority_process(None, -19).context("--priority needs root")?;
    if Path::new(AUTOGROUP).exists() {
        std::fs::write(AUTOGROUP, "-19").context("--priority needs root")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_width_of_a_spread() {
        // (9 − 1) / 1
        assert_eq!(width(&Spread::of(&[8.0, 1.0, 2.0, 9.0]).unwrap()), 8.0);
        assert_eq!(width(&Spread { median: 0.0, min: 0.0, max: 1.0 }), 0.0);
    }
}
