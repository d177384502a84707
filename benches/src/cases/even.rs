//! Open loop: how evenly requests arrive, as stamped by the stamping server; no tool's own word is used.

use std::time::Duration;

use anyhow::Result;

use super::{Bench, Case, GENERATOR_CORE, SERVER_CORE, others, rotated};
use crate::proc::Cores;
use crate::process;
use crate::runs::Run;
use crate::stamps::{Stamps, evenness};
use crate::tools::{self, Ask, Load, Tool};

pub fn slow(case: &Case, bench: &mut Bench) -> Result<()> {
    rounds(case, bench, 2_000)
}

pub fn fast(case: &Case, bench: &mut Bench) -> Result<()> {
    rounds(case, bench, 20_000)
}

fn rounds(case: &Case, bench: &mut Bench, per_s: u64) -> Result<()> {
    let tools = tools::all(&crate::peers::tools(), bench.tare());
    for round in 0..bench.options.rounds {
        for i in rotated(tools.len(), round) {
            if let Some(run) = measure(case, bench, &*tools[i], per_s, round)? {
                bench.keep(run);
            }
        }
    }
    Ok(())
}

/// One run; `None` for a tool that knows no rate.
fn measure(case: &Case, bench: &Bench, tool: &dyn Tool, per_s: u64, round: u32) -> Result<Option<Run>> {
    let seconds = bench.options.open_seconds();
    let stamps = Stamps::start(bench.scratch.path(), SERVER_CORE)?;
    let ask = Ask { url: stamps.url(), load: Load::Rate(per_s), seconds, expected_per_s: per_s as f64 };
    let Ok(argv) = tool.command(&ask) else { return Ok(None) };
    let mut run = Run::new(case.name, tool.name(), round);
    run.command = argv.join(" ");
    std::thread::sleep(Duration::from_millis(100));
    let cores = Cores::now();
    let ended = process::run(&argv, GENERATOR_CORE, Duration::from_secs(seconds + 4), bench.scratch.path())?;
    let spent = Cores::now().since(cores);
    let arrivals = stamps.stop()?;
    run.notes.extend(doubts(tool, &ended));
    // The stamping server polls: it takes its whole core.
    let mut run = others(run, spent, ended.cpu_s() + ended.wall_s, ended.wall_s)
        .with("busy", ended.cpu_s() / ended.wall_s)
        .with("wall_s", ended.wall_s)
        .with("exit_status", ended.code.map_or(-1.0, f64::from))
        .with("rss_mb", ended.peak_rss_kib as f64 * 1024.0 / 1e6);
    let Some(e) = evenness::of(&arrivals, per_s as f64) else {
        run.notes.push(format!("{} requests arrived: {}", arrivals.len(), ended.last_words()));
        return Ok(Some(run));
    };
    let micros = |ns: u64| ns as f64 / 1e3;
    Ok(Some(
        run.with("arrivals", e.arrivals as f64)
            .with("achieved_per_s", e.achieved_per_s)
            .with("rate_error", e.rate_error)
            .with("gap_error_p50_us", micros(e.gap_error_p50_ns))
            .with("gap_error_p95_us", micros(e.gap_error_p95_ns))
            .with("gap_error_p99_us", micros(e.gap_error_p99_ns))
            .with("deviation_p50_us", micros(e.deviation_p50_ns))
            .with("deviation_p99_us", micros(e.deviation_p99_ns)),
    ))
}

fn doubts(tool: &dyn Tool, ended: &process::Ended) -> Vec<String> {
    if ended.timed_out {
        return vec!["did not end in time and was killed".to_owned()];
    }
    match tool.read(ended) {
        Ok(told) => {
            let failed = (told.failed > 0).then(|| format!("{} requests failed", told.failed));
            failed.into_iter().chain(told.word.map(|word| format!("says {word}"))).collect()
        }
        Err(error) => vec![format!("{error:#}")],
    }
}
