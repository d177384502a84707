//! The `tare` command: thin; one file per subcommand under `commands`.

#![forbid(unsafe_code)]

mod commands;
mod describe;
mod load;
mod progress;
mod status;

use clap::{CommandFactory, Parser, Subcommand};
use commands::demo::DemoArgs;
use commands::http_args::HttpArgs;
use commands::http_load::HttpLoadWords;
use commands::papers::{CompletionsArgs, ManArgs};
use commands::run::RunArgs;
use commands::target::TargetArgs;
use status::Failure;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

/// Make load, and weigh the generator first
///
/// Tare makes load from one precisely timed request to hundreds of thousands a second, and says for
/// every run how far its own figures can be trusted: VALID, DEGRADED or INVALID.
#[derive(Parser, Debug)]
#[command(name = "tare", version, arg_required_else_help = true, max_term_width = 100)]
struct Tare {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Http(Box<HttpArgs>),
    Run(RunArgs),
    Target(Box<TargetArgs>),
    Demo(DemoArgs),
    #[command(name = "http_load")]
    HttpLoad(HttpLoadWords),
    Man(ManArgs),
    Completions(CompletionsArgs),
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

fn main() -> ExitCode {
    // Its options have one dash: not for clap.
    if let Some((program, words)) = called_as_http_load() {
        return commands::http_load::main(program, words);
    }
    let outcome: Result<ExitCode, Failure> = match Tare::parse().command {
        Command::Http(args) => commands::http::run(&args).map(Into::into),
        Command::Run(args) => commands::run::run(&args).map(Into::into),
        Command::Demo(args) => commands::demo::run(args).map(Into::into),
        Command::HttpLoad(HttpLoadWords { words }) => Ok(commands::http_load::main("tare http_load", words)),
        Command::Man(args) => commands::papers::man(Tare::command(), &args).map(Into::into),
        Command::Completions(args) => commands::papers::completions(Tare::command(), &args).map(Into::into),
        Command::Target(args) => commands::target::run(*args).map_err(Failure::from),
    };
    outcome.unwrap_or_else(|failure| failure.report())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_flags_are_consistent() {
        Tare::command().debug_assert();
    }
}
