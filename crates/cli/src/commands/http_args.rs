//! The flags of `tare http`: what was typed, put into a `PlanFile` as it is. Nothing is checked here but what
//! clap can see; `PlanFile::resolve` says what is wrong with a value, and names the flag.
//!
//! Letters follow curl for the request (`-H -X -d -u -k`) and wrk for the load (`-c`, `-t`).

mod given;
mod names;

use crate::commands::output_args::{LimitArgs, OutputArgs, quantity, sink_kinds};
use crate::trial_args::TrialArgs;
use clap::{ArgAction, Args, ValueHint};
use given::{list, switched, typed};
use names::NameArgs;
use plan::{ExpectFile, HeaderList, HeaderTyped, PlanFile, Typed, TypedList};
use std::path::Path;

const EXAMPLES: &str = "\
Examples:
  tare http http://localhost:8080/                      10 connections for 10 s
  tare http --rate 20k --duration 30s urls.txt          20 000/s, each to a random URL of the file
  tare http --parallel 64 --requests 1M http://host/    64 connections, a million requests
  tare http --parallel 64 --rate 5k http://host/        5 000/s over at most 64 connections
  tare http --ramp 100..5k:30s http://host/             from 100/s to 5 000/s in 30 s
  tare http -H 'Accept: text/html' -d '{\"n\":{seq}}' http://host/
  tare http --rate 1k --no-resumption --no-keep-alive https://host/

Quantities:
  rates: 400, 20k, 30/min, 1/7s; times: 10s, 250ms, 1.5m; sizes: 600, 64KiB; counts: 10k, 5M

Placeholders in URL, headers and body:
  {seq} {random:hex:16} {random:dec:8} {random:alnum:12} {uuid} {now_ms} {line:FILE}
  {{seq}} stands for the text {seq}

Exit status:
  0 VALID or DEGRADED; 1 the same, but a file could not be written; 2 bad input, nothing sent;
  3 a threshold failed; 4 INVALID (the generator was the limit); 5 target unreachable; 130 interrupted";

/// Send HTTP or HTTPS requests to a target, and check the generator itself
#[derive(Args, Clone, Debug, Default)]
#[command(after_help = format!("{EXAMPLES}\n\n{}", sink_kinds()))]
pub struct HttpArgs {
    /// A URL, or a file with one URL or one JSON object ({"url":…}) per line
    #[arg(value_name = "URL | FILE", value_hint = ValueHint::Url)]
    pub target: String,

    #[command(flatten)]
    pub load: LoadArgs,
    #[command(flatten)]
    pub stop: StopArgs,
    #[command(flatten)]
    pub request: RequestArgs,
    #[command(flatten)]
    pub connection: ConnectionArgs,
    #[command(flatten)]
    pub tls: TlsArgs,
    #[command(flatten)]
    pub names: NameArgs,
    #[command(flatten)]
    pub generator: GeneratorArgs,
    #[command(flatten)]
    pub limits: LimitArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub trials: TrialArgs,
}

