//! `tare http --via` beside wrk and beside `tare http` over the kernel's sockets: nginx at the other end of a
//! veth pair, in a network namespace of its own.
//!
//! ```text
//! bench-sessions [--rounds N] [--seconds N] [--connections N]
//!
//!   CPU 0, generator's namespace              CPU 1, sink's namespace
//!   wrk │ tare │ tare --via ─────── veth ─────── nginx, one worker, 600 bytes from memory
//! ```
//!
//! Each round has one run of every kind, so that a machine that becomes slower does so for all. Printed are
//! medians over rounds: requests a second, and the generator's own CPU seconds for a million requests, each
//! also as a multiple of wrk's. The kernel does much of the target's work where the generator sends (veth has
//! no wire between them), and that counts as the generator's; the last column leaves the kernel out.

#[path = "../flags.rs"]
mod flags;

use anyhow::{Context, Result, ensure};
use bed::{Namespace, Topology};
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_setaffinity};
use stats::median;
use std::process::Stdio;
use tare_system_tests::Nginx;

/// The server's address in every bed.
const SERVER: &str = "198.18.0.2";
const PORT: u16 = 8080;
/// The generator's.
const CPU: &str = "0";
const SERVERS_CPU: usize = 1;

/// Only the result is printed, whatever is thought of it.
const QUIET: [&str; 4] = ["--json", "--no-progress", "--no-save", "--accept-invalid"];

/// How each row makes its requests: name, and words of `tare http`; the first is wrk.
const ROWS: [(&str, &str); 4] = [
    ("wrk", ""),
    ("tare, kernel's sockets", ""),
    ("tare --via, general", "--via packet:gen0,ip=198.18.0.10/24 --via-path general"),
    ("tare --via, fast", "--via packet:gen0,ip=198.18.0.10/24 --via-path fast"),
];

struct Options {
    rounds: u64,
    seconds: u64,
    connections: u64,
}

/// One run: requests a second, and CPU seconds for a million of them: all, and those outside the kernel.
#[derive(Clone, Copy)]
struct Figures {
    per_s: f64,
    cpu_s: f64,
    user_s: f64,
}

fn main() -> Result<()> {
    let options = options()?;
    ensure!(
        std::thread::available_parallelism()?.get() > SERVERS_CPU,
        "one CPU for both ends: the generator would wait for the target"
    );
    let bed = bed::Bed::up(&Topology::unique())?;
    let binary = tare_system_tests::binary().display().to_string();
    let body = "x".repeat(600);
    let server =
        format!("listen {SERVER}:{PORT} backlog=4096; access_log off; location / {{ return 200 '{body}'; }}");
    let nginx = Nginx::start_inside(bed.sink(), &server);
    let worker = Pid::from_raw(nginx.worker() as i32).context("nginx's worker")?;
    sched_setaffinity(Some(worker), &only(SERVERS_CPU))?;
    let url = format!("http://{SERVER}:{PORT}/");
    for (title, is_kept) in [("keep-alive", true), ("a connection a request", false)] {
        let mut figures = vec![Vec::new(); ROWS.len()];
        for _ in 0..options.rounds {
            for (row, figures) in figures.iter_mut().enumerate() {
                figures.push(run(row, is_kept, &options, &url, bed.generator(), &binary)?);
            }
        }
        print(title, &options, &figures);
    }
    Ok(())
}

fn options() -> Result<Options> {
    let (mut rounds, mut seconds, mut connections) = (5, 3, 64);
    flags::read(&mut [
        ("--rounds", &mut rounds),
        ("--seconds", &mut seconds),
        ("--connections", &mut connections),
    ])?;
    Ok(Options { rounds, seconds, connections })
}

fn only(cpu: usize) -> CpuSet {
    let mut cpus = CpuSet::new();
    cpus.set(cpu);
    cpus
}

