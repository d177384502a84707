//! `tare ctl`: asks a run that goes on, or changes it, through the socket in its folder.

use crate::status::{Failure, Status};
use crate::terminal::print_all;
use anyhow::anyhow;
use catalogue::Catalogue;
use clap::Args;
use packet::ctl::{SOCKET, ask};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  tare ctl last show                what the youngest run that goes on is doing
  tare ctl last set rate 2M         another rate, 50 ms later, at the same time on all threads
  tare ctl last set size 512        another frame size
  tare ctl last pause               no departures; resume goes on
  tare ctl last mark                answers when all that was due up to now has left; of tare pace it sets a mark, and
  tare ctl last mark 1              tells whether all that came before mark 1 has gone
  tare ctl last reload              rules of a firewall, read again
  tare ctl last stop                the run ends with a complete result
  tare ctl last help                what this run understands

RUN is a run's name, the beginning of its name, a path of its folder, or last. The socket is control.sock in that folder and takes
the same words: echo show | nc -U RUN/control.sock";

/// Look into a run that goes on, or change it.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub struct CtlArgs {
    /// Name of the run, its beginning, its folder, or last
    #[arg(value_name = "RUN")]
    pub run: String,
    /// show, set rate RATE, set size BYTES, pause, resume, mark, reload, stop, help
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub command: Vec<String>,
}

/// Asks, and prints what the run said.
pub fn run(args: &CtlArgs) -> Result<Status, Failure> {
    let folder = folder_of(&args.run)?;
    let said = ask(&folder, &args.command.join(" ")).map_err(Failure::wrong)?;
    let said = said.map_err(|why| Failure::wrong(anyhow!("{}: {why}", args.run)))?;
    print_all(&format!("{}\n", in_lines(&said)))?;
    Ok(Status::Done)
}

/// `last` is the youngest run that can be asked; any other is found as elsewhere.
fn folder_of(typed: &str) -> Result<PathBuf, Failure> {
    if typed != "last" {
        return catalogue::find(typed).map_err(Failure::wrong);
    }
    let catalogue = Catalogue::open().map_err(Failure::wrong)?;
    let all = catalogue.entries().iter();
    let asked = all.filter(|entry| entry.folder.join(SOCKET).exists());
    let youngest = asked.max_by_key(|entry| entry.begun_ns);
    let youngest = youngest.map(|entry| entry.folder.clone());
    youngest.ok_or_else(|| Failure::wrong(anyhow!("no run goes on that could be asked; see: tare runs")))
}

/// What `show` says is one line of JSON: for people it is a line each.
fn in_lines(said: &str) -> String {
    let Ok(serde_json::Value::Object(figures)) = serde_json::from_str(said) else { return said.to_owned() };
    let line = |(name, value): (&String, &serde_json::Value)| {
        format!("{name:<10}{}", value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    };
    figures.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_stand_below_each_other_and_sentences_as_they_are() {
        assert_eq!(in_lines(r#"{"rate":"1000/s","sent":12}"#), "rate      1000/s\nsent      12");
        assert_eq!(in_lines("rate 5/s"), "rate 5/s");
    }
}
