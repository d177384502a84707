//! `influxdb://HOST/DB` (1.x) and `influxdb2://HOST/ORG/BUCKET` (2.x and 3.x): line protocol over HTTP.
//!
//! ```text
//! tare,run=…,engine=http offered=1000i,done=1000i,latency_p99_ns=812000i,… 1795176000000000000  each interval
//! tare_outcomes,run=…,engine=http,class=status,code=200 count=1000i 1795176000000000000
//! tare_threads,run=…,engine=http,thread=0 cpu_share=0.31,… 1795176000000000000
//! tare_run,run=…,engine=http event="begin",target="…",plan_hash="…"                             and once "end"
//! ```
//!
//! Times are the starts of the intervals, in nanoseconds. A point that is sent again (no answer came the first
//! time) replaces itself: the same tags and the same time. docs/sinks.md has every field.

mod line;

use crate::exporter::{Exporter, RunInfo, SinkError, SinkRow};
use crate::place::{Address, Place, SinkKind};
use crate::web::{Answer, Web, address};
use line::Lines;
use store::RunResult;
use store::schema::Interval;

/// Where a token may come from that is in no command line.
const TOKEN: &str = "INFLUX_TOKEN";
const PORT: u16 = 8086;

pub const V1: SinkKind = SinkKind {
    schemes: &["influxdb", "influxdb+https"],
    form: "influxdb://[USER:PASSWORD@]HOST[:PORT]/DATABASE",
    about: "InfluxDB 1.x, line protocol",
    address: Address::Url,
    options: &["ca"],
    open: open_v1,
};

pub const V2: SinkKind = SinkKind {
    schemes: &["influxdb2", "influxdb2+https"],
    form: "influxdb2://HOST[:PORT]/ORG/BUCKET",
    about: "InfluxDB 2.x; the token is in INFLUX_TOKEN or ?token=",
    address: Address::Url,
    options: &["ca", "token"],
    open: open_v2,
};

fn open_v1(place: &Place) -> Result<Box<dyn Exporter>, SinkError> {
    let [database] = segments(place, V1.form)?;
    let url = address(place, PORT, "/write", &[("db", &database), ("precision", "ns")])?;
    let advice = Advice::V1 { database };
    Ok(Box::new(Influx::new(place, Web::new(place, &url)?, advice)))
}

fn open_v2(place: &Place) -> Result<Box<dyn Exporter>, SinkError> {
    let [org, bucket] = segments(place, V2.form)?;
    let query = [("org", org.as_str()), ("bucket", bucket.as_str()), ("precision", "ns")];
    let mut web = Web::new(place, &address(place, PORT, "/api/v2/write", &query)?)?;
    let from_environment = || std::env::var(TOKEN).ok();
    match place.option("token").map(str::to_owned).or_else(from_environment).filter(|token| !token.is_empty())
    {
        Some(token) => web.token("Token", token.trim())?,
        None => return Err(place.wrong(format!("has no token; put it into {TOKEN} or ?token="))),
    }
    Ok(Box::new(Influx::new(place, web, Advice::V2 { org, bucket })))
}

/// The parts of the URL's path, percent-decoded.
fn segments<const N: usize>(place: &Place, form: &str) -> Result<[String; N], SinkError> {
    let parts: Vec<String> = place
        .url()
        .path()
        .split('/')
        .filter(|part| !part.is_empty())
        .map(|part| {
            let pair = format!("v={}", part.replace('+', "%2B"));
            url::form_urlencoded::parse(pair.as_bytes()).map(|(_, value)| value.into_owned()).collect()
        })
        .collect();
    parts.try_into().map_err(|_| place.wrong(format!("its path is not that of {form}")))
}

/// What to do, in the words of each version.
enum Advice {
    V1 { database: String },
    V2 { org: String, bucket: String },
}

