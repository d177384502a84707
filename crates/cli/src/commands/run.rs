//! `tare run plan.toml`: everything from a plan.

use crate::commands::output_args::{LimitArgs, OutputArgs};
use crate::trial_args::TrialArgs;
use anyhow::anyhow;
use clap::{Args, ValueHint};
use plan::PlanError;
use run::{Failure, Loaded, Options, Status, read_input};
use std::io::ErrorKind;
use std::path::PathBuf;

/// Run the load that a plan file describes
#[derive(Args, Debug)]
pub struct RunArgs {
    /// Plan file, as printed by `--print-plan` or found in a run folder
    #[arg(value_name = "PLAN.toml", value_hint = ValueHint::FilePath)]
    pub plan: PathBuf,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    trials: TrialArgs,
}

/// Reads the plan and runs it.
pub fn run(args: &RunArgs) -> Result<Status, Failure> {
    let name = args.plan.display().to_string();
    let text = read_input(&args.plan).map_err(|error| unreadable(&name, &error))?;
    let options = Options { reads: vec![args.plan.clone()], ..Options::from(&args.output) };
    let loaded = Loaded::read(&text, &name, |limits| args.limits.add_to(limits), &options);
    loaded.map_err(|failure| explained(failure, &name, &text))?.carry_out(&options)
}

/// What is wrong with a file that is no plan at all.
fn explained(failure: Failure, name: &str, text: &str) -> Failure {
    match failure.cause() {
        Some(error @ PlanError::NoTarget) => Failure::wrong(anyhow!("{name}: {error}")),
        Some(_) if has_urls(text) => {
            Failure::wrong(anyhow!("{name} is a file of URLs, not a plan; did you mean tare http {name} ?"))
        }
        _ => failure,
    }
}

fn unreadable(name: &str, error: &std::io::Error) -> Failure {
    const EXPECTED: &str = "expected a plan in TOML, such as tare http --print-plan prints";
    let problem = match error.kind() {
        ErrorKind::InvalidData => "is not text".to_owned(),
        ErrorKind::IsADirectory => "is a folder".to_owned(),
        _ => error.to_string(),
    };
    Failure::wrong(anyhow!("{name}: {problem}; {EXPECTED}"))
}

/// Whether the first line that is not empty is a request of a URL file.
fn has_urls(text: &str) -> bool {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    ["http://", "https://", "{"].iter().any(|start| first.starts_with(start))
}
