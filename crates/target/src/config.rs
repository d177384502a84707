//! What the target is told to do: plain data, from flags, TOML or code.
//!
//! ```toml
//! listen = ["127.0.0.1:8080"]
//! delay = "lognormal:5ms,0.5"
//! size = 600
//! stall = [{ at = "3s", for = "1s" }]
//! [faults]
//! errors = [{ status = 503, share = "5%" }]
//! [tls]
//! write_cert = "ca.pem"
//! ```

use crate::distribution::Distribution;
use crate::text;
use os::clash::Written;
use serde::Deserialize;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use units::{Bytes, Count, Fraction, ParseError, Picos, Rate};

/// Longest delay that can be programmed.
pub(crate) const LONGEST_DELAY: Picos = Picos::from_secs(3_600);
/// Largest body that can be programmed: 1 TiB.
pub(crate) const LARGEST_BODY: Bytes = Bytes::new(1 << 40);

/// Everything about a target. `Default` is a plain one on a free port of 127.0.0.1 that answers every
/// request at once with 600 bytes.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TargetConfig {
    /// Where it listens; port 0 takes a free one.
    pub listen: Vec<SocketAddr>,
    /// Listens on this Unix socket as well; a stale socket file is replaced.
    pub unix: Option<PathBuf>,
    /// Threads that serve, each with a listener of its own (SO_REUSEPORT).
    #[serde(deserialize_with = "text::one")]
    pub workers: Count,
    /// Worker i runs on the (i mod n)-th of these CPUs; empty leaves it to the kernel.
    pub cpus: Vec<u32>,
    /// Length of the listen queue.
    pub backlog: u32,
    /// Poll without sleeping: costs a CPU for each worker, and stamps and delays are exact to a microsecond.
    pub spin: bool,
    /// Seed of every random choice; with one worker the n-th request always draws the same.
    pub seed: u64,

    /// Time from a request being complete to the first byte of its answer.
    #[serde(deserialize_with = "text::one")]
    pub delay: Distribution<Picos>,
    /// Size of an answer's body.
    #[serde(deserialize_with = "text::one")]
    pub size: Distribution<Bytes>,
    /// Repeated to fill a body, instead of the target's own pattern.
    pub body: Option<String>,
    /// 200 to 999.
    pub status: u16,
    /// Chunked answers, in chunks of this size.
    #[serde(deserialize_with = "text::option")]
    pub chunk: Option<Bytes>,
    /// Writes each answer, head included, in pieces of this size…
    #[serde(deserialize_with = "text::option")]
    pub trickle: Option<Bytes>,
    /// …with this long between them.
    #[serde(deserialize_with = "text::one")]
    pub trickle_gap: Picos,
    /// Requests served a second; the rest wait in order of arrival.
    #[serde(deserialize_with = "text::option")]
    pub rate: Option<Rate>,
    /// The n-th answer of a connection is its last, and says so.
    #[serde(deserialize_with = "text::option")]
    pub close_after: Option<Count>,
    /// With `close_after`: the connection is closed without a word in the answer.
    pub close_quietly: bool,
    /// `user:password` of basic authentication; others get 401.
    pub require_auth: Option<String>,
    /// Acts as a forward proxy: CONNECT tunnels to loopback addresses, absolute-form is answered itself.
    pub proxy: bool,
    pub faults: Faults,

    /// Times at which nothing is accepted, read or answered, as if the process were stopped.
    pub stall: Vec<Window>,
    /// What `stall`, `stop_listening` and `die` are counted from.
    pub origin: Origin,
    /// A connection is served only this long after it was accepted.
    #[serde(deserialize_with = "text::one")]
    pub accept_delay: Picos,
    /// Listeners close after this many connections.
    #[serde(deserialize_with = "text::option")]
    pub refuse_after: Option<Count>,
    /// Listeners close at this time; open connections go on.
    #[serde(deserialize_with = "text::option")]
    pub stop_listening: Option<Picos>,
    /// Listeners close and every connection is reset at this time, as if the process were killed.
    #[serde(deserialize_with = "text::option")]
    pub die: Option<Picos>,

    /// Answers over TLS; absent is plain.
    pub tls: Option<Tls>,

    /// Where the truth goes.
    pub truth: TruthConfig,
    /// Ends by itself after this long.
    #[serde(deserialize_with = "text::option")]
    pub duration: Option<Picos>,
    /// Written with the port (or the ports, one a line) when ready.
    pub port_file: Option<PathBuf>,
}

