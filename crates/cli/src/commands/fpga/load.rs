//! `tare fpga load`: a bitstream into a board, once it is known to be whole.

use anyhow::anyhow;
use clap::Args;
use port::fpga::bitstream::{self, Checked};
use report::count;
use run::terminal::print_all;
use run::{Failure, Status};
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::Command;

/// What speaks with cables and boards.
const LOADER: &str = "openFPGALoader";
/// More than the largest part's.
const MOST_BYTES: u64 = 16 << 20;

/// Parts of boards by the names that openFPGALoader has for them.
const BOARDS: &[(&str, &[&str])] = &[
    ("colorlight", &["LFE5U-25F"]),
    ("ecpix5", &["LFE5UM5G-45F", "LFE5UM5G-85F"]),
    ("ecpix5_r03", &["LFE5UM5G-45F", "LFE5UM5G-85F"]),
];

/// Check a bitstream for a Lattice ECP5, and load it into a board with openFPGALoader
#[derive(Args, Debug)]
pub struct LoadArgs {
    /// Bitstream, as made by `make bitstream`
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// openFPGALoader's name of the board: ecpix5, or colorlight (5A-75B), which also needs --cable
    #[arg(long, value_name = "NAME")]
    board: Option<String>,
    /// openFPGALoader's name of the cable to the board
    #[arg(long, value_name = "NAME")]
    cable: Option<String>,
    /// Write to flash memory, so that the bitstream survives a power cycle
    #[arg(long)]
    flash: bool,
    /// Only check the file and print the command
    #[arg(long)]
    check: bool,
}

pub fn run(args: &LoadArgs) -> Result<Status, Failure> {
    let checked = args.look().map_err(Failure::wrong)?;
    let kind = if checked.is_compressed { "compressed frames" } else { "frames" };
    let command = args.command();
    let shown = shown(&command);
    print_all(&format!(
        "{}: a complete bitstream for {}, {} {kind}, all CRCs correct\n{shown}\n",
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
            return Err(anyhow!("{name}: {size} bytes are more than any bitstream for an ECP5 has"));
        }
        let bytes = std::fs::read(&self.file).map_err(|error| anyhow!("{name}: {error}"))?;
        let checked = bitstream::check(&bytes).map_err(|broken| {
            anyhow!("{name}: {broken}; nothing was loaded; give a file made by 'make bitstream'")
        })?;
        self.fits(checked.part.name).map(|()| checked)
    }

    /// Whether the board has this part, as far as is known of it.
    fn fits(&self, part: &str) -> Result<(), anyhow::Error> {
        let parts = BOARDS.iter().find(|(name, _)| self.board.as_deref() == Some(*name));
        match parts {
            Some((board, parts)) if !parts.contains(&part) => Err(anyhow!(
                "{}: it is for {part}, but the board {board} has {}; nothing was loaded; \
                 give a bitstream for this board",
                self.file.display(),
                parts.join(" or ")
            )),
            _ => Ok(()),
        }
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
        Ok(status) => Err(anyhow!("'{shown}' failed ({status}); its output is above")),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(anyhow!(
            "{LOADER} is not installed, so nothing was loaded; run apt-get install openfpgaloader and try again"
        )),
        Err(error) => Err(anyhow!("'{shown}': {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(board: Option<&str>) -> LoadArgs {
        let board = board.map(str::to_owned);
        LoadArgs { file: "some.bit".into(), board, cable: None, flash: false, check: true }
    }

    #[test]
    fn a_file_for_another_part_than_the_boards_is_refused() {
        args(Some("colorlight")).fits("LFE5U-25F").unwrap();
        args(Some("ecpix5")).fits("LFE5UM5G-85F").unwrap();
        let error = args(Some("ecpix5")).fits("LFE5U-25F").unwrap_err().to_string();
        assert!(
            error.contains("for LFE5U-25F, but the board ecpix5 has LFE5UM5G-45F or LFE5UM5G-85F"),
            "{error}"
        );
        // Nothing is known of these.
        args(Some("ulx3s")).fits("LFE5U-25F").unwrap();
        args(None).fits("LFE5U-25F").unwrap();
    }
}
