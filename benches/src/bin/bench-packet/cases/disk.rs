//! Capture to disk: loss and the tool's own CPU at several rates. Frames are received inside the sender's call
//! on core 0 (a plain veth), so that core 1 has nothing but the tool.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use bed::Middlebox;
use rustix::process::Signal;

use super::Bench;
use super::receive::counted;
use crate::bed::TestBed;
use crate::child::{Program, sleep};
use crate::figures::{Better, Table};
use crate::peers;

/// So long after the last frame a tool has taken it: the kernel gives tcpdump a block that is not full after a
/// second.
const DRAIN: Duration = Duration::from_millis(1_500);

const TARE: &str = "tare capture -w";
const PLAIN: &str = "the same, --no-flows --no-signatures";
const PCAP: &str = "the same, as .pcap like tcpdump's";
const TCPDUMP: &str = "tcpdump -w";
const DUMPCAP: &str = "dumpcap -w";

pub fn run(bench: &Bench) -> Result<Vec<Table>> {
    let mut tables = Vec::new();
    for size in &bench.options.sizes {
        // Frames of full length at a million a second are more than a disk takes.
        let rates: &[&str] = match size {
            // A table of sizes asks the same of each.
            _ if bench.options.sizes.len() > 2 => &["max"],
            500.. => &["50k", "150k", "max"],
            _ => &["100k", "300k", "600k", "max"],
        };
        for rate in rates {
            tables.push(at_rate(bench, *size, rate)?);
        }
    }
    Ok(tables)
}

fn at_rate(bench: &Bench, size: usize, rate: &str) -> Result<Table> {
    let bed = TestBed::up(Middlebox::None, bench.options.priority)?;
    bed.only_for_captures()?;
    let columns = ["M/s sent", "lost %", "own CPU s per M"];
    let mut table = Table::new(format!("capture to disk, {size} B at {rate}"), &columns);
    let folder = bench.options.disk.clone().unwrap_or_else(|| bench.scratch.clone());
    let file = |name: &str| folder.join(format!("bench-packet-{}-{name}", std::process::id()));
    let (ours, pcap) = (file("tare.pcapng"), file("tare.pcap"));
    let (tcpdump, dumpcap) = (file("tcpdump.pcap"), file("dumpcap.pcapng"));
    let tare = |file: &Path, flags: &str| {
        let words = format!("{} capture packet:sink0 -w {}", bench.tare(), file.display());
        peers::words(&format!("{words} {flags} --no-save --json -t 60s"))
    };
    let rows = [
        (TARE, tare(&ours, ""), &ours),
        (PLAIN, tare(&ours, "--no-flows --no-signatures"), &ours),
        (PCAP, tare(&pcap, "--no-flows --no-signatures"), &pcap),
        (
            TCPDUMP,
            peers::words(&format!("tcpdump -i sink0 -n -B 65536 -Z root -w {}", tcpdump.display())),
            &tcpdump,
        ),
        (DUMPCAP, peers::words(&format!("dumpcap -q -i sink0 -B 64 -w {}", dumpcap.display())), &dumpcap),
    ];
    let send = peers::words(&format!(
        "{} send packet:gen0 --rate {rate} --size {size} -i 198.18.0.2 -m {} -t {}ms --cpus 0 --no-save -q \
         --accept-invalid",
        bench.tare(),
        bed.next_mac(),
        bench.length().as_millis()
    ));
    for (round, at) in bench.turns(rows.len()) {
        let (name, words, file) = &rows[at];
        let made = capture(&bed, words, &send, bench.length());
        let _ = std::fs::remove_file(file);
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
    table.no_more("lost %", TARE, TCPDUMP);
    table.no_more("lost %", PLAIN, TCPDUMP);
    table.ratio("own CPU s per M", PLAIN, &[TCPDUMP], Better::Less, 0.7);
    table.ratio("own CPU s per M", PCAP, &[TCPDUMP], Better::Less, 0.7);
    table.note("tcpdump and dumpcap count no flows; of a frame of 64 B, pcapng keeps 92 bytes and pcap 76");
    Ok(table)
}

/// Millions a second that were sent, what share (%) is not in the file by the tool's word, own CPU seconds per
/// million.
fn capture(bed: &TestBed, words: &[String], send: &[String], length: Duration) -> Result<[f64; 3]> {
    let mut receiver = Program::start(words, bed.sink())?;
    bed.wait_for_listener(bed.bed.sink(), &mut receiver)?;
    let (before, cpu) = (bed.at_sink()?, receiver.cpu_s());
    let mut sender = Program::start(send, bed.spinning())?;
    ensure!(sender.wait(length + Duration::from_secs(10))?, "the sender did not end");
    sleep(DRAIN)?;
    let (after, cpu) = (bed.at_sink()?, receiver.cpu_s() - cpu);
    ensure!(receiver.is_running(), "{}", receiver.said()?.last_words());
    let sent = (after.received - before.received) as f64;
    ensure!(sent > 0.0, "nothing was sent: {}", sender.said()?.last_words());
    let kept = counted(&receiver.end(Signal::INT)?)?;
    Ok([sent / 1e6 / length.as_secs_f64(), (1.0 - kept / sent) * 100.0, cpu / (kept / 1e6)])
}
