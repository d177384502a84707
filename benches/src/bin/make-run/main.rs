//! `make-run`: a run folder of a load that never was, through the same recorders' data, verdict and sink that a
//! real run goes through. For benchmarks of reading and drawing, and for tests that need an hour in a second.
//!
//! ```text
//! Story (latencies, stalls, failures) ─ Event ─► IntervalData ─ IntervalRow ─► RunFolder
//!                                                      └──► RunTotals ─► judge ─► RunResult ─► result.json
//! ```

#![forbid(unsafe_code)]

mod options;
mod random;
mod seconds;
mod story;

use clock::Agreement;
use measure::{Conditions, HealthSummary, Loop, RunTotals, judge};
use options::{Options, RunKind};
use seconds::Seconds;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};
use store::schema::GroupResult;
use store::{Measured, RunFolder, RunResult, Sink, Spans, StoreError};
use units::{Instant, Picos};

fn main() -> ExitCode {
    match Options::parse(std::env::args().skip(1)) {
        Ok(Some(options)) => match make(&options) {
            Ok(result) => {
                println!(
                    "{}: {} in {} rows",
                    result.store.folder,
                    result.totals.offered,
                    result.intervals.len()
                );
                ExitCode::SUCCESS
            }
            Err(why) => fail(&why.to_string()),
        },
        Ok(None) => {
            print!("{}", options::HELP);
            ExitCode::SUCCESS
        }
        Err(why) => fail(&why),
    }
}

fn fail(why: &str) -> ExitCode {
    eprintln!("make-run: {why}");
    ExitCode::from(2)
}

/// Always the same time, so that folders of the same options differ in nothing.
fn started() -> SystemTime {
    // 2026-11-20T12:00:00Z
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_176_000)
}

fn make(options: &Options) -> Result<RunResult, StoreError> {
    let mut sink = RunFolder::create(Some(&options.out), "http", started())?;
    let names = story::names(options.names);
    let mut result = about(options);
    let group = |name: &String| GroupResult { name: name.clone(), ..GroupResult::default() };
    sink.begin(&RunResult { groups: names.iter().map(group).collect(), ..result.clone() });
    sink.attach("plan.toml", plan(options).as_bytes());
    sink.attach("environment.json", ENVIRONMENT.as_bytes());

    let mut totals = RunTotals::new(names.len() as u16);
    let mut health = HealthSummary::default();
    let seconds = Seconds::new(options, names.len());
    for row in seconds {
        totals.merge(&row.data, Instant::EPOCH);
        totals.intervals += 1;
        totals.counters.advance(row.counters);
        row.health.iter().for_each(|sample| health.add(sample, true));
        sink.row(&row);
        if options.killed_after == Some(totals.intervals) {
            // As a process that was killed leaves it.
            result.store.folder = options.out.display().to_string();
            result.totals.offered = totals.offered();
            return Ok(result);
        }
    }
    let verdict = judge(&totals, &health, &conditions(options));
    let spans = Spans::of(&totals, Measured::Planned(Picos::from_secs(options.seconds)));
    result.fill(&totals, &verdict, &health, spans, &names);
    sink.end_rows(&mut result);
    sink.save(&mut result);
    Ok(result)
}

const ENVIRONMENT: &str =
    "{\n  \"host\": { \"name\": \"nowhere\", \"kernel\": \"none: this run was made up\" }\n}\n";

fn plan(options: &Options) -> String {
    format!(
        "[load]\nrate = \"{}/s\"\n\n[stop]\nduration = \"{}s\"\n\n[target]\nurl = \"http://made-up.invalid/\"\n",
        options.rate, options.seconds
    )
}

fn about(options: &Options) -> RunResult {
    let (seconds, rate) = (options.seconds, options.rate);
    let mut result = RunResult {
        schema: store::schema::SCHEMA.to_owned(),
        engine: "http".to_owned(),
        plan_hash: format!("made-up-{}-{rate}-{seconds}", options.kind.name()),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: format!("make-run --kind {} --seconds {seconds} --rate {rate}", options.kind.name()),
        target: "http://made-up.invalid/".to_owned(),
        load: format!("{rate}/s, even, for {seconds} s over at most 64 connections"),
        started_at: store::rfc3339(started()),
        notes: vec!["this run was made up: nothing was sent".to_owned()],
        ..RunResult::default()
    };
    result.generator.clock = "made up".to_owned();
    result.generator.io = "none: nothing was sent".to_owned();
    result
}

fn conditions(options: &Options) -> Conditions {
    Conditions {
        load: Loop::Open { gap: Some(Picos::from_picos(1_000_000_000_000 / options.rate.max(1))) },
        clock: None::<Agreement>,
        clock_precision: Picos::from_nanos(20),
        clock_refused: None,
        spins: options.kind != RunKind::Errors,
        cpus: 2,
        pinned: false,
        parallel: Some(64),
        sinks: None,
        frames: None,
        own_tcp: false,
        unix: false,
        port_failed: false,
        simulated: None,
        weighed: None,
    }
}
