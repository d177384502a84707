//! Lanes as a job: opened, started, counted, joined.

use super::lane::{Lane, Moved, Work};
use super::reload::{Reloader, keep, understand};
use super::rules_table::rules_table;
use super::{Back, ForwardSetup, Full, RuleSource};
use crate::job::{PAUSE, is_late};
use crate::ports;
use crate::{Facts, Findings, Job, JobControl, MakeRecorders, PacketError, Running};
use clock::{Clock, HostClock};
use filter::{CompileError, Firewall, Shared};
use measure::packets::{PacketReport, PortReport};
use port::{Address, DropPlace, Port, PortError, Wish};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use units::{Bytes, Cause, Departure, EngineCounters, Event, Fate, Instant, Miss, Outcome, Picos, Record};

/// Rounds between two looks at the clock.
const ROUNDS: usize = 16;
/// An idle lane looks up this often.
const NAP: Picos = Picos::from_millis(1);
/// How often the ports are asked what they lost.
const ASK: Picos = Picos::from_millis(100);
/// How often silent ports are asked whether their interfaces are still there.
const SILENCE: Picos = Picos::from_millis(200);
/// Time for what was handed over to leave, at the end.
const FLUSH: Picos = Picos::from_millis(200);

/// A middlebox in this process, ready to start.
pub struct Forward {
    lanes: Vec<Lane>,
    names: (String, Option<String>),
    setup: ForwardSetup,
    shared: Option<Arc<Shared>>,
    clock: HostClock,
    choices: Vec<(String, String, String)>,
    /// When the ports were there: frames that have come since are forwarded, and count.
    opened: Instant,
}

/// Compiles, with the line of a rule in the error.
pub(super) fn compiled(source: &RuleSource) -> Result<Firewall, PacketError> {
    Firewall::compile(&source.rules).map_err(|error| PacketError::Wrong(explained(source, &error)))
}

fn explained(source: &RuleSource, error: &CompileError) -> String {
    let file = source.file.as_ref().map_or_else(|| "the rules".to_owned(), |file| file.display().to_string());
    format!("{file}: {error}")
}

fn wish((threads, frame): (u32, usize), busy: bool, queue: u32, side: u16) -> Wish {
    // Both groups are this process's own.
    let group = (std::process::id() as u16) << 1;
    let fanout = (threads > 1).then_some(group | side);
    Wish { queue, queues: threads, frame, fanout, busy, ..Wish::default() }
}

/// Where frames come in, and where they leave (nowhere: they are counted and freed).
pub type Pair = (Box<dyn Port>, Option<Box<dyn Port>>);

impl Forward {
    /// Opens both ports, a queue of each for every thread. `frame` is the longest frame, without FCS.
    ///
    /// # Errors
    /// A port that cannot be opened, or rules that cannot be compiled.
    pub fn open(
        inward: &Address,
        outward: Option<&Address>,
        (threads, frame): (u32, usize),
        setup: ForwardSetup,
        clock: HostClock,
    ) -> Result<Self, PacketError> {
        let wish = |queue, side| wish((threads, frame), setup.busy, queue, side);
        let mut pairs = Vec::with_capacity(threads as usize);
        for queue in 0..threads {
            let near = port::open(inward, &wish(queue, 0))?;
            let far = outward.map(|address| port::open(address, &wish(queue, 1))).transpose()?;
            pairs.push((near, far));
        }
        Self::new(pairs, setup, clock)
    }

    /// Whether [`Self::open`] would fail, as far as that can be told without opening a port.
    ///
    /// # Errors
    /// What it would say.
    pub fn check(
        inward: &Address,
        outward: Option<&Address>,
        how: (u32, usize),
        setup: &ForwardSetup,
    ) -> Result<(), PacketError> {
        setup.rules.as_ref().map(compiled).transpose()?;
        for queue in 0..how.0 {
            for (side, address) in std::iter::once(inward).chain(outward).enumerate() {
                port::check(address, &wish(how, setup.busy, queue, side as u16))?;
            }
        }
        Ok(())
    }