impl Default for TargetConfig {
    fn default() -> Self {
        Self {
            listen: vec![SocketAddr::from(([127, 0, 0, 1], 0))],
            unix: None,
            workers: Count::new(1),
            cpus: Vec::new(),
            backlog: 4_096,
            spin: false,
            seed: 1,
            delay: Distribution::Fixed(Picos::ZERO),
            size: Distribution::Fixed(Bytes::new(600)),
            body: None,
            status: 200,
            chunk: None,
            trickle: None,
            trickle_gap: Picos::ZERO,
            rate: None,
            close_after: None,
            close_quietly: false,
            require_auth: None,
            proxy: false,
            faults: Faults::default(),
            stall: Vec::new(),
            origin: Origin::FirstRequest,
            accept_delay: Picos::ZERO,
            refuse_after: None,
            stop_listening: None,
            die: None,
            tls: None,
            truth: TruthConfig::default(),
            duration: None,
            port_file: None,
        }
    }
}

/// Shares of the requests that go wrong; together at most all of them. Each request has one fate at most.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Faults {
    /// Answered with another status.
    pub errors: Vec<ErrorShare>,
    /// Reset instead of answered.
    #[serde(deserialize_with = "text::one")]
    pub reset: Fraction,
    /// Reset in the middle of the body.
    #[serde(deserialize_with = "text::one")]
    pub reset_mid: Fraction,
    /// Half of the promised body, then closed.
    #[serde(deserialize_with = "text::one")]
    pub half: Fraction,
    /// Never answered; the connection stays open.
    #[serde(deserialize_with = "text::one")]
    pub silent: Fraction,
    /// Answered with bytes that are not HTTP, or framed wrongly, then closed.
    #[serde(deserialize_with = "text::one")]
    pub garbage: Fraction,
}

/// `share` of the requests is answered with `status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorShare {
    pub status: u16,
    #[serde(deserialize_with = "text::one")]
    pub share: Fraction,
}

/// From `at`, for so long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Window {
    #[serde(deserialize_with = "text::one")]
    pub at: Picos,
    #[serde(rename = "for", deserialize_with = "text::one")]
    pub length: Picos,
}

/// `503=5%`.
impl FromStr for ErrorShare {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let wrong = |problem| ParseError { input: text.to_owned(), problem, expected: "503=5%" };
        let (status, share) = text.split_once('=').ok_or_else(|| wrong("has no '='"))?;
        let status = status.parse().map_err(|_| wrong("does not begin with a status code"))?;
        Ok(Self { status, share: share.parse()? })
    }
}

/// `3s,1s`: at 3 s, for 1 s.
impl FromStr for Window {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let wrong = |problem| ParseError { input: text.to_owned(), problem, expected: "3s,1s (at, for)" };
        let (at, length) = text.split_once(',').ok_or_else(|| wrong("has no comma"))?;
        Ok(Self { at: at.parse()?, length: length.parse()? })
    }
}

/// Where programmed times are counted from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// The arrival of the first request.
    #[default]
    FirstRequest,
    /// The target being ready.
    Start,
}

