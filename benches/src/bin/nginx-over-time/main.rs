//! `nginx-over-time`: what a server with its usual settings does under three loads, second by second, from its
//! own log.
//!
//! ```text
//!   CPU 0, generator's namespace                CPU 1, sink's namespace
//!   tare http --via │ JMeter ──── veth ──────── nginx, settings left alone ──► requests in each second
//! ```
//!
//! - *at once*: thousands of sessions that all open at once, and again as soon as one has timed out, as a
//!   hardware generator did that had no schedule. nginx has 512 places.
//! - *ramp*: a rate that rises evenly, over connections that open one after the other.
//! - *JMeter*: 200 threads, as fast as they can.

mod chart;
#[path = "../../command.rs"]
mod command;
mod jmeter;
#[allow(dead_code, reason = "shared with bench-http, which needs more of it")]
#[path = "../../scratch.rs"]
mod scratch;
#[path = "../../svg.rs"]
mod svg;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use bed::{Bed, Topology};
use command::Ending;
use serde_json::{Value, json};

const HELP: &str = "\
nginx-over-time: requests in each second, from the log of an nginx whose settings were left alone

  --jmeter FOLDER   Apache JMeter beside Tare, as scripts/jmeter.sh prints it
  --seconds S       length of each load [default: 20]
  --top N           requests per second at the end of the ramp [default: 20000]
  --chart FILE      the three loads as SVG
  --json FILE       every figure
  --tare FILE       the program [default: the one beside this]
";

const SERVER: &str = "198.18.0.2";
/// Four addresses, so that ports suffice.
const VIA: &str = "--via packet:gen0,ip=198.18.0.10-13/24";
const OWN_CPU: &str = "0";
const SERVERS_CPU: &str = "1";
/// Sessions that the hardware generator had.
const AT_ONCE: u32 = 8_192;
/// When it gave up a response, and reconnected.
const TIMEOUT_S: u32 = 5;

struct Options {
    jmeter: Option<PathBuf>,
    seconds: u32,
    top: u32,
    chart: Option<PathBuf>,
    json: Option<PathBuf>,
    tare: PathBuf,
}

/// What nginx logged of one load.
pub struct Load {
    name: &'static str,
    /// Requests in each second from the first.
    seconds: Vec<u64>,
    /// Requests that the generator says were answered, and those that failed.
    told: (u64, u64),
}

fn main() -> ExitCode {
    let tare = command::tare();
    let options = Options { jmeter: None, seconds: 20, top: 20_000, chart: None, json: None, tare };
    command::run("nginx-over-time", HELP, options, set, run)
}

fn set(options: &mut Options, word: &str, value: &str) -> Result<bool> {
    match word {
        "--jmeter" => options.jmeter = Some(value.into()),
        "--seconds" => options.seconds = value.parse()?,
        "--top" => options.top = value.parse()?,
        "--chart" => options.chart = Some(value.into()),
        "--json" => options.json = Some(value.into()),
        "--tare" => options.tare = value.into(),
        _ => return Ok(false),
    }
    ensure!((5..=120).contains(&options.seconds), "expected 5 to 120");
    ensure!((100..=1_000_000).contains(&options.top), "expected 100 to 1000000");
    Ok(true)
}

fn run(options: &Options) -> Result<()> {
    let Options { seconds, top, .. } = options;
    ensure!(
        std::thread::available_parallelism()?.get() > 1,
        "one CPU for both ends: the generator would wait for the target"
    );
    let bed = Bed::up(&Topology::unique())?;
    let url = format!("http://{SERVER}/");
    println!("nginx with one worker and its own settings (512 connections); {seconds} s of each load");
    println!(
        "{:<10} {:>10} {:>10} {:>12} {:>12} {:>12}",
        "", "logged", "failed", "least, 1/s", "median, 1/s", "most, 1/s"
    );
    let mut loads = Vec::new();
    let at_once = format!("{VIA} --parallel {AT_ONCE} --timeout {TIMEOUT_S}s --duration {seconds}s {url}");
    loads.push(of_tare(options, &bed, "at once", &at_once)?);
    let ramp =
        format!("{VIA} --ramp {}..{top}:{seconds}s --parallel 256 --ramp-connections 500 {url}", first(*top));
    loads.push(of_tare(options, &bed, "ramp", &ramp)?);
    if let Some(home) = &options.jmeter {
        let load = |folder: &Path| jmeter::command(&bed, home, folder, SERVER, *seconds);
        loads.push(logged(&bed, "JMeter", *seconds, load, jmeter::told)?);
    }
    off_the_ramp(options, &loads[1]);
    if let Some(path) = &options.chart {
        std::fs::write(path, chart::draw(&loads, *seconds as usize))?;
        println!("chart: {}", path.display());
    }
    if let Some(path) = &options.json {
        let rows = loads.iter().map(|load| {
            let (answered, failed) = load.told;
            json!({
                "load": load.name, "requests_in_second": load.seconds, "answered": answered, "failed": failed,
            })
        });
        let document = json!({ "schema": "tare.nginx-over-time/1", "loads": rows.collect::<Vec<_>>() });
        std::fs::write(path, serde_json::to_string_pretty(&document)? + "\n")?;
    }
    Ok(())
}

/// Where the ramp begins.
const fn first(top: u32) -> u32 {
    top.div_ceil(100)
}

