//! `tare send` as a job: opens what is needed, says what will be done, starts the threads, and tells what came
//! of it.
//!
//! ```text
//! SendPlan ─ prepare ─► ports open, frames made, rate known ─ start ─► a thread for each queue, and one that receives
//! ```

use super::answer::{self, Answering};
use super::departures::{Departures, Ends, Pattern};
use super::flood::{self, Flood, Numbers};
use super::machine::{self, Crew, Crowded};
use super::offload::{self, Offloading};
use super::outlet::{Ledger, Looks, Progress, Sizes};
use super::pacer::{self, Pacer};
use super::receive::{self, Arrived, Reading, Sent};
use super::source::{self, Recording};
use super::steer::{self, State, Steering};
use super::timed::{self, Timed, When};
use super::words;
use crate::job::{Facts, Findings, Job, MakeRecorders, Running};
use crate::own_clock::{self, OwnClock};
use crate::{Control, PacketError, lists};
use clock::priority::{self, Demand, Grant};
use clock::{Clock, HostClock};
use measure::gap_meter::{GapMeter, Requested, Stamping};
use measure::packets::{Cell, Column, GapReport, PlaceCount, PortReport, PortTime, ReceivedReport, Table};
use plan::Spin;
use plan::packets::send::{Lengths, Pace, SendPlan};
use port::{About, Address, Direction, DropPlace, FCS, Kind, Port, PortError, Wish};
use schedule::Share;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use units::{Instant, Picos, Rate};
use wire::Template;
use wire::template::{Mac, Spec};

/// From the making of recorders to the first departure: threads are there by then.
const START: Picos = Picos::from_millis(30);
/// Readings of the clock that tell its own error.
const READINGS: usize = 2_001;
/// Gaps of a burst that are kept one by one.
const LONGEST_BURST: u64 = 1 << 20;

/// Everything that `tare send` needs, open and ready.
pub struct SendJob {
    plan: SendPlan,
    clock: HostClock,
    ports: Vec<Box<dyn Port>>,
    receiver: Option<Box<dyn Port>>,
    answering: Option<Answering>,
    template: Arc<Template>,
    spec: Option<Spec>,
    pattern: Option<Pattern>,
    rate: Option<Rate>,
    ends: Ends,
    line_bps: Option<u64>,
    about: About,
    spin: Spin,
    /// Why threads had better not spin.
    crowded: Option<Crowded>,
    priority: Grant,
    notes: Vec<String>,
    /// The time of a port that keeps its own.
    own: Option<OwnClock>,
}

impl SendJob {
    /// Opens ports, finds out addresses and makes frames. Nothing of the load is sent; a question for a
    /// hardware address may be.
    ///
    /// # Errors
    /// Whatever keeps the run from starting. `Unreachable`: nobody answers for the destination.
    pub fn prepare(plan: SendPlan, clock: HostClock) -> Result<Self, PacketError> {
        let address: Address = plan.port.parse()?;
        Self::over(plan, clock, |plan, template, spin| open(plan, &address, template, spin))
    }

    /// The same through a port that is open already, for one queue.
    ///
    /// # Errors
    /// As [`Self::prepare`].
    pub fn through(plan: SendPlan, port: Box<dyn Port>, clock: HostClock) -> Result<Self, PacketError> {
        Self::over(plan, clock, |_, _, _| Ok(vec![port]))
    }

