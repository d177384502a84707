//! `k6:FILE`: JSON lines as `k6 run --out json=FILE` writes them, for the tools that read those. What is the
//! same and what is not: docs/sinks.md.
//!
//! ```json
//! {"type":"Metric","metric":"http_req_duration","data":{"name":"http_req_duration","type":"trend","contains":"time",…}}
//! {"type":"Point","metric":"http_req_duration","data":{"time":"2026-11-20T12:00:00.000000001Z","value":1.25,"tags":{"status":"200",…}}}
//! ```
//!
//! With `?events=1` one set of points for each request, as k6 has them. Else one set for each interval:
//! counters are the interval's, and of each trend there is a point for some percentiles, told apart by the tag
//! `stat`.

use crate::exporter::{Exporter, RunInfo, SinkError, SinkRow};
use crate::output::Output;
use crate::place::{Address, Place, SinkKind};
use serde_json::{Map, Value, json};
use std::io::Write;
use std::time::{Duration, SystemTime};
use store::RunResult;
use store::schema::{Interval, OutcomeCount};
use units::{Event, Instant, Outcome, Picos};

pub const KIND: SinkKind = SinkKind {
    schemes: &["k6"],
    form: "k6:FILE",
    about: "JSON lines as k6 writes them",
    address: Address::File,
    options: &["events"],
    open,
};

/// Name, type, and what its values are.
const METRICS: &[(&str, &str, &str)] = &[
    ("http_reqs", "counter", "default"),
    ("http_req_duration", "trend", "time"),
    ("http_req_blocked", "trend", "time"),
    ("http_req_waiting", "trend", "time"),
    ("http_req_receiving", "trend", "time"),
    ("http_req_failed", "rate", "default"),
    ("data_sent", "counter", "data"),
    ("data_received", "counter", "data"),
    ("dropped_iterations", "counter", "default"),
    ("tare_net", "trend", "time"),
    ("tare_tare", "trend", "time"),
    ("tare_latency", "trend", "time"),
    ("tare_lateness", "trend", "time"),
];

fn open(place: &Place) -> Result<Box<dyn Exporter>, SinkError> {
    Ok(Box::new(K6 {
        output: Output::new(place),
        events: place.flag("events")?,
        run: RunInfo::default(),
        origin: SystemTime::UNIX_EPOCH,
    }))
}

struct K6 {
    output: Output,
    events: bool,
    run: RunInfo,
    origin: SystemTime,
}

/// Points of one moment with the same tags.
struct Points {
    lines: Vec<u8>,
    time: String,
    /// A JSON object without its closing brace.
    tags: String,
}

impl Points {
    fn new(lines: Vec<u8>, time: String, tags: &Map<String, Value>) -> Self {
        let mut tags = serde_json::to_string(tags).unwrap_or_default();
        tags.pop();
        Self { lines, time, tags }
    }

    fn put(&mut self, metric: &str, value: f64) {
        self.put_tagged(metric, value, "");
    }

    /// `more` follows the tags: `,"stat":"med"`.
    fn put_tagged(&mut self, metric: &str, value: f64, more: &str) {
        let (time, tags) = (&self.time, &self.tags);
        // Writing to memory does not fail.
        let _ = writeln!(
            self.lines,
            r#"{{"type":"Point","metric":"{metric}","data":{{"time":"{time}","value":{value},"tags":{tags}{more}}}}}}}"#
        );
    }

    fn put_if(&mut self, metric: &str, value: Option<Picos>) {
        if let Some(value) = value {
            self.put(metric, value.as_nanos() as f64 / 1e6);
        }
    }
}

impl K6 {
    /// k6 stamps a sample with the end of its request.
    fn time(&self, after: Picos) -> String {
        let at = self.origin + after.as_std();
        let nanos = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().subsec_nanos();
        let whole = store::rfc3339(at);
        format!("{}.{nanos:09}Z", whole.trim_end_matches('Z'))
    }

