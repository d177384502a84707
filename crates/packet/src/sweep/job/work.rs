//! The sweep at work: for each frame size the searches, the latencies, the losses and the bursts.

use super::super::arrivals;
use super::super::bench::{Bench, Burst, Made};
use super::super::bursts::BurstSearch;
use super::super::goal::{Goal, Limits};
use super::super::load::Load;
use super::super::reset::Reset;
use super::super::search::{End, GoalFindings, Search};
use super::super::tables::{Bursts, Latency, Loss, SizeFound, TrialRow};
use super::super::trial::{Judged, TrialOrder, Void};
use super::SweepJob;
use crate::signed::drawn_base;
use crate::{JobControl, PacketError};
use clock::Clock;
use hdrhistogram::Histogram;
use plan::packets::sweep::SweepPlan;
use port::FCS;
use std::sync::Arc;
use units::{Bytes, EngineCounters, Fate, Instant, Picos, Record};
use wire::Template;

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

/// The sweep at work.
pub struct Sweep {
    pub job: SweepSettings,
    pub bench: Bench,
    pub tell: Tell,
    pub found: Vec<SizeFound>,
    pub trials: Vec<TrialRow>,
    pub searches: u64,
    pub limited: u64,
    /// Trials of latency and loss, and searches for the longest burst, that this machine's own ends spoilt; and
    /// all of them.
    pub spoilt: u64,
    pub others: u64,
    /// Resets whose command failed.
    pub failed_resets: u64,
    pub repeated: usize,
    pub doubtful: usize,
    pub resets: Vec<Reset>,
    pub notes: Vec<String>,
}

/// Frames of one size, for each direction.
pub type Looks = Arc<[Arc<Template>]>;

pub struct SweepSettings {
    pub plan: SweepPlan,
    pub goals: Vec<Goal>,
    pub templates: Vec<(u32, Looks, Limits)>,
    pub line_bps: Option<u64>,
}

/// What the recorder is told.
pub struct Tell {
    record: Box<dyn Record + Send>,
    counters: EngineCounters,
    /// Of the trial that goes on.
    told: u64,
    bytes: u64,
}

impl Tell {
    /// So many frames of this trial have left by `now`.
    pub fn watch(&mut self, sent: u64, now: Instant) {
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
    pub fn begin(&mut self, bytes: u64) {
        (self.told, self.bytes) = (0, bytes);
    }
}

impl Sweep {
    pub fn new(job: SweepJob, control: Arc<JobControl>, record: Box<dyn Record + Send>) -> Self {
        let goals = job.goals();
        let templates =
            job.templates.iter().map(|(size, looks)| (*size, looks.clone(), job.limits(*size))).collect();
        let tell = Tell { record, counters: EngineCounters::default(), told: 0, bytes: 0 };
        let bench = Bench {
            clock: job.clock,
            control,
            ways: job.ways,
            drain: job.plan.drain,
            queued: None,
            cpus: job.plan.cpus.clone(),
            base: if job.own.is_some() { 0 } else { drawn_base() },
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
            failed_resets: 0,
            repeated: 0,
            doubtful: 0,
            resets: Vec::new(),
            notes: Vec::new(),
        }
    }

    pub fn stops(&self) -> bool {
        self.bench.control.stops()
    }

    pub fn run(&mut self) -> Result<(), PacketError> {
        for (size, looks, limits) in self.job.templates.clone() {
            self.bench.teach();
            let goals = vec![Vec::new(); self.job.goals.len()];
            self.found.push(SizeFound { size, goals, ..SizeFound::default() });
            for _ in 0..self.job.plan.repetitions {
                if self.stops() {
                    return Ok(());
                }
                self.search(size, &looks, limits)?;
            }
            self.latencies(size, &looks)?;
            self.losses(size, &looks, limits)?;
            self.bursts(size, &looks, limits)?;
            self.recoveries(size, &looks, limits)?;
        }
        self.reset_all()
    }

    pub fn here(&mut self) -> &mut SizeFound {
        self.found.last_mut().expect("a size is at work")
    }

    fn trial(
        &mut self,
        size: u32,
        order: TrialOrder,
        looks: &Looks,
        purpose: &str,
    ) -> Result<(Made, Vec<Histogram<u64>>), PacketError> {
        self.begin_trial(size);
        let tell = &mut self.tell;
        let (made, times) = self.bench.trial(order, looks, &mut |sent, now| tell.watch(sent, now))?;
        self.keep(size, order.length, &made, purpose);
        Ok((made, times))
    }

    /// The target has rested, and the recorder knows of the next trial.
    pub fn begin_trial(&mut self, size: u32) {
        self.rest();
        self.tell.begin(u64::from(size) - FCS as u64);
    }