    fn over(
        plan: SendPlan,
        clock: HostClock,
        open: impl FnOnce(&SendPlan, &Template, Spin) -> Result<Vec<Box<dyn Port>>, PacketError>,
    ) -> Result<Self, PacketError> {
        check_cpus(&plan)?;
        let recording = match &plan.pace {
            Pace::Replay { file, .. } => Some(Recording::read(file)?),
            _ => None,
        };
        let mut notes = recording.as_ref().map_or_else(Vec::new, words::of_recording);
        let (mut template, mut spec) = source::look(&plan, recording.as_ref(), &mut notes, |_| (None, None))?;
        let mut crowded =
            Crew::here(plan.queues, u32::from(plan.receive.is_some()), plan.cpus.len()).crowded();
        let mut spin = if plan.spin == Spin::Auto && crowded.is_some() { Spin::Never } else { plan.spin };
        let mut ports = open(&plan, &template, spin)?;
        let about = ports[0].about().clone();
        let own = ports[0].own_time()?.map(|own| OwnClock::new(&own, clock.now()));
        if own.is_some() {
            // The port keeps the times.
            (spin, crowded) = (Spin::Never, None);
        }
        if let Some((length, longest)) = source::too_long(&template, &about) {
            return Err(too_long(&plan.lengths, &about.name, length, longest));
        }
        if spec.is_some() {
            let found = answer::addresses(&plan, &about, clock)?;
            let macs = |stream: usize| (found.source, found.destinations.get(stream).copied().flatten());
            (template, spec) = source::look(&plan, None, &mut notes, macs)?;
            notes.extend(found.notes);
        }
        let line_bps = plan.line_bps.or(about.speed_bps);
        let wrong = |problem: String| PacketError::Wrong(format!("--rate: {problem}"));
        let rate = source::rate(&plan.pace, &template, line_bps).map_err(wrong)?;
        let pattern = source::pattern(&plan, rate, recording.as_ref())?;
        let once = match (&plan.pace, &pattern) {
            (Pace::Replay { .. }, Some(Pattern::Cycle(cycle))) => Some(cycle.len()),
            _ => None,
        };
        let frames = plan.frames.or(once.filter(|_| plan.duration.is_none()));
        if plan.queues > 1
            && let Some(port) = &plan.receive
            && port.parse::<Address>()?.innermost().kind() == Kind::Mem
        {
            let what = format!(
                "--queues: --receive reads one queue of {port}, and frames of the others would seem lost"
            );
            return Err(PacketError::Wrong(what));
        }
        let mut receiver =
            plan.receive.as_deref().map(|port| open_receiver(port, template.longest())).transpose()?;
        let own = match &mut receiver {
            Some(receiver) => own_clock::of_both(&mut *ports[0], &mut **receiver, "--receive", clock.now())?,
            None => own,
        };
        let answering = match plan.answer_arp {
            true => Some(Answering::prepare(&about, spec.as_ref())?),
            false => None,
        };
        if let Some(offload) = ports[0].offload() {
            offload.prepare(&template).map_err(|error| in_sizes(&plan.lengths, error))?;
            offload::check(&plan, pattern.as_ref(), template.is_signed())?;
        }
        let demand = Demand {
            threads: plan.queues,
            spins: spin != Spin::Never && pattern.is_some(),
            // Each thread has every n-th departure.
            gap: pattern.as_ref().and_then(Pattern::gap).map(|gap| gap.saturating_mul(plan.queues.into())),
        };
        let priority = priority::grant(plan.priority, &demand);
        Ok(Self {
            ends: Ends { after: plan.duration, frames },
            template: Arc::new(template),
            about,
            plan,
            clock,
            ports,
            receiver,
            answering,
            spec,
            pattern,
            rate,
            line_bps,
            spin,
            crowded,
            priority,
            notes,
            own,
        })
    }

    /// A sentence where gaps are only as exact as a timer, and nobody asked for that.
    fn asleep(&self) -> Option<String> {
        let Crowded { why, mend } = self.idle()?;
        Some(format!(
            "threads sleep until each due time and do not spin, so frames are as late as the kernel wakes them: {why}; so that they spin, {mend}"
        ))
    }

    /// Why threads do not spin although they would.
    fn idle(&self) -> Option<&Crowded> {
        self.crowded.as_ref().filter(|_| self.plan.spin == Spin::Auto && self.pattern.is_some())
    }

    fn time(&self) -> Option<PortTime> {
        self.own.as_ref().map(OwnClock::time)
    }

    /// How long the run will be, where that is known.
    fn length(&self) -> Option<Picos> {
        let by_count = match (&self.pattern, self.ends.frames) {
            (Some(pattern), Some(frames)) => pattern.length(frames),
            (None, Some(_)) => return None,
            (_, None) => None,
        };
        [by_count, self.ends.after].into_iter().flatten().min()
    }