/// When requests are due.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Load")]
pub struct LoadArgs {
    /// Open loop: send requests at this rate, whatever the target does
    #[arg(short = 'r', long, value_name = "RATE", allow_hyphen_values = true, value_parser = quantity)]
    pub rate: Option<String>,
    /// Closed loop over N connections [default: 10]; with a rate, at most N connections
    #[arg(short = 'c', long, visible_alias = "connections", value_name = "N", allow_hyphen_values = true, value_parser = quantity)]
    pub parallel: Option<String>,
    /// Poisson arrivals: exponential gaps whose mean --rate sets
    #[arg(long)]
    pub poisson: bool,
    /// Change the rate linearly from one to another, e.g. 100..5k:30s
    #[arg(long, value_name = "FROM..TO:OVER", allow_hyphen_values = true, value_parser = quantity)]
    pub ramp: Option<String>,
    /// Raise the rate in steps, e.g. 1k+500:10s..5k
    #[arg(long, value_name = "FROM+BY:EVERY..TO", allow_hyphen_values = true, value_parser = quantity)]
    pub step: Option<String>,
    /// Change the rate linearly to each of these rates in turn, e.g. 100:10s,1k:30s,0:5s
    #[arg(long, value_name = "RATE:OVER,…", allow_hyphen_values = true, value_parser = quantity)]
    pub stages: Option<String>,
    /// Vary the rate as a sine around a mean, e.g. 1k±500:60s or 1k+-500:60s
    #[arg(long, value_name = "MEAN±AMPLITUDE:PERIOD", allow_hyphen_values = true, value_parser = quantity)]
    pub sine: Option<String>,
    /// Send SIZE requests at once, every EVERY, e.g. 100:1s
    #[arg(long, value_name = "SIZE:EVERY", allow_hyphen_values = true, value_parser = quantity)]
    pub burst: Option<String>,
    /// Send at recorded times: a file with one offset in seconds per line
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub at: Option<String>,
    /// Move each due time at random by up to ± this share of the gap, e.g. 10%
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true, value_parser = quantity)]
    pub jitter: Option<String>,
    /// Order of the lines of a file: random, sequential or shuffle [default: random]
    #[arg(long, value_name = "ORDER")]
    pub order: Option<String>,
    /// Seed of every random choice [default: 1]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = quantity)]
    pub seed: Option<String>,
}

/// When the run ends: the first that holds.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Stop")]
pub struct StopArgs {
    /// Length of the measured part [default: 10s if nothing else ends the run]
    #[arg(short = 'z', long, value_name = "TIME", allow_hyphen_values = true, value_parser = quantity)]
    pub duration: Option<String>,
    /// Requests in the measured part
    #[arg(short = 'n', long, value_name = "N", allow_hyphen_values = true, value_parser = quantity)]
    pub requests: Option<String>,
    /// How long to wait for responses after the last departure [default: the timeout, at most 5s]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = quantity)]
    pub grace: Option<String>,
    /// Warm up for this long first; no figure includes these requests
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = quantity)]
    pub warmup: Option<String>,
}

/// What each request is.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Request")]
pub struct RequestArgs {
    /// Method [default: GET, or POST with a body]
    #[arg(short = 'X', long, value_name = "METHOD")]
    pub method: Option<String>,
    /// Request header (repeatable)
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE", action = ArgAction::Append)]
    pub headers: Vec<String>,
    /// Request body, or @FILE (@-: standard input), read once; placeholders are filled in
    #[arg(
        short = 'd',
        long,
        visible_alias = "data",
        value_name = "TEXT | @FILE",
        allow_hyphen_values = true
    )]
    pub body: Option<String>,
    /// Read the body from FILE while sending it, with chunked encoding
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub body_stream: Option<String>,
    /// Basic authentication
    #[arg(short = 'u', long, value_name = "NAME:PASSWORD")]
    pub user: Option<String>,
    /// Host header, instead of the URL's host
    #[arg(long, value_name = "NAME")]
    pub host: Option<String>,
    /// HTTP version: 1.1 or 1.0 [default: 1.1]
    #[arg(long, value_name = "VERSION")]
    pub http: Option<String>,
    /// Send Expect: 100-continue, and the body after the 100 response
    #[arg(long)]
    pub expect_continue: bool,
    /// Follow up to N redirects [default: 0]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = quantity)]
    pub follow: Option<String>,
    /// Fail a request that has no complete response after this time [default: 30s]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = quantity)]
    pub timeout: Option<String>,
    /// Restart the timeout with every byte that arrives
    #[arg(long)]
    pub idle_timeout: bool,
    /// Fail a response with any status other than these, e.g. 2xx,304,400-404
    #[arg(long, value_name = "STATUS,…", value_delimiter = ',', action = ArgAction::Append)]
    pub expect_status: Vec<String>,
    /// Fail a response whose body does not contain this text
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub expect_body: Option<String>,
    /// Fail a response whose body has a different MD5
    #[arg(long, value_name = "HEX")]
    pub expect_md5: Option<String>,
    /// Fail a response whose body has a different SHA-256
    #[arg(long, value_name = "HEX")]
    pub expect_sha256: Option<String>,
    /// Fail a response whose body differs from the first one for its URL
    #[arg(long)]
    pub same_checksum: bool,
    /// Send {…} literally; do not fill in placeholders
    #[arg(long)]
    pub no_templates: bool,
}

