//! The known-truth target: an HTTP server whose behaviour is programmed, and which writes down what it really
//! did.
//!
//! ```text
//! TargetConfig ──► Shared ──► worker 0..n  ── rings ──► truth writer ──► CSV, Truth
//!                              │ epoll loop: Entry = socket + TLS Link + Conn (HTTP without I/O)
//!                              └ Mind: decides each answer from settings, query and dice
//! ```
//!
//! Service time in the truth is from the complete request (as read) to just before the first byte of the answer
//! is handed to the socket (or to TLS): a client can never have seen less.

#![deny(unsafe_code)]

mod answer;
mod body;
mod config;
mod conn;
mod distribution;
mod entry;
mod head;
mod listen;
mod mind;
pub mod over;
mod random;
mod ring;
mod shared;
mod signal;
mod slab;
mod stamped;
mod stats;
mod text;
mod timers;
#[cfg(feature = "tls")]
mod tls;
#[cfg(not(feature = "tls"))]
#[path = "no_tls.rs"]
mod tls;
mod tls_error;
mod truth;
mod tunnel;
mod worker;

pub use config::{
    ConfigError, ErrorShare, Faults, Origin, TargetConfig, Tls, TlsVersions, TruthConfig, Window,
};
pub use distribution::{Distribution, DistributionError, Quantity};
pub use ring::How;
pub use stats::Stats;
pub use tls::TlsError;
pub use truth::{Arrivals, Spread, Truth};

use clock::HostClock;
use mind::Mind;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::OwnedFd;
use shared::Shared;
use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use worker::Worker;

/// How often the truth writer looks into its rings.
const TRUTH_EVERY: Duration = Duration::from_millis(20);
/// How often `run` looks whether it shall end.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Why a target could not start or end in order.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("target cannot listen on {at}: {why}")]
    Listen { at: String, why: std::io::Error },
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error("target cannot write {path}: {why}")]
    Write { path: PathBuf, why: std::io::Error },
    #[error("target cannot set up its threads: {0}")]
    Setup(std::io::Error),
    #[error("CPU {0} is not one that this process may use")]
    Cpu(u32),
}

/// A target that serves in threads of this process. Dropped, it ends; `stop` gives the truth.
pub struct Running {
    shared: Arc<Shared>,
    addrs: Vec<SocketAddr>,
    wake: Arc<OwnedFd>,
    workers: Vec<JoinHandle<()>>,
    writer: Option<JoinHandle<truth::Writer>>,
    /// The truth writer outlives the workers.
    writer_stop: Arc<AtomicBool>,
}

/// Starts a target; it listens when this returns.
pub fn spawn(config: TargetConfig) -> Result<Running, TargetError> {
    config.check()?;
    let tls = config.tls.as_ref().map(tls::server_config).transpose()?;
    let count = usize::try_from(config.workers.get()).expect("workers are checked to be at most 256");
    let (listeners, addrs) = listen::open(&config.listen, config.unix.as_deref(), config.backlog, count)?;
    let clock = HostClock::calibrate();
    let mut producers: Vec<Option<ring::Producer>> = (0..count).map(|_| None).collect();
    let mut consumers = Vec::new();
    if !config.truth.off {
        for slot in &mut producers {
            let (producer, consumer) = ring::ring();
            *slot = Some(producer);
            consumers.push(consumer);
        }
    }
    let records = config.truth.records.as_deref();
    let writer = truth::Writer::new(clock, consumers, records)
        .map_err(|why| TargetError::Write { path: records.map_or_else(PathBuf::new, Into::into), why })?;
    let setup = |error: rustix::io::Errno| TargetError::Setup(error.into());
    let wake = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(setup)?);
    let shared = Arc::new(Shared::new(config, clock));
    let mut running = Running {
        shared: shared.clone(),
        addrs,
        wake: wake.clone(),
        workers: Vec::new(),
        writer: None,
        writer_stop: Arc::new(AtomicBool::new(false)),
    };
    running.start_writer(writer)?;
    for (index, (listeners, producer)) in listeners.into_iter().zip(producers).enumerate() {
        let mind = Mind::new(shared.clone(), index, producer);
        let worker = Worker::new(mind, listeners, tls.clone(), wake.clone()).map_err(setup)?;
        running.start_worker(index, worker)?;
    }
    Ok(running)
}

impl Running {
    /// Where it listens, with real ports.
    pub fn addrs(&self) -> &[SocketAddr] {
        &self.addrs
    }

    /// `http://…` or `https://…` of the first address; empty if there is only a Unix socket.
    pub fn url(&self) -> String {
        let scheme = if self.shared.config.tls.is_some() { "https" } else { "http" };
        self.addrs.first().map_or_else(String::new, |addr| format!("{scheme}://{addr}"))
    }

