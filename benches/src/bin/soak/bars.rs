//! What must hold at the end, and the table of it.

use crate::clock::Stepped;
use crate::influx::Kept;
use crate::memory::{Growth, Memory, SHORTEST_S};
use crate::rows::Rows;
use crate::viewer::Watched;
use anyhow::{Context, Result};
use serde_json::Value;
use std::path::Path;

/// Memory may grow by so much after the warm-up.
const GROWTH_KIB: f64 = 1_024.0;
/// Rows may come so much later at the end: what one look takes on a busy machine, and 20 millionths, by which
/// two clocks of one machine may differ.
const DRIFT_S: f64 = 0.05;
const DRIFT_SHARE: f64 = 20e-6;

/// Everything that a run left behind, and what was seen of it meanwhile.
#[derive(Default)]
pub struct Seen {
    pub rate: u64,
    pub seconds: u64,
    pub status: Option<i32>,
    /// On standard error.
    pub said: String,
    /// `result.json`.
    pub result: Value,
    /// Values in `latency.hlog` by series, and lines of it that were damaged.
    pub log: Vec<(String, u64)>,
    pub log_damaged: u64,
    pub growth: Option<Growth>,
    pub rows: u64,
    pub sums: Vec<(String, u64)>,
    pub drift_s: Option<f64>,
    pub kept: Kept,
    pub watched: Watched,
    pub stepped: Option<Stepped>,
}

impl Seen {
    pub fn read(out: &Path, rate: u64, seconds: u64, status: Option<i32>, said: String) -> Result<Self> {
        let text = std::fs::read_to_string(out.join("result.json"));
        let text = text.with_context(|| format!("no result; the run said: {said}"))?;
        let mut seen = Self { rate, seconds, status, said, ..Self::default() };
        seen.result = serde_json::from_str(&text)?;
        let mut log = store::read_hlog(&out.join("latency.hlog"))?;
        for entry in log.by_ref().filter(|entry| entry.group.is_none()) {
            match seen.log.iter_mut().find(|(series, _)| *series == entry.series) {
                Some((_, count)) => *count += entry.histogram.len(),
                None => seen.log.push((entry.series, entry.histogram.len())),
            }
        }
        seen.log_damaged = log.damaged();
        Ok(seen)
    }

    pub fn with(self, memory: Memory, rows: Rows, kept: Kept, watched: Watched, stepped: Stepped) -> Self {
        Self {
            growth: memory.growth(self.seconds as f64),
            rows: rows.count(),
            sums: rows.sums().unwrap_or_default(),
            drift_s: rows.drift_s(self.seconds),
            kept,
            watched,
            stepped: Some(stepped),
            ..self
        }
    }

    fn total(&self, key: &str) -> u64 {
        self.result["totals"][key].as_u64().unwrap_or(u64::MAX)
    }

    fn count(&self, histogram: &str) -> u64 {
        self.result[histogram]["count"].as_u64().unwrap_or(u64::MAX)
    }

    fn logged(&self, series: &str) -> u64 {
        self.log.iter().find(|(own, _)| own == series).map_or(0, |(_, count)| *count)
    }

    fn summed(&self, column: &str) -> u64 {
        self.sums.iter().find(|(own, _)| own == column).map_or(u64::MAX, |(_, sum)| *sum)
    }

    /// What became of the figures that went to such a place: rows that came, and that were lost.
    fn sink(&self, scheme: &str) -> (u64, u64) {
        let sinks = self.result["sinks"].as_array().map_or(&[][..], Vec::as_slice);
        let sink = sinks.iter().find(|sink| sink["url"].as_str().is_some_and(|url| url.starts_with(scheme)));
        let figure = |key: &str| sink.and_then(|sink| sink[key].as_u64()).unwrap_or(u64::MAX);
        (figure("rows"), figure("rows_lost"))
    }
}

