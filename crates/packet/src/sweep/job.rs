//! The job of `tare sweep`: for each frame size the searches, the latencies and the bursts, one after another.

use super::bench::{Bench, Made};
use super::bursts::BurstSearch;
use super::goal::{Goal, Limits};
use super::load::Load;
use super::search::{End, Found, Search};
use super::tables::{self, AROUND, Bursts, Latency, SizeFound, TrialRow};
use super::trial::{Judged, Order};
use crate::job::{Facts, Findings, Job, MakeRecorders, Running};
use crate::own_clock::{self, OwnClock};
use crate::pace::shared::Shared;
use crate::send::source;
use crate::{Control, PacketError};
use clock::{Clock, HostClock};
use measure::packets::{PacketReport, PlaceCount, PortReport};
use plan::packets::frames::FrameSource;
use plan::packets::send::Pace;
use plan::packets::sweep::SweepPlan;
use port::{About, Address, Direction, FCS, Kind, Port, PortError, Wish};
use std::sync::{Arc, Mutex, PoisonError};
use units::{Bytes, Fate, Gauges, Instant, Picos, Record};
use wire::Template;
use wire::template::Spec;

/// Trials of one search at the utmost.
const MOST_TRIALS: usize = 400;
/// Loads at which latency is measured, as shares of the first goal's.
const SHARES: [f64; 4] = [0.1, 0.5, 0.9, 1.0];
/// RFC 2544 §26.4: a burst of two seconds is the longest.
const LONGEST_BURST: Picos = Picos::from_secs(2);
const FIRST_BURST: u64 = 64;
const BURST_WIDTH: f64 = 0.01;

/// Ports open, frames made.
pub struct SweepJob {
    plan: SweepPlan,
    clock: HostClock,
    send: Box<dyn Port>,
    receive: Box<dyn Port>,
    templates: Vec<(u32, Arc<Template>)>,
    line_bps: Option<u64>,
    notes: Vec<String>,
    /// The time of a sending port that keeps its own.
    own: Option<OwnClock>,
}

impl SweepJob {
    /// Opens both ports and makes the frames of each size.
    ///
    /// # Errors
    /// What is wrong with a port or a size, and what would be right.
    pub fn prepare(plan: &SweepPlan, clock: HostClock) -> Result<Self, PacketError> {
        let FrameSource::Made { .. } = plan.look.source() else {
            return Err(PacketError::Wrong(
                "--pcap: a sweep has its own sizes, and makes its frames".to_owned(),
            ));
        };
        let longest = plan.sizes.iter().copied().max().unwrap_or(1_518) as usize - FCS;
        let open = |text: &str, direction, busy| {
            // A port that keeps its own time tells when frames left: a trial takes as long as that says.
            let departures = direction == Direction::Transmit;
            port::open(
                &text.parse()?,
                &Wish { direction, busy, departures, frame: longest, signs: true, ..Wish::default() },
            )
            .map_err(|error| match error {
                PortError::TooLong { port, length, longest } => PacketError::Wrong(format!(
                    "--sizes: a frame size of {} is more than {port} takes ({}, its MTU with header and FCS)",
                    length + FCS,
                    longest + FCS
                )),
                error => error.into(),
            })
        };
        let (from, to): (Address, Address) = (plan.send.parse()?, plan.receive.parse()?);
        // Those of these kinds have two ends, or a cable of their own.
        if from == to && !matches!(from.innermost().kind(), Kind::Mem | Kind::Fpga) {
            let what = format!("--receive: {to} is where frames leave; it is to be the other end of the way");
            return Err(PacketError::Wrong(what));
        }
        let send = open(&plan.send, Direction::Transmit, true)?;
        // Both ways where the port can: a frame from there teaches switches on the way. Faults are those of receiving.
        let receive = match to.kind() {
            Kind::Fault => open(&plan.receive, Direction::Receive, false)?,
            _ => open(&plan.receive, Direction::Both, false)
                .or_else(|_| open(&plan.receive, Direction::Receive, false))?,
        };
        Self::between(plan.clone(), clock, send, receive)
    }

