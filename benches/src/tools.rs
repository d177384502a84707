//! The tools under test: how each is asked, and how its own word is read.

mod h2load;
mod httperf;
mod oha;
pub mod tare;
mod wrk;

use std::path::Path;

use anyhow::Result;

use crate::process::Ended;

/// Connections held open, in every case.
pub const CONNECTIONS: u64 = 64;

/// What a tool is asked to do.
#[derive(Clone, Debug)]
pub struct Ask {
    pub url: String,
    pub load: Load,
    pub seconds: u64,
    /// What the last run of this case did, for tools that take a number of requests and no duration.
    pub expected_per_s: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Load {
    /// 64 connections, each sends its next request when the last is answered.
    KeepAlive,
    /// The same, but every request on a connection of its own, at most 64 at once.
    NewConnection,
    /// So many per second, whatever the answers do.
    Rate(u64),
}

impl Ask {
    pub fn tls(&self) -> bool {
        self.url.starts_with("https://")
    }

    /// Requests that fill the asked seconds at the expected rate.
    pub fn sized(&self) -> u64 {
        match self.load {
            Load::Rate(per_s) => per_s * self.seconds,
            _ => ((self.expected_per_s * self.seconds as f64) as u64).max(CONNECTIONS),
        }
    }

    /// Host and port, for tools that want them apart.
    pub fn host_and_port(&self) -> (String, String) {
        let authority = self.url.split('/').nth(2).unwrap_or_default();
        let (host, port) = authority.split_once(':').unwrap_or((authority, "80"));
        (host.to_owned(), port.to_owned())
    }
}

/// A tool's own word.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// Requests that it counted as done.
    pub done: u64,
    /// Requests that it counted as failed, in whatever way.
    pub failed: u64,
    /// Seconds that it says its load lasted.
    pub seconds: f64,
    /// What else is worth a line: tare's verdict.
    pub word: Option<String>,
}

/// One load generator.
pub trait Tool {
    fn name(&self) -> &str;
    /// Its command line, or why it cannot do this.
    fn command(&self, ask: &Ask) -> Result<Vec<String>, &'static str>;
    /// Its own word, from what it printed.
    fn read(&self, ended: &Ended) -> Result<Told>;
}

/// The peers, then tare when it is there. oha is found under `tools`, the folder that cargo installed it into.
pub fn all(tools: &Path, tare: Option<&Path>) -> Vec<Box<dyn Tool>> {
    let mut all: Vec<Box<dyn Tool>> = vec![
        Box::new(wrk::Wrk),
        Box::new(h2load::H2load),
        Box::new(oha::Oha::new(&tools.join("bin/oha"))),
        Box::new(httperf::Httperf),
    ];
    if let Some(tare) = tare {
        all.push(Box::new(tare::Tare::new(tare)));
    }
    all
}

/// wrk as a client that measures servers.
pub fn client() -> Box<dyn Tool> {
    Box::new(wrk::Wrk)
}

/// Owned words of a command line.
fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}

/// The word after `before` in a text, read as a number; punctuation and units after the digits are cut.
fn number_after(text: &str, before: &str) -> Option<f64> {
    let rest = text.split_once(before)?.1.trim_start();
    let end = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_cut_from_their_units() {
        assert_eq!(number_after("finished in 595.17ms, 16801.95 req/s", "finished in "), Some(595.17));
        assert_eq!(number_after("a b", "c"), None);
    }

    #[test]
    fn sized_asks_fill_the_time() {
        let mut ask = Ask {
            url: "http://127.0.0.3:81/".into(),
            load: Load::KeepAlive,
            seconds: 4,
            expected_per_s: 1_000.0,
        };
        assert_eq!(ask.sized(), 4_000);
        ask.load = Load::Rate(20_000);
        assert_eq!(ask.sized(), 80_000);
        assert_eq!(ask.host_and_port(), ("127.0.0.3".to_owned(), "81".to_owned()));
    }
}
