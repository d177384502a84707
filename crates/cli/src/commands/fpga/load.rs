//! `tare fpga load`: a bitstream into a board, once it is known to be whole.

use crate::status::{Failure, Status};
use crate::terminal::print_all;
use anyhow::anyhow;
use clap::Args;
use port::module::bitstream::{self, Checked};
use report::count;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::Command;

/// What speaks with cables and boards.
const LOADER: &str = "openFPGALoader";
/// More than the largest part's.
const MOST_BYTES: u64 = 16 << 20;

/// Check a bitstream for a Lattice ECP5 and load it into a board by openFPGALoader
#[derive(Args, Debug)]
pub struct LoadArgs {
    /// The bitstream, as `make bitstream` leaves it
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Name of the board, for openFPGALoader: ecpix5; colorlight is a 5A-75B, which needs a cable, too
    #[arg(long, value_name = "NAME")]
    board: Option<String>,
    /// Name of the cable to the board, for openFPGALoader
    #[arg(long, value_name = "NAME")]
    cable: Option<String>,
    /// Into the flash memory, so that it is there after power was off
    #[arg(long)]
    flash: bool,
    /// Only check the file and show the command
    #[arg(long)]
    check: bool,
}

pub fn run(args: &LoadArgs) -> Result<Status, Failure> {
    let checked = args.look().map_err(Failure::wrong)?;
    let kind = if checked.is_compressed { "compressed frames" } else { "frames" };
    let command = args.command();
    let shown = shown(&command);
    print_all(&format!(
        "{}: a whole bitstream for {}, {} {kind}, each with the right CRC\n{shown}\n",
        args.file.display(),
        checked.part.name,
        count(checked.frames as u64)
    ))?;
    if args.check {
        return Ok(Status::Done);
    }
    load(command, &shown).map_err(Failure::wrong)?;
    Ok(Status::Done)
}

impl LoadArgs {
    fn look(&self) -> Result<Checked, anyhow::Error> {
        let name = self.file.display();
        let size = std::fs::metadata(&self.file).map_err(|error| anyhow!("{name}: {error}"))?.len();
        if size > MOST_BYTES {
            return Err(anyhow!("{name}: {size} bytes are more than any bitstream of an ECP5 has"));
        }
        let bytes = std::fs::read(&self.file).map_err(|error| anyhow!("{name}: {error}"))?;
        bitstream::check(&bytes).map_err(|broken| {
            anyhow!("{name}: {broken}; nothing was loaded: give a file that 'make bitstream' made")
        })
    }

    fn command(&self) -> Command {
        let mut command = Command::new(LOADER);
        if let Some(board) = &self.board {
            command.args(["--board", board]);
        }
        if let Some(cable) = &self.cable {
            command.args(["--cable", cable]);
        }
        if self.flash {
            command.arg("--write-flash");
        }
        command.arg(&self.file);
        command
    }
}

/// The command as one would type it.
fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

fn load(mut command: Command, shown: &str) -> Result<(), anyhow::Error> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(anyhow!("'{shown}' failed ({status}): what it said stands above")),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(anyhow!(
            "{LOADER} is not installed, so nothing was loaded: apt-get install openfpgaloader, and the same again"
        )),
        Err(error) => Err(anyhow!("'{shown}': {error}")),
    }
}
