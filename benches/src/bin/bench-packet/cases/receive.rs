//! Receive and count, offered more than anyone takes: live frames from core 0; NAPI's thread and the tool share
//! core 1.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use bed::Middlebox;
use rustix::process::Signal;

use super::Bench;
use crate::bed::TestBed;
use crate::child::{Program, Said, sleep};
use crate::figures::{Better, Table};
use crate::peers;

/// From a receiver's start until it receives.
const READY: Duration = Duration::from_millis(1_500);

const XDP: &str = "tare capture xdp:";
const BARE_XDP: &str = "bare AF_XDP loop";
const PACKET: &str = "tare capture packet:";
const BARE_PACKET: &str = "bare TPACKET_V3 loop";
const TCPDUMP: &str = "tcpdump -w /dev/null";

pub fn run(bench: &Bench) -> Result<Vec<Table>> {
    bench.options.sizes.iter().map(|size| of_size(bench, *size)).collect()
}

fn of_size(bench: &Bench, size: usize) -> Result<Table> {
    let bed = TestBed::up(Middlebox::None, bench.options.priority)?;
    bed.gro(bed.sink(), "sink0")?;
    bed.threaded(bed.sink(), "sink0")?;
    let mut table = Table::new(format!("receive and count, {size} B"), &["M/s", "own CPU s per M"]);
    let length = bench.length().as_secs_f64();
    let bare_s = READY.as_secs_f64() + length + 0.3;
    let capture = |port: &str| {
        peers::words(&format!(
            "{} capture {port}:sink0 --no-flows --no-signatures --no-save --json -t 60s",
            bench.tare()
        ))
    };
    let rows = [
        (XDP, capture("xdp")),
        (BARE_XDP, peers::words(&format!("{} receive sink0 {bare_s}", bench.bare_loop("bare_xdp")?))),
        (PACKET, capture("packet")),
        (BARE_PACKET, peers::words(&format!("{} count sink0 {bare_s}", bench.bare_loop("bare_packet")?))),
        (TCPDUMP, peers::words("tcpdump -i sink0 -n -B 32768 -w /dev/null")),
    ];
    let sender = peers::words(&format!("{} gen0 {size} 4000000000", bench.bare_loop("bare_live")?));
    for (round, at) in bench.turns(rows.len()) {
        let (name, words) = &rows[at];
        match rate(&bed, words, &sender, bench.length()) {
            Ok((rate, cpu)) => {
                table.put(name, "M/s", round, rate);
                table.put(name, "own CPU s per M", round, cpu);
            }
            Err(error) => {
                sleep(Duration::ZERO)?;
                table.not_run(name, format!("{error:#}"));
            }
        }
    }
    table.ratio("M/s", XDP, &[TCPDUMP], Better::More, 2.0);
    table.ratio("M/s", XDP, &[BARE_XDP], Better::More, 0.95);
    table.note("each tool's own count; live frames offer more than any takes; NAPI's thread and the tool share core 1");
    Ok(table)
}

/// Millions of frames a second that a receiver counted while frames were sent, and its own CPU for a million.
fn rate(bed: &TestBed, words: &[String], sender: &[String], length: Duration) -> Result<(f64, f64)> {
    let mut receiver = Program::start(words, bed.sink())?;
    sleep(READY)?;
    ensure!(receiver.is_running(), "{}", receiver.said()?.last_words());
    let (sender, begun) = (Program::start(sender, bed.generator())?, Instant::now());
    let cpu = receiver.cpu_s();
    sleep(length)?;
    let cpu = receiver.cpu_s() - cpu;
    sender.end(Signal::INT)?;
    let took = begun.elapsed().as_secs_f64();
    if words[0].contains("bare_") {
        receiver.wait(Duration::from_secs(5))?;
    }
    let frames = counted(&receiver.end(Signal::INT)?)? / 1e6;
    ensure!(frames > 0.0, "it received nothing");
    Ok((frames / took, cpu / frames))
}

/// Frames by a tool's own word.
pub fn counted(said: &Said) -> Result<f64> {
    if said.err.contains("packets captured") {
        return said.before(" packets captured");
    }
    if let Some((_, rest)) = said.err.split_once("Packets captured: ") {
        return Ok(rest.split_whitespace().next().unwrap_or_default().parse()?);
    }
    if said.out.starts_with('{') {
        let result = said.json()?;
        let ports = result["packets"]["ports"].as_array().cloned().unwrap_or_default();
        return Ok(ports.iter().filter_map(|port| port["received"].as_f64()).sum());
    }
    said.after("frames")
}
