//! `tare man` and `tare completions`: made of the same flags that are parsed, so that they cannot differ from them.

use crate::status::{Failure, Status};
use anyhow::Context;
use clap::{Args, Command, ValueHint};
use clap_complete::Shell;
use std::path::PathBuf;

/// Write the man pages
#[derive(Args, Debug)]
pub struct ManArgs {
    /// The folder to write them to; made if it is missing
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    folder: PathBuf,
}

/// Print the completions for a shell
#[derive(Args, Debug)]
pub struct CompletionsArgs {
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// One page for the program and one for each subcommand.
pub fn man(program: Command, args: &ManArgs) -> Result<Status, Failure> {
    let folder = &args.folder;
    std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(program, folder))
        .with_context(|| folder.display().to_string())?;
    println!("{}", folder.join("tare.1").display());
    Ok(Status::Done)
}

/// To standard output, for the shell's own place.
pub fn completions(mut program: Command, args: &CompletionsArgs) -> Result<Status, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut program, "tare", &mut script);
    crate::load::print_all(&String::from_utf8_lossy(&script));
    Ok(Status::Done)
}
