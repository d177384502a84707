//! A run's figures as an OTLP metrics request.
//!
//! Sums and distributions are cumulative from the run's origin, and sums only grow. A resource stands for the
//! run; its attributes are what all samples share.

use crate::metrics::{Cumulative, SCALE, Sample, Spread, Unit, Value, bounds_s};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue, any_value};
use opentelemetry_proto::tonic::metrics::v1::exponential_histogram_data_point::Buckets;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, ExponentialHistogram, ExponentialHistogramDataPoint, Gauge, Histogram,
    HistogramDataPoint, Metric, NumberDataPoint, ResourceMetrics, ScopeMetrics, Sum, metric,
    number_data_point,
};
use opentelemetry_proto::tonic::resource::v1::Resource;

/// Buckets of a distribution at most; the scale becomes coarser until they suffice (320 are ten octaves of 32).
const BUCKETS: usize = 320;
const CUMULATIVE: i32 = AggregationTemporality::Cumulative as i32;

/// Nanoseconds since 1970: since when figures add up, and up to when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    pub since: u64,
    pub until: u64,
}

/// How distributions are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Explicit,
    Exponential,
}

/// The request that tells everything.
pub fn request(figures: &Cumulative, shape: Shape, times: Times) -> ExportMetricsServiceRequest {
    around(figures, metrics(figures.samples(), shape, times))
}

/// The request that says only whether the run goes on.
pub fn sign_of_life(figures: &Cumulative, times: Times) -> ExportMetricsServiceRequest {
    around(figures, metrics(vec![figures.running()], Shape::Exponential, times))
}

/// How many data points there are.
pub fn points(request: &ExportMetricsServiceRequest) -> usize {
    let scopes = request.resource_metrics.iter().flat_map(|resource| &resource.scope_metrics);
    let count = |metric: &Metric| match &metric.data {
        Some(metric::Data::Sum(sum)) => sum.data_points.len(),
        Some(metric::Data::Gauge(gauge)) => gauge.data_points.len(),
        _ => 1,
    };
    scopes.flat_map(|scope| &scope.metrics).map(count).sum()
}

fn around(figures: &Cumulative, metrics: Vec<Metric>) -> ExportMetricsServiceRequest {
    let run = figures.run();
    let attributes = [
        ("service.name", "tare"),
        ("service.version", run.version.as_str()),
        ("service.instance.id", run.run.as_str()),
        ("tare.run", run.run.as_str()),
        ("tare.engine", run.engine.as_str()),
        ("tare.plan_hash", run.plan_hash.as_str()),
        ("tare.target", run.target.as_str()),
    ];
    let attributes = attributes.into_iter().map(|(key, value)| attribute(key, value)).collect();
    let scope = InstrumentationScope {
        name: "tare".to_owned(),
        version: run.version.clone(),
        ..InstrumentationScope::default()
    };
    ExportMetricsServiceRequest {
        resource_metrics: vec![ResourceMetrics {
            resource: Some(Resource { attributes, ..Resource::default() }),
            scope_metrics: vec![ScopeMetrics { scope: Some(scope), metrics, ..ScopeMetrics::default() }],
            ..ResourceMetrics::default()
        }],
    }
}

/// One metric a name; samples of one name are beside each other.
fn metrics(samples: Vec<Sample<'_>>, shape: Shape, times: Times) -> Vec<Metric> {
    let mut all: Vec<Metric> = Vec::new();
    for sample in &samples {
        let name = name(sample);
        match all.last_mut().filter(|last| last.name == name).and_then(|last| last.data.as_mut()) {
            Some(metric::Data::Sum(sum)) => sum.data_points.push(number(sample, times)),
            Some(metric::Data::Gauge(gauge)) => gauge.data_points.push(number(sample, times)),
            _ => all.push(Metric {
                name,
                description: sample.meaning.help.to_owned(),
                unit: sample.meaning.unit.ucum().to_owned(),
                data: Some(data(sample, shape, times)),
                ..Metric::default()
            }),
        }
    }
    all
}

/// `tare.latency`; the unit is beside it, so counts of bytes need a word that tells them from counts of
/// requests.
fn name(sample: &Sample<'_>) -> String {
    let counts_bytes = matches!(sample.value, Value::Counter(_)) && sample.meaning.unit == Unit::Bytes;
    format!("tare.{}{}", sample.meaning.name, if counts_bytes { ".size" } else { "" })
}

fn data(sample: &Sample<'_>, shape: Shape, times: Times) -> metric::Data {
    match &sample.value {
        Value::Counter(_) => metric::Data::Sum(Sum {
            data_points: vec![number(sample, times)],
            aggregation_temporality: CUMULATIVE,
            is_monotonic: true,
        }),
        Value::Gauge(_) => metric::Data::Gauge(Gauge { data_points: vec![number(sample, times)] }),
        Value::Spread(spread) => match shape {
            Shape::Explicit => metric::Data::Histogram(Histogram {
                data_points: vec![explicit(spread, times)],
                aggregation_temporality: CUMULATIVE,
            }),
            Shape::Exponential => metric::Data::ExponentialHistogram(ExponentialHistogram {
                data_points: vec![exponential(spread, times)],
                aggregation_temporality: CUMULATIVE,
            }),
        },
    }
}

