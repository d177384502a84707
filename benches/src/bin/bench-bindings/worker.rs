//! A program that runs steps of the ladder as it is told to, a line each, and answers with figures.

use crate::options::Options;
use anyhow::{Context, Result, ensure};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

/// Which of the two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    Java,
    Native,
}

impl Side {
    pub fn name(self) -> &'static str {
        if self == Self::Java { "Java" } else { "C" }
    }
}

/// What one run of a step gave.
#[derive(Clone, Copy, Debug)]
pub struct Ran {
    pub frames: f64,
    pub ns: f64,
    /// On Java's heap.
    pub allocated_bytes: f64,
    /// Frames that came out at the other port.
    pub passed: f64,
}

/// What pollers gave together, by the wall clock.
#[derive(Clone, Copy, Debug)]
pub struct Together {
    pub frames: f64,
    pub wall_ns: f64,
    pub cpu_ns: f64,
}

/// A program on these cores, and ahead of others if that was asked for.
fn program(options: &Options, cores: &str, program: &Path) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", cores]);
    if options.priority {
        command.args(["nice", "-n", "-19"]);
    }
    command.arg(program);
    command
}

/// The command of Java's side, without the class.
pub fn java(options: &Options, cores: &str) -> Command {
    let mut command = program(options, cores, &options.java.join("bin/java"));
    let classes = format!("{0}/tare.jar:{0}/bench", options.at.display());
    command.args(["--enable-native-access=ALL-UNNAMED", "-cp", &classes]);
    command
}

pub struct Worker {
    side: Side,
    child: Child,
    told: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Worker {
    /// `pinned` to the core that both sides use; otherwise pollers go where they like.
    pub fn start(side: Side, options: &Options, pinned: bool) -> Result<Self> {
        // Of those that are not there taskset takes none.
        let cores = if pinned { options.cpu.to_string() } else { "0-1023".to_owned() };
        let mut command = match side {
            Side::Java => java(options, &cores),
            Side::Native => program(options, &cores, &options.at.join("native")),
        };
        if side == Side::Java {
            command.arg("tare.bench.Worker");
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("taskset")?;
        let told = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().context("standard output")?);
        Ok(Self { side, child, told, answers })
    }

    /// Frames lie as far apart as `longest` says.
    pub fn run(
        &mut self,
        step: &str,
        (size, burst): (u32, u32),
        length: Duration,
        longest: u32,
    ) -> Result<Ran> {
        let figures = self.ask(&format!("run {step} {size} {burst} {} {longest}", length.as_millis()))?;
        let [frames, ns, allocated_bytes, passed] = figures[..] else {
            anyhow::bail!("{} answered {figures:?}", self.side.name());
        };
        Ok(Ran { frames, ns, allocated_bytes, passed })
    }

    pub fn threads(
        &mut self,
        step: &str,
        (size, burst): (u32, u32),
        length: Duration,
        count: u32,
    ) -> Result<Together> {
        let figures = self.ask(&format!("threads {step} {size} {burst} {} {count}", length.as_millis()))?;
        let [frames, wall_ns, cpu_ns] = figures[..] else {
            anyhow::bail!("{} answered {figures:?}", self.side.name());
        };
        Ok(Together { frames, wall_ns, cpu_ns })
    }

    fn ask(&mut self, line: &str) -> Result<Vec<f64>> {
        let told = self.told.as_mut().context("it has ended")?;
        writeln!(told, "{line}")?;
        told.flush()?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer)?;
        ensure!(!answer.is_empty(), "{} ended at: {line}", self.side.name());
        answer.split_whitespace().map(|word| Ok(word.parse()?)).collect()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It ends with its standard input.
        self.told = None;
        if !matches!(self.child.wait(), Ok(status) if status.success()) {
            eprintln!("bench-bindings: the side in {} ended badly", self.side.name());
        }
    }
}
