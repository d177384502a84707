//! `tare target --over`: a server without connections, over frames of a port and addresses of its own. The
//! floor of benchmarks: it keeps nothing, so that a million connections cost it nothing.
//!
//! ```text
//! Via ─► port, Station ─► Responder ─ turn ─► Served        one each per worker, on a queue of its own
//! ```

mod responder;
mod response;
mod served;

pub use responder::{Responder, Settings};
pub use served::{Ignored, Served};

use crate::config::TargetConfig;
use crate::distribution::Distribution;
use crate::signal;
use clock::{Clock, HostClock};
use port::{Claims, For, Host, Port, PortError, Wish};
use station::{Link, Station, StationError, Via};
use std::io::Write;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use units::{Bytes, Picos};

/// The port that is served if nobody says another.
const HTTP: u16 = 80;
/// How long a worker sleeps when nothing comes, and how often `run` looks whether it shall end.
const NAP: Picos = Picos::from_millis(20);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Why a responder could not start, or ended before its time.
#[derive(Debug, thiserror::Error)]
pub enum OverError {
    #[error(transparent)]
    Station(#[from] StationError),
    #[error(transparent)]
    Port(#[from] PortError),
    #[error("a body of {size} is too large: --over sends at most {segments} segments, {most} with the head")]
    Size { size: Bytes, most: Bytes, segments: usize },
    #[error("--over sends one fixed response and keeps no state: it has no {0}")]
    Flag(&'static str),
    #[error("workers must be 1 to 256, not {0}")]
    Workers(u64),
    #[error("status {0} is not one of 200 to 999")]
    Status(u16),
    #[error("target cannot write {path}: {why}")]
    Write { path: PathBuf, why: std::io::Error },
    #[error("target cannot set up its threads: {0}")]
    Setup(std::io::Error),
    #[error("CPU {0} is not one that this process may use")]
    Cpu(u32),
    #[error(
        "another target or run uses {0} on this interface: the two would answer each other's connections; \
         wait until it ends, or use other addresses (ip=)"
    )]
    OfAnother(IpAddr),
    #[error(
        "{0} is an address of this host: its kernel would reset connections that it does not know; choose \
         unused addresses of the same subnet (ip=)"
    )]
    OfThisHost(IpAddr),
}

/// Everything about it.
#[derive(Clone, Debug)]
pub struct OverConfig {
    pub via: Via,
    pub settings: Settings,
    pub workers: u32,
    /// Worker i runs on the (i mod n)-th of these CPUs; empty leaves it to the kernel.
    pub cpus: Vec<u32>,
    /// Poll without sleeping.
    pub spin: bool,
    pub duration: Option<Picos>,
    pub port_file: Option<PathBuf>,
    pub summary: Option<PathBuf>,
}

impl OverConfig {
    /// What of a target's settings a responder has.
    ///
    /// # Errors
    /// `Flag` names a setting that it does not have.
    pub fn new(via: Via, config: TargetConfig) -> Result<Self, OverError> {
        let Distribution::Fixed(size) = config.size else {
            return Err(OverError::Flag("--size but a fixed one"));
        };
        let is_at_once = matches!(config.delay, Distribution::Fixed(delay) if delay.is_zero());
        let others = [
            ("--delay", !is_at_once),
            ("--unix", config.unix.is_some()),
            ("--chunk", config.chunk.is_some()),
            ("--trickle", config.trickle.is_some()),
            ("--rate", config.rate.is_some()),
            ("--close-after", config.close_after.is_some()),
            ("--require-auth", config.require_auth.is_some()),
            ("--proxy-mode", config.proxy),
            ("faults", config.faults.total_millionths() > 0),
            ("--stall", !config.stall.is_empty()),
            ("--accept-delay", !config.accept_delay.is_zero()),
            ("--refuse-after", config.refuse_after.is_some()),
            ("--stop-listening", config.stop_listening.is_some()),
            ("--die", config.die.is_some()),
            ("--tls", config.tls.is_some()),
            ("--truth", config.truth.records.is_some()),
            ("--expect-rate", config.truth.expected_rate.is_some()),
        ];
        if let Some((flag, _)) = others.into_iter().find(|(_, given)| *given) {
            return Err(OverError::Flag(flag));
        }
        if !(200..=999).contains(&config.status) {
            return Err(OverError::Status(config.status));
        }
        let workers = config.workers.get();
        if !(1..=256).contains(&workers) {
            return Err(OverError::Workers(workers));
        }
        let body = config.body.filter(|body| !body.is_empty());
        // Of an address to listen on, the port counts: the addresses are those of the station.
        let asked = config.listen.iter().map(|address| address.port()).filter(|port| *port != 0);
        let mut ports: Vec<u16> = asked.collect();
        if ports.is_empty() {
            ports.push(HTTP);
        }
        Ok(Self {
            via,
            settings: Settings { ports, status: config.status, size, body, seed: config.seed },
            workers: workers as u32,
            cpus: config.cpus,
            spin: config.spin,
            duration: config.duration,
            port_file: config.port_file,
            summary: config.truth.summary,
        })
    }

    /// `http://198.18.0.10:80`: the first address of each family, with each port.
    fn urls(&self) -> Vec<String> {
        let firsts = self.via.ranges().map(|range| range.first());
        let of =
            |address| self.settings.ports.iter().map(move |port| std::net::SocketAddr::new(address, *port));
        firsts.flat_map(of).map(|address| format!("http://{address}")).collect()
    }
}

/// Responders in threads of this process.
pub struct RunningOver {
    stop: Arc<AtomicBool>,
    workers: Vec<JoinHandle<Result<Served, OverError>>>,
    /// Nobody else on the interface serves, or uses, these addresses meanwhile.
    _claims: Claims,
}

