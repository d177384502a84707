//! Prometheus' protobuf format, which carries native histograms: `io.prometheus.client.MetricFamily`, each with
//! its length before it. Numbers of fields are those of prometheus/client_model `metrics.proto`.

use super::names::name;
use super::native::{BucketSpan, SCHEMA, ZERO_THRESHOLD, spans};
use crate::metrics::{Cumulative, Sample, Spread, Value};
use prost::Message;

pub const CONTENT_TYPE: &str =
    "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited";

/// Whether a scraper's `Accept` asks for it.
pub fn is_asked_for(accept: &str) -> bool {
    let is_it = |part: &str| {
        part.contains("application/vnd.google.protobuf")
            && part.contains("proto=io.prometheus.client.MetricFamily")
            && part.contains("encoding=delimited")
    };
    accept.split(',').any(is_it)
}

pub fn render(all: &Cumulative) -> Vec<u8> {
    let mut families: Vec<MetricFamily> = Vec::new();
    for sample in all.samples() {
        let name = name(&sample);
        let metric = metric(all, &sample);
        match families.last_mut() {
            Some(family) if family.name == name => family.metric.push(metric),
            _ => families.push(MetricFamily {
                name,
                help: sample.meaning.help.to_owned(),
                kind: kind(&sample.value),
                metric: vec![metric],
            }),
        }
    }
    families.iter().flat_map(Message::encode_length_delimited_to_vec).collect()
}

fn kind(value: &Value<'_>) -> i32 {
    match value {
        Value::Counter(_) => 0,
        Value::Gauge(_) => 1,
        Value::Spread(_) => 4,
    }
}

fn metric(all: &Cumulative, sample: &Sample<'_>) -> Metric {
    let own = sample.labels.iter().map(|(name, value)| (*name, value.as_str()));
    let pair = |(name, value): (&str, &str)| LabelPair { name: name.to_owned(), value: value.to_owned() };
    let mut metric =
        Metric { label: all.common().into_iter().chain(own).map(pair).collect(), ..Metric::default() };
    match &sample.value {
        Value::Counter(count) => metric.counter = Some(Number { value: *count as f64 }),
        Value::Gauge(value) => metric.gauge = Some(Number { value: *value }),
        Value::Spread(spread) => metric.histogram = Some(histogram(spread)),
    }
    metric
}

fn histogram(spread: &Spread) -> Histogram {
    let (positive_span, positive_delta) = spans(spread);
    Histogram {
        sample_count: spread.count,
        sample_sum: spread.sum_s,
        bucket: spread
            .at_most()
            .map(|(upper_bound, cumulative_count)| Bucket { cumulative_count, upper_bound })
            .collect(),
        schema: SCHEMA,
        zero_threshold: ZERO_THRESHOLD,
        zero_count: spread.zeros,
        positive_span,
        positive_delta,
    }
}

#[derive(Clone, PartialEq, Message)]
struct MetricFamily {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    help: String,
    /// 0 counter, 1 gauge, 4 histogram.
    #[prost(int32, tag = "3")]
    kind: i32,
    #[prost(message, repeated, tag = "4")]
    metric: Vec<Metric>,
}

#[derive(Clone, PartialEq, Message)]
struct Metric {
    #[prost(message, repeated, tag = "1")]
    label: Vec<LabelPair>,
    #[prost(message, optional, tag = "2")]
    gauge: Option<Number>,
    #[prost(message, optional, tag = "3")]
    counter: Option<Number>,
    #[prost(message, optional, tag = "7")]
    histogram: Option<Histogram>,
}

#[derive(Clone, PartialEq, Message)]
struct LabelPair {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    value: String,
}

/// `Counter` and `Gauge` alike.
#[derive(Clone, PartialEq, Message)]
struct Number {
    #[prost(double, tag = "1")]
    value: f64,
}

#[derive(Clone, PartialEq, Message)]
struct Histogram {
    #[prost(uint64, tag = "1")]
    sample_count: u64,
    #[prost(double, tag = "2")]
    sample_sum: f64,
    #[prost(message, repeated, tag = "3")]
    bucket: Vec<Bucket>,
    #[prost(sint32, tag = "5")]
    schema: i32,
    #[prost(double, tag = "6")]
    zero_threshold: f64,
    #[prost(uint64, tag = "7")]
    zero_count: u64,
    #[prost(message, repeated, tag = "12")]
    positive_span: Vec<BucketSpan>,
    #[prost(sint64, repeated, tag = "13")]
    positive_delta: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
struct Bucket {
    #[prost(uint64, tag = "1")]
    cumulative_count: u64,
    #[prost(double, tag = "2")]
    upper_bound: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exporter::RunInfo;
    use crate::metrics::testing::row;

    #[test]
    fn asked_for_by_a_prometheus_that_takes_native_histograms() {
        // As Prometheus 2.42 asks with and without --enable-feature=native-histograms (scrape/scrape.go).
        let with = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited,\
                    application/openmetrics-text;version=1.0.0;q=0.8,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        let without = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        assert!(is_asked_for(with) && !is_asked_for(without));
    }

    #[test]
    fn families_are_read_back() {
        let mut all = Cumulative::new(&RunInfo::default());
        all.add(&row(0, 7));
        let bytes = render(&all);
        let mut left = bytes.as_slice();
        let mut families = Vec::new();
        while !left.is_empty() {
            families.push(MetricFamily::decode_length_delimited(&mut left).unwrap());
        }
        let latency = families.iter().find(|family| family.name == "tare_latency_seconds").unwrap();
        let histogram = latency.metric[0].histogram.as_ref().unwrap();
        assert_eq!(
            (latency.kind, histogram.sample_count, histogram.positive_delta.as_slice()),
            (4, 7, &[7][..])
        );
        let requests = families.iter().find(|family| family.name == "tare_requests_total").unwrap();
        assert_eq!(requests.metric[0].counter, Some(Number { value: 7.0 }));
    }
}
