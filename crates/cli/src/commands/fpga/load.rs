//! `tare fpga load`: a bitstream into a board, once it is known to be whole.

use clap::Args;
use port::fpga::loader::Loading;
use report::count;
use run::terminal::print_all;
use run::{Failure, Status};
use std::path::PathBuf;

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
    let loading = args.loading();
    let checked = loading.look().map_err(Failure::wrong)?;
    let kind = if checked.is_compressed { "compressed frames" } else { "frames" };
    print_all(&format!(
        "{}: a complete bitstream for {}, {} {kind}, all CRCs correct\n{}\n",
        args.file.display(),
        checked.part.name,
        count(checked.frames as u64),
        loading.shown()
    ))?;
    if args.check {
        return Ok(Status::Done);
    }
    loading.load().map_err(Failure::wrong)?;
    Ok(Status::Done)
}

impl LoadArgs {
    fn loading(&self) -> Loading {
        Loading {
            file: self.file.clone(),
            board: self.board.clone(),
            cable: self.cable.clone(),
            flash: self.flash,
        }
    }
}