    /// Between ports that are open already; a lane for each pair.
    ///
    /// # Errors
    /// Rules that cannot be compiled.
    pub fn new(pairs: Vec<Pair>, setup: ForwardSetup, clock: HostClock) -> Result<Self, PacketError> {
        let opened = clock.now();
        let shared = setup.rules.as_ref().map(compiled).transpose()?.map(Shared::new);
        let name = |port: &dyn Port| port.about().name.clone();
        let names = pairs.first().map_or_else(Default::default, |(near, far)| {
            (name(&**near), far.as_ref().map(|far| name(&**far)))
        });
        let mut choices = Vec::new();
        for port in pairs.first().into_iter().flat_map(|(near, far)| std::iter::once(near).chain(far)) {
            for choice in &port.about().choices {
                choices.push((choice.what.to_owned(), choice.chosen.clone(), choice.why.clone()));
            }
        }
        let lanes = pairs
            .into_iter()
            .map(|(near, far)| {
                let work = match &shared {
                    Some(shared) => Work::Judge(Box::new(shared.view())),
                    None => Work::Pass,
                };
                Lane::new(near, far, work, setup.full, setup.back)
            })
            .collect();
        Ok(Self { lanes, names, setup, shared, clock, choices, opened })
    }

    fn load(&self) -> String {
        let what = match (&self.setup.rules, &self.names.1) {
            (Some(source), _) => format!("firewall of {} rules", source.rules.rules.len()),
            (None, Some(_)) => "forward every frame".to_owned(),
            (None, None) => "receive, count, free".to_owned(),
        };
        let threads = if self.lanes.len() == 1 { "thread" } else { "threads" };
        format!("{what}, {} {threads}", self.lanes.len())
    }
}

impl Job for Forward {
    fn facts(&self) -> Facts {
        let mut notes = Vec::new();
        if let Some(shared) = &self.shared {
            notes.extend(rule_notes(&shared.firewall()));
        }
        Facts {
            threads: self.lanes.len(),
            spins: self.setup.busy,
            length: self.setup.duration,
            load: self.load(),
            target: target(&self.names, self.setup.back),
            choices: self.choices.clone(),
            notes,
            ..Facts::default()
        }
    }

    fn start(
        self: Box<Self>,
        control: Arc<JobControl>,
        recorders: MakeRecorders<'_>,
    ) -> Result<Running, PacketError> {
        let Self { lanes, setup, shared, clock, opened, .. } = *self;
        let now = clock.now();
        let origin = if is_late(opened, now, setup.duration) { now } else { opened };
        control.begin(origin);
        let end = setup.duration.map_or(Instant::FAR, |length| origin + length);
        let alive = Arc::new(AtomicUsize::new(lanes.len()));
        let reports: Arc<Mutex<Vec<PortReport>>> = Arc::default();
        let count = lanes.len() as u64;
        let mut threads = Vec::with_capacity(lanes.len() + 1);
        for (index, (lane, record)) in lanes.into_iter().zip(recorders(origin)).enumerate() {
            let runner = Runner {
                lane,
                record,
                clock,
                control: control.clone(),
                end,
                most: setup.frames.map_or(u64::MAX, |n| share(n, count, index as u64)),
                busy: setup.busy,
                counters: EngineCounters::default(),
                arrived: 0,
                lost: 0,
                handed: (0, 0),
                unsent: 0,
                refused: 0,
            };
            let (alive, reports) = (alive.clone(), reports.clone());
            threads.push(spawn(format!("forward-{index}"), move || {
                // Counted down also if the lane panics: the keeper must end.
                let _alive = Alive(alive);
                runner.run(index as u32, &reports);
            })?);
        }
        if let (Some(shared), Some(rules)) = (&shared, &setup.rules) {
            threads.extend(keeper(shared.clone(), rules, &control, clock, alive)?);
        }
        Ok(Running::new(threads, move || findings(&reports, shared.as_deref(), &control)))
    }
}

/// The n-th of `count` shares of `all`.
const fn share(all: u64, count: u64, n: u64) -> u64 {
    all / count + if n < all % count { 1 } else { 0 }
}

pub(super) struct Alive(pub Arc<AtomicUsize>);

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

pub(super) fn spawn(
    name: String,
    work: impl FnOnce() + Send + 'static,
) -> Result<std::thread::JoinHandle<()>, PacketError> {
    let thread = std::thread::Builder::new().name(name).spawn(work);
    thread.map_err(|error| PacketError::Wrong(format!("a thread could not be started: {error}")))
}

/// The thread that reads rules again, where there is a file to read.
fn keeper(
    shared: Arc<Shared>,
    source: &RuleSource,
    control: &Arc<JobControl>,
    clock: HostClock,
    alive: Arc<AtomicUsize>,
) -> Result<Option<std::thread::JoinHandle<()>>, PacketError> {
    let Some(file) = source.file.clone() else { return Ok(None) };
    let take = move |rules: &filter::Rules| shared.replace(rules).map_err(|error| error.to_string());
    let reloader = Arc::new(Reloader::new(file, source.rules.clone(), Box::new(take)));
    understand(&reloader, control);
    let (control, when) = (control.clone(), (source.signal.clone(), source.every));
    let over = move || alive.load(Ordering::Acquire) == 0;
    spawn("rules".to_owned(), move || keep(&reloader, &control, &clock, when, over)).map(Some)
}