/// How connections live.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Connection")]
pub struct ConnectionArgs {
    /// Open a new connection for each request
    #[arg(long, visible_alias = "disable-keepalive")]
    pub no_keep_alive: bool,
    /// Close a connection after N requests
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = quantity)]
    pub requests_per_connection: Option<String>,
    /// How a connection ends: tare closes it (fin) or resets it (rst), or the target closes it (server; at most
    /// 1 s and half of --timeout after the response; needs --no-keep-alive) [default: fin]
    #[arg(long, value_name = "HOW")]
    pub close: Option<String>,
    /// Requests in flight at once on one connection [default: 1]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = quantity)]
    pub pipeline: Option<String>,
    /// Open connections at no more than this rate
    #[arg(long, value_name = "RATE", allow_hyphen_values = true, value_parser = quantity)]
    pub ramp_connections: Option<String>,
    /// Maximum number of connections in an open loop without --parallel [default: 10000]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = quantity)]
    pub max_open: Option<String>,
    /// With a rate: open all connections of --parallel before reusing any
    #[arg(long)]
    pub open_all: bool,
    /// Local addresses, used in turn (repeatable)
    #[arg(long = "source-ip", value_name = "ADDRESS,…", value_delimiter = ',', action = ArgAction::Append)]
    pub source_ips: Vec<String>,
    /// HTTP proxy, also as http://USER:PASSWORD@HOST:PORT; https goes through CONNECT
    #[arg(long, value_name = "HOST:PORT")]
    pub proxy: Option<String>,
    /// Connect to this Unix socket instead of the URL's host
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub unix: Option<String>,
    /// Connect through this port with tare's own TCP instead of the kernel's, from unused addresses:
    /// packet:eth1,ip=198.18.0.10-25/24[,gw=198.18.0.1][,vlan=7][,mac=…][,mtu=…]
    #[arg(long, value_name = "PORT,ip=ADDRESSES")]
    pub via: Option<String>,
    /// With --via: fast (for requests that never change), general, or auto [default: auto]
    #[arg(long, value_name = "PATH")]
    pub via_path: Option<String>,
    /// With --via: use addresses that this host has, next to its own connections
    #[arg(long)]
    pub share_address: bool,
    /// Leave Nagle's algorithm on (do not set TCP_NODELAY)
    #[arg(long)]
    pub nagle: bool,
    /// Read at most this many bytes per second from each connection
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true, value_parser = quantity)]
    pub throttle: Option<String>,
}

/// TLS.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "TLS")]
pub struct TlsArgs {
    /// Trust these certificate authorities (PEM) in addition to the host's
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub ca: Option<String>,
    /// Client certificate chain (PEM); needs --key
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub cert: Option<String>,
    /// Client key (PEM); needs --cert
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub key: Option<String>,
    /// Accept any certificate
    #[arg(short = 'k', long)]
    pub insecure: bool,
    /// Lowest version: 1.2 or 1.3 [default: 1.2]
    #[arg(long, value_name = "VERSION")]
    pub tls_min: Option<String>,
    /// Highest version: 1.2 or 1.3 [default: 1.3]
    #[arg(long, value_name = "VERSION")]
    pub tls_max: Option<String>,
    /// Cipher suites by their IANA names
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', action = ArgAction::Append)]
    pub ciphers: Vec<String>,
    /// Do not resume TLS sessions: every handshake is a full one
    #[arg(long)]
    pub no_resumption: bool,
    /// Name to send as SNI and to verify in the certificate
    #[arg(long, value_name = "NAME")]
    pub sni: Option<String>,
    /// Protocols to offer by ALPN, in order; '' offers none [default: http/1.1]
    #[arg(long, value_name = "NAME,…")]
    pub alpn: Option<String>,
}

