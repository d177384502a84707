//! Prometheus' text format 0.0.4.
//!
//! ```text
//! # HELP tare_requests_total Departures …
//! # TYPE tare_requests_total counter
//! tare_requests_total{run="…",engine="http",outcome="status",code="200"} 1000
//! ```

use super::names::{name, number};
use crate::metrics::{Cumulative, Sample, Value};
use std::fmt::Write;

pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

pub fn render(all: &Cumulative) -> String {
    let mut text = String::new();
    let mut before = String::new();
    for sample in all.samples() {
        let name = name(&sample);
        if name != before {
            head(&mut text, &name, &sample);
            before.clone_from(&name);
        }
        lines(&mut text, &name, &labels(all, &sample), &sample.value);
    }
    text
}

fn head(text: &mut String, name: &str, sample: &Sample<'_>) {
    let kind = match sample.value {
        Value::Counter(_) => "counter",
        Value::Gauge(_) => "gauge",
        Value::Spread(_) => "histogram",
    };
    let help = sample.meaning.help.replace('\\', r"\\").replace('\n', r"\n");
    push(text, format_args!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
}

fn lines(text: &mut String, name: &str, labels: &str, value: &Value<'_>) {
    match value {
        Value::Counter(count) => push(text, format_args!("{name}{{{labels}}} {count}\n")),
        Value::Gauge(value) => push(text, format_args!("{name}{{{labels}}} {}\n", number(*value))),
        Value::Spread(spread) => {
            for (bound, count) in spread.at_most() {
                push(text, format_args!("{name}_bucket{{{labels},le=\"{}\"}} {count}\n", number(bound)));
            }
            push(text, format_args!("{name}_sum{{{labels}}} {}\n", number(spread.sum_s)));
            push(text, format_args!("{name}_count{{{labels}}} {}\n", spread.count));
        }
    }
}

fn labels(all: &Cumulative, sample: &Sample<'_>) -> String {
    let own = sample.labels.iter().map(|(name, value)| (*name, value.as_str()));
    let pairs: Vec<String> = all
        .common()
        .into_iter()
        .chain(own)
        .map(|(name, value)| {
            let value = value.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n");
            format!("{name}=\"{value}\"")
        })
        .collect();
    pairs.join(",")
}

fn push(text: &mut String, what: std::fmt::Arguments<'_>) {
    text.write_fmt(what).expect("a String takes all that is written");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exporter::RunInfo;
    use crate::metrics::testing::row;

    #[test]
    fn names_types_and_escapes() {
        let run = RunInfo {
            run: "r".to_owned(),
            engine: "http".to_owned(),
            target: "a \"b\" \\\nc".to_owned(),
            ..RunInfo::default()
        };
        let mut all = Cumulative::new(&run);
        all.add(&row(0, 7));
        let text = render(&all);
        for line in [
            "# TYPE tare_requests_total counter",
            "tare_requests_total{run=\"r\",engine=\"http\",outcome=\"status\",code=\"200\"} 7",
            "# TYPE tare_latency_seconds histogram",
            "tare_latency_seconds_bucket{run=\"r\",engine=\"http\",le=\"0.0016\"} 0",
            // 2 ms lies in a histogram bucket that reaches beyond 2 ms.
            "tare_latency_seconds_bucket{run=\"r\",engine=\"http\",le=\"0.0025\"} 7",
            "tare_latency_seconds_bucket{run=\"r\",engine=\"http\",le=\"+Inf\"} 7",
            "tare_latency_seconds_count{run=\"r\",engine=\"http\"} 7",
            "tare_sent_bytes_total{run=\"r\",engine=\"http\"} 0",
            "tare_running{run=\"r\",engine=\"http\"} 1",
        ] {
            assert!(text.lines().any(|known| known == line), "no line {line} in\n{text}");
        }
        assert!(text.contains(r#"target="a \"b\" \\\nc""#), "{text}");
        let types: Vec<&str> = text.lines().filter(|line| line.starts_with("# TYPE")).collect();
        let unique: std::collections::BTreeSet<&str> = types.iter().copied().collect();
        assert_eq!(types.len(), unique.len(), "a name has one type, and its samples are together");
    }
}
