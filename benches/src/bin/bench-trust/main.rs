//! Runs that something tries to spoil, and clean ones: how often the verdict is wrong.
//!
//! ```text
//! bench-trust [--quick] [--only WORDS]... [--list] [--ahead] [--step-clock] [--no-bars]
//! ```
//!
//! Exit status: 0 all bars hold, 1 one does not, 2 the command is wrong.

mod options;

use options::Options;
use std::process::ExitCode;
use std::time::Instant;
use tare_system_tests::trust::{self, Case, Outcome, table::Table};

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(wrong) => {
            eprintln!("bench-trust: {wrong}");
            return ExitCode::from(2);
        }
    };
    let cases: Vec<Case> = trust::all()
        .into_iter()
        .enumerate()
        .filter(|(number, case)| options.wants(*number, case))
        .map(|(_, case)| case)
        .collect();
    if options.list {
        cases.iter().for_each(|case| println!("{}, {}", case.name, case.way));
        return ExitCode::SUCCESS;
    }
    let table = made(&cases, &options);
    println!("{}", table.text());
    if let Some(noise) = table.noise() {
        println!("{noise}");
    }
    let bars = table.bars();
    for (bar, holds) in &bars {
        println!("{} {bar}", if *holds { "holds:" } else { "FAILS:" });
    }
    if options.no_bars || bars.iter().all(|(_, holds)| *holds) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn made(cases: &[Case], options: &Options) -> Table {
    let mut table = Table::default();
    // A run that panics is told as such, in one line.
    std::panic::set_hook(Box::new(|_| {}));
    let loopback = trust::truth::loopback_ns() as f64 / 1e3;
    eprintln!("the way over loopback and back takes {loopback:.1} us");
    let begun = Instant::now();
    for (number, case) in cases.iter().enumerate() {
        let outcome = case.make(&options.trust);
        table.add(case, &outcome);
        let line = match &outcome {
            Outcome::Judged(finding) => finding.line(),
            Outcome::Skipped(why) => format!("SKIPPED: {why}"),
            Outcome::Broken(why) => format!("BROKEN: {why}"),
        };
        let (done, all, seconds) = (number + 1, cases.len(), begun.elapsed().as_secs());
        eprintln!("{done}/{all} {seconds} s  {}, {}: {line}", case.name, case.way);
    }
    table
}
