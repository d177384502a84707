//! From a plan to running threads.
//!
//! ```text
//! Plan ─ prepare (files, certificates, names) ─► Engine ─ start (recorders) ─► Running ─ join ─► Notes
//! ```

mod by_module;
mod checks;
mod facts;
mod thread;

use clock::priority::{self, Demand, Grant};
use clock::{Clock, HostClock};
use os::peers::Peers;
use plan::{Arrivals, Body, Load, Plan, Shape, Spin};
use port::fpga::sessions::SessionPort;
use schedule::{Control, Limits, ScheduleError, Share};
use session::{SessionError, Sessions, Via};
use std::collections::BTreeSet;
use std::fs::File;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use units::{Count, Instant, Picos, Rate, Record};

pub use checks::check_inputs;
use checks::{Recorded, check_cpus, check_memory, check_schedule, open_body};
pub use facts::Facts;
#[cfg(test)]
pub(crate) use thread::own_descriptors;
use thread::{Place, spawn, spawn_fast};

use crate::endpoint::{Endpoints, Known, of_family};
use crate::fast::FastParts;
use crate::fast::choose::{self as path, PathChoice};
use crate::io;
use crate::io::choose::{self, Choice};
use crate::io::epoll::Epoll;
use crate::io::ports::Ports;
use crate::io::uring::Uring;
use crate::module::Fit;
use crate::notes::Notes;
use crate::resolver::{Resolver, look_up};
use crate::same::SameBodies;
use crate::source::{Chooser, Requests, SourceError};
use crate::tls::{self, ClientConfig, TlsError};
use crate::worker::checker::Checker;
use crate::worker::composer::Composer;
use crate::worker::dial::Dialer;
use crate::worker::feed::Feed;
use crate::worker::limit::Limit;
use crate::worker::pacer::{Pacer, Times};
use crate::worker::targets::Targets;
use crate::worker::upload::Upload;
use crate::worker::{self, Parts};

/// Names that are looked up before the run begins; further ones when they are needed.
const EARLY_NAMES: usize = 64;
/// Time to start the threads, and 1 ms more for each: starting beside others on the same CPU took up to 10 ms.
const LEAD: Picos = Picos::from_millis(20);

