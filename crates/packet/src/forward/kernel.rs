//! The middlebox in the kernel: the rules as an XDP program on each interface; here are only its counters.
//!
//! ```text
//!   IN ─ program: judge ─ redirect ─► OUT        reload: a new program takes the old one's place,
//!   IN ◄─ redirect ─ program on OUT ◄─ OUT               whose counters are carried over
//! ```
//!
//! What the program sent on and OUT's driver then refused is missed rather than forwarded. The kernel's
//! tracepoints tell it to the frame; where they cannot be had, the interface's own counter (`tx_dropped`) is
//! all there is.

use super::job::{Alive, compiled, rule_notes, spawn, target};
use super::reload::{Reloader, keep, understand};
use super::rules_table::rules_table;
use super::{Back, ForwardSetup};
use crate::{Facts, Findings, Job, JobControl, MakeRecorders, PacketError, Running};
use bpf::{BpfError, Link, XdpMode};
use clock::{Clock, HostClock};
use filter::xdp::{Loaded, Onward, Refusals, XdpError};
use filter::{Firewall, Hit, Hits, Rules};
use measure::packets::{PacketReport, PlaceCount, PortReport};
use port::DropPlace;
use port::interface::{Interface, Statistics};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use units::{Bytes, EngineCounters, Fate, Instant, Miss, Record};

/// How often the counters are read, and how often if there are many.
const LOOK: Duration = Duration::from_millis(10);
const LOOK_AT_MANY: Duration = Duration::from_millis(100);
const MANY: usize = 10_000;
/// After this a program that was taken away runs nowhere any more.
const SETTLE: Duration = Duration::from_millis(20);

/// Decisions and their reasons: what, chosen, why.
type Choices = Vec<(String, String, String)>;

/// Two interfaces with a program on each, ready to start.
pub struct KernelForward {
    kernel: Arc<Kernel>,
    names: (String, Option<String>),
    setup: ForwardSetup,
    clock: HostClock,
    choices: Choices,
}

/// What threads share.
struct Kernel {
    there: Mutex<Side>,
    back: Option<Mutex<Side>>,
    judges_back: bool,
    inward: Interface,
    outward: Interface,
    /// The interfaces' counters before the start.
    before: (Statistics, Statistics),
}

/// The program on one interface.
struct Side {
    loaded: Loaded,
    /// Taken away at the end.
    link: Option<Link>,
    onward: Onward,
    /// `None` where only the interface counts what it refused.
    refusals: Option<Refusals>,
    /// What programs counted that were replaced, for the rules that hold now.
    carried: Hits,
    gone: Hit,
    /// What they passed and dropped.
    sums: (Hit, Hit),
}

impl From<XdpError> for PacketError {
    fn from(error: XdpError) -> Self {
        Self::Wrong(error.to_string())
    }
}

/// Another program is at the interface: whose, and what to do.
fn refuse_occupied(on: &Interface, error: &XdpError) -> Result<(), PacketError> {
    let is_busy =
        matches!(error, XdpError::Bpf(error) if matches!(error.errno(), Some(libc::EBUSY | libc::EEXIST)));
    match on.xdp_occupant().filter(|_| is_busy) {
        Some(who) => Err(PacketError::Wrong(who)),
        None => Ok(()),
    }
}

fn locked<T>(side: &Mutex<T>) -> MutexGuard<'_, T> {
    side.lock().unwrap_or_else(PoisonError::into_inner)
}

const fn sum(a: Hit, b: Hit) -> Hit {
    Hit { frames: a.frames + b.frames, bytes: a.bytes + b.bytes }
}

