//! The cases, one file for each group that shares a test bed.

pub mod caliper;
mod disk;
mod dpdk;
mod engine;
mod firewall;
mod gaps;
mod pace;
mod receive;
mod send;
mod threads;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::figures::Table;
use crate::options::Options;

pub struct Case {
    pub name: &'static str,
    pub says: &'static str,
    pub run: fn(&Bench) -> Result<Vec<Table>>,
}

/// They run only where they are named.
const LONG: [&str; 2] = ["caliper", "caliper-module"];

pub const CASES: &[Case] = &[
    Case { name: "engine", says: "mem: frames, and the firewall in user space", run: engine::run },
    Case { name: "script", says: "mem: fields by Lua beside fields of a plan", run: engine::script },
    Case { name: "send", says: "live, xdp and packet as fast as they go", run: send::run },
    Case { name: "receive", says: "xdp and packet: receive and count", run: receive::run },
    Case { name: "disk", says: "capture to disk at several rates", run: disk::run },
    Case { name: "firewall", says: "firewall as XDP program, per busy core-second", run: firewall::run },
    Case { name: "gaps", says: "gaps at the receiver: 100 µs, 13 560 ns, 5 µs, 2 µs", run: gaps::run },
    Case { name: "dpdk-send", says: "dpdk: beside testpmd: send", run: dpdk::send },
    Case { name: "dpdk-receive", says: "dpdk: beside testpmd: receive and count", run: dpdk::receive },
    Case { name: "dpdk-forward", says: "dpdk: beside testpmd: forward", run: dpdk::forward },
    Case {
        name: "threads",
        says: "forward by threads, queues and senders, by the wall clock",
        run: threads::run,
    },
    Case { name: "pace", says: "live TCP paced: tare pace with iperf3", run: pace::run },
    Case { name: LONG[0], says: "Caliper's experiment: gap errors at ten rates", run: caliper::by_software },
    Case { name: LONG[1], says: "the same by the FPGA module, simulated: hours", run: caliper::by_module },
];

pub struct Bench {
    pub options: Options,
    pub scratch: PathBuf,
}

impl Bench {
    pub fn is_asked(&self, name: &str) -> bool {
        let only = &self.options.only;
        if only.is_empty() { !LONG.contains(&name) } else { only.iter().any(|only| only == name) }
    }

    pub fn tare(&self) -> String {
        self.options.tare.to_string_lossy().into_owned()
    }

    /// The program of a bare loop.
    pub fn bare_loop(&self, name: &str) -> Result<String> {
        let found = self.options.loops.iter().map(|folder| folder.join(name)).find(|file| file.is_file());
        let found = found.with_context(|| format!("no program {name}: make bench-packet builds it"))?;
        Ok(found.to_string_lossy().into_owned())
    }

    pub fn length(&self) -> Duration {
        self.options.length
    }

    /// Rounds, each beginning with another one of `count` rows: (round, row).
    pub fn turns(&self, count: usize) -> impl Iterator<Item = (usize, usize)> {
        let rounds = self.options.rounds;
        (0..rounds).flat_map(move |round| (0..count).map(move |turn| (round, (round + turn) % count)))
    }
}
