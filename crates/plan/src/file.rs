//! Exactly what was typed, in flags or in a TOML file: nothing is checked here but the names of the keys
//! and the kinds of their values.
//!
//! ```toml
//! url = "http://localhost:8080/"       # or  file = "urls.txt"  or [[requests]]
//! [load]
//! rate = "20k"
//! [stop]
//! duration = "30s"
//! ```

use crate::error::PlanError;
use crate::fields::{sections_with, typed_table};
use crate::suggest::nearest;
use crate::typed::{HeaderList, Typed, TypedList};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::Range;
use toml::de::{DeTable, DeValue};

/// A plan as typed. Every key may be absent; `resolve` makes a `Plan` of it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanFile {
    /// One URL for all requests.
    pub url: Option<String>,
    /// A file with one URL or JSON object a line.
    pub file: Option<String>,
    /// Requests in the plan itself.
    pub requests: Option<Vec<RequestFile>>,
    /// `random`, `sequential`, `shuffle`.
    pub order: Option<String>,
    pub seed: Option<Typed>,
    #[serde(default)]
    pub load: LoadFile,
    #[serde(default)]
    pub stop: StopFile,
    #[serde(default)]
    pub request: RequestSection,
    #[serde(default)]
    pub connection: ConnectionFile,
    #[serde(default)]
    pub tls: TlsFile,
    #[serde(default)]
    pub resolve: ResolveFile,
    #[serde(default)]
    pub engine: EngineFile,
    #[serde(default)]
    pub limits: LimitsFile,
    #[serde(skip)]
    /// The file it was read from; `None` for flags.
    pub origin: Option<Origin>,
}

typed_table! {
    /// `[load]`: when requests are due.
    pub struct LoadFile, LOAD_FLAGS of "load" {
        parallel: Typed, "--parallel";
        rate: Typed, "--rate";
        poisson: bool, "--poisson";
        /// `FROM..TO:OVER`
        ramp: String, "--ramp";
        /// `FROM+BY:EVERY..TO`
        step: String, "--step";
        /// `RATE:OVER,RATE:OVER,…`
        stages: String, "--stages";
        /// `MEAN±AMPLITUDE:PERIOD`
        sine: String, "--sine";
        /// `SIZE:EVERY`
        burst: String, "--burst";
        at: String, "--at";
        jitter: Typed, "--jitter";
    }
}

typed_table! {
    /// `[stop]`: when the run ends.
    pub struct StopFile, STOP_FLAGS of "stop" {
        duration: Typed, "--duration";
        requests: Typed, "--requests";
        grace: Typed, "--grace";
        warmup: Typed, "--warmup";
    }
}

typed_table! {
    /// `[request]`: what all requests have in common.
    pub struct RequestSection, REQUEST_FLAGS of "request" {
        method: String, "--method";
        headers: HeaderList, "--header";
        body: String, "--body";
        body_file: String, "--body @FILE";
        body_stream: String, "--body-stream";
        /// `1.0` or `1.1`
        http: Typed, "--http";
        /// `name:password`
        user: String, "--user";
        host: String, "--host";
        expect_continue: bool, "--expect-continue";
        follow: Typed, "--follow";
        expect: ExpectFile;
        templates: bool, "--no-templates";
        timeout: Typed, "--timeout";
        idle_timeout: bool, "--idle-timeout";
        same_checksum: bool, "--same-checksum";
    }
}

/// `[[requests]]`, and one JSON line of a file.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestFile {
    pub url: Option<String>,
    pub method: Option<String>,
    pub headers: Option<HeaderList>,
    pub body: Option<String>,
    pub name: Option<String>,
    pub weight: Option<Typed>,
    pub expect: Option<ExpectFile>,
}

typed_table! {
    /// `expect = { … }`: what an answer must be.
    pub struct ExpectFile, EXPECT_FLAGS of "request.expect" {
        /// `200`, `"2xx"`, `"200-204"`, or a list of these.
        status: TypedList, "--expect-status";
        body_contains: String, "--expect-body";
        md5: String, "--expect-md5";
        sha256: String, "--expect-sha256";
    }
}