    fn steering(&mut self, progress: &[Arc<Progress>], sizes: &Arc<Sizes>) -> Steering {
        let is_made_by_port = self.ports[0].offload().is_some();
        let can_turn = matches!(self.pattern, Some(Pattern::Even(_) | Pattern::Bursts { .. }));
        let state = State {
            has_rate: can_turn || is_made_by_port,
            may_go_max: is_made_by_port && (self.plan.queues == 1 || !self.template.is_signed()),
            rate: self.rate.filter(|_| can_turn),
            size: words::sizes(&self.template),
            template: self.template.clone(),
            is_paused: false,
            marks: 0,
        };
        Steering {
            clock: self.clock,
            progress: progress.to_vec(),
            sizes: sizes.clone(),
            spec: self.spec.clone(),
            about: self.about.clone(),
            line_bps: self.line_bps,
            state: Mutex::new(state),
        }
    }

    fn requested(&self) -> Requested {
        match &self.pattern {
            Some(Pattern::Even(rate)) => Requested::Even(rate.gap()),
            Some(Pattern::Cycle(cycle)) => Requested::Cycle(cycle.gaps()),
            Some(Pattern::Bursts { rate, size }) if *size <= LONGEST_BURST => {
                let within = *size as usize - 1;
                let between = std::iter::once(rate.due(*size));
                Requested::Cycle(std::iter::repeat_n(Picos::ZERO, within).chain(between).collect())
            }
            Some(Pattern::Bursts { .. }) | None => Requested::Nothing,
        }
    }
}

/// One port for each queue.
fn open(
    plan: &SendPlan,
    address: &Address,
    template: &Template,
    spin: Spin,
) -> Result<Vec<Box<dyn Port>>, PacketError> {
    let wish = |queue| Wish {
        queue,
        queues: plan.queues,
        direction: Direction::Transmit,
        departures: true,
        frame: template.longest(),
        signs: template.is_signed(),
        // Where nothing has a due time, nobody spins for one.
        busy: spin != Spin::Never && !matches!(plan.pace, Pace::Max),
        ..Wish::default()
    };
    let ports: Result<Vec<_>, PortError> =
        (0..plan.queues).map(|queue| port::open(address, &wish(queue))).collect();
    let ports = ports.map_err(|error| in_sizes(&plan.lengths, error))?;
    if let Some(port) = ports.iter().find(|port| !port.about().can.transmit) {
        let port = port.about().name.clone();
        return Err(PortError::Unable { port, what: "transmit" }.into());
    }
    Ok(ports)
}

fn in_sizes(lengths: &Lengths, error: PortError) -> PacketError {
    match error {
        PortError::TooLong { port, length, longest } => too_long(lengths, &port, length, longest),
        other => other.into(),
    }
}

/// Lengths are without FCS; users write sizes with it, or payloads.
fn too_long(lengths: &Lengths, port: &str, length: usize, longest: usize) -> PacketError {
    let excess = length - longest;
    let advice = match lengths {
        Lengths::Frames => "lower --size".to_owned(),
        Lengths::Payload(payload) => {
            format!("give -l {} or less", (*payload as usize).saturating_sub(excess))
        }
        Lengths::File(file) => {
            let most = lists::lengths(file).ok().and_then(|all| all.into_iter().max());
            let within = most.map(|most| lists::within(file, most.saturating_sub(excess)));
            match within {
                Some(Err(error)) => return PacketError::Wrong(format!("--lengths (-L): {error} ({port})")),
                _ => "lower the lengths of -L".to_owned(),
            }
        }
    };
    // The longest frame of a module is the module's own.
    let (what, raise) = if port.starts_with("fpga") {
        ("", "")
    } else {
        (", its MTU with header and FCS", ", or raise the interface's MTU")
    };
    PacketError::Wrong(format!(
        "a frame size of {} is more than {port} takes ({}{what}); {advice}{raise}",
        length + FCS,
        longest + FCS
    ))
}

