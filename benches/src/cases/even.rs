//! Open loop: how evenly requests arrive, as stamped by the stamping server; no tool's own word is used.

use std::time::Duration;

use anyhow::Result;

use super::{Bench, Case, GENERATOR_CORE, SERVER_CORE, others, rotated};
use crate::proc::Cores;
use crate::process;
use crate::runs::Run;
use crate::stamps::Stamps;
use crate::stamps::evenness::{self, Evenness};
use crate::tools::{self, Ask, Load, Tool};

pub fn slow(case: &Case, bench: &mut Bench) -> Result<()> {
    rounds(case, bench, 2_000)
}

pub fn fast(case: &Case, bench: &mut Bench) -> Result<()> {
    rounds(case, bench, 20_000)
}

fn rounds(case: &Case, bench: &mut Bench, per_s: u64) -> Result<()> {
    let tools: Vec<_> = tools::all(&crate::peers::tools(), bench.tare());
    let seconds = bench.options.open_seconds();
    let mut ask = Ask { url: String::new(), load: Load::Rate(per_s), seconds, expected_per_s: per_s as f64 };
    let able: Vec<_> = tools.iter().filter(|tool| tool.command(&ask).is_ok()).collect();
    for round in 0..bench.options.rounds {
        for i in rotated(able.len(), round) {
            let run = bench.patience.undisturbed(|| measure(case, bench, &**able[i], &mut ask, round))?;
            bench.keep(run);
        }
    }
    Ok(())
}

/// One run, against a stamping server of its own.
fn measure(case: &Case, bench: &Bench, tool: &dyn Tool, ask: &mut Ask, round: u32) -> Result<Run> {
    let stamps = Stamps::start(bench.scratch.path(), SERVER_CORE)?;
    ask.url = stamps.url();
    let argv = tool.command(ask).map_err(anyhow::Error::msg)?;
    let (stamps_cpu_s, cores) = (stamps.cpu_s(), Cores::now());
    let ended =
        process::run(&argv, GENERATOR_CORE, Duration::from_secs(ask.seconds + 4), bench.scratch.path())?;
    let (stamps_cpu_s, spent) = (stamps.cpu_s() - stamps_cpu_s, Cores::now().since(cores));
    let arrivals = stamps.stop()?;
    let mut run =
        others(Run::new(case.name, tool.name(), round), spent, ended.cpu_s() + stamps_cpu_s, ended.wall_s)
            .with("busy", ended.cpu_s() / ended.wall_s)
            .with("wall_s", ended.wall_s)
            .with("exit_status", ended.code.map_or(-1.0, f64::from))
            .with("rss_mb", ended.peak_rss_kib as f64 * 1024.0 / 1e6);
    run.command = argv.join(" ");
    run.notes.extend(doubts(tool, &ended));
    let Load::Rate(per_s) = ask.load else { return Ok(run) };
    match evenness::of(&arrivals, per_s as f64) {
        Some(evenness) => Ok(with_evenness(run, &evenness)),
        None => {
            run.notes.push(format!("{} requests arrived: {}", arrivals.len(), ended.last_words()));
            Ok(run)
        }
    }
}

fn with_evenness(run: Run, e: &Evenness) -> Run {
    let micros = |ns: u64| ns as f64 / 1e3;
    run.with("arrivals", e.arrivals as f64)
        .with("achieved_per_s", e.achieved_per_s)
        .with("rate_error", e.rate_error)
        .with("gap_error_p50_us", micros(e.gap_error_p50_ns))
        .with("gap_error_p95_us", micros(e.gap_error_p95_ns))
        .with("gap_error_p99_us", micros(e.gap_error_p99_ns))
        .with("deviation_p50_us", micros(e.deviation_p50_ns))
        .with("deviation_p99_us", micros(e.deviation_p99_ns))
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
