//! The plan itself: plain data, with no value in it that could be invalid.

use crate::limits::Limits;
use std::net::IpAddr;
use std::path::PathBuf;
use units::{Bytes, Count, Fraction, Picos, Priority, Rate};

/// Everything that a run is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    pub load: Load,
    pub stop: Stop,
    pub source: RequestSource,
    pub request: RequestPlan,
    pub connection: ConnectionPlan,
    pub tls: TlsPlan,
    pub resolve: ResolvePlan,
    pub engine: EnginePlan,
    /// Seed of every random choice: same plan and same seed, same sequence of requests.
    pub seed: u64,
    /// What the load is judged by; no part of it, nor of the hash.
    pub limits: Limits,
}

/// When requests are due.
#[derive(Clone, Debug, PartialEq)]
pub enum Load {
    /// `connections` each send a request as soon as the answer to the last is complete.
    Closed { connections: u32 },
    /// Requests are due at times of their own, whatever the target does. `connections` is the most that
    /// may be open at once; `None` leaves it to `ConnectionPlan::max_open`.
    Open { arrivals: Arrivals, connections: Option<u32> },
}

impl Load {
    /// Whether the load has an end of its own, whatever the plan says about its length.
    pub const fn ends_by_itself(&self) -> bool {
        matches!(self, Self::Open { arrivals: Arrivals { shape: Shape::Stages(_) | Shape::At(_), .. }, .. })
    }

    /// The most connections that may be open, given the plan's bound for loads that have none.
    pub const fn most_connections(&self, max_open: u32) -> u32 {
        match self {
            Self::Closed { connections } | Self::Open { connections: Some(connections), .. } => *connections,
            Self::Open { connections: None, .. } => max_open,
        }
    }
}

/// Due times of an open loop.
#[derive(Clone, Debug, PartialEq)]
pub struct Arrivals {
    pub shape: Shape,
    /// Each due time moves by up to ± this share of the gap, evenly distributed (http_load's `-jitter`: 10 %).
    pub jitter: Fraction,
}

/// The shape of the offered rate over time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Even gaps.
    Constant(Rate),
    /// Exponential gaps with this mean rate.
    Poisson(Rate),
    /// From one rate to another in a straight line over `over`, then stays there.
    Ramp { from: Rate, to: Rate, over: Picos },
    /// Starts at `from`, adds `by` after each `every`, until `to`.
    Step { from: Rate, by: Rate, every: Picos, to: Rate },
    /// One after another: from the last stage's target (or the first's) to `to`, in a straight line over
    /// `over`; equal rates make a plateau. Ends with the last stage.
    Stages(Vec<Stage>),
    /// `mean + amplitude · sin(2π t / period)`; the amplitude is at most the mean.
    Sine { mean: Rate, amplitude: Rate, period: Picos },
    /// `size` at once, each `every`.
    Burst { size: Count, every: Picos },
    /// Recorded times: a file with one offset in seconds a line, not descending.
    At(PathBuf),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    /// `None` means a rate of zero.
    pub to: Option<Rate>,
    pub over: Picos,
}

/// When a run ends: the first that holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stop {
    /// Length of the measured part, after the warm-up.
    pub duration: Option<Picos>,
    /// Departures in the measured part.
    pub requests: Option<Count>,
    /// After the last departure, how long stragglers may take before they are cut off.
    pub grace: Picos,
    /// This first part is sent but is not in the figures.
    pub warmup: Picos,
}

/// Where requests come from.
#[derive(Clone, Debug, PartialEq)]
pub enum RequestSource {
    /// One URL for all.
    Url(String),
    /// A file with one URL a line, or one JSON object a line (`{"url":…}`); the kind is seen from the first
    /// line.
    File { path: PathBuf, order: LineOrder },
    /// Requests that stand in the plan itself.
    Inline { requests: Vec<RequestLine>, order: LineOrder },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineOrder {
    /// Each draw is uniform over the lines (by weight where weights are given).
    Random,
    /// Top to bottom, then again.
    Sequential,
    /// Every line once in a seeded random order, then again in another.
    Shuffle,
}

/// One request as written in a JSON line or in `[[requests]]`. Absent parts come from `RequestPlan`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestLine {
    pub url: String,
    pub method: Option<String>,
    pub headers: Vec<(String, String)>,
    pub body: Option<String>,
    /// Its own row in the results.
    pub name: Option<String>,
    /// Relative to the other lines with `Order::Random`; 1 if absent.
    pub weight: Option<u32>,
    pub expect: Option<Expect>,
}