impl Side {
    /// Loads and attaches, natively if the driver can. The second is how, and why not better.
    fn new(
        firewall: Arc<Firewall>,
        (on, to): (&Interface, &Interface),
    ) -> Result<(Self, Choices), PacketError> {
        let onward = Onward::Interface(to.index);
        let carried = firewall.hits();
        let (refusals, mut counted) = match Refusals::begin() {
            Ok(refusals) => {
                (Some(refusals), ("tracepoint", "exact, for the frames of this program".to_owned()))
            }
            Err(error) => (None, ("interface", format!("it has only its own counter: {error}"))),
        };
        let mut loaded = Loaded::watched(firewall.clone(), onward, refusals.as_ref())?;
        let native = loaded.attach(on.index, XdpMode::Native);
        let (link, mode, why, refusals) = match native {
            Ok(link) => (link, XdpMode::Native, format!("the driver of {} has it", on.name), refusals),
            Err(XdpError::Bpf(error @ BpfError::Privilege { .. })) => return Err(XdpError::from(error))?,
            Err(error) => {
                refuse_occupied(on, &error)?;
                // After the driver, frames pass no tracepoint that tells what became of them.
                loaded = Loaded::new(firewall, onward)?;
                counted = ("interface", "nothing after the driver counts refused frames".to_owned());
                let link = loaded.attach(on.index, XdpMode::Generic).map_err(|generic| {
                    refuse_occupied(on, &generic)
                        .err()
                        .unwrap_or_else(|| PacketError::Wrong(format!("{}: {error}", on.name)))
                })?;
                (link, XdpMode::Generic, format!("native: {error}"), None)
            }
        };
        let side = Self {
            loaded,
            link: Some(link),
            onward,
            refusals,
            carried,
            gone: Hit::default(),
            sums: Default::default(),
        };
        let choices = vec![
            (format!("xdp on {}", on.name), mode.name().to_owned(), why),
            (format!("refused frames of {}", to.name), counted.0.to_owned(), counted.1),
        ];
        Ok((side, choices))
    }

    /// Puts a program of these rules in the place of this one.
    fn replace(&mut self, firewall: &Arc<Firewall>) -> Result<(), String> {
        let next = Loaded::watched(firewall.clone(), self.onward, self.refusals.as_ref())
            .map_err(|error| error.to_string())?;
        if let Some(link) = &self.link {
            next.take_over(link).map_err(|error| error.to_string())?;
        }
        // Frames that the old one has begun with are counted by then.
        std::thread::sleep(SETTLE);
        let (passed, dropped) = self.loaded.sums();
        let (hits, _) = self.hits();
        let (carried, gone) = hits.carried(self.loaded.firewall().rules(), firewall.rules());
        self.sums = (sum(self.sums.0, passed), sum(self.sums.1, dropped));
        self.gone = sum(self.gone, gone);
        self.carried = carried;
        self.loaded = next;
        Ok(())
    }

    /// Passed and dropped so far. What is still under way to the other port has not passed yet (at the end
    /// nothing is).
    fn sums(&self) -> (Hit, Hit) {
        let (passed, dropped) = self.loaded.sums();
        let passed = sum(self.sums.0, passed);
        // Asked after the program's counters: what is through now was counted by then.
        let watched = self.refusals.as_ref().filter(|_| self.link.is_some());
        let waiting = watched.map_or(0, Refusals::under_way).min(passed.frames);
        let each = passed.bytes.checked_div(passed.frames).unwrap_or(0);
        let passed = Hit { frames: passed.frames - waiting, bytes: passed.bytes - each * waiting };
        (passed, sum(self.sums.1, dropped))
    }

    /// Frames that the other port refused; `before` are its counters at the start.
    fn refused(&self, to: &Interface, before: &Statistics) -> u64 {
        match &self.refusals {
            Some(refusals) => refusals.frames(),
            None => to.statistics().map_or(0, |now| now.tx_dropped.saturating_sub(before.tx_dropped)),
        }
    }

