//! `--fix` and `--undo`: each command is printed before it is carried out, and what was before is written down.

use super::Examination;
use anyhow::anyhow;
use doctor::fix::{Mender, Undone, steps};
use run::terminal::print_all;
use run::{Failure, Status, complain};
use rustix::termios::isatty;
use std::io::BufRead;

/// Whoever is not told `--yes` must be able to ask.
pub fn may_ask(yes: bool, flag: &str) -> Result<(), Failure> {
    match yes || isatty(std::io::stdin()) {
        true => Ok(()),
        false => Err(Failure::wrong(anyhow!(
            "{flag} asks before it changes anything, and there is no terminal; add --yes"
        ))),
    }
}

fn open() -> Result<Mender, Failure> {
    let folder = store::state_dir().map_err(Failure::wrong)?.join("tare");
    Mender::open(super::files(), &folder).map_err(Failure::wrong)
}

/// Makes the settings that the findings propose.
pub fn fix(examination: &Examination, only: &[String], yes: bool) -> Result<Status, Failure> {
    let steps = steps(&examination.findings, examination.load(), only);
    if steps.is_empty() {
        print_all("There is nothing to set; remaining fixes need other commands (see tare doctor --all).\n")?;
        return Ok(Status::Done);
    }
    let mut mender = open()?;
    let list: String = steps
        .iter()
        .map(|step| format!("  {}   # {}, was {}\n", step.change.command(), step.id, step.change.before))
        .collect();
    print_all(&format!("Settings to change, until the next reboot or --undo:\n{list}"))?;
    if !(yes || agreed(&format!("Change {}?", counted(steps.len())))?) {
        print_all("Nothing was changed.\n")?;
        return Ok(Status::Done);
    }
    let mut failed = 0;
    for step in &steps {
        print_all(&format!("+ {}\n", step.change.command()))?;
        if let Err(error) = mender.apply(step) {
            complain(&format!("tare: {}: {error}", step.id));
            failed += 1;
        }
    }
    let made = steps.len() - failed;
    let written = mender.path().display();
    if made > 0 {
        print_all(&format!(
            "{made} of {} changed; tare doctor --undo restores the old values ({written})\n",
            counted(steps.len())
        ))?;
    }
    Ok(if failed == 0 { Status::Done } else { Status::Unwritten })
}

/// Takes back what was made.
pub fn undo(yes: bool) -> Result<Status, Failure> {
    let mut mender = open()?;
    if mender.made() == 0 {
        print_all("There is nothing to undo.\n")?;
        return Ok(Status::Done);
    }
    if !(yes || agreed(&format!("Restore {}?", counted(mender.made())))?) {
        print_all("Nothing was changed.\n")?;
        return Ok(Status::Done);
    }
    let undone = mender.undo().map_err(Failure::wrong)?;
    let mut failed = false;
    for (change, undone) in &undone {
        print_all(&format!("+ {}\n", change.undo()))?;
        match undone {
            Undone::Restored => {}
            Undone::Already => print_all("  already restored\n")?,
            Undone::Rebooted => print_all("  not needed: the machine has rebooted since\n")?,
            Undone::Changed { now } => {
                print_all(&format!("  left alone: it is {now} now, which --fix did not set\n"))?
            }
            Undone::Elsewhere { namespace } => {
                failed = true;
                complain(&format!(
                    "tare: /{} was set in the network namespace {namespace}; undo it there, unless it is gone",
                    change.path
                ));
            }
            Undone::Failed { why } => {
                failed = true;
                complain(&format!("tare: /{}: {why}", change.path));
            }
        }
    }
    Ok(if failed { Status::Unwritten } else { Status::Done })
}

fn counted(count: usize) -> String {
    if count == 1 { "1 setting".into() } else { format!("{count} settings") }
}

/// Asks at the terminal; anything but yes is no.
fn agreed(question: &str) -> Result<bool, Failure> {
    print_all(&format!("{question} [y/N] "))?;
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    Ok(read.is_ok() && matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}
