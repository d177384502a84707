//! A long run with everything on: the target at full rate, the live page watched, two sinks of which one fails
//! half-way and comes back, and the clock of the machine stepped in the middle, if that is asked for. At the
//! end nothing may have grown, drifted or been miscounted.
//!
//! ```text
//! soak [--seconds N] [--rate N] [--parallel N] [--step-clock | --fake-clock] [--keep DIR]
//!
//!   0 ──── warm-up ──── first half ────┬──── sink away ────┬──── back again ──── end
//!          (a tenth)                   └ clock +500 ms, and back
//! ```
//!
//! Exit status: 0 if all bars hold, 1 if one fails, 2 if it could not be run.

mod bars;
mod clock;
mod influx;
mod memory;
mod rows;
mod viewer;

use anyhow::{Context, Result, bail, ensure};
use bars::Seen;
use clock::FakeClock;
use influx::Influx;
use memory::Memory;
use rows::Rows;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};
use viewer::Viewer;

/// How often the run is looked at.
const STEP: Duration = Duration::from_millis(20);
/// What a closed loop reaches, and what of it is then asked for: an open loop needs some air.
const TRIED: Duration = Duration::from_secs(3);
const SHARE: f64 = 0.7;
/// How long after its end a run may take to have everything written.
const LATE: Duration = Duration::from_secs(60);

pub struct Options {
    pub seconds: u64,
    rate: Option<u64>,
    parallel: u64,
    step_clock: bool,
    fake_clock: bool,
    keep: Option<PathBuf>,
}

fn main() -> ExitCode {
    match soak() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("soak: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn soak() -> Result<bool> {
    let options = options()?;
    let scratch = Scratch::new(options.keep.as_deref())?;
    let target = Target::start()?;
    let fake_clock = options.fake_clock.then(|| FakeClock::new(&scratch.0)).transpose()?;
    let rate = match options.rate {
        Some(rate) => rate,
        None => full_rate(&options, &target.url, fake_clock.as_ref())?,
    };
    println!("{} s at {rate}/s over {} connections", options.seconds, options.parallel);
    let seen = run(&options, rate, &target.url, &scratch.0, fake_clock)?;
    let bars = bars::judge(&seen);
    print!("{}", bars::table(&bars));
    Ok(bars.iter().all(|bar| bar.holds))
}

fn options() -> Result<Options> {
    let mut options = Options {
        seconds: 3_600,
        rate: None,
        parallel: 64,
        step_clock: false,
        fake_clock: false,
        keep: None,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("{word}: expected a value"));
        match word.as_str() {
            "--seconds" => options.seconds = value()?.parse()?,
            "--rate" => options.rate = Some(value()?.parse()?),
            "--parallel" => options.parallel = value()?.parse()?,
            "--keep" => options.keep = Some(value()?.into()),
            "--step-clock" => options.step_clock = true,
            "--fake-clock" => options.fake_clock = true,
            other => {
                bail!("{other}: expected --seconds, --rate, --parallel, --step-clock, --fake-clock or --keep")
            }
        }
    }
    ensure!(options.seconds >= 30, "--seconds: expected at least 30, for memory is compared after a warm-up");
    Ok(options)
}

/// As much as this machine does now, in round numbers, with the clock that the run will see: to read it may
/// cost more.
fn full_rate(options: &Options, url: &str, fake_clock: Option<&FakeClock>) -> Result<u64> {
    let (parallel, time) = (options.parallel.to_string(), format!("{}s", TRIED.as_secs()));
    let mut command = tare(&["http", "--json", "--no-save", "--no-progress", "--accept-invalid"])?;
    if let Some(clock) = fake_clock {
        clock.show_to(&mut command);
    }
    let out = command.args(["--parallel", &parallel, "--duration", &time, url]).output()?;
    let result: serde_json::Value = serde_json::from_slice(&out.stdout).context("a first, short run")?;
    let reached = result["rate"]["achieved_per_s"].as_f64().context("its rate")?;
    ensure!(reached > 200.0, "the target answered {reached:.0} requests/s only");
    Ok((reached * SHARE) as u64 / 100 * 100)
}

