//! Where time and heap go, by method: flight recordings of some steps, as the JDK's `jfr` reads them.

use crate::options::Options;
use crate::worker::java;
use anyhow::{Context, Result, ensure};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

const STEPS: [&str; 5] =
    ["capture-objects", "capture-pooled", "capture-accessor", "firewall-list", "firewall-table"];
/// Milliseconds of a recorded run.
const LENGTH: u32 = 2_000;
const LINES: usize = 5;

pub fn print(options: &Options) -> Result<()> {
    if !options.recordings {
        return Ok(());
    }
    for step in STEPS {
        let path = options.at.join(format!("{step}.jfr"));
        record(options, step, &path)?;
        println!("\n{step}: {}", path.display());
        for view in ["hot-methods", "allocation-by-class"] {
            println!("  {view}");
            shown(options, view, &path)?.iter().for_each(|line| println!("    {line}"));
        }
    }
    Ok(())
}

fn record(options: &Options, step: &str, path: &Path) -> Result<()> {
    let mut command = java(options, &options.cpu.to_string());
    command.args([
        &format!("-XX:StartFlightRecording:settings=profile,filename={}", path.display()),
        // Or samples are told of the next call, wherever they were taken.
        "-XX:+UnlockDiagnosticVMOptions",
        "-XX:+DebugNonSafepoints",
        "-Xlog:disable",
        "-Xlog:all=error:stderr",
        "tare.bench.Worker",
    ]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().context("taskset")?;
    let told = child.stdin.take();
    let asked = told
        .map(|mut told| writeln!(told, "run {step} {} {} {LENGTH} 1514", options.sizes[0], options.burst));
    let status = child.wait()?;
    asked.transpose()?;
    ensure!(status.success(), "{step} with a recording: {status}");
    Ok(())
}

/// The first lines of a view of it.
fn shown(options: &Options, view: &str, path: &Path) -> Result<Vec<String>> {
    let jfr = options.java.join("bin/jfr");
    let said = Command::new(&jfr).args(["view", "--width", "100", view]).arg(path).output();
    let said = said.with_context(|| jfr.display().to_string())?;
    ensure!(said.status.success(), "jfr view {view}: {}", String::from_utf8_lossy(&said.stderr));
    let text = String::from_utf8_lossy(&said.stdout);
    // A title, a head and a rule stand before the rows.
    let rows = text.lines().map(str::trim_end).filter(|line| line.contains('%'));
    Ok(rows.take(LINES).map(str::to_owned).collect())
}
