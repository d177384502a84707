//! What really happened, written down by a thread of its own: one CSV line for each request, and a summary.
//!
//! All times are nanoseconds of CLOCK_MONOTONIC, so that they can be held against any other program's on this
//! machine. They are converted by the rate that the clock was calibrated with at the start: within a run gaps
//! and service times are exact to that rate (10⁻⁶), and absolute times move away by up to 1 µs for each second
//! since the start. Memory is bounded: records pass through rings of fixed size, and the summary's order
//! statistics are exact over the first 4 194 304 requests (64 MiB), which it says.

use crate::ring::{Consumer, How, Record};
use crate::stats::Stats;
use clock::HostClock;
use serde::{Serialize, Serializer};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use units::{Instant, Picos, Rate};

/// Requests over which the summary is made.
const MOST_KEPT: usize = 1 << 22;
/// CSV is written in pieces of this size.
const BUFFER: usize = 256 * 1024;

pub(crate) const HEADER: &str = "arrival_ns,answer_ns,conn,status,bytes_in,bytes_out,seq,complete_ns,accepted_ns,how,readable_ns,written_ns,prepared_ns\n";

/// What really happened.
#[derive(Clone, Debug, Serialize)]
pub struct Truth {
    pub schema: &'static str,
    /// Requests that ended, in any way.
    pub requests: u64,
    /// By how they ended: `whole`, `reset`, `half`, `silent`, `garbage`, `gone`.
    #[serde(serialize_with = "as_map")]
    pub ended: Vec<(&'static str, u64)>,
    /// Complete answers by status.
    #[serde(serialize_with = "as_map")]
    pub answers: Vec<(u16, u64)>,
    pub accepted: u64,
    pub open_peak: u64,
    pub bytes_in: u64,
    pub bytes_out: u64,
    /// Requests that the figures below leave out, because a ring was full. Not zero: distrust them.
    pub truth_lost: u64,
    /// Requests that the figures below are over: the first ones.
    pub figures_over: u64,
    /// Why the CSV is incomplete, if it is.
    pub write_error: Option<String>,
    pub arrivals: Option<Arrivals>,
    /// True service time: from the request being complete to just before the first byte of its answer.
    pub service_ns: Option<Spread>,
}

/// Pairs as a JSON object.
fn as_map<K: Serialize, S: Serializer>(pairs: &[(K, u64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(key, count)| (key, count)))
}

/// When requests came.
#[derive(Clone, Debug, Serialize)]
pub struct Arrivals {
    pub first_ns: u64,
    pub last_ns: u64,
    /// (requests − 1) / (last − first).
    pub rate_per_s: f64,
    /// Between one arrival and the next, over all connections.
    pub gap_ns: Option<Spread>,
    /// |gap − 1/rate|, if a rate was expected.
    pub gap_error_ns: Option<Spread>,
    /// |arrival n − (a + n/rate)|, where a is the median of (arrival n − n/rate): how far arrivals are from the
    /// even line of the expected rate that lies best among them.
    pub line_deviation_ns: Option<Spread>,
}

/// Order statistics in nanoseconds; percentile p is the smallest value that is not less than p of all.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    pub count: u64,
    pub mean: f64,
    pub min: u64,
    pub p50: u64,
    pub p90: u64,
    pub p95: u64,
    pub p99: u64,
    pub p99_9: u64,
    pub max: u64,
}

impl Spread {
    /// Sorts `values`; `None` of nothing.
    pub fn of(values: &mut [u64]) -> Option<Self> {
        values.sort_unstable();
        let (min, max) = (*values.first()?, *values.last()?);
        let at = |per_mille: usize| values[(values.len() * per_mille).div_ceil(1_000).max(1) - 1];
        let sum: f64 = values.iter().map(|v| *v as f64).sum();
        Some(Self {
            count: values.len() as u64,
            mean: sum / values.len() as f64,
            min,
            p50: at(500),
            p90: at(900),
            p95: at(950),
            p99: at(990),
            p99_9: at(999),
            max,
        })
    }
}

impl Arrivals {
    /// Sorts `arrivals_ns`.
    fn of(arrivals_ns: &mut [u64], expected: Option<Rate>) -> Option<Self> {
        arrivals_ns.sort_unstable();
        let (first_ns, last_ns) = (*arrivals_ns.first()?, *arrivals_ns.last()?);
        let mut gaps: Vec<u64> = arrivals_ns.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let span = (last_ns - first_ns) as f64 / 1e9;
        let rate_per_s = if span > 0.0 { gaps.len() as f64 / span } else { 0.0 };
        let mut gap_error_ns = None;
        let mut line_deviation_ns = None;
        if let Some(rate) = expected {
            let even = rate.gap().as_picos() as f64 / 1e3;
            let mut errors: Vec<u64> = gaps.iter().map(|gap| (*gap as f64 - even).abs() as u64).collect();
            gap_error_ns = Spread::of(&mut errors);
            line_deviation_ns = Spread::of(&mut deviations(arrivals_ns, rate));
        }
        let gap_ns = Spread::of(&mut gaps);
        Some(Self { first_ns, last_ns, rate_per_s, gap_ns, gap_error_ns, line_deviation_ns })
    }
}