    /// What to do where every frame was refused.
    fn advice(&self, to: &Interface, before: &Statistics) -> Option<String> {
        let (passed, refused) = (self.sums().0.frames, self.refused(to, before));
        if refused == 0 || refused < passed {
            return None;
        }
        let errno = self.refusals.as_ref().and_then(Refusals::errno);
        let why = errno
            .map_or_else(String::new, |errno| format!(" ({})", std::io::Error::from_raw_os_error(errno)));
        let advice = match to.driver.as_deref() {
            Some("veth") => {
                ": the other end of a veth needs an XDP program, or GRO: 'ethtool -K PEER gro on', or a bed of 'tare lab up --gro'"
            }
            _ => ": its driver may not send frames of XDP programs; forward without --xdp",
        };
        Some(format!("{} refused every frame{why}{advice}", to.name))
    }

    /// By rule, and of rules that are no more.
    fn hits(&self) -> (Hits, Hit) {
        let mut hits = self.loaded.hits();
        hits.add(&self.carried);
        (hits, self.gone)
    }
}

impl Kernel {
    fn sides(&self) -> impl Iterator<Item = &Mutex<Side>> {
        std::iter::once(&self.there).chain(&self.back)
    }

    fn replace(&self, rules: &Rules) -> Result<(), String> {
        let firewall = Arc::new(Firewall::compile(rules).map_err(|error| error.to_string())?);
        locked(&self.there).replace(&firewall)?;
        match &self.back {
            Some(back) if self.judges_back => locked(back).replace(&firewall),
            _ => Ok(()),
        }
    }

    fn sums(&self) -> (Hit, Hit) {
        self.sides()
            .map(|side| locked(side).sums())
            .fold(Default::default(), |a: (Hit, Hit), b| (sum(a.0, b.0), sum(a.1, b.1)))
    }

    /// Frames that the drivers refused since the start.
    fn refused(&self) -> u64 {
        self.refused_there() + self.refused_back()
    }

    fn refused_there(&self) -> u64 {
        locked(&self.there).refused(&self.outward, &self.before.1)
    }

    fn refused_back(&self) -> u64 {
        self.back.as_ref().map_or(0, |back| locked(back).refused(&self.inward, &self.before.0))
    }

    /// What to do where a port refused every frame.
    fn advice(&self) -> Vec<String> {
        let there = locked(&self.there).advice(&self.outward, &self.before.1);
        let back = self.back.as_ref().and_then(|back| locked(back).advice(&self.inward, &self.before.0));
        there.into_iter().chain(back).collect()
    }

    /// Takes the programs away: nothing is counted any more.
    fn detach(&self) {
        for side in self.sides() {
            drop(locked(side).link.take());
        }
        std::thread::sleep(SETTLE);
    }
}

impl KernelForward {
    /// Whether [`Self::open`] would fail, as far as that can be told without loading a program.
    ///
    /// # Errors
    /// An interface that is not there, or rules that cannot be compiled.
    pub fn check(inward: &str, outward: &str, setup: &ForwardSetup) -> Result<(), PacketError> {
        let (near, far) = (Interface::find(inward)?, Interface::find(outward)?);
        near.check_unoccupied()?;
        if setup.back != Back::Nothing {
            far.check_unoccupied()?;
        }
        setup.rules.as_ref().map_or(Ok(()), |source| compiled(source).map(drop))
    }

