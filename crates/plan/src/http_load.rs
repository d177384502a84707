//! http_load's own command line, as a plan.
//!
//! ```text
//! words ─► parse ─► HttpLoadArgs ─► plan_file ─► PlanFile
//! ```

mod cipher;
mod words;

pub use cipher::{Ciphers, ciphers, is_alias};
pub use words::{HttpLoadArgs, HttpLoadCommand, Start, Stop, parse};

use crate::{HeaderList, HeaderTyped, PlanFile, Typed};
use std::net::IpAddr;
use std::path::Path;

/// A 33.6 kbit/s modem, in bytes a second: http_load's own number.
const THROTTLE: &str = "3360";
const TIMEOUT: &str = "60s";
/// http_load waited for the last of `-fetches` however long they took.
const PATIENT: &str = "1d";
/// "As many connections as that takes": descriptors and ports end before this does.
const MOST_OPEN: &str = "1M";

/// What is wrong with a command line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Wrong(String);

type Result<T> = std::result::Result<T, Wrong>;

macro_rules! wrong {
    ($($text:tt)*) => { $crate::http_load::Wrong(format!($($text)*)) };
}
macro_rules! bail {
    ($($text:tt)*) => { return Err($crate::http_load::Wrong(format!($($text)*))) };
}
use {bail, wrong};

/// What was typed, as a plan. The seed decides which lines of the file are taken.
///
/// # Errors
/// A file that is named cannot be used, or a cipher is none.
pub fn plan_file(args: &HttpLoadArgs, seed: u64) -> Result<PlanFile> {
    let mut file = PlanFile {
        file: Some(args.url_file.clone()),
        seed: Some(Typed::from(seed.to_string())),
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
    file.tls.ciphers = args.cipher.as_deref().map(ciphers).transpose()?.map(|found| found.suites);
    file.engine.threads = args.threads.map(|threads| Typed::from(threads.to_string()));
    Ok(file)
}

/// `-sip file`: one address a line.
fn source_addresses(path: &Path) -> Result<Vec<String>> {
    let name = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| wrong!("-sip {name}: {error}"))?;
    let mut all: Vec<IpAddr> = Vec::new();
    for (number, line) in text.lines().enumerate().map(|(at, line)| (at + 1, line.trim())) {
        if line.is_empty() {
            continue;
        }
        let address = line.parse().map_err(|_| {
            wrong!(
                "-sip {name}, line {number}: '{line}' is not an IP address; expected one such as 192.0.2.7"
            )
        })?;
        if !all.contains(&address) {
            all.push(address);
        }
    }
    if all.is_empty() {
        return Err(wrong!("-sip {name}: no address; expected one per line"));
    }
    Ok(all.iter().map(ToString::to_string).collect())
}

/// Names of options as they are called here; the rest are those of `tare http`.
pub fn own_words(message: &str) -> String {
    const OWN: [(&str, &str); 8] = [
        ("--source-ip", "-sip"),
        ("--parallel", "-parallel"),
        ("--rate", "-rate"),
        ("--duration", "-seconds"),
        ("--proxy", "-proxy"),
        ("--ciphers", "-cipher"),
        ("--timeout", "-timeout"),
        ("--threads", "-threads"),
    ];
    OWN.iter().fold(message.to_owned(), |text, (flag, option)| text.replace(flag, option))
}

#[cfg(test)]
mod tests;
