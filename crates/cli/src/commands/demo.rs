//! `tare demo`: a target with a known fault, a load on it, and what the report makes of it.
//!
//! The target is a process of its own, as a real one is: its CPU time, its descriptors and its pauses are then
//! not the generator's, whose figures about itself stay clean. It is `tare target`, so nothing needs to be
//! installed.

use crate::commands::http_args::OutputArgs;
use anyhow::{Context, Result, anyhow};
use bed::TargetProcess;
use clap::{Args, ValueHint};
use plan::{PlanFile, Typed};
use run::terminal::print_all;
use run::{Failure, Finished, Options, Status};
use serde::Deserialize;
use std::fmt::Write;
use std::io::IsTerminal;
use std::path::PathBuf;
use store::RunResult;
use units::{Picos, Rate};

/// Requests a second.
const RATE: u64 = 2_000;
/// Connections: few, so that most of those that fall due in the stall must wait before they can even leave.
const CONNECTIONS: u64 = 32;
const DURATION: Picos = Picos::from_secs(8);
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
    let target = TargetProcess::start(&["--stall", &stall, "--for", TARGET_LIFE, "--summary", "/dev/stdout"])
        .map_err(Failure::wrong)?;
    print_all(&format!(
        "tare target listens at {}; {STALL_AT} after the first request it stalls for {STALL}.\n\
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
        print_all(&explained(&finished, &truth))?;
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
}

#[derive(Debug, Deserialize)]
struct Spread {
    p99: u64,
    max: u64,
}

/// The latency that the schedule and the stall alone give at a share of all requests, in per mille, by nearest
/// rank. The request that is due `t` into the stall waits for the rest of it, so the k-th longest wait is that
/// of the k-th due: `stall − (k − 1) / rate`.
fn expected(rate: Rate, offered: u64, stall: Picos, per_mille: u64) -> Picos {
    let longer = offered - (offered * per_mille).div_ceil(1_000);
    stall.saturating_sub(rate.due(longer))
}

/// Truth and report side by side, and what to see in them.
fn explained(finished: &Finished, truth: &Truth) -> String {
    let result = &finished.result;
    let rate = Rate::per_second(RATE).expect("the demo's rate is more than nothing");
    let offered = rate.events_before(DURATION);
    let due_in_stall = rate.events_before(STALL);
    let truly = Picos::from_nanos(truth.arrivals.gap_ns.max).as_secs_f64();
    let rows = [
        ("requests", offered.to_string(), truth.requests.to_string(), result.totals.done.to_string()),
        ("latency p90", time(expected(rate, offered, STALL, 900)), NONE.into(), nanos(result.latency_ns.p90)),
        ("latency p99", time(expected(rate, offered, STALL, 990)), NONE.into(), nanos(result.latency_ns.p99)),
        ("latency max", time(STALL), nanos(truth.arrivals.gap_ns.max), nanos(result.latency_ns.max)),
        ("service p99", NONE.into(), nanos(truth.service_ns.p99), nanos(result.service_ns.p99)),
    ];
    let mut text = format!("\n  {:<13}{:>12}{:>12}{:>12}\n", "Known truth", "expected", "target", "reported");
    for (name, expected, target, reported) in rows {
        writeln!(text, "  {name:<13}{expected:>12}{target:>12}{reported:>12}")
            .expect("a String takes any text");
    }
    write!(
        text,
        "
  By its own timestamps, the target accepted no request for {truly:.3} s. {due_in_stall} of the {offered}
  requests were due in that time and had to wait.

  Counted from when requests were due, the 99th percentile shows the stall: {p99}.
  Counted from when they were sent, it hides it: {service}. Only {CONNECTIONS} requests were in flight,
  one per connection. The others had not left yet, so a tool that counts from sending sees no fault.

  {verdict}

  Result       {place}
  Report       {page}
",
        p99 = nanos(result.latency_ns.p99),
        service = nanos(result.service_ns.p99),
        verdict = verdict_explained(result),
        place = finished.place.as_deref().unwrap_or("not kept"),
        page = finished.place.as_deref().map_or("nothing".to_owned(), |place| format!("{place}/report.html")),
    )
    .expect("a String takes any text");
    text
}

const NONE: &str = "–";

fn verdict_explained(result: &RunResult) -> &'static str {
    match result.verdict.word {
        store::schema::Word::Valid => {
            "VALID: the generator kept its schedule throughout, so the stall is the target's, not its own."
        }
        store::schema::Word::Degraded => {
            "DEGRADED: the figures hold, with the doubt stated above; often the cause is other work here."
        }
        store::schema::Word::Invalid => {
            "INVALID: this machine was too busy to keep the schedule; stop its other work and try again."
        }
    }
}

fn time(time: Picos) -> String {
    format!("{time:#}")
}

fn nanos(nanos: u64) -> String {
    time(Picos::from_nanos(nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_expected_percentiles_follow_from_the_schedule() {
        // 16 000 requests; 1 % of them is 160, and the 161st of the stall is due 160 / 2 000 s = 80 ms into it.
        let rate = Rate::per_second(2_000).unwrap();
        let stall = Picos::from_secs(1);
        assert_eq!(expected(rate, 16_000, stall, 990), Picos::from_millis(920));
        assert_eq!(expected(rate, 16_000, stall, 900), Picos::from_millis(200));
        // The median lies outside the stall.
        assert_eq!(expected(rate, 16_000, stall, 500), Picos::ZERO);
    }

    #[test]
    fn the_demos_plan_is_a_plan() {
        let (plan, _) = plan_file("http://127.0.0.1:1/").resolve_with_notes().unwrap();
        assert_eq!(plan.stop.duration, Some(DURATION));
    }
}
