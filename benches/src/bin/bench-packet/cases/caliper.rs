//! Caliper's experiment: how exact gaps are at ten rates of a gigabit line.
//!
//! ```text
//!   tare send ─► the FPGA module, simulated ─► a capture of its wire, in simulated time ─► tare gaps
//!   tare send, tcpreplay, iperf3 ─► gen0 ══ sink0 ─► the kernel's stamps ─► tare gaps
//! ```
//!
//! The host hands the module each frame as it comes; the module's own generator is another experiment (`tare
//! fpga bench`). A size makes a table of 95th percentiles: a column a rate, a row a program.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use bed::Middlebox;
use serde_json::Value;

use super::{Bench, gaps, pace};
use crate::bed::TestBed;
use crate::child::{self, At, Program, sleep};
use crate::figures::{Better, Table};
use crate::peers;

/// Of all that a frame occupies on the wire.
pub const RATES: [&str; 10] = [
    "100 Mb/s",
    "200 Mb/s",
    "300 Mb/s",
    "400 Mb/s",
    "500 Mb/s",
    "600 Mb/s",
    "700 Mb/s",
    "800 Mb/s",
    "900 Mb/s",
    "1000 Mb/s",
];
/// Preamble, delimiter and least gap, in bytes.
const BETWEEN: u64 = wire::PREAMBLE_AND_GAP as u64;
/// A simulation of a slow rate takes many minutes.
const LIMIT: Duration = Duration::from_secs(3_600);
/// Frames of a file that tcpreplay repeats, for it has the whole in memory.
const FILE: u64 = 10_000;
/// A list of gaps begins again behind so many.
const LIST: u64 = 1_000;

const EVEN: &str = "module: even gaps";
const LISTED: &str = "module: gaps of a list";
const SIZES: &str = "module: random sizes";
const TCP: &str = "module: tare pace, iperf3";
const MODULE: [&str; 4] = [EVEN, LISTED, SIZES, TCP];
const TARE: &str = "tare send packet: spin";
const TCPREPLAY: &str = "tcpreplay --timer=gtod";
const IPERF3: &str = "iperf3 --udp";
const SOFTWARE: [&str; 3] = [TARE, TCPREPLAY, IPERF3];

pub fn by_module(bench: &Bench) -> Result<Vec<Table>> {
    let rows = |size| if size == 1_518 { &MODULE[..] } else { &MODULE[..2] };
    bench.options.sizes.iter().map(|size| of_size(bench, *size, "the module", rows(*size))).collect()
}

pub fn by_software(bench: &Bench) -> Result<Vec<Table>> {
    bench.options.sizes.iter().map(|size| of_size(bench, *size, "software", &SOFTWARE)).collect()
}

/// Nanoseconds from frame to frame.
fn gap_ns(size: usize, rate: &str) -> Result<u64> {
    let mbps: u64 = rate.split(' ').next().unwrap_or_default().parse()?;
    Ok((size as u64 + BETWEEN) * 8 * 1_000 / mbps)
}

fn of_size(bench: &Bench, size: usize, whose: &str, rows: &[&str]) -> Result<Table> {
    let mut table = Table::new(format!("gap errors of {whose}, p95 in ns, {size} B"), &RATES);
    // A simulation repeats itself to the cycle.
    let rounds = if rows == SOFTWARE { bench.options.rounds } else { 1 };
    for rate in RATES {
        let gap = gap_ns(size, rate)?;
        for (round, at) in bench.turns(rows.len()).filter(|(round, _)| *round < rounds) {
            let row = rows[at];
            match one(bench, row, size, gap) {
                Ok(seen) => {
                    eprintln!("  {size} B at {rate}, {row}: {seen:?}");
                    table.put(row, rate, round, seen.p95_ns);
                    if seen.kept < 0.99 {
                        table.note(format!("{row} at {rate}: {:.0} % of the rate", seen.kept * 100.0));
                    }
                }
                Err(error) => {
                    sleep(Duration::ZERO)?;
                    eprintln!("  {size} B at {rate}, {row}: {error:#}");
                    table.not_run(row, format!("{error:#}"));
                }
            }
        }
        match rows {
            [TARE, peers @ ..] => table.ratio(rate, TARE, peers, Better::Less, 1.0),
            // A tick of 8 ns: gaps are whole ticks.
            _ => rows.iter().for_each(|row| table.figure(rate, row, Better::Less, 8.0)),
        }
    }
    Ok(table)
}