    /// Loads the programs and attaches them: frames pass from then on.
    ///
    /// # Errors
    /// No such interface, no privilege, rules that a program cannot hold, a driver that has no XDP at all.
    pub fn open(
        inward: &str,
        outward: &str,
        setup: ForwardSetup,
        clock: HostClock,
    ) -> Result<Self, PacketError> {
        let (near, far) = (Interface::find(inward)?, Interface::find(outward)?);
        let firewall = Arc::new(match &setup.rules {
            Some(source) => compiled(source)?,
            None => compiled(&super::RuleSource::default())?,
        });
        let before = (near.statistics()?, far.statistics()?);
        let back_rules = match setup.back {
            Back::Nothing => None,
            Back::Rules => Some(firewall.clone()),
            Back::Pass => Some(Arc::new(compiled(&super::RuleSource::default())?)),
        };
        let (there, mut choices) = Side::new(firewall, (&near, &far))?;
        let back = match back_rules {
            None => None,
            Some(rules) => {
                let (back, how) = Side::new(rules, (&far, &near))?;
                choices.extend(how);
                Some(Mutex::new(back))
            }
        };
        let kernel = Arc::new(Kernel {
            there: Mutex::new(there),
            back,
            judges_back: setup.back == Back::Rules,
            inward: near,
            outward: far,
            before,
        });
        let names = (format!("xdp program on {inward}"), Some(outward.to_owned()));
        Ok(Self { kernel, names, setup, clock, choices })
    }
}

impl Job for KernelForward {
    fn facts(&self) -> Facts {
        let firewall = locked(&self.kernel.there).loaded.firewall().clone();
        let load = match &self.setup.rules {
            Some(source) => format!("firewall of {} rules in the kernel", source.rules.rules.len()),
            None => "forward every frame in the kernel".to_owned(),
        };
        Facts {
            threads: 1,
            length: self.setup.duration,
            load,
            target: target(&self.names, self.setup.back),
            choices: self.choices.clone(),
            notes: rule_notes(&firewall),
            ..Facts::default()
        }
    }

    fn start(
        self: Box<Self>,
        control: Arc<JobControl>,
        recorders: MakeRecorders<'_>,
    ) -> Result<Running, PacketError> {
        let Self { kernel, setup, clock, .. } = *self;
        let origin = clock.now();
        control.begin(origin);
        let end = setup.duration.map_or(Instant::FAR, |length| origin + length);
        let Some(record) = recorders(origin).into_iter().next() else {
            return Err(PacketError::Wrong("there is no recorder".to_owned()));
        };
        let alive = Arc::new(AtomicUsize::new(1));
        let counting = Alive(alive.clone());
        let mut threads = Vec::new();
        let watch = Watch {
            kernel: kernel.clone(),
            record,
            counters: EngineCounters::default(),
            seen: Seen::default(),
        };
        let (ours, most) = (control.clone(), setup.frames.unwrap_or(u64::MAX));
        threads.push(spawn("forward-xdp".to_owned(), move || {
            let _alive = counting;
            watch.run(&clock, &ours, end, most);
        })?);
        if let Some(source) = &setup.rules
            && let Some(file) = source.file.clone()
        {
            let taker = kernel.clone();
            let take = Box::new(move |rules: &Rules| taker.replace(rules));
            let reloader = Arc::new(Reloader::new(file, source.rules.clone(), take));
            understand(&reloader, &control);
            let (control, when) = (control.clone(), (source.signal.clone(), source.every));
            let over = move || alive.load(Ordering::Acquire) == 0;
            threads.push(spawn("rules".to_owned(), move || keep(&reloader, &control, &clock, when, over))?);
        }
        Ok(Running::new(threads, move || findings(&kernel, setup.rules.is_some(), &control)))
    }
}

/// What was told so far.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    passed: Hit,
    dropped: Hit,
    refused: u64,
}

/// The thread that reads the counters.
struct Watch {
    kernel: Arc<Kernel>,
    record: Box<dyn Record + Send>,
    counters: EngineCounters,
    seen: Seen,
}

impl Watch {
    fn run(mut self, clock: &HostClock, control: &JobControl, end: Instant, most: u64) {
        let rules = locked(&self.kernel.there).loaded.firewall().rules().rules.len();
        let every = if rules > MANY { LOOK_AT_MANY } else { LOOK };
        let mut looked = std::time::Duration::ZERO;
        loop {
            std::thread::sleep(LOOK);
            looked += LOOK;
            if looked >= every {
                looked = std::time::Duration::ZERO;
                self.look();
            }
            let now = clock.now();
            self.record.tick(now, &self.counters);
            for interface in [&self.kernel.inward, &self.kernel.outward] {
                if let Some(error @ port::PortError::Gone { .. }) = interface.trouble() {
                    control.fail(error.to_string());
                }
            }
            if now >= end || control.stops() || self.counters.due >= most {
                break;
            }
        }
        self.kernel.detach();
        self.look();
        self.record.tick(clock.now(), &self.counters);
    }

