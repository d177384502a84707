//! Debian's Prometheus 2.42, scraping and written to.
//!
//! Counts are equal. A quantile of Prometheus lies somewhere in the bucket of the true one: buckets are at most
//! 28 % wide (classic) or 2.2 % (native), and `result.json` is itself up to 0.1 % above the truth.

use super::servers::{Prometheus, curl, eventually, number};
use std::fs::File;
use std::process::Command;
use std::time::Duration;
use tare_system_tests::nginx::free_port;
use tare_system_tests::{Run, Tare, Target, beside_others, scratch};

const LOAD: &str = "--rate 300 --duration 3s";
const FAULTS: &str = "--delay uniform:1ms,20ms --error 503=10% --reset 2% --no-truth";

/// Scraped and written to at once; `None` if our port was taken by somebody else.
fn run(prometheus: &Prometheus, port: u16, options: &str) -> Option<Run> {
    let target = Target::start(FAULTS);
    let write = format!("prometheus+http://127.0.0.1:{}{options}", prometheus.port());
    let run = Tare::http(&format!(
        "{LOAD} {} --to prometheus://127.0.0.1:{port}/metrics --to {write}",
        target.url()
    ))
    .run();
    if run.result["sinks"][0]["trouble"].as_str().is_some_and(|why| why.contains("another program listens")) {
        return None;
    }
    for sink in run.result["sinks"].as_array().expect("sinks are told") {
        assert_eq!((&sink["rows_lost"], sink["trouble"].as_str()), (&0.into(), None), "{sink} in {run}");
        assert!(sink["rows"].as_u64() >= Some(3), "{sink} in {run}");
    }
    Some(run)
}

/// When the last sample of the series came, seconds since 1970.
#[track_caller]
fn last_of(prometheus: &Prometheus, selector: &str) -> f64 {
    let look = || {
        // The page's final figures say that the run is over.
        let found = prometheus.query(&format!("{selector}[5m]"), None);
        let samples = found.first()?["values"].as_array()?.clone();
        let over = samples.iter().rfind(|sample| number(&sample[1]) == 0.0)?;
        over[0].as_f64()
    };
    let found = eventually(Duration::from_secs(5), look);
    found.unwrap_or_else(|| panic!("{selector} never became 0: {}", prometheus.log()))
}

/// Every count of the result is that of the query.
#[track_caller]
fn check_counts(prometheus: &Prometheus, run: &Run, which: &str, at: f64) {
    let value = |query: String| prometheus.value(&query, Some(at));
    let name = run.at("run").as_str().expect("a run has a name");
    let of = format!("run=\"{name}\",engine=\"http\",{which}");
    for key in ["offered", "sent", "done", "failed", "missed", "cut_off"] {
        assert_eq!(value(format!("tare_{key}_total{{{of}}}")), run.total(key) as f64, "{key}: {run}");
    }
    assert_eq!(value(format!("tare_received_bytes_total{{{of}}}")), run.total("bytes_in") as f64, "{run}");
    let outcomes = run.result["outcomes"].as_array().expect("outcomes is a list");
    assert!(outcomes.len() >= 3, "200, 503 and resets: {run}");
    for outcome in outcomes {
        let labels = format!("outcome={},code={}", outcome["class"], outcome["key"]);
        let found = value(format!("tare_requests_total{{{of},{labels}}}"));
        assert_eq!(Some(found), outcome["count"].as_f64(), "{labels}: {run}");
    }
    let all = value(format!("sum(tare_requests_total{{{of}}})"));
    assert_eq!(all, run.total("offered") as f64, "{run}");
    let word = prometheus.query(&format!("tare_verdict{{{of}}}"), Some(at));
    assert_eq!(word[0]["metric"]["word"], run.word(), "{run}");
}

#[track_caller]
fn check_quantiles(prometheus: &Prometheus, run: &Run, histogram: &str, width: f64, at: f64) {
    for (quantile, key) in [(0.5, "p50"), (0.9, "p90"), (0.99, "p99")] {
        let query = format!("histogram_quantile({quantile}, {histogram})");
        let (found, told) =
            (prometheus.value(&query, Some(at)), run.float(&format!("latency_ns.{key}")) / 1e9);
        let ratio = found / told;
        assert!(
            ratio < width * 1.002 && ratio > 1.0 / (width * 1.002),
            "{query} is {found}, not {told}: {run}"
        );
    }
}