/// What came of one program at one rate.
#[derive(Debug)]
struct Seen {
    p95_ns: f64,
    /// The gap that was due, by the mean of those that came.
    kept: f64,
}

fn one(bench: &Bench, row: &str, size: usize, gap: u64) -> Result<Seen> {
    let bed = TestBed::up(Middlebox::None, bench.options.priority)?;
    let gap_text = format!("-d {gap}");
    let lengths = format!("--size {size}");
    match row {
        EVEN => module(bench, &bed, &lengths, &gap_text, gap),
        LISTED => {
            let list = bench.scratch.join("gaps.txt");
            std::fs::write(&list, list_of_gaps(size, gap))?;
            module(bench, &bed, &lengths, &format!("-D {}", list.display()), gap)
        }
        SIZES => module(bench, &bed, &format!("--size random(64..{size})"), &gap_text, gap),
        TCP => module_tcp(bench, &bed, gap),
        // Its server answers at the beginning, and must be able to.
        IPERF3 => iperf3(bench, &bed, size, gap),
        _ => software(bench, &bed, row == TARE, size, gap),
    }
}

/// Gaps from what the line needs to as much more than the mean; their sum is that of even ones.
fn list_of_gaps(size: usize, gap: u64) -> String {
    let least = (size as u64 + BETWEEN) * 8;
    let room = gap.saturating_sub(least);
    let mut text = String::new();
    let mut state = 1_u64;
    for _ in 0..LIST / 2 {
        // Knuth's generator (MMIX).
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let off = ((state >> 33) * room) >> 31;
        let _ = writeln!(text, "{}\n{}", gap - off, gap + off);
    }
    text
}

/// The host hands frames to a simulated module; gaps are those of its wire.
fn module(bench: &Bench, bed: &TestBed, sizes: &str, gaps: &str, gap: u64) -> Result<Seen> {
    let (tare, frames) = (bench.tare(), bench.options.frames);
    let pcap = Pcap(bench.scratch.join("wire.pcapng"));
    let to = "--dst-mac 02:18:00:00:00:02 --no-save -q --accept-invalid";
    let file = pcap.0.display();
    let send = format!("{tare} send fpga,pcap={file}:sim {sizes} {gaps} -n {frames} {to}");
    run_line(&send, bed.spinning(), LIMIT)?;
    let seen = of_wire(bench, bed, &pcap.0, &format!("{gaps} udp"))?;
    figures(&seen, gap, frames)
}

/// iperf3 through a TAP device, `tare pace` and the module to a server at the other end of its wire.
fn module_tcp(bench: &Bench, bed: &TestBed, gap: u64) -> Result<Seen> {
    let pcap = Pcap(bench.scratch.join("wire.pcapng"));
    pace::leave_address_to_tap(bed)?;
    let server = Program::start(&peers::words("iperf3 -s -1"), bed.sink())?;
    let paced = format!(
        "{} pace tap,address=198.18.0.1/24:tare0 fpga,wire=gen0,pcap={}:sim -d {gap} --no-save -q --accept-invalid",
        bench.tare(),
        pcap.0.display()
    );
    let mut paced = Program::start(&peers::words(&paced), bed.spinning())?;
    pace::wait_for_tap(bed, &mut paced)?;
    // The simulation is slower than TCP believes: a tenth of the frames.
    let frames = (bench.options.frames / 10).max(100);
    let client = format!("iperf3 -c 198.18.0.2 --connect-timeout 10000 -n {}", frames * 1_448);
    let mut client = Program::start(&peers::words(&client), At { cores: "1", ..bed.generator() })?;
    ensure!(client.wait(LIMIT)?, "iperf3 did not end");
    paced.end(rustix::process::Signal::INT)?;
    drop(server);
    let seen = of_wire(bench, bed, &pcap.0, &format!("-d {gap} tcp dst port 5201 and greater 1000"))
        .with_context(|| client.said().map_or_else(|_| String::new(), |said| said.last_words()))?;
    figures(&seen, gap, frames)
}

fn of_wire(bench: &Bench, bed: &TestBed, pcap: &Path, rest: &str) -> Result<Value> {
    let line = format!("{} gaps pcap,interface=out:{} --no-save --json {rest}", bench.tare(), pcap.display());
    run_line(&line, bed.sink(), LIMIT)?.json()
}

