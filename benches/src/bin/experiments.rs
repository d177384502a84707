//! `experiments`: what http_load's users saw, done properly: response time against `-parallel`, and huge URL
//! files.
//!
//! ```text
//!   tare target: handshakes and responses of known length ◄─ tare http_load, http_load ─► msecs/first-response
//!   a file of 500 000 or 5 000 000 URLs                   ─► time from start to end, largest memory
//! ```
//!
//! http_load blocks in each TLS handshake: responses of other connections lie unread meanwhile, and their time
//! is told as the server's. The truth is what the target is told to do.

#[path = "../command.rs"]
mod command;
#[allow(dead_code, reason = "shared with bench-http, which needs more of it")]
#[path = "../scratch.rs"]
mod scratch;
#[path = "../svg.rs"]
mod svg;

use std::fmt::Write as _;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use command::Ending;
use serde_json::json;
use svg::grid_line;

const HELP: &str = "\
experiments: response time against -parallel, and URL files of half a million and five million lines

  --peer FILE       http_load itself, built with TLS, beside Tare
  --seconds S       length of each run [default: 4]
  --lines N         lines of a URL file; may be given again [default: 500000 and 5000000]
  --chart FILE      response time against -parallel as SVG
  --json FILE       every figure
  --tare FILE       the program [default: the one beside this]
";

/// What the target does: as a far server, whose handshake takes longer than its response.
const HANDSHAKE_MS: f64 = 100.0;
const RESPONSE_MS: f64 = 20.0;
const PARALLEL: [u32; 7] = [1, 2, 5, 10, 20, 30, 50];
/// No run takes longer; http_load reads five million lines for minutes.
const LIMIT: Duration = Duration::from_secs(240);

struct Options {
    peer: Option<PathBuf>,
    seconds: u32,
    lines: Vec<u64>,
    chart: Option<PathBuf>,
    json: Option<PathBuf>,
    tare: PathBuf,
}

/// One run by one program.
struct Ran {
    out: String,
    took: Duration,
    peak_kib: u64,
}

fn main() -> ExitCode {
    let tare = command::tare();
    let options = Options { peer: None, seconds: 4, lines: Vec::new(), chart: None, json: None, tare };
    command::run("experiments", HELP, options, set, run)
}

fn set(options: &mut Options, word: &str, value: &str) -> Result<bool> {
    match word {
        "--peer" => options.peer = Some(value.into()),
        "--seconds" => options.seconds = value.parse()?,
        "--lines" => options.lines.push(value.parse()?),
        "--chart" => options.chart = Some(value.into()),
        "--json" => options.json = Some(value.into()),
        "--tare" => options.tare = value.into(),
        _ => return Ok(false),
    }
    ensure!((1..=60).contains(&options.seconds), "expected 1 to 60");
    Ok(true)
}

fn run(options: &Options) -> Result<()> {
    let scratch = scratch::Scratch::new()?;
    let parallel = against_parallel(options, scratch.path())?;
    let files = huge_files(options, scratch.path())?;
    if let Some(path) = &options.chart {
        std::fs::write(path, chart(&parallel))?;
        println!("chart: {}", path.display());
    }
    if let Some(path) = &options.json {
        let points = parallel.iter().map(|(name, parallel, connect, first)| {
            json!({ "program": name, "parallel": parallel, "connect_ms": connect, "first_response_ms": first })
        });
        let document = json!({
            "schema": "tare.experiments/1",
            "truth": { "handshake_ms": HANDSHAKE_MS, "response_ms": RESPONSE_MS },
            "parallel": points.collect::<Vec<_>>(),
            "files": files,
        });
        std::fs::write(path, serde_json::to_string_pretty(&document)? + "\n")?;
    }
    Ok(())
}

/// Programs that take http_load's words.
fn programs(options: &Options) -> Vec<(&'static str, Vec<String>)> {
    let tare = vec![options.tare.display().to_string(), "http_load".to_owned()];
    let mut all = vec![("tare", tare)];
    all.extend(options.peer.as_ref().map(|peer| ("http_load", vec![peer.display().to_string()])));
    all
}