/// One thing that must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bar {
    pub what: &'static str,
    pub seen: String,
    pub wanted: String,
    pub holds: bool,
}

fn bar(what: &'static str, seen: impl Into<String>, wanted: impl Into<String>, holds: bool) -> Bar {
    Bar { what, seen: seen.into(), wanted: wanted.into(), holds }
}

/// That pairs of counts agree to the last one.
fn equal(what: &'static str, pairs: &[(&str, u64, u64)]) -> Bar {
    let wrong: Vec<String> = pairs
        .iter()
        .filter(|(_, one, other)| one != other)
        .map(|(name, one, other)| format!("{name}: {one}, not {other}"))
        .collect();
    let seen = if wrong.is_empty() { format!("{} sums", pairs.len()) } else { wrong.join("; ") };
    bar(what, seen, "equal", wrong.is_empty())
}

pub fn judge(seen: &Seen) -> Vec<Bar> {
    vec![memory(seen), ended(seen), offered(seen), totals(seen), log(seen), rows(seen), drift(seen)]
        .into_iter()
        .chain([steady_sink(seen), failing_sink(seen), watched(seen), clock(seen), verdict(seen)])
        .collect()
}

fn memory(seen: &Seen) -> Bar {
    let wanted = format!("at most {GROWTH_KIB} KiB more after the warm-up");
    let Some(growth) = seen.growth else {
        let is_short = (seen.seconds as f64) < SHORTEST_S;
        let text = if is_short {
            format!("not judged: shorter than {SHORTEST_S} s")
        } else {
            "not known".to_owned()
        };
        return bar("memory", text, wanted, is_short);
    };
    let text = format!(
        "{:.0} KiB, then {:.0} KiB: {:+.0} KiB, {:+.0} KiB/h",
        growth.before_kib,
        growth.after_kib,
        growth.kib(),
        growth.slope_kib_per_hour
    );
    bar("memory", text, wanted, growth.kib() <= GROWTH_KIB)
}

/// A verdict that the load was too much for a machine is no fault of a long run.
fn ended(seen: &Seen) -> Bar {
    let status = seen.status.map_or("a signal".to_owned(), |status| status.to_string());
    let holds = matches!(seen.status, Some(0 | 4));
    let why = seen.said.lines().next_back().filter(|_| !holds).unwrap_or_default();
    bar("exit status", format!("{status} {why}").trim_end(), "0, or 4 (INVALID)", holds)
}

fn offered(seen: &Seen) -> Bar {
    let wanted = seen.rate * seen.seconds;
    let offered = seen.total("offered");
    bar(
        "departures",
        offered.to_string(),
        format!("{} · {} = {wanted}", seen.rate, seen.seconds),
        offered == wanted,
    )
}

fn totals(seen: &Seen) -> Bar {
    let total = |key| seen.total(key);
    let ended = ["done", "failed", "missed", "cut_off"]
        .map(total)
        .iter()
        .fold(0, |sum: u64, n| sum.saturating_add(*n));
    equal(
        "totals, histograms",
        &[
            ("outcomes", ended, total("offered")),
            ("sent", total("sent"), total("offered").saturating_sub(total("missed"))),
            ("latency", seen.count("latency_ns"), total("done")),
            ("net", seen.count("net_ns"), total("done")),
            ("tare", seen.count("tare_ns"), total("done")),
            ("service", seen.count("service_ns"), total("done")),
            ("lateness", seen.count("lateness_ns"), total("sent")),
            ("failed", seen.count("failed_ns"), total("failed")),
        ],
    )
}

fn log(seen: &Seen) -> Bar {
    equal(
        "latency.hlog",
        &[
            ("latency", seen.logged("latency"), seen.total("done")),
            ("net", seen.logged("net"), seen.total("done")),
            ("tare", seen.logged("tare"), seen.total("done")),
            ("service", seen.logged("service"), seen.total("done")),
            ("lateness", seen.logged("lateness"), seen.total("sent")),
            ("damaged lines", seen.log_damaged, 0),
        ],
    )
}