typed_table! {
    /// `[connection]`: how connections live.
    pub struct ConnectionFile, CONNECTION_FLAGS of "connection" {
        keep_alive: bool, "--no-keep-alive";
        requests_per_connection: Typed, "--requests-per-connection";
        /// `fin`, `rst`, `server`
        close: String, "--close";
        pipeline: Typed, "--pipeline";
        ramp_connections: Typed, "--ramp-connections";
        max_open: Typed, "--max-open";
        open_all: bool, "--open-all";
        source_ips: Vec<String>, "--source-ip";
        proxy: String, "--proxy";
        unix: String, "--unix";
        /// `PORT,ip=…`
        via: String, "--via";
        /// `auto`, `general`, `fast`
        via_path: String, "--via-path";
        /// The addresses of `via` are the host's, too.
        share_address: bool, "--share-address";
        no_delay: bool, "--nagle";
        throttle: Typed, "--throttle";
    }
}

typed_table! {
    /// `[tls]`
    pub struct TlsFile, TLS_FLAGS of "tls" {
        ca: String, "--ca";
        cert: String, "--cert";
        key: String, "--key";
        insecure: bool, "--insecure";
        /// `1.2` or `1.3`
        min: Typed, "--tls-min";
        max: Typed, "--tls-max";
        ciphers: Vec<String>, "--ciphers";
        resumption: bool, "--no-resumption";
        server_name: String, "--sni";
        alpn: Vec<String>, "--alpn";
    }
}

typed_table! {
    /// `[resolve]`: how names become addresses.
    pub struct ResolveFile, RESOLVE_FLAGS of "resolve" {
        /// `host:port:address[,address…]`
        fixed: Vec<String>, "--resolve";
        /// `any`, `ipv4`, `ipv6`
        family: String, "--ipv4/--ipv6";
        every: Typed, "--resolve-every";
    }
}

typed_table! {
    /// `[engine]`: how the generator itself runs.
    pub struct EngineFile, ENGINE_FLAGS of "engine" {
        threads: Typed, "--threads";
        /// `0,2-3`
        cpus: Typed, "--cpus";
        /// `auto`, `never`, `always`
        spin: String, "--spin";
        /// `auto`, `normal`, `real-time`
        priority: String, "--priority";
        /// `auto`, `epoll`, `uring`
        io: String, "--io";
    }
}

typed_table! {
    /// `[limits]`: what makes the run fail or end early.
    pub struct LimitsFile, LIMITS_FLAGS of "limits" {
        /// `latency.p99 > 50ms`, or a list of these.
        fail_if: TypedList, "--fail-if";
        abort_if: TypedList, "--abort-if";
    }
}

/// The file that a plan was read from, and the line of each of its keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    name: String,
    lines: BTreeMap<String, usize>,
}

impl PlanFile {
    /// Reads a plan file. `name` is what messages call it.
    pub fn from_toml(text: &str, name: &str) -> Result<Self, PlanError> {
        let (mut file, origin): (Self, _) = read_toml(text, name)?;
        file.origin = Some(origin);
        Ok(file)
    }
}

/// Reads a plan file of any kind; the second is where its keys stand.
pub(crate) fn read_toml<T: serde::de::DeserializeOwned>(
    text: &str,
    name: &str,
) -> Result<(T, Origin), PlanError> {
    let root = DeTable::parse(text).map_err(|error| syntax_error(text, name, &error))?;
    let mut spans = Vec::new();
    collect_spans(root.get_ref(), "", &mut spans);
    let file = toml::from_str(text).map_err(|error| key_error(text, name, &spans, &error))?;
    let lines = spans.iter().map(|key| (key.path.clone(), line_of(text, key.key.start))).collect();
    Ok((file, Origin { name: name.to_owned(), lines }))
}

