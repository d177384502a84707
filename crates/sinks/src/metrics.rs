//! What dashboards are told of a run: named counters, gauges and distributions, cumulative from its origin.
//!
//! ```text
//! SinkRow ─► Cumulative ─ samples() ─► Prometheus (text, protobuf, remote write), OTLP: one file each
//! ```
//!
//! Counters only ever grow, and the last ones are those of the result: a row that did not arrive, or did not
//! even come here, costs a point in the picture, never a count. Distributions lack those that did not come.

mod spread;

pub use spread::{SCALE, Spread, bounds_s};

use crate::exporter::{RunInfo, SinkRow};
use measure::Series;
use std::collections::BTreeMap;
use store::RunResult;
use store::schema::{Interval, Word};

/// A measurement's unit. Prometheus has it in the name, OTLP beside it (UCUM).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    None,
    Seconds,
    Bytes,
}

impl Unit {
    /// What a Prometheus name ends in.
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Seconds => "_seconds",
            Self::Bytes => "_bytes",
        }
    }

    pub const fn ucum(self) -> &'static str {
        match self {
            Self::None => "1",
            Self::Seconds => "s",
            Self::Bytes => "By",
        }
    }
}

/// What a name means, the same for all its samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meaning {
    /// In words parted by `_`: `generator_cpu_share`.
    pub name: &'static str,
    pub help: &'static str,
    pub unit: Unit,
}

#[derive(Clone, Debug)]
pub enum Value<'a> {
    Counter(u64),
    Gauge(f64),
    Spread(&'a Spread),
}

/// One value with what tells it from others of its name. `run` and `engine` belong to every sample and are
/// added by those who write it.
#[derive(Clone, Debug)]
pub struct Sample<'a> {
    pub meaning: Meaning,
    pub labels: Vec<(&'static str, String)>,
    pub value: Value<'a>,
}

/// Everything of a run up to now.
#[derive(Clone, Debug, Default)]
pub struct Cumulative {
    /// Index of the row that comes next; earlier ones are in it.
    next: u64,
    run: RunInfo,
    sums: Interval,
    outcomes: BTreeMap<(String, String), u64>,
    spreads: [Option<Spread>; Series::ALL.len()],
    /// The row that came last.
    last: Option<Interval>,
    verdict: Option<Word>,
}

impl Cumulative {
    pub fn new(run: &RunInfo) -> Self {
        Self { run: run.clone(), ..Self::default() }
    }

    /// Adds an interval; one that is given again changes nothing.
    pub fn add(&mut self, row: &SinkRow) {
        if row.index < self.next {
            return;
        }
        self.next = row.index + 1;
        self.count(&row.row);
        for (series, values) in &row.histograms {
            self.spreads[series.index()].get_or_insert_default().add(values);
        }
        self.last = Some(row.row.clone());
    }

    fn count(&mut self, row: &Interval) {
        let sums = &mut self.sums;
        sums.offered += row.offered;
        sums.sent += row.sent;
        sums.done += row.done;
        sums.failed += row.failed;
        sums.missed += row.missed;
        sums.cut_off += row.cut_off;
        sums.warmup += row.warmup;
        sums.bytes_out += row.bytes_out;
        sums.bytes_in += row.bytes_in;
        sums.retransmits += row.retransmits;
        sums.pauses += row.pauses;
        sums.paused_ns += row.paused_ns;
        for outcome in &row.outcomes {
            *self.outcomes.entry((outcome.class.to_string(), outcome.key.clone())).or_default() +=
                outcome.count;
        }
    }

    /// The run is over. The result's rows add up to all of it, with those that a full queue threw away.
    pub fn end(&mut self, result: &RunResult) {
        self.verdict = Some(result.verdict.word);
        (self.sums, self.outcomes) = Default::default();
        result.intervals.iter().for_each(|row| self.count(row));
    }

    pub fn is_over(&self) -> bool {
        self.verdict.is_some()
    }

