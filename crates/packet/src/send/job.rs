//! `tare send` as a job: opens what is needed, says what will be done, starts the threads, and tells what came
//! of it.
//!
//! ```text
//! SendPlan ─ prepare ─► ports open, frames made, rate known ─ crew ─► a thread for each queue ─► findings
//! ```

mod by_stream;
mod check;
mod crew;
mod findings;
mod prepare;
mod sides;

use super::answer::{Answering, Known};
use super::departures::{Ends, Pattern};
use super::flood;
use super::machine::Crowded;
use super::outlet::Prepared;
use super::receive::{self, Reading, Sent};
use super::scripted::Scripted;
use super::sender::{self, Progress, SenderReport};
use super::socket;
use super::source;
use super::steer::{self, Made, State, Steering};
use super::streams::{self, StreamPattern};
use super::tape::{Ready, Tape, TapeReport, TapeSetup};
use super::words;
use crate::job::{Facts, Job, MakeRecorders, Running};
use crate::own_clock::OwnClock;
use crate::signed::{Senders, drawn_base};
use crate::{JobControl, PacketError};
use clock::priority::Grant;
use clock::{Clock, HostClock};
use crew::{after, spawn};
use findings::{Handed, findings, reading_ns};
use measure::gap_meter::Requested;
use measure::packets::{Change, PortTime};
use plan::Spin;
use plan::packets::send::{Pace, SendPlan};
use port::{About, Port};
use sides::SideJob;
pub(super) use sides::none_of;
use std::sync::{Arc, Mutex, mpsc};
use units::{Instant, Picos, Rate};
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
    /// One for each queue, or none.
    scripts: Vec<Scripted>,
    template: Arc<Template>,
    spec: Option<Spec>,
    /// Who answered for which address.
    known: Known,
    /// A recording whose clients and servers leave by two ports.
    sides: Vec<SideJob>,
    /// A recording that is read while it is sent.
    tape: Option<TapeSetup>,
    /// What was chosen of how frames come about: what, what it is, why.
    choices: Vec<(String, String, String)>,
    /// The one load; `None` as fast as it goes, or of several streams.
    pattern: Option<Pattern>,
    streams: Vec<StreamPattern>,
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

/// Recordings that are being read, and what will be known of them.
struct Started {
    /// For each port.
    tapes: Vec<Option<Tape>>,
    reads: Vec<Arc<TapeReport>>,
}

impl SendJob {
    /// A sentence where gaps are only as exact as a timer, and nobody asked for that.
    fn asleep(&self) -> Option<String> {
        let Crowded { why, mend } = self.idle()?;
        Some(format!(
            "threads sleep until each due time and do not spin, so frames leave as late as the kernel wakes \
             the threads: {why}; to let them spin, {mend}"
        ))
    }

    /// Why threads do not spin although they would.
    fn idle(&self) -> Option<&Crowded> {
        self.crowded.as_ref().filter(|_| self.plan.spin == Spin::Auto && self.is_timed())
    }

    /// Whether frames have due times.
    fn is_timed(&self) -> bool {
        let has_tape = self.tape.as_ref().is_some_and(|tape| tape.speed.is_some());
        self.pattern.is_some() || !self.streams.is_empty() || has_tape
    }

    /// Streams that figures are kept for. (Each frame of a capture is one to its template.)
    fn stream_count(&self) -> usize {
        if self.spec.is_some() { self.template.streams().len() } else { 1 }
    }

    /// What leaves later than this is late, where gaps differ: as an even load's 99th percentile may be.
    fn late_gap(&self) -> Option<Picos> {
        streams::late_gap(self.pattern.as_ref(), &self.streams)
    }

    fn time(&self) -> Option<PortTime> {
        self.own.as_ref().map(OwnClock::time)
    }

    /// How long the run will be, where that is known.
    fn length(&self) -> Option<Picos> {
        let by_count = match (&self.pattern, self.ends.frames) {
            (None, _) if !self.streams.is_empty() => {
                let ends: Option<Vec<Picos>> = self.streams.iter().map(StreamPattern::end).collect();
                return [ends.and_then(|ends| ends.into_iter().max()), self.ends.after]
                    .into_iter()
                    .flatten()
                    .min();
            }
            (Some(pattern), Some(frames)) => pattern.length(frames),
            (None, Some(_)) => return None,
            (_, None) => None,
        };
        [by_count, self.ends.after].into_iter().flatten().min()
    }

