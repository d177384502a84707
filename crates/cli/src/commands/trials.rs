//! `tare trials`: one command again and again, or several by turns.

use crate::trial_args::TrialArgs;
use anyhow::anyhow;
use clap::{ArgMatches, Args, FromArgMatches, ValueEnum, ValueHint};
use run::{
    Failure,
    trials::{self, Trials, TrialsRequest},
};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Each trial is a separate run in a separate process. INVALID trials are counted and left out. Each
figure gets a confidence interval, or the reason why there is none. Separate several commands by
--against; their trials alternate.

Examples:
  tare trials -n 10 -- http --rate 1k http://127.0.0.1:8080/
  tare trials -n 8 --order random -- http --rate 1k $OLD --against http --rate 1k $NEW
  tare trials --until 'latency.p99 ±2%' -- http --rate 1k $URL

The same for one command: tare http --rate 1k --trials 10 $URL";

/// Repeat a command, or alternate several, and give a confidence interval for each figure
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, override_usage = "tare trials [OPTIONS] -- COMMAND… [--against COMMAND…]…")]
pub struct TrialsArgs {
    /// Trials of each command; with --until, the minimum [default: 10]
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    trials: Option<u32>,
    /// Order in which several commands alternate
    #[arg(long, value_enum, default_value_t)]
    order: OrderTyped,
    /// Seed of a random order [default: the time]
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// Repeat until the confidence interval of a figure is this narrow, e.g. 'latency.p99 ±2%'
    #[arg(long, value_name = "FIGURE ±SHARE")]
    until: Option<trials::Wanted>,
    /// With --until: stop after N trials of each command in any case [default: 30]
    #[arg(long, value_name = "N", requires = "until", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    max_trials: Option<u32>,
    /// Pause between two trials [default: 0s]
    #[arg(long, value_name = "TIME")]
    cool_down: Option<units::Picos>,
    /// Keep the group in this folder
    #[arg(short = 'o', long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "no_save")]
    out: Option<PathBuf>,
    /// Keep nothing
    #[arg(long)]
    no_save: bool,
    /// Print trials.json to standard output
    #[arg(long)]
    json: bool,
    /// Print only errors
    #[arg(short = 'q', long)]
    quiet: bool,
    /// A tare command with its flags; separate several by --against
    #[arg(value_name = "COMMAND", required = true, last = true, num_args = 1..)]
    words: Vec<OsString>,
}

/// As it is typed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum OrderTyped {
    /// A B B A, so that steady drift affects all commands alike
    #[default]
    Abba,
    /// A new random order for each round
    Random,
}

impl From<OrderTyped> for trials::TurnOrder {
    fn from(order: OrderTyped) -> Self {
        match order {
            OrderTyped::Abba => Self::Abba,
            OrderTyped::Random => Self::Random,
        }
    }
}

/// Commands that make a run.
const LOADS: [&str; 8] = ["http", "send", "pace", "sweep", "capture", "gaps", "forward", "run"];
/// Commands that repeat their own measurements: `--trials` is theirs.
const OWN_TRIALS: [&str; 2] = ["sweep", "forward"];
/// What parts the commands.
const AGAINST: &str = "--against";
/// Trials of each command where nothing says how many.
const USUAL: u32 = 10;

pub fn run(args: &TrialsArgs) -> Result<ExitCode, Failure> {
    let sides: Vec<Vec<OsString>> = args.words.split(|word| word == AGAINST).map(<[_]>::to_vec).collect();
    sides.iter().try_for_each(|side| check(side))?;
    let trials = Trials {
        trials: args.trials.or(if args.until.is_some() { None } else { Some(USUAL) }),
        until: args.until,
        max_trials: args.max_trials,
        cool_down: args.cool_down,
    };
    trials::run(&TrialsRequest {
        sides,
        trials,
        order: args.order.into(),
        seed: args.seed.unwrap_or_else(seed),
        out: args.out.clone(),
        save: !args.no_save,
        json: args.json,
        quiet: args.quiet,
    })
}

