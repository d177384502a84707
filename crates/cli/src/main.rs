//! The `tare` command: thin; one file per subcommand under `commands`.

#![forbid(unsafe_code)]

mod commands;
mod live_args;
mod trial_args;
mod version;
mod written;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use commands::capture::CaptureArgs;
use commands::compare::CompareArgs;
use commands::ctl::CtlArgs;
#[cfg(feature = "target")]
use commands::demo::DemoArgs;
#[cfg(feature = "doctor")]
use commands::doctor::DoctorArgs;
use commands::forward::ForwardArgs;
use commands::fpga::FpgaArgs;
use commands::gaps::GapsArgs;
use commands::generate::{CompletionsArgs, ManArgs};
use commands::http_args::HttpArgs;
use commands::http_load::HttpLoadWords;
use commands::lab::LabArgs;
use commands::pace::PaceArgs;
use commands::report::ReportArgs;
use commands::run::RunArgs;
use commands::runs::RunsArgs;
use commands::send::SendArgs;
use commands::sweep::SweepArgs;
#[cfg(feature = "target")]
use commands::target::TargetArgs;
use commands::trials::TrialsArgs;
#[cfg(feature = "weigh")]
use commands::weigh::WeighArgs;
use run::Failure;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

/// A load generator that measures itself
///
/// Tare sends HTTP requests, up to hundreds of thousands per second, and Ethernet frames, up to
/// millions per second, each when it is due. Every run ends with a verdict on the generator: VALID,
/// DEGRADED or INVALID.
#[derive(Parser, Debug)]
#[command(name = "tare", version, long_version = version::long())]
#[command(arg_required_else_help = true, max_term_width = 100)]
struct Tare {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Http(Box<HttpArgs>),
    Send(Box<SendArgs>),
    Pace(Box<PaceArgs>),
    Forward(Box<ForwardArgs>),
    Capture(Box<CaptureArgs>),
    Gaps(Box<GapsArgs>),
    Sweep(Box<SweepArgs>),
    Run(RunArgs),
    Report(ReportArgs),
    Runs(RunsArgs),
    Ctl(CtlArgs),
    Compare(Box<CompareArgs>),
    Trials(Box<TrialsArgs>),
    #[cfg(feature = "weigh")]
    Weigh(Box<WeighArgs>),
    #[cfg(feature = "target")]
    Target(Box<TargetArgs>),
    #[cfg(feature = "target")]
    Demo(DemoArgs),
    #[cfg(feature = "doctor")]
    Doctor(Box<DoctorArgs>),
    Lab(LabArgs),
    Fpga(FpgaArgs),
    #[command(name = "http_load")]
    HttpLoad(HttpLoadWords),
    Man(ManArgs),
    Completions(CompletionsArgs),
}

/// The subcommands in the groups and the order in which help shows them.
const GROUPS: &[(&str, &[&str])] = &[
    ("Load", &["http", "http_load", "run", "trials"]),
    ("Packets", &["send", "ctl", "pace", "sweep", "capture", "gaps", "forward", "fpga"]),
    ("Results", &["report", "runs", "compare"]),
    ("This machine", &["weigh", "doctor"]),
    ("Try out", &["demo", "target", "lab"]),
    ("Tools", &["man", "completions", "help"]),
];

/// The command line, its subcommands in groups.
fn command_line() -> clap::Command {
    let mut tare = Tare::command();
    tare.build();
    let mut commands = String::new();
    for (group, names) in GROUPS {
        commands.push_str(&format!("\n\n{group}:"));
        for command in names.iter().filter_map(|name| tare.find_subcommand(name)) {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            commands.push_str(&format!("\n  {:<11}  {about}", command.get_name()));
        }
    }
    let usage = "{about-with-newline}\n{usage-heading} {usage}";
    Tare::command().help_template(format!("{usage}{commands}\n\nOptions:\n{{options}}{{after-help}}"))
}

/// The words of http_load's own command line, and what messages begin with, if that is what was called.
fn called_as_http_load() -> Option<(&'static str, Vec<OsString>)> {
    let mut words = std::env::args_os();
    let program = words.next()?;
    if Path::new(&program).file_name()? == "http_load" {
        return Some(("http_load", words.collect()));
    }
    (words.next()? == "http_load").then(|| ("tare http_load", words.collect()))
}

/// Commands that a program may be built without, and the feature that each comes with.
const OPTIONAL: [(&str, &str); 4] =
    [("weigh", "weigh"), ("doctor", "doctor"), ("target", "target"), ("demo", "target")];

