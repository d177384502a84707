//! The canonical form: every value written out, in one order, so that equal plans have equal texts and hashes.

use crate::limits::Limits;
use crate::model::*;
use crate::shapes::short_form;
use sha2::{Digest as _, Sha256};
use std::fmt::{self, Display, Write};
use std::path::Path;
use units::Priority;

/// SHA-256 of a plan's canonical text without its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PlanHash([u8; 32]);

impl PlanHash {
    /// Of a canonical text.
    pub(crate) fn of(text: &str) -> Self {
        Self(Sha256::digest(text).into())
    }

    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The first eight hexadecimal digits, for names.
    pub fn short(&self) -> String {
        self.to_string()[..8].to_owned()
    }
}

/// 64 hexadecimal digits.
impl Display for PlanHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&hex(&self.0))
    }
}

impl Plan {
    /// The canonical text. `PlanFile::from_toml` and `resolve` make the same plan of it, as long as every path
    /// is UTF-8 (`resolve` makes no others).
    pub fn to_toml(&self) -> String {
        self.written(&self.limits)
    }

    /// Of the load alone: runs of the same load compare, whatever they are judged by.
    pub fn hash(&self) -> PlanHash {
        PlanHash::of(&self.written(&Limits::default()))
    }

    fn written(&self, limits: &Limits) -> String {
        let mut out = Writer(String::new());
        out.source(&self.source);
        // TOML's integers have a sign.
        match i64::try_from(self.seed) {
            Ok(seed) => out.number("seed", seed),
            Err(_) => out.text("seed", self.seed),
        }
        out.load(&self.load);
        out.stop(&self.stop);
        out.request(&self.request);
        out.connection(&self.connection);
        out.tls(&self.tls);
        out.resolve(&self.resolve);
        out.engine(&self.engine);
        out.limits(limits);
        if let RequestSource::Inline { requests, .. } = &self.source {
            requests.iter().for_each(|request| out.request_line(request));
        }
        out.0
    }
}

/// `[limits]`, with an empty line before it; empty without limits.
pub(crate) fn limits(limits: &Limits) -> String {
    let mut out = Writer(String::new());
    out.limits(limits);
    out.0
}

/// TOML under construction: one method for each kind of value, one for each section.
struct Writer(String);

impl Writer {
    fn line(&mut self, text: fmt::Arguments<'_>) {
        self.0.write_fmt(text).expect("writing to a String cannot fail");
        self.0.push('\n');
    }
    fn section(&mut self, name: &str) {
        self.line(format_args!("\n[{name}]"));
    }
    /// A number or a Boolean.
    fn number(&mut self, key: &str, value: impl Display) {
        self.line(format_args!("{key} = {value}"));
    }
    fn text(&mut self, key: &str, value: impl Display) {
        self.line(format_args!("{key} = {}", quoted(&value.to_string())));
    }
    fn path(&mut self, key: &str, path: &Path) {
        self.text(key, path.to_string_lossy());
    }
    fn maybe_text(&mut self, key: &str, value: Option<impl Display>) {
        value.into_iter().for_each(|value| self.text(key, value));
    }
    fn maybe_number(&mut self, key: &str, value: Option<impl Display>) {
        value.into_iter().for_each(|value| self.number(key, value));
    }
    fn list<T: Display>(&mut self, key: &str, values: impl IntoIterator<Item = T>) {
        let quoted: Vec<String> = values.into_iter().map(|value| quoted(&value.to_string())).collect();
        self.line(format_args!("{key} = [{}]", quoted.join(", ")));
    }
    fn headers(&mut self, headers: &[(String, String)]) {
        self.list("headers", headers.iter().map(|(name, value)| format!("{name}: {value}")));
    }

    fn source(&mut self, source: &RequestSource) {
        match source {
            RequestSource::Url(url) => self.text("url", url),
            RequestSource::File { path, order } => {
                self.path("file", path);
                self.text("order", order_word(*order));
            }
            RequestSource::Inline { order, .. } => self.text("order", order_word(*order)),
        }
    }

