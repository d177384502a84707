//! `tare send` as a job: opens what is needed, says what will be done, starts the threads, and tells what came
//! of it.
//!
//! ```text
//! SendPlan ─ prepare ─► ports open, frames made, rate known ─ crew ─► a thread for each queue ─► findings
//! ```

mod crew;
mod findings;
mod prepare;

use super::answer::Answering;
use super::departures::{Ends, Pattern};
use super::machine::Crowded;
use super::outlet::Sizes;
use super::receive::{self, Reading, Sent};
use super::sender::{Progress, SenderReport};
use super::steer::{self, State, Steering};
use super::words;
use crate::job::{Facts, Job, MakeRecorders, Running};
use crate::own_clock::OwnClock;
use crate::{Control, PacketError};
use clock::priority::Grant;
use clock::{Clock, HostClock};
use crew::{after, spawn};
use findings::{Handed, findings, reading_ns};
use measure::gap_meter::Requested;
use measure::packets::PortTime;
use plan::Spin;
use plan::packets::send::SendPlan;
use port::{About, Port};
use std::sync::{Arc, Mutex, mpsc};
use units::{Picos, Rate};
use wire::Template;
use wire::template::Spec;

/// From the making of recorders to the first departure: threads are there by then.
const START: Picos = Picos::from_millis(30);
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
        let sent = Arc::new(Sent::default());
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
        let mut arrived = None;
        if let Some(port) = this.receiver.take() {
            let (found, finds) = mpsc::channel();
            let (control, sent) = (control.clone(), sent.clone());
            threads.push(receive::start(port, reading, this.clock, control, sent, found).map_err(failed)?);
            arrived = Some(finds);
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
        let crew = this.crew(&control, &progress, &sizes, origin, recorders(origin));
        let mut sending = Vec::new();
        for (index, work) in crew.into_iter().enumerate() {
            let cpu = this.plan.cpus.get(index % this.plan.cpus.len().max(1)).copied();
            sending.push(spawn(index, cpu, this.priority.clone(), work).map_err(failed)?);
        }
        let (report, reports) = mpsc::channel();
        threads.push(after(sending, sent, report).map_err(failed)?);
        let priority = this.priority.clone();
        Ok(Running::new(threads, move || {
            // All threads have ended: one that failed by a fault has sent nothing.
            let mut reports: Vec<SenderReport> = reports.recv().unwrap_or_default();
            let mut notes: Vec<String> =
                reports.iter_mut().flat_map(|report| std::mem::take(&mut report.refused)).collect();
            notes.extend(priority.lost());
            notes.extend(answered.map(|answered| answered.words()));
            let arrived = arrived.map(|arrived| arrived.recv().unwrap_or_default());
            findings(control.changes(), reports, &handed, arrived, notes)
        }))
    }
}
