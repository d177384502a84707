//! `bench-report`: how long it takes, and how much memory, to read and draw a run of an hour.
//!
//! A folder is made by `make-run` (3 600 intervals, 13 series and 7 names: 20 in its log); each step is then
//! timed in a process of its own, whose peak memory (VmHWM) is that of this step and the ones it needs.

#![forbid(unsafe_code)]

use anyhow::{Context, Result, bail};
use report::Documents;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use store::timeline::MAX_BINS;

/// What the whole may take (issue: one hour of 20 series).
const LIMIT_S: f64 = 1.0;
const LIMIT_MIB: f64 = 100.0;

const HELP: &str = "bench-report: time and memory to read and draw an hour-long run

  --seconds N   length of the made-up run (default 3600)
  --runs N      times each kind is measured; the best counts (default 3)
  --keep DIR    leave the folders there

Exit status: 0 both bars hold (1 s, 100 MiB), 1 one fails, 2 it could not be measured.
";

fn main() -> std::process::ExitCode {
    match run(&std::env::args().skip(1).collect::<Vec<_>>()) {
        Ok(true) => 0.into(),
        Ok(false) => 1.into(),
        Err(why) => {
            eprintln!("bench-report: {why:#}");
            2.into()
        }
    }
}

fn run(words: &[String]) -> Result<bool> {
    if let [only, folder] = words
        && only == "--measure"
    {
        println!("{}", Measured::of(Path::new(folder))?.line());
        return Ok(true);
    }
    let (mut seconds, mut runs, mut keep) = (3_600u64, 3u32, None);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("{word} needs a value"));
        match word.as_str() {
            "--seconds" => seconds = value()?.parse().context("--seconds")?,
            "--runs" => runs = value()?.parse().context("--runs")?,
            "--keep" => keep = Some(PathBuf::from(value()?)),
            "--help" | "-h" => {
                print!("{HELP}");
                return Ok(true);
            }
            _ => bail!("there is no option {word}; --help lists them"),
        }
    }
    let scratch = Scratch::new(keep)?;
    println!(
        "{:<8}{:>9}{:>10}{:>12}{:>10}{:>10}{:>11}{:>12}",
        "run", "log MiB", "read ms", "timeline ms", "html ms", "all ms", "peak MiB", "html KiB"
    );
    let mut holds = true;
    for kind in ["calm", "stall", "errors"] {
        let folder = scratch.0.join(kind);
        make(kind, seconds, &folder)?;
        let best = (0..runs.max(1)).map(|_| in_a_child(&folder)).collect::<Result<Vec<_>>>()?;
        let best = best.into_iter().min_by(|a, b| a.all_s().total_cmp(&b.all_s())).expect("one at least");
        println!("{kind:<8}{}", best.row());
        holds &= best.all_s() < LIMIT_S && best.peak_mib < LIMIT_MIB;
    }
    println!("limits: {LIMIT_S} s and {LIMIT_MIB} MiB: {}", if holds { "held" } else { "NOT held" });
    Ok(holds)
}

/// The folder in which runs are made.
struct Scratch(PathBuf, bool);

impl Scratch {
    fn new(keep: Option<PathBuf>) -> Result<Self> {
        let kept = keep.is_some();
        let own = || std::env::temp_dir().join(format!("tare-bench-report-{}", std::process::id()));
        let path = keep.unwrap_or_else(own);
        std::fs::create_dir_all(&path).with_context(|| path.display().to_string())?;
        Ok(Self(path, kept))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.1 {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

fn make(kind: &str, seconds: u64, out: &Path) -> Result<()> {
    let program = std::env::current_exe()?.with_file_name("make-run");
    let made = Command::new(&program)
        .args(["--kind", kind, "--seconds", &seconds.to_string(), "--out"])
        .arg(out)
        .output()
        .with_context(|| {
            format!("{}: build it with cargo build --release -p tare-benches", program.display())
        })?;
    if !made.status.success() {
        bail!("{}", String::from_utf8_lossy(&made.stderr).trim());
    }
    Ok(())
}

fn in_a_child(folder: &Path) -> Result<Measured> {
    let child = Command::new(std::env::current_exe()?).arg("--measure").arg(folder).output()?;
    let text = String::from_utf8_lossy(&child.stdout);
    Measured::parse(text.trim()).with_context(|| String::from_utf8_lossy(&child.stderr).trim().to_owned())
}

/// What one process took.
struct Measured {
    log_mib: f64,
    read_s: f64,
    timeline_s: f64,
    html_s: f64,
    peak_mib: f64,
    html_kib: f64,
}

impl Measured {
    fn of(folder: &Path) -> Result<Self> {
        let mib = |bytes: u64| bytes as f64 / (1 << 20) as f64;
        let begun = Instant::now();
        let run = store::load_run(folder)?;
        let read_s = begun.elapsed().as_secs_f64();
        let timeline = run.timeline(MAX_BINS);
        let timeline_s = begun.elapsed().as_secs_f64() - read_s;
        let documents = Documents { plan: &run.plan, environment: &run.environment };
        let page = report::html(&run.result, &timeline, documents);
        let html_s = begun.elapsed().as_secs_f64() - read_s - timeline_s;
        let log = std::fs::metadata(folder.join("latency.hlog")).map_or(0, |log| log.len());
        let (peak_mib, html_kib) = (mib(peak_bytes()?), page.len() as f64 / 1024.0);
        Ok(Self { log_mib: mib(log), read_s, timeline_s, html_s, peak_mib, html_kib })
    }

    fn all_s(&self) -> f64 {
        self.read_s + self.timeline_s + self.html_s
    }

    fn line(&self) -> String {
        let all = [self.log_mib, self.read_s, self.timeline_s, self.html_s, self.peak_mib, self.html_kib];
        all.map(|figure| figure.to_string()).join(" ")
    }

    fn parse(line: &str) -> Option<Self> {
        let figures: Vec<f64> = line.split(' ').map_while(|figure| figure.parse().ok()).collect();
        let [log_mib, read_s, timeline_s, html_s, peak_mib, html_kib] = figures.try_into().ok()?;
        Some(Self { log_mib, read_s, timeline_s, html_s, peak_mib, html_kib })
    }

    fn row(&self) -> String {
        let ms = |seconds: f64| seconds * 1e3;
        format!(
            "{:>9.1}{:>10.0}{:>12.0}{:>10.0}{:>10.0}{:>11.1}{:>12.0}",
            self.log_mib,
            ms(self.read_s),
            ms(self.timeline_s),
            ms(self.html_s),
            ms(self.all_s()),
            self.peak_mib,
            self.html_kib
        )
    }
}

/// The most memory that this process ever had.
fn peak_bytes() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no VmHWM in /proc")?;
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().context("VmHWM")?;
    Ok(kib * 1024)
}
