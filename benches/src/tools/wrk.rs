//! wrk 4.1: closed loop only.

use anyhow::{Context, Result};

use super::{Ask, CONNECTIONS, Load, Told, Tool, number_after, words};
use crate::process::Ended;

pub struct Wrk;

impl Tool for Wrk {
    fn name(&self) -> &str {
        "wrk"
    }

    fn command(&self, ask: &Ask) -> Result<Vec<String>, &'static str> {
        let mut argv = words(["wrk", "-t1"]);
        argv.push(format!("-c{CONNECTIONS}"));
        argv.push(format!("-d{}s", ask.seconds));
        match ask.load {
            Load::KeepAlive => {}
            Load::NewConnection => argv.extend(words(["-H", "Connection: close"])),
            Load::Rate(_) => return Err("knows no rate"),
        }
        argv.push(ask.url.clone());
        Ok(argv)
    }

    fn read(&self, ended: &Ended) -> Result<Told> {
        parse(&ended.stdout).with_context(|| format!("reading wrk's output: {}", ended.last_words()))
    }
}

/// `385913 requests in 2.00s` has two decimals; the rate is finer, so the seconds come from it.
fn parse(text: &str) -> Option<Told> {
    let line = text.lines().find(|l| l.contains(" requests in "))?;
    let done: u64 = line.split_whitespace().next()?.parse().ok()?;
    let per_s = number_after(text, "Requests/sec:")?;
    let socket_errors: f64 = text.lines().find(|l| l.contains("Socket errors:")).map_or(0.0, |l| {
        ["connect ", "read ", "write ", "timeout "].iter().filter_map(|key| number_after(l, key)).sum()
    });
    let other = number_after(text, "Non-2xx or 3xx responses:").unwrap_or(0.0);
    Some(Told { done, failed: (socket_errors + other) as u64, seconds: done as f64 / per_s, word: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_own_output_is_read() {
        let text = "Running 2s test @ http://127.0.0.1:18080/\n  1 threads and 64 connections\n\
                    \x20 385913 requests in 2.00s, 216.77MB read\n\
                    \x20 Socket errors: connect 1, read 2, write 0, timeout 3\n\
                    Requests/sec: 192854.67\nTransfer/sec:    108.33MB\n";
        let told = parse(text).expect("wrk's output");
        assert_eq!((told.done, told.failed), (385_913, 6));
        // 385 913 / 192 854.67 = 2.001056…
        assert!((told.seconds - 2.001_056).abs() < 1e-6, "{}", told.seconds);
    }
}
