//! Processes that end with the test: by their pid, whatever happens.

use rustix::process::{Pid, Signal, kill_process};
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

/// A process of this test; dropping it ends it.
pub struct Process(Child);

impl Process {
    /// Starts it. The kernel ends it, too, if the test's thread dies before it.
    pub fn start(argv: &[String], prepare: impl FnOnce(&mut Command)) -> Self {
        crate::need("setpriv");
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--"]).args(argv).stdin(std::process::Stdio::null());
        prepare(&mut command);
        Self(command.spawn().unwrap_or_else(|error| panic!("starting {argv:?}: {error}")))
    }

    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    pub fn signal(&self, signal: Signal) {
        signal_pid(self.pid(), signal);
    }

    /// Waits for its end; `None` if it has not ended within `limit`.
    pub fn wait(&mut self, limit: Duration) -> Option<ExitStatus> {
        let begun = Instant::now();
        let mut nap = Duration::from_millis(1);
        loop {
            if let Some(status) = self.0.try_wait().expect("a child can be waited for") {
                return Some(status);
            }
            if begun.elapsed() > limit {
                return None;
            }
            std::thread::sleep(nap);
            nap = (nap * 2).min(Duration::from_millis(10));
        }
    }

    pub fn is_running(&mut self) -> bool {
        matches!(self.0.try_wait(), Ok(None))
    }

    /// SIGTERM, and SIGKILL to one that does not heed it.
    pub fn end(&mut self) {
        if self.is_running() {
            self.signal(Signal::TERM);
            if self.wait(Duration::from_secs(3)).is_none() {
                self.kill();
            }
        }
    }

    pub fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }

    /// Anonymous resident memory in KiB: the program's own. `None` when it has ended.
    pub fn rss_anon_kib(&self) -> Option<u64> {
        status_kib(self.pid(), "RssAnon:")
    }

    /// Waits until the process has a handler for this signal, or has ended.
    pub fn wait_for_heeding(&self, signal: Signal) {
        let status = format!("/proc/{}/status", self.pid());
        wait_until(&format!("a handler of signal {}", signal.as_raw()), || {
            let text = std::fs::read_to_string(&status).unwrap_or_default();
            let ended = text.is_empty() || text.contains("State:\tZ");
            let caught = text.lines().find_map(|line| line.strip_prefix("SigCgt:"));
            let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
            ended || caught >> (signal.as_raw() - 1) & 1 == 1
        });
    }

    /// Waits until the process at this pid is `name`, and no longer the program that starts it.
    pub fn wait_for_exec(&self, name: &str) {
        let comm = format!("/proc/{}/comm", self.pid());
        wait_until(&format!("the start of {name}"), || {
            std::fs::read_to_string(&comm).is_ok_and(|text| text.trim() == name)
        });
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.is_running() {
            self.kill();
        }
    }
}

pub fn signal_pid(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(pid as i32).expect("pids are positive");
    kill_process(pid, signal).unwrap_or_else(|error| panic!("signal to {pid:?}: {error}"));
}

fn status_kib(pid: u32, key: &str) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}

/// Looks every few milliseconds; fails the test after 40 s.
#[track_caller]
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(40), "{what} did not come within 40 s");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The whole text of a file, or nothing if it is not there.
pub fn text_of(path: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned()
}