/// Adds advice that clap cannot give: an address after `--live` without `=` looks like another argument to it.
fn explained(mut error: clap::Error) -> clap::Error {
    let words: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    if error.kind() == ErrorKind::UnknownArgument
        && let Some(address) = live_args::parted_address(&words)
    {
        let advice = format!("write the address as part of the flag: '--live={address}'");
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![advice.into()]));
    }
    if error.kind() == ErrorKind::InvalidUtf8
        && let Some(odd) = std::env::args_os().find(|word| word.to_str().is_none())
    {
        let odd = odd.as_encoded_bytes().escape_ascii().to_string();
        let advice = format!("'{odd}' is not UTF-8: rename the file or folder, or reach it by a link");
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![advice.into()]));
    }
    if error.kind() == ErrorKind::InvalidSubcommand
        && let Some((name, feature)) =
            OPTIONAL.iter().find(|(name, _)| words.get(1).is_some_and(|word| word == name))
    {
        let advice = format!("this tare was built without 'tare {name}'; build it with --features {feature}");
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![advice.into()]));
    }
    if error.kind() == ErrorKind::UnknownArgument
        && let [_, doctor, command, ..] = words.as_slice()
        && doctor == "doctor"
        && GROUPS.iter().any(|(_, names)| names.contains(&command.as_str()))
    {
        let advice = format!("put -- before a command line: 'tare doctor -- {command} …'");
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![advice.into()]));
    }
    error
}

/// What a command line of Tare's own means; its first word may be `tare`.
#[cfg(feature = "doctor")]
fn command_of(words: &[String]) -> Result<Command, Failure> {
    let words = words.strip_prefix(&["tare".to_owned()]).unwrap_or(words);
    let all = std::iter::once("tare").chain(words.iter().map(String::as_str));
    let typed = Tare::command()
        .try_get_matches_from(all)
        .map_err(|error| Failure::wrong(anyhow::anyhow!("{}", first_line(&error))))?;
    let tare = Tare::from_arg_matches(&typed)
        .map_err(|error| Failure::wrong(anyhow::anyhow!("{}", first_line(&error))))?;
    Ok(tare.command)
}

/// What clap says was wrong, without the usage after it.
#[cfg(feature = "doctor")]
fn first_line(error: &clap::Error) -> String {
    let said = error.to_string();
    let lines = said.lines().map(str::trim).take_while(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join(" ").trim_start_matches("error: ").to_owned()
}

fn main() -> ExitCode {
    run::interrupt::survive_full_files();
    // Its options have one dash: not for clap.
    if let Some((program, words)) = called_as_http_load() {
        return commands::http_load::main(program, words);
    }
    let typed = command_line().try_get_matches().unwrap_or_else(|error| explained(error).exit());
    let command = Tare::from_arg_matches(&typed).unwrap_or_else(|error| error.exit()).command;
    if let Some((name, typed)) = typed.subcommand()
        && let Some(outcome) = commands::trials::of_command(name, typed)
    {
        return outcome.unwrap_or_else(|failure| failure.report());
    }
    let outcome: Result<ExitCode, Failure> = match command {
        Command::Trials(args) => commands::trials::run(&args),
        Command::Http(args) => commands::http::run(&args).map(Into::into),
        Command::Send(args) => commands::send::run(&args).map(Into::into),
        Command::Pace(args) => commands::pace::run(&args).map(Into::into),
        Command::Forward(args) => commands::forward::run(&args).map(Into::into),
        Command::Capture(args) => commands::capture::run(&args).map(Into::into),
        Command::Gaps(args) => commands::gaps::run(&args).map(Into::into),
        Command::Sweep(args) => commands::sweep::run(&args).map(Into::into),
        Command::Run(args) => commands::run::run(&args).map(Into::into),
        Command::Report(args) => commands::report::run(&args).map(Into::into),
        Command::Compare(args) => commands::compare::run(&args).map(Into::into),
        Command::Runs(args) => commands::runs::run(&args).map(Into::into),
        Command::Ctl(args) => commands::ctl::run(&args).map(Into::into),
        #[cfg(feature = "target")]
        Command::Demo(args) => commands::demo::run(args).map(Into::into),
        #[cfg(feature = "doctor")]
        Command::Doctor(args) => commands::doctor::run(&args).map(Into::into),
        Command::Lab(args) => commands::lab::run(&args).map(Into::into),
        Command::Fpga(args) => commands::fpga::run(&args).map(Into::into),
        Command::HttpLoad(HttpLoadWords { words }) => Ok(commands::http_load::main("tare http_load", words)),
        Command::Man(args) => commands::generate::man(&args, Tare::command()),
        Command::Completions(args) => commands::generate::completions(&args, Tare::command()),
        #[cfg(feature = "weigh")]
        Command::Weigh(args) => commands::weigh::run(&args).map(Into::into),
        #[cfg(feature = "target")]
        Command::Target(args) => commands::target::run(*args),
    };
    outcome.unwrap_or_else(|failure| failure.report())
}

#[cfg(test)]
mod tests;