fn open_receiver(port: &str, longest: usize) -> Result<Box<dyn Port>, PacketError> {
    let address: Address = port.parse()?;
    Ok(port::open(&address, &Wish { frame: longest.max(Wish::default().frame), ..Wish::receive() })?)
}

fn check_cpus(plan: &SendPlan) -> Result<(), PacketError> {
    let usable = os::cpus::usable();
    let Some(cpu) = plan.cpus.iter().find(|cpu| !usable.contains(cpu)) else { return Ok(()) };
    let usable: Vec<String> = usable.iter().map(u32::to_string).collect();
    let usable = usable.join(", ");
    Err(PacketError::Wrong(format!("--cpus: this process may not use CPU {cpu}; it may use {usable}")))
}

impl Job for SendJob {
    fn facts(&self) -> Facts {
        let about = self.ports[0].about();
        let mut choices: Vec<_> = about
            .choices
            .iter()
            .map(|choice| (choice.what.to_owned(), choice.chosen.clone(), choice.why.clone()))
            .collect();
        if self.own.is_none() {
            choices.push(words::of_spin(
                self.plan.spin,
                self.crowded.as_ref().map(|crowded| crowded.why.as_str()),
            ));
            choices.push(words::of_priority(&self.priority));
        }
        Facts {
            threads: self.ports.len(),
            spins: self.spin != Spin::Never && self.pattern.is_some(),
            gap: self.pattern.as_ref().and_then(Pattern::gap),
            is_open_loop: self.pattern.is_some(),
            length: self.length(),
            load: words::of_load(&self.plan, &self.template, self.rate, self.length()),
            target: about.name.clone(),
            choices,
            notes: self.notes.iter().cloned().chain(self.asleep()).collect(),
            time: self.time(),
            no_spin: self.idle().map(|crowded| crowded.mend.clone()),
        }
    }

    fn start(
        self: Box<Self>,
        control: Arc<Control>,
        recorders: MakeRecorders<'_>,
    ) -> Result<Running, PacketError> {
        let mut this = *self;
        let sizes = Arc::new(Sizes::default());
        let progress: Vec<Arc<Progress>> = this.ports.iter().map(|_| Arc::default()).collect();
        match &this.own {
            // What is handed over is the port's, and far ahead.
            Some(_) => steer::refuse(&control),
            None => steer::register(&control, this.steering(&progress, &sizes)),
        }
        let (sent, found) = (Arc::new(Sent::default()), Arc::new(Mutex::new(Arrived::default())));
        let reading = Reading {
            requested: this.requested(),
            is_signed: this.template.is_signed(),
            drain: this.plan.drain,
            by_this_clock: this.own.is_none(),
        };
        let handed = Handed {
            place: this.ports[0].about().name.clone(),
            gap: this.pattern.as_ref().and_then(Pattern::gap).filter(|_| this.ports.len() == 1),
            reading_ns: reading_ns(this.clock),
            own: this.own,
        };
        let failed =
            |error: std::io::Error| PacketError::Wrong(format!("a thread cannot be started: {error}"));
        let mut threads = Vec::new();
        let has_receiver = this.receiver.is_some();
        if let Some(port) = this.receiver.take() {
            let (control, sent, found) = (control.clone(), sent.clone(), found.clone());
            threads.push(receive::start(port, reading, this.clock, control, sent, found).map_err(failed)?);
        }
        let answered = this.answering.take().map(|answering| answering.start(control.clone(), sent.clone()));
        let answered = answered.transpose().map_err(failed)?;
        let origin = match &this.own {
            // What has no due time leaves from now on.
            Some(own) if this.pattern.is_none() => own.now(&mut *this.ports[0])?,
            Some(own) => own.now(&mut *this.ports[0])? + own.lead(),
            None => this.clock.now() + START,
        };
        control.begin(origin);
        let grants = Arc::new(Mutex::new(Vec::new()));
        let crew = this.crew(&control, &progress, &sizes, origin, recorders(origin));
        let mut sending = Vec::new();
        for (index, work) in crew.into_iter().enumerate() {
            let cpu = this.plan.cpus.get(index % this.plan.cpus.len().max(1)).copied();
            sending.push(spawn(index, cpu, grants.clone(), this.priority.clone(), work).map_err(failed)?);
        }
        threads.push(after(sending, sent, progress.clone()).map_err(failed)?);
        let mut notes = Vec::new();
        let priority = this.priority.clone();
        Ok(Running::new(threads, move || {
            notes.extend(grants.lock().unwrap_or_else(PoisonError::into_inner).drain(..));
            notes.extend(priority.lost());
            notes.extend(answered.map(|answered| answered.words()));
            let arrived = found.lock().unwrap_or_else(PoisonError::into_inner).clone();
            findings(&control, &progress, &handed, has_receiver.then_some(arrived), notes)
        }))
    }
}

