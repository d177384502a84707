//! The job of `tare sweep`: for each frame size the searches, the latencies and the bursts, one after another.

use super::arrivals;
use super::bench::{Bench, Burst, Made};
use super::bursts::BurstSearch;
use super::goal::{Goal, Limits};
use super::load::Load;
use super::search::{End, Found, Search};
use super::tables::{self, AROUND, Bursts, Latency, Loss, SizeFound, TrialRow};
use super::trial::{Judged, Order, Void};
use crate::job::{Facts, Findings, Job, MakeRecorders, Running};
use crate::own_clock::{self, OwnClock};
use crate::pace::shared::Shared;
use crate::send::machine::{Crew, Crowded};
use crate::send::{source, words};
use crate::{Control, PacketError};
use clock::priority::{self, Demand, Grant};
use clock::{Clock, HostClock};
use hdrhistogram::Histogram;
use measure::packets::{PacketReport, PlaceCount, PortReport};
use plan::Spin;
use plan::packets::frames::FrameSource;
use plan::packets::send::Pace;
use plan::packets::sweep::SweepPlan;
use port::{About, Address, Direction, FCS, Kind, Port, PortError, Wish};
use std::sync::{Arc, Mutex, PoisonError};
use units::{Bytes, EngineCounters, Fate, Instant, Picos, Record};
use wire::Template;
use wire::template::Spec;

/// Trials of one search at the utmost.
const MOST_TRIALS: usize = 400;
/// Trials of latency or loss, and bursts, that are made again where this machine's own ends fell short.
const TRIES: u32 = 5;
/// The same of trials whose frames only left unevenly.
const UNEVEN_TRIES: u32 = 3;
/// RFC 2544 §26.3: steps of ten percent of the highest load, down to two trials in a row that lose nothing.
const LOSS_STEPS: u32 = 10;
/// RFC 2544 §26.4: a burst of two seconds is the longest.
const LONGEST_BURST: Picos = Picos::from_secs(2);
const FIRST_BURST: u64 = 64;
const BURST_WIDTH: f64 = 0.01;

