//! oha: one worker thread (its core is one), latency correction when a rate is asked.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;

use super::{Ask, CONNECTIONS, Load, Told, Tool, words};
use crate::process::Ended;

pub struct Oha {
    path: PathBuf,
}

impl Oha {
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }
}

impl Tool for Oha {
    fn name(&self) -> &str {
        "oha"
    }

    fn command(&self, ask: &Ask) -> Result<Vec<String>, &'static str> {
        let mut argv = vec![self.path.display().to_string()];
        argv.extend(words(["--no-tui", "--worker-threads", "1", "--output-format", "json", "-c"]));
        argv.push(CONNECTIONS.to_string());
        argv.extend(["-z".to_owned(), format!("{}s", ask.seconds)]);
        match ask.load {
            Load::KeepAlive => {}
            Load::NewConnection => argv.push("--disable-keepalive".to_owned()),
            Load::Rate(per_s) => {
                argv.extend(["-q".to_owned(), per_s.to_string(), "--latency-correction".to_owned()]);
            }
        }
        if ask.tls() {
            argv.push("--insecure".to_owned());
        }
        argv.push(ask.url.clone());
        Ok(argv)
    }

    fn read(&self, ended: &Ended) -> Result<Told> {
        parse(&ended.stdout).with_context(|| format!("reading oha's output: {}", ended.last_words()))
    }
}

/// Requests are counted by status code; those that its deadline aborted are nobody's fault.
fn parse(text: &str) -> Option<Told> {
    let json: Value = serde_json::from_str(text).ok()?;
    let counts = |key: &str| json.get(key).and_then(Value::as_object);
    let done = counts("statusCodeDistribution")?.values().filter_map(Value::as_u64).sum();
    let failed = counts("errorDistribution").map_or(0, |errors| {
        errors
            .iter()
            .filter(|(name, _)| *name != "aborted due to deadline")
            .filter_map(|(_, n)| n.as_u64())
            .sum()
    });
    Some(Told { done, failed, seconds: json["summary"]["total"].as_f64()?, word: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_own_output_is_read() {
        let text = r#"{"summary": {"successRate": 1.0, "total": 2.002559736, "requestsPerSec": 141518.37},
            "statusCodeDistribution": {"200": 283346, "500": 2},
            "errorDistribution": {"aborted due to deadline": 51, "connection refused": 4}}"#;
        let told = parse(text).expect("oha's output");
        assert_eq!((told.done, told.failed, told.seconds), (283_348, 4, 2.002_559_736));
    }
}