fn run(
    row: usize,
    is_kept: bool,
    options: &Options,
    url: &str,
    inside: &Namespace,
    binary: &str,
) -> Result<Figures> {
    let Options { seconds, connections, .. } = options;
    let count = (connections.to_string(), format!("{seconds}s"));
    let wanted = if row == 0 {
        let closes: &[&str] = if is_kept { &[] } else { &["-H", "Connection: close"] };
        [&["wrk", "-t1", "-c", &count.0, "-d", &count.1], closes, &[url]].concat()
    } else {
        let (tare, via): (_, Vec<&str>) = (binary, ROWS[row].1.split_whitespace().collect());
        let closes: &[&str] = if is_kept { &[] } else { &["--no-keep-alive"] };
        let load = ["--parallel", &count.0, "--duration", &count.1, url];
        [&[tare, "http", "--cpus", CPU, "--threads", "1"], &QUIET[..], &via, closes, &load].concat()
    };
    let line = wanted.join(" ");
    let mut command = inside.command("taskset");
    command.args(["-c", CPU]).args(wanted).stdin(Stdio::null());
    let before = children_cpu();
    let output = command.output().with_context(|| line.clone())?;
    let after = children_cpu();
    let said = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    let done: u64 = if row == 0 { requests_of_wrk(&said) } else { requests_of_tare(&said) }
        .with_context(|| format!("{line} printed {said}"))?;
    let each = |before: f64, after: f64| (after - before) / done as f64 * 1e6;
    let (user_s, system_s) = (each(before.0, after.0), each(before.1, after.1));
    Ok(Figures { per_s: done as f64 / *seconds as f64, cpu_s: user_s + system_s, user_s })
}

/// `385913 requests in 2.00s`
fn requests_of_wrk(text: &str) -> Option<u64> {
    ensure_none_failed(text)?;
    let line = text.lines().find(|line| line.contains(" requests in "))?;
    line.split_whitespace().next()?.parse().ok()
}

fn ensure_none_failed(text: &str) -> Option<()> {
    (!text.contains("Non-2xx") && !text.contains("Socket errors")).then_some(())
}

fn requests_of_tare(text: &str) -> Option<u64> {
    let result: serde_json::Value = serde_json::from_str(text).ok()?;
    let totals = &result["totals"];
    (totals["failed"] == 0).then(|| totals["done"].as_u64()).flatten()
}

/// CPU seconds of all children that were waited for: outside the kernel, and in it.
fn children_cpu() -> (f64, f64) {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `usage` is a rusage that the kernel fills.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr());
        usage.assume_init()
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    (seconds(usage.ru_utime), seconds(usage.ru_stime))
}

fn print(title: &str, options: &Options, figures: &[Vec<Figures>]) {
    let Options { rounds, seconds, connections } = options;
    println!("{title}: {connections} connections, {rounds} rounds of {seconds} s each, medians");
    println!(
        "{:<26} {:>12} {:>8} {:>12} {:>8} {:>12}",
        "", "requests/s", "x wrk", "CPU s/M", "x wrk", "of it user"
    );
    let of = |row: usize, of: fn(&Figures) -> f64| median(&figures[row].iter().map(of).collect::<Vec<_>>());
    // Round by round, so that what slows a round slows both.
    let ratio = |row: usize, of: fn(&Figures) -> f64| {
        let pairs = figures[row].iter().zip(&figures[0]);
        median(&pairs.map(|(ours, theirs)| of(ours) / of(theirs)).collect::<Vec<_>>())
    };
    for (row, (name, _)) in ROWS.iter().enumerate() {
        let per_s = |run: &Figures| run.per_s;
        let cpu_s = |run: &Figures| run.cpu_s;
        println!(
            "{name:<26} {:>12.0} {:>8.2} {:>12.2} {:>8.2} {:>12.2}",
            of(row, per_s),
            ratio(row, per_s),
            of(row, cpu_s),
            ratio(row, cpu_s),
            of(row, |run| run.user_s)
        );
    }
    println!();
}