    pub fn stats(&self) -> Stats {
        self.shared.board.read()
    }

    /// Ends it: connections are closed, the truth is written.
    pub fn stop(mut self) -> Result<Truth, TargetError> {
        let writer = self.end().expect("the writer runs until the target is ended once");
        let config = &self.shared.config.truth;
        let truth = writer.finish(self.shared.board.read_all(), config.expected_rate);
        if let Some(path) = &config.summary {
            os::output::write(path, truth.to_json())
                .map_err(|why| TargetError::Write { path: path.clone(), why })?;
        }
        Ok(truth)
    }

    fn end(&mut self) -> Option<truth::Writer> {
        self.shared.stop.store(true, Ordering::Relaxed);
        // An eventfd takes 2⁶⁴ − 1 wake-ups before it is full.
        let _ = rustix::io::write(&*self.wake, &1u64.to_ne_bytes());
        for worker in self.workers.drain(..) {
            let panicked = worker.join().is_err();
            assert!(!panicked || std::thread::panicking(), "a worker panics only on a broken invariant");
        }
        self.writer_stop.store(true, Ordering::Relaxed);
        let writer = self.writer.take()?;
        Some(writer.join().expect("the truth writer panics only on a broken invariant"))
    }

    fn start_worker(&mut self, index: usize, worker: Worker) -> Result<(), TargetError> {
        let cpus = &self.shared.config.cpus;
        let cpu = if cpus.is_empty() { None } else { Some(cpus[index % cpus.len()]) };
        let (pinned, was_pinned) = std::sync::mpsc::channel();
        let thread = std::thread::Builder::new().name(format!("target-{index}")).spawn(move || {
            let done = cpu.is_none_or(|cpu| os::cpus::pin(cpu).is_ok());
            // The starter waits for this, and is gone only if it panicked.
            let _ = pinned.send(done);
            if done {
                // One nanosecond of timer slack instead of fifty microseconds; without it, waits are only less
                // exact.
                let _ = clock::set_timer_slack_ns(1);
                worker.run();
            }
        });
        self.workers.push(thread.map_err(TargetError::Setup)?);
        match (was_pinned.recv(), cpu) {
            (Ok(false), Some(cpu)) => Err(TargetError::Cpu(cpu)),
            _ => Ok(()),
        }
    }

    fn start_writer(&mut self, mut writer: truth::Writer) -> Result<(), TargetError> {
        let stop = self.writer_stop.clone();
        let thread = std::thread::Builder::new().name("target-truth".into()).spawn(move || {
            // Last in line for the CPU: what it writes about shall not be moved by it.
            let _ = os::scheduling::set_nice(19);
            while !stop.load(Ordering::Relaxed) {
                writer.drain();
                std::thread::sleep(TRUTH_EVERY);
            }
            writer
        });
        self.writer = Some(thread.map_err(TargetError::Setup)?);
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // After `stop` there is nothing left to end.
        self.end();
    }
}

/// Serves until SIGINT, SIGTERM, or the configured duration is over: what `tare target` does.
pub fn run(config: TargetConfig) -> Result<Truth, TargetError> {
    run_until(config, signal::stop_flag())
}

/// Serves until `stop` is set or the configured duration is over. Says on standard output where it listens.
pub fn run_until(config: TargetConfig, stop: &AtomicBool) -> Result<Truth, TargetError> {
    let (duration, port_file, unix) = (config.duration, config.port_file.clone(), config.unix.clone());
    // As many descriptors as this process may have: tens of thousands of connections are usual.
    os::limits::raise_open_files();
    let running = spawn(config)?;
    if let Some(path) = port_file {
        let ports: String = running.addrs().iter().map(|addr| format!("{}\n", addr.port())).collect();
        os::output::write(&path, ports).map_err(|why| TargetError::Write { path, why })?;
    }
    let mut says = String::new();
    let scheme = if running.shared.config.tls.is_some() { "https" } else { "http" };
    for addr in running.addrs() {
        says += &format!("listening on {scheme}://{addr}\n");
    }
    if let Some(path) = unix {
        says += &format!("listening on unix:{}\n", path.display());
    }
    // Nobody may be reading.
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(says.as_bytes()).and_then(|()| stdout.flush());
    drop(stdout);
    let clock = running.shared.clock;
    let end = duration.map(|duration| clock::Clock::now(&clock) + duration);
    while !stop.load(Ordering::Relaxed) && end.is_none_or(|end| clock::Clock::now(&clock) < end) {
        std::thread::sleep(LOOK_EVERY);
    }
    running.stop()
}
