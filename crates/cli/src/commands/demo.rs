//! `tare demo`: a target with a known fault, a load on it, and what the report makes of it.
//!
//! The target is a process of its own, as a real one is: its CPU time, its descriptors and its pauses are then
//! not the generator's, whose figures about itself stay clean. It is `tare target`, so nothing needs to be
//! installed.

use crate::commands::output_args::OutputArgs;
use anyhow::{Context, Result, anyhow};
use bed::TargetProcess;
use clap::{Args, ValueHint};
use plan::{PlanFile, Typed};
use report::KnownTruth;
use run::terminal::print_all;
use run::{Failure, Options, Status};
use serde::Deserialize;
use std::io::IsTerminal;
use std::path::PathBuf;
use units::Picos;

/// Requests a second.
const RATE: u64 = 2_000;
/// Connections: few, so that most of those that fall due in the stall must wait before they can even leave.
const CONNECTIONS: u64 = 32;
const DURATION: Picos = Picos::from_secs(8);
/// How long the target takes for a response: so long that it, and not the generator, sets the pace of catching
/// up.
const DELAY: Picos = Picos::from_millis(2);
const STALL_AT: Picos = Picos::from_secs(3);
const STALL: Picos = Picos::from_secs(1);
/// The target ends by itself after this long, should nobody be left to end it.
const TARGET_LIFE: &str = "60s";

/// Load a target that stalls for 1 s, and explain the figures
#[derive(Args, Debug)]
pub struct DemoArgs {
    /// Keep the run in this folder
    #[arg(short = 'o', long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    out: Option<PathBuf>,
}

/// Starts the target, loads it, and explains the result.
pub fn run(args: DemoArgs) -> Result<Status, Failure> {
    let stall = format!("{STALL_AT},{STALL}");
    let (delay, rate) = (DELAY.to_string(), RATE.to_string());
    let behaviour = ["--delay", &delay, "--stall", &stall, "--for", TARGET_LIFE];
    let record = ["--summary", "/dev/stdout", "--expect-rate", &rate];
    let target = TargetProcess::start(&[&behaviour[..], &record].concat()).map_err(Failure::wrong)?;
    print_all(&format!(
        "tare target listens at {} and takes {DELAY} for each response.\n\
         {STALL_AT} after the first request it stalls for {STALL}.\n\
         tare http sends {RATE} requests per second for {DURATION} over {CONNECTIONS} connections.\n",
        target.url()
    ))?;
    let (plan, notes) = plan_file(target.url()).resolve_with_notes().map_err(Failure::wrong)?;
    // On a machine that is too busy the demo says so, and has shown what it is for.
    let output = OutputArgs { out: args.out, accept_invalid: true, ..OutputArgs::default() };
    let finished = run::quietly(plan, notes, &Options::from(&output))?;
    let truth = truth(&target.end().map_err(Failure::wrong)?)?;
    let style = run::terminal::style(std::io::stdout().is_terminal());
    print_all(&report::summary(&finished.result, style))?;
    if !finished.result.partial {
        let known = KnownTruth {
            rate: RATE,
            connections: CONNECTIONS,
            duration: DURATION,
            stall: STALL,
            delay: DELAY,
            requests: truth.requests,
            longest_gap_ns: truth.arrivals.gap_ns.max,
            service_p99_ns: truth.service_ns.p99,
            late_p90_ns: truth.arrivals.line_deviation_ns.p90,
            late_p99_ns: truth.arrivals.line_deviation_ns.p99,
        };
        print_all(&report::demo(&known, &finished.result, finished.place.as_deref()))?;
    }
    Ok(Status::Run(finished.status))
}

/// A JSON object, followed by lines for people.
fn truth(said: &str) -> Result<Truth> {
    let mut documents = serde_json::Deserializer::from_str(said).into_iter::<Truth>();
    let truth = documents.next().ok_or_else(|| anyhow!("the target ended without output"))?;
    truth.context("cannot read the target's record of requests")
}

fn plan_file(url: &str) -> PlanFile {
    let mut file = PlanFile { url: Some(url.to_owned()), ..PlanFile::default() };
    file.load.rate = Some(Typed::from(RATE.to_string()));
    file.load.parallel = Some(Typed::from(CONNECTIONS.to_string()));
    file.stop.duration = Some(Typed::from(DURATION.to_string()));
    file
}

/// What the target wrote down about itself; only what the demo compares.
#[derive(Debug, Deserialize)]
struct Truth {
    requests: u64,
    arrivals: Arrivals,
    service_ns: Spread,
}

#[derive(Debug, Deserialize)]
struct Arrivals {
    gap_ns: Spread,
    line_deviation_ns: Spread,
}

#[derive(Debug, Deserialize)]
struct Spread {
    p90: u64,
    p99: u64,
    max: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_demos_plan_is_a_plan() {
        let (plan, _) = plan_file("http://127.0.0.1:1/").resolve_with_notes().unwrap();
        assert_eq!(plan.stop.duration, Some(DURATION));
    }
}
