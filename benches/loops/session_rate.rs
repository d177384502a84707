//! What a request of `tare http --via` costs without a kernel and a wire: over `mem`, to the stateless
//! responder of `tare target --over`.
//!
//! ```text
//!   tare-http-0: engine thread of a run ─ [ mem ═ mem ] ─ target-0: the responder's thread
//! ```
//!
//! The whole run, as a plan has it: schedule, TCP, HTTP, histograms. Each thread's own CPU time is asked for
//! while it works, so that other work of this machine counts for little. Prints millions of requests per second
//! of CPU time: of the engine's, of both together (what one core could do), and the nanoseconds of each; the
//! best of some trials: the cost without interruptions. `cargo run --release -p tare-benches --bin session_rate
//! [SECONDS [CONNECTIONS]]`.

use anyhow::{Context, Result, anyhow, ensure};
use run::hosted::{Run, Wishes};
use target::TargetConfig;
use target::over::{OverConfig, spawn};
use units::Picos;

const TRIALS: usize = 5;
const LOOK_EVERY: Picos = Picos::from_millis(20);

/// CPU seconds that the threads of this name have had.
fn cpu_of(name: &str) -> f64 {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let mine = tasks
        .map(|task| task.path())
        .filter(|task| std::fs::read_to_string(task.join("comm")).is_ok_and(|comm| comm.trim_end() == name));
    let ns = mine.filter_map(|task| {
        let text = std::fs::read_to_string(task.join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<f64>().ok()
    });
    ns.sum::<f64>() / 1e9
}

/// Nanoseconds of a request: the engine's, and the responder's.
fn trial(path: &str, number: usize, seconds: u64, connections: u64) -> Result<[f64; 2]> {
    let name = format!("{path}{number}");
    let via = format!("mem,slots=4096:{name},ip=198.18.0.20/24").parse()?;
    let responder = spawn(&OverConfig::new(via, TargetConfig::default())?)?;
    let plan = format!(
        "url = \"http://198.18.0.20/\"\n[load]\nparallel = {connections}\n[stop]\nduration = \"{seconds}s\"\n\
         [connection]\nvia = \"mem,slots=4096:{name},ip=198.18.0.10-13/24\"\nvia_path = \"{path}\"\n"
    );
    let wishes = Wishes { accept_invalid: true, ..Wishes::default() };
    let run = Run::start(&plan, "session_rate", &wishes).map_err(|failure| anyhow!("{failure:?}"))?;
    let mut cpu = [0.0f64; 2];
    let outcome = loop {
        // What a thread has had by the last look; it is gone after its end.
        for (known, name) in cpu.iter_mut().zip(["tare-http-0", "target-0"]) {
            *known = known.max(cpu_of(name));
        }
        if let Some(outcome) = run.outcome(LOOK_EVERY) {
            break outcome;
        }
    };
    let ended = outcome.as_ref().map_err(|wrong| anyhow!("{wrong}"))?;
    // It may have noticed that the other end is gone.
    let _ = responder.stop();
    let totals = &ended.result.totals;
    ensure!(totals.failed == 0 && totals.done > 0, "requests failed: {:?}", ended.result.outcomes);
    Ok(cpu.map(|cpu| cpu * 1e9 / totals.done as f64))
}

fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let seconds = words.next().map_or(Ok(2), |text| text.parse())?;
    let connections = words.next().map_or(Ok(1_024), |text| text.parse()).context("CONNECTIONS")?;
    for path in ["fast", "general"] {
        let trials = (0..TRIALS).map(|number| trial(path, number, seconds, connections));
        let mut costs = trials.collect::<Result<Vec<_>>>()?;
        costs.sort_by(|one, other| (one[0] + one[1]).total_cmp(&(other[0] + other[1])));
        let [engine, responder] = costs[0];
        println!(
            "{path}, {connections} connections: {:.2} M/s of the engine's CPU time, {:.2} M/s of both; \
             {engine:.0} and {responder:.0} ns a request",
            1e3 / engine,
            1e3 / (engine + responder)
        );
    }
    Ok(())
}