fn rows(seen: &Seen) -> Bar {
    let keys = ["offered", "sent", "done", "failed", "missed", "cut_off"];
    equal("rows.csv", &keys.map(|key| (key, seen.summed(key), seen.total(key))))
}

fn drift(seen: &Seen) -> Bar {
    let most = DRIFT_S + DRIFT_SHARE * seen.seconds as f64;
    let wanted = format!("within {:.0} ms", most * 1e3);
    let Some(drift) = seen.drift_s else { return bar("drift", "not known", wanted, false) };
    bar("drift", format!("{:+.1} ms", drift * 1e3), wanted, drift.abs() <= most)
}

fn steady_sink(seen: &Seen) -> Bar {
    let (rows, lost) = seen.sink("csv:");
    let text = format!("{rows} rows, {lost} lost, {} in the file", seen.rows);
    bar("sink that stays", text, "none lost", lost == 0 && rows == seen.rows && rows >= seen.seconds)
}

fn failing_sink(seen: &Seen) -> Bar {
    let (rows, lost) = seen.sink("influxdb:");
    let kept = &seen.kept;
    let text = format!("{rows} rows came, {lost} lost; {} writes since it is back", kept.since_back);
    let all = rows.saturating_add(lost) == seen.rows && rows == kept.intervals;
    bar("sink that fails", text, "each row told, back again", all && kept.was_away && kept.since_back > 0)
}

fn watched(seen: &Seen) -> Bar {
    let watched = seen.watched;
    let text = format!(
        "{} pages of up to {} KiB, {} KiB of events, {} failures",
        watched.pages,
        watched.largest / 1024,
        watched.events / 1024,
        watched.failures
    );
    // A page takes its time on a busy machine, and the last may be one too many.
    let holds = watched.pages * 2 >= seen.seconds && watched.failures <= 1 && watched.events > 10_000;
    bar("live page", text, "each second, none fails", holds)
}

fn clock(seen: &Seen) -> Bar {
    match &seen.stepped {
        Some(Stepped::Done) => bar("clock", "500 ms ahead for a second", "all else holds", true),
        Some(Stepped::Faked) => bar("clock", "500 ms ahead for 5 s (libfaketime)", "all else holds", true),
        Some(Stepped::Refused(why)) => bar("clock", format!("SKIPPED: {why}"), "", true),
        Some(Stepped::NotAsked) | None => bar("clock", "not stepped (--step-clock, --fake-clock)", "", true),
    }
}

/// Told, not judged: it is the machine's affair. A sink that lost rows makes it DEGRADED.
fn verdict(seen: &Seen) -> Bar {
    let word = seen.result["verdict"]["word"].as_str().unwrap_or_default();
    let criteria = seen.result["verdict"]["criteria"].as_array().map_or(&[][..], Vec::as_slice);
    let failing = criteria.iter().filter(|one| one["holds"] == false).filter_map(|one| one["name"].as_str());
    let text = std::iter::once(word).chain(failing).collect::<Vec<_>>().join(" ");
    bar("verdict", text, "", true)
}

