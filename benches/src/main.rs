//! `bench-http`: `tare http` beside its peers, as a table and as JSON, judged against the bars.
//!
//! ```text
//! options ─► peers (install) ─► cases ─► runs ─► bars ─► table, JSON, exit status
//!                                 │
//!                 tools (command lines, their own word) + nginx or stamps (what really arrived)
//! ```

mod bars;
mod cases;
mod facts;
mod nginx;
mod options;
mod peers;
mod proc;
mod process;
mod quiet;
mod runs;
mod scratch;
mod stamps;
mod stats;
mod table;
mod tools;

use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};
use serde_json::json;

use bars::{BARS, Judged};
use cases::Bench;
use facts::Facts;
use options::Options;
use quiet::Patience;
use runs::Runs;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let ended = match words.as_slice() {
        [word, file, port_file] if word == stamps::server::WORD => {
            stamps::server::serve(std::io::stdin(), Path::new(file), Path::new(port_file)).map(|()| true)
        }
        [word] if word == "--help" || word == "-h" => {
            print!("{}", options::HELP);
            Ok(true)
        }
        _ => Options::parse(words).and_then(bench),
    };
    match ended {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("bench-http: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Runs what was asked; false when a bar fails.
fn bench(options: Options) -> Result<bool> {
    if options.list {
        list(&options);
        return Ok(true);
    }
    let tare = tare_version(&options)?;
    peers::install()?;
    let _priority = options.priority.then(process::Priority::take).transpose()?;
    let facts = Facts::gather(tare, options.priority);
    println!("{}", facts.header());
    let patience = Patience::new(options.patience);
    let mut bench = Bench { options, patience, scratch: scratch::Scratch::new()?, runs: Runs::default() };
    let mut judged = Vec::new();
    for case in bench.options.cases.clone() {
        (case.run)(case, &mut bench).with_context(|| format!("case {}", case.name))?;
        if !bench.options.peers_only {
            judged.extend(BARS.iter().filter(|b| b.case == case.name).map(|b| b.judge(&bench.runs)));
        }
        print!("{}", table::case(case, &bench.runs, &judged));
    }
    let failing = judged.iter().filter(|j| !j.holds).count();
    println!("\n{} of {} bars hold", judged.len() - failing, judged.len());
    if let Some(path) = &bench.options.json {
        write_json(path, &facts, &bench, &judged)?;
    }
    Ok(failing == 0)
}

fn list(options: &Options) {
    for case in &options.cases {
        println!("{}: {}", case.name, case.title);
        for bar in BARS.iter().filter(|b| b.case == case.name) {
            println!("    {}", bar.says);
        }
    }
}

fn tare_version(options: &Options) -> Result<String> {
    if options.peers_only {
        return Ok("peers only".to_owned());
    }
    let output = Command::new(&options.tare).arg("-V").output();
    let output = output.with_context(|| {
        format!(
            "no tare at {}: build it (cargo build --release), or give --tare or --peers-only",
            options.tare.display()
        )
    })?;
    if !output.status.success() {
        bail!("{} -V failed: {}", options.tare.display(), output.status);
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn write_json(path: &Path, facts: &Facts, bench: &Bench, judged: &[Judged]) -> Result<()> {
    let document = json!({
        "schema": "tare.bench-http/1",
        "machine": facts,
        "rounds": bench.options.rounds,
        "seconds": bench.options.seconds,
        "medians": medians(bench),
        "bars": judged,
        "runs": bench.runs.all(),
    });
    let text = serde_json::to_string_pretty(&document)?;
    std::fs::write(path, text + "\n").with_context(|| format!("writing {}", path.display()))?;
    println!("figures of every run: {}", path.display());
    Ok(())
}

/// case → row → figure → median.
fn medians(bench: &Bench) -> serde_json::Value {
    let mut all = serde_json::Map::new();
    for case in &bench.options.cases {
        let mut rows = serde_json::Map::new();
        for row in bench.runs.rows(case.name) {
            let figures = case.columns.iter().filter_map(|column| {
                let median = bench.runs.median(case.name, row, column.figure)?;
                Some((column.figure.to_owned(), json!(median)))
            });
            rows.insert(row.to_owned(), figures.collect());
        }
        all.insert(case.name.to_owned(), rows.into());
    }
    all.into()
}
