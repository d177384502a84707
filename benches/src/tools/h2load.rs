//! h2load (nghttp2), over HTTP/1.1.
//!
//! With a duration and `Connection: close` it never ends, so new connections are asked for by number of
//! requests. Its rate is per client; 64 clients share the asked one.

use anyhow::{Context, Result};

use super::{Ask, CONNECTIONS, Load, Told, Tool, words};
use crate::process::Ended;

pub struct H2load;

impl Tool for H2load {
    fn name(&self) -> &str {
        "h2load"
    }

    fn command(&self, ask: &Ask) -> Result<Vec<String>, &'static str> {
        let mut argv = words(["h2load", "--h1", "-t1", "-c"]);
        argv.push(CONNECTIONS.to_string());
        match ask.load {
            Load::KeepAlive => argv.push(format!("-D{}", ask.seconds)),
            Load::NewConnection => {
                argv.push(format!("-n{}", ask.sized()));
                argv.extend(words(["-H", "Connection: close"]));
            }
            Load::Rate(per_s) => {
                argv.push(format!("-D{}", ask.seconds));
                argv.push(format!("--rps={}", per_s as f64 / CONNECTIONS as f64));
            }
        }
        argv.push(ask.url.clone());
        Ok(argv)
    }

    fn read(&self, ended: &Ended) -> Result<Told> {
        parse(&ended.stdout).with_context(|| format!("reading h2load's output: {}", ended.last_words()))
    }
}

/// `finished in 1.00s, 158316.00 req/s`: the rate is finer than the time.
fn parse(text: &str) -> Option<Told> {
    let line = text.lines().find(|l| l.starts_with("finished in "))?;
    let per_s: f64 = line.split(", ").nth(1)?.split_whitespace().next()?.parse().ok()?;
    let totals = text.lines().find(|l| l.starts_with("requests: "))?;
    let count = |word: &str| -> Option<u64> {
        let part = totals["requests: ".len()..].split(", ").find(|p| p.ends_with(word))?;
        part.split_whitespace().next()?.parse().ok()
    };
    let done = count(" succeeded")?;
    let failed = count(" failed")? + count(" errored")? + count(" timeout")?;
    // Its rate counts everything that finished, the failed too.
    Some(Told { done, failed, seconds: count(" done")? as f64 / per_s, word: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_own_output_is_read() {
        let text = "starting benchmark...\n\nfinished in 1.00s, 158316.00 req/s, 88.93MB/s\n\
                    requests: 158316 total, 158380 started, 158316 done, 158310 succeeded, \
                    1 failed, 2 errored, 3 timeout\n\
                    status codes: 158316 2xx, 0 3xx, 0 4xx, 0 5xx\n";
        let told = parse(text).expect("h2load's output");
        assert_eq!((told.done, told.failed, told.seconds), (158_310, 6, 1.0));
    }
}