pub fn table(bars: &[Bar]) -> String {
    let width = |of: fn(&Bar) -> &str| bars.iter().map(|bar| of(bar).chars().count()).max().unwrap_or(0);
    let (what, seen) = (width(|bar| bar.what), width(|bar| &bar.seen));
    let line = |bar: &Bar| {
        let word = if bar.holds { "ok  " } else { "FAIL" };
        format!("{word}  {:<what$}  {:<seen$}  {}", bar.what, bar.seen, bar.wanted).trim_end().to_owned()
            + "\n"
    };
    bars.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// 60 s at 100/s, of which one failed, two were missed; 20 rows were lost while the second sink was away.
    fn good() -> Seen {
        let count = |count: u64| json!({ "count": count });
        let columns = [
            ("offered", 6_000),
            ("sent", 5_998),
            ("done", 5_997),
            ("failed", 1),
            ("missed", 2),
            ("cut_off", 0),
        ];
        Seen {
            rate: 100,
            seconds: 60,
            status: Some(0),
            result: json!({
                "totals": { "offered": 6_000, "sent": 5_998, "done": 5_997, "failed": 1, "missed": 2, "cut_off": 0 },
                "latency_ns": count(5_997), "net_ns": count(5_997), "tare_ns": count(5_997), "service_ns": count(5_997), "lateness_ns": count(5_998), "failed_ns": count(1),
                "verdict": { "word": "DEGRADED", "criteria": [{ "name": "sinks.lost", "holds": false }] },
                "sinks": [
                    { "url": "csv:rows.csv", "rows": 61, "rows_lost": 0 },
                    { "url": "influxdb://127.0.0.1:9/soak", "rows": 41, "rows_lost": 20 },
                ],
            }),
            log: [
                ("latency", 5_997),
                ("net", 5_997),
                ("tare", 5_997),
                ("service", 5_997),
                ("lateness", 5_998),
            ]
            .map(|(k, n)| (k.to_owned(), n))
            .to_vec(),
            growth: Some(Growth { before_kib: 9_000.0, after_kib: 9_400.0, slope_kib_per_hour: 24_000.0 }),
            rows: 61,
            sums: columns.map(|(name, sum)| (name.to_owned(), sum)).to_vec(),
            drift_s: Some(-0.004),
            kept: Kept { intervals: 41, was_away: true, since_back: 12 },
            watched: Watched { pages: 58, failures: 0, largest: 90_000, events: 500_000 },
            stepped: Some(Stepped::Done),
            ..Seen::default()
        }
    }

    fn failing(change: impl FnOnce(&mut Seen)) -> Vec<&'static str> {
        let mut seen = good();
        change(&mut seen);
        judge(&seen).into_iter().filter(|bar| !bar.holds).map(|bar| bar.what).collect()
    }

    #[test]
    fn a_good_run_holds_all_bars() {
        assert!(failing(|_| {}).is_empty(), "{}", table(&judge(&good())));
        assert!(table(&judge(&good())).contains("verdict             DEGRADED sinks.lost"));
    }

    #[test]
    fn each_fault_fails_its_bar() {
        let bad = |growth: f64| Growth {
            before_kib: 9_000.0,
            after_kib: 9_000.0 + growth,
            slope_kib_per_hour: 0.0,
        };
        assert_eq!(failing(|seen| seen.growth = Some(bad(1_025.0))), ["memory"]);
        assert!(failing(|seen| seen.growth = Some(bad(-5_000.0))).is_empty());
        assert!(failing(|seen| seen.growth = None).is_empty(), "too short to tell");
        assert_eq!(failing(|seen| seen.status = Some(1)), ["exit status"]);
        assert_eq!(failing(|seen| seen.rate = 101), ["departures"]);
        assert_eq!(failing(|seen| seen.result["latency_ns"]["count"] = 5_996.into()), ["totals, histograms"]);
        assert_eq!(failing(|seen| seen.log[4].1 -= 1), ["latency.hlog"]);
        assert_eq!(failing(|seen| seen.sums[2].1 += 1), ["rows.csv"]);
        // 50 ms and 60 · 20 µs.
        assert_eq!(failing(|seen| seen.drift_s = Some(0.052)), ["drift"]);
        assert_eq!(failing(|seen| seen.result["sinks"][0]["rows_lost"] = 1.into()), ["sink that stays"]);
        assert_eq!(failing(|seen| seen.kept.intervals = 40), ["sink that fails"]);
        assert_eq!(failing(|seen| seen.kept.since_back = 0), ["sink that fails"]);
        assert_eq!(failing(|seen| seen.watched.failures = 2), ["live page"]);
    }
}
