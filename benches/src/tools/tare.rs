//! `tare http`, one thread pinned like everyone else, every histogram on, nothing saved.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;

use super::{Ask, CONNECTIONS, Load, Told, Tool, words};
use crate::process::Ended;

pub struct Tare {
    name: String,
    path: PathBuf,
    more: Vec<String>,
}

impl Tare {
    pub fn new(path: &Path) -> Self {
        Self { name: "tare".to_owned(), path: path.to_owned(), more: Vec::new() }
    }

    /// The same with other words on its command line, under a name of its own.
    pub fn with(path: &Path, name: &str, more: &[&str]) -> Self {
        let more = more.iter().map(|w| (*w).to_owned()).collect();
        Self { name: name.to_owned(), path: path.to_owned(), more }
    }

    /// `tare http` up to where the load's own words begin.
    pub fn start(&self) -> Vec<String> {
        let mut argv = vec![self.path.display().to_string()];
        argv.extend(words(["http", "--threads", "1", "--cpus", "0", "--no-save", "--json"]));
        argv.extend(self.more.iter().cloned());
        argv
    }
}

impl Tool for Tare {
    fn name(&self) -> &str {
        &self.name
    }

    fn command(&self, ask: &Ask) -> Result<Vec<String>, &'static str> {
        let mut argv = self.start();
        argv.extend(["--duration".to_owned(), format!("{}s", ask.seconds)]);
        match ask.load {
            Load::KeepAlive => argv.extend(["--parallel".to_owned(), CONNECTIONS.to_string()]),
            Load::NewConnection => {
                argv.extend(["--parallel".to_owned(), CONNECTIONS.to_string(), "--no-keep-alive".to_owned()]);
            }
            Load::Rate(per_s) => argv.extend(["--rate".to_owned(), per_s.to_string()]),
        }
        if ask.tls() {
            argv.push("--insecure".to_owned());
        }
        if ask.tls() && ask.load == Load::NewConnection {
            argv.push("--no-resumption".to_owned());
        }
        argv.push(ask.url.clone());
        Ok(argv)
    }

    /// Exit status 4 (verdict INVALID) is no obstacle: at full load the generator is what limits, and it says
    /// so.
    fn read(&self, ended: &Ended) -> Result<Told> {
        parse(&ended.stdout).with_context(|| format!("reading tare's output: {}", ended.last_words()))
    }
}

fn parse(text: &str) -> Option<Told> {
    let json: Value = serde_json::from_str(text).ok()?;
    let total = |key: &str| json["totals"][key].as_u64();
    Some(Told {
        done: total("done")?,
        failed: total("failed")? + total("missed")?,
        seconds: json["rate"]["duration_s"].as_f64()?,
        word: json["verdict"]["word"].as_str().map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_result_is_read() {
        let text = r#"{"schema": "tare.result/1", "verdict": {"word": "INVALID"},
            "totals": {"offered": 105, "done": 100, "failed": 2, "missed": 1, "cut_off": 2},
            "rate": {"achieved_per_s": 50.0, "duration_s": 2.0}}"#;
        let told = parse(text).expect("a result");
        assert_eq!(told, Told { done: 100, failed: 3, seconds: 2.0, word: Some("INVALID".to_owned()) });
    }
}
