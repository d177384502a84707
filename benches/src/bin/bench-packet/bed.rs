//! The test bed: namespaces joined by veth, counters read inside them, and the kernel's threads that receive.
//!
//! ```text
//!   core 0: who sends ─► gen0 ══ veth ══ sink0 ─► core 1: NAPI's thread (where asked for) and who receives
//! ```
//! A veth pair has no wire: without a NAPI thread, the receiver's side of the kernel runs inside the sender's
//! system call.

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use bed::{Bed, Middlebox, Namespace, Topology};

use crate::child::{At, Program, busy_s, run, sleep};

/// Niceness of the measured programs, if the machine may be taken from others.
const AHEAD: i32 = -19;
/// Where the kernel keeps the niceness of a session against others (sched(7)).
const AUTOGROUP: &str = "/proc/self/autogroup";

pub struct TestBed {
    pub bed: Bed,
    pub niceness: i32,
}

/// Frames that an interface has received by a time.
#[derive(Clone, Copy)]
pub struct Count {
    pub at: Instant,
    pub received: u64,
}

impl TestBed {
    pub fn up(middlebox: Middlebox, is_first: bool) -> Result<Self> {
        Self::of_queues(middlebox, 1, is_first)
    }

    /// One whose interfaces have this many queues each way.
    pub fn of_queues(middlebox: Middlebox, queues: u32, is_first: bool) -> Result<Self> {
        let topology = Topology::unique().middlebox(middlebox).queues(queues);
        let bed = Bed::up(&topology).context("making a test bed (as root)")?;
        Ok(Self { bed, niceness: if is_first { AHEAD } else { 0 } })
    }

    pub fn generator(&self) -> At<'_> {
        At { inside: self.bed.generator(), cores: "0", niceness: self.niceness }
    }

    /// For `tare send --cpus 0`: its thread that sends has core 0 to itself, the one that looks after it has
    /// the other.
    pub fn spinning(&self) -> At<'_> {
        At { cores: "0,1", ..self.generator() }
    }

    pub fn sink(&self) -> At<'_> {
        At { inside: self.bed.sink(), cores: "1", niceness: self.niceness }
    }

    pub fn middle(&self) -> Result<At<'_>> {
        let inside = self.bed.middlebox().context("the bed has a middlebox")?;
        Ok(At { inside, cores: "1", niceness: self.niceness })
    }

    /// Hardware address of who takes frames from the generator.
    pub fn next_mac(&self) -> String {
        let next = self.bed.middlebox().unwrap_or_else(|| self.bed.sink());
        next.interface().mac.to_string()
    }

    /// What an interface has counted.
    pub fn count(&self, inside: &Namespace, interface: &str) -> Result<Count> {
        let read = || -> Result<Count> {
            let text = std::fs::read_to_string("/proc/thread-self/net/dev")?;
            let at = Instant::now();
            let line = text.lines().find_map(|line| line.trim().strip_prefix(interface)?.strip_prefix(':'));
            let numbers: Vec<u64> = line
                .with_context(|| format!("{interface} is gone"))?
                .split_whitespace()
                .filter_map(|word| word.parse().ok())
                .collect();
            // What was received: bytes, packets, ….
            Ok(Count { at, received: numbers[1] })
        };
        inside.run_in(read)?
    }

    pub fn at_sink(&self) -> Result<Count> {
        self.count(self.bed.sink(), "sink0")
    }

    /// Frames to the sink are then another host's to its kernel, which takes no further trouble over them after
    /// capture: no answers (ICMP), and no work inside the sender's call but the receiver's.
    pub fn only_for_captures(&self) -> Result<()> {
        let words = ["ip", "link", "set", "sink0", "address", "02:18:00:00:00:99"];
        run(&words, self.sink(), Duration::from_secs(5)).map(drop)
    }

    /// Waits until a packet socket listens inside.
    pub fn wait_for_listener(&self, inside: &Namespace, program: &mut Program) -> Result<()> {
        let listeners = || -> Result<usize> {
            Ok(inside.run_in(|| std::fs::read_to_string("/proc/thread-self/net/packet"))??.lines().count()
                - 1)
        };
        for _ in 0..300 {
            if listeners()? > 0 {
                // Its ring is there before its loop runs.
                return sleep(Duration::from_millis(300));
            }
            ensure!(program.is_running(), "{}", program.said()?.last_words());
            sleep(Duration::from_millis(20))?;
        }
        anyhow::bail!("it did not listen within 6 s: {}", program.said()?.last_words())
    }

    /// Has `interface`, which has a NAPI (an XDP program, or receive offload), received by a thread of the
    /// kernel's on core 1 instead of inside the sender's call; the thread.
    pub fn threaded(&self, inside: At<'_>, interface: &str) -> Result<Vec<u32>> {
        let before = napi_threads(interface);
        let words = format!("echo 1 > /sys/class/net/{interface}/threaded");
        run(&["sh", "-c", &words], inside, Duration::from_secs(5)).context("a NAPI thread")?;
        self.place(napi_threads(interface).difference(&before).copied().collect())
    }

    /// Generic receive offload, with which veth has a NAPI also without an XDP program.
    pub fn gro(&self, inside: At<'_>, interface: &str) -> Result<()> {
        run(&["ethtool", "-K", interface, "gro", "on"], inside, Duration::from_secs(5)).map(drop)
    }

    fn place(&self, threads: Vec<u32>) -> Result<Vec<u32>> {
        ensure!(!threads.is_empty(), "the kernel made no NAPI thread");
        for pid in threads.iter().map(u32::to_string) {
            run(&["taskset", "-pc", "1", &pid], self.sink(), Duration::from_secs(5))?;
            run(
                &["renice", "-n", &self.niceness.to_string(), "-p", &pid],
                self.sink(),
                Duration::from_secs(5),
            )?;
        }
        Ok(threads)
    }

    /// A sink that costs least: an XDP program that counts and drops, inside the call of whoever sends.
    pub fn dropping_sink(&self, bare_sink: &str) -> Result<Program> {
        let mut sink = Program::start(&[bare_sink.to_owned(), "sink0".to_owned()], self.sink())?;
        sink.expect("ready").context("the sink")?;
        Ok(sink)
    }
}

/// Process ids of the NAPI threads of interfaces of that name, in whatever namespace.
fn napi_threads(interface: &str) -> HashSet<u32> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let threads = processes.filter_map(|entry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        let name = std::fs::read_to_string(entry.path().join("comm")).ok()?;
        name.strip_prefix("napi/")?.starts_with(&format!("{interface}-")).then_some(pid)
    });
    threads.collect()
}

/// Seconds on a CPU of some threads of the kernel.
pub fn busy_all_s(threads: &[u32]) -> f64 {
    threads.iter().filter_map(|pid| busy_s(&PathBuf::from(format!("/proc/{pid}")))).sum()
}

/// This session ahead of others, as long as it lives.
pub struct Priority(());

impl Priority {
    pub fn take() -> Self {
        let _ = std::fs::write(AUTOGROUP, AHEAD.to_string());
        Self(())
    }
}

impl Drop for Priority {
    fn drop(&mut self) {
        let _ = std::fs::write(AUTOGROUP, "0");
    }
}
