//! `tare http_load`, also when the program is called `http_load`: http_load's command line and output, with the
//! engine, the clock and the verdict of everything else here. docs/http_load.md tells option by option what
//! changed.

use anyhow::{Result, anyhow};
use clap::Args;
use plan::http_load::{HttpLoadArgs, HttpLoadCommand, Stop, ciphers, is_alias, own_words, parse, plan_file};
use report::HttpLoad;
use run::terminal::print_all;
use run::{Failure, Finished, Options, Output, Shown, said_once};
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;
use units::{Bytes, Picos};

/// Help, in http_load's own layout.
pub const HELP: &str = "\
usage:  http_load [-checksum] [-throttle] [-proxy host:port] [-verbose] [-timeout secs] [-sip sip_file]
            [-cipher str] [-threads N]
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
  -threads N        divide the load among N threads [default: one per CPU but one]
  -timeout secs     close a connection on which nothing arrives for this long [default: 60]
  -cipher str       TLS cipher suites: a cipher string of OpenSSL, IANA names, or fastsec, highsec, paranoid
Output:
  -checksum         compare each body with the first one of the same URL
  -verbose          print progress to standard error every minute

Options may be shortened, as in http_load: -p 5 -s 10. Figures go to standard output, in
http_load's format. The verdict on them goes to standard error, and into the exit status:
  0 VALID or DEGRADED; 1 the same, but the figures could not be printed; 2 bad input, nothing sent;
  4 INVALID: the generator was the limit; 5 target unreachable; 130 interrupted

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

/// http_load's file is looked through for `https` up to here, so that a huge file delays nothing.
const LOOKED_THROUGH: u64 = 1 << 20;

/// What could not be written to standard output is lost, and the load was sent all the same.
const NOT_PRINTED: u8 = 1;

/// Runs with the words after the program's name, which is what messages begin with.
pub fn main(program: &str, words: impl IntoIterator<Item = OsString>) -> ExitCode {
    let result = words
        .into_iter()
        .map(|word| word.into_string().map_err(|word| anyhow!("{word:?} is not text")))
        .collect::<Result<Vec<String>>>()
        .and_then(|words| Ok(parse(&words)?))
        .and_then(|asked| match asked {
            HttpLoadCommand::Help => say(&format!("{HELP}\n")),
            HttpLoadCommand::Version => say(&format!("{program} (tare {})\n", env!("CARGO_PKG_VERSION"))),
            HttpLoadCommand::Load(args) => run(program, &args),
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
    // As http_load's, which depend on the time: two copies side by side shall not ask for the same in step.
    let file = plan_file(args, seed())?;
    let (plan, notes) = file.resolve_with_notes().map_err(|error| in_own_words(&error.into()))?;
    let warned = names_https(Path::new(&args.url_file));
    if warned {
        warn_of_certificates(program);
    }
    if let Some(text) = args.cipher.as_deref().filter(|text| is_alias(text)) {
        let suites = plan.tls.ciphers.join(", ");
        eprintln!("{program}: -cipher {text} means {suites} here: its original cipher is no longer secure");
    }
    let found = args.cipher.as_deref().and_then(|text| ciphers(text).ok()).unwrap_or_default();
    for left_out in found.left_out {
        eprintln!("{program}: -cipher: {left_out}; the others are used");
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
    let printed = print_all(&figures(args, &finished)).map_err(Failure::into_error);
    eprint!("{}", report::http_load_doubts(program, &finished.result, own_words));
    let status = finished.status.code();
    // Not 2, which says that nothing was sent.
    Ok(ExitCode::from(match printed {
        Err(error) => {
            eprintln!("{program}: {}", said_once(&error));
            if status == 0 { NOT_PRINTED } else { status }
        }
        Ok(()) => status,
    }))
}

/// http_load verified no certificate, and what was tested with it often has none that would do.
fn warn_of_certificates(program: &str) {
    eprintln!(
        "{program}: WARNING: certificates are NOT verified, as in http_load, so anyone could respond; \
         tare http verifies them"
    );
}

fn seed() -> u64 {
    let now = clock::unix_ns();
    (now % 1_000_000_000)
        ^ (now / 1_000_000_000).rotate_left(30)
        ^ u64::from(std::process::id()).rotate_left(48)
}

/// Whether the first part of the file has an https URL. What cannot be read is told by the engine, and so is a
/// pipe, which would be opened only when someone writes to it.
fn names_https(path: &Path) -> bool {
    if !path.is_file() {
        return false;
    }
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

fn in_own_words(error: &anyhow::Error) -> anyhow::Error {
    anyhow!(own_words(&said_once(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_runs_take_different_lines() {
        let first = seed();
        std::thread::sleep(std::time::Duration::from_millis(1));
        assert_ne!(first, seed());
    }

    #[test]
    fn help_shows_every_option() {
        let known = "-checksum -throttle -proxy -verbose -timeout -sip -cipher -jitter -parallel -rate -fetches \
            -seconds -threads";
        for option in known.split(' ') {
            assert!(HELP.contains(&format!("\n  {option} ")), "{option}");
        }
        assert!(HELP.lines().all(|line| line.chars().count() <= 120));
    }
}
