//! `dpdk:` beside testpmd on the same virtual devices: send, receive, forward. net_null is DPDK's own floor;
//! the others lie on veth pairs.
//!
//! ```text
//!   send     core 0: the tool ─► gen0 ══ sink0, whose XDP program drops          kernel's counter of sink0
//!   receive  core 0: live frames ─► gen0 ══ sink0 ─► core 1: the tool            the tool's own count
//!   forward  core 0: live frames ─► gen0 ══ mid0 ─► core 1: the tool ─► mid1 ══ sink0   counter of sink0
//! ```

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use bed::Middlebox;
use rustix::process::Signal;

use super::Bench;
use crate::bed::TestBed;
use crate::child::{At, Program, Said, sleep};
use crate::figures::{Better, Table};
use crate::peers;

/// From a tool's start until it does what it shall; testpmd takes longest, and tells its rate once a second.
const READY: Duration = Duration::from_millis(1_250);
/// Devices that lie on an interface.
const ON_VETH: [&str; 3] = ["af_packet", "af_xdp", "pcap"];

const TARE: &str = "tare";
const TESTPMD: &str = "testpmd";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Send,
    Receive,
    Forward,
}

impl Way {
    /// What testpmd calls it.
    const fn mode(self) -> &'static str {
        match self {
            Self::Send => "txonly",
            Self::Receive => "rxonly",
            Self::Forward => "macswap",
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Receive => "receive",
            Self::Forward => "forward",
        }
    }
}

pub fn send(bench: &Bench) -> Result<Vec<Table>> {
    tables(bench, Way::Send)
}

pub fn receive(bench: &Bench) -> Result<Vec<Table>> {
    tables(bench, Way::Receive)
}

pub fn forward(bench: &Bench) -> Result<Vec<Table>> {
    tables(bench, Way::Forward)
}

fn tables(bench: &Bench, way: Way) -> Result<Vec<Table>> {
    bench.options.sizes.iter().map(|size| table(bench, way, *size)).collect()
}

fn table(bench: &Bench, way: Way, size: usize) -> Result<Table> {
    let mut table = Table::new(format!("dpdk: {}, {size} B", way.name()), &["M/s"]);
    null(bench, way, size, &mut table)?;
    for driver in ON_VETH {
        let (ours, theirs) = (row(TARE, driver), row(TESTPMD, driver));
        let middlebox = if way == Way::Forward { Middlebox::Wire } else { Middlebox::None };
        let bed = TestBed::up(middlebox, bench.options.priority)?;
        // The receiving side of the kernel has a thread of its own, on core 1.
        let receiver = match way {
            Way::Send => None,
            Way::Receive => Some((bed.sink(), "sink0")),
            Way::Forward => Some((bed.middle()?, "mid0")),
        };
        if let Some((inside, interface)) = receiver {
            bed.gro(inside, interface)?;
            bed.threaded(inside, interface)?;
        }
        for (round, at) in bench.turns(2) {
            let (name, tool) = [(&ours, TARE), (&theirs, TESTPMD)][at];
            put(&mut table, name, round, on_veth(bench, &bed, way, driver, size, tool))?;
        }
        table.ratio("M/s", &ours, &[&theirs], Better::More, 0.95);
    }
    peers::clean_up_testpmd();
    table.note("no net_ring: nothing can put frames into a ring that testpmd reads");
    Ok(table)
}

fn row(tool: &str, driver: &str) -> String {
    format!("{tool} net_{driver}")
}

fn put(table: &mut Table, name: &str, round: usize, rate: Result<f64>) -> Result<()> {
    match rate {
        Ok(rate) => table.put(name, "M/s", round, rate),
        Err(error) => {
            sleep(Duration::ZERO)?;
            table.not_run(name, format!("{error:#}"));
        }
    }
    Ok(())
}

/// The device that keeps nothing. Sent are frames of one kind, as testpmd does, and then built, varied and
/// signed ones.
fn null(bench: &Bench, way: Way, size: usize, table: &mut Table) -> Result<()> {
    let bed = TestBed::up(Middlebox::None, bench.options.priority)?;
    let device = |number: usize| format!("net_null{number},size={}", size - 4);
    let (ours, theirs, signed) = (row(TARE, "null"), row(TESTPMD, "null"), "tare net_null, varied, signed");
    let plain = own(bench, way, size, &device(0), &device(1), "");
    let varied = own(bench, way, size, &device(0), &device(1), VARIED);
    let pmd = testpmd(way, &[device(0)], size, "0");
    let count = if way == Way::Send { 3 } else { 2 };
    for (round, at) in bench.turns(count) {
        let (name, words) = [(ours.as_str(), &plain), (theirs.as_str(), &pmd), (signed, &varied)][at];
        let cores = if at == 1 { "0,1" } else { "0" };
        let rate = own_rate(words, At { cores, ..bed.generator() }, way, bench.length());
        put(table, name, round, rate)?;
    }
    table.ratio("M/s", &ours, &[&theirs], Better::More, 0.95);
    if way == Way::Send && size == 64 {
        table.figure("M/s", signed, Better::More, 14.88);
    }
    Ok(())
}

/// What varies in frames that testpmd cannot make.
const VARIED: &str =
    "--vary src=198.18.0.1..198.18.0.250 --vary sport=1024..2047 --vary dport=9,53,80 --sign";

/// Tare's words for that way, from one device (to the other).
fn own(bench: &Bench, way: Way, size: usize, from: &str, to: &str, more: &str) -> Vec<String> {
    let end = format!("-t {}s --no-save --json", bench.length().as_secs_f64());
    own_until(bench, way, size, from, to, &format!("{more} {end}"))
}