/// TLS of the target.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tls {
    /// Certificate chain (PEM); without one the target makes an authority and a certificate of its own.
    pub cert: Option<PathBuf>,
    /// Private key (PEM) of `cert`.
    pub key: Option<PathBuf>,
    /// Writes the PEM that a client must trust.
    pub write_cert: Option<PathBuf>,
    /// Clients must show a certificate of this authority (PEM).
    pub client_ca: Option<PathBuf>,
    /// Session tickets: whether a client may resume.
    pub tickets: bool,
    pub versions: TlsVersions,
    /// This share of the handshakes…
    #[serde(deserialize_with = "text::one")]
    pub slow_share: Fraction,
    /// …is answered only after so long.
    #[serde(deserialize_with = "text::one")]
    pub slow_delay: Picos,
}

impl Default for Tls {
    fn default() -> Self {
        Self {
            cert: None,
            key: None,
            write_cert: None,
            client_ca: None,
            tickets: true,
            versions: TlsVersions::Both,
            slow_share: Fraction::ONE,
            slow_delay: Picos::ZERO,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum TlsVersions {
    #[default]
    #[serde(rename = "1.2+")]
    Both,
    #[serde(rename = "1.2")]
    Only12,
    #[serde(rename = "1.3")]
    Only13,
}

/// What is written down.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TruthConfig {
    /// CSV with one line for each request.
    pub records: Option<PathBuf>,
    /// The summary as JSON.
    pub summary: Option<PathBuf>,
    /// The rate that arrivals are compared with.
    #[serde(deserialize_with = "text::option")]
    pub expected_rate: Option<Rate>,
    /// Nothing is stamped or kept: only counted.
    pub off: bool,
}

impl TargetConfig {
    /// Files that it is read from, as far as it names them.
    pub fn files_read(&self) -> Vec<PathBuf> {
        let tls = self.tls.iter().flat_map(|tls| [&tls.cert, &tls.key, &tls.client_ca]).flatten();
        let recorded = [self.delay.file(), self.size.file()].into_iter().flatten();
        tls.cloned().chain(recorded.map(PathBuf::from)).collect()
    }

    /// Files that are written, and the flags that name them.
    pub fn files_written(&self) -> Vec<Written> {
        let certificate = self.tls.as_ref().and_then(|tls| tls.write_cert.as_ref());
        let files = [
            ("--tls-write-cert", certificate),
            ("--port-file", self.port_file.as_ref()),
            ("--truth", self.truth.records.as_ref()),
            ("--summary", self.truth.summary.as_ref()),
        ];
        files.into_iter().filter_map(|(flag, file)| Some((flag.to_owned(), file?.clone()))).collect()
    }
}

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("{0}")]
    Toml(String),
    #[error("nothing to listen on: give an address or a Unix socket")]
    NowhereToListen,
    #[error("workers must be 1 to 256, not {0}")]
    Workers(Count),
    #[error("status {0} is not one of 200 to 999")]
    Status(u16),
    #[error("{what} must not be zero")]
    Zero { what: &'static str },
    #[error("the shares of faults add up to {0:.4} %, more than all requests")]
    Shares(f64),
    #[error("{what} must be given with {with}")]
    Together { what: &'static str, with: &'static str },
    #[error("require_auth must be user:password")]
    Auth,
}

impl TargetConfig {
    /// Reads a TOML file's text. A misspelt key is named with its line.
    pub fn from_toml(text: &str) -> Result<Self, ConfigError> {
        toml::from_str(text).map_err(|error| ConfigError::Toml(error.to_string()))
    }