fn findings(reports: &Mutex<Vec<PortReport>>, shared: Option<&Shared>, control: &JobControl) -> Findings {
    let mut ports = std::mem::take(&mut *reports.lock().unwrap_or_else(PoisonError::into_inner));
    ports.sort_by(|a, b| (&a.role, a.queue).cmp(&(&b.role, b.queue)));
    let mut report = PacketReport {
        command: "forward".to_owned(),
        ports,
        changes: control.conclude(),
        ..PacketReport::default()
    };
    if let Some(shared) = shared {
        let (hits, gone) = shared.hits();
        report.tables.push(rules_table(shared.firewall().rules(), &hits, gone));
    }
    Findings { report, ..Findings::default() }
}

/// `mem:a > mem:b`, with how frames come back.
pub(super) fn target((near, far): &(String, Option<String>), back: Back) -> String {
    match (far, back) {
        (None, _) => near.clone(),
        (Some(far), Back::Nothing) => format!("{near} > {far}"),
        (Some(far), Back::Pass | Back::Rules) => format!("{near} <> {far}"),
    }
}

/// What to know of the rules before traffic comes.
pub(super) fn rule_notes(firewall: &Firewall) -> Vec<String> {
    let cost = firewall.cost();
    let mut notes: Vec<String> = cost.warning().into_iter().collect();
    if cost.unreachable > 0 {
        notes.push(format!(
            "{} rules can never match: an earlier rule with the same or a shorter 'from' covers them",
            cost.unreachable
        ));
    }
    notes
}

/// One lane at work.
struct Runner {
    lane: Lane,
    record: Box<dyn Record + Send>,
    clock: HostClock,
    control: Arc<JobControl>,
    end: Instant,
    /// End after so many frames.
    most: u64,
    busy: bool,
    counters: EngineCounters,
    arrived: u64,
    /// Frames that the ports lost before we saw them, as far as they are counted.
    lost: u64,
    /// Frames and bytes that a port has taken and that are not counted yet: it tells later what did not leave.
    handed: (u64, u64),
    /// Frames that ports had taken and that did not leave: those for want of a link, and others.
    unsent: u64,
    refused: u64,
}

impl Runner {
    fn run(mut self, queue: u32, reports: &Mutex<Vec<PortReport>>) {
        if let Err(error) = self.rounds() {
            self.control.fail(error.to_string());
        }
        let now = self.clock.now();
        self.missed(Miss::PortFull, |runner| runner.lane.give_up());
        let merged = self.lane.merged();
        for (index, port) in self.lane.ports().enumerate() {
            // A port that fails now has told why before, or has nothing left to send.
            let holds = port.about().can.holds;
            let _ = port.flush(FLUSH + holds);
            let role = if index == 0 { "in" } else { "out" };
            let report = PortReport { queue, merged: merged[index], ..ports::report_of(role, port.about()) };
            let report = ports::counted(report, &mut **port);
            reports.lock().unwrap_or_else(PoisonError::into_inner).push(report);
        }
        self.ask();
        self.lane.hand_over();
        self.record.tick(now, &self.counters);
    }

    fn rounds(&mut self) -> Result<(), PortError> {
        let mut asked = self.clock.now();
        let (mut heard, mut before) = (asked, asked);
        loop {
            let mut moved = Moved::default();
            let result = self.burst(&mut moved);
            self.keep(&moved);
            result?;
            let now = self.clock.now();
            if now.since(asked) >= ASK {
                asked = now;
                self.ask();
            }
            self.record.tick(now, &self.counters);
            // What came before the end and was read long after it, or not at all, is not told apart.
            let pass = now.since(std::mem::replace(&mut before, now));
            if now >= self.end && pass >= PAUSE + NAP {
                self.counters.pauses += 1;
                self.counters.paused += pass;
                self.record.tick(now, &self.counters);
            }
            if now >= self.end || self.control.stops() || self.arrived >= self.most || self.lane.is_over() {
                return Ok(());
            }
            if moved != Moved::default() {
                heard = now;
            } else if now.since(heard) >= SILENCE {
                heard = now;
                self.look()?;
            }
            if moved == Moved::default() && !self.busy {
                self.lane.wait(NAP.min(self.end.since(now)))?;
            }
        }
    }

