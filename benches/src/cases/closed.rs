//! Closed loop against nginx: requests per second, CPU and memory of each tool.
//!
//! No tool's word is taken alone: what it says it did must be what nginx counted. When it says more, nginx's
//! count is used, and the row says so.

use std::time::Duration;

use anyhow::Result;

use super::{Bench, Case, GENERATOR_CORE, SERVER_CORE, others, rotated};
use crate::nginx::Nginx;
use crate::proc::Cores;
use crate::process;
use crate::runs::Run;
use crate::tools::{self, Ask, CONNECTIONS, Load, Told, Tool};

/// CPU is given per so many requests.
const PER_MILLION: f64 = 1e6;
const PER_THOUSAND: f64 = 1e3;

pub fn keep_alive(case: &Case, bench: &mut Bench) -> Result<()> {
    all_tools(case, bench, Load::KeepAlive, false)
}

pub fn new_connection(case: &Case, bench: &mut Bench) -> Result<()> {
    all_tools(case, bench, Load::NewConnection, false)
}

pub fn tls_keep_alive(case: &Case, bench: &mut Bench) -> Result<()> {
    all_tools(case, bench, Load::KeepAlive, true)
}

pub fn tls_new_connection(case: &Case, bench: &mut Bench) -> Result<()> {
    all_tools(case, bench, Load::NewConnection, true)
}

fn all_tools(case: &Case, bench: &mut Bench, load: Load, tls: bool) -> Result<()> {
    let tools = tools::all(&crate::peers::tools(), bench.tare());
    rounds(case, bench, &tools, load, tls)
}

/// Rounds over the tools, interleaved. Before the first, wrk runs for a second to warm nginx up and to size the
/// tools that take a number of requests.
pub fn rounds(case: &Case, bench: &mut Bench, tools: &[Box<dyn Tool>], load: Load, tls: bool) -> Result<()> {
    let nginx = Nginx::start(bench.scratch.path(), SERVER_CORE)?;
    let url = || if tls { nginx.tls_url() } else { nginx.plain_url() };
    let mut ask = Ask { url: url(), load, seconds: 1, expected_per_s: 1_000.0 };
    let warm_up = measure(case, bench, &*tools::client(), &ask, &nginx, 0)?;
    ask.expected_per_s = warm_up.figure("per_s").unwrap_or(1_000.0);
    ask.seconds = bench.options.seconds;
    for round in 0..bench.options.rounds {
        for i in rotated(tools.len(), round) {
            ask.url = url();
            let run = bench.patience.undisturbed(|| measure(case, bench, &*tools[i], &ask, &nginx, round))?;
            bench.keep(run);
        }
    }
    Ok(())
}

/// One run of one tool. What it cannot do, or failed to do, is a note and no figures.
fn measure(case: &Case, bench: &Bench, tool: &dyn Tool, ask: &Ask, nginx: &Nginx, round: u32) -> Result<Run> {
    let mut run = Run::new(case.name, tool.name(), round);
    let argv = match tool.command(ask) {
        Ok(argv) => argv,
        Err(reason) => {
            run.notes.push(format!("SKIPPED: {reason}"));
            return Ok(run);
        }
    };
    run.command = argv.join(" ");
    let (requests, nginx_cpu_s, cores) = (nginx.requests()?, nginx.cpu_s(), Cores::now());
    let limit = Duration::from_secs(3 * ask.seconds + 10);
    let ended = process::run(&argv, GENERATOR_CORE, limit, bench.scratch.path())?;
    let (seen, spent) = (nginx.requests()? - requests, Cores::now().since(cores));
    let nginx_cpu_s = nginx.cpu_s() - nginx_cpu_s;
    let told = match tool.read(&ended) {
        Ok(told) => told,
        Err(error) => {
            run.notes.push(format!("no figures: {error:#}"));
            return Ok(run);
        }
    };
    let (counted, doubts) = count(&told, seen, ended.wall_s);
    run.notes.extend(doubts);
    run.notes.extend(told.word.clone().map(|word| format!("says {word}")));
    let unit = if ask.tls() && ask.load == Load::NewConnection { PER_THOUSAND } else { PER_MILLION };
    let per = unit / counted.max(1) as f64;
    let run = run
        .with("per_s", counted as f64 / told.seconds)
        .with("cpu_s", ended.cpu_s() * per)
        .with("user_s", ended.user_s * per)
        .with("system_s", ended.system_s * per)
        .with("rss_mb", ended.peak_rss_kib as f64 * 1024.0 / 1e6)
        .with("server_cpu_s", nginx_cpu_s * per)
        .with("busy", ended.cpu_s() / ended.wall_s)
        .with("requests_told", told.done as f64)
        .with("requests_seen", seen as f64)
        .with("seconds_told", told.seconds)
        .with("exit_status", ended.code.map_or(-1.0, f64::from))
        .with("wall_s", ended.wall_s);
    Ok(others(run, spent, ended.cpu_s() + nginx_cpu_s, ended.wall_s))
}

/// The requests that count, and what is doubtful about them. A tool may leave out those on their way when it
/// stopped (at most one for each connection, and as many at its start); 0.2 % more is slack for a tool that
/// discards a warm-up.
fn count(told: &Told, seen: u64, wall_s: f64) -> (u64, Vec<String>) {
    let mut doubts = Vec::new();
    if told.done > seen {
        doubts.push(format!("counted {} requests, nginx {seen}: nginx's count is used", told.done));
    } else if seen - told.done > 2 * CONNECTIONS + seen / 500 {
        doubts.push(format!("counted {} requests, nginx {seen}", told.done));
    }
    if told.failed > 0 {
        doubts.push(format!("{} requests failed", told.failed));
    }
    if told.seconds > wall_s + 0.01 || told.seconds < 0.8 * wall_s - 0.5 {
        doubts.push(format!("says {:.2} s, ran {wall_s:.2} s", told.seconds));
    }
    (told.done.min(seen), doubts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(done: u64) -> Told {
        Told { done, failed: 0, seconds: 4.0, word: None }
    }

    #[test]
    fn requests_still_on_their_way_are_no_doubt() {
        // 2 · 64 + 100 000 / 500 = 328 may be missing
        assert_eq!(count(&told(100_000 - 328), 100_000, 4.01), (99_672, vec![]));
        assert_eq!(count(&told(100_000 - 329), 100_000, 4.01).1.len(), 1);
    }

    #[test]
    fn a_tool_that_boasts_is_counted_by_nginx() {
        let (counted, doubts) = count(&told(100_001), 100_000, 4.01);
        assert_eq!((counted, doubts.len()), (100_000, 1));
    }

    #[test]
    fn a_wrong_duration_is_a_doubt() {
        assert_eq!(count(&told(10), 10, 3.9).1.len(), 1);
        assert_eq!(count(&told(10), 10, 6.0).1.len(), 1);
        assert_eq!(count(&told(10), 10, 4.3).1.len(), 0);
    }
}