    pub(super) fn between(
        plan: SweepPlan,
        clock: HostClock,
        mut send: Box<dyn Port>,
        mut receive: Box<dyn Port>,
    ) -> Result<Self, PacketError> {
        let own = own_clock::of_both(&mut *send, &mut *receive, "--receive", clock.now())?;
        let spec = spec(&plan, send.about(), receive.about())?;
        let mut templates = Vec::new();
        for size in &plan.sizes {
            let made = source::resized(&spec, *size as usize, send.about());
            let template = made.map_err(|problem| PacketError::Wrong(format!("--sizes: {problem}")))?;
            if !template.is_signed() {
                return Err(PacketError::Wrong(format!(
                    "--sizes: a frame of {size} has no room for a signature"
                )));
            }
            templates.push((*size, Arc::new(template)));
        }
        let line_bps = plan.line_bps.or(send.about().speed_bps);
        if line_bps.is_none() && matches!(plan.max, Pace::Line { .. }) {
            let name = &send.about().name;
            return Err(PacketError::Wrong(format!(
                "--max-rate: {name} does not tell the speed of its link; write --line 10G, or --max-rate 2M"
            )));
        }
        Ok(Self { plan, clock, send, receive, templates, line_bps, notes: Vec::new(), own })
    }

    fn goals(&self) -> Vec<Goal> {
        let SweepPlan { trial, first_trial, sum, exceed, width, .. } = self.plan;
        let goal = |goal: &plan::packets::sweep::SweepGoal| Goal {
            trial,
            first_trial,
            sum,
            exceed,
            width,
            ..Goal::named(&goal.name, goal.loss)
        };
        self.plan.goals.iter().map(goal).collect()
    }

    /// The highest load for frames of this size, and the lowest.
    fn limits(&self, size: u32) -> Limits {
        let bits = |per_second: f64, around: f64| per_second / ((f64::from(size) + around) * 8.0);
        let line = self.line_bps.map(|line| bits(line as f64, AROUND));
        let max = match &self.plan.max {
            Pace::Frames(rate) => rate.as_per_second_f64(),
            Pace::Bits { per_second, on_wire } => {
                bits(*per_second as f64, if *on_wire { AROUND } else { 0.0 })
            }
            Pace::Line { millionths } => line.unwrap_or(1e6) * *millionths as f64 / 1e6,
            _ => line.unwrap_or(1e6),
        };
        let min = Load::per_second(self.plan.min.as_per_second_f64());
        Limits { min, max: Load::per_second(max).max(min) }
    }
}

/// The specification of frames, with the addresses of both ports where none were given.
fn spec(plan: &SweepPlan, send: &About, receive: &About) -> Result<Spec, PacketError> {
    let mut look = plan.look.clone();
    look.fill_macs(|_| (send.mac.map(wire::template::Mac), receive.mac.map(wire::template::Mac)));
    let FrameSource::Made { spec, .. } = look.source() else {
        return Err(PacketError::Wrong("a sweep makes its frames".to_owned()));
    };
    let mut spec = spec.clone();
    for stream in &mut spec.streams {
        stream.sign = true;
    }
    Ok(spec)
}

impl Job for SweepJob {
    fn facts(&self) -> Facts {
        let plan = &self.plan;
        let goals: Vec<String> = self.goals().iter().map(ToString::to_string).collect();
        let sizes: Vec<String> = plan.sizes.iter().map(u32::to_string).collect();
        let of = |about: &About| {
            about
                .choices
                .iter()
                .map(|choice| (choice.what.to_owned(), choice.chosen.clone(), choice.why.clone()))
                .collect()
        };
        let mut choices: Vec<(String, String, String)> = of(self.send.about());
        choices.extend::<Vec<_>>(of(self.receive.about()));
        Facts {
            threads: 1,
            spins: true,
            gap: None,
            is_open_loop: false,
            length: None,
            load: format!("{} over frame sizes {}", goals.join(", "), sizes.join(", ")),
            target: format!("{} to {}", plan.send, plan.receive),
            choices,
            notes: self.notes.clone(),
            time: self.own.as_ref().map(OwnClock::time),
        }
    }

