//! Forecasts beside what really happens, on this machine.
//!
//! ```text
//! bench-predict [--quick] [--http-only]
//! ```
//!
//! Weighs the machine (in a state directory of its own, so the user's profile stays as it is), then takes plans
//! of eight kinds: what is forecast of each at parts of its predicted peak beside the verdict of a run, and the
//! predicted peak beside the one that runs find. Exit status 0: every forecast outside the grey zone was right,
//! and every predicted peak within 20 % of the measured; 1: not so.

use std::process::ExitCode;
use std::time::Duration;
use tare_system_tests::Tare;
use tare_system_tests::forecasts::{self, CaseFindings};

/// A weighing may take so long.
const LONGEST: Duration = Duration::from_secs(900);

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let Some(word) = words.iter().find(|word| !["--quick", "--http-only"].contains(&word.as_str())) {
        eprintln!("bench-predict: {word} is unknown; expected --quick, --http-only");
        return ExitCode::from(2);
    }
    let has = |word: &str| words.iter().any(|given| given == word);
    let state = tare_system_tests::scratch();
    let length = if has("--quick") { "--quick" } else { "" };
    weigh(&format!("weigh http {length}"), state.path());
    let mut cases = forecasts::of_http();
    cases.extend(forecasts::of_http_between());
    if !has("--http-only") {
        let length = if has("--quick") { "--trials 2 --packets 100k" } else { "" };
        weigh(&format!("weigh packets --port mem,packet --sizes 64,1518 {length}"), state.path());
        cases.extend(forecasts::of_frames());
    }
    let found: Vec<CaseFindings> = cases
        .iter()
        .map(|case| {
            eprintln!("bench-predict: {}", case.name);
            forecasts::compare(case, state.path())
        })
        .collect();
    println!("{}", forecasts::table(&found));
    let off = found.iter().filter(|one| one.ratio().is_none_or(|ratio| !(0.8..=1.2).contains(&ratio)));
    let wrong = found.iter().flat_map(|one| &one.rows).filter(|row| !row.is_right());
    let (off, wrong) = (off.count(), wrong.count());
    println!("{off} of {} peaks off by more than 20 %, {wrong} forecasts wrong", found.len());
    if off + wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn weigh(words: &str, state: &std::path::Path) {
    eprintln!("bench-predict: tare {words}");
    let tare = Tare::new(words).env("XDG_STATE_HOME", state.display().to_string()).limit(LONGEST);
    let run = tare.start().finish_unchecked();
    println!("{}", run.stdout);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
}