/// What one thread does.
type Work = Box<dyn FnOnce() + Send>;

impl SendJob {
    /// The work of each queue's thread.
    fn crew(
        &mut self,
        control: &Arc<Control>,
        progress: &[Arc<Progress>],
        sizes: &Arc<Sizes>,
        origin: Instant,
        recorders: crate::Recorders,
    ) -> Vec<Work> {
        let end = self.ends.after.map_or(Instant::FAR, |after| origin + after);
        let numbers = Arc::new(Numbers::new(self.ends.frames));
        let of = self.plan.queues;
        let ports: Vec<_> = self.ports.drain(..).collect();
        let mut crew: Vec<Work> = Vec::new();
        for ((index, mut port), recorder) in (0..).zip(ports).zip(recorders) {
            let (looks, timer) = (Looks::new(self.template.clone()), self.clock);
            let (control, sizes) = (control.clone(), sizes.clone());
            let progress = progress[index as usize].clone();
            let mut ledger =
                if self.pattern.is_some() { Ledger::with_gaps(recorder) } else { Ledger::new(recorder) };
            if let Some(rate) = self.rate {
                ledger.at_rate(rate);
            }
            let share = Share::new(index, of).unwrap_or(Share::WHOLE);
            if let Some(clock) = self.own {
                let when = match &self.pattern {
                    Some(pattern) => When::Due(Departures::new(pattern.clone(), self.ends, origin, share)),
                    None => {
                        When::AtOnce { frames: self.ends.frames.unwrap_or(u64::MAX), end: self.ends.after }
                    }
                };
                let setup = timed::Setup { port, clock, when, looks, control, progress, origin };
                crew.push(Box::new(move || Timed::new(setup, ledger).run()));
            } else if port.offload().is_some() {
                let (rate, ends) = (self.rate, self.ends);
                let setup =
                    Offloading { port, timer, rate, ends, looks, sizes, control, progress, origin, share };
                crew.push(Box::new(move || setup.run(ledger)));
            } else if let Some(pattern) = &self.pattern {
                let departures = Departures::new(pattern.clone(), self.ends, origin, share);
                let (spin, relative, may_turn) = (self.spin, self.plan.relative, true);
                let setup = pacer::Setup {
                    port,
                    timer,
                    departures,
                    looks,
                    sizes,
                    control,
                    progress,
                    end,
                    spin,
                    relative,
                    may_turn,
                };
                crew.push(Box::new(move || Pacer::new(setup, ledger).run()));
            } else {
                let numbers = numbers.clone();
                let setup =
                    flood::Setup { port, timer, numbers, looks, sizes, control, progress, origin, end };
                crew.push(Box::new(move || Flood::new(setup, ledger).run()));
            }
        }
        crew
    }
}

fn spawn(
    index: usize,
    cpu: Option<u32>,
    grants: Arc<Mutex<Vec<String>>>,
    priority: Grant,
    work: Work,
) -> std::io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(format!("tare-send-{index}")).spawn(move || {
        let refused = machine::settle(cpu, index == 0, &priority);
        grants.lock().unwrap_or_else(PoisonError::into_inner).extend(refused);
        work();
    })
}