type Point = (&'static str, u32, f64, f64);

/// msecs/connect and msecs/first-response of each program at each `-parallel`.
fn against_parallel(options: &Options, folder: &Path) -> Result<Vec<Point>> {
    let target = Target::start(
        &options.tare,
        folder,
        &format!("--slow-handshake {HANDSHAKE_MS}ms --delay {RESPONSE_MS}ms --size 300"),
    )?;
    let file = folder.join("surls.txt");
    std::fs::write(&file, format!("https://127.0.0.1:{}/\n", target.port))?;
    println!(
        "HTTPS, a connection for each request; truth: handshake {HANDSHAKE_MS} ms, response {RESPONSE_MS} ms"
    );
    println!("{:<10} {:>9} {:>14} {:>20}", "", "-parallel", "connect, ms", "first response, ms");
    let mut points = Vec::new();
    for parallel in PARALLEL {
        for (name, words) in programs(options) {
            let rest = format!("-parallel {parallel} -seconds {}", options.seconds);
            let ran = http_load(name, &words, &rest, &file)?;
            let mean = |what| number_before(&ran.out, what);
            let (connect, first) = (mean("msecs/connect: ")?, mean("msecs/first-response: ")?);
            println!("{name:<10} {parallel:>9} {connect:>14.1} {first:>20.1}");
            points.push((name, parallel, connect, first));
        }
    }
    Ok(points)
}

/// What each program takes for files of many lines: seconds beyond the load's own, and memory.
fn huge_files(options: &Options, folder: &Path) -> Result<Vec<serde_json::Value>> {
    let target = Target::start(&options.tare, folder, "--size 100")?;
    let mut figures = Vec::new();
    println!("\nURL files; {} s of load, -parallel 5", options.seconds);
    println!(
        "{:<10} {:>10} {:>22} {:>14} {:>12}",
        "", "lines", "beyond the load, s", "memory, MiB", "fetches/s"
    );
    let usual = [500_000, 5_000_000];
    let all = if options.lines.is_empty() { &usual[..] } else { &options.lines };
    for lines in all {
        let file = folder.join(format!("{lines}.txt"));
        write_urls(&file, *lines, target.port)?;
        for (name, words) in programs(options) {
            for checksum in [false, true] {
                let flag = if checksum { "-checksum " } else { "" };
                let rest = format!("{flag}-parallel 5 -seconds {}", options.seconds);
                let said = match http_load(name, &words, &rest, &file) {
                    Ok(ran) => ran,
                    Err(error) => {
                        println!("{name:<10} {lines:>10} {error:#}");
                        figures.push(json!({ "program": name, "lines": lines, "failed": error.to_string() }));
                        continue;
                    }
                };
                let beyond = said.took.as_secs_f64() - f64::from(options.seconds);
                let rate = number_before(&said.out, " fetches/sec")?;
                let label = if checksum { format!("{name} -c") } else { name.to_owned() };
                let memory = said.peak_kib as f64 / 1024.0;
                println!("{label:<12} {lines:>8} {beyond:>22.2} {memory:>14.1} {rate:>12.0}");
                figures.push(json!({
                    "program": name, "lines": lines, "checksum": checksum, "beyond_s": beyond, "memory_mib": memory,
                    "fetches_per_s": rate,
                }));
            }
        }
        std::fs::remove_file(&file)?;
    }
    Ok(figures)
}

fn write_urls(path: &Path, lines: u64, port: u16) -> Result<()> {
    let mut file = BufWriter::new(std::fs::File::create(path)?);
    for line in 0..lines {
        writeln!(file, "http://127.0.0.1:{port}/catalogue/{line}/article?colour=blue&size={}", line % 97)?;
    }
    Ok(file.flush()?)
}

/// Runs it to its end, and looks at its memory meanwhile.
fn http_load(name: &'static str, program: &[String], words: &str, file: &Path) -> Result<Ran> {
    let begun = Instant::now();
    let mut command = Command::new(&program[0]);
    command.args(&program[1..]).args(words.split_whitespace()).arg(file);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = Ending(command.spawn().with_context(|| format!("starting {name}"))?);
    let mut peak_kib = 0;
    while child.0.try_wait()?.is_none() {
        ensure!(begun.elapsed() < LIMIT, "{name} {words} did not end within {} s", LIMIT.as_secs());
        let text = std::fs::read_to_string(format!("/proc/{}/status", child.0.id())).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
        peak_kib = kib.unwrap_or(0).max(peak_kib);
        std::thread::sleep(Duration::from_millis(20));
    }
    let took = begun.elapsed();
    let mut out = String::new();
    if let Some(mut pipe) = child.0.stdout.take() {
        std::io::Read::read_to_string(&mut pipe, &mut out)?;
    }
    Ok(Ran { out, took, peak_kib })
}

/// The first number after `what`, or the one right before it if `what` begins with a space.
fn number_before(out: &str, what: &str) -> Result<f64> {
    let word = match out.split_once(what) {
        Some((before, _)) if what.starts_with(' ') => before.split_whitespace().last(),
        Some((_, after)) => after.split_whitespace().next(),
        None => None,
    };
    word.and_then(|word| word.parse().ok()).with_context(|| format!("no '{}' in: {out}", what.trim()))
}

/// `tare target`, ready to serve.
struct Target {
    _child: Ending,
    port: u16,
}

impl Target {
    fn start(tare: &Path, folder: &Path, words: &str) -> Result<Self> {
        let port_file = folder.join("port");
        let _ = std::fs::remove_file(&port_file);
        let mut command = Command::new(tare);
        command
            .arg("target")
            .args(words.split_whitespace())
            .args(["--listen", "0", "--port-file"])
            .arg(&port_file);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = Ending(command.spawn().context("starting tare target")?);
        for _ in 0..500 {
            if let Some(port) =
                std::fs::read_to_string(&port_file).ok().and_then(|text| text.trim().parse().ok())
            {
                return Ok(Self { _child: child, port });
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        bail!("tare target was not ready within 5 s")
    }
}

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 260.0;
const LEFT: f64 = 60.0;
const TOP: f64 = 40.0;

/// First response against -parallel, logarithmic upwards; the truth is dashed.
fn chart(points: &[Point]) -> String {
    let most = points.iter().map(|point| point.3).fold(RESPONSE_MS, f64::max) * 1.5;
    let least = RESPONSE_MS / 2.0;
    let widest = f64::from(PARALLEL[PARALLEL.len() - 1]);
    let x = |parallel: u32| LEFT + f64::from(parallel) / widest * WIDTH;
    let y = |ms: f64| TOP + HEIGHT * (1.0 - (ms.max(least) / least).ln() / (most / least).ln());
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0} {:.0}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"20\" font-weight=\"bold\">Mean time to the first byte of the response, ms, against -parallel</text>\n",
        LEFT + WIDTH + 120.0,
        TOP + HEIGHT + 40.0
    );
    for tick in [10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1_000.0].into_iter().filter(|tick| *tick <= most) {
        grid_line(&mut svg, (LEFT, LEFT + WIDTH), y(tick), &tick.to_string());
    }
    for parallel in PARALLEL {
        let _ = writeln!(
            svg,
            "<text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"middle\">{parallel}</text>",
            x(parallel),
            TOP + HEIGHT + 18.0
        );
    }
    let truth = y(RESPONSE_MS);
    let _ = writeln!(
        svg,
        "<line x1=\"{LEFT}\" x2=\"{:.0}\" y1=\"{truth:.1}\" y2=\"{truth:.1}\" stroke=\"#777\" stroke-dasharray=\"5 4\"/>\
         <text x=\"{:.0}\" y=\"{:.1}\">truth</text>",
        LEFT + WIDTH,
        LEFT + WIDTH + 8.0,
        truth + 14.0
    );
    for (name, colour) in [("tare", "#1f6f8b"), ("http_load", "#c8553d")] {
        let own: Vec<&Point> = points.iter().filter(|point| point.0 == name).collect();
        let line: Vec<String> =
            own.iter().map(|point| format!("{:.1},{:.1}", x(point.1), y(point.3))).collect();
        let Some(last) = own.last() else { continue };
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\
             <text x=\"{:.0}\" y=\"{:.1}\" fill=\"{colour}\">{name}</text>",
            line.join(" "),
            LEFT + WIDTH + 8.0,
            y(last.3) - 2.0
        );
    }
    svg + "</svg>\n"
}