    fn steering(
        &mut self,
        progress: &[Arc<Progress>],
        prepared: &Arc<Prepared>,
        all_sent: &Arc<Sent>,
    ) -> Steering {
        let is_made_by_port = self.ports[0].offload().is_some();
        let can_turn = matches!(self.pattern, Some(Pattern::Even(_) | Pattern::Bursts { .. }));
        let state = State {
            has_rate: can_turn || is_made_by_port,
            may_go_max: is_made_by_port && (self.plan.queues == 1 || !self.template.is_signed()),
            rate: self.rate.filter(|_| can_turn),
            rates: self.streams.iter().map(|stream| stream.pattern.rate()).collect(),
            made: self.spec.as_ref().map(|spec| self.made(spec)),
            size: words::sizes(&self.template),
            template: self.template.clone(),
            is_paused: false,
            marks: 0,
        };
        Steering {
            clock: self.clock,
            progress: progress.to_vec(),
            prepared: prepared.clone(),
            names: self.all_names(),
            about: self.about.clone(),
            line_bps: self.line_bps,
            has_any_size: self.plan.script.is_some() && !source::counts_bits(&self.plan),
            is_replay: matches!(self.plan.pace, Pace::Replay { .. }),
            ends: self.ends,
            all_sent: all_sent.clone(),
            state: Mutex::new(state),
        }
    }

    /// Starts to read what is read while it is sent, for each port.
    fn tapes(&mut self, control: &Arc<JobControl>) -> Result<Started, PacketError> {
        let setups: Vec<Option<TapeSetup>> = match self.sides.is_empty() {
            true => vec![self.tape.clone()],
            false => self.sides.iter_mut().map(|side| side.tape.take()).collect(),
        };
        let (mut tapes, mut reads, mut all_ready) = (Vec::new(), Vec::new(), Vec::new());
        for setup in setups {
            let started = setup.map(|setup| setup.start(control.clone())).transpose()?;
            tapes.push(started.map(|(tape, ready)| {
                reads.push(tape.report.clone());
                all_ready.push(ready);
                tape
            }));
        }
        all_ready.into_iter().for_each(Ready::wait);
        Ok(Started { tapes, reads })
    }

    /// What frames are made of at first.
    fn made(&self, spec: &Spec) -> Made {
        Made {
            frames: self.plan.look.clone(),
            spec: spec.clone(),
            lengths: self.plan.lengths.clone(),
            sized: vec![false; spec.streams.len()],
            known: self.known.clone(),
        }
    }

    /// Time to start the threads, each with a ledger of a megabyte for each stream.
    fn lead(&self) -> Picos {
        const LEDGER: Picos = Picos::from_millis(2);
        START + Picos::from_picos(LEDGER.as_picos() * (self.streams.len() * self.ports.len()) as u64)
    }

    /// What streams are called, also where there is but one.
    fn all_names(&self) -> Vec<String> {
        let names = self.streams.iter().map(|stream| stream.name.clone());
        let numbers = (0..self.stream_count()).map(|number| number.to_string());
        if self.streams.is_empty() { numbers.collect() } else { names.collect() }
    }