fn deviations(arrivals_ns: &[u64], rate: Rate) -> Vec<u64> {
    let first = arrivals_ns.first().copied().unwrap_or(0);
    let residual = |(n, arrival): (usize, &u64)| {
        let since_first = i64::try_from(arrival - first).unwrap_or(i64::MAX);
        since_first - i64::try_from(rate.due(n as u64).as_nanos()).unwrap_or(i64::MAX)
    };
    let residuals: Vec<i64> = arrivals_ns.iter().enumerate().map(residual).collect();
    let mut sorted = residuals.clone();
    sorted.sort_unstable();
    let median = sorted.get(sorted.len().saturating_sub(1) / 2).copied().unwrap_or(0);
    residuals.into_iter().map(|r| r.abs_diff(median)).collect()
}

/// Takes records from the rings, writes them down, and keeps what the summary needs.
pub(crate) struct Writer {
    clock: HostClock,
    rings: Vec<Consumer>,
    file: Option<File>,
    buffer: Vec<u8>,
    write_error: Option<String>,
    requests: u64,
    ended: [u64; How::ALL.len()],
    arrivals_ns: Vec<u64>,
    services_ns: Vec<u64>,
}

impl Writer {
    pub fn new(clock: HostClock, rings: Vec<Consumer>, path: Option<&Path>) -> io::Result<Self> {
        let file = path.map(os::output::create).transpose()?;
        let buffer = if file.is_some() { HEADER.as_bytes().to_vec() } else { Vec::new() };
        Ok(Self {
            clock,
            rings,
            file,
            buffer,
            write_error: None,
            requests: 0,
            ended: [0; How::ALL.len()],
            arrivals_ns: Vec::new(),
            services_ns: Vec::new(),
        })
    }

    /// Empties the rings.
    pub fn drain(&mut self) {
        let mut rings = std::mem::take(&mut self.rings);
        for ring in &mut rings {
            ring.drain(|record| self.note(&record));
        }
        self.rings = rings;
    }

    fn note(&mut self, record: &Record) {
        self.requests += 1;
        self.ended[record.how as usize] += 1;
        let arrival_ns = self.clock.to_monotonic_ns(record.arrival);
        if self.arrivals_ns.len() < MOST_KEPT {
            self.arrivals_ns.push(arrival_ns);
        }
        if record.answer != Instant::FAR && self.services_ns.len() < MOST_KEPT {
            let service: Picos = record.answer.since(record.complete);
            self.services_ns.push(service.as_nanos());
        }
        if self.file.is_some() {
            self.line(record, arrival_ns);
            if self.buffer.len() >= BUFFER {
                self.flush();
            }
        }
    }

    fn line(&mut self, record: &Record, arrival_ns: u64) {
        use super::answer::write_number;
        let answered = record.answer != Instant::FAR;
        let answer_ns = if answered { self.clock.to_monotonic_ns(record.answer) } else { 0 };
        let out = &mut self.buffer;
        for number in
            [arrival_ns, answer_ns, record.conn, u64::from(record.status), record.bytes_in, record.bytes_out]
        {
            write_number(out, number);
            out.push(b',');
        }
        if let Some(seq) = record.seq {
            write_number(out, seq);
        }
        for time in [record.complete, record.accepted] {
            out.push(b',');
            write_number(out, self.clock.to_monotonic_ns(time));
        }
        out.push(b',');
        out.extend_from_slice(record.how.word().as_bytes());
        let written_ns = if answered { self.clock.to_monotonic_ns(record.written) } else { 0 };
        for number in [self.clock.to_monotonic_ns(record.readable), written_ns, record.prepared.as_nanos()] {
            out.push(b',');
            write_number(out, number);
        }
        out.push(b'\n');
    }

    /// Writes what is buffered. After an error nothing more is written, and the summary says so.
    pub fn flush(&mut self) {
        if let Some(file) = &mut self.file
            && let Err(error) = file.write_all(&self.buffer)
        {
            self.write_error = Some(error.to_string());
            self.file = None;
        }
        self.buffer.clear();
    }