/// What is the same for every request unless its line says otherwise.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestPlan {
    /// An RFC 9110 token.
    pub method: String,
    /// In order; a name given twice is sent twice. Valid field names and values.
    pub headers: Vec<(String, String)>,
    pub body: Body,
    pub version: HttpVersion,
    /// `user:password`, sent as basic auth.
    pub basic_auth: Option<String>,
    /// Replaces the Host that follows from the URL.
    pub host: Option<String>,
    /// Send `Expect: 100-continue` with bodies, and wait up to one second for the 100.
    pub expect_continue: bool,
    /// Redirects that are followed; 0 takes the 3xx as the answer.
    pub follow: u32,
    /// What counts as an acceptable answer.
    pub expect: Expect,
    /// Whether `{…}` in URL, headers and body are templates.
    pub templates: bool,
    /// A request that has no answer by then has failed.
    pub timeout: Picos,
    /// The time-out starts again with every byte that arrives (http_load's `-timeout`).
    pub idle_timeout: bool,
    /// Remember each URL's first body (MD5) and compare later ones (http_load's `-checksum`).
    pub same_checksum: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    None,
    Inline(String),
    /// Read once, sent with its length.
    File(PathBuf),
    /// Read piece by piece while it is sent, with chunked transfer coding.
    Streamed(PathBuf),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpVersion {
    Http10,
    Http11,
}

/// What an answer must be; anything else is an outcome of its own (`expect.*`).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expect {
    /// Inclusive ranges; empty accepts any.
    pub status: Vec<(u16, u16)>,
    pub body_contains: Option<String>,
    pub digest: Option<Digest>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Digest {
    Md5([u8; 16]),
    Sha256([u8; 32]),
}

/// Which way requests go over a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ViaPath {
    /// The fast one, if it can carry the plan.
    #[default]
    Auto,
    General,
    Fast,
}

/// Who ends a connection that carries nothing more, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Close {
    /// This end, in order.
    #[default]
    Fin,
    /// This end, by a reset.
    Rst,
    /// The target, which was asked to (`Connection: close`) and is waited for.
    Server,
}

impl Close {
    pub const ALL: [Self; 3] = [Self::Fin, Self::Rst, Self::Server];

    /// As it is typed.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Fin => "fin",
            Self::Rst => "rst",
            Self::Server => "server",
        }
    }
}

/// How connections live.
#[derive(Clone, Debug, PartialEq)]
pub struct ConnectionPlan {
    pub keep_alive: bool,
    /// A connection is closed after this many.
    pub requests_per_connection: Option<u32>,
    pub close: Close,
    /// Requests that may be on their way on one connection at once; 1 is no pipelining.
    pub pipeline: u32,
    /// New connections open no faster than this.
    pub ramp: Option<Rate>,
    /// Bound for an open loop without `--parallel`.
    pub max_open: u32,
    /// As many are opened as may be before any is used again; of a closed loop always so.
    pub open_all: bool,
    /// Local addresses, used in turn.
    pub source_ips: Vec<IpAddr>,
    /// `host:port` of an HTTP proxy: absolute-form for http, CONNECT for https.
    pub proxy: Option<(String, u16)>,
    /// `user:password` for the proxy, as its URL has it: percent-encoded.
    pub proxy_login: Option<String>,
    /// Connect here whatever the URL says.
    pub unix: Option<PathBuf>,
    /// Past the kernel: a port, and addresses of our own there, as crate `station` reads them.
    pub via: Option<String>,
    pub via_path: ViaPath,
    /// The addresses of `via` are this host's, too.
    pub share_address: bool,
    pub no_delay: bool,
    /// Most bytes a second read from one connection (http_load's `-throttle`: 3 360).
    pub throttle: Option<Bytes>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TlsPlan {
    /// Extra trusted authorities (PEM); the host's own store is used as well.
    pub ca: Option<PathBuf>,
    /// Client certificate chain and key (PEM).
    pub client: Option<(PathBuf, PathBuf)>,
    /// Accept any certificate.
    pub insecure: bool,
    pub min_version: TlsVersion,
    pub max_version: TlsVersion,
    /// IANA names (`TLS_AES_128_GCM_SHA256`), as rustls knows them; empty is rustls' own choice.
    pub ciphers: Vec<String>,
    /// Resume sessions (tickets); off makes every handshake a full one.
    pub resumption: bool,
    /// Overrides the name sent as SNI and checked in the certificate.
    pub server_name: Option<String>,
    /// Protocols offered by ALPN, in order; empty sends none.
    pub alpn: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TlsVersion {
    Tls12,
    Tls13,
}

/// How names become addresses.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvePlan {
    /// `--resolve host:port:addr`: taken instead of asking; several addresses for one name are used in turn.
    pub fixed: Vec<(String, u16, IpAddr)>,
    pub family: Family,
    /// Ask again after this long; `None` asks once.
    pub every: Option<Picos>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    Any,
    Ipv4,
    Ipv6,
}

/// How the generator itself runs.
#[derive(Clone, Debug, PartialEq)]
pub struct EnginePlan {
    /// `None`: one for each CPU it may use, less one for the rest of the machine, at least one.
    pub threads: Option<u32>,
    /// Thread i runs on the (i mod n)-th of these; empty leaves it to the kernel.
    pub cpus: Vec<u32>,
    pub spin: Spin,
    /// Of threads that wait for due times.
    pub priority: Priority,
    pub io: IoChoice,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spin {
    /// Spin the last stretch towards a due time where a CPU can be spared for it.
    Auto,
    Never,
    Always,
}

impl Spin {
    pub const ALL: [Self; 3] = [Self::Auto, Self::Never, Self::Always];

    /// As it is typed.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Never => "never",
            Self::Always => "always",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoChoice {
    Auto,
    Epoll,
    IoUring,
}
