//! Running programs on one core, and weighing them: CPU seconds from wait4, resident memory from /proc.

use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, setpriority_process};
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::{proc, stamps};

/// How often a running program's memory is looked at.
const SAMPLE_EVERY: Duration = Duration::from_millis(100);

/// The niceness of every program that is started: generators and servers alike.
static NICE: AtomicI32 = AtomicI32::new(0);

/// How far ahead `--priority` puts them.
const AHEAD: i32 = -19;

/// Where the kernel keeps the niceness of a session against other sessions (sched(7), "The autogroup feature"):
/// while that feature is on, a process's own niceness counts within its session only.
const AUTOGROUP: &str = "/proc/self/autogroup";

/// Starts all programs, as long as it lives, ahead of what else the machine does.
pub struct Priority(());

impl Priority {
    pub fn take() -> Result<Self> {
        if Path::new(AUTOGROUP).exists() {
            std::fs::write(AUTOGROUP, AHEAD.to_string()).context("--priority needs root")?;
        }
        NICE.store(AHEAD, Ordering::Relaxed);
        Ok(Self(()))
    }
}

impl Drop for Priority {
    fn drop(&mut self) {
        NICE.store(0, Ordering::Relaxed);
        let _ = std::fs::write(AUTOGROUP, "0");
    }
}

/// A program that ran to its end, and what it took.
#[derive(Clone, Debug)]
pub struct Ended {
    pub stdout: String,
    pub stderr: String,
    /// Exit status; `None` when a signal ended it.
    pub code: Option<i32>,
    /// It was killed because it ran past its limit.
    pub timed_out: bool,
    /// CLOCK_MONOTONIC just before the start, ns.
    pub started_ns: u64,
    pub wall_s: f64,
    pub user_s: f64,
    pub system_s: f64,
    /// Largest resident set, KiB.
    pub peak_rss_kib: u64,
    /// Largest anonymous (private, not file-backed) resident memory, KiB, looked at every 100 ms.
    pub peak_private_kib: u64,
}

impl Ended {
    /// User and system CPU seconds.
    pub fn cpu_s(&self) -> f64 {
        self.user_s + self.system_s
    }

    /// What it printed last, for a message.
    pub fn last_words(&self) -> String {
        let text = if self.stderr.trim().is_empty() { &self.stdout } else { &self.stderr };
        text.lines().rev().find(|l| !l.trim().is_empty()).unwrap_or("it printed nothing").trim().to_owned()
    }
}

/// Runs `argv` on `core` until it ends, or kills it after `limit`. Its output goes through files in `scratch`,
/// so that no pipe can fill and no reader takes CPU beside it.
pub fn run(argv: &[String], core: usize, limit: Duration, scratch: &Path) -> Result<Ended> {
    let (out_path, err_path) = (scratch.join("stdout"), scratch.join("stderr"));
    let mut command = Command::new(&argv[0]);
    command
        .args(&argv[1..])
        .stdin(Stdio::null())
        .stdout(File::create(&out_path)?)
        .stderr(File::create(&err_path)?);
    let started_ns = stamps::server::now_ns();
    let begun = Instant::now();
    let mut child = spawn_on(&mut command, core).with_context(|| format!("starting {}", argv[0]))?;
    let watched = watch(&mut child, limit)?;
    let wall_s = begun.elapsed().as_secs_f64();
    let usage = reap(&child)?;
    // The kernel carries the bench's own peak over the exec, so its figure counts only when it is larger.
    let exact = usage.peak_rss_kib > proc::status_kib(std::process::id(), "VmHWM:").unwrap_or(u64::MAX);
    Ok(Ended {
        stdout: String::from_utf8_lossy(&std::fs::read(&out_path)?).into_owned(),
        stderr: String::from_utf8_lossy(&std::fs::read(&err_path)?).into_owned(),
        code: usage.code,
        timed_out: watched.timed_out,
        started_ns,
        wall_s,
        user_s: usage.user_s,
        system_s: usage.system_s,
        peak_rss_kib: if exact { usage.peak_rss_kib } else { watched.peak_rss_kib },
        peak_private_kib: watched.peak_private_kib,
    })
}