    fn start(
        self: Box<Self>,
        control: Arc<Control>,
        recorders: MakeRecorders<'_>,
    ) -> Result<Running, PacketError> {
        // Of a port that keeps its own time, that is the instant of its time at the beginning.
        let origin = self.own.map_or_else(|| self.clock.now(), |own| own.begin());
        control.begin(origin);
        let record = recorders(origin).into_iter().next();
        let record = record.ok_or_else(|| PacketError::Wrong("a recorder is needed".to_owned()))?;
        let result = Arc::new(Mutex::new(Findings::default()));
        let place = result.clone();
        let working = control.clone();
        let work = move || {
            let mut sweep = Sweep::new(*self, working.clone(), record);
            if let Err(error) = sweep.run() {
                working.fail(error.to_string());
            }
            *place.lock().unwrap_or_else(PoisonError::into_inner) = sweep.findings();
        };
        let thread = std::thread::Builder::new().name("tare-sweep".to_owned()).spawn(work);
        let thread =
            thread.map_err(|error| PacketError::Wrong(format!("a thread could not be started: {error}")))?;
        let finish = move || std::mem::take(&mut *result.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(Running::new(vec![thread], finish))
    }
}

/// The sweep at work.
struct Sweep {
    job: SweepSettings,
    bench: Bench,
    tell: Tell,
    found: Vec<SizeFound>,
    trials: Vec<TrialRow>,
    searches: u64,
    limited: u64,
    repeated: usize,
    doubtful: usize,
    notes: Vec<String>,
}

struct SweepSettings {
    plan: SweepPlan,
    goals: Vec<Goal>,
    templates: Vec<(u32, Arc<Template>, Limits)>,
    line_bps: Option<u64>,
}

/// What the recorder is told.
struct Tell {
    record: Box<dyn Record + Send>,
    gauges: Gauges,
    /// Of the trial that goes on.
    told: u64,
    bytes: u64,
}

impl Tell {
    /// So many frames of this trial have left by `now`.
    fn watch(&mut self, sent: u64, now: Instant) {
        let new = sent.saturating_sub(self.told);
        self.told = self.told.max(sent);
        if new > 0 {
            // They count as of the last tick.
            self.record.tick(now, &self.gauges);
            self.gauges.offered += new;
            self.gauges.due = self.gauges.offered;
            self.record.frames(Fate::Sent, new, Bytes::new(new * self.bytes));
        }
        self.record.tick(now, &self.gauges);
    }

    /// The next trial, of frames with so many bytes.
    fn begin(&mut self, bytes: u64) {
        (self.told, self.bytes) = (0, bytes);
    }
}

impl Sweep {
    fn new(job: SweepJob, control: Arc<Control>, record: Box<dyn Record + Send>) -> Self {
        let goals = job.goals();
        let templates = job
            .templates
            .iter()
            .map(|(size, template)| (*size, template.clone(), job.limits(*size)))
            .collect();
        let tell = Tell { record, gauges: Gauges::default(), told: 0, bytes: 0 };
        let bench = Bench {
            clock: job.clock,
            control,
            send: Shared::both(job.send).0,
            receive: job.receive,
            drain: job.plan.drain,
            cpus: job.plan.cpus.clone(),
            own: job.own,
        };
        Self {
            job: SweepSettings { plan: job.plan, goals, templates, line_bps: job.line_bps },
            bench,
            tell,
            found: Vec::new(),
            trials: Vec::new(),
            searches: 0,
            limited: 0,
            repeated: 0,
            doubtful: 0,
            notes: Vec::new(),
        }
    }

    fn stops(&self) -> bool {
        self.bench.control.stops()
    }

