//! Gaps at the receiver: `tare gaps` with the kernel's stamps on core 1, the same for all; who sends spins on
//! core 0.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use bed::Middlebox;
use rustix::process::Signal;
use serde_json::Value;

use super::Bench;
use crate::bed::TestBed;
use crate::child::{self, Program, sleep};
use crate::figures::{Better, Table};
use crate::peers;

const GAPS_NS: [u64; 4] = [100_000, 13_560, 5_000, 2_000];
/// Enough for a 95th percentile, and few enough for tcpreplay to have them all in memory.
const FRAMES: u64 = 50_000;
/// So long after the last frame it has been read.
pub const DRAIN: Duration = Duration::from_millis(300);
pub const COLUMNS: [&str; 5] = ["p50 ns", "p95 ns", "p99 ns", "mean gap ns", "frames"];

const BARE: &str = "bare spin loop";
const TARE: &str = "tare send packet: -d";
/// The kernel's timer lets each frame go, not a thread that spins.
const LAUNCHED: &str = "tare send packet,launch=fq: -d";
const TCPREPLAY: &str = "tcpreplay --timer=gtod";

pub fn run(bench: &Bench) -> Result<Vec<Table>> {
    let mut tables = Vec::new();
    for size in &bench.options.sizes {
        for gap in GAPS_NS {
            tables.push(of_gap(bench, *size, gap)?);
        }
    }
    Ok(tables)
}

fn of_gap(bench: &Bench, size: usize, gap: u64) -> Result<Table> {
    let bed = TestBed::up(Middlebox::None, bench.options.priority)?;
    bed.only_for_captures()?;
    let mut table = Table::new(format!("|gap − {gap} ns|, {size} B"), &COLUMNS);
    let count = FRAMES.min(bench.length().as_nanos() as u64 / gap);
    let pcap = bench.scratch.join("gaps.pcap");
    peers::pcap(&pcap, size, count as usize)?;
    let pps = 1e9 / gap as f64;
    let rows = [
        (BARE, format!("{} spin gen0 {size} {gap} {count}", bench.bare_loop("bare_packet")?)),
        (TARE, send(bench, &bed, "packet:gen0", size, gap, count)),
        (LAUNCHED, send(bench, &bed, "packet,launch=fq:gen0", size, gap, count)),
        (
            TCPREPLAY,
            format!("tcpreplay -i gen0 --preload-pcap --timer=gtod --pps={pps:.3} {}", pcap.display()),
        ),
    ];
    for (round, at) in bench.turns(rows.len()) {
        let (name, words) = &rows[at];
        let qdisc = if *name == LAUNCHED { Some(FairQueue::put(&bed)) } else { None }.transpose();
        match qdisc.and_then(|_qdisc| measured(bench, &bed, &peers::words(words), gap, "udp")) {
            Ok(figures) => {
                COLUMNS.iter().zip(figures).for_each(|(column, value)| table.put(name, column, round, value))
            }
            Err(error) => {
                sleep(Duration::ZERO)?;
                table.not_run(name, format!("{error:#}"));
            }
        }
    }
    for column in ["p50 ns", "p95 ns"] {
        table.ratio(column, TARE, &[BARE], Better::Less, 1.2);
        table.ratio(column, TARE, &[TCPREPLAY], Better::Less, 0.5);
    }
    Ok(table)
}

/// The queueing discipline that keeps launch times, for one run.
struct FairQueue<'a>(&'a TestBed);

impl<'a> FairQueue<'a> {
    fn put(bed: &'a TestBed) -> Result<Self> {
        let words = "tc qdisc replace dev gen0 root fq flow_limit 8192 timer_slack 0";
        child::run(&words.split(' ').collect::<Vec<_>>(), bed.generator(), Duration::from_secs(5))
            .context("fq before gen0 (the kernel's sch_fq)")?;
        Ok(Self(bed))
    }
}

impl Drop for FairQueue<'_> {
    fn drop(&mut self) {
        let words = ["tc", "qdisc", "del", "dev", "gen0", "root"];
        let _ = child::run(&words, self.0.generator(), Duration::from_secs(5));
    }
}

/// The words of `tare send` for even gaps.
pub fn send(bench: &Bench, bed: &TestBed, port: &str, size: usize, gap: u64, count: u64) -> String {
    let to = format!("-I 198.18.0.1 -i 198.18.0.2 -m {} --no-save -q --accept-invalid", bed.next_mac());
    format!("{} send {port} -d {gap} -n {count} --size {size} --cpus 0 {to}", bench.tare())
}

/// What `tare gaps` says of what a sender sends until it ends.
fn measured(bench: &Bench, bed: &TestBed, words: &[String], gap: u64, filter: &str) -> Result<[f64; 5]> {
    let receiver = receiver(bench, bed, gap, filter)?;
    let is_ours = words[0] == bench.tare();
    let mut sender = Program::start(words, if is_ours { bed.spinning() } else { bed.generator() })?;
    ensure!(sender.wait(bench.length() + Duration::from_secs(20))?, "the sender did not end");
    sleep(DRAIN)?;
    let figures = read(&receiver.end(Signal::INT)?.json()?);
    figures.with_context(|| sender.said().map_or_else(|_| String::new(), |said| said.last_words()))
}

/// `tare gaps` that listens at the sink.
pub fn receiver(bench: &Bench, bed: &TestBed, gap: u64, filter: &str) -> Result<Program> {
    let words = format!("{} gaps packet:sink0 -d {gap} -t 60s --no-save --json {filter}", bench.tare());
    let mut receiver = Program::start(&peers::words(&words), bed.sink())?;
    bed.wait_for_listener(bed.bed.sink(), &mut receiver)?;
    Ok(receiver)
}

/// The columns out of a result.
pub fn read(result: &Value) -> Result<[f64; 5]> {
    let gaps = &result["packets"]["gaps"];
    let figure = |value: &Value| value.as_f64().context("no gaps were measured");
    let error = &gaps["error"];
    Ok([
        figure(&error["p50_ns"])?,
        figure(&error["p95_ns"])?,
        figure(&error["p99_ns"])?,
        figure(&gaps["mean_ns"])?,
        figure(&gaps["count"])? + 1.0,
    ])
}