    /// The last records, the end of the file, and the summary.
    pub fn finish(mut self, stats: Stats, expected: Option<Rate>) -> Truth {
        self.drain();
        self.flush();
        let ended = How::ALL.iter().map(|how| (how.word(), self.ended[*how as usize]));
        Truth {
            schema: "tare.truth/1",
            requests: self.requests,
            ended: ended.filter(|(_, count)| *count > 0).collect(),
            answers: stats.answers,
            accepted: stats.accepted,
            open_peak: stats.open_peak,
            bytes_in: stats.bytes_in,
            bytes_out: stats.bytes_out,
            truth_lost: stats.truth_lost,
            figures_over: self.arrivals_ns.len() as u64,
            write_error: self.write_error,
            arrivals: Arrivals::of(&mut self.arrivals_ns, expected),
            service_ns: Spread::of(&mut self.services_ns),
        }
    }
}

impl Truth {
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("plain numbers and words always have a JSON form") + "\n"
    }

    /// A few lines for people; what makes the truth doubtful comes first.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        if self.truth_lost > 0 {
            text += &format!(
                "TRUTH LOST: {} requests are missing from the record and the figures below\n",
                self.truth_lost
            );
        }
        if let Some(error) = &self.write_error {
            text += &format!("TRUTH FILE INCOMPLETE: {error}\n");
        }
        let answers: Vec<String> = self.answers.iter().map(|(s, n)| format!("{n} × {s}")).collect();
        let ended: Vec<String> = self.ended.iter().map(|(how, n)| format!("{n} {how}")).collect();
        let ended = if ended.is_empty() { String::new() } else { format!(" ({})", ended.join(", ")) };
        text += &format!("requests   {}{ended}\n", self.requests);
        if !answers.is_empty() {
            text += &format!("answers    {}\n", answers.join(", "));
        }
        text +=
            &format!("accepted   {} connections, {} open at once at most\n", self.accepted, self.open_peak);
        if let Some(arrivals) = &self.arrivals {
            text += &format!("arrivals   {:.3}/s\n", arrivals.rate_per_s);
            text += &line("gap", arrivals.gap_ns);
            text += &line("gap error", arrivals.gap_error_ns);
            text += &line("off line", arrivals.line_deviation_ns);
        }
        text + &line("service", self.service_ns)
    }

    /// Requests that ended in this way.
    pub fn ended_as(&self, how: How) -> u64 {
        self.ended.iter().find(|(word, _)| *word == how.word()).map_or(0, |(_, count)| *count)
    }
}

fn line(name: &str, spread: Option<Spread>) -> String {
    let Some(s) = spread else { return String::new() };
    let time = |ns| format!("{:#}", Picos::from_nanos(ns));
    let mean = time(s.mean as u64);
    let [p50, p95, p99, max] = [s.p50, s.p95, s.p99, s.max].map(time);
    format!("{name:<10} mean {mean}  p50 {p50}  p95 {p95}  p99 {p99}  max {max}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_by_nearest_rank() {
        // Of 1..=1000 the p-th per mille is p itself.
        let mut values: Vec<u64> = (1..=1_000).rev().collect();
        let spread = Spread::of(&mut values).unwrap();
        assert_eq!((spread.min, spread.p50, spread.p95, spread.p99, spread.max), (1, 500, 950, 990, 1_000));
        assert_eq!(spread.mean, 500.5);
        assert_eq!(Spread::of(&mut []), None);
    }

    #[test]
    fn an_even_line_has_no_deviation_and_a_late_arrival_has_its_own() {
        let rate: Rate = "1000/s".parse().unwrap();
        let mut arrivals: Vec<u64> = (0..101).map(|n| 5_000_000 + n * 1_000_000).collect();
        arrivals[50] += 300_000;
        let found = Arrivals::of(&mut arrivals, Some(rate)).unwrap();
        assert_eq!(found.rate_per_s, 1_000.0);
        let gaps = found.gap_error_ns.unwrap();
        // Two of 100 gaps are 300 µs off: the one before and the one after.
        assert_eq!((gaps.p50, gaps.p95, gaps.p99, gaps.max), (0, 0, 300_000, 300_000));
        let line = found.line_deviation_ns.unwrap();
        assert_eq!((line.p50, line.p99, line.max), (0, 0, 300_000));
    }

    #[test]
    fn clumps_show_as_one_gap_of_error() {
        // Pairs at once, 2 ms apart, against 1000/s: every gap is 1 ms wrong.
        let mut arrivals: Vec<u64> = (0..100).flat_map(|n| [n * 2_000_000; 2]).collect();
        let found = Arrivals::of(&mut arrivals, "1000/s".parse().ok()).unwrap();
        assert_eq!(found.gap_error_ns.unwrap().p50, 1_000_000);
    }
}
