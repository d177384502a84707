//! Whether watching a run changes what is measured: the same load with nobody watching, with the live page open in a
//! viewer, and with the view filling a terminal, in turns.
//!
//! ```text
//! bench-live [--rounds N] [--seconds N] [--rate N]
//! ```
//!
//! Each round has one run of every kind, so that a machine that becomes slower does so for all. Printed is the median over
//! rounds of the rate that was achieved (a closed loop: as fast as it goes) and of the 99th percentile (an open loop), and
//! both beside nobody watching. What is asked for is less than 1 % between them.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const HOW: [&str; 3] = ["nobody watches", "live page", "view on a terminal"];

struct Options {
    rounds: usize,
    seconds: u64,
    rate: u64,
}

fn main() -> Result<()> {
    let options = options()?;
    let target = Target::start()?;
    let folder = Scratch::new()?;
    let mut figures = vec![[Vec::new(), Vec::new()]; HOW.len()];
    for round in 0..options.rounds {
        for (how, [rates, p99s]) in figures.iter_mut().enumerate() {
            let out = folder.0.join(format!("{round}-{how}"));
            let length = format!("--duration {}s --warmup 500ms", options.seconds);
            let closed = run(how, &format!("--parallel 16 {length}"), &target.url, &out.join("closed"))?;
            rates.push(closed["rate"]["achieved_per_s"].as_f64().context("a rate")?);
            let open =
                run(how, &format!("--rate {} {length}", options.rate), &target.url, &out.join("open"))?;
            p99s.push(open["latency_ns"]["p99"].as_f64().context("a percentile")?);
        }
    }
    print(&options, &figures);
    Ok(())
}

fn options() -> Result<Options> {
    let mut options = Options { rounds: 5, seconds: 5, rate: 5_000 };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value: u64 = words.next().context("a number after each flag")?.parse()?;
        ensure!(value > 0, "{word}: expected a number above zero");
        match word.as_str() {
            "--rounds" => options.rounds = value as usize,
            "--seconds" => options.seconds = value,
            "--rate" => options.rate = value,
            other => anyhow::bail!("{other}: expected --rounds, --seconds or --rate"),
        }
    }
    Ok(options)
}

fn print(options: &Options, figures: &[[Vec<f64>; 2]]) {
    let medians: Vec<[f64; 2]> =
        figures.iter().map(|both| both.each_ref().map(|values| median(values))).collect();
    println!("{} rounds of {} s each; open loop at {}/s", options.rounds, options.seconds, options.rate);
    println!("{:<20} {:>12} {:>9} {:>12} {:>9}", "", "rate", "", "p99", "");
    for (how, [rate, p99]) in HOW.iter().zip(&medians) {
        let beside = |value: f64, base: f64| format!("{:+.2} %", (value / base - 1.0) * 100.0);
        println!(
            "{how:<20} {:>10.0}/s {:>9} {:>9.1} µs {:>9}",
            rate,
            beside(*rate, medians[0][0]),
            p99 / 1e3,
            beside(*p99, medians[0][1])
        );
    }
    let spread = |index: usize| {
        let values = &figures[0][index];
        let (low, high) =
            values.iter().fold((f64::MAX, 0.0f64), |(low, high), v| (low.min(*v), high.max(*v)));
        (high / low - 1.0) * 100.0
    };
    println!(
        "nobody watching, runs differ among themselves by {:.1} % in rate and {:.1} % in p99",
        spread(0),
        spread(1)
    );
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// One run; its result.
fn run(how: usize, load: &str, url: &str, out: &Path) -> Result<Value> {
    std::fs::create_dir_all(out.parent().context("a folder")?)?;
    let line = format!("{} http {load} --out {} {url}", binary()?.display(), out.display());
    match how {
        0 => drop(started(&format!("{line} -q"))?.wait()?),
        1 => watched(&format!("{line} --live=0 --no-progress"))?,
        _ => in_terminal(&line, out)?,
    }
    let text = std::fs::read_to_string(out.join("result.json")).with_context(|| line.clone())?;
    Ok(serde_json::from_str(&text)?)
}

fn started(line: &str) -> Result<Child> {
    let mut words = line.split_whitespace();
    let program = words.next().context("a program")?;
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().with_context(|| line.to_owned())
}

/// With a viewer who takes every event.
fn watched(line: &str) -> Result<()> {
    let mut child = started(line)?;
    let mut said = BufReader::new(child.stderr.take().context("standard error")?);
    let mut first = String::new();
    said.read_line(&mut first)?;
    let host = first
        .trim()
        .strip_prefix("live: http://")
        .context("the page's address")?
        .trim_end_matches('/')
        .to_owned();
    let mut events = TcpStream::connect(&host)?;
    write!(events, "GET /events HTTP/1.0\r\nHost: {host}\r\n\r\n")?;
    let seen = std::io::copy(&mut events, &mut std::io::sink())?;
    ensure!(seen > 10_000, "the viewer saw only {seen} bytes");
    let mut report = TcpStream::connect(&host)?;
    write!(report, "GET / HTTP/1.0\r\nHost: {host}\r\n\r\n")?;
    report.read_to_end(&mut Vec::new())?;
    said.read_to_end(&mut Vec::new())?;
    child.wait()?;
    Ok(())
}

/// In a terminal of 120 × 40.
fn in_terminal(line: &str, out: &Path) -> Result<()> {
    let socket = out.parent().context("a folder")?.join("tmux");
    let tmux = |arguments: &[&str]| {
        let status =
            Command::new("tmux").arg("-S").arg(&socket).args(arguments).stderr(Stdio::null()).status();
        status.context("tmux is not installed: apt-get install tmux")
    };
    tmux(&["-f", "/dev/null", "-u", "new-session", "-d", "-x", "120", "-y", "40", line])?;
    let begun = Instant::now();
    while tmux(&["has-session"]).is_ok_and(|status| status.success())
        && begun.elapsed() < Duration::from_secs(120)
    {
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

fn binary() -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    let tare = own.with_file_name("tare");
    ensure!(tare.is_file(), "no {}: cargo build --release -p tare", tare.display());
    Ok(tare)
}

/// `tare target` that answers at once; ended when dropped.
struct Target {
    process: Child,
    url: String,
}

impl Target {
    fn start() -> Result<Self> {
        let mut command = Command::new(binary()?);
        command.args(["target", "--listen", "0", "--no-truth"]).stdin(Stdio::null());
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let mut first = String::new();
        BufReader::new(process.stdout.take().context("standard output")?).read_line(&mut first)?;
        let url = first.split_whitespace().find(|word| word.starts_with("http://")).map(str::to_owned);
        Ok(Self { url: url.with_context(|| format!("the target said {first:?}"))?, process })
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A folder that is removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Self> {
        let folder = std::env::temp_dir().join(format!("tare-bench-live-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
