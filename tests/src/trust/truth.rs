//! What the target says of a run, beside what `tare` printed.
//!
//! ```text
//!   client   ── sent ─────────────────────────────────────────────────── readable ──►
//!   target           readable ──► read ──► (delay, stall) ──► last piece written
//!                    └──────────────────── truth of net ─────────────┘  + its part of the handshake
//! ```
//!
//! Readable is by the kernel's stamp, so that a target that comes late to a request says so. What the way there
//! and back takes is measured once, see [`loopback_ns`]. Where the plan allows few connections, requests wait
//! for one of them: what a generator that is never late would have seen is computed from the times at the
//! target, see [`Queue`].

use super::sabotage::TARGET;
use crate::run::AHEAD;
use crate::target::{Record, Truth};
use crate::{Run, Target};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::OnceLock;
use std::time::Duration;

/// A percentile that is printed: its key in `result.json`, and its share.
pub const PRINTED: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99_9", 0.999)];
/// The highest one is printed of so many requests or more.
const ENOUGH: usize = 1_000;
/// Less than this is never off: the way over loopback, and a wake-up.
const FLOOR_NS: f64 = 20_000.0;

/// An open loop over few connections: due every `gap_ns`, in the order of due times over `connections`.
#[derive(Clone, Copy, Debug)]
pub struct Queue {
    pub connections: usize,
    pub gap_ns: u64,
}

/// A printed figure beside the truth.
#[derive(Clone, Debug)]
pub struct Told {
    pub key: &'static str,
    pub unit: Unit,
    pub told: f64,
    pub truth: f64,
    /// It is marked as a lower bound.
    pub is_bound: bool,
    /// The truth of one request less, and of one more: what counts at an end of the run decides no more than
    /// that.
    least: f64,
    most: f64,
}

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Nanoseconds,
    Frames,
}

impl Told {
    /// A figure of which there is one true value.
    pub fn exact(key: &'static str, unit: Unit, told: f64, truth: f64) -> Self {
        Self { key, unit, told, truth, is_bound: false, least: truth, most: truth }
    }

    /// What is less than the truth is not off: a CPU that others keep awake responds sooner.
    pub fn at_most(&mut self) {
        self.least = 0.0;
    }

    /// Whether it is within this share of the truth; a time also if it is within 20 us.
    pub fn within(&self, share: f64) -> bool {
        let floor = if self.unit == Unit::Nanoseconds { FLOOR_NS } else { 0.0 };
        let low = self.least - (self.least * share).max(floor);
        let high = self.most + (self.most * share).max(floor);
        self.told <= high && (self.is_bound || self.told >= low)
    }
}

impl std::fmt::Display for Told {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let least = if self.is_bound { ">=" } else { "" };
        match self.unit {
            Unit::Frames => write!(f, "{} {least}{}, true {}", self.key, self.told, self.truth),
            Unit::Nanoseconds => {
                write!(f, "{} {least}{:.3} ms, true {:.3} ms", self.key, self.told / 1e6, self.truth / 1e6)
            }
        }
    }
}

/// What the way to the target and back takes here: twice the median time from just before a write until the
/// kernel's stamp at the other end, between the generator's CPU and the target's.
pub fn loopback_ns() -> u64 {
    2 * crate::target::percentile(ways_ns(), 0.5)
}

/// How much longer than that it takes at this percentile: what is told may be above the target's own time by as
/// much.
fn jitter_ns(share: f64) -> u64 {
    2 * crate::target::percentile(ways_ns(), share) - loopback_ns()
}

/// The times of 200 requests on their way to an idle target, sorted.
fn ways_ns() -> &'static [u64] {
    static ONCE: OnceLock<Vec<u64>> = OnceLock::new();
    ONCE.get_or_init(|| std::thread::spawn(measured_ways_ns).join().expect("loopback carries 200 requests"))
}

fn measured_ways_ns() -> Vec<u64> {
    let mut cpu = rustix::thread::CpuSet::new();
    cpu.set(0);
    // On another CPU the way is as long.
    let _ = rustix::thread::sched_setaffinity(None, &cpu);
    let target = Target::start_through(&AHEAD, &format!("--cpus {TARGET}"));
    let address = target.url().trim_start_matches("http://").trim_end_matches('/').to_owned();
    let mut stream = TcpStream::connect(&address).expect("the target listens");
    stream.set_nodelay(true).expect("a TCP socket");
    let ask = format!("GET / HTTP/1.1\r\nHost: {address}\r\n\r\n");
    let mut answer = [0; 4_096];
    let mut written = Vec::new();
    for _ in 0..200 {
        std::thread::sleep(Duration::from_millis(1));
        written.push(crate::monotonic_ns());
        stream.write_all(ask.as_bytes()).expect("a request");
        assert!(stream.read(&mut answer).expect("an answer") > 0, "the target closed");
    }
    let truth = target.truth();
    let mut ways: Vec<u64> = truth.records.iter().map(|record| record.readable_ns).collect();
    ways.sort_unstable();
    let mut ways: Vec<u64> =
        ways.iter().zip(&written).map(|(read, wrote)| read.saturating_sub(*wrote)).collect();
    ways.sort_unstable();
    ways
}