/// How the generator runs.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Generator")]
pub struct GeneratorArgs {
    /// Engine threads [default: the number of CPUs minus one]
    #[arg(short = 't', long, value_name = "N", allow_hyphen_values = true, value_parser = quantity)]
    pub threads: Option<String>,
    /// CPUs to run on, e.g. 0,2-3
    #[arg(long, value_name = "LIST")]
    pub cpus: Option<String>,
    /// Busy-wait just before a due time: auto, never or always [default: auto]
    #[arg(long, value_name = "WHEN")]
    pub spin: Option<String>,
    /// Priority of threads that spin: auto, normal or real-time [default: auto]
    #[arg(long, value_name = "WHICH")]
    pub priority: Option<String>,
    /// Socket I/O: epoll, uring, or auto, which means epoll [default: auto]
    #[arg(long, value_name = "WAY")]
    pub io: Option<String>,
}

/// A target that is neither a URL nor a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoSuchTarget {
    typed: String,
    meant: Option<String>,
}

impl std::fmt::Display for NoSuchTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.typed == "-" {
            return f.write_str(
                "URLs are read more than once, so they cannot come from standard input: save them to a file",
            );
        }
        write!(f, "'{}' is neither a URL (http://…) nor a file", self.typed)?;
        self.meant.iter().try_for_each(|url| write!(f, "; did you mean {url} ?"))
    }
}

impl std::error::Error for NoSuchTarget {}

impl HttpArgs {
    /// Everything that was typed, as a plan still to be resolved.
    pub fn plan_file(&self) -> Result<PlanFile, NoSuchTarget> {
        let mut file = PlanFile::default();
        self.target(&mut file)?;
        self.load.fill(&mut file);
        self.stop.fill(&mut file);
        self.request.fill(&mut file);
        self.connection.fill(&mut file);
        self.tls.fill(&mut file);
        self.names.fill(&mut file);
        self.generator.fill(&mut file);
        self.limits.fill(&mut file);
        Ok(file)
    }

    /// Whatever has `://` is a URL; the rest must be there as a file.
    fn target(&self, file: &mut PlanFile) -> Result<(), NoSuchTarget> {
        let typed = &self.target;
        if typed.contains("://") && !Path::new(typed).is_file() {
            file.url = Some(typed.clone());
        } else if Path::new(typed).exists() {
            file.file = Some(typed.clone());
        } else {
            return Err(NoSuchTarget { typed: typed.clone(), meant: url_meant(typed) });
        }
        Ok(())
    }
}

/// The URL that `localhost:8080` or `example.org/path` stands for; nothing for what looks like a file.
fn url_meant(typed: &str) -> Option<String> {
    let url = format!("http://{typed}");
    let parsed = plan::TargetUrl::parse(&url).ok()?;
    let extension = Path::new(typed).extension().and_then(|extension| extension.to_str());
    let is_file_name =
        matches!(extension, Some("txt" | "json" | "jsonl" | "ndjson" | "toml" | "urls" | "csv"));
    let looks_like_host = parsed.host == "localhost" || parsed.host.contains('.') || typed.contains(':');
    if !looks_like_host || is_file_name {
        return None;
    }
    let has_path = typed.contains(['/', '?']);
    Some(if has_path { url } else { format!("{url}/") })
}

impl LoadArgs {
    fn fill(&self, file: &mut PlanFile) {
        file.order.clone_from(&self.order);
        file.seed = typed(&self.seed);
        file.load.parallel = typed(&self.parallel);
        file.load.rate = typed(&self.rate);
        file.load.poisson = self.poisson.then_some(true);
        file.load.ramp.clone_from(&self.ramp);
        file.load.step.clone_from(&self.step);
        file.load.stages.clone_from(&self.stages);
        file.load.sine.clone_from(&self.sine);
        file.load.burst.clone_from(&self.burst);
        file.load.at.clone_from(&self.at);
        file.load.jitter = typed(&self.jitter);
    }
}

