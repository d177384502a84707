//! `tare http_load`, also when the program is called `http_load`: http_load's command line and output, with the
//! engine, the clock and the verdict of everything else here. docs/http_load.md tells option by option what
//! changed.

use crate::commands::http_load_args::{self as args, Asked, HttpLoadArgs, Start, Stop};
use crate::commands::http_load_cipher as cipher;
use anyhow::{Result, anyhow, bail};
use clap::Args;
use plan::{HeaderList, HeaderTyped, Note, Plan, PlanFile, Typed};
use report::HttpLoad;
use run::terminal::print_all;
use run::{Failure, Finished, Options, Output, Shown, said_once};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Read;
use std::net::IpAddr;
use std::path::Path;
use std::process::ExitCode;
use store::RunResult;
use store::schema::{OutcomeCount, Word};
use units::{Bytes, OutcomeClass, Picos};

/// Help, in http_load's own layout.
pub const HELP: &str = "\
usage:  http_load [-checksum] [-throttle] [-proxy host:port] [-verbose] [-timeout secs] [-sip sip_file]
            [-cipher str]
            -parallel N | -rate N [-jitter]
            -fetches N | -seconds N
            url_file
One start specifier, either -parallel or -rate, is required.
One end specifier, either -fetches or -seconds, is required.

Start (each fetch has its own connection):
  -parallel N       keep N connections busy, and open a new one when one closes
  -rate N           start exactly N fetches per second, on as many connections as necessary
  -jitter           with -rate: vary each start by up to ±10 % of the interval
End:
  -fetches N        stop after N fetches
  -seconds N        stop after N seconds; fetches in progress are cut off
Fetches:
  url_file          one http:// or https:// URL per line; each fetch takes one at random
  -proxy host:port  HTTP proxy (https by CONNECT); the port is 80 unless given
  -sip file         local addresses to use in turn, one per line
  -throttle         read at most 3360 bytes per second from each connection, like a 33.6 kbit/s modem
  -timeout secs     close a connection on which nothing arrives for this long [default: 60]
  -cipher str       TLS cipher suites by OpenSSL or IANA names, separated by ':'; or fastsec, highsec, paranoid
Output:
  -checksum         compare each body with the first one of the same URL
  -verbose          print progress to standard error every minute

Options may be shortened as long as they stay unambiguous: -p 5 -s 10. Figures go to standard output, in
http_load's format. The verdict on them goes to standard error, and into the exit status:
  0 valid; 2 bad input, nothing sent; 4 INVALID: the generator was the limit; 5 target unreachable; 130 interrupted

Example:
  http_load -rate 400 -seconds 10 urls.txt
  http_load -parallel 5 -fetches 1000 urls.txt

`tare http` does all this and more: percentiles, a report, keep-alive. docs/http_load.md lists http_load's
faults and what has changed.";

/// http_load's command line and output, with its faults corrected
#[derive(Args, Debug)]
#[command(override_help = HELP, after_help = HELP, disable_help_flag = true)]
pub struct HttpLoadWords {
    /// http_load's options, then the file of URLs
    #[arg(value_name = "OPTIONS… url_file", allow_hyphen_values = true, trailing_var_arg = true)]
    pub words: Vec<OsString>,
}

/// A 33.6 kbit/s modem, in bytes a second: http_load's own number.
const THROTTLE: &str = "3360";
const TIMEOUT: &str = "60s";
/// http_load waited for the last of `-fetches` however long they took.
const PATIENT: &str = "1d";
/// "As many connections as that takes": descriptors and ports end before this does.
const MOST_OPEN: &str = "1M";
/// http_load's file is looked through for `https` up to here, so that a huge file delays nothing.
const LOOKED_THROUGH: u64 = 1 << 20;