fn of_tare(options: &Options, bed: &Bed, name: &'static str, words: &str) -> Result<Load> {
    let load = |_: &Path| {
        let mut command = bed.generator().command("taskset");
        command.args(["-c", OWN_CPU]).arg(&options.tare).arg("http").args(words.split(' '));
        command.args(["--threads", "1", "--json", "--no-progress", "--no-save", "--accept-invalid"]);
        Ok(command)
    };
    logged(bed, name, options.seconds, load, |said| {
        let result: Value = serde_json::from_str(said).with_context(|| format!("a result, not {said}"))?;
        let of = |key: &str| result["totals"][key].as_u64().context("totals of a result");
        Ok((of("done")?, of("failed")? + of("cut_off")?))
    })
}

/// Runs one load against a fresh nginx.
fn logged(
    bed: &Bed,
    name: &'static str,
    seconds: u32,
    load: impl FnOnce(&Path) -> Result<Command>,
    told: impl FnOnce(&str) -> Result<(u64, u64)>,
) -> Result<Load> {
    let scratch = scratch::Scratch::new()?;
    let nginx = nginx(bed, scratch.path())?;
    let mut command = load(scratch.path())?;
    let errors = scratch.path().join("errors");
    let said = output(&mut command, name, Duration::from_secs(u64::from(seconds) + 60), &errors)?;
    drop(nginx);
    let log = std::fs::read_to_string(scratch.path().join("access.log"))?;
    let load = Load { name, seconds: in_each_second(&log, seconds)?, told: told(&said)? };
    print(&load);
    Ok(load)
}

/// nginx as it is without a word on its workers, connections and time-outs.
fn nginx(bed: &Bed, folder: &Path) -> Result<Ending> {
    std::fs::write(folder.join("index.html"), "x".repeat(600))?;
    let paths: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|of| format!("{of}_temp_path {of}; "))
        .concat();
    let text = format!(
        "daemon off; pid nginx.pid; error_log error.log;\nevents {{}}\nhttp {{\n  {paths}\n  \
         log_format time '$msec';\n  access_log access.log time;\n  \
         server {{ listen {SERVER}:80; root .; }}\n}}\n"
    );
    std::fs::write(folder.join("nginx.conf"), text)?;
    let mut command = bed.sink().command("taskset");
    command.args(["-c", SERVERS_CPU, "nginx", "-c", "nginx.conf", "-p"]).arg(folder);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = Ending(command.spawn().context("starting nginx")?);
    for _ in 0..500 {
        if let Some(status) = child.0.try_wait()? {
            let log = std::fs::read_to_string(folder.join("error.log")).unwrap_or_default();
            bail!("nginx ended at once ({status}): {}", log.lines().last().unwrap_or(""));
        }
        let mut probe = bed.generator().command("sh");
        let text = format!("exec 3<>/dev/tcp/{SERVER}/80");
        let is_up = probe.args(["-c", &format!("bash -c '{text}'")]).stderr(Stdio::null()).status()?;
        if is_up.success() {
            return Ok(child);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    bail!("nginx did not listen within 5 s")
}

/// What a program prints until its end, which comes in time. Its other words go to the file `errors`.
fn output(command: &mut Command, name: &str, limit: Duration, errors: &Path) -> Result<String> {
    let begun = Instant::now();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(std::fs::File::create(errors)?);
    let mut child = Ending(command.spawn().with_context(|| format!("starting {name}"))?);
    let mut pipe = child.0.stdout.take().context("its output")?;
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        std::io::Read::read_to_string(&mut pipe, &mut text).map(|_| text)
    });
    let status = loop {
        if let Some(status) = child.0.try_wait()? {
            break status;
        }
        ensure!(begun.elapsed() < limit, "{name} did not end within {} s", limit.as_secs());
        std::thread::sleep(Duration::from_millis(20));
    };
    let text = reader.join().ok().context("reading its output")??;
    let errors = std::fs::read_to_string(errors).unwrap_or_default();
    ensure!(status.success(), "{name}: {status}: {text}{errors}");
    Ok(text)
}

/// Requests in each second from the first on. A line is the time at which one was answered.
fn in_each_second(log: &str, seconds: u32) -> Result<Vec<u64>> {
    let times = || log.lines().filter_map(|line| line.parse::<f64>().ok());
    let first = times().next().context("nginx logged nothing")?;
    let mut counts = vec![0; seconds as usize];
    for time in times() {
        if let Some(count) = counts.get_mut((time - first).max(0.0) as usize) {
            *count += 1;
        }
    }
    Ok(counts)
}

fn print(load: &Load) {
    let mut sorted = load.seconds.clone();
    sorted.sort_unstable();
    let Load { name, seconds, told } = load;
    println!(
        "{name:<10} {:>10} {:>10} {:>12} {:>12} {:>12}",
        seconds.iter().sum::<u64>(),
        told.1,
        sorted[0],
        sorted[sorted.len() / 2],
        sorted[sorted.len() - 1]
    );
}

/// How far the seconds of the ramp are from the line that was asked for.
fn off_the_ramp(options: &Options, ramp: &Load) {
    let first = f64::from(first(options.top));
    let slope = (f64::from(options.top) - first) / f64::from(options.seconds);
    let asked = |second: usize| first + slope * (second as f64 + 0.5);
    let mut off: Vec<f64> =
        (0..).zip(&ramp.seconds).map(|(at, is)| (*is as f64 / asked(at) - 1.0).abs()).collect();
    off.sort_unstable_by(f64::total_cmp);
    println!(
        "the ramp's seconds are off the line by {:.1} % in the middle, and {:.1} % at most",
        off[off.len() / 2] * 100.0,
        off[off.len() - 1] * 100.0
    );
}
