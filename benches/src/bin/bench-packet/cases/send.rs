//! As fast as it goes: what arrives at a sink that only counts, in a window of the kernel's counters. Core 0
//! does it all: inside the sender's call the other end hands frames to an XDP program that drops them, so
//! nothing is lost on the way.

use std::time::Duration;

use anyhow::{Result, ensure};
use bed::Middlebox;
use rustix::process::Signal;

use super::Bench;
use crate::bed::TestBed;
use crate::child::{At, Program, sleep};
use crate::figures::{Better, Table};
use crate::peers;

/// From the start of a program to the first counter; testpmd takes longest.
const WARM_UP: Duration = Duration::from_millis(1_500);

const BARE_LIVE: &str = "bare loop of BPF_PROG_RUN";
const LIVE: &str = "tare send live:";
const BARE_XDP: &str = "bare AF_XDP loop";
const XDP: &str = "tare send xdp:";
const BARE_PACKET: &str = "bare sendmmsg loop";
const PACKET: &str = "tare send packet:";
const PMD_XDP: &str = "testpmd on af_xdp";
const PMD_PACKET: &str = "testpmd on af_packet";
const TRAFGEN: &str = "trafgen";
const TCPREPLAY: &str = "tcpreplay --preload-pcap";
const PEERS: [&str; 4] = [PMD_XDP, PMD_PACKET, TRAFGEN, TCPREPLAY];

pub fn run(bench: &Bench) -> Result<Vec<Table>> {
    bench.options.sizes.iter().map(|size| of_size(bench, *size)).collect()
}

fn of_size(bench: &Bench, size: usize) -> Result<Table> {
    let bed = TestBed::up(Middlebox::None, bench.options.priority)?;
    let _sink = bed.dropping_sink(&bench.bare_loop("bare_sink")?)?;
    let (conf, pcap) = (bench.scratch.join("trafgen.conf"), bench.scratch.join("frames.pcap"));
    peers::trafgen_file(&conf, size)?;
    peers::pcap(&pcap, size, 1_000)?;
    let mut table = Table::new(format!("send, {size} B"), &["M/s", "CPU s per M"]);
    let tare = |port: &str| {
        let vary = "--vary src=198.18.0.1..198.18.0.250 --vary sport=1024..2047 --vary dport=9,53,80";
        let to = format!("-i 198.18.0.2 -m {} -t 60s --no-save -q", bed.next_mac());
        peers::words(&format!("{} send {port} --rate max --size {size} {vary} {to}", bench.tare()))
    };
    let bare = |name: &str, rest: &str| {
        Ok::<_, anyhow::Error>(peers::words(&format!("{} {rest}", bench.bare_loop(name)?)))
    };
    let rows = [
        (BARE_LIVE, bare("bare_live", &format!("gen0 {size} 4000000000"))?),
        (LIVE, tare("live:gen0")),
        (BARE_XDP, bare("bare_xdp", &format!("send gen0 {size} 4000000000"))?),
        (XDP, tare("xdp:gen0")),
        (PMD_XDP, peers::testpmd("net_af_xdp", "gen0", "txonly", size)),
        (PMD_PACKET, peers::testpmd("net_af_packet", "gen0", "txonly", size)),
        (BARE_PACKET, bare("bare_packet", &format!("send gen0 {size} 60"))?),
        (PACKET, tare("packet:gen0")),
        (TRAFGEN, peers::words(&format!("trafgen -o gen0 -c {} -P 1 -S 16KiB", conf.display()))),
        (
            TCPREPLAY,
            peers::words(&format!(
                "tcpreplay -i gen0 --topspeed --preload-pcap --loop=100000000 {}",
                pcap.display()
            )),
        ),
    ];
    for (round, at) in bench.turns(rows.len()) {
        let (name, words) = &rows[at];
        match rate(&bed, words, bench.length()) {
            Ok((rate, cpu)) => {
                table.put(name, "M/s", round, rate);
                table.put(name, "CPU s per M", round, cpu);
            }
            Err(error) => {
                sleep(Duration::ZERO)?;
                table.not_run(name, format!("{error:#}"));
            }
        }
    }
    peers::clean_up_testpmd();
    table.ratio("M/s", LIVE, &[BARE_LIVE], Better::More, 0.9);
    table.ratio("M/s", LIVE, &PEERS, Better::More, 4.0);
    table.ratio("M/s", XDP, &[PMD_XDP], Better::More, 1.0);
    table.ratio("M/s", XDP, &[BARE_XDP], Better::More, 0.95);
    table.ratio("M/s", PACKET, &[TRAFGEN, TCPREPLAY], Better::More, 1.0);
    table.ratio("M/s", PACKET, &[BARE_PACKET], Better::More, 0.95);
    table.note("frames that arrived, by the kernel's counter of the sink; tare varies three fields, the others send one frame");
    Ok(table)
}

/// Millions of frames a second that arrive, and CPU seconds of the sender for a million.
fn rate(bed: &TestBed, words: &[String], length: Duration) -> Result<(f64, f64)> {
    // testpmd parts its two threads itself.
    let cores = if words[0] == "dpdk-testpmd" { "0,1" } else { "0" };
    let mut sender = Program::start(words, At { cores, ..bed.generator() })?;
    sleep(WARM_UP)?;
    let (before, cpu) = (bed.at_sink()?, sender.cpu_s());
    sleep(length)?;
    let (after, cpu) = (bed.at_sink()?, sender.cpu_s() - cpu);
    ensure!(sender.is_running(), "{}", sender.said()?.last_words());
    let said = sender.end(Signal::INT)?;
    let frames = (after.received - before.received) as f64 / 1e6;
    ensure!(frames > 0.0, "nothing arrived; {}", said.last_words());
    Ok((frames / (after.at - before.at).as_secs_f64(), cpu / frames))
}
