//! `tare target`: flags → `lab::target::TargetConfig`. A file given with `--config` comes first, flags override it.

use crate::status::Failure;
use crate::terminal::print_all;
use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use lab::target::{self, Distribution, ErrorShare, Origin, TargetConfig, Tls, TlsVersions, Window};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use units::{Bytes, Count, Fraction, Picos, Rate};

const EXAMPLES: &str = "\
Examples:
  tare target                                        a free port of 127.0.0.1, 600 bytes at once
  tare target --listen 8080 --delay lognormal:5ms,0.5 --size uniform:200,4KiB
  tare target --listen 8080 --stall 3s,1s --truth truth.csv --expect-rate 2000
  tare target --tls --tls-write-cert ca.pem --error 503=5% --reset 0.1%
  curl 'http://127.0.0.1:8080/?delay=20ms&size=1MB&status=404'

Distributions: 5ms, uniform:1ms,5ms, exponential:5ms, lognormal:MEDIAN,SIGMA, file:PATH, file-random:PATH.
A request's query overrides: delay size status chunked chunk trickle gap close seq, and
fault=reset|reset-mid|half|silent|garbage. Paths with a meaning: /echo, /redirect/N, /.tare/stats, /.tare/reset.";

/// Serve HTTP with a programmed behaviour, and write down what really happened
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct TargetArgs {
    /// Settings from a TOML file; flags override it
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// End after this long
    #[arg(long = "for", value_name = "DURATION")]
    duration: Option<Picos>,
    /// Seed of every random choice
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Address to listen on; a bare port is one of 127.0.0.1, port 0 is a free one (repeatable)
    #[arg(long, value_name = "ADDR", value_parser = address, help_heading = "Where")]
    listen: Vec<SocketAddr>,
    /// Listen on a Unix socket (alone, unless --listen is given too)
    #[arg(long, value_name = "PATH", help_heading = "Where")]
    unix: Option<PathBuf>,
    /// Write the port here when ready
    #[arg(long, value_name = "FILE", help_heading = "Where")]
    port_file: Option<PathBuf>,
    /// Threads that serve
    #[arg(long, value_name = "N", help_heading = "Where")]
    workers: Option<Count>,
    /// Pin workers to these CPUs in turn
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Where")]
    cpus: Vec<u32>,
    /// Length of the listen queue
    #[arg(long, value_name = "N", help_heading = "Where")]
    backlog: Option<u32>,
    /// Poll without sleeping: a CPU for each worker, stamps and delays exact to a microsecond
    #[arg(long, help_heading = "Where")]
    spin: bool,

    /// Time from a complete request to the first byte of its answer
    #[arg(long, value_name = "DIST", help_heading = "Answers")]
    delay: Option<Distribution<Picos>>,
    /// Size of the body
    #[arg(long, value_name = "DIST", help_heading = "Answers")]
    size: Option<Distribution<Bytes>>,
    /// Text repeated to fill the body
    #[arg(long, value_name = "TEXT", help_heading = "Answers")]
    body: Option<String>,
    /// Status code
    #[arg(long, value_name = "CODE", help_heading = "Answers")]
    status: Option<u16>,
    /// Chunked answers, in chunks of this size
    #[arg(long, value_name = "SIZE", help_heading = "Answers")]
    chunk: Option<Bytes>,
    /// Write answers in pieces of this size
    #[arg(long, value_name = "SIZE", help_heading = "Answers")]
    trickle: Option<Bytes>,
    /// Time between trickled pieces
    #[arg(long, value_name = "DURATION", help_heading = "Answers")]
    trickle_gap: Option<Picos>,
    /// Serve this many requests a second; the rest wait in order
    #[arg(long, value_name = "RATE", help_heading = "Answers")]
    rate: Option<Rate>,
    /// Close a connection after this many answers
    #[arg(long, value_name = "N", help_heading = "Answers")]
    close_after: Option<Count>,
    /// Close without saying so in the last answer
    #[arg(long, requires = "close_after", help_heading = "Answers")]
    close_quietly: bool,
    /// Answer 401 without this basic authentication
    #[arg(long, value_name = "USER:PASSWORD", help_heading = "Answers")]
    require_auth: Option<String>,
    /// Be a forward proxy: CONNECT (to loopback only) and absolute-form
    #[arg(long, help_heading = "Answers")]
    proxy_mode: bool,

    /// Answer this share with another status (repeatable)
    #[arg(long, value_name = "CODE=SHARE", help_heading = "Faults, by share of the requests")]
    error: Vec<ErrorShare>,
    /// Reset instead of an answer
    #[arg(long, value_name = "SHARE", help_heading = "Faults, by share of the requests")]
    reset: Option<Fraction>,
    /// Reset in the middle of the body
    #[arg(long, value_name = "SHARE", help_heading = "Faults, by share of the requests")]
    reset_mid: Option<Fraction>,
    /// Half of the promised body, then close
    #[arg(long, value_name = "SHARE", help_heading = "Faults, by share of the requests")]
    half: Option<Fraction>,
    /// Never answer
    #[arg(long, value_name = "SHARE", help_heading = "Faults, by share of the requests")]
    silent: Option<Fraction>,
    /// Answer with bad framing, then close
    #[arg(long, value_name = "SHARE", help_heading = "Faults, by share of the requests")]
    garbage: Option<Fraction>,

    /// Accept, read and answer nothing from AT, for so long (repeatable)
    #[arg(long, value_name = "AT,FOR", help_heading = "Programmed times")]
    stall: Vec<Window>,
    /// What programmed times count from
    #[arg(long, value_name = "WHAT", help_heading = "Programmed times")]
    origin: Option<OriginArg>,
    /// Serve a connection only this long after it was accepted
    #[arg(long, value_name = "DURATION", help_heading = "Programmed times")]
    accept_delay: Option<Picos>,
    /// Stop listening after this many connections
    #[arg(long, value_name = "N", help_heading = "Programmed times")]
    refuse_after: Option<Count>,
    /// Stop listening at this time; open connections go on
    #[arg(long, value_name = "AT", help_heading = "Programmed times")]
    stop_listening: Option<Picos>,
    /// Stop listening and reset every connection at this time
    #[arg(long, value_name = "AT", help_heading = "Programmed times")]
    die: Option<Picos>,

    /// Serve HTTPS, with a certificate made on the spot unless --cert is given
    #[arg(long, help_heading = "TLS")]
    tls: bool,
    /// Certificate chain (PEM); implies --tls
    #[arg(long, value_name = "FILE", requires = "key", help_heading = "TLS")]
    cert: Option<PathBuf>,
    /// Private key (PEM)
    #[arg(long, value_name = "FILE", requires = "cert", help_heading = "TLS")]
    key: Option<PathBuf>,
    /// Write what clients must trust (PEM); implies --tls
    #[arg(long, value_name = "FILE", conflicts_with = "cert", help_heading = "TLS")]
    tls_write_cert: Option<PathBuf>,
    /// Demand client certificates of this authority (PEM); implies --tls
    #[arg(long, value_name = "FILE", help_heading = "TLS")]
    client_ca: Option<PathBuf>,
    /// No session tickets: every handshake is a full one
    #[arg(long, help_heading = "TLS")]
    no_tickets: bool,
    /// Versions
    #[arg(long, value_name = "VERSIONS", help_heading = "TLS")]
    tls_versions: Option<VersionsArg>,
    /// Answer handshakes only after this long; implies --tls
    #[arg(long, value_name = "DURATION", help_heading = "TLS")]
    slow_handshake: Option<Picos>,
    /// The share of handshakes that is slow; all unless given
    #[arg(long, value_name = "SHARE", requires = "slow_handshake", help_heading = "TLS")]
    slow_share: Option<Fraction>,

    /// Write one CSV line for each request
    #[arg(long, value_name = "FILE", help_heading = "Truth")]
    truth: Option<PathBuf>,
    /// Write the summary as JSON
    #[arg(long, value_name = "FILE", help_heading = "Truth")]
    summary: Option<PathBuf>,
    /// Compare arrivals with this rate
    #[arg(long, value_name = "RATE", help_heading = "Truth")]
    expect_rate: Option<Rate>,
    /// Stamp nothing, only count
    #[arg(long, conflicts_with_all = ["truth", "expect_rate"], help_heading = "Truth")]
    no_truth: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum OriginArg {
    /// The first request's arrival
    FirstRequest,
    /// The target being ready
    Start,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum VersionsArg {
    #[value(name = "1.2+")]
    Both,
    #[value(name = "1.2")]
    Only12,
    #[value(name = "1.3")]
    Only13,
}

/// Serves until it is told to end, then prints what happened.
pub fn run(args: TargetArgs) -> Result<ExitCode, Failure> {
    let truth = target::run(args.into_config()?).map_err(Failure::wrong)?;
    print_all(&truth.to_text())?;
    Ok(ExitCode::SUCCESS)
}

fn address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.parse::<u16>() {
        return Ok(SocketAddr::from(([127, 0, 0, 1], port)));
    }
    text.parse().map_err(|_| "expected a port, 127.0.0.1:8080 or [::1]:8080".to_owned())
}

/// Puts a flag's value in its place, if it was given.
fn set<T>(place: &mut T, flag: Option<T>) {
    if let Some(value) = flag {
        *place = value;
    }
}

fn set_option<T>(place: &mut Option<T>, flag: Option<T>) {
    if flag.is_some() {
        *place = flag;
    }
}

fn set_list<T>(place: &mut Vec<T>, flags: Vec<T>) {
    if !flags.is_empty() {
        *place = flags;
    }
}

impl TargetArgs {
    /// The settings that file and flags make together.
    pub fn into_config(self) -> Result<TargetConfig> {
        let mut config = TargetConfig::default();
        if let Some(path) = &self.config {
            let text =
                std::fs::read_to_string(path).with_context(|| format!("--config {}", path.display()))?;
            config =
                TargetConfig::from_toml(&text).with_context(|| format!("--config {}", path.display()))?;
        }
        self.apply_tls(&mut config)?;
        if self.unix.is_some() && self.listen.is_empty() && self.config.is_none() {
            config.listen.clear();
        }
        set_list(&mut config.listen, self.listen);
        set_option(&mut config.unix, self.unix);
        set_option(&mut config.port_file, self.port_file);
        set(&mut config.workers, self.workers);
        set_list(&mut config.cpus, self.cpus);
        set(&mut config.backlog, self.backlog);
        config.spin |= self.spin;
        set(&mut config.seed, self.seed);
        set_option(&mut config.duration, self.duration);

        set(&mut config.delay, self.delay);
        set(&mut config.size, self.size);
        set_option(&mut config.body, self.body);
        set(&mut config.status, self.status);
        set_option(&mut config.chunk, self.chunk);
        set_option(&mut config.trickle, self.trickle);
        set(&mut config.trickle_gap, self.trickle_gap);
        set_option(&mut config.rate, self.rate);
        set_option(&mut config.close_after, self.close_after);
        config.close_quietly |= self.close_quietly;
        set_option(&mut config.require_auth, self.require_auth);
        config.proxy |= self.proxy_mode;

        let faults = &mut config.faults;
        set_list(&mut faults.errors, self.error);
        set(&mut faults.reset, self.reset);
        set(&mut faults.reset_mid, self.reset_mid);
        set(&mut faults.half, self.half);
        set(&mut faults.silent, self.silent);
        set(&mut faults.garbage, self.garbage);

        set_list(&mut config.stall, self.stall);
        let origin = self.origin.map(|origin| match origin {
            OriginArg::FirstRequest => Origin::FirstRequest,
            OriginArg::Start => Origin::Start,
        });
        set(&mut config.origin, origin);
        set(&mut config.accept_delay, self.accept_delay);
        set_option(&mut config.refuse_after, self.refuse_after);
        set_option(&mut config.stop_listening, self.stop_listening);
        set_option(&mut config.die, self.die);

        set_option(&mut config.truth.records, self.truth);
        set_option(&mut config.truth.summary, self.summary);
        set_option(&mut config.truth.expected_rate, self.expect_rate);
        config.truth.off |= self.no_truth;
        Ok(config)
    }

    fn apply_tls(&self, config: &mut TargetConfig) -> Result<()> {
        let asked = self.tls
            || self.cert.is_some()
            || self.tls_write_cert.is_some()
            || self.client_ca.is_some()
            || self.slow_handshake.is_some();
        if !asked && config.tls.is_none() {
            if self.no_tickets || self.tls_versions.is_some() {
                bail!("--no-tickets and --tls-versions need --tls");
            }
            return Ok(());
        }
        let tls = config.tls.get_or_insert_with(Tls::default);
        set_option(&mut tls.cert, self.cert.clone());
        set_option(&mut tls.key, self.key.clone());
        set_option(&mut tls.write_cert, self.tls_write_cert.clone());
        set_option(&mut tls.client_ca, self.client_ca.clone());
        tls.tickets &= !self.no_tickets;
        let versions = self.tls_versions.map(|versions| match versions {
            VersionsArg::Both => TlsVersions::Both,
            VersionsArg::Only12 => TlsVersions::Only12,
            VersionsArg::Only13 => TlsVersions::Only13,
        });
        set(&mut tls.versions, versions);
        set(&mut tls.slow_delay, self.slow_handshake);
        set(&mut tls.slow_share, self.slow_share);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        args: TargetArgs,
    }

    fn config(flags: &[&str]) -> TargetConfig {
        let all = [&["tare"], flags].concat();
        Program::try_parse_from(all).unwrap().args.into_config().unwrap()
    }

    #[test]
    fn flags_say_what_they_mean() {
        let config = config(&[
            "--listen=8080",
            "--delay=exp:5ms",
            "--stall=3s,1s",
            "--error=503=5%",
            "--expect-rate=2k",
            "--tls",
        ]);
        assert_eq!(config.listen, ["127.0.0.1:8080".parse().unwrap()]);
        assert_eq!(config.delay.to_string(), "exponential:5ms");
        assert_eq!(config.stall, [Window { at: Picos::from_secs(3), length: Picos::from_secs(1) }]);
        assert_eq!(config.faults.errors[0].status, 503);
        assert_eq!(config.truth.expected_rate, Rate::per_second(2_000));
        assert!(config.tls.is_some());
    }

    #[test]
    fn wrong_flags_are_refused() {
        for flags in [
            &["--listen=70000"][..],
            &["--delay=5parsecs"],
            &["--cert=a.pem"],
            &["--close-quietly"],
            &["--stall=3s"],
            &["--no-truth", "--truth=x"],
        ] {
            let all = [&["tare"], flags].concat();
            assert!(Program::try_parse_from(all).is_err(), "{flags:?}");
        }
    }
}