/// True net times in the order of arrival; one that was never answered is endless.
pub fn net_ns(truth: &Truth, queue: Option<Queue>) -> Vec<u64> {
    let mut records: Vec<&Record> =
        truth.records.iter().filter(|record| ["whole", "silent"].contains(&record.how.as_str())).collect();
    records.sort_by_key(|record| record.readable_ns);
    let services: Vec<u64> = records.iter().map(|record| service_ns(record)).collect();
    match queue {
        None => services,
        Some(queue) => queue.waits(&services),
    }
}

fn service_ns(record: &Record) -> u64 {
    if record.written_ns == 0 {
        return u64::MAX;
    }
    record.written_ns.saturating_sub(record.readable_ns) + record.prepared_ns + loopback_ns()
}

impl Queue {
    /// From due time to answer, when each request takes the connection that is free first.
    fn waits(self, services_ns: &[u64]) -> Vec<u64> {
        let mut free: BinaryHeap<Reverse<u64>> = (0..self.connections).map(|_| Reverse(0)).collect();
        let each = services_ns.iter().enumerate().map(|(seq, service)| {
            let due = seq as u64 * self.gap_ns;
            let Reverse(from) = free.pop().expect("there is a connection");
            let end = due.max(from).saturating_add(*service);
            free.push(Reverse(end));
            end - due
        });
        each.collect()
    }
}

/// Each printed percentile of a distribution of the result (`net_ns`, `latency_ns`) beside the true one.
pub fn compare(run: &Run, distribution: &str, mut truth: Vec<u64>) -> Vec<Told> {
    truth.sort_unstable();
    let told = &run.result[distribution];
    let printed = PRINTED.iter().filter(|(key, _)| *key != "p99_9" || truth.len() >= ENOUGH);
    let compared = printed.filter_map(|(key, share)| {
        let rank = (truth.len() as f64 * share).ceil() as usize;
        let at = |rank: usize| truth.get(rank.clamp(1, truth.len().max(1)) - 1).map(|ns| *ns as f64);
        Some(Told {
            is_bound: bound_from(told).is_some_and(|from| *share > from - 1e-6),
            least: at(rank.saturating_sub(1))?,
            most: at(rank + 1)? + jitter_ns(share.max(0.5)) as f64,
            ..Told::exact(key, Unit::Nanoseconds, told[*key].as_f64()?, at(rank)?)
        })
    });
    compared.collect()
}

/// The share from which on percentiles are lower bounds: `p90`, `p99_9` or `max`.
fn bound_from(distribution: &serde_json::Value) -> Option<f64> {
    match distribution["bound_from"].as_str()? {
        "max" => Some(1.0),
        name => {
            let digits = name.strip_prefix('p')?.replace('_', ".");
            Some(digits.parse::<f64>().ok()? / 100.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_that_find_no_free_connection_wait() {
        // One connection, due every 10 ms, each takes 15 ms: the n-th begins at 15 n and ends at 15 n + 15.
        let queue = Queue { connections: 1, gap_ns: 10 };
        assert_eq!(queue.waits(&[15, 15, 15]), [15, 20, 25]);
        // Two are enough for that.
        assert_eq!(Queue { connections: 2, ..queue }.waits(&[15, 15, 15]), [15, 15, 15]);
    }

    #[test]
    fn off_is_more_than_the_share_and_more_than_the_floor() {
        let told = |told, truth| Told::exact("p50", Unit::Nanoseconds, told, truth);
        assert!(told(1.09e6, 1e6).within(0.1) && !told(1.11e6, 1e6).within(0.1));
        assert!(!told(0.89e6, 1e6).within(0.1) && told(29_000.0, 10_000.0).within(0.1));
        let bound = |ns| Told { is_bound: true, ..told(ns, 1e6) };
        assert!(bound(0.1e6).within(0.1) && !bound(1.11e6).within(0.1));
        assert!(!Told::exact("arrived", Unit::Frames, 880.0, 1_000.0).within(0.1));
    }
}
