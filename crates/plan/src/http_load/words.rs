//! http_load's own command line: long options with one dash, any unambiguous prefix of them, the URL file last.
//!
//! http_load compared `strncmp(argv, "-checksum", strlen(argv))` down a list, so a prefix means the first
//! option of that list that it fits: `-p` is `-parallel`, `-s` is `-seconds`, `-c` is `-checksum`, `-t` is
//! `-throttle`. The list here has the same order.

use super::{Result, Wrong, bail, wrong};
use std::path::PathBuf;
use units::{Count, ParseError, Picos, Rate};

/// An option, and what its value is called if it has one.
type Known = (&'static str, Option<&'static str>);

/// In the order in which http_load tried them.
/// The last is new: every prefix means what it did.
const OPTIONS: [Known; 13] = [
    ("-checksum", None),
    ("-throttle", None),
    ("-verbose", None),
    ("-timeout", Some("secs")),
    ("-jitter", None),
    ("-parallel", Some("N")),
    ("-rate", Some("N")),
    ("-fetches", Some("N")),
    ("-seconds", Some("N")),
    ("-sip", Some("file")),
    ("-cipher", Some("str")),
    ("-proxy", Some("host:port")),
    ("-threads", Some("N")),
];

/// What starts fetches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Start {
    /// This many at once.
    Parallel(u32),
    /// This many a second.
    Rate(Rate),
}

/// What ends the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stop {
    Fetches(Count),
    Seconds(Picos),
}

/// A valid command line.
#[derive(Clone, Debug, PartialEq)]
pub struct HttpLoadArgs {
    pub checksum: bool,
    pub throttle: bool,
    pub verbose: bool,
    pub jitter: bool,
    pub timeout: Option<Picos>,
    pub sip: Option<PathBuf>,
    pub cipher: Option<String>,
    /// `host:port`; http_load's port is 80 unless given.
    pub proxy: Option<String>,
    pub threads: Option<u32>,
    pub start: Start,
    pub stop: Stop,
    pub url_file: String,
}

/// What the command line asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum HttpLoadCommand {
    Help,
    Version,
    Load(Box<HttpLoadArgs>),
}

/// What has been read so far.
#[derive(Default)]
struct Read {
    checksum: bool,
    throttle: bool,
    verbose: bool,
    jitter: bool,
    timeout: Option<Picos>,
    sip: Option<PathBuf>,
    cipher: Option<String>,
    proxy: Option<String>,
    threads: Option<u32>,
    parallel: Option<u32>,
    rate: Option<Rate>,
    fetches: Option<Count>,
    seconds: Option<Picos>,
}

/// Reads the words after the program's name.
pub fn parse(words: &[String]) -> Result<HttpLoadCommand> {
    let mut read = Read::default();
    let mut at = 0;
    while let Some(word) = words.get(at).filter(|word| is_option(word)) {
        match word.as_str() {
            "-h" | "-help" | "--help" => return Ok(HttpLoadCommand::Help),
            "-V" | "-version" | "--version" => return Ok(HttpLoadCommand::Version),
            _ => {}
        }
        let (name, value_name) = option(word)?;
        at += 1;
        let mut value = "";
        if let Some(value_name) = value_name {
            value = value_of(name, value_name, words.get(at).map(String::as_str))?;
            at += 1;
        }
        read.take(name, value)?;
    }
    let url_file = url_file(words, at)?;
    read.finish(url_file).map(|args| HttpLoadCommand::Load(Box::new(args)))
}

/// A lone `-` is a file's name, as it was to http_load.
fn is_option(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-')
}

/// The first option that the word is a prefix of.
fn option(word: &str) -> Result<Known> {
    if let Some(known) = OPTIONS.into_iter().find(|(name, _)| name.starts_with(word)) {
        return Ok(known);
    }
    let (typed, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
    let single = format!("-{}", typed.trim_start_matches('-'));
    let meant = OPTIONS
        .into_iter()
        .map(|(name, _)| name)
        .find(|name| single.len() > 2 && name.starts_with(&single))
        .or_else(|| crate::nearest(&single, OPTIONS.map(|(name, _)| name)));
    let hint = match (meant, value) {
        (Some(name), Some(value)) => format!("; write {name} {value}"),
        (Some(name), None) => format!("; did you mean {name}?"),
        (None, _) => format!("; expected one of {}", OPTIONS.map(|(name, _)| name).join(", ")),
    };
    bail!("unknown option {word}{hint}")
}

/// The word after an option that needs one. `-5` is a value, if a wrong one; `-seconds` is not.
fn value_of<'a>(name: &str, value_name: &str, word: Option<&'a str>) -> Result<&'a str> {
    match word {
        None => bail!("{name} needs a value: {name} {value_name}"),
        Some(word) if is_option(word) && !word[1..].starts_with(|c: char| c.is_ascii_digit() || c == '.') => {
            bail!("{name} needs a value ({name} {value_name}), but {word} follows it")
        }
        Some(word) => Ok(word),
    }
}

