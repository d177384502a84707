//! Connections that all stay open and are used in turn: what each costs, and how quickly they open.
//!
//! A run opens a connection for each request until all are open ("--open-all"); after that each request takes
//! the one that has been idle for longest. It lasts three times as long as opening takes, so that each
//! connection carries three requests. Memory is the private part of the run's largest, less that of a run over
//! a hundred connections at the same rate.

use crate::program::{self, done};
use crate::{CPU, Options, PORT, QUIET, SERVER};
use anyhow::{Context, Result, ensure};
use bed::{Bed, Namespace};
use serde_json::Value;

/// The responder's address.
const OVER: &str = "198.18.0.20";
/// 16 addresses of our own have 1 032 192 ports.
const VIA: &str = "--via packet:gen0,ip=198.18.0.100-115/24 --via-path fast";
/// Each of so many requests on a connection.
const USES: u64 = 3;
const FEW: u64 = 100;
/// Bars of the responder's row, which is in nobody's way: bytes of a connection, and how many open in a second.
const MOST_BYTES: f64 = 128.0;
const LEAST_PER_S: f64 = 50_000.0;
/// Of nginx: one process may have 20 000 descriptors or fewer on some hosts.
const WORKERS: usize = 10;

pub fn case(bed: &Bed, options: &Options) -> Result<()> {
    println!("connections that stay open and are used {USES} times each");
    println!(
        "{:<24} {:>12} {:>14} {:>14} {:>12} {:>12}",
        "", "connections", "bytes of each", "opened/s", "requests/s", "verdict"
    );
    let many = if options.is_quick { 100_000 } else { 1_000_000 };
    let responder = program::responder(bed.sink(), OVER);
    let (each, opened_per_s) = row(bed.generator(), "the responder", &responder.url(), many, 100_000)?;
    drop(responder);
    let holds = each < MOST_BYTES && opened_per_s >= LEAST_PER_S;
    ensure!(holds, "bars: fewer than {MOST_BYTES} bytes each, and {LEAST_PER_S} opened a second");
    let _nginx = program::nginx(bed.sink(), "reuseport", WORKERS)?;
    row(bed.generator(), "nginx", &format!("http://{SERVER}:{PORT}/"), 100_000, 20_000)?;
    println!();
    Ok(())
}

/// Bytes of each connection, and how many opened in a second.
fn row(inside: &Namespace, name: &str, url: &str, connections: u64, per_s: u64) -> Result<(f64, f64)> {
    // As long, as far as memory still grows with time: histograms, rows of intervals.
    let few = run(inside, url, FEW, per_s, USES * connections.min(100_000))?;
    let many = run(inside, url, connections, per_s, USES * connections)?;
    let opened = many["connections"]["opened"].as_u64();
    ensure!(opened == Some(connections), "{name}: {opened:?} connections were opened");
    let memory = |result: &Value| result["generator"]["anon_peak_bytes"].as_f64().context("its memory");
    let each = (memory(&many)? - memory(&few)?) / connections as f64;
    let rows = many["intervals"].as_array().context("intervals")?;
    let all_open = rows.iter().find(|row| row["open"].as_u64() >= Some(connections)).context("all open")?;
    let seconds = |key: &str| all_open[key].as_f64().unwrap_or(f64::NAN);
    let opened_per_s = connections as f64 / (seconds("t_s") + seconds("length_s"));
    println!(
        "{name:<24} {connections:>12} {each:>14.1} {opened_per_s:>14.0} {:>12.0} {:>12}",
        many["rate"]["achieved_per_s"].as_f64().unwrap_or(f64::NAN),
        many["verdict"]["word"].as_str().unwrap_or("none")
    );
    Ok((each, opened_per_s))
}

fn run(inside: &Namespace, url: &str, connections: u64, per_s: u64, requests: u64) -> Result<Value> {
    let binary = tare_system_tests::binary().display().to_string();
    let [count, rate, requests] = [connections, per_s, requests].map(|number| number.to_string());
    let via: Vec<&str> = VIA.split(' ').collect();
    let load = ["--open-all", "--parallel", &count, "--rate", &rate, "--requests", &requests, url];
    let wanted = [&[&binary, "http", "--cpus", CPU, "--threads", "1"], &QUIET[..], &via, &load].concat();
    let result = program::run(inside, &wanted)?.json()?;
    done(&result)
        .with_context(|| format!("{}: requests failed: {}", wanted.join(" "), result["outcomes"]))?;
    Ok(result)
}
