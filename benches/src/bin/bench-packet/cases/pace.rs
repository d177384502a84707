//! Live TCP paced: iperf3 through a tap and `tare pace`, its gaps at the receiver beside those of `tare send`,
//! in turns.
//!
//! ```text
//!   iperf3 ─► tare0 (tap) ─► tare pace ─► gen0 ══ sink0 ─► iperf3 -s, tare gaps
//!   core 1                   core 0                 core 1
//! ```

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use bed::Middlebox;
use rustix::process::Signal;

use super::{Bench, gaps};
use crate::bed::TestBed;
use crate::child::{At, Program, run as run_program, sleep};
use crate::figures::{Better, Table};
use crate::peers;

/// A full segment in each gap: 1 448 bytes of payload (RFC 9293, RFC 7323 timestamps) in a frame of 1 518.
const PAYLOAD_BITS: f64 = 1_448.0 * 8.0;
const GAPS_NS: [u64; 2] = [250_000, 100_000];
/// iperf3 leaves so much out at the beginning, and the receiver starts after it: slow start is not paced by
/// gaps.
const SLOW_START: Duration = Duration::from_secs(1);

const PACE: &str = "tare pace, iperf3";
const SEND: &str = "tare send packet: -d";

pub fn run(bench: &Bench) -> Result<Vec<Table>> {
    GAPS_NS.iter().map(|gap| of_gap(bench, *gap)).collect()
}

fn of_gap(bench: &Bench, gap: u64) -> Result<Table> {
    let bed = TestBed::up(Middlebox::None, bench.options.priority)?;
    leave_address_to_tap(&bed)?;
    let mut columns = gaps::COLUMNS.to_vec();
    columns.extend(["goodput Mbit/s", "of paced rate", "retransmits"]);
    let mut table = Table::new(format!("paced TCP, a segment each {gap} ns"), &columns);
    for (round, at) in bench.turns(2) {
        let name = [PACE, SEND][at];
        let made = if at == 0 { paced(bench, &bed, gap) } else { sent(bench, &bed, gap) };
        match made {
            Ok(figures) => {
                columns.iter().zip(figures).for_each(|(column, value)| table.put(name, column, round, value))
            }
            Err(error) => {
                sleep(Duration::ZERO)?;
                table.not_run(name, format!("{error:#}"));
            }
        }
    }
    table.ratio("p95 ns", PACE, &[SEND], Better::Less, 2.0);
    table.figure("of paced rate", PACE, Better::More, 0.99);
    table.figure("of paced rate", PACE, Better::Less, 1.01);
    table.figure("retransmits", PACE, Better::Less, 0.0);
    Ok(table)
}

/// The address is the tap's; the interface that frames leave by answers for none.
pub fn leave_address_to_tap(bed: &TestBed) -> Result<()> {
    for line in ["ip addr flush dev gen0", "sysctl -qw net.ipv4.conf.gen0.arp_ignore=1"] {
        let words: Vec<&str> = line.split_whitespace().collect();
        run_program(&words, bed.generator(), Duration::from_secs(5))?;
    }
    Ok(())
}

fn paced(bench: &Bench, bed: &TestBed, gap: u64) -> Result<Vec<f64>> {
    // The sink knew the generator's interface; it has to ask for the tap.
    run_program(&["ip", "neigh", "flush", "nud", "all", "dev", "sink0"], bed.sink(), Duration::from_secs(5))?;
    let server = Program::start(&peers::words("iperf3 -s -1"), bed.sink())?;
    let pace = format!(
        "{} pace tap,address=198.18.0.1/24:tare0 packet:gen0 -d {gap} --cpus 0,1 --no-save -q --accept-invalid",
        bench.tare()
    );
    let mut pace = Program::start(&peers::words(&pace), bed.spinning())?;
    wait_for_tap(bed, &mut pace)?;
    let seconds = (bench.length() + SLOW_START).as_secs_f64().ceil();
    let client = format!("iperf3 -c 198.18.0.2 --json --connect-timeout 3000 -O 1 -t {seconds}");
    let mut client = Program::start(&peers::words(&client), At { cores: "1", ..bed.generator() })?;
    sleep(SLOW_START)?;
    let receiver = gaps::receiver(bench, bed, gap, "tcp dst port 5201 and greater 1000")?;
    sleep(bench.length().mul_f64(0.7))?;
    let mut figures = gaps::read(&receiver.end(Signal::INT)?.json()?)?.to_vec();
    ensure!(client.wait(Duration::from_secs(20))?, "iperf3 did not end");
    let said = client.said()?.json()?;
    pace.end(Signal::INT)?;
    drop(server);
    let goodput =
        said["end"]["sum_received"]["bits_per_second"].as_f64().with_context(|| said["error"].to_string())?;
    let retransmits = said["end"]["sum_sent"]["retransmits"].as_f64().unwrap_or(0.0);
    figures.extend([goodput / 1e6, goodput / (PAYLOAD_BITS * 1e9 / gap as f64), retransmits]);
    Ok(figures)
}

pub fn wait_for_tap(bed: &TestBed, pace: &mut Program) -> Result<()> {
    for _ in 0..200 {
        let there =
            bed.bed.generator().run_in(|| std::fs::read_to_string("/proc/thread-self/net/fib_trie"))??;
        if there.contains("198.18.0.1") {
            return sleep(Duration::from_millis(300));
        }
        ensure!(pace.is_running(), "{}", pace.said()?.last_words());
        sleep(Duration::from_millis(20))?;
    }
    anyhow::bail!("the tap did not get its address: {}", pace.said()?.last_words())
}

/// The same gaps by `tare send`, while nothing else runs.
fn sent(bench: &Bench, bed: &TestBed, gap: u64) -> Result<Vec<f64>> {
    let receiver = gaps::receiver(bench, bed, gap, "udp")?;
    let count = bench.length().mul_f64(0.7).as_nanos() as u64 / gap;
    let words = gaps::send(bench, bed, "packet:gen0", 1_518, gap, count);
    let mut sender = Program::start(&peers::words(&words), bed.spinning())?;
    ensure!(sender.wait(bench.length() + Duration::from_secs(20))?, "the sender did not end");
    sleep(Duration::from_millis(300))?;
    Ok(gaps::read(&receiver.end(Signal::INT)?.json()?)?.to_vec())
}