    /// Tells what came since the last look.
    fn look(&mut self) {
        let (passed, dropped) = self.kernel.sums();
        // What is under way is an upper bound, so that what has passed may seem less than a moment ago.
        let passed = if passed.frames < self.seen.passed.frames { self.seen.passed } else { passed };
        let (on, off) = (since(passed, self.seen.passed), since(dropped, self.seen.dropped));
        // Where only the interfaces count, other programs' frames may be among them, but no more than we sent
        // on.
        let refused = (self.kernel.refused() - self.seen.refused).min(on.frames);
        let forwarded = on.frames - refused;
        let bytes = on.bytes.checked_div(on.frames).unwrap_or(0) * forwarded;
        if forwarded > 0 {
            let bytes = if refused == 0 { on.bytes } else { bytes };
            self.record.frames(Fate::Forwarded, forwarded, Bytes::new(bytes));
        }
        if off.frames > 0 {
            self.record.frames(Fate::Filtered, off.frames, Bytes::new(off.bytes));
        }
        if refused > 0 {
            self.record.missed(Miss::PortFull, refused);
        }
        // The recorder adds what was missed to what was offered.
        self.counters.offered += on.frames + off.frames - refused;
        self.counters.due += on.frames + off.frames;
        self.seen = Seen { passed, dropped, refused: self.seen.refused + refused };
    }
}

const fn since(now: Hit, before: Hit) -> Hit {
    Hit { frames: now.frames - before.frames, bytes: now.bytes.saturating_sub(before.bytes) }
}

fn findings(kernel: &Kernel, has_rules: bool, control: &JobControl) -> Findings {
    let mut report = PacketReport {
        command: "forward".to_owned(),
        changes: control.conclude(),
        ports: vec![
            interface_report("in", &kernel.inward, &kernel.before.0, kernel.refused_back()),
            interface_report("out", &kernel.outward, &kernel.before.1, kernel.refused_there()),
        ],
        ..PacketReport::default()
    };
    if has_rules {
        let side = locked(&kernel.there);
        let (mut hits, mut gone) = side.hits();
        if let Some(back) = kernel.back.as_ref().filter(|_| kernel.judges_back) {
            let (more, also) = locked(back).hits();
            hits.add(&more);
            gone = sum(gone, also);
        }
        report.tables.push(rules_table(side.loaded.firewall().rules(), &hits, gone));
    }
    let note =
        "ports: the interfaces' own counters, which count all frames, not only those that the rules judged";
    let mut notes = kernel.advice();
    notes.push(note.to_owned());
    Findings { report, notes, ..Findings::default() }
}

/// What the interface itself counted while the programs were there, and what of our frames it refused.
fn interface_report(role: &str, interface: &Interface, before: &Statistics, refused: u64) -> PortReport {
    let mut report =
        PortReport { role: role.to_owned(), name: interface.name.clone(), ..PortReport::default() };
    if let Ok(now) = interface.statistics() {
        let since = |now: u64, before: u64| now.saturating_sub(before);
        report.sent = since(now.tx_packets, before.tx_packets);
        report.sent_bytes = since(now.tx_bytes, before.tx_bytes);
        report.received = since(now.rx_packets, before.rx_packets);
        report.received_bytes = since(now.rx_bytes, before.rx_bytes);
    }
    if refused > 0 {
        report.drops.push(PlaceCount { place: DropPlace::TransmitDriver.key().to_owned(), frames: refused });
    }
    report
}
