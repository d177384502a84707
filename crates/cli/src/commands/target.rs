//! `tare target`: flags → `target::TargetConfig`. A file given with `--config` comes first, flags override it.

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use run::Failure;
use run::terminal::print_all;
use station::Via;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use target::over::OverConfig;
use target::{Distribution, ErrorShare, Origin, TargetConfig, Tls, TlsVersions, Window};
use units::{Bytes, Count, Fraction, Picos, Rate};

const EXAMPLES: &str = "\
Examples:
  tare target            a free port of 127.0.0.1; 600-byte responses without delay
  tare target --listen 8080 --delay lognormal:5ms,0.5 --size uniform:200,4KiB
  tare target --listen 8080 --stall 3s,1s --truth truth.csv --expect-rate 2000
  tare target --tls --tls-write-cert ca.pem --error 503=5% --reset 0.1%
  tare target --over packet:eth1,ip=198.18.0.10/24 --size 100
  curl 'http://127.0.0.1:8080/?delay=20ms&size=1MB&status=404'

Distributions (DIST): 5ms, uniform:1ms,5ms, exponential:5ms, lognormal:MEDIAN,SIGMA, file:PATH,
file-random:PATH.

A request's query string overrides these settings: delay, size, status, chunked, chunk, trickle,
gap, close, seq, and fault=reset|reset-mid|half|silent|garbage.

Special paths: /echo, /redirect/N, /.tare/stats, /.tare/reset.";