    /// Labels of every sample.
    pub fn common(&self) -> [(&'static str, &str); 2] {
        [("run", &self.run.run), ("engine", &self.run.engine)]
    }

    pub fn run(&self) -> &RunInfo {
        &self.run
    }

    /// Everything, samples of one name beside each other.
    pub fn samples(&self) -> Vec<Sample<'_>> {
        let mut all = vec![self.info(), self.running()];
        all.extend(self.verdict.map(verdict));
        all.extend(self.counters());
        all.extend(self.outcomes.iter().map(|((class, key), count)| Sample {
            meaning: REQUESTS,
            labels: vec![("outcome", class.clone()), ("code", key.clone())],
            value: Value::Counter(*count),
        }));
        for (series, spread) in Series::ALL.iter().zip(&self.spreads) {
            all.extend(spread.as_ref().map(|spread| Sample {
                meaning: about(*series),
                labels: Vec::new(),
                value: Value::Spread(spread),
            }));
        }
        if let Some(last) = &self.last {
            all.extend(gauges(last));
        }
        all
    }

    /// Says what the run is; 1.
    pub fn info(&self) -> Sample<'_> {
        let run = &self.run;
        let labels = [("target", &run.target), ("plan_hash", &run.plan_hash), ("version", &run.version)];
        Sample {
            meaning: meaning("info", "The run, described by labels; always 1", Unit::None),
            labels: labels.map(|(name, value)| (name, value.clone())).to_vec(),
            value: Value::Gauge(1.0),
        }
    }

    /// 1 until the run is over.
    pub fn running(&self) -> Sample<'_> {
        gauge("running", "1 while the run goes on, 0 once it is over", Unit::None, f64::from(!self.is_over()))
    }

    fn counters(&self) -> impl Iterator<Item = Sample<'_>> {
        let sums = &self.sums;
        [
            ("offered", "Departures that were due", Unit::None, sums.offered),
            ("sent", "Requests that left", Unit::None, sums.sent),
            ("done", "Requests with a complete response, whatever its code", Unit::None, sums.done),
            ("failed", "Requests that left but got no acceptable response", Unit::None, sums.failed),
            ("missed", "Departures that never left", Unit::None, sums.missed),
            ("cut_off", "Requests in flight when the run ended", Unit::None, sums.cut_off),
            (
                "warmup",
                "Departures in the warm-up, which otherwise count only as offered",
                Unit::None,
                sums.warmup,
            ),
            ("sent", "Bytes of requests, before TLS", Unit::Bytes, sums.bytes_out),
            ("received", "Bytes of responses, before TLS", Unit::Bytes, sums.bytes_in),
            ("retransmits", "Segments that this host's kernel sent again", Unit::None, sums.retransmits),
            ("generator_pauses", "How often an engine thread stalled", Unit::None, sums.pauses),
        ]
        .into_iter()
        .map(|(name, help, unit, count)| Sample {
            meaning: meaning(name, help, unit),
            labels: Vec::new(),
            value: Value::Counter(count),
        })
    }
}

const REQUESTS: Meaning =
    meaning("requests", "Departures of the measured part by outcome: class, and code or cause", Unit::None);
const INTERVAL_LATENCY: Meaning = meaning(
    "interval_latency",
    "Percentiles of the last interval's latency (done - due), exact to 0.1 %",
    Unit::Seconds,
);

const INTERVAL_NET: Meaning = meaning(
    "interval_net",
    "Percentiles of the last interval's latency without the generator's own part, exact to 0.1 %",
    Unit::Seconds,
);
const INTERVAL_TARE: Meaning = meaning(
    "interval_tare",
    "Percentiles of the generator's own part of the last interval's latency, exact to 0.1 %",
    Unit::Seconds,
);

const fn meaning(name: &'static str, help: &'static str, unit: Unit) -> Meaning {
    Meaning { name, help, unit }
}

fn gauge(name: &'static str, help: &'static str, unit: Unit, value: f64) -> Sample<'static> {
    Sample { meaning: meaning(name, help, unit), labels: Vec::new(), value: Value::Gauge(value) }
}

fn verdict(word: Word) -> Sample<'static> {
    Sample {
        meaning: meaning("verdict", "The generator's verdict on itself, in its label; always 1", Unit::None),
        labels: vec![("word", word.as_str().to_owned())],
        value: Value::Gauge(1.0),
    }
}

