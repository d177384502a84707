//! Memory: does a run ten times as long hold more?

use std::time::Duration;

use anyhow::Result;

use super::{Bench, Case, GENERATOR_CORE, SERVER_CORE};
use crate::nginx::Nginx;
use crate::process::{self, Ended};
use crate::runs::Run;
use crate::tools::tare::Tare;
use crate::tools::{Ask, Load, Tool};

/// One pair of runs: 6 s and 60 s by default. It is not repeated, since nothing here depends on the machine's
/// mood.
pub fn run(case: &Case, bench: &mut Bench) -> Result<()> {
    let Some(path) = bench.tare().map(ToOwned::to_owned) else { return Ok(()) };
    let tare = Tare::new(&path);
    let nginx = Nginx::start(bench.scratch.path(), SERVER_CORE)?;
    let short_s = (bench.options.seconds * 3).div_ceil(2);
    let short = measure(case, bench, &tare, &nginx, "short run", short_s)?;
    let long = measure(case, bench, &tare, &nginx, "long run", 10 * short_s)?;
    let growth = long.0.peak_rss_kib as f64 - short.0.peak_rss_kib as f64;
    let judged = Run::new(case.name, "tare", 0)
        .with("rss_mb", megabytes(long.0.peak_rss_kib as f64))
        .with("growth_mb", megabytes(growth));
    for run in [short.1, long.1, judged] {
        bench.keep(run);
    }
    Ok(())
}

fn measure(
    case: &Case,
    bench: &Bench,
    tare: &Tare,
    nginx: &Nginx,
    row: &str,
    seconds: u64,
) -> Result<(Ended, Run)> {
    let ask = Ask { url: nginx.plain_url(), load: Load::KeepAlive, seconds, expected_per_s: 0.0 };
    let argv = tare.command(&ask).map_err(anyhow::Error::msg)?;
    let ended =
        process::run(&argv, GENERATOR_CORE, Duration::from_secs(2 * seconds + 10), bench.scratch.path())?;
    tare.read(&ended)?;
    let mut run = Run::new(case.name, row, 0)
        .with("seconds", seconds as f64)
        .with("rss_mb", megabytes(ended.peak_rss_kib as f64))
        .with("private_mb", megabytes(ended.peak_private_kib as f64));
    run.command = argv.join(" ");
    Ok((ended, run))
}

fn megabytes(kib: f64) -> f64 {
    kib * 1024.0 / 1e6
}