/// Serve HTTP with programmed behaviour, and record what really happened
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct TargetArgs {
    /// Read settings from a TOML file; flags override them
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Stop after this time
    #[arg(long = "for", value_name = "TIME")]
    duration: Option<Picos>,
    /// Seed of every random choice
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Address to listen on (repeatable); a port alone means 127.0.0.1, port 0 any free port
    #[arg(long, value_name = "ADDR", value_parser = address, help_heading = "Where")]
    listen: Vec<SocketAddr>,
    /// Listen on this Unix socket instead of TCP; with --listen, on both
    #[arg(long, value_name = "PATH", help_heading = "Where")]
    unix: Option<PathBuf>,
    /// Write the port number to this file when ready
    #[arg(long, value_name = "FILE", help_heading = "Where")]
    port_file: Option<PathBuf>,
    /// Number of serving threads
    #[arg(long, value_name = "N", help_heading = "Where")]
    workers: Option<Count>,
    /// Pin the serving threads to these CPUs, in turn
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Where")]
    cpus: Vec<u32>,
    /// Serve over frames of a port, from its own addresses: PORT,ip=198.18.0.10-25/24; it keeps no connections
    /// or state, so only --listen PORT, --size, --body, --status, --workers, --cpus,
    /// --spin, --for, --seed, --port-file and --summary apply
    #[arg(long, value_name = "PORT,ip=RANGE", help_heading = "Where")]
    over: Option<Via>,
    /// Length of the listen queue (backlog)
    #[arg(long, value_name = "N", help_heading = "Where")]
    backlog: Option<u32>,
    /// Busy-poll: uses one CPU per worker; timestamps and delays are exact to a microsecond
    #[arg(long, help_heading = "Where")]
    spin: bool,

    /// Time from a complete request to the first byte of its response
    #[arg(long, value_name = "DIST", help_heading = "Responses")]
    delay: Option<Distribution<Picos>>,
    /// Size of response bodies
    #[arg(long, value_name = "DIST", help_heading = "Responses")]
    size: Option<Distribution<Bytes>>,
    /// Text to fill the body with, repeated
    #[arg(long, value_name = "TEXT", help_heading = "Responses")]
    body: Option<String>,
    /// Status code of responses
    #[arg(long, value_name = "CODE", help_heading = "Responses")]
    status: Option<u16>,
    /// Use chunked encoding, with chunks of this size
    #[arg(long, value_name = "SIZE", help_heading = "Responses")]
    chunk: Option<Bytes>,
    /// Write responses in pieces of this size
    #[arg(long, value_name = "SIZE", help_heading = "Responses")]
    trickle: Option<Bytes>,
    /// Time between trickled pieces
    #[arg(long, value_name = "TIME", help_heading = "Responses")]
    trickle_gap: Option<Picos>,
    /// Serve at most this many requests per second; the others wait in a queue
    #[arg(long, value_name = "RATE", help_heading = "Responses")]
    rate: Option<Rate>,
    /// Close a connection after this many responses
    #[arg(long, value_name = "N", help_heading = "Responses")]
    close_after: Option<Count>,
    /// Close connections without announcing it in the last response
    #[arg(long, requires = "close_after", help_heading = "Responses")]
    close_quietly: bool,
    /// Respond with 401 to requests without this basic authentication
    #[arg(long, value_name = "USER:PASSWORD", help_heading = "Responses")]
    require_auth: Option<String>,
    /// Act as a forward proxy: CONNECT (to loopback only) and absolute-form requests
    #[arg(long, help_heading = "Responses")]
    proxy_mode: bool,

    /// Respond with this status (repeatable)
    #[arg(long, value_name = "CODE=SHARE", help_heading = "Faults, by share of the requests")]
    error: Vec<ErrorShare>,
    /// Reset the connection instead of responding
    #[arg(long, value_name = "SHARE", help_heading = "Faults, by share of the requests")]
    reset: Option<Fraction>,
    /// Reset the connection in the middle of the body
    #[arg(long, value_name = "SHARE", help_heading = "Faults, by share of the requests")]
    reset_mid: Option<Fraction>,
    /// Send half of the announced body, then close
    #[arg(long, value_name = "SHARE", help_heading = "Faults, by share of the requests")]
    half: Option<Fraction>,
    /// Never respond
    #[arg(long, value_name = "SHARE", help_heading = "Faults, by share of the requests")]
    silent: Option<Fraction>,
    /// Respond with invalid framing, then close
    #[arg(long, value_name = "SHARE", help_heading = "Faults, by share of the requests")]
    garbage: Option<Fraction>,

    /// Stall from AT for the time FOR: accept, read and write nothing (repeatable)
    #[arg(long, value_name = "AT,FOR", help_heading = "Programmed times")]
    stall: Vec<Window>,
    /// Moment from which programmed times count
    #[arg(long, value_name = "WHAT", help_heading = "Programmed times")]
    origin: Option<OriginArg>,
    /// Wait this long after accepting a connection before serving it
    #[arg(long, value_name = "TIME", help_heading = "Programmed times")]
    accept_delay: Option<Picos>,
    /// Stop listening after this many connections
    #[arg(long, value_name = "N", help_heading = "Programmed times")]
    refuse_after: Option<Count>,
    /// Stop listening at this time; open connections stay open
    #[arg(long, value_name = "AT", help_heading = "Programmed times")]
    stop_listening: Option<Picos>,
    /// Stop listening and reset every connection at this time
    #[arg(long, value_name = "AT", help_heading = "Programmed times")]
    die: Option<Picos>,

    /// Serve HTTPS, with a self-made certificate unless --cert is given
    #[arg(long, help_heading = "TLS")]
    tls: bool,
    /// Certificate chain (PEM); implies --tls
    #[arg(long, value_name = "FILE", requires = "key", help_heading = "TLS")]
    cert: Option<PathBuf>,
    /// Private key (PEM)
    #[arg(long, value_name = "FILE", requires = "cert", help_heading = "TLS")]
    key: Option<PathBuf>,
    /// Write the certificate that clients must trust (PEM); implies --tls
    #[arg(long, value_name = "FILE", conflicts_with = "cert", help_heading = "TLS")]
    tls_write_cert: Option<PathBuf>,
    /// Require client certificates issued by this authority (PEM); implies --tls
    #[arg(long, value_name = "FILE", help_heading = "TLS")]
    client_ca: Option<PathBuf>,
    /// Issue no session tickets: every handshake is a full one
    #[arg(long, help_heading = "TLS")]
    no_tickets: bool,
    /// TLS versions to accept
    #[arg(long, value_name = "VERSIONS", help_heading = "TLS")]
    tls_versions: Option<VersionsArg>,
    /// Delay handshakes by this time; implies --tls
    #[arg(long, value_name = "TIME", help_heading = "TLS")]
    slow_handshake: Option<Picos>,
    /// Share of handshakes to delay [default: all]
    #[arg(long, value_name = "SHARE", requires = "slow_handshake", help_heading = "TLS")]
    slow_share: Option<Fraction>,

    /// Write one CSV line per request to this file
    #[arg(long, value_name = "FILE", help_heading = "Truth")]
    truth: Option<PathBuf>,
    /// Write the summary to this file as JSON
    #[arg(long, value_name = "FILE", help_heading = "Truth")]
    summary: Option<PathBuf>,
    /// Compare arrivals with this rate in the summary
    #[arg(long, value_name = "RATE", help_heading = "Truth")]
    expect_rate: Option<Rate>,
    /// Take no timestamps; only count
    #[arg(long, conflicts_with_all = ["truth", "expect_rate"], help_heading = "Truth")]
    no_truth: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum OriginArg {
    /// When the first request arrives
    FirstRequest,
    /// When the target is ready
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
pub fn run(mut args: TargetArgs) -> Result<ExitCode, Failure> {
    let (over, typed) = (args.over.take(), args.config.clone());
    let config = args.into_config()?;
    let read: Vec<PathBuf> = config.files_read().into_iter().chain(typed).collect();
    os::clash::check(&config.files_written(), &read).map_err(Failure::wrong)?;
    if let Some(via) = over {
        let config = OverConfig::new(via, config).map_err(Failure::wrong)?;
        let served = target::over::run(&config).map_err(Failure::wrong)?;
        print_all(&served.to_text())?;
        return Ok(ExitCode::SUCCESS);
    }
    let truth = target::run(config).map_err(Failure::wrong)?;
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