fn software(bench: &Bench, bed: &TestBed, is_ours: bool, size: usize, gap: u64) -> Result<Seen> {
    bed.only_for_captures()?;
    let frames = bench.options.frames;
    let line = if is_ours {
        gaps::send(bench, bed, "packet:gen0", size, gap, frames)
    } else {
        let pcap = bench.scratch.join("caliper.pcap");
        peers::pcap(&pcap, size, FILE.min(frames) as usize)?;
        let (pps, again) = (1e9 / gap as f64, frames.div_ceil(FILE));
        let file = pcap.display();
        format!("tcpreplay -i gen0 --preload-pcap --timer=gtod --pps={pps:.3} --loop={again} {file}")
    };
    let limit = Duration::from_nanos(gap) * frames as u32 + Duration::from_secs(30);
    let receiver = gaps::receiver(bench, bed, gap, "udp")?;
    let mut sender =
        Program::start(&peers::words(&line), if is_ours { bed.spinning() } else { bed.generator() })?;
    ensure!(sender.wait(limit)?, "the sender did not end");
    sleep(gaps::DRAIN)?;
    let seen = receiver.end(rustix::process::Signal::INT)?.json()?;
    figures(&seen, gap, frames)
        .with_context(|| sender.said().map_or_else(|_| String::new(), |said| said.last_words()))
}

/// Datagrams of iperf3, which paces them by its own timer; its server takes them.
fn iperf3(bench: &Bench, bed: &TestBed, size: usize, gap: u64) -> Result<Seen> {
    let frames = bench.options.frames;
    // Without Ethernet, FCS, IPv4 and UDP.
    let payload = size - 14 - 4 - 20 - 8;
    let rate = payload as f64 * 8.0 * 1e9 / gap as f64;
    let server = Program::start(&peers::words("iperf3 -s -1"), bed.sink())?;
    sleep(gaps::DRAIN)?;
    let receiver = gaps::receiver(bench, bed, gap, "udp dst port 5201")?;
    let client = format!(
        "iperf3 -c 198.18.0.2 -u -l {payload} -b {rate:.0} -n {} --pacing-timer 1 --connect-timeout 3000",
        payload as u64 * frames
    );
    let mut client = Program::start(&peers::words(&client), bed.generator())?;
    let limit = Duration::from_nanos(gap) * frames as u32 + Duration::from_secs(60);
    ensure!(client.wait(limit)?, "iperf3 did not end");
    let seen = receiver.end(rustix::process::Signal::INT)?.json()?;
    drop(server);
    figures(&seen, gap, frames)
        .with_context(|| client.said().map_or_else(|_| String::new(), |said| said.last_words()))
}

/// The figures in a result of `tare gaps`.
fn figures(seen: &Value, gap: u64, frames: u64) -> Result<Seen> {
    let gaps = &seen["packets"]["gaps"];
    let figure = |value: &Value| value.as_f64().context("no gaps were measured");
    let (p95_ns, mean) = (figure(&gaps["error"]["p95_ns"])?, figure(&gaps["mean_ns"])?);
    let count = figure(&gaps["count"])? + 1.0;
    ensure!(count >= frames as f64 * 0.5, "{count} of {frames} frames were seen");
    Ok(Seen { p95_ns, kept: gap as f64 / mean })
}

fn run_line(line: &str, at: At<'_>, limit: Duration) -> Result<child::Said> {
    child::run(&line.split_whitespace().collect::<Vec<_>>(), at, limit)
}

/// A capture of the wire, which takes hundreds of megabytes.
struct Pcap(std::path::PathBuf);

impl Drop for Pcap {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_of_a_list_are_as_long_together_as_even_ones_and_fit_the_line() {
        let gap = gap_ns(1_518, "500 Mb/s").unwrap();
        assert_eq!(gap, 24_608);
        let text = list_of_gaps(1_518, gap);
        let all: Vec<u64> = text.lines().map(|line| line.parse().unwrap()).collect();
        assert_eq!((all.len() as u64, all.iter().sum::<u64>()), (LIST, LIST * gap));
        let (least, most) = (all.iter().min().unwrap(), all.iter().max().unwrap());
        assert!((12_304..14_000).contains(least) && (35_000..=36_912).contains(most), "{least} {most}");
        // At line rate, there is no room.
        assert!(list_of_gaps(64, 672).lines().all(|line| line == "672"));
    }
}