impl StopArgs {
    fn fill(&self, file: &mut PlanFile) {
        file.stop.duration = typed(&self.duration);
        file.stop.requests = typed(&self.requests);
        file.stop.grace = typed(&self.grace);
        file.stop.warmup = typed(&self.warmup);
    }
}

impl RequestArgs {
    fn fill(&self, file: &mut PlanFile) {
        let request = &mut file.request;
        request.method.clone_from(&self.method);
        let headers: Vec<HeaderTyped> = self.headers.iter().cloned().map(HeaderTyped::Line).collect();
        request.headers = (!headers.is_empty()).then_some(HeaderList(headers));
        match self.body.as_deref().map(|body| (body, body.strip_prefix('@'))) {
            // As curl's.
            Some((_, Some("-"))) => request.body_file = Some("/dev/stdin".to_owned()),
            Some((_, Some(path))) => request.body_file = Some(path.to_owned()),
            Some((text, None)) => request.body = Some(text.to_owned()),
            None => {}
        }
        request.body_stream.clone_from(&self.body_stream);
        request.user.clone_from(&self.user);
        request.host.clone_from(&self.host);
        request.http = typed(&self.http);
        request.expect_continue = self.expect_continue.then_some(true);
        request.follow = typed(&self.follow);
        request.timeout = typed(&self.timeout);
        request.idle_timeout = self.idle_timeout.then_some(true);
        request.same_checksum = self.same_checksum.then_some(true);
        request.templates = self.no_templates.then_some(false);
        let expect = self.expect();
        request.expect = (expect != ExpectFile::default()).then_some(expect);
    }

    fn expect(&self) -> ExpectFile {
        let status = list(&self.expect_status)
            .map(|codes| TypedList(codes.iter().map(|code| Typed::from(code.as_str())).collect()));
        ExpectFile {
            status,
            body_contains: self.expect_body.clone(),
            md5: self.expect_md5.clone(),
            sha256: self.expect_sha256.clone(),
        }
    }
}

impl ConnectionArgs {
    fn fill(&self, file: &mut PlanFile) {
        let connection = &mut file.connection;
        connection.keep_alive = self.no_keep_alive.then_some(false);
        connection.requests_per_connection = typed(&self.requests_per_connection);
        connection.close.clone_from(&self.close);
        connection.pipeline = typed(&self.pipeline);
        connection.ramp_connections = typed(&self.ramp_connections);
        connection.max_open = typed(&self.max_open);
        connection.open_all = switched(self.open_all, true);
        connection.source_ips = list(&self.source_ips);
        connection.proxy.clone_from(&self.proxy);
        connection.unix.clone_from(&self.unix);
        connection.via.clone_from(&self.via);
        connection.via_path.clone_from(&self.via_path);
        connection.share_address = self.share_address.then_some(true);
        connection.no_delay = self.nagle.then_some(false);
        connection.throttle = typed(&self.throttle);
    }
}

impl TlsArgs {
    fn fill(&self, file: &mut PlanFile) {
        let tls = &mut file.tls;
        tls.ca.clone_from(&self.ca);
        tls.cert.clone_from(&self.cert);
        tls.key.clone_from(&self.key);
        tls.insecure = self.insecure.then_some(true);
        tls.min = typed(&self.tls_min);
        tls.max = typed(&self.tls_max);
        tls.ciphers = list(&self.ciphers);
        tls.resumption = self.no_resumption.then_some(false);
        tls.server_name.clone_from(&self.sni);
        let protocols =
            |text: &str| text.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        tls.alpn = self.alpn.as_deref().map(protocols);
    }
}

impl GeneratorArgs {
    fn fill(&self, file: &mut PlanFile) {
        file.engine.threads = typed(&self.threads);
        file.engine.cpus = typed(&self.cpus);
        file.engine.spin.clone_from(&self.spin);
        file.engine.priority.clone_from(&self.priority);
        file.engine.io.clone_from(&self.io);
    }
}

#[cfg(test)]
mod tests;
