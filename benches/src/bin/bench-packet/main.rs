//! `bench-packet`: Tare's frames beside trafgen, tcpreplay, testpmd, tcpdump, dumpcap, xdp-filter, nftables,
//! iperf3 and bare loops, in the same rounds over the same veth pairs, judged against the bars.
//!
//! ```text
//!   options ─► case ─► rounds: A B C A B C …  ─► figures ─► bars
//!                      (programs in namespaces, counted by the kernel)
//! ```

mod bed;
mod cases;
mod child;
mod figures;
mod options;
mod peers;
mod rates;
#[path = "../../scratch.rs"]
mod scratch;
mod sizes;
#[allow(dead_code, reason = "shared with bench-http, which needs more of it")]
#[path = "../../stats.rs"]
mod stats;
#[path = "../../svg.rs"]
mod svg;

use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail, ensure};
use serde_json::json;

use cases::{Bench, CASES};
use figures::Table;
use options::Options;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.iter().any(|word| word == "--help" || word == "-h") {
        print!("{}", options::HELP);
        return ExitCode::SUCCESS;
    }
    match Options::parse(words).and_then(bench) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("bench-packet: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Runs what was asked for; false when a bar falls short.
fn bench(options: Options) -> Result<bool> {
    if options.list {
        CASES.iter().for_each(|case| println!("{:<10} {}", case.name, case.says));
        return Ok(true);
    }
    if let Some(name) = options.only.iter().find(|name| CASES.iter().all(|case| case.name != **name)) {
        bail!("--only {name}: no such case; --list names them");
    }
    child::end_at_ctrl_c()?;
    let head = head(&options)?;
    println!("{head}");
    let _priority = options.priority.then(bed::Priority::take);
    let scratch = scratch::Scratch::new()?;
    let bench = Bench { options, scratch: scratch.path().to_owned() };
    let mut tables: Vec<Table> = Vec::new();
    for case in CASES.iter().filter(|case| bench.is_asked(case.name)) {
        let made = (case.run)(&bench).with_context(|| format!("case {}", case.name))?;
        made.iter().for_each(|table| print!("{}", table.text()));
        tables.extend(made);
    }
    finish(&bench.options, &head, &tables)
}

fn finish(options: &Options, head: &str, tables: &[Table]) -> Result<bool> {
    let bars: Vec<_> = tables.iter().flat_map(|table| &table.bars).collect();
    let holding = bars.iter().filter(|bar| bar.holds == Some(true)).count();
    println!("\n{holding} of {} bars hold; load average at the end {}", bars.len(), load_average());
    if let Some(path) = &options.json {
        let document = json!({ "schema": "tare.bench-packet/1", "head": head, "rounds": options.rounds, "tables": tables });
        std::fs::write(path, serde_json::to_string_pretty(&document)? + "\n")?;
        println!("figures of every round: {}", path.display());
    }
    if let Some(path) = &options.markdown {
        let tables: String = tables.iter().map(Table::markdown).collect();
        std::fs::write(path, format!("{head}\n{tables}"))?;
    }
    if options.sizes.len() > 2 {
        print!("{}", sizes::markdown(&tables.iter().collect::<Vec<_>>()));
    }
    if let Some(path) = &options.chart {
        let earlier = options.with.iter().map(|file| figures::read(file));
        let all: Vec<Table> = earlier.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
        let all: Vec<&Table> = tables.iter().chain(&all).collect();
        let drawn = rates::svg(&all).unwrap_or_else(|| sizes::svg(&all));
        std::fs::write(path, drawn)?;
        println!("chart: {}", path.display());
    }
    Ok(holding == bars.len())
}

/// The machine, the load on it, the programs.
fn head(options: &Options) -> Result<String> {
    let said = Command::new(&options.tare).arg("-V").output();
    let said =
        said.with_context(|| format!("no tare at {}: build it, or give --tare", options.tare.display()))?;
    ensure!(said.status.success(), "{} -V failed", options.tare.display());
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cpu =
        cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':')).map_or("", |c| c.1);
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    ensure!(cores > 1, "two cores are needed: one sends, one receives");
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let peers: Vec<String> =
        peers::versions().iter().map(|(name, version)| format!("{name} {version}")).collect();
    Ok(format!(
        "{cores} × {}, Linux {}, load average {} at the start\n{}; {}\n{} rounds of {} s, medians; sender on core 0, \
         receiver on core 1{}\n",
        cpu.trim(),
        kernel.trim(),
        load_average(),
        String::from_utf8_lossy(&said.stdout).trim(),
        peers.join(", "),
        options.rounds,
        options.length.as_secs_f64(),
        if options.priority { ", both at niceness -19" } else { "" },
    ))
}

fn load_average() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or("?").to_owned()
}
