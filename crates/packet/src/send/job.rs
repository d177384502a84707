//! `tare send` as a job: opens what is needed, says what will be done, starts the threads, and tells what came of it.
//!
//! ```text
//! SendPlan ─ prepare ─► ports open, frames made, rate known ─ start ─► a thread for each queue, and one that receives
//! ```

use super::answer::{self, Answering};
use super::departures::{Departures, Ends, Pattern};
use super::flood::{self, Flood, Numbers};
use super::offload::{self, Offloading};
use super::outlet::{Ledger, Looks, Progress, Sizes};
use super::pacer::{self, Pacer};
use super::receive::{self, Arrived, Reading, Sent};
use super::source::{self, Recording};
use super::steer::{self, State, Steering};
use super::{machine, words};
use crate::job::{Facts, Findings, Job, MakeRecorders, Running};
use crate::{Control, PacketError};
use clock::{Clock, HostClock};
use measure::gap_meter::Requested;
use plan::Spin;
use plan::packets::send::{Pace, SendPlan};
use port::{Address, Direction, FCS, Port, PortError, Wish};
use schedule::Share;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use units::{Instant, Picos, Rate};
use wire::Template;
use wire::template::{Mac, Spec};

/// From the making of recorders to the first departure: threads are there by then.
const START: Picos = Picos::from_millis(30);

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
    longest: usize,
    spin: Spin,
    notes: Vec<String>,
}

impl SendJob {
    /// Opens ports, finds out addresses and makes frames. Nothing of the load is sent; a question for a hardware address may be.
    ///
    /// # Errors
    /// Whatever keeps the run from starting. `Unreachable`: nobody answers for the destination.
    pub fn prepare(plan: SendPlan, clock: HostClock) -> Result<Self, PacketError> {
        check_cpus(&plan)?;
        let address: Address = plan.port.parse()?;
        let recording = match &plan.pace {
            Pace::Replay { file, .. } => Some(Recording::read(file)?),
            _ => None,
        };
        let mut notes = recording.as_ref().map_or_else(Vec::new, words::of_recording);
        let (mut template, mut spec) = source::look(&plan, recording.as_ref(), |_| (None, None))?;
        let spin = decide_spin(&plan);
        let mut ports = open(&plan, &address, template.longest(), spin)?;
        let about = ports[0].about().clone();
        if template.longest() > about.longest {
            return Err(too_long(&about.name, template.longest(), about.longest));
        }
        if spec.is_some() {
            let found = answer::addresses(&plan, &about, clock)?;
            let macs = |stream: usize| (found.source, found.destinations.get(stream).copied().flatten());
            (template, spec) = source::look(&plan, None, macs)?;
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
        let receiver =
            plan.receive.as_deref().map(|port| open_receiver(port, template.longest())).transpose()?;
        let answering = match plan.answer_arp {
            true => Some(Answering::prepare(&about, spec.as_ref())?),
            false => None,
        };
        if let Some(offload) = ports[0].offload() {
            offload.prepare(&template)?;
            offload::check(&plan, pattern.as_ref())?;
        }
        Ok(Self {
            ends: Ends { after: plan.duration, frames },
            template: Arc::new(template),
            longest: about.longest,
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
            notes,
        })
    }

    /// How long the run will be, where that is known.
    fn length(&self) -> Option<Picos> {
        let by_count = match (&self.pattern, self.ends.frames) {
            (Some(pattern), Some(frames)) => Some(pattern.due(frames)),
            (None, Some(_)) => return None,
            (_, None) => None,
        };
        [by_count, self.ends.after].into_iter().flatten().min()
    }

    fn steering(&self, progress: &[Arc<Progress>], sizes: &Arc<Sizes>) -> Steering {
        let can_turn = matches!(self.pattern, Some(Pattern::Even(_) | Pattern::Bursts { .. }));
        let state = State {
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
            longest: self.longest,
            line_bps: self.line_bps,
            state: Mutex::new(state),
        }
    }

    fn requested(&self) -> Requested {
        match &self.pattern {
            Some(Pattern::Even(rate)) => Requested::Even(rate.gap()),
            Some(Pattern::Cycle(cycle)) => Requested::Cycle(cycle.gaps()),
            Some(Pattern::Bursts { .. }) | None => Requested::Nothing,
        }
    }
}

/// One port for each queue.
fn open(
    plan: &SendPlan,
    address: &Address,
    longest: usize,
    spin: Spin,
) -> Result<Vec<Box<dyn Port>>, PacketError> {
    let wish = |queue| Wish {
        queue,
        queues: plan.queues,
        direction: Direction::Transmit,
        frame: longest,
        busy: spin != Spin::Never,
        ..Wish::default()
    };
    let ports: Result<Vec<_>, PortError> =
        (0..plan.queues).map(|queue| port::open(address, &wish(queue))).collect();
    let ports = ports.map_err(|error| match error {
        PortError::TooLong { port, length, longest } => too_long(&port, length, longest),
        other => other.into(),
    })?;
    if let Some(port) = ports.iter().find(|port| !port.about().can.transmit) {
        let port = port.about().name.clone();
        return Err(PortError::Unable { port, what: "transmit" }.into());
    }
    Ok(ports)
}

/// Lengths are without FCS; users write sizes with it.
fn too_long(port: &str, length: usize, longest: usize) -> PacketError {
    PacketError::Wrong(format!(
        "a frame size of {} is more than {port} takes ({}, its MTU with header and FCS); lower --size, or raise the interface's MTU",
        length + FCS,
        longest + FCS
    ))
}

fn open_receiver(port: &str, longest: usize) -> Result<Box<dyn Port>, PacketError> {
    let address: Address = port.parse()?;
    Ok(port::open(&address, &Wish { frame: longest.max(Wish::default().frame), ..Wish::receive() })?)
}

fn check_cpus(plan: &SendPlan) -> Result<(), PacketError> {
    let usable = machine::usable_cpus();
    let Some(cpu) = plan.cpus.iter().find(|cpu| !usable.contains(cpu)) else { return Ok(()) };
    let usable: Vec<String> = usable.iter().map(u32::to_string).collect();
    let usable = usable.join(", ");
    Err(PacketError::Wrong(format!("--cpus: this process may not use CPU {cpu}; it may use {usable}")))
}

/// Spinning pays if each thread has a CPU, and there is more than one.
fn decide_spin(plan: &SendPlan) -> Spin {
    match plan.spin {
        Spin::Auto if machine::usable_cpus().len() < (plan.queues as usize).max(2) => Spin::Never,
        spin => spin,
    }
}

impl Job for SendJob {
    fn facts(&self) -> Facts {
        let about = self.ports[0].about();
        let mut choices: Vec<_> = about
            .choices
            .iter()
            .map(|choice| (choice.what.to_owned(), choice.chosen.clone(), choice.why.clone()))
            .collect();
        choices.push(words::of_spin(self.plan.spin, self.spin, self.plan.queues));
        Facts {
            threads: self.ports.len(),
            spins: self.spin != Spin::Never && self.pattern.is_some(),
            gap: self.pattern.as_ref().and_then(Pattern::gap),
            is_open_loop: self.pattern.is_some(),
            length: self.length(),
            load: words::of_load(&self.plan, &self.template, self.rate, self.length()),
            target: about.name.clone(),
            choices,
            notes: self.notes.clone(),
        }
    }

