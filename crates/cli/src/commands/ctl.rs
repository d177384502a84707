//! `tare ctl`: asks a run that goes on, or changes it, through the socket in its folder.

use anyhow::anyhow;
use catalogue::Catalogue;
use clap::Args;
use packet::ctl::{SOCKET, ask};
use run::terminal::print_all;
use run::{Failure, Status};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  tare ctl last show             show what the newest run in progress is doing
  tare ctl last set rate 2M      change the rate, 50 ms later, on all threads at once
  tare ctl last set size 512     change the frame size
  tare ctl last set dport=53 vlan=7 rate=1k       change fields, named as the flags of tare send are
  tare ctl last set stream=voice,video pcp=5 stream=bulk size=1400    the same for single streams
  tare ctl last pause            stop sending; resume continues
  tare ctl last mark             return when all frames due up to now have left
  tare ctl last mark             with tare pace: set a mark, and return its number
  tare ctl last mark 1           with tare pace: say whether all frames before mark 1 have left
  tare ctl last reload           read a firewall's rules again
  tare ctl last stop             end the run, with a complete result
  tare ctl last help             list the commands that this run accepts

RUN is a run's name, the beginning of its name, the path of its folder, or last. Programs can use
the socket control.sock in that folder: echo show | nc -U RUN/control.sock";

/// Inspect or change a run in progress
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub struct CtlArgs {
    /// Name of the run, the beginning of its name, its folder, or last
    #[arg(value_name = "RUN")]
    pub run: String,
    /// One of: show, set rate RATE, set FIELD=VALUE, pause, resume, mark, reload, stop, help
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
    youngest
        .ok_or_else(|| Failure::wrong(anyhow!("no run is in progress that accepts commands; see: tare runs")))
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
