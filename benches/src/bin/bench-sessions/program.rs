//! Programs that run in the generator's namespace, on its CPU, and the servers at the other end.

use crate::{CPU, PORT, SERVER, SERVERS_CPU, only};
use anyhow::{Context, Result, ensure};
use bed::Namespace;
use rustix::process::Pid;
use rustix::thread::sched_setaffinity;
use serde_json::Value;
use std::process::Stdio;
use tare_system_tests::{Nginx, Target};

/// A program that ran to its end, and the CPU time that it took.
pub struct Ran {
    pub said: String,
    pub user_s: f64,
    pub system_s: f64,
}

impl Ran {
    /// CPU seconds for a million of so many.
    pub fn cpu_s_per_million(&self, done: u64) -> f64 {
        (self.user_s + self.system_s) / done as f64 * 1e6
    }

    pub fn json(&self) -> Result<Value> {
        serde_json::from_str(&self.said).with_context(|| format!("a result, not {}", self.said))
    }
}

/// Runs a command line on the generator's CPU.
pub fn run(inside: &Namespace, words: &[&str]) -> Result<Ran> {
    let line = words.join(" ");
    let mut command = inside.command("taskset");
    command.args(["-c", CPU]).args(words).stdin(Stdio::null());
    let before = children_cpu();
    let output = command.output().with_context(|| line.clone())?;
    let after = children_cpu();
    ensure!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(Ran { said, user_s: after.0 - before.0, system_s: after.1 - before.1 })
}

/// CPU seconds of all children that were waited for: outside the kernel, and in it.
fn children_cpu() -> (f64, f64) {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `usage` is a rusage that the kernel fills.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr());
        usage.assume_init()
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    (seconds(usage.ru_utime), seconds(usage.ru_stime))
}

/// nginx at the other end, on its CPU: 600 bytes from memory, with these words after the port. Several workers
/// have a listening socket each.
pub fn nginx(inside: &Namespace, listen: &str, workers: usize) -> Result<Nginx> {
    let body = "x".repeat(600);
    let server = format!(
        "listen {SERVER}:{PORT} backlog=4096 {listen}; access_log off; location / {{ return 200 '{body}'; }}"
    );
    let nginx = Nginx::start_inside_with(inside, &server, workers);
    for worker in nginx.workers() {
        let worker = Pid::from_raw(worker as i32).context("nginx's worker")?;
        sched_setaffinity(Some(worker), &only(SERVERS_CPU))?;
    }
    Ok(nginx)
}

/// `tare target --over` there: the server without connections.
pub fn responder(inside: &Namespace, address: &str) -> Target {
    let cpu = SERVERS_CPU.to_string();
    let through = ["ip", "netns", "exec", &inside.name];
    let words = format!("--no-truth --cpus {cpu} --size 600 --over packet:sink0,ip={address}/24");
    Target::start_through(&through, &words)
}

/// Requests of a result of `tare http` that none of failed.
pub fn done(result: &Value) -> Option<u64> {
    let totals = &result["totals"];
    (totals["failed"] == 0).then(|| totals["done"].as_u64()).flatten()
}
