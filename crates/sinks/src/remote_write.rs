//! `prometheus+http://HOST:9090`: Prometheus remote write 1.0, an interval at a time.
//!
//! ```text
//! row ─► Cumulative ─► WriteRequest (protobuf) ─► Snappy ─► POST /api/v1/write
//! ```
//!
//! Samples carry the time of their interval's end, so that a late one is where it belongs. A series that is new
//! begins with zero at the interval's start: `increase()` then counts from the first request on. What is sent
//! again (no answer came the first time) is the same to the bit, which Prometheus takes.

mod message;

use crate::exporter::{Exporter, RunInfo, SinkError, SinkRow};
use crate::metrics::{self, Cumulative, Spread, Value};
use crate::place::{Address, Place, SinkKind};
use crate::prometheus::{SCHEMA, ZERO_THRESHOLD, name, number, spans};
use crate::web::{Answer, Web, address};
use message::{Histogram, Label, Sample, TimeSeries, WriteRequest};
use prost::Message;
use std::collections::HashSet;
use store::RunResult;

const PORT: u16 = 9090;
const PATH: &str = "/api/v1/write";

pub const KIND: SinkKind = SinkKind {
    schemes: &["prometheus+http", "prometheus+https"],
    form: "prometheus+http://[USER:PASSWORD@]HOST[:PORT][/PATH]",
    about: "Prometheus remote write",
    address: Address::Url,
    options: &["histograms", "token", "tenant", "ca"],
    open,
};

fn open(place: &Place) -> Result<Box<dyn Exporter>, SinkError> {
    let shape = match place.option("histograms") {
        None | Some("classic") => Shape { classic: true, native: false },
        Some("native") => Shape { classic: false, native: true },
        Some("both") => Shape { classic: true, native: true },
        Some(other) => {
            return Err(place.wrong(format!("histograms={other} is none of classic, native and both")));
        }
    };
    let path = Some(place.url().path()).filter(|path| path.len() > 1).unwrap_or(PATH);
    let mut web = Web::new(place, &address(place, PORT, path, &[])?)?;
    web.header("Content-Type", "application/x-protobuf")?;
    web.header("Content-Encoding", "snappy")?;
    web.header("X-Prometheus-Remote-Write-Version", "0.1.0")?;
    if let Some(token) = place.option("token") {
        web.token("Bearer", token)?;
    }
    if let Some(tenant) = place.option("tenant") {
        web.header("X-Scope-OrgID", tenant)?;
    }
    Ok(Box::new(RemoteWrite {
        place: place.clone(),
        web,
        shape,
        figures: Cumulative::default(),
        origin_ms: 0,
        last: None,
        is_taken: true,
        known: HashSet::new(),
    }))
}

/// How distributions are sent.
#[derive(Clone, Copy)]
struct Shape {
    classic: bool,
    native: bool,
}

struct RemoteWrite {
    place: Place,
    web: Web,
    shape: Shape,
    figures: Cumulative,
    origin_ms: i64,
    /// Index and times of the row that came last.
    last: Option<(u64, Span)>,
    /// It was taken, so that `known` is all that there is.
    is_taken: bool,
    /// Series that have begun. They are as many as there are outcomes, distributions and threads: bounded.
    known: HashSet<Vec<Label>>,
}

/// Milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    from: i64,
    to: i64,
}

impl RemoteWrite {
    fn span(&self, row: &SinkRow) -> Span {
        let at = |s: f64| self.origin_ms + (s * 1e3).round() as i64;
        let from = at(row.row.t_s);
        let to = at(row.row.t_s + row.row.length_s);
        match self.last {
            Some((index, span)) if index == row.index => span,
            // Never twice the same time in one series.
            Some((_, before)) => Span { from, to: to.max(before.to + 1) },
            None => Span { from, to: to.max(from + 1) },
        }
    }

    /// Of the last samples. Series that only rows have which never came here begin with zero as well, unless
    /// they may be there already.
    fn last_span(&self) -> Span {
        let (from, to) =
            self.last.map_or_else(|| (self.origin_ms, unix_ms()), |(_, span)| (span.to, span.to + 1));
        Span { from: if self.is_taken { from } else { to }, to }
    }

    fn write(&self, request: &WriteRequest) -> Result<(), SinkError> {
        let packed = snap::raw::Encoder::new().compress_vec(&request.encode_to_vec());
        let packed = packed.map_err(|why| self.place.refused(format!("too much for one request: {why}")))?;
        self.web.deliver(&packed, |answer| advice(answer, self.shape)).map(drop)
    }