/// The name of a distribution is its series' key.
fn about(series: Series) -> Meaning {
    let help = match series {
        Series::Net => "Latency without the generator's own part, of complete responses",
        Series::Tare => {
            "The generator's own part of the latency: own lateness and time unread, of complete responses"
        }
        Series::Unread => "How long complete responses lay unread in the generator's machine",
        Series::UnreadBound => "How much longer responses may have lain unread than was measured",
        Series::Unfinished => "Elapsed time of requests that timed out, were cut off or missed",
        Series::UnfinishedNet => "The same without the generator's own lateness",
        Series::Latency => "done - due, of complete responses",
        Series::Service => "done - sent, of complete responses",
        Series::Lateness => "sent - due, of all that left",
        Series::OwnLateness => "The part of the lateness that is the generator's own",
        Series::Connect => "TCP connect, each connection",
        Series::Tls => "TLS handshake, each connection",
        Series::Ready => "Connect, proxy and handshake together, each connection",
        Series::Lookup => "Name look-up, each query",
        Series::FirstByte => "First byte - sent, of complete responses",
        Series::FirstResponse => "From a connection being ready until its first response's first byte",
        Series::Failed => "done - due, of requests that left and failed",
        Series::GapError => "Distance of a measured gap from the requested one",
        Series::Body => "done - first byte, of complete responses",
    };
    meaning(series.key(), help, Unit::Seconds)
}

/// What the last interval looked like.
fn gauges(row: &Interval) -> Vec<Sample<'static>> {
    let mut all = interval_times(row);
    all.push(gauge(
        "generator_longest_pause",
        "The longest pause of an engine thread in the interval",
        Unit::Seconds,
        row.longest_pause_ns as f64 / 1e9,
    ));
    all.push(gauge(
        "connections_open",
        "Connections open at the end of the interval",
        Unit::None,
        row.open as f64,
    ));
    let share = |name, help, value| gauge(name, help, Unit::None, value);
    all.push(share(
        "generator_cpu_share",
        "CPU time / time of the busiest thread, spinning included",
        row.cpu_share,
    ));
    all.push(share("generator_spun_share", "The part of it spent waiting for a due time", row.spun_share));
    let stolen = row.steal_share.map(|value| {
        share("generator_steal_share", "Share of the CPUs' time that the hypervisor gave to others", value)
    });
    all.extend(stolen);
    let waited = row.run_queue_wait_ns.map(|ns| {
        let help = "Time that a thread was ready but waited for a CPU, in the interval; the longest";
        gauge("generator_run_queue_wait", help, Unit::Seconds, ns as f64 / 1e9)
    });
    all.extend(waited);
    let resident = row.rss_bytes.map(|bytes| {
        gauge("generator_resident", "Resident memory of the generator", Unit::Bytes, bytes as f64)
    });
    all.extend(resident);
    let left = [
        ("generator_ports_left", "Ports that were left", row.ports_left),
        ("generator_descriptors_left", "File descriptors that were left", row.descriptors_left),
        ("generator_time_wait", "Sockets in TIME_WAIT", Some(row.time_wait)),
    ];
    all.extend(left.into_iter().filter_map(|(name, help, count)| Some(share(name, help, count? as f64))));
    all.extend(row.threads.iter().enumerate().map(|(thread, health)| Sample {
        meaning: meaning("generator_thread_cpu_share", "CPU time / time of each engine thread", Unit::None),
        labels: vec![("thread", thread.to_string())],
        value: Value::Gauge(health.cpu_share),
    }));
    all
}