    /// Everything that types cannot say.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        if self.listen.is_empty() && self.unix.is_none() {
            return Err(ConfigError::NowhereToListen);
        }
        if !(1..=256).contains(&self.workers.get()) {
            return Err(ConfigError::Workers(self.workers));
        }
        let statuses = self.faults.errors.iter().map(|e| e.status).chain([self.status]);
        if let Some(status) = statuses.into_iter().find(|s| !(200..=999).contains(s)) {
            return Err(ConfigError::Status(status));
        }
        let zero = |bytes: Option<Bytes>| bytes.is_some_and(|b| b.get() == 0);
        let zeros = [
            ("chunk", zero(self.chunk)),
            ("trickle", zero(self.trickle)),
            ("close_after", self.close_after == Some(Count::new(0))),
            ("body", self.body.as_ref().is_some_and(String::is_empty)),
            ("backlog", self.backlog == 0),
        ];
        if let Some((what, _)) = zeros.into_iter().find(|(_, zero)| *zero) {
            return Err(ConfigError::Zero { what });
        }
        let total = self.faults.total_millionths();
        if total > u64::from(Fraction::ONE.millionths()) {
            return Err(ConfigError::Shares(total as f64 / 1e4));
        }
        if self.require_auth.as_ref().is_some_and(|auth| !auth.contains(':')) {
            return Err(ConfigError::Auth);
        }
        match &self.tls {
            Some(Tls { cert: Some(_), key: None, .. }) => {
                Err(ConfigError::Together { what: "tls.key", with: "tls.cert" })
            }
            Some(Tls { cert: None, key: Some(_), .. }) => {
                Err(ConfigError::Together { what: "tls.cert", with: "tls.key" })
            }
            _ => Ok(()),
        }
    }
}

impl Faults {
    pub(crate) fn total_millionths(&self) -> u64 {
        let named = [self.reset, self.reset_mid, self.half, self.silent, self.garbage];
        let errors = self.errors.iter().map(|e| e.share);
        named.into_iter().chain(errors).map(|share| u64::from(share.millionths())).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_what_flags_say() {
        let config = TargetConfig::from_toml(
            r#"
            listen = ["[::1]:0"]
            delay = "uniform:1ms,5ms"
            size = 1024
            rate = "20k"
            stall = [{ at = "3s", for = "1s" }]
            [faults]
            errors = [{ status = 503, share = "5%" }]
            half = 0.01
            [tls]
            versions = "1.3"
            [truth]
            expected_rate = "400/s"
            "#,
        )
        .unwrap();
        assert_eq!(config.delay.to_string(), "uniform:1ms,5ms");
        assert_eq!(config.size.to_string(), "1KiB");
        assert_eq!(config.stall, [Window { at: Picos::from_secs(3), length: Picos::from_secs(1) }]);
        assert_eq!(config.faults.errors[0].share.millionths(), 50_000);
        assert_eq!(config.faults.half.millionths(), 10_000);
        assert_eq!(config.tls.as_ref().unwrap().versions, TlsVersions::Only13);
        config.check().unwrap();
        assert_eq!("3s,1s".parse::<Window>().unwrap(), config.stall[0]);
        assert_eq!("503=5%".parse::<ErrorShare>().unwrap(), config.faults.errors[0]);
        assert!("503".parse::<ErrorShare>().is_err() && "3s".parse::<Window>().is_err());
    }

    #[test]
    fn wrong_files_are_told_where() {
        let misspelt = TargetConfig::from_toml("seed = 3\ndelya = \"5ms\"\n").unwrap_err().to_string();
        assert!(misspelt.contains("delya") && misspelt.contains("line 2"), "{misspelt}");
        let unit = TargetConfig::from_toml("delay = \"5parsecs\"\n").unwrap_err().to_string();
        assert!(unit.contains("5parsecs") && unit.contains("unknown unit"), "{unit}");
    }

    #[test]
    fn contradictions_are_refused() {
        let check = |text: &str| TargetConfig::from_toml(text).unwrap().check().unwrap_err().to_string();
        assert!(check("faults = { reset = \"60%\", half = \"50%\" }").contains("110"));
        assert!(check("status = 99").contains("99"));
        assert!(check("listen = []").contains("listen"));
        assert!(check("trickle = 0").contains("trickle"));
        assert!(check("tls = { cert = \"a.pem\" }").contains("tls.key"));
    }
}
