//! `tare fpga bench`: how exact the module's gaps are, by Caliper's experiment: frames of 1518 bytes from its
//! own generator, at each rate.

mod tally;
mod wire;

use super::print_json;
use anyhow::anyhow;
use clap::Args;
use clock::{Deadline, Stopwatch};
use port::fpga::generator::{self, Bin, Even, Gap};
use port::fpga::registers::{BAD, GOOD, LATE, SENT};
use port::fpga::time::TICK_NS;
use port::fpga::{self, Module, SIMULATION};
use port::{Address, PortError};
use report::count;
use run::terminal::print_all;
use run::{Failure, Status};
use serde_json::{Value, json};
use std::time::Duration;
use tally::Tally;
use units::Count;
use wire::Wire;

/// Ticks that a byte takes on a wire of 1 Gb/s.
const TICKS_PER_BYTE: u64 = 1;
/// Preamble, delimiter and least gap.
const BETWEEN: u64 = 20;
const LINE_MBPS: u64 = 1_000;
const LOOK: Duration = Duration::from_millis(20);
/// For frames that are on the wire to be received.
const LAST: Duration = Duration::from_secs(5);

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
    let bench = Bench::new(args)?;
    let mut rows = Vec::new();
    if !args.json {
        print_all(&bench.head())?;
    }
    for mbps in &args.rates {
        let row = bench.rate(*mbps)?;
        if !args.json {
            print_all(&row.text())?;
        }
        rows.push(row);
    }
    if args.json {
        print_json(&bench.json(&rows))?;
    }
    Ok(Status::Done)
}

/// What does not change from rate to rate.
struct Bench {
    address: Address,
    frames: u32,
    size: usize,
    is_simulated: bool,
    backload: bool,
}

/// What came out at one rate.
struct Row {
    mbps: u64,
    gap: Gap,
    /// By the module's histogram, where its own frames came back.
    histogram: Option<Vec<Bin>>,
    /// By the capture of the wire.
    seen: Option<Tally>,
    late: u64,
    /// By the wall's clock; of a simulation nothing, whose report has its own time alone.
    took: Option<Duration>,
}