/// Starts `command` from a thread pinned to `core` and at the programs' priority, since a child inherits both.
pub fn spawn_on(command: &mut Command, core: usize) -> Result<Child> {
    let mut cpus = CpuSet::new();
    cpus.set(core);
    std::thread::scope(|scope| {
        let spawned = scope.spawn(|| -> Result<Child> {
            sched_setaffinity(None, &cpus).with_context(|| format!("pinning to core {core}"))?;
            let nice = NICE.load(Ordering::Relaxed);
            if nice != 0 {
                setpriority_process(None, nice).context("--priority needs root")?;
            }
            Ok(command.spawn()?)
        });
        spawned.join().expect("the spawning thread does not panic")
    })
}

/// Ends a long-lived process that the bench started: SIGTERM, and SIGKILL when it has not gone after 3 s.
pub fn end(child: &mut Child) {
    if let Some(pid) = Pid::from_raw(child.id() as i32) {
        let _ = kill_process(pid, Signal::TERM);
    }
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(3) {
        if !matches!(child.try_wait(), Ok(None)) {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let _ = child.kill();
    let _ = child.wait();
}

#[derive(Default)]
struct Watched {
    timed_out: bool,
    peak_rss_kib: u64,
    peak_private_kib: u64,
}

/// Waits for the child without reaping it, looking at its memory meanwhile.
fn watch(child: &mut Child, limit: Duration) -> Result<Watched> {
    let pid = Pid::from_raw(child.id() as i32).expect("a child's pid is positive");
    let pidfd = pidfd_open(pid, PidfdFlags::empty()).context("watching the program")?;
    let begun = Instant::now();
    let mut watched = Watched::default();
    let mut wait = Duration::from_millis(10);
    loop {
        let mut fds = [PollFd::from_borrowed_fd(pidfd.as_fd(), PollFlags::IN)];
        let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(wait.subsec_nanos()) };
        if poll(&mut fds, Some(&timeout))? > 0 {
            return Ok(watched);
        }
        wait = SAMPLE_EVERY;
        let kib = |key| proc::status_kib(child.id(), key).unwrap_or(0);
        watched.peak_rss_kib = watched.peak_rss_kib.max(kib("VmHWM:"));
        watched.peak_private_kib = watched.peak_private_kib.max(kib("RssAnon:"));
        if begun.elapsed() > limit && !watched.timed_out {
            watched.timed_out = true;
            child.kill()?;
        }
    }
}

struct Usage {
    code: Option<i32>,
    user_s: f64,
    system_s: f64,
    peak_rss_kib: u64,
}

/// Reaps the child, which has ended, with its resource usage.
fn reap(child: &Child) -> Result<Usage> {
    let mut status = 0;
    // SAFETY: rusage is plain integers; all zeroes is a valid value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to live locals of the right types; the pid is our own child, not yet waited
    // for.
    let reaped = unsafe { libc::wait4(child.id() as i32, &mut status, 0, &mut usage) };
    if reaped < 0 {
        return Err(std::io::Error::last_os_error()).context("wait4");
    }
    let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
    Ok(Usage {
        code: libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)),
        user_s: seconds(usage.ru_utime),
        system_s: seconds(usage.ru_stime),
        peak_rss_kib: usage.ru_maxrss as u64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, limit: Duration) -> Ended {
        let scratch = crate::scratch::Scratch::new().expect("a temporary folder");
        let argv = ["/bin/sh", "-c", script].map(str::to_owned);
        run(&argv, 0, limit, scratch.path()).expect("sh runs")
    }

    #[test]
    fn output_status_and_core_come_back() {
        let ended = sh(
            "echo out; echo err >&2; grep Cpus_allowed_list /proc/self/status; exit 4",
            Duration::from_secs(5),
        );
        assert_eq!(ended.code, Some(4));
        assert!(ended.stdout.starts_with("out\n"));
        assert!(ended.stdout.trim_end().ends_with('0'), "pinned to core 0: {}", ended.stdout);
        assert_eq!(ended.last_words(), "err");
    }

    #[test]
    fn cpu_is_the_childs_own() {
        // The shell counts to 200 000 (tens of ms of CPU), then sleeps 0.3 s, which costs none.
        let ended =
            sh("i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; sleep 0.3", Duration::from_secs(20));
        assert!(ended.cpu_s() > 0.01 && ended.cpu_s() < ended.wall_s - 0.25, "{ended:?}");
        assert!(ended.peak_rss_kib > 500, "a shell holds more than 500 KiB");
    }

    #[test]
    fn what_runs_too_long_is_killed() {
        let ended = sh("exec sleep 30", Duration::from_millis(200));
        assert!(ended.timed_out && ended.code.is_none() && ended.wall_s < 5.0);
    }
}
