//! The flags that every load has: what it is judged by, what is shown and kept of it.

use crate::live_args::LiveArgs;
use clap::{ArgAction, Args, ValueHint};
use plan::{PlanFile, Typed, TypedList};
use run::{Options, Output, Shown};
use std::path::PathBuf;

/// What the run is judged by.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Thresholds")]
pub struct LimitArgs {
    /// Fail the run (exit status 3) if this condition is true, e.g. 'errors > 1%'; docs/thresholds.md lists all
    /// figures (repeatable)
    #[arg(long, value_name = "CONDITION", allow_hyphen_values = true)]
    #[arg(value_parser = quantity, action = ArgAction::Append)]
    pub fail_if: Vec<String>,
    /// Like --fail-if, and stop the run as soon as the condition is true (repeatable)
    #[arg(long, value_name = "CONDITION", allow_hyphen_values = true)]
    #[arg(value_parser = quantity, action = ArgAction::Append)]
    pub abort_if: Vec<String>,
}

/// What is shown and kept.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Print the canonical plan and send nothing
    #[arg(long)]
    pub print_plan: bool,
    /// Keep the run in this folder
    #[arg(short = 'o', long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "no_save")]
    pub out: Option<PathBuf>,
    /// Keep nothing
    #[arg(long)]
    pub no_save: bool,
    /// Tag the run; tare runs and tare compare can find it by its tag (repeatable)
    #[arg(long = "tag", value_name = "WORD", conflicts_with = "no_save")]
    pub tags: Vec<catalogue::Tag>,
    /// Also keep every single request or frame, in samples.parquet in the run folder
    #[arg(long, conflicts_with = "no_save")]
    pub samples: bool,
    /// Also send the figures to this sink (repeatable; for the kinds see docs/sinks.md)
    #[arg(long, value_name = "KIND:PLACE", action = ArgAction::Append)]
    pub to: Vec<String>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// Write verdict and thresholds to FILE as JUnit XML; - is standard output
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub junit: Option<PathBuf>,
    /// Write a summary to FILE as Markdown; - is standard output
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub markdown: Option<PathBuf>,
    /// Print only errors
    #[arg(short = 'q', long)]
    pub quiet: bool,
    /// Show no progress line
    #[arg(long)]
    pub no_progress: bool,
    /// Exit with status 0 even if the verdict is INVALID; the verdict itself does not change
    #[arg(long)]
    pub accept_invalid: bool,
    #[command(flatten)]
    pub live: LiveArgs,
}

impl From<&OutputArgs> for Options {
    fn from(args: &OutputArgs) -> Self {
        let output = match (args.json, args.quiet) {
            (true, _) => Output::Json,
            (false, true) => Output::Nothing,
            (false, false) => Output::Summary,
        };
        run::trials::as_trial(Self {
            print_plan: args.print_plan,
            out: args.out.clone(),
            save: !args.no_save,
            unlisted: false,
            samples: args.samples,
            tags: args.tags.clone(),
            to: args.to.clone(),
            output,
            progress: if args.no_progress || args.quiet { Shown::Nothing } else { Shown::Line },
            accept_invalid: args.accept_invalid,
            junit: args.junit.clone(),
            markdown: args.markdown.clone(),
            reads: Vec::new(),
            live: (&args.live).into(),
            host: None,
        })
    }
}

/// Every kind of sink, for the help.
pub fn sink_kinds() -> String {
    let mut text = "Sinks (--to KIND:PLACE?OPTION=VALUE&…; see docs/sinks.md):".to_owned();
    for kind in sinks::KINDS {
        let options = match kind.options.is_empty() {
            true => String::new(),
            false => format!("; ?{}", kind.options.join(" ")),
        };
        text.push_str(&format!("\n  {}\n      {}{options}", kind.form, kind.about));
    }
    text
}

/// `-5` is a value, if a wrong one; `--rate --json` lacks a value.
pub fn quantity(text: &str) -> Result<String, String> {
    match text.strip_prefix('-').and_then(|rest| rest.chars().next()) {
        Some(c) if c == '-' || c.is_alphabetic() => Err("this is a flag where a value should be".to_owned()),
        _ => Ok(text.to_owned()),
    }
}

impl LimitArgs {
    /// Behind those that the file has.
    pub fn fill(&self, file: &mut PlanFile) {
        self.add_to(&mut file.limits);
    }

    /// Behind those that are there.
    pub fn add_to(&self, limits: &mut plan::LimitsFile) {
        let add = |into: &mut Option<TypedList>, typed: &[String]| {
            if !typed.is_empty() {
                let typed = typed.iter().map(|text| Typed::from(text.as_str()));
                into.get_or_insert_default().0.extend(typed);
            }
        };
        add(&mut limits.fail_if, &self.fail_if);
        add(&mut limits.abort_if, &self.abort_if);
    }
}