fn run(
    options: &Options,
    rate: u64,
    url: &str,
    folder: &Path,
    fake_clock: Option<FakeClock>,
) -> Result<Seen> {
    let influx = Influx::start()?;
    let (out, csv) = (folder.join("run"), folder.join("rows.csv"));
    let mut command = tare(&["http", "--quiet", "--live=0", "--live-linger", "0s"])?;
    if let Some(clock) = &fake_clock {
        clock.show_to(&mut command);
    }
    let mut run = command
        .args(["--rate", &rate.to_string(), "--parallel", &options.parallel.to_string()])
        .args(["--duration", &format!("{}s", options.seconds)])
        .arg("--out")
        .arg(&out)
        .args(["--to", &format!("csv:{}", csv.display()), "--to", &influx.url(), url])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map(Ended)?;
    let (page, said) = page(&mut run.0)?;
    let viewer = Viewer::start(page);
    let mut memory = Memory::of(run.0.id());
    let mut rows = Rows::of(csv);
    let mut phases = Phases::new(options, fake_clock);
    let limit = Duration::from_secs(options.seconds) + LATE;
    let begun = Instant::now();
    while run.0.try_wait()?.is_none() {
        ensure!(begun.elapsed() < limit, "the run does not end");
        memory.look();
        rows.look();
        phases.enter(begun.elapsed(), &influx)?;
        std::thread::sleep(STEP);
    }
    let status = run.0.wait()?.code();
    let stepped = phases.stepped.unwrap_or(clock::Stepped::NotAsked);
    let said = said.join().unwrap_or_default();
    Seen::read(&out, rate, options.seconds, status, said)
        .map(|seen| seen.with(memory, rows, influx.end(), viewer.end(), stepped))
}

/// What happens when.
struct Phases {
    half: Duration,
    back: Duration,
    step_clock: bool,
    fake_clock: Option<FakeClock>,
    stepped: Option<clock::Stepped>,
}

impl Phases {
    fn new(options: &Options, fake_clock: Option<FakeClock>) -> Self {
        let whole = Duration::from_secs(options.seconds);
        let (half, back) = (whole / 2, whole * 3 / 4);
        Self { half, back, step_clock: options.step_clock, fake_clock, stepped: None }
    }

    fn enter(&mut self, now: Duration, influx: &Influx) -> Result<()> {
        influx.be(now < self.half || now >= self.back);
        let Some(since) = now.checked_sub(self.half) else { return Ok(()) };
        if let Some(clock) = &mut self.fake_clock {
            self.stepped = Some(clock.step(since)?);
        } else if self.step_clock && self.stepped.is_none() {
            self.stepped = Some(clock::step());
        }
        Ok(())
    }
}

/// The address of the page, and what is said behind it until the end.
fn page(run: &mut Child) -> Result<(String, std::thread::JoinHandle<String>)> {
    let mut said = BufReader::new(run.stderr.take().context("standard error")?);
    let mut first = String::new();
    said.read_line(&mut first)?;
    let host = first.trim().strip_prefix("live: http://").map(|host| host.trim_end_matches('/').to_owned());
    let host = host.with_context(|| format!("the address of the page, not {first:?}"))?;
    // Read on, so that nobody waits for room in the pipe.
    let rest = std::thread::spawn(move || {
        let mut text = String::new();
        let _ = std::io::Read::read_to_string(&mut said, &mut text);
        text
    });
    Ok((host, rest))
}

fn tare(arguments: &[&str]) -> Result<Command> {
    let own = std::env::current_exe()?;
    let tare = own.with_file_name("tare");
    ensure!(tare.is_file(), "no {}: cargo build --release -p tare", tare.display());
    let mut command = Command::new(tare);
    command.args(arguments);
    Ok(command)
}

/// A program that ends with this one, even if that fails.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `tare target` that answers at once.
struct Target {
    url: String,
    _process: Ended,
}

impl Target {
    fn start() -> Result<Self> {
        let mut command = tare(&["target", "--listen", "0", "--no-truth"])?;
        let mut process =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().map(Ended)?;
        let mut first = String::new();
        BufReader::new(process.0.stdout.take().context("standard output")?).read_line(&mut first)?;
        let url = first.split_whitespace().find(|word| word.starts_with("http://")).map(str::to_owned);
        Ok(Self { url: url.with_context(|| format!("the target said {first:?}"))?, _process: process })
    }
}

/// A folder that is removed at the end, or kept where that was asked for.
struct Scratch(PathBuf, bool);

impl Scratch {
    fn new(keep: Option<&Path>) -> Result<Self> {
        let own = || std::env::temp_dir().join(format!("tare-soak-{}", std::process::id()));
        let folder = keep.map_or_else(own, Path::to_owned);
        std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        Ok(Self(folder, keep.is_some()))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.1 {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}