    fn request(&self, span: Span) -> WriteRequest {
        let mut series = Vec::new();
        for sample in self.figures.samples() {
            let name = name(&sample);
            let labels = self.labels(&sample);
            match sample.value {
                Value::Counter(count) => series.push(self.rising(&name, &labels, count as f64, span)),
                Value::Gauge(value) => series.push(single(self.named(&name, &labels), value, span.to)),
                Value::Spread(spread) => self.spread(&mut series, &name, &labels, spread, span),
            }
        }
        WriteRequest { timeseries: series }
    }

    fn spread(&self, into: &mut Vec<TimeSeries>, name: &str, labels: &[Label], spread: &Spread, span: Span) {
        if self.shape.classic {
            for (bound, count) in spread.at_most() {
                let mut labels = labels.to_vec();
                labels.push(Label { name: "le".to_owned(), value: number(bound) });
                into.push(self.rising(&format!("{name}_bucket"), &labels, count as f64, span));
            }
            into.push(self.rising(&format!("{name}_sum"), labels, spread.sum_s, span));
            into.push(self.rising(&format!("{name}_count"), labels, spread.count as f64, span));
        }
        if self.shape.native {
            let labels = self.named(name, labels);
            let zero = (!self.known.contains(&labels)).then(|| native(&Spread::default(), span.from));
            let histograms = zero.into_iter().chain([native(spread, span.to)]).collect();
            into.push(TimeSeries { labels, samples: Vec::new(), histograms });
        }
    }

    /// A value that only grows, from zero if it is new.
    fn rising(&self, name: &str, labels: &[Label], value: f64, span: Span) -> TimeSeries {
        let mut series = single(self.named(name, labels), value, span.to);
        if !self.known.contains(&series.labels) && span.from < span.to {
            series.samples.insert(0, Sample { value: 0.0, timestamp_ms: span.from });
        }
        series
    }

    fn labels(&self, sample: &metrics::Sample<'_>) -> Vec<Label> {
        let own = sample.labels.iter().map(|(name, value)| (*name, value.as_str()));
        let label = |(name, value): (&str, &str)| Label { name: name.to_owned(), value: value.to_owned() };
        self.figures.common().into_iter().chain(own).map(label).collect()
    }

    fn named(&self, name: &str, labels: &[Label]) -> Vec<Label> {
        let mut labels = labels.to_vec();
        labels.push(Label { name: "__name__".to_owned(), value: name.to_owned() });
        // An empty label is the same as none, and is not to be sent.
        labels.retain(|label| !label.value.is_empty());
        labels.sort_by(|a, b| a.name.cmp(&b.name));
        labels
    }
}

fn single(labels: Vec<Label>, value: f64, timestamp_ms: i64) -> TimeSeries {
    TimeSeries { labels, samples: vec![Sample { value, timestamp_ms }], histograms: Vec::new() }
}

fn native(spread: &Spread, timestamp_ms: i64) -> Histogram {
    let (positive_spans, positive_deltas) = spans(spread);
    Histogram {
        count: spread.count,
        sum: spread.sum_s,
        schema: SCHEMA,
        zero_threshold: ZERO_THRESHOLD,
        zero_count: spread.zeros,
        positive_spans,
        positive_deltas,
        timestamp_ms,
    }
}

/// What to do about Prometheus' own answers.
fn advice(answer: &Answer, shape: Shape) -> Option<String> {
    let words = answer.words();
    match answer.status {
        404 if words.contains("remote write receiver")
            || words.contains("web.enable-remote-write-receiver") =>
        {
            Some("start it with --web.enable-remote-write-receiver".to_owned())
        }
        400 | 415 if shape.native && words.contains("native histogram") => {
            Some("start it with --enable-feature=native-histograms, or leave out ?histograms=".to_owned())
        }
        400 if words.contains("out of order")
            || words.contains("out of bounds")
            || words.contains("too old") =>
        {
            Some("it has later samples of these series, or its clock is far from this one".to_owned())
        }
        _ => None,
    }
}

fn unix_ms() -> i64 {
    (clock::unix_ns() / 1_000_000) as i64
}

impl Exporter for RemoteWrite {
    fn begin(&mut self, run: &RunInfo) -> Result<(), SinkError> {
        self.figures = Cumulative::new(run);
        let info = self.figures.info();
        let labels = self.named(&name(&info), &self.labels(&info));
        self.write(&WriteRequest { timeseries: vec![single(labels, 1.0, unix_ms())] })
    }

    fn start(&mut self, origin_unix_ns: u64) {
        self.origin_ms = (origin_unix_ns / 1_000_000) as i64;
    }

    fn interval(&mut self, row: &SinkRow) -> Result<(), SinkError> {
        let span = self.span(row);
        self.last = Some((row.index, span));
        self.figures.add(row);
        let request = self.request(span);
        self.is_taken = false;
        self.write(&request)?;
        self.is_taken = true;
        self.known.extend(request.timeseries.into_iter().map(|series| series.labels));
        Ok(())
    }

