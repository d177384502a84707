//! `tare fpga`: the FPGA module itself: what it says of itself, its registers, its bitstream, its simulation,
//! and how exact it is.

#[cfg(feature = "weigh")]
mod bench;
mod load;
mod regs;
mod sim;
mod status;

use clap::{Args, Subcommand};
use port::Address;
use port::fpga::{self, Module};
use run::terminal::print_all;
use run::{Failure, Status};
use std::sync::Arc;

const EXAMPLES: &str = "\
Examples:
  tare fpga status fpga:sim         simulate a module; show its version, clock and counters
  tare fpga status fpga:eth1        the same of a board behind an interface
  tare fpga regs fpga:eth1          print all readable registers
  tare fpga regs fpga:eth1 sent late gap_whole=1538
  tare fpga load --board ecpix5 FILE
  tare fpga sim fpga,tap=tare0:sim  simulate a module whose wire is a device of this host
  tare fpga bench fpga:sim          measure gap errors at each rate up to line rate

To send or receive frames with the module, give fpga:sim or fpga:INTERFACE to tare send, pace,
gaps, capture or sweep. Guide: docs/fpga.md.";

/// Inspect, load, simulate and benchmark the FPGA module
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct FpgaArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    Status(status::StatusArgs),
    Regs(regs::RegsArgs),
    #[cfg(feature = "weigh")]
    Bench(bench::BenchArgs),
    Load(load::LoadArgs),
    Sim(sim::SimArgs),
}

pub fn run(args: &FpgaArgs) -> Result<Status, Failure> {
    match &args.action {
        Action::Status(args) => status::run(args),
        Action::Regs(args) => regs::run(args),
        #[cfg(feature = "weigh")]
        Action::Bench(args) => bench::run(args),
        Action::Load(args) => load::run(args),
        Action::Sim(args) => sim::run(args),
    }
}

/// The module that an argument names.
fn connect(typed: &str) -> Result<Arc<Module>, Failure> {
    let address: Address = typed.parse().map_err(Failure::wrong)?;
    fpga::connect(&address).map_err(Failure::wrong)
}

fn print_json(value: &serde_json::Value) -> Result<(), Failure> {
    print_all(&format!("{value:#}\n"))
}