/// Opens the port, makes sure that nobody has the addresses, and serves.
///
/// # Errors
/// A port that cannot be opened, an address of this host or of another, too large a response, a CPU that cannot
/// be used.
pub fn spawn(config: &OverConfig) -> Result<RunningOver, OverError> {
    let clock = HostClock::calibrate();
    let own: Vec<IpAddr> = config.via.ranges().flat_map(|range| range.iter()).collect();
    if let Some(address) = Host::beside(&config.via.port, &own)?.has.first() {
        return Err(OverError::OfThisHost(*address));
    }
    let claims = Claims::of(&config.via.port, &own).map_err(OverError::OfAnother)?;
    let mut queues = Vec::new();
    for queue in 0..config.workers {
        let fanout = (config.workers > 1).then_some(std::process::id() as u16);
        let wish = Wish {
            queue,
            queues: config.workers,
            fanout,
            busy: config.spin,
            stamps: false,
            ..Wish::default()
        };
        let ours = Some(config.via.ours());
        let wish = Wish { frame: longest_frame(&config.via), ours, ..wish };
        let mut port = port::open(&config.via.port, &wish)?;
        let link = Link::of(&config.via, port.about())?;
        let mut responder = Responder::new(Station::new(&config.via, &link), &config.settings)?;
        if queue == 0 {
            responder.probe(&mut *port, || clock.now())?;
        }
        queues.push((port, responder));
    }
    let stop = Arc::new(AtomicBool::new(false));
    let mut running = RunningOver { stop: stop.clone(), workers: Vec::new(), _claims: claims };
    for (index, (port, responder)) in queues.into_iter().enumerate() {
        let cpu = (!config.cpus.is_empty()).then(|| config.cpus[index % config.cpus.len()]);
        let worker = Worker { port, responder, clock, spin: config.spin, stop: stop.clone() };
        running.start(index, cpu, worker)?;
    }
    Ok(running)
}

/// A jumbo frame, where an MTU is asked for that needs it.
fn longest_frame(via: &Via) -> usize {
    via.mtu.map_or(0, usize::from).max(1_500) + wire::ethernet::LENGTH
}

impl RunningOver {
    fn start(&mut self, index: usize, cpu: Option<u32>, worker: Worker) -> Result<(), OverError> {
        let (pinned, was_pinned) = std::sync::mpsc::channel();
        let thread = std::thread::Builder::new().name(format!("target-{index}")).spawn(move || {
            let done = cpu.is_none_or(|cpu| os::cpus::pin(cpu).is_ok());
            // The starter waits for this, and is gone only if it panicked.
            let _ = pinned.send(done);
            if done { worker.run() } else { Ok(Served::default()) }
        });
        self.workers.push(thread.map_err(OverError::Setup)?);
        match (was_pinned.recv(), cpu) {
            (Ok(false), Some(cpu)) => Err(OverError::Cpu(cpu)),
            _ => Ok(()),
        }
    }

    /// Whether a worker ended before it was told to.
    pub fn has_failed(&self) -> bool {
        self.workers.iter().any(JoinHandle::is_finished)
    }

    /// Ends it.
    ///
    /// # Errors
    /// What a worker ended with.
    pub fn stop(mut self) -> Result<Served, OverError> {
        self.stop.store(true, Ordering::Relaxed);
        let mut served = Served::default();
        for worker in self.workers.drain(..) {
            served.add(&worker.join().expect("a worker panics only on a broken invariant")?);
        }
        Ok(served)
    }
}

impl Drop for RunningOver {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.workers.drain(..).for_each(|worker| drop(worker.join()));
    }
}

struct Worker {
    port: Box<dyn Port>,
    responder: Responder,
    clock: HostClock,
    spin: bool,
    stop: Arc<AtomicBool>,
}

impl Worker {
    fn run(mut self) -> Result<Served, OverError> {
        while !self.stop.load(Ordering::Relaxed) {
            match self.responder.turn(&mut *self.port, self.clock.now()) {
                Ok(0) if !self.spin => {
                    self.port.wait(For::Receive, NAP)?;
                }
                Ok(_) => {}
                // It may come back.
                Err(PortError::Down { .. }) => std::thread::sleep(NAP.as_std()),
                Err(error) if error.is_end() => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(self.responder.served())
    }
}

/// Serves until SIGINT, SIGTERM, or the configured duration is over: what `tare target --over` does.
///
/// # Errors
/// As [`spawn`], and what ended a worker.
pub fn run(config: &OverConfig) -> Result<Served, OverError> {
    let stop = signal::stop_flag();
    let running = spawn(config)?;
    if let Some(path) = &config.port_file {
        let ports: String = config.settings.ports.iter().map(|port| format!("{port}\n")).collect();
        os::output::write(path, ports).map_err(|why| OverError::Write { path: path.clone(), why })?;
    }
    let says: String = config.urls().iter().map(|url| format!("listening on {url}\n")).collect();
    // Nobody may be reading.
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(says.as_bytes()).and_then(|()| stdout.flush());
    drop(stdout);
    let clock = HostClock::calibrate();
    let end = config.duration.map(|duration| clock.now() + duration);
    while !stop.load(Ordering::Relaxed) && !running.has_failed() && end.is_none_or(|end| clock.now() < end) {
        std::thread::sleep(LOOK_EVERY);
    }
    let served = running.stop()?;
    if let Some(path) = &config.summary {
        os::output::write(path, served.to_json())
            .map_err(|why| OverError::Write { path: path.clone(), why })?;
    }
    Ok(served)
}

#[cfg(test)]
mod tests;