    /// The same where there are several.
    fn names(&self) -> Vec<String> {
        let all = self.all_names();
        if all.len() > 1 { all } else { Vec::new() }
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
            Some(Pattern::Bursts { .. } | Pattern::Shaped(_)) | None => Requested::Nothing,
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
        choices.extend(self.choices.iter().cloned());
        if self.own.is_none() {
            choices.push(words::of_spin(
                self.plan.spin,
                self.crowded.as_ref().map(|crowded| crowded.why.as_str()),
            ));
            choices.push(words::of_priority(&self.priority));
        }
        choices.extend(self.scripts.first().map(|script| words::of_script(script.is_compiled())));
        Facts {
            threads: self.ports.len(),
            spins: self.spin != Spin::Never && self.is_timed(),
            gap: self.pattern.as_ref().and_then(Pattern::gap),
            poisson: match &self.pattern {
                Some(Pattern::Shaped(shaped)) => shaped.poisson(),
                _ => None,
            },
            is_open_loop: self.is_timed(),
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
        control: Arc<JobControl>,
        recorders: MakeRecorders<'_>,
    ) -> Result<Running, PacketError> {
        let mut this = *self;
        let prepared = Arc::new(Prepared::default());
        let progress: Vec<Arc<Progress>> = this.ports.iter().map(|_| Arc::default()).collect();
        let sent = Arc::new(Sent::default());
        match &this.own {
            // What is handed over is the port's, and far ahead.
            Some(_) => steer::refuse(&control),
            None => steer::register(&control, this.steering(&progress, &prepared, &sent)),
        }
        // Ports that make or time frames themselves count from 0.
        let counts_here = this.receiver.is_some() && this.own.is_none() && this.ports[0].offload().is_none();
        let base = counts_here.then(drawn_base);
        let reading = Reading {
            requested: this.requested(),
            is_signed: this.template.is_signed(),
            base,
            senders: match (this.ports.len() as u64, &this.pattern) {
                (..2, _) => Senders::One,
                // Streams with loads of their own have shares as patterns have.
                (_, None) if this.streams.is_empty() => Senders::InBlocks(flood::BLOCK),
                (threads, _) => Senders::InTurns(threads),
            },
            streams: this.stream_count(),
            drain: this.plan.drain,
            by_this_clock: this.own.is_none(),
        };
        let handed = Handed {
            place: this.ports[0].about().name.clone(),
            gap: this.pattern.as_ref().and_then(Pattern::gap).filter(|_| this.ports.len() == 1),
            reading_ns: reading_ns(this.clock),
            own: this.own,
            streams: this.names(),
            sides: this.sides.iter().map(|side| side.side).collect(),
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
        let Started { tapes, reads } = this.tapes(&control)?;
        let origin = match &this.own {
            // What has no due time leaves from now on.
            Some(own) if this.pattern.is_none() => own.now(&mut *this.ports[0])?,
            Some(own) => own.now(&mut *this.ports[0])? + own.lead(),
            None => this.clock.now() + this.lead(),
        };
        control.begin(origin);
        let crew = this.crew(&control, (&progress, &prepared), (tapes, base), origin, recorders(origin));
        let mut sending = Vec::new();
        for (index, work) in crew.into_iter().enumerate() {
            let cpu = this.plan.cpus.get(index % this.plan.cpus.len().max(1)).copied();
            sending.push(spawn(index, cpu, this.priority.clone(), work).map_err(failed)?);
        }
        let (report, reports) = mpsc::channel();
        threads.push(after(sending, sent, this.clock, report).map_err(failed)?);
        let priority = this.priority.clone();
        Ok(Running::new(threads, move || {
            // All threads have ended: one that failed by a fault has sent nothing.
            let (ended, mut reports): (Instant, Vec<SenderReport>) =
                reports.recv().unwrap_or((Instant::FAR, Vec::new()));
            let mut notes: Vec<String> =
                reports.iter_mut().flat_map(|report| std::mem::take(&mut report.refused)).collect();
            notes.extend(priority.lost());
            notes.extend(socket::note(&this.about));
            notes.extend(answered.map(|answered| answered.words()));
            notes.extend(TapeReport::words(&reads));
            notes.extend(words::of_late_changes(control.forget_after(ended)));
            let arrived = arrived.map(|arrived| arrived.recv().unwrap_or_default());
            let (numbered, never_left) = sender::numbers(&reports);
            if this.template.is_signed() && arrived.is_none() {
                notes.extend(words::of_unused_numbers(never_left));
            }
            // What a change would have held for may never have come.
            let real = |first: &u64| *first < numbered;
            let changes = control.conclude().into_iter();
            let changes =
                changes.map(|one| Change { first_frame: one.first_frame.filter(real), ..one }).collect();
            findings(changes, reports, &handed, arrived, notes)
        }))
    }
}
