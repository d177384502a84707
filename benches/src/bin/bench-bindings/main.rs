//! `bench-bindings`: middleboxes in Java beside the same ones in C, over the same library and the same ports,
//! on one core, in turns; judged against the bars.
//!
//! ```text
//!   options ─► workers (java, native) on one core ─► rounds: A B A B … ─► figures ─► bars
//! ```
//!
//! A ring of frames is filled, and the time is that of polling it empty: what is compared is the middlebox
//! alone.

mod chart;
#[allow(dead_code, reason = "shared with bench-packet, which needs more of it")]
#[path = "../bench-packet/figures.rs"]
mod figures;
mod ladder;
mod options;
mod recorded;
#[allow(dead_code, reason = "shared with bench-http, which needs more of it")]
#[path = "../../stats.rs"]
mod stats;
mod worker;

use anyhow::{Result, ensure};
use options::Options;
use serde_json::json;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.iter().any(|word| word == "--help" || word == "-h") {
        print!("{}", options::HELP);
        return ExitCode::SUCCESS;
    }
    match Options::parse(words).and_then(|options| bench(&options)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("bench-bindings: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Runs all; false when a bar falls short.
fn bench(options: &Options) -> Result<bool> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    ensure!(cores > 1, "two cores are needed: pollers are counted on one and on two");
    if options.priority {
        // Sessions share the CPU before niceness counts; one that is not root's own may not.
        let _ = std::fs::write("/proc/self/autogroup", "-19");
    }
    println!("{}\n", head(options, cores));
    let mut tables = ladder::steps(options)?;
    let threads = ladder::threads(options)?;
    print!("{}", threads.text());
    tables.push(threads);
    println!("\n{}", chart::text(&tables));
    if let Some(path) = &options.chart {
        std::fs::write(path, chart::svg(&tables))?;
        println!("chart: {}", path.display());
    }
    recorded::print(options)?;
    let bars: Vec<_> = tables.iter().flat_map(|table| &table.bars).collect();
    let holding = bars.iter().filter(|bar| bar.holds == Some(true)).count();
    println!("\n{holding} of {} bars hold; load average at the end {}", bars.len(), load_average());
    if let Some(path) = &options.json {
        let document =
            json!({ "schema": "tare.bench-bindings/1", "rounds": options.rounds, "tables": tables });
        std::fs::write(path, serde_json::to_string_pretty(&document)? + "\n")?;
        println!("figures of every round: {}", path.display());
    }
    if let Some(path) = &options.markdown {
        std::fs::write(path, tables.iter().map(figures::Table::markdown).collect::<String>())?;
    }
    Ok(holding == bars.len())
}

fn head(options: &Options, cores: usize) -> String {
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cpu =
        cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':')).map_or("", |c| c.1);
    format!(
        "{cores} × {}, load average {} at the start; {}\n{} rounds of {} ms, medians; bursts of {} frames{}",
        cpu.trim(),
        load_average(),
        options.java_version(),
        options.rounds,
        options.length.as_millis(),
        options.burst,
        if options.priority { "; at niceness -19" } else { "" },
    )
}

fn load_average() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or("?").to_owned()
}