impl Advice {
    fn on(&self, answer: &Answer) -> Option<String> {
        let version =
            || answer.version.as_deref().map(|version| format!(" (it is {version})")).unwrap_or_default();
        match (self, answer.status) {
            (Self::V1 { database }, 404) if answer.words().contains("database not found") => {
                Some(format!("create it: influx -execute 'CREATE DATABASE \"{database}\"'"))
            }
            (Self::V1 { .. }, 401 | 403) => Some(format!(
                "the name or password is not accepted{}; write influxdb://USER:PASSWORD@HOST/DATABASE, or influxdb2:// for version 2",
                version()
            )),
            (Self::V1 { .. }, 404) => {
                Some(format!("no InfluxDB 1.x writes here{}; influxdb2:// is for version 2", version()))
            }
            (Self::V2 { .. }, 401 | 403) => {
                Some(format!("the token is not accepted or may not write; check {TOKEN}"))
            }
            (Self::V2 { org, bucket }, 404) if answer.words().contains("not found\"") => {
                Some(format!("is there an organisation {org} with a bucket {bucket}?"))
            }
            (Self::V2 { .. }, 404) => Some(format!(
                "no InfluxDB 2.x writes here{}; influxdb://HOST/DATABASE is for version 1",
                version()
            )),
            _ => None,
        }
    }
}

struct Influx {
    place: Place,
    web: Web,
    advice: Advice,
    run: RunInfo,
    origin_unix_ns: u64,
    /// End of the row that came last.
    ended_unix_ns: u64,
}

impl Influx {
    fn new(place: &Place, web: Web, advice: Advice) -> Self {
        Self {
            place: place.clone(),
            web,
            advice,
            run: RunInfo::default(),
            origin_unix_ns: 0,
            ended_unix_ns: 0,
        }
    }

    fn write(&self, lines: Lines) -> Result<(), SinkError> {
        let answer = self.web.deliver(lines.text().as_bytes(), |answer| self.advice.on(answer))?;
        // 204 is what it says of lines that it stored. With 200 and an error, it understood, but did not.
        match answer.words() {
            words if answer.status == 200 && words.contains("error") => Err(self
                .place
                .refused(format!("it responded with 200, not 204 ('{words}'): it stored nothing"))),
            _ => Ok(()),
        }
    }

    fn tags(&self) -> Vec<(&'static str, &str)> {
        vec![("run", self.run.run.as_str()), ("engine", self.run.engine.as_str())]
    }

    fn at(&self, s: f64) -> u64 {
        self.origin_unix_ns + (s * 1e9).round() as u64
    }
}

impl Exporter for Influx {
    fn begin(&mut self, run: &RunInfo) -> Result<(), SinkError> {
        self.run = run.clone();
        let mut lines = Lines::default();
        lines
            .point("tare_run", &self.tags())
            .text_field("event", "begin")
            .text_field("target", &run.target)
            .text_field("plan_hash", &run.plan_hash)
            .text_field("version", &run.version)
            .now();
        self.write(lines)
    }

    fn start(&mut self, origin_unix_ns: u64) {
        self.origin_unix_ns = origin_unix_ns;
        self.ended_unix_ns = origin_unix_ns;
    }

    fn interval(&mut self, row: &SinkRow) -> Result<(), SinkError> {
        let at = self.at(row.row.t_s);
        let mut lines = Lines::default();
        interval_fields(lines.point("tare", &self.tags()), &row.row).at(at);
        for outcome in &row.row.outcomes {
            let own = [("class", outcome.class.as_str()), ("code", outcome.key.as_str())];
            let tags: Vec<_> = self.tags().into_iter().chain(own).collect();
            lines.point("tare_outcomes", &tags).count("count", Some(outcome.count)).at(at);
        }
        for (index, thread) in row.row.threads.iter().enumerate() {
            let index = index.to_string();
            let tags: Vec<_> = self.tags().into_iter().chain([("thread", index.as_str())]).collect();
            lines
                .point("tare_threads", &tags)
                .number("cpu_share", Some(thread.cpu_share))
                .number("spun_share", Some(thread.spun_share))
                .number("stolen_share", Some(thread.stolen_share))
                .count("run_queue_wait_ns", Some(thread.run_queue_wait_ns))
                .at(at);
        }
        self.write(lines)?;
        self.ended_unix_ns = self.at(row.row.t_s + row.row.length_s);
        Ok(())
    }

    fn wants_histograms(&self) -> bool {
        false
    }