fn number(sample: &Sample<'_>, times: Times) -> NumberDataPoint {
    let (value, since) = match sample.value {
        Value::Counter(count) => {
            (number_data_point::Value::AsInt(i64::try_from(count).unwrap_or(i64::MAX)), times.since)
        }
        Value::Gauge(value) => (number_data_point::Value::AsDouble(value), 0),
        Value::Spread(_) => unreachable!("a distribution is no number: `data` tells them apart"),
    };
    NumberDataPoint {
        attributes: sample.labels.iter().map(|(key, value)| attribute(key, value)).collect(),
        start_time_unix_nano: since,
        time_unix_nano: times.until,
        value: Some(value),
        ..NumberDataPoint::default()
    }
}

fn explicit(spread: &Spread, times: Times) -> HistogramDataPoint {
    HistogramDataPoint {
        start_time_unix_nano: times.since,
        time_unix_nano: times.until,
        count: spread.count,
        sum: Some(spread.sum_s),
        bucket_counts: spread.fixed().to_vec(),
        explicit_bounds: bounds_s().collect(),
        min: Some(spread.min_s).filter(|_| spread.count > 0),
        max: Some(spread.max_s).filter(|_| spread.count > 0),
        ..HistogramDataPoint::default()
    }
}

fn exponential(spread: &Spread, times: Times) -> ExponentialHistogramDataPoint {
    let (scale, positive) = buckets(spread.exponential().collect());
    ExponentialHistogramDataPoint {
        start_time_unix_nano: times.since,
        time_unix_nano: times.until,
        count: spread.count,
        sum: Some(spread.sum_s),
        scale,
        zero_count: spread.zeros,
        positive,
        min: Some(spread.min_s).filter(|_| spread.count > 0),
        max: Some(spread.max_s).filter(|_| spread.count > 0),
        ..ExponentialHistogramDataPoint::default()
    }
}

/// Scale and counts without gaps. OTLP's bucket i holds what is above base^i and at most base^(i+1): one less
/// than ours.
fn buckets(mut counts: Vec<(i32, u64)>) -> (i32, Option<Buckets>) {
    let mut scale = SCALE;
    loop {
        let (Some((first, _)), Some((last, _))) = (counts.first().copied(), counts.last().copied()) else {
            return (scale, None);
        };
        let length = (last - first) as usize + 1;
        if length > BUCKETS {
            scale -= 1;
            // Two neighbours share a bucket that is twice as wide; the upper bound 2^(i/32) of an odd i rises.
            counts.iter_mut().for_each(|(index, _)| *index = (*index + 1).div_euclid(2));
            continue;
        }
        let mut bucket_counts = vec![0; length];
        for (index, count) in counts {
            bucket_counts[(index - first) as usize] += count;
        }
        return (scale, Some(Buckets { offset: first - 1, bucket_counts }));
    }
}

fn attribute(key: &str, value: &str) -> KeyValue {
    let value = AnyValue { value: Some(any_value::Value::StringValue(value.to_owned())) };
    KeyValue { key: key.to_owned(), value: Some(value), ..KeyValue::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exporter::RunInfo;
    use crate::metrics::testing::row;

    #[test]
    fn every_sample_is_a_point_of_a_metric_of_its_own_name() {
        let mut all = Cumulative::new(&RunInfo::default());
        all.add(&row(0, 7));
        let request = request(&all, Shape::Explicit, Times { since: 5, until: 9 });
        assert_eq!(points(&request), all.samples().len());
        let metrics = &request.resource_metrics[0].scope_metrics[0].metrics;
        let names: std::collections::BTreeSet<&str> =
            metrics.iter().map(|metric| metric.name.as_str()).collect();
        assert_eq!(names.len(), metrics.len());
        let latency = metrics.iter().find(|metric| metric.name == "tare.latency").unwrap();
        let Some(metric::Data::Histogram(histogram)) = &latency.data else { panic!("{latency:?}") };
        let point = &histogram.data_points[0];
        assert_eq!(point.bucket_counts.len(), point.explicit_bounds.len() + 1);
        assert_eq!((point.count, point.bucket_counts.iter().sum::<u64>()), (7, 7));
        assert_eq!((point.start_time_unix_nano, point.time_unix_nano), (5, 9));
    }

    #[test]
    fn too_wide_a_distribution_gets_coarser_buckets() {
        assert_eq!(buckets(Vec::new()), (5, None));
        // Ours, above 2^(-1/32): OTLP's −1 at scale 5 is (2^(-1/32), 1].
        let (scale, found) = buckets(vec![(0, 3), (2, 4)]);
        assert_eq!((scale, found), (5, Some(Buckets { offset: -1, bucket_counts: vec![3, 0, 4] })));
        // 641 buckets: halved to 321 (−160…160), and again to −80…80.
        let (scale, found) = buckets(vec![(-320, 1), (-319, 2), (320, 4)]);
        let found = found.unwrap();
        // −320 → −160 → −80; −319: (2^(-320/32), 2^(-319/32)] → −159 → −79.
        assert_eq!((scale, found.offset, found.bucket_counts.len()), (3, -81, 161));
        assert_eq!((found.bucket_counts[0], found.bucket_counts[1], found.bucket_counts[160]), (1, 2, 4));
    }
}