    fn end(&mut self, result: &RunResult) -> Result<(), SinkError> {
        self.figures.end(result);
        let span = self.last_span();
        self.write(&self.request(span))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::testing::row;

    fn writer(options: &str) -> RemoteWrite {
        let place = Place::parse(&format!("prometheus+http://127.0.0.1:1{options}")).unwrap();
        let web = Web::new(&place, &address(&place, PORT, PATH, &[]).unwrap()).unwrap();
        let run = RunInfo { run: "r".to_owned(), engine: "http".to_owned(), ..RunInfo::default() };
        RemoteWrite {
            place,
            web,
            shape: Shape { classic: true, native: true },
            figures: Cumulative::new(&run),
            origin_ms: 1_000_000,
            last: None,
            is_taken: true,
            known: HashSet::new(),
        }
    }

    fn find<'a>(request: &'a WriteRequest, name: &str) -> &'a TimeSeries {
        let is_it = |series: &&TimeSeries| series.labels[0].value == name;
        request.timeseries.iter().find(is_it).unwrap_or_else(|| panic!("no series {name}"))
    }

    #[test]
    fn a_new_series_begins_with_zero_and_labels_ascend() {
        let mut writer = writer("");
        let mut first = row(0, 7);
        (first.row.t_s, first.row.length_s) = (0.0, 1.0);
        let span = writer.span(&first);
        assert_eq!(span, Span { from: 1_000_000, to: 1_001_000 });
        writer.figures.add(&first);
        let request = writer.request(span);
        let series = find(&request, "tare_requests_total");
        let samples: Vec<(i64, f64)> = series.samples.iter().map(|s| (s.timestamp_ms, s.value)).collect();
        assert_eq!(samples, [(1_000_000, 0.0), (1_001_000, 7.0)]);
        for series in &request.timeseries {
            assert!(series.labels.windows(2).all(|two| two[0].name < two[1].name), "{:?}", series.labels);
        }
        let native = find(&request, "tare_latency_seconds");
        assert_eq!(native.histograms.iter().map(|h| h.count).collect::<Vec<_>>(), [0, 7]);
        writer.known.extend(request.timeseries.into_iter().map(|series| series.labels));
        writer.last = Some((0, span));

        let mut second = row(1, 3);
        (second.row.t_s, second.row.length_s) = (1.0, 0.0);
        let span = writer.span(&second);
        assert_eq!(span, Span { from: 1_001_000, to: 1_001_001 }, "a time is never there twice");
        writer.figures.add(&second);
        let samples = &find(&writer.request(span), "tare_requests_total").samples.clone();
        assert_eq!(
            samples.iter().map(|s| (s.timestamp_ms, s.value)).collect::<Vec<_>>(),
            [(1_001_001, 10.0)]
        );
        writer.last = Some((1, span));
        assert_eq!(writer.span(&second), span, "the same row again has the same times");
    }

    #[test]
    fn what_only_lost_rows_have_begins_with_zero_at_the_end() {
        let mut writer = writer("");
        let mut first = row(0, 7);
        first.row.length_s = 1.0;
        let span = writer.span(&first);
        (writer.last, writer.is_taken) = (Some((0, span)), true);
        writer.figures.add(&first);
        let request = writer.request(span);
        writer.known.extend(request.timeseries.into_iter().map(|series| series.labels));
        let mut lost = row(1, 5).row;
        lost.outcomes = vec![store::schema::OutcomeCount::of(units::Outcome::Status(503), 5)];
        writer.figures.end(&RunResult { intervals: vec![first.row, lost], ..RunResult::default() });
        let of_code = |writer: &RemoteWrite, code: &str| {
            let request = writer.request(writer.last_span());
            let is_it = |series: &&TimeSeries| series.labels.iter().any(|label| label.value == code);
            let samples = &request.timeseries.iter().find(is_it).unwrap().samples;
            samples.iter().map(|s| (s.timestamp_ms, s.value)).collect::<Vec<_>>()
        };
        assert_eq!(of_code(&writer, "200"), [(1_001_001, 7.0)]);
        assert_eq!(of_code(&writer, "503"), [(1_001_000, 0.0), (1_001_001, 5.0)]);
        // Whether the last row arrived is not known: a zero could fall behind a value that is there.
        writer.is_taken = false;
        assert_eq!(of_code(&writer, "503"), [(1_001_001, 5.0)]);
    }

    #[test]
    fn an_unknown_shape_is_told() {
        let place = Place::parse("prometheus+http://h?histograms=nativ").unwrap();
        let why = open(&place).err().unwrap().to_string();
        assert!(why.ends_with("histograms=nativ is none of classic, native and both"), "{why}");
    }
}