    fn start(
        self: Box<Self>,
        control: Arc<Control>,
        recorders: MakeRecorders<'_>,
    ) -> Result<Running, PacketError> {
        let sizes = Arc::new(Sizes::default());
        let progress: Vec<Arc<Progress>> = self.ports.iter().map(|_| Arc::default()).collect();
        steer::register(&control, self.steering(&progress, &sizes));
        let (sent, found) = (Arc::new(Sent::default()), Arc::new(Mutex::new(Arrived::default())));
        let reading = Reading { requested: self.requested(), is_signed: self.template.is_signed() };
        let failed =
            |error: std::io::Error| PacketError::Wrong(format!("a thread cannot be started: {error}"));
        let mut this = *self;
        let mut threads = Vec::new();
        let has_receiver = this.receiver.is_some();
        if let Some(port) = this.receiver.take() {
            let (control, sent, found) = (control.clone(), sent.clone(), found.clone());
            threads.push(receive::start(port, reading, this.clock, control, sent, found).map_err(failed)?);
        }
        let answered = this.answering.take().map(|answering| answering.start(control.clone(), sent.clone()));
        let answered = answered.transpose().map_err(failed)?;
        let origin = this.clock.now() + START;
        control.begin(origin);
        let grants = Arc::new(Mutex::new(Vec::new()));
        let crew = this.crew(&control, &progress, &sizes, origin, recorders(origin));
        let mut sending = Vec::new();
        for (index, work) in crew.into_iter().enumerate() {
            let cpu = this.plan.cpus.get(index % this.plan.cpus.len().max(1)).copied();
            sending.push(spawn(index, cpu, grants.clone(), work).map_err(failed)?);
        }
        threads.push(after(sending, sent, progress.clone()).map_err(failed)?);
        let mut notes = Vec::new();
        Ok(Running::new(threads, move || {
            notes.extend(grants.lock().unwrap_or_else(PoisonError::into_inner).drain(..));
            notes.extend(answered.map(|answered| answered.words()));
            let arrived = found.lock().unwrap_or_else(PoisonError::into_inner).clone();
            findings(&control, &progress, has_receiver.then_some(arrived), notes)
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
            let ledger = Ledger::new(recorder);
            let share = Share::new(index, of).unwrap_or(Share::WHOLE);
            if port.offload().is_some() {
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
    work: Work,
) -> std::io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(format!("tare-send-{index}")).spawn(move || {
        let refused = machine::settle(cpu, index == 0);
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
        let left = progress.iter().map(|one| one.sent.load(std::sync::atomic::Ordering::Relaxed)).sum();
        sent.end(left);
        // Told by `Running::join`.
        assert!(!panicked, "a sending thread failed");
    })
}

fn findings(
    control: &Control,
    progress: &[Arc<Progress>],
    arrived: Option<Arrived>,
    notes: Vec<String>,
) -> Findings {
    let mut findings = Findings { notes, ..Findings::default() };
    let report = &mut findings.report;
    report.changes = control.changes();
    for one in progress {
        report.ports.extend(one.port.lock().unwrap_or_else(PoisonError::into_inner).clone());
        report.tables.extend(one.tables.lock().unwrap_or_else(PoisonError::into_inner).drain(..));
    }
    let Some(arrived) = arrived else { return findings };
    report.ports.push(arrived.port);
    report.gaps = arrived.gaps;
    if arrived.report.signed > 0 {
        report.received = Some(arrived.report);
    }
    if let Some(failure) = arrived.failure {
        findings.labels.push(format!("receiving ended early: {failure}"));
    }
    findings
}

/// Addresses of Ethernet that were found out.
#[derive(Clone, Debug, Default)]
pub struct Found {
    pub source: Option<Mac>,
    /// For each stream.
    pub destinations: Vec<Option<Mac>>,
    pub notes: Vec<String>,
}