fn own_until(bench: &Bench, way: Way, size: usize, from: &str, to: &str, end: &str) -> Vec<String> {
    let tare = bench.tare();
    peers::words(&match way {
        Way::Send => format!("{tare} send dpdk:{from} --rate max --size {size} -m 02:00:00:00:00:01 {end}"),
        Way::Receive => format!("{tare} capture dpdk:{from} --no-flows --no-signatures {end}"),
        Way::Forward => format!("{tare} forward dpdk:{from} dpdk:{to} --back none --busy {end}"),
    })
}

/// Its forwarding thread on the first of the cores, its command line on the other.
fn testpmd(way: Way, devices: &[String], size: usize, cores: &str) -> Vec<String> {
    let main = if cores.starts_with('0') { 1 } else { 0 };
    let devices: String = devices.iter().map(|device| format!("--vdev={device} ")).collect();
    let sent = if way == Way::Send { format!("--txpkts={}", size - 4) } else { String::new() };
    peers::words(&format!(
        "dpdk-testpmd --no-huge -m 256 --no-pci --no-telemetry --no-shconf -l 0,1 --main-lcore {main} {devices} -- \
         --nb-cores=1 --total-num-mbufs=16384 --stats-period=1 --forward-mode={} {sent}",
        way.mode(),
    ))
}

/// Millions a second by the tool's own count.
fn own_rate(words: &[String], at: At<'_>, way: Way, length: Duration) -> Result<f64> {
    let mut tool = Program::start(words, at)?;
    if words[0] == "dpdk-testpmd" {
        sleep(READY + READY + length)?;
        ensure!(tool.is_running(), "{}", tool.said()?.last_words());
        return told(&tool.end(Signal::INT)?, way);
    }
    ensure!(tool.wait(length + Duration::from_secs(10))?, "it does not end");
    Ok(counted(&tool.said()?, way)? / 1e6 / length.as_secs_f64())
}

/// What testpmd told of its last second.
fn told(said: &Said, way: Way) -> Result<f64> {
    let key = if way == Way::Receive { "Rx-pps:" } else { "Tx-pps:" };
    let rates = said.out.split(key).skip(1).filter_map(|rest| rest.split_whitespace().next()?.parse().ok());
    let rates: Vec<f64> = rates.filter(|rate| *rate > 0.0).collect();
    rates.last().map(|rate| rate / 1e6).with_context(|| format!("it told no rate; {}", said.last_words()))
}

/// Frames by Tare's result.
fn counted(said: &Said, way: Way) -> Result<f64> {
    let result = said.json().with_context(|| said.last_words())?;
    let ports = result["packets"]["ports"].as_array().cloned().unwrap_or_default();
    let key = if way == Way::Receive { "received" } else { "sent" };
    let frames: f64 = ports.iter().filter_map(|port| port[key].as_f64()).sum();
    ensure!(frames > 0.0, "it counted nothing");
    Ok(frames)
}

/// Millions a second on a device that lies on an interface.
fn on_veth(bench: &Bench, bed: &TestBed, way: Way, driver: &str, size: usize, tool: &str) -> Result<f64> {
    let device = |number: usize, interface: &str| format!("net_{driver}{number},iface={interface}");
    let (from, to) = match way {
        Way::Send => (device(0, "gen0"), String::new()),
        Way::Receive => (device(0, "sink0"), String::new()),
        Way::Forward => (device(0, "mid0"), device(1, "mid1")),
    };
    let cores = if way == Way::Send { "0" } else { "1" };
    let words = match tool {
        TARE => own_until(bench, way, size, &from, &to, "-t 60s --no-save --json"),
        _ => {
            let devices = [vec![from], if to.is_empty() { vec![] } else { vec![to] }].concat();
            testpmd(way, &devices, size, cores)
        }
    };
    let inside = match way {
        Way::Send => bed.generator(),
        Way::Receive => bed.sink(),
        Way::Forward => bed.middle()?,
    };
    let cores = if tool == TARE { cores } else { "0,1" };
    let _sink = match way {
        Way::Receive => None,
        Way::Send | Way::Forward => Some(bed.dropping_sink(&bench.bare_loop("bare_sink")?)?),
    };
    let mut tool = Program::start(&words, At { cores, ..inside })?;
    sleep(READY + READY)?;
    ensure!(tool.is_running(), "{}", tool.said()?.last_words());
    let live = peers::words(&format!("{} gen0 {size} 4000000000", bench.bare_loop("bare_live")?));
    let sender = (way != Way::Send).then(|| Program::start(&live, bed.generator())).transpose()?;
    let begun = Instant::now();
    let before = bed.at_sink()?;
    // testpmd tells the rate of whole seconds.
    sleep(if way == Way::Receive { bench.length() + READY } else { bench.length() })?;
    let after = bed.at_sink()?;
    let took = begun.elapsed().as_secs_f64();
    if let Some(sender) = sender {
        sender.end(Signal::INT)?;
    }
    let said = tool.end(Signal::INT)?;
    if way == Way::Receive {
        return if words[0] == "dpdk-testpmd" {
            told(&said, way)
        } else {
            Ok(counted(&said, way)? / 1e6 / took)
        };
    }
    let frames = (after.received - before.received) as f64 / 1e6;
    ensure!(frames > 0.0, "nothing arrived; {}", said.last_words());
    Ok(frames / (after.at - before.at).as_secs_f64())
}