    fn run(&mut self) -> Result<(), PacketError> {
        for (size, template, limits) in self.job.templates.clone() {
            self.bench.teach();
            let goals = vec![Vec::new(); self.job.goals.len()];
            self.found.push(SizeFound { size, goals, ..SizeFound::default() });
            for _ in 0..self.job.plan.repetitions {
                if self.stops() {
                    return Ok(());
                }
                self.search(size, &template, limits)?;
            }
            self.latencies(size, &template)?;
            self.bursts(size, &template, limits)?;
        }
        Ok(())
    }

    fn here(&mut self) -> &mut SizeFound {
        self.found.last_mut().expect("a size is at work")
    }

    fn trial(
        &mut self,
        size: u32,
        order: Order,
        template: &Arc<Template>,
        purpose: &str,
    ) -> Result<Made, PacketError> {
        let tell = &mut self.tell;
        tell.begin(u64::from(size) - FCS as u64);
        let made = self.bench.trial(order, template, &mut |sent, now| tell.watch(sent, now))?;
        let judged = made.trial.void().map_or(Judged::Counts, Judged::Not);
        let (purpose, length) = (purpose.to_owned(), order.length);
        let row = TrialRow { size, purpose, length, made: made.clone(), judged };
        self.trials.push(row);
        Ok(made)
    }

    fn search(&mut self, size: u32, template: &Arc<Template>, limits: Limits) -> Result<(), PacketError> {
        let mut search = Search::new(self.job.goals.clone(), limits, MOST_TRIALS);
        while let Some(order) = search.next_trial() {
            let purpose = search.goal().map_or_else(String::new, |goal| goal.name.clone());
            let made = self.trial(size, order, template, &purpose)?;
            if self.stops() {
                // What was cut short says nothing.
                break;
            }
            let judged = search.learn(made.trial);
            if let Some(row) = self.trials.last_mut() {
                row.judged = judged;
            }
        }
        self.repeated += search.invalid();
        self.doubtful += search.doubtful();
        let found = search.found();
        self.searches += found.len() as u64;
        for (place, found) in found.into_iter().enumerate() {
            self.limited += u64::from(matches!(found.end, End::Generator(_) | End::HeldUp));
            self.here().goals[place].push(found);
        }
        Ok(())
    }

    /// The load of the first goal that was found, for latencies and bursts.
    fn ndr(&mut self) -> Option<Load> {
        let all: Vec<f64> = self.here().goals.first()?.iter().filter_map(of_lower).collect();
        stats::students::Mean::of(&all).map(|mean| Load::per_second(mean.mean))
    }

    fn latencies(&mut self, size: u32, template: &Arc<Template>) -> Result<(), PacketError> {
        let Some(ndr) = self.ndr().filter(|_| self.job.plan.latency) else { return Ok(()) };
        for share in SHARES {
            if self.stops() {
                return Ok(());
            }
            let order = Order { load: ndr.times(share), length: self.job.plan.trial };
            let made = self.trial(size, order, template, "latency")?;
            let latency = Latency {
                share,
                frames_per_second: order.load.as_per_second(),
                one_way_ns: made.one_way_ns,
                lost: made.trial.sent.saturating_sub(made.trial.received),
            };
            self.here().latency.push(latency);
        }
        Ok(())
    }

    fn bursts(&mut self, size: u32, template: &Arc<Template>, limits: Limits) -> Result<(), PacketError> {
        let most = limits.max.frames_in(LONGEST_BURST).clamp(1, 4_000_000);
        let mut bursts = Bursts { longest: Vec::new(), is_unlimited: false, frames_per_second: 0.0 };
        let (mut sent, mut seconds) = (0.0, 0.0);
        for _ in 0..self.job.plan.bursts {
            let mut search = BurstSearch::new(FIRST_BURST, most, BURST_WIDTH);
            while let Some(frames) = search.next() {
                if self.stops() {
                    return Ok(());
                }
                let tell = &mut self.tell;
                tell.begin(u64::from(size) - FCS as u64);
                let burst = self.bench.burst(frames, template, &mut |sent, now| tell.watch(sent, now))?;
                if burst.sent < frames || burst.missed > 0 {
                    // This machine's own loss ends the search: nothing longer can be judged.
                    search.learn(frames, true);
                    self.repeated += 1;
                } else {
                    search.learn(frames, burst.received < burst.sent);
                }
                (sent, seconds) = (sent + burst.sent as f64, seconds + burst.took.as_secs_f64());
            }
            bursts.longest.push(search.longest() as f64);
            if search.is_unlimited() {
                bursts.is_unlimited = true;
                break;
            }
        }
        if seconds > 0.0 {
            bursts.frames_per_second = sent / seconds;
        }
        self.here().bursts = (!bursts.longest.is_empty()).then_some(bursts);
        Ok(())
    }

