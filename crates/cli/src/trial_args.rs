//! `--trials`, `--until` and what belongs to them, as they are typed.

use clap::Args;
use run::trials::{Trials, Wanted};
use units::Picos;

/// The same load several times.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Trials")]
pub struct TrialArgs {
    /// Repeat the run N times, each in a separate process, and give a confidence interval for each figure
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub trials: Option<u32>,
    /// Repeat until the confidence interval of a figure is this narrow, e.g. 'latency.p99 ±2%'
    /// or, for frames, 'gap_error.p99 ±2%'
    #[arg(long, value_name = "FIGURE ±SHARE")]
    pub until: Option<Wanted>,
    /// With --until: stop after N trials in any case [default: 30]
    #[arg(long, value_name = "N", requires = "until")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub max_trials: Option<u32>,
    /// Pause between two trials [default: 0s]
    #[arg(long, value_name = "TIME")]
    pub cool_down: Option<Picos>,
}

impl From<&TrialArgs> for Trials {
    fn from(args: &TrialArgs) -> Self {
        let TrialArgs { trials, until, max_trials, cool_down } = *args;
        Self { trials, until, max_trials, cool_down }
    }
}
