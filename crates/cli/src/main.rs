//! The `tare` command: thin; one file per subcommand under `commands`.

#![forbid(unsafe_code)]

mod commands;
mod describe;
mod load;
mod progress;
mod status;

use clap::{Parser, Subcommand};
use commands::demo::DemoArgs;
use commands::http_args::HttpArgs;
use commands::run::RunArgs;
use commands::target::TargetArgs;
use status::Failure;
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
}

fn main() -> ExitCode {
    let outcome: Result<ExitCode, Failure> = match Tare::parse().command {
        Command::Http(args) => commands::http::run(&args).map(Into::into),
        Command::Run(args) => commands::run::run(&args).map(Into::into),
        Command::Demo(args) => commands::demo::run(args).map(Into::into),
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
