//! A program inside a namespace, on one core, ended when it is dropped.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use bed::Namespace;
use rustix::process::{Pid, Signal, kill_process};

/// Ctrl-C: every wait ends, and what was made goes with its owner.
static INTERRUPTED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

pub fn end_at_ctrl_c() -> Result<()> {
    let flag = INTERRUPTED.get_or_init(Arc::default);
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(flag))?;
    }
    Ok(())
}

/// Sleeps; an error at Ctrl-C.
pub fn sleep(length: Duration) -> Result<()> {
    const STEP: Duration = Duration::from_millis(50);
    let end = Instant::now() + length;
    loop {
        if INTERRUPTED.get().is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            bail!("interrupted");
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        std::thread::sleep(left.min(STEP));
    }
}

pub struct Program {
    child: Child,
    out: File,
    err: File,
    name: String,
}

/// Where it runs: the namespace, cores as taskset(1) takes them, niceness.
#[derive(Clone, Copy)]
pub struct At<'a> {
    pub inside: &'a Namespace,
    pub cores: &'a str,
    pub niceness: i32,
}

impl Program {
    pub fn start(words: &[String], at: At<'_>) -> Result<Self> {
        let mut command = at.inside.command("taskset");
        command.args(["-c", at.cores, "nice", "-n", &at.niceness.to_string()]).args(words);
        let name =
            Path::new(&words[0]).file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        Self::spawn(command, name)
    }

    fn spawn(mut command: Command, name: String) -> Result<Self> {
        let (out, err) = (unnamed()?, unnamed()?);
        // A group of its own: trafgen sends in a child, which would go on after it.
        command.process_group(0).stdin(Stdio::piped()).stdout(out.try_clone()?).stderr(err.try_clone()?);
        let child = command.spawn().with_context(|| format!("starting {name}"))?;
        Ok(Self { child, out, err, name })
    }

    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// The end of its standard input.
    pub fn close_input(&mut self) {
        drop(self.child.stdin.take());
    }

    /// CPU seconds of all its threads so far, and of those of its children.
    pub fn cpu_s(&self) -> f64 {
        let folders = |place: String| std::fs::read_dir(place).into_iter().flatten().flatten();
        let tasks = self.members().into_iter().flat_map(|pid| folders(format!("/proc/{pid}/task")));
        tasks.filter_map(|task| busy_s(&task.path())).sum()
    }

    /// It and its children, as far as they run.
    fn members(&self) -> Vec<i32> {
        let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        pids.filter(|pid| group(*pid) == Some(self.child.id())).collect()
    }

    /// What it left behind is ended, and is gone when this returns.
    fn clear(&self) {
        for _ in 0..200 {
            let left = self.members();
            if left.is_empty() {
                return;
            }
            for pid in left.into_iter().filter_map(Pid::from_raw) {
                let _ = kill_process(pid, Signal::KILL);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits for its end, at most so long.
    pub fn wait(&mut self, limit: Duration) -> Result<bool> {
        let end = Instant::now() + limit;
        while self.is_running() {
            if Instant::now() > end {
                return Ok(false);
            }
            sleep(Duration::from_millis(10))?;
        }
        Ok(true)
    }

    /// Ends it by `signal`, and harder if that does not help; what it said.
    pub fn end(mut self, signal: Signal) -> Result<Said> {
        self.signal(signal);
        if !self.wait(Duration::from_secs(10))? {
            self.child.kill()?;
            self.child.wait()?;
        }
        self.clear();
        self.said()
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = Pid::from_raw(self.child.id() as i32) {
            // It may have ended by itself.
            let _ = kill_process(pid, signal);
        }
    }

    /// What it has said so far.
    pub fn said(&self) -> Result<Said> {
        Ok(Said { name: self.name.clone(), out: text(&self.out)?, err: text(&self.err)? })
    }

    /// Waits until it has said `word`.
    pub fn expect(&mut self, word: &str) -> Result<()> {
        for _ in 0..500 {
            if self.said()?.out.contains(word) {
                return Ok(());
            }
            if !self.is_running() {
                break;
            }
            sleep(Duration::from_millis(10))?;
        }
        bail!("{}", self.said()?.last_words())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // A program that has to clean up (an attached program, a tap) gets the time for it.
        if self.is_running() {
            self.signal(Signal::INT);
            let end = Instant::now() + Duration::from_secs(3);
            while self.is_running() && Instant::now() < end {
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.clear();
    }
}

/// The process group of a process that is no zombie (`/proc/PID/stat`: state is field 3, pgrp 5).
fn group(pid: i32) -> Option<u32> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut words = text.rsplit_once(')')?.1.split_ascii_whitespace();
    let state = words.next()?;
    words.nth(1)?.parse().ok().filter(|_| state != "Z")
}

/// What a program printed.
pub struct Said {
    name: String,
    pub out: String,
    pub err: String,
}

impl Said {
    pub fn last_words(&self) -> String {
        let lines = self.err.lines().chain(self.out.lines());
        let last = lines.rev().find(|line| !line.trim().is_empty());
        format!("{} said: {}", self.name, last.unwrap_or("nothing").trim())
    }

    pub fn json(&self) -> Result<serde_json::Value> {
        serde_json::from_str(&self.out).with_context(|| self.last_words())
    }

    /// The number after `key`, as bare loops print it: `frames 123 seconds 2.0`.
    pub fn after(&self, key: &str) -> Result<f64> {
        let mut words = self.out.split_whitespace().skip_while(|word| *word != key);
        let word = words.nth(1).with_context(|| format!("no '{key}': {}", self.last_words()))?;
        Ok(word.parse()?)
    }

    /// The number before `words` in what it said on standard error: `123 packets captured`.
    pub fn before(&self, words: &str) -> Result<f64> {
        let line = self.err.lines().find(|line| line.contains(words));
        let number = line.and_then(|line| line.split(words).next()?.split_whitespace().last());
        let number = number.with_context(|| format!("no '{words}': {}", self.last_words()))?;
        Ok(number.parse()?)
    }
}

/// Runs a program to its end inside, at most `limit`.
pub fn run(words: &[&str], at: At<'_>, limit: Duration) -> Result<Said> {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let mut program = Program::start(&words, at)?;
    if !program.wait(limit)? {
        bail!("{} ran for more than {} s", words[0], limit.as_secs());
    }
    let status = program.child.wait()?;
    let said = program.said()?;
    if !status.success() {
        bail!("{}", said.last_words());
    }
    Ok(said)
}

/// Seconds on a CPU of the thread whose folder in /proc this is.
pub fn busy_s(task: &Path) -> Option<f64> {
    let text = std::fs::read_to_string(task.join("schedstat")).ok()?;
    Some(text.split(' ').next()?.parse::<f64>().ok()? / 1e9)
}

/// A file without a name: no pipe that can fill, and nothing left behind.
fn unnamed() -> Result<File> {
    use rustix::fs::{MemfdFlags, memfd_create};
    Ok(File::from(memfd_create("said", MemfdFlags::CLOEXEC)?))
}

fn text(file: &File) -> Result<String> {
    use std::os::unix::fs::FileExt;

    // The position is the writer's too: read without moving it.
    let length = file.metadata()?.len();
    let mut bytes = vec![0; length as usize];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