    /// Searches that the generator ended, and all; one that had to take doubtful losses is one that it ended.
    fn untrusted(&self) -> (u64, u64) {
        let doubtful = u64::from(self.doubtful > 0 && self.limited == 0);
        (self.limited + doubtful, self.searches.max(1))
    }

    fn findings(mut self) -> Findings {
        let SweepSettings { plan, goals, line_bps, .. } = &self.job;
        let mut tables = vec![tables::sizes(&self.found, goals, *line_bps, plan.repetitions)];
        tables.extend(tables::latencies(&self.found));
        tables.extend(tables::bursts(&self.found));
        tables.push(tables::trials(&self.trials));
        let mut notes = std::mem::take(&mut self.notes);
        notes.push(format!("{} trials in {} searches", self.trials.len(), self.searches));
        if self.repeated > 0 {
            notes.push(format!(
                "{} trials do not count and were made again, or at a lower load: the generator or the receiver fell short, or frames left in bursts",
                self.repeated
            ));
        }
        if self.doubtful > 0 {
            notes.push(format!(
                "{} losses count although frames left in bursts (more than {} late): the machine was busy, and the target may take more",
                self.doubtful,
                super::trial::UNEVEN
            ));
        }
        let limited = self
            .found
            .iter()
            .flat_map(|found| found.goals.iter().flatten().map(move |goal| (found.size, goal)));
        notes.extend(limited.filter_map(|(size, found)| reached(size, found)));
        let ports = vec![report("out", &mut self.bench.send), report("in", &mut *self.bench.receive)];
        Findings {
            report: PacketReport {
                ports,
                tables,
                changes: self.bench.control.changes(),
                ..PacketReport::default()
            },
            notes,
            labels: Vec::new(),
            span: None,
            invalid_trials: (self.searches > 0).then_some(self.untrusted()),
        }
    }
}

fn of_lower(found: &Found) -> Option<f64> {
    found.lower.map(Load::as_per_second)
}

/// A sentence where the generator was the limit.
fn reached(size: u32, found: &Found) -> Option<String> {
    let End::Generator(reached) = found.end else { return None };
    let name = &found.goal.name;
    Some(format!(
        "{name} of {size} bytes lies above what the generator makes ({reached:.0}/s): take a faster port or a lower --max-rate"
    ))
}

fn report(role: &str, port: &mut dyn Port) -> PortReport {
    let about = port.about().clone();
    let counters = port.counters().cloned().unwrap_or_default();
    let places = counters.drops.iter().filter(|drop| drop.frames > 0);
    PortReport {
        role: role.to_owned(),
        name: about.name,
        queue: about.queue,
        speed_bps: about.speed_bps,
        sent: counters.sent,
        sent_bytes: counters.sent_bytes,
        received: counters.received,
        received_bytes: counters.received_bytes,
        drops: places
            .map(|drop| PlaceCount { place: drop.place.key().to_owned(), frames: drop.frames })
            .collect(),
        full: counters.full,
        stamps: about.can.stamps.map_or_else(String::new, |by| by.to_string()),
        choices: about
            .choices
            .iter()
            .map(|choice| format!("{}: {}, {}", choice.what, choice.chosen, choice.why))
            .collect(),
    }
}

#[cfg(test)]
#[path = "job_tests.rs"]
mod tests;