impl Bench {
    fn new(args: &BenchArgs) -> Result<Self, Failure> {
        let address: Address = args.port.parse().map_err(Failure::wrong)?;
        let is_simulated = address.place() == SIMULATION;
        let frames = u32::try_from(args.frames.get()).ok().filter(|frames| *frames >= 2);
        let frames = frames.ok_or_else(|| {
            Failure::wrong(anyhow!(
                "--frames: {} is out of range; expected 2 to {}",
                args.frames.get(),
                u32::MAX
            ))
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
        Ok(Self { address, frames, size, is_simulated, backload: args.backload })
    }

    /// A byte takes a tick, so that gap is what line rate needs, stretched.
    fn gap(&self, mbps: u64) -> Result<Gap, Failure> {
        let line = (self.size as u64 + BETWEEN) * TICKS_PER_BYTE;
        Gap::of(line * LINE_MBPS, mbps).ok_or_else(|| {
            Failure::wrong(anyhow!("--rates: {mbps} Mb/s needs a longer gap than the module has"))
        })
    }

    fn rate(&self, mbps: u64) -> Result<Row, Failure> {
        let gap = self.gap(mbps)?;
        let begun = Stopwatch::start();
        let mut row = Row { mbps, gap, histogram: None, seen: None, late: 0, took: None };
        if self.is_simulated {
            let wire = Wire::new(gap, self.backload).map_err(Failure::wrong)?;
            let measured = self.measure(&wire.address(&self.address), gap, &mut row);
            let seen = wire.seen().map_err(Failure::wrong)?;
            measured?;
            if seen.frames() < u64::from(self.frames) {
                let (seen, all) = (seen.frames(), self.frames);
                return Err(Failure::wrong(anyhow!("{}: the wire had {seen} of {all} frames", self.address)));
            }
            row.seen = Some(seen);
        } else {
            self.measure(&self.address, gap, &mut row)?;
        }
        row.took = (!self.is_simulated).then(|| begun.elapsed());
        Ok(row)
    }

    /// Sends the frames; the module is given back, and a simulation has ended, when this returns.
    fn measure(&self, address: &Address, gap: Gap, row: &mut Row) -> Result<(), Failure> {
        let module = fpga::connect(address).map_err(Failure::wrong)?;
        module.stop().map_err(Failure::wrong)?;
        Even { size: self.size, frames: self.frames, gap }.begin(&module).map_err(Failure::wrong)?;
        while !generator::is_done(&module).map_err(Failure::wrong)? {
            std::thread::sleep(LOOK);
        }
        let received = self.received(&module).map_err(Failure::wrong)?;
        let values = module.read_all(&[&SENT, &LATE, &BAD]).map_err(Failure::wrong)?;
        if values[0] < u64::from(self.frames) {
            return Err(Failure::wrong(anyhow!(
                "{address}: only {} of {} frames left the module",
                values[0],
                self.frames
            )));
        }
        row.late = values[1];
        if !self.backload {
            if received < u64::from(self.frames) {
                return Err(Failure::wrong(anyhow!(
                    "{address}: {received} of {} frames came back, {} of them bad; connect its wire side to \
                     itself by a cable",
                    self.frames,
                    values[2]
                )));
            }
            let gaps = u64::from(self.frames) - 1;
            row.histogram = Some(generator::gap_histogram(&module, gaps).map_err(Failure::wrong)?);
        }
        module.stop().map(drop).map_err(Failure::wrong)
    }

    /// How many came back, when the last has.
    fn received(&self, module: &Module) -> Result<u64, PortError> {
        let until = Deadline::after(LAST);
        loop {
            let good = module.read(&GOOD)?;
            if self.backload || good >= u64::from(self.frames) || until.is_over() {
                return Ok(good);
            }
            std::thread::sleep(LOOK);
        }
    }

    fn head(&self) -> String {
        let time = if self.is_simulated { ", simulated time" } else { "" };
        let also = if self.backload { ", with 64-byte frames coming in at line rate" } else { "" };
        format!(
            "{}: {} frames of {} bytes at each rate{also}{time}\n\n  \
             Mb/s     requested   gap error p95   max, in cycles   off schedule  late  where\n",
            self.address,
            count(self.frames.into()),
            self.size
        )
    }

    fn json(&self, rows: &[Row]) -> Value {
        json!({
            "port": self.address.to_string(),
            "simulated": self.is_simulated,
            "frames": self.frames,
            "size": self.size,
            "backload": self.backload,
            "tick_ns": TICK_NS,
            "rates": rows.iter().map(Row::json).collect::<Vec<_>>(),
        })
    }
}

impl Row {
    fn text(&self) -> String {
        let mut text = String::new();
        let asked = self.gap.as_ticks() * TICK_NS as f64;
        let mut line = |p95: String, max: String, off: String, place: &str| {
            let (mbps, late) = (self.mbps, self.late);
            text += &format!("{mbps:>6} {asked:>13.2} {p95:>15} {max:>16} {off:>14} {late:>5}  {place}\n");
        };
        if let Some(bins) = &self.histogram {
            let (p95, max) = (tally::percentile(bins, 95), tally::percentile(bins, 100));
            // Distances from whole ticks.
            line(
                p95.to_string(),
                max.to_string(),
                "-".to_owned(),
                "the module's histogram, from the whole gap below",
            );
        }
        if let Some(seen) = &self.seen {
            line(
                format!("{:.2}", seen.error_p95()),
                format!("{:.2}", seen.error_max()),
                seen.off_schedule().to_string(),
                "the wire",
            );
            text += &format!("       {}\n", seen.caliper_line());
        }
        text
    }

    fn json(&self) -> Value {
        let histogram = self.histogram.as_ref().map(|bins| {
            json!({
                "from_ticks": self.gap.whole,
                "bins": bins.iter().map(|bin| json!({ "ticks": bin.least, "up_to_ticks": bin.greatest, "gaps": bin.count })).collect::<Vec<_>>(),
            })
        });
        let mut row = json!({
            "rate_mbps": self.mbps,
            "gap_ns": self.gap.as_ticks() * TICK_NS as f64,
            "gap_ticks": { "whole": self.gap.whole, "numerator": self.gap.numerator, "denominator": self.gap.denominator },
            "late": self.late,
            "histogram": histogram,
            "wire": self.seen.as_ref().map(Tally::json),
        });
        if let Some(took) = self.took {
            row["wall_s"] = json!(took.as_secs_f64());
        }
        row
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(took: Option<Duration>) -> Row {
        let histogram = Some(vec![Bin { least: 64, greatest: 65, count: 10 }]);
        let gap = Gap { whole: 1_538, numerator: 0, denominator: 1 };
        Row { mbps: 1_000, gap, histogram, seen: None, late: 0, took }
    }

    #[test]
    fn what_a_bin_may_hold_is_the_error() {
        let words: Vec<String> = row(None).text().split_whitespace().take(4).map(str::to_owned).collect();
        assert_eq!(words, ["1000", "12304.00", "65", "65"]);
    }

    #[test]
    fn wall_time_is_in_no_report_of_a_simulation() {
        assert!(row(None).json().get("wall_s").is_none());
        assert_eq!(row(Some(Duration::from_secs(2))).json()["wall_s"], 2.0);
    }
}