fn check(side: &[OsString]) -> Result<(), Failure> {
    let Some(command) = side.first().map(|word| word.to_string_lossy()) else {
        return Err(Failure::wrong(anyhow!("{AGAINST}: a command is missing on one side of it")));
    };
    if !LOADS.contains(&command.as_ref()) {
        let loads = LOADS.join(", ");
        return Err(Failure::wrong(anyhow!(
            "'{command}' makes no run that can be repeated; expected one of {loads}"
        )));
    }
    let own = |flag: &str| {
        side.iter().any(|word| {
            let word = word.to_string_lossy();
            word == flag || word.strip_prefix(flag).is_some_and(|rest| rest.starts_with('='))
        })
    };
    for flag in ["--out", "-o", "--no-save", "--trials", "--until"] {
        if own(flag) && !(flag == "--trials" && OWN_TRIALS.contains(&command.as_ref())) {
            let advice = "it applies to the whole group; give it to tare trials, before the --";
            return Err(Failure::wrong(anyhow!("{flag} of '{command}': {advice}")));
        }
    }
    match of_one_run(own) {
        Some(flag) => Err(only_of_one_run(flag)),
        None => Ok(()),
    }
}

/// Flags of which each trial would undo what the last one did.
fn of_one_run(is_there: impl Fn(&str) -> bool) -> Option<&'static str> {
    ["--junit", "--markdown", "--live"].into_iter().find(|flag| is_there(flag))
}

fn only_of_one_run(flag: &str) -> Failure {
    Failure::wrong(anyhow!("{flag} applies to a single run, not to several trials; leave it out"))
}

fn seed() -> u64 {
    clock::unix_ns() % 1_000_000_000
}

/// A load command with `--trials` or `--until`: its group. `None` if it is one run.
pub fn of_command(name: &str, typed: &ArgMatches) -> Option<Result<ExitCode, Failure>> {
    if !LOADS.contains(&name) || OWN_TRIALS.contains(&name) {
        return None;
    }
    let flag = |id: &str| typed.try_get_one::<bool>(id).ok().flatten().copied().unwrap_or(false);
    let trials = Trials::from(&TrialArgs::from_arg_matches(typed).ok()?);
    if !trials.is_group() || trials::is_trial() || flag("print_plan") {
        return None;
    }
    let is_there = |flag: &str| typed.value_source(flag.trim_start_matches('-')).is_some();
    if let Some(flag) = of_one_run(is_there) {
        return Some(Err(only_of_one_run(flag)));
    }
    let out: Option<&PathBuf> = typed.try_get_one("out").ok().flatten();
    Some(trials::run(&TrialsRequest {
        sides: vec![std::env::args_os().skip(1).collect::<Vec<OsString>>()],
        trials,
        order: trials::TurnOrder::Abba,
        seed: 0,
        out: out.cloned(),
        save: !flag("no_save"),
        json: flag("json"),
        quiet: flag("quiet"),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    fn words(text: &str) -> Vec<OsString> {
        text.split(' ').map(|word| OsStr::new(word).to_owned()).collect()
    }

    #[test]
    fn what_can_not_be_tried_again_is_refused_with_what_can() {
        assert!(check(&words("http --rate 1k http://127.0.0.1/")).is_ok());
        assert!(check(&words("sweep --send tap:a --receive tap:b --trials 3")).is_ok());
        for (typed, said) in [
            ("report last", "'report' makes no run that can be repeated"),
            ("http --out x http://127.0.0.1/", "--out of 'http'"),
            ("send veth0 --junit=x.xml", "--junit applies to a single run"),
        ] {
            let failure = check(&words(typed)).unwrap_err().into_error().to_string();
            assert!(failure.contains(said), "{failure}");
        }
        assert!(check(&[]).is_err());
    }
}
