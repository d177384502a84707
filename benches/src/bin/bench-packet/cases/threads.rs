//! Threads × queues: a middlebox between two interfaces of one or two queues, frames of 1 024 flows, by the
//! wall clock.
//!
//! ```text
//!   core 0, or one on each core: tare send packet: ─► gen0 ══ mid0 ─► tare forward, N threads ─► mid1 ══ sink0
//!                                                                      cores 0 and 1          counted, dropped
//! ```
//! Who sends and who receives share two cores, as on a host: the sum decides, not each thread's own rate.

use std::time::Duration;

use anyhow::{Result, ensure};
use bed::Middlebox;
use rustix::process::Signal;

use super::Bench;
use crate::bed::TestBed;
use crate::child::{At, Program, sleep};
use crate::figures::Table;
use crate::peers;

const READY: Duration = Duration::from_millis(800);
const RATE: &str = "M/s";
const BUSIEST: &str = "busiest queue %";
const CPU: &str = "cores of forward";

#[derive(Clone, Copy)]
struct Shape {
    port: &'static str,
    senders: usize,
    threads: u32,
    queues: u32,
}

impl Shape {
    fn name(self) -> String {
        let Self { port, senders, threads, queues } = self;
        let s = |count| if count == 1 { "" } else { "s" };
        format!(
            "{port}: {senders} sender{}, {threads} thread{}, {queues} queue{}",
            s(senders),
            s(threads as usize),
            s(queues as usize)
        )
    }
}

fn shapes() -> Vec<Shape> {
    let all = ["packet", "xdp"].into_iter().flat_map(|port| {
        [1, 2].into_iter().flat_map(move |senders| {
            [(1, 1), (1, 2), (2, 1), (2, 2)].into_iter().map(move |(threads, queues)| Shape {
                port,
                senders,
                threads,
                queues,
            })
        })
    });
    all.collect()
}

pub fn run(bench: &Bench) -> Result<Vec<Table>> {
    bench.options.sizes.iter().map(|size| of_size(bench, *size)).collect()
}

fn of_size(bench: &Bench, size: usize) -> Result<Table> {
    let mut table = Table::new(format!("forward by threads and queues, {size} B"), &[RATE, BUSIEST, CPU]);
    let shapes = shapes();
    for (round, at) in bench.turns(shapes.len()) {
        let shape = shapes[at];
        match rate(bench, shape, size) {
            Ok([rate, busiest, cpu]) => {
                table.put(&shape.name(), RATE, round, rate);
                table.put(&shape.name(), BUSIEST, round, busiest);
                table.put(&shape.name(), CPU, round, cpu);
            }
            Err(error) => {
                sleep(Duration::ZERO)?;
                table.not_run(&shape.name(), format!("{error:#}"));
            }
        }
    }
    table.note("frames at the sink in a second of the wall clock; the share of received frames that came by one queue");
    Ok(table)
}

/// Millions a second at the sink, the busiest queue's share of what was received, and the cores that forwarding
/// took.
fn rate(bench: &Bench, shape: Shape, size: usize) -> Result<[f64; 3]> {
    let bed = TestBed::of_queues(Middlebox::Wire, shape.queues, bench.options.priority)?;
    let _sink = bed.dropping_sink(&bench.bare_loop("bare_sink")?)?;
    bed.gro(bed.middle()?, "mid0")?;
    bed.gro(bed.middle()?, "mid1")?;
    let Shape { port, threads, senders, .. } = shape;
    let words = format!(
        "{} forward {port}:mid0 {port}:mid1 --threads {threads} -t 60s --no-save --json",
        bench.tare()
    );
    let mut middle = Program::start(&peers::words(&words), At { cores: "0,1", ..bed.middle()? })?;
    sleep(READY)?;
    ensure!(middle.is_running(), "{}", middle.said()?.last_words());
    let vary = "--vary sport=1024..2047 --vary src=198.18.0.1..198.18.0.250";
    let words = format!(
        "{} send packet:gen0 --rate max --size {size} {vary} -i 198.18.0.2 -m {} -t 60s --no-save -q --accept-invalid",
        bench.tare(),
        bed.bed.sink().interface().mac
    );
    let start = |core| Program::start(&peers::words(&words), At { cores: core, ..bed.generator() });
    let senders: Vec<Program> = ["0", "1"].into_iter().take(senders).map(start).collect::<Result<_>>()?;
    sleep(READY)?;
    let (before, cpu) = (bed.at_sink()?, middle.cpu_s());
    sleep(bench.length())?;
    let (after, cpu) = (bed.at_sink()?, middle.cpu_s() - cpu);
    for sender in senders {
        sender.end(Signal::INT)?;
    }
    let result = middle.end(Signal::INT)?.json()?;
    let ports = result["packets"]["ports"].as_array().cloned().unwrap_or_default();
    let received: Vec<f64> = ports.iter().filter_map(|port| port["received"].as_f64()).collect();
    let all: f64 = received.iter().sum();
    let busiest = received.into_iter().fold(0.0, f64::max);
    let length = (after.at - before.at).as_secs_f64();
    let frames = (after.received - before.received) as f64 / 1e6;
    ensure!(frames > 0.0 && all > 0.0, "nothing arrived");
    Ok([frames / length, busiest / all * 100.0, cpu / length])
}