/// Runs with the words after the program's name, which is what messages begin with.
pub fn main(program: &str, words: impl IntoIterator<Item = OsString>) -> ExitCode {
    let result = words
        .into_iter()
        .map(|word| word.into_string().map_err(|word| anyhow!("{word:?} is not text")))
        .collect::<Result<Vec<String>>>()
        .and_then(|words| args::parse(&words))
        .and_then(|asked| match asked {
            Asked::Help => say(&format!("{HELP}\n")),
            Asked::Version => say(&format!("{program} (tare {})\n", env!("CARGO_PKG_VERSION"))),
            Asked::Load(args) => run(program, &args),
        });
    result.unwrap_or_else(|error| {
        eprintln!("{program}: {}", said_once(&error));
        eprintln!("{program} -h shows every option");
        ExitCode::from(2)
    })
}

fn say(text: &str) -> Result<ExitCode> {
    print_all(text).map_err(Failure::into_error)?;
    Ok(ExitCode::SUCCESS)
}

fn run(program: &str, args: &HttpLoadArgs) -> Result<ExitCode> {
    let (plan, notes) = plan(args)?;
    let warned = names_https(Path::new(&args.url_file));
    if warned {
        warn_of_certificates(program);
    }
    if let Some(text) = args.cipher.as_deref().filter(|text| cipher::is_alias(text)) {
        let suites = plan.tls.ciphers.join(", ");
        eprintln!("{program}: -cipher {text} means {suites} here: its original cipher is no longer secure");
    }
    let options = Options {
        output: Output::Nothing,
        progress: if args.verbose { Shown::EachMinute } else { Shown::Nothing },
        ..Options::default()
    };
    let finished =
        run::quietly(plan, notes, &options).map_err(|failure| in_own_words(&failure.into_error()))?;
    if !warned && !finished.result.tls_ns.is_empty() {
        warn_of_certificates(program);
    }
    print_all(&figures(args, &finished)).map_err(Failure::into_error)?;
    eprint!("{}", doubts(program, &finished.result));
    Ok(ExitCode::from(finished.status.code()))
}

/// http_load verified no certificate, and what was tested with it often has none that would do.
fn warn_of_certificates(program: &str) {
    eprintln!(
        "{program}: WARNING: certificates are NOT verified, as in http_load, so anyone could respond; \
         tare http verifies them"
    );
}

/// What was typed, as a plan.
pub fn plan(args: &HttpLoadArgs) -> Result<(Plan, Vec<Note>)> {
    let mut file = PlanFile {
        file: Some(args.url_file.clone()),
        // As http_load's, which depend on the time: two copies side by side shall not ask for the same in step.
        seed: Some(Typed::from(seed().to_string())),
        ..PlanFile::default()
    };
    match args.start {
        Start::Parallel(connections) => file.load.parallel = Some(Typed::from(connections.to_string())),
        Start::Rate(rate) => {
            file.load.rate = Some(Typed::from(rate.to_string()));
            file.load.jitter = args.jitter.then(|| Typed::from("10%"));
            file.connection.max_open = Some(Typed::from(MOST_OPEN));
        }
    }
    match args.stop {
        Stop::Fetches(count) => {
            file.stop.requests = Some(Typed::from(count.to_string()));
            file.stop.grace = Some(Typed::from(PATIENT));
        }
        Stop::Seconds(time) => {
            file.stop.duration = Some(Typed::from(time.to_string()));
            file.stop.grace = Some(Typed::from("0s"));
        }
    }
    let user_agent = format!("User-Agent: http_load (tare/{})", env!("CARGO_PKG_VERSION"));
    file.request.http = Some(Typed::from("1.0"));
    file.request.headers = Some(HeaderList(vec![HeaderTyped::Line(user_agent)]));
    file.request.templates = Some(false);
    file.request.timeout =
        Some(Typed::from(args.timeout.map_or_else(|| TIMEOUT.to_owned(), |time| time.to_string())));
    file.request.idle_timeout = Some(true);
    file.request.same_checksum = args.checksum.then_some(true);
    file.connection.keep_alive = Some(false);
    file.connection.throttle = args.throttle.then(|| Typed::from(THROTTLE));
    file.connection.proxy.clone_from(&args.proxy);
    file.connection.source_ips = args.sip.as_deref().map(source_addresses).transpose()?;
    file.tls.insecure = Some(true);
    file.tls.resumption = Some(false);
    file.tls.alpn = Some(Vec::new());
    file.tls.ciphers = args.cipher.as_deref().map(cipher::suites).transpose()?;
    file.resolve_with_notes().map_err(|error| in_own_words(&error.into()))
}