    fn load(&mut self, load: &Load) {
        self.section("load");
        match load {
            Load::Closed { connections } => self.number("parallel", connections),
            Load::Open { arrivals, connections } => {
                self.maybe_number("parallel", *connections);
                let (key, text) = short_form(&arrivals.shape);
                self.text(key, text);
                if let Shape::Constant(_) | Shape::Poisson(_) = arrivals.shape {
                    self.number("poisson", matches!(arrivals.shape, Shape::Poisson(_)));
                }
                self.text("jitter", arrivals.jitter);
            }
        }
    }

    fn stop(&mut self, stop: &Stop) {
        self.section("stop");
        self.maybe_text("duration", stop.duration);
        self.maybe_number("requests", stop.requests.map(units::Count::get));
        self.text("grace", stop.grace);
        self.text("warmup", stop.warmup);
    }

    fn request(&mut self, request: &RequestPlan) {
        self.section("request");
        self.text("method", &request.method);
        self.headers(&request.headers);
        match &request.body {
            Body::None => {}
            Body::Inline(text) => self.text("body", text),
            Body::File(path) => self.path("body_file", path),
            Body::Streamed(path) => self.path("body_stream", path),
        }
        self.text("http", if request.version == HttpVersion::Http10 { "1.0" } else { "1.1" });
        self.maybe_text("user", request.basic_auth.as_ref());
        self.maybe_text("host", request.host.as_ref());
        self.number("expect_continue", request.expect_continue);
        self.number("follow", request.follow);
        self.expect(&request.expect);
        self.number("templates", request.templates);
        self.text("timeout", request.timeout);
        self.number("idle_timeout", request.idle_timeout);
        self.number("same_checksum", request.same_checksum);
    }

    fn expect(&mut self, expect: &Expect) {
        let mut parts = Vec::new();
        if !expect.status.is_empty() {
            let ranges = expect.status.iter().map(|(low, high)| quoted(&status_range(*low, *high)));
            parts.push(format!("status = [{}]", ranges.collect::<Vec<_>>().join(", ")));
        }
        if let Some(text) = &expect.body_contains {
            parts.push(format!("body_contains = {}", quoted(text)));
        }
        match &expect.digest {
            None => {}
            Some(Digest::Md5(bytes)) => parts.push(format!("md5 = \"{}\"", hex(bytes))),
            Some(Digest::Sha256(bytes)) => parts.push(format!("sha256 = \"{}\"", hex(bytes))),
        }
        match parts.as_slice() {
            [] => self.line(format_args!("expect = {{}}")),
            parts => self.line(format_args!("expect = {{ {} }}", parts.join(", "))),
        }
    }

    fn connection(&mut self, connection: &ConnectionPlan) {
        self.section("connection");
        self.number("keep_alive", connection.keep_alive);
        self.maybe_number("requests_per_connection", connection.requests_per_connection);
        // Plans of before there was this keep their hash, here and below.
        if connection.close != Close::default() {
            self.text("close", connection.close.word());
        }
        self.number("pipeline", connection.pipeline);
        self.maybe_text("ramp_connections", connection.ramp);
        self.number("max_open", connection.max_open);
        if connection.open_all {
            self.number("open_all", true);
        }
        self.list("source_ips", &connection.source_ips);
        let proxy = connection.proxy.as_ref();
        self.maybe_text(
            "proxy",
            proxy.map(|(host, port)| {
                let address = match host.contains(':') {
                    true => format!("[{host}]:{port}"),
                    false => format!("{host}:{port}"),
                };
                match &connection.proxy_login {
                    Some(login) => format!("http://{login}@{address}"),
                    None => address,
                }
            }),
        );
        self.maybe_text("unix", connection.unix.as_ref().map(|path| path.to_string_lossy()));
        self.maybe_text("via", connection.via.as_ref());
        if connection.via.is_some() {
            let path = match connection.via_path {
                ViaPath::Auto => "auto",
                ViaPath::General => "general",
                ViaPath::Fast => "fast",
            };
            self.text("via_path", path);
            if connection.share_address {
                self.number("share_address", true);
            }
        }
        self.number("no_delay", connection.no_delay);
        self.maybe_text("throttle", connection.throttle);
    }

