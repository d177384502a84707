//! `tare fpga bench`: how exact the module's gaps are, by Caliper's experiment: frames of 1518 bytes from its
//! own generator, at each rate.

use super::print_json;
use anyhow::anyhow;
use clap::Args;
use port::Address;
use port::fpga::SIMULATION;
use run::terminal::print_all;
use run::{Failure, Status};
use units::Count;
use weigh::module::{Bench, LINE_MBPS};

const EXAMPLES: &str = "\
Rates count everything that a frame occupies on the wire, including preamble and minimum gap: 1000
is line rate, 81 274 frames/s of 1518 bytes. The gap error is |measured - requested| of every gap,
in cycles of 8 ns. It is measured at the far end of the cable, by the module's own histogram and,
if the module is simulated, by a capture of the wire in simulated time.

Examples:
  tare fpga bench fpga:sim                    10 000 frames at each rate: takes a few minutes
  tare fpga bench fpga:sim --frames 1500000   as in Caliper's experiment: takes hours
  tare fpga bench fpga:sim --rates 1000 --frames 2000 --backload
  tare fpga bench fpga:eth1                   a board whose wire side is looped back by a cable";

/// Measure how exact the module's gaps are, at each rate up to line rate
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct BenchArgs {
    /// fpga:INTERFACE or fpga:sim
    #[arg(value_name = "PORT")]
    port: String,
    /// Frames at each rate
    #[arg(long, short = 'n', value_name = "N", default_value = "10k")]
    frames: Count,
    /// Frame size, with FCS
    #[arg(long, value_name = "BYTES", default_value_t = 1_518, value_parser = clap::value_parser!(u16).range(64..=1_518))]
    size: u16,
    /// Rates in Mb/s, up to 1000 (line rate)
    #[arg(long, value_name = "MBPS", value_delimiter = ',', default_value = "100,200,300,400,500,600,700,800,900,1000",
          value_parser = clap::value_parser!(u64).range(1..=LINE_MBPS))]
    rates: Vec<u64>,
    /// Receive 64-byte frames at line rate meanwhile (simulated module only)
    #[arg(long)]
    backload: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &BenchArgs) -> Result<Status, Failure> {
    let bench = bench(args)?;
    let mut rows = Vec::new();
    if !args.json {
        print_all(&report::gap_bench_head(&bench.of(Vec::new())))?;
    }
    for mbps in &args.rates {
        let row = bench.rate(*mbps).map_err(Failure::wrong)?;
        if !args.json {
            print_all(&report::gap_bench_row(&row))?;
        }
        rows.push(row);
    }
    if args.json {
        print_json(&report::gap_bench_json(&bench.of(rows)))?;
    }
    Ok(Status::Done)
}

fn bench(args: &BenchArgs) -> Result<Bench, Failure> {
    let address: Address = args.port.parse().map_err(Failure::wrong)?;
    let is_simulated = address.place() == SIMULATION;
    let frames = u32::try_from(args.frames.get()).ok().filter(|frames| *frames >= 2);
    let frames = frames.ok_or_else(|| {
        Failure::wrong(anyhow!("--frames: {} is out of range; expected 2 to {}", args.frames.get(), u32::MAX))
    })?;
    // The bench reads the wire itself, and puts a cable or its own traffic there.
    if let Some(option) = ["pcap", "traffic", "wire", "tap"]
        .into_iter()
        .find(|option| is_simulated && address.option(option).is_some())
    {
        return Err(Failure::wrong(anyhow!(
            "{address}: the benchmark uses its own wire; leave out {option}= (incoming frames: --backload)"
        )));
    }
    if args.backload && !is_simulated {
        return Err(Failure::wrong(anyhow!(
            "--backload: only a simulation has its own incoming traffic; use fpga:sim"
        )));
    }
    let size = usize::from(args.size);
    Ok(Bench { address, frames, size, backload: args.backload })
}