fn seed() -> u64 {
    let now = clock::unix_ns();
    (now % 1_000_000_000)
        ^ (now / 1_000_000_000).rotate_left(30)
        ^ u64::from(std::process::id()).rotate_left(48)
}

/// `-sip file`: one address a line.
fn source_addresses(path: &Path) -> Result<Vec<String>> {
    let name = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| anyhow!("-sip {name}: {error}"))?;
    let mut all: Vec<IpAddr> = Vec::new();
    for (number, line) in text.lines().enumerate().map(|(at, line)| (at + 1, line.trim())) {
        if line.is_empty() {
            continue;
        }
        let address = line.parse().map_err(|_| {
            anyhow!(
                "-sip {name}, line {number}: '{line}' is not an IP address; expected one such as 192.0.2.7"
            )
        })?;
        if !all.contains(&address) {
            all.push(address);
        }
    }
    if all.is_empty() {
        bail!("-sip {name}: no address; expected one per line");
    }
    Ok(all.iter().map(ToString::to_string).collect())
}

/// Whether the first part of the file has an https URL. What cannot be read is told by the engine.
fn names_https(path: &Path) -> bool {
    let mut text = Vec::new();
    let read = File::open(path).and_then(|file| file.take(LOOKED_THROUGH).read_to_end(&mut text));
    read.is_ok()
        && text.split(|byte| *byte == b'\n').any(|line| {
            line.trim_ascii().get(..8).is_some_and(|start| start.eq_ignore_ascii_case(b"https://"))
        })
}

/// Standard output, line for line as http_load wrote it.
fn figures(args: &HttpLoadArgs, finished: &Finished) -> String {
    // Nothing may have been due at the very end of -seconds.
    let asked_for = match args.stop {
        Stop::Seconds(time) if !finished.result.partial => time,
        _ => Picos::ZERO,
    };
    let extras = HttpLoad {
        bytes: Bytes::new(finished.result.totals.body_in),
        elapsed: finished.totals.measured.max(asked_for),
        checksum: args.checksum,
    };
    report::http_load(&finished.result, &extras)
}

/// What a script does not parse, but its author should read: failures, labels, and the verdict if it is not
/// VALID.
fn doubts(program: &str, result: &RunResult) -> String {
    let mut text = String::new();
    // Writing to a String does not fail.
    for label in &result.labels {
        let _ = writeln!(text, "{program}: {label}");
    }
    let is_told =
        |outcome: &&OutcomeCount| outcome.is(OutcomeClass::Error) || outcome.is(OutcomeClass::Missed);
    for outcome in result.outcomes.iter().filter(is_told) {
        let _ = writeln!(text, "{program}: {} fetches: {}", outcome.count, outcome.key);
    }
    for note in result.notes.iter().filter(|note| note.starts_with("not a request")) {
        let _ = writeln!(text, "{program}: {note}");
    }
    if result.verdict.word != Word::Valid {
        let word = result.verdict.word.as_str();
        let _ = writeln!(text, "{program}: verdict {word} (options with two dashes are those of tare http)");
        for criterion in result.verdict.criteria.iter().filter(|criterion| criterion.severity != Word::Valid)
        {
            let _ = writeln!(text, "{program}: {}: {}", criterion.name, own_words(&criterion.advice));
        }
    }
    text
}

fn in_own_words(error: &anyhow::Error) -> anyhow::Error {
    anyhow!(own_words(&said_once(error)))
}

/// Names of options as they are called here; the rest are those of `tare http`.
fn own_words(message: &str) -> String {
    const OWN: [(&str, &str); 7] = [
        ("--source-ip", "-sip"),
        ("--parallel", "-parallel"),
        ("--rate", "-rate"),
        ("--duration", "-seconds"),
        ("--proxy", "-proxy"),
        ("--ciphers", "-cipher"),
        ("--timeout", "-timeout"),
    ];
    OWN.iter().fold(message.to_owned(), |text, (flag, option)| text.replace(flag, option))
}

#[cfg(test)]
#[path = "http_load_tests.rs"]
mod tests;