fn url_file(words: &[String], at: usize) -> Result<String> {
    match words.get(at..).unwrap_or_default() {
        [file] => Ok(file.clone()),
        [] => bail!("no url_file: the last argument must be a file with one URL per line"),
        [file, word, ..] if is_option(word) => {
            bail!("{word} after {file}: options come first, and url_file is the last argument")
        }
        [file, word, ..] => {
            let throttle = match file.parse::<f64>() {
                Ok(_) => "; -t and -c are short for -throttle and -checksum, which take no value",
                Err(_) => "",
            };
            bail!("'{file}' and '{word}' are both left over: only url_file follows the options{throttle}")
        }
    }
}

impl Read {
    fn take(&mut self, name: &'static str, value: &str) -> Result<()> {
        match name {
            "-checksum" => self.checksum = true,
            "-throttle" => self.throttle = true,
            "-verbose" => self.verbose = true,
            "-jitter" => self.jitter = true,
            "-timeout" => self.timeout = Some(time(name, value)?),
            "-sip" => self.sip = Some(value.into()),
            "-cipher" => self.cipher = Some(value.to_owned()),
            "-proxy" => self.proxy = Some(proxy(value)?),
            "-parallel" => self.parallel = Some(small(name, value)?),
            "-threads" => self.threads = Some(small(name, value)?),
            "-rate" => self.rate = Some(value.parse().map_err(|error| unfit(name, error, "400 or 2.5"))?),
            "-fetches" => self.fetches = Some(count(name, value)?),
            "-seconds" => self.seconds = Some(time(name, value)?),
            _ => unreachable!("every option of the list is here"),
        }
        Ok(())
    }

    fn finish(self, url_file: String) -> Result<HttpLoadArgs> {
        let start = match (self.parallel, self.rate) {
            (Some(_), Some(_)) => bail!("-parallel contradicts -rate: give only one of them"),
            (Some(connections), None) => Start::Parallel(connections),
            (None, Some(rate)) => Start::Rate(rate),
            (None, None) => bail!(
                "no start specifier: give -parallel N (connections at once) or -rate N (requests per second)"
            ),
        };
        let stop = match (self.fetches, self.seconds) {
            (Some(_), Some(_)) => bail!("-fetches contradicts -seconds: give only one of them"),
            (Some(count), None) => Stop::Fetches(count),
            (None, Some(time)) => Stop::Seconds(time),
            (None, None) => bail!("no stop rule: give -fetches N or -seconds N"),
        };
        if self.jitter && !matches!(start, Start::Rate(_)) {
            bail!("-jitter needs -rate: with -parallel there is no interval to vary");
        }
        Ok(HttpLoadArgs {
            checksum: self.checksum,
            throttle: self.throttle,
            verbose: self.verbose,
            jitter: self.jitter,
            timeout: self.timeout,
            sip: self.sip,
            cipher: self.cipher,
            proxy: self.proxy,
            threads: self.threads,
            start,
            stop,
            url_file,
        })
    }
}

fn unfit(name: &str, error: ParseError, expected: &str) -> Wrong {
    wrong!("{name}: '{}' {}; expected something like {expected}", error.input, error.problem)
}

fn count(name: &str, value: &str) -> Result<Count> {
    let count: Count = value.parse().map_err(|error| unfit(name, error, "1000"))?;
    if count.get() == 0 {
        bail!("{name}: '{value}' is zero; expected at least 1");
    }
    Ok(count)
}

fn small(name: &str, value: &str) -> Result<u32> {
    let count = count(name, value)?.get();
    u32::try_from(count).map_err(|_| wrong!("{name}: '{value}' is too large; expected at most {}", u32::MAX))
}

fn time(name: &str, value: &str) -> Result<Picos> {
    let time: Picos = value.parse().map_err(|error| unfit(name, error, "10 (seconds)"))?;
    if time.is_zero() {
        bail!("{name}: '{value}' is zero; expected more than zero, e.g. 10 (seconds)");
    }
    Ok(time)
}

/// `host:port`, `[v6]:port`, or a host alone with http_load's default port.
fn proxy(value: &str) -> Result<String> {
    const EXPECTED: &str = "expected host:port, e.g. proxy.example:3128";
    let v6_alone = value.starts_with('[') && value.ends_with(']');
    let (host, port) = match value.rsplit_once(':') {
        Some((host, port)) if !v6_alone => (host, port),
        _ => (value, "80"),
    };
    if host.is_empty() || host.contains("://") || host.contains('/') {
        bail!("-proxy: '{value}' has no host; {EXPECTED}");
    }
    match port.parse::<u16>() {
        Ok(port) if port > 0 => Ok(format!("{host}:{port}")),
        _ => bail!("-proxy: '{value}' has a port that is not from 1 to 65535; {EXPECTED}"),
    }
}

#[cfg(test)]
mod tests;
