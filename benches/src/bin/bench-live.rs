//! Whether watching a run changes what is measured: the same load with nobody watching, with the live page open
//! in a viewer, and with the view filling a terminal, in turns.
//!
//! ```text
//! bench-live [--rounds N] [--seconds N] [--rate N]
//! ```
//!
//! Each round has one run of every kind, so that a machine that becomes slower does so for all. Printed is the
//! median over rounds of the rate that was achieved (a closed loop: as fast as it goes) and of the 99th
//! percentile (an open loop), and both beside nobody watching. What is asked for is less than 1 % between them.
//!
//! A busy machine hides that in its noise. What it does not hide is printed, too: the CPU time of the threads
//! that draw. At 10 ms each second they take 1 % of one CPU.

#[path = "../flags.rs"]
mod flags;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use stats::median;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const HOW: [&str; 3] = ["nobody watches", "live page", "view on a terminal"];

/// How often is looked at a run, and how long one may take.
const STEP: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(120);

struct Options {
    rounds: u64,
    seconds: u64,
    rate: u64,
}

fn main() -> Result<()> {
    let options = options()?;
    let target = Target::start()?;
    let folder = Scratch::new()?;
    let mut figures = vec![[Vec::new(), Vec::new(), Vec::new()]; HOW.len()];
    for round in 0..options.rounds {
        for (how, [rates, p99s, drawn]) in figures.iter_mut().enumerate() {
            let out = folder.0.join(format!("{round}-{how}"));
            let length = format!("--duration {}s --warmup 500ms", options.seconds);
            let closed = format!("--parallel 16 {length}");
            let (closed, _) = run(how, &closed, &target.url, &out.join("closed"))?;
            rates.push(closed["rate"]["achieved_per_s"].as_f64().context("a rate")?);
            let open = format!("--rate {} {length}", options.rate);
            let (open, drawing_ms) = run(how, &open, &target.url, &out.join("open"))?;
            p99s.push(open["latency_ns"]["p99"].as_f64().context("a percentile")?);
            drawn.push(drawing_ms / options.seconds as f64);
        }
    }
    print(&options, &figures);
    Ok(())
}

fn options() -> Result<Options> {
    let (mut rounds, mut seconds, mut rate) = (5, 5, 5_000);
    flags::read(&mut [("--rounds", &mut rounds), ("--seconds", &mut seconds), ("--rate", &mut rate)])?;
    Ok(Options { rounds, seconds, rate })
}

fn print(options: &Options, figures: &[[Vec<f64>; 3]]) {
    let medians: Vec<[f64; 3]> =
        figures.iter().map(|all| all.each_ref().map(|values| median(values))).collect();
    println!("{} rounds of {} s each; open loop at {}/s", options.rounds, options.seconds, options.rate);
    println!("{:<20} {:>12} {:>9} {:>12} {:>9} {:>12}", "", "rate", "", "p99", "", "drawing");
    for (how, [rate, p99, drawn]) in HOW.iter().zip(&medians) {
        let beside = |value: f64, base: f64| format!("{:+.2} %", (value / base - 1.0) * 100.0);
        println!(
            "{how:<20} {rate:>10.0}/s {:>9} {:>9.1} µs {:>9} {drawn:>7.2} ms/s",
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
    let (rate, p99) = (spread(0), spread(1));
    println!("nobody watching, runs differ among themselves by {rate:.1} % in rate and {p99:.1} % in p99");
}

/// One run: its result, and the CPU time in ms of the threads that drew.
fn run(how: usize, load: &str, url: &str, out: &Path) -> Result<(Value, f64)> {
    std::fs::create_dir_all(out.parent().context("a folder")?)?;
    let line = format!("{} http {load} --out {} {url}", tare_system_tests::binary().display(), out.display());
    let drawing_ms = match how {
        0 => drawing_ms_of(started(&format!("{line} -q"))?)?,
        1 => watched(&format!("{line} --live=0 --no-progress"))?,
        _ => in_terminal(&line, out)?,
    };
    let text = std::fs::read_to_string(out.join("result.json")).with_context(|| line.clone())?;
    Ok((serde_json::from_str(&text)?, drawing_ms))
}

fn started(line: &str) -> Result<Child> {
    let mut words = line.split_whitespace();
    let program = words.next().context("a program")?;
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().with_context(|| line.to_owned())
}

/// What the drawing threads of a process have used so far; `None` when it has ended.
fn drawn_ms(pid: u32) -> Option<f64> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten();
    let used = tasks.filter_map(|task| {
        let read = |name: &str| std::fs::read_to_string(task.path().join(name)).ok();
        let draws = ["tare-live", "tare-view"].contains(&read("comm")?.trim());
        // The first number is the time on a CPU in ns.
        draws.then(|| read("schedstat")?.split(' ').next()?.parse::<f64>().ok()).flatten()
    });
    Some(used.sum::<f64>() / 1e6)
}

fn drawing_ms_of(mut child: Child) -> Result<f64> {
    let mut most = 0.0f64;
    while child.try_wait()?.is_none() {
        most = most.max(drawn_ms(child.id()).unwrap_or(0.0));
        std::thread::sleep(STEP);
    }
    Ok(most)
}

/// With a viewer who takes every event, and the report at the end.
fn watched(line: &str) -> Result<f64> {
    let mut child = started(line)?;
    let mut said = BufReader::new(child.stderr.take().context("standard error")?);
    let mut first = String::new();
    said.read_line(&mut first)?;
    let host = first.trim().strip_prefix("live: http://").context("the page's address")?;
    let host = host.trim_end_matches('/').to_owned();
    let viewer = std::thread::spawn(move || -> Result<u64> {
        let get = |path: &str| -> Result<u64> {
            let mut socket = TcpStream::connect(&host)?;
            write!(socket, "GET {path} HTTP/1.0\r\nHost: {host}\r\n\r\n")?;
            Ok(std::io::copy(&mut socket, &mut std::io::sink())?)
        };
        Ok(get("/events")? + get("/")?)
    });
    let drawing_ms = drawing_ms_of(child)?;
    let seen = viewer.join().map_err(|_| anyhow::anyhow!("the viewer panicked"))??;
    ensure!(seen > 10_000, "the viewer saw only {seen} bytes");
    Ok(drawing_ms)
}

/// In a terminal of 120 × 40.
fn in_terminal(line: &str, out: &Path) -> Result<f64> {
    let socket = out.parent().context("a folder")?.join("tmux");
    let tmux = |arguments: &[&str]| {
        let out = Command::new("tmux").arg("-S").arg(&socket).args(arguments).output();
        out.context("tmux is not installed: apt-get install tmux")
    };
    let line = format!("exec {line}");
    tmux(&["-f", "/dev/null", "-u", "new-session", "-d", "-x", "120", "-y", "40", &line])?;
    let pid = tmux(&["list-panes", "-F", "#{pane_pid}"])?;
    let pid: u32 = String::from_utf8_lossy(&pid.stdout).trim().parse().context("the pane's process")?;
    let (begun, mut most) = (Instant::now(), 0.0f64);
    while let Some(drawn) = drawn_ms(pid).filter(|_| begun.elapsed() < LONGEST) {
        most = most.max(drawn);
        std::thread::sleep(STEP);
    }
    Ok(most)
}

/// `tare target` that answers at once; ended when dropped.
struct Target {
    process: Child,
    url: String,
}

impl Target {
    fn start() -> Result<Self> {
        let mut command = Command::new(tare_system_tests::binary());
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