impl Origin {
    /// File and line of a field, if it stands there.
    pub(crate) fn line(&self, field: &str) -> Option<(String, usize)> {
        self.lines.get(field).map(|line| (self.name.clone(), *line))
    }
}

/// A key's path, and where the key and its value stand in the text.
struct KeySpan {
    path: String,
    key: Range<usize>,
    value: Range<usize>,
}

fn collect_spans(table: &DeTable<'_>, prefix: &str, found: &mut Vec<KeySpan>) {
    for (key, value) in table {
        let name = key.get_ref();
        let path = if prefix.is_empty() { name.to_string() } else { format!("{prefix}.{name}") };
        found.push(KeySpan { path: path.clone(), key: key.span(), value: value.span() });
        collect_value(value.get_ref(), &path, found);
    }
}

fn collect_value(value: &DeValue<'_>, path: &str, found: &mut Vec<KeySpan>) {
    match value {
        DeValue::Table(table) => collect_spans(table, path, found),
        DeValue::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                let path = format!("{path}[{index}]");
                found.push(KeySpan { path: path.clone(), key: item.span(), value: item.span() });
                collect_value(item.get_ref(), &path, found);
            }
        }
        // Where a list is wanted, a single value is the first of it.
        _ => {
            let only = found.last().map(|key| (key.key.clone(), key.value.clone()));
            found.extend(only.map(|(key, value)| KeySpan { path: format!("{path}[0]"), key, value }));
        }
    }
}

/// Line and column of a byte offset, both from 1.
fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes().iter().take(offset).filter(|byte| **byte == b'\n').count() + 1
}
fn column_of(text: &str, offset: usize) -> usize {
    let before = text.get(..offset).unwrap_or(text);
    before.chars().rev().take_while(|c| *c != '\n').count() + 1
}

fn syntax_error(text: &str, name: &str, error: &toml::de::Error) -> PlanError {
    let offset = error.span().map_or(0, |span| span.start);
    PlanError::Syntax {
        file: name.to_owned(),
        line: line_of(text, offset),
        column: column_of(text, offset),
        problem: error.message().to_owned(),
    }
}

/// An error of serde's, with the key that it is about.
fn key_error(text: &str, name: &str, spans: &[KeySpan], error: &toml::de::Error) -> PlanError {
    let span = error.span().unwrap_or(0..0);
    let line = line_of(text, span.start);
    let file = name.to_owned();
    if let Some((key, known)) = unknown_field(error.message()) {
        let path = spans.iter().find(|found| found.key == span).map_or(key, |found| found.path.as_str());
        let suggestion = suggestion_for(key, path, &known);
        return PlanError::UnknownKey { file, line, key: path.to_owned(), suggestion };
    }
    let inside = |found: &&KeySpan| found.value.start <= span.start && span.end <= found.value.end;
    let narrowest = spans.iter().filter(inside).min_by_key(|found| found.value.len());
    let key = narrowest.map_or_else(|| "the file".to_owned(), |found| found.path.clone());
    let problem = error.message();
    let problem = problem.strip_prefix("invalid type: ").unwrap_or(problem).to_owned();
    PlanError::WrongType { file, line, key, problem }
}

/// The nearest key of the same section, or the same key of another section.
fn suggestion_for(key: &str, path: &str, known: &[&str]) -> Option<String> {
    let section = path.strip_suffix(key).unwrap_or_default();
    let elsewhere = sections_with(key).map(str::to_owned);
    elsewhere.or_else(|| nearest(key, known.iter().copied()).map(|name| format!("{section}{name}")))
}

/// Takes serde's "unknown field `x`, expected one of `a`, `b`" apart.
pub(crate) fn unknown_field(message: &str) -> Option<(&str, Vec<&str>)> {
    let rest = message.strip_prefix("unknown field `")?;
    let (key, rest) = rest.split_once('`')?;
    Some((key, rest.split('`').skip(1).step_by(2).collect()))
}