    fn tls(&mut self, tls: &TlsPlan) {
        self.section("tls");
        self.maybe_text("ca", tls.ca.as_ref().map(|path| path.to_string_lossy()));
        if let Some((cert, key)) = &tls.client {
            self.path("cert", cert);
            self.path("key", key);
        }
        self.number("insecure", tls.insecure);
        self.text("min", tls_word(tls.min_version));
        self.text("max", tls_word(tls.max_version));
        self.list("ciphers", &tls.ciphers);
        self.number("resumption", tls.resumption);
        self.maybe_text("server_name", tls.server_name.as_ref());
        self.list("alpn", &tls.alpn);
    }

    fn resolve(&mut self, resolve: &ResolvePlan) {
        self.section("resolve");
        self.list(
            "fixed",
            resolve.fixed.iter().map(|(host, port, address)| format!("{host}:{port}:{address}")),
        );
        self.text(
            "family",
            match resolve.family {
                Family::Any => "any",
                Family::Ipv4 => "ipv4",
                Family::Ipv6 => "ipv6",
            },
        );
        self.maybe_text("every", resolve.every);
    }

    fn engine(&mut self, engine: &EnginePlan) {
        self.section("engine");
        self.maybe_number("threads", engine.threads);
        if !engine.cpus.is_empty() {
            let cpus: Vec<String> = engine.cpus.iter().map(u32::to_string).collect();
            self.text("cpus", cpus.join(","));
        }
        self.text(
            "spin",
            match engine.spin {
                Spin::Auto => "auto",
                Spin::Never => "never",
                Spin::Always => "always",
            },
        );
        if engine.priority != Priority::Auto {
            self.text("priority", engine.priority);
        }
        self.text(
            "io",
            match engine.io {
                IoChoice::Auto => "auto",
                IoChoice::Epoll => "epoll",
                IoChoice::IoUring => "uring",
            },
        );
    }

    fn limits(&mut self, limits: &Limits) {
        if limits.is_empty() {
            return;
        }
        self.section("limits");
        self.list("fail_if", &limits.fail_if);
        self.list("abort_if", &limits.abort_if);
    }

    fn request_line(&mut self, request: &RequestLine) {
        self.line(format_args!("\n[[requests]]"));
        self.text("url", &request.url);
        self.maybe_text("method", request.method.as_ref());
        self.headers(&request.headers);
        self.maybe_text("body", request.body.as_ref());
        self.maybe_text("name", request.name.as_ref());
        self.maybe_number("weight", request.weight);
        request.expect.iter().for_each(|expect| self.expect(expect));
    }
}

fn order_word(order: LineOrder) -> &'static str {
    match order {
        LineOrder::Random => "random",
        LineOrder::Sequential => "sequential",
        LineOrder::Shuffle => "shuffle",
    }
}

fn tls_word(version: TlsVersion) -> &'static str {
    match version {
        TlsVersion::Tls12 => "1.2",
        TlsVersion::Tls13 => "1.3",
    }
}

fn status_range(low: u16, high: u16) -> String {
    if low == high { low.to_string() } else { format!("{low}-{high}") }
}

fn hex(bytes: &[u8]) -> String {
    let digit =
        |nibble: u8| char::from_digit(u32::from(nibble), 16).expect("a nibble is a hexadecimal digit");
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 0xf)]).collect()
}

/// A TOML basic string (TOML 1.0, "String"): quotes, backslashes and control characters escaped.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_ascii_control() => {
                write!(out, "\\u{:04X}", u32::from(c)).expect("writing to a String cannot fail");
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