/// Why a run could not begin; nothing was sent.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    #[error("--at: {0}")]
    At(ScheduleError),
    #[error("--body-stream {}: {error}", .path.display())]
    Body { path: PathBuf, error: std::io::Error },
    #[error("a thread could not be started: {0}")]
    Thread(std::io::Error),
    #[error("cannot wait for sockets: {0}; raise ulimit -n")]
    Driver(rustix::io::Errno),
    #[error("--unix {}: there is no such socket; expected the path of a socket that a server listens on", .0.display())]
    Unix(PathBuf),
    #[error("--source-ip {address}: {error}; expected an address of this host (see `ip address`)")]
    SourceAddress { address: IpAddr, error: rustix::io::Errno },
    #[error("--parallel {connections}: there is not enough memory for so many connections; give fewer")]
    Memory { connections: u32 },
    #[error("--cpus {cpu}: {problem}")]
    Cpu { cpu: u32, problem: String },
    #[error("--via: {0}")]
    Via(#[from] SessionError),
    #[error("--via: {0}, which was not expected; give --via-path general")]
    Path(&'static str),
    #[error("--via-path: the fast path cannot carry this plan ({0}); leave out --via-path")]
    NotFast(&'static str),
    #[error("{flag}: the sessions of fpga:sim {why}")]
    Module { flag: &'static str, why: String },
}

/// A run that is ready to begin.
pub struct Engine {
    plan: Arc<Plan>,
    clock: HostClock,
    requests: Arc<Requests>,
    tls: Option<Arc<ClientConfig>>,
    body_file: Option<Arc<File>>,
    io: Choice,
    /// Where connections go, as far as it is known.
    peers: Peers,
    threads: u32,
    spin: bool,
    priority: Grant,
    via: Option<Via>,
    path: PathChoice,
    /// The FPGA module makes the load.
    module: Option<Fit>,
    own_descriptors: bool,
    /// What is known of recorded times (`--at`).
    recorded: Option<Recorded>,
}

/// Threads at work.
pub struct Running {
    threads: Vec<JoinHandle<Notes>>,
    requests: Arc<Requests>,
    pub control: Arc<Control>,
}

/// What the threads of a run are given alike.
struct Common<'a> {
    origin: Instant,
    resolver: &'a Resolver,
    /// Names that were looked up before the start.
    early: &'a [EarlyName],
    same: Option<Arc<SameBodies>>,
    control: &'a Arc<Control>,
}

/// Host, port and addresses.
type EarlyName = (Box<str>, u16, Vec<SocketAddr>);

/// What those who steer a run share with its threads.
pub const fn control() -> Control {
    Control::of_threads_that_sleep(worker::LONGEST_WAIT)
}

impl Engine {
    /// Opens everything the plan names. Nothing is sent.
    pub fn prepare(plan: Plan, clock: HostClock) -> Result<Self, EngineError> {
        let server_name = plan.tls.server_name.as_deref().map(tls::server_name).transpose()?;
        let mut endpoints = Endpoints::new(plan.connection.proxy.clone(), server_name);
        let requests = Requests::open(&plan, &mut endpoints)?;
        let body_file = match &plan.request.body {
            Body::Streamed(path) => Some(Arc::new(
                open_body(path).map_err(|error| EngineError::Body { path: path.clone(), error })?,
            )),
            _ => None,
        };
        let secure = endpoints.iter_mut().any(|endpoint| endpoint.key.tls);
        let peers = plan.connection.unix.clone().map_or_else(Peers::default, Peers::unix);
        for name in endpoints.names() {
            if let Known::Addresses(all, _) = &name.state {
                peers.add(all.iter().copied());
            }
        }
        // A long file may name https anywhere: then TLS is made ready too.
        // Certificates that are named are read even if no target wants them, so that a wrong name is found.
        let named = plan.tls.ca.is_some() || plan.tls.client.is_some();
        let needed = secure || named || requests.may_need_tls();
        let tls = match (needed || plan.request.follow > 0).then(|| tls::configure(&plan.tls)).transpose() {
            // Perhaps no redirect leads to https; one that does fails.
            Err(TlsError::NoRoots { .. }) if !needed => None,
            #[cfg(not(feature = "tls"))]
            Err(TlsError::LeftOut) if !needed => None,
            configured => configured?,
        };
        let recorded = check_schedule(&plan)?;
        if let Some(path) = plan.connection.unix.as_ref().filter(|path| !path.exists()) {
            return Err(EngineError::Unix(path.clone()));
        }
        check_cpus(&plan)?;
        io::check_sources(&plan.connection)
            .map_err(|(address, error)| EngineError::SourceAddress { address, error })?;
        let most_open = plan.load.most_connections(plan.connection.max_open);
        check_memory(&plan, most_open)?;
        // A thread without a connection would have nothing to do, and one more than the limit says if it had.
        let via = plan.connection.via.as_deref().map(str::parse).transpose();
        let via: Option<Via> = via.map_err(SessionError::from)?;
        // One thread drives a port.
        let wanted = if via.is_some() { 1 } else { wanted_threads(&plan) };
        let threads = wanted.clamp(1, most_open.max(1));
        let requests = Arc::new(requests);
        let module = via.as_ref().filter(|via| SessionPort::is_meant(&via.port));
        let module = module.map(|via| Fit::of(&plan, via, &requests)).transpose()?;
        let path = match &via {
            _ if module.is_some() => PathChoice::default(),
            Some(_) => path::choose(&plan, &requests).map_err(EngineError::NotFast)?,
            None => PathChoice::default(),
        };
        let spin = module.is_none() && decide_spin(&plan, threads);
        let priority = grant_priority(&plan, threads, spin);
        let io = choose::choose(&plan);
        os::limits::raise_open_files();
        Ok(Self {
            plan: Arc::new(plan),
            clock,
            requests,
            tls,
            body_file,
            io,
            peers,
            threads,
            spin,
            priority,
            // A port that is open in two tables would outlive its run.
            own_descriptors: via.is_none(),
            recorded,
            via,
            path,
            module,
        })
    }

    /// All threads use the process's table of descriptors: for a program that goes on after the run.
    pub fn with_shared_descriptors(self) -> Self {
        Self { own_descriptors: false, ..self }
    }

    /// Whether a closed loop may sleep while answers gather.
    fn gathers(&self) -> bool {
        self.plan.engine.spin == Spin::Auto && matches!(self.plan.load, Load::Closed { .. })
    }

    /// Whether the port of `--via` could be opened and leads to targets, as far as is known beforehand.
    ///
    /// # Errors
    /// What opening it would say.
    pub fn check_port(&self) -> Result<(), EngineError> {
        match (&self.via, &self.module) {
            (Some(via), None) => {
                Ok(Sessions::check_port(via, self.plan.connection.share_address, self.addresses())?)
            }
            _ => Ok(()),
        }
    }

    /// The URLs of the first `count` requests, in order.
    pub fn preview(&self, count: u64) -> Vec<String> {
        self.requests.preview(count)
    }

    /// The port of `--via`, with the ways to all targets that are known.
    fn open_port(&self) -> Result<Option<Sessions>, EngineError> {
        let Some(via) = &self.via else { return Ok(None) };
        let now = || self.clock.now();
        let mut sessions = Sessions::open_port(via, self.plan.connection.share_address, &now)?;
        sessions.find_ways(self.addresses(), &now)?;
        Ok(Some(sessions))
    }

    /// Of the targets, as far as they are known.
    fn addresses(&self) -> BTreeSet<IpAddr> {
        self.peers.known().addresses.iter().map(SocketAddr::ip).collect()
    }

    /// Starts the threads. `recorders` is given the origin of due times, shortly ahead, and makes one for each.
    pub fn start<R: Record + Send + 'static>(
        self,
        control: Arc<Control>,
        recorders: impl FnOnce(Instant) -> Vec<R>,
    ) -> Result<Running, EngineError> {
        let resolver = Resolver::start().map_err(EngineError::Thread)?;
        let early = self.look_up_early();
        early.iter().for_each(|(_, _, addresses)| self.peers.add(addresses.iter().copied()));
        let same = self.plan.request.same_checksum.then(|| Arc::new(SameBodies::default()));
        if let Some(fit) = self.module.clone() {
            return self.start_module(fit, control, recorders);
        }
        let mut sessions = self.open_port()?;
        let origin = self.clock.now() + LEAD + Picos::from_millis(self.threads.into());
        let recorders = recorders(origin);
        let mut threads = Vec::new();
        let place =
            Place { plan: &self.plan, priority: &self.priority, own_descriptors: self.own_descriptors };
        let common = Common { origin, resolver: &resolver, early: &early, same, control: &control };
        for (index, recorder) in recorders.into_iter().enumerate() {
            let waker = io::waker().map_err(EngineError::Driver)?;
            let other_end = rustix::io::fcntl_dupfd_cloexec(&waker, 0).map_err(EngineError::Driver)?;
            let parts = self.parts(index as u32, other_end, &common)?;
            let clock = self.clock;
            if self.path.fast
                && let Some(sessions) = sessions.take()
            {
                let parts = self.fast_parts(parts, sessions, waker)?;
                threads.push(spawn_fast(&place, parts, recorder).map_err(EngineError::Thread)?);
                continue;
            }
            let handle = match (sessions.take(), self.io.uring) {
                (Some(sessions), _) => {
                    let driver = move || Ok(Ports::new(sessions, waker, clock));
                    spawn(index, &place, parts, driver, recorder)
                }
                (None, true) => {
                    let widens = self.plan.connection.throttle.is_none();
                    spawn(index, &place, parts, move || Uring::new(waker, widens), recorder)
                }
                (None, false) => spawn(index, &place, parts, move || Epoll::new(waker), recorder),
            };
            threads.push(handle.map_err(EngineError::Thread)?);
        }
        Ok(Running { threads, requests: self.requests, control })
    }

    /// What the fast path needs of a thread's parts.
    fn fast_parts(
        &self,
        parts: Parts,
        sessions: Sessions,
        waker: rustix::fd::OwnedFd,
    ) -> Result<FastParts, EngineError> {
        let Parts { plan, clock, control, pacer, composer, limit, mut targets, gather, .. } = parts;
        let mut chooser = composer.chooser;
        let fixture =
            path::fixture(&plan, &mut chooser, &mut targets.endpoints).map_err(EngineError::Path)?;
        Ok(FastParts { plan, clock, control, pacer, chooser, fixture, limit, gather, sessions, waker })
    }

    fn parts(
        &self,
        index: u32,
        waker: rustix::fd::OwnedFd,
        common: &Common<'_>,
    ) -> Result<Parts, EngineError> {
        let origin = common.origin;
        let plan = &self.plan;
        let share = Share::new(index, self.threads)?;
        let server_name = plan.tls.server_name.as_deref().map(tls::server_name).transpose()?;
        let mut endpoints = Endpoints::new(plan.connection.proxy.clone(), server_name);
        // Before the addresses, which belong to these.
        self.requests.teach(&mut endpoints, plan);
        for (host, port, addresses) in common.early {
            if let Some(id) = endpoints.find_name(host, *port) {
                endpoints.name(id).state = Known::Addresses(addresses.clone(), origin);
            }
        }
        let end = plan.stop.duration.map_or(Instant::FAR, |time| origin + plan.stop.warmup + time);
        let epoch_ms = (clock::unix_ns() / 1_000_000)
            .saturating_sub(self.clock.now().since_epoch().as_nanos() / 1_000_000);
        let (most_open, mut feed) = self.feed(share, origin, end)?;
        if common.control.may_change() {
            feed.stay_until(end);
        }
        let ramp = plan.connection.ramp;
        let open_gap = ramp.map_or(Picos::ZERO, |rate| rate.due(u64::from(self.threads)));
        Ok(Parts {
            plan: plan.clone(),
            clock: self.clock,
            control: common.control.clone(),
            pacer: Pacer::new(feed, Times { end, grace: plan.stop.grace }, self.spin, plan),
            composer: Composer::new(Chooser::new(&self.requests, plan, epoch_ms)),
            upload: Upload::new(self.body_file.clone()),
            checker: Checker::new(common.same.clone()),
            limit: Limit::new(most_open, open_gap, origin, origin + plan.stop.warmup),
            targets: Targets {
                endpoints,
                dialer: Dialer::new(&plan.connection, index as usize, self.peers.clone()),
                asker: common.resolver.asker(waker),
                tls: self.tls.clone(),
            },
            gather: self.gathers(),
        })
    }

    /// The most open connections of a share, and its departures.
    fn feed(&self, share: Share, origin: Instant, end: Instant) -> Result<(usize, Feed), EngineError> {
        let part = |whole: u32| {
            let (of, index) = (self.threads, share.index());
            (whole / of + u32::from(index < whole % of)) as usize
        };
        let plan = &self.plan;
        match &plan.load {
            Load::Open { arrivals, .. } => {
                let limits = limits(plan, arrivals)?;
                let schedule = || schedule::share(arrivals, limits, plan.seed, origin, share);
                let most = part(plan.load.most_connections(plan.connection.max_open));
                let mut feed = Feed::open(schedule()?, schedule()?);
                self.recorded.iter().for_each(|recorded| feed.expect(recorded.departures, share));
                Ok((most, feed))
            }
            Load::Closed { connections } => {
                let count = part(*connections);
                let depth = plan.connection.pipeline as usize;
                let begins = |place: usize| {
                    let index = (place % count) as u64 * u64::from(self.threads) + u64::from(share.index());
                    origin + plan.connection.ramp.map_or(Picos::ZERO, |rate: Rate| rate.due(index))
                };
                let places = (0..count * depth).map(begins);
                let (of, index) = (u64::from(self.threads), u64::from(share.index()));
                let most = plan
                    .stop
                    .requests
                    .map_or(u64::MAX, |all| all.get() / of + u64::from(index < all.get() % of));
                let counted_from = origin + plan.stop.warmup;
                Ok((count, Feed::closed(places, (index, of), most, counted_from, end)))
            }
        }
    }

    /// Asks for the names that are known to be needed, all at once, so that the first requests do not wait.
    /// What fails here is asked again in the run, where it becomes an outcome.
    fn look_up_early(&self) -> Vec<EarlyName> {
        let names = self.requests.names(&self.plan);
        let family = self.plan.resolve.family;
        std::thread::scope(|scope| {
            let asked: Vec<_> = names
                .into_iter()
                .take(EARLY_NAMES)
                .map(|(host, port)| {
                    scope.spawn(move || {
                        let found = look_up(&host, port).map(|all| of_family(all, family));
                        found.ok().filter(|all| !all.is_empty()).map(|all| (host, port, all))
                    })
                })
                .collect();
            asked.into_iter().filter_map(|thread| thread.join().ok().flatten()).collect()
        })
    }
}

impl Running {
    pub fn is_over(&self) -> bool {
        self.threads.iter().all(JoinHandle::is_finished)
    }

    /// Waits for the threads. Bad lines are named by their numbers.
    pub fn join(self) -> (Notes, Vec<String>) {
        let mut notes = Notes::default();
        for thread in self.threads {
            match thread.join() {
                Ok(own) => notes.merge(own),
                Err(_) => notes.detail("a thread of the generator ended because of a bug in Tare"),
            }
        }
        let describe = |(offset, problem): &(u64, String)| match self.requests.describe_line(*offset) {
            place if place.is_empty() => problem.clone(),
            place => format!("{place}: {problem}"),
        };
        let bad_lines = notes.bad_lines.iter().map(describe).collect();
        (notes, bad_lines)
    }
}

/// Where an open loop's schedule ends. The plan counts the requests of the measured part; the schedule, all.
pub(crate) fn limits(plan: &Plan, arrivals: &Arrivals) -> Result<Limits, ScheduleError> {
    let (warmup, origin) = (plan.stop.warmup, Instant::EPOCH);
    let end = plan.stop.duration.map(|time| time + warmup);
    let Some(requests) = plan.stop.requests.filter(|_| !warmup.is_zero()) else {
        return Ok(Limits { end, requests: plan.stop.requests, warmup });
    };
    let before = Limits { end: Some(warmup), requests: None, warmup };
    let warming =
        schedule::share(arrivals, before, plan.seed, origin, Share::WHOLE)?.skip_before(Instant::FAR);
    Ok(Limits { end, requests: Some(Count::new(requests.get().saturating_add(warming))), warmup })
}

/// Spinning pays in an open loop, if a CPU is left for everything else.
fn decide_spin(plan: &Plan, threads: u32) -> bool {
    match plan.engine.spin {
        Spin::Always => true,
        Spin::Never => false,
        Spin::Auto => {
            matches!(plan.load, Load::Open { .. }) && os::cpus::online() > threads && usable_cpus() >= threads
        }
    }
}

fn wanted_threads(plan: &Plan) -> u32 {
    plan.engine.threads.unwrap_or_else(|| usable_cpus().saturating_sub(1)).max(1)
}

/// Threads that spin towards due times go first, where that keeps nobody else from a CPU.
fn grant_priority(plan: &Plan, threads: u32, spins: bool) -> Grant {
    let gap = match &plan.load {
        Load::Open { arrivals, .. } => match arrivals.shape {
            Shape::Constant(rate) => Some(rate.gap().saturating_mul(threads.into())),
            _ => None,
        },
        Load::Closed { .. } => None,
    };
    // A thread that waits for no due time gains nothing by going first, and takes CPU from a target on the same
    // machine.
    if !spins {
        return Grant::usual("threads do not spin before due times");
    }
    priority::grant(plan.engine.priority, &Demand { threads, spins, gap })
}

/// CPUs that this process may use.
fn usable_cpus() -> u32 {
    os::cpus::usable().len().max(1) as u32
}
