//! `tare run plan.toml`: everything from a plan.

use crate::commands::http_args::{LimitArgs, OutputArgs};
use anyhow::anyhow;
use clap::{Args, ValueHint};
use plan::{PlanError, PlanFile, packets};
use run::{Failure, Options, Status};
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
    output: OutputArgs,
}

/// Reads the plan and runs it.
pub fn run(args: &RunArgs) -> Result<Status, Failure> {
    let name = args.plan.display().to_string();
    let text = std::fs::read_to_string(&args.plan).map_err(|error| unreadable(&name, &error))?;
    if let Some(command) = packets::command_of(&text) {
        return run_frames(command, args, &text, &name);
    }
    let mut file = PlanFile::from_toml(&text, &name).map_err(|error| match has_urls(&text) {
        true => {
            Failure::wrong(anyhow!("{name} is a file of URLs, not a plan; did you mean tare http {name} ?"))
        }
        false => Failure::wrong(error),
    })?;
    args.limits.fill(&mut file);
    let (plan, notes) = file.resolve_with_notes().map_err(|error| match error {
        error @ PlanError::NoTarget => Failure::wrong(anyhow!("{name}: {error}")),
        error => Failure::wrong(error),
    })?;
    run::load(plan, notes, &Options::from(&args.output))
}

/// The same of a plan for frames, whose table names the command.
fn run_frames(command: packets::Command, args: &RunArgs, text: &str, name: &str) -> Result<Status, Failure> {
    use crate::commands::{capture, forward, gaps, pace, send, sweep};
    let options = &Options::from(&args.output);
    macro_rules! carry_out {
        ($kind:ty, $module:ident) => {{
            let mut file = <$kind>::from_toml(text, name).map_err(Failure::wrong)?;
            args.limits.add_to(&mut file.limits);
            $module::carry_out_file(&file, options)
        }};
    }
    match command {
        packets::Command::Send => carry_out!(packets::send::SendPlanFile, send),
        packets::Command::Pace => carry_out!(packets::pace::PacePlanFile, pace),
        packets::Command::Capture => carry_out!(packets::capture::CapturePlanFile, capture),
        packets::Command::Gaps => carry_out!(packets::capture::GapsPlanFile, gaps),
        packets::Command::Forward => carry_out!(packets::forward::ForwardPlanFile, forward),
        packets::Command::Sweep => carry_out!(packets::sweep::SweepPlanFile, sweep),
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
