//! The steps, what each is beside, and the bars.

use crate::figures::{Better, Table};
use crate::options::Options;
use crate::worker::{Side, Worker};
use anyhow::{Result, ensure};
use std::time::Duration;

/// Until what Java runs is compiled.
const WARM_UP: Duration = Duration::from_millis(500);
/// Of a run of several pollers: long enough that starting them is nothing.
const TOGETHER: Duration = Duration::from_millis(300);

/// Bytes of the longest frame, and how much more in other rounds.
const LONGEST: u32 = 1_514;
const SHIFT: u32 = 16;
const PLACES: u32 = 16;

pub const RATE: &str = "M/s";
const COST: &str = "ns/frame";
const HEAP: &str = "heap B/frame";
const PASSED: &str = "passed";

/// A step of a ladder: whose it is, its name, what it is.
pub struct Step {
    pub side: Side,
    pub name: &'static str,
    pub says: &'static str,
}

const fn java(name: &'static str, says: &'static str) -> Step {
    Step { side: Side::Java, name, says }
}

const fn native(name: &'static str, says: &'static str) -> Step {
    Step { side: Side::Native, name, says }
}

pub const STEPS: [Step; 18] = [
    java("capture-objects", "Java capture: an object a packet"),
    java("capture-pooled", "Java capture: pooled objects"),
    java("capture-accessor", "Java capture: one accessor"),
    java("capture-burst", "Java capture: a burst's lengths"),
    native("capture-burst", "C capture: a burst's lengths"),
    java("capture-call", "Java capture: a burst by one call"),
    native("capture-call", "C capture: a burst by one call"),
    java("capture-file", "Java capture to pcap, own writer"),
    native("capture-file", "C capture to pcap, own writer"),
    java("capture-port", "Java capture to a pcap: port, one call"),
    native("capture-port", "C capture to a pcap: port, one call"),
    java("firewall-objects", "Java firewall: objects, a list of rules"),
    java("firewall-list", "Java firewall: accessor, a list of rules"),
    java("firewall-table", "Java firewall: accessor, own table"),
    java("firewall-filter", "Java firewall: libtare's rules"),
    native("firewall-filter", "C firewall: libtare's rules"),
    java("firewall-call", "Java firewall: a burst by one call"),
    native("firewall-call", "C firewall: a burst by one call"),
];

/// Ours, theirs, and the share of theirs that ours must reach.
const BARS: [(&str, &str, f64); 6] = [
    ("Java capture: a burst's lengths", "C capture: a burst's lengths", 0.95),
    ("Java capture: a burst by one call", "C capture: a burst by one call", 0.95),
    ("Java capture to a pcap: port, one call", "C capture to a pcap: port, one call", 0.95),
    ("Java firewall: accessor, own table", "C firewall: libtare's rules", 0.95),
    ("Java firewall: libtare's rules", "C firewall: libtare's rules", 0.97),
    ("Java firewall: a burst by one call", "C firewall: a burst by one call", 0.97),
];

/// A table for each size of frame, printed as soon as it is there.
pub fn steps(options: &Options) -> Result<Vec<Table>> {
    let mut java = Worker::start(Side::Java, options, true)?;
    let mut native = Worker::start(Side::Native, options, true)?;
    // Twice: what one step teaches the compiler is not what another needs.
    for _ in 0..2 {
        for step in STEPS.iter().filter(|step| step.side == Side::Java) {
            java.run(step.name, (options.sizes[0], options.burst), WARM_UP, LONGEST)?;
        }
    }
    let mut tables = Vec::new();
    for size in &options.sizes {
        let table = of_size(options, *size, &mut java, &mut native)?;
        print!("{}", table.text());
        tables.push(table);
    }
    Ok(tables)
}

fn of_size(options: &Options, size: u32, java: &mut Worker, native: &mut Worker) -> Result<Table> {
    let mut table = Table::new(format!("{size} B"), &[RATE, COST, HEAP, PASSED]);
    for round in 1..=options.rounds {
        // What it costs to copy a frame depends on where both places lie: in each round elsewhere.
        let longest = LONGEST + SHIFT * (round as u32 * 5 % PLACES);
        for step in &STEPS {
            let worker = if step.side == Side::Java { &mut *java } else { &mut *native };
            let ran = worker.run(step.name, (size, options.burst), options.length, longest)?;
            let is_firewall = step.name.starts_with("firewall");
            ensure!(ran.frames > 0.0, "{}: no frame of {size} B came", step.says);
            ensure!(!is_firewall || ran.passed > 0.0, "{}: no frame of {size} B passed", step.says);
            table.put(step.says, RATE, round, ran.frames / ran.ns * 1e3);
            table.put(step.says, COST, round, ran.ns / ran.frames);
            table.put(step.says, HEAP, round, ran.allocated_bytes / ran.frames);
            table.put(step.says, PASSED, round, ran.passed / ran.frames);
        }
    }
    for (ours, theirs, limit) in BARS {
        table.ratio(RATE, ours, &[theirs], Better::More, limit);
    }
    Ok(table)
}

/// A poller and a queue each, one and two of them, each on a core of its own.
pub fn threads(options: &Options) -> Result<Table> {
    let size = options.sizes[0];
    let title = format!("pollers × queues, {size} B, by the wall clock");
    let mut table = Table::new(title, &[RATE, "CPUs", "of 1"]);
    let mut java = Worker::start(Side::Java, options, false)?;
    let mut native = Worker::start(Side::Native, options, false)?;
    for step in STEPS.iter().filter(|step| step.side == Side::Java && is_shared(step)) {
        java.run(step.name, (size, options.burst), WARM_UP, LONGEST)?;
        java.threads(step.name, (size, options.burst), TOGETHER, 2)?;
    }
    for round in 1..=options.rounds.min(5) {
        for step in STEPS.iter().filter(|step| is_shared(step)) {
            let worker = if step.side == Side::Java { &mut java } else { &mut native };
            let mut alone = 0.0;
            for count in [1, 2] {
                let ran = worker.threads(step.name, (size, options.burst), TOGETHER, count)?;
                let rate = ran.frames / ran.wall_ns * 1e3;
                let row = row(step, count);
                table.put(&row, RATE, round, rate);
                table.put(&row, "CPUs", round, ran.cpu_ns / ran.wall_ns);
                if count == 1 {
                    alone = rate;
                } else {
                    table.put(&row, "of 1", round, rate / alone);
                }
            }
        }
    }
    let two = |side: Side, name: &str| {
        let step = STEPS.iter().find(|step| step.side == side && step.name == name);
        step.map_or_else(String::new, |step| row(step, 2))
    };
    for (ours, theirs) in [("firewall-table", "firewall-filter"), ("firewall-call", "firewall-call")] {
        table.ratio("of 1", &two(Side::Java, ours), &[&two(Side::Native, theirs)], Better::More, 0.9);
    }
    table.note(
        "filling and emptying the rings included: each poller does it for its own queue, in its own thread",
    );
    Ok(table)
}

fn is_shared(step: &Step) -> bool {
    match step.side {
        Side::Java => matches!(step.name, "capture-burst" | "firewall-table" | "firewall-call"),
        Side::Native => matches!(step.name, "capture-burst" | "firewall-filter" | "firewall-call"),
    }
}

fn row(step: &Step, count: u32) -> String {
    format!("{} × {count}", step.says)
}
