//! `otlp+http://HOST:4318`: OpenTelemetry metrics, as protobuf over HTTP, an interval at a time.
//!
//! ```text
//! row ─► Cumulative ─► ExportMetricsServiceRequest ─► POST /v1/metrics ─► partial_success: what was rejected
//! ```
//!
//! Headers that the receiver wants come from `OTEL_EXPORTER_OTLP_HEADERS` (or
//! `OTEL_EXPORTER_OTLP_METRICS_HEADERS`), as for every OpenTelemetry exporter. docs/sinks.md has the names.

mod message;

use crate::exporter::{Exporter, RunInfo, SinkError, SinkRow};
use crate::metrics::Cumulative;
use crate::place::{Address, Place, SinkKind};
use crate::web::{Answer, Web, address};
use message::{Shape, Times};
use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsServiceRequest, ExportMetricsServiceResponse,
};
use prost::Message;
use store::RunResult;

const PORT: u16 = 4318;
/// Where the same receivers speak gRPC.
const GRPC: u16 = 4317;
const PATH: &str = "/v1/metrics";
/// The more special one goes before.
const HEADERS: [&str; 2] = ["OTEL_EXPORTER_OTLP_METRICS_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"];

pub const KIND: SinkKind = SinkKind {
    schemes: &["otlp+http", "otlp+https"],
    form: "otlp+http://[USER:PASSWORD@]HOST[:PORT][/PATH]",
    about: "OpenTelemetry metrics",
    address: Address::Url,
    options: &["histograms", "token", "ca"],
    open,
};

fn open(place: &Place) -> Result<Box<dyn Exporter>, SinkError> {
    let shape = match place.option("histograms") {
        None | Some("exponential") => Shape::Exponential,
        Some("explicit") => Shape::Explicit,
        Some(other) => {
            return Err(place.wrong(format!("histograms={other} is neither exponential nor explicit")));
        }
    };
    let base = place.url().path().trim_end_matches('/');
    let path = if base.ends_with(PATH) { base.to_owned() } else { format!("{base}{PATH}") };
    let mut web = Web::new(place, &address(place, PORT, &path, &[])?)?;
    web.header("Content-Type", "application/x-protobuf")?;
    if let Some(token) = place.option("token") {
        web.token("Bearer", token)?;
    }
    let of_environment = HEADERS.iter().find_map(|name| std::env::var(name).ok()).unwrap_or_default();
    for (name, value) in headers(&of_environment) {
        web.secret_header(&name, &value)?;
    }
    Ok(Box::new(Otlp {
        place: place.clone(),
        web,
        shape,
        figures: Cumulative::default(),
        origin_unix_ns: 0,
        last: None,
    }))
}

/// `name=value,other=value`, with values percent-encoded (W3C Baggage, as OpenTelemetry says).
fn headers(text: &str) -> Vec<(String, String)> {
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=')?;
        let value = format!("v={}", value.trim().replace('+', "%2B").replace('&', "%26"));
        let value =
            url::form_urlencoded::parse(value.as_bytes()).map(|(_, value)| value.into_owned()).collect();
        Some((name.trim().to_owned(), value))
    };
    text.split(',').filter_map(pair).collect()
}

struct Otlp {
    place: Place,
    web: Web,
    shape: Shape,
    figures: Cumulative,
    origin_unix_ns: u64,
    /// Index and end of the row that came last.
    last: Option<(u64, u64)>,
}

impl Otlp {
    fn write(&self, request: &ExportMetricsServiceRequest) -> Result<(), SinkError> {
        let answer = self.web.deliver(&request.encode_to_vec(), |answer| self.advice(answer));
        let answer = answer.map_err(|why| self.or_grpc(why))?;
        // A receiver that says nothing, or not in protobuf, took it all: its status says so.
        let said = ExportMetricsServiceResponse::decode(answer.body.as_slice()).unwrap_or_default();
        match said.partial_success {
            Some(partial) if partial.rejected_data_points > 0 => Err(self.place.refused(format!(
                "it rejected {} of {} data points ('{}')",
                partial.rejected_data_points,
                message::points(request),
                partial.error_message
            ))),
            _ => Ok(()),
        }
    }

    fn advice(&self, answer: &Answer) -> Option<String> {
        match answer.status {
            404 => Some(format!("a receiver of OTLP over HTTP has {PATH}; its port is mostly {PORT}")),
            415 => Some("it does not accept protobuf; name a receiver that does".to_owned()),
            _ => None,
        }
    }

    /// What speaks gRPC does not answer HTTP/1.
    fn or_grpc(&self, why: SinkError) -> SinkError {
        match why {
            SinkError::Refused { sink, problem } if self.place.url().port() == Some(GRPC) => {
                SinkError::Refused {
                    sink,
                    problem: format!("{problem}; {GRPC} is usually gRPC, and HTTP is on {PORT}"),
                }
            }
            other => other,
        }
    }

    fn times(&self, until: u64) -> Times {
        Times { since: self.origin_unix_ns, until }
    }

    /// When a row ended; never twice the same.
    fn end_of(&self, row: &SinkRow) -> u64 {
        let end = self.origin_unix_ns + ((row.row.t_s + row.row.length_s) * 1e9).round() as u64;
        match self.last {
            Some((index, end)) if index == row.index => end,
            Some((_, before)) => end.max(before + 1),
            None => end,
        }
    }
}

impl Exporter for Otlp {
    fn begin(&mut self, run: &RunInfo) -> Result<(), SinkError> {
        self.figures = Cumulative::new(run);
        self.write(&message::sign_of_life(&self.figures, self.times(clock::unix_ns())))
    }

    fn start(&mut self, origin_unix_ns: u64) {
        self.origin_unix_ns = origin_unix_ns;
    }

    fn interval(&mut self, row: &SinkRow) -> Result<(), SinkError> {
        let end = self.end_of(row);
        self.last = Some((row.index, end));
        self.figures.add(row);
        self.write(&message::request(&self.figures, self.shape, self.times(end)))
    }

    fn end(&mut self, result: &RunResult) -> Result<(), SinkError> {
        self.figures.end(result);
        let end = self.last.map_or_else(clock::unix_ns, |(_, end)| end + 1);
        self.write(&message::request(&self.figures, self.shape, self.times(end)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_the_environment() {
        // The example of the OpenTelemetry specification, and a value with escapes.
        let found = headers("key1=value1,key2=value2");
        assert_eq!(
            found,
            [("key1".to_owned(), "value1".to_owned()), ("key2".to_owned(), "value2".to_owned())]
        );
        let found = headers(" Authorization = Basic%20a+b%3D , nonsense");
        assert_eq!(found, [("Authorization".to_owned(), "Basic a+b=".to_owned())]);
        assert!(headers("").is_empty());
    }

    #[test]
    fn an_unknown_shape_is_told() {
        let place = Place::parse("otlp+http://h?histograms=native").unwrap();
        let why = open(&place).err().unwrap().to_string();
        assert!(why.ends_with("histograms=native is neither exponential nor explicit"), "{why}");
    }
}