/// A rest between trials is cut short by Ctrl-C within this time.
const NAP: Picos = Picos::from_millis(50);

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
    spin: Spin,
    crowded: Option<Crowded>,
    priority: Grant,
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
        // Both ways where the port can: a frame from there teaches switches on the way. Faults are those of
        // receiving.
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
        let crowded = match own {
            // The port keeps the times.
            Some(_) => None,
            None => Crew::here(1, 1, plan.cpus.len().min(1)).crowded(),
        };
        let spin = if crowded.is_some() { Spin::Never } else { Spin::Auto };
        let priority = match own {
            Some(_) => Grant::usual("the port keeps the times"),
            // Each trial has gaps of its own, down to the shortest that can be made.
            None => {
                priority::grant(plan.priority, &Demand { threads: 1, spins: crowded.is_none(), gap: None })
            }
        };
        Ok(Self {
            plan,
            clock,
            send,
            receive,
            templates,
            line_bps,
            notes: Vec::new(),
            own,
            spin,
            crowded,
            priority,
        })
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
        if self.own.is_none() {
            choices
                .push(words::of_spin(Spin::Auto, self.crowded.as_ref().map(|crowded| crowded.why.as_str())));
            choices.push(words::of_priority(&self.priority));
        }
        Facts {
            threads: 1,
            spins: self.crowded.is_none(),
            no_spin: self.crowded.as_ref().map(|crowded| crowded.mend.clone()),
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
    /// Trials of latency and loss, and searches for the longest burst, that this machine's own ends spoilt; and
    /// all of them.
    spoilt: u64,
    others: u64,
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
    counters: EngineCounters,
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
            self.record.tick(now, &self.counters);
            self.counters.offered += new;
            self.counters.due = self.counters.offered;
            self.record.frames(Fate::Sent, new, Bytes::new(new * self.bytes));
        }
        self.record.tick(now, &self.counters);
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
        let tell = Tell { record, counters: EngineCounters::default(), told: 0, bytes: 0 };
        let bench = Bench {
            clock: job.clock,
            control,
            send: Shared::both(job.send).0,
            receive: job.receive,
            drain: job.plan.drain,
            cpus: job.plan.cpus.clone(),
            own: job.own,
            spin: job.spin,
            priority: job.priority,
            sweep_unix_ns: clock::unix_ns(),
        };
        Self {
            job: SweepSettings { plan: job.plan, goals, templates, line_bps: job.line_bps },
            bench,
            tell,
            found: Vec::new(),
            trials: Vec::new(),
            searches: 0,
            limited: 0,
            spoilt: 0,
            others: 0,
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
            self.losses(size, &template, limits)?;
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
    ) -> Result<(Made, Histogram<u64>), PacketError> {
        self.rest();
        let tell = &mut self.tell;
        tell.begin(u64::from(size) - FCS as u64);
        let (made, times) = self.bench.trial(order, template, &mut |sent, now| tell.watch(sent, now))?;
        let judged = made.trial.void().map_or(Judged::Counts, Judged::Not);
        let (purpose, length) = (purpose.to_owned(), order.length);
        if made.stragglers > 0
            && let Some(before) = self.trials.last_mut().filter(|before| before.made.trial.is_lossy())
        {
            before.judged = Judged::Not(Void::Stragglers);
        }
        let row = TrialRow { size, purpose, length, made: made.clone(), judged };
        self.trials.push(row);
        Ok((made, times))
    }

    /// Lets the target come to rest between two trials, where that is asked for.
    fn rest(&self) {
        let until = self.bench.clock.now() + self.job.plan.rest;
        if self.trials.is_empty() && self.found.len() < 2 {
            return;
        }
        while self.bench.clock.now() < until && !self.stops() {
            let left = until.since(self.bench.clock.now());
            std::thread::sleep(left.min(NAP).as_std());
        }
    }

    /// A trial that this machine's own ends spoil is made again, and the last of them is taken as it is: its
    /// judgement says so.
    fn judged_trial(
        &mut self,
        size: u32,
        order: Order,
        template: &Arc<Template>,
        purpose: &str,
    ) -> Result<(Made, Histogram<u64>, Judged), PacketError> {
        self.others += 1;
        let mut tries = 0;
        loop {
            let (made, times) = self.trial(size, order, template, purpose)?;
            let void = made.trial.void().or_else(|| made.trial.is_uneven().then_some(Void::Uneven));
            tries += 1;
            match void {
                Some(void)
                    if tries < if void == Void::Uneven { UNEVEN_TRIES } else { TRIES } && !self.stops() =>
                {
                    self.repeated += 1;
                    if let Some(row) = self.trials.last_mut() {
                        row.judged = Judged::Not(void);
                    }
                }
                Some(Void::Uneven) => {
                    // Hardly any is even: it counts, and its row says so.
                    if let Some(row) = self.trials.last_mut() {
                        row.judged = Judged::AllTheSame;
                    }
                    return Ok((made, times, Judged::AllTheSame));
                }
                Some(void) => {
                    self.spoilt += 1;
                    return Ok((made, times, Judged::Not(void)));
                }
                None => return Ok((made, times, Judged::Counts)),
            }
        }
    }

    fn search(&mut self, size: u32, template: &Arc<Template>, limits: Limits) -> Result<(), PacketError> {
        let mut search = Search::new(self.job.goals.clone(), limits, MOST_TRIALS);
        while let Some(order) = search.next_trial() {
            let purpose = search.goal().map_or_else(String::new, |goal| goal.name.clone());
            let (made, _) = self.trial(size, order, template, &purpose)?;
            if made.stragglers > 0 {
                search.take_back();
            }
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
            self.limited +=
                u64::from(matches!(found.end, End::Generator(_) | End::Receiver(_) | End::HeldUp));
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
        for share in self.job.plan.latency_at.clone() {
            let order = Order { load: ndr.times(share.as_f64()), length: self.job.plan.latency_time };
            let mut latency = Latency::new(share.as_f64(), order.load.as_per_second());
            for _ in 0..self.job.plan.latency_trials {
                if self.stops() {
                    break;
                }
                let (made, times, judged) = self.judged_trial(size, order, template, "latency")?;
                latency.add(&made, &times, judged);
            }
            latency.one_way_ns = arrivals::spread(&latency.times);
            if latency.trials > 0 {
                self.here().latency.push(latency);
            }
        }
        Ok(())
    }

    /// RFC 2544 §26.3: the loss at the highest load and below it, until two trials in a row lose nothing.
    fn losses(&mut self, size: u32, template: &Arc<Template>, limits: Limits) -> Result<(), PacketError> {
        if !self.job.plan.frame_loss {
            return Ok(());
        }
        let mut without = 0;
        for step in (1..=LOSS_STEPS).rev() {
            if self.stops() || without == 2 {
                break;
            }
            let share = f64::from(step) / f64::from(LOSS_STEPS);
            let order = Order { load: limits.max.times(share), length: self.job.plan.trial };
            let (made, _, judged) = self.judged_trial(size, order, template, "loss")?;
            let (lost, ours) = made.trial.losses();
            let is_valid = !matches!(judged, Judged::Not(_));
            without = if lost + ours == 0 && is_valid { without + 1 } else { 0 };
            let loss = Loss {
                share,
                frames_per_second: order.load.as_per_second(),
                sent: made.trial.sent,
                // Of a trial that does not count, nothing is said of the target.
                ratio: is_valid.then(|| made.trial.loss()),
                lost,
                lost_here: ours,
                judged,
            };
            self.here().losses.push(loss);
        }
        Ok(())
    }

    fn bursts(&mut self, size: u32, template: &Arc<Template>, limits: Limits) -> Result<(), PacketError> {
        let most = limits.max.frames_in(LONGEST_BURST).clamp(1, 4_000_000);
        let mut bursts = Bursts::default();
        let (mut sent, mut seconds) = (0.0, 0.0);
        self.others += u64::from(self.job.plan.bursts > 0);
        for _ in 0..self.job.plan.bursts {
            let mut search = BurstSearch::new(FIRST_BURST, most, BURST_WIDTH);
            // The shortest burst that this machine spoilt, while the target lost none as short.
            let mut limit = None;
            while let Some(frames) = search.next() {
                if self.stops() {
                    return Ok(());
                }
                let burst = self.burst(size, frames, template)?;
                (sent, seconds) = (sent + burst.sent as f64, seconds + burst.took.as_secs_f64());
                let (void, is_lossy) = (burst.void(), burst.received < burst.sent);
                // This machine's own loss is none of the target's: nothing as long can be judged, shorter ones
                // can.
                if let Some(side) = void {
                    limit = Some((side, frames));
                } else if is_lossy {
                    limit = None;
                }
                search.learn(frames, void.is_some() || is_lossy);
            }
            bursts.longest.push(search.longest() as f64);
            bursts.limit = limit;
            bursts.is_unlimited = search.is_unlimited();
            if bursts.is_unlimited || limit.is_some() {
                break;
            }
        }
        self.spoilt += u64::from(bursts.limit.is_some());
        if seconds > 0.0 {
            bursts.frames_per_second = sent / seconds;
        }
        self.here().bursts = (!bursts.longest.is_empty()).then_some(bursts);
        Ok(())
    }

    /// One burst; again where this machine's own ends fell short.
    fn burst(&mut self, size: u32, frames: u64, template: &Arc<Template>) -> Result<Burst, PacketError> {
        for _ in 1..TRIES {
            let burst = self.burst_once(size, frames, template)?;
            if burst.void().is_none() || self.stops() {
                return Ok(burst);
            }
            self.repeated += 1;
        }
        self.burst_once(size, frames, template)
    }

    fn burst_once(&mut self, size: u32, frames: u64, template: &Arc<Template>) -> Result<Burst, PacketError> {
        self.rest();
        let tell = &mut self.tell;
        tell.begin(u64::from(size) - FCS as u64);
        self.bench.burst(frames, template, &mut |sent, now| tell.watch(sent, now))
    }

    /// Searches and trials that this machine ended or spoilt, and all; one that had to take doubtful losses is
    /// one that it ended.
    fn untrusted(&self) -> (u64, u64) {
        let doubtful = u64::from(self.doubtful > 0 && self.limited == 0);
        (self.limited + doubtful + self.spoilt, (self.searches + self.others).max(1))
    }

    /// A sentence if frames were waited for longer than asked.
    fn waited(&self) -> Option<String> {
        let (asked, drain) = (self.job.plan.drain, self.bench.drain);
        (drain > asked).then(|| {
            format!("frames came later than {asked:#} after a trial: from then on {drain:#} were waited for them (--drain)")
        })
    }

    fn findings(mut self) -> Findings {
        let SweepSettings { plan, goals, line_bps, .. } = &self.job;
        let mut tables = vec![tables::sizes(&self.found, goals, *line_bps, plan.repetitions)];
        tables.extend(tables::latencies(&self.found));
        tables.extend(tables::losses(&self.found));
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
        notes.extend(self.waited());
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
            invalid_trials: (self.searches + self.others > 0).then_some(self.untrusted()),
        }
    }
}

fn of_lower(found: &Found) -> Option<f64> {
    found.lower.map(Load::as_per_second)
}

/// A sentence where the generator was the limit.
fn reached(size: u32, found: &Found) -> Option<String> {
    let name = &found.goal.name;
    match found.end {
        End::Generator(reached) => Some(format!(
            "{name} of {size} bytes lies above what the generator makes ({reached:.0}/s): take a faster port or a lower --max-rate"
        )),
        End::Receiver(reached) => Some(format!(
            "{name} of {size} bytes lies above what this machine's receiver keeps up with ({reached:.0}/s): give it more room \
             (slots=…), a CPU of its own (--cpus) or a faster port, or take a lower --max-rate"
        )),
        _ => None,
    }
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
mod tests;
