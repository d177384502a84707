//! Arrivals, stamped by a server that belongs to no tool: a process of its own, on a core of its own, that
//! polls.
//!
//! ```text
//! bench-http ──starts──► bench-http stamps (core 1, busy)  ◄──requests── tool under test (core 0)
//!      ▲                        │ standard input closed: write the file, quit
//!      └── evenness::of ◄── arrivals file: little-endian u64, ns of CLOCK_MONOTONIC, one per request
//! ```

pub mod evenness;
mod heads;
pub mod server;

use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::{proc, process};

/// A running stamping server.
pub struct Stamps {
    child: Child,
    file: PathBuf,
    port: u16,
}

impl Stamps {
    /// Starts the server on `core`; it listens on a free port of 127.0.0.1.
    pub fn start(scratch: &Path, core: usize) -> Result<Self> {
        let file = scratch.join("arrivals.u64");
        let port_file = scratch.join("arrivals.port");
        let _ = std::fs::remove_file(&port_file);
        let mut command = std::process::Command::new(std::env::current_exe()?);
        command.arg(server::WORD).arg(&file).arg(&port_file).stdin(Stdio::piped());
        let child = process::spawn_on(&mut command, core).context("starting the stamping server")?;
        let mut stamps = Self { child, file, port: 0 };
        stamps.port = wait_for_port(&port_file)?;
        Ok(stamps)
    }

    /// Where to send requests.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    /// CPU seconds of the server so far: one for each second, unless it had to share its core.
    pub fn cpu_s(&self) -> f64 {
        proc::cpu_ns(self.child.id()).unwrap_or(0) as f64 / 1e9
    }

    /// Stops the server and reads what it stamped: ns of CLOCK_MONOTONIC, in order of arrival.
    pub fn stop(mut self) -> Result<Vec<u64>> {
        drop(self.child.stdin.take());
        let status = self.child.wait()?;
        if !status.success() {
            bail!("the stamping server failed: {status}");
        }
        let bytes = std::fs::read(&self.file)?;
        Ok(bytes.chunks_exact(8).map(|c| u64::from_le_bytes(c.try_into().expect("chunks of 8"))).collect())
    }
}

impl Drop for Stamps {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

fn wait_for_port(file: &Path) -> Result<u16> {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(5) {
        match std::fs::read_to_string(file) {
            Ok(text) if text.ends_with('\n') => return Ok(text.trim().parse()?),
            _ => std::thread::sleep(Duration::from_millis(5)),
        }
    }
    bail!("the stamping server did not say its port within 5 s")
}