    /// A row for the table of all trials.
    pub fn keep(&mut self, size: u32, length: Picos, made: &Made, purpose: &str) {
        let judged = made.trial.void().map_or(Judged::Counts, Judged::Not);
        if made.stragglers > 0
            && let Some(before) = self.trials.last_mut().filter(|before| before.made.trial.is_lossy())
        {
            before.judged = Judged::Not(Void::Stragglers);
        }
        let purpose = purpose.to_owned();
        self.trials.push(TrialRow { size, purpose, length, made: made.clone(), judged });
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

    fn judged_trial(
        &mut self,
        size: u32,
        order: TrialOrder,
        looks: &Looks,
        purpose: &str,
    ) -> Result<(Made, Vec<Histogram<u64>>, Judged), PacketError> {
        self.judged(|sweep| sweep.trial(size, order, looks, purpose))
    }

    /// A trial that this machine's own ends spoil is made again, and the last of them is taken as it is: its
    /// judgement says so.
    pub fn judged<T>(
        &mut self,
        mut trial: impl FnMut(&mut Self) -> Result<(Made, T), PacketError>,
    ) -> Result<(Made, T, Judged), PacketError> {
        self.others += 1;
        let mut tries = 0;
        loop {
            let (made, times) = trial(self)?;
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

    fn search(&mut self, size: u32, looks: &Looks, limits: Limits) -> Result<(), PacketError> {
        let mut search = Search::new(self.job.goals.clone(), limits, MOST_TRIALS);
        while let Some(order) = search.next_trial() {
            let purpose = search.goal().map_or_else(String::new, |goal| goal.name.clone());
            let (made, _) = self.trial(size, order, looks, &purpose)?;
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
        throughput(self.here())
    }

    fn latencies(&mut self, size: u32, looks: &Looks) -> Result<(), PacketError> {
        let Some(ndr) = self.ndr().filter(|_| self.job.plan.latency) else { return Ok(()) };
        for share in self.job.plan.latency_at.clone() {
            let order = TrialOrder { load: ndr.times(share.as_f64()), length: self.job.plan.latency_time };
            let load = order.load.as_per_second();
            let new = |way| Latency::new(way, share.as_f64(), load);
            let mut latencies: Vec<Latency> = (0..looks.len()).map(new).collect();
            for _ in 0..self.job.plan.latency_trials {
                if self.stops() {
                    break;
                }
                let (made, times, judged) = self.judged_trial(size, order, looks, "latency")?;
                for (latency, (made, times)) in latencies.iter_mut().zip(made.ways.iter().zip(&times)) {
                    latency.add(made, times, judged);
                }
            }
            for mut latency in latencies.into_iter().filter(|latency| latency.trials > 0) {
                latency.one_way_ns = arrivals::spread(&latency.times);
                self.here().latency.push(latency);
            }
        }
        Ok(())
    }

    /// RFC 2544 §26.3: the loss at the highest load and below it, until two trials in a row lose nothing.
    fn losses(&mut self, size: u32, looks: &Looks, limits: Limits) -> Result<(), PacketError> {
        if !self.job.plan.frame_loss {
            return Ok(());
        }
        let mut without = 0;
        for step in (1..=LOSS_STEPS).rev() {
            if self.stops() || without == 2 {
                break;
            }
            let share = f64::from(step) / f64::from(LOSS_STEPS);
            let order = TrialOrder { load: limits.max.times(share), length: self.job.plan.trial };
            let (made, _, judged) = self.judged_trial(size, order, looks, "loss")?;
            let is_valid = judged.is_of_use();
            without = if !made.trial.is_lossy() && is_valid { without + 1 } else { 0 };
            for (way, made) in made.ways.iter().enumerate() {
                let (lost, lost_here) = made.trial.losses();
                let loss = Loss {
                    way,
                    share,
                    frames_per_second: order.load.as_per_second(),
                    sent: made.trial.sent,
                    // Of a trial that does not count, nothing is said of the target.
                    ratio: is_valid.then(|| made.trial.loss()),
                    lost,
                    lost_here,
                    judged,
                };
                self.here().losses.push(loss);
            }
        }
        Ok(())
    }

    fn bursts(&mut self, size: u32, looks: &Looks, limits: Limits) -> Result<(), PacketError> {
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
                let burst = self.burst(size, frames, looks)?;
                let of_each = burst.sent as f64 / looks.len() as f64;
                (sent, seconds) = (sent + of_each, seconds + burst.took.as_secs_f64());
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
    fn burst(&mut self, size: u32, frames: u64, looks: &Looks) -> Result<Burst, PacketError> {
        for _ in 1..TRIES {
            let burst = self.burst_once(size, frames, looks)?;
            if burst.void().is_none() || self.stops() {
                return Ok(burst);
            }
            self.repeated += 1;
        }
        self.burst_once(size, frames, looks)
    }

    fn burst_once(&mut self, size: u32, frames: u64, looks: &Looks) -> Result<Burst, PacketError> {
        self.begin_trial(size);
        let tell = &mut self.tell;
        self.bench.burst(frames, looks, &mut |sent, now| tell.watch(sent, now))
    }
}

/// The load of the first goal at this size, if one was found: the mean of all searches.
pub fn throughput(found: &SizeFound) -> Option<Load> {
    let all: Vec<f64> = found.goals.first()?.iter().filter_map(of_lower).collect();
    stats::students::Mean::of(&all).map(|mean| Load::per_second(mean.mean))
}

fn of_lower(found: &GoalFindings) -> Option<f64> {
    found.lower.map(Load::as_per_second)
}