/// Waits for those who send, and tells those who receive that all have left.
fn after(
    sending: Vec<JoinHandle<()>>,
    sent: Arc<Sent>,
    progress: Vec<Arc<Progress>>,
) -> std::io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name("tare-send".to_owned()).spawn(move || {
        let mut panicked = false;
        for thread in sending {
            panicked |= thread.join().is_err();
        }
        let numbered = progress.iter().map(|one| one.numbered.load(Ordering::Relaxed)).max();
        let numbered = numbered.unwrap_or(0);
        let below = |one: &Arc<Progress>| -> u64 {
            let given_up = one.given_up.lock().unwrap_or_else(PoisonError::into_inner);
            given_up.iter().map(|numbers| numbers.below(numbered)).sum()
        };
        // Those that failed had numbers, too, and never left.
        let failed: u64 = progress.iter().map(|one| one.failed.load(Ordering::Relaxed)).sum();
        sent.end(numbered, progress.iter().map(below).sum::<u64>() + failed);
        // Told by `Running::join`.
        assert!(!panicked, "a sending thread failed");
    })
}

/// What is known of the gaps between frames that were handed over.
struct Handed {
    place: String,
    /// The one gap that was asked for at first, if one thread keeps it.
    gap: Option<Picos>,
    reading_ns: f64,
    /// The port tells when frames left, by its own time.
    own: Option<OwnClock>,
}

impl Handed {
    fn report(&self, progress: &[Arc<Progress>], is_changed: bool) -> Option<GapReport> {
        let mut all = GapMeter::new(Requested::Due);
        for one in progress {
            let meter = one.gaps.lock().unwrap_or_else(PoisonError::into_inner).take();
            meter.iter().for_each(|meter| all.merge(meter));
        }
        let of_each = if progress.len() > 1 { ", within each queue" } else { "" };
        let mut report =
            all.report(&self.own.map_or_else(|| self.by_software(of_each), |own| own.stamping(&self.place)));
        report.requested_ns = self.gap.filter(|_| !is_changed).map(|gap| gap.as_picos() as f64 / 1e3);
        (report.count > 0).then_some(report)
    }

    fn by_software(&self, of_each: &str) -> Stamping {
        Stamping {
            measured_at: format!("{}, when handed over{of_each}", self.place),
            handed_over: true,
            by: "software".to_owned(),
            error_ns: self.reading_ns,
            error_from: format!(
                "the engine's own clock, read before each frame is handed over; two readings, one right after the other, are {:.0} ns apart (p95)",
                self.reading_ns
            ),
        }
    }
}

/// 95th percentile of the time between two readings of the clock, one right after the other.
fn reading_ns(clock: HostClock) -> f64 {
    let mut gaps: Vec<u64> = (0..READINGS)
        .map(|_| {
            let first = clock.now();
            clock.now().since(first).as_picos()
        })
        .collect();
    gaps.sort_unstable();
    gaps[READINGS * 95 / 100] as f64 / 1e3
}

/// The gaps as they were handed over, beside those at the receiver.
fn handed_table(gaps: &GapReport) -> Table {
    let names = ["gaps", "mean", "p50", "p95", "error p50", "error p95", "error p99", "error max"];
    let column = |name: &&str| Column {
        name: (*name).to_owned(),
        unit: if *name == "gaps" { "count" } else { "ns" }.to_owned(),
    };
    let error = gaps.error.unwrap_or_default();
    let figures = [gaps.count as f64, gaps.mean_ns, gaps.p50_ns, gaps.p95_ns];
    let errors = [error.p50_ns, error.p95_ns, error.p99_ns, error.max_ns];
    Table {
        key: "handed_over".to_owned(),
        title: (if gaps.handed_over { "Gaps when frames were handed over" } else { "Gaps when frames left" })
            .to_owned(),
        columns: names.iter().map(column).collect(),
        rows: vec![figures.into_iter().chain(errors).map(Cell::Figure).collect()],
        notes: vec![format!("at {}; stamps: {}", gaps.measured_at, gaps.stamp_error_from)],
    }
}