    /// Not every port is woken up when its interface is removed. A link that is down may come up again.
    fn look(&mut self) -> Result<(), PortError> {
        match self.lane.ports().filter_map(|port| port.trouble()).find(|error| !is_down(error)) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Several rounds, as long as something moves.
    fn burst(&mut self, moved: &mut Moved) -> Result<(), PortError> {
        for _ in 0..ROUNDS {
            let before = *moved;
            let left = self.most.saturating_sub(self.arrived + moved.arrived);
            self.lane.round(left.min(super::batch::MOST as u64) as usize, moved)?;
            if *moved == before {
                break;
            }
        }
        Ok(())
    }

    fn keep(&mut self, moved: &Moved) {
        self.arrived += moved.arrived;
        // The recorder adds what was missed to what was offered.
        self.counters.offered += moved.ended() - moved.full;
        self.counters.due += moved.ended();
        self.handed.0 += moved.forwarded;
        self.handed.1 += moved.forwarded_bytes;
        for (fate, frames, bytes) in [
            (Fate::Filtered, moved.filtered, moved.filtered_bytes),
            (Fate::Received, moved.received, moved.received_bytes),
        ] {
            if frames > 0 {
                self.record.frames(fate, frames, Bytes::new(bytes));
            }
        }
        if moved.full > 0 {
            self.record.missed(Miss::PortFull, moved.full);
        }
        self.failed(moved.too_long, Cause::FrameTooLong);
        self.failed(moved.down, Cause::LinkDown);
    }

    /// Frames that arrived and could go no further.
    fn failed(&mut self, count: u64, cause: Cause) {
        for _ in 0..count {
            self.record.event(&failure(self.clock.now(), cause));
        }
    }

    fn missed(&mut self, why: Miss, count: impl FnOnce(&mut Self) -> u64) {
        let count = count(self);
        if count > 0 {
            // The recorder adds it to what was offered.
            self.counters.due += count;
            self.record.missed(why, count);
        }
    }

    /// Counts what the ports lost before we saw it, and what left of the frames that they took.
    fn ask(&mut self) {
        self.settle();
        self.missed(Miss::ReceiverFull, |runner| {
            let lost: u64 = runner.lane.ports().map(|port| lost_before_us(&mut **port)).sum();
            let new = lost.saturating_sub(runner.lost);
            runner.lost += new;
            new
        });
    }
}

impl Runner {
    /// A frame that a port took has gone on, unless the port tells that it did not.
    fn settle(&mut self) {
        let mut now = (0, 0);
        for port in self.lane.ports() {
            let (down, refused) = unsent(&mut **port);
            now = (now.0 + down, now.1 + refused);
        }
        let (frames, bytes) = std::mem::take(&mut self.handed);
        let down = now.0.saturating_sub(self.unsent).min(frames);
        let refused = now.1.saturating_sub(self.refused).min(frames - down);
        (self.unsent, self.refused) = (self.unsent + down, self.refused + refused);
        self.failed(down, Cause::LinkDown);
        self.failed(refused, Cause::PortRefused);
        let left = frames - down - refused;
        if left > 0 {
            let bytes = u128::from(bytes) * u128::from(left) / u128::from(frames);
            self.record.frames(Fate::Forwarded, left, Bytes::new(bytes as u64));
        }
    }
}

/// Frames that a port had taken and that did not leave: for want of a link, and for other reasons. Longer ones
/// it refused at once.
fn unsent(port: &mut dyn Port) -> (u64, u64) {
    let Ok(counters) = port.counters() else { return (0, 0) };
    let of = |places: &[DropPlace]| places.iter().map(|place| counters.dropped(*place)).sum();
    (of(&[DropPlace::TransmitDown]), of(&[DropPlace::TransmitKernel, DropPlace::TransmitDriver]))
}

const fn is_down(error: &PortError) -> bool {
    matches!(error, PortError::Down { .. })
}

/// Frames that arrived at the port and were lost there.
fn lost_before_us(port: &mut dyn Port) -> u64 {
    let Ok(counters) = port.counters() else { return 0 };
    counters.drops.iter().filter(|drop| drop.place.is_after_arrival()).map(|drop| drop.frames).sum()
}

/// A frame that the other port does not take.
fn failure(now: Instant, cause: Cause) -> Event {
    Event::unsent(Departure { seq: 0, due: now }, Outcome::Failed(cause), now)
}

/// What a lane does when its port is full, in words.
impl std::fmt::Display for Full {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Wait => f.write_str("wait"),
            Self::Drop { tries } => write!(f, "{tries}"),
        }
    }
}