    fn tags(&self) -> Map<String, Value> {
        [("scenario", "default"), ("url", self.run.target.as_str()), ("run", self.run.run.as_str())]
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.into()))
            .collect()
    }

    fn points_of_interval(&self, row: &Interval) -> Vec<u8> {
        let end = Picos::from_secs_f64(row.t_s + row.length_s);
        let mut points = Points::new(Vec::new(), self.time(end), &self.tags());
        let answered = row.done + row.failed;
        points.put("http_reqs", answered as f64);
        if answered > 0 {
            points.put("http_req_failed", failed_of(row) as f64 / answered as f64);
        }
        points.put("data_sent", row.bytes_out as f64);
        points.put("data_received", row.bytes_in as f64);
        if row.missed > 0 {
            points.put("dropped_iterations", row.missed as f64);
        }
        let trends = [
            ("http_req_duration", "med", row.service_p50_ns),
            ("http_req_duration", "p(99)", row.service_p99_ns),
            ("http_req_waiting", "med", row.first_byte_p50_ns),
            ("http_req_receiving", "med", row.body_p50_ns),
            ("tare_net", "med", row.net_p50_ns),
            ("tare_net", "p(90)", row.net_p90_ns),
            ("tare_net", "p(99)", row.net_p99_ns),
            ("tare_net", "p(99.9)", row.net_p99_9_ns),
            ("tare_net", "max", row.net_max_ns),
            ("tare_tare", "med", row.tare_p50_ns),
            ("tare_tare", "p(99)", row.tare_p99_ns),
            ("tare_tare", "max", row.tare_max_ns),
            ("tare_latency", "med", row.latency_p50_ns),
            ("tare_latency", "p(90)", row.latency_p90_ns),
            ("tare_latency", "p(99)", row.latency_p99_ns),
            ("tare_latency", "p(99.9)", row.latency_p99_9_ns),
            ("tare_latency", "max", row.latency_max_ns),
            ("tare_lateness", "med", row.lateness_p50_ns),
            ("tare_lateness", "p(99)", row.lateness_p99_ns),
            ("tare_lateness", "max", row.lateness_max_ns),
        ];
        for (metric, stat, value) in trends {
            if let Some(value) = value {
                points.put_tagged(metric, value as f64 / 1e6, &format!(r#","stat":"{stat}""#));
            }
        }
        points.lines
    }

    fn points_of_event(&self, event: &Event, lines: Vec<u8>) -> Vec<u8> {
        let mut tags = self.tags();
        let mut tag = |name: &str, value: String| tags.insert(name.to_owned(), value.into());
        let status = match event.outcome {
            Outcome::Status(code) => code,
            _ => 0,
        };
        let failed = status == 0 || status >= 400;
        tag("status", status.to_string());
        tag("expected_response", (!failed).to_string());
        if let Outcome::Failed(cause) = event.outcome {
            tag("error", cause.key().to_owned());
        }
        if event.due < Instant::EPOCH + self.run.warmup {
            tag("warmup", "true".to_owned());
        }
        if let Some(last) = self.run.groups.len().checked_sub(1) {
            tag("name", self.run.groups[usize::from(event.group.0).min(last)].clone());
        }
        let mut points = Points::new(lines, self.time(event.done.since_epoch()), &tags);
        let (had_left, answered) = (event.sent != Instant::FAR, event.first_byte != Instant::FAR);
        if matches!(event.outcome, Outcome::Missed(_)) || !had_left {
            points.put("dropped_iterations", 1.0);
            return points.lines;
        }
        points.put("http_reqs", 1.0);
        points.put("http_req_duration", event.service().as_nanos() as f64 / 1e6);
        points.put("http_req_blocked", event.blocked.as_nanos() as f64 / 1e6);
        points.put_if("http_req_waiting", answered.then(|| event.first_byte.since(event.sent)));
        points.put_if("http_req_receiving", answered.then(|| event.done.since(event.first_byte)));
        points.put("http_req_failed", f64::from(u8::from(failed)));
        points.put("data_sent", event.bytes_out.get() as f64);
        points.put("data_received", event.bytes_in.get() as f64);
        points.put_if("tare_net", Some(event.net()));
        points.put_if("tare_tare", Some(event.tare()));
        points.put_if("tare_latency", Some(event.latency()));
        points.put_if("tare_lateness", event.lateness());
        points.lines
    }
}

/// As k6 counts them: no answer, or a status of 400 and more.
fn failed_of(row: &Interval) -> u64 {
    let is_error = |outcome: &&OutcomeCount| outcome.status().is_some_and(|code| code >= 400);
    let by_status = row.outcomes.iter().filter(is_error);
    row.failed + by_status.map(|outcome| outcome.count).sum::<u64>()
}

impl Exporter for K6 {
    fn begin(&mut self, run: &RunInfo) -> Result<(), SinkError> {
        self.run = run.clone();
        self.output.open()?;
        let mut lines = Vec::new();
        for (name, kind, contains) in METRICS {
            let data = json!({
                "name": name, "type": kind, "contains": contains, "thresholds": [], "submetrics": null
            });
            let line = json!({ "type": "Metric", "metric": name, "data": data });
            lines.extend_from_slice(line.to_string().as_bytes());
            lines.push(b'\n');
        }
        self.output.write(&lines)
    }

    fn start(&mut self, origin_unix_ns: u64) {
        self.origin = SystemTime::UNIX_EPOCH + Duration::from_nanos(origin_unix_ns);
    }

    /// With events, every figure is in them.
    fn interval(&mut self, row: &SinkRow) -> Result<(), SinkError> {
        if self.events {
            return Ok(());
        }
        self.output.write(&self.points_of_interval(&row.row))
    }

    fn wants_rows(&self) -> bool {
        !self.events
    }

    fn wants_histograms(&self) -> bool {
        false
    }

    fn wants_events(&self) -> bool {
        self.events
    }

    fn events(&mut self, _thread: u16, events: &[Event]) -> Result<(), SinkError> {
        let lines = events.iter().fold(Vec::new(), |lines, event| self.points_of_event(event, lines));
        self.output.write(&lines)
    }

    fn end(&mut self, _result: &RunResult) -> Result<(), SinkError> {
        self.output.sync()
    }
}