fn findings(
    control: &Control,
    progress: &[Arc<Progress>],
    handed: &Handed,
    arrived: Option<Arrived>,
    notes: Vec<String>,
) -> Findings {
    let mut findings = Findings { notes, ..Findings::default() };
    let report = &mut findings.report;
    report.changes = control.changes();
    for one in progress {
        report.ports.extend(one.port.lock().unwrap_or_else(PoisonError::into_inner).clone());
        report.tables.extend(one.tables.lock().unwrap_or_else(PoisonError::into_inner).drain(..));
        findings.notes.extend(one.notes.lock().unwrap_or_else(PoisonError::into_inner).drain(..));
    }
    let is_changed = report.changes.iter().any(|change| matches!(change.what.as_str(), "rate" | "state"));
    let keeps_time = handed.own.is_some();
    let handed = handed.report(progress, is_changed);
    let Some(arrived) = arrived else {
        report.gaps = handed;
        return findings;
    };
    report.ports.push(arrived.port);
    if arrived.is_signed && arrived.never_left > 0 {
        findings.notes.push(format!(
            "{} never left: they were due when the load was changed, and are missed, not lost; incidents name their numbers",
            if arrived.never_left == 1 { "1 frame".to_owned() } else { format!("{} frames", arrived.never_left) }
        ));
    }
    match arrived.gaps {
        Some(gaps) => {
            report.gaps = Some(gaps);
            report.tables.extend(handed.as_ref().map(handed_table));
            report.handed_over = handed;
        }
        None => report.gaps = handed,
    }
    if arrived.is_signed || arrived.report.signed > 0 {
        // Where the port tells of each frame, those that it lost have failed, and are no part of what is
        // missing.
        let failed: u64 = progress.iter().map(|one| one.failed.load(Ordering::Relaxed)).sum();
        let received = split(arrived.report, &report.ports, if keeps_time { failed } else { 0 });
        findings.notes.extend(words::of_waiting(&received, arrived.longest));
        findings.notes.extend(words::of_own_losses(&received));
        report.received = Some(received);
    }
    if let Some(failure) = arrived.failure {
        findings.labels.push(format!("receiving ended early: {failure}"));
    }
    findings
}

/// Of what did not arrive, at most as much as this machine's own ports lost is their loss; the rest was lost on
/// the way. Of what the ports lost, `known` are not among the missing.
fn split(mut received: ReceivedReport, ports: &[PortReport], known: u64) -> ReceivedReport {
    let ours = |place: DropPlace| place.is_after_arrival() || place.is_before_sending();
    let is_ours = |drop: &&PlaceCount| DropPlace::of_key(&drop.place).is_some_and(ours);
    let drops = ports.iter().flat_map(|port| &port.drops).filter(is_ours);
    let drops: u64 = drops.map(|drop| drop.frames).sum();
    received.lost_here = drops.saturating_sub(known).min(received.lost);
    received.lost -= received.lost_here;
    received
}

/// Addresses of Ethernet that were found out.
#[derive(Clone, Debug, Default)]
pub struct Found {
    pub source: Option<Mac>,
    /// For each stream.
    pub destinations: Vec<Option<Mac>>,
    pub notes: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_our_own_ports_lost_is_not_lost_on_the_way() {
        let port = |drops: &[(&str, u64)]| PortReport {
            drops: drops
                .iter()
                .map(|(place, frames)| PlaceCount { place: (*place).to_owned(), frames: *frames })
                .collect(),
            ..PortReport::default()
        };
        let missing = |lost| ReceivedReport { lost, ..ReceivedReport::default() };
        let both = |lost, drops: &[(&str, u64)]| {
            let found = split(missing(lost), &[port(&[]), port(drops)], 0);
            (found.lost, found.lost_here)
        };
        assert_eq!(both(60, &[("rx.ring", 60)]), (0, 60));
        assert_eq!(both(60, &[("rx.ring", 20), ("tx.driver", 5), ("rx.filter", 9), ("fault", 9)]), (35, 25));
        assert_eq!(both(60, &[("rx.kernel", 500)]), (0, 60), "others' frames were lost, too");
    }
}
