//! Requests a second, and CPU for a million of them, each also as a multiple of wrk's. The last column leaves
//! the kernel out.

use crate::program::{self, done};
use crate::stats::median;
use crate::{CPU, Options, PORT, QUIET, SERVER, VIA};
use anyhow::{Context, Result};
use bed::{Bed, Namespace};

/// How each row makes its requests: name, and words of `tare http`; the first is wrk.
const ROWS: [(&str, &[&str]); 4] = [
    ("wrk", &[]),
    ("tare, kernel's sockets", &[]),
    ("tare --via, general", &[VIA, "--via-path general"]),
    ("tare --via, fast", &[VIA, "--via-path fast"]),
];

/// One run: requests a second, and CPU seconds for a million of them: all, and those outside the kernel.
#[derive(Clone, Copy)]
struct Figures {
    per_s: f64,
    cpu_s: f64,
    user_s: f64,
}

pub fn case(bed: &Bed, options: &Options) -> Result<()> {
    let nginx = program::nginx(bed.sink(), "", 1)?;
    let binary = tare_system_tests::binary().display().to_string();
    for (title, is_kept) in [("keep-alive", true), ("a connection a request", false)] {
        let mut figures = vec![Vec::new(); ROWS.len()];
        for _ in 0..options.rounds {
            for (row, figures) in figures.iter_mut().enumerate() {
                figures.push(run(row, is_kept, options, bed.generator(), &binary)?);
            }
        }
        print(title, options, &figures);
    }
    drop(nginx);
    Ok(())
}

fn run(row: usize, is_kept: bool, options: &Options, inside: &Namespace, binary: &str) -> Result<Figures> {
    let Options { seconds, connections, .. } = options;
    let url = format!("http://{SERVER}:{PORT}/");
    let count = (connections.to_string(), format!("{seconds}s"));
    let wanted = if row == 0 {
        let closes: &[&str] = if is_kept { &[] } else { &["-H", "Connection: close"] };
        [&["wrk", "-t1", "-c", &count.0, "-d", &count.1], closes, &[&url]].concat()
    } else {
        let via: Vec<&str> = ROWS[row].1.iter().flat_map(|words| words.split(' ')).collect();
        let closes: &[&str] = if is_kept { &[] } else { &["--no-keep-alive"] };
        let load = ["--parallel", &count.0, "--duration", &count.1, &url];
        [&[binary, "http", "--cpus", CPU, "--threads", "1"], &QUIET[..], &via, closes, &load].concat()
    };
    let ran = program::run(inside, &wanted)?;
    let done: u64 = if row == 0 { requests_of_wrk(&ran.said) } else { done(&ran.json()?) }
        .with_context(|| format!("{} printed {}", wanted.join(" "), ran.said))?;
    let user_s = ran.user_s / done as f64 * 1e6;
    Ok(Figures { per_s: done as f64 / *seconds as f64, cpu_s: ran.cpu_s_per_million(done), user_s })
}

/// `385913 requests in 2.00s`
fn requests_of_wrk(text: &str) -> Option<u64> {
    if text.contains("Non-2xx") || text.contains("Socket errors") {
        return None;
    }
    let line = text.lines().find(|line| line.contains(" requests in "))?;
    line.split_whitespace().next()?.parse().ok()
}

fn print(title: &str, options: &Options, figures: &[Vec<Figures>]) {
    let Options { rounds, seconds, connections, .. } = options;
    println!("{title}: {connections} connections, {rounds} rounds of {seconds} s each, medians");
    println!(
        "{:<26} {:>12} {:>8} {:>12} {:>8} {:>12}",
        "", "requests/s", "x wrk", "CPU s/M", "x wrk", "of it user"
    );
    let middle = |values: Vec<f64>| median(&values).unwrap_or(f64::NAN);
    let of = |row: usize, of: fn(&Figures) -> f64| middle(figures[row].iter().map(of).collect());
    // Round by round, so that what slows a round slows both.
    let ratio = |row: usize, of: fn(&Figures) -> f64| {
        let pairs = figures[row].iter().zip(&figures[0]);
        middle(pairs.map(|(ours, theirs)| of(ours) / of(theirs)).collect())
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