#[test]
fn classic_histograms_scraped_and_written() {
    let _shared = beside_others();
    let (prometheus, run) = (0..3)
        .find_map(|_| {
            let port = free_port();
            let prometheus =
                Prometheus::start("--web.enable-remote-write-receiver", &[format!("127.0.0.1:{port}")]);
            let run = run(&prometheus, port, "")?;
            Some((prometheus, run))
        })
        .expect("free ports are taken again and again");
    for which in ["job=\"scraped\"", "job=\"\""] {
        let at = last_of(&prometheus, &format!("tare_running{{{which}}}"));
        check_counts(&prometheus, &run, which, at);
        check_quantiles(&prometheus, &run, &format!("tare_latency_seconds_bucket{{{which}}}"), 1.28, at);
        let mean = format!("tare_latency_seconds_sum{{{which}}} / tare_latency_seconds_count{{{which}}}");
        let (found, told) = (prometheus.value(&mean, Some(at)), run.float("latency_ns.mean") / 1e9);
        assert!((found / told - 1.0).abs() < 1e-3, "{found} is not {told}: {run}");
    }
    written_series_begin_with_zero(&prometheus, &run);
}

/// So `increase()` over the run misses nothing; and every row has its own point.
#[track_caller]
fn written_series_begin_with_zero(prometheus: &Prometheus, run: &Run) {
    let found = prometheus.query("tare_requests_total{job=\"\",code=\"200\"}[5m]", None);
    let values: Vec<f64> =
        found[0]["values"].as_array().expect("samples").iter().map(|sample| number(&sample[1])).collect();
    let rows = run.result["intervals"].as_array().expect("intervals is a list");
    let mut expected = vec![0.0];
    for row in rows {
        let of_row = row["outcomes"].as_array().into_iter().flatten().filter(|o| o["key"] == "200");
        let count: f64 = of_row.filter_map(|outcome| outcome["count"].as_f64()).sum();
        expected.push(expected[expected.len() - 1] + count);
    }
    // Once more when the run is over.
    expected.push(expected[expected.len() - 1]);
    assert_eq!(values, expected, "{run}");
}

#[test]
fn native_histograms_scraped_and_written() {
    let _shared = beside_others();
    let flags = "--web.enable-remote-write-receiver --enable-feature=native-histograms";
    let (prometheus, run) = (0..3)
        .find_map(|_| {
            let port = free_port();
            let prometheus = Prometheus::start(flags, &[format!("127.0.0.1:{port}")]);
            let run = run(&prometheus, port, "?histograms=native")?;
            Some((prometheus, run))
        })
        .expect("free ports are taken again and again");
    for which in ["job=\"scraped\"", "job=\"\""] {
        let at = last_of(&prometheus, &format!("tare_running{{{which}}}"));
        check_counts(&prometheus, &run, which, at);
        check_quantiles(&prometheus, &run, &format!("tare_latency_seconds{{{which}}}"), 1.022, at);
        let count = prometheus.value(&format!("histogram_count(tare_latency_seconds{{{which}}})"), Some(at));
        assert_eq!(count, run.total("done") as f64, "{run}");
    }
}

#[test]
fn the_page_is_as_prometheus_wants_it() {
    let _shared = beside_others();
    let (target, port) = (Target::start("--no-truth"), free_port());
    let to = format!("--to prometheus://127.0.0.1:{port}/figures?linger=0s");
    let running = Tare::http(&format!("--rate 100 --duration 2s {} {to}", target.url())).start();
    let page = || {
        let text = curl(&[&format!("http://127.0.0.1:{port}/figures")]);
        text.contains("tare_latency_seconds_count").then_some(text)
    };
    let page = eventually(Duration::from_secs(2), page);
    let elsewhere = curl(&[&format!("http://127.0.0.1:{port}/")]);
    let run = running.finish();
    let page = page.unwrap_or_else(|| panic!("no page with figures: {run}"));
    assert_eq!(elsewhere, "The figures are at /figures\n");
    // Debian's own judge of such pages, of the package prometheus.
    let folder = scratch();
    let file = folder.path().join("page");
    std::fs::write(&file, &page).expect("a scratch file");
    let mut promtool = Command::new("promtool");
    promtool.args(["check", "metrics"]).stdin(File::open(&file).expect("it was just written"));
    let judged = promtool.output().expect("promtool can be started");
    assert!(judged.status.success(), "promtool says {}{}", text(&judged.stdout), text(&judged.stderr));
    assert!(run.took < Duration::from_secs(10), "it lingers not: {run}");
}

#[test]
fn nobody_waits_for_a_scrape_after_ctrl_c() {
    let _shared = beside_others();
    let target = Target::start("--no-truth");
    let to = "--to prometheus://127.0.0.1:0/?linger=60s";
    let running = Tare::http(&format!("--rate 100 --duration 60s {} {to}", target.url())).start();
    running.sleep_until(Duration::from_millis(1_500));
    running.interrupt();
    let run = running.finish();
    assert_eq!(run.code, Some(130), "{run}");
    assert!(run.took < Duration::from_secs(20), "{run}");
    assert!(run.stderr.contains(": scrape http://127.0.0.1:"), "the port that was free is told: {run}");
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