    fn end(&mut self, result: &RunResult) -> Result<(), SinkError> {
        let (totals, latency, net) = (&result.totals, &result.latency_ns, &result.net_ns);
        let (tare, unread) = (&result.tare_ns, &result.unread_ns);
        let known = |figure: u64| (!latency.says_nothing()).then_some(figure);
        let of_net = |figure: u64| (!net.says_nothing()).then_some(figure);
        let of_tare = |figure: u64| (tare.count > 0).then_some(figure);
        let mut lines = Lines::default();
        lines
            .point("tare_run", &self.tags())
            .text_field("event", "end")
            .text_field("verdict", result.verdict.word.as_str())
            .count("offered", Some(totals.offered))
            .count("sent", Some(totals.sent))
            .count("done", Some(totals.done))
            .count("failed", Some(totals.failed))
            .count("missed", Some(totals.missed))
            .count("cut_off", Some(totals.cut_off))
            .number("offered_per_s", Some(result.rate.offered_per_s))
            .number("achieved_per_s", Some(result.rate.achieved_per_s))
            .count("net_p50_ns", of_net(net.p50))
            .count("net_p90_ns", of_net(net.p90))
            .count("net_p99_ns", of_net(net.p99))
            .count("net_p99_9_ns", of_net(net.p99_9))
            .count("net_max_ns", of_net(net.max))
            .count("tare_p50_ns", of_tare(tare.p50))
            .count("tare_p99_ns", of_tare(tare.p99))
            .count("tare_max_ns", of_tare(tare.max))
            .count("unread_p99_ns", of_tare(unread.p99))
            .count("latency_p50_ns", known(latency.p50))
            .count("latency_p90_ns", known(latency.p90))
            .count("latency_p99_ns", known(latency.p99))
            .count("latency_p99_9_ns", known(latency.p99_9))
            .count("latency_max_ns", known(latency.max))
            .at(self.ended_unix_ns);
        self.write(lines)
    }
}

/// Every figure of the row that is one number, under its name in `result.json`.
fn interval_fields<'a>(point: line::Point<'a>, row: &Interval) -> line::Point<'a> {
    point
        .number("length_s", Some(row.length_s))
        .count("offered", Some(row.offered))
        .count("sent", Some(row.sent))
        .count("done", Some(row.done))
        .count("failed", Some(row.failed))
        .count("missed", Some(row.missed))
        .count("cut_off", Some(row.cut_off))
        .count("warmup", Some(row.warmup))
        .count("bytes_out", Some(row.bytes_out))
        .count("bytes_in", Some(row.bytes_in))
        .count("net_p50_ns", row.net_p50_ns)
        .count("net_p90_ns", row.net_p90_ns)
        .count("net_p99_ns", row.net_p99_ns)
        .count("net_p99_9_ns", row.net_p99_9_ns)
        .count("net_max_ns", row.net_max_ns)
        .count("tare_p50_ns", row.tare_p50_ns)
        .count("tare_p99_ns", row.tare_p99_ns)
        .count("tare_max_ns", row.tare_max_ns)
        .count("unread_p99_ns", row.unread_p99_ns)
        .count("latency_p50_ns", row.latency_p50_ns)
        .count("latency_p90_ns", row.latency_p90_ns)
        .count("latency_p99_ns", row.latency_p99_ns)
        .count("latency_p99_9_ns", row.latency_p99_9_ns)
        .count("latency_max_ns", row.latency_max_ns)
        .count("service_p50_ns", row.service_p50_ns)
        .count("service_p99_ns", row.service_p99_ns)
        .count("lateness_p50_ns", row.lateness_p50_ns)
        .count("lateness_p99_ns", row.lateness_p99_ns)
        .count("lateness_max_ns", row.lateness_max_ns)
        .count("own_lateness_p99_ns", row.own_lateness_p99_ns)
        .count("lookup_p50_ns", row.lookup_p50_ns)
        .count("connect_p50_ns", row.connect_p50_ns)
        .count("tls_p50_ns", row.tls_p50_ns)
        .count("first_byte_p50_ns", row.first_byte_p50_ns)
        .count("body_p50_ns", row.body_p50_ns)
        .count("open", Some(row.open))
        .number("cpu_share", Some(row.cpu_share))
        .number("spun_share", Some(row.spun_share))
        .number("steal_share", row.steal_share)
        .count("run_queue_wait_ns", row.run_queue_wait_ns)
        .count("rss_bytes", row.rss_bytes)
        .count("retransmits", Some(row.retransmits))
        .count("ports_left", row.ports_left)
        .count("descriptors_left", row.descriptors_left)
        .count("time_wait", Some(row.time_wait))
        .count("pauses", Some(row.pauses))
        .count("paused_ns", Some(row.paused_ns))
        .count("longest_pause_ns", Some(row.longest_pause_ns))
}
