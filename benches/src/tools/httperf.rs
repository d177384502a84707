//! httperf 0.9: opens connections at a rate and sends a number of requests on each.
//!
//! Keep-alive is 64 connections, opened at once, with as many calls each as fill the time. It cannot hold 64
//! new connections at once in a closed loop (they come at a rate, or one after another). Its rate is a rate of
//! connections.

use anyhow::{Context, Result};

use super::{Ask, CONNECTIONS, Load, Told, Tool, number_after, words};
use crate::process::Ended;

pub struct Httperf;

impl Tool for Httperf {
    fn name(&self) -> &str {
        "httperf"
    }

    fn command(&self, ask: &Ask) -> Result<Vec<String>, &'static str> {
        let (host, port) = ask.host_and_port();
        let mut argv = words(["httperf", "--hog"]);
        argv.extend([format!("--server={host}"), format!("--port={port}")]);
        match ask.load {
            Load::KeepAlive => argv.extend([
                format!("--num-conns={CONNECTIONS}"),
                "--rate=10000".to_owned(),
                format!("--num-calls={}", ask.sized().div_ceil(CONNECTIONS)),
            ]),
            Load::NewConnection => return Err("cannot hold 64 new connections at once"),
            Load::Rate(per_s) => {
                argv.extend([format!("--rate={per_s}"), format!("--num-conns={}", ask.sized())])
            }
        }
        if ask.tls() {
            argv.push("--ssl".to_owned());
        }
        Ok(argv)
    }

    fn read(&self, ended: &Ended) -> Result<Told> {
        parse(&ended.stdout).with_context(|| format!("reading httperf's output: {}", ended.last_words()))
    }
}

fn parse(text: &str) -> Option<Told> {
    let total = text.lines().find(|l| l.starts_with("Total: "))?;
    Some(Told {
        done: number_after(total, "replies ")? as u64,
        failed: number_after(text, "Errors: total ")? as u64,
        seconds: number_after(total, "test-duration ")?,
        word: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_own_output_is_read() {
        let text = "Maximum connect burst length: 17\n\n\
                    Total: connections 64 requests 96000 replies 95990 test-duration 0.421 s\n\n\
                    Errors: total 10 client-timo 0 socket-timo 0 connrefused 0 connreset 10\n";
        let told = parse(text).expect("httperf's output");
        assert_eq!(told, Told { done: 95_990, failed: 10, seconds: 0.421, word: None });
    }
}