fn interval_times(row: &Interval) -> Vec<Sample<'static>> {
    let percentiles = [
        (INTERVAL_NET, "p50", row.net_p50_ns),
        (INTERVAL_NET, "p90", row.net_p90_ns),
        (INTERVAL_NET, "p99", row.net_p99_ns),
        (INTERVAL_NET, "p99_9", row.net_p99_9_ns),
        (INTERVAL_NET, "max", row.net_max_ns),
        (INTERVAL_TARE, "p50", row.tare_p50_ns),
        (INTERVAL_TARE, "p99", row.tare_p99_ns),
        (INTERVAL_TARE, "max", row.tare_max_ns),
        (INTERVAL_LATENCY, "p50", row.latency_p50_ns),
        (INTERVAL_LATENCY, "p90", row.latency_p90_ns),
        (INTERVAL_LATENCY, "p99", row.latency_p99_ns),
        (INTERVAL_LATENCY, "p99_9", row.latency_p99_9_ns),
        (INTERVAL_LATENCY, "max", row.latency_max_ns),
    ];
    let sample = |(meaning, percentile, ns): (Meaning, &str, Option<u64>)| {
        Some(Sample {
            meaning,
            labels: vec![("percentile", percentile.to_owned())],
            value: Value::Gauge(ns? as f64 / 1e9),
        })
    };
    percentiles.into_iter().filter_map(sample).collect()
}

/// Rows for tests.
#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use store::schema::OutcomeCount;

    /// So many answers 200, of 2 ms each.
    pub(crate) fn row(index: u64, done: u64) -> SinkRow {
        let outcome = OutcomeCount::of(units::Outcome::Status(200), done);
        let row =
            Interval { offered: done, sent: done, done, outcomes: vec![outcome], ..Interval::default() };
        let mut latency = hdrhistogram::Histogram::new(3).unwrap();
        latency.record_n(2_000_000, done as u32).unwrap();
        SinkRow { index, row, histograms: vec![(Series::Latency, latency)] }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::row;
    use super::*;
    use store::schema::OutcomeCount;

    fn counter(all: &[Sample<'_>], name: &str) -> u64 {
        let sample =
            all.iter().find(|sample| sample.meaning.name == name && sample.meaning.unit == Unit::None);
        match sample.expect("the counter is there").value {
            Value::Counter(count) => count,
            ref other => panic!("{name} is {other:?}"),
        }
    }

    #[test]
    fn rows_add_up_and_one_given_twice_counts_once() {
        let mut all = Cumulative::new(&RunInfo::default());
        for row in [row(0, 10), row(0, 10), row(1, 5), row(1, 5), row(4, 2)] {
            all.add(&row);
        }
        let samples = all.samples();
        // 10 + 5 + 2; rows 2 and 3 were lost before they came here.
        assert_eq!(counter(&samples, "done"), 17);
        assert_eq!(counter(&samples, "requests"), 17);
        let spread = samples.iter().find_map(|sample| match sample.value {
            Value::Spread(spread) => Some(spread.count),
            _ => None,
        });
        assert_eq!(spread, Some(17));
    }

    #[test]
    fn the_last_counts_have_rows_that_never_came() {
        let mut all = Cumulative::new(&RunInfo::default());
        all.add(&row(0, 10));
        let mut intervals: Vec<Interval> = [10, 5, 2].map(|done| row(0, done).row).to_vec();
        intervals[1].outcomes.push(OutcomeCount::of(units::Outcome::Status(503), 4));
        (intervals[2].warmup, intervals[2].pauses) = (7, 3);
        let result = RunResult { intervals, ..RunResult::default() };
        // Who does not answer is given the result again.
        for _ in 0..2 {
            all.end(&result);
            let samples = all.samples();
            let counts =
                ["done", "warmup", "generator_pauses", "requests"].map(|name| counter(&samples, name));
            assert_eq!(counts, [17, 7, 3, 17]);
            let is_503 = |sample: &&Sample<'_>| sample.labels.iter().any(|(_, value)| value == "503");
            assert!(matches!(samples.iter().find(is_503).unwrap().value, Value::Counter(4)));
        }
    }

    #[test]
    fn a_sample_is_known_by_its_name_and_labels() {
        let mut all = Cumulative::new(&RunInfo::default());
        let mut given = row(0, 3);
        given.row.latency_p50_ns = Some(2_000_000);
        given.row.latency_max_ns = Some(2_000_000);
        given.row.threads = vec![Default::default(); 2];
        all.add(&given);
        all.end(&RunResult::default());
        let mut known = std::collections::BTreeSet::new();
        for sample in all.samples() {
            let name = format!("{}{}", sample.meaning.name, sample.meaning.unit.suffix());
            assert!(known.insert((name, sample.labels.clone())), "{sample:?} is there twice");
        }
    }
}
